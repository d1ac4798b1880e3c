/* kern/gemm/igemm.h - matrix products of 8-bit integers.
 *
 *     sum[m,n] = sum over k of (a[m,k] - za) * (b[k,n] - zb[n]) + bias[n]
 *
 * exactly, modulo 2^32, for any mix of signed and unsigned operands, at every CPU level; then to int32,
 * f32 or back to 8 bits (IgemmOut in kern/gemm/igemm_tile.h).
 *
 * Levels multiply different forms: b is always shifted into int8, a into what the multiplier wants. The
 * shifts and the zero points come out again as one number per column:
 *
 *     sum = a'b' - za' * colsum(b') - zb' * rowsum(a') + k * za' * zb' + bias
 *
 * sdx_igemm_columns computes that number; the row sums are needed only where zb' != 0.
 */
#ifndef SDX_KERN_GEMM_IGEMM_H
#define SDX_KERN_GEMM_IGEMM_H

#include "kern/gemm/gemm.h"
#include "kern/gemm/igemm_tile.h"
#include "kern/kern.h"

#if SDX_ARCH_X86
/* For the level above it. */
void sdx_igemm_tile_avx512vnni(const IgemmTile *t);
void sdx_iout_block_avx512vnni(const IgemmOut *o, int32_t *y, size_t ldy, void *c, size_t ldc, size_t row, size_t col,
                               size_t rows, size_t cols);
#endif

/* What a level multiplies b's int8 by. */
enum { SDX_IFORM_U8, SDX_IFORM_S8, SDX_IFORM_S16 };

/* What to add to an element of a, or to its zero point, to bring it into the level's form. */
static inline int32_t sdx_igemm_shift(const Kern *kern, bool a_signed)
{
    if (kern->igemm_form == SDX_IFORM_S16) return 0;
    if (kern->igemm_form == SDX_IFORM_U8) return a_signed ? 128 : 0;
    return a_signed ? 0 : -128;
}

/* Bytes of packed b and, after them, its column sums. false if the number does not fit size_t. */
bool sdx_igemm_pack_size(const Kern *kern, size_t k, size_t n, size_t *nbytes);

/* Packs panels [panel, panel+npanel) of b (form ROWS or COLS) and their column sums. */
void sdx_igemm_pack(const Kern *kern, const void *b, bool b_signed, size_t ldb, unsigned form, size_t k, size_t n,
                    size_t panel, size_t npanel, void *packed);

/* The column sums of the shifted b, n of them. */
const int32_t *sdx_igemm_colsum(const Kern *kern, const void *packed, size_t k, size_t n);

/* col[j] for IgemmOut, j < n. za: zero point of a; zb: of b, n of them or, with one_zb, a single one, or
 * NULL for zero; bias: NULL for none. Writes shifted zero points of b to b_zero (NULL: unwanted) and
 * returns whether any is not zero, that is whether IgemmOut needs b_zero and row_sum. */
bool sdx_igemm_columns(const Kern *kern, const int32_t *colsum, size_t k, size_t n, bool a_signed, int32_t za,
                       bool b_signed, const int32_t *zb, bool one_zb, const int32_t *bias, int32_t *col,
                       int32_t *b_zero);

typedef struct IgemmPlan {
    size_t m, n, k, lda, ldc; /* in elements */
    bool a_signed;
    bool row_sums; /* b_zero is not all zero: chunks compute row sums themselves */

    size_t chunks, scratch;
    GemmPlan cut; /* k in lanes */
} IgemmPlan;

void sdx_igemm_plan(const Kern *kern, IgemmPlan *p);

/* a: m rows of k, row-major. out's arrays point to their first element; row_sum is ignored. */
void sdx_igemm_chunk(const Kern *kern, const IgemmPlan *p, const void *a, const void *packed, const IgemmOut *out,
                     void *c, size_t i, void *scratch);

/* n elements of a, in the level's form, to dst. For convolutions. */
void sdx_igemm_convert(const Kern *kern, bool a_signed, const void *a, size_t n, void *dst);

#endif
