/* kern/softmax/softmax.h - softmax and its logarithm along the middle one of three axes.
 *
 * x and y are [outer][n][inner] with `ld` elements from row to row (ld >= inner) and n * ld from block to
 * block; y may be x. ld == 1: rows, summed as in kern/reduce; ld > 1: columns, summed in order.
 * Relative error of softmax: (8 + |x - max x|) * 2^-23, of logsoftmax 2 * 2^-23 * max(1, |x - max x|), plus
 * that of the sum; results of softmax below 2^-126 may be 0. A row of only -infinity, or with +infinity, gives NaN. */
#ifndef SDX_KERN_SOFTMAX_SOFTMAX_H
#define SDX_KERN_SOFTMAX_SOFTMAX_H

#include <stddef.h>

typedef void SoftmaxF32(float *y, const float *x, size_t outer, size_t n, size_t inner, size_t ld);

/* Rows of n scores, ld apart, become softmax(scale * x + bias), in place; each row of bias lies ldb after the one before
 * (0: the same again); NULL: none. As softmax, but what a bias of -infinity hides may be NaN or infinite, and a row
 * of only -infinity gives zeros. n > 0. */
typedef void SoftmaxScoresF32(float *x, size_t rows, size_t n, size_t ld, float scale, const float *bias, size_t ldb);

#endif
