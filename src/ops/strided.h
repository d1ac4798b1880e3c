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

/* The prepare of operators that move: state is the table of kernels, which sdx_move_run takes from r. */
sdx_status sdx_move_prepare(Prepare *p);
/* Copies, spread over the pool of r. dst and src do not overlap. */
void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src);
/* Is the source one run of elements in the order of the destination? */
bool sdx_move_is_run(const Move *m);

#endif
