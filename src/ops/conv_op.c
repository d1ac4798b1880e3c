/* ops/conv_op.c - Conv
 *
 * For each item and group y[m, pixels] = w[m, k] * columns[k, pixels] + bias[m], k running over the input channels of
 * the group and the taps of the window. The columns are never stored whole: a task copies the inputs of a few panels of
 * pixels in the packed form of the product kernels and multiplies them by all of w. Depthwise convolutions and double
 * are done row by row instead. Any number of spatial axes. */
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "ops/axis3.h"
#include "ops/conv_op.h"
#include "ops/dims.h"

static const AttrSpec conv_attrs[] = { OP_CONV_ATTRS, OP_ATTR_END };

sdx_status sdx_conv_infer_at(Infer *c, int ix, int iw, int ib)
{
    const ConvAttrs *a = c->args;
    TRY(infer_rank_between(c, ix, 3, SDX_MAX_RANK, "X"));
    const Shape *x = infer_shape(c, ix), *w = infer_shape(c, iw);
    if (a->group < 1) return sdx_infer_fail(c, "group is %lld; it must be at least 1", (long long)a->group);
    if (!x) return SDX_OK;
    int n = x->rank - 2;
    if (w && w->rank != x->rank) return sdx_infer_fail(c, "W has rank %d against %d of X", (int)w->rank, (int)x->rank);
    Dim kernel[SDX_MAX_RANK], out[SDX_MAX_RANK], m = w ? w->dims[0] : SDX_DIM_UNKNOWN;
    for (int k = 0; k < n; k++) {
        bool given = a->win.kernel_shape.v && a->win.kernel_shape.n == n;
        Dim from_w = w ? w->dims[2 + k] : SDX_DIM_UNKNOWN;
        kernel[k] = given && !sdx_dim_is_const(from_w) ? a->win.kernel_shape.v[k] : from_w;
        if (given && dim_differs(from_w, a->win.kernel_shape.v[k]))
            return sdx_infer_fail(c, "kernel_shape[%d] is %lld; W has %lld", k, (long long)a->win.kernel_shape.v[k],
                                  (long long)from_w);
    }
    if (w) {
        Dim channels = infer_mul(c, w->dims[1], a->group);
        if (dim_differs(channels, x->dims[1]))
            return sdx_infer_fail(c, "X has %lld channels; W and group = %lld ask for %lld", (long long)x->dims[1],
                                  (long long)a->group, (long long)channels);
        if (sdx_dim_is_const(m) && m % a->group)
            return sdx_infer_fail(c, "%lld output channels do not divide into %lld groups", (long long)m,
                                  (long long)a->group);
        if (ib >= 0) TRY(infer_is_vector(c, ib, m, "the bias"));
    }
    TRY(sdx_window_infer(c, &a->win, n, x->dims + 2, kernel, out));
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[0] = x->dims[0];
    y[1] = m;
    memcpy(y + 2, out, (size_t)n * sizeof *out);
    return SDX_OK;
}

sdx_status sdx_conv_infer(Infer *c) { return sdx_conv_infer_at(c, 0, 1, 2); }

typedef struct ConvState {
    Window w;
    int64_t items, groups, in_ch, out_ch; /* channels of a group */
    int64_t in_size, out_size, taps, k;   /* k = in_ch * taps */
    int64_t rows;                         /* output rows of a plane */
    const Span *span;
    bool direct, flush;
    int64_t block, blocks; /* pixels of a task, a multiple of the panel width; tasks per item and group */
    size_t worker_floats;
    const Kern *kern;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} ConvState;

typedef struct ConvJob {
    const ConvState *st;
    const void *x, *w, *bias;
    void *y;
    float *scratch;
} ConvJob;

#define T float
#define FN(name) name##_f32
#include "ops/conv_tmpl.h"
#define T double
#define FN(name) name##_f64
#include "ops/conv_tmpl.h"

#define CONV_BLOCK_FLOATS (64 * 1024) /* of columns that a task holds: a quarter MiB stays in the second-level cache */

static sdx_status conv_prepare(Prepare *p)
{
    const ConvAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *w = &p->in[1]->t;
    ConvState *st = sdx_arena_new(p->arena, ConvState);
    TRY_MEM(st, p->err);
    p->state = st;
    int n = x->rank - 2;
    sdx_window_make(&st->w, &a->win, n, x->dims + 2, w->dims + 2);
    st->kern = p->kern;
    st->flush = p->flush_subnormals;
    st->items = x->dims[0];
    st->groups = a->group;
    st->in_ch = w->dims[1];
    st->out_ch = w->dims[0] / a->group;
    st->out_rank = x->rank;
    st->out_dims[0] = x->dims[0];
    st->out_dims[1] = w->dims[0];
    st->in_size = st->out_size = st->rows = st->taps = 1;
    for (int k = 0; k < n; k++) {
        const WinAxis *ax = &st->w.ax[k];
        st->out_dims[2 + k] = ax->out;
        st->in_size *= ax->in;
        st->out_size *= ax->out;
        st->taps *= ax->kernel;
        if (k < n - 1) st->rows *= ax->out;
    }
    st->k = st->in_ch * st->taps;
    st->span = sdx_window_spans(p->arena, &st->w.ax[n - 1]);
    TRY_MEM(st->span, p->err);
    st->direct = x->dtype == DT_DOUBLE || st->in_ch == 1 || st->k == 0;
    if (st->direct || st->out_size == 0) return SDX_OK;

    int64_t nr = p->kern->gemm_f32_nr, panels = CONV_BLOCK_FLOATS / (st->k * nr), all = (st->out_size + nr - 1) / nr;
    if (panels < 1) panels = 1;
    st->blocks = (all + panels - 1) / panels;
    st->block = (all + st->blocks - 1) / st->blocks * nr;
    st->blocks = (st->out_size + st->block - 1) / st->block;
    size_t bytes;
    if (!sdx_mul_size(&st->worker_floats, (size_t)st->block, (size_t)st->k) ||
        !sdx_mul_size(&bytes, st->worker_floats, (size_t)(p->threads > 0 ? p->threads : 1) * sizeof(float)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    p->scratch = bytes;
    return SDX_OK;
}

/* Inputs of pixels [first, first + n) under tap `t` (of all axes) of one channel, zero where the window leaves it. */
static void conv_column(const ConvState *st, const float *x, int64_t t, int64_t first, int64_t n, float *dst)
{
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    int64_t tap[SDX_MAX_RANK];
    for (int k = w->n - 1; k >= 0; k--) {
        tap[k] = t % w->ax[k].kernel;
        t /= w->ax[k].kernel;
    }
    Span span = st->span[tap[w->n - 1]];
    int64_t shift = tap[w->n - 1] * last->dilation - last->pad0;
    int64_t row = first / last->out, col = first % last->out;
    while (n > 0) {
        int64_t len = last->out - col < n ? last->out - col : n, base = 0, rest = row;
        bool inside = true;
        int64_t at[SDX_MAX_RANK];
        for (int k = w->n - 2; k >= 0; k--) {
            const WinAxis *a = &w->ax[k];
            at[k] = rest % a->out * a->stride - a->pad0 + tap[k] * a->dilation;
            rest /= a->out;
            inside &= at[k] >= 0 && at[k] < a->in;
        }
        int64_t lo = len, hi = len;
        if (inside) {
            for (int k = 0; k < w->n - 1; k++) base = (base + at[k]) * w->ax[k + 1].in;
            lo = span.lo > col ? span.lo - col : 0;
            hi = span.hi - col < len ? span.hi - col : len;
            if (hi < 0) hi = 0;
            if (lo > hi) lo = hi;
        }
        if (lo) memset(dst, 0, (size_t)lo * sizeof *dst);
        int64_t from = base + shift + col * last->stride;
        if (last->stride == 1) {
            if (hi > lo) memcpy(dst + lo, x + from + lo, (size_t)(hi - lo) * sizeof *dst);
        } else {
            for (int64_t i = lo; i < hi; i++) dst[i] = x[from + i * last->stride];
        }
        if (hi < len) memset(dst + hi, 0, (size_t)(len - hi) * sizeof *dst);
        dst += len;
        n -= len;
        row++;
        col = 0;
    }
}

static void conv_blocks(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvJob *j = arg;
    const ConvState *st = j->st;
    int64_t nr = st->kern->gemm_f32_nr;
    FpEnv caller = sdx_fpenv_save();
    if (st->flush) sdx_fpenv_flush(true);
    float *columns = j->scratch + (size_t)worker * st->worker_floats;
    for (int64_t u = from; u < to; u++) {
        int64_t plane = u / st->blocks, g = plane % st->groups, first = u % st->blocks * st->block;
        int64_t n = st->out_size - first < st->block ? st->out_size - first : st->block;
        int64_t panels = (n + nr - 1) / nr;
        const float *x = (const float *)j->x + plane * st->in_ch * st->in_size;
        for (int64_t p = 0; p < panels; p++) {
            int64_t width = n - p * nr < nr ? n - p * nr : nr;
            float *dst = columns + p * nr * st->k;
            for (int64_t k = 0; k < st->k; k++, dst += nr) {
                conv_column(st, x + k / st->taps * st->in_size, k % st->taps, first + p * nr, width, dst);
                if (width < nr) memset(dst + width, 0, (size_t)(nr - width) * sizeof *dst);
            }
        }
        Epilogue epi = SDX_EPILOGUE_NONE;
        epi.bias = j->bias ? (const float *)j->bias + g * st->out_ch : NULL;
        epi.bias_by_row = true;
        static const ptrdiff_t start = 0;
        GemmTile tile = {
            .a = (const float *)j->w + g * st->out_ch * st->k,
            .lda = (size_t)st->k,
            .seg = &start,
            .nseg = 1,
            .seglen = (size_t)st->k,
            .b = columns,
            .b_panel = (size_t)(nr * st->k),
            .npanel = (size_t)panels,
            .first = true,
            .last = true,
            .c = (float *)j->y + plane * st->out_ch * st->out_size + first,
            .ldc = (size_t)st->out_size,
            .rows = (size_t)st->out_ch,
            .cols = (size_t)n,
            .epi = &epi,
        };
        st->kern->gemm_f32_tile(&tile);
    }
    sdx_fpenv_restore(caller);
}

static sdx_status conv_run(Run *r)
{
    const ConvState *st = r->state;
    const Tensor *x = &r->in[0]->t;
    ConvJob j = { .st = st,
                  .x = x->data,
                  .w = r->in[1]->t.data,
                  .scratch = r->scratch,
                  .bias = r->n_in > 2 && r->in[2] ? r->in[2]->t.data : NULL };
    TRY(sdx_run_output(r, 0, x->dtype, st->out_rank, st->out_dims, &j.y));
    int64_t planes = st->items * st->groups;
    if (planes * st->out_ch * st->out_size == 0) return SDX_OK;
    if (st->direct)
        sdx_run_range(r, planes * st->out_ch, grain_for(st->out_size * st->k),
                      x->dtype == DT_DOUBLE ? conv_direct_f64 : conv_direct_f32, &j);
    else
        sdx_run_range(r, planes * st->blocks, grain_for(st->block * st->k * st->out_ch / 8), conv_blocks, &j);
    return SDX_OK;
}

static const OpVer conv_vers[] = { { 22, { TS_FLTB } }, { 11, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_Conv = {
    .name = "Conv",
    .sig = "T,T,T?->T",
    .attrs = conv_attrs,
    .attrs_size = sizeof(ConvAttrs),
    .vers = conv_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .infer = sdx_conv_infer,
    .cpu = { conv_prepare, conv_run },
};
