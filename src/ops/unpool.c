/* ops/unpool.c - MaxUnpool, Col2Im: pooled or unfolded data back to images. */
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/window.h"

/* -- MaxUnpool ----------------------------------------------------------------------------------------------------- */

/* y is zero but for y[I[i]] = x[i]. Indices count through a tensor whose spatial sizes follow from the window,
 * (in - 1) * stride - pads + kernel; output_shape, if given, may be larger: the rest stays zero. */
static const AttrSpec unpool_attrs[] = {
    { .name = "kernel_shape", .type = ATTR_INTS, .offset = offsetof(WindowAttrs, kernel_shape), .required = true },
    OP_INTS(WindowAttrs, pads),
    OP_INTS(WindowAttrs, strides),
    OP_ATTR_END
};

static sdx_status list_is(const Infer *c, const char *name, IntList l, int n, int64_t least)
{
    if (!l.v) return SDX_OK;
    if (l.n != n) return sdx_infer_fail(c, "%s has %lld values; it needs %d", name, (long long)l.n, n);
    for (int i = 0; i < n; i++)
        if (l.v[i] < least || l.v[i] > ((int64_t)1 << 30))
            return sdx_infer_fail(c, "%s[%d] is %lld; it must be at least %lld and at most 2^30", name, i,
                                  (long long)l.v[i], (long long)least);
    return SDX_OK;
}

static sdx_status unpool_infer(Infer *c)
{
    const WindowAttrs *a = c->args;
    TRY(infer_rank_between(c, 0, 3, SDX_MAX_RANK, "X"));
    const Shape *x = infer_shape(c, 0), *ix = infer_shape(c, 1);
    if (!x) return SDX_OK;
    int n = x->rank - 2;
    TRY(list_is(c, "kernel_shape", a->kernel_shape, n, 1));
    TRY(list_is(c, "strides", a->strides, n, 1));
    TRY(list_is(c, "pads", a->pads, 2 * n, 0));
    if (ix && ix->rank != x->rank)
        return sdx_infer_fail(c, "the indices have rank %d against %d of X", (int)ix->rank, (int)x->rank);
    for (int k = 0; ix && k < x->rank; k++)
        if (dim_differs(ix->dims[k], x->dims[k]))
            return sdx_infer_fail(c, "the indices have size %lld along axis %d; X has %lld", (long long)ix->dims[k], k,
                                  (long long)x->dims[k]);
    if (infer_has(c, 2)) {
        TRY(infer_is_vector(c, 2, x->rank, "output_shape"));
        Dim *y = infer_out_rank(c, 0, x->rank);
        DimVec v;
        if (sdx_infer_ints(c, 2, &v) && v.n == x->rank)
            for (int k = 0; k < x->rank; k++) y[k] = sdx_dim_of(v.v[k]);
        return SDX_OK;
    }
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[0] = x->dims[0];
    y[1] = x->dims[1];
    for (int k = 0; k < n; k++) {
        int64_t s = a->strides.v ? a->strides.v[k] : 1, pads = a->pads.v ? a->pads.v[k] + a->pads.v[n + k] : 0;
        DimVal out = infer_linear(c, sdx_dimval_of(x->dims[2 + k]), s, a->kernel_shape.v[k] - s - pads);
        if (out.known && out.v < 0) return sdx_infer_fail(c, "pads leave a size of %lld", (long long)out.v);
        y[2 + k] = sdx_dim_of(out);
    }
    return SDX_OK;
}

static sdx_status unpool_run(Run *r)
{
    const WindowAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    const int64_t *index = r->in[1]->t.data;
    int n = x->rank - 2;
    int64_t plain[SDX_MAX_RANK] = { x->dims[0], x->dims[1] }, dims[SDX_MAX_RANK], step[SDX_MAX_RANK];
    for (int k = 0; k < n; k++) {
        int64_t s = a->strides.v ? a->strides.v[k] : 1, pads = a->pads.v ? a->pads.v[k] + a->pads.v[n + k] : 0;
        plain[2 + k] = (x->dims[2 + k] - 1) * s + a->kernel_shape.v[k] - pads;
        if (plain[2 + k] < 0) return sdx_run_fail(r, "pads leave a size of %lld", (long long)plain[2 + k]);
    }
    memcpy(dims, plain, sizeof dims);
    if (r->n_in > 2 && r->in[2]) {
        if (sdx_tensor_count(&r->in[2]->t) != x->rank)
            return sdx_run_fail(r, "output_shape has %lld values; X has rank %d",
                                (long long)sdx_tensor_count(&r->in[2]->t), (int)x->rank);
        for (int k = 0; k < x->rank; k++) dims[k] = sdx_tensor_get_int(&r->in[2]->t, k);
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &y));
    int64_t total, count = sdx_tensor_count(x), s = 1;
    if (!sdx_shape_count(plain, x->rank, &total)) return sdx_run_fail(r, "the unpooled shape does not fit");
    size_t es = sdx_dtype_size(x->dtype), nbytes;
    Tensor whole = { .dtype = x->dtype, .rank = x->rank };
    memcpy(whole.dims, dims, sizeof dims);
    if (sdx_tensor_nbytes(&whole, &nbytes) && nbytes) memset(y, 0, nbytes);
    for (int k = x->rank - 1; k >= 0; k--) {
        step[k] = s;
        s *= dims[k];
    }
    for (int64_t i = 0; i < count; i++) {
        if (index[i] < 0 || index[i] >= total)
            return sdx_run_fail(r, "index %lld is %lld; it must lie in [0, %lld)", (long long)i, (long long)index[i],
                                (long long)total);
        int64_t at = 0, rest = index[i];
        for (int k = x->rank - 1; k >= 0; k--) {
            int64_t place = rest % plain[k];
            rest /= plain[k];
            if (place >= dims[k]) return sdx_run_fail(r, "index %lld lies outside output_shape", (long long)index[i]);
            at += place * step[k];
        }
        memcpy((char *)y + (size_t)at * es, (const char *)x->data + (size_t)i * es, es);
    }
    return SDX_OK;
}

static const OpVer unpool_vers[] = {
    { 22, { TS_FLTB, TS_I64 } },
    { 11, { TS_FLT, TS_I64 } },
    { 9, { TS_FLT, TS_I64 } },
    { 0 },
};

const OpDef sdx_op_MaxUnpool = {
    .name = "MaxUnpool",
    .sig = "T,U,U?->T",
    .attrs = unpool_attrs,
    .attrs_size = sizeof(WindowAttrs),
    .vers = unpool_vers,
    .infer = unpool_infer,
    .cpu = { NULL, unpool_run },
};

/* -- Col2Im -------------------------------------------------------------------------------------------------------- */

/* Columns [N, C * taps, positions] are added up where their windows lie in images [N, C, image_shape]. */
static const AttrSpec col2im_attrs[] = { OP_WINDOW_DILATIONS, OP_INTS(WindowAttrs, pads), OP_INTS(WindowAttrs, strides),
                                         OP_ATTR_END };

static sdx_status col2im_infer(Infer *c)
{
    const WindowAttrs *a = c->args;
    TRY(infer_rank_between(c, 0, 3, 3, "the input"));
    TRY(infer_rank_between(c, 1, 1, 1, "image_shape"));
    TRY(infer_rank_between(c, 2, 1, 1, "block_shape"));
    DimVec image, block;
    if (!sdx_infer_ints(c, 1, &image)) return SDX_OK;
    if (image.n < 1 || image.n + 2 > SDX_MAX_RANK) return sdx_infer_fail(c, "image_shape has %d values", (int)image.n);
    TRY(list_is(c, "dilations", a->dilations, image.n, 1));
    TRY(list_is(c, "strides", a->strides, image.n, 1));
    TRY(list_is(c, "pads", a->pads, 2 * image.n, 0));
    const Shape *x = infer_shape(c, 0);
    Dim *y = infer_out_rank(c, 0, image.n + 2);
    y[0] = x ? x->dims[0] : SDX_DIM_UNKNOWN;
    for (int k = 0; k < image.n; k++) y[2 + k] = sdx_dim_of(image.v[k]);
    if (!x || !sdx_infer_ints(c, 2, &block)) return SDX_OK;
    if (block.n != image.n)
        return sdx_infer_fail(c, "block_shape has %d values against %d of image_shape", (int)block.n, (int)image.n);
    DimVal taps = sdx_dimval_num(1);
    for (int k = 0; k < block.n; k++) taps = sdx_dimval_mul(c->syms, taps, block.v[k]);
    if (taps.known && taps.v < 1) return sdx_infer_fail(c, "block_shape must be positive");
    if (taps.known) y[1] = sdx_dim_of(sdx_dimval_floordiv(c->syms, sdx_dimval_of(x->dims[1]), taps));
    return SDX_OK;
}

#define COL2IM_TYPE(T, tag)                                                                                            \
    static void add_##tag(void *y, int64_t at, int64_t step, const void *x, int64_t n)                                 \
    {                                                                                                                  \
        T *dst = (T *)y + at;                                                                                          \
        const T *src = x;                                                                                              \
        for (int64_t i = 0; i < n; i++) dst[i * step] = (T)(dst[i * step] + src[i]);                                   \
    }
COL2IM_TYPE(float, f32)
COL2IM_TYPE(double, f64)
COL2IM_TYPE(uint8_t, 8)
COL2IM_TYPE(uint16_t, 16)
COL2IM_TYPE(uint32_t, 32)
COL2IM_TYPE(uint64_t, 64)

static void add_bool(void *y, int64_t at, int64_t step, const void *x, int64_t n)
{
    uint8_t *dst = (uint8_t *)y + at;
    for (int64_t i = 0; i < n; i++) dst[i * step] |= ((const uint8_t *)x)[i];
}

#define COL2IM_COMPLEX(T, tag)                                                                                         \
    static void add_##tag(void *y, int64_t at, int64_t step, const void *x, int64_t n)                                 \
    {                                                                                                                  \
        T *dst = (T *)y + 2 * at;                                                                                      \
        const T *src = x;                                                                                              \
        for (int64_t i = 0; i < n; i++) {                                                                              \
            dst[2 * i * step] += src[2 * i];                                                                           \
            dst[2 * i * step + 1] += src[2 * i + 1];                                                                   \
        }                                                                                                              \
    }
COL2IM_COMPLEX(float, c64)
COL2IM_COMPLEX(double, c128)

/* Where windows do not meet, adding to nothing is moving. */
static void add_str(void *y, int64_t at, int64_t step, const void *x, int64_t n)
{
    Str *dst = (Str *)y + at;
    for (int64_t i = 0; i < n; i++) dst[i * step] = ((const Str *)x)[i];
}

typedef void (*AddFn)(void *y, int64_t at, int64_t step, const void *x, int64_t n);

static AddFn col2im_fn(DType d)
{
    switch (d) {
    case DT_FLOAT: return add_f32;
    case DT_DOUBLE: return add_f64;
    case DT_COMPLEX64: return add_c64;
    case DT_COMPLEX128: return add_c128;
    case DT_BOOL: return add_bool;
    case DT_STRING: return add_str;
    case DT_INT8:
    case DT_UINT8: return add_8;
    case DT_INT16:
    case DT_UINT16: return add_16;
    case DT_INT32:
    case DT_UINT32: return add_32;
    case DT_INT64:
    case DT_UINT64: return add_64;
    default: return NULL;
    }
}

typedef struct Col2ImJob {
    Window w;
    const Span *span;
    AddFn add;
    size_t es;
    const char *x;
    char *y;
    int64_t taps, positions, rows, image;
} Col2ImJob;

static void col2im_range(void *arg, int64_t from, int64_t to, int worker)
{
    const Col2ImJob *j = arg;
    const Window *w = &j->w;
    const WinAxis *last = &w->ax[w->n - 1];
    for (int64_t plane = from; plane < to; plane++) {
        const char *x = j->x + (size_t)(plane * j->taps * j->positions) * j->es;
        char *y = j->y + (size_t)(plane * j->image) * j->es;
        memset(y, 0, (size_t)j->image * j->es);
        for (int64_t row = 0; row < j->rows; row++) {
            int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
            if (!window_row(w, row, o, lo, hi)) continue;
            memcpy(t, lo, sizeof t);
            do {
                int64_t tap = 0, base = window_offset(w, o, t) - last->pad0;
                for (int k = 0; k < w->n - 1; k++) tap = (tap + t[k]) * w->ax[k + 1].kernel;
                for (int64_t k = 0; k < last->kernel; k++) {
                    Span s = j->span[k];
                    int64_t from_at = (tap + k) * j->positions + row * last->out + s.lo;
                    j->add(y, base + k * last->dilation + s.lo * last->stride, last->stride,
                           x + (size_t)from_at * j->es, s.hi - s.lo);
                }
            } while (window_next(w, t, lo, hi));
        }
    }
}

static sdx_status col2im_run(Run *r)
{
    const WindowAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *image = &r->in[1]->t, *block = &r->in[2]->t;
    int64_t n = sdx_tensor_count(image), sizes[SDX_MAX_RANK], kernel[SDX_MAX_RANK], dims[SDX_MAX_RANK], unused;
    if (n < 1 || n + 2 > SDX_MAX_RANK || sdx_tensor_count(block) != n)
        return sdx_run_fail(r, "image_shape and block_shape have %lld and %lld values", (long long)n,
                            (long long)sdx_tensor_count(block));
    if ((a->dilations.v && a->dilations.n != n) || (a->strides.v && a->strides.n != n) ||
        (a->pads.v && a->pads.n != 2 * n))
        return sdx_run_fail(r, "dilations, strides or pads do not have a value for each of %lld axes", (long long)n);
    Col2ImJob j = { .es = sdx_dtype_size(x->dtype), .x = x->data, .taps = 1, .positions = 1, .rows = 1, .image = 1 };
    for (int k = 0; k < n; k++) {
        sizes[k] = sdx_tensor_get_int(image, k);
        kernel[k] = sdx_tensor_get_int(block, k);
        if (sizes[k] < 0 || kernel[k] < 1 || sizes[k] > INT32_MAX || kernel[k] > INT32_MAX ||
            (a->dilations.v && (a->dilations.v[k] < 1 || a->dilations.v[k] > INT32_MAX)) ||
            (a->strides.v && (a->strides.v[k] < 1 || a->strides.v[k] > INT32_MAX)))
            return sdx_run_fail(r, "image_shape, block_shape, strides or dilations are out of range along axis %d", k);
    }
    if (!sdx_shape_count(kernel, (int)n, &unused)) return sdx_run_fail(r, "block_shape is too large");
    sdx_window_make(&j.w, a, (int)n, sizes, kernel);
    dims[0] = x->dims[0];
    for (int k = 0; k < n; k++) {
        dims[2 + k] = sizes[k];
        j.taps *= kernel[k];
        if (!sdx_mul_i64(&j.positions, j.positions, j.w.ax[k].out)) return sdx_run_fail(r, "too many windows");
        if (k < n - 1) j.rows *= j.w.ax[k].out;
    }
    if (x->dims[1] % j.taps || x->dims[2] != j.positions)
        return sdx_run_fail(r, "the input is %lld x %lld; windows of %lld taps at %lld positions do not fit it",
                            (long long)x->dims[1], (long long)x->dims[2], (long long)j.taps, (long long)j.positions);
    dims[1] = x->dims[1] / j.taps;
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, (int)n + 2, dims, &y));
    j.y = y;
    j.image = sdx_dims_product(dims, 2, (int)n + 2);
    j.add = col2im_fn(x->dtype);
    if (!j.add) return sdx_run_fail(r, "%s cannot be added", sdx_dtype_name(x->dtype));
    for (int k = 0; k < n && x->dtype == DT_STRING; k++)
        if (j.w.ax[k].kernel > 1 && (j.w.ax[k].dilation > 1 || j.w.ax[k].stride < j.w.ax[k].kernel))
            return sdx_run_fail(r, "strings cannot be added, and windows overlap along axis %d", k);
    if (dims[0] * dims[1] * j.image == 0) return SDX_OK;
    Span *span = sdx_run_heap(r, (size_t)kernel[n - 1] * sizeof *span);
    TRY_MEM(span, r->err);
    for (int64_t k = 0; k < kernel[n - 1]; k++) window_span(&j.w.ax[n - 1], k, &span[k].lo, &span[k].hi);
    j.span = span;
    sdx_run_range(r, dims[0] * dims[1], grain_for(j.taps * j.positions), col2im_range, &j);
    return SDX_OK;
}

static const OpVer col2im_vers[] = { { 18, { TS_NUMB | TS_BOOL | TS_STR | TS_CPX } }, { 0 } };

const OpDef sdx_op_Col2Im = {
    .name = "Col2Im",
    .sig = "T,i64,i64->T",
    .attrs = col2im_attrs,
    .attrs_size = sizeof(WindowAttrs),
    .vers = col2im_vers,
    .flags = OP_F32_MATH,
    .infer = col2im_infer,
    .cpu = { NULL, col2im_run },
};
