#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX512
#include "kern/isa_begin.h"
#include "kern/simd/avx512.h"

#define TILE_MR 14
#define TILE_NV 2
#define TILE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#include "kern/gemm/tile_body.h"
#include "kern/gemm/epilogue_block_body.h"

/* Columns c..c+3 of rows r, r+4, r+8, r+12: one row in each 128-bit lane. */
V_INLINE __m512 transpose_load(const float *p, size_t ld)
{
    __m512 v = _mm512_castps128_ps512(_mm_loadu_ps(p));
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 4 * ld), 1);
    v = _mm512_insertf32x4(v, _mm_loadu_ps(p + 8 * ld), 2);
    return _mm512_insertf32x4(v, _mm_loadu_ps(p + 12 * ld), 3);
}

#define T_ROWS 16
V_INLINE void transpose_block(float *dst, size_t ldd, const float *src, size_t lds)
{
    __m512 a = transpose_load(src, lds), b = transpose_load(src + lds, lds);
    __m512 c = transpose_load(src + 2 * lds, lds), d = transpose_load(src + 3 * lds, lds);
    __m512 ab = _mm512_unpacklo_ps(a, b), cd = _mm512_unpacklo_ps(c, d);
    __m512 ab2 = _mm512_unpackhi_ps(a, b), cd2 = _mm512_unpackhi_ps(c, d);
    _mm512_storeu_ps(dst, _mm512_shuffle_ps(ab, cd, 0x44));
    _mm512_storeu_ps(dst + ldd, _mm512_shuffle_ps(ab, cd, 0xee));
    _mm512_storeu_ps(dst + 2 * ldd, _mm512_shuffle_ps(ab2, cd2, 0x44));
    _mm512_storeu_ps(dst + 3 * ldd, _mm512_shuffle_ps(ab2, cd2, 0xee));
}
#include "kern/gemm/transpose_body.h"

void sdx_kern_init_gemm_avx512(Kern *k);
void sdx_kern_init_gemm_avx512(Kern *k)
{
    k->gemm_f32_tile = sdx_gemm_f32_tile_avx512;
    k->transpose_32 = sdx_transpose_32_avx512;
    k->gemm_f32_mr = TILE_MR;
    k->gemm_f32_nr = TILE_NR;
    k->gemm_f32_kc = 768;
}

#include "kern/isa_end.h"
#endif
