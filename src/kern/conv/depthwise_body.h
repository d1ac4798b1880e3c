/* kern/conv/depthwise_body.h - kern/conv/depthwise.h in the vocabulary of kern/simd/.
 *
 * Channels are outermost, one or two vectors of them at a time: the image rows that overlap between output rows
 * then stay in the first-level cache. */
#include "kern/conv/depthwise.h"
#include "kern/gemm/epilogue_body.h"

enum { DW_COLS = 8 };

/* Without hardware for it, a fused multiply-add is a slow library call, and no result asks for it. */
#if VW == 1
#define DW_FMA(a, b, c) v_add(v_mul(a, b), c)
#else
#define DW_FMA(a, b, c) v_fma(a, b, c)
#endif

/* t sums to their pixels. n < VW: only so many channels. */
V_INLINE void dw_finish(const Depthwise *d, size_t row, size_t col, size_t c, vf32 *acc, const int t, size_t n)
{
    const Epilogue *e = d->epi;
    float *y = d->y + row * d->ldrow + col * d->ldy + c;
    if (n < VW || !epilogue_is_simple(e)) {
        float block[DW_COLS * VW];
        V_UNROLL for (int q = 0; q < t; q++) v_store(block + q * VW, acc[q]);
        epilogue_block(e, block, VW, y, d->ldy, row * d->out + col, c, (size_t)t, n);
        return;
    }
    if (e->bias) {
        vf32 bias = v_load(e->bias + c);
        V_UNROLL for (int q = 0; q < t; q++) acc[q] = v_add(acc[q], bias);
    }
    if (e->act == SDX_ACT_RELU) {
        V_UNROLL for (int q = 0; q < t; q++) acc[q] = v_relu(acc[q]);
    } else if (e->act == SDX_ACT_CLIP) {
        vf32 lo = v_set(e->p0), hi = v_set(e->p1);
        V_UNROLL for (int q = 0; q < t; q++) acc[q] = v_clamp(acc[q], lo, hi);
    }
    V_UNROLL for (int q = 0; q < t; q++) v_store(y + q * d->ldy, acc[q]);
}

/* t pixels of one row under a kernel `k` wide with stride `s`: constants, so that the image columns are
 * loaded once each, to registers. edge: some may lie outside the row; asking costs less than the multiply-adds hide. */
V_INLINE void dw_tile(const Depthwise *d, size_t row, size_t col, size_t c, const int t, const int k, const int s,
                      const bool edge)
{
    vf32 acc[DW_COLS];
    V_UNROLL for (int q = 0; q < t; q++) acc[q] = v_zero();
    const float *w = d->w + c, *const *line = d->x + row * d->lines, *const *end = line + d->lines;
    const size_t ldx = d->ldx, ldw = d->ldw, in = d->in;
    const ptrdiff_t at = (ptrdiff_t)col * s - d->pad, offset = at * (ptrdiff_t)ldx + (ptrdiff_t)c;
    for (; line < end; line++, w += (size_t)k * ldw) {
        if (!*line) continue;
        const float *x = *line + offset;
        vf32 column[(DW_COLS - 1) * 2 + 5];
        V_UNROLL for (int j = 0; j < (t - 1) * s + k; j++, x += ldx)
            column[j] = !edge || (size_t)(at + j) < in ? v_load(x) : v_zero();
        V_UNROLL for (int j = 0; j < k; j++)
        {
            vf32 weight = v_load(w + (size_t)j * ldw);
            V_UNROLL for (int q = 0; q < t; q++) acc[q] = DW_FMA(column[q * s + j], weight, acc[q]);
        }
    }
    dw_finish(d, row, col, c, acc, t, VW);
}

#define DW_TILE(t, k, s)                                                                                               \
    case t: dw_tile(d, row, col, c, t, k, s, edge); break;
/* All pixels of nv vectors of channels from c on. */
#define DW_ROWS(k, s)                                                                                                  \
    static void dw_rows_##k##_##s(const Depthwise *d, size_t c0, size_t nv)                                            \
    {                                                                                                                  \
        for (size_t i = 0; i < d->rows * nv; i++)                                                                      \
            for (size_t col = 0, t, row = i / nv, c = c0 + i % nv * VW; col < d->out; col += t) {                      \
                size_t left = d->out - col;                                                                            \
                t = left % 8 != 0 && left % 7 == 0 ? 7 : left >= 8 ? 8 : left >= 4 ? 4 : 1;                            \
                ptrdiff_t first = (ptrdiff_t)(col * s) - d->pad, last = first + (ptrdiff_t)(t - 1) * s + k;            \
                bool edge = first < 0 || last > (ptrdiff_t)d->in;                                                      \
                switch (t) {                                                                                           \
                    DW_TILE(8, k, s)                                                                                   \
                    DW_TILE(7, k, s)                                                                                   \
                    DW_TILE(4, k, s)                                                                                   \
                    DW_TILE(1, k, s)                                                                                   \
                }                                                                                                      \
            }                                                                                                          \
    }
DW_ROWS(3, 1)
DW_ROWS(3, 2)
DW_ROWS(5, 1)
DW_ROWS(5, 2)

/* Any kernel, stride and dilation, any number n <= VW of channels. */
static void dw_rows_any(const Depthwise *d, size_t c, size_t n)
{
    for (size_t row = 0; row < d->rows; row++)
        for (size_t col = 0; col < d->out; col++) {
            vf32 acc = v_zero();
            const float *w = d->w + c;
            for (size_t i = 0; i < d->lines; i++) {
                const float *line = d->x[row * d->lines + i];
                ptrdiff_t at = (ptrdiff_t)(col * d->stride) - d->pad;
                for (size_t j = 0; j < d->kernel; j++, w += d->ldw, at += (ptrdiff_t)d->dilation)
                    if (line && (size_t)at < d->in)
                        acc = DW_FMA(v_load_n(line + (size_t)at * d->ldx + c, n), v_load_n(w, n), acc);
            }
            dw_finish(d, row, col, c, &acc, 1, n);
        }
}

void ISA(sdx_depthwise_f32)(const Depthwise *d);
void ISA(sdx_depthwise_f32)(const Depthwise *d)
{
    void (*rows)(const Depthwise *, size_t, size_t) = NULL;
    if (d->dilation == 1 && d->kernel == 3) rows = d->stride == 1 ? dw_rows_3_1 : d->stride == 2 ? dw_rows_3_2 : NULL;
    if (d->dilation == 1 && d->kernel == 5) rows = d->stride == 1 ? dw_rows_5_1 : d->stride == 2 ? dw_rows_5_2 : NULL;
    size_t c = 0;
    for (size_t nv; (nv = (d->channels - c) / VW) > 0; c += nv * VW) {
        /* Two vectors a visit: what memory fetches in pairs of cache lines is used in pairs. */
        nv = rows && nv > 1 ? 2 : 1;
        if (rows)
            rows(d, c, nv);
        else
            dw_rows_any(d, c, VW);
    }
    if (c < d->channels) dw_rows_any(d, c, d->channels - c);
}
