/* Operators that write elements of `updates` into a copy of `data`: ScatterElements, Scatter, ScatterND, TensorScatter.
 *
 * Updates are applied in order, so of two that hit one element the later wins, or is reduced last. */
#include <inttypes.h>

#include "ops/cast.h"
#include "ops/elementwise.h"
#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

/* -- reductions ---------------------------------------------------------------------------------------------------- */

enum { REDUCE_NONE = -1, REDUCE_BAD = -2 };

/* Map of kern/map/map2.def; bools add as or and multiply as and. */
static int reduce_map(Str reduction, bool is_bool)
{
    if (str_is(reduction, "none")) return REDUCE_NONE;
    if (str_is(reduction, "add")) return is_bool ? SDX_MAP2_lor : SDX_MAP2_add;
    if (str_is(reduction, "mul")) return is_bool ? SDX_MAP2_land : SDX_MAP2_mul;
    if (str_is(reduction, "max")) return SDX_MAP2_max;
    if (str_is(reduction, "min")) return SDX_MAP2_min;
    return REDUCE_BAD;
}

typedef struct Scatter {
    Map2 *fn; /* NULL: assign */
    DType stored, compute;
    size_t size;
    bool adds_floats;
} Scatter;

/* y[0..n) op= u[0..n) */
static void scatter_apply(const Scatter *s, char *y, const char *u, int64_t n)
{
    if (!s->fn) {
        memcpy(y, u, (size_t)n * s->size);
        return;
    }
    if (s->stored == s->compute) {
        s->fn(y, y, u, (size_t)n, 0);
        return;
    }
    float a[64], b[64];
    for (int64_t at = 0; at < n; at += 64) {
        int64_t k = n - at < 64 ? n - at : 64;
        sdx_cast_block(s->compute, a, 0, s->stored, y, at, k);
        sdx_cast_block(s->compute, b, 0, s->stored, u, at, k);
        s->fn(a, a, b, (size_t)k, 0);
        sdx_cast_block(s->stored, y, at, s->compute, a, 0, k);
    }
}

static sdx_status scatter_prepare(Prepare *p, Str reduction)
{
    DType d = p->in[0]->t.dtype;
    Scatter *s = sdx_arena_new(p->arena, Scatter);
    TRY_MEM(s, p->err);
    *s = (Scatter){ .stored = d, .compute = sdx_ew_compute(d), .size = sdx_dtype_size(d) };
    int map = reduce_map(reduction, d == DT_BOOL), k = sdx_ew_ktype(s->compute);
    if (map >= 0 && k < 0)
        return sdx_prepare_fail(p, SDX_UNSUPPORTED, "elements of type %s cannot be reduced", sdx_dtype_name(d));
    if (map >= 0) s->fn = p->kern->map2[k][map];
    s->adds_floats = map == SDX_MAP2_add && d == DT_FLOAT;
    p->state = s;
    return SDX_OK;
}

static sdx_status scatter_infer(Infer *c, Str reduction)
{
    if (reduce_map(reduction, false) == REDUCE_BAD)
        return sdx_infer_fail(c, "reduction is none of none, add, mul, max, min");
    return sdx_infer_same_shape(c);
}

/* Output 0 as a copy of input 0. */
static sdx_status copy_data(Run *r, char **y)
{
    const Tensor *x = &r->in[0]->t;
    void *data;
    size_t nbytes;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, x->dims, &data));
    if (sdx_tensor_nbytes(x, &nbytes) && nbytes && data != x->data) memcpy(data, x->data, nbytes);
    *y = data;
    return SDX_OK;
}

/* -- ScatterElements ----------------------------------------------------------------------------------------------- */

typedef struct ElementsAttrs {
    int64_t axis;
    Str reduction;
} ElementsAttrs;
static const AttrSpec elements_attrs[] = { OP_INT(ElementsAttrs, axis, 0), OP_STR(ElementsAttrs, reduction, "none"),
                                           OP_ATTR_END };

static sdx_status elements_infer(Infer *c)
{
    const ElementsAttrs *a = c->args;
    const Shape *x = shape_of(c, 0), *idx = shape_of(c, 1), *u = shape_of(c, 2);
    int axis;
    if (x) TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    if ((x && idx && x->rank != idx->rank) || (idx && u && idx->rank != u->rank))
        return sdx_infer_fail(c, "data, indices and updates must have one rank");
    return scatter_infer(c, a->reduction);
}

static sdx_status elements_prepare(Prepare *p)
{
    return scatter_prepare(p, ((const ElementsAttrs *)p->args)->reduction);
}

static sdx_status elements_run(Run *r)
{
    const Scatter *s = r->state;
    const Tensor *x = &r->in[0]->t, *idx = &r->in[1]->t, *u = &r->in[2]->t;
    int axis;
    int64_t *index, stride[SDX_MAX_RANK];
    char *y;
    if (!axis_of(((const ElementsAttrs *)r->args)->axis, x->rank, &axis) || idx->rank != x->rank)
        return sdx_run_fail(r, "the indices' rank differs from the data's, or axis is outside it");
    if (!sdx_dims_equal(idx->dims, idx->rank, u->dims, u->rank))
        return sdx_run_fail(r, "indices and updates differ in shape");
    for (int k = 0; k < x->rank; k++)
        if (k != axis && idx->dims[k] > x->dims[k])
            return sdx_run_fail(r, "dimension %d of the indices, %" PRId64 ", exceeds the data's %" PRId64, k,
                                idx->dims[k], x->dims[k]);
    TRY(sdx_run_indices(r, idx, x->dims[axis], &index));
    TRY(copy_data(r, &y));
    sdx_row_major(x->dims, x->rank, stride);
    int64_t along = stride[axis], n = sdx_tensor_count(idx);
    if (x->rank == 1 &&
        s->adds_floats) { /* gradients of moved elements come here: one call each would cost more than the sums */
        for (int64_t i = 0; i < n; i++) ((float *)(void *)y)[index[i]] += ((const float *)u->data)[i];
        return SDX_OK;
    }
    stride[axis] = 0;
    IndexWalk w;
    if (n) sdx_walk_begin(&w, x->rank, idx->dims, stride, 0);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = w.offset + index[i] * along;
        scatter_apply(s, y + (size_t)at * s->size, (const char *)u->data + (size_t)i * s->size, 1);
        sdx_walk_next(&w);
    }
    return SDX_OK;
}

static const OpVer elements_vers[] = { { 18, { TS_ALL_13, TS_IDX } },
                                       { 16, { TS_ALL_13, TS_IDX } },
                                       { 13, { TS_ALL_13, TS_IDX } },
                                       { 11, { TS_ALL_1, TS_IDX } },
                                       { 0 } };

const OpDef sdx_op_ScatterElements = {
    .name = "ScatterElements",
    .sig = "T,U,T->T",
    .attrs = elements_attrs,
    .attrs_size = sizeof(ElementsAttrs),
    .vers = elements_vers,
    .flags = OP_INPLACE,
    .infer = elements_infer,
    .cpu = { elements_prepare, elements_run },
};

/* Deprecated since 11 in favour of ScatterElements, which it becomes at import. */
static sdx_status scatter_rename(Node *n, Err *err) { return sdx_upgrade_rename(n, "ScatterElements", err); }
static const OpVer scatter_vers[] = { { 11, { TS_ALL_1, TS_IDX }, scatter_rename },
                                      { 9, { TS_ALL_1, TS_IDX } },
                                      { 0 } };

static const AttrSpec scatter_attrs[] = { OP_INT(ElementsAttrs, axis, 0), OP_ATTR_END };

const OpDef sdx_op_Scatter = {
    .name = "Scatter",
    .sig = "T,U,T->T",
    .attrs = scatter_attrs,
    .attrs_size = sizeof(ElementsAttrs),
    .vers = scatter_vers,
    .infer = sdx_infer_same_shape,
};

/* -- ScatterND ----------------------------------------------------------------------------------------------------- */

typedef struct NDAttrs {
    Str reduction;
} NDAttrs;
static const AttrSpec nd_attrs[] = { OP_STR(NDAttrs, reduction, "none"), OP_ATTR_END };

static sdx_status nd_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0), *idx = shape_of(c, 1);
    if (idx && idx->rank < 1) return sdx_infer_fail(c, "indices need at least one dimension");
    Dim depth = idx ? idx->dims[idx->rank - 1] : SDX_DIM_UNKNOWN;
    if (x && sdx_dim_is_const(depth) && depth > x->rank)
        return sdx_infer_fail(c, "positions of %" PRId64 " entries in %d dimensions", depth, (int)x->rank);
    return scatter_infer(c, ((const NDAttrs *)c->args)->reduction);
}

static sdx_status nd_prepare(Prepare *p) { return scatter_prepare(p, ((const NDAttrs *)p->args)->reduction); }

static sdx_status nd_run(Run *r)
{
    const Scatter *s = r->state;
    const Tensor *x = &r->in[0]->t, *idx = &r->in[1]->t, *u = &r->in[2]->t;
    int depth = idx->rank ? (int)idx->dims[idx->rank - 1] : -1;
    int64_t want[2 * SDX_MAX_RANK], *offset;
    int rank = 0;
    char *y;
    if (depth < 0 || depth > x->rank) return sdx_run_fail(r, "the positions do not fit the data's rank");
    for (int k = 0; k < idx->rank - 1; k++) want[rank++] = idx->dims[k];
    for (int k = depth; k < x->rank; k++) want[rank++] = x->dims[k];
    if (!sdx_dims_equal(want, rank, u->dims, u->rank))
        return sdx_run_fail(r, "updates do not have the shape that data and indices ask for");
    TRY(copy_data(r, &y));
    int64_t n = sdx_dims_product(idx->dims, 0, idx->rank - 1), inner = sdx_dims_product(x->dims, depth, x->rank);
    if (!n || !inner) return SDX_OK;
    if (depth == 0) { /* each update replaces everything */
        for (int64_t i = 0; i < n; i++)
            scatter_apply(s, y, (const char *)u->data + (size_t)(i * inner) * s->size, inner);
        return SDX_OK;
    }
    TRY(sdx_run_positions(r, idx, x->dims, depth, n, &offset));
    for (int64_t i = 0; i < n; i++)
        scatter_apply(s, y + (size_t)(offset[i] * inner) * s->size,
                      (const char *)u->data + (size_t)(i * inner) * s->size, inner);
    return SDX_OK;
}

static const OpVer nd_vers[] = {
    { 18, { TS_ALL_13 } }, { 16, { TS_ALL_13 } }, { 13, { TS_ALL_13 } }, { 11, { TS_ALL_1 } }, { 0 }
};

const OpDef sdx_op_ScatterND = {
    .name = "ScatterND",
    .sig = "T,i64,T->T",
    .attrs = nd_attrs,
    .attrs_size = sizeof(NDAttrs),
    .vers = nd_vers,
    .flags = OP_INPLACE,
    .infer = nd_infer,
    .cpu = { nd_prepare, nd_run },
};

/* -- TensorScatter: new rows of a cache, per batch at its own place ------------------------------------------------ */

typedef struct TensorScatterAttrs {
    int64_t axis;
    Str mode;
} TensorScatterAttrs;
static const AttrSpec tensorscatter_attrs[] = { OP_INT(TensorScatterAttrs, axis, -2),
                                                OP_STR(TensorScatterAttrs, mode, "linear"), OP_ATTR_END };

static sdx_status tensorscatter_infer(Infer *c)
{
    const TensorScatterAttrs *a = c->args;
    const Shape *x = shape_of(c, 0), *u = shape_of(c, 1);
    int axis;
    if (!str_is(a->mode, "linear") && !str_is(a->mode, "circular"))
        return sdx_infer_fail(c, "mode is neither linear nor circular");
    if (x) {
        TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
        if (axis == 0) return sdx_infer_fail(c, "axis is the batch");
    }
    if (x && u && x->rank != u->rank) return sdx_infer_fail(c, "cache and update differ in rank");
    return sdx_infer_same_shape(c);
}

static sdx_status tensorscatter_run(Run *r)
{
    const TensorScatterAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *u = &r->in[1]->t, *at = DATUM_HAS(r, 2) ? &r->in[2]->t : NULL;
    bool circular = str_is(a->mode, "circular");
    int axis;
    char *y;
    if (!axis_of(a->axis, x->rank, &axis) || axis == 0 || u->rank != x->rank)
        return sdx_run_fail(r, "axis is outside the rank or the batch, or the update's rank differs from the cache's");
    for (int k = 0; k < x->rank; k++)
        if (k == axis ? u->dims[k] > x->dims[k] : u->dims[k] != x->dims[k])
            return sdx_run_fail(r, "dimension %d of the update, %" PRId64 ", does not fit the cache's %" PRId64, k,
                                u->dims[k], x->dims[k]);
    if (at && (at->rank != 1 || at->dims[0] != x->dims[0]))
        return sdx_run_fail(r, "write_indices is not of shape [batch]");
    TRY(copy_data(r, &y));
    int64_t batch = x->dims[0], heads = sdx_dims_product(x->dims, 1, axis), rows = u->dims[axis], cap = x->dims[axis];
    size_t row = (size_t)sdx_dims_product(x->dims, axis + 1, x->rank) * sdx_dtype_size(x->dtype);
    const char *src = u->data;
    for (int64_t b = 0; b < batch; b++) {
        int64_t first = at ? sdx_tensor_get_int(at, b) : 0;
        if (first < 0 || (circular ? first >= cap && rows : first > cap - rows))
            return sdx_run_fail(r, "batch %" PRId64 " writes %" PRId64 " rows at %" PRId64 " of %" PRId64, b, rows,
                                first, cap);
        for (int64_t h = 0; h < heads; h++)
            for (int64_t s = 0; s < rows; s++, src += row)
                if (row) memcpy(y + (size_t)((b * heads + h) * cap + (first + s) % cap) * row, src, row);
    }
    return SDX_OK;
}

static const OpVer tensorscatter_vers[] = { { 24, { TS_ALL_24 } }, { 0 } };

const OpDef sdx_op_TensorScatter = {
    .name = "TensorScatter",
    .sig = "T,T,i64?->T",
    .attrs = tensorscatter_attrs,
    .attrs_size = sizeof(TensorScatterAttrs),
    .vers = tensorscatter_vers,
    .flags = OP_INPLACE | OP_BYTE_MOVER,
    .infer = tensorscatter_infer,
    .cpu = { NULL, tensorscatter_run },
};
