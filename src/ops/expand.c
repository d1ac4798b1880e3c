/* Operators that repeat elements: Expand, Tile. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/strided.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

/* -- Expand: x broadcast with a shape; a 1 there keeps the size of x ----------------------------------------------- */

static sdx_status expand_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0), *s = shape_of(c, 1);
    DimVec target, v;
    if (s && s->rank != 1) return sdx_infer_fail(c, "shape has rank %d; it must be 1", (int)s->rank);
    if (!x) return SDX_OK;
    if (!sdx_infer_ints(c, 1, &target)) {
        if (s && sdx_dim_is_const(s->dims[0]) && s->dims[0] <= SDX_MAX_RANK)
            shape_out(c, 0, s->dims[0] > x->rank ? (int)s->dims[0] : x->rank);
        return SDX_OK;
    }
    if (target.n > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the target has rank %d; the limit is %d", (int)target.n, SDX_MAX_RANK);
    Shape t = { .rank = target.n };
    for (int k = 0; k < t.rank; k++) {
        if (target.v[k].known && target.v[k].v < 0)
            return sdx_infer_fail(c, "the target's dimension %d is %" PRId64, k, target.v[k].v);
        t.dims[k] = sdx_dim_of(target.v[k]);
    }
    TRY(sdx_infer_broadcast_shapes(c, x, &t, &c->out[0].shape));
    const Shape *y = &c->out[0].shape;
    if (y->rank > 1 || !sdx_infer_ints(c, 0, &v) || v.n != 1) return SDX_OK;
    int64_t n = y->rank == 0 ? 1 : y->dims[0];
    if (n < 0 || n > SDX_DIMVEC_MAX) return SDX_OK;
    DimVal *out = sdx_arena_array(c->arena, DimVal, n);
    TRY_MEM(out, c->err);
    for (int64_t i = 0; i < n; i++) out[i] = v.v[0];
    return sdx_infer_set_ints(c, 0, out, (int)n);
}

static sdx_status expand_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t target[SDX_MAX_RANK], dims[SDX_MAX_RANK], stride[SDX_MAX_RANK], count;
    int n = sdx_tensor_ints(&r->in[1]->t, target, SDX_MAX_RANK);
    if (n < 0) return sdx_run_fail(r, "the target has more than %d dimensions", SDX_MAX_RANK);
    int rank = n > x->rank ? n : x->rank;
    Move m = { .rank = rank, .size = sdx_dtype_size(x->dtype) };
    void *y;
    sdx_row_major(x->dims, x->rank, stride);
    for (int k = 0; k < rank; k++) {
        int xk = k - (rank - x->rank), tk = k - (rank - n);
        int64_t d = xk < 0 ? 1 : x->dims[xk], t = tk < 0 ? 1 : target[tk];
        if (t < 0 || (d != 1 && t != 1 && d != t))
            return sdx_run_fail(r, "dimension %d, %" PRId64 ", does not broadcast to %" PRId64, xk, d, t);
        dims[k] = d == 1 ? t : d;
        m.from[k] = d == 1 ? 0 : stride[xk];
    }
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &y));
    if (!sdx_shape_count(dims, rank, &count) || !count) return SDX_OK;
    memcpy(m.dims, dims, sizeof dims);
    sdx_row_major(dims, rank, m.to);
    sdx_move_run(r, &m, y, x->data);
    return SDX_OK;
}

static const OpVer expand_vers[] = { { 13, { TS_ALL_13 } }, { 8, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_Expand = {
    .name = "Expand",
    .sig = "T,i64->T",
    .vers = expand_vers,
    .infer = expand_infer,
    .cpu = { sdx_move_prepare, expand_run },
};

/* -- Tile ---------------------------------------------------------------------------------------------------------- */

static sdx_status tile_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    DimVec repeats;
    if (!x) return SDX_OK;
    Shape *y = shape_out(c, 0, x->rank);
    if (!sdx_infer_ints(c, 1, &repeats)) return SDX_OK;
    if (repeats.n != x->rank)
        return sdx_infer_fail(c, "%d repeats for an input of rank %d", (int)repeats.n, (int)x->rank);
    for (int k = 0; k < x->rank; k++) {
        if (repeats.v[k].known && repeats.v[k].v < 0)
            return sdx_infer_fail(c, "the repeats of dimension %d are %" PRId64, k, repeats.v[k].v);
        y->dims[k] = sdx_dim_of(sdx_dimval_mul(c->syms, sdx_dimval_of(x->dims[k]), repeats.v[k]));
    }
    return SDX_OK;
}

/* Each dimension becomes two: the repetition, with stride 0 in the source, and the dimension itself. Those that are not
 * repeated stay one, so ranks up to 16 fit unless most are repeated. */
static sdx_status tile_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t repeats[SDX_MAX_RANK], dims[SDX_MAX_RANK], from[SDX_MAX_RANK], to[SDX_MAX_RANK];
    int n = sdx_tensor_ints(&r->in[1]->t, repeats, SDX_MAX_RANK);
    void *y;
    if (n != x->rank) return sdx_run_fail(r, "repeats does not have %d elements", (int)x->rank);
    for (int k = 0; k < n; k++)
        if (repeats[k] < 0 || !sdx_mul_i64(&dims[k], x->dims[k], repeats[k]))
            return sdx_run_fail(r, "the repeats of dimension %d are %" PRId64, k, repeats[k]);
    TRY(sdx_run_output(r, 0, x->dtype, n, dims, &y));
    if (!sdx_dims_product(dims, 0, n)) return SDX_OK;
    sdx_row_major(x->dims, n, from);
    sdx_row_major(dims, n, to);
    Move m = { .size = sdx_dtype_size(x->dtype) };
    for (int k = 0; k < n; k++) {
        if (repeats[k] > 1) {
            if (m.rank == SDX_MAX_RANK) return sdx_run_fail(r, "too many dimensions are repeated");
            m.dims[m.rank] = repeats[k];
            m.to[m.rank] = to[k] * x->dims[k];
            m.from[m.rank++] = 0;
        }
        if (x->dims[k] > 1) {
            if (m.rank == SDX_MAX_RANK) return sdx_run_fail(r, "too many dimensions are repeated");
            m.dims[m.rank] = x->dims[k];
            m.to[m.rank] = to[k];
            m.from[m.rank++] = from[k];
        }
    }
    sdx_move_run(r, &m, y, x->data);
    return SDX_OK;
}

/* Version 1 repeats one axis: inputs tiles and axis, scalars of the input's type, must be constants. */
static sdx_status tile_from_1(Node *n, Err *err)
{
    char text[256];
    TRY(sdx_upgrade_needs(n, 1, err));
    const Tensor *tiles = n->n_in > 1 && n->in[1] ? n->in[1]->constant : NULL;
    const Tensor *axis = n->n_in > 2 && n->in[2] ? n->in[2]->constant : NULL;
    if (n->n_in == 2) return SDX_OK; /* files of that time already have the newer form */
    int rank = n->in[0]->type.shape.rank;
    if (!tiles || !axis || rank == SDX_RANK_UNKNOWN || sdx_tensor_count(tiles) != 1 || sdx_tensor_count(axis) != 1)
        return sdx_fail(err, SDX_UNSUPPORTED, "%s: version 1 needs constant tiles and axis and an input of known rank",
                        sdx_node_text(n, text, sizeof text));
    int64_t repeats[SDX_MAX_RANK];
    int at;
    if (!axis_of((int64_t)sdx_tensor_get_double(axis, 0), rank, &at))
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: axis is outside the rank", sdx_node_text(n, text, sizeof text));
    for (int k = 0; k < rank; k++) repeats[k] = k == at ? (int64_t)sdx_tensor_get_double(tiles, 0) : 1;
    Value *v = sdx_upgrade_const_ints(n, repeats, rank, err);
    if (!v) return SDX_OUT_OF_MEMORY;
    TRY_MEM(sdx_node_set_inputs(n, (Value *[]){ n->in[0], v }, 2) ? n : NULL, err);
    return SDX_OK;
}

static const OpVer tile_vers[] = { { 13, { TS_ALL_13 } }, { 6, { TS_ALL_1 } }, { 1, { TS_FLT }, tile_from_1 }, { 0 } };

const OpDef sdx_op_Tile = {
    .name = "Tile",
    .sig = "T,i64->T",
    .vers = tile_vers,
    .infer = tile_infer,
    .cpu = { sdx_move_prepare, tile_run },
};
