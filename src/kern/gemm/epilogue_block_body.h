/* kern/gemm/epilogue_block_body.h - any epilogue on a block of sums in memory, in the vocabulary of kern/simd/.
 *
 * Once for each vocabulary, by its matrix product; the other kernels link to it. */
#include "kern/gemm/epilogue_body.h"

#define EPILOGUE_EACH(body)                                                                                            \
    for (size_t r = 0; r < rows; r++)                                                                                  \
        for (size_t j = 0; j < cols; j += VW) {                                                                        \
            const size_t n = cols - j < VW ? cols - j : VW;                                                            \
            body;                                                                                                      \
        }
#define EPILOGUE_ACT(id, f)                                                                                            \
    case id:                                                                                                           \
        EPILOGUE_EACH(vf32 x = v_load_n(y + r * ldy + j, n); x = f;                                                    \
                      if (late) x = v_add(x, v_mul(beta, v_load_n(late + r * e->ldadd + j, n)));                       \
                      v_store_n(c + r * ldc + j, x, n))                                                                \
        break;

void epilogue_block(const Epilogue *e, float *y, size_t ldy, float *c, size_t ldc, size_t row, size_t col, size_t rows,
                    size_t cols)
{
    const vf32 alpha = v_set(e->alpha), beta = v_set(e->beta);
    const float *add = e->add ? e->add + row * e->ldadd + col : NULL;
    const float *early = epilogue_adds_early(e) ? add : NULL, *late = early ? NULL : add;
    EPILOGUE_EACH(vf32 x = v_mul(alpha, v_load_n(y + r * ldy + j, n));
                  if (e->bias) x = v_add(x, e->bias_by_row ? v_set(e->bias[row + r]) : v_load_n(e->bias + col + j, n));
                  if (early) x = v_add(x, v_mul(beta, v_load_n(early + r * e->ldadd + j, n)));
                  v_store_n(y + r * ldy + j, x, n))
    switch (e->act) {
        EPILOGUE_ACT(SDX_ACT_RELU, v_relu(x))
        EPILOGUE_ACT(SDX_ACT_CLIP, v_clamp(x, v_set(e->p0), v_set(e->p1)))
        EPILOGUE_ACT(SDX_ACT_LEAKY, v_leakyrelu(x, v_set(e->p0)))
        EPILOGUE_ACT(SDX_ACT_HARDSIGMOID, v_hardsigmoid(x, v_set(e->p0), v_set(e->p1)))
        EPILOGUE_ACT(SDX_ACT_HARDSWISH, v_hardswish(x))
        EPILOGUE_ACT(SDX_ACT_SIGMOID, v_sigmoid(x))
        EPILOGUE_ACT(SDX_ACT_SILU, v_silu(x))
        EPILOGUE_ACT(SDX_ACT_TANH, v_tanh(x))
        EPILOGUE_ACT(SDX_ACT_GELU_ERF, v_gelu_erf(x))
        EPILOGUE_ACT(SDX_ACT_GELU_TANH, v_gelu_tanh(x))
    default: EPILOGUE_EACH(v_store_n(c + r * ldc + j, v_load_n(y + r * ldy + j, n), n))
    }
}
