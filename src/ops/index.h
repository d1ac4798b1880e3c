/* Index tensors, and walking over positions of one shape while following the strides of another. */
#ifndef SDX_OPS_INDEX_H
#define SDX_OPS_INDEX_H

#include "ops/ops.h"

/* The integers of t, negative ones counted from `size`, on the run's heap. Fails when one is outside [-size, size). */
sdx_status sdx_run_indices(Run *r, const Tensor *t, int64_t size, int64_t **out);
/* t [.., depth] holds positions in an array of the first `depth` of dims. *out: the linear offset of each, plus one
 * whole array for each `per_batch` positions before it. */
sdx_status sdx_run_positions(Run *r, const Tensor *t, const int64_t *dims, int depth, int64_t per_batch, int64_t **out);

void sdx_row_major(const int64_t *dims, int rank, int64_t *stride);

typedef struct IndexWalk {
    int rank;
    const int64_t *dims, *stride;
    int64_t at[16], offset;
} IndexWalk;

/* Stands at linear position `from` of dims. dims and stride are borrowed. */
void sdx_walk_begin(IndexWalk *w, int rank, const int64_t *dims, const int64_t *stride, int64_t from);
static inline void sdx_walk_next(IndexWalk *w)
{
    int k = w->rank - 1;
    if (k < 0) return;
    w->offset += w->stride[k];
    while (++w->at[k] == w->dims[k] && k > 0) {
        w->offset -= w->at[k] * w->stride[k];
        w->at[k--] = 0;
        w->offset += w->stride[k];
    }
}

#endif
