/* kern/conv/winograd_body.h - the transforms of kern/conv/winograd.h in the vocabulary of kern/simd/. */
#include "kern/conv/winograd.h"
#include "kern/gemm/epilogue_body.h"

/* B' of a column: x[0], x[s], ... to y[0], y[t], ...
 *      1  -3/2  -2    3/2   1   0
 *      0  -1     1/2  5/2   1   0
 *      0   1    -5/2  1/2   1   0
 *      0  -2    -1    2     1   0
 *      0   1/2  -1   -1/2   1   0
 *      0   1    -3/2 -2     3/2 1  */
V_INLINE void wino_in(const vf32 *x, const int s, vf32 *y, const int t)
{
    const vf32 half = v_set(0.5f), two = v_set(2), three = v_set(1.5f), five = v_set(2.5f);
    vf32 x1 = x[s], x2 = x[2 * s], x3 = x[3 * s], x4 = x[4 * s], u = v_sub(x3, x1), v = v_sub(x4, x2);
    y[0] = v_fma(three, u, v_fnma(two, x2, v_add(x[0], x4)));
    y[t] = v_fma(five, x3, v_fma(half, x2, v_sub(x4, x1)));
    y[2 * t] = v_fnma(five, x2, v_fma(half, x3, v_add(x4, x1)));
    y[3 * t] = v_fma(two, u, v);
    y[4 * t] = v_fnma(half, u, v);
    y[5 * t] = v_fma(three, v, v_fnma(two, x3, v_add(x1, x[5 * s])));
}

/* A' of a column.
 *      1  1  1  1    1  0
 *      0  1 -1  1/2 -2  0
 *      0  1  1  1/4  4  0
 *      0  1 -1  1/8 -8  1  */
V_INLINE void wino_out(const vf32 *x, const int s, vf32 *y, const int t)
{
    vf32 x3 = x[3 * s], x4 = x[4 * s], sum = v_add(x[s], x[2 * s]), diff = v_sub(x[s], x[2 * s]);
    y[0] = v_add(v_add(x[0], sum), v_add(x3, x4));
    y[t] = v_fnma(v_set(2), x4, v_fma(v_set(0.5f), x3, diff));
    y[2 * t] = v_fma(v_set(4), x4, v_fma(v_set(0.25f), x3, sum));
    y[3 * t] = v_fnma(v_set(8), x4, v_fma(v_set(0.125f), x3, v_add(diff, x[5 * s])));
}

/* One tile, n <= VW channels. (h, w): its first pixel, which may lie outside. */
V_INLINE void wino_input_tile(const WinoInput *a, ptrdiff_t h, ptrdiff_t w, size_t c, float *v, const size_t n,
                              const bool edge)
{
    vf32 x[WINO_POINTS], y[WINO_POINTS];
    const float *row = a->x + h * (ptrdiff_t)a->row + w * (ptrdiff_t)a->pixel + (ptrdiff_t)c;
    V_UNROLL for (int i = 0; i < WINO_IN; i++, row += a->row)
    {
        V_UNROLL for (int j = 0; j < WINO_IN; j++)
        {
            const float *p = row + (size_t)j * a->pixel;
            bool inside = !edge || ((size_t)(h + i) < a->h && (size_t)(w + j) < a->w);
            x[i * WINO_IN + j] = !inside ? v_zero() : n == VW ? v_load(p) : v_load_n(p, n);
        }
        wino_in(x + i * WINO_IN, 1, y + i * WINO_IN, 1);
    }
    V_UNROLL for (int j = 0; j < WINO_IN; j++)
    {
        wino_in(y + j, WINO_IN, x, 1);
        V_UNROLL for (int i = 0; i < WINO_IN; i++)
        {
            float *to = v + (size_t)(i * WINO_IN + j) * a->ldv;
            if (n == VW)
                v_store(to, x[i]);
            else
                v_store_n(to, x[i], n);
        }
    }
}

static void wino_input_inner(const WinoInput *a, ptrdiff_t h, ptrdiff_t w, size_t c, float *v)
{
    wino_input_tile(a, h, w, c, v, VW, false);
}
static void wino_input_edge(const WinoInput *a, ptrdiff_t h, ptrdiff_t w, size_t c, float *v)
{
    wino_input_tile(a, h, w, c, v, VW, true);
}
static void wino_input_tail(const WinoInput *a, ptrdiff_t h, ptrdiff_t w, size_t c, float *v, size_t n)
{
    wino_input_tile(a, h, w, c, v, n, true);
}

void ISA(sdx_winograd_input)(const WinoInput *a);
void ISA(sdx_winograd_input)(const WinoInput *a)
{
    for (size_t t = 0; t < a->tiles; t++) {
        ptrdiff_t h = (ptrdiff_t)((a->tile + t) / a->across * WINO_OUT) - a->pad_h;
        ptrdiff_t w = (ptrdiff_t)((a->tile + t) % a->across * WINO_OUT) - a->pad_w;
        bool edge = h < 0 || w < 0 || h + WINO_IN > (ptrdiff_t)a->h || w + WINO_IN > (ptrdiff_t)a->w;
        float *v = a->v + t * a->channels;
        size_t c = 0;
        for (; a->channels - c >= VW; c += VW) {
            if (edge)
                wino_input_edge(a, h, w, c, v + c);
            else
                wino_input_inner(a, h, w, c, v + c);
        }
        if (c < a->channels) wino_input_tail(a, h, w, c, v + c, a->channels - c);
    }
}

/* One tile, n <= VW channels from c on; m: its element 0. (h, w): its first pixel. */
V_INLINE void wino_output_tile(const WinoOutput *a, size_t h, size_t w, size_t c, const float *m, const size_t n)
{
    enum { O = WINO_OUT };
    const Epilogue *e = a->epi;
    vf32 x[WINO_IN], y[O * WINO_IN], z[O * O];
    V_UNROLL for (int j = 0; j < WINO_IN; j++)
    {
        V_UNROLL for (int i = 0; i < WINO_IN; i++) x[i] = v_load(m + (size_t)(i * WINO_IN + j) * a->ldm);
        wino_out(x, 1, y + j, WINO_IN);
    }
    V_UNROLL for (int i = 0; i < O; i++) wino_out(y + i * WINO_IN, 1, z + i * O, 1);
    size_t rows = a->h - h < O ? a->h - h : O, cols = a->w - w < O ? a->w - w : O;
    if (n == VW && epilogue_is_simple(e)) {
        vf32 bias = e->bias ? v_load(e->bias + c) : v_zero();
        vf32 lo = v_set(e->act == SDX_ACT_CLIP ? e->p0 : 0), hi = v_set(e->p1);
        V_UNROLL for (size_t i = 0; i < O; i++) V_UNROLL for (size_t j = 0; j < O; j++)
        {
            if (i >= rows || j >= cols) continue;
            vf32 v = e->bias ? v_add(z[i * O + j], bias) : z[i * O + j];
            if (e->act != SDX_ACT_NONE) v = v_max(lo, v);
            if (e->act == SDX_ACT_CLIP) v = v_min(hi, v);
            v_store(a->y + (h + i) * a->row + (w + j) * a->pixel + c, v);
        }
        return;
    }
    float block[O * O * VW];
    V_UNROLL for (int i = 0; i < O * O; i++) v_store(block + i * VW, z[i]);
    for (size_t i = 0; i < rows; i++)
        epilogue_block(e, block + i * O * VW, VW, a->y + (h + i) * a->row + w * a->pixel + c, a->pixel,
                       (h + i) * a->w + w, c, cols, n);
}

void ISA(sdx_winograd_output)(const WinoOutput *a);
void ISA(sdx_winograd_output)(const WinoOutput *a)
{
    for (size_t t = 0; t < a->tiles; t++) {
        size_t h = (a->tile + t) / a->across * WINO_OUT, w = (a->tile + t) % a->across * WINO_OUT, c = 0;
        const float *m = a->m + t * a->pitch;
        for (; a->channels - c >= VW; c += VW) wino_output_tile(a, h, w, c, m + c, VW);
        if (c < a->channels) wino_output_tile(a, h, w, c, m + c, a->channels - c);
    }
}
