/* Elementwise operators of one tensor: dx = dy * f'(x), often by way of y = f(x). */
#include "train/vjp.h"

#define SQRT_HALF 0.70710678118654752440 /* 1 / sqrt(2) */
#define TWO_OVER_SQRT_PI 1.1283791670955125739
#define ONE_OVER_SQRT_2PI 0.39894228040143267794
#define SQRT_TWO_OVER_PI 0.79788456080286535588

/* RULE(name, dx) with x, y and d = dy at hand. */
#define RULE(name, dx)                                                                                                 \
    void sdx_back_##name(Vjp *g)                                                                                       \
    {                                                                                                                  \
        Value *x = in(g, 0), *y = out(g), *d = dy(g, 0);                                                               \
        (void)x;                                                                                                       \
        (void)y;                                                                                                       \
        sdx_vjp_give(g, 0, dx);                                                                                        \
    }

static Value *positive(Vjp *g, Value *x) { return greater(g, x, sdx_vjp_num(g, x, 0)); }
/* 1 - a */
static Value *rest(Vjp *g, Value *a) { return sub(g, sdx_vjp_num(g, a, 1), a); }
static Value *root(Vjp *g, Value *a) { return apply(g, "Sqrt", a); }

void sdx_back_none(Vjp *g) { (void)g; }
/* Expand too: what was repeated is summed. */
void sdx_back_identity(Vjp *g) { sdx_vjp_give_sum(g, 0, dy(g, 0)); }

RULE(neg, neg(g, d))
RULE(abs, mul(g, d, apply(g, "Sign", x)))
RULE(reciprocal, neg(g, mul(g, d, square(g, y))))
RULE(exp, mul(g, d, y))
RULE(log, over(g, d, x))
RULE(sqrt, over(g, d, add(g, y, y)))

RULE(sin, mul(g, d, apply(g, "Cos", x)))
RULE(cos, neg(g, mul(g, d, apply(g, "Sin", x))))
RULE(tan, mul(g, d, shift(g, square(g, y), 1)))
RULE(asin, over(g, d, root(g, rest(g, square(g, x)))))
RULE(acos, neg(g, over(g, d, root(g, rest(g, square(g, x))))))
RULE(atan, over(g, d, shift(g, square(g, x), 1)))
RULE(sinh, mul(g, d, apply(g, "Cosh", x)))
RULE(cosh, mul(g, d, apply(g, "Sinh", x)))
RULE(tanh, mul(g, d, rest(g, square(g, y))))
RULE(asinh, over(g, d, root(g, shift(g, square(g, x), 1))))
RULE(acosh, over(g, d, root(g, shift(g, square(g, x), -1))))
RULE(atanh, over(g, d, rest(g, square(g, x))))

RULE(relu, only(g, positive(g, y), d))
RULE(leakyrelu, where(g, less(g, x, sdx_vjp_num(g, x, 0)), scale(g, d, sdx_vjp_float(g, "alpha", 0.01f)), d))
RULE(thresholdedrelu, only(g, greater(g, x, sdx_vjp_num(g, x, sdx_vjp_float(g, "alpha", 1))), d))
RULE(shrink, only(g, greater(g, apply(g, "Abs", x), sdx_vjp_num(g, x, sdx_vjp_float(g, "lambd", 0.5f))), d))
/* Below 0, y = c (e^x - 1): f' = y + c. */
RULE(elu, where(g, positive(g, x), d, mul(g, d, shift(g, y, sdx_vjp_float(g, "alpha", 1)))))
RULE(celu, where(g, positive(g, x), d, mul(g, d, shift(g, scale(g, y, 1 / sdx_vjp_float(g, "alpha", 1)), 1))))

void sdx_back_selu(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0);
    double alpha = sdx_vjp_float(g, "alpha", 1.67326319217681884765625f);
    double gamma = sdx_vjp_float(g, "gamma", 1.05070102214813232421875f);
    Value *low = mul(g, d, shift(g, out(g), alpha * gamma));
    sdx_vjp_give(g, 0, where(g, positive(g, x), scale(g, d, gamma), low));
}

RULE(sigmoid, mul(g, d, mul(g, y, rest(g, y))))
RULE(softplus, mul(g, d, apply(g, "Sigmoid", x)))
RULE(softsign, over(g, d, square(g, shift(g, apply(g, "Abs", x), 1))))
RULE(erf, mul(g, d, scale(g, apply(g, "Exp", neg(g, square(g, x))), TWO_OVER_SQRT_PI)))

void sdx_back_hardsigmoid(Vjp *g)
{
    Value *y = out(g), *d = scale(g, dy(g, 0), sdx_vjp_float(g, "alpha", 0.2f));
    sdx_vjp_give(g, 0, only(g, positive(g, y), only(g, less(g, y, sdx_vjp_num(g, y, 1)), d)));
}

/* x * clip(x/6 + 1/2, 0, 1): in between, f' = x/3 + 1/2. */
void sdx_back_hardswish(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0);
    Value *middle = mul(g, d, shift(g, scale(g, x, 1. / 3), 0.5));
    Value *low = only(g, greater(g, x, sdx_vjp_num(g, x, -3)), middle);
    sdx_vjp_give(g, 0, where(g, greater(g, x, sdx_vjp_num(g, x, 3)), d, low));
}

/* x s with s = sigmoid(alpha x): f' = s + alpha x s (1 - s). */
void sdx_back_swish(Vjp *g)
{
    Value *x = in(g, 0), *ax = scale(g, x, sdx_vjp_float(g, "alpha", 1)), *s = apply(g, "Sigmoid", ax);
    sdx_vjp_give(g, 0, mul(g, dy(g, 0), add(g, s, mul(g, mul(g, ax, s), rest(g, s)))));
}

/* x t with t = tanh(softplus(x)): f' = t + x (1 - t^2) sigmoid(x). */
void sdx_back_mish(Vjp *g)
{
    Value *x = in(g, 0), *t = apply(g, "Tanh", apply(g, "Softplus", x));
    Value *slope = mul(g, rest(g, square(g, t)), apply(g, "Sigmoid", x));
    sdx_vjp_give(g, 0, mul(g, dy(g, 0), add(g, t, mul(g, x, slope))));
}

/* x c(x), c the normal distribution function: f' = c + x c'. Or, approximately, c = (1 + tanh(u)) / 2 with
 * u = sqrt(2/pi) (x + 0.044715 x^3). */
void sdx_back_gelu(Vjp *g)
{
    Value *x = in(g, 0), *c, *slope, *xx = square(g, x);
    if (sdx_vjp_word(g, "approximate", "tanh")) {
        Value *u = scale(g, mul(g, x, shift(g, scale(g, xx, 0.044715), 1)), SQRT_TWO_OVER_PI);
        Value *t = apply(g, "Tanh", u);
        Value *du = scale(g, shift(g, scale(g, xx, 3 * 0.044715), 1), SQRT_TWO_OVER_PI);
        c = scale(g, shift(g, t, 1), 0.5);
        slope = scale(g, mul(g, rest(g, square(g, t)), du), 0.5);
    } else {
        c = scale(g, shift(g, apply(g, "Erf", scale(g, x, SQRT_HALF)), 1), 0.5);
        slope = scale(g, apply(g, "Exp", scale(g, xx, -0.5)), ONE_OVER_SQRT_2PI);
    }
    sdx_vjp_give(g, 0, mul(g, dy(g, 0), add(g, c, mul(g, x, slope))));
}

/* A value on a bound counts as inside. */
void sdx_back_clip(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0), *min = in(g, 1), *max = in(g, 2), *inside = d;
    if (min) inside = where(g, less(g, x, min), sdx_vjp_num(g, x, 0), inside);
    if (max) inside = where(g, greater(g, x, max), sdx_vjp_num(g, x, 0), inside);
    sdx_vjp_give(g, 0, inside);
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, only(g, less(g, x, min), d));
    if (sdx_vjp_wants(g, 2)) sdx_vjp_give_sum(g, 2, only(g, greater(g, x, max), d));
}

void sdx_back_cast(Vjp *g) { sdx_vjp_give(g, 0, sdx_vjp_cast(g, dy(g, 0), in(g, 0)->type.elem)); }

/* y = x mask / (1 - ratio) in training, else y = x. */
void sdx_back_dropout(Vjp *g)
{
    Value *d = dy(g, 0), *ratio = in(g, 1), *training = in(g, 2);
    if (!d) return;
    if (!training) {
        sdx_vjp_give(g, 0, d);
        return;
    }
    Value *kept = sdx_vjp_num(g, d, 0.5);
    if (ratio) kept = rest(g, sdx_vjp_cast(g, ratio, d->type.elem));
    Value *scaled = only(g, sdx_vjp_out(g, 1), over(g, d, kept));
    sdx_vjp_give(g, 0, where(g, training, scaled, d));
}
