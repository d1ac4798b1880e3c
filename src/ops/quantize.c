/* QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear.
 *
 *   q = saturate(round(x / scale) + zero_point)      x = (q - zero_point) scale
 *
 * One scale for the tensor, one per index of an axis, or one per block along an axis. Rounding is half to even; NaN
 * becomes the lowest integer. */
#include <inttypes.h>
#include <math.h>

#include "ops/cast.h"
#include "ops/elementwise.h"
#include "ops/shapes.h"
#include "ops/storage.h"
#include "ops/typesets.h"

typedef struct QuantAttrs {
    int64_t axis, block_size, output_dtype, precision, saturate;
} QuantAttrs;
static const AttrSpec quantize_attrs[] = { OP_INT(QuantAttrs, axis, 1),         OP_INT(QuantAttrs, block_size, 0),
                                           OP_INT(QuantAttrs, output_dtype, 0), OP_INT(QuantAttrs, precision, 0),
                                           OP_INT(QuantAttrs, saturate, 1),     OP_ATTR_END };
static const AttrSpec dequantize_attrs[] = { OP_INT(QuantAttrs, axis, 1), OP_INT(QuantAttrs, block_size, 0),
                                             OP_INT(QuantAttrs, output_dtype, 0), OP_ATTR_END };

/* -- where the scales lie ------------------------------------------------------------------------------------------ */

/* The tensor as `rows` rows; row r has the scales from first(r) on, `step` (0 or 1) apart. */
typedef struct QuantRows {
    int64_t rows, n;       /* of a row; the last row of an axis may be shorter when it is cut in blocks */
    int64_t axis, inner;   /* size of the axis, elements behind it */
    int64_t blocks, block; /* per axis index; block 0: not blocked */
    int step;
    enum { PER_TENSOR, PER_AXIS, PER_AXIS_LAST, PER_BLOCK, PER_BLOCK_LAST } kind;
} QuantRows;

/* NULL, or what does not fit. */
static const char *quant_rows(const QuantAttrs *a, const Tensor *x, const Tensor *scale, QuantRows *q)
{
    int axis;
    *q = (QuantRows){ .kind = PER_TENSOR, .n = SDX_EW_GRAIN };
    int64_t count = sdx_tensor_count(x);
    if (sdx_tensor_count(scale) == 1 && scale->rank <= 1) {
        q->rows = (count + q->n - 1) / q->n;
        return NULL;
    }
    if (!axis_of(a->axis, x->rank, &axis)) return "axis is outside the rank";
    q->axis = x->dims[axis];
    q->inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    int64_t outer = sdx_dims_product(x->dims, 0, axis);
    if (!a->block_size) {
        if (scale->rank != 1 || scale->dims[0] != q->axis)
            return "scale has neither one element nor one for each index of the axis";
        q->kind = q->inner == 1 ? PER_AXIS_LAST : PER_AXIS;
        q->rows = q->kind == PER_AXIS_LAST ? outer : outer * q->axis;
        q->n = q->kind == PER_AXIS_LAST ? q->axis : q->inner;
        q->step = q->kind == PER_AXIS_LAST;
        return NULL;
    }
    if (a->block_size < 0 || scale->rank != x->rank)
        return "block_size is negative, or scale does not have the rank of the input";
    q->block = a->block_size;
    q->blocks = q->axis / q->block + (q->axis % q->block != 0);
    for (int k = 0; k < x->rank; k++)
        if (scale->dims[k] != (k == axis ? q->blocks : x->dims[k]))
            return "scale does not have one element for each block";
    q->kind = q->inner == 1 ? PER_BLOCK_LAST : PER_BLOCK;
    q->rows = q->kind == PER_BLOCK_LAST ? outer * q->blocks : outer * q->axis;
    q->n = q->kind == PER_BLOCK_LAST ? q->block : q->inner;
    q->step = q->kind == PER_BLOCK;
    return NULL;
}

/* Row r: its first element, its length, its first scale. */
static void quant_row(const QuantRows *q, int64_t count, int64_t r, int64_t *at, int64_t *n, int64_t *scale)
{
    *n = q->n;
    *at = r * q->n;
    switch (q->kind) {
    case PER_TENSOR:
        *scale = 0;
        if (*n > count - *at) *n = count - *at;
        break;
    case PER_AXIS: *scale = r % q->axis; break;
    case PER_AXIS_LAST: *scale = 0; break;
    case PER_BLOCK: *scale = (r / q->axis * q->blocks + r % q->axis / q->block) * q->inner; break;
    case PER_BLOCK_LAST: {
        int64_t outer = r / q->blocks, b = r % q->blocks;
        *scale = r;
        *at = outer * q->axis + b * q->block;
        if (*n > q->axis - b * q->block) *n = q->axis - b * q->block;
        break;
    }
    }
}

/* -- jobs ---------------------------------------------------------------------------------------------------------- */

enum { BLOCK = 512 };

typedef struct QuantJob {
    QuantRows q;
    int64_t count;
    DType from, to, quotient; /* quotient: x / scale is rounded to it; DOUBLE for integers */
    const void *x;
    void *y;
    const float *scale, *zero; /* zero NULL: 0 */
    const int32_t *zero_int;   /* of integers */
    const double *exact;       /* for int32: the scales when quantising, the zero points when not */
    int32_t lo, hi;
    bool no_saturate;
    const Kern *kern;
} QuantJob;

/* Kernel of an integer type; those below 8 bits take a byte each there. */
static int quant_kernel(DType d)
{
    bool is_signed = sdx_dtype_class(d) == 'I';
    switch (sdx_dtype_bits(d)) {
    case 32: return SDX_Q_i32;
    case 16: return is_signed ? SDX_Q_i16 : SDX_Q_u16;
    default: return is_signed ? SDX_Q_i8 : SDX_Q_u8;
    }
}

/* k elements of x as float: in place, or in `wide`. */
static const float *floats_at(const QuantJob *j, int64_t at, int64_t k, float *wide)
{
    if (j->from == DT_FLOAT) return (const float *)j->x + at;
    sdx_cast_block(DT_FLOAT, wide, 0, j->from, j->x, at, k);
    return wide;
}

/* k quotients. */
static void quotients(const QuantJob *j, int64_t at, int64_t scale, int64_t k, float *v)
{
    int step = j->q.step;
    if (j->quotient == DT_DOUBLE) {
        double d[BLOCK];
        sdx_cast_block(DT_DOUBLE, d, 0, j->from, j->x, at, k);
        for (int64_t i = 0; i < k; i++) d[i] /= j->exact[scale + i * step];
        /* Integers are rounded here: narrowing to float first would round twice. */
        for (int64_t i = 0; i < k; i++) v[i] = (float)(sdx_is_storage_float(j->to) ? d[i] : nearbyint(d[i]));
        return;
    }
    float wide[BLOCK];
    const float *x = floats_at(j, at, k, wide), *s = j->scale + scale;
    for (int64_t i = 0; i < k; i++) v[i] = x[i] / s[i * step];
    if (j->quotient != DT_FLOAT) {
        uint16_t half[BLOCK];
        sdx_storage_narrow(j->quotient, half, 0, v, k);
        sdx_storage_widen(j->quotient, half, 0, v, k);
    }
}

static void quantize_floats(const QuantJob *j, int64_t at, int64_t scale, int64_t k)
{
    float v[BLOCK];
    quotients(j, at, scale, k, v);
    for (int64_t i = 0; j->zero && i < k; i++) v[i] += j->zero[scale + i * j->q.step];
    sdx_cast_block_mode(j->to, j->y, at, DT_FLOAT, v, 0, k, (CastMode){ .no_saturate = j->no_saturate });
}

static void quantize_integers(const QuantJob *j, int64_t at, int64_t scale, int64_t k)
{
    float v[BLOCK], ones[BLOCK];
    uint8_t bytes[BLOCK];
    const float *x = v, *s = j->scale + scale;
    const int32_t *zero = j->zero_int ? j->zero_int + scale : NULL;
    int type = quant_kernel(j->to);
    bool packed = sdx_is_packed(j->to);
    void *q = packed ? (void *)bytes : (char *)j->y + (size_t)at * sdx_dtype_size(j->to);
    if (j->quotient == DT_FLOAT) {
        x = floats_at(j, at, k, v);
    } else { /* rounded as asked for, what is left to divide by is 1 */
        quotients(j, at, scale, k, v);
        for (int64_t i = 0; i < (j->q.step ? k : 1); i++) ones[i] = 1;
        s = ones;
    }
    if (j->q.step)
        j->kern->quantize_each_f32[type](q, x, (size_t)k, s, zero, j->lo, j->hi);
    else
        j->kern->quantize_f32[type](q, x, (size_t)k, *s, zero ? *zero : 0, j->lo, j->hi);
    if (packed) sdx_storage_pack(j->to, j->y, at, bytes, k);
}

static void quantize_block(const QuantJob *j, int64_t at, int64_t scale, int64_t k)
{
    if (sdx_is_storage_float(j->to))
        quantize_floats(j, at, scale, k);
    else
        quantize_integers(j, at, scale, k);
}

/* The integers at `at` to floats, by the kernel. */
static void dequantize_integers(const QuantJob *j, int64_t at, int64_t scale, int64_t k, float *y)
{
    int8_t bytes[BLOCK];
    const int32_t *zero = j->zero_int ? j->zero_int + scale : NULL;
    int type = quant_kernel(j->from);
    const void *q = (const char *)j->x + (size_t)at * sdx_dtype_size(j->from);
    if (sdx_is_packed(j->from)) {
        sdx_cast_block(DT_INT8, bytes, 0, j->from, j->x, at, k);
        q = bytes;
    }
    if (j->q.step)
        j->kern->dequantize_each_f32[type](y, q, (size_t)k, j->scale + scale, zero);
    else
        j->kern->dequantize_f32[type](y, q, (size_t)k, j->scale[scale], zero ? *zero : 0);
}

static void dequantize_block(const QuantJob *j, int64_t at, int64_t scale, int64_t k)
{
    float v[BLOCK], *y = j->to == DT_FLOAT ? (float *)j->y + at : v;
    const float *s = j->scale + scale, *zero = j->zero ? j->zero + scale : NULL;
    int step = j->q.step;
    if (j->from == DT_INT32 && zero) { /* differences of int32 are exact in double */
        const int32_t *x = (const int32_t *)j->x + at;
        for (int64_t i = 0; i < k; i++) y[i] = (float)((double)x[i] - j->exact[scale + i * step]) * s[i * step];
    } else if (!sdx_is_storage_float(j->from)) {
        dequantize_integers(j, at, scale, k, y);
    } else {
        sdx_cast_block(DT_FLOAT, v, 0, j->from, j->x, at, k);
        for (int64_t i = 0; i < k; i++) y[i] = (v[i] - (zero ? zero[i * step] : 0)) * s[i * step];
    }
    if (j->to != DT_FLOAT) sdx_cast_block(j->to, j->y, at, DT_FLOAT, y, 0, k);
}

static void quant_rows_run(const QuantJob *j, int64_t from, int64_t to,
                           void (*block)(const QuantJob *, int64_t, int64_t, int64_t))
{
    for (int64_t r = from; r < to; r++) {
        int64_t at, n, scale = 0;
        quant_row(&j->q, j->count, r, &at, &n, &scale);
        for (int64_t i = 0; i < n; i += BLOCK) block(j, at + i, scale + i * j->q.step, n - i < BLOCK ? n - i : BLOCK);
    }
}

static void quantize_range(void *arg, int64_t from, int64_t to, int worker)
{
    quant_rows_run(arg, from, to, quantize_block);
}
static void dequantize_range(void *arg, int64_t from, int64_t to, int worker)
{
    quant_rows_run(arg, from, to, dequantize_block);
}

static sdx_status quant_prepare(Prepare *p)
{
    p->state = (void *)p->kern;
    return SDX_OK;
}

/* Elements of t as `to`, on the run's heap. */
static sdx_status all_as(Run *r, const Tensor *t, DType to, void **out)
{
    Tensor as = *t;
    size_t nbytes;
    as.dtype = to;
    *out = sdx_tensor_nbytes(&as, &nbytes) ? sdx_run_heap(r, nbytes) : NULL;
    TRY_MEM(*out, r->err);
    sdx_cast_block(to, *out, 0, t->dtype, t->data, 0, sdx_tensor_count(t));
    return SDX_OK;
}

static sdx_status quant_begin(Run *r, QuantJob *j)
{
    const Tensor *x = &r->in[0]->t, *scale = &r->in[1]->t, *zero = DATUM_HAS(r, 2) ? &r->in[2]->t : NULL;
    const char *why = quant_rows(r->args, x, scale, &j->q);
    void *p;
    if (!why && zero && sdx_tensor_count(zero) != sdx_tensor_count(scale))
        why = "zero_point does not have the shape of scale";
    if (why) return sdx_run_fail(r, "%s", why);
    j->kern = r->state;
    j->from = x->dtype;
    j->x = x->data;
    j->count = sdx_tensor_count(x);
    TRY(all_as(r, scale, DT_FLOAT, &p));
    j->scale = p;
    if (zero) {
        TRY(all_as(r, zero, DT_FLOAT, &p));
        j->zero = p;
        TRY(all_as(r, zero, DT_INT32, &p));
        j->zero_int = p;
    }
    TRY(sdx_run_output(r, 0, j->to, x->rank, x->dims, &p));
    j->y = p;
    return SDX_OK;
}

static void quant_run(Run *r, QuantJob *j, RangeFn fn)
{
    int64_t grain = SDX_EW_GRAIN / (j->q.n ? j->q.n : 1) + 1;
    if (sdx_is_packed(j->to)) grain = j->q.rows; /* neighbours share bytes */
    if (j->count) sdx_run_range(r, j->q.rows, grain, fn, j);
}

/* -- QuantizeLinear ------------------------------------------------------------------------------------------------ */

static DType quantized_type(const QuantAttrs *a, DType zero)
{
    return zero != DT_NONE ? zero : a->output_dtype ? (DType)a->output_dtype : DT_UINT8;
}

#define TS_QUANT_21 (TS_U8 | TS_I8 | TS_U16 | TS_I16 | TS_INT4 | TS_F8)
#define TS_QUANT (TS_QUANT_21 | TS_F4 | TS_INT2 | TS_F6)

static sdx_status quantize_infer(Infer *c)
{
    const QuantAttrs *a = c->args;
    DType zero = INFER_HAS(c, 2) ? c->in[2]->elem : DT_NONE;
    if (a->output_dtype < 0 || a->output_dtype >= DT_COUNT ||
        (a->output_dtype && !sdx_dtype_in((DType)a->output_dtype, TS_QUANT)))
        return sdx_infer_fail(c, "output_dtype %" PRId64 " is not a type to quantise to", a->output_dtype);
    if (zero && a->output_dtype && zero != (DType)a->output_dtype)
        return sdx_infer_fail(c, "output_dtype is %s, the zero point is of %s", sdx_dtype_name((DType)a->output_dtype),
                              sdx_dtype_name(zero));
    if (a->precision && a->precision != DT_FLOAT && a->precision != DT_FLOAT16 && a->precision != DT_BFLOAT16 &&
        a->precision != DT_DOUBLE)
        return sdx_infer_fail(c, "precision %" PRId64 " is not a float type", a->precision);
    if (!(INFER_HAS(c, 2) && zero == DT_NONE)) c->out[0].elem = quantized_type(a, zero);
    return sdx_infer_same_shape(c);
}

/* Least and greatest integer of a type of at most 16 bits. */
static void integer_range(DType d, int32_t *lo, int32_t *hi)
{
    int bits = sdx_dtype_bits(d);
    bool is_signed = sdx_dtype_class(d) == 'I';
    *lo = is_signed ? -(1 << (bits - 1)) : 0;
    *hi = is_signed ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;
}

static sdx_status quantize_run(Run *r)
{
    const QuantAttrs *a = r->args;
    DType x = r->in[0]->t.dtype, s = r->in[1]->t.dtype;
    QuantJob j = { .to = quantized_type(a, DATUM_HAS(r, 2) ? r->in[2]->t.dtype : DT_NONE),
                   .no_saturate = !a->saturate };
    j.quotient = a->precision ? (DType)a->precision : x == DT_INT32 ? DT_DOUBLE : x == s ? x : DT_FLOAT;
    if (!sdx_is_storage_float(j.to)) integer_range(j.to, &j.lo, &j.hi);
    TRY(quant_begin(r, &j));
    if (j.quotient == DT_DOUBLE) {
        void *p;
        TRY(all_as(r, &r->in[1]->t, DT_DOUBLE, &p));
        j.exact = p;
    }
    quant_run(r, &j, quantize_range);
    return SDX_OK;
}

#define TS_NARROW (TS_F32 | TS_F16 | TS_BF16)
static const OpVer quantize_vers[] = {
    { 28, { TS_NARROW | TS_I32, TS_NARROW | TS_I32 | TS_E8M0, TS_QUANT } },
    { 25, { TS_NARROW | TS_I32, TS_NARROW | TS_I32 | TS_E8M0, TS_QUANT_21 | TS_F4 | TS_INT2 } },
    { 24, { TS_NARROW | TS_I32, TS_NARROW | TS_I32 | TS_E8M0, TS_QUANT_21 | TS_F4 } },
    { 23, { TS_NARROW | TS_I32, TS_NARROW | TS_I32, TS_QUANT_21 | TS_F4 } },
    { 21, { TS_NARROW | TS_I32, TS_NARROW | TS_I32, TS_QUANT_21 } },
    { 19, { TS_NARROW | TS_I32, TS_NARROW | TS_I32, TS_U8 | TS_I8 | TS_F8 } },
    { 13, { TS_F32 | TS_I32, TS_F32, TS_U8 | TS_I8 } },
    { 10, { TS_F32 | TS_I32, TS_F32, TS_U8 | TS_I8 } },
    { 0 }
};

const OpDef sdx_op_QuantizeLinear = {
    .name = "QuantizeLinear",
    .sig = "T,U,V?->V",
    .attrs = quantize_attrs,
    .attrs_size = sizeof(QuantAttrs),
    .vers = quantize_vers,
    .infer = quantize_infer,
    .cpu = { quant_prepare, quantize_run },
};

/* -- DequantizeLinear ---------------------------------------------------------------------------------------------- */

static DType dequantized_type(const QuantAttrs *a, DType scale)
{
    if (a->output_dtype) return (DType)a->output_dtype;
    return scale == DT_FLOAT8E8M0 ? DT_FLOAT : scale;
}

static sdx_status dequantize_infer(Infer *c)
{
    const QuantAttrs *a = c->args;
    if (a->output_dtype < 0 || a->output_dtype >= DT_COUNT ||
        (a->output_dtype && !sdx_dtype_in((DType)a->output_dtype, TS_NARROW)))
        return sdx_infer_fail(c, "output_dtype %" PRId64 " is not a float type", a->output_dtype);
    c->out[0].elem = dequantized_type(a, c->in[1]->elem);
    return sdx_infer_same_shape(c);
}

static sdx_status dequantize_run(Run *r)
{
    QuantJob j = { .to = dequantized_type(r->args, r->in[1]->t.dtype) };
    TRY(quant_begin(r, &j));
    if (j.zero && j.from == DT_INT32) {
        void *p;
        TRY(all_as(r, &r->in[2]->t, DT_DOUBLE, &p));
        j.exact = p;
    }
    quant_run(r, &j, dequantize_range);
    return SDX_OK;
}

static const OpVer dequantize_vers[] = { { 28, { TS_QUANT | TS_I32, TS_NARROW | TS_E8M0, TS_NARROW } },
                                         { 25,
                                           { TS_QUANT_21 | TS_F4 | TS_INT2 | TS_I32, TS_NARROW | TS_E8M0, TS_NARROW } },
                                         { 24, { TS_QUANT_21 | TS_F4 | TS_I32, TS_NARROW | TS_E8M0, TS_NARROW } },
                                         { 23, { TS_QUANT_21 | TS_F4 | TS_I32, TS_NARROW, TS_NARROW } },
                                         { 21, { TS_QUANT_21 | TS_I32, TS_NARROW, TS_NARROW } },
                                         { 19, { TS_U8 | TS_I8 | TS_I32 | TS_F8, TS_NARROW, TS_NARROW } },
                                         { 13, { TS_U8 | TS_I8 | TS_I32, TS_F32, TS_F32 } },
                                         { 10, { TS_U8 | TS_I8 | TS_I32, TS_F32, TS_F32 } },
                                         { 0 } };

const OpDef sdx_op_DequantizeLinear = {
    .name = "DequantizeLinear",
    .sig = "T,U,T?->V",
    .attrs = dequantize_attrs,
    .attrs_size = sizeof(QuantAttrs),
    .vers = dequantize_vers,
    .infer = dequantize_infer,
    .cpu = { quant_prepare, dequantize_run },
};

/* -- DynamicQuantizeLinear: to uint8, with the scale that covers the data and 0 ------------------------------------ */

static sdx_status dynamic_infer(Infer *c)
{
    TRY(sdx_infer_same_shape(c));
    for (int o = 1; o < c->n_out; o++) shape_out(c, o, 0);
    return SDX_OK;
}

typedef struct DynamicJob {
    const Kern *kern;
    const float *x;
    float (*range)[2]; /* one a chunk */
} DynamicJob;

static void dynamic_range(void *arg, int64_t from, int64_t to, int worker)
{
    const DynamicJob *j = arg;
    j->kern->range_f32(j->range[from / SDX_EW_GRAIN], j->x + from, (size_t)(to - from));
}

static sdx_status dynamic_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t n = sdx_tensor_count(x), chunks = (n + SDX_EW_GRAIN - 1) / SDX_EW_GRAIN;
    DynamicJob d = { r->state, x->data, sdx_run_heap(r, (size_t)chunks * sizeof *d.range) };
    float lo = 0, hi = 0;
    TRY_MEM(d.range, r->err);
    sdx_run_range(r, n, SDX_EW_GRAIN, dynamic_range, &d);
    for (int64_t i = 0; i < chunks; i++) {
        lo = d.range[i][0] < lo ? d.range[i][0] : lo;
        hi = d.range[i][1] > hi ? d.range[i][1] : hi;
    }
    float scale = hi > lo ? (hi - lo) / 255.f : 1.f, zero = rintf(-lo / scale);
    zero = !(zero > 0) ? 0 : zero > 255 ? 255 : zero; /* infinite data: NaN */
    void *y, *p;
    TRY(sdx_run_output(r, 0, DT_UINT8, x->rank, x->dims, &y));
    if (r->n_out > 1 && r->out[1]) {
        TRY(sdx_run_output(r, 1, DT_FLOAT, 0, NULL, &p));
        *(float *)p = scale;
    }
    if (r->n_out > 2 && r->out[2]) {
        TRY(sdx_run_output(r, 2, DT_UINT8, 0, NULL, &p));
        *(uint8_t *)p = (uint8_t)zero;
    }
    int32_t zero_int = (int32_t)zero;
    QuantJob j = { .q = { .kind = PER_TENSOR, .n = SDX_EW_GRAIN, .rows = chunks },
                   .count = n,
                   .from = DT_FLOAT,
                   .to = DT_UINT8,
                   .quotient = DT_FLOAT,
                   .x = x->data,
                   .y = y,
                   .scale = &scale,
                   .zero_int = &zero_int,
                   .lo = 0,
                   .hi = 255,
                   .kern = r->state };
    quant_run(r, &j, quantize_range);
    return SDX_OK;
}

static const OpVer dynamic_vers[] = { { 11, { TS_F32 } }, { 0 } };

const OpDef sdx_op_DynamicQuantizeLinear = {
    .name = "DynamicQuantizeLinear",
    .sig = "T->u8,f32,u8",
    .vers = dynamic_vers,
    .infer = dynamic_infer,
    .cpu = { quant_prepare, dynamic_run },
};
