/* kern/norm/norm_body.h - the mean first, then the centred variance, both by kern/reduce/fold_body.h. */
#include "kern/map/act_body.h"
#include "kern/reduce/fold_body.h"

/* s = x + skip + skip_bias. */
static void norm_add(float *s, const float *x, const float *skip, const float *skip_bias, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        vf32 v = v_load_upto(x + i, w);
        if (skip) v = v_add(v, v_load_upto(skip + i, w));
        if (skip_bias) v = v_add(v, v_load_upto(skip_bias + i, w));
        v_store_upto(s + i, v, w);
    }
}

static void norm_apply(float *y, const float *s, float mean, float r, const float *scale, const float *bias, size_t n)
{
    const vf32 center = v_set(mean), inv_std = v_set(r);
    for (size_t i = 0; i < n; i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        vf32 t = v_mul(v_sub(v_load_upto(s + i, w), center), inv_std);
        if (scale && bias)
            t = v_fma(t, v_load_upto(scale + i, w), v_load_upto(bias + i, w));
        else if (scale)
            t = v_mul(t, v_load_upto(scale + i, w));
        else if (bias)
            t = v_add(t, v_load_upto(bias + i, w));
        v_store_upto(y + i, t, w);
    }
}

static void norm_rows(const NormRows *a)
{
    const size_t n = a->n;
    for (size_t r = 0; r < a->rows; r++) {
        const float *s = a->x + r * n;
        float *y = a->y + r * n;
        if (a->skip || a->skip_bias || a->sum) {
            float *out = a->sum ? a->sum + r * n : y;
            norm_add(out, s, a->skip ? a->skip + r * n : NULL, a->skip_bias, n);
            s = out;
        }
        const float mean = a->rms ? 0 : row_sum(s, n, 0) / (float)n;
        const float var = (a->rms ? row_sumsq(s, n, 0) : row_sumsqdev(s, n, mean)) / (float)n;
        const float inv_std = 1.0f / sqrtf(var + a->eps);
        norm_apply(y, s, mean, inv_std, a->scale, a->bias, n);
        if (a->mean) a->mean[r] = mean;
        if (a->inv_std) a->inv_std[r] = inv_std;
    }
}

static void moments(float *mean, float *inv_std, const float *x, size_t rows, size_t n, float eps)
{
    for (size_t r = 0; r < rows; r++, x += n) {
        mean[r] = row_sum(x, n, 0) / (float)n;
        inv_std[r] = 1.0f / sqrtf(row_sumsqdev(x, n, mean[r]) / (float)n + eps);
    }
}

static void affine_rows(float *y, const float *x, size_t rows, size_t n, size_t ld, const float *center,
                        const float *scale, const float *shift)
{
    for (size_t r = 0; r < rows; r++, x += ld, y += ld) {
        const vf32 c = v_set(center ? center[r] : 0), a = v_set(scale[r]), b = v_set(shift[r]);
        size_t i = 0;
        for (; n - i >= VW; i += VW) v_store(y + i, v_fma(v_sub(v_load(x + i), c), a, b));
        if (i < n) v_store_n(y + i, v_fma(v_sub(v_load_n(x + i, n - i), c), a, b), n - i);
    }
}

static void affine_columns(float *y, const float *x, size_t rows, size_t n, size_t ld, const float *center,
                           const float *scale, const float *shift)
{
    for (size_t r = 0; r < rows; r++, x += ld, y += ld)
        for (size_t i = 0; i < n; i += VW) {
            const size_t w = n - i < VW ? n - i : VW;
            vf32 v = v_load_upto(x + i, w);
            if (center) v = v_sub(v, v_load_upto(center + i, w));
            v_store_upto(y + i, v_fma(v, v_load_upto(scale + i, w), v_load_upto(shift + i, w)), w);
        }
}

void ISA(sdx_kern_init_norm)(Kern *k);
void ISA(sdx_kern_init_norm)(Kern *k)
{
    k->norm_rows_f32 = norm_rows;
    k->moments_f32 = moments;
    k->affine_rows_f32 = affine_rows;
    k->affine_columns_f32 = affine_columns;
}
