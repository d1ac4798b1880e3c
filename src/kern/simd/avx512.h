/* kern/simd/avx512.h - the vocabulary of kern/simd/c.h on AVX-512 F/BW/DQ/VL: sixteen lanes. */
#ifndef SDX_KERN_SIMD_AVX512_H
#define SDX_KERN_SIMD_AVX512_H

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VW 16
#define V_NAME(name) name##_avx512 /* of functions that every level with this vocabulary shares */
#define V_INLINE static inline __attribute__((unused, always_inline))
#define V_UNROLL _Pragma("GCC unroll 16")

typedef __m512 vf32;
typedef __m512i vi32;
typedef __mmask16 vm;

V_INLINE vi32 v_asint(vf32 a) { return _mm512_castps_si512(a); }
V_INLINE vf32 v_asfloat(vi32 a) { return _mm512_castsi512_ps(a); }

/* First n lanes. */
V_INLINE __mmask16 v_tail_mask(size_t n) { return (__mmask16)((1u << n) - 1); }

V_INLINE vf32 v_load(const float *p) { return _mm512_loadu_ps(p); }
V_INLINE void v_store(float *p, vf32 a) { _mm512_storeu_ps(p, a); }
V_INLINE vf32 v_load_n(const float *p, size_t n) { return _mm512_maskz_loadu_ps(v_tail_mask(n), p); }
V_INLINE vf32 v_load_even(const float *p)
{
    const __m512i pick = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(_mm512_loadu_ps(p), pick, _mm512_loadu_ps(p + 15));
}
V_INLINE void v_store_n(float *p, vf32 a, size_t n) { _mm512_mask_storeu_ps(p, v_tail_mask(n), a); }
V_INLINE vf32 v_load_or(const float *p, size_t n, float rest)
{
    return _mm512_mask_loadu_ps(_mm512_set1_ps(rest), v_tail_mask(n), p);
}
V_INLINE vi32 vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
V_INLINE void vi_store(int32_t *p, vi32 a) { _mm512_storeu_si512(p, a); }
V_INLINE vi32 vi_load_n(const int32_t *p, size_t n) { return _mm512_maskz_loadu_epi32(v_tail_mask(n), p); }
V_INLINE void vi_store_n(int32_t *p, vi32 a, size_t n) { _mm512_mask_storeu_epi32(p, v_tail_mask(n), a); }

V_INLINE vf32 v_set(float a) { return _mm512_set1_ps(a); }
V_INLINE vf32 v_zero(void) { return _mm512_setzero_ps(); }
V_INLINE vf32 v_add(vf32 a, vf32 b) { return _mm512_add_ps(a, b); }
V_INLINE vf32 v_sub(vf32 a, vf32 b) { return _mm512_sub_ps(a, b); }
V_INLINE vf32 v_mul(vf32 a, vf32 b) { return _mm512_mul_ps(a, b); }
V_INLINE vf32 v_div(vf32 a, vf32 b) { return _mm512_div_ps(a, b); }
V_INLINE vf32 v_fma(vf32 a, vf32 b, vf32 c) { return _mm512_fmadd_ps(a, b, c); }
V_INLINE vf32 v_fms(vf32 a, vf32 b, vf32 c) { return _mm512_fmsub_ps(a, b, c); }
V_INLINE vf32 v_fnma(vf32 a, vf32 b, vf32 c) { return _mm512_fnmadd_ps(a, b, c); }
V_INLINE vf32 v_min(vf32 a, vf32 b) { return _mm512_min_ps(a, b); }
V_INLINE vf32 v_max(vf32 a, vf32 b) { return _mm512_max_ps(a, b); }
V_INLINE vf32 v_sqrt(vf32 a) { return _mm512_sqrt_ps(a); }
V_INLINE vf32 v_rint(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_floor(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_ceil(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_trunc(vf32 a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }
V_INLINE vf32 v_and(vf32 a, vf32 b) { return _mm512_and_ps(a, b); }
V_INLINE vf32 v_or(vf32 a, vf32 b) { return _mm512_or_ps(a, b); }
V_INLINE vf32 v_xor(vf32 a, vf32 b) { return _mm512_xor_ps(a, b); }
V_INLINE vf32 v_andnot(vf32 a, vf32 b) { return _mm512_andnot_ps(a, b); }

V_INLINE vm v_lt(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
V_INLINE vm v_le(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
V_INLINE vm v_gt(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GT_OQ); }
V_INLINE vm v_ge(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_GE_OQ); }
V_INLINE vm v_eq(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_EQ_OQ); }
V_INLINE vm v_ne(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
V_INLINE vm v_isnan(vf32 a) { return _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q); }
V_INLINE vm v_unordered(vf32 a, vf32 b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q); }
V_INLINE vf32 v_sel(vm m, vf32 yes, vf32 no) { return _mm512_mask_blend_ps(m, no, yes); }
V_INLINE vm m_and(vm a, vm b) { return (vm)(a & b); }
V_INLINE vm m_or(vm a, vm b) { return (vm)(a | b); }
V_INLINE vm m_not(vm a) { return (vm)~a; }
V_INLINE bool m_any(vm a) { return a != 0; }
V_INLINE unsigned m_bits(vm a) { return a; }

V_INLINE void m_store(uint8_t *p, vm a) { _mm_storeu_si128((__m128i *)p, _mm_maskz_set1_epi8(a, 1)); }
V_INLINE vm m_load(const uint8_t *p)
{
    __m128i b = _mm_loadu_si128((const __m128i *)p);
    return _mm_test_epi8_mask(b, b);
}

V_INLINE vi32 vi_set(int32_t a) { return _mm512_set1_epi32(a); }
V_INLINE vi32 vi_add(vi32 a, vi32 b) { return _mm512_add_epi32(a, b); }
V_INLINE vi32 vi_sub(vi32 a, vi32 b) { return _mm512_sub_epi32(a, b); }
V_INLINE vi32 vi_mul(vi32 a, vi32 b) { return _mm512_mullo_epi32(a, b); }
V_INLINE vi32 vi_and(vi32 a, vi32 b) { return _mm512_and_si512(a, b); }
V_INLINE vi32 vi_or(vi32 a, vi32 b) { return _mm512_or_si512(a, b); }
V_INLINE vi32 vi_xor(vi32 a, vi32 b) { return _mm512_xor_si512(a, b); }
V_INLINE vi32 vi_min(vi32 a, vi32 b) { return _mm512_min_epi32(a, b); }
V_INLINE vi32 vi_max(vi32 a, vi32 b) { return _mm512_max_epi32(a, b); }
V_INLINE vm vi_eq(vi32 a, vi32 b) { return _mm512_cmpeq_epi32_mask(a, b); }
V_INLINE vm vi_gt(vi32 a, vi32 b) { return _mm512_cmpgt_epi32_mask(a, b); }
V_INLINE vi32 vi_sel(vm m, vi32 yes, vi32 no) { return _mm512_mask_blend_epi32(m, no, yes); }
#define vi_shl(a, k) _mm512_slli_epi32(a, k)
#define vi_shr(a, k) _mm512_srli_epi32(a, k)
#define vi_sar(a, k) _mm512_srai_epi32(a, k)

V_INLINE vf32 v_from_int(vi32 a) { return _mm512_cvtepi32_ps(a); }
V_INLINE vi32 v_to_int(vf32 a) { return _mm512_cvtps_epi32(a); }
V_INLINE vi32 v_trunc_int(vf32 a) { return _mm512_cvttps_epi32(a); }
V_INLINE vf32 v_scale(vf32 a, vf32 n) { return _mm512_scalef_ps(a, n); }

V_INLINE vi32 vi_load_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE vi32 vi_load_i8(const int8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i *)p)); }
V_INLINE vi32 vi_load_u16(const uint16_t *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE vi32 vi_load_i16(const int16_t *p) { return _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE void vi_store_8(void *p, vi32 a) { _mm_storeu_si128((__m128i *)p, _mm512_cvtepi32_epi8(a)); }
V_INLINE void vi_store_16(void *p, vi32 a) { _mm256_storeu_si256((__m256i *)p, _mm512_cvtepi32_epi16(a)); }

#define V_HALVES(op, a)                                                                                                \
    __m256 q = op##_256(_mm512_castps512_ps256(a), _mm512_extractf32x8_ps(a, 1));                                      \
    __m128 r = op##_128(_mm256_castps256_ps128(q), _mm256_extractf128_ps(q, 1));                                       \
    r = op##_128(r, _mm_movehl_ps(r, r));                                                                              \
    return _mm_cvtss_f32(op##_128(r, _mm_shuffle_ps(r, r, 1)))
#define V_ADD_256 _mm256_add_ps
#define V_ADD_128 _mm_add_ps
#define V_MUL_256 _mm256_mul_ps
#define V_MUL_128 _mm_mul_ps
#define V_MAX_256 _mm256_max_ps
#define V_MAX_128 _mm_max_ps
#define V_MIN_256 _mm256_min_ps
#define V_MIN_128 _mm_min_ps
V_INLINE float v_hsum(vf32 a) { V_HALVES(V_ADD, a); }
V_INLINE float v_hprod(vf32 a) { V_HALVES(V_MUL, a); }
V_INLINE float v_hmax(vf32 a) { V_HALVES(V_MAX, a); }
V_INLINE float v_hmin(vf32 a) { V_HALVES(V_MIN, a); }
#undef V_HALVES
V_INLINE int32_t vi_hsum(vi32 a) { return _mm512_reduce_add_epi32(a); }

V_INLINE vf32 v_load_f16(const uint16_t *p) { return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p)); }
V_INLINE void v_store_f16(uint16_t *p, vf32 a)
{
    _mm256_storeu_si256((__m256i *)p, _mm512_cvtps_ph(a, _MM_FROUND_TO_NEAREST_INT));
}

#include "kern/simd/common.h"

#endif
