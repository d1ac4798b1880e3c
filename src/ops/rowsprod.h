/* ops/rowsprod.h - y[m,n] = a[m,k] w[n,k]^T + bias, for weights that are stored in another form than float rows.
 *
 * A task asks for some rows of w at a time, as floats, and multiplies all of a by them while they are in the cache. */
#ifndef SDX_OPS_ROWSPROD_H
#define SDX_OPS_ROWSPROD_H

#include "kern/gemm/gemm.h"
#include "ops/ops.h"

/* n rows of w from `first` on, k floats each: where they lie, or written to room. */
typedef const float *RowsFn(const void *weights, int64_t first, int64_t n, float *room);

typedef struct RowsProduct {
    int64_t m, n, k;
    const float *a, *bias; /* bias: n, or NULL */
    float *y;
    RowsFn *rows;
    const void *weights;
} RowsProduct;

/* What does not change from run to run. */
typedef struct RowsPlan {
    const Kern *kern;
    size_t room, worker; /* bytes of a task: for rows of w, and together */
    size_t at;           /* in the run's scratch */
    bool flush;
} RowsPlan;

/* For products of inner size at most k. Reserves scratch. */
sdx_status sdx_rows_plan(Prepare *p, int64_t k, RowsPlan *out);
void sdx_rows_product(const Run *r, const RowsPlan *plan, const RowsProduct *q);

#endif
