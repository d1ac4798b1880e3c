#include <math.h>
#include <string.h>

#include "ops/cast.h"
#include "ops/storage.h"
#include "tensor/element.h"

static uint64_t double_to_u64(double v)
{
    if (v >= 0x1p64) return UINT64_MAX;
    return v >= 0x1p63 ? (uint64_t)v : (uint64_t)sdx_double_to_i64(v);
}

#define T float
#define FN(name) name##_f32
#define T_FLOAT 1
#include "ops/cast_tmpl.h"
#define T double
#define FN(name) name##_f64
#define T_FLOAT 1
#include "ops/cast_tmpl.h"
#define T int8_t
#define FN(name) name##_i8
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T uint8_t
#define FN(name) name##_u8
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T int16_t
#define FN(name) name##_i16
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T uint16_t
#define FN(name) name##_u16
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T int32_t
#define FN(name) name##_i32
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T uint32_t
#define FN(name) name##_u32
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T int64_t
#define FN(name) name##_i64
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T uint64_t
#define FN(name) name##_u64
#define T_FLOAT 0
#include "ops/cast_tmpl.h"
#define T uint8_t /* bool: any nonzero byte is true */
#define FN(name) name##_bool
#define T_FLOAT 0
#include "ops/cast_tmpl.h"

typedef void (*CastFn)(DType to, void *dst, const void *src, int64_t n);

static const CastFn from_native[DT_COUNT] = {
    [DT_FLOAT] = cast_f32, [DT_DOUBLE] = cast_f64, [DT_INT8] = cast_i8,   [DT_UINT8] = cast_u8,
    [DT_INT16] = cast_i16, [DT_UINT16] = cast_u16, [DT_INT32] = cast_i32, [DT_UINT32] = cast_u32,
    [DT_INT64] = cast_i64, [DT_UINT64] = cast_u64, [DT_BOOL] = cast_bool,
};

/* -- small floats -------------------------------------------------------------------------------------------------- */

/* A double as float rounded to odd, so that rounding the float once more gives what rounding the double would. */
static float round_to_odd(double d)
{
    float f = (float)d;
    if ((double)f == d || isnan(d) || isinf(f)) return f;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    if (fabs((double)f) > fabs(d)) bits--;
    bits |= 1;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint8_t sdx_cast_e8m0(float v, CastMode m)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    unsigned e = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
    uint8_t overflow = m.no_saturate ? 0xff : 0xfe;
    if (isnan(v)) return 0xff;
    if (isinf(v)) return overflow;
    if (v == 0) return m.no_saturate ? 0xff : 0;
    if (m.e8m0 == CAST_UP) e += mantissa != 0;
    if (m.e8m0 == CAST_NEAREST) e += mantissa > 0x400000 || (mantissa == 0x400000 && e > 0);
    return e > 0xfe ? overflow : (uint8_t)e;
}

uint8_t sdx_cast_f8(DType to, float v, bool no_saturate)
{
    uint8_t sign = signbit(v) ? 0x80 : 0;
    float a = fabsf(v);
    if (!no_saturate || isnan(v)) return (uint8_t)sdx_element_from_float(to, v);
    /* The first magnitude that rounds beyond the largest finite one; a tie is even for E4M3FN's 448. */
    switch (to) {
    case DT_FLOAT8E4M3FN: return a > 464.f ? sign | 0x7f : (uint8_t)sdx_element_from_float(to, v);
    case DT_FLOAT8E4M3FNUZ: return a >= 248.f ? 0x80 : (uint8_t)sdx_element_from_float(to, v);
    case DT_FLOAT8E5M2: return a >= 61440.f ? sign | 0x7c : (uint8_t)sdx_element_from_float(to, v);
    case DT_FLOAT8E5M2FNUZ: return a >= 61440.f ? 0x80 : (uint8_t)sdx_element_from_float(to, v);
    default: return (uint8_t)sdx_element_from_float(to, v);
    }
}

static void narrow_mode(DType to, void *dst, int64_t di, const float *x, int64_t n, CastMode m)
{
    bool plain = to == DT_FLOAT16 || to == DT_BFLOAT16 || (to != DT_FLOAT8E8M0 && !m.no_saturate);
    if (plain) {
        sdx_storage_narrow(to, dst, di, x, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        sdx_element_set_bits(to, dst, di + i,
                             to == DT_FLOAT8E8M0 ? sdx_cast_e8m0(x[i], m) : sdx_cast_f8(to, x[i], m.no_saturate));
}

/* -- blocks -------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 256 };

static bool is_native(DType d) { return from_native[d] != NULL; }

/* From a native block to whatever `to` is. */
static void cast_out(DType to, void *dst, int64_t di, DType from, const void *x, int64_t n, CastMode m)
{
    CastFn fn = from_native[from];
    if (is_native(to)) {
        fn(to, (char *)dst + (size_t)di * sdx_dtype_size(to), x, n);
        return;
    }
    if (sdx_is_storage_float(to)) {
        float f[BLOCK];
        if (from == DT_FLOAT) {
            narrow_mode(to, dst, di, x, n, m);
            return;
        }
        double d[BLOCK];
        fn(DT_DOUBLE, d, x, n);
        for (int64_t i = 0; i < n; i++) f[i] = round_to_odd(d[i]);
        narrow_mode(to, dst, di, f, n, m);
        return;
    }
    uint8_t low[BLOCK]; /* packed integers keep the low bits */
    fn(DT_UINT8, low, x, n);
    sdx_storage_pack(to, dst, di, low, n);
}

void sdx_cast_block_mode(DType to, void *dst, int64_t di, DType from, const void *src, int64_t si, int64_t n,
                         CastMode m)
{
    if (is_native(from) && is_native(to)) {
        cast_out(to, dst, di, from, (const char *)src + (size_t)si * sdx_dtype_size(from), n, m);
        return;
    }
    for (int64_t done = 0; done < n; done += BLOCK) {
        int64_t k = n - done < BLOCK ? n - done : BLOCK;
        if (is_native(from)) {
            cast_out(to, dst, di + done, from, (const char *)src + (size_t)(si + done) * sdx_dtype_size(from), k, m);
        } else if (sdx_is_storage_float(from)) {
            float f[BLOCK];
            sdx_storage_widen(from, src, si + done, f, k);
            cast_out(to, dst, di + done, DT_FLOAT, f, k, m);
        } else {
            int8_t v[BLOCK];
            for (int64_t i = 0; i < k; i++) v[i] = (int8_t)sdx_element_get_packed(from, src, si + done + i);
            cast_out(to, dst, di + done, DT_INT8, v, k, m);
        }
    }
}

void sdx_cast_block(DType to, void *dst, int64_t di, DType from, const void *src, int64_t si, int64_t n)
{
    sdx_cast_block_mode(to, dst, di, from, src, si, n, (CastMode){ 0 });
}
