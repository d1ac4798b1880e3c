/* ep/cpu/fuse.c - what follows a product, applied to its result while that is in registers
 *
 *     y = MatMul(a, w)                    =>   y = sdx.MatMul(a, w)              w a constant matrix
 *     y = Add(sdx.MatMul(a, w), b)        =>   y = sdx.MatMul(a, w, b)           b a constant vector: bias
 *     y = Add(sdx.Conv(x, w, b), z)       =>   y = sdx.Conv(x, w, b, z)          z of the result's shape; MatMul alike
 *     y = Relu(sdx.Conv(...))             =>   y = sdx.Conv <act> (...)          and other activations
 *
 * Skipped when somebody else reads the product. */
#include <float.h>
#include <math.h>

#include "ep/cpu/rewrites.h"
#include "kern/gemm/epilogue.h"
#include "opt/match.h"

enum { IN_BIAS = 2, IN_ADD = 3, N_IN = 4 }; /* inputs of both operators */

/* The product that makes v for one reader alone, when it can take more. */
static Node *open_product(const Value *v)
{
    Node *n = v && v->producer && is_private(v) ? v->producer : NULL;
    bool is_product = n && strcmp(n->domain, "sdx") == 0 &&
                      (strcmp(n->op_type, "Conv") == 0 || strcmp(n->op_type, "MatMul") == 0);
    return is_product && !attr_int(n, "add_last", 0) ? n : NULL;
}

/* A copy of product p before `at`, with inputs `in`; then to be finished. */
static Node *product_like(Opt *o, Node *at, const Node *p, Value *const *in)
{
    int n_in = N_IN;
    while (n_in > 2 && !in[n_in - 1]) n_in--;
    Node *m = sdx_opt_node(o, at, "sdx", p->op_type, in, n_in);
    for (int i = 0; m && i < p->n_attrs; i++) {
        if (sdx_node_set_attr(m, &p->attrs[i])) continue;
        sdx_fail(sdx_opt_err(o), SDX_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    return m;
}

static void product_inputs(const Node *p, Value **in)
{
    for (int i = 0; i < N_IN; i++) in[i] = node_in(p, i);
}

static sdx_status finish_as(Opt *o, Node *n, Node *m, bool *changed)
{
    char text[200];
    *changed = true;
    TRY(sdx_opt_finish(o, m));
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    return sdx_opt_replace(o, n->out[0], m->out[0]);
}

/* -- products by constant matrices --------------------------------------------------------------------------------- */

static bool is_float(const Value *v) { return v && v->type.kind == TYPE_TENSOR && v->type.elem == DT_FLOAT; }

static bool is_plain_gemm(const Node *n)
{
    const Value *c = node_in(n, 2);
    if (attr_int(n, "transA", 0) || attr_float(n, "alpha", 1) != 1 || attr_float(n, "beta", 1) != 1) return false;
    if (!c) return true;
    return sdx_value_is_const(c) && c->constant->rank == 1 && c->constant->dims[0] == n->out[0]->type.shape.dims[1];
}

sdx_status sdx_pass_fuse_matmul(Opt *o, Node *n, bool *changed)
{
    bool gemm = node_is(n, "Gemm");
    if (*n->domain || n->n_in < 2 || !is_float(n->in[0]) || !is_float(n->in[1]) || rank_of(n->in[0]) < 2) return SDX_OK;
    if (!sdx_value_is_const(n->in[1]) || n->in[1]->constant->rank != 2) return SDX_OK;
    if (gemm && !is_plain_gemm(n)) return SDX_OK;
    Value *in[N_IN] = { n->in[0], n->in[1], gemm ? node_in(n, 2) : NULL };
    Node *m = sdx_opt_node(o, n, "sdx", "MatMul", in, in[IN_BIAS] ? 3 : 2);
    if (!m) return (sdx_status)sdx_opt_err(o)->code;
    bool set = !gemm || !attr_int(n, "transB", 0) || sdx_node_set_int(m, "trans_b", 1);
    TRY_MEM(set, sdx_opt_err(o));
    return finish_as(o, n, m, changed);
}

/* -- bias and residual --------------------------------------------------------------------------------------------- */

/* A constant that adds one number to each element of the last axis. */
static bool is_bias(const Value *v, const Value *y)
{
    int rank = rank_of(y);
    if (!sdx_value_is_const(v) || v->constant->rank < 1 || rank < 1) return false;
    const Tensor *t = v->constant;
    Dim last = y->type.shape.dims[rank - 1];
    return t->dtype == DT_FLOAT && t->rank <= rank && t->dims[t->rank - 1] == last && sdx_tensor_count(t) == last;
}

/* The bias as a vector: a header of its own over the same elements. */
static sdx_status bias_vector(Opt *o, Graph *g, Value *v, Value **out)
{
    *out = v;
    if (v->constant->rank == 1) return SDX_OK;
    Tensor t = *v->constant;
    t.rank = 1;
    t.dims[0] = sdx_tensor_count(v->constant);
    return sdx_opt_constant(o, g, NULL, &t, out);
}

static sdx_status try_add(Opt *o, Node *n, Value *product, Value *other, bool *changed)
{
    Node *p = open_product(product), *m;
    Value *in[N_IN];
    if (!p || !sdx_same_type(&product->type, &n->out[0]->type)) return SDX_OK;
    product_inputs(p, in);
    bool plain = attr_int(p, "act", SDX_ACT_NONE) == SDX_ACT_NONE;
    if (plain && !in[IN_BIAS] && !in[IN_ADD] && is_bias(other, product)) {
        TRY(bias_vector(o, n->graph, other, &in[IN_BIAS]));
    } else if (!in[IN_ADD] && sdx_same_type(&product->type, &other->type)) {
        in[IN_ADD] = other;
    } else {
        return SDX_OK;
    }
    if (!(m = product_like(o, n, p, in))) return (sdx_status)sdx_opt_err(o)->code;
    bool set = plain || sdx_node_set_int(m, "add_last", 1);
    TRY_MEM(set, sdx_opt_err(o));
    return finish_as(o, n, m, changed);
}

sdx_status sdx_pass_fuse_add(Opt *o, Node *n, bool *changed)
{
    if (*n->domain || n->n_in != 2 || !is_float(n->in[0]) || !is_float(n->in[1]) || n->in[0] == n->in[1] ||
        rank_of(n->out[0]) < 2)
        return SDX_OK;
    TRY(try_add(o, n, n->in[0], n->in[1], changed));
    return *changed ? SDX_OK : try_add(o, n, n->in[1], n->in[0], changed);
}

/* -- activations --------------------------------------------------------------------------------------------------- */

typedef struct Act {
    int64_t act;
    float p0, p1;
} Act;

static bool clip_bounds(const Node *n, Act *a)
{
    double lo = -INFINITY, hi = INFINITY;
    if ((node_in(n, 1) && !sdx_const_scalar(n->in[1], &lo)) || (node_in(n, 2) && !sdx_const_scalar(n->in[2], &hi)))
        return false;
    *a = (Act){ SDX_ACT_CLIP, (float)lo, (float)hi };
    return lo <= hi;
}

static bool gelu_kind(const Node *n, Act *a)
{
    const Attr *approximate = sdx_node_attr(n, "approximate");
    bool by_tanh = approximate && approximate->s.n == 4 && memcmp(approximate->s.p, "tanh", 4) == 0;
    *a = (Act){ by_tanh ? SDX_ACT_GELU_TANH : SDX_ACT_GELU_ERF, 0, 0 };
    return true;
}

static bool act_of(const Node *n, Act *a)
{
    *a = (Act){ SDX_ACT_NONE, 0, 0 };
    if (node_is(n, "Clip")) return clip_bounds(n, a);
    if (node_is(n, "Gelu")) return gelu_kind(n, a);
    if (node_is(n, "Swish") && attr_float(n, "alpha", 1) != 1) return false;
    if (node_is(n, "LeakyRelu"))
        *a = (Act){ SDX_ACT_LEAKY, attr_float(n, "alpha", 0.01f), 0 };
    else if (node_is(n, "HardSigmoid"))
        *a = (Act){ SDX_ACT_HARDSIGMOID, attr_float(n, "alpha", 0.2f), attr_float(n, "beta", 0.5f) };
    else if (node_is(n, "Relu"))
        a->act = SDX_ACT_RELU;
    else if (node_is(n, "HardSwish"))
        a->act = SDX_ACT_HARDSWISH;
    else if (node_is(n, "Sigmoid"))
        a->act = SDX_ACT_SIGMOID;
    else if (node_is(n, "Swish"))
        a->act = SDX_ACT_SILU;
    else if (node_is(n, "Tanh"))
        a->act = SDX_ACT_TANH;
    return a->act != SDX_ACT_NONE;
}

sdx_status sdx_pass_fuse_act(Opt *o, Node *n, bool *changed)
{
    Node *p = *n->domain || n->n_in < 1 ? NULL : open_product(n->in[0]), *m;
    Value *in[N_IN];
    Act a;
    if (!p || attr_int(p, "act", SDX_ACT_NONE) != SDX_ACT_NONE || !act_of(n, &a)) return SDX_OK;
    product_inputs(p, in);
    if (!(m = product_like(o, n, p, in))) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_int(m, "act", a.act) && sdx_node_set_float(m, "p0", a.p0) &&
               sdx_node_set_float(m, "p1", a.p1);
    TRY_MEM(set, sdx_opt_err(o));
    return finish_as(o, n, m, changed);
}
