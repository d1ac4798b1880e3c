#include "tensor/element.h"

#include <math.h>
#include <string.h>

/* Layout of the storage floats: value = (-1)^s 2^(e - bias) 1.m, subnormals below, with each type's specials. */
typedef struct FloatFormat {
    uint8_t exponent_bits, mantissa_bits;
    int16_t bias;
    enum { IEEE, FN, FNUZ, FINITE } specials; /* Inf and NaN; NaN at all ones; NaN at -0, one zero; neither */
} FloatFormat;

static const FloatFormat formats[DT_COUNT] = {
    [DT_FLOAT16] = { 5, 10, 15, IEEE },    [DT_BFLOAT16] = { 8, 7, 127, IEEE },
    [DT_FLOAT8E4M3FN] = { 4, 3, 7, FN },   [DT_FLOAT8E4M3FNUZ] = { 4, 3, 8, FNUZ },
    [DT_FLOAT8E5M2] = { 5, 2, 15, IEEE },  [DT_FLOAT8E5M2FNUZ] = { 5, 2, 16, FNUZ },
    [DT_FLOAT4E2M1] = { 2, 1, 1, FINITE }, [DT_FLOAT6E2M3] = { 2, 3, 1, FINITE },
    [DT_FLOAT6E3M2] = { 3, 2, 3, FINITE },
};

static uint64_t stream_bits(const uint8_t *p, int64_t i, unsigned bits)
{
    uint64_t at = (uint64_t)i * bits, byte = at / 8, shift = at % 8;
    unsigned word = p[byte];
    if (shift + bits > 8) word |= (unsigned)p[byte + 1] << 8;
    return word >> shift & ((1u << bits) - 1);
}

static void stream_set(uint8_t *p, int64_t i, unsigned bits, uint64_t v)
{
    uint64_t at = (uint64_t)i * bits, byte = at / 8, shift = at % 8;
    unsigned mask = ((1u << bits) - 1) << shift, word = (unsigned)(v << shift) & mask;
    p[byte] = (uint8_t)((p[byte] & ~mask) | word);
    if (shift + bits > 8) p[byte + 1] = (uint8_t)((p[byte + 1] & ~(mask >> 8)) | word >> 8);
}

uint64_t sdx_element_bits(DType d, const void *data, int64_t i)
{
    unsigned bits = (unsigned)sdx_dtype_bits(d);
    uint64_t v = 0;
    if (bits < 8) return stream_bits(data, i, bits);
    memcpy(&v, (const char *)data + (size_t)i * (bits / 8), bits > 64 ? 8 : bits / 8);
    return v;
}

void sdx_element_set_bits(DType d, void *data, int64_t i, uint64_t bits)
{
    unsigned width = (unsigned)sdx_dtype_bits(d);
    if (width < 8)
        stream_set(data, i, width, bits);
    else
        memcpy((char *)data + (size_t)i * (width / 8), &bits, width > 64 ? 8 : width / 8);
}

int64_t sdx_element_get_packed(DType d, const void *data, int64_t i)
{
    unsigned width = (unsigned)sdx_dtype_bits(d);
    int64_t v = (int64_t)stream_bits(data, i, width);
    bool negative = sdx_dtype_class(d) == 'I' && v >> (width - 1) & 1;
    return negative ? v - ((int64_t)1 << width) : v;
}

float sdx_element_to_float(DType d, uint64_t bits)
{
    if (d == DT_FLOAT8E8M0) return bits == 0xff ? NAN : ldexpf(1.f, (int)bits - 127);
    const FloatFormat *f = &formats[d];
    int m_bits = f->mantissa_bits, e_max = (1 << f->exponent_bits) - 1;
    int m = (int)(bits & ((1u << m_bits) - 1)), e = (int)(bits >> m_bits) & e_max;
    bool negative = bits >> (m_bits + f->exponent_bits) & 1;
    if (f->specials == FNUZ && negative && e == 0 && m == 0) return NAN;
    if (f->specials == FN && e == e_max && m == (1 << m_bits) - 1) return negative ? -NAN : NAN;
    if (f->specials == IEEE && e == e_max) return m ? (negative ? -NAN : NAN) : (negative ? -INFINITY : INFINITY);
    float v = e ? ldexpf((float)(m + (1 << m_bits)), e - f->bias - m_bits) : ldexpf((float)m, 1 - f->bias - m_bits);
    return negative ? -v : v;
}

/* To E8M0, saturating, rounding up (away from zero): the default of Cast. */
static uint64_t e8m0_from_float(float v)
{
    v = fabsf(v);
    if (isnan(v)) return 0xff;
    if (isinf(v)) return 0xfe;
    if (v == 0) return 0;
    int e;
    float m = frexpf(v, &e); /* v = m 2^e, m in [0.5, 1) */
    int b = e - 1 + 127 + (m > 0.5f);
    return b < 0 ? 0 : b > 0xfe ? 0xfe : (uint64_t)b;
}

uint64_t sdx_element_from_float(DType d, float v)
{
    if (d == DT_FLOAT8E8M0) return e8m0_from_float(v);
    const FloatFormat *f = &formats[d];
    int m_bits = f->mantissa_bits, e_max = (1 << f->exponent_bits) - 1;
    uint64_t sign = signbit(v) ? (uint64_t)1 << (m_bits + f->exponent_bits) : 0;
    uint64_t inf = (uint64_t)e_max << m_bits, all = inf | ((1u << m_bits) - 1);
    /* Largest finite magnitude: below the specials of the type. */
    uint64_t max = f->specials == IEEE ? inf - 1 : f->specials == FN ? all - 1 : all;
    if (isnan(v)) {
        if (f->specials == IEEE) return sign | inf | (uint64_t)1 << (m_bits - 1);
        if (f->specials == FNUZ) return (uint64_t)1 << (m_bits + f->exponent_bits);
        return f->specials == FN ? sign | all : (uint64_t)1 << (m_bits + f->exponent_bits);
    }
    bool wide = d == DT_FLOAT16 || d == DT_BFLOAT16; /* these overflow to infinity */
    if (isinf(v)) return sign | (wide ? inf : max);
    if (v == 0) return f->specials == FNUZ ? 0 : sign;
    int e;
    frexpf(v, &e);
    int unit = e - 1; /* |v| = 1.x 2^unit */
    if (unit < 1 - f->bias) unit = 1 - f->bias;
    double scaled = ldexp(fabs((double)v), m_bits - unit);
    uint64_t q = (uint64_t)nearbyint(scaled); /* mantissa with its leading one, or a subnormal's */
    uint64_t bits = q + ((uint64_t)(unit + f->bias - 1) << m_bits);
    if (bits > max) bits = wide ? inf : max;
    return bits == 0 && f->specials == FNUZ ? 0 : sign | bits;
}

int64_t sdx_double_to_i64(double v)
{
    if (isnan(v)) return 0;
    if (v >= 0x1p63) return INT64_MAX;
    return v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}
