/* kern/softmax/softmax_body.h - three passes: maximum, exponentials and their sum, scale. */
#include "kern/map/act_body.h"
#include "kern/reduce/fold_body.h"

/* y = e^(x - max); the sum of one block, in the order of kern/reduce/fold_body.h. */
static float softmax_block(float *y, const float *x, size_t n, float max)
{
    const vf32 m = v_set(max);
    vf32 acc[FOLD_VECS];
    V_UNROLL for (int k = 0; k < FOLD_VECS; k++) acc[k] = v_zero();
    size_t i = 0;
    for (; n - i >= FOLD_LANES; i += FOLD_LANES) V_UNROLL for (int k = 0; k < FOLD_VECS; k++)
        {
            const vf32 e = v_exp_softmax(v_sub(v_load(x + i + k * VW), m));
            v_store(y + i + k * VW, e);
            acc[k] = v_add(acc[k], e);
        }
    for (int k = 0; i < n; k++, i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        const vf32 e = v_exp_softmax(v_sub(v_load_or(x + i, w, -INFINITY), m));
        v_store_n(y + i, e, w);
        acc[k] = v_add(acc[k], e);
    }
    return halves_sum(acc);
}

static float softmax_exps(float *y, const float *x, size_t n, float max)
{
    FOLD_PAIRWISE(sum, softmax_block(y + i, x + i, m, max))
}

static void softmax_row(float *y, const float *x, size_t n)
{
    const vf32 scale = v_set(1.0f / softmax_exps(y, x, n, row_max(x, n)));
    size_t i = 0;
    for (; n - i >= VW; i += VW) v_store(y + i, v_mul(v_load(y + i), scale));
    if (i < n) v_store_n(y + i, v_mul(v_load_n(y + i, n - i), scale), n - i);
}

static void logsoftmax_row(float *y, const float *x, size_t n)
{
    float max = row_max(x, n);
    const vf32 m = v_set(max), log_sum = v_log(v_set(row_sumexp(x, n, max)));
    for (size_t i = 0; i < n; i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        v_store_upto(y + i, v_sub(v_sub(v_load_upto(x + i, w), m), log_sum), w);
    }
}

/* One vector of columns, `w` of them. */
static void softmax_columns(float *y, const float *x, size_t n, size_t w, size_t ld)
{
    vf32 max = v_set(-INFINITY), sum = v_zero();
    for (size_t i = 0; i < n; i++) max = into_max(max, v_load_upto(x + i * ld, w), max);
    for (size_t i = 0; i < n; i++) {
        const vf32 e = v_exp_softmax(v_sub(v_load_upto(x + i * ld, w), max));
        v_store_upto(y + i * ld, e, w);
        sum = v_add(sum, e);
    }
    const vf32 scale = v_div(v_set(1), sum);
    for (size_t i = 0; i < n; i++) v_store_upto(y + i * ld, v_mul(v_load_upto(y + i * ld, w), scale), w);
}

static void logsoftmax_columns(float *y, const float *x, size_t n, size_t w, size_t ld)
{
    vf32 max = v_set(-INFINITY), sum = v_zero();
    for (size_t i = 0; i < n; i++) max = into_max(max, v_load_upto(x + i * ld, w), max);
    for (size_t i = 0; i < n; i++) sum = into_sumexp(sum, v_load_upto(x + i * ld, w), max);
    const vf32 log_sum = v_log(sum);
    for (size_t i = 0; i < n; i++) v_store_upto(y + i * ld, v_sub(v_sub(v_load_upto(x + i * ld, w), max), log_sum), w);
}

static void softmax_f32(float *y, const float *x, size_t outer, size_t n, size_t inner, size_t ld)
{
    for (size_t o = 0; o < outer; o++, y += n * ld, x += n * ld) {
        if (ld == 1) softmax_row(y, x, n);
        for (size_t j = 0; j < inner && ld > 1; j += VW)
            softmax_columns(y + j, x + j, n, inner - j < VW ? inner - j : VW, ld);
    }
}

static void logsoftmax_f32(float *y, const float *x, size_t outer, size_t n, size_t inner, size_t ld)
{
    for (size_t o = 0; o < outer; o++, y += n * ld, x += n * ld) {
        if (ld == 1) logsoftmax_row(y, x, n);
        for (size_t j = 0; j < inner && ld > 1; j += VW)
            logsoftmax_columns(y + j, x + j, n, inner - j < VW ? inner - j : VW, ld);
    }
}

/* x = scale * x + bias; the largest, or NaN. */
static float scores_max(float *x, size_t n, float scale, const float *bias)
{
    const vf32 by = v_set(scale);
    vf32 max[2] = { v_set(-INFINITY), v_set(-INFINITY) };
    vm nan = v_isnan(v_zero());
    size_t i = 0;
    for (; n - i >= 2 * VW; i += 2 * VW) V_UNROLL for (int k = 0; k < 2; k++)
        {
            vf32 v = v_mul(v_load(x + i + k * VW), by);
            if (bias) v = v_add(v, v_load(bias + i + k * VW));
            v_store(x + i + k * VW, v);
            nan = m_or(nan, v_isnan(v));
            max[k] = v_max(v, max[k]);
        }
    for (; i < n; i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        vf32 v = v_mul(v_load_upto(x + i, w), by);
        if (bias) v = v_add(v, v_load_upto(bias + i, w));
        v_store_upto(x + i, v, w);
        v = w < VW ? v_load_or(x + i, w, -INFINITY) : v;
        nan = m_or(nan, v_isnan(v));
        max[0] = v_max(v, max[0]);
    }
    return m_any(nan) ? NAN : v_hmax(v_max(max[0], max[1]));
}

static void softmax_scores_f32(float *x, size_t rows, size_t n, size_t ld, float scale, const float *bias, size_t ldb)
{
    for (size_t r = 0; r < rows; r++, x += ld) {
        float max = scores_max(x, n, scale, bias);
        if (max != max && bias) {
            for (size_t i = 0; i < n; i++) x[i] = bias[i] == -INFINITY ? -INFINITY : x[i];
            max = row_max(x, n);
        }
        const bool none = max == -INFINITY;
        const vf32 by = none ? v_zero() : v_set(1.0f / softmax_exps(x, x, n, max));
        for (size_t i = 0; i < n; i += VW) {
            const size_t w = n - i < VW ? n - i : VW;
            v_store_upto(x + i, none ? by : v_mul(v_load_upto(x + i, w), by), w);
        }
        if (bias) bias += ldb;
    }
}

void ISA(sdx_kern_init_softmax)(Kern *k);
void ISA(sdx_kern_init_softmax)(Kern *k)
{
    k->softmax_f32 = softmax_f32;
    k->logsoftmax_f32 = logsoftmax_f32;
    k->softmax_scores_f32 = softmax_scores_f32;
}
