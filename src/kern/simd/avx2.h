/* kern/simd/avx2.h - the vocabulary of kern/simd/c.h on AVX2 + FMA + F16C: eight lanes. */
#ifndef SDX_KERN_SIMD_AVX2_H
#define SDX_KERN_SIMD_AVX2_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VW 8
#define V_NAME(name) name##_avx2 /* of functions that every level with this vocabulary shares */
#define V_INLINE static inline __attribute__((unused, always_inline))
#define V_UNROLL _Pragma("GCC unroll 16")

typedef __m256 vf32;
typedef __m256i vi32;
typedef __m256 vm; /* all bits of a lane set, or none */

V_INLINE vi32 v_asint(vf32 a) { return _mm256_castps_si256(a); }
V_INLINE vf32 v_asfloat(vi32 a) { return _mm256_castsi256_ps(a); }

/* First n lanes all ones. */
V_INLINE __m256i v_tail_mask(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

V_INLINE vf32 v_load(const float *p) { return _mm256_loadu_ps(p); }
V_INLINE void v_store(float *p, vf32 a) { _mm256_storeu_ps(p, a); }
V_INLINE vf32 v_load_n(const float *p, size_t n) { return _mm256_maskload_ps(p, v_tail_mask(n)); }
V_INLINE vf32 v_load_even(const float *p)
{
    __m256 t = _mm256_shuffle_ps(_mm256_loadu_ps(p), _mm256_loadu_ps(p + 7), 0xd8); /* 0 2 8 10 | 4 6 12 14 */
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(t), 0xd8));
}
V_INLINE void v_store_n(float *p, vf32 a, size_t n) { _mm256_maskstore_ps(p, v_tail_mask(n), a); }
V_INLINE vf32 v_load_or(const float *p, size_t n, float rest)
{
    __m256i m = v_tail_mask(n);
    return _mm256_blendv_ps(_mm256_set1_ps(rest), _mm256_maskload_ps(p, m), _mm256_castsi256_ps(m));
}
V_INLINE vi32 vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
V_INLINE void vi_store(int32_t *p, vi32 a) { _mm256_storeu_si256((__m256i *)p, a); }
V_INLINE vi32 vi_load_n(const int32_t *p, size_t n) { return _mm256_maskload_epi32(p, v_tail_mask(n)); }
V_INLINE void vi_store_n(int32_t *p, vi32 a, size_t n) { _mm256_maskstore_epi32(p, v_tail_mask(n), a); }

V_INLINE vf32 v_set(float a) { return _mm256_set1_ps(a); }
V_INLINE vf32 v_zero(void) { return _mm256_setzero_ps(); }
V_INLINE vf32 v_add(vf32 a, vf32 b) { return _mm256_add_ps(a, b); }
V_INLINE vf32 v_sub(vf32 a, vf32 b) { return _mm256_sub_ps(a, b); }
V_INLINE vf32 v_mul(vf32 a, vf32 b) { return _mm256_mul_ps(a, b); }
V_INLINE vf32 v_div(vf32 a, vf32 b) { return _mm256_div_ps(a, b); }
V_INLINE vf32 v_fma(vf32 a, vf32 b, vf32 c) { return _mm256_fmadd_ps(a, b, c); }
V_INLINE vf32 v_fms(vf32 a, vf32 b, vf32 c) { return _mm256_fmsub_ps(a, b, c); }
V_INLINE vf32 v_fnma(vf32 a, vf32 b, vf32 c) { return _mm256_fnmadd_ps(a, b, c); }
V_INLINE vf32 v_min(vf32 a, vf32 b) { return _mm256_min_ps(a, b); }
V_INLINE vf32 v_max(vf32 a, vf32 b) { return _mm256_max_ps(a, b); }
V_INLINE vf32 v_sqrt(vf32 a) { return _mm256_sqrt_ps(a); }
V_INLINE vf32 v_rint(vf32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_floor(vf32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_ceil(vf32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_trunc(vf32 a) { return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_and(vf32 a, vf32 b) { return _mm256_and_ps(a, b); }
V_INLINE vf32 v_or(vf32 a, vf32 b) { return _mm256_or_ps(a, b); }
V_INLINE vf32 v_xor(vf32 a, vf32 b) { return _mm256_xor_ps(a, b); }
V_INLINE vf32 v_andnot(vf32 a, vf32 b) { return _mm256_andnot_ps(a, b); }

V_INLINE vm v_lt(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
V_INLINE vm v_gt(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_GT_OQ); }
V_INLINE vm v_ge(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_GE_OQ); }
V_INLINE vm v_eq(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_ne(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
V_INLINE vm v_isnan(vf32 a) { return _mm256_cmp_ps(a, a, _CMP_UNORD_Q); }
V_INLINE vm v_unordered(vf32 a, vf32 b) { return _mm256_cmp_ps(a, b, _CMP_UNORD_Q); }
V_INLINE vf32 v_sel(vm m, vf32 yes, vf32 no) { return _mm256_blendv_ps(no, yes, m); }
V_INLINE vm m_and(vm a, vm b) { return _mm256_and_ps(a, b); }
V_INLINE vm m_or(vm a, vm b) { return _mm256_or_ps(a, b); }
V_INLINE vm m_not(vm a) { return _mm256_xor_ps(a, _mm256_castsi256_ps(_mm256_set1_epi32(-1))); }
V_INLINE bool m_any(vm a) { return _mm256_movemask_ps(a) != 0; }
V_INLINE unsigned m_bits(vm a) { return (unsigned)_mm256_movemask_ps(a); }

V_INLINE void m_store(uint8_t *p, vm a)
{
    __m256i ones = _mm256_srli_epi32(_mm256_castps_si256(a), 31);
    __m128i half = _mm_packs_epi32(_mm256_castsi256_si128(ones), _mm256_extracti128_si256(ones, 1));
    _mm_storel_epi64((__m128i *)p, _mm_packs_epi16(half, half));
}
V_INLINE vm m_load(const uint8_t *p)
{
    __m256i wide = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p));
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(wide, _mm256_setzero_si256()));
}

V_INLINE vi32 vi_set(int32_t a) { return _mm256_set1_epi32(a); }
V_INLINE vi32 vi_add(vi32 a, vi32 b) { return _mm256_add_epi32(a, b); }
V_INLINE vi32 vi_sub(vi32 a, vi32 b) { return _mm256_sub_epi32(a, b); }
V_INLINE vi32 vi_mul(vi32 a, vi32 b) { return _mm256_mullo_epi32(a, b); }
V_INLINE vi32 vi_and(vi32 a, vi32 b) { return _mm256_and_si256(a, b); }
V_INLINE vi32 vi_or(vi32 a, vi32 b) { return _mm256_or_si256(a, b); }
V_INLINE vi32 vi_xor(vi32 a, vi32 b) { return _mm256_xor_si256(a, b); }
V_INLINE vi32 vi_min(vi32 a, vi32 b) { return _mm256_min_epi32(a, b); }
V_INLINE vi32 vi_max(vi32 a, vi32 b) { return _mm256_max_epi32(a, b); }
V_INLINE vm vi_eq(vi32 a, vi32 b) { return _mm256_castsi256_ps(_mm256_cmpeq_epi32(a, b)); }
V_INLINE vm vi_gt(vi32 a, vi32 b) { return _mm256_castsi256_ps(_mm256_cmpgt_epi32(a, b)); }
V_INLINE vi32 vi_sel(vm m, vi32 yes, vi32 no) { return _mm256_blendv_epi8(no, yes, _mm256_castps_si256(m)); }
#define vi_shl(a, k) _mm256_slli_epi32(a, k)
#define vi_shr(a, k) _mm256_srli_epi32(a, k)
#define vi_sar(a, k) _mm256_srai_epi32(a, k)

V_INLINE vf32 v_from_int(vi32 a) { return _mm256_cvtepi32_ps(a); }
V_INLINE vi32 v_to_int(vf32 a) { return _mm256_cvtps_epi32(a); }
V_INLINE vi32 v_trunc_int(vf32 a) { return _mm256_cvttps_epi32(a); }
V_INLINE vf32 v_scale(vf32 a, vf32 n)
{
    vi32 i = _mm256_cvtps_epi32(n), h = _mm256_srai_epi32(i, 1), bias = _mm256_set1_epi32(127);
    vf32 s0 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(h, bias), 23));
    vf32 s1 = _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_add_epi32(_mm256_sub_epi32(i, h), bias), 23));
    return _mm256_mul_ps(_mm256_mul_ps(a, s0), s1);
}

V_INLINE vi32 vi_load_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
V_INLINE vi32 vi_load_i8(const int8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)p)); }
V_INLINE vi32 vi_load_u16(const uint16_t *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE vi32 vi_load_i16(const int16_t *p) { return _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE void vi_store_8(void *p, vi32 a)
{
    const __m256i pick = _mm256_setr_epi8(0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1,
                                          -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1);
    __m256i t = _mm256_shuffle_epi8(a, pick);
    _mm_storel_epi64((__m128i *)p, _mm_unpacklo_epi32(_mm256_castsi256_si128(t), _mm256_extracti128_si256(t, 1)));
}
V_INLINE void vi_store_16(void *p, vi32 a)
{
    __m256i low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    _mm_storeu_si128((__m128i *)p, _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
}

#define V_HALVES(op, a)                                                                                                \
    __m128 r = op##_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));                                        \
    r = op##_ps(r, _mm_movehl_ps(r, r));                                                                               \
    return _mm_cvtss_f32(op##_ss(r, _mm_shuffle_ps(r, r, 1)))
V_INLINE float v_hsum(vf32 a) { V_HALVES(_mm_add, a); }
V_INLINE float v_hprod(vf32 a) { V_HALVES(_mm_mul, a); }
V_INLINE float v_hmax(vf32 a) { V_HALVES(_mm_max, a); }
V_INLINE float v_hmin(vf32 a) { V_HALVES(_mm_min, a); }
#undef V_HALVES
V_INLINE int32_t vi_hsum(vi32 a)
{
    __m128i r = _mm_add_epi32(_mm256_castsi256_si128(a), _mm256_extracti128_si256(a, 1));
    r = _mm_add_epi32(r, _mm_shuffle_epi32(r, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(r, _mm_shuffle_epi32(r, 0xb1)));
}

V_INLINE vf32 v_load_f16(const uint16_t *p) { return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE void v_store_f16(uint16_t *p, vf32 a)
{
    _mm_storeu_si128((__m128i *)p, _mm256_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#include "kern/simd/common.h"

#endif
