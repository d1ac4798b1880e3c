#include "kern/kern.h"

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/attn/attn_body.h"
#include "kern/isa_end.h"
