/* Copying elements from one strided layout to another: what transposing, slicing, tiling and joining have in common.
 *
 * Elements have 1, 2, 4, 8 or 16 bytes and are never looked at. Strides count elements, may be negative or (in the
 * source) zero; data pointers stand at index 0 of every dimension. */
#ifndef SDX_OPS_MOVE_H
#define SDX_OPS_MOVE_H

#include "ops/ops.h"

typedef struct Move {
    int rank;
    size_t size; /* of an element, in bytes */
    int64_t dims[SDX_MAX_RANK + 1], to[SDX_MAX_RANK + 1], from[SDX_MAX_RANK + 1];
} Move;

/* Drops sizes of 1 and merges neighbours that lie in line on both sides. Call once, before running. */
void sdx_move_merge(Move *m);
/* Copies, spread over the pool of r. dst and src do not overlap. */
void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src);

#endif
