/* kern/conv/depthwise_body.h - kern/conv/depthwise.h in the vocabulary of kern/simd/.
 *
 * Channels are outermost, two vectors of them at a time: the image rows that overlap between output
 * rows then stay in the first-level cache. A register tile is up to DW_COLS pixels of one row; every
 * multiply-add reads its x from memory, so loads, not arithmetic, are the limit. */
#include "kern/conv/depthwise.h"
#include "kern/gemm/epilogue_body.h"

enum { DW_COLS = 6, DW_VECS = 2 };

/* Without hardware for it, a fused multiply-add is a slow library call, and no result asks for it. */
#if VW == 1
#define DW_FMA(a, b, c) v_add(v_mul(a, b), c)
#else
#define DW_FMA(a, b, c) v_fma(a, b, c)
#endif

/* t pixels from `col` on, nv vectors of channels from `c` on, taps [j0, j1) of every line. n < VW: only
 * so many channels, and nv is 1. */
V_INLINE void dw_run(const Depthwise *d, size_t row, size_t col, size_t c, size_t j0, size_t j1, size_t n,
                     const int t, const int nv, const bool whole)
{
    vf32 acc[DW_COLS * DW_VECS];
    V_UNROLL for (int i = 0; i < t * nv; i++) acc[i] = v_zero();
    const size_t step = d->stride * d->ldx;
    for (size_t i = 0; i < d->lines; i++) {
        const float *x = d->x[row * d->lines + i];
        if (!x) continue;
        x += (ptrdiff_t)((col * d->stride + j0 * d->dilation) * d->ldx) - d->pad * (ptrdiff_t)d->ldx + (ptrdiff_t)c;
        const float *w = d->w + (i * d->kernel + j0) * d->ldw + c;
        for (size_t j = j0; j < j1; j++) {
            const float *x3 = x + 3 * step;
            V_UNROLL for (int v = 0; v < nv; v++) {
                vf32 k = whole ? v_load(w + v * VW) : v_load_n(w, n);
                V_UNROLL for (int q = 0; q < t; q++) {
                    const float *p = (q < 3 ? x + q * step : x3 + (q - 3) * step) + v * VW;
                    acc[q * nv + v] = DW_FMA(whole ? v_load(p) : v_load_n(p, n), k, acc[q * nv + v]);
                }
            }
            x += d->dilation * d->ldx;
            w += d->ldw;
        }
    }

    const Epilogue *e = d->epi;
    float *y = d->y + row * d->ldrow + col * d->ldy + c;
    size_t pixel = row * d->out + col;
    if (!epilogue_is_simple(e) || !whole) {
        float block[DW_COLS * DW_VECS * VW];
        V_UNROLL for (int i = 0; i < t * nv; i++) v_store(block + i * VW, acc[i]);
        epilogue_block(e, block, (size_t)nv * VW, y, d->ldy, pixel, c, (size_t)t, whole ? (size_t)nv * VW : n);
        return;
    }
    V_UNROLL for (int v = 0; v < nv; v++) {
        vf32 bias = e->bias ? v_load(e->bias + c + v * VW) : v_zero();
        V_UNROLL for (int q = 0; q < t; q++) {
            vf32 s = e->bias ? v_add(acc[q * nv + v], bias) : acc[q * nv + v];
            if (e->add) s = v_add(s, v_mul(v_load(e->add + (pixel + q) * e->ldadd + c + v * VW), v_set(e->beta)));
            if (e->act == SDX_ACT_RELU) s = v_relu(s);
            if (e->act == SDX_ACT_CLIP) s = v_clamp(s, v_set(e->p0), v_set(e->p1));
            v_store(y + q * d->ldy + v * VW, s);
        }
    }
}

typedef void DwFn(const Depthwise *d, size_t row, size_t col, size_t c, size_t j0, size_t j1, size_t n);
#define DW_FN(t)                                                                                               \
    static void dw_pair_##t(const Depthwise *d, size_t row, size_t col, size_t c, size_t j0, size_t j1, size_t n) \
    {                                                                                                          \
        dw_run(d, row, col, c, j0, j1, n, t, 2, true);                                                         \
    }                                                                                                          \
    static void dw_one_##t(const Depthwise *d, size_t row, size_t col, size_t c, size_t j0, size_t j1, size_t n) \
    {                                                                                                          \
        dw_run(d, row, col, c, j0, j1, n, t, 1, true);                                                         \
    }                                                                                                          \
    static void dw_tail_##t(const Depthwise *d, size_t row, size_t col, size_t c, size_t j0, size_t j1, size_t n) \
    {                                                                                                          \
        dw_run(d, row, col, c, j0, j1, n, t, 1, false);                                                        \
    }
DW_FN(1)
DW_FN(2)
DW_FN(3)
DW_FN(4)
DW_FN(5)
DW_FN(6)
#define DW_LIST(name) { name##_1, name##_2, name##_3, name##_4, name##_5, name##_6 }
static DwFn *const dw_pair[] = DW_LIST(dw_pair), *const dw_one[] = DW_LIST(dw_one), *const dw_tail[] = DW_LIST(dw_tail);

/* Taps of `col` that lie inside the row: [*j0, *j1), maybe empty. */
static void dw_clip(const Depthwise *d, size_t col, size_t *j0, size_t *j1)
{
    ptrdiff_t at = (ptrdiff_t)(col * d->stride) - d->pad, in = (ptrdiff_t)d->in, dil = (ptrdiff_t)d->dilation;
    ptrdiff_t lo = at < 0 ? (-at + dil - 1) / dil : 0, hi = at < in ? (in - at + dil - 1) / dil : 0;
    if (hi > (ptrdiff_t)d->kernel) hi = (ptrdiff_t)d->kernel;
    if (lo > hi) lo = hi;
    *j0 = (size_t)lo;
    *j1 = (size_t)hi;
}

void ISA(sdx_depthwise_f32)(const Depthwise *d);
void ISA(sdx_depthwise_f32)(const Depthwise *d)
{
    /* Columns [first, last) see no padding. */
    size_t first = 0, last = d->out, j0, j1;
    for (; first < d->out; first++) {
        dw_clip(d, first, &j0, &j1);
        if (j1 - j0 == d->kernel) break;
    }
    for (; last > first; last--) {
        dw_clip(d, last - 1, &j0, &j1);
        if (j1 - j0 == d->kernel) break;
    }
    for (size_t c = 0, width; c < d->channels; c += width) {
        size_t left = d->channels - c;
        DwFn *const *fn = left >= 2 * VW ? dw_pair : left >= VW ? dw_one : dw_tail;
        width = left >= 2 * VW ? 2 * VW : left >= VW ? VW : left;
        for (size_t row = 0; row < d->rows; row++) {
            for (size_t col = 0; col < first; col++) {
                dw_clip(d, col, &j0, &j1);
                fn[0](d, row, col, c, j0, j1, width);
            }
            size_t blocks = (last - first + DW_COLS - 1) / DW_COLS;
            for (size_t i = 0, col = first, t; i < blocks; i++, col += t) {
                t = (last - col + blocks - i - 1) / (blocks - i);
                fn[t - 1](d, row, col, c, 0, d->kernel, width);
            }
            for (size_t col = last; col < d->out; col++) {
                dw_clip(d, col, &j0, &j1);
                fn[0](d, row, col, c, j0, j1, width);
            }
        }
    }
}
