/* opt/activation_form.c - activations written out; constants may stand anywhere in the products
 *
 *     x * (1 + Erf(x / sqrt 2)) * 0.5                                   =>   Gelu(x)
 *     x * (1 + Tanh(sqrt(2/pi) * (x + 0.044715 x^3))) * 0.5             =>   Gelu <approximate = "tanh"> (x)
 *     x * Sigmoid(a x)                                                  =>   Swish <alpha = a> (x)
 *     x * Tanh(Softplus(x))                                             =>   Mish(x)
 *     x * HardSigmoid <1/6, 0.5> (x),  x * Clip(x + 3, 0, 6) / 6        =>   HardSwish(x)
 *     Clip(x + 3, 0, 6) / 6                                             =>   HardSigmoid <1/6, 0.5> (x)
 *     Log(1 + Exp(x))                                                   =>   Softplus(x)
 *
 * Skipped when an intermediate value has another reader. Constants are recognised up to a thousandth, as exporters
 * round them in half precision. */
#include "opt/match.h"
#include "opt/factors.h"

#include <math.h>

static bool is_float(const Value *v) { return v->type.kind == TYPE_TENSOR && sdx_dtype_in(v->type.elem, TS_FLTB); }

static bool near(double have, double want) { return fabs(have - want) <= 1e-3 * fabs(want); }

/* v when n is 1 + v, or want + v. */
static Value *plus(const Node *n, double want)
{
    double c;
    Value *v;
    int at;
    return n && sdx_split_scalar(n, &c, &v, &at) && near(c, want) ? v : NULL;
}

static sdx_status activation_put(Opt *o, Node *n, const char *op, Value *x, const Attr *attrs, int n_attrs,
                                 bool *changed)
{
    if (!is_float(x) || !sdx_same_type(&x->type, &n->out[0]->type)) return SDX_OK;
    Node *y = sdx_opt_node(o, n, "", op, &x, 1);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    for (int i = 0; i < n_attrs; i++) {
        bool set = sdx_node_set_attr(y, &attrs[i]);
        TRY_MEM(set, sdx_opt_err(o));
    }
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}

/* The other factor of a product of two. */
static Value *other_factor(const Product *p, int at) { return p->n == 2 ? p->factor[1 - at] : NULL; }

/* Is v sqrt(2/pi) (x + 0.044715 x^3), or that with x outside? */
static bool is_tanh_argument(Value *v, Value *x)
{
    const double outer = 0.7978845608028654 /* sqrt(2/pi) */, inner = 0.044715;
    Product p, cubic;
    int at;
    if (!sdx_product_of(v, &p) || !near(p.c, outer)) return false;
    const Node *sum = sdx_product_find(&p, "Add", &at);
    if (!sum) return false;
    if (p.n == 1) {
        for (int i = 0; i < 2; i++)
            if (sum->in[i] == x && sdx_product_of(sum->in[1 - i], &cubic))
                return sdx_product_is(&cubic, inner, (Value *[]){ x, x, x }, 3);
        return false;
    }
    Value *square = plus(sum, 1);
    return p.n == 2 && p.factor[1 - at] == x && square && sdx_product_of(square, &cubic) &&
           sdx_product_is(&cubic, inner, (Value *[]){ x, x }, 2);
}

static sdx_status gelu_try(Opt *o, Node *n, const Product *p, bool *changed)
{
    const Attr tanh_form = { .name = "approximate", .type = ATTR_STRING, .n = 1, .s = { "tanh", 4 } };
    Product arg;
    int at;
    const Node *sum = sdx_product_find(p, "Add", &at);
    Value *x = sum ? other_factor(p, at) : NULL, *v = x ? plus(sum, 1) : NULL;
    if (!v || !near(p->c, 0.5) || !is_private(v)) return SDX_OK;
    const Node *f = made_by(v, "Erf");
    if (f && sdx_product_of(f->in[0], &arg) && sdx_product_is(&arg, 0.7071067811865476, &x, 1))
        return activation_put(o, n, "Gelu", x, NULL, 0, changed);
    f = made_by(v, "Tanh");
    if (f && is_tanh_argument(f->in[0], x)) return activation_put(o, n, "Gelu", x, &tanh_form, 1, changed);
    return SDX_OK;
}

static sdx_status swish_try(Opt *o, Node *n, const Product *p, bool *changed)
{
    Product arg;
    int at;
    const Node *sigmoid = sdx_product_find(p, "Sigmoid", &at);
    Value *x = sigmoid ? other_factor(p, at) : NULL;
    if (!x || p->c != 1 || !sdx_product_of(sigmoid->in[0], &arg) || arg.n != 1 || arg.factor[0] != x) return SDX_OK;
    const Attr alpha = { .name = "alpha", .type = ATTR_FLOAT, .n = 1, .f = (float)arg.c };
    return activation_put(o, n, "Swish", x, &alpha, 1, changed);
}

static sdx_status mish_try(Opt *o, Node *n, const Product *p, bool *changed)
{
    int at;
    const Node *tanh = sdx_product_find(p, "Tanh", &at);
    Value *x = tanh ? other_factor(p, at) : NULL;
    const Node *soft = x && is_private(tanh->in[0]) ? made_by(tanh->in[0], "Softplus") : NULL;
    if (!soft || p->c != 1 || soft->in[0] != x) return SDX_OK;
    return activation_put(o, n, "Mish", x, NULL, 0, changed);
}

/* x when v is Clip(x + 3, 0, 6). */
static Value *relu6_of(const Value *v)
{
    const Node *clip = made_by(v, "Clip");
    if (!clip || clip->n_in != 3 || !clip->in[0] || !clip->in[1] || !is_private(clip->in[0])) return NULL;
    if (!sdx_const_is(clip->in[1], 0) || !sdx_const_is(clip->in[2], 6)) return NULL;
    return plus(made_by(clip->in[0], "Add"), 3);
}

static const Attr hard_sigmoid[] = {
    { .name = "alpha", .type = ATTR_FLOAT, .n = 1, .f = 1.f / 6 },
    { .name = "beta", .type = ATTR_FLOAT, .n = 1, .f = 0.5f },
};

static sdx_status hardswish_try(Opt *o, Node *n, const Product *p, bool *changed)
{
    int at;
    const Node *gate = sdx_product_find(p, "HardSigmoid", &at);
    if (gate) {
        bool sixth = near(attr_float(gate, "alpha", 0.2f), 1. / 6) && near(attr_float(gate, "beta", 0.5f), 0.5);
        Value *x = other_factor(p, at);
        if (!x || !sixth || p->c != 1 || gate->in[0] != x) return SDX_OK;
        return activation_put(o, n, "HardSwish", x, NULL, 0, changed);
    }
    gate = sdx_product_find(p, "Clip", &at);
    Value *x = gate ? relu6_of(gate->out[0]) : NULL;
    if (!x || !near(p->c, 1. / 6)) return SDX_OK;
    if (p->n == 1) return activation_put(o, n, "HardSigmoid", x, hard_sigmoid, 2, changed);
    return other_factor(p, at) == x ? activation_put(o, n, "HardSwish", x, NULL, 0, changed) : SDX_OK;
}

sdx_status sdx_pass_activation_form(Opt *o, Node *n, bool *changed)
{
    Product p;
    if (!sdx_product_of_node(n, &p) || p.n > 2 || p.n < 1) return SDX_OK;
    TRY(gelu_try(o, n, &p, changed));
    if (!*changed) TRY(swish_try(o, n, &p, changed));
    if (!*changed) TRY(mish_try(o, n, &p, changed));
    if (!*changed) TRY(hardswish_try(o, n, &p, changed));
    return SDX_OK;
}

sdx_status sdx_pass_softplus_form(Opt *o, Node *n, bool *changed)
{
    const Node *sum = node_in(n, 0) && is_private(n->in[0]) ? made_by(n->in[0], "Add") : NULL;
    Value *e = plus(sum, 1);
    const Node *exp = e && is_private(e) ? made_by(e, "Exp") : NULL;
    return exp ? activation_put(o, n, "Softplus", exp->in[0], NULL, 0, changed) : SDX_OK;
}
