/* kern/reduce/reduce_body.h - reductions of floats: rows by kern/reduce/fold_body.h, columns here. */
#include "kern/map/act_body.h"
#include "kern/reduce/fold_body.h"

V_INLINE vf32 merge_max(vf32 a, vf32 b) { return into_max(a, b, b); }
V_INLINE vf32 merge_min(vf32 a, vf32 b) { return into_min(a, b, b); }

/* Rows of a block: about sqrt(n), so that the error of a column's sum grows as 2 sqrt(n). */
static size_t block_rows(size_t n)
{
    size_t b = 16;
    while (b < 1024 && b * b < n) b *= 2;
    return b;
}

/* y[j] = the fold of column j: a strip of 64 columns at a time through each block of rows, then single
 * vectors and a masked one. */
#define COLUMNS(fold, op, empty)                                                                                       \
    static void columns_##fold(float *y, const float *x, size_t n, size_t inner, size_t ld)                            \
    {                                                                                                                  \
        const size_t step = block_rows(n);                                                                             \
        if (n == 0)                                                                                                    \
            for (size_t j = 0; j < inner; j++) y[j] = empty;                                                           \
        for (size_t r = 0; r < n; r += step) {                                                                         \
            const size_t rows = n - r < step ? n - r : step;                                                           \
            size_t j = 0;                                                                                              \
            for (; inner - j >= FOLD_LANES; j += FOLD_LANES) {                                                         \
                const float *p = x + r * ld + j;                                                                       \
                vf32 acc[FOLD_VECS];                                                                                   \
                V_UNROLL for (int k = 0; k < FOLD_VECS; k++) acc[k] = v_set(empty);                                    \
                for (size_t i = 0; i < rows; i++, p += ld)                                                             \
                    V_UNROLL for (int k = 0; k < FOLD_VECS; k++)                                                       \
                        acc[k] = into_##fold(acc[k], v_load(p + k * VW), acc[k]);                                      \
                V_UNROLL for (int k = 0; k < FOLD_VECS; k++)                                                           \
                {                                                                                                      \
                    float *out = y + j + k * VW;                                                                       \
                    v_store(out, r ? merge_##op(v_load(out), acc[k]) : acc[k]);                                        \
                }                                                                                                      \
            }                                                                                                          \
            for (; j < inner; j += VW) {                                                                               \
                const size_t w = inner - j < VW ? inner - j : VW;                                                      \
                const float *p = x + r * ld + j;                                                                       \
                vf32 acc = v_set(empty);                                                                               \
                if (w == VW)                                                                                           \
                    for (size_t i = 0; i < rows; i++, p += ld) acc = into_##fold(acc, v_load(p), acc);                 \
                else                                                                                                   \
                    for (size_t i = 0; i < rows; i++, p += ld) acc = into_##fold(acc, v_load_n(p, w), acc);            \
                v_store_n(y + j, r ? merge_##op(v_load_n(y + j, w), acc) : acc, w);                                    \
            }                                                                                                          \
        }                                                                                                              \
    }
COLUMNS(sum, sum, 0)
COLUMNS(prod, prod, 1)
COLUMNS(sumsq, sum, 0)
COLUMNS(sumabs, sum, 0)
COLUMNS(max, max, -INFINITY)
COLUMNS(min, min, INFINITY)

#define REDUCE_F32(fold, ROW)                                                                                          \
    static void reduce_##fold(void *y_, const void *x_, size_t outer, size_t n, size_t inner, size_t ld)               \
    {                                                                                                                  \
        float *y = y_;                                                                                                 \
        const float *x = x_;                                                                                           \
        for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)                                                    \
            if (ld == 1)                                                                                               \
                *y = ROW;                                                                                              \
            else                                                                                                       \
                columns_##fold(y, x, n, inner, ld);                                                                    \
    }
REDUCE_F32(sum, row_sum(x, n, 0))
REDUCE_F32(prod, row_prod(x, n, 0))
REDUCE_F32(sumsq, row_sumsq(x, n, 0))
REDUCE_F32(sumabs, row_sumabs(x, n, 0))
REDUCE_F32(max, row_max(x, n))
REDUCE_F32(min, row_min(x, n))

static void reduce_mean(void *y_, const void *x, size_t outer, size_t n, size_t inner, size_t ld)
{
    float *y = y_;
    reduce_sum(y, x, outer, n, inner, ld);
    for (size_t i = 0; i < outer * inner; i++) y[i] /= (float)n;
}

/* The maximum is subtracted, unless it is infinite: then the sum is 0, infinite or NaN by itself. */
V_INLINE vf32 shift_of(vf32 max) { return v_sel(v_lt(v_abs(max), v_set(INFINITY)), max, v_zero()); }

static float row_logsumexp(const float *x, size_t n)
{
    float out[VW];
    vf32 shift = shift_of(v_set(row_max(x, n)));
    v_store(out, shift);
    v_store(out, v_add(v_log(v_set(row_sumexp(x, n, out[0]))), shift));
    return out[0];
}

static void columns_logsumexp(float *y, const float *x, size_t n, size_t inner, size_t ld)
{
    const size_t step = block_rows(n);
    for (size_t j = 0; j < inner; j += VW) {
        const size_t w = inner - j < VW ? inner - j : VW;
        vf32 max = v_set(-INFINITY), total = v_zero();
        for (size_t i = 0; i < n; i++) max = into_max(max, v_load_upto(x + i * ld + j, w), max);
        const vf32 shift = shift_of(max);
        for (size_t r = 0; r < n; r += step) {
            const size_t end = n - r < step ? n : r + step;
            vf32 acc = v_zero();
            for (size_t i = r; i < end; i++) acc = into_sumexp(acc, v_load_upto(x + i * ld + j, w), shift);
            total = r ? v_add(total, acc) : acc;
        }
        v_store_n(y + j, v_add(v_log(total), shift), w);
    }
}

static void reduce_logsumexp(void *y_, const void *x_, size_t outer, size_t n, size_t inner, size_t ld)
{
    float *y = y_;
    const float *x = x_;
    for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)
        if (ld == 1)
            *y = row_logsumexp(x, n);
        else
            columns_logsumexp(y, x, n, inner, ld);
}

/* ---- where the extreme is ---------------------------------------------------------------------- */

/* The first (last) i with x[i] equal to v, or NaN if v is. */
static int64_t row_find(const float *x, size_t n, float v, bool last)
{
    const vf32 want = v_set(v);
    int64_t at = 0;
    for (size_t i = 0; i < n; i += VW) {
        const size_t w = n - i < VW ? n - i : VW;
        const vf32 e = v_load_n(x + i, w);
        const vm hit = v != v ? v_isnan(e) : v_eq(e, want);
        if (!m_any(hit)) continue;
        unsigned bits = m_bits(hit) & (unsigned)((UINT64_C(1) << w) - 1);
        if (!bits) continue;
        if (!last) return (int64_t)i + __builtin_ctz(bits);
        at = (int64_t)i + 31 - __builtin_clz(bits);
    }
    return at;
}
#define ARG_F32(name, fold, beats, beats_or_ties)                                                                      \
    static void columns_##name(int64_t *y, const float *x, size_t n, size_t inner, size_t ld, bool last)               \
    {                                                                                                                  \
        for (size_t j = 0; j < inner; j += VW) {                                                                       \
            const size_t w = inner - j < VW ? inner - j : VW;                                                          \
            vf32 best = v_load_n(x + j, w);                                                                            \
            vi32 at = vi_set(0);                                                                                       \
            for (size_t i = 1; i < n; i++) {                                                                           \
                const vf32 e = v_load_upto(x + i * ld + j, w);                                                         \
                const vm nan = v_isnan(e), new_nan = m_and(nan, m_not(v_isnan(best)));                                 \
                const vm win = last ? m_or(beats_or_ties(e, best), nan) : m_or(beats(e, best), new_nan);               \
                best = v_sel(win, e, best);                                                                            \
                at = vi_sel(win, vi_set((int32_t)i), at);                                                              \
            }                                                                                                          \
            int32_t out[VW];                                                                                           \
            vi_store(out, at);                                                                                         \
            for (size_t k = 0; k < w; k++) y[j + k] = out[k];                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    static void name##_f32(int64_t *y, const void *x_, size_t outer, size_t n, size_t inner, size_t ld, bool last)     \
    {                                                                                                                  \
        const float *x = x_;                                                                                           \
        for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)                                                    \
            if (ld == 1)                                                                                               \
                *y = row_find(x, n, row_##fold(x, n), last);                                                           \
            else                                                                                                       \
                columns_##name(y, x, n, inner, ld, last);                                                              \
    }
ARG_F32(argmax, max, v_gt, v_ge)
ARG_F32(argmin, min, v_lt, v_le)

void ISA(sdx_kern_init_reduce)(Kern *k);
void ISA(sdx_kern_init_reduce)(Kern *k)
{
#define REDUCE(name, types, empty) k->reduce[SDX_K_f32][SDX_REDUCE_##name] = reduce_##name;
#include "kern/reduce/reductions.def"
#undef REDUCE
    k->argmax[SDX_K_f32] = argmax_f32;
    k->argmin[SDX_K_f32] = argmin_f32;
}
