/* ops/optimizer.c - Adagrad, Adam, Momentum of ai.onnx.preview.training
 *
 * Inputs: rate R, step T, then the tensors X, their gradients and one or two kinds of state; outputs: the new X and
 * states. All begin with g = norm_coefficient * X + G; sums are formed in double. */
#include <math.h>

#include "ops/dims.h"
#include "ops/shapes.h"

typedef struct OptAttrs {
    float alpha, beta, epsilon, norm_coefficient, norm_coefficient_post, decay_factor;
    Str mode;
} OptAttrs;

/* One element: x, g, then states, which are replaced. */
typedef struct OptStep {
    const OptAttrs *a;
    double rate, beta;
    bool nesterov;
} OptStep;
typedef double (*OptFn)(const OptStep *s, double x, double g, double *state);

/* kinds: of tensors among the inputs; all but the gradients come out again. */
static sdx_status opt_infer(Infer *c, int kinds)
{
    int n = (c->n_in - 2) / kinds;
    if (n < 1 || (c->n_in - 2) % kinds)
        return sdx_infer_fail(c, "after R and T come %d inputs; they must be a multiple of %d", c->n_in - 2, kinds);
    if (c->n_out != n * (kinds - 1))
        return sdx_infer_fail(c, "there are %d outputs, not %d", c->n_out, n * (kinds - 1));
    for (int i = 0; i < kinds * n; i++) {
        const Shape *x = infer_shape(c, 2 + i % n), *s = infer_shape(c, 2 + i);
        if (!infer_has(c, 2 + i)) return sdx_infer_fail(c, "input %d is missing", 2 + i);
        for (int k = -1; x && s && k < x->rank; k++)
            if (k < 0 ? x->rank != s->rank : dim_differs(x->dims[k], s->dims[k]))
                return sdx_infer_fail(c, "input %d does not have the shape of input %d", 2 + i, 2 + i % n);
    }
    for (int o = 0; o < c->n_out; o++) {
        c->out[o].elem = c->in[2 + (o < n ? o : o + n)]->elem;
        c->out[o].shape = c->in[2 + o % n]->shape;
    }
    return SDX_OK;
}

/* Tensor i of n. */
static sdx_status opt_tensor(Run *r, const OptStep *step, OptFn fn, int kinds, int n, int i)
{
    const Tensor *in[4];
    Tensor out[4];
    for (int k = 0; k < kinds; k++) {
        in[k] = &r->in[2 + k * n + i]->t;
        if (!sdx_dims_equal(in[k]->dims, in[k]->rank, in[0]->dims, in[0]->rank))
            return sdx_run_fail(r, "input %d does not have the shape of input %d", 2 + k * n + i, 2 + i);
        if (k == 1) continue; /* gradients have no output */
        int o = k ? (k - 1) * n + i : i;
        out[k] = *in[k];
        out[k].data = NULL;
        if (r->out[o]) TRY(sdx_run_output(r, o, in[k]->dtype, in[k]->rank, in[k]->dims, &out[k].data));
    }
    int64_t count = sdx_tensor_count(in[0]);
    for (int64_t e = 0; e < count; e++) {
        double state[2] = { 0 }, x = sdx_tensor_get_double(in[0], e);
        for (int k = 2; k < kinds; k++) state[k - 2] = sdx_tensor_get_double(in[k], e);
        double g = (double)step->a->norm_coefficient * x + sdx_tensor_get_double(in[1], e);
        x = fn(step, x, g, state);
        if (out[0].data) sdx_tensor_set_double(&out[0], e, x);
        for (int k = 2; k < kinds; k++)
            if (out[k].data) sdx_tensor_set_double(&out[k], e, state[k - 2]);
    }
    return SDX_OK;
}

static sdx_status opt_run(Run *r, OptStep *step, OptFn fn, int kinds)
{
    int n = (r->n_in - 2) / kinds;
    for (int i = 0; i < n; i++) TRY(opt_tensor(r, step, fn, kinds, n, i));
    return SDX_OK;
}

/* R and T. */
static sdx_status opt_start(Run *r, OptStep *step, double *t)
{
    if (sdx_tensor_count(&r->in[0]->t) != 1 || sdx_tensor_count(&r->in[1]->t) != 1)
        return sdx_run_fail(r, "R and T have to be scalars");
    *step = (OptStep){ .a = r->args, .rate = sdx_tensor_get_double(&r->in[0]->t, 0) };
    step->beta = (double)step->a->beta;
    *t = (double)sdx_tensor_get_int(&r->in[1]->t, 0);
    return SDX_OK;
}

static double adagrad(const OptStep *s, double x, double g, double *h)
{
    h[0] += g * g;
    return x - s->rate * g / (sqrt(h[0]) + (double)s->a->epsilon);
}
static sdx_status adagrad_infer(Infer *c) { return opt_infer(c, 3); }
static sdx_status adagrad_run(Run *r)
{
    OptStep s;
    double t;
    TRY(opt_start(r, &s, &t));
    s.rate /= 1 + t * (double)s.a->decay_factor;
    return opt_run(r, &s, adagrad, 3);
}

static double adam(const OptStep *s, double x, double g, double *vh)
{
    double a = (double)s->a->alpha;
    vh[0] = a * vh[0] + (1 - a) * g;
    vh[1] = s->beta * vh[1] + (1 - s->beta) * g * g;
    return (1 - (double)s->a->norm_coefficient_post) * (x - s->rate * vh[0] / (sqrt(vh[1]) + (double)s->a->epsilon));
}
static sdx_status adam_infer(Infer *c) { return opt_infer(c, 4); }
static sdx_status adam_run(Run *r)
{
    OptStep s;
    double t;
    TRY(opt_start(r, &s, &t));
    if (t > 0) s.rate *= sqrt(1 - pow(s.beta, t)) / (1 - pow((double)s.a->alpha, t));
    return opt_run(r, &s, adam, 4);
}

static double momentum(const OptStep *s, double x, double g, double *v)
{
    double a = (double)s->a->alpha;
    v[0] = a * v[0] + s->beta * g;
    return x - s->rate * (s->nesterov ? g + a * v[0] : v[0]);
}
static sdx_status momentum_infer(Infer *c)
{
    Str mode = ((const OptAttrs *)c->args)->mode;
    if (!str_is(mode, "standard") && !str_is(mode, "nesterov"))
        return sdx_infer_fail(c, "mode is not standard or nesterov");
    return opt_infer(c, 3);
}
static sdx_status momentum_run(Run *r)
{
    OptStep s;
    double t;
    TRY(opt_start(r, &s, &t));
    s.nesterov = str_is(s.a->mode, "nesterov");
    if (t <= 0) s.beta = 1;
    return opt_run(r, &s, momentum, 3);
}

static const AttrSpec adagrad_attrs[] = { OP_FLOAT(OptAttrs, decay_factor, 0), OP_FLOAT(OptAttrs, epsilon, 1e-6f),
                                          OP_FLOAT(OptAttrs, norm_coefficient, 0), OP_ATTR_END };
static const AttrSpec adam_attrs[] = { OP_FLOAT(OptAttrs, alpha, 0.9f),
                                       OP_FLOAT(OptAttrs, beta, 0.999f),
                                       OP_FLOAT(OptAttrs, epsilon, 1e-6f),
                                       OP_FLOAT(OptAttrs, norm_coefficient, 0),
                                       OP_FLOAT(OptAttrs, norm_coefficient_post, 0),
                                       OP_ATTR_END };
static const AttrSpec momentum_attrs[] = { OP_FLOAT_REQ(OptAttrs, alpha), OP_FLOAT_REQ(OptAttrs, beta),
                                           OP_STR_REQ(OptAttrs, mode), OP_FLOAT_REQ(OptAttrs, norm_coefficient),
                                           OP_ATTR_END };
static const OpVer opt_vers[] = { { 1, { TS_F32 | TS_F64, TS_F32 | TS_F64 } }, { 0 } };

#define OPT_OP(Name, lower)                                                                                            \
    const OpDef sdx_op_training_##Name = {                                                                             \
        .name = #Name,                                                                                                 \
        .domain = "ai.onnx.preview.training",                                                                          \
        .sig = "T,i64,U~->U~",                                                                                         \
        .attrs = lower##_attrs,                                                                                        \
        .attrs_size = sizeof(OptAttrs),                                                                                \
        .vers = opt_vers,                                                                                              \
        .infer = lower##_infer,                                                                                        \
        .cpu = { NULL, lower##_run },                                                                                  \
    };
OPT_OP(Adagrad, adagrad)
OPT_OP(Adam, adam)
OPT_OP(Momentum, momentum)
