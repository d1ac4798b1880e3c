/* Slice: per axis the elements start, start + step, ... before end. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/strided.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

/* Of an axis of size d: first index and number of elements of [start:end:step]. The standard clamps as Python does, but for
 * a start before the axis with a negative step, which takes the first element. */
static void slice_range(int64_t d, int64_t start, int64_t end, int64_t step, int64_t *first, int64_t *count)
{
    if (start < 0) start = start < -d ? -1 : start + d;
    if (end < 0) end = end < -d ? -1 : end + d;
    if (step > 0) {
        if (start < 0) start = 0;
        if (end < 0) end = 0;
        if (start > d) start = d;
        if (end > d) end = d;
        *count = end > start ? (end - start - 1) / step + 1 : 0;
    } else {
        if (start < 0) start = 0;
        if (start > d - 1) start = d - 1;
        if (end > d - 1) end = d - 1;
        /* -(step + 1) + 1 cannot overflow where -step could. */
        *count = start > end ? (int64_t)((uint64_t)(start - end - 1) / ((uint64_t) - (step + 1) + 1)) + 1 : 0;
    }
    *first = *count ? start : 0;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status slice_axes(const Infer *c, int rank, int n, int *axes, bool *known)
{
    int64_t v[SDX_MAX_RANK];
    int count = n;
    *known = true;
    if (INFER_HAS(c, 3))
        *known = sdx_infer_numbers(c, 3, v, SDX_MAX_RANK, &count);
    else
        for (int i = 0; i < n; i++) v[i] = i;
    if (!*known) return SDX_OK;
    if (count != n) return sdx_infer_fail(c, "%d axes for %d starts", count, n);
    bool seen[SDX_MAX_RANK] = { false };
    for (int i = 0; i < n; i++) {
        TRY(sdx_infer_axis(c, v[i], rank, &axes[i]));
        if (seen[axes[i]]) return sdx_infer_fail(c, "axis %d is given twice", axes[i]);
        seen[axes[i]] = true;
    }
    return SDX_OK;
}

/* A start or end clamped to [0, d], when its sign is known. */
static bool slice_bound(const Infer *c, DimVal d, DimVal at, DimVal *out)
{
    DimVal zero = sdx_dimval_num(0);
    bool negative = at.known ? at.v < 0 : sdx_dimval_lower(c->syms, sdx_dimval_sub(c->syms, zero, at)) > 0;
    if (!negative && !at.known && sdx_dimval_lower(c->syms, at) < 0) return false;
    *out = negative ? sdx_dimval_max(c->syms, zero, sdx_dimval_add(c->syms, d, at)) : sdx_dimval_min(c->syms, at, d);
    return true;
}

/* Symbolic sizes with step 1, of an axis of size d. */
static DimVal slice_symbolic(const Infer *c, DimVal d, DimVal start, DimVal end, int64_t step)
{
    if (step != 1) return sdx_dimval_unknown();
    bool to_end = end.known && end.v >= INT32_MAX;
    DimVal zero = sdx_dimval_num(0), from, to = d;
    if (start.known && start.v == 0 && (to_end || sdx_dimval_equal(end, d))) return d;
    if (!c->syms || !slice_bound(c, d, start, &from) || (!to_end && !slice_bound(c, d, end, &to)))
        return sdx_dimval_unknown();
    return sdx_dimval_max(c->syms, zero, sdx_dimval_sub(c->syms, to, from));
}

static sdx_status slice_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    if (!x) return SDX_OK;
    DimVec start, end, step = { 0 }, content;
    int axes[SDX_MAX_RANK];
    bool known = sdx_infer_ints(c, 1, &start) && sdx_infer_ints(c, 2, &end) &&
                 (!INFER_HAS(c, 4) || sdx_infer_ints(c, 4, &step));
    int n = known ? start.n : 0;
    if (known && (end.n != n || (INFER_HAS(c, 4) && step.n != n)))
        return sdx_infer_fail(c, "%d starts, %d ends, %d steps", n, (int)end.n, INFER_HAS(c, 4) ? (int)step.n : n);
    if (known && n > x->rank) return sdx_infer_fail(c, "%d starts for an input of rank %d", n, (int)x->rank);
    if (known) TRY(slice_axes(c, x->rank, n, axes, &known));
    if (!known) {
        shape_out(c, 0, x->rank);
        return SDX_OK;
    }
    Shape *y = &c->out[0].shape;
    *y = *x;
    bool has_content = x->rank == 1 && n == 1 && sdx_infer_ints(c, 0, &content);
    for (int i = 0; i < n; i++) {
        DimVal st = step.v ? step.v[i] : sdx_dimval_num(1);
        Dim d = x->dims[axes[i]];
        int64_t first, count;
        if (st.known && st.v == 0) return sdx_infer_fail(c, "the step of axis %d is 0", axes[i]);
        if (st.known && start.v[i].known && end.v[i].known && sdx_dim_is_const(d)) {
            slice_range(d, start.v[i].v, end.v[i].v, st.v, &first, &count);
            y->dims[axes[i]] = count;
            if (!has_content || content.n != d) continue;
            DimVal *v = sdx_arena_array(c->arena, DimVal, count);
            TRY_MEM(v, c->err);
            for (int64_t k = 0; k < count; k++) v[k] = content.v[first + k * st.v];
            TRY(sdx_infer_set_ints(c, 0, v, (int)count));
        } else {
            y->dims[axes[i]] = st.known ? sdx_dim_of(slice_symbolic(c, sdx_dimval_of(d), start.v[i], end.v[i], st.v))
                                        : SDX_DIM_UNKNOWN;
        }
    }
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

typedef struct SlicePlan {
    int64_t offset; /* of the first element in the source, in bytes */
    int64_t dims[SDX_MAX_RANK];
    Strided copy;
} SlicePlan;

typedef struct SliceState {
    const Kern *kern;
    SlicePlan *plan; /* NULL: the inputs are not known before the run */
} SliceState;

/* NULL, or what is wrong with the inputs. */
static const char *slice_plan(const Tensor *x, const Tensor *const *in, SlicePlan *p)
{
    int64_t v[4][SDX_MAX_RANK], stride[SDX_MAX_RANK];
    int n[4] = { 0 };
    bool seen[SDX_MAX_RANK] = { false };
    for (int i = 0; i < 4; i++)
        if (in[i] && (n[i] = sdx_tensor_ints(in[i], v[i], SDX_MAX_RANK)) < 0) return "more entries than dimensions";
    if (n[1] != n[0] || (in[2] && n[2] != n[0]) || (in[3] && n[3] != n[0]))
        return "starts, ends, axes and steps differ in length";
    if (n[0] > x->rank) return "more entries than dimensions";
    sdx_row_major(x->dims, x->rank, stride);
    Move m = { .rank = x->rank, .size = sdx_dtype_size(x->dtype) };
    p->offset = 0;
    memcpy(p->dims, x->dims, sizeof p->dims);
    memcpy(m.from, stride, sizeof stride);
    for (int i = 0; i < n[0]; i++) {
        int axis;
        int64_t first, step = in[3] ? v[3][i] : 1;
        if (!axis_of(in[2] ? v[2][i] : i, x->rank, &axis)) return "an axis is outside the rank";
        if (seen[axis]) return "an axis is given twice";
        if (step == 0) return "a step is 0";
        seen[axis] = true;
        slice_range(x->dims[axis], v[0][i], v[1][i], step, &first, &p->dims[axis]);
        p->offset += first * stride[axis] * (int64_t)m.size;
        m.from[axis] = p->dims[axis] > 1 ? stride[axis] * step : 0;
    }
    memcpy(m.dims, p->dims, sizeof p->dims);
    sdx_row_major(p->dims, x->rank, m.to);
    sdx_strided_make(&p->copy, &m);
    return NULL;
}

static void slice_inputs(int n_in, const Datum *const *in, const Tensor **t)
{
    for (int i = 1; i < 5; i++) t[i - 1] = i < n_in && in[i] && in[i]->kind == DATUM_TENSOR ? &in[i]->t : NULL;
}

static sdx_status slice_prepare(Prepare *p)
{
    const Tensor *in[4];
    SliceState *st = sdx_arena_new(p->arena, SliceState);
    TRY_MEM(st, p->err);
    st->kern = p->kern;
    p->state = st;
    slice_inputs(p->n_in, p->in, in);
    for (int i = 0; i < 4; i++)
        if (in[i] && !p->in_const[i + 1]) return SDX_OK;
    st->plan = sdx_arena_new(p->arena, SlicePlan);
    TRY_MEM(st->plan, p->err);
    const char *why = slice_plan(&p->in[0]->t, in, st->plan);
    return why ? sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", why) : SDX_OK;
}

static sdx_status slice_run(Run *r)
{
    const SliceState *st = r->state;
    const Tensor *x = &r->in[0]->t, *in[4];
    SlicePlan local;
    const SlicePlan *p = st->plan;
    void *y;
    if (!p) {
        slice_inputs(r->n_in, r->in, in);
        const char *why = slice_plan(x, in, &local);
        if (why) return sdx_run_fail(r, "%s", why);
        p = &local;
    }
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, p->dims, &y));
    const char *src = (const char *)x->data + p->offset;
    if (y != src) sdx_strided_run(r, st->kern, &p->copy, y, src);
    return SDX_OK;
}

static bool slice_alias(const Prepare *p, int o, int *in, size_t *offset)
{
    const Tensor *x = &p->in[0]->t, *t[4];
    SlicePlan plan;
    slice_inputs(p->n_in, p->in, t);
    for (int i = 0; i < 4; i++)
        if (t[i] && !t[i]->data && sdx_tensor_count(t[i])) return false;
    if (slice_plan(x, t, &plan) || !sdx_strided_is_run(&plan.copy)) return false;
    *in = 0;
    *offset = (size_t)plan.offset;
    return true;
}

/* Before 10 starts, ends and axes were attributes. */
static sdx_status slice_from_1(Node *n, Err *err)
{
    TRY(sdx_upgrade_ints_to_input(n, "starts", 1, err));
    TRY(sdx_upgrade_ints_to_input(n, "ends", 2, err));
    return sdx_upgrade_ints_to_input(n, "axes", 3, err);
}

static const OpVer slice_vers[] = { { 13, { TS_ALL_13, TS_IDX } },
                                    { 11, { TS_ALL_1, TS_IDX } },
                                    { 10, { TS_ALL_1, TS_IDX } },
                                    { 1, { TS_ALL_1, TS_IDX }, slice_from_1 },
                                    { 0 } };

const OpDef sdx_op_Slice = {
    .name = "Slice",
    .sig = "T,U,U,U?,U?->T",
    .vers = slice_vers,
    .infer = slice_infer,
    .cpu = { slice_prepare, slice_run },
    .alias = slice_alias,
};
