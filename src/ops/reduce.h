/* ops/reduce.h - reductions for other families. */
#ifndef SDX_OPS_REDUCE_H
#define SDX_OPS_REDUCE_H

#include "ops/ops.h"

enum { RED_SUM, RED_MEAN, RED_PROD, RED_MAX, RED_MIN, RED_L1, RED_L2, RED_LOGSUM, RED_LOGSUMEXP, RED_SUMSQ, RED_OPS };

/* y[i] = op over row i of x, rows x n, float or double. */
sdx_status sdx_reduce_rows(Run *r, const Kern *kern, DType dtype, int op, const void *x, void *y, int64_t rows,
                           int64_t n);

#endif
