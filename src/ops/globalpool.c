/* ops/globalpool.c - GlobalAveragePool, GlobalMaxPool, GlobalLpPool: reductions over all spatial axes. */
#include <math.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/reduce.h"
#include "ops/upgrade.h"

typedef struct GlobalAttrs {
    int64_t p;
} GlobalAttrs;

static const AttrSpec global_attrs[] = { OP_ATTR_END };
static const AttrSpec globallp_attrs[] = { OP_INT(GlobalAttrs, p, 2), OP_ATTR_END };

static sdx_status global_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    Dim *out = infer_out_rank(c, 0, x->rank);
    for (int k = 0; k < x->rank; k++) out[k] = k < 2 ? x->dims[k] : 1;
    return SDX_OK;
}

static sdx_status global_output(Run *r, int64_t *rows, int64_t *n, void **y)
{
    const Tensor *x = &r->in[0]->t;
    int64_t dims[SDX_MAX_RANK];
    for (int k = 0; k < x->rank; k++) dims[k] = k < 2 ? x->dims[k] : 1;
    *rows = dims[0] * dims[1];
    *n = sdx_dims_product(x->dims, 2, x->rank);
    return sdx_run_output(r, 0, x->dtype, x->rank, dims, y);
}

static sdx_status global_run(Run *r, int op)
{
    int64_t rows, n;
    void *y;
    TRY(global_output(r, &rows, &n, &y));
    return sdx_reduce_rows(r, r->state, r->in[0]->t.dtype, op, r->in[0]->t.data, y, rows, n);
}

static sdx_status globalavg_run(Run *r) { return global_run(r, RED_MEAN); }
static sdx_status globalmax_run(Run *r) { return global_run(r, RED_MAX); }

static sdx_status globallp_run(Run *r)
{
    int64_t p = ((const GlobalAttrs *)r->args)->p;
    if (p == 1 || p == 2) return global_run(r, p == 1 ? RED_L1 : RED_L2);
    if (p < 1) return sdx_run_fail(r, "p is %lld; it must be at least 1", (long long)p);
    const Tensor *x = &r->in[0]->t;
    int64_t rows, n;
    Tensor y = { .dtype = x->dtype };
    TRY(global_output(r, &rows, &n, &y.data));
    for (int64_t i = 0; i < rows; i++) {
        double sum = 0;
        for (int64_t k = 0; k < n; k++) sum += pow(fabs(sdx_tensor_get_double(x, i * n + k)), (double)p);
        sdx_tensor_set_double(&y, i, pow(sum, 1 / (double)p));
    }
    return SDX_OK;
}

static const OpVer global_vers[] = { { 22, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_GlobalAveragePool = {
    .name = "GlobalAveragePool",
    .sig = "T->T",
    .attrs = global_attrs,
    .attrs_size = sizeof(GlobalAttrs),
    .vers = global_vers,
    .flags = OP_F32_MATH,
    .infer = global_infer,
    .cpu = { prepare_kern, globalavg_run },
};
const OpDef sdx_op_GlobalMaxPool = {
    .name = "GlobalMaxPool",
    .sig = "T->T",
    .attrs = global_attrs,
    .attrs_size = sizeof(GlobalAttrs),
    .vers = global_vers,
    .flags = OP_F32_MATH,
    .infer = global_infer,
    .cpu = { prepare_kern, globalmax_run },
};

/* p was a float in version 1. */
static sdx_status globallp_from_1(Node *n, Err *err)
{
    float p = sdx_upgrade_float(n, "p", 2);
    if (p != (float)(int64_t)p || p < 1)
        return sdx_fail(err, SDX_UNSUPPORTED, "p = %g is not a whole number", (double)p);
    if (!sdx_node_set_int(n, "p", (int64_t)p)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

static const OpVer globallp_vers[] = {
    { 22, { TS_FLTB } }, { 2, { TS_FLT } }, { 1, { TS_FLT }, globallp_from_1 }, { 0 }
};

const OpDef sdx_op_GlobalLpPool = {
    .name = "GlobalLpPool",
    .sig = "T->T",
    .attrs = globallp_attrs,
    .attrs_size = sizeof(GlobalAttrs),
    .vers = globallp_vers,
    .flags = OP_F32_MATH,
    .infer = global_infer,
    .cpu = { prepare_kern, globallp_run },
};
