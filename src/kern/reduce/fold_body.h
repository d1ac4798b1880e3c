/* kern/reduce/fold_body.h - folds of one contiguous row, for reductions, softmax and norms.
 *
 * 64 lanes over blocks of 4096 elements: element i of a block goes to lane i mod 64, lanes are folded by
 * halves, blocks pairwise. So every instruction set adds in one order, and the error of a sum grows as
 * 64 + log2(n / 4096). Include after a vocabulary header and kern/map/act_body.h. */
#ifndef SDX_KERN_REDUCE_FOLD_BODY_H
#define SDX_KERN_REDUCE_FOLD_BODY_H

#define FOLD_LANES 64
#define FOLD_BLOCK 4096
#define FOLD_VECS (FOLD_LANES / VW)

/* into_<fold>(acc, x, p): acc with x folded in; p is the fold's parameter, where it has one. */
V_INLINE vf32 into_sum(vf32 acc, vf32 x, vf32 p) { return v_add(acc, x); }
V_INLINE vf32 into_prod(vf32 acc, vf32 x, vf32 p) { return v_mul(acc, x); }
V_INLINE vf32 into_sumsq(vf32 acc, vf32 x, vf32 p) { return v_fma(x, x, acc); }
V_INLINE vf32 into_sumabs(vf32 acc, vf32 x, vf32 p) { return v_add(acc, v_abs(x)); }
V_INLINE vf32 into_max(vf32 acc, vf32 x, vf32 p) { return v_sel(v_isnan(x), x, v_max(x, acc)); }
V_INLINE vf32 into_min(vf32 acc, vf32 x, vf32 p) { return v_sel(v_isnan(x), x, v_min(x, acc)); }
V_INLINE vf32 into_sumsqdev(vf32 acc, vf32 x, vf32 mean)
{
    vf32 d = v_sub(x, mean);
    return v_fma(d, d, acc);
}
V_INLINE vf32 into_sumexp(vf32 acc, vf32 x, vf32 max) { return v_add(acc, v_exp_fast(v_sub(x, max))); }

/* How two results become one, on vectors and on numbers. */
V_INLINE vf32 merge_sum(vf32 a, vf32 b) { return v_add(a, b); }
V_INLINE vf32 merge_prod(vf32 a, vf32 b) { return v_mul(a, b); }
V_INLINE float merge1_sum(float a, float b) { return a + b; }
V_INLINE float merge1_prod(float a, float b) { return a * b; }

/* All lanes by halves: lane i meets lane i + 32, then i + 16, ... */
#define FOLD_HALVES(op, across)                                                                                        \
    V_INLINE float halves_##op(vf32 acc[FOLD_VECS])                                                                    \
    {                                                                                                                  \
        V_UNROLL for (int h = FOLD_VECS / 2; h > 0; h /= 2) V_UNROLL for (int k = 0; k < h; k++)                       \
            acc[k] = merge_##op(acc[k], acc[k + h]);                                                                   \
        return across(acc[0]);                                                                                         \
    }
FOLD_HALVES(sum, v_hsum)
FOLD_HALVES(prod, v_hprod)

/* Returns the fold of n elements by blocks; BLOCK gives that of the m from i on. */
#define FOLD_PAIRWISE(op, BLOCK)                                                                                       \
    float part[64]; /* results of 2^l blocks, one for each bit l of `count`, the highest first */                      \
    size_t count = 0, i = 0;                                                                                           \
    int top = 0;                                                                                                       \
    do {                                                                                                               \
        const size_t m = n - i < FOLD_BLOCK ? n - i : FOLD_BLOCK;                                                      \
        float s = BLOCK;                                                                                               \
        for (size_t c = count++; c & 1; c >>= 1) s = merge1_##op(part[--top], s);                                      \
        part[top++] = s;                                                                                               \
        i += m;                                                                                                        \
    } while (i < n);                                                                                                   \
    float s = part[--top];                                                                                             \
    while (top) s = merge1_##op(part[--top], s);                                                                       \
    return s;

/* float row_<fold>(x, n, p): the fold of n elements. `pad` fills the lanes past the end: what changes none. */
#define FOLD_ROW(fold, op, empty, pad)                                                                                 \
    __attribute__((unused)) static float block_##fold(const float *x, size_t n, float p)                               \
    {                                                                                                                  \
        const vf32 vp = v_set(p);                                                                                      \
        vf32 acc[FOLD_VECS];                                                                                           \
        V_UNROLL for (int k = 0; k < FOLD_VECS; k++) acc[k] = v_set(empty);                                            \
        size_t i = 0;                                                                                                  \
        for (; n - i >= FOLD_LANES; i += FOLD_LANES)                                                                   \
            V_UNROLL for (int k = 0; k < FOLD_VECS; k++) acc[k] = into_##fold(acc[k], v_load(x + i + k * VW), vp);     \
        V_UNROLL for (int k = 0; k < FOLD_VECS; k++)                                                                   \
        {                                                                                                              \
            if (n - i < VW) {                                                                                          \
                if (i < n) acc[k] = into_##fold(acc[k], v_load_or(x + i, n - i, pad), vp);                             \
                break;                                                                                                 \
            }                                                                                                          \
            acc[k] = into_##fold(acc[k], v_load(x + i), vp);                                                           \
            i += VW;                                                                                                   \
        }                                                                                                              \
        return halves_##op(acc);                                                                                       \
    }                                                                                                                  \
    __attribute__((unused)) static float row_##fold(const float *x, size_t n, float p)                                 \
    {                                                                                                                  \
        FOLD_PAIRWISE(op, block_##fold(x + i, m, p))                                                                   \
    }
FOLD_ROW(sum, sum, 0, 0)
FOLD_ROW(prod, prod, 1, 1)
FOLD_ROW(sumsq, sum, 0, 0)
FOLD_ROW(sumabs, sum, 0, 0)
FOLD_ROW(sumsqdev, sum, 0, p)
FOLD_ROW(sumexp, sum, 0, -INFINITY)

/* float row_max(x, n), row_min: NaN if any element is; NaNs are noticed two vectors at a time. */
#define FOLD_EXTREME(fold, better, across, empty)                                                                      \
    __attribute__((unused)) static float row_##fold(const float *x, size_t n)                                          \
    {                                                                                                                  \
        vf32 acc[FOLD_VECS];                                                                                           \
        V_UNROLL for (int k = 0; k < FOLD_VECS; k++) acc[k] = v_set(empty);                                            \
        vm nan = v_isnan(v_zero());                                                                                    \
        size_t i = 0;                                                                                                  \
        for (; n - i >= FOLD_LANES; i += FOLD_LANES) V_UNROLL for (int k = 0; k < FOLD_VECS; k += 2)                   \
            {                                                                                                          \
                const vf32 a = v_load(x + i + k * VW), b = v_load(x + i + (k + 1) * VW);                               \
                nan = m_or(nan, v_unordered(a, b));                                                                    \
                acc[k] = better(a, acc[k]);                                                                            \
                acc[k + 1] = better(b, acc[k + 1]);                                                                    \
            }                                                                                                          \
        V_UNROLL for (int k = 0; k < FOLD_VECS; k++)                                                                   \
        {                                                                                                              \
            if (n - i < VW) {                                                                                          \
                const vf32 a = v_load_or(x + i, n - i, empty);                                                         \
                if (i < n) nan = m_or(nan, v_isnan(a)), acc[k] = better(a, acc[k]);                                    \
                break;                                                                                                 \
            }                                                                                                          \
            const vf32 a = v_load(x + i);                                                                              \
            nan = m_or(nan, v_isnan(a));                                                                               \
            acc[k] = better(a, acc[k]);                                                                                \
            i += VW;                                                                                                   \
        }                                                                                                              \
        V_UNROLL for (int h = FOLD_VECS / 2; h > 0; h /= 2) V_UNROLL for (int k = 0; k < h; k++)                       \
            acc[k] = better(acc[k], acc[k + h]);                                                                       \
        return m_any(nan) ? NAN : across(acc[0]);                                                                      \
    }
FOLD_EXTREME(max, v_max, v_hmax, -INFINITY)
FOLD_EXTREME(min, v_min, v_hmin, INFINITY)

#endif
