/* ops/groupnorm.c - InstanceNormalization, GroupNormalization, MeanVarianceNormalization, LpNormalization
 *
 * Instance and group normalisation: y = (x - mean) / sqrt(var + epsilon) * scale[c] + bias[c], statistics over the
 * channels of a group and all spatial positions of one item, population variance from centred values. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

#include <math.h>
#include <string.h>

typedef struct GroupNormAttrs {
    int64_t num_groups, stash_type;
    float epsilon;
} GroupNormAttrs;

typedef struct GroupNormJob {
    const void *x, *scale, *bias;
    void *y;
    int64_t groups, per_group, spatial; /* channels per group */
    double epsilon;
    const Kern *kern;
} GroupNormJob;

typedef struct LpJob {
    const void *x;
    void *y;
    Axis3 v;
    int64_t p;
} LpJob;

#define LP_COLS 64

#define T float
#define FN(name) name##_f32
#include "ops/groupnorm_tmpl.h"
#define T double
#define FN(name) name##_f64
#define SQRT sqrt
#define WITH_GROUPS
#include "ops/groupnorm_tmpl.h"

/* -- InstanceNormalization and GroupNormalization ------------------------------------------------------------------ */

static const AttrSpec instnorm_attrs[] = { OP_FLOAT(GroupNormAttrs, epsilon, 1e-5f), OP_ATTR_END };
static const AttrSpec groupnorm_attrs[] = { OP_INT_REQ(GroupNormAttrs, num_groups),
                                            OP_FLOAT(GroupNormAttrs, epsilon, 1e-5f),
                                            OP_INT(GroupNormAttrs, stash_type, 1), OP_ATTR_END };

static sdx_status instnorm_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    TRY(infer_is_vector(c, 1, x->dims[1], "scale"));
    TRY(infer_is_vector(c, 2, x->dims[1], "bias"));
    return sdx_infer_same_shape(c);
}

static sdx_status groupnorm_infer(Infer *c)
{
    const GroupNormAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (a->num_groups < 1)
        return sdx_infer_fail(c, "num_groups is %lld; it must be positive", (long long)a->num_groups);
    if (x && x->rank >= 2 && sdx_dim_is_const(x->dims[1]) && x->dims[1] % a->num_groups)
        return sdx_infer_fail(c, "%lld channels do not divide into %lld groups", (long long)x->dims[1],
                              (long long)a->num_groups);
    return instnorm_infer(c);
}

static void group_range_f32(void *arg, int64_t from, int64_t to, int worker)
{
    enum { FEW = 64 };
    const GroupNormJob *j = arg;
    int64_t n = j->per_group * j->spatial;
    for (int64_t u = from; u < to; u++) {
        const float *x = (const float *)j->x + u * n, *all = j->scale;
        float *y = (float *)j->y + u * n, mean, inv, center[FEW], scale[FEW];
        j->kern->moments_f32(&mean, &inv, x, 1, (size_t)n, (float)j->epsilon);
        int64_t c = u % j->groups * j->per_group;
        for (int64_t k = 0; k < j->per_group; k += FEW) {
            int64_t few = j->per_group - k < FEW ? j->per_group - k : FEW;
            for (int64_t i = 0; i < few; i++) {
                center[i] = mean;
                scale[i] = all[c + k + i] * inv;
            }
            j->kern->affine_rows_f32(y + k * j->spatial, x + k * j->spatial, (size_t)few, (size_t)j->spatial,
                                     (size_t)j->spatial, center, scale, (const float *)j->bias + c + k);
        }
    }
}

static sdx_status norm_groups(Run *r, int64_t groups, double epsilon)
{
    const Tensor *x = &r->in[0]->t;
    int64_t channels = x->dims[1];
    void *y;
    TRY(run_output_like(r, 0, x, &y));
    if (sdx_tensor_count(x) == 0) return SDX_OK;
    if (groups == 0) groups = channels;
    GroupNormJob j = { .x = x->data,
                       .scale = r->in[1]->t.data,
                       .bias = r->in[2]->t.data,
                       .y = y,
                       .groups = groups,
                       .per_group = channels / groups,
                       .spatial = sdx_dims_product(x->dims, 2, x->rank),
                       .epsilon = epsilon,
                       .kern = r->state };
    sdx_run_range(r, x->dims[0] * groups, grain_for(2 * j.per_group * j.spatial),
                  x->dtype == DT_DOUBLE ? group_range_f64 : group_range_f32, &j);
    return SDX_OK;
}

static sdx_status instnorm_run(Run *r) { return norm_groups(r, 0, ((const GroupNormAttrs *)r->args)->epsilon); }
static sdx_status groupnorm_run(Run *r)
{
    const GroupNormAttrs *a = r->args;
    return norm_groups(r, a->num_groups, a->epsilon);
}

static const OpVer instnorm_vers[] = { { 22, { TS_FLTB } }, { 6, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_InstanceNormalization = {
    .name = "InstanceNormalization",
    .sig = "T,T,T->T",
    .attrs = instnorm_attrs,
    .attrs_size = sizeof(GroupNormAttrs),
    .vers = instnorm_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = instnorm_infer,
    .cpu = { prepare_kern, instnorm_run },
};

/* Version 18 had one scale and bias per group: each is repeated for the channels of its group,
 * Reshape(Expand(Reshape(s, [-1,1]), [1, C / groups]), [-1]). */
static Value *repeat_for_channels(Node *n, Value *s, Value *target, Err *err)
{
    static const int64_t column[2] = { -1, 1 }, flat[1] = { -1 };
    Value *in[2] = { s, sdx_upgrade_const_ints(n, column, 2, err) };
    Value *v = in[1] ? sdx_upgrade_before(n, "Reshape", in, 2, err) : NULL;
    if (!v) return NULL;
    v = sdx_upgrade_before(n, "Expand", (Value *[]){ v, target }, 2, err);
    Value *shape = v ? sdx_upgrade_const_ints(n, flat, 1, err) : NULL;
    return shape ? sdx_upgrade_before(n, "Reshape", (Value *[]){ v, shape }, 2, err) : NULL;
}

static sdx_status groupnorm_from_18(Node *n, Err *err)
{
    static const int64_t one[1] = { 1 };
    TRY(sdx_upgrade_needs(n, 3, err));
    int64_t groups = sdx_upgrade_int(n, "num_groups", 1);
    Attr range[2] = { { .name = "start", .type = ATTR_INT, .n = 1, .i = 1 },
                      { .name = "end", .type = ATTR_INT, .n = 1, .i = 2 } };
    Attr axis = { .name = "axis", .type = ATTR_INT, .n = 1, .i = 0 };
    Value *channels = sdx_upgrade_before_with(n, "Shape", range, 2, n->in, 1, err);
    Value *g = channels ? sdx_upgrade_const_ints(n, &groups, 1, err) : NULL;
    Value *per = g ? sdx_upgrade_before(n, "Div", (Value *[]){ channels, g }, 2, err) : NULL;
    Value *ones = per ? sdx_upgrade_const_ints(n, one, 1, err) : NULL;
    Value *target = ones ? sdx_upgrade_before_with(n, "Concat", &axis, 1, (Value *[]){ ones, per }, 2, err) : NULL;
    for (int i = 1; target && i <= 2; i++) {
        Value *v = repeat_for_channels(n, n->in[i], target, err);
        if (!v || !sdx_node_set_input(n, i, v)) target = NULL;
    }
    return target ? SDX_OK : sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

static const OpVer groupnorm_vers[] = { { 21, { TS_FLTB } }, { 18, { TS_FLTB }, groupnorm_from_18 }, { 0 } };

const OpDef sdx_op_GroupNormalization = {
    .name = "GroupNormalization",
    .sig = "T,T,T->T",
    .attrs = groupnorm_attrs,
    .attrs_size = sizeof(GroupNormAttrs),
    .vers = groupnorm_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = groupnorm_infer,
    .cpu = { prepare_kern, groupnorm_run },
};

/* -- MeanVarianceNormalization ------------------------------------------------------------------------------------- */

/* y = (x - mean) / (std + 1e-9) over `axes`, default [0, 2, 3]. */
typedef struct MvnAttrs {
    IntList axes;
} MvnAttrs;

static const AttrSpec mvn_attrs[] = { OP_INTS(MvnAttrs, axes), OP_ATTR_END };

static IntList mvn_axes(const MvnAttrs *a)
{
    static const int64_t dflt[3] = { 0, 2, 3 };
    return a->axes.v ? a->axes : (IntList){ 3, dflt };
}

static sdx_status mvn_infer(Infer *c)
{
    const Shape *x = infer_shape(c, 0);
    IntList axes = mvn_axes(c->args);
    for (int64_t i = 0; x && i < axes.n; i++) {
        int axis;
        TRY(sdx_infer_axis(c, axes.v[i], x->rank, &axis));
    }
    return sdx_infer_same_shape(c);
}

typedef struct MvnState {
    int64_t cell_stride[SDX_MAX_RANK]; /* 0 along normalised axes */
    int64_t cells, per_cell;
} MvnState;

static sdx_status mvn_prepare(Prepare *p)
{
    MvnState *st = sdx_arena_new(p->arena, MvnState);
    TRY_MEM(st, p->err);
    const Tensor *x = &p->in[0]->t;
    IntList axes = mvn_axes(p->args);
    bool mask[SDX_MAX_RANK] = { false };
    for (int64_t i = 0; i < axes.n; i++) mask[axes.v[i] < 0 ? axes.v[i] + x->rank : axes.v[i]] = true;
    st->cells = 1;
    st->per_cell = 1;
    for (int k = x->rank - 1; k >= 0; k--) {
        if (mask[k]) {
            st->per_cell *= x->dims[k];
            continue;
        }
        st->cell_stride[k] = st->cells;
        st->cells *= x->dims[k];
    }
    p->state = st;
    p->scratch = (size_t)st->cells * 2 * sizeof(double);
    return SDX_OK;
}

/* Calls step(user, cell, i) for each element i. */
typedef void (*MvnStep)(void *user, int64_t cell, int64_t i);
typedef struct MvnPass {
    const Tensor *x;
    void *y;
    double *mean, *std;
} MvnPass;

static void mvn_each(const MvnState *st, const Tensor *x, MvnStep step, void *user)
{
    int64_t at[SDX_MAX_RANK] = { 0 }, n = sdx_tensor_count(x), cell = 0;
    for (int64_t i = 0; i < n; i++) {
        step(user, cell, i);
        for (int k = x->rank - 1; k >= 0; k--) {
            cell += st->cell_stride[k];
            if (++at[k] < x->dims[k]) break;
            cell -= st->cell_stride[k] * x->dims[k];
            at[k] = 0;
        }
    }
}

static double mvn_get(const Tensor *t, int64_t i)
{
    return t->dtype == DT_DOUBLE ? ((const double *)t->data)[i] : (double)((const float *)t->data)[i];
}

static void mvn_add(void *user, int64_t cell, int64_t i)
{
    MvnPass *p = user;
    p->mean[cell] += mvn_get(p->x, i);
}

static void mvn_square(void *user, int64_t cell, int64_t i)
{
    MvnPass *p = user;
    double d = mvn_get(p->x, i) - p->mean[cell];
    p->std[cell] += d * d;
}

static void mvn_store(void *user, int64_t cell, int64_t i)
{
    MvnPass *p = user;
    double v = (mvn_get(p->x, i) - p->mean[cell]) / p->std[cell];
    if (p->x->dtype == DT_DOUBLE)
        ((double *)p->y)[i] = v;
    else
        ((float *)p->y)[i] = (float)v;
}

static sdx_status mvn_run(Run *r)
{
    const MvnState *st = r->state;
    void *y;
    TRY(run_output_like(r, 0, &r->in[0]->t, &y));
    MvnPass p = { .x = &r->in[0]->t, .y = y, .mean = r->scratch, .std = (double *)r->scratch + st->cells };
    if (sdx_tensor_count(p.x) == 0) return SDX_OK;
    memset(r->scratch, 0, (size_t)st->cells * 2 * sizeof(double));
    mvn_each(st, p.x, mvn_add, &p);
    for (int64_t i = 0; i < st->cells; i++) p.mean[i] /= (double)st->per_cell;
    mvn_each(st, p.x, mvn_square, &p);
    for (int64_t i = 0; i < st->cells; i++) p.std[i] = sqrt(p.std[i] / (double)st->per_cell) + 1e-9;
    mvn_each(st, p.x, mvn_store, &p);
    return SDX_OK;
}

static const OpVer mvn_vers[] = { { 13, { TS_FLTB } }, { 9, { TS_FLT } }, { 0 } };

const OpDef sdx_op_MeanVarianceNormalization = {
    .name = "MeanVarianceNormalization",
    .sig = "T->T",
    .attrs = mvn_attrs,
    .attrs_size = sizeof(MvnAttrs),
    .vers = mvn_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = mvn_infer,
    .cpu = { mvn_prepare, mvn_run },
};

/* -- LpNormalization ----------------------------------------------------------------------------------------------- */

/* y = x / norm_p(x) along `axis`; where the norm is 0, y is 0. */
typedef struct LpNormAttrs {
    int64_t axis, p;
} LpNormAttrs;

static const AttrSpec lpnorm_attrs[] = { OP_INT(LpNormAttrs, axis, -1), OP_INT(LpNormAttrs, p, 2), OP_ATTR_END };

static sdx_status lpnorm_infer(Infer *c)
{
    const LpNormAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    int axis;
    if (a->p != 1 && a->p != 2) return sdx_infer_fail(c, "p is %lld; it must be 1 or 2", (long long)a->p);
    if (x) TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    return sdx_infer_same_shape(c);
}

static sdx_status lpnorm_run(Run *r)
{
    const LpNormAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    void *y;
    TRY(run_output_like(r, 0, x, &y));
    LpJob j = { .x = x->data, .y = y, .p = a->p, .v = axis3_of(x, (int)(a->axis < 0 ? a->axis + x->rank : a->axis)) };
    if (j.v.outer * j.v.n * j.v.inner == 0) return SDX_OK;
    int64_t blocks = (j.v.inner + LP_COLS - 1) / LP_COLS;
    sdx_run_range(r, j.v.outer * blocks, grain_for(j.v.n * (j.v.inner < LP_COLS ? j.v.inner : LP_COLS)),
                  x->dtype == DT_DOUBLE ? lp_range_f64 : lp_range_f32, &j);
    return SDX_OK;
}

static const OpVer lpnorm_vers[] = { { 22, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_LpNormalization = {
    .name = "LpNormalization",
    .sig = "T->T",
    .attrs = lpnorm_attrs,
    .attrs_size = sizeof(LpNormAttrs),
    .vers = lpnorm_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = lpnorm_infer,
    .cpu = { NULL, lpnorm_run },
};
