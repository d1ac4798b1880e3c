#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
#include "kern/simd/avx2.h"
#include "kern/attn/attn_body.h"
#include "kern/isa_end.h"
#endif
