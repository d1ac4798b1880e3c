/* ops/argreduce.c - ArgMax, ArgMin
 *
 * The first (select_last_index: the last) place of the extreme value along an axis. A NaN is more extreme than any
 * number, as in numpy. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/elementwise.h"

typedef struct ArgAttrs {
    int64_t axis, keepdims, select_last_index;
} ArgAttrs;

static const AttrSpec arg_attrs[] = { OP_INT(ArgAttrs, axis, 0), OP_INT(ArgAttrs, keepdims, 1),
                                      OP_INT(ArgAttrs, select_last_index, 0), OP_ATTR_END };

typedef struct ArgJob {
    ArgReduce *fn;
    const char *x;
    int64_t *y;
    size_t es;
    Axis3 v;
    bool last;
} ArgJob;

#define ARG_WIDTH 128 /* columns of a task */

static void arg_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ArgJob *j = arg;
    size_t n = (size_t)j->v.n, inner = (size_t)j->v.inner;
    int64_t blocks = (j->v.inner + ARG_WIDTH - 1) / ARG_WIDTH;
    for (int64_t u = from; u < to; u++) {
        size_t outer = (size_t)(u / blocks), first = (size_t)(u % blocks) * ARG_WIDTH;
        size_t cols = inner - first < ARG_WIDTH ? inner - first : ARG_WIDTH;
        j->fn(j->y + outer * inner + first, j->x + (outer * n * inner + first) * j->es, 1, n, cols, inner, j->last);
    }
}

static sdx_status arg_infer(Infer *c)
{
    const ArgAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int axis;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    Dim *out = infer_out_rank(c, 0, a->keepdims ? x->rank : x->rank - 1);
    for (int k = 0, o = 0; k < x->rank; k++) {
        if (k != axis)
            out[o++] = x->dims[k];
        else if (a->keepdims)
            out[o++] = 1;
    }
    return SDX_OK;
}

static sdx_status arg_run(Run *r, bool min)
{
    const ArgAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis), rank = 0;
    int64_t dims[SDX_MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        if (k != axis)
            dims[rank++] = x->dims[k];
        else if (a->keepdims)
            dims[rank++] = 1;
    }
    void *y;
    TRY(sdx_run_output(r, 0, DT_INT64, rank, dims, &y));
    const Kern *k = r->state;
    int type = sdx_ew_ktype(x->dtype);
    ArgJob j = { .x = x->data,
                 .y = y,
                 .es = sdx_dtype_size(x->dtype),
                 .v = axis3_of(x, axis),
                 .fn = type < 0 ? NULL
                       : min    ? k->argmin[type]
                                : k->argmax[type],
                 .last = a->select_last_index != 0 };
    if (j.v.outer * j.v.inner == 0) return SDX_OK;
    if (j.v.n == 0) return sdx_run_fail(r, "axis %d has size 0: there is no element to choose", axis);
    if (j.v.n > INT32_MAX) return sdx_run_fail(r, "axis %d has %lld elements", axis, (long long)j.v.n);
    if (!j.fn) return sdx_run_fail(r, "type %s has no order", sdx_dtype_name(x->dtype));
    int64_t width = j.v.inner < ARG_WIDTH ? j.v.inner : ARG_WIDTH, blocks = (j.v.inner + ARG_WIDTH - 1) / ARG_WIDTH;
    sdx_run_range(r, j.v.outer * blocks, grain_for(j.v.n * width), arg_range, &j);
    return SDX_OK;
}

static sdx_status argmax_run(Run *r) { return arg_run(r, false); }
static sdx_status argmin_run(Run *r) { return arg_run(r, true); }

static const OpVer arg_vers[] = {
    { 13, { TS_NUMB } }, { 12, { TS_NUM } }, { 11, { TS_NUM } }, { 1, { TS_NUM } }, { 0 },
};

const OpDef sdx_op_ArgMax = {
    .name = "ArgMax",
    .sig = "T->i64",
    .attrs = arg_attrs,
    .attrs_size = sizeof(ArgAttrs),
    .vers = arg_vers,
    .flags = OP_F32_MATH,
    .infer = arg_infer,
    .cpu = { prepare_kern, argmax_run },
};
const OpDef sdx_op_ArgMin = {
    .name = "ArgMin",
    .sig = "T->i64",
    .attrs = arg_attrs,
    .attrs_size = sizeof(ArgAttrs),
    .vers = arg_vers,
    .flags = OP_F32_MATH,
    .infer = arg_infer,
    .cpu = { prepare_kern, argmin_run },
};
