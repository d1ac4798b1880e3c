/* kern/simd/c.h - the vector vocabulary, one lane wide, in plain C.
 *
 * This header is the definition of the vocabulary: kern/simd/avx2.h, avx512.h and neon.h give the
 * same functions on wider vectors and must return, lane by lane, the same bits (the bits of a NaN
 * excepted). A body written in these words is compiled once per instruction set.
 *
 *   vf32, vi32, vm   VW lanes of float, of int32 and of "yes or no"
 *   _n suffix        only the first n lanes, 0 <= n <= VW: memory past them is neither read nor
 *                    written, and loaded lanes past them are zero
 *
 * min and max return the second operand when either is NaN, and when both are zero. */
#ifndef SDX_KERN_SIMD_C_H
#define SDX_KERN_SIMD_C_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VW 1
#define V_NAME(name) name##_c /* of functions that every level with this vocabulary shares */
#define V_INLINE static inline __attribute__((unused))
#define V_UNROLL /* before a loop over registers */

typedef float vf32;
typedef int32_t vi32;
typedef bool vm;

/* Bits. */
V_INLINE vi32 v_asint(vf32 a)
{
    vi32 r;
    memcpy(&r, &a, 4);
    return r;
}
V_INLINE vf32 v_asfloat(vi32 a)
{
    vf32 r;
    memcpy(&r, &a, 4);
    return r;
}

/* Memory. */
V_INLINE vf32 v_load(const float *p) { return *p; }
V_INLINE void v_store(float *p, vf32 a) { *p = a; }
V_INLINE vf32 v_load_n(const float *p, size_t n) { return n ? *p : 0.0f; }
V_INLINE vf32 v_load_even(const float *p) { return *p; } /* p[0], p[2], ..., p[2 * VW - 2]; nothing past that */
V_INLINE void v_store_n(float *p, vf32 a, size_t n)
{
    if (n) *p = a;
}
V_INLINE vf32 v_load_or(const float *p, size_t n, float rest) { return n ? *p : rest; } /* lanes past n: rest */
V_INLINE vi32 vi_load(const int32_t *p) { return *p; }
V_INLINE void vi_store(int32_t *p, vi32 a) { *p = a; }
V_INLINE vi32 vi_load_n(const int32_t *p, size_t n) { return n ? *p : 0; }
V_INLINE void vi_store_n(int32_t *p, vi32 a, size_t n)
{
    if (n) *p = a;
}

/* Arithmetic: each is one correctly rounded IEEE operation. */
V_INLINE vf32 v_set(float a) { return a; }
V_INLINE vf32 v_zero(void) { return 0.0f; }
V_INLINE vf32 v_add(vf32 a, vf32 b) { return a + b; }
V_INLINE vf32 v_sub(vf32 a, vf32 b) { return a - b; }
V_INLINE vf32 v_mul(vf32 a, vf32 b) { return a * b; }
V_INLINE vf32 v_div(vf32 a, vf32 b) { return a / b; }
V_INLINE vf32 v_fma(vf32 a, vf32 b, vf32 c) { return fmaf(a, b, c); }   /*  a*b + c */
V_INLINE vf32 v_fms(vf32 a, vf32 b, vf32 c) { return fmaf(a, b, -c); }  /*  a*b - c */
V_INLINE vf32 v_fnma(vf32 a, vf32 b, vf32 c) { return fmaf(-a, b, c); } /* -a*b + c */
V_INLINE vf32 v_min(vf32 a, vf32 b) { return a < b ? a : b; }
V_INLINE vf32 v_max(vf32 a, vf32 b) { return a > b ? a : b; }
V_INLINE vf32 v_sqrt(vf32 a) { return sqrtf(a); }
V_INLINE vf32 v_rint(vf32 a) { return rintf(a); } /* half to even */
V_INLINE vf32 v_floor(vf32 a) { return floorf(a); }
V_INLINE vf32 v_ceil(vf32 a) { return ceilf(a); }
V_INLINE vf32 v_trunc(vf32 a) { return truncf(a); }
V_INLINE vf32 v_and(vf32 a, vf32 b) { return v_asfloat(v_asint(a) & v_asint(b)); }
V_INLINE vf32 v_or(vf32 a, vf32 b) { return v_asfloat(v_asint(a) | v_asint(b)); }
V_INLINE vf32 v_xor(vf32 a, vf32 b) { return v_asfloat(v_asint(a) ^ v_asint(b)); }
V_INLINE vf32 v_andnot(vf32 a, vf32 b) { return v_asfloat(~v_asint(a) & v_asint(b)); } /* ~a & b */

/* Comparisons: false when either operand is NaN, except ne. */
V_INLINE vm v_lt(vf32 a, vf32 b) { return a < b; }
V_INLINE vm v_le(vf32 a, vf32 b) { return a <= b; }
V_INLINE vm v_gt(vf32 a, vf32 b) { return a > b; }
V_INLINE vm v_ge(vf32 a, vf32 b) { return a >= b; }
V_INLINE vm v_eq(vf32 a, vf32 b) { return a == b; }
V_INLINE vm v_ne(vf32 a, vf32 b) { return a != b; }
V_INLINE vm v_isnan(vf32 a) { return a != a; }
V_INLINE vm v_unordered(vf32 a, vf32 b) { return a != a || b != b; }
V_INLINE vf32 v_sel(vm m, vf32 yes, vf32 no) { return m ? yes : no; }
V_INLINE vm m_and(vm a, vm b) { return a && b; }
V_INLINE vm m_or(vm a, vm b) { return a || b; }
V_INLINE vm m_not(vm a) { return !a; }
V_INLINE bool m_any(vm a) { return a; }
V_INLINE unsigned m_bits(vm a) { return a; }        /* lane i at bit i */
V_INLINE void m_store(uint8_t *p, vm a) { *p = a; } /* a byte per lane, 0 or 1 */
V_INLINE vm m_load(const uint8_t *p) { return *p != 0; }

/* Integers: wrap around; shr is logical, sar arithmetic; counts are 0..31. */
V_INLINE vi32 vi_set(int32_t a) { return a; }
V_INLINE vi32 vi_add(vi32 a, vi32 b) { return (vi32)((uint32_t)a + (uint32_t)b); }
V_INLINE vi32 vi_sub(vi32 a, vi32 b) { return (vi32)((uint32_t)a - (uint32_t)b); }
V_INLINE vi32 vi_mul(vi32 a, vi32 b) { return (vi32)((uint32_t)a * (uint32_t)b); }
V_INLINE vi32 vi_and(vi32 a, vi32 b) { return a & b; }
V_INLINE vi32 vi_or(vi32 a, vi32 b) { return a | b; }
V_INLINE vi32 vi_xor(vi32 a, vi32 b) { return a ^ b; }
V_INLINE vi32 vi_min(vi32 a, vi32 b) { return a < b ? a : b; }
V_INLINE vi32 vi_max(vi32 a, vi32 b) { return a > b ? a : b; }
V_INLINE vm vi_eq(vi32 a, vi32 b) { return a == b; }
V_INLINE vm vi_gt(vi32 a, vi32 b) { return a > b; }
V_INLINE vi32 vi_sel(vm m, vi32 yes, vi32 no) { return m ? yes : no; }
#define vi_shl(a, k) ((vi32)((uint32_t)(a) << (k)))
#define vi_shr(a, k) ((vi32)((uint32_t)(a) >> (k)))
#define vi_sar(a, k) ((vi32)(a) >> (k))

/* Conversions. to_int rounds half to even, trunc_int towards zero; both need |a| < 2^31. */
V_INLINE vf32 v_from_int(vi32 a) { return (float)a; }
V_INLINE vi32 v_to_int(vf32 a) { return (int32_t)rintf(a); }
V_INLINE vi32 v_trunc_int(vf32 a) { return (int32_t)a; }
/* a * 2^n, rounded once; n is integral and |n| <= 252. */
V_INLINE vf32 v_scale(vf32 a, vf32 n)
{
    int32_t i = fabsf(n) <= 252.0f ? (int32_t)n : 0, h = i >> 1; /* a NaN comes with a NaN in a */
    return a * v_asfloat((h + 127) << 23) * v_asfloat((i - h + 127) << 23);
}

/* Narrow integers: widening loads, and stores of lanes that already fit. */
V_INLINE vi32 vi_load_u8(const uint8_t *p) { return *p; }
V_INLINE vi32 vi_load_i8(const int8_t *p) { return *p; }
V_INLINE vi32 vi_load_u16(const uint16_t *p) { return *p; }
V_INLINE vi32 vi_load_i16(const int16_t *p) { return *p; }
V_INLINE void vi_store_8(void *p, vi32 a) { *(uint8_t *)p = (uint8_t)a; }
V_INLINE void vi_store_16(void *p, vi32 a) { *(uint16_t *)p = (uint16_t)a; }

/* Across lanes: lane i meets lane i + VW/2, then i + VW/4, ...: one order for every width. */
V_INLINE float v_hsum(vf32 a) { return a; }
V_INLINE float v_hprod(vf32 a) { return a; }
V_INLINE float v_hmax(vf32 a) { return a; } /* v_max(low half, high half) */
V_INLINE float v_hmin(vf32 a) { return a; }
V_INLINE int32_t vi_hsum(vi32 a) { return a; }

/* IEEE half, as 16-bit patterns; narrowing rounds half to even, overflows to infinity. */
V_INLINE vf32 v_load_f16(const uint16_t *p)
{
    uint32_t h = *p, sign = (h & 0x8000u) << 16, e = h & 0x7c00u, m = h & 0x03ffu;
    if (e == 0) { /* zero or subnormal: m * 2^-24, exactly */
        float f = (float)m * 0x1p-24f;
        return v_asfloat((int32_t)(sign | (uint32_t)v_asint(f)));
    }
    if (e == 0x7c00u) return v_asfloat((int32_t)(sign | 0x7f800000u | m << 13 | (m ? 0x400000u : 0)));
    return v_asfloat((int32_t)(sign | ((e + 0x1c000u) << 13) | m << 13));
}
V_INLINE void v_store_f16(uint16_t *p, vf32 a)
{
    uint32_t u = (uint32_t)v_asint(a), sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u) {
        *p = (uint16_t)(sign | 0x7e00u | (u >> 13 & 0x3ffu));
        return;
    }
    if (u >= 0x47800000u) {
        *p = (uint16_t)(sign | 0x7c00u);
        return;
    }
    if (u < 0x38800000u) { /* below 2^-14: let an add do the rounding */
        float f = v_asfloat((int32_t)u) + 0.5f;
        *p = (uint16_t)(sign | ((uint32_t)v_asint(f) - 0x3f000000u));
        return;
    }
    u += 0xfffu + (u >> 13 & 1);
    *p = (uint16_t)(sign | ((u - 0x38000000u) >> 13));
}

#include "kern/simd/common.h"

#endif
