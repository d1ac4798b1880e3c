/* ops/reduce.c - ReduceSum, Mean, Prod, Max, Min, L1, L2, LogSum, LogSumExp, SumSquare
 *
 * Neighbouring axes that are all kept or all reduced are one axis; then each reduced axis is one pass of the kernels
 * (kern/reduce/reductions.h), the last axis first. Reducing an axis is associative for all of them once the first pass has
 * squared or taken magnitudes; a mean of several passes is a sum divided once. A reduction over nothing gives the
 * neutral element: 0, 1, -inf or +inf (the type's lowest and highest value for integers), NaN for the mean. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/elementwise.h"
#include "ops/reduce.h"
#include "ops/upgrade.h"

#include <math.h>
#include <string.h>

#include "base/size.h"

#define REDUCE_WIDTH 256 /* columns of a task */

/* Each operator: what the first pass computes, what the others do, and what is applied to the result. */
enum { END_NONE, END_SQRT, END_LOG };
static const struct {
    unsigned first, next;
    int end;
} steps[RED_OPS] = {
    [RED_SUM] = { SDX_REDUCE_sum, SDX_REDUCE_sum, END_NONE },
    [RED_MEAN] = { SDX_REDUCE_mean, SDX_REDUCE_sum, END_NONE },
    [RED_PROD] = { SDX_REDUCE_prod, SDX_REDUCE_prod, END_NONE },
    [RED_MAX] = { SDX_REDUCE_max, SDX_REDUCE_max, END_NONE },
    [RED_MIN] = { SDX_REDUCE_min, SDX_REDUCE_min, END_NONE },
    [RED_L1] = { SDX_REDUCE_sumabs, SDX_REDUCE_sum, END_NONE },
    [RED_L2] = { SDX_REDUCE_sumsq, SDX_REDUCE_sum, END_SQRT },
    [RED_LOGSUM] = { SDX_REDUCE_sum, SDX_REDUCE_sum, END_LOG },
    [RED_LOGSUMEXP] = { SDX_REDUCE_logsumexp, SDX_REDUCE_logsumexp, END_NONE },
    [RED_SUMSQ] = { SDX_REDUCE_sumsq, SDX_REDUCE_sum, END_NONE },
};

/* -- the walk ------------------------------------------------------------------------------------------------------ */

typedef struct ReduceWalk {
    int n; /* axes, alternately kept and reduced */
    int64_t dims[SDX_MAX_RANK];
    bool first_reduced; /* axis 0 is reduced */
    int64_t count;      /* elements per result */
    int64_t results;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} ReduceWalk;

static void reduce_walk(ReduceWalk *w, const Tensor *x, const bool *mask, bool keepdims)
{
    memset(w, 0, sizeof *w);
    w->count = 1;
    w->results = 1;
    bool last = false;
    for (int k = 0; k < x->rank; k++) {
        if (mask[k])
            w->count *= x->dims[k];
        else
            w->results *= x->dims[k];
        if (!mask[k] || keepdims) w->out_dims[w->out_rank++] = mask[k] ? 1 : x->dims[k];
        if (x->dims[k] == 1) continue;
        if (w->n && last == mask[k]) {
            w->dims[w->n - 1] *= x->dims[k];
            continue;
        }
        if (w->n == 0) w->first_reduced = mask[k];
        w->dims[w->n++] = x->dims[k];
        last = mask[k];
    }
}

typedef struct PassJob {
    Reduce *fn;
    const char *x;
    char *y;
    size_t es;
    int64_t n, inner, blocks;
} PassJob;

static void reduce_range(void *arg, int64_t from, int64_t to, int worker)
{
    const PassJob *j = arg;
    size_t n = (size_t)j->n, inner = (size_t)j->inner;
    if (j->inner == 1) {
        j->fn(j->y + (size_t)from * j->es, j->x + (size_t)from * n * j->es, (size_t)(to - from), n, 1, 1);
        return;
    }
    for (int64_t u = from; u < to; u++) {
        size_t outer = (size_t)(u / j->blocks), first = (size_t)(u % j->blocks) * REDUCE_WIDTH;
        size_t cols = inner - first < REDUCE_WIDTH ? inner - first : REDUCE_WIDTH;
        j->fn(j->y + (outer * inner + first) * j->es, j->x + (outer * n * inner + first) * j->es, 1, n, cols, inner);
    }
}

static void reduce_pass(const Run *r, Reduce *fn, size_t es, const void *x, void *y, int64_t outer, int64_t n,
                        int64_t inner)
{
    PassJob j = { .fn = fn,
                  .x = x,
                  .y = y,
                  .es = es,
                  .n = n,
                  .inner = inner,
                  .blocks = inner == 1 ? 1 : (inner + REDUCE_WIDTH - 1) / REDUCE_WIDTH };
    sdx_run_range(r, outer * j.blocks, grain_for(n * (inner < REDUCE_WIDTH ? inner : REDUCE_WIDTH)), reduce_range, &j);
}

static void reduce_end(DType dtype, int end, void *y, int64_t n)
{
    Tensor t = { .dtype = dtype, .data = y };
    for (int64_t i = 0; i < n; i++) {
        double v = sdx_tensor_get_double(&t, i);
        sdx_tensor_set_double(&t, i, end == END_SQRT ? sqrt(v) : log(v));
    }
}

static void divide(DType dtype, void *y, int64_t n, int64_t by)
{
    for (int64_t i = 0; i < n; i++) switch (dtype) {
        case DT_FLOAT: ((float *)y)[i] = (float)((double)((float *)y)[i] / (double)by); break;
        case DT_DOUBLE: ((double *)y)[i] /= (double)by; break;
        case DT_INT32: ((int32_t *)y)[i] = (int32_t)(by ? ((int32_t *)y)[i] / by : 0); break;
        case DT_UINT32: ((uint32_t *)y)[i] = (uint32_t)(by ? ((uint32_t *)y)[i] / by : 0); break;
        case DT_INT64: ((int64_t *)y)[i] = by ? ((int64_t *)y)[i] / by : 0; break;
        default: ((uint64_t *)y)[i] = by ? ((uint64_t *)y)[i] / (uint64_t)by : 0; break;
        }
}

/* The kernel, or NULL when the type has no such reduction. */
static Reduce *reduce_kernel(const Kern *k, DType dtype, unsigned reduction)
{
    int type = sdx_ew_ktype(dtype);
    return type < 0 ? NULL : k->reduce[type][reduction];
}

static sdx_status reduce_all(Run *r, const Kern *kern, const ReduceWalk *w, DType dtype, int op, const void *x, void *y)
{
    int64_t dims[SDX_MAX_RANK], reduced = 0;
    memcpy(dims, w->dims, sizeof dims);
    for (int k = 0; k < w->n; k++) reduced += (k % 2 == 0) == w->first_reduced;
    bool divides = op == RED_MEAN && reduced > 1;
    unsigned first = divides ? SDX_REDUCE_sum : steps[op].first;
    size_t es = sdx_dtype_size(dtype);
    if (reduced == 0) { /* each element by itself: an axis of size 1 */
        reduce_pass(r, reduce_kernel(kern, dtype, first), es, x, y, w->results, 1, 1);
        reduced = 0;
    }
    int64_t left = reduced;
    for (int k = w->n - 1; k >= 0; k--) {
        if ((k % 2 == 0) != w->first_reduced) continue;
        int64_t outer = sdx_dims_product(dims, 0, k), inner = sdx_dims_product(dims, k + 1, w->n), n = dims[k];
        void *dst = y;
        if (--left > 0) {
            size_t nbytes;
            if (!sdx_mul_size(&nbytes, (size_t)(outer * inner), es)) return sdx_run_fail(r, "the input is too large");
            dst = sdx_run_heap(r, nbytes);
            TRY_MEM(dst, r->err);
        }
        reduce_pass(r, reduce_kernel(kern, dtype, left == reduced - 1 ? first : steps[op].next), es, x, dst, outer, n,
                    inner);
        dims[k] = 1;
        x = dst;
    }
    if (divides) divide(dtype, y, w->results, w->count);
    if (steps[op].end != END_NONE) reduce_end(dtype, steps[op].end, y, w->results);
    return SDX_OK;
}

static sdx_status reduce_as_double(Run *r, const Kern *kern, const ReduceWalk *w, int op, const Tensor *x, void *y)
{
    int64_t n = sdx_tensor_count(x);
    double *in = sdx_run_heap(r, (size_t)n * sizeof *in), *out = sdx_run_heap(r, (size_t)w->results * sizeof *out);
    if (!in || !out) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    for (int64_t i = 0; i < n; i++) in[i] = sdx_tensor_get_double(x, i);
    TRY(reduce_all(r, kern, w, DT_DOUBLE, op, in, out));
    Tensor t = { .dtype = x->dtype, .data = y };
    for (int64_t i = 0; i < w->results; i++) sdx_tensor_set_double(&t, i, trunc(out[i]));
    return SDX_OK;
}

sdx_status sdx_reduce_rows(Run *r, const Kern *kern, DType dtype, int op, const void *x, void *y, int64_t rows,
                           int64_t n)
{
    ReduceWalk w;
    Tensor t = { .dtype = dtype, .rank = 2, .dims = { rows, n } };
    reduce_walk(&w, &t, (bool[]){ false, true }, false);
    return rows ? reduce_all(r, kern, &w, dtype, op, x, y) : SDX_OK;
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

typedef struct ReduceAttrs {
    int64_t keepdims, noop_with_empty_axes;
} ReduceAttrs;

static const AttrSpec reduce_attrs[] = { OP_INT(ReduceAttrs, keepdims, 1), OP_INT(ReduceAttrs, noop_with_empty_axes, 0),
                                         OP_ATTR_END };

static sdx_status reduce_infer(Infer *c)
{
    const ReduceAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    DimVec axes = { 0 };
    bool known = true;
    const Shape *as = infer_has(c, 1) ? infer_shape(c, 1) : NULL;
    if (infer_has(c, 1)) {
        if (as && as->rank > 1) return sdx_infer_fail(c, "axes has rank %d; it must be 1", (int)as->rank);
        known = sdx_infer_ints(c, 1, &axes);
        for (int i = 0; known && i < axes.n; i++) known = axes.v[i].known;
    }
    if (known) {
        bool mask[SDX_MAX_RANK] = { false };
        for (int i = 0; i < axes.n; i++) {
            int axis;
            TRY(sdx_infer_axis(c, axes.v[i].v, x->rank, &axis));
            mask[axis] = true;
        }
        Dim dims[SDX_MAX_RANK];
        int rank = 0;
        for (int k = 0; k < x->rank; k++) {
            bool red = axes.n ? mask[k] : !a->noop_with_empty_axes;
            if (!red)
                dims[rank++] = x->dims[k];
            else if (a->keepdims)
                dims[rank++] = 1;
        }
        Dim *out = infer_out_rank(c, 0, rank);
        memcpy(out, dims, (size_t)rank * sizeof *dims);
        return SDX_OK;
    }
    if (a->keepdims) infer_out_rank(c, 0, x->rank);
    return SDX_OK;
}

typedef struct ReduceState {
    const Kern *kern;
    bool fixed; /* the axes are known */
    ReduceWalk walk;
} ReduceState;

/* Which axes go. axes NULL or empty: all, or none with noop_with_empty_axes. */
static bool reduce_mask(const ReduceAttrs *a, const Tensor *x, const Tensor *axes, bool *mask, int64_t *bad)
{
    int64_t n = axes ? sdx_tensor_count(axes) : 0;
    for (int k = 0; k < x->rank; k++) mask[k] = n == 0 && !a->noop_with_empty_axes;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = sdx_tensor_get_int(axes, i);
        *bad = axis;
        if (axis < -x->rank || axis >= x->rank) return false;
        mask[axis < 0 ? axis + x->rank : axis] = true;
    }
    return true;
}

static sdx_status reduce_prepare(Prepare *p)
{
    const Tensor *axes = p->n_in > 1 && p->in[1] ? &p->in[1]->t : NULL;
    ReduceState *st = sdx_arena_new(p->arena, ReduceState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    if (axes && !p->in_const[1]) return SDX_OK;
    bool mask[SDX_MAX_RANK];
    int64_t bad;
    if (!reduce_mask(p->args, &p->in[0]->t, axes, mask, &bad))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "axis %lld is outside [-%d, %d)", (long long)bad,
                                (int)p->in[0]->t.rank, (int)p->in[0]->t.rank);
    reduce_walk(&st->walk, &p->in[0]->t, mask, ((const ReduceAttrs *)p->args)->keepdims);
    st->fixed = true;
    return SDX_OK;
}

static sdx_status reduce_run(Run *r, int op)
{
    const Tensor *x = &r->in[0]->t;
    const ReduceAttrs *a = r->args;
    ReduceWalk local;
    const ReduceState *st = r->state;
    const ReduceWalk *w = st->fixed ? &st->walk : &local;
    if (!st->fixed) {
        bool mask[SDX_MAX_RANK];
        int64_t bad;
        if (!reduce_mask(a, x, r->n_in > 1 && r->in[1] ? &r->in[1]->t : NULL, mask, &bad))
            return sdx_run_fail(r, "axis %lld is outside [-%d, %d)", (long long)bad, (int)x->rank, (int)x->rank);
        reduce_walk(&local, x, mask, a->keepdims);
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, w->out_rank, w->out_dims, &y));
    if (w->results == 0) return SDX_OK;
    bool is_float = x->dtype == DT_FLOAT || x->dtype == DT_DOUBLE;
    if (!is_float && op == RED_L2) return reduce_as_double(r, st->kern, w, op, x, y);
    TRY(reduce_all(r, st->kern, w, x->dtype, op, x->data, y));
    for (int64_t i = 0; i < w->results && x->dtype == DT_BOOL; i++)
        ((uint8_t *)y)[i] = ((uint8_t *)y)[i] != 0; /* the least of no bytes is 255 */
    return SDX_OK;
}

#define INTS4 (TS_I32 | TS_I64 | TS_U32 | TS_U64)
#define BYTES (TS_I8 | TS_U8)

static sdx_status axes_to_input(Node *n, Err *err) { return sdx_upgrade_ints_to_input(n, "axes", 1, err); }

#define REDUCE_OP(Name, op, ...)                                                                                       \
    static sdx_status run_##op(Run *r) { return reduce_run(r, op); }                                                   \
    static const OpVer vers_##op[] = { __VA_ARGS__, { 0 } };                                                           \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T,i64?->T",                                                                                            \
        .attrs = reduce_attrs,                                                                                         \
        .attrs_size = sizeof(ReduceAttrs),                                                                             \
        .vers = vers_##op,                                                                                             \
        .flags = OP_F32_MATH,                                                                                          \
        .infer = reduce_infer,                                                                                         \
        .cpu = { reduce_prepare, run_##op },                                                                           \
    };

REDUCE_OP(ReduceSum, RED_SUM, { 13, { TS_FLTB | INTS4 } }, { 11, { TS_FLT | INTS4 }, axes_to_input },
          { 1, { TS_FLT | INTS4 } })
#define REDUCE_ROWS REDUCE_ROWS_18(NULL)
#define REDUCE_ROWS_18(upgrade)                                                                                        \
    { 18, { TS_FLTB | INTS4 }, upgrade }, { 13, { TS_FLTB | INTS4 }, axes_to_input }, { 11, { TS_FLT | INTS4 } },      \
    {                                                                                                                  \
        1, { TS_FLT | INTS4 }                                                                                          \
    }
REDUCE_OP(ReduceMean, RED_MEAN, REDUCE_ROWS)
REDUCE_OP(ReduceProd, RED_PROD, REDUCE_ROWS)
REDUCE_OP(ReduceL1, RED_L1, REDUCE_ROWS)
REDUCE_OP(ReduceL2, RED_L2, REDUCE_ROWS)
REDUCE_OP(ReduceSumSquare, RED_SUMSQ, REDUCE_ROWS)
/* The integer types went in 28. */
REDUCE_OP(ReduceLogSum, RED_LOGSUM, { 28, { TS_FLTB } }, REDUCE_ROWS_18(sdx_upgrade_by_double))
REDUCE_OP(ReduceLogSumExp, RED_LOGSUMEXP, { 28, { TS_FLTB } }, REDUCE_ROWS_18(sdx_upgrade_by_double))
#define REDUCE_MINMAX_ROWS                                                                                             \
    { 20, { TS_FLTB | INTS4 | BYTES | TS_BOOL } }, { 18, { TS_FLTB | INTS4 | BYTES } },                                \
        { 13, { TS_FLTB | INTS4 | BYTES }, axes_to_input }, { 12, { TS_FLT | INTS4 | BYTES } },                        \
        { 11, { TS_FLT | INTS4 } },                                                                                    \
    {                                                                                                                  \
        1, { TS_FLT | INTS4 }                                                                                          \
    }
REDUCE_OP(ReduceMax, RED_MAX, REDUCE_MINMAX_ROWS)
REDUCE_OP(ReduceMin, RED_MIN, REDUCE_MINMAX_ROWS)
