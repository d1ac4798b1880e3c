/* kern/move/move_avx2.c - transposes by register blocks: 8x8 of four bytes, 4x4 of eight, 8x8 of two, 16x16 of one.
 *
 * Strips of 32 columns, two blocks one below the other at a time: lines of y are finished while in L1, even when
 * rows are a power of two apart and compete for a few of its sets. */
#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
#include "kern/simd/avx2.h"

enum { STRIP = 32 };

/* Eight rows of x, `w` columns from x on, to `w` rows of y, `h` columns; rows past h are not read. */
static inline __attribute__((always_inline)) void block_4(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx,
                                                          size_t h, size_t w)
{
    __m256 r[8], t[8];
    V_UNROLL for (int i = 0; i < 8; i++) r[i] = (size_t)i < h ? v_load_upto(x + i * ldx, w) : v_zero();
    V_UNROLL for (int i = 0; i < 8; i += 2)
    {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    V_UNROLL for (int i = 0; i < 8; i += 4)
    {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xee);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xee);
    }
    V_UNROLL for (int i = 0; i < 4; i++)
    {
        t[i] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(r[i], r[i + 4], 0x31);
    }
    V_UNROLL for (int i = 0; i < 8; i++) if ((size_t)i < w) v_store_upto(y + i * ldy, t[i], h);
}

static inline void edge_4(float *y, ptrdiff_t ldy, const float *x, ptrdiff_t ldx, size_t h, size_t w)
{
    if (h >= 8 && w >= 8)
        block_4(y, ldy, x, ldx, 8, 8);
    else
        block_4(y, ldy, x, ldx, h < 8 ? h : 8, w < 8 ? w : 8);
}

static void transpose_4(void *y_, ptrdiff_t ldy, const void *x_, ptrdiff_t ldx, size_t rows, size_t cols)
{
    for (size_t c0 = 0; c0 < cols; c0 += STRIP)
        for (size_t r0 = 0; r0 < rows; r0 += 16)
            for (size_t c = c0; c < cols && c < c0 + STRIP; c += 8)
                for (size_t r = r0; r < rows && r < r0 + 16; r += 8)
                    edge_4((float *)y_ + (ptrdiff_t)c * ldy + (ptrdiff_t)r, ldy,
                           (const float *)x_ + (ptrdiff_t)r * ldx + (ptrdiff_t)c, ldx, rows - r, cols - c);
}

static inline void block_8(double *y, ptrdiff_t ldy, const double *x, ptrdiff_t ldx)
{
    __m256d a = _mm256_loadu_pd(x), b = _mm256_loadu_pd(x + ldx), c = _mm256_loadu_pd(x + 2 * ldx),
            d = _mm256_loadu_pd(x + 3 * ldx);
    __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(y, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(y + ldy, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(y + 2 * ldy, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(y + 3 * ldy, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

/* Interleaving row i with row i + N/2, log2 N times, transposes N rows of N. */
static inline void block_2(uint16_t *y, ptrdiff_t ldy, const uint16_t *x, ptrdiff_t ldx)
{
    __m128i r[8], t[8];
    V_UNROLL for (int i = 0; i < 8; i++) r[i] = _mm_loadu_si128((const __m128i *)(x + i * ldx));
    V_UNROLL for (int step = 0; step < 3; step++)
    {
        V_UNROLL for (int i = 0; i < 4; i++)
        {
            t[2 * i] = _mm_unpacklo_epi16(r[i], r[i + 4]);
            t[2 * i + 1] = _mm_unpackhi_epi16(r[i], r[i + 4]);
        }
        V_UNROLL for (int i = 0; i < 8; i++) r[i] = t[i];
    }
    V_UNROLL for (int i = 0; i < 8; i++) _mm_storeu_si128((__m128i *)(y + i * ldy), r[i]);
}

static inline void block_1(uint8_t *y, ptrdiff_t ldy, const uint8_t *x, ptrdiff_t ldx)
{
    __m128i r[16], t[16];
    V_UNROLL for (int i = 0; i < 16; i++) r[i] = _mm_loadu_si128((const __m128i *)(x + i * ldx));
    V_UNROLL for (int step = 0; step < 4; step++)
    {
        V_UNROLL for (int i = 0; i < 8; i++)
        {
            t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + 8]);
            t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + 8]);
        }
        V_UNROLL for (int i = 0; i < 16; i++) r[i] = t[i];
    }
    V_UNROLL for (int i = 0; i < 16; i++) _mm_storeu_si128((__m128i *)(y + i * ldy), r[i]);
}

/* Whole blocks by `block`, the right and lower edges one by one. */
#define TRANSPOSE(size, T, N)                                                                                          \
    static void transpose_##size(void *y_, ptrdiff_t ldy, const void *x_, ptrdiff_t ldx, size_t rows, size_t cols)     \
    {                                                                                                                  \
        const size_t full_r = rows / N * N, full_c = cols / N * N;                                                     \
        for (size_t c0 = 0; c0 < full_c; c0 += STRIP)                                                                  \
            for (size_t r0 = 0; r0 < full_r; r0 += 2 * N)                                                              \
                for (size_t c = c0; c < full_c && c < c0 + STRIP; c += N)                                              \
                    for (size_t r = r0; r < full_r && r < r0 + 2 * N; r += N)                                          \
                        block_##size((T *)y_ + (ptrdiff_t)c * ldy + (ptrdiff_t)r, ldy,                                 \
                                     (const T *)x_ + (ptrdiff_t)r * ldx + (ptrdiff_t)c, ldx);                          \
        for (size_t r = 0; r < rows; r++)                                                                              \
            for (size_t c = r < full_r ? full_c : 0; c < cols; c++)                                                    \
                memcpy((T *)y_ + (ptrdiff_t)c * ldy + (ptrdiff_t)r, (const T *)x_ + (ptrdiff_t)r * ldx + (ptrdiff_t)c, \
                       sizeof(T));                                                                                     \
    }
TRANSPOSE(1, uint8_t, 16)
TRANSPOSE(2, uint16_t, 8)
TRANSPOSE(8, double, 4)

void sdx_kern_init_move_avx2(Kern *k);
void sdx_kern_init_move_avx2(Kern *k)
{
    k->transpose[0] = transpose_1;
    k->transpose[1] = transpose_2;
    k->transpose[2] = transpose_4;
    k->transpose[3] = transpose_8;
}
#include "kern/isa_end.h"
#endif
