/* ops/pool_op.h - what the forms of pooling share. */
#ifndef SDX_OPS_POOL_OP_H
#define SDX_OPS_POOL_OP_H

#include <string.h>

#include "ops/window.h"

typedef struct PoolAttrs {
    WindowAttrs win; /* first: the window's own table of attributes counts on it */
    int64_t storage_order, count_include_pad, p;
} PoolAttrs;

typedef struct PoolState {
    const Kern *kern;
    Window w;
    int64_t planes, in_size, out_size;  /* elements of one plane */
    int64_t rows;                       /* output rows of a plane */
    const Span *span;                   /* per tap of the last axis */
    const int32_t *count[SDX_MAX_RANK]; /* cells that count, per axis and output */
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} PoolState;

/* Windows of up to so many cells go through kern/pool: all taps of an output at once. */
enum { SDX_POOL_TAPS = 64 };
static inline bool pool_by_taps(const PoolState *st)
{
    int64_t taps = 1;
    for (int k = 0; k < st->w.n && taps <= SDX_POOL_TAPS; k++) taps *= st->w.ax[k].kernel;
    return taps <= SDX_POOL_TAPS;
}

/* The cells under output i of a row whose o, lo and hi are those of window_row; pixels of c floats. */
static inline size_t pool_taps(const PoolState *st, const float *x, int64_t c, const int64_t *o, const int64_t *lo,
                               const int64_t *hi, int64_t i, const float **taps)
{
    const WinAxis *last = &st->w.ax[st->w.n - 1];
    int64_t t[SDX_MAX_RANK];
    size_t n = 0;
    memcpy(t, lo, sizeof t);
    do {
        int64_t at = window_offset(&st->w, o, t) - last->pad0 + i * last->stride;
        for (int64_t k = 0; k < last->kernel; k++)
            if (i >= st->span[k].lo && i < st->span[k].hi) taps[n++] = x + (at + k * last->dilation) * c;
    } while (window_next(&st->w, t, lo, hi));
    return n;
}

/* The pools' shape rule; args begin with PoolAttrs. */
sdx_status sdx_pool_infer(Infer *c);

/* Fills what depends on the n spatial sizes: w, in_size, out_size, rows, span, count. */
sdx_status sdx_pool_geometry(Prepare *p, const PoolAttrs *a, int n, const int64_t *spatial, PoolState *st);

#endif
