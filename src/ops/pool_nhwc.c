/* ops/pool_nhwc.c - sdx.MaxPool, sdx.AveragePool: pools with channels last
 *
 * A row of output pixels at a time: kern/pool joins the pixels under each window in registers; windows too large for
 * that join their pixels to the row tap by tap, in runs of channels. */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/nhwc.h"
#include "ops/pool_op.h"

static const AttrSpec maxpool_nhwc_attrs[] = { OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_WINDOW_CEIL, OP_ATTR_END };
static const AttrSpec avgpool_nhwc_attrs[] = { OP_WINDOW_ATTRS, OP_WINDOW_DILATIONS, OP_WINDOW_CEIL,
                                               OP_INT(PoolAttrs, count_include_pad, 0), OP_ATTR_END };

static sdx_status pool_nhwc_infer(Infer *c) { return sdx_nhwc_infer(c, false, sdx_pool_infer); }

typedef struct PoolNhwcState {
    PoolState pool;
    int64_t channels, items;
} PoolNhwcState;

static sdx_status pool_nhwc_prepare(Prepare *p)
{
    const PoolAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t;
    int n = x->rank - 2;
    PoolNhwcState *st = sdx_arena_new(p->arena, PoolNhwcState);
    TRY_MEM(st, p->err);
    p->state = st;
    TRY(sdx_pool_geometry(p, a, n, x->dims + 1, &st->pool));
    st->items = x->dims[0];
    st->channels = x->dims[n + 1];
    st->pool.out_rank = x->rank;
    st->pool.out_dims[0] = x->dims[0];
    st->pool.out_dims[n + 1] = st->channels;
    for (int k = 0; k < n; k++) st->pool.out_dims[1 + k] = st->pool.w.ax[k].out;
    return SDX_OK;
}

typedef struct PoolNhwcJob {
    const PoolNhwcState *st;
    const float *x;
    float *y;
    bool is_signed; /* elements are 8-bit integers */
} PoolNhwcJob;

/* How elements of a type are joined. */
typedef struct Join {
    Map2 *map;
    size_t size;    /* of an element */
    float identity; /* of floats; others are bytes */
    uint8_t low;
} Join;

static void fill_identity(const Join *j, void *y, int64_t n)
{
    if (j->size == 1)
        memset(y, j->low, (size_t)n);
    else
        for (int64_t i = 0; i < n; i++) ((float *)y)[i] = j->identity;
}

/* y = join(y, x) over the window, for one row of output pixels. */
static void pool_row(const PoolNhwcState *st, const void *in, int64_t row, const Join *join, void *out)
{
    const char *x = in;
    char *y = out;
    const Window *w = &st->pool.w;
    const WinAxis *last = &w->ax[w->n - 1];
    int64_t c = st->channels, o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
    fill_identity(join, y, last->out * c);
    if (!window_row(w, row, o, lo, hi)) return;
    memcpy(t, lo, sizeof t);
    int64_t pixel = c * (int64_t)join->size;
    do {
        int64_t start = window_offset(w, o, t) - last->pad0;
        for (int64_t k = 0; k < last->kernel; k++) {
            Span s = st->pool.span[k];
            const char *from = x + (start + k * last->dilation) * pixel;
            if (last->stride == 1) {
                char *to = y + s.lo * pixel;
                if (s.hi > s.lo) join->map(to, to, from + s.lo * pixel, (size_t)((s.hi - s.lo) * c), 0);
                continue;
            }
            for (int64_t i = s.lo; i < s.hi; i++)
                join->map(y + i * pixel, y + i * pixel, from + i * last->stride * pixel, (size_t)c, 0);
        }
    } while (window_next(w, t, lo, hi));
}

/* A row of output pixels by kern/pool. */
static void pool_pixels(const PoolNhwcState *st, const float *x, int64_t row, bool mean, float *y)
{
    const PoolState *pool = &st->pool;
    int64_t c = st->channels, o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], cells = 1;
    bool any = window_row(&pool->w, row, o, lo, hi);
    for (int k = 0; k < pool->w.n - 1; k++) cells *= pool->count[k][o[k]];
    const float *taps[SDX_POOL_TAPS];
    for (int64_t i = 0; i < pool->w.ax[pool->w.n - 1].out; i++, y += c) {
        size_t n = any ? pool_taps(pool, x, c, o, lo, hi, i, taps) : 0;
        float count = (float)(cells * pool->count[pool->w.n - 1][i]);
        if (!mean)
            pool->kern->max_taps_f32(y, taps, n, (size_t)c, 1);
        else
            pool->kern->mean_taps_f32(y, taps, n, (size_t)c, 1, count > 0 ? count : 1);
    }
}

static void maxpool_nhwc_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolNhwcJob *j = arg;
    const PoolState *pool = &j->st->pool;
    int64_t pixels = pool->w.ax[pool->w.n - 1].out;
    for (int64_t u = from; u < to && pool_by_taps(pool); u++)
        pool_pixels(j->st, j->x + u / pool->rows * pool->in_size * j->st->channels, u % pool->rows, false,
                    j->y + u * pixels * j->st->channels);
    const Join join = { .map = pool->kern->map2[SDX_K_f32][SDX_MAP2_max],
                        .size = sizeof(float),
                        .identity = -INFINITY };
    for (int64_t u = from; u < to && !pool_by_taps(pool); u++)
        pool_row(j->st, j->x + u / pool->rows * pool->in_size * j->st->channels, u % pool->rows, &join,
                 j->y + u * pixels * j->st->channels);
}

/* The same of 8-bit integers. */
static void maxpool_nhwc_bytes(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolNhwcJob *j = arg;
    const PoolState *pool = &j->st->pool;
    int64_t c = j->st->channels, pixels = pool->w.ax[pool->w.n - 1].out;
    const Join join = { .map = pool->kern->map2[j->is_signed ? SDX_K_i8 : SDX_K_u8][SDX_MAP2_max],
                        .size = 1,
                        .low = j->is_signed ? 0x80 : 0 };
    for (int64_t u = from; u < to; u++)
        pool_row(j->st, (const char *)j->x + u / pool->rows * pool->in_size * c, u % pool->rows, &join,
                 (char *)j->y + u * pixels * c);
}

static void avgpool_nhwc_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolNhwcJob *j = arg;
    const PoolState *pool = &j->st->pool;
    int64_t c = j->st->channels, pixels = pool->w.ax[pool->w.n - 1].out;
    const Join join = { .map = pool->kern->map2[SDX_K_f32][SDX_MAP2_add], .size = sizeof(float) };
    for (int64_t u = from; u < to && pool_by_taps(pool); u++)
        pool_pixels(j->st, j->x + u / pool->rows * pool->in_size * c, u % pool->rows, true, j->y + u * pixels * c);
    for (int64_t u = from; u < to && !pool_by_taps(pool); u++) {
        int64_t row = u % pool->rows, cells = 1, rest = row;
        float *y = j->y + u * pixels * c;
        pool_row(j->st, j->x + u / pool->rows * pool->in_size * c, row, &join, y);
        for (int k = pool->w.n - 2; k >= 0; k--) {
            cells *= pool->count[k][rest % pool->w.ax[k].out];
            rest /= pool->w.ax[k].out;
        }
        for (int64_t i = 0; i < pixels; i++) {
            float count = (float)(cells * pool->count[pool->w.n - 1][i]);
            j->st->pool.kern->map2[SDX_K_f32][SDX_MAP2_div](y + i * c, y + i * c, &count, (size_t)c, SDX_B_ONE);
        }
    }
}

static sdx_status pool_nhwc_run(Run *r, RangeFn rows)
{
    const PoolNhwcState *st = r->state;
    const Window *w = &st->pool.w;
    void *y;
    TRY(sdx_run_output(r, 0, r->in[0]->t.dtype, st->pool.out_rank, st->pool.out_dims, &y));
    if (sdx_dims_product(st->pool.out_dims, 0, st->pool.out_rank) == 0) return SDX_OK;
    PoolNhwcJob j = { st, r->in[0]->t.data, y, r->in[0]->t.dtype == DT_INT8 };
    int64_t taps = 1;
    for (int k = 0; k < w->n; k++) taps *= w->ax[k].kernel;
    sdx_run_range(r, st->items * st->pool.rows, grain_for(w->ax[w->n - 1].out * st->channels * taps), rows, &j);
    return SDX_OK;
}

static sdx_status maxpool_nhwc_run(Run *r)
{
    return pool_nhwc_run(r, r->in[0]->t.dtype == DT_FLOAT ? maxpool_nhwc_rows : maxpool_nhwc_bytes);
}

static sdx_status avgpool_nhwc_run(Run *r) { return pool_nhwc_run(r, avgpool_nhwc_rows); }

static const OpVer maxpool_nhwc_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 | TS_I8 | TS_U8 } }, { 0 } };
static const OpVer avgpool_nhwc_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_sdx_MaxPool = {
    .name = "MaxPool",
    .domain = "sdx",
    .sig = "T->T",
    .attrs = maxpool_nhwc_attrs,
    .attrs_size = sizeof(PoolAttrs),
    .vers = maxpool_nhwc_vers,
    .flags = OP_F32_MATH,
    .infer = pool_nhwc_infer,
    .cpu = { pool_nhwc_prepare, maxpool_nhwc_run },
};

const OpDef sdx_op_sdx_AveragePool = {
    .name = "AveragePool",
    .domain = "sdx",
    .sig = "T->T",
    .attrs = avgpool_nhwc_attrs,
    .attrs_size = sizeof(PoolAttrs),
    .vers = avgpool_nhwc_vers,
    .flags = OP_F32_MATH,
    .infer = pool_nhwc_infer,
    .cpu = { pool_nhwc_prepare, avgpool_nhwc_run },
};
