/* Operators that permute dimensions: Transpose, DepthToSpace, SpaceToDepth. */
#include <inttypes.h>

#include "ops/index.h"
#include "ops/strided.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* -- Transpose ----------------------------------------------------------------------------------------------------- */

typedef struct TransposeAttrs {
    IntList perm;
} TransposeAttrs;
static const AttrSpec transpose_attrs[] = { OP_INTS(TransposeAttrs, perm), OP_ATTR_END };

/* The permutation for this rank: the attribute, or all dimensions reversed. NULL, or what is wrong. */
static const char *transpose_perm(const TransposeAttrs *a, int rank, int *perm)
{
    bool seen[SDX_MAX_RANK] = { false };
    if (!a->perm.n) {
        for (int k = 0; k < rank; k++) perm[k] = rank - 1 - k;
        return NULL;
    }
    if (a->perm.n != rank) return "perm does not have one entry for each dimension";
    for (int k = 0; k < rank; k++) {
        if (!axis_of(a->perm.v[k], rank, &perm[k])) return "perm has an entry that is no dimension";
        if (seen[perm[k]]) return "perm names a dimension twice";
        seen[perm[k]] = true;
    }
    return NULL;
}

static sdx_status transpose_infer(Infer *c)
{
    const TransposeAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    int perm[SDX_MAX_RANK];
    if (!x) {
        if (a->perm.n && a->perm.n <= SDX_MAX_RANK) shape_out(c, 0, (int)a->perm.n);
        return SDX_OK;
    }
    const char *why = transpose_perm(a, x->rank, perm);
    if (why) return sdx_infer_fail(c, "%s: the input has rank %d", why, (int)x->rank);
    Shape *y = shape_out(c, 0, x->rank);
    for (int k = 0; k < x->rank; k++) y->dims[k] = x->dims[perm[k]];
    return x->rank <= 1 ? sdx_infer_pass_ints(c) : SDX_OK;
}

typedef struct TransposeState {
    const Kern *kern;
    int64_t dims[SDX_MAX_RANK]; /* of the output */
    Strided copy;
} TransposeState;

static sdx_status transpose_prepare(Prepare *p)
{
    const Tensor *x = &p->in[0]->t;
    int perm[SDX_MAX_RANK];
    int64_t stride[SDX_MAX_RANK];
    TransposeState *st = sdx_arena_new(p->arena, TransposeState);
    TRY_MEM(st, p->err);
    const char *why = transpose_perm(p->args, x->rank, perm);
    if (why) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s: the input has rank %d", why, (int)x->rank);
    Move m = { .rank = x->rank, .size = sdx_dtype_size(x->dtype) };
    sdx_row_major(x->dims, x->rank, stride);
    for (int k = 0; k < x->rank; k++) {
        st->dims[k] = m.dims[k] = x->dims[perm[k]];
        m.from[k] = stride[perm[k]];
    }
    sdx_row_major(m.dims, m.rank, m.to);
    sdx_strided_make(&st->copy, &m);
    st->kern = p->kern;
    p->state = st;
    return SDX_OK;
}

static sdx_status transpose_run(Run *r)
{
    const TransposeState *st = r->state;
    const Tensor *x = &r->in[0]->t;
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, st->dims, &y));
    sdx_strided_run(r, st->kern, &st->copy, y, x->data);
    return SDX_OK;
}

static const OpVer transpose_vers[] = {
    VERS_ALL_21_25, { .since = 13, .types = { TS_ALL_13 } }, { .since = 1, .types = { TS_ALL_1 } }, { 0 }
};

const OpDef sdx_op_Transpose = {
    .name = "Transpose",
    .sig = "T->T",
    .attrs = transpose_attrs,
    .attrs_size = sizeof(TransposeAttrs),
    .vers = transpose_vers,
    .flags = OP_BYTE_MOVER,
    .infer = transpose_infer,
    .cpu = { transpose_prepare, transpose_run },
};

/* -- DepthToSpace and SpaceToDepth --------------------------------------------------------------------------------- */

typedef struct DepthAttrs {
    int64_t blocksize;
    Str mode;
} DepthAttrs;
static const AttrSpec depth_attrs[] = { OP_INT_REQ(DepthAttrs, blocksize), OP_STR(DepthAttrs, mode, "DCR"),
                                        OP_ATTR_END };

/* A size divided by b, or times it. */
static sdx_status depth_scale(Infer *c, Dim d, int64_t b, bool divide, const char *what, Dim *out)
{
    if (divide && sdx_dim_is_const(d) && d % b)
        return sdx_infer_fail(c, "%s, %" PRId64 ", does not divide by the block's %" PRId64, what, d, b);
    DimVal v = sdx_dimval_of(d), by = sdx_dimval_num(b);
    *out = sdx_dim_of(divide ? sdx_dimval_div(c->syms, v, by) : sdx_dimval_mul(c->syms, v, by));
    return SDX_OK;
}

static sdx_status depth_infer(Infer *c, bool to_space)
{
    const DepthAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (a->blocksize < 1 || a->blocksize > 1 << 20)
        return sdx_infer_fail(c, "blocksize %" PRId64 " is not positive or too large", a->blocksize);
    if (!str_is(a->mode, "DCR") && !str_is(a->mode, "CRD")) return sdx_infer_fail(c, "mode is neither DCR nor CRD");
    if (!x) {
        shape_out(c, 0, 4);
        return SDX_OK;
    }
    if (x->rank != 4) return sdx_infer_fail(c, "the input has rank %d; it must be 4", (int)x->rank);
    Shape *y = shape_out(c, 0, 4);
    y->dims[0] = x->dims[0];
    TRY(depth_scale(c, x->dims[1], a->blocksize * a->blocksize, to_space, "the number of channels", &y->dims[1]));
    TRY(depth_scale(c, x->dims[2], a->blocksize, !to_space, "the height", &y->dims[2]));
    return depth_scale(c, x->dims[3], a->blocksize, !to_space, "the width", &y->dims[3]);
}

static sdx_status depth_to_space_infer(Infer *c) { return depth_infer(c, true); }
static sdx_status space_to_depth_infer(Infer *c) { return depth_infer(c, false); }

/* Both are a transposition of six dimensions: [n, c, h, b1, w, b2] on the wide side and, on the deep one,
 * [n, b1, b2, c, h, w] (DCR) or [n, c, b1, b2, h, w] (CRD). */
static sdx_status depth_run(Run *r, bool to_space)
{
    const DepthAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t b = a->blocksize;
    void *y;
    if (x->rank != 4 || x->dims[2] > INT64_MAX / b || x->dims[3] > INT64_MAX / b ||
        (to_space ? x->dims[1] % (b * b) : x->dims[2] % b || x->dims[3] % b))
        return sdx_run_fail(r, "the input's shape does not divide by the block");
    int64_t n = x->dims[0], c = to_space ? x->dims[1] / (b * b) : x->dims[1];
    int64_t h = to_space ? x->dims[2] : x->dims[2] / b, w = to_space ? x->dims[3] : x->dims[3] / b;
    int64_t out[4] = { n, to_space ? c : c * b * b, to_space ? h * b : h, to_space ? w * b : w };
    TRY(sdx_run_output(r, 0, x->dtype, 4, out, &y));
    if (!sdx_tensor_count(x)) return SDX_OK;
    Move m = { .rank = 6, .size = sdx_dtype_size(x->dtype), .dims = { n, c, h, b, w, b } };
    int64_t wide[6], deep[6], *s = to_space ? m.from : m.to;
    sdx_row_major(m.dims, 6, wide);
    bool crd = str_is(a->mode, "CRD");
    int64_t deep_dims[6] = { n, crd ? c : b, b, crd ? b : c, h, w };
    sdx_row_major(deep_dims, 6, deep);
    s[0] = deep[0];
    s[1] = deep[crd ? 1 : 3];
    s[2] = deep[4];
    s[3] = deep[crd ? 2 : 1];
    s[4] = deep[5];
    s[5] = deep[crd ? 3 : 2];
    memcpy(to_space ? m.to : m.from, wide, sizeof wide);
    sdx_move_run(r, &m, y, x->data);
    return SDX_OK;
}

static sdx_status depth_to_space_run(Run *r) { return depth_run(r, true); }
static sdx_status space_to_depth_run(Run *r) { return depth_run(r, false); }

static const OpVer depth_to_space_vers[] = {
    { 28, { TS_ALL_13 } }, { 13, { TS_ALL_13 } }, { 11, { TS_ALL_1 } }, { 1, { TS_ALL_1 } }, { 0 }
};
static const OpVer space_to_depth_vers[] = { { 28, { TS_ALL_13 } }, { 13, { TS_ALL_13 } }, { 1, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_DepthToSpace = {
    .name = "DepthToSpace",
    .sig = "T->T",
    .attrs = depth_attrs,
    .attrs_size = sizeof(DepthAttrs),
    .vers = depth_to_space_vers,
    .infer = depth_to_space_infer,
    .cpu = { sdx_move_prepare, depth_to_space_run },
};
const OpDef sdx_op_SpaceToDepth = {
    .name = "SpaceToDepth",
    .sig = "T->T",
    .attrs = depth_attrs,
    .attrs_size = sizeof(DepthAttrs),
    .vers = space_to_depth_vers,
    .infer = space_to_depth_infer,
    .cpu = { sdx_move_prepare, space_to_depth_run },
};
