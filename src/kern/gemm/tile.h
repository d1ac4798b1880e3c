/* kern/gemm/tile.h - the inner call of every f32 product and convolution.
 *
 * Multiplies `rows` rows of A by one or more packed panels of B over one slice of k. Products and
 * convolutions differ in how they walk A: a row of A is `nseg` pieces of `seglen` floats, piece s
 * seg[s] bytes after a (a convolution has one piece per kernel row), and consecutive rows are `lda` apart.
 *
 * Each result is one chain of multiply-adds in the order of k, whatever the tile, the slice or the
 * number of rows: `part` carries the chain from one slice to the next. So results do not depend on
 * how the work was cut.
 */
#ifndef SDX_KERN_GEMM_TILE_H
#define SDX_KERN_GEMM_TILE_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/gemm/epilogue.h"

typedef struct GemmTile {
    const float *a;
    size_t lda;
    const ptrdiff_t *seg;
    size_t nseg, seglen;

    const float *b; /* this slice of the first panel: seglen*nseg rows of NR floats */
    size_t b_panel; /* floats from a panel to the next */
    size_t npanel;
    const float *b_next; /* what is wanted soon is fetched meanwhile: b_step floats from here for each row */
    size_t b_step;       /* of the slice that a block of rows passes, further on for each panel; or NULL */

    float *part;      /* row r of panel p at part + (p*rows + r)*NR; NULL when first and last */
    bool first, last; /* slice: starts from zero, ends in c */

    float *c; /* row r of panel p at c + r*ldc + p*NR */
    size_t ldc;
    size_t rows;
    size_t cols;         /* of all panels together, at most npanel*NR */
    const Epilogue *epi; /* bias and add already point to the first row and column */
    bool cached;         /* these rows of A were used a moment ago */
} GemmTile;

#endif
