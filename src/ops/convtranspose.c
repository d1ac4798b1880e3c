/* ops/convtranspose.c - ConvTranspose
 *
 * The gradient of a convolution: input pixel i adds w[c, m, tap] * x[c, i] to output i*stride - pad + tap*dilation. So
 * the window geometry is that of a convolution from output to input. A task takes a block of output channels: a product
 * gives all taps of all pixels, which are then added where they belong.
 *
 * output_shape, when given, fixes the padding: what is too much is cut at both ends, the odd element at the end for
 * SAME_UPPER and at the start otherwise; an output longer than all windows ends in zeros (plus bias). */
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "kern/gemm/gemm.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/window.h"

typedef struct ConvTransposeAttrs {
    WindowAttrs win;
    int64_t group;
    IntList output_shape, output_padding;
} ConvTransposeAttrs;

static const AttrSpec convtranspose_attrs[] = { OP_WINDOW_ATTRS,
                                                OP_WINDOW_DILATIONS,
                                                OP_INT(ConvTransposeAttrs, group, 1),
                                                OP_INTS(ConvTransposeAttrs, output_shape),
                                                OP_INTS(ConvTransposeAttrs, output_padding),
                                                OP_ATTR_END };

typedef struct ConvTransposeState {
    Window w; /* in: sizes of the output; out: sizes of the input */
    int64_t items, groups, in_ch, out_ch;
    int64_t in_size, out_size, taps, rows; /* rows of one input plane */
    const Span *span;
    int64_t block, blocks; /* output channels of a task */
    GemmPlan plan, last_plan;
    size_t worker_scratch, column_bytes;
    const Kern *kern;
    bool flush;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} ConvTransposeState;

typedef struct ConvTransposeJob {
    const ConvTransposeState *st;
    const void *x, *w, *bias;
    void *y;
    char *scratch;
    bool f64;
} ConvTransposeJob;

#define T float
#define FN(name) name##_f32
#include "ops/convtranspose_tmpl.h"
#define T double
#define FN(name) name##_f64
#include "ops/convtranspose_tmpl.h"
#define T double
#define ACC double
#define FN(name) name##_f64
#include "ops/product_tmpl.h"

/* Along axis i: pads for a known kernel and input. out < 0: not fixed by an attribute. */
static int64_t fixed_output(const ConvTransposeAttrs *a, int n, int i, int mode, int64_t in, int64_t stride)
{
    if (a->output_shape.v && a->output_shape.n >= n) return a->output_shape.v[a->output_shape.n - n + i];
    return mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER ? in * stride : -1;
}

static sdx_status list_is(const Infer *c, const char *name, IntList l, int n, int64_t least)
{
    if (!l.v) return SDX_OK;
    if (l.n != n) return sdx_infer_fail(c, "%s has %lld values; it needs %d", name, (long long)l.n, n);
    for (int i = 0; i < n; i++)
        if (l.v[i] < least || l.v[i] > ((int64_t)1 << 30))
            return sdx_infer_fail(c, "%s[%d] is %lld; it must be at least %lld and at most 2^30", name, i,
                                  (long long)l.v[i], (long long)least);
    return SDX_OK;
}

static sdx_status convtranspose_lists(const Infer *c, const ConvTransposeAttrs *a, int n)
{
    int mode = sdx_window_auto_pad(a->win.auto_pad);
    if (mode == PAD_BAD) return sdx_infer_fail(c, "auto_pad is not NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    TRY(list_is(c, "kernel_shape", a->win.kernel_shape, n, 1));
    TRY(list_is(c, "strides", a->win.strides, n, 1));
    TRY(list_is(c, "dilations", a->win.dilations, n, 1));
    TRY(list_is(c, "pads", a->win.pads, 2 * n, 0));
    TRY(list_is(c, "output_padding", a->output_padding, n, 0));
    return list_is(c, "output_shape", a->output_shape, a->output_shape.n == n + 2 ? n + 2 : n, 0);
}

static sdx_status convtranspose_infer(Infer *c)
{
    const ConvTransposeAttrs *a = c->args;
    TRY(infer_rank_between(c, 0, 3, SDX_MAX_RANK, "X"));
    const Shape *x = infer_shape(c, 0), *w = infer_shape(c, 1);
    if (a->group < 1) return sdx_infer_fail(c, "group is %lld; it must be at least 1", (long long)a->group);
    if (!x) return SDX_OK;
    int n = x->rank - 2, mode = sdx_window_auto_pad(a->win.auto_pad);
    TRY(convtranspose_lists(c, a, n));
    Dim m = SDX_DIM_UNKNOWN;
    if (w) {
        if (w->rank != x->rank) return sdx_infer_fail(c, "W has rank %d against %d of X", (int)w->rank, (int)x->rank);
        if (dim_differs(w->dims[0], x->dims[1]))
            return sdx_infer_fail(c, "X has %lld channels; W has %lld", (long long)x->dims[1], (long long)w->dims[0]);
        if (sdx_dim_is_const(x->dims[1]) && x->dims[1] % a->group)
            return sdx_infer_fail(c, "%lld channels do not divide into %lld groups", (long long)x->dims[1],
                                  (long long)a->group);
        m = infer_mul(c, w->dims[1], a->group);
        TRY(infer_is_vector(c, 2, m, "the bias"));
    }
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[0] = x->dims[0];
    y[1] = m;
    for (int i = 0; i < n; i++) {
        int64_t stride = a->win.strides.v ? a->win.strides.v[i] : 1,
                dil = a->win.dilations.v ? a->win.dilations.v[i] : 1;
        Dim kernel = w ? w->dims[2 + i] : a->win.kernel_shape.v ? a->win.kernel_shape.v[i] : SDX_DIM_UNKNOWN;
        if (a->win.kernel_shape.v && dim_differs(kernel, a->win.kernel_shape.v[i]))
            return sdx_infer_fail(c, "kernel_shape[%d] is %lld; W has %lld", i, (long long)a->win.kernel_shape.v[i],
                                  (long long)kernel);
        if (sdx_dim_is_const(kernel) && (kernel < 1 || kernel > ((int64_t)1 << 30)))
            return sdx_infer_fail(c, "the window has size %lld along spatial axis %d", (long long)kernel, i);
        if (a->output_shape.v) {
            y[2 + i] = a->output_shape.v[a->output_shape.n - n + i];
            continue;
        }
        if (mode == PAD_SAME_UPPER || mode == PAD_SAME_LOWER) {
            y[2 + i] = infer_mul(c, x->dims[2 + i], stride);
            continue;
        }
        int64_t pads = mode == PAD_EXPLICIT && a->win.pads.v ? a->win.pads.v[i] + a->win.pads.v[n + i] : 0;
        int64_t extra = a->output_padding.v ? a->output_padding.v[i] : 0;
        DimVal steps = infer_linear(c, sdx_dimval_of(x->dims[2 + i]), stride, 1 - stride - dil + extra - pads);
        DimVal out = sdx_dimval_add(c->syms, steps, infer_linear(c, sdx_dimval_of(kernel), dil, 0));
        if (out.known && out.v < 0)
            return sdx_infer_fail(c, "pads leave a size of %lld along spatial axis %d", (long long)out.v, i);
        y[2 + i] = sdx_dim_of(out);
    }
    return SDX_OK;
}

#define COLUMN_FLOATS (256 * 1024) /* products that a task holds */

static sdx_status convtranspose_prepare(Prepare *p)
{
    const ConvTransposeAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *w = &p->in[1]->t;
    ConvTransposeState *st = sdx_arena_new(p->arena, ConvTransposeState);
    TRY_MEM(st, p->err);
    p->state = st;
    int n = x->rank - 2, mode = sdx_window_auto_pad(a->win.auto_pad);
    st->kern = p->kern;
    st->flush = p->flush_subnormals;
    st->items = x->dims[0];
    st->groups = a->group;
    st->in_ch = x->dims[1] / a->group;
    st->out_ch = w->dims[1];
    st->out_rank = x->rank;
    st->out_dims[0] = x->dims[0];
    st->out_dims[1] = w->dims[1] * a->group;
    st->w.n = n;
    st->in_size = st->out_size = st->rows = st->taps = 1;
    for (int i = 0; i < n; i++) {
        WinAxis *ax = &st->w.ax[i];
        *ax = (WinAxis){ .out = x->dims[2 + i],
                         .kernel = w->dims[2 + i],
                         .stride = a->win.strides.v ? a->win.strides.v[i] : 1,
                         .dilation = a->win.dilations.v ? a->win.dilations.v[i] : 1 };
        int64_t extra = a->output_padding.v ? a->output_padding.v[i] : 0;
        int64_t full = ax->stride * (ax->out - 1) + (ax->kernel - 1) * ax->dilation + 1 + extra;
        int64_t fixed = fixed_output(a, n, i, mode, ax->out, ax->stride);
        if (fixed >= 0) {
            int64_t total = full - fixed > 0 ? full - fixed : 0;
            ax->pad0 = mode == PAD_SAME_UPPER ? total / 2 : total - total / 2;
            ax->in = fixed;
        } else {
            ax->pad0 = mode == PAD_EXPLICIT && a->win.pads.v ? a->win.pads.v[i] : 0;
            ax->in = full - ax->pad0 - (mode == PAD_EXPLICIT && a->win.pads.v ? a->win.pads.v[n + i] : 0);
        }
        st->out_dims[2 + i] = ax->in;
        st->in_size *= ax->out;
        st->out_size *= ax->in;
        st->taps *= ax->kernel;
        if (i < n - 1) st->rows *= ax->out;
    }
    st->span = sdx_window_spans(p->arena, &st->w.ax[n - 1]);
    TRY_MEM(st->span, p->err);
    if (st->in_size == 0 || st->out_ch == 0) return SDX_OK;

    st->block = COLUMN_FLOATS / (st->taps * st->in_size + 1);
    if (st->block < 1) st->block = 1;
    if (st->block > st->out_ch) st->block = st->out_ch;
    st->blocks = (st->out_ch + st->block - 1) / st->block;
    st->plan = (GemmPlan){ .m = (size_t)(st->block * st->taps),
                           .n = (size_t)st->in_size,
                           .k = (size_t)st->in_ch,
                           .lda = (size_t)(st->out_ch * st->taps),
                           .ldb = (size_t)st->in_size,
                           .ldc = (size_t)st->in_size,
                           .a_form = SDX_MAT_COLS };
    st->last_plan = st->plan;
    st->last_plan.m = (size_t)((st->out_ch - (st->blocks - 1) * st->block) * st->taps);
    sdx_gemm_f32_plan(p->kern, &st->plan);
    sdx_gemm_f32_plan(p->kern, &st->last_plan);
    size_t most = st->plan.scratch > st->last_plan.scratch ? st->plan.scratch : st->last_plan.scratch, bytes;
    if (!sdx_mul_size(&bytes, (size_t)(st->block * st->taps), (size_t)st->in_size) ||
        !sdx_mul_size(&bytes, bytes, sdx_dtype_size(x->dtype)) || !sdx_add_size(&bytes, bytes, 2 * SDX_ALIGN) ||
        !sdx_add_size(&st->worker_scratch, sdx_round_up(bytes, SDX_ALIGN), sdx_round_up(most, SDX_ALIGN)) ||
        !sdx_mul_size(&p->scratch, st->worker_scratch, (size_t)(p->threads > 0 ? p->threads : 1)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    st->column_bytes = sdx_round_up(bytes, SDX_ALIGN);
    return SDX_OK;
}

static void convtranspose_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvTransposeJob *j = arg;
    const ConvTransposeState *st = j->st;
    FpEnv caller = sdx_fpenv_save();
    if (st->flush) sdx_fpenv_flush(true);
    char *columns = j->scratch + (size_t)worker * st->worker_scratch, *scratch = columns + st->column_bytes;
    for (int64_t u = from; u < to; u++) {
        int64_t plane = u / st->blocks, g = plane % st->groups, first = u % st->blocks * st->block;
        bool last = u % st->blocks == st->blocks - 1;
        const GemmPlan *plan = last ? &st->last_plan : &st->plan;
        int64_t at_w = (g * st->in_ch * st->out_ch + first) * st->taps, at_x = plane * st->in_ch * st->in_size;
        if (j->f64) {
            memset(columns, 0, plan->m * plan->n * sizeof(double));
            product_rows_f64((const double *)j->w + at_w, 1, (int64_t)plan->lda, (const double *)j->x + at_x,
                             st->in_size, 1, (double *)columns, 0, (int64_t)plan->m, st->in_size, st->in_ch);
            convtranspose_add_f64(j, plane, first, (int64_t)plan->m / st->taps, (const double *)columns);
            continue;
        }
        GemmF32 product = { .a = (const float *)j->w + at_w,
                            .b = (const float *)j->x + at_x,
                            .c = (float *)columns,
                            .epi = SDX_EPILOGUE_NONE };
        for (size_t i = 0; i < plan->chunks; i++) sdx_gemm_f32_chunk(st->kern, plan, &product, i, scratch);
        convtranspose_add_f32(j, plane, first, (int64_t)plan->m / st->taps, (const float *)columns);
    }
    sdx_fpenv_restore(caller);
}

static sdx_status convtranspose_run(Run *r)
{
    const ConvTransposeState *st = r->state;
    const Tensor *x = &r->in[0]->t;
    ConvTransposeJob j = { .st = st,
                           .x = x->data,
                           .w = r->in[1]->t.data,
                           .scratch = r->scratch,
                           .f64 = x->dtype == DT_DOUBLE,
                           .bias = r->n_in > 2 && r->in[2] ? r->in[2]->t.data : NULL };
    TRY(sdx_run_output(r, 0, x->dtype, st->out_rank, st->out_dims, &j.y));
    int64_t channels = st->out_ch * st->groups;
    if (st->items * channels * st->out_size == 0) return SDX_OK;
    if (st->in_size == 0) {
        Tensor y = { .dtype = x->dtype, .data = j.y };
        for (int64_t i = 0; i < st->items * channels * st->out_size; i++)
            sdx_tensor_set_double(&y, i, j.bias ? sdx_tensor_get_double(&r->in[2]->t, i / st->out_size % channels) : 0);
        return SDX_OK;
    }
    sdx_run_range(r, st->items * st->groups * st->blocks, grain_for(st->block * st->taps * st->in_size * st->in_ch / 8),
                  convtranspose_range, &j);
    return SDX_OK;
}

static const OpVer convtranspose_vers[] = { { 22, { TS_FLTB } }, { 11, { TS_FLT } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_ConvTranspose = {
    .name = "ConvTranspose",
    .sig = "T,T,T?->T",
    .attrs = convtranspose_attrs,
    .attrs_size = sizeof(ConvTransposeAttrs),
    .vers = convtranspose_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .infer = convtranspose_infer,
    .cpu = { convtranspose_prepare, convtranspose_run },
};
