/* Elementwise operators of several tensors that broadcast. */
#include "train/vjp.h"

void sdx_back_sum(Vjp *g)
{
    for (int i = 0; i < g->n->n_in; i++) sdx_vjp_give_sum(g, i, dy(g, 0));
}

void sdx_back_sub(Vjp *g)
{
    sdx_vjp_give_sum(g, 0, dy(g, 0));
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, neg(g, dy(g, 0)));
}

void sdx_back_mul(Vjp *g)
{
    for (int i = 0; i < 2; i++)
        if (sdx_vjp_wants(g, i)) sdx_vjp_give_sum(g, i, mul(g, dy(g, 0), in(g, 1 - i)));
}

void sdx_back_div(Vjp *g)
{
    Value *da = over(g, dy(g, 0), in(g, 1));
    sdx_vjp_give_sum(g, 0, da);
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, neg(g, mul(g, da, out(g))));
}

void sdx_back_mean(Vjp *g)
{
    Value *share = scale(g, dy(g, 0), 1. / g->n->n_in);
    for (int i = 0; i < g->n->n_in; i++) sdx_vjp_give_sum(g, i, share);
}

/* Max, Min: those that reach the result share evenly. */
void sdx_back_extreme(Vjp *g)
{
    Value *y = out(g), *count = NULL, *d = dy(g, 0);
    int n = g->n->n_in;
    if (n == 1) {
        sdx_vjp_give(g, 0, d);
        return;
    }
    for (int i = 0; i < n && y; i++) {
        Value *hit = sdx_vjp_cast(g, sdx_vjp_op(g, "Equal", in(g, i), y, NULL), y->type.elem);
        count = i ? add(g, count, hit) : hit;
    }
    Value *share = over(g, d, count);
    for (int i = 0; i < n; i++)
        if (sdx_vjp_wants(g, i)) sdx_vjp_give_sum(g, i, only(g, sdx_vjp_op(g, "Equal", in(g, i), y, NULL), share));
}

void sdx_back_where(Vjp *g)
{
    Value *d = dy(g, 0), *zero = sdx_vjp_num(g, d, 0);
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, where(g, in(g, 0), d, zero));
    if (sdx_vjp_wants(g, 2)) sdx_vjp_give_sum(g, 2, where(g, in(g, 0), zero, d));
}

void sdx_back_prelu(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0), *low = less(g, x, sdx_vjp_num(g, x, 0));
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give_sum(g, 0, where(g, low, mul(g, d, in(g, 1)), d));
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, only(g, low, mul(g, d, x)));
}

/* x^p: dx = p x^(p-1), 0 where p is; dp = y log x, 0 where x is not positive. */
void sdx_back_pow(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0), *p = sdx_vjp_cast(g, in(g, 1), x->type.elem);
    Value *zero = sdx_vjp_num(g, x, 0), *one = sdx_vjp_num(g, x, 1);
    if (sdx_vjp_wants(g, 0)) {
        Value *none = sdx_vjp_op(g, "Equal", p, zero, NULL);
        Value *slope = mul(g, p, sdx_vjp_op(g, "Pow", x, sub(g, where(g, none, one, p), one), NULL));
        sdx_vjp_give_sum(g, 0, mul(g, d, slope));
    }
    if (sdx_vjp_wants(g, 1)) {
        Value *safe = greater(g, x, zero), *log = apply(g, "Log", where(g, safe, x, one));
        sdx_vjp_give_sum(g, 1, sdx_vjp_cast(g, mul(g, d, mul(g, out(g), log)), in(g, 1)->type.elem));
    }
}
