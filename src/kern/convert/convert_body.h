/* kern/convert/convert_body.h - storage floats by integer arithmetic on vectors of codes.
 *
 * Widening: a normal code shifted into place is a float but for the exponent's bias; a subnormal one is its mantissa
 * times a power of two. Narrowing: a normal float is rounded by adding just under half of what is cut off, plus the
 * last bit kept; for a subnormal result an addition does the rounding, at an exponent where the unit of the sum is
 * that of the result. Formats are constants here, so each of these folds to a handful of instructions. */
#include "kern/map/act_body.h"

enum { IEEE, FN, FNUZ, FINITE, POWER };

V_INLINE float v_power_of_two(const int n)
{
    return n < 0 ? 1.0f / (float)(UINT64_C(1) << -n) : (float)(UINT64_C(1) << n);
}

/* Codes from and to memory. */
V_INLINE vi32 load_uint8_t(const uint8_t *p) { return vi_load_u8(p); }
V_INLINE vi32 load_uint16_t(const uint16_t *p) { return vi_load_u16(p); }
V_INLINE void store_uint8_t(uint8_t *p, vi32 c) { vi_store_8(p, c); }
V_INLINE void store_uint16_t(uint16_t *p, vi32 c) { vi_store_16(p, c); }

V_INLINE vf32 widen(vi32 c, const int m, const int e, const int bias, const int specials)
{
    if (specials == POWER) { /* 2^-127 is subnormal: code 0 */
        vi32 bits = vi_sel(vi_eq(c, vi_set(0)), vi_set(0x400000), vi_shl(c, 23));
        return v_asfloat(vi_sel(vi_eq(c, vi_set(0xff)), vi_set(0x7fc00000), bits));
    }
    if (e == 8) return v_asfloat(vi_shl(c, 23 - m)); /* bf16: the upper half of a float */
    const vi32 mag = vi_and(c, vi_set((1 << (m + e)) - 1)), sign = vi_shl(vi_shr(c, m + e), 31);
    const vi32 up = vi_shl(mag, 23 - m);
    vi32 y = vi_add(up, vi_set((127 - bias) << 23));
    vf32 tiny = v_mul(v_from_int(mag), v_set(v_power_of_two(1 - bias - m)));
    y = vi_sel(vi_gt(vi_set(1 << m), mag), v_asint(tiny), y);
    if (specials == IEEE)
        y = vi_sel(vi_gt(mag, vi_set(((1 << e) - 1) * (1 << m) - 1)), vi_or(up, vi_set(0x7f800000)), y);
    if (specials == FN) y = vi_sel(vi_eq(mag, vi_set((1 << (m + e)) - 1)), vi_set(0x7fc00000), y);
    if (specials == FNUZ) y = vi_sel(vi_eq(c, vi_set(1 << (m + e))), vi_set(0x7fc00000), y);
    return v_asfloat(vi_or(y, sign));
}

V_INLINE vi32 narrow(vf32 x, const int m, const int e, const int bias, const int specials, const bool saturate)
{
    const vi32 bits = v_asint(x), mag = vi_and(bits, vi_set(0x7fffffff));
    const int all = (1 << (m + e)) - 1, inf = all - ((1 << m) - 1);
    const int largest = specials == IEEE ? inf - 1 : specials == FN ? all - 1 : all;
    if (specials == POWER) {
        vi32 up = vi_shr(vi_add(mag, vi_set(0x7fffff)), 23); /* away from zero */
        if (!saturate) up = vi_sel(vi_eq(mag, vi_set(0)), vi_set(0xff), up);
        vi32 over = vi_set(saturate ? 0xfe : 0xff);
        up = vi_sel(vi_gt(up, vi_set(0xfe)), over, up);
        return vi_sel(vi_gt(mag, vi_set(0x7f800000)), vi_set(0xff), up);
    }
    if (e == 8) { /* bf16: rounding carries into the exponent, and into infinity, by itself */
        vi32 up = vi_add(bits, vi_add(vi_and(vi_shr(bits, 16), vi_set(1)), vi_set(0x7fff)));
        return vi_shr(vi_sel(vi_gt(mag, vi_set(0x7f800000)), vi_or(bits, vi_set(0x400000)), up), 16);
    }
    const vi32 half = vi_add(vi_and(vi_shr(mag, 23 - m), vi_set(1)), vi_set((1 << (22 - m)) - 1));
    vi32 c = vi_sub(vi_shr(vi_add(mag, half), 23 - m), vi_set((127 - bias) << m));
    const vf32 unit = v_set(v_power_of_two(24 - bias - m)); /* its last place is the smallest subnormal */
    vi32 tiny = vi_sub(v_asint(v_add(v_asfloat(mag), unit)), v_asint(unit));
    c = vi_sel(vi_gt(vi_set((128 - bias) << 23), mag), tiny, c);
    const int over = specials == FINITE || saturate ? largest
                     : specials == IEEE             ? inf
                     : specials == FN               ? all
                                                    : 1 << (m + e);
    const vm too_large = vi_gt(c, vi_set(largest));
    vi32 sign = vi_shl(vi_shr(bits, 31), m + e);
    if (specials == FNUZ) sign = vi_sel(vi_eq(c, vi_set(0)), vi_set(0), sign);
    if (specials == FNUZ && !saturate) sign = vi_sel(too_large, vi_set(0), sign);
    c = vi_or(vi_sel(too_large, vi_set(over), c), sign);
    const vm nan = vi_gt(mag, vi_set(0x7f800000));
    if (specials == IEEE) { /* quiet, with what fits of the payload */
        vi32 payload = vi_and(vi_shr(mag, 23 - m), vi_set((1 << m) - 1));
        return vi_sel(nan, vi_or(vi_or(sign, vi_set(inf | 1 << (m - 1))), payload), c);
    }
    return vi_sel(nan, specials == FN ? vi_or(sign, vi_set(all)) : vi_set(1 << (m + e)), c);
}

#define WIDEN(name, code, CALL)                                                                                        \
    static void widen_##name(float *y, const void *x_, size_t n)                                                       \
    {                                                                                                                  \
        const code *x = x_;                                                                                            \
        code t[VW] = { 0 };                                                                                            \
        for (size_t i = 0; i < n; i += VW) {                                                                           \
            const size_t left = n - i;                                                                                 \
            if (left < VW) memcpy(t, x + i, left * sizeof *t);                                                         \
            vf32 v = CALL(left < VW ? t : x + i);                                                                      \
            if (left < VW)                                                                                             \
                v_store_n(y + i, v, left);                                                                             \
            else                                                                                                       \
                v_store(y + i, v);                                                                                     \
        }                                                                                                              \
    }
#define NARROW(name, code, STORE)                                                                                      \
    static void narrow_##name(void *y_, const float *x, size_t n, bool saturate)                                       \
    {                                                                                                                  \
        code *y = y_, t[VW];                                                                                           \
        for (size_t i = 0; i < n; i += VW) {                                                                           \
            const size_t left = n - i;                                                                                 \
            vf32 v = left < VW ? v_load_n(x + i, left) : v_load(x + i);                                                \
            STORE(left < VW ? t : y + i, v, saturate);                                                                 \
            if (left < VW) memcpy(y + i, t, left * sizeof *t);                                                         \
        }                                                                                                              \
    }
#define STORE_F16(p, v, saturate) v_store_f16(p, v)

/* Half has instructions of its own; the rest differ by constants. AVX-512 has its own code for what it gains much by. */
#ifdef ISA_AVX512
#define RARE_FORMAT(...)
#endif
#define FORMAT(name, code, m, e, bias, specials)                                                                       \
    V_INLINE vf32 load_##name(const code *p) { return widen(load_##code(p), m, e, bias, specials); }                   \
    V_INLINE void store_##name(code *p, vf32 x, bool saturate)                                                         \
    {                                                                                                                  \
        if (saturate && sizeof(code) == 1)                                                                             \
            store_##code(p, narrow(x, m, e, bias, specials, true));                                                    \
        else                                                                                                           \
            store_##code(p, narrow(x, m, e, bias, specials, false));                                                   \
    }
#include "kern/convert/formats.def"
#undef FORMAT

WIDEN(f16, uint16_t, v_load_f16)
NARROW(f16, uint16_t, STORE_F16)
WIDEN(bf16, uint16_t, load_bf16)
NARROW(bf16, uint16_t, store_bf16)
#ifndef ISA_AVX512
WIDEN(f8e4m3fn, uint8_t, load_f8e4m3fn)
NARROW(f8e4m3fn, uint8_t, store_f8e4m3fn)
WIDEN(f8e4m3fnuz, uint8_t, load_f8e4m3fnuz)
NARROW(f8e4m3fnuz, uint8_t, store_f8e4m3fnuz)
WIDEN(f8e5m2, uint8_t, load_f8e5m2)
NARROW(f8e5m2, uint8_t, store_f8e5m2)
WIDEN(f8e5m2fnuz, uint8_t, load_f8e5m2fnuz)
NARROW(f8e5m2fnuz, uint8_t, store_f8e5m2fnuz)
WIDEN(f8e8m0, uint8_t, load_f8e8m0)
NARROW(f8e8m0, uint8_t, store_f8e8m0)
WIDEN(f4e2m1, uint8_t, load_f4e2m1)
NARROW(f4e2m1, uint8_t, store_f4e2m1)
WIDEN(f6e2m3, uint8_t, load_f6e2m3)
NARROW(f6e2m3, uint8_t, store_f6e2m3)
WIDEN(f6e3m2, uint8_t, load_f6e3m2)
NARROW(f6e3m2, uint8_t, store_f6e3m2)
#endif

void ISA(sdx_kern_init_convert)(Kern *k);
void ISA(sdx_kern_init_convert)(Kern *k)
{
#ifdef ISA_AVX512
#define RARE_FORMAT(...)
#endif
#define FORMAT(name, code, m, e, bias, specials)                                                                       \
    k->widen_f32[SDX_FORMAT_##name] = widen_##name;                                                                    \
    k->narrow_f32[SDX_FORMAT_##name] = narrow_##name;
#include "kern/convert/formats.def"
#undef FORMAT
}
