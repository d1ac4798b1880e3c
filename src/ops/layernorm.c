/* ops/layernorm.c - LayerNormalization, RMSNormalization
 *
 * Over the axes from `axis` on: y = (x - mean) / sqrt(var + epsilon) * scale + bias, var the population variance, taken
 * from centred values; RMSNormalization leaves the mean out. Statistics are float (double for double) as stash_type 1
 * asks. Scale and bias broadcast to x; those with the shape of the normalised axes take the quick way. */
#include "ops/axis3.h"
#include "ops/dims.h"

#include <math.h>
#include <string.h>

typedef struct LayerNormAttrs {
    int64_t axis, stash_type;
    float epsilon;
} LayerNormAttrs;

static const AttrSpec layernorm_attrs[] = { OP_INT(LayerNormAttrs, axis, -1), OP_FLOAT(LayerNormAttrs, epsilon, 1e-5f),
                                            OP_INT(LayerNormAttrs, stash_type, 1), OP_ATTR_END };

/* Element (row, column) of a tensor that broadcasts to x: walks the dims of x. */
typedef struct Spread {
    const void *data;
    bool plain; /* repeats row by row: element `column` */
    int rank;
    int64_t dims[SDX_MAX_RANK], stride[SDX_MAX_RANK];
} Spread;

static void spread_init(Spread *s, const Tensor *t, const Tensor *x, int64_t cols)
{
    memset(s, 0, sizeof *s);
    s->data = t->data;
    s->rank = x->rank;
    int skip = x->rank - t->rank;
    int64_t stride = 1, tail = 1;
    s->plain = sdx_tensor_count(t) == cols;
    for (int k = x->rank - 1; k >= 0; k--) {
        int64_t d = k >= skip ? t->dims[k - skip] : 1;
        s->dims[k] = x->dims[k];
        s->stride[k] = d == 1 ? 0 : stride;
        stride *= d;
        if (tail < cols && d != x->dims[k]) s->plain = false;
        tail *= x->dims[k];
    }
}

static int64_t spread_at(const Spread *s, int64_t flat)
{
    int64_t at = 0;
    for (int k = s->rank - 1; k >= 0; k--) {
        at += flat % s->dims[k] * s->stride[k];
        flat /= s->dims[k];
    }
    return at;
}

typedef struct NormJob {
    const void *x;
    void *y, *mean, *inv;
    const Spread *scale, *bias;
    int64_t cols;
    double epsilon;
    bool rms;
    const Kern *kern;
} NormJob;

#define T float
#define FN(name) name##_f32
#define SQRT sqrtf
#include "ops/layernorm_tmpl.h"
#define T double
#define FN(name) name##_f64
#define SQRT sqrt
#include "ops/layernorm_tmpl.h"

/* Rows with plain scale and bias, by the kernel. */
static void norm_range_kernel(void *arg, int64_t from, int64_t to, int worker)
{
    const NormJob *j = arg;
    NormRows a = {
        .y = (float *)j->y + from * j->cols,
        .x = (const float *)j->x + from * j->cols,
        .scale = j->scale->data,
        .bias = j->bias ? j->bias->data : NULL,
        .mean = j->mean ? (float *)j->mean + from : NULL,
        .inv_std = j->inv ? (float *)j->inv + from : NULL,
        .rows = (size_t)(to - from),
        .n = (size_t)j->cols,
        .eps = (float)j->epsilon,
        .rms = j->rms,
    };
    j->kern->norm_rows_f32(&a);
}

/* s must spread to x one-sidedly. */
static sdx_status layernorm_check(Infer *c, int i, const Shape *x, const char *what)
{
    const Shape *s = infer_shape(c, i);
    if (!s) return SDX_OK;
    if (s->rank > x->rank)
        return sdx_infer_fail(c, "%s has rank %d, more than the input's %d", what, (int)s->rank, (int)x->rank);
    for (int k = 1; k <= s->rank; k++) {
        Dim d = s->dims[s->rank - k];
        if (d != 1 && dim_differs(d, x->dims[x->rank - k]))
            return sdx_infer_fail(c, "%s does not broadcast to the input: dimension -%d is %lld against %lld", what, k,
                                  (long long)d, (long long)x->dims[x->rank - k]);
    }
    return SDX_OK;
}

static sdx_status layernorm_infer(Infer *c)
{
    const LayerNormAttrs *a = c->args;
    if (a->stash_type != DT_FLOAT && a->stash_type != DT_BFLOAT16)
        return sdx_infer_fail(c, "stash_type %lld is neither 1 (float) nor 16 (bfloat16)", (long long)a->stash_type);
    for (int o = 1; o < c->n_out; o++) c->out[o].elem = (DType)a->stash_type;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int axis;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    TRY(layernorm_check(c, 1, x, "scale"));
    TRY(layernorm_check(c, 2, x, "bias"));
    infer_out_shape(c, 0, x);
    for (int o = 1; o < c->n_out; o++) {
        Dim *out = infer_out_rank(c, o, x->rank);
        for (int k = 0; k < x->rank; k++) out[k] = k < axis ? x->dims[k] : 1;
    }
    return SDX_OK;
}

typedef struct LayerNormState {
    const Kern *kern;
    Spread scale, bias;
    int64_t rows, cols, stat_dims[SDX_MAX_RANK];
} LayerNormState;

static sdx_status layernorm_prepare(Prepare *p)
{
    const LayerNormAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t;
    LayerNormState *st = sdx_arena_new(p->arena, LayerNormState);
    TRY_MEM(st, p->err);
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis);
    for (int k = 0; k < x->rank; k++) st->stat_dims[k] = k < axis ? x->dims[k] : 1;
    st->rows = sdx_dims_product(x->dims, 0, axis);
    st->cols = sdx_dims_product(x->dims, axis, x->rank);
    spread_init(&st->scale, &p->in[1]->t, x, st->cols);
    if (p->n_in > 2 && p->in[2]) spread_init(&st->bias, &p->in[2]->t, x, st->cols);
    st->kern = p->kern;
    p->state = st;
    return SDX_OK;
}

/* RMSNormalization may have double on one side and float on the other. */
static void rmsnorm_mixed(Run *r, const LayerNormState *st, double epsilon, Tensor *y)
{
    const Tensor *x = &r->in[0]->t, *scale = &r->in[1]->t;
    for (int64_t row = 0; row < st->rows; row++) {
        double sum = 0;
        for (int64_t i = 0; i < st->cols; i++) {
            double v = sdx_tensor_get_double(x, row * st->cols + i);
            sum += v * v;
        }
        double inv = 1 / sqrt(sum / (double)st->cols + epsilon);
        for (int64_t i = 0; i < st->cols; i++) {
            int64_t flat = row * st->cols + i;
            double s = sdx_tensor_get_double(scale, spread_at(&st->scale, flat));
            sdx_tensor_set_double(y, flat, sdx_tensor_get_double(x, flat) * inv * s);
        }
    }
}

static sdx_status layernorm_any(Run *r, bool rms)
{
    const LayerNormAttrs *a = r->args;
    const LayerNormState *st = r->state;
    const Tensor *x = &r->in[0]->t;
    Spread scale = st->scale, bias = st->bias;
    scale.data = r->in[1]->t.data;
    bool has_bias = r->n_in > 2 && r->in[2];
    if (has_bias) bias.data = r->in[2]->t.data;
    DType out_type = rms ? r->in[1]->t.dtype : x->dtype;
    void *y;
    TRY(sdx_run_output(r, 0, out_type, x->rank, x->dims, &y));
    NormJob j = { .x = x->data,
                  .y = y,
                  .scale = &scale,
                  .bias = has_bias ? &bias : NULL,
                  .cols = st->cols,
                  .epsilon = a->epsilon,
                  .rms = rms,
                  .kern = st->kern };
    for (int o = 1; o < r->n_out; o++)
        if (r->out[o]) TRY(sdx_run_output(r, o, DT_FLOAT, x->rank, st->stat_dims, o == 1 ? &j.mean : &j.inv));
    if (st->rows * st->cols == 0) return SDX_OK;
    if (x->dtype != r->in[1]->t.dtype) {
        rmsnorm_mixed(r, st, a->epsilon, &(Tensor){ .dtype = out_type, .data = y });
        return SDX_OK;
    }
    bool plain = scale.plain && (!has_bias || bias.plain);
    sdx_run_range(r, st->rows, grain_for(2 * st->cols),
                  x->dtype == DT_DOUBLE ? norm_range_f64
                  : plain               ? norm_range_kernel
                                        : norm_range_f32,
                  &j);
    return SDX_OK;
}

static sdx_status layernorm_run(Run *r) { return layernorm_any(r, false); }
static sdx_status rmsnorm_run(Run *r) { return layernorm_any(r, true); }

static const OpVer layernorm_vers[] = { { 17, { TS_FLTB, TS_F32 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_LayerNormalization = {
    .name = "LayerNormalization",
    .sig = "T,T,T?->T,U?,U?",
    .attrs = layernorm_attrs,
    .attrs_size = sizeof(LayerNormAttrs),
    .vers = layernorm_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = layernorm_infer,
    .cpu = { layernorm_prepare, layernorm_run },
};

static const OpVer rmsnorm_vers[] = { { 23, { TS_FLTB, TS_FLTB } }, { 0 } };

/* The output has the type of scale. */
const OpDef sdx_op_RMSNormalization = {
    .name = "RMSNormalization",
    .sig = "T,U->U",
    .attrs = layernorm_attrs,
    .attrs_size = sizeof(LayerNormAttrs),
    .vers = rmsnorm_vers,
    .flags = OP_F32_MATH,
    .infer = layernorm_infer,
    .cpu = { layernorm_prepare, rmsnorm_run },
};
