/* Gather, GatherElements, GatherND. Negative indices count from the end; others outside the axis are an error. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

typedef struct AxisAttrs {
    int64_t axis;
} AxisAttrs;
static const AttrSpec axis_attrs[] = { OP_INT(AxisAttrs, axis, 0), OP_ATTR_END };

enum { GRAIN_BYTES = 1 << 17 };

/* -- Gather: whole slices along one axis --------------------------------------------------------------------------- */

static sdx_status gather_known(Infer *c)
{
    DimVec data, idx;
    if (!sdx_dtype_in(c->in[0]->elem, TS_IDX | TS_BOOL) || !sdx_infer_ints(c, 0, &data) || !sdx_infer_ints(c, 1, &idx))
        return SDX_OK;
    DimVal *y = sdx_arena_array(c->arena, DimVal, idx.n);
    TRY_MEM(y, c->err);
    for (int i = 0; i < idx.n; i++) {
        int64_t at = idx.v[i].v;
        if (!idx.v[i].known) {
            y[i] = sdx_dimval_unknown();
            continue;
        }
        if (at < -data.n || at >= data.n)
            return sdx_infer_fail(c, "index %" PRId64 " is outside [-%d, %d)", at, (int)data.n, (int)data.n);
        y[i] = data.v[at < 0 ? at + data.n : at];
    }
    return sdx_infer_set_ints(c, 0, y, idx.n);
}

static sdx_status gather_infer(Infer *c)
{
    const AxisAttrs *a = c->args;
    const Shape *x = shape_of(c, 0), *idx = shape_of(c, 1);
    int axis;
    if (!x) return SDX_OK;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    if (!idx) return SDX_OK;
    if (x->rank - 1 + idx->rank > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the output's rank is beyond %d", SDX_MAX_RANK);
    Shape y = { .rank = 0 };
    for (int k = 0; k < axis; k++) y.dims[y.rank++] = x->dims[k];
    for (int k = 0; k < idx->rank; k++) y.dims[y.rank++] = idx->dims[k];
    for (int k = axis + 1; k < x->rank; k++) y.dims[y.rank++] = x->dims[k];
    c->out[0].shape = y;
    return x->rank == 1 ? gather_known(c) : SDX_OK;
}

typedef struct GatherJob {
    char *y;
    const char *x;
    const int64_t *index; /* n of them, in range */
    int64_t n, axis;      /* size of the gathered axis */
    size_t slice;         /* bytes behind the axis */
} GatherJob;

/* Slices [from, to) of the output: outer dimension by outer dimension, index by index. */
static void gather_range(void *arg, int64_t from, int64_t to, int worker)
{
    const GatherJob *j = arg;
    int64_t outer = from / j->n, i = from % j->n;
    char *y = j->y + (size_t)from * j->slice;
    for (int64_t s = from; s < to; s++, y += j->slice) {
        const char *x = j->x + (size_t)(outer * j->axis + j->index[i]) * j->slice;
        switch (j->slice) {
        case 4: memcpy(y, x, 4); break;
        case 8: memcpy(y, x, 8); break;
        default: memcpy(y, x, j->slice); break;
        }
        if (++i == j->n) i = 0, outer++;
    }
}

static sdx_status gather_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, *idx = &r->in[1]->t;
    int axis, rank = 0;
    int64_t dims[2 * SDX_MAX_RANK], *index;
    void *y;
    if (!axis_of(((const AxisAttrs *)r->args)->axis, x->rank, &axis))
        return sdx_run_fail(r, "axis is outside the rank");
    for (int k = 0; k < axis; k++) dims[rank++] = x->dims[k];
    for (int k = 0; k < idx->rank; k++) dims[rank++] = idx->dims[k];
    for (int k = axis + 1; k < x->rank; k++) dims[rank++] = x->dims[k];
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &y));
    int64_t outer = sdx_dims_product(x->dims, 0, axis), inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    TRY(sdx_run_indices(r, idx, x->dims[axis], &index));
    GatherJob j = { y, x->data, index, sdx_tensor_count(idx), x->dims[axis], (size_t)inner * sdx_dtype_size(x->dtype) };
    if (!j.slice || !j.n || !outer) return SDX_OK;
    sdx_run_range(r, outer * j.n, (int64_t)(GRAIN_BYTES / j.slice) + 1, gather_range, &j);
    return SDX_OK;
}

static const OpVer gather_vers[] = {
    { 13, { TS_ALL_13, TS_IDX } }, { 11, { TS_ALL_1, TS_IDX } }, { 1, { TS_ALL_1, TS_IDX } }, { 0 }
};

const OpDef sdx_op_Gather = {
    .name = "Gather",
    .sig = "T,U->T",
    .attrs = axis_attrs,
    .attrs_size = sizeof(AxisAttrs),
    .vers = gather_vers,
    .flags = OP_BYTE_MOVER,
    .moved = 1u << 0,
    .infer = gather_infer,
    .cpu = { NULL, gather_run },
};

/* -- GatherElements: y[i][j] = x[index[i][j]][j] along axis 0 ------------------------------------------------------ */

static sdx_status elements_infer(Infer *c)
{
    const AxisAttrs *a = c->args;
    const Shape *x = shape_of(c, 0), *idx = shape_of(c, 1);
    int axis;
    if (x) TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    if (x && idx && x->rank != idx->rank)
        return sdx_infer_fail(c, "indices have rank %d, the data rank %d", (int)idx->rank, (int)x->rank);
    if (idx) c->out[0].shape = *idx;
    return SDX_OK;
}

typedef struct ElementsJob {
    char *y;
    const char *x;
    const int64_t *index;
    int rank, axis;
    size_t size;
    int64_t dims[SDX_MAX_RANK], stride[SDX_MAX_RANK]; /* of the indices; of the data */
} ElementsJob;

static void elements_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ElementsJob *j = arg;
    IndexWalk w;
    int64_t stride[SDX_MAX_RANK];
    memcpy(stride, j->stride, sizeof stride);
    stride[j->axis] = 0;
    sdx_walk_begin(&w, j->rank, j->dims, stride, from);
    for (int64_t i = from; i < to; i++) {
        int64_t at = w.offset + j->index[i] * j->stride[j->axis];
        memcpy(j->y + (size_t)i * j->size, j->x + (size_t)at * j->size, j->size);
        sdx_walk_next(&w);
    }
}

static sdx_status elements_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, *idx = &r->in[1]->t;
    ElementsJob j = { .x = x->data, .rank = x->rank, .size = sdx_dtype_size(x->dtype) };
    int64_t *index;
    void *y;
    if (!axis_of(((const AxisAttrs *)r->args)->axis, x->rank, &j.axis) || idx->rank != x->rank)
        return sdx_run_fail(r, "the indices' rank differs from the data's, or axis is outside it");
    for (int k = 0; k < x->rank; k++)
        if (k != j.axis && idx->dims[k] > x->dims[k])
            return sdx_run_fail(r, "dimension %d of the indices, %" PRId64 ", exceeds the data's %" PRId64, k,
                                idx->dims[k], x->dims[k]);
    TRY(sdx_run_output(r, 0, x->dtype, idx->rank, idx->dims, &y));
    TRY(sdx_run_indices(r, idx, x->dims[j.axis], &index));
    j.y = y;
    j.index = index;
    memcpy(j.dims, idx->dims, sizeof j.dims);
    sdx_row_major(x->dims, x->rank, j.stride);
    sdx_run_range(r, sdx_tensor_count(idx), 8192, elements_range, &j);
    return SDX_OK;
}

static const OpVer elements_vers[] = { { 13, { TS_ALL_13, TS_IDX } }, { 11, { TS_ALL_1, TS_IDX } }, { 0 } };

const OpDef sdx_op_GatherElements = {
    .name = "GatherElements",
    .sig = "T,U->T",
    .attrs = axis_attrs,
    .attrs_size = sizeof(AxisAttrs),
    .vers = elements_vers,
    .infer = elements_infer,
    .cpu = { NULL, elements_run },
};

/* -- GatherND: the last axis of the indices is a position ---------------------------------------------------------- */

typedef struct GatherNDAttrs {
    int64_t batch_dims;
} GatherNDAttrs;
static const AttrSpec gathernd_attrs[] = { OP_INT(GatherNDAttrs, batch_dims, 0), OP_ATTR_END };

static sdx_status gathernd_infer(Infer *c)
{
    int64_t b = ((const GatherNDAttrs *)c->args)->batch_dims;
    const Shape *x = shape_of(c, 0), *idx = shape_of(c, 1);
    if (!x || !idx) return SDX_OK;
    if (idx->rank < 1 || x->rank < 1) return sdx_infer_fail(c, "data and indices need at least one dimension");
    if (b < 0 || b >= x->rank || b >= idx->rank)
        return sdx_infer_fail(c, "batch_dims %" PRId64 " is not below the ranks", b);
    Dim depth = idx->dims[idx->rank - 1];
    if (!sdx_dim_is_const(depth)) return SDX_OK;
    if (depth < 1 || depth > x->rank - b)
        return sdx_infer_fail(c, "positions of %" PRId64 " entries in %d dimensions", depth, (int)(x->rank - b));
    Shape y = { .rank = 0 };
    if (idx->rank - 1 + x->rank - b - depth > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the output's rank is beyond %d", SDX_MAX_RANK);
    for (int k = 0; k < idx->rank - 1; k++) y.dims[y.rank++] = idx->dims[k];
    for (int64_t k = b + depth; k < x->rank; k++) y.dims[y.rank++] = x->dims[k];
    c->out[0].shape = y;
    return SDX_OK;
}

typedef struct NDJob {
    char *y;
    const char *x;
    const int64_t *offset; /* in slices, of each output slice */
    size_t slice;
} NDJob;

static void gathernd_range(void *arg, int64_t from, int64_t to, int worker)
{
    const NDJob *j = arg;
    for (int64_t i = from; i < to; i++)
        memcpy(j->y + (size_t)i * j->slice, j->x + (size_t)j->offset[i] * j->slice, j->slice);
}

static sdx_status gathernd_run(Run *r)
{
    int64_t b = ((const GatherNDAttrs *)r->args)->batch_dims;
    const Tensor *x = &r->in[0]->t, *idx = &r->in[1]->t;
    int64_t dims[2 * SDX_MAX_RANK], *offset;
    int rank = 0, depth = idx->rank ? (int)idx->dims[idx->rank - 1] : 0;
    void *y;
    if (b < 0 || b >= x->rank || b >= idx->rank || depth < 1 || depth > x->rank - b)
        return sdx_run_fail(r, "the positions do not fit the data's rank");
    for (int k = 0; k < b; k++)
        if (idx->dims[k] != x->dims[k])
            return sdx_run_fail(r, "batch dimension %d differs between data and indices", k);
    for (int k = 0; k < idx->rank - 1; k++) dims[rank++] = idx->dims[k];
    for (int k = (int)b + depth; k < x->rank; k++) dims[rank++] = x->dims[k];
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &y));
    int64_t n = sdx_dims_product(idx->dims, 0, idx->rank - 1), batches = sdx_dims_product(x->dims, 0, (int)b);
    int64_t inner = sdx_dims_product(x->dims, (int)b + depth, x->rank);
    if (!n || !inner) return SDX_OK;
    TRY(sdx_run_positions(r, idx, x->dims + b, depth, n / batches, &offset));
    NDJob j = { y, x->data, offset, (size_t)inner * sdx_dtype_size(x->dtype) };
    sdx_run_range(r, n, (int64_t)(GRAIN_BYTES / j.slice) + 1, gathernd_range, &j);
    return SDX_OK;
}

static const OpVer gathernd_vers[] = { { 13, { TS_ALL_13 } }, { 12, { TS_ALL_1 } }, { 11, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_GatherND = {
    .name = "GatherND",
    .sig = "T,i64->T",
    .attrs = gathernd_attrs,
    .attrs_size = sizeof(GatherNDAttrs),
    .vers = gathernd_vers,
    .infer = gathernd_infer,
    .cpu = { NULL, gathernd_run },
};
