/* opt/affine.c - scale and shift of channels after a product go into its weights
 *
 *     y = BatchNormalization(Conv(x, W, b), s, t, mean, var)     =>   y = Conv(x, W', b')
 *     y = Conv(x, W) * a,  Conv(x, W) + c                        =>   the same, a and c constant per channel
 *
 * Also for ConvTranspose, Gemm, and MatMul of matrices, which becomes a Gemm when there is something to add. W' is
 * rounded once from double. Skipped when weights or channel constants are not constant, when the product has another
 * reader, and when a factor is not finite. */
#include "opt/match.h"

#include <math.h>

/* y[c] = scale[c] * x[c] + shift[c] */
typedef struct Affine {
    int64_t n;
    double *scale, *shift;
    bool scales, shifts; /* whether there is something to do */
} Affine;

/* The product that is to take the affine map, in terms of its weights. */
typedef struct Target {
    Node *node;
    Value *w, *bias;
    int64_t channels;
    int64_t groups, outer, inner; /* W is [groups][outer][channels / groups][inner] */
    double bias_factor;           /* beta of Gemm */
} Target;

static bool is_float_const(const Value *v)
{
    return v && sdx_value_is_const(v) && v->constant->data && sdx_dtype_in(v->constant->dtype, TS_FLTB);
}

static bool target_of(Node *n, Target *t)
{
    *t = (Target){
        .node = n, .w = node_in(n, 1), .bias = node_in(n, 2), .groups = 1, .bias_factor = 1, .inner = 1, .outer = 1
    };
    if (!is_float_const(t->w) || (t->bias && !is_float_const(t->bias))) return false;
    const Tensor *w = t->w->constant;
    if (node_is(n, "Conv") && w->rank >= 3) {
        t->channels = w->dims[0];
        t->inner = sdx_dims_product(w->dims, 1, w->rank);
    } else if (node_is(n, "ConvTranspose") && w->rank >= 3) {
        t->groups = attr_int(n, "group", 1);
        if (t->groups < 1 || w->dims[0] % t->groups) return false;
        t->outer = w->dims[0] / t->groups;
        t->channels = w->dims[1] * t->groups;
        t->inner = sdx_dims_product(w->dims, 2, w->rank);
    } else if (node_is(n, "Gemm") && w->rank == 2) {
        bool trans = attr_int(n, "transB", 0);
        t->channels = w->dims[trans ? 0 : 1];
        *(trans ? &t->inner : &t->outer) = w->dims[trans ? 1 : 0];
        t->bias_factor = attr_float(n, "beta", 1);
        int rank = t->bias ? rank_of(t->bias) : 1; /* a bias per row stays what it is */
        if (rank > 2 || (rank == 2 && t->bias->type.shape.dims[0] != 1)) return false;
    } else if (node_is(n, "MatMul") && w->rank == 2 && rank_of(n->in[0]) == 2) {
        t->channels = w->dims[1];
        t->outer = w->dims[0];
    } else {
        return false;
    }
    int64_t n_bias = t->bias ? sdx_tensor_count(t->bias->constant) : 1;
    return t->channels > 0 && (n_bias == 1 || n_bias == t->channels);
}

/* Room for an affine map of n channels: the identity. */
static sdx_status affine_init(Opt *o, Affine *a, int64_t n)
{
    *a = (Affine){ .n = n };
    a->scale = sdx_alloc_zero(sdx_opt_model(o)->alloc, 2 * (size_t)n * sizeof *a->scale);
    TRY_MEM(a->scale, sdx_opt_err(o));
    a->shift = a->scale + n;
    for (int64_t i = 0; i < n; i++) a->scale[i] = 1;
    return SDX_OK;
}

static bool batchnorm_read(const Node *n, Affine *a)
{
    const Tensor *t[4];
    if (attr_int(n, "training_mode", 0)) return false;
    for (int i = 0; i < 4; i++) {
        const Value *v = node_in(n, i + 1);
        if (!is_float_const(v) || sdx_tensor_count(v->constant) != a->n) return false;
        t[i] = v->constant;
    }
    double eps = attr_float(n, "epsilon", 1e-5f);
    for (int64_t i = 0; i < a->n; i++) {
        double var = sdx_tensor_get_double(t[3], i);
        a->scale[i] = sdx_tensor_get_double(t[0], i) / sqrt(var + eps);
        a->shift[i] = sdx_tensor_get_double(t[1], i) - sdx_tensor_get_double(t[2], i) * a->scale[i];
    }
    a->scales = a->shifts = true;
    return true;
}

/* A constant operand of Mul, Div, Add or Sub beside the product, one number or one per channel. */
static bool operand_read(const Node *n, int at, const Value *product, Affine *a)
{
    const Value *v = n->in[at];
    int rank = rank_of(product);
    if (!is_float_const(v) || rank < 2) return false;
    const Tensor *t = v->constant;
    int64_t count = sdx_tensor_count(t);
    if (t->rank > rank || (count != 1 && count != a->n)) return false;
    int place = 1 - (rank - t->rank); /* channels are dim 1 of all targets */
    if (count != 1 && (place < 0 || t->dims[place] != a->n)) return false;
    bool divides = node_is(n, "Div"), subtracts = node_is(n, "Sub");
    if (divides && at == 0) return false;
    a->scales = divides || node_is(n, "Mul") || (subtracts && at == 0);
    a->shifts = !divides && !node_is(n, "Mul");
    for (int64_t i = 0; i < a->n; i++) {
        double c = sdx_tensor_get_double(t, count == 1 ? 0 : i);
        if (divides)
            a->scale[i] = 1 / c;
        else if (!a->shifts)
            a->scale[i] = c;
        else if (subtracts && at == 0)
            a->scale[i] = -1, a->shift[i] = c;
        else
            a->shift[i] = subtracts ? -c : c;
    }
    return true;
}

static bool affine_is_finite(const Affine *a)
{
    for (int64_t i = 0; i < 2 * a->n; i++)
        if (!isfinite(a->scale[i]) || fabs(a->scale[i]) > 1e30) return false;
    return true;
}

/* -- the new constants --------------------------------------------------------------------------------------------- */

static sdx_status weights_scale(Opt *o, const Target *t, const Affine *a, Value **out)
{
    TRY(sdx_value_align(t->w, sdx_opt_err(o)));
    const Tensor *w = t->w->constant;
    Tensor y = *w;
    y.data = sdx_model_block_data(sdx_opt_model(o), w);
    TRY_MEM(y.data, sdx_opt_err(o));
    int64_t per_group = t->channels / t->groups, i = 0;
    for (int64_t g = 0; g < t->groups; g++)
        for (int64_t k = 0; k < t->outer; k++)
            for (int64_t c = 0; c < per_group; c++) {
                double scale = a->scale[g * per_group + c];
                if (y.dtype == DT_FLOAT) {
                    const float *src = w->data;
                    float *dst = y.data;
                    for (int64_t j = 0; j < t->inner; j++, i++) dst[i] = (float)(src[i] * scale);
                } else {
                    for (int64_t j = 0; j < t->inner; j++, i++)
                        sdx_tensor_set_double(&y, i, sdx_tensor_get_double(w, i) * scale);
                }
            }
    *out = sdx_value_constant(t->node->graph, t->w->name, &y);
    TRY_MEM(*out, sdx_opt_err(o));
    return SDX_OK;
}

static sdx_status bias_make(Opt *o, const Target *t, const Affine *a, Value **out)
{
    Tensor y = { .dtype = t->w->constant->dtype, .rank = 1, .dims = { t->channels } };
    int64_t n_bias = t->bias ? sdx_tensor_count(t->bias->constant) : 0;
    if (t->bias) TRY(sdx_value_align(t->bias, sdx_opt_err(o)));
    y.data = sdx_model_block_data(sdx_opt_model(o), &y);
    TRY_MEM(y.data, sdx_opt_err(o));
    for (int64_t i = 0; i < t->channels; i++) {
        double b = n_bias ? t->bias_factor * sdx_tensor_get_double(t->bias->constant, n_bias == 1 ? 0 : i) : 0;
        sdx_tensor_set_double(&y, i, b * a->scale[i] + a->shift[i]);
    }
    *out = sdx_value_constant(t->node->graph, t->bias ? t->bias->name : NULL, &y);
    TRY_MEM(*out, sdx_opt_err(o));
    return SDX_OK;
}

/* The product with the affine map inside, before n, in whose place it stands. */
static sdx_status affine_apply(Opt *o, Node *n, const Target *t, const Affine *a)
{
    Node *p = t->node;
    Value *in[3] = { p->in[0], t->w, t->bias };
    if (a->scales) TRY(weights_scale(o, t, a, &in[1]));
    if (a->shifts || t->bias) TRY(bias_make(o, t, a, &in[2]));
    const char *op = node_is(p, "MatMul") && in[2] ? "Gemm" : p->op_type;
    Node *y = sdx_opt_node(o, n, "", op, in, 3);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    bool set = true;
    for (int i = 0; i < p->n_attrs; i++)
        if (strcmp(p->attrs[i].name, "beta") != 0) set &= sdx_node_set_attr(y, &p->attrs[i]);
    TRY_MEM(set, sdx_opt_err(o));
    if (*p->name) y->name = p->name;
    return sdx_opt_supersede(o, n, y);
}

sdx_status sdx_pass_affine(Opt *o, Node *n, bool *changed)
{
    bool is_norm = node_is(n, "BatchNormalization");
    if (n->n_in < 2 || (is_norm && n->n_out > 1 && (n->out[1] || n->n_out > 2))) return SDX_OK;
    for (int i = 0; i < (is_norm ? 1 : 2); i++) {
        Value *product = n->in[i];
        Target t;
        Affine a;
        if (!product || !product->producer || product->producer->graph != n->graph || !is_private(product)) continue;
        if (!target_of(product->producer, &t) || !sdx_same_type(&product->type, &n->out[0]->type)) continue;
        TRY(affine_init(o, &a, t.channels));
        bool ok = is_norm ? batchnorm_read(n, &a) : operand_read(n, 1 - i, product, &a);
        ok = ok && affine_is_finite(&a);
        *changed = ok;
        sdx_status st = ok ? affine_apply(o, n, &t, &a) : SDX_OK;
        sdx_free(sdx_opt_model(o)->alloc, a.scale);
        if (ok || st != SDX_OK) return st;
    }
    return SDX_OK;
}
