#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
#include "kern/simd/avx2.h"

#define TILE_MR 6
#define TILE_NV 2
#define TILE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "kern/gemm/tile_body.h"
#include "kern/gemm/epilogue_block_body.h"

/* Columns c..c+3 of rows r and r+4: one row in each 128-bit lane. */
V_INLINE __m256 transpose_load(const float *p, size_t ld)
{
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)), _mm_loadu_ps(p + 4 * ld), 1);
}

#define T_ROWS 8
V_INLINE void transpose_block(float *dst, size_t ldd, const float *src, size_t lds)
{
    __m256 a = transpose_load(src, lds), b = transpose_load(src + lds, lds);
    __m256 c = transpose_load(src + 2 * lds, lds), d = transpose_load(src + 3 * lds, lds);
    __m256 ab = _mm256_unpacklo_ps(a, b), cd = _mm256_unpacklo_ps(c, d);
    __m256 ab2 = _mm256_unpackhi_ps(a, b), cd2 = _mm256_unpackhi_ps(c, d);
    _mm256_storeu_ps(dst, _mm256_shuffle_ps(ab, cd, 0x44));
    _mm256_storeu_ps(dst + ldd, _mm256_shuffle_ps(ab, cd, 0xee));
    _mm256_storeu_ps(dst + 2 * ldd, _mm256_shuffle_ps(ab2, cd2, 0x44));
    _mm256_storeu_ps(dst + 3 * ldd, _mm256_shuffle_ps(ab2, cd2, 0xee));
}
#include "kern/gemm/transpose_body.h"

void sdx_kern_init_gemm_avx2(Kern *k);
void sdx_kern_init_gemm_avx2(Kern *k)
{
    k->gemm_f32_tile = sdx_gemm_f32_tile_avx2;
    k->transpose_32 = sdx_transpose_32_avx2;
    k->gemm_f32_mr = TILE_MR;
    k->gemm_f32_nr = TILE_NR;
    k->gemm_f32_kc = 384;
}

#include "kern/isa_end.h"
#endif
