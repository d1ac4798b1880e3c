/* kern/map/pow_body.h - x^y, within 2 ulp, with every special case of C's pow.
 *
 * 2^(y log2 |x|), the logarithm and the product as sums of two floats: with s = (m - 1)/(m + 1),
 * ln m = 2s + s^3 P(s^2) (minimax: atanh), where only s needs a second half. */
#ifndef SDX_KERN_MAP_POW_BODY_H
#define SDX_KERN_MAP_POW_BODY_H

V_INLINE vf32 v_pow(vf32 x, vf32 y)
{
    const vf32 one = v_set(1), zero = v_zero(), inf = v_set(INFINITY);
    vf32 a = v_abs(x);
    vm tiny = v_lt(a, v_set(0x1p-126f));
    vf32 as = v_sel(tiny, v_mul(a, v_set(0x1p23f)), a);
    vi32 i = vi_sub(v_asint(as), vi_set(0x3f3504f3));
    vf32 e = v_sub(v_from_int(vi_sar(i, 23)), v_sel(tiny, v_set(23), zero));
    vf32 m = v_asfloat(vi_add(vi_and(i, vi_set(0x7fffff)), vi_set(0x3f3504f3)));

    /* ln m = h + l */
    vf32 f = v_sub(m, one), d = v_add(m, one), d_lost = v_sub(m, v_sub(d, one));
    vf32 s = v_div(f, d);
    vf32 s_low = v_div(v_fnma(s, d_lost, v_fnma(s, d, f)), d);
    vf32 z = v_mul(s, s);
    vf32 p = v_fma(v_set(0.242792219f), z, v_set(0.284987867f));
    p = v_fma(p, z, v_set(0.400009722f));
    p = v_fma(p, z, v_set(0.666666627f));
    p = v_fma(v_mul(p, z), s, v_add(s_low, s_low)); /* all of ln m but 2s */
    vf32 h = v_fma(s, v_set(2), p), l = v_sub(p, v_fms(s, v_set(-2), v_neg(h)));

    /* log2 a = lh + ll; log2 e = 1.44269502 + 1.92596303e-8 */
    vf32 th = v_mul(h, v_set(1.44269502f));
    vf32 tl = v_fma(l, v_set(1.44269502f), v_fma(h, v_set(1.92596303e-8f), v_fms(h, v_set(1.44269502f), th)));
    vf32 lh = v_add(e, th), ll = v_add(v_sub(th, v_sub(lh, e)), tl);

    /* t = y log2 a; beyond 2^33, y cannot change a result that is not 1 */
    vf32 yc = v_clamp(y, v_set(-0x1p33f), v_set(0x1p33f));
    vf32 t = v_mul(yc, lh), t_low = v_fma(yc, ll, v_fms(yc, lh, t));
    t_low = v_sel(v_lt(v_abs(t), v_set(200)), t_low, zero);
    t = v_clamp(t, v_set(-200), v_set(200));
    vf32 n = v_rint(t), r = v_mul(v_add(v_sub(t, n), t_low), v_set(V_LN2));
    vf32 w = v_scale(v_add(v_exp_poly(r), one), n);

    /* 0 and infinity: the larger of the two results if y pulls upwards. */
    vm edge = m_or(v_eq(a, zero), v_eq(a, inf)), is_inf = v_eq(a, inf), up = v_gt(y, zero);
    vf32 big_up = v_sel(is_inf, inf, zero), big_down = v_sel(is_inf, zero, inf);
    w = v_sel(edge, v_sel(up, big_up, big_down), w);

    vf32 half = v_mul(y, v_set(0.5f));
    vm whole = v_eq(v_trunc(y), y), odd = m_and(whole, v_ne(v_trunc(half), half));
    w = v_sel(odd, v_or(w, v_and(v_set(-0.0f), x)), w);
    w = v_sel(m_and(v_lt(x, zero), m_not(m_or(whole, is_inf))), v_set(NAN), w);
    w = v_sel(m_or(v_isnan(x), v_isnan(y)), v_set(NAN), w);
    return v_sel(m_or(v_eq(y, zero), v_eq(x, one)), one, w);
}

#endif
