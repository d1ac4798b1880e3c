/* opt/layernorm_form.c - layer normalisation written out
 *
 *     m = ReduceMean <last> (x)   d = Sub(x, m)   v = ReduceMean <last> (d * d or d ^ 2)
 *     n = d / Sqrt(v + eps)       y = n * scale [+ bias]       =>   y = LayerNormalization(x, scale, bias)
 *
 * and the same without m: n = x / Sqrt(ReduceMean(x ^ 2) + eps), y = n * scale   =>   y = RMSNormalization(x, scale).
 * The division may also be a product with Reciprocal, with Sqrt(1 / ..) or with (v + eps) ^ -0.5. A Cast between n and
 * y or before x, as written around half precision, is taken along for RMSNormalization, whose scale has its own type.
 * Skipped when scale or bias is not a vector as long as the last dim. */
#include "opt/match.h"

#include <math.h>

/* The reader of a private value. */
static Node *reader_of(const Value *v) { return is_private(v) ? v->uses[0].node : NULL; }

static bool is_float(const Value *v) { return v->type.kind == TYPE_TENSOR && sdx_dtype_in(v->type.elem, TS_FLTB); }

/* d when v is d * d or d ^ 2. */
static Value *square_of(const Value *v)
{
    const Node *n = made_by(v, "Mul");
    if (n) return n->in[0] == n->in[1] ? n->in[0] : NULL;
    n = made_by(v, "Pow");
    return n && sdx_const_is(n->in[1], 2) ? n->in[0] : NULL;
}

/* d when v is ReduceMean(d ^ 2) + eps. */
static Value *variance_of(const Value *v, double *eps)
{
    const Node *add = made_by(v, "Add");
    Value *mean;
    int at;
    if (!add || !sdx_split_scalar(add, eps, &mean, &at) || *eps < 0 || *eps > 1) return NULL;
    const Node *reduce = made_by(mean, "ReduceMean");
    return reduce && sdx_reduces_last(reduce) ? square_of(reduce->in[0]) : NULL;
}

/* d when v is 1 / Sqrt(variance of d): the ways to write it. */
static Value *inverse_deviation_of(const Value *v, double *eps)
{
    const Node *n = made_by(v, "Reciprocal");
    if (n) return (n = made_by(n->in[0], "Sqrt")) ? variance_of(n->in[0], eps) : NULL;
    if ((n = made_by(v, "Sqrt"))) return (n = made_by(n->in[0], "Reciprocal")) ? variance_of(n->in[0], eps) : NULL;
    if ((n = made_by(v, "Pow"))) return sdx_const_is(n->in[1], -0.5) ? variance_of(n->in[0], eps) : NULL;
    n = made_by(v, "Div");
    if (!n || !sdx_const_is(n->in[0], 1)) return NULL;
    return (n = made_by(n->in[1], "Sqrt")) ? variance_of(n->in[0], eps) : NULL;
}

/* d when n is d over the deviation of d. */
static Value *normalized_of(const Node *n, double *eps)
{
    if (node_is(n, "Div")) {
        const Node *sqrt = made_by(n->in[1], "Sqrt");
        Value *d = sqrt ? variance_of(sqrt->in[0], eps) : NULL;
        return d && d == n->in[0] ? d : NULL;
    }
    for (int i = 0; i < 2; i++) {
        Value *d = inverse_deviation_of(n->in[i], eps);
        if (d && d == n->in[1 - i]) return d;
    }
    return NULL;
}

/* x when d is x minus its mean. */
static Value *centred_of(const Value *d)
{
    const Node *sub = made_by(d, "Sub");
    const Node *mean = sub ? made_by(sub->in[1], "ReduceMean") : NULL;
    return mean && mean->in[0] == sub->in[0] && sdx_reduces_last(mean) ? sub->in[0] : NULL;
}

/* v as a vector of the last dim of x: itself, or a constant [1, .., C] without its ones. NULL when it is not one. */
static sdx_status vector_for(Opt *o, Value *v, const Value *x, Value **out)
{
    int rank = rank_of(v);
    *out = NULL;
    if (rank < 1 || v->type.shape.dims[rank - 1] != x->type.shape.dims[rank_of(x) - 1]) return SDX_OK;
    if (rank == 1) {
        *out = v;
        return SDX_OK;
    }
    if (!sdx_value_is_const(v) || sdx_tensor_count(v->constant) != v->constant->dims[rank - 1]) return SDX_OK;
    Tensor t = *v->constant;
    t.rank = 1;
    t.dims[0] = v->constant->dims[rank - 1];
    bool shared = sdx_model_block_share(sdx_opt_model(o), t.data);
    TRY_MEM(shared, sdx_opt_err(o));
    *out = sdx_value_constant(v->graph, v->name, &t);
    TRY_MEM(*out, sdx_opt_err(o));
    (*out)->flags |= v->flags & VALUE_UNALIGNED;
    return SDX_OK;
}

static sdx_status norm_build(Opt *o, Node *last, const char *op, Value *const *in, int n_in, double eps, bool *changed)
{
    Node *y = sdx_opt_node(o, last, "", op, in, n_in);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_float(y, "epsilon", (float)eps) && sdx_node_set_int(y, "axis", -1);
    TRY_MEM(set, sdx_opt_err(o));
    *changed = true;
    return sdx_opt_supersede(o, last, y);
}

sdx_status sdx_pass_layernorm_form(Opt *o, Node *n, bool *changed)
{
    double eps;
    Value *d = normalized_of(n, &eps), *x = d ? centred_of(d) : NULL, *w, *b;
    if (!x || !is_float(x) || rank_of(x) < 1) return SDX_OK;
    Node *scale = reader_of(n->out[0]);
    if (!node_is(scale, "Mul") || scale->graph != n->graph) return SDX_OK;
    w = scale->in[0] == n->out[0] ? scale->in[1] : scale->in[0];
    TRY(vector_for(o, w, x, &w));
    if (!w || !sdx_same_shape(&scale->out[0]->type.shape, &x->type.shape)) return SDX_OK;
    Node *add = reader_of(scale->out[0]);
    b = NULL;
    if (node_is(add, "Add") && add->graph == n->graph)
        TRY(vector_for(o, add->in[0] == scale->out[0] ? add->in[1] : add->in[0], x, &b));
    return norm_build(o, b ? add : scale, "LayerNormalization", (Value *[]){ x, w, b }, b ? 3 : 2, eps, changed);
}

sdx_status sdx_pass_rmsnorm_form(Opt *o, Node *n, bool *changed)
{
    double eps;
    Value *x = normalized_of(n, &eps), *w, *y = n->out[0];
    if (!x || !is_float(x) || rank_of(x) < 1) return SDX_OK;
    Node *scale = reader_of(y);
    if (node_is(scale, "Cast") && is_float(scale->out[0]) && scale->graph == n->graph) {
        y = scale->out[0];
        scale = reader_of(y);
    }
    if (!node_is(scale, "Mul") || scale->graph != n->graph) return SDX_OK;
    w = scale->in[0] == y ? scale->in[1] : scale->in[0];
    TRY(vector_for(o, w, x, &w));
    if (!w || !is_float(w) || !sdx_same_shape(&scale->out[0]->type.shape, &x->type.shape)) return SDX_OK;
    const Node *cast = made_by(x, "Cast"); /* to float, from half: the operator computes in float anyway */
    if (cast && x->type.elem == DT_FLOAT && sdx_dtype_in(cast->in[0]->type.elem, TS_F16 | TS_BF16)) x = cast->in[0];
    return norm_build(o, scale, "RMSNormalization", (Value *[]){ x, w }, 2, eps, changed);
}
