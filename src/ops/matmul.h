/* ops/matmul.h - the shape rules of numpy.matmul, for every operator that multiplies so. */
#ifndef SDX_OPS_MATMUL_H
#define SDX_OPS_MATMUL_H

#include "ops/ops.h"

typedef struct MatShape {
    int64_t m, n, k; /* of one product; stacked left matrices against one right matrix count as one tall one */
    int64_t rows;    /* of one left matrix before such stacking */
    int n_batch;     /* batch axes left, outermost first */
    int64_t dims[SDX_MAX_RANK], step_a[SDX_MAX_RANK], step_b[SDX_MAX_RANK]; /* in elements; 0 repeats */
    int64_t batches;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} MatShape;

/* Output 0 is the product of inputs ia and ib. */
sdx_status sdx_matmul_infer(Infer *c, int ia, int ib);
void sdx_matmul_shape(const Tensor *a, const Tensor *b, MatShape *s);

/* Where the operands of a batch start, in elements. */
static inline void matmul_at(const MatShape *s, int64_t batch, int64_t *a, int64_t *b)
{
    *a = *b = 0;
    for (int k = s->n_batch - 1; k >= 0; k--) {
        *a += batch % s->dims[k] * s->step_a[k];
        *b += batch % s->dims[k] * s->step_b[k];
        batch /= s->dims[k];
    }
}

#endif
