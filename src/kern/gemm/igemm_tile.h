/* kern/gemm/igemm_tile.h - the inner call of integer products and convolutions.
 *
 * Like kern/gemm/tile.h, on groups: 32-bit lanes of `igemm_group` consecutive k. A row of A is pieces of
 * `seglen` lanes; a packed panel of B holds NR lanes for each lane of k. Operands are in the form the
 * level multiplies (IgemmForm in kern/gemm/igemm.h). Sums are int32 and wrap around.
 */
#ifndef SDX_KERN_GEMM_IGEMM_TILE_H
#define SDX_KERN_GEMM_IGEMM_TILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/gemm/epilogue.h"

enum {
    SDX_IOUT_I32,
    SDX_IOUT_F32, /* epi(sum * scale) */
    SDX_IOUT_I8,  /* clamp(round half to even(sum * scale) + zero) */
    SDX_IOUT_U8,
};

/* What happens to the sums. All arrays are per column, and may be NULL:
 *     sum = dot + col[j] - b_zero[j] * row_sum[i] */
typedef struct IgemmOut {
    unsigned kind;
    const int32_t *col;
    const int32_t *b_zero, *row_sum; /* both or none; row_sum per row */
    const float *scale;              /* not for I32 */
    bool one_scale;                  /* scale is a single number */
    Epilogue epi;                    /* F32 */
    int32_t zero, lo, hi;            /* I8, U8: zero point, and bounds on the stored value */
} IgemmOut;

typedef struct IgemmTile {
    const uint8_t *a;
    size_t lda;           /* bytes */
    const ptrdiff_t *seg; /* bytes */
    size_t nseg, seglen;

    const int32_t *b;
    size_t b_panel; /* lanes from a panel to the next */
    size_t npanel;

    int32_t *part;
    bool first, last;

    void *c; /* element type by out->kind */
    size_t ldc;
    size_t rows, cols;
    const IgemmOut *out; /* its arrays already point to the first row and column */
} IgemmTile;

#endif
