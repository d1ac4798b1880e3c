/* kern/move/move.h - moving elements without looking inside: by size, 1, 2, 4, 8 or 16 bytes.
 *
 * Nothing here needs aligned elements. y never overlaps x. */
#ifndef SDX_KERN_MOVE_MOVE_H
#define SDX_KERN_MOVE_MOVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct Kern;

/* y[c * ldy + r] = x[r * ldx + c], r < rows, c < cols; strides in elements, of either sign. */
typedef void TransposeFn(void *y, ptrdiff_t ldy, const void *x, ptrdiff_t ldx, size_t rows, size_t cols);
/* y[i * sy] = x[i * sx]. */
typedef void StridedFn(void *y, ptrdiff_t sy, const void *x, ptrdiff_t sx, size_t n);
/* y[i] = *value. */
typedef void FillFn(void *y, const void *value, size_t n);
/* Running sums along the middle axis of [outer][n][inner], contiguous; y may be x. `exclusive` leaves out the
 * element itself, `reverse` starts at the end. Added one by one; integers wrap. */
typedef void CumSum(void *y, const void *x, size_t outer, size_t n, size_t inner, bool exclusive, bool reverse);

/* Row i of y, nbytes long, is row index[i] of x; every index is in range. */
void sdx_gather_rows_i64(void *y, const void *x, const int64_t *index, size_t n, size_t nbytes);
void sdx_gather_rows_i32(void *y, const void *x, const int32_t *index, size_t n, size_t nbytes);

/* ---- any number of axes ------------------------------------------------------------------------
 * y[sum i_a sy[a]] = x[sum i_a sx[a]] for all i_a < n[a]: transposes, slices with steps, expansion (sx 0),
 * writing into part of a larger tensor. Fill in log2 (of the element's bytes), rank, n, sx and sy, in
 * elements; prepare once, which rewrites them; then run units 0 .. units - 1 in any order, by any threads. */
#define SDX_MOVE_RANK 16

typedef struct MoveNd {
    unsigned log2, rank;
    size_t n[SDX_MOVE_RANK];
    ptrdiff_t sx[SDX_MOVE_RANK], sy[SDX_MOVE_RANK];
    unsigned inner; /* axes handled by one call of a kernel: 0, 1, or 2 for a transpose */
    size_t piece;   /* how much of the last but inner - 1 axis makes a unit */
    size_t units;   /* about 64 KiB each; 0 if there is nothing to move */
} MoveNd;

void sdx_move_nd_prepare(MoveNd *m);
void sdx_move_nd_run(const struct Kern *k, const MoveNd *m, void *y, const void *x, size_t first, size_t count);

#endif
