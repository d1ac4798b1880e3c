/* kern/pool/taps_body.h - all taps of a few vectors of outputs, which stay in registers. */
#include "kern/map/act_body.h"

V_INLINE vf32 taps_max(vf32 acc, vf32 x) { return v_sel(v_isnan(x), x, v_max(x, acc)); }
V_INLINE vf32 taps_sum(vf32 acc, vf32 x) { return v_add(acc, x); }

/* Every stride-th of n elements, n <= VW, by way of memory. */
V_INLINE vf32 taps_load(const float *p, size_t n, size_t stride)
{
    float t[VW] = { 0 };
    for (size_t i = 0; i < n; i++) t[i] = p[i * stride];
    return v_load(t);
}

/* Four vectors at a time, then one, then the rest; strides 1 and 2 have loads of their own. */
#define TAPS(name, empty, JOIN, FINISH)                                                                                \
    V_INLINE void name##_run(float *y, const float *const *x, size_t taps, size_t n, size_t stride, float count)       \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        size_t i = 0;                                                                                                  \
        for (; n - i >= 4 * VW && stride == 1; i += 4 * VW) {                                                          \
            vf32 acc[4];                                                                                               \
            V_UNROLL for (int k = 0; k < 4; k++) acc[k] = v_set(empty);                                                \
            for (size_t t = 0; t < taps; t++)                                                                          \
                V_UNROLL for (int k = 0; k < 4; k++) acc[k] = JOIN(acc[k], v_load(x[t] + i + k * VW));                 \
            V_UNROLL for (int k = 0; k < 4; k++) v_store(y + i + k * VW, FINISH(acc[k], count));                       \
        }                                                                                                              \
        for (; n - i >= VW && stride <= 2; i += VW) {                                                                  \
            vf32 acc = v_set(empty);                                                                                   \
            for (size_t t = 0; t < taps; t++)                                                                          \
                acc = JOIN(acc, stride == 1 ? v_load(x[t] + i) : v_load_even(x[t] + 2 * i));                           \
            v_store(y + i, FINISH(acc, count));                                                                        \
        }                                                                                                              \
        for (size_t w; i < n; i += w) {                                                                                \
            vf32 acc = v_set(empty);                                                                                   \
            w = n - i < VW ? n - i : VW;                                                                               \
            for (size_t t = 0; t < taps; t++)                                                                          \
                acc = JOIN(acc, stride == 1 ? v_load_n(x[t] + i, w) : taps_load(x[t] + i * stride, w, stride));        \
            v_store_upto(y + i, FINISH(acc, count), w);                                                                \
        }                                                                                                              \
    }
#define TAPS_ALONE(acc, count) acc
#define TAPS_DIVIDED(acc, count) v_div(acc, v_set(count))
TAPS(max, -INFINITY, taps_max, TAPS_ALONE)
TAPS(mean, 0, taps_sum, TAPS_DIVIDED)

static void max_taps(float *y, const float *const *x, size_t taps, size_t n, size_t stride)
{
    max_run(y, x, taps, n, stride, 0);
}

static void mean_taps(float *y, const float *const *x, size_t taps, size_t n, size_t stride, float count)
{
    mean_run(y, x, taps, n, stride, count);
}

static void blend_taps(float *y, const float *const *x, const float *weight, size_t taps, size_t n)
{
    size_t i = 0;
    for (; n - i >= 2 * VW; i += 2 * VW) {
        vf32 a = v_zero(), b = v_zero();
        for (size_t t = 0; t < taps; t++) {
            const vf32 w = v_set(weight[t]);
            a = v_fma(w, v_load(x[t] + i), a);
            b = v_fma(w, v_load(x[t] + i + VW), b);
        }
        v_store(y + i, a);
        v_store(y + i + VW, b);
    }
    for (size_t w; i < n; i += w) {
        vf32 a = v_zero();
        w = n - i < VW ? n - i : VW;
        for (size_t t = 0; t < taps; t++) a = v_fma(v_set(weight[t]), v_load_upto(x[t] + i, w), a);
        v_store_upto(y + i, a, w);
    }
}

void ISA(sdx_kern_init_taps)(Kern *k);
void ISA(sdx_kern_init_taps)(Kern *k)
{
    k->max_taps_f32 = max_taps;
    k->mean_taps_f32 = mean_taps;
    k->blend_taps_f32 = blend_taps;
}
