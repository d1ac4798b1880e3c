/* ops/window.h - sliding windows: the geometry that convolutions and pools share.
 *
 * Along each spatial axis output o covers input o*stride - pad0 + j*dilation for j in [0, kernel). */
#ifndef SDX_OPS_WINDOW_H
#define SDX_OPS_WINDOW_H

#include "ops/ops.h"

/* First member of the attribute structs of windowed operators. */
typedef struct WindowAttrs {
    Str auto_pad;
    IntList kernel_shape, strides, pads, dilations;
    int64_t ceil_mode;
} WindowAttrs;

#define OP_WINDOW_ATTRS                                                                                                \
    OP_STR(WindowAttrs, auto_pad, "NOTSET"), OP_INTS(WindowAttrs, kernel_shape), OP_INTS(WindowAttrs, strides),        \
        OP_INTS(WindowAttrs, pads)
#define OP_WINDOW_DILATIONS OP_INTS(WindowAttrs, dilations)
#define OP_WINDOW_CEIL OP_INT(WindowAttrs, ceil_mode, 0)

enum { PAD_EXPLICIT, PAD_VALID, PAD_SAME_UPPER, PAD_SAME_LOWER, PAD_BAD };
int sdx_window_auto_pad(Str s); /* NOTSET and "" are explicit */

typedef struct WinAxis {
    int64_t in, out, kernel, stride, dilation, pad0, pad1;
} WinAxis;

typedef struct Window {
    int n; /* spatial axes */
    WinAxis ax[SDX_MAX_RANK];
} Window;

/* Output sizes for n spatial axes of `in`; kernel: sizes of the window (Dims: symbols when weights are unknown).
 * Checks every attribute. out may hold unknowns. */
sdx_status sdx_window_infer(const Infer *c, const WindowAttrs *a, int n, const Dim *in, const Dim *kernel, Dim *out);
/* The same in numbers, for sizes that inference has accepted. */
void sdx_window_make(Window *w, const WindowAttrs *a, int n, const int64_t *in, const int64_t *kernel);

/* Outputs [*lo, *hi) of an axis whose tap j lies inside the input. */
static inline void window_span(const WinAxis *a, int64_t j, int64_t *lo, int64_t *hi)
{
    int64_t at = j * a->dilation - a->pad0; /* input of output 0 */
    int64_t l = at >= 0 ? 0 : (-at + a->stride - 1) / a->stride;
    int64_t h = at >= a->in ? 0 : (a->in - 1 - at) / a->stride + 1;
    *hi = h < a->out ? h : a->out;
    *lo = l < *hi ? l : *hi;
}

/* Taps [*lo, *hi) of output o that lie inside [0, in). */
static inline void window_taps(const WinAxis *a, int64_t o, int64_t *lo, int64_t *hi)
{
    int64_t at = o * a->stride - a->pad0;
    int64_t l = at >= 0 ? 0 : (-at + a->dilation - 1) / a->dilation;
    int64_t h = at >= a->in ? 0 : (a->in - 1 - at) / a->dilation + 1;
    *hi = h < a->kernel ? h : a->kernel;
    *lo = l < *hi ? l : *hi;
}

/* -- rows of outputs: everything but the last axis fixed ----------------------------------------------------------- */

typedef struct Span {
    int64_t lo, hi; /* outputs of the last axis that a tap reaches */
} Span;
/* One per tap of the axis. NULL: out of memory. */
const Span *sdx_window_spans(Arena *arena, const WinAxis *last);

/* Row `row` of the outputs: its index along each outer axis, and the taps there that lie inside the input. false: none. */
static inline bool window_row(const Window *w, int64_t row, int64_t *o, int64_t *lo, int64_t *hi)
{
    bool any = true;
    for (int k = w->n - 2; k >= 0; k--) {
        o[k] = row % w->ax[k].out;
        row /= w->ax[k].out;
        window_taps(&w->ax[k], o[k], &lo[k], &hi[k]);
        any &= lo[k] < hi[k];
    }
    return any;
}

/* Input offset of the row that taps t of the outer axes select. */
static inline int64_t window_offset(const Window *w, const int64_t *o, const int64_t *t)
{
    int64_t at = 0;
    for (int k = 0; k < w->n - 1; k++) {
        const WinAxis *a = &w->ax[k];
        at = (at + o[k] * a->stride - a->pad0 + t[k] * a->dilation) * w->ax[k + 1].in;
    }
    return at;
}

static inline bool window_next(const Window *w, int64_t *t, const int64_t *lo, const int64_t *hi)
{
    for (int k = w->n - 2; k >= 0; k--) {
        if (++t[k] < hi[k]) return true;
        t[k] = lo[k];
    }
    return false;
}

#endif
