/* Concat and Split. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/strided.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

/* -- Concat -------------------------------------------------------------------------------------------------------- */

typedef struct ConcatAttrs {
    int64_t axis;
} ConcatAttrs;
static const AttrSpec concat_attrs[] = { OP_INT_REQ(ConcatAttrs, axis), OP_ATTR_END };

/* Vectors whose content is known, one after the other. */
static sdx_status concat_known(Infer *c)
{
    int n = 0;
    DimVec v;
    DimVal *y = sdx_arena_array(c->arena, DimVal, SDX_DIMVEC_MAX);
    TRY_MEM(y, c->err);
    for (int i = 0; i < c->n_in; i++) {
        if (!sdx_infer_ints(c, i, &v) || n + v.n > SDX_DIMVEC_MAX) return SDX_OK;
        for (int k = 0; k < v.n; k++) y[n++] = v.v[k];
    }
    return sdx_infer_set_ints(c, 0, y, n);
}

static sdx_status concat_infer(Infer *c)
{
    const ConcatAttrs *a = c->args;
    int axis = 0, rank = SDX_RANK_UNKNOWN;
    DimVal sum = sdx_dimval_num(0);
    Shape y;
    for (int i = 0; i < c->n_in; i++) {
        const Shape *x = shape_of(c, i);
        if (!x) {
            sum = sdx_dimval_unknown();
            continue;
        }
        if (rank == SDX_RANK_UNKNOWN) {
            y = *x;
            rank = x->rank;
            TRY(sdx_infer_axis(c, a->axis, rank, &axis));
        }
        if (x->rank != rank) return sdx_infer_fail(c, "input %d has rank %d, an earlier one %d", i, (int)x->rank, rank);
        for (int k = 0; k < rank; k++) {
            if (k == axis || y.dims[k] == x->dims[k]) continue;
            if (sdx_dim_is_const(y.dims[k]) && sdx_dim_is_const(x->dims[k]))
                return sdx_infer_fail(c, "input %d has size %" PRId64 " in dimension %d, an earlier one %" PRId64, i,
                                      x->dims[k], k, y.dims[k]);
            if (sdx_dim_is_const(x->dims[k]) || y.dims[k] == SDX_DIM_UNKNOWN) y.dims[k] = x->dims[k];
        }
        sum = sdx_dimval_add(c->syms, sum, sdx_dimval_of(x->dims[axis]));
    }
    if (rank == SDX_RANK_UNKNOWN) return SDX_OK;
    y.dims[axis] = sdx_dim_of(sum);
    c->out[0].shape = y;
    return rank == 1 && sdx_dtype_in(c->in[0]->elem, TS_IDX | TS_BOOL) ? concat_known(c) : SDX_OK;
}

typedef struct ConcatState {
    const Kern *kern;
    int64_t dims[SDX_MAX_RANK]; /* of the output */
    struct ConcatPart {
        size_t offset; /* in the output, in bytes */
        Strided copy;
    } * parts;
} ConcatState;

static sdx_status concat_prepare(Prepare *p)
{
    const Tensor *x0 = &p->in[0]->t;
    ConcatState *st = sdx_arena_new(p->arena, ConcatState);
    TRY_MEM(st, p->err);
    st->parts = sdx_arena_array(p->arena, struct ConcatPart, p->n_in);
    TRY_MEM(st->parts, p->err);
    st->kern = p->kern;
    p->state = st;
    int axis;
    int64_t sum = 0, at = 0;
    if (!axis_of(((const ConcatAttrs *)p->args)->axis, x0->rank, &axis))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "axis is outside the rank");
    for (int i = 0; i < p->n_in; i++) {
        const Tensor *x = &p->in[i]->t;
        bool same = x->rank == x0->rank;
        for (int k = 0; same && k < x->rank; k++) same = k == axis || x->dims[k] == x0->dims[k];
        if (!same || !sdx_add_i64(&sum, sum, x->dims[axis]))
            return sdx_prepare_fail(p, SDX_INVALID_MODEL, "the shape of input %d does not fit", i);
    }
    memcpy(st->dims, x0->dims, sizeof st->dims);
    st->dims[axis] = sum;
    int64_t rows = sdx_dims_product(st->dims, 0, axis), inner = sdx_dims_product(st->dims, axis + 1, x0->rank), count;
    size_t size = sdx_dtype_size(x0->dtype);
    if (!sdx_shape_count(st->dims, x0->rank, &count))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "the output is too large");
    for (int i = 0; i < p->n_in; i++) {
        int64_t n = p->in[i]->t.dims[axis] * inner;
        Move m = { .rank = 2, .size = size, .dims = { rows, n }, .to = { sum * inner, 1 }, .from = { n, 1 } };
        sdx_strided_make(&st->parts[i].copy, &m);
        st->parts[i].offset = (size_t)at * size;
        at += n;
    }
    return SDX_OK;
}

static sdx_status concat_run(Run *r)
{
    const ConcatState *st = r->state;
    const Tensor *x = &r->in[0]->t;
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, st->dims, &y));
    for (int i = 0; i < r->n_in; i++) {
        char *dst = (char *)y + st->parts[i].offset;
        if (dst != r->in[i]->t.data) sdx_strided_run(r, st->kern, &st->parts[i].copy, dst, r->in[i]->t.data);
    }
    return SDX_OK;
}

/* Before 4 the axis had a default. */
static sdx_status concat_from_1(Node *n, Err *err) { return sdx_upgrade_default_int(n, "axis", 1, err); }

static const OpVer concat_vers[] = {
    { 13, { TS_ALL_13 } }, { 11, { TS_ALL_1 } }, { 4, { TS_ALL_1 } }, { 1, { TS_FLT }, concat_from_1 }, { 0 }
};

const OpDef sdx_op_Concat = {
    .name = "Concat",
    .sig = "T+->T",
    .attrs = concat_attrs,
    .attrs_size = sizeof(ConcatAttrs),
    .vers = concat_vers,
    .infer = concat_infer,
    .cpu = { concat_prepare, concat_run },
};

/* -- Split --------------------------------------------------------------------------------------------------------- */

typedef struct SplitAttrs {
    int64_t axis, num_outputs;
} SplitAttrs;
static const AttrSpec split_attrs[] = { OP_INT(SplitAttrs, axis, 0), OP_INT(SplitAttrs, num_outputs, OP_INT_ABSENT),
                                        OP_ATTR_END };

/* Size of part o of n when `size` is dealt in equal parts, the last one smaller. */
static int64_t split_equal(int64_t size, int64_t n, int64_t o)
{
    int64_t each = size / n + (size % n != 0), from = o * each;
    return from >= size ? 0 : size - from < each ? size - from : each;
}

static sdx_status split_infer(Infer *c)
{
    const SplitAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (a->num_outputs != OP_INT_ABSENT && a->num_outputs < c->n_out)
        return sdx_infer_fail(c, "num_outputs is %" PRId64 ", the node has %d outputs", a->num_outputs, c->n_out);
    if (!x) return SDX_OK;
    int axis;
    DimVec sizes, known;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    bool has_sizes = INFER_HAS(c, 1), told = has_sizes && sdx_infer_ints(c, 1, &sizes);
    if (told && sizes.n != c->n_out)
        return sdx_infer_fail(c, "split has %d sizes for %d outputs", (int)sizes.n, c->n_out);
    bool content = x->rank == 1 && sdx_dtype_in(c->in[0]->elem, TS_IDX) && sdx_infer_ints(c, 0, &known);
    int64_t parts = a->num_outputs != OP_INT_ABSENT ? a->num_outputs : c->n_out, at = 0;
    Dim d = x->dims[axis];
    for (int o = 0; o < c->n_out; o++) {
        DimVal size = sdx_dimval_unknown();
        c->out[o].shape = *x;
        if (told)
            size = sizes.v[o];
        else if (!has_sizes && sdx_dim_is_const(d))
            size = sdx_dimval_num(split_equal(d, parts, o));
        else if (!has_sizes && c->syms && o + 1 < parts)
            size = sdx_dimval_ceildiv(c->syms, sdx_dimval_of(d), sdx_dimval_num(parts));
        if (size.known && size.v < 0) return sdx_infer_fail(c, "split has the size %" PRId64, size.v);
        c->out[o].shape.dims[axis] = sdx_dim_of(size);
        content &= size.known && size.v <= known.n - at;
        if (!content) continue;
        TRY(sdx_infer_set_ints(c, o, known.v + at, (int)size.v));
        at += size.v;
    }
    if (told && sdx_dim_is_const(d)) {
        int64_t sum = 0;
        bool all = true;
        for (int o = 0; o < sizes.n; o++) {
            all &= sizes.v[o].known;
            if (all && !sdx_add_i64(&sum, sum, sizes.v[o].v)) return sdx_infer_fail(c, "split's sizes overflow");
        }
        if (all && sum != d)
            return sdx_infer_fail(c, "split's sizes sum to %" PRId64 ", the axis has %" PRId64, sum, d);
    }
    return SDX_OK;
}

/* Size of each part; false when they do not add up to the axis. */
static bool split_sizes(const SplitAttrs *a, const Tensor *x, const Tensor *split, int axis, int n_out, int o,
                        int64_t *size)
{
    int64_t d = x->dims[axis], parts = a->num_outputs != OP_INT_ABSENT ? a->num_outputs : n_out;
    if (!split) {
        *size = split_equal(d, parts, o);
        return parts >= n_out && parts > 0;
    }
    *size = sdx_tensor_get_int(split, o);
    return *size >= 0;
}

typedef struct SplitPart {
    size_t offset; /* in the input, in bytes */
    int64_t size;  /* of the axis */
    Strided copy;
} SplitPart;

typedef struct SplitState {
    const Kern *kern;
    SplitPart *parts; /* NULL: the sizes are not known before the run */
} SplitState;

/* NULL, or what is wrong with the sizes. */
static const char *split_plan(const SplitAttrs *a, const Tensor *x, const Tensor *split, int n_out, SplitPart *parts)
{
    int axis;
    if (!axis_of(a->axis, x->rank, &axis)) return "axis is outside the rank";
    if (split && sdx_tensor_count(split) != n_out) return "split does not have a size for each output";
    int64_t rows = sdx_dims_product(x->dims, 0, axis), inner = sdx_dims_product(x->dims, axis + 1, x->rank), at = 0;
    size_t size = sdx_dtype_size(x->dtype);
    for (int o = 0; o < n_out; o++) {
        int64_t d;
        if (!split_sizes(a, x, split, axis, n_out, o, &d) || d > x->dims[axis] - at)
            return "split's sizes do not add up to the axis";
        int64_t n = d * inner;
        Move m = { .rank = 2, .size = size, .dims = { rows, n }, .to = { n, 1 }, .from = { x->dims[axis] * inner, 1 } };
        parts[o] = (SplitPart){ .offset = (size_t)(at * inner) * size, .size = d };
        sdx_strided_make(&parts[o].copy, &m);
        at += d;
    }
    return at == x->dims[axis] ? NULL : "split's sizes do not add up to the axis";
}

static sdx_status split_prepare(Prepare *p)
{
    const Tensor *split = DATUM_HAS(p, 1) ? &p->in[1]->t : NULL;
    SplitState *st = sdx_arena_new(p->arena, SplitState);
    TRY_MEM(st, p->err);
    st->kern = p->kern;
    p->state = st;
    if (split && !p->in_const[1]) return SDX_OK;
    st->parts = sdx_arena_array(p->arena, SplitPart, p->n_out);
    TRY_MEM(st->parts, p->err);
    const char *why = split_plan(p->args, &p->in[0]->t, split, p->n_out, st->parts);
    return why ? sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", why) : SDX_OK;
}

static sdx_status split_run(Run *r)
{
    const SplitState *st = r->state;
    const SplitAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    SplitPart *parts = st->parts;
    if (!parts) {
        parts = sdx_run_heap(r, (size_t)r->n_out * sizeof *parts);
        TRY_MEM(parts, r->err);
        const char *why = split_plan(a, x, &r->in[1]->t, r->n_out, parts);
        if (why) return sdx_run_fail(r, "%s", why);
    }
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis); /* checked with the plan */
    int64_t dims[SDX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int o = 0; o < r->n_out; o++) {
        void *y;
        const char *src = (const char *)x->data + parts[o].offset;
        if (!r->out[o]) continue;
        dims[axis] = parts[o].size;
        TRY(sdx_run_output(r, o, x->dtype, x->rank, dims, &y));
        if (y != src) sdx_strided_run(r, st->kern, &parts[o].copy, y, src);
    }
    return SDX_OK;
}

/* A part is a run of bytes when nothing larger than 1 stands before the axis. */
static bool split_alias(const Prepare *p, int o, int *in, size_t *offset)
{
    const SplitAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *split = DATUM_HAS(p, 1) ? &p->in[1]->t : NULL;
    int axis;
    if (!axis_of(a->axis, x->rank, &axis) || sdx_dims_product(x->dims, 0, axis) != 1) return false;
    if (split && (!split->data || sdx_tensor_count(split) != p->n_out)) return false;
    int64_t at = 0, size, inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    for (int k = 0; k < o; k++) {
        if (!split_sizes(a, x, split, axis, p->n_out, k, &size)) return false;
        at += size;
    }
    *in = 0;
    *offset = (size_t)(at * inner) * sdx_dtype_size(x->dtype);
    return at <= x->dims[axis];
}

/* Sizes became an input in 13; 1 had them as either. */
static sdx_status split_from_2(Node *n, Err *err) { return sdx_upgrade_ints_to_input(n, "split", 1, err); }

/* From 18 on equal parts have to be asked for. */
static sdx_status split_from_13(Node *n, Err *err)
{
    if (n->n_in > 1 && n->in[1]) return SDX_OK;
    return sdx_upgrade_default_int(n, "num_outputs", n->n_out, err);
}

static const OpVer split_vers[] = { { 18, { TS_ALL_13 } },
                                    { 13, { TS_ALL_13 }, split_from_13 },
                                    { 11, { TS_ALL_1 }, split_from_2 },
                                    { 2, { TS_ALL_1 } },
                                    { 1, { TS_FLT } },
                                    { 0 } };

const OpDef sdx_op_Split = {
    .name = "Split",
    .sig = "T,i64?->T+",
    .attrs = split_attrs,
    .attrs_size = sizeof(SplitAttrs),
    .vers = split_vers,
    .infer = split_infer,
    .cpu = { split_prepare, split_run },
    .alias = split_alias,
};
