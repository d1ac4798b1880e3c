/* ops/pool_op.c - MaxPool, AveragePool, LpPool
 *
 * One row of outputs (along the last axis) at a time: each tap of the window joins the row of inputs it meets, so the
 * inner loop runs along memory for any number of axes; kern/pool joins all taps of f32 in registers. A NaN in a window is its maximum. An average
 * counts the cells inside the input, and with count_include_pad those inside the declared padding; cells that only
 * ceil_mode reaches never count. */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/pool_op.h"
#include "ops/upgrade.h"

static const AttrSpec maxpool_attrs[] = { OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_WINDOW_CEIL,
                                          OP_INT(PoolAttrs, storage_order, 0), OP_ATTR_END };
static const AttrSpec avgpool_attrs[] = { OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_WINDOW_CEIL,
                                          OP_INT(PoolAttrs, count_include_pad, 0), OP_ATTR_END };
static const AttrSpec lppool_attrs[] = { OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_WINDOW_CEIL, OP_INT(PoolAttrs, p, 2),
                                         OP_ATTR_END };

typedef struct PoolJob {
    const PoolState *st;
    const PoolAttrs *a;
    const void *x;
    void *y;
    int64_t *indices;
} PoolJob;

/* Flat place of an element inside its plane, counted with the first spatial axis fastest. */
static int64_t pool_column_major(const Window *w, int64_t flat)
{
    int64_t at = 0, step[SDX_MAX_RANK], s = 1;
    for (int k = 0; k < w->n; k++) {
        step[k] = s;
        s *= w->ax[k].in;
    }
    for (int k = w->n - 1; k >= 0; k--) {
        at += flat % w->ax[k].in * step[k];
        flat /= w->ax[k].in;
    }
    return at;
}

#define T float
#define FN(name) name##_f32
#define LOWEST (-INFINITY)
#define IS_NAN(v) ((v) != (v))
#define WITH_SUMS
#include "ops/pool_tmpl.h"
#define T double
#define FN(name) name##_f64
#define LOWEST (-INFINITY)
#define IS_NAN(v) ((v) != (v))
#define WITH_SUMS
#include "ops/pool_tmpl.h"
#define T int8_t
#define FN(name) name##_i8
#define LOWEST INT8_MIN
#define IS_NAN(v) false
#include "ops/pool_tmpl.h"
#define T uint8_t
#define FN(name) name##_u8
#define LOWEST 0
#define IS_NAN(v) false
#include "ops/pool_tmpl.h"

/* A row of outputs through kern/pool: those that all taps reach in one call, the edges one by one. */
static void pool_row_f32(const PoolState *st, const float *x, int64_t row, bool mean, float *y)
{
    const WinAxis *last = &st->w.ax[st->w.n - 1];
    int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], inner_lo = 0, inner_hi = last->out, cells = 1;
    bool any = window_row(&st->w, row, o, lo, hi);
    for (int64_t k = 0; k < last->kernel; k++) {
        if (st->span[k].lo > inner_lo) inner_lo = st->span[k].lo;
        if (st->span[k].hi < inner_hi) inner_hi = st->span[k].hi;
    }
    for (int k = 0; k < st->w.n - 1; k++) cells *= st->count[k][o[k]];
    const float *taps[SDX_POOL_TAPS];
    for (int64_t i = 0, len; i < last->out; i += len) {
        size_t n = any ? pool_taps(st, x, 1, o, lo, hi, i, taps) : 0;
        float count = (float)(cells * st->count[st->w.n - 1][i]);
        len = i >= inner_lo && i < inner_hi ? inner_hi - i : 1;
        if (!mean)
            st->kern->max_taps_f32(y + i, taps, n, (size_t)len, (size_t)last->stride);
        else
            st->kern->mean_taps_f32(y + i, taps, n, (size_t)len, (size_t)last->stride, count > 0 ? count : 1);
    }
}

static void maxpool_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    for (int64_t u = from * st->rows; u < to * st->rows; u++)
        pool_row_f32(st, (const float *)j->x + u / st->rows * st->in_size, u % st->rows, false,
                     (float *)j->y + u * st->w.ax[st->w.n - 1].out);
}

static void avgpool_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    for (int64_t u = from * st->rows; u < to * st->rows; u++)
        pool_row_f32(st, (const float *)j->x + u / st->rows * st->in_size, u % st->rows, true,
                     (float *)j->y + u * st->w.ax[st->w.n - 1].out);
}

sdx_status sdx_pool_infer(Infer *c)
{
    const PoolAttrs *a = c->args;
    if (!a->win.kernel_shape.v) return sdx_infer_fail(c, "kernel_shape is missing");
    TRY(infer_rank_between(c, 0, 3, SDX_MAX_RANK, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int n = x->rank - 2;
    if (a->win.kernel_shape.n != n)
        return sdx_infer_fail(c, "kernel_shape has %lld values; the input has %d spatial axes",
                              (long long)a->win.kernel_shape.n, n);
    Dim out[SDX_MAX_RANK];
    TRY(sdx_window_infer(c, &a->win, n, x->dims + 2, a->win.kernel_shape.v, out));
    for (int o = 0; o < c->n_out; o++) {
        Dim *y = infer_out_rank(c, o, x->rank);
        y[0] = x->dims[0];
        y[1] = x->dims[1];
        memcpy(y + 2, out, (size_t)n * sizeof *out);
    }
    return SDX_OK;
}

sdx_status sdx_pool_geometry(Prepare *p, const PoolAttrs *a, int n, const int64_t *spatial, PoolState *st)
{
    st->kern = p->kern;
    sdx_window_make(&st->w, &a->win, n, spatial, a->win.kernel_shape.v);
    st->in_size = st->out_size = st->rows = 1;
    for (int k = 0; k < n; k++) {
        const WinAxis *ax = &st->w.ax[k];
        st->in_size *= ax->in;
        st->out_size *= ax->out;
        if (k < n - 1) st->rows *= ax->out;
        int32_t *count = sdx_arena_array(p->arena, int32_t, ax->out);
        TRY_MEM(count, p->err);
        st->count[k] = count;
        WinAxis padded = *ax;
        if (a->count_include_pad) {
            padded.in += ax->pad0 + ax->pad1;
            padded.pad0 = 0;
        }
        for (int64_t o = 0; o < ax->out; o++) {
            int64_t lo, hi;
            window_taps(&padded, o, &lo, &hi);
            count[o] = (int32_t)(hi - lo);
        }
    }
    st->span = sdx_window_spans(p->arena, &st->w.ax[n - 1]);
    TRY_MEM(st->span, p->err);
    return SDX_OK;
}

static sdx_status pool_prepare(Prepare *p)
{
    const PoolAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t;
    PoolState *st = sdx_arena_new(p->arena, PoolState);
    TRY_MEM(st, p->err);
    p->state = st;
    TRY(sdx_pool_geometry(p, a, x->rank - 2, x->dims + 2, st));
    st->planes = x->dims[0] * x->dims[1];
    st->out_rank = x->rank;
    st->out_dims[0] = x->dims[0];
    st->out_dims[1] = x->dims[1];
    for (int k = 0; k < st->w.n; k++) st->out_dims[2 + k] = st->w.ax[k].out;
    return SDX_OK;
}

static sdx_status pool_start(Run *r, PoolJob *j, int64_t *grain)
{
    const PoolState *st = r->state;
    *j = (PoolJob){ .st = st, .a = r->args, .x = r->in[0]->t.data };
    TRY(sdx_run_output(r, 0, r->in[0]->t.dtype, st->out_rank, st->out_dims, &j->y));
    int64_t taps = 1;
    for (int k = 0; k < st->w.n; k++) taps *= st->w.ax[k].kernel;
    *grain = grain_for(st->out_size * taps);
    return SDX_OK;
}

static sdx_status maxpool_run(Run *r)
{
    PoolJob j;
    int64_t grain;
    TRY(pool_start(r, &j, &grain));
    if (r->n_out > 1 && r->out[1]) {
        void *indices;
        TRY(sdx_run_output(r, 1, DT_INT64, j.st->out_rank, j.st->out_dims, &indices));
        j.indices = indices;
    }
    RangeFn fn = NULL;
    switch (r->in[0]->t.dtype) {
    case DT_FLOAT: fn = j.indices ? maxpool_indices_f32 : pool_by_taps(j.st) ? maxpool_rows : maxpool_f32; break;
    case DT_DOUBLE: fn = j.indices ? maxpool_indices_f64 : maxpool_f64; break;
    case DT_INT8: fn = j.indices ? maxpool_indices_i8 : maxpool_i8; break;
    default: fn = j.indices ? maxpool_indices_u8 : maxpool_u8; break;
    }
    if (j.st->out_size) sdx_run_range(r, j.st->planes, grain, fn, &j);
    return SDX_OK;
}

static sdx_status avgpool_run(Run *r)
{
    PoolJob j;
    int64_t grain;
    TRY(pool_start(r, &j, &grain));
    RangeFn fn = r->in[0]->t.dtype == DT_DOUBLE ? avgpool_f64 : pool_by_taps(j.st) ? avgpool_rows : avgpool_f32;
    if (j.st->out_size) sdx_run_range(r, j.st->planes, grain, fn, &j);
    return SDX_OK;
}

static sdx_status lppool_run(Run *r)
{
    PoolJob j;
    int64_t grain;
    TRY(pool_start(r, &j, &grain));
    if (j.a->p < 1) return sdx_run_fail(r, "p is %lld; it must be at least 1", (long long)j.a->p);
    if (j.st->out_size)
        sdx_run_range(r, j.st->planes, grain, r->in[0]->t.dtype == DT_DOUBLE ? lppool_f64 : lppool_f32, &j);
    return SDX_OK;
}

static const OpVer maxpool_vers[] = {
    { 22, { TS_FLTB | TS_I8 | TS_U8 } },
    { 12, { TS_FLT | TS_I8 | TS_U8 } },
    { 11, { TS_FLT } },
    { 10, { TS_FLT } },
    { 8, { TS_FLT } },
    { 1, { TS_FLT } },
    { 0 },
};
const OpDef sdx_op_MaxPool = {
    .name = "MaxPool",
    .sig = "T->T,i64?",
    .attrs = maxpool_attrs,
    .attrs_size = sizeof(PoolAttrs),
    .vers = maxpool_vers,
    .flags = OP_F32_MATH,
    .infer = sdx_pool_infer,
    .cpu = { pool_prepare, maxpool_run },
};

static const OpVer avgpool_vers[] = {
    { 22, { TS_FLTB } },
    { 19, { TS_FLT } },
    { 11, { TS_FLT } },
    { 10, { TS_FLT } },
    { 7, { TS_FLT } },
    { 1, { TS_FLT } },
    { 0 },
};
const OpDef sdx_op_AveragePool = {
    .name = "AveragePool",
    .sig = "T->T",
    .attrs = avgpool_attrs,
    .attrs_size = sizeof(PoolAttrs),
    .vers = avgpool_vers,
    .flags = OP_F32_MATH,
    .infer = sdx_pool_infer,
    .cpu = { pool_prepare, avgpool_run },
};

/* p was a float in version 1. */
static sdx_status lppool_from_1(Node *n, Err *err)
{
    float p = sdx_upgrade_float(n, "p", 2);
    if (p != (float)(int64_t)p || p < 1)
        return sdx_fail(err, SDX_UNSUPPORTED, "p = %g is not a whole number", (double)p);
    if (!sdx_node_set_int(n, "p", (int64_t)p)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

static const OpVer lppool_vers[] = {
    { 22, { TS_FLTB } },
    { 18, { TS_FLT } },
    { 11, { TS_FLT } },
    { 2, { TS_FLT } },
    { 1, { TS_FLT }, lppool_from_1 },
    { 0 },
};
const OpDef sdx_op_LpPool = {
    .name = "LpPool",
    .sig = "T->T",
    .attrs = lppool_attrs,
    .attrs_size = sizeof(PoolAttrs),
    .vers = lppool_vers,
    .flags = OP_F32_MATH,
    .infer = sdx_pool_infer,
    .cpu = { pool_prepare, lppool_run },
};
