/* ops/axis3.h - a tensor seen as [outer, axis, inner], and typed row loops over it. */
#ifndef SDX_OPS_AXIS3_H
#define SDX_OPS_AXIS3_H

#include "ops/ops.h"

typedef struct Axis3 {
    int64_t outer, n, inner;
} Axis3;

static inline Axis3 axis3_of(const Tensor *x, int axis)
{
    return (Axis3){ sdx_dims_product(x->dims, 0, axis), x->dims[axis], sdx_dims_product(x->dims, axis + 1, x->rank) };
}

/* Units of work that a task should take so that it touches about 32 Ki elements. */
static inline int64_t grain_for(int64_t elements_per_unit)
{
    return elements_per_unit >= 32768 ? 1 : 32768 / (elements_per_unit < 1 ? 1 : elements_per_unit);
}

/* Output o has the type and shape of x. */
static inline sdx_status run_output_like(Run *r, int o, const Tensor *x, void **data)
{
    return sdx_run_output(r, o, x->dtype, x->rank, x->dims, data);
}

/* For prepare: operators that need nothing but the kernels in run. */
static inline sdx_status prepare_kern(Prepare *p)
{
    p->state = (void *)p->kern;
    return SDX_OK;
}

#endif
