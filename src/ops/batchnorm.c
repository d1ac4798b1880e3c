/* ops/batchnorm.c - BatchNormalization
 *
 * y = (x - mean[c]) / sqrt(var[c] + epsilon) * scale[c] + bias[c]. In training mode mean and population variance are
 * those of the batch, and running_x = x_in * momentum + batch_x * (1 - momentum).
 * Before 14 the mode followed from is_test (1, 6) or from which outputs were asked for (7, 9); before 9 `spatial` = 0
 * meant one statistic per element of an item. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

#include <math.h>
#include <string.h>

typedef struct BatchNormAttrs {
    float epsilon, momentum;
    int64_t training_mode;
} BatchNormAttrs;

static const AttrSpec batchnorm_attrs[] = { OP_FLOAT(BatchNormAttrs, epsilon, 1e-5f),
                                            OP_FLOAT(BatchNormAttrs, momentum, 0.9f),
                                            OP_INT(BatchNormAttrs, training_mode, 0), OP_ATTR_END };

static sdx_status batchnorm_infer(Infer *c)
{
    static const char *const names[] = { "x", "scale", "bias", "mean", "var" };
    const BatchNormAttrs *a = c->args;
    int outputs = 0;
    for (int o = 1; o < c->node->n_out; o++) outputs += c->node->out[o] != NULL;
    if (outputs && !a->training_mode)
        return sdx_infer_fail(c, "running_mean and running_var exist only when training_mode is 1");
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    if (x->rank < 1) return sdx_infer_fail(c, "x is a scalar; it needs a batch dimension");
    Dim channels = x->rank > 1 ? x->dims[1] : 1;
    for (int i = 1; i < 5; i++) TRY(infer_is_vector(c, i, channels, names[i]));
    for (int o = 1; o < c->n_out; o++) infer_out_rank(c, o, 1)[0] = channels;
    return sdx_infer_same_shape(c);
}

typedef struct BatchNormJob {
    const void *x;
    void *y;
    const double *mean, *inv; /* inv: scale / sqrt(var + epsilon) */
    const double *bias;
    int64_t items, channels, spatial;
    double *out_mean, *out_var;
    float *affine; /* center, scale and shift of each channel */
    const Kern *kern;
} BatchNormJob;

#define T float
#define FN(name) name##_f32
#include "ops/batchnorm_tmpl.h"
#define T double
#define FN(name) name##_f64
#define WITH_SCALE
#include "ops/batchnorm_tmpl.h"

static void scale_range_f32(void *arg, int64_t from, int64_t to, int worker)
{
    const BatchNormJob *j = arg;
    const float *center = j->affine, *scale = center + j->channels, *shift = scale + j->channels;
    for (int64_t u = from, n; u < to; u += n) {
        int64_t c = u % j->channels, at = u * j->spatial;
        n = j->channels - c < to - u ? j->channels - c : to - u;
        const float *x = (const float *)j->x + at;
        float *y = (float *)j->y + at;
        if (j->spatial == 1)
            j->kern->affine_columns_f32(y, x, 1, (size_t)n, (size_t)n, center + c, scale + c, shift + c);
        else
            j->kern->affine_rows_f32(y, x, (size_t)n, (size_t)j->spatial, (size_t)j->spatial, center + c, scale + c,
                                     shift + c);
    }
}

static int64_t batchnorm_channels(const Tensor *x) { return x->rank > 1 ? x->dims[1] : 1; }

static sdx_status batchnorm_prepare(Prepare *p)
{
    p->scratch = (size_t)batchnorm_channels(&p->in[0]->t) * (4 * sizeof(double) + 3 * sizeof(float));
    p->state = (void *)p->kern;
    return SDX_OK;
}

static sdx_status batchnorm_run(Run *r)
{
    const BatchNormAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t channels = batchnorm_channels(x);
    void *y;
    TRY(run_output_like(r, 0, x, &y));
    double *mean = r->scratch, *inv = mean + channels, *bias = inv + channels, *var = bias + channels;
    BatchNormJob j = { .x = x->data,
                       .y = y,
                       .mean = mean,
                       .inv = inv,
                       .bias = bias,
                       .items = x->dims[0],
                       .channels = channels,
                       .spatial = sdx_dims_product(x->dims, 2, x->rank),
                       .out_mean = mean,
                       .out_var = var,
                       .affine = (float *)(var + channels),
                       .kern = r->state };
    bool f64 = x->dtype == DT_DOUBLE;
    int64_t per_channel = j.items * j.spatial;
    if (a->training_mode) {
        sdx_run_range(r, channels, grain_for(2 * per_channel), f64 ? stats_range_f64 : stats_range_f32, &j);
    } else {
        for (int64_t c = 0; c < channels; c++) {
            mean[c] = sdx_tensor_get_double(&r->in[3]->t, c);
            var[c] = sdx_tensor_get_double(&r->in[4]->t, c);
        }
    }
    for (int64_t c = 0; c < channels; c++) {
        inv[c] = sdx_tensor_get_double(&r->in[1]->t, c) / sqrt(var[c] + (double)a->epsilon);
        bias[c] = sdx_tensor_get_double(&r->in[2]->t, c);
    }
    for (int64_t c = 0; c < channels; c++) {
        j.affine[c] = (float)mean[c];
        j.affine[channels + c] = (float)inv[c];
        j.affine[2 * channels + c] = (float)bias[c];
    }
    if (per_channel > 0 && channels > 0)
        sdx_run_range(r, j.items * channels, grain_for(j.spatial), f64 ? scale_range_f64 : scale_range_f32, &j);
    for (int o = 1; o <= 2; o++) {
        if (o >= r->n_out || !r->out[o]) continue;
        Tensor t = { .dtype = r->in[2 + o]->t.dtype };
        TRY(sdx_run_output(r, o, t.dtype, 1, &channels, &t.data));
        const double *batch = o == 1 ? mean : var;
        for (int64_t c = 0; c < channels; c++)
            sdx_tensor_set_double(&t, c,
                                  sdx_tensor_get_double(&r->in[2 + o]->t, c) * (double)a->momentum +
                                      batch[c] * (1 - (double)a->momentum));
    }
    return SDX_OK;
}

/* Training if anything but y is asked for. The saved statistics, a hint to a gradient operator, are gone since 14. */
static sdx_status batchnorm_from_9(Node *n, Err *err)
{
    int asked = 0;
    for (int o = 1; o < n->n_out; o++) asked += n->out[o] != NULL;
    if (sdx_upgrade_int(n, "training_mode", 0)) asked = 1;
    for (int o = 3; o < n->n_out; o++) {
        if (!n->out[o]) continue;
        if (n->out[o]->n_uses || (n->out[o]->flags & VALUE_GRAPH_OUTPUT))
            return sdx_fail(err, SDX_UNSUPPORTED, "output %d (saved statistics) of BatchNormalization before opset 14",
                            o);
    }
    if (n->n_out > 3) n->n_out = 3;
    if (!sdx_node_set_int(n, "training_mode", asked != 0)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

/* Statistics per element: the same on the flattened item, whose elements are channels of size 1. */
static sdx_status batchnorm_from_7(Node *n, Err *err)
{
    int64_t spatial = sdx_upgrade_int(n, "spatial", 1);
    sdx_node_drop_attr(n, "spatial");
    if (spatial) return SDX_OK;
    TRY(sdx_upgrade_needs(n, 1, err));
    static const int64_t flat[1] = { -1 };
    Attr axis = { .name = "axis", .type = ATTR_INT, .n = 1, .i = 1 };
    Value *x = n->in[0];
    Value *shape = sdx_upgrade_before(n, "Shape", &x, 1, err);
    Value *items = shape ? sdx_upgrade_before_with(n, "Flatten", &axis, 1, &x, 1, err) : NULL;
    Value *target = items ? sdx_upgrade_const_ints(n, flat, 1, err) : NULL;
    if (!target || !sdx_node_set_input(n, 0, items)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    for (int i = 1; i < 5 && i < n->n_in; i++) {
        Value *v = sdx_upgrade_before(n, "Reshape", (Value *[]){ n->in[i], target }, 2, err);
        if (!v || !sdx_node_set_input(n, i, v)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    if (!sdx_upgrade_after(n, 0, "Reshape", (Value *[]){ NULL, shape }, 2, err))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

/* is_test = 0, the default, asks for batch statistics whatever the outputs. */
static sdx_status batchnorm_from_6(Node *n, Err *err)
{
    bool training = sdx_upgrade_int(n, "is_test", 0) == 0;
    sdx_node_drop_attr(n, "is_test");
    if (!sdx_node_set_int(n, "training_mode", training)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

static const OpVer batchnorm_vers[] = {
    { 15, { TS_FLTB, TS_FLTB, TS_FLTB } },
    { 14, { TS_FLTB, TS_FLTB, TS_FLTB } },
    { 9, { TS_FLT, TS_FLT, TS_FLT }, batchnorm_from_9 },
    { 7, { TS_FLT, TS_FLT, TS_FLT }, batchnorm_from_7 },
    { 6, { TS_FLT, TS_FLT, TS_FLT }, batchnorm_from_6 },
    { 1, { TS_FLT, TS_FLT, TS_FLT } },
    { 0 },
};

const OpDef sdx_op_BatchNormalization = {
    .name = "BatchNormalization",
    .sig = "T,U,U,V,V->T,V?,V?",
    .attrs = batchnorm_attrs,
    .attrs_size = sizeof(BatchNormAttrs),
    .vers = batchnorm_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = batchnorm_infer,
    .cpu = { batchnorm_prepare, batchnorm_run },
};
