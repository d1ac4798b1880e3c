/* kern/map/map1_f64.c - the one-input maps of doubles, by the C library: also the reference the float
 * forms are measured against. */
#include "kern/kern.h"

#include <math.h>

#define UNARY(name, expr)                                                                                              \
    static double f64_##name(double x, double alpha, double beta) { return expr; }
#define SQRT1_2 0.70710678118654752440
#define SQRT_2_PI 0.79788456080286535588

static double sigmoid(double x)
{
    double e = exp(-fabs(x));
    return (x < 0 ? e : 1) / (1 + e);
}
static double clamp(double x, double lo, double hi)
{
    x = x < lo ? lo : x;
    return x > hi ? hi : x;
}
static double softplus(double x) { return (x < 0 ? 0 : x) + log1p(exp(-fabs(x))); }

UNARY(abs, fabs(x))
UNARY(neg, -x)
UNARY(sign, x > 0 ? 1 : x < 0 ? -1 : x + 0.0)
UNARY(relu, x < 0 ? 0 : x)
UNARY(floor, floor(x))
UNARY(ceil, ceil(x))
UNARY(round, rint(x))
UNARY(sqrt, sqrt(x))
UNARY(reciprocal, 1 / x)
UNARY(rsqrt, 1 / sqrt(x))
UNARY(exp, exp(x))
UNARY(log, log(x))
UNARY(tanh, tanh(x))
UNARY(sigmoid, sigmoid(x))
UNARY(erf, erf(x))
UNARY(gelu_erf, 0.5 * x * erfc(-SQRT1_2 * x))
UNARY(gelu_tanh, x *sigmoid(2 * SQRT_2_PI * (x + 0.044715 * x * x * x)))
UNARY(silu, x *sigmoid(x))
UNARY(hardswish, x *clamp(x / 6 + 0.5, 0, 1))
UNARY(softplus, softplus(x))
UNARY(softsign, x / (1 + fabs(x)))
UNARY(mish, x *tanh(softplus(x)))
UNARY(sin, sin(x))
UNARY(cos, cos(x))
UNARY(tan, tan(x))
UNARY(asin, asin(x))
UNARY(acos, acos(x))
UNARY(atan, atan(x))
UNARY(sinh, sinh(x))
UNARY(cosh, cosh(x))
UNARY(asinh, asinh(x))
UNARY(acosh, acosh(x))
UNARY(atanh, atanh(x))
UNARY(hardsigmoid, clamp(alpha *x + beta, 0, 1))
UNARY(elu, x < 0 ? alpha * expm1(x) : x)
UNARY(selu, beta *(x < 0 ? alpha * expm1(x) : x))
UNARY(celu, x < 0 ? alpha * expm1(x / alpha) : x)
UNARY(leakyrelu, x < 0 ? alpha * x : x)
UNARY(thresholdedrelu, x <= alpha ? 0 : x)
UNARY(shrink, x > alpha ? x - beta : x < -alpha ? x + beta : x - x)
UNARY(clip, clamp(x, alpha, beta))
UNARY(quickgelu, x *sigmoid(alpha *x))

#define MAP1(name, params, error, lo, hi)                                                                              \
    static void map1_##name(double *y, const double *x, size_t n, const MapParam *p)                                   \
    {                                                                                                                  \
        const double alpha = params ? p->alpha : 0, beta = params ? p->beta : 0;                                       \
        for (size_t i = 0; i < n; i++) y[i] = f64_##name(x[i], alpha, beta);                                           \
    }
#include "kern/map/map1.def"
#undef MAP1

void sdx_kern_init_map1_f64_c(Kern *k);
void sdx_kern_init_map1_f64_c(Kern *k)
{
#define MAP1(name, params, error, lo, hi) k->map1_f64[SDX_MAP1_##name] = map1_##name;
#include "kern/map/map1.def"
#undef MAP1
}
