/* kern/quant/quant_body.h - quantisation in the vocabulary of kern/simd/. */
#include "kern/map/act_body.h"

/* Clamped while still a float: lo - zero and hi - zero are whole numbers, so rounding does not pass them. */
V_INLINE vi32 quantize(vf32 x, vf32 scale, vf32 lo, vf32 hi, vi32 zero)
{
    vf32 t = v_min(v_max(v_div(x, scale), lo), hi);
    return vi_add(v_to_int(t), zero);
}
V_INLINE vf32 dequantize(vi32 q, vf32 scale, vi32 zero) { return v_mul(v_from_int(vi_sub(q, zero)), scale); }

#define QUANTIZE(name, T, STORE)                                                                                       \
    static void quantize_##name(void *q_, const float *x, size_t n, float scale, int32_t zero, int32_t lo, int32_t hi) \
    {                                                                                                                  \
        T *q = q_;                                                                                                     \
        const vf32 s = v_set(scale), l = v_set((float)(lo - zero)), h = v_set((float)(hi - zero));                     \
        const vi32 z = vi_set(zero);                                                                                   \
        for (; n >= VW; n -= VW, x += VW, q += VW) STORE(q, quantize(v_load(x), s, l, h, z));                          \
        if (n) {                                                                                                       \
            T t[VW];                                                                                                   \
            STORE(t, quantize(v_load_n(x, n), s, l, h, z));                                                            \
            memcpy(q, t, n * sizeof(T));                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    static void quantize_each_##name(void *q_, const float *x, size_t n, const float *scale, const int32_t *zero,      \
                                     int32_t lo, int32_t hi)                                                           \
    {                                                                                                                  \
        T *q = q_, t[VW];                                                                                              \
        for (size_t i = 0; i < n; i += VW) {                                                                           \
            const size_t w = n - i < VW ? n - i : VW;                                                                  \
            const vi32 z = zero ? vi_load_n(zero + i, w) : vi_set(0);                                                  \
            const vf32 l = v_from_int(vi_sub(vi_set(lo), z)), h = v_from_int(vi_sub(vi_set(hi), z));                   \
            STORE(t, quantize(v_load_upto(x + i, w), v_load_or(scale + i, w, 1), l, h, z));                            \
            memcpy(q + i, t, w * sizeof(T));                                                                           \
        }                                                                                                              \
    }
QUANTIZE(u8, uint8_t, vi_store_8)
QUANTIZE(i8, int8_t, vi_store_8)
QUANTIZE(u16, uint16_t, vi_store_16)
QUANTIZE(i16, int16_t, vi_store_16)

#define DEQUANTIZE(name, T, LOAD)                                                                                      \
    static void dequantize_##name(float *x, const void *q_, size_t n, float scale, int32_t zero)                       \
    {                                                                                                                  \
        const T *q = q_;                                                                                               \
        const vf32 s = v_set(scale);                                                                                   \
        const vi32 z = vi_set(zero);                                                                                   \
        for (; n >= VW; n -= VW, x += VW, q += VW) v_store(x, dequantize(LOAD(q), s, z));                              \
        if (n) {                                                                                                       \
            T t[VW] = { 0 };                                                                                           \
            memcpy(t, q, n * sizeof(T));                                                                               \
            v_store_n(x, dequantize(LOAD(t), s, z), n);                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void dequantize_each_##name(float *x, const void *q_, size_t n, const float *scale, const int32_t *zero)    \
    {                                                                                                                  \
        const T *q = q_;                                                                                               \
        for (size_t i = 0; i < n; i += VW) {                                                                           \
            const size_t w = n - i < VW ? n - i : VW;                                                                  \
            T t[VW] = { 0 };                                                                                           \
            memcpy(t, q + i, w * sizeof(T));                                                                           \
            const vi32 z = zero ? vi_load_n(zero + i, w) : vi_set(0);                                                  \
            v_store_upto(x + i, dequantize(LOAD(t), v_load_upto(scale + i, w), z), w);                                 \
        }                                                                                                              \
    }
DEQUANTIZE(u8, uint8_t, vi_load_u8)
DEQUANTIZE(i8, int8_t, vi_load_i8)
DEQUANTIZE(u16, uint16_t, vi_load_u16)
DEQUANTIZE(i16, int16_t, vi_load_i16)
DEQUANTIZE(i32, int32_t, vi_load)

static void range(float out[2], const float *x, size_t n)
{
    vf32 lo[4], hi[4];
    V_UNROLL for (int k = 0; k < 4; k++) lo[k] = hi[k] = v_zero();
    size_t i = 0;
    for (; n - i >= 4 * VW; i += 4 * VW) V_UNROLL for (int k = 0; k < 4; k++)
        {
            const vf32 v = v_load(x + i + k * VW);
            lo[k] = v_min(v, lo[k]);
            hi[k] = v_max(v, hi[k]);
        }
    for (; i < n; i += VW) {
        const vf32 v = v_load_n(x + i, n - i < VW ? n - i : VW);
        lo[0] = v_min(v, lo[0]);
        hi[0] = v_max(v, hi[0]);
    }
    V_UNROLL for (int k = 1; k < 4; k++)
    {
        lo[0] = v_min(lo[k], lo[0]);
        hi[0] = v_max(hi[k], hi[0]);
    }
    out[0] = v_hmin(lo[0]);
    out[1] = v_hmax(hi[0]);
}

static float dot_blocks(const DotBlocks *d)
{
    const bool halves = d->bits == 4;
    const size_t bytes = d->bytes;
    const vi32 low = vi_set(halves ? 15 : 255);
    const uint8_t *q = d->q;
    const float *a = d->a, *odd = halves ? a + d->blocks * bytes : NULL;
    vf32 sum = v_zero();
    for (size_t b = 0; b < d->blocks; b++, q += bytes, a += bytes) {
        unsigned zero = halves ? 8 : 128;
        if (d->zero) zero = halves ? (d->zero[b / 2] >> (b % 2 * 4)) & 15 : d->zero[b];
        const vi32 z = vi_set((int32_t)zero);
        vf32 s0 = v_zero(), s1 = v_zero();
        for (size_t i = 0; i < bytes; i += VW) {
            const vi32 v = vi_load_u8(q + i);
            s0 = v_fma(v_from_int(vi_sub(vi_and(v, low), z)), v_load(a + i), s0);
            if (halves) s1 = v_fma(v_from_int(vi_sub(vi_shr(v, 4), z)), v_load(odd + i), s1);
        }
        if (halves) odd += bytes;
        sum = v_fma(v_add(s0, s1), v_set(d->scale[b]), sum);
    }
    return v_hsum(sum);
}

static float dot_zeros(const float *scale, const uint8_t *zero, const float *sums, size_t blocks)
{
    const float *odd = sums + (blocks + 1) / 2;
    vf32 sum = v_zero();
    size_t i = 0;
    for (; blocks / 2 - i >= VW; i += VW) {
        const vi32 z = zero ? vi_load_u8(zero + i) : vi_set(0x88);
        sum = v_fma(v_mul(v_load_even(scale + 2 * i), v_from_int(vi_and(z, vi_set(15)))), v_load(sums + i), sum);
        sum = v_fma(v_mul(v_load_even(scale + 2 * i + 1), v_from_int(vi_shr(z, 4))), v_load(odd + i), sum);
    }
    float rest = v_hsum(sum);
    for (size_t b = 2 * i; b < blocks; b++) {
        const int z = zero ? (zero[b / 2] >> (b % 2 * 4)) & 15 : 8;
        rest += scale[b] * (float)z * (b % 2 ? odd : sums)[b / 2];
    }
    return rest;
}

void ISA(sdx_kern_init_quant)(Kern *k);
void ISA(sdx_kern_init_quant)(Kern *k)
{
#define SET_D(t) k->dequantize_f32[SDX_Q_##t] = dequantize_##t, k->dequantize_each_f32[SDX_Q_##t] = dequantize_each_##t
#define SET(t) SET_D(t), k->quantize_f32[SDX_Q_##t] = quantize_##t, k->quantize_each_f32[SDX_Q_##t] = quantize_each_##t
    SET(u8);
    SET(i8);
    SET(u16);
    SET(i16);
    SET_D(i32);
#undef SET
#undef SET_D
    k->range_f32 = range;
    k->dot_blocks_f32 = dot_blocks;
    k->dot_zeros_f32 = dot_zeros;
}
