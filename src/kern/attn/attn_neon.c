#include "kern/kern.h"

#if SDX_ARCH_ARM
#define ISA_NEON
#include "kern/isa_begin.h"
#include "kern/simd/neon.h"
#include "kern/attn/attn_body.h"
#include "kern/isa_end.h"
#endif
