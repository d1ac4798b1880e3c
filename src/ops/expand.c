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

static Value *as_int64_list(Node *n, Value *v, Err *err)
{
    static const int64_t one = 1;
    Attr to = { .name = "to", .type = ATTR_INT, .n = 1, .i = DT_INT64 };
    Value *cast = sdx_upgrade_before_with(n, "Cast", &to, 1, &v, 1, err);
    Value *shape = cast ? sdx_upgrade_const_ints(n, &one, 1, err) : NULL;
    return shape ? sdx_upgrade_before(n, "Reshape", (Value *[]){ cast, shape }, 2, err) : NULL;
}

/* Version 1 repeats one axis; inputs tiles and axis hold one element of the input's type. The newer list is ones of
 * the input's rank with tiles at axis. */
static sdx_status tile_from_1(Node *n, Err *err)
{
    Value *x = n->n_in ? n->in[0] : NULL, *tiles, *axis, *shape, *rank, *one, *ones, *repeats;
    if (n->n_in == 2) return SDX_OK; /* files of that time already have the newer form */
    TRY(sdx_upgrade_needs(n, 3, err));
    if (!(tiles = as_int64_list(n, n->in[1], err)) || !(axis = as_int64_list(n, n->in[2], err)) ||
        !(shape = sdx_upgrade_before(n, "Shape", &x, 1, err)) ||
        !(rank = sdx_upgrade_before(n, "Shape", &shape, 1, err)) || !(one = sdx_upgrade_const_int(n, 1, err)) ||
        !(ones = sdx_upgrade_before(n, "Expand", (Value *[]){ one, rank }, 2, err)) ||
        !(repeats = sdx_upgrade_before(n, "ScatterElements", (Value *[]){ ones, axis, tiles }, 3, err)) ||
        !sdx_node_set_inputs(n, (Value *[]){ x, repeats }, 2))
        return err && err->code ? (sdx_status)err->code : SDX_OUT_OF_MEMORY;
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
