/* kern/gemm/epilogue_body.h - kern/gemm/epilogue.h in the vocabulary of kern/simd/. */
#include <math.h>

#include "kern/gemm/epilogue.h"

V_INLINE vf32 epilogue_clip(vf32 x, float lo, float hi) { return v_min(v_set(hi), v_max(v_set(lo), x)); }

V_INLINE vf32 epilogue_scalar(float (*f)(float), vf32 x)
{
    float lane[VW];
    v_store(lane, x);
    for (int i = 0; i < VW; i++) lane[i] = f(lane[i]);
    return v_load(lane);
}

static float epilogue_sigmoid(float x) { return 1 / (1 + expf(-x)); }
static float epilogue_silu(float x) { return x / (1 + expf(-x)); }
static float epilogue_gelu_erf(float x) { return 0.5f * x * (1 + erff(x * 0.70710678f)); }
static float epilogue_gelu_tanh(float x)
{
    return 0.5f * x * (1 + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

V_INLINE vf32 epilogue_act(unsigned act, vf32 x, float p0, float p1)
{
    switch (act) {
    case SDX_ACT_RELU: return v_max(v_zero(), x);
    case SDX_ACT_CLIP: return epilogue_clip(x, p0, p1);
    case SDX_ACT_LEAKY: return v_sel(v_lt(x, v_zero()), v_mul(x, v_set(p0)), x);
    case SDX_ACT_HARDSIGMOID: return epilogue_clip(v_fma(x, v_set(p0), v_set(p1)), 0, 1);
    case SDX_ACT_HARDSWISH: return v_mul(x, epilogue_clip(v_fma(x, v_set(1.f / 6), v_set(0.5f)), 0, 1));
    case SDX_ACT_SIGMOID: return epilogue_scalar(epilogue_sigmoid, x);
    case SDX_ACT_SILU: return epilogue_scalar(epilogue_silu, x);
    case SDX_ACT_TANH: return epilogue_scalar(tanhf, x);
    case SDX_ACT_GELU_ERF: return epilogue_scalar(epilogue_gelu_erf, x);
    case SDX_ACT_GELU_TANH: return epilogue_scalar(epilogue_gelu_tanh, x);
    default: return x;
    }
}

/* One vector of n <= VW sums. bias and add point to their first value; either may be NULL. */
V_INLINE vf32 epilogue_vector(const Epilogue *e, vf32 v, const float *bias, const float *add, size_t n)
{
    if (e->alpha != 1) v = v_mul(v, v_set(e->alpha));
    if (bias) v = v_add(v, e->bias_by_row ? v_set(*bias) : v_load_n(bias, n));
    if (!add) return epilogue_act(e->act, v, e->p0, e->p1);
    vf32 x = v_load_n(add, n);
    if (e->beta != 1) x = v_mul(x, v_set(e->beta));
    return e->add_last ? v_add(epilogue_act(e->act, v, e->p0, e->p1), x)
                       : epilogue_act(e->act, v_add(v, x), e->p0, e->p1);
}

/* c[r][j] = epilogue(sum[r][j]) for a block whose first element is (row, col) of the operands. */
static void epilogue_block(const Epilogue *e, const float *sum, size_t ldsum, float *c, size_t ldc, size_t row,
                           size_t col, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        const float *bias = !e->bias ? NULL : e->bias_by_row ? e->bias + row + r : e->bias + col;
        const float *add = e->add ? e->add + (row + r) * e->ldadd + col : NULL;
        size_t step = e->bias_by_row ? 0 : 1;
        for (size_t j = 0; j < cols; j += VW) {
            size_t n = cols - j < VW ? cols - j : VW;
            vf32 v = v_load_n(sum + r * ldsum + j, n);
            v = epilogue_vector(e, v, bias ? bias + step * j : NULL, add ? add + j : NULL, n);
            v_store_n(c + r * ldc + j, v, n);
        }
    }
}
