/* Operators that show the bytes of their input in another shape: Identity, Reshape.
 *
 * Planned, they are views and cost nothing; the run functions serve where no plan could make them one. */
#include <inttypes.h>
#include <string.h>

#include "base/size.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

sdx_status sdx_view_run(Run *r, int rank, const int64_t *dims)
{
    const Tensor *x = &r->in[0]->t;
    int64_t count;
    char from[128], to[128];
    if (!sdx_shape_count(dims, rank, &count) || count != sdx_tensor_count(x))
        return sdx_run_fail(r, "input of shape %s does not have the elements of shape %s",
                            sdx_dims_text(from, sizeof from, x->dims, x->rank),
                            sdx_dims_text(to, sizeof to, dims, rank));
    if (r->out[0]->kind != DATUM_TENSOR) {
        Datum view = *r->in[0];
        view.t.rank = rank;
        if (rank) memcpy(view.t.dims, dims, (size_t)rank * sizeof *dims);
        return sdx_run_forward(r, 0, &view);
    }
    void *y;
    size_t nbytes;
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &y));
    if (sdx_tensor_nbytes(x, &nbytes) && nbytes && y != x->data) memcpy(y, x->data, nbytes);
    return SDX_OK;
}

/* -- Identity ------------------------------------------------------------------------------------------------------ */

static sdx_status identity_infer(Infer *c)
{
    c->out[0] = *c->in[0];
    return c->in[0]->kind == TYPE_TENSOR ? sdx_infer_pass_ints(c) : SDX_OK;
}

static sdx_status identity_run(Run *r)
{
    const Datum *x = r->in[0];
    return x->kind == DATUM_TENSOR ? sdx_view_run(r, x->t.rank, x->t.dims) : sdx_run_forward(r, 0, x);
}

/* Sequences since 14 and optionals since 16 have no bit of their own: `any` takes them. */
static const OpVer identity_vers[] = { VERS_ALL_21_25,
                                       { .since = 19, .types = { TS_ALL_19 } },
                                       { .since = 16, .types = { TS_ALL_13 } },
                                       { .since = 14, .types = { TS_ALL_13 } },
                                       { .since = 13, .types = { TS_ALL_13 } },
                                       { .since = 1, .types = { TS_ALL_1 } },
                                       { 0 } };

const OpDef sdx_op_Identity = {
    .name = "Identity",
    .sig = "any->any",
    .vers = identity_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = identity_infer,
    .cpu = { NULL, identity_run },
};

/* -- Reshape ------------------------------------------------------------------------------------------------------- */

typedef struct ReshapeAttrs {
    int64_t allowzero;
} ReshapeAttrs;

static const AttrSpec reshape_attrs[] = { OP_INT(ReshapeAttrs, allowzero, 0), OP_ATTR_END };

/* The numbers' case: target with 0 and -1 resolved into dims. NULL, or what is wrong. */
static const char *reshape_dims(const Tensor *x, const int64_t *target, int n, bool allowzero, int64_t *dims)
{
    int64_t known = 1;
    int infer_at = -1;
    bool zero = false;
    for (int k = 0; k < n; k++) {
        dims[k] = target[k];
        if (dims[k] == 0 && !allowzero) {
            if (k >= x->rank) return "a 0 in the target stands where the input has no dimension";
            dims[k] = x->dims[k];
        }
        zero |= dims[k] == 0;
        if (dims[k] < -1) return "the target has a size below -1";
        if (dims[k] == -1 && infer_at >= 0) return "the target has more than one -1";
        if (dims[k] == -1)
            infer_at = k;
        else if (!sdx_mul_i64(&known, known, dims[k]))
            return "the target's sizes overflow";
    }
    int64_t count = sdx_tensor_count(x);
    if (infer_at < 0) return known == count ? NULL : "the target does not have as many elements as the input";
    if (zero && allowzero) return "the target has both 0 and -1, and allowzero is set";
    if (zero) {
        if (count) return "the target does not have as many elements as the input";
        dims[infer_at] = 0;
        return NULL;
    }
    if (count % known) return "the input's elements do not divide by the target's known sizes";
    dims[infer_at] = count / known;
    return NULL;
}

/* One size, and the product of the sizes other than -1. */
static sdx_status reshape_infer_dims(Infer *c, const DimVec *target, bool allowzero)
{
    const Shape *x = shape_of(c, 0);
    Shape *y = shape_out(c, 0, target->n);
    DimVal total = x ? sdx_infer_product(c, x, 0, x->rank) : sdx_dimval_unknown(), known = sdx_dimval_num(1);
    int infer_at = -1;
    for (int k = 0; k < target->n; k++) {
        DimVal t = target->v[k];
        if (t.known && t.v == 0 && !allowzero) {
            if (x && k >= x->rank)
                return sdx_infer_fail(c, "the target's dimension %d is 0, which the input of rank %d does not have", k,
                                      (int)x->rank);
            t = x ? sdx_dimval_of(x->dims[k]) : sdx_dimval_unknown();
        }
        if (t.known && t.v < -1) return sdx_infer_fail(c, "the target's dimension %d is %" PRId64, k, t.v);
        if (t.known && t.v == -1) {
            if (infer_at >= 0) return sdx_infer_fail(c, "the target has -1 for dimensions %d and %d", infer_at, k);
            infer_at = k;
            continue;
        }
        y->dims[k] = sdx_dim_of(t);
        known = sdx_dimval_mul(c->syms, known, t);
    }
    if (infer_at >= 0) {
        if (known.known && known.v == 0)
            y->dims[infer_at] = total.known && total.v == 0 ? 0 : SDX_DIM_UNKNOWN;
        else if (total.known && known.known && total.v % known.v)
            return sdx_infer_fail(c, "%" PRId64 " elements do not divide by the target's known sizes, %" PRId64,
                                  total.v, known.v);
        else
            y->dims[infer_at] = sdx_dim_of(sdx_dimval_div(c->syms, total, known));
    } else if (total.known && known.known && total.v != known.v) {
        return sdx_infer_fail(c, "the target has %" PRId64 " elements, the input %" PRId64, known.v, total.v);
    }
    return SDX_OK;
}

static sdx_status reshape_infer(Infer *c)
{
    const ReshapeAttrs *a = c->args;
    DimVec target;
    const Shape *s = shape_of(c, 1);
    if (s && s->rank != 1) return sdx_infer_fail(c, "shape has rank %d; it must be 1", (int)s->rank);
    if (sdx_infer_ints(c, 1, &target)) {
        if (target.n > SDX_MAX_RANK)
            return sdx_infer_fail(c, "the target has rank %d; the limit is %d", (int)target.n, SDX_MAX_RANK);
        TRY(reshape_infer_dims(c, &target, a->allowzero));
    } else if (s && sdx_dim_is_const(s->dims[0]) && s->dims[0] <= SDX_MAX_RANK) {
        shape_out(c, 0, (int)s->dims[0]);
    }
    return sdx_infer_pass_ints(c);
}

static sdx_status reshape_run(Run *r)
{
    const ReshapeAttrs *a = r->args;
    int64_t target[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    char from[128], to[128];
    const Tensor *x = &r->in[0]->t;
    int n = sdx_tensor_ints(&r->in[1]->t, target, SDX_MAX_RANK);
    if (n < 0) return sdx_run_fail(r, "the target has more than %d dimensions", SDX_MAX_RANK);
    const char *why = reshape_dims(x, target, n, a->allowzero, dims);
    if (why)
        return sdx_run_fail(r, "input %s, target %s: %s", sdx_dims_text(from, sizeof from, x->dims, x->rank),
                            sdx_dims_text(to, sizeof to, target, n), why);
    return sdx_view_run(r, n, dims);
}

/* Before 5 the shape was an attribute. */
static sdx_status reshape_from_1(Node *n, Err *err) { return sdx_upgrade_ints_to_input(n, "shape", 1, err); }

static const OpVer reshape_vers[] = { VERS_ALL_21_25,
                                      { .since = 19, .types = { TS_ALL_19 } },
                                      { .since = 14, .types = { TS_ALL_13 } },
                                      { .since = 13, .types = { TS_ALL_13 } },
                                      { .since = 5, .types = { TS_ALL_1 } },
                                      { .since = 1, .types = { TS_FLT }, .upgrade = reshape_from_1 },
                                      { 0 } };

const OpDef sdx_op_Reshape = {
    .name = "Reshape",
    .sig = "T,i64->T",
    .attrs = reshape_attrs,
    .attrs_size = sizeof(ReshapeAttrs),
    .vers = reshape_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = reshape_infer,
    .cpu = { NULL, reshape_run },
};

/* -- Flatten ------------------------------------------------------------------------------------------------------- */

typedef struct FlattenAttrs {
    int64_t axis;
} FlattenAttrs;
static const AttrSpec flatten_attrs[] = { OP_INT(FlattenAttrs, axis, 1), OP_ATTR_END };

/* The dimensions before `axis`, in [-rank, rank], are the rows. */
static bool flatten_axis(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis > rank) return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

static sdx_status flatten_infer(Infer *c)
{
    const FlattenAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    Shape *y = shape_out(c, 0, 2);
    int axis;
    if (!x) return SDX_OK;
    if (!flatten_axis(a->axis, x->rank, &axis))
        return sdx_infer_fail(c, "axis %" PRId64 " is outside [-%d, %d]", a->axis, (int)x->rank, (int)x->rank);
    y->dims[0] = sdx_dim_of(sdx_infer_product(c, x, 0, axis));
    y->dims[1] = sdx_dim_of(sdx_infer_product(c, x, axis, x->rank));
    return SDX_OK;
}

static sdx_status flatten_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int axis;
    if (!flatten_axis(((const FlattenAttrs *)r->args)->axis, x->rank, &axis))
        return sdx_run_fail(r, "axis is outside the rank");
    int64_t dims[2] = { sdx_dims_product(x->dims, 0, axis), sdx_dims_product(x->dims, axis, x->rank) };
    return sdx_view_run(r, 2, dims);
}

static const OpVer flatten_vers[] = { VERS_ALL_21_25,
                                      { .since = 13, .types = { TS_ALL_13 } },
                                      { .since = 11, .types = { TS_ALL_1 } },
                                      { .since = 9, .types = { TS_ALL_1 } },
                                      { .since = 1, .types = { TS_FLT } },
                                      { 0 } };

const OpDef sdx_op_Flatten = {
    .name = "Flatten",
    .sig = "T->T",
    .attrs = flatten_attrs,
    .attrs_size = sizeof(FlattenAttrs),
    .vers = flatten_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = flatten_infer,
    .cpu = { NULL, flatten_run },
};

/* -- Squeeze ------------------------------------------------------------------------------------------------------- */

static sdx_status squeeze_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    int64_t axes[SDX_MAX_RANK];
    int n;
    bool gone[SDX_MAX_RANK] = { false };
    if (INFER_HAS(c, 1)) {
        if (!sdx_infer_numbers(c, 1, axes, SDX_MAX_RANK, &n)) {
            const Shape *a = shape_of(c, 1);
            if (x && a && a->rank == 1 && sdx_dim_is_const(a->dims[0]) && a->dims[0] <= x->rank)
                shape_out(c, 0, x->rank - (int)a->dims[0]);
            return SDX_OK;
        }
        for (int i = 0; x && i < n; i++) {
            int axis;
            TRY(sdx_infer_axis(c, axes[i], x->rank, &axis));
            if (sdx_dim_is_const(x->dims[axis]) && x->dims[axis] != 1)
                return sdx_infer_fail(c, "dimension %d to drop has size %" PRId64 ", not 1", axis, x->dims[axis]);
            gone[axis] = true;
        }
    } else if (x) {
        for (int k = 0; k < x->rank; k++) {
            if (!sdx_dim_is_const(x->dims[k])) return SDX_OK; /* whether it goes is not known */
            gone[k] = x->dims[k] == 1;
        }
    }
    if (!x) return SDX_OK;
    Shape y = { .rank = 0 };
    for (int k = 0; k < x->rank; k++)
        if (!gone[k]) y.dims[y.rank++] = x->dims[k];
    c->out[0].shape = y;
    return sdx_infer_pass_ints(c);
}

static sdx_status squeeze_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t axes[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    bool gone[SDX_MAX_RANK] = { false };
    int n = 0, rank = 0;
    if (DATUM_HAS(r, 1)) {
        if ((n = sdx_tensor_ints(&r->in[1]->t, axes, SDX_MAX_RANK)) < 0)
            return sdx_run_fail(r, "more axes than dimensions");
        for (int i = 0; i < n; i++) {
            int axis;
            if (!axis_of(axes[i], x->rank, &axis) || x->dims[axis] != 1)
                return sdx_run_fail(r, "axis %" PRId64 " is outside the rank or not of size 1", axes[i]);
            gone[axis] = true;
        }
    } else {
        for (int k = 0; k < x->rank; k++) gone[k] = x->dims[k] == 1;
    }
    for (int k = 0; k < x->rank; k++)
        if (!gone[k]) dims[rank++] = x->dims[k];
    return sdx_view_run(r, rank, dims);
}

/* Before 13 axes was an attribute. */
static sdx_status axes_to_input(Node *n, Err *err) { return sdx_upgrade_ints_to_input(n, "axes", 1, err); }

static const OpVer squeeze_vers[] = { VERS_ALL_21_25,
                                      { .since = 13, .types = { TS_ALL_13 } },
                                      { .since = 11, .types = { TS_ALL_1 }, .upgrade = axes_to_input },
                                      { .since = 1, .types = { TS_ALL_1 } },
                                      { 0 } };

const OpDef sdx_op_Squeeze = {
    .name = "Squeeze",
    .sig = "T,i64?->T",
    .vers = squeeze_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = squeeze_infer,
    .cpu = { NULL, squeeze_run },
};

/* -- Unsqueeze ----------------------------------------------------------------------------------------------------- */

/* Which dimensions of the output are new. NULL, or what is wrong. */
static const char *unsqueeze_mask(const int64_t *axes, int n, int rank, bool *fresh)
{
    for (int i = 0; i < n; i++) {
        int axis;
        if (!axis_of(axes[i], rank, &axis)) return "an axis is outside the rank of the output";
        if (fresh[axis]) return "an axis is given twice";
        fresh[axis] = true;
    }
    return NULL;
}

static sdx_status unsqueeze_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    int64_t axes[SDX_MAX_RANK];
    int n;
    if (!x) return sdx_infer_pass_ints(c);
    if (!sdx_infer_numbers(c, 1, axes, SDX_MAX_RANK, &n)) {
        const Shape *a = shape_of(c, 1);
        if (a && a->rank == 1 && sdx_dim_is_const(a->dims[0]) && a->dims[0] + x->rank <= SDX_MAX_RANK)
            shape_out(c, 0, x->rank + (int)a->dims[0]);
        return SDX_OK;
    }
    bool fresh[SDX_MAX_RANK] = { false };
    if (n + x->rank > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the output's rank is %d; the limit is %d", n + (int)x->rank, SDX_MAX_RANK);
    const char *why = unsqueeze_mask(axes, n, n + x->rank, fresh);
    if (why) return sdx_infer_fail(c, "%s, %d", why, n + (int)x->rank);
    Shape y = { .rank = n + x->rank };
    for (int k = 0, from = 0; k < y.rank; k++) y.dims[k] = fresh[k] ? 1 : x->dims[from++];
    c->out[0].shape = y;
    return sdx_infer_pass_ints(c);
}

static sdx_status unsqueeze_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t axes[SDX_MAX_RANK], dims[SDX_MAX_RANK];
    bool fresh[SDX_MAX_RANK] = { false };
    int n = sdx_tensor_ints(&r->in[1]->t, axes, SDX_MAX_RANK);
    if (n < 0 || n + x->rank > SDX_MAX_RANK) return sdx_run_fail(r, "the output's rank is beyond %d", SDX_MAX_RANK);
    const char *why = unsqueeze_mask(axes, n, n + x->rank, fresh);
    if (why) return sdx_run_fail(r, "%s, %d", why, n + (int)x->rank);
    for (int k = 0, from = 0; k < n + x->rank; k++) dims[k] = fresh[k] ? 1 : x->dims[from++];
    return sdx_view_run(r, n + x->rank, dims);
}

static const OpVer unsqueeze_vers[] = { VERS_ALL_21_25,
                                        { .since = 13, .types = { TS_ALL_13 } },
                                        { .since = 11, .types = { TS_ALL_1 }, .upgrade = axes_to_input },
                                        { .since = 1, .types = { TS_ALL_1 } },
                                        { 0 } };

const OpDef sdx_op_Unsqueeze = {
    .name = "Unsqueeze",
    .sig = "T,i64->T",
    .vers = unsqueeze_vers,
    .flags = OP_VIEW | OP_INPLACE,
    .infer = unsqueeze_infer,
    .cpu = { NULL, unsqueeze_run },
};
