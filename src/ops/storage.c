#include "ops/storage.h"

#include <pthread.h>
#include <string.h>

#include "tensor/element.h"

static inline float float_of(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t bits_of(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

/* The three ranges of a half: infinities and NaN keep an all-ones exponent; normal numbers have their exponent moved by
 * 127 - 15; subnormal ones are multiples of 2^-24. */
static inline float widen_f16(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, mag = (uint32_t)(h & 0x7fff) << 13;
    uint32_t normal = (h & 0x7c00) == 0x7c00 ? mag | 0x7f800000 : mag + (112u << 23);
    uint32_t tiny = bits_of((float)(h & 0x3ff) * 0x1p-24f);
    return float_of(sign | ((h & 0x7c00) ? normal : tiny));
}

/* Adding 0.5 to a float below 2^-14 leaves its multiple of 2^-24, rounded to nearest even, in the low bits of the sum. */
static inline uint16_t narrow_f16(float f)
{
    uint32_t bits = bits_of(f), mag = bits & 0x7fffffff;
    uint32_t normal = ((mag + 0xfff + (mag >> 13 & 1)) >> 13) - (112u << 10);
    uint32_t tiny = bits_of(float_of(mag) + 0.5f) - bits_of(0.5f);
    uint32_t h = mag < 0x38800000 ? tiny : normal;
    if (mag >= 0x477ff000) h = 0x7c00;
    if (mag > 0x7f800000) h = 0x7e00;
    return (uint16_t)(h | (bits >> 16 & 0x8000));
}

static inline uint16_t narrow_bf16(float f)
{
    uint32_t bits = bits_of(f);
    uint32_t r = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    if ((bits & 0x7fffffff) > 0x7f800000) r = bits >> 16 | 0x40;
    return (uint16_t)r;
}

/* Values of all codes of the types of at most 8 bits. */
static float codes[DT_COUNT][256];
static pthread_once_t codes_once = PTHREAD_ONCE_INIT;

static void codes_fill(void)
{
    for (int d = 1; d < DT_COUNT; d++) {
        int bits = sdx_dtype_bits((DType)d);
        if (bits > 8 || !sdx_is_storage_float((DType)d)) continue;
        for (unsigned i = 0; i < 1u << bits; i++) codes[d][i] = sdx_element_to_float((DType)d, i);
    }
}

void sdx_storage_widen(DType d, const void *data, int64_t from, float *dst, int64_t n)
{
    if (d == DT_FLOAT16) {
        const uint16_t *x = (const uint16_t *)data + from;
        for (int64_t i = 0; i < n; i++) dst[i] = widen_f16(x[i]);
        return;
    }
    if (d == DT_BFLOAT16) {
        const uint16_t *x = (const uint16_t *)data + from;
        for (int64_t i = 0; i < n; i++) dst[i] = float_of((uint32_t)x[i] << 16);
        return;
    }
    pthread_once(&codes_once, codes_fill);
    const float *table = codes[d];
    if (sdx_dtype_bits(d) == 8) {
        const uint8_t *x = (const uint8_t *)data + from;
        for (int64_t i = 0; i < n; i++) dst[i] = table[x[i]];
        return;
    }
    for (int64_t i = 0; i < n; i++) dst[i] = table[sdx_element_bits(d, data, from + i)];
}

void sdx_storage_narrow(DType d, void *data, int64_t to, const float *src, int64_t n)
{
    if (d == DT_FLOAT16) {
        uint16_t *y = (uint16_t *)data + to;
        for (int64_t i = 0; i < n; i++) y[i] = narrow_f16(src[i]);
        return;
    }
    if (d == DT_BFLOAT16) {
        uint16_t *y = (uint16_t *)data + to;
        for (int64_t i = 0; i < n; i++) y[i] = narrow_bf16(src[i]);
        return;
    }
    for (int64_t i = 0; i < n; i++) sdx_element_set_bits(d, data, to + i, sdx_element_from_float(d, src[i]));
}

void sdx_storage_unpack(DType d, const void *data, int64_t from, uint8_t *dst, int64_t n)
{
    for (int64_t i = 0; i < n; i++) dst[i] = (uint8_t)sdx_element_bits(d, data, from + i);
}

void sdx_storage_pack(DType d, void *data, int64_t to, const uint8_t *src, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sdx_element_set_bits(d, data, to + i, src[i]);
}
