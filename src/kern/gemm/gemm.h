/* kern/gemm/gemm.h - matrix products in f32.
 *
 *     c[m,n] = epilogue(a[m,k] * b[k,n])          (kern/gemm/epilogue.h)
 *
 * Three steps. `sdx_gemm_f32_plan` looks at sizes and layouts and cuts the product into chunks;
 * `sdx_gemm_f32_chunk` computes one chunk, on any thread, with scratch memory of its own. A constant
 * b is packed once, beforehand, with `sdx_gemm_f32_pack`; any other b is packed as it is used.
 *
 * Accuracy: SUM(1). Every element is one chain of multiply-adds in the order of k, so its bits do not
 * depend on m, on the chunks, on packing or on threads. k == 0 gives epilogue(0).
 *
 * Method: Goto & van de Geijn, "Anatomy of High-Performance Matrix Multiplication", 2008.
 */
#ifndef SDX_KERN_GEMM_GEMM_H
#define SDX_KERN_GEMM_GEMM_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/gemm/epilogue.h"
#include "kern/kern.h"

/* How an operand lies in memory. */
enum {
    SDX_MAT_ROWS,   /* element (i, j) at i*ld + j */
    SDX_MAT_COLS,   /* element (i, j) at j*ld + i: the transpose of a matrix of rows */
    SDX_MAT_PACKED, /* b only: made by sdx_gemm_f32_pack */
};

typedef struct GemmPlan {
    size_t m, n, k;
    size_t lda, ldb, ldc; /* in elements; ldb is unused when b is packed */
    unsigned a_form, b_form;

    size_t chunks;  /* independent pieces of work; 0 when the result is empty */
    size_t scratch; /* bytes that a running chunk needs, aligned to 64 */

    size_t mb, nb, kc;      /* rows, panels of a chunk; length of a slice of k */
    size_t mchunks, panels; /* chunks of rows: chunk i has rows of i % mchunks; panels in all */
    bool streams;           /* packed b does not stay in the second-level cache */
    bool copy_a;            /* a is brought into rows that do not collide in the cache */
} GemmPlan;

/* One product under a plan. c must not overlap a or b; epi.add may be c itself, row for row. */
typedef struct GemmF32 {
    const float *a, *b;
    float *c;
    Epilogue epi;
} GemmF32;

/* Floats that b takes when packed; false if the number does not fit size_t. */
bool sdx_gemm_f32_pack_size(const Kern *kern, size_t k, size_t n, size_t *nfloats);

/* Packs panels [panel, panel+npanel) of b into `packed`, the start of the whole buffer (aligned to 64
 * for speed). Panels are gemm_f32_nr columns each. flush: subnormals become zero. */
void sdx_gemm_f32_pack(const Kern *kern, const float *b, size_t ldb, unsigned form, size_t k, size_t n, size_t panel,
                       size_t npanel, bool flush, float *packed);

/* Subnormals become zero. */
void sdx_f32_flush(float *x, size_t n);

/* Fills the lower part of a plan whose upper part (sizes, strides, forms) is set. */
void sdx_gemm_f32_plan(const Kern *kern, GemmPlan *p);

/* The planning itself, for products of any 4-byte lanes with tiles of mr rows and nr columns. */
void sdx_gemm_cut(size_t mr, size_t nr, size_t usual_kc, GemmPlan *p);

/* Stride, in lanes, of the rows of a copied block of a: an odd number of cache lines, so that rows spread
 * over the sets of the cache. */
size_t sdx_gemm_copy_stride(size_t kc);

/* Computes chunk i of [0, p->chunks). */
void sdx_gemm_f32_chunk(const Kern *kern, const GemmPlan *p, const GemmF32 *g, size_t i, void *scratch);

#endif
