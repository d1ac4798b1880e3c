/* kern/simd/neon.h - the vocabulary of kern/simd/c.h on Armv8 NEON: four lanes. */
#ifndef SDX_KERN_SIMD_NEON_H
#define SDX_KERN_SIMD_NEON_H

#include <arm_neon.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VW 4
#define V_NAME(name) name##_neon /* of functions that every level with this vocabulary shares */
#define V_INLINE static inline __attribute__((unused, always_inline))
#define V_UNROLL _Pragma("GCC unroll 16")

typedef float32x4_t vf32;
typedef int32x4_t vi32;
typedef uint32x4_t vm;

V_INLINE vi32 v_asint(vf32 a) { return vreinterpretq_s32_f32(a); }
V_INLINE vf32 v_asfloat(vi32 a) { return vreinterpretq_f32_s32(a); }

V_INLINE vf32 v_load(const float *p) { return vld1q_f32(p); }
V_INLINE void v_store(float *p, vf32 a) { vst1q_f32(p, a); }
V_INLINE vi32 vi_load(const int32_t *p) { return vld1q_s32(p); }
V_INLINE void vi_store(int32_t *p, vi32 a) { vst1q_s32(p, a); }
V_INLINE vi32 vi_load_n(const int32_t *p, size_t n)
{
    int32_t t[4] = { 0, 0, 0, 0 };
    for (size_t i = 0; i < n; i++) t[i] = p[i];
    return vld1q_s32(t);
}
V_INLINE void vi_store_n(int32_t *p, vi32 a, size_t n)
{
    int32_t t[4];
    vst1q_s32(t, a);
    for (size_t i = 0; i < n; i++) p[i] = t[i];
}
V_INLINE vf32 v_load_or(const float *p, size_t n, float rest)
{
    float t[4] = { rest, rest, rest, rest };
    for (size_t i = 0; i < n; i++) t[i] = p[i];
    return vld1q_f32(t);
}
V_INLINE vf32 v_load_n(const float *p, size_t n) { return v_load_or(p, n, 0); }
V_INLINE vf32 v_load_even(const float *p)
{
    float32x4_t a = vld1q_f32(p), b = vld1q_f32(p + 3);
    return vcombine_f32(vget_low_f32(vuzp1q_f32(a, a)), vget_low_f32(vuzp2q_f32(b, b)));
}
V_INLINE void v_store_n(float *p, vf32 a, size_t n)
{
    float t[4];
    vst1q_f32(t, a);
    for (size_t i = 0; i < n; i++) p[i] = t[i];
}

V_INLINE vf32 v_set(float a) { return vdupq_n_f32(a); }
V_INLINE vf32 v_zero(void) { return vdupq_n_f32(0); }
V_INLINE vf32 v_add(vf32 a, vf32 b) { return vaddq_f32(a, b); }
V_INLINE vf32 v_sub(vf32 a, vf32 b) { return vsubq_f32(a, b); }
V_INLINE vf32 v_mul(vf32 a, vf32 b) { return vmulq_f32(a, b); }
V_INLINE vf32 v_div(vf32 a, vf32 b) { return vdivq_f32(a, b); }
V_INLINE vf32 v_fma(vf32 a, vf32 b, vf32 c) { return vfmaq_f32(c, a, b); }
V_INLINE vf32 v_fms(vf32 a, vf32 b, vf32 c) { return vfmaq_f32(vnegq_f32(c), a, b); }
V_INLINE vf32 v_fnma(vf32 a, vf32 b, vf32 c) { return vfmsq_f32(c, a, b); }
V_INLINE vf32 v_min(vf32 a, vf32 b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
V_INLINE vf32 v_max(vf32 a, vf32 b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
V_INLINE vf32 v_sqrt(vf32 a) { return vsqrtq_f32(a); }
V_INLINE vf32 v_rint(vf32 a) { return vrndnq_f32(a); }
V_INLINE vf32 v_floor(vf32 a) { return vrndmq_f32(a); }
V_INLINE vf32 v_ceil(vf32 a) { return vrndpq_f32(a); }
V_INLINE vf32 v_trunc(vf32 a) { return vrndq_f32(a); }
V_INLINE vf32 v_and(vf32 a, vf32 b) { return v_asfloat(vandq_s32(v_asint(a), v_asint(b))); }
V_INLINE vf32 v_or(vf32 a, vf32 b) { return v_asfloat(vorrq_s32(v_asint(a), v_asint(b))); }
V_INLINE vf32 v_xor(vf32 a, vf32 b) { return v_asfloat(veorq_s32(v_asint(a), v_asint(b))); }
V_INLINE vf32 v_andnot(vf32 a, vf32 b) { return v_asfloat(vbicq_s32(v_asint(b), v_asint(a))); }

V_INLINE vm v_lt(vf32 a, vf32 b) { return vcltq_f32(a, b); }
V_INLINE vm v_le(vf32 a, vf32 b) { return vcleq_f32(a, b); }
V_INLINE vm v_gt(vf32 a, vf32 b) { return vcgtq_f32(a, b); }
V_INLINE vm v_ge(vf32 a, vf32 b) { return vcgeq_f32(a, b); }
V_INLINE vm v_eq(vf32 a, vf32 b) { return vceqq_f32(a, b); }
V_INLINE vm v_ne(vf32 a, vf32 b) { return vmvnq_u32(vceqq_f32(a, b)); }
V_INLINE vm v_isnan(vf32 a) { return vmvnq_u32(vceqq_f32(a, a)); }
V_INLINE vm v_unordered(vf32 a, vf32 b) { return vmvnq_u32(vandq_u32(vceqq_f32(a, a), vceqq_f32(b, b))); }
V_INLINE vf32 v_sel(vm m, vf32 yes, vf32 no) { return vbslq_f32(m, yes, no); }
V_INLINE vm m_and(vm a, vm b) { return vandq_u32(a, b); }
V_INLINE vm m_or(vm a, vm b) { return vorrq_u32(a, b); }
V_INLINE vm m_not(vm a) { return vmvnq_u32(a); }
V_INLINE bool m_any(vm a) { return vmaxvq_u32(a) != 0; }
V_INLINE unsigned m_bits(vm a)
{
    const uint32x4_t bit = { 1, 2, 4, 8 };
    return vaddvq_u32(vandq_u32(a, bit));
}

V_INLINE void m_store(uint8_t *p, vm a)
{
    uint16x4_t h = vmovn_u32(vshrq_n_u32(a, 31));
    uint32_t w = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(h, h))), 0);
    memcpy(p, &w, 4);
}
V_INLINE vm m_load(const uint8_t *p)
{
    uint32_t w;
    memcpy(&w, p, 4);
    uint32x4_t wide = vmovl_u16(vget_low_u16(vmovl_u8(vcreate_u8(w))));
    return vtstq_u32(wide, wide);
}

V_INLINE vi32 vi_set(int32_t a) { return vdupq_n_s32(a); }
V_INLINE vi32 vi_add(vi32 a, vi32 b) { return vaddq_s32(a, b); }
V_INLINE vi32 vi_sub(vi32 a, vi32 b) { return vsubq_s32(a, b); }
V_INLINE vi32 vi_mul(vi32 a, vi32 b) { return vmulq_s32(a, b); }
V_INLINE vi32 vi_and(vi32 a, vi32 b) { return vandq_s32(a, b); }
V_INLINE vi32 vi_or(vi32 a, vi32 b) { return vorrq_s32(a, b); }
V_INLINE vi32 vi_xor(vi32 a, vi32 b) { return veorq_s32(a, b); }
V_INLINE vi32 vi_min(vi32 a, vi32 b) { return vminq_s32(a, b); }
V_INLINE vi32 vi_max(vi32 a, vi32 b) { return vmaxq_s32(a, b); }
V_INLINE vm vi_eq(vi32 a, vi32 b) { return vceqq_s32(a, b); }
V_INLINE vm vi_gt(vi32 a, vi32 b) { return vcgtq_s32(a, b); }
V_INLINE vi32 vi_sel(vm m, vi32 yes, vi32 no) { return vbslq_s32(m, yes, no); }
/* Variable-count forms, because the immediate ones refuse a count of 0. */
#define vi_shl(a, k) vshlq_s32(a, vdupq_n_s32(k))
#define vi_shr(a, k) vreinterpretq_s32_u32(vshlq_u32(vreinterpretq_u32_s32(a), vdupq_n_s32(-(k))))
#define vi_sar(a, k) vshlq_s32(a, vdupq_n_s32(-(k)))

V_INLINE vf32 v_from_int(vi32 a) { return vcvtq_f32_s32(a); }
V_INLINE vi32 v_to_int(vf32 a) { return vcvtnq_s32_f32(a); }
V_INLINE vi32 v_trunc_int(vf32 a) { return vcvtq_s32_f32(a); }
V_INLINE vf32 v_scale(vf32 a, vf32 n)
{
    vi32 i = vcvtnq_s32_f32(n), h = vshrq_n_s32(i, 1), bias = vdupq_n_s32(127);
    vf32 s0 = v_asfloat(vshlq_n_s32(vaddq_s32(h, bias), 23));
    vf32 s1 = v_asfloat(vshlq_n_s32(vaddq_s32(vsubq_s32(i, h), bias), 23));
    return vmulq_f32(vmulq_f32(a, s0), s1);
}

V_INLINE vi32 vi_load_u8(const uint8_t *p)
{
    uint32_t w;
    memcpy(&w, p, 4);
    uint16x8_t h = vmovl_u8(vcreate_u8(w));
    return vreinterpretq_s32_u32(vmovl_u16(vget_low_u16(h)));
}
V_INLINE vi32 vi_load_i8(const int8_t *p)
{
    uint32_t w;
    memcpy(&w, p, 4);
    return vmovl_s16(vget_low_s16(vmovl_s8(vcreate_s8(w))));
}
V_INLINE vi32 vi_load_u16(const uint16_t *p) { return vreinterpretq_s32_u32(vmovl_u16(vld1_u16(p))); }
V_INLINE vi32 vi_load_i16(const int16_t *p) { return vmovl_s16(vld1_s16(p)); }
V_INLINE void vi_store_8(void *p, vi32 a)
{
    uint16x4_t h = vmovn_u32(vreinterpretq_u32_s32(a));
    uint8x8_t b = vmovn_u16(vcombine_u16(h, h));
    uint32_t w = vget_lane_u32(vreinterpret_u32_u8(b), 0);
    memcpy(p, &w, 4);
}
V_INLINE void vi_store_16(void *p, vi32 a)
{
    uint64_t w = vget_lane_u64(vreinterpret_u64_u16(vmovn_u32(vreinterpretq_u32_s32(a))), 0);
    memcpy(p, &w, 8);
}

#define V_HALVES(op, a)                                                                                                \
    float t[4];                                                                                                        \
    vst1q_f32(t, a);                                                                                                   \
    float r0 = op(t[0], t[2]), r1 = op(t[1], t[3]);                                                                    \
    return op(r0, r1)
#define V_ADD(x, y) ((x) + (y))
#define V_MUL(x, y) ((x) * (y))
#define V_MAX(x, y) ((x) > (y) ? (x) : (y))
#define V_MIN(x, y) ((x) < (y) ? (x) : (y))
V_INLINE float v_hsum(vf32 a) { V_HALVES(V_ADD, a); }
V_INLINE float v_hprod(vf32 a) { V_HALVES(V_MUL, a); }
V_INLINE float v_hmax(vf32 a) { V_HALVES(V_MAX, a); }
V_INLINE float v_hmin(vf32 a) { V_HALVES(V_MIN, a); }
#undef V_HALVES
V_INLINE int32_t vi_hsum(vi32 a) { return vaddvq_s32(a); }

V_INLINE vf32 v_load_f16(const uint16_t *p) { return vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p))); }
V_INLINE void v_store_f16(uint16_t *p, vf32 a) { vst1_u16(p, vreinterpret_u16_f16(vcvt_f16_f32(a))); }

#include "kern/simd/common.h"

#endif
