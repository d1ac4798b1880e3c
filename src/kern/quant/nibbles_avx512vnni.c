#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX512VNNI
#include "kern/isa_begin.h"

static inline __m256i nb_dot(__m256i s, __m256i v, __m256i a) { return _mm256_dpbusd_epi32(s, v, a); }

#include "kern/quant/nibbles_x86.h"
#include "kern/isa_end.h"
#endif
