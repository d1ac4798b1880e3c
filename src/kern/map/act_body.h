/* kern/map/act_body.h - scalar functions on vectors, in the vocabulary of kern/simd/.
 *
 * Include after a vocabulary header. Each v_<name> is the body of the map of that name and may be used
 * in the epilogue of another kernel. Polynomials come from tools/minimax.py, whose name for each is
 * given; the errors that result are in kern/map/map1.def and checked by tests/checkkern.
 *
 * NaN in, NaN out: clamps put the variable second, because min and max return their second operand
 * when one is NaN. */
#ifndef SDX_KERN_MAP_ACT_BODY_H
#define SDX_KERN_MAP_ACT_BODY_H

V_INLINE vf32 v_abs(vf32 x) { return v_andnot(v_set(-0.0f), x); }
V_INLINE vf32 v_neg(vf32 x) { return v_xor(v_set(-0.0f), x); }
V_INLINE vf32 v_copysign(vf32 a, vf32 sign) { return v_or(v_abs(a), v_and(v_set(-0.0f), sign)); }
V_INLINE vf32 v_clamp(vf32 x, vf32 lo, vf32 hi) { return v_min(hi, v_max(lo, x)); }
V_INLINE vf32 v_sign(vf32 x)
{
    return v_sel(v_gt(x, v_zero()), v_set(1), v_sel(v_lt(x, v_zero()), v_set(-1), v_add(x, v_zero())));
}
V_INLINE vf32 v_relu(vf32 x) { return v_max(v_zero(), x); }
V_INLINE vf32 v_round(vf32 x) { return v_rint(x); }
V_INLINE vf32 v_reciprocal(vf32 x) { return v_div(v_set(1), x); }
V_INLINE vf32 v_rsqrt(vf32 x) { return v_div(v_set(1), v_sqrt(x)); }

/* ---- exponentials ------------------------------------------------------------------------------
 * e^x = 2^n e^r with n = x / ln 2 rounded by adding and subtracting 1.5 * 2^23, whose sum also holds n
 * in its low bits; r by two products with the two halves of ln 2 (Cody and Waite). */
#define V_ROUNDER 12582912.0f /* 1.5 * 2^23 */
#define V_LOG2E 1.44269504f
#define V_LN2_HI 0.693145752f
#define V_LN2_LO 1.42860677e-6f
#define V_LN2 0.693147181f

V_INLINE vf32 v_exp_reduce(vf32 x, vf32 n) { return v_fnma(n, v_set(V_LN2_LO), v_fnma(n, v_set(V_LN2_HI), x)); }

/* e^r - 1 (minimax: exp). */
V_INLINE vf32 v_exp_poly(vf32 r)
{
    vf32 q = v_fma(v_set(0.00138200796f), r, v_set(0.00836868398f));
    q = v_fma(q, r, v_set(0.0416682735f));
    q = v_fma(q, r, v_set(0.166665211f));
    q = v_fma(q, r, v_set(0.49999994f));
    return v_fma(v_mul(q, r), r, r);
}

/* 2^k e^x, subnormal results and overflow included; |k| <= 2. */
V_INLINE vf32 v_exp_times(vf32 x, float k)
{
    x = v_clamp(x, v_set(-106), v_set(92));
    vf32 n = v_sub(v_fma(x, v_set(V_LOG2E), v_set(V_ROUNDER)), v_set(V_ROUNDER));
    vf32 p = v_add(v_exp_poly(v_exp_reduce(x, n)), v_set(1));
    return v_scale(p, v_add(n, v_set(k)));
}
V_INLINE vf32 v_exp(vf32 x) { return v_exp_times(x, 0); }

/* e^x where it is a normal number, 0 below about 2^-126.5, infinity above about 2^127.5. */
V_INLINE vf32 v_exp_fast(vf32 x)
{
    x = v_clamp(x, v_set(-88.03f), v_set(88.73f));
    vf32 t = v_fma(x, v_set(V_LOG2E), v_set(V_ROUNDER + 127));
    vf32 n = v_sub(t, v_set(V_ROUNDER + 127));
    vf32 s = v_asfloat(vi_shl(v_asint(t), 23));
    return v_mul(v_add(v_exp_poly(v_exp_reduce(x, n)), v_set(1)), s);
}

/* e^x for x <= 0, within 3 ulp, 0 below about 2^-126.5: for softmax (minimax: exp_low). */
V_INLINE vf32 v_exp_softmax(vf32 x)
{
    x = v_max(v_set(-88.03f), x);
    vf32 t = v_fma(x, v_set(V_LOG2E), v_set(V_ROUNDER + 127));
    vf32 n = v_sub(t, v_set(V_ROUNDER + 127));
    vf32 r = v_exp_reduce(x, n);
    vf32 q = v_fma(v_set(0.00831265934f), r, v_set(0.0418906175f));
    q = v_fma(q, r, v_set(0.166671142f));
    q = v_fma(q, r, v_set(0.499992281f));
    q = v_fma(v_mul(q, r), r, r);
    vf32 s = v_asfloat(vi_shl(v_asint(t), 23));
    return v_fma(q, s, s);
}

/* e^x - 1. The sum is formed at half size, because 2^n alone may overflow. */
V_INLINE vf32 v_expm1(vf32 x)
{
    vf32 c = v_clamp(x, v_set(-20), v_set(88.8f));
    vf32 t = v_fma(c, v_set(V_LOG2E), v_set(V_ROUNDER + 126));
    vf32 n = v_sub(t, v_set(V_ROUNDER + 126));
    vf32 h = v_asfloat(vi_shl(v_asint(t), 23)); /* 2^(n-1) */
    vf32 y = v_fma(h, v_exp_poly(v_exp_reduce(c, n)), v_sub(h, v_set(0.5f)));
    return v_sel(v_lt(v_abs(x), v_set(0x1p-25f)), x, v_add(y, y));
}

/* (e - 1) / (e + 1), e = e^2a, without the cancellation. */
V_INLINE vf32 v_tanh(vf32 x)
{
    vf32 a = v_min(v_set(10), v_abs(x));
    vf32 t = v_expm1(v_add(a, a));
    return v_copysign(v_div(t, v_add(t, v_set(2))), x);
}
V_INLINE vf32 v_sigmoid(vf32 x)
{
    vf32 e = v_exp(v_or(v_set(-0.0f), x));
    return v_div(v_sel(v_lt(x, v_zero()), e, v_set(1)), v_add(e, v_set(1)));
}
V_INLINE vf32 v_silu(vf32 x) { return v_div(x, v_add(v_exp_fast(v_neg(x)), v_set(1))); }
V_INLINE vf32 v_quickgelu(vf32 x, vf32 alpha) { return v_div(x, v_add(v_exp_fast(v_neg(v_mul(alpha, x))), v_set(1))); }
/* x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)) is x (1 + tanh(half of that)) / 2. */
V_INLINE vf32 v_gelu_tanh(vf32 x)
{
    vf32 u = v_mul(x, v_fma(v_mul(x, x), v_set(-0.0713548163f), v_set(-1.59576912f)));
    return v_div(x, v_add(v_exp_fast(u), v_set(1)));
}
V_INLINE vf32 v_sinh(vf32 x)
{
    vf32 a = v_abs(x), t = v_expm1(a);
    vf32 small = v_mul(v_set(0.5f), v_add(t, v_div(t, v_add(t, v_set(1)))));
    return v_copysign(v_sel(v_gt(a, v_set(9)), v_exp_times(a, -1), small), x);
}
V_INLINE vf32 v_cosh(vf32 x)
{
    vf32 h = v_exp_times(v_abs(x), -1);
    return v_add(h, v_div(v_set(0.25f), h));
}
V_INLINE vf32 v_mish(vf32 x)
{
    vf32 e = v_exp_fast(v_min(v_set(20), x));
    vf32 n = v_mul(e, v_add(e, v_set(2)));
    return v_sel(v_gt(x, v_set(20)), x, v_div(v_mul(x, n), v_add(n, v_set(2))));
}

/* ---- erf ---------------------------------------------------------------------------------------
 * Below 0.921875 an odd polynomial (minimax: erf_low), above it 1 - e^-Q(a) (minimax: erf_high), which
 * rounds to 1 from 3.925 on. */
V_INLINE vf32 v_erf_low(vf32 x)
{
    vf32 z = v_mul(x, x);
    vf32 p = v_fma(v_set(-0.000542138412f), z, v_set(0.00487418706f));
    p = v_fma(p, z, v_set(-0.0266799107f));
    p = v_fma(p, z, v_set(0.112792499f));
    p = v_fma(p, z, v_set(-0.376122296f));
    p = v_fma(p, z, v_set(1.12837911f));
    return v_mul(p, x);
}
V_INLINE vf32 v_erfc_high(vf32 a)
{
    vf32 q = v_fma(v_set(0.000195724075f), a, v_set(-0.0030411128f));
    q = v_fma(q, a, v_set(0.0222184919f));
    q = v_fma(q, a, v_set(-0.10391406f));
    q = v_fma(q, a, v_set(-0.637202263f));
    q = v_fma(q, a, v_set(-1.12766373f));
    q = v_fma(q, a, v_set(-0.000198554699f));
    return v_exp_fast(q);
}
V_INLINE vf32 v_erf(vf32 x)
{
    vf32 a = v_min(v_set(3.925f), v_abs(x));
    vf32 high = v_copysign(v_sub(v_set(1), v_erfc_high(a)), x);
    return v_sel(v_lt(a, v_set(0.921875f)), v_erf_low(x), high);
}
V_INLINE vf32 v_gelu_erf(vf32 x)
{
    vf32 u = v_mul(x, v_set(0.707106781f)), a = v_min(v_set(3.925f), v_abs(u));
    vf32 tail = v_mul(v_set(0.5f), v_erfc_high(a));
    vf32 high = v_sel(v_lt(x, v_zero()), tail, v_sub(v_set(1), tail));
    vf32 phi = v_sel(v_lt(a, v_set(0.921875f)), v_fma(v_set(0.5f), v_erf_low(u), v_set(0.5f)), high);
    return v_mul(x, v_sel(v_lt(x, v_set(-6)), v_zero(), phi));
}

/* ---- logarithms --------------------------------------------------------------------------------
 * x = 2^e m, sqrt(1/2) <= m < sqrt(2); ln m = f - f^2/2 + f^3 P(f), f = m - 1 (minimax: log). */
V_INLINE vf32 v_log(vf32 x)
{
    vm tiny = v_lt(x, v_set(0x1p-126f));
    vf32 s = v_sel(tiny, v_mul(x, v_set(0x1p23f)), x);
    vi32 i = vi_sub(v_asint(s), vi_set(0x3f3504f3));
    vf32 e = v_sub(v_from_int(vi_sar(i, 23)), v_sel(tiny, v_set(23), v_zero()));
    vf32 f = v_sub(v_asfloat(vi_add(vi_and(i, vi_set(0x7fffff)), vi_set(0x3f3504f3))), v_set(1));
    vf32 z = v_mul(f, f);
    vf32 p = v_fma(v_set(-0.0763643906f), f, v_set(0.127622172f));
    p = v_fma(p, f, v_set(-0.131596103f));
    p = v_fma(p, f, v_set(0.1420158f));
    p = v_fma(p, f, v_set(-0.166234091f));
    p = v_fma(p, f, v_set(0.200012416f));
    p = v_fma(p, f, v_set(-0.250008196f));
    p = v_fma(p, f, v_set(0.333333313f));
    p = v_fma(v_mul(p, f), z, v_mul(e, v_set(V_LN2_LO)));
    p = v_fma(v_set(-0.5f), z, p);
    vf32 y = v_fma(e, v_set(V_LN2_HI), v_add(f, p));
    vf32 odd = v_sel(v_eq(x, v_zero()), v_set(-INFINITY), v_sel(v_lt(x, v_zero()), v_set(NAN), x));
    return v_sel(m_and(v_gt(x, v_zero()), v_lt(x, v_set(INFINITY))), y, odd);
}
/* ln(1 + x): the rounding error of 1 + x, over 1 + x, is what log missed. */
V_INLINE vf32 v_log1p(vf32 x)
{
    vf32 one = v_set(1), u = v_add(x, one);
    vf32 lost = v_sel(v_gt(x, one), v_sub(one, v_sub(u, x)), v_sub(x, v_sub(u, one)));
    vf32 fix = v_sel(v_lt(x, v_set(0x1p25f)), v_div(lost, u), v_zero());
    return v_add(v_log(u), v_sel(v_eq(u, v_zero()), v_zero(), fix));
}
V_INLINE vf32 v_softplus(vf32 x) { return v_add(v_max(v_zero(), x), v_log1p(v_exp(v_or(v_set(-0.0f), x)))); }
V_INLINE vf32 v_asinh(vf32 x)
{
    vf32 a = v_abs(x), z = v_mul(a, a);
    vm big = v_gt(a, v_set(0x1p28f));
    vf32 t = v_add(a, v_div(z, v_add(v_sqrt(v_add(z, v_set(1))), v_set(1))));
    vf32 y = v_add(v_log1p(v_sel(big, a, t)), v_sel(big, v_set(V_LN2), v_zero()));
    return v_copysign(y, x);
}
V_INLINE vf32 v_acosh(vf32 x)
{
    vf32 t = v_sub(x, v_set(1));
    vm big = v_gt(x, v_set(0x1p28f));
    vf32 s = v_add(t, v_sqrt(v_fma(t, t, v_add(t, t))));
    vf32 y = v_add(v_log1p(v_sel(big, x, s)), v_sel(big, v_set(V_LN2), v_zero()));
    return v_sel(v_lt(x, v_set(1)), v_set(NAN), y);
}
V_INLINE vf32 v_atanh(vf32 x)
{
    vf32 a = v_abs(x);
    return v_copysign(v_mul(v_set(0.5f), v_log1p(v_div(v_add(a, a), v_sub(v_set(1), a)))), x);
}

/* ---- circular functions ------------------------------------------------------------------------
 * x = n pi/2 + r by three products (exact to well below r for |x| <= 65536); larger arguments, rare in
 * a network, are reduced by the C library in double. (minimax: sin, cos) */
typedef struct VSinCos {
    vf32 sin, cos; /* of r */
    vi32 quadrant; /* n, modulo 4 in the low bits */
} VSinCos;

V_INLINE VSinCos v_sincos(vf32 x)
{
    vf32 t = v_fma(x, v_set(0.636619772f), v_set(V_ROUNDER)), n = v_sub(t, v_set(V_ROUNDER));
    vf32 r = v_fnma(n, v_set(1.57079637f), x);
    r = v_fnma(n, v_set(-4.37113883e-8f), r);
    r = v_fnma(n, v_set(-1.71512451e-15f), r);
    vf32 z = v_mul(r, r);
    vf32 s = v_fma(v_set(2.83262943e-06f), z, v_set(-0.000198530688f));
    s = v_fma(s, z, v_set(0.0083333794f));
    s = v_fma(s, z, v_set(-0.166666672f));
    vf32 c = v_fma(v_set(2.44323273e-05f), z, v_set(-0.00138873095f));
    c = v_fma(c, z, v_set(0.0416666456f));
    return (VSinCos){ v_fma(v_mul(s, z), r, r), v_fma(c, v_mul(z, z), v_fma(v_set(-0.5f), z, v_set(1))), v_asint(t) };
}

/* y with the lanes of `which` replaced by f(x). */
__attribute__((unused, noinline, cold)) static vf32 v_by_libm(vf32 y, vf32 x, unsigned which, double (*f)(double))
{
    float in[VW], out[VW];
    v_store(in, x);
    v_store(out, y);
    for (int i = 0; i < VW; i++)
        if (which >> i & 1) out[i] = (float)f(in[i]);
    return v_load(out);
}
V_INLINE vf32 v_unless_huge(vf32 y, vf32 x, double (*f)(double))
{
    vm huge = m_not(v_le(v_abs(x), v_set(65536)));
    return __builtin_expect(m_any(huge), 0) ? v_by_libm(y, x, m_bits(huge), f) : y;
}
/* The sign bit: bit 1 of the quadrant. */
V_INLINE vf32 v_quadrant_sign(vi32 q) { return v_asfloat(vi_shl(vi_and(q, vi_set(2)), 30)); }
V_INLINE vm v_quadrant_odd(vi32 q) { return vi_eq(vi_and(q, vi_set(1)), vi_set(1)); }

V_INLINE vf32 v_sin(vf32 x)
{
    VSinCos p = v_sincos(x);
    vf32 y = v_xor(v_sel(v_quadrant_odd(p.quadrant), p.cos, p.sin), v_quadrant_sign(p.quadrant));
    return v_unless_huge(y, x, sin);
}
V_INLINE vf32 v_cos(vf32 x)
{
    VSinCos p = v_sincos(x);
    vf32 y = v_sel(v_quadrant_odd(p.quadrant), p.sin, p.cos);
    return v_unless_huge(v_xor(y, v_quadrant_sign(vi_add(p.quadrant, vi_set(1)))), x, cos);
}
V_INLINE vf32 v_tan(vf32 x)
{
    VSinCos p = v_sincos(x);
    vm odd = v_quadrant_odd(p.quadrant);
    vf32 y = v_div(v_sel(odd, p.cos, p.sin), v_sel(odd, v_neg(p.sin), p.cos));
    return v_unless_huge(y, x, tan);
}

#define V_PI 3.14159274f
#define V_PI_LO -8.74227766e-8f
#define V_PI_2 1.57079637f
#define V_PI_2_LO -4.37113883e-8f

/* asin(s) - s where z = s^2 <= 1/4 (minimax: asin). */
V_INLINE vf32 v_asin_tail(vf32 s, vf32 z)
{
    vf32 p = v_fma(v_set(0.0421583056f), z, v_set(0.0241847783f));
    p = v_fma(p, z, v_set(0.0454691499f));
    p = v_fma(p, z, v_set(0.0749530941f));
    p = v_fma(p, z, v_set(0.166667521f));
    return v_mul(v_mul(p, z), s);
}
/* Above 1/2: asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)). */
V_INLINE vf32 v_asin(vf32 x)
{
    vf32 a = v_abs(x);
    vm outer = v_gt(a, v_set(0.5f));
    vf32 z = v_sel(outer, v_fnma(v_set(0.5f), a, v_set(0.5f)), v_mul(a, a));
    vf32 s = v_sel(outer, v_sqrt(z), a), t = v_asin_tail(s, z);
    vf32 far = v_sub(v_set(V_PI_2), v_sub(v_add(s, s), v_fma(v_set(-2), t, v_set(V_PI_2_LO))));
    return v_copysign(v_sel(outer, far, v_add(s, t)), x);
}
V_INLINE vf32 v_acos(vf32 x)
{
    vf32 a = v_abs(x);
    vm outer = v_gt(a, v_set(0.5f));
    vf32 z = v_sel(outer, v_fnma(v_set(0.5f), a, v_set(0.5f)), v_mul(x, x));
    vf32 s = v_sel(outer, v_sqrt(z), x), t = v_asin_tail(s, z), near = v_add(s, t);
    vf32 mid = v_sub(v_set(V_PI_2), v_sub(s, v_sub(v_set(V_PI_2_LO), t)));
    vf32 twice = v_add(near, near);
    vf32 left = v_sub(v_set(V_PI), v_sub(twice, v_set(V_PI_LO)));
    return v_sel(outer, v_sel(v_gt(x, v_zero()), twice, left), mid);
}
/* Above 1: pi/2 - atan(1/a) (minimax: atan). */
V_INLINE vf32 v_atan(vf32 x)
{
    vf32 a = v_abs(x);
    vm outer = v_gt(a, v_set(1));
    vf32 s = v_sel(outer, v_div(v_set(1), a), a), z = v_mul(s, s);
    vf32 p = v_fma(v_set(0.00291976007f), z, v_set(-0.0163642447f));
    p = v_fma(p, z, v_set(0.0432059765f));
    p = v_fma(p, z, v_set(-0.0755172893f));
    p = v_fma(p, z, v_set(0.106657863f));
    p = v_fma(p, z, v_set(-0.142110035f));
    p = v_fma(p, z, v_set(0.199937671f));
    p = v_fma(p, z, v_set(-0.333331525f));
    vf32 t = v_mul(v_mul(p, z), s);
    vf32 far = v_sub(v_set(V_PI_2), v_sub(s, v_sub(v_set(V_PI_2_LO), t)));
    return v_copysign(v_sel(outer, far, v_add(s, t)), x);
}

/* ---- piecewise --------------------------------------------------------------------------------- */
V_INLINE vf32 v_hardsigmoid(vf32 x, vf32 alpha, vf32 beta)
{
    return v_clamp(v_fma(alpha, x, beta), v_zero(), v_set(1));
}
V_INLINE vf32 v_hardswish(vf32 x) { return v_mul(x, v_hardsigmoid(x, v_set(1.f / 6), v_set(0.5f))); }
V_INLINE vf32 v_softsign(vf32 x) { return v_div(x, v_add(v_abs(x), v_set(1))); }
V_INLINE vf32 v_elu(vf32 x, vf32 alpha) { return v_sel(v_lt(x, v_zero()), v_mul(alpha, v_expm1(x)), x); }
V_INLINE vf32 v_selu(vf32 x, vf32 alpha, vf32 gamma) { return v_mul(gamma, v_elu(x, alpha)); }
V_INLINE vf32 v_celu(vf32 x, vf32 alpha) { return v_sel(v_lt(x, v_zero()), v_mul(alpha, v_expm1(v_div(x, alpha))), x); }
V_INLINE vf32 v_leakyrelu(vf32 x, vf32 alpha) { return v_sel(v_lt(x, v_zero()), v_mul(alpha, x), x); }
V_INLINE vf32 v_thresholdedrelu(vf32 x, vf32 alpha) { return v_sel(v_le(x, alpha), v_zero(), x); }
V_INLINE vf32 v_shrink(vf32 x, vf32 lambd, vf32 bias)
{
    vf32 inner = v_sel(v_isnan(x), x, v_zero());
    return v_sel(v_gt(x, lambd), v_sub(x, bias), v_sel(v_lt(x, v_neg(lambd)), v_add(x, bias), inner));
}
V_INLINE vf32 v_clip(vf32 x, vf32 lo, vf32 hi) { return v_clamp(x, lo, hi); }

#endif
