#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"

static inline __m256i nb_dot(__m256i s, __m256i v, __m256i a)
{
    return _mm256_add_epi32(s, _mm256_madd_epi16(_mm256_maddubs_epi16(v, a), _mm256_set1_epi16(1)));
}

#include "kern/quant/nibbles_x86.h"
#include "kern/isa_end.h"
#endif
