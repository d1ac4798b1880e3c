/* kern/pool/taps.h - element by element over a list of rows: what pools and resizing are made of.
 *
 * y[i] is made of x[t][i * stride], t < taps, in that order; n elements. NHWC pools give the pixels under a window
 * (stride 1, n channels), NCHW pools the rows under a row of windows, shifted by each tap, resizing the rows around
 * an output row. y overlaps no row. */
#ifndef SDX_KERN_POOL_TAPS_H
#define SDX_KERN_POOL_TAPS_H

#include <stddef.h>

/* The largest; NaN if any is, -infinity of no taps. */
typedef void MaxTapsF32(float *y, const float *const *x, size_t taps, size_t n, size_t stride);
/* Their sum divided by `count`. */
typedef void MeanTapsF32(float *y, const float *const *x, size_t taps, size_t n, size_t stride, float count);
/* sum weight[t] x[t], by fused multiply-adds; stride 1. */
typedef void BlendTapsF32(float *y, const float *const *x, const float *weight, size_t taps, size_t n);

#endif
