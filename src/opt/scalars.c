/* opt/scalars.c - constant scalars meet
 *
 *     y = (x * a) * b   =>   y = x * ab        y = x / 2^n       =>   y = x * 2^-n
 *     y = (x * a) / b   =>   y = x * (a / b)   y = x ^ 2, x ^ 3  =>   y = x * x, (x * x) * x
 *     y = (x + a) + b   =>   y = x + (a + b)
 *
 * A quotient by another constant stays one: programs rely on equal numbers giving equal quotients, wherever they are
 * computed. Floats only. Skipped when the inner result has another reader, or the new constant is no normal number. */
#include "opt/match.h"

#include <float.h>
#include <math.h>

static bool is_normal_for(DType d, double v)
{
    double lo = d == DT_DOUBLE ? DBL_MIN : d == DT_FLOAT16 ? 6.104e-5 : FLT_MIN;
    double hi = d == DT_DOUBLE ? DBL_MAX : d == DT_FLOAT16 ? 65504 : FLT_MAX;
    return fabs(v) >= lo && fabs(v) <= hi;
}

static bool is_power_of_two(double v)
{
    int exponent;
    return fabs(frexp(v, &exponent)) == 0.5;
}

/* n becomes op(x, c), c having the type and shape of `like`. */
static sdx_status binary_put(Opt *o, Node *n, const char *op, Value *x, double c, const Tensor *like, bool *changed)
{
    Tensor t = *like;
    t.data = sdx_model_block_data(sdx_opt_model(o), &t);
    TRY_MEM(t.data, sdx_opt_err(o));
    sdx_tensor_set_double(&t, 0, c);
    Value *k = sdx_value_constant(n->graph, NULL, &t);
    TRY_MEM(k, sdx_opt_err(o));
    Node *y = sdx_opt_node(o, n, "", op, (Value *[]){ x, k }, 2);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}

static sdx_status pow_spell(Opt *o, Node *n, double c, bool *changed)
{
    Value *x = n->in[0], *square;
    if ((c != 2 && c != 3) || !sdx_same_type(&x->type, &n->out[0]->type)) return SDX_OK;
    square = x;
    if (c == 3) TRY(sdx_opt_apply(o, n, "Mul", (Value *[]){ x, x }, 2, &square));
    Node *y = sdx_opt_node(o, n, "", "Mul", (Value *[]){ square, x }, 2);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}

sdx_status sdx_pass_scalars(Opt *o, Node *n, bool *changed)
{
    double a, b;
    Value *x, *inner_x;
    int at, inner_at;
    if (!sdx_split_scalar(n, &b, &x, &at) || !sdx_dtype_in(x->type.elem, TS_FLTB)) return SDX_OK;
    const Tensor *k = n->in[at]->constant;
    if (node_is(n, "Pow")) return at == 1 ? pow_spell(o, n, b, changed) : SDX_OK;
    bool quotient = node_is(n, "Div");
    const char *op = quotient ? "Mul" : n->op_type;
    if (quotient && (at != 1 || !is_normal_for(x->type.elem, b) || !is_normal_for(x->type.elem, 1 / b))) return SDX_OK;
    if (quotient && is_power_of_two(b)) return binary_put(o, n, op, x, 1 / b, k, changed);
    const Node *inner = made_by(x, op);
    if (!inner || !is_private(x) || !sdx_split_scalar(inner, &a, &inner_x, &inner_at)) return SDX_OK;
    double c = quotient ? a / b : node_is(n, "Mul") ? a * b : a + b;
    if (!is_normal_for(x->type.elem, c)) return SDX_OK;
    const Tensor *wide = inner->in[inner_at]->constant; /* the constant that enlarges the rank, if one does */
    return binary_put(o, n, op, inner_x, c, wide->rank > k->rank ? wide : k, changed);
}
