/* Copying elements from one strided layout to another: what transposing, slicing, tiling and joining have in common.
 *
 * Elements have 1, 2, 4, 8 or 16 bytes and are never looked at. Strides count elements, may be negative or (in the
 * source) zero; data pointers stand at index 0 of every dimension. */
#ifndef SDX_OPS_STRIDED_H
#define SDX_OPS_STRIDED_H

#include "ops/ops.h"

typedef struct Move {
    int rank;
    size_t size; /* of an element, in bytes */
    int64_t dims[SDX_MAX_RANK], to[SDX_MAX_RANK], from[SDX_MAX_RANK];
} Move;

/* A copy made ready: strides merged, cut into units. */
typedef struct Strided {
    MoveNd nd;
    int64_t grain;
} Strided;

void sdx_strided_make(Strided *s, const Move *m);
/* Copies, spread over the pool of r. dst and src do not overlap. */
void sdx_strided_run(const Run *r, const Kern *k, const Strided *s, void *dst, const void *src);
/* Is the source one run of elements in the order of the destination? */
bool sdx_strided_is_run(const Strided *s);

/* Both at once, for operators that learn their strides when they run: sdx_move_prepare leaves the table of kernels in
 * the state, where sdx_move_run finds it. */
sdx_status sdx_move_prepare(Prepare *p);
void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src);

#endif
