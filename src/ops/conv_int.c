/* ops/conv_int.c - ConvInteger, QLinearConv
 *
 * sum = (x - zx)(w - zw) (+ bias) in int32; QLinearConv then gives saturate(round_half_even(sum * sx * sw / sy) + zy).
 * Padding holds zx. Scales and zero points of w are one number or one for each output channel.
 *
 * A task takes a block of pixels: their windows become rows, multiplied by the packed weights of a group, and the
 * result is turned round into channels-first order. Depthwise convolutions are done row by row. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "kern/gemm/igemm.h"
#include "ops/axis3.h"
#include "ops/conv_op.h"
#include "ops/dims.h"

static const AttrSpec conv_attrs[] = { OP_CONV_ATTRS, OP_ATTR_END };

typedef struct Roles {
    int x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias;
} Roles;
static const Roles integer_roles = { 0, -1, 2, 1, -1, 3, -1, -1, -1 };
static const Roles qlinear_roles = { 0, 1, 2, 3, 4, 5, 6, 7, 8 };

static sdx_status channel_param(const Infer *c, int i, Dim channels, const char *what)
{
    const Shape *s = infer_shape(c, i);
    if (!s) return SDX_OK;
    Dim count = 1;
    for (int k = 0; k < s->rank; k++) count = infer_mul(c, count, s->dims[k]);
    if (!dim_differs(count, channels) || !dim_differs(count, 1)) return SDX_OK;
    return sdx_infer_fail(c, "%s has %lld values; it may have 1 or one for each of %lld channels", what,
                          (long long)count, (long long)channels);
}

static sdx_status conv_int_infer(Infer *c, const Roles *ro)
{
    const Shape *w = infer_shape(c, ro->w);
    Dim channels = w && w->rank > 0 ? w->dims[0] : SDX_DIM_UNKNOWN;
    TRY(channel_param(c, ro->x_zero, 1, "the zero point of x"));
    TRY(channel_param(c, ro->w_zero, channels, "the zero point of w"));
    if (ro->w_scale >= 0) {
        TRY(channel_param(c, ro->x_scale, 1, "the scale of x"));
        TRY(channel_param(c, ro->w_scale, channels, "the scale of w"));
        TRY(channel_param(c, ro->y_scale, 1, "the scale of y"));
        TRY(channel_param(c, ro->y_zero, 1, "the zero point of y"));
    }
    return sdx_conv_infer_at(c, ro->x, ro->w, ro->bias);
}

static sdx_status convinteger_infer(Infer *c) { return conv_int_infer(c, &integer_roles); }
static sdx_status qlinearconv_infer(Infer *c) { return conv_int_infer(c, &qlinear_roles); }

/* -- plan ---------------------------------------------------------------------------------------------------------- */

typedef struct ConvIntState {
    const Kern *kern;
    Window w;
    int64_t items, groups, in_ch, out_ch, in_size, out_size, taps, k, rows;
    const Span *span;
    bool direct;
    int64_t block, blocks;
    IgemmPlan plan, last_plan;
    const char *packed; /* constant weights, or NULL */
    size_t packed_step, at_packed, at_col, at_zero, at_scale;
    size_t at_workers, worker_scratch, at_rows, at_results; /* the last two within a worker's part */
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} ConvIntState;

typedef struct PackArgs {
    const Kern *kern;
    int64_t k, n, groups;
    size_t step;
} PackArgs;

static void conv_int_pack(void *user, void *dst, const Tensor *src)
{
    const PackArgs *a = user;
    size_t panels = ((size_t)a->n + a->kern->igemm_nr - 1) / a->kern->igemm_nr;
    for (int64_t g = 0; g < a->groups; g++)
        sdx_igemm_pack(a->kern, (const char *)src->data + g * a->n * a->k, src->dtype == DT_INT8, (size_t)a->k,
                       SDX_MAT_COLS, (size_t)a->k, (size_t)a->n, 0, panels, (char *)dst + (size_t)g * a->step);
}

static bool reserve(size_t *total, size_t count, size_t size, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(*total, SDX_ALIGN);
    return sdx_mul_size(&nbytes, count, size) && sdx_add_size(total, *at, nbytes);
}

static const Tensor *input(const Datum *const *in, int n_in, int i)
{
    return i >= 0 && i < n_in && in[i] ? &in[i]->t : NULL;
}

enum { BLOCK = 64 }; /* pixels of a task */

static sdx_status conv_int_geometry(Prepare *p, const Roles *ro, ConvIntState *st)
{
    const ConvAttrs *a = p->args;
    const Tensor *x = &p->in[ro->x]->t, *w = &p->in[ro->w]->t;
    int n = x->rank - 2;
    sdx_window_make(&st->w, &a->win, n, x->dims + 2, w->dims + 2);
    st->kern = p->kern;
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
    st->direct = st->in_ch == 1 || st->k == 0;
    st->span = sdx_window_spans(p->arena, &st->w.ax[n - 1]);
    TRY_MEM(st->span, p->err);
    return SDX_OK;
}

/* Sizes of scratch; false: they do not fit the address space. */
static bool conv_int_scratch(Prepare *p, ConvIntState *st, bool constant, size_t *packed_all)
{
    size_t workers = (size_t)(p->threads > 0 ? p->threads : 1), channels = (size_t)(st->groups * st->out_ch), nbytes;
    if (st->direct) { /* one row of sums a worker */
        st->worker_scratch = sdx_round_up((size_t)st->w.ax[st->w.n - 1].out * sizeof(int32_t), SDX_ALIGN);
        return reserve(&p->scratch, workers, st->worker_scratch, &st->at_workers);
    }
    size_t most = st->plan.scratch > st->last_plan.scratch ? st->plan.scratch : st->last_plan.scratch;
    st->worker_scratch = most;
    if (!reserve(&st->worker_scratch, (size_t)st->block, (size_t)st->k, &st->at_rows) ||
        !reserve(&st->worker_scratch, (size_t)st->block, (size_t)st->out_ch * sizeof(int32_t), &st->at_results) ||
        st->worker_scratch > SIZE_MAX / 2)
        return false;
    st->worker_scratch = sdx_round_up(st->worker_scratch, SDX_ALIGN);
    if (!sdx_igemm_pack_size(p->kern, (size_t)st->k, (size_t)st->out_ch, &nbytes) || nbytes > SIZE_MAX / 2)
        return false;
    st->packed_step = sdx_round_up(nbytes, SDX_ALIGN);
    return sdx_mul_size(packed_all, st->packed_step, (size_t)st->groups) &&
           reserve(&p->scratch, channels, sizeof(int32_t), &st->at_col) &&
           reserve(&p->scratch, channels, sizeof(int32_t), &st->at_zero) &&
           reserve(&p->scratch, channels, sizeof(float), &st->at_scale) &&
           reserve(&p->scratch, workers, st->worker_scratch, &st->at_workers) &&
           (constant || reserve(&p->scratch, *packed_all, 1, &st->at_packed));
}

static sdx_status conv_int_prepare(Prepare *p, const Roles *ro)
{
    ConvIntState *st = sdx_arena_new(p->arena, ConvIntState);
    TRY_MEM(st, p->err);
    p->state = st;
    TRY(conv_int_geometry(p, ro, st));
    const Tensor *x = &p->in[ro->x]->t, *w = &p->in[ro->w]->t;
    bool constant = p->in_const[ro->w] && w->data;
    if (st->out_size == 0 || st->out_ch == 0) return SDX_OK;
    if (!st->direct) {
        st->block = st->out_size < BLOCK ? st->out_size : BLOCK;
        st->blocks = (st->out_size + st->block - 1) / st->block;
        st->plan = (IgemmPlan){ .m = (size_t)st->block,
                                .n = (size_t)st->out_ch,
                                .k = (size_t)st->k,
                                .lda = (size_t)st->k,
                                .ldc = (size_t)st->out_ch,
                                .a_signed = x->dtype == DT_INT8,
                                .row_sums = true };
        st->last_plan = st->plan;
        st->last_plan.m = (size_t)(st->out_size - (st->blocks - 1) * st->block);
        sdx_igemm_plan(p->kern, &st->plan);
        sdx_igemm_plan(p->kern, &st->last_plan);
    }
    size_t packed_all = 0;
    if (!conv_int_scratch(p, st, constant, &packed_all))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    if (st->direct || !constant) return SDX_OK;
    PackArgs args = { p->kern, st->k, st->out_ch, st->groups, st->packed_step };
    char key[96];
    snprintf(key, sizeof key, "iconv nr%u form%u %s %lldx%lld g%lld", p->kern->igemm_nr, p->kern->igemm_form,
             sdx_dtype_name(w->dtype), (long long)st->k, (long long)st->out_ch, (long long)st->groups);
    const void *packed;
    TRY(sdx_prepare_pack(p, ro->w, key, packed_all, conv_int_pack, &args, &packed));
    st->packed = packed;
    return SDX_OK;
}

static sdx_status convinteger_prepare(Prepare *p) { return conv_int_prepare(p, &integer_roles); }
static sdx_status qlinearconv_prepare(Prepare *p) { return conv_int_prepare(p, &qlinear_roles); }

/* -- run ----------------------------------------------------------------------------------------------------------- */

typedef struct ConvIntJob {
    const ConvIntState *st;
    const char *x, *w, *packed;
    char *y, *workers;
    bool x_signed, w_signed, row_sums;
    int32_t zx;
    double sx, sy;
    const Tensor *w_scale, *w_zero, *bias; /* NULL: 1, 0, 0 */
    const int32_t *col, *zero;
    const float *scale; /* by channel; NULL: the sums are the result */
    IgemmOut out;
    DType y_type;
} ConvIntJob;

static double param_at(const Tensor *t, int64_t i, double dflt)
{
    return t ? sdx_tensor_get_double(t, sdx_tensor_count(t) == 1 ? 0 : i) : dflt;
}

/* The windows of pixels [first, first + n) as rows of k bytes. */
static void conv_int_rows(const ConvIntJob *j, const char *x, int64_t first, int64_t n, char *dst)
{
    const ConvIntState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    for (int64_t i = first; i < first + n; i++) {
        int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
        bool any = window_row(w, i / last->out, o, lo, hi);
        int64_t col = i % last->out, k_lo, k_hi;
        window_taps(last, col, &k_lo, &k_hi);
        for (int64_t c = 0; c < st->in_ch; c++, dst += st->taps) {
            memset(dst, (uint8_t)j->zx, (size_t)st->taps);
            if (!any) continue;
            memcpy(t, lo, sizeof t);
            do {
                int64_t tap = 0, at = c * st->in_size + window_offset(w, o, t) - last->pad0 + col * last->stride;
                for (int k = 0; k < w->n - 1; k++) tap = (tap + t[k]) * w->ax[k + 1].kernel;
                for (int64_t k = k_lo; k < k_hi; k++) dst[tap + k] = x[at + k * last->dilation];
            } while (window_next(w, t, lo, hi));
        }
    }
}

static void conv_int_blocks(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvIntJob *j = arg;
    const ConvIntState *st = j->st;
    char *scratch = j->workers + (size_t)worker * st->worker_scratch;
    char *rows = scratch + st->at_rows, *results = scratch + st->at_results;
    size_t size = sdx_dtype_size(j->y_type);
    for (int64_t u = from; u < to; u++) {
        int64_t plane = u / st->blocks, g = plane % st->groups, first = u % st->blocks * st->block;
        IgemmPlan plan = u % st->blocks == st->blocks - 1 ? st->last_plan : st->plan;
        plan.row_sums = j->row_sums;
        IgemmOut out = j->out;
        out.col = j->col + g * st->out_ch;
        if (j->row_sums) out.b_zero = j->zero + g * st->out_ch;
        if (j->scale) out.scale = j->scale + g * st->out_ch;
        conv_int_rows(j, j->x + plane * st->in_ch * st->in_size, first, (int64_t)plan.m, rows);
        for (size_t i = 0; i < plan.chunks; i++)
            sdx_igemm_chunk(st->kern, &plan, rows, j->packed + (size_t)g * st->packed_step, &out, results, i, scratch);
        for (int64_t m = 0; m < st->out_ch; m++) {
            char *y = j->y + (size_t)((plane * st->out_ch + m) * st->out_size + first) * size;
            const char *src = results + (size_t)m * size;
            for (size_t i = 0; i < plan.m; i++, src += (size_t)st->out_ch * size) {
                if (size == 1)
                    y[i] = *src;
                else
                    memcpy(y + i * size, src, sizeof(int32_t));
            }
        }
    }
}

/* One row of sums of output channel m, all of whose group's input is one plane. */
static void conv_int_row(const ConvIntJob *j, const uint8_t *x, int64_t m, int64_t row, int32_t *sum)
{
    const ConvIntState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    const uint8_t *weights = (const uint8_t *)j->w + m * st->k;
    int32_t zw = (int32_t)param_at(j->w_zero, m, 0), bias = (int32_t)param_at(j->bias, m, 0);
    int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
    for (int64_t i = 0; i < last->out; i++) sum[i] = bias;
    if (st->k == 0 || !window_row(w, row, o, lo, hi)) return;
    memcpy(t, lo, sizeof t);
    do {
        int64_t tap = 0, base = window_offset(w, o, t) - last->pad0;
        for (int k = 0; k < w->n - 1; k++) tap = (tap + t[k]) * w->ax[k + 1].kernel;
        for (int64_t k = 0; k < last->kernel; k++) {
            int32_t v = (j->w_signed ? (int8_t)weights[tap + k] : weights[tap + k]) - zw;
            int64_t at = base + k * last->dilation;
            for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) {
                uint8_t b = x[at + i * last->stride];
                sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)(v * ((j->x_signed ? (int8_t)b : b) - j->zx)));
            }
        }
    } while (window_next(w, t, lo, hi));
}

/* Output planes of convolutions with one input channel a group. */
static void conv_int_direct(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvIntJob *j = arg;
    const ConvIntState *st = j->st;
    int64_t width = st->w.ax[st->w.n - 1].out;
    int32_t *sum = (int32_t *)(void *)(j->workers + (size_t)worker * st->worker_scratch);
    for (int64_t u = from; u < to; u++) {
        int64_t m = u % (st->groups * st->out_ch);
        const uint8_t *x = (const uint8_t *)j->x + u / st->out_ch * st->in_ch * st->in_size;
        double scale = j->sx * param_at(j->w_scale, m, 1) / j->sy;
        for (int64_t row = 0; row < st->rows; row++) {
            conv_int_row(j, x, m, row, sum);
            int64_t at = (u * st->rows + row) * width;
            if (j->y_type == DT_INT32) {
                memcpy((int32_t *)(void *)j->y + at, sum, (size_t)width * sizeof *sum);
                continue;
            }
            for (int64_t i = 0; i < width; i++) {
                double v = nearbyint((double)sum[i] * scale) + j->out.zero;
                j->y[at + i] = (char)(int32_t)(!(v >= j->out.lo) ? j->out.lo
                                               : v > j->out.hi   ? j->out.hi
                                                                 : v); /* NaN: lo */
            }
        }
    }
}

/* Column terms of all output channels; true: some zero point of w asks for row sums. */
static bool conv_int_columns(const Run *r, const ConvIntJob *j)
{
    const ConvIntState *st = j->st;
    char *scratch = r->scratch;
    int32_t *col = (int32_t *)(void *)(scratch + st->at_col), *zero = (int32_t *)(void *)(scratch + st->at_zero);
    float *scale = (float *)(void *)(scratch + st->at_scale);
    bool any = false;
    for (int64_t g = 0; g < st->groups; g++) {
        int64_t first = g * st->out_ch;
        for (int64_t m = first; m < first + st->out_ch; m++) {
            zero[m] = (int32_t)param_at(j->w_zero, m, 0);
            scale[m] = (float)(j->sx * param_at(j->w_scale, m, 1) / j->sy);
        }
        const int32_t *sums = sdx_igemm_colsum(st->kern, j->packed + (size_t)g * st->packed_step, (size_t)st->k,
                                               (size_t)st->out_ch);
        any |= sdx_igemm_columns(st->kern, sums, (size_t)st->k, (size_t)st->out_ch, j->x_signed, j->zx, j->w_signed,
                                 zero + first, false, j->bias ? (const int32_t *)j->bias->data + first : NULL,
                                 col + first, zero + first);
    }
    return any;
}

static sdx_status conv_int_run(Run *r, const Roles *ro)
{
    const ConvIntState *st = r->state;
    const Tensor *x = &r->in[ro->x]->t, *w = &r->in[ro->w]->t, *y_zero = input(r->in, r->n_in, ro->y_zero);
    ConvIntJob j = { .st = st,
                     .x = x->data,
                     .w = w->data,
                     .x_signed = x->dtype == DT_INT8,
                     .w_signed = w->dtype == DT_INT8,
                     .zx = (int32_t)param_at(input(r->in, r->n_in, ro->x_zero), 0, 0),
                     .w_zero = input(r->in, r->n_in, ro->w_zero),
                     .bias = input(r->in, r->n_in, ro->bias),
                     .w_scale = input(r->in, r->n_in, ro->w_scale),
                     .y_type = y_zero ? y_zero->dtype : DT_INT32,
                     .sx = param_at(input(r->in, r->n_in, ro->x_scale), 0, 1),
                     .sy = param_at(input(r->in, r->n_in, ro->y_scale), 0, 1),
                     .out = { .kind = SDX_IOUT_I32, .epi = SDX_EPILOGUE_NONE } };
    void *y;
    TRY(sdx_run_output(r, 0, j.y_type, st->out_rank, st->out_dims, &y));
    j.y = y;
    int64_t planes = st->items * st->groups;
    if (planes * st->out_ch * st->out_size == 0) return SDX_OK;
    if (y_zero) {
        bool is_signed = j.y_type == DT_INT8;
        j.out.kind = is_signed ? SDX_IOUT_I8 : SDX_IOUT_U8;
        j.out.zero = (int32_t)sdx_tensor_get_int(y_zero, 0);
        j.out.lo = is_signed ? -128 : 0;
        j.out.hi = is_signed ? 127 : 255;
    }
    char *scratch = r->scratch;
    j.workers = scratch + st->at_workers;
    if (st->direct) {
        sdx_run_range(r, planes * st->out_ch, grain_for(st->out_size * st->taps), conv_int_direct, &j);
        return SDX_OK;
    }
    j.packed = st->packed;
    if (!j.packed) {
        PackArgs args = { st->kern, st->k, st->out_ch, st->groups, st->packed_step };
        conv_int_pack(&args, scratch + st->at_packed, w);
        j.packed = scratch + st->at_packed;
    }
    j.row_sums = conv_int_columns(r, &j);
    j.col = (int32_t *)(void *)(scratch + st->at_col);
    j.zero = (int32_t *)(void *)(scratch + st->at_zero);
    if (y_zero) j.scale = (float *)(void *)(scratch + st->at_scale);
    sdx_run_range(r, planes * st->blocks, grain_for(st->block * st->k * (1 + st->out_ch / 16)), conv_int_blocks, &j);
    return SDX_OK;
}

static sdx_status convinteger_run(Run *r) { return conv_int_run(r, &integer_roles); }
static sdx_status qlinearconv_run(Run *r) { return conv_int_run(r, &qlinear_roles); }

#define QTYPES (TS_I8 | TS_U8)
static const OpVer convinteger_vers[] = { { 10, { QTYPES, QTYPES } }, { 0 } };

const OpDef sdx_op_ConvInteger = {
    .name = "ConvInteger",
    .sig = "T,U,T?,U?->i32",
    .attrs = conv_attrs,
    .attrs_size = sizeof(ConvAttrs),
    .vers = convinteger_vers,
    .flags = OP_LAZY_PACK,
    .infer = convinteger_infer,
    .cpu = { convinteger_prepare, convinteger_run },
};

static const OpVer qlinearconv_vers[] = { { 10, { QTYPES, QTYPES, QTYPES } }, { 0 } };

const OpDef sdx_op_QLinearConv = {
    .name = "QLinearConv",
    .sig = "T,f32,T,U,f32,U,f32,V,i32?->V",
    .attrs = conv_attrs,
    .attrs_size = sizeof(ConvAttrs),
    .vers = qlinearconv_vers,
    .flags = OP_LAZY_PACK,
    .infer = qlinearconv_infer,
    .cpu = { qlinearconv_prepare, qlinearconv_run },
};
