/* ops/contrib.c - small operators of com.microsoft that belong to no family: CropAndResize, UnfoldTensor, Inverse,
 * WordConvEmbedding, IsAllFinite */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* -- CropAndResize ------------------------------------------------------------------------------------------------- */

/* Regions (y1, x1, y2, x2), in units of the image without its last row and column, sampled on a grid of crop_size points
 * from edge to edge; a single point is the middle. Points outside the image are extrapolation_value. Places are float32
 * whatever the type, since nearest depends on their rounding. */
typedef struct CropAttrs {
    float extrapolation_value;
    Str mode;
} CropAttrs;

static const AttrSpec crop_attrs[] = { OP_FLOAT(CropAttrs, extrapolation_value, 0), OP_STR(CropAttrs, mode, "bilinear"),
                                       OP_ATTR_END };

static sdx_status crop_infer(Infer *c)
{
    const CropAttrs *a = c->args;
    DimVec size;
    if (!str_is(a->mode, "bilinear") && !str_is(a->mode, "nearest"))
        return sdx_infer_fail(c, "mode is \"%.*s\"; it may be bilinear or nearest", (int)a->mode.n, a->mode.p);
    TRY(infer_rank_between(c, 0, 4, 4, "X"));
    TRY(infer_rank_between(c, 1, 2, 2, "rois"));
    TRY(infer_is_vector(c, 3, 2, "crop_size"));
    const Shape *x = infer_shape(c, 0), *rois = infer_shape(c, 1);
    if (rois && dim_differs(rois->dims[1], 4))
        return sdx_infer_fail(c, "rois have %lld values; they need 4", (long long)rois->dims[1]);
    if (rois) TRY(infer_is_vector(c, 2, rois->dims[0], "batch_indices"));
    Dim *y = infer_out_rank(c, 0, 4);
    if (rois) y[0] = rois->dims[0];
    if (x) y[1] = x->dims[1];
    if (!sdx_infer_ints(c, 3, &size) || size.n != 2) return SDX_OK;
    for (int k = 0; k < 2; k++) {
        if (size.v[k].known && size.v[k].v < 1) return sdx_infer_fail(c, "crop_size is not positive");
        y[2 + k] = sdx_dim_of(size.v[k]);
    }
    return SDX_OK;
}

typedef struct CropJob {
    const CropAttrs *a;
    const Tensor *x, *rois, *batch;
    Tensor y;
    bool nearest;
} CropJob;

static float crop_place(float lo, float hi, int64_t i, int64_t n, int64_t size)
{
    float last = (float)(size - 1);
    if (n == 1) return 0.5f * (lo + hi) * last;
    return lo * last + (float)i * ((hi - lo) * last / (float)(n - 1));
}

static double crop_point(const CropJob *j, int64_t plane, float y, float x)
{
    int64_t h = j->x->dims[2], w = j->x->dims[3];
    if (!(y >= 0 && y <= (float)(h - 1) && x >= 0 && x <= (float)(w - 1))) return (double)j->a->extrapolation_value;
    if (j->nearest) return sdx_tensor_get_double(j->x, (plane * h + (int64_t)roundf(y)) * w + (int64_t)roundf(x));
    int64_t top = (int64_t)floorf(y), bottom = (int64_t)ceilf(y), left = (int64_t)floorf(x), right = (int64_t)ceilf(x);
    double fx = (double)(x - (float)left), fy = (double)(y - (float)top);
    double a = sdx_tensor_get_double(j->x, (plane * h + top) * w + left);
    double b = sdx_tensor_get_double(j->x, (plane * h + top) * w + right);
    double c = sdx_tensor_get_double(j->x, (plane * h + bottom) * w + left);
    double d = sdx_tensor_get_double(j->x, (plane * h + bottom) * w + right);
    double upper = a + (b - a) * fx, lower = c + (d - c) * fx;
    return upper + (lower - upper) * fy;
}

static void crop_range(void *arg, int64_t from, int64_t to, int worker)
{
    const CropJob *j = arg;
    Tensor y = j->y;
    int64_t channels = y.dims[1], height = y.dims[2], width = y.dims[3];
    for (int64_t u = from; u < to; u++) {
        int64_t roi = u / channels, plane = sdx_tensor_get_int(j->batch, roi) * channels + u % channels;
        float box[4];
        for (int k = 0; k < 4; k++) box[k] = (float)sdx_tensor_get_double(j->rois, roi * 4 + k);
        for (int64_t i = 0; i < height * width; i++)
            sdx_tensor_set_double(&y, u * height * width + i,
                                  crop_point(j, plane, crop_place(box[0], box[2], i / width, height, j->x->dims[2]),
                                             crop_place(box[1], box[3], i % width, width, j->x->dims[3])));
    }
}

static sdx_status crop_run(Run *r)
{
    const CropAttrs *a = r->args;
    CropJob j = { .a = a, .x = &r->in[0]->t, .rois = &r->in[1]->t, .batch = &r->in[2]->t };
    int64_t size[2], n = j.rois->dims[0];
    if (sdx_tensor_ints(&r->in[3]->t, size, 2) != 2 || size[0] < 1 || size[1] < 1)
        return sdx_run_fail(r, "crop_size must be two positive sizes");
    j.nearest = str_is(a->mode, "nearest");
    int64_t dims[4] = { n, j.x->dims[1], size[0], size[1] };
    j.y = (Tensor){ .dtype = j.x->dtype, .rank = 4 };
    memcpy(j.y.dims, dims, sizeof dims);
    TRY(sdx_run_output(r, 0, j.x->dtype, 4, dims, &j.y.data));
    for (int64_t i = 0; i < n; i++) {
        int64_t item = sdx_tensor_get_int(j.batch, i);
        if (item < 0 || item >= j.x->dims[0])
            return sdx_run_fail(r, "batch_indices[%lld] is %lld; it must lie in [0, %lld)", (long long)i,
                                (long long)item, (long long)j.x->dims[0]);
    }
    sdx_run_range(r, n * dims[1], grain_for(size[0] * size[1] * 8), crop_range, &j);
    return SDX_OK;
}

static const OpVer crop_vers[] = { { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_ms_CropAndResize = {
    .name = "CropAndResize",
    .domain = "com.microsoft",
    .sig = "T,T,i32,i32->T",
    .attrs = crop_attrs,
    .attrs_size = sizeof(CropAttrs),
    .vers = crop_vers,
    .flags = OP_F32_MATH,
    .infer = crop_infer,
    .cpu = { NULL, crop_run },
};

/* -- UnfoldTensor -------------------------------------------------------------------------------------------------- */

/* Windows of `size` elements along dim, `step` apart; the window is the last axis of the result. */
typedef struct UnfoldAttrs {
    int64_t size, dim, step;
} UnfoldAttrs;

static const AttrSpec unfold_attrs[] = { OP_INT_REQ(UnfoldAttrs, size), OP_INT(UnfoldAttrs, dim, -1),
                                         OP_INT(UnfoldAttrs, step, 1), OP_ATTR_END };

static sdx_status unfold_infer(Infer *c)
{
    const UnfoldAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    int axis;
    if (a->size < 1 || a->step < 1)
        return sdx_infer_fail(c, "size is %lld and step %lld", (long long)a->size, (long long)a->step);
    if (!x) return SDX_OK;
    TRY(infer_rank_between(c, 0, 1, SDX_MAX_RANK - 1, "input"));
    TRY(sdx_infer_axis(c, a->dim, x->rank, &axis));
    Shape y = *x;
    Dim d = x->dims[axis];
    if (sdx_dim_is_const(d) && d < a->size)
        return sdx_infer_fail(c, "a window of %lld does not fit in %lld", (long long)a->size, (long long)d);
    y.dims[axis] = sdx_dim_is_const(d) ? (d - a->size) / a->step + 1 : SDX_DIM_UNKNOWN;
    y.dims[y.rank++] = a->size;
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

static sdx_status unfold_run(Run *r)
{
    const UnfoldAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int axis = (int)(a->dim < 0 ? a->dim + x->rank : a->dim);
    Axis3 at = axis3_of(x, axis);
    int64_t windows = (at.n - a->size) / a->step + 1, dims[SDX_MAX_RANK];
    if (at.n < a->size)
        return sdx_run_fail(r, "a window of %lld does not fit in %lld", (long long)a->size, (long long)at.n);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = windows;
    dims[x->rank] = a->size;
    void *out;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank + 1, dims, &out));
    size_t size = sdx_dtype_size(x->dtype);
    char *y = out;
    for (int64_t u = 0; u < at.outer * windows; u++)
        for (int64_t i = 0; i < at.inner; i++)
            for (int64_t k = 0; k < a->size; k++, y += size)
                memcpy(y,
                       (const char *)x->data +
                           (size_t)((u / windows * at.n + u % windows * a->step + k) * at.inner + i) * size,
                       size);
    return SDX_OK;
}

static const OpVer unfold_vers[] = { { 1, { TS_ALL_13 } }, { 0 } };

const OpDef sdx_op_ms_UnfoldTensor = {
    .name = "UnfoldTensor",
    .domain = "com.microsoft",
    .sig = "T->T",
    .attrs = unfold_attrs,
    .attrs_size = sizeof(UnfoldAttrs),
    .vers = unfold_vers,
    .infer = unfold_infer,
    .cpu = { NULL, unfold_run },
};

/* -- Inverse ------------------------------------------------------------------------------------------------------- */

/* Of each matrix, by elimination in double with the largest pivot of a column. A singular one gives infinities or NaN. */
static sdx_status inverse_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "X"));
    const Shape *x = infer_shape(c, 0);
    if (x && dim_differs(x->dims[x->rank - 2], x->dims[x->rank - 1]))
        return sdx_infer_fail(c, "matrices are %lld x %lld, not square", (long long)x->dims[x->rank - 2],
                              (long long)x->dims[x->rank - 1]);
    return sdx_infer_same_shape(c);
}

static sdx_status inverse_prepare(Prepare *p)
{
    const Tensor *x = &p->in[0]->t;
    int64_t n = x->dims[x->rank - 1];
    size_t row;
    if (!sdx_mul_size(&row, (size_t)n, 2 * sizeof(double)) || !sdx_mul_size(&p->scratch, row, (size_t)n))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

/* Rows of m are those of the matrix and, behind them, of what becomes the inverse. */
static void invert(double *m, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(m[i * 2 * n + k]) > fabs(m[pivot * 2 * n + k])) pivot = i;
        double scale = 1 / m[pivot * 2 * n + k];
        for (int64_t j = 0; j < 2 * n; j++) {
            double t = m[pivot * 2 * n + j];
            m[pivot * 2 * n + j] = m[k * 2 * n + j];
            m[k * 2 * n + j] = t * scale;
        }
        for (int64_t i = 0; i < n; i++) {
            double f = m[i * 2 * n + k];
            for (int64_t j = 0; i != k && j < 2 * n; j++) m[i * 2 * n + j] -= f * m[k * 2 * n + j];
        }
    }
}

static sdx_status inverse_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t n = x->dims[x->rank - 1], count = sdx_dims_product(x->dims, 0, x->rank - 2);
    Tensor y = { .dtype = x->dtype };
    TRY(run_output_like(r, 0, x, &y.data));
    double *m = r->scratch;
    for (int64_t u = 0; u < count; u++) {
        for (int64_t i = 0; i < n * n; i++) {
            m[i / n * 2 * n + i % n] = sdx_tensor_get_double(x, u * n * n + i);
            m[i / n * 2 * n + n + i % n] = i / n == i % n;
        }
        invert(m, n);
        for (int64_t i = 0; i < n * n; i++) sdx_tensor_set_double(&y, u * n * n + i, m[i / n * 2 * n + n + i % n]);
        TRY(sdx_run_poll(r));
    }
    return SDX_OK;
}

const OpDef sdx_op_ms_Inverse = {
    .name = "Inverse",
    .domain = "com.microsoft",
    .sig = "T->T",
    .vers = crop_vers,
    .flags = OP_F32_MATH,
    .infer = inverse_infer,
    .cpu = { inverse_prepare, inverse_run },
};

/* -- WordConvEmbedding --------------------------------------------------------------------------------------------- */

/* A word is a row of characters, filled up with zeros. Its embedding is, by filter, the greatest tanh(filter . window + bias)
 * over the windows of the word's character embeddings; a word of none gives zeros. */
typedef struct WordAttrs {
    int64_t embedding_size, conv_window_size, char_embedding_size;
} WordAttrs;

static const AttrSpec word_attrs[] = { OP_INT(WordAttrs, embedding_size, OP_INT_ABSENT),
                                       OP_INT(WordAttrs, conv_window_size, OP_INT_ABSENT),
                                       OP_INT(WordAttrs, char_embedding_size, OP_INT_ABSENT), OP_ATTR_END };

static sdx_status word_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 1, SDX_MAX_RANK, "Sequence"));
    TRY(infer_rank_between(c, 1, 4, 4, "W"));
    TRY(infer_rank_between(c, 3, 2, 2, "C"));
    const Shape *x = infer_shape(c, 0), *w = infer_shape(c, 1), *chars = infer_shape(c, 3);
    if (!x || !w) return SDX_OK;
    TRY(infer_is_vector(c, 2, w->dims[0], "B"));
    if (dim_differs(w->dims[1], 1) || (chars && dim_differs(chars->dims[1], w->dims[3])))
        return sdx_infer_fail(c, "W does not fit the character embeddings");
    if (sdx_dim_is_const(w->dims[2]) && sdx_dim_is_const(x->dims[x->rank - 1]) && w->dims[2] > x->dims[x->rank - 1])
        return sdx_infer_fail(c, "a window of %lld does not fit a word of %lld", (long long)w->dims[2],
                              (long long)x->dims[x->rank - 1]);
    Shape y = *x;
    y.dims[y.rank - 1] = w->dims[0];
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

static sdx_status word_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, *w = &r->in[1]->t, *chars = &r->in[3]->t;
    const float *filter = w->data, *bias = r->in[2]->t.data, *embedding = chars->data;
    int64_t filters = w->dims[0], window = w->dims[2], width = w->dims[3], most = x->dims[x->rank - 1];
    int64_t words = sdx_dims_product(x->dims, 0, x->rank - 1), dims[SDX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank - 1] = filters;
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank, dims, &out));
    for (int64_t u = 0; u < words; u++) {
        const int32_t *word = (const int32_t *)x->data + u * most;
        float *y = (float *)out + u * filters;
        int64_t n = 0;
        for (int64_t i = 0; i < most; i++) n += word[0] > 0 && word[i] > 0;
        for (int64_t i = 0; i < most; i++)
            if (word[i] < 0 || word[i] >= chars->dims[0])
                return sdx_run_fail(r, "character %d is outside [0, %lld)", (int)word[i], (long long)chars->dims[0]);
        int64_t places = n > window ? n - window + 1 : n ? 1 : 0;
        for (int64_t f = 0; f < filters; f++) {
            float best = places ? -INFINITY : 0;
            for (int64_t p = 0; p < places; p++) {
                double sum = (double)bias[f];
                for (int64_t i = 0; i < window * width; i++)
                    sum += (double)filter[f * window * width + i] *
                           (double)embedding[word[p + i / width] * width + i % width];
                best = fmaxf(best, tanhf((float)sum));
            }
            y[f] = best;
        }
    }
    return SDX_OK;
}

static const OpVer any_vers[] = { { 1, { 0 } }, { 0 } };

const OpDef sdx_op_ms_WordConvEmbedding = {
    .name = "WordConvEmbedding",
    .domain = "com.microsoft",
    .sig = "i32,f32,f32,f32->f32",
    .attrs = word_attrs,
    .attrs_size = sizeof(WordAttrs),
    .vers = any_vers,
    .infer = word_infer,
    .cpu = { NULL, word_run },
};

/* -- IsAllFinite --------------------------------------------------------------------------------------------------- */

typedef struct FiniteAttrs {
    int64_t isinf_only, isnan_only;
} FiniteAttrs;

static const AttrSpec finite_attrs[] = { OP_INT(FiniteAttrs, isinf_only, 0), OP_INT(FiniteAttrs, isnan_only, 0),
                                         OP_ATTR_END };

static sdx_status finite_infer(Infer *c)
{
    const FiniteAttrs *a = c->args;
    if (a->isinf_only && a->isnan_only) return sdx_infer_fail(c, "isinf_only and isnan_only exclude each other");
    infer_out_rank(c, 0, 0);
    return SDX_OK;
}

static sdx_status finite_run(Run *r)
{
    const FiniteAttrs *a = r->args;
    bool fine = true;
    void *y;
    TRY(sdx_run_output(r, 0, DT_BOOL, 0, NULL, &y));
    for (int k = 0; k < r->n_in; k++)
        for (int64_t i = 0, n = sdx_tensor_count(&r->in[k]->t); i < n && fine; i++) {
            double v = sdx_tensor_get_double(&r->in[k]->t, i);
            fine = !((isinf(v) && !a->isnan_only) || (isnan(v) && !a->isinf_only));
        }
    *(bool *)y = fine;
    return SDX_OK;
}

static const OpVer finite_vers[] = { { 1, { TS_FLTB } }, { 0 } };

const OpDef sdx_op_ms_IsAllFinite = {
    .name = "IsAllFinite",
    .domain = "com.microsoft",
    .sig = "T+->bool",
    .attrs = finite_attrs,
    .attrs_size = sizeof(FiniteAttrs),
    .vers = finite_vers,
    .infer = finite_infer,
    .cpu = { NULL, finite_run },
};
