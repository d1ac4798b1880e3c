/* ops/rotary.h - rotary positions: pairs of elements of a head turned by the angle of its place. */
#ifndef SDX_OPS_ROTARY_H
#define SDX_OPS_ROTARY_H

#include "ops/ops.h"

/* y = x with its first 2*half elements rotated: pairs (k, k + half), or (2k, 2k + 1) when interleaved, by the cosine
 * and sine at k. y may be x. */
void sdx_rotate_head(float *y, const float *x, const float *cos, const float *sin, int64_t half, int64_t size,
                     bool interleaved);

#endif
