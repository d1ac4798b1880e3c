#include "ops/window.h"

#include <string.h>

#include "ops/dims.h"

/* Sizes beyond this are refused, so that products of two of them fit int64. */
#define WINDOW_LIMIT ((int64_t)1 << 30)

int sdx_window_auto_pad(Str s)
{
    if (s.n == 0) return PAD_EXPLICIT;
    static const struct {
        const char *name;
        int mode;
    } modes[] = {
        { "NOTSET", PAD_EXPLICIT },
        { "VALID", PAD_VALID },
        { "SAME_UPPER", PAD_SAME_UPPER },
        { "SAME_LOWER", PAD_SAME_LOWER },
    };
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        if (s.n == strlen(modes[i].name) && !memcmp(s.p, modes[i].name, s.n)) return modes[i].mode;
    return PAD_BAD;
}

static sdx_status check_list(const Infer *c, const char *name, IntList list, int n, int64_t least)
{
    if (!list.v) return SDX_OK;
    if (list.n != n)
        return sdx_infer_fail(c, "%s has %lld values; %d spatial axes need %d", name, (long long)list.n, n, n);
    for (int i = 0; i < n; i++)
        if (list.v[i] < least || list.v[i] > WINDOW_LIMIT)
            return sdx_infer_fail(c, "%s[%d] is %lld; it must be at least %lld and at most 2^30", name, i,
                                  (long long)list.v[i], (long long)least);
    return SDX_OK;
}

/* Size of the window's footprint. */
static DimVal footprint(const Infer *c, Dim kernel, int64_t dilation)
{
    return infer_linear(c, sdx_dimval_of(kernel), dilation, 1 - dilation);
}

sdx_status sdx_window_infer(const Infer *c, const WindowAttrs *a, int n, const Dim *in, const Dim *kernel, Dim *out)
{
    int mode = sdx_window_auto_pad(a->auto_pad);
    if (mode == PAD_BAD)
        return sdx_infer_fail(c, "auto_pad \"%.*s\" is not NOTSET, VALID, SAME_UPPER or SAME_LOWER",
                              (int)(a->auto_pad.n > 40 ? 40 : a->auto_pad.n), a->auto_pad.p);
    TRY(check_list(c, "kernel_shape", a->kernel_shape, n, 1));
    TRY(check_list(c, "strides", a->strides, n, 1));
    TRY(check_list(c, "dilations", a->dilations, n, 1));
    if (mode == PAD_EXPLICIT) TRY(check_list(c, "pads", a->pads, 2 * n, 0));
    for (int i = 0; i < n; i++) {
        int64_t stride = a->strides.v ? a->strides.v[i] : 1, dilation = a->dilations.v ? a->dilations.v[i] : 1;
        DimVal x = sdx_dimval_of(in[i]), s = sdx_dimval_num(stride);
        if (sdx_dim_is_const(kernel[i]) && (kernel[i] < 1 || kernel[i] > WINDOW_LIMIT))
            return sdx_infer_fail(c, "the window has size %lld along spatial axis %d; it must be at least 1",
                                  (long long)kernel[i], i);
        if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER) {
            out[i] = sdx_dim_of(sdx_dimval_ceildiv(c->syms, x, s));
            continue;
        }
        int64_t p0 = 0, p1 = 0;
        if (mode == PAD_EXPLICIT && a->pads.v) p0 = a->pads.v[i], p1 = a->pads.v[n + i];
        DimVal room = sdx_dimval_sub(c->syms, infer_linear(c, x, 1, p0 + p1), footprint(c, kernel[i], dilation));
        if (room.known && room.v < 0 && x.known && x.v > 0)
            return sdx_infer_fail(c,
                                  "the window covers %lld positions along spatial axis %d; the padded input has %lld",
                                  (long long)(x.v + p0 + p1 - room.v), i, (long long)(x.v + p0 + p1));
        DimVal steps = a->ceil_mode ? sdx_dimval_ceildiv(c->syms, room, s) : sdx_dimval_floordiv(c->syms, room, s);
        DimVal o = infer_linear(c, steps, 1, 1);
        if (a->ceil_mode) { /* a window must start inside the input or the padding before it */
            DimVal starts = sdx_dimval_ceildiv(c->syms, infer_linear(c, x, 1, p0), s);
            o = sdx_dimval_min(c->syms, o, starts);
        }
        if (o.known && o.v < 0) o.v = 0;
        out[i] = sdx_dim_of(o);
    }
    return SDX_OK;
}

static int64_t ceil_div(int64_t a, int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }
static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

void sdx_window_make(Window *w, const WindowAttrs *a, int n, const int64_t *in, const int64_t *kernel)
{
    int mode = sdx_window_auto_pad(a->auto_pad);
    w->n = n;
    for (int i = 0; i < n; i++) {
        WinAxis *x = &w->ax[i];
        *x = (WinAxis){ .in = in[i],
                        .kernel = kernel[i],
                        .stride = a->strides.v ? a->strides.v[i] : 1,
                        .dilation = a->dilations.v ? a->dilations.v[i] : 1 };
        int64_t reach = (x->kernel - 1) * x->dilation + 1;
        if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER) {
            x->out = ceil_div(x->in, x->stride);
            int64_t total = (x->out - 1) * x->stride + reach - x->in;
            if (total < 0) total = 0;
            x->pad0 = mode == PAD_SAME_UPPER ? total / 2 : total - total / 2;
            x->pad1 = total - x->pad0;
            continue;
        }
        if (mode == PAD_EXPLICIT && a->pads.v) x->pad0 = a->pads.v[i], x->pad1 = a->pads.v[n + i];
        int64_t room = x->in + x->pad0 + x->pad1 - reach;
        x->out = (a->ceil_mode ? ceil_div(room, x->stride) : floor_div(room, x->stride)) + 1;
        if (a->ceil_mode) {
            int64_t starts = ceil_div(x->in + x->pad0, x->stride);
            if (x->out > starts) x->out = starts;
        }
        if (x->out < 0) x->out = 0;
    }
}

const Span *sdx_window_spans(Arena *arena, const WinAxis *last)
{
    Span *s = sdx_arena_array(arena, Span, last->kernel);
    for (int64_t j = 0; s && j < last->kernel; j++) window_span(last, j, &s[j].lo, &s[j].hi);
    return s;
}
