/* ops/reduce.c - ReduceSum, Mean, Prod, Max, Min, L1, L2, LogSum, LogSumExp, SumSquare
 *
 * The axes are merged into as few as possible, kept and reduced ones alternating. When the innermost one is reduced,
 * each result folds contiguous runs; when it is kept, a block of results is folded at once, row after row. Sums of
 * floats are kept in double between runs of at most 1024 elements, so the error does not grow with the length.
 * A reduction over nothing gives the neutral element: 0, 1, -inf or +inf (the type's lowest and highest value for
 * integers), and NaN for the mean. A NaN in the data is the maximum and the minimum. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/reduce.h"
#include "ops/upgrade.h"

#include <math.h>
#include <string.h>

#define REDUCE_WIDTH 256 /* results folded at once when the innermost axis is kept */

typedef struct ReduceFns {
    size_t acc_size;
    void (*init)(void *acc, int64_t n);
    /* aux: NULL, or what the preparatory fold gave, as elements of the data's type */
    void (*fold)(void *acc, const void *x, int64_t n, const void *aux);
    void (*fold_rows)(void *acc, const void *x, int64_t rows, int64_t stride, int64_t width, const void *aux);
    void (*finish)(void *y, const void *acc, int64_t n, int64_t count, const void *aux);
} ReduceFns;

#define LANES 16
#define RUN 1024

/* Floats: sums run in T over short stretches and in double between them. */
#define T float
#define ACC double
#define TAG f32
#define IS_FLOAT 1
#include "ops/reduce_types.h"
#define T double
#define ACC double
#define TAG f64
#define IS_FLOAT 1
#include "ops/reduce_types.h"
#define T int32_t
#define ACC int64_t
#define UACC uint64_t
#define TAG i32
#define LOWEST INT32_MIN
#define HIGHEST INT32_MAX
#include "ops/reduce_types.h"
#define T uint32_t
#define ACC uint64_t
#define UACC uint64_t
#define TAG u32
#define LOWEST 0
#define HIGHEST UINT32_MAX
#include "ops/reduce_types.h"
#define T int64_t
#define ACC int64_t
#define UACC uint64_t
#define TAG i64
#define LOWEST INT64_MIN
#define HIGHEST INT64_MAX
#include "ops/reduce_types.h"
#define T uint64_t
#define ACC uint64_t
#define UACC uint64_t
#define TAG u64
#define LOWEST 0
#define HIGHEST UINT64_MAX
#include "ops/reduce_types.h"
#define T int8_t
#define ACC int8_t
#define TAG i8
#define LOWEST INT8_MIN
#define HIGHEST INT8_MAX
#define ONLY_MINMAX 1
#include "ops/reduce_types.h"
#define T uint8_t
#define ACC uint8_t
#define TAG u8
#define LOWEST 0
#define HIGHEST UINT8_MAX
#define ONLY_MINMAX 1
#include "ops/reduce_types.h"
#define T uint8_t
#define ACC uint8_t
#define TAG boolean
#define LOWEST 0
#define HIGHEST 1
#define ONLY_MINMAX 1
#include "ops/reduce_types.h"

static const ReduceFns *reduce_fns(DType d, int op)
{
    const ReduceFns *fns = NULL;
    switch (d) {
    case DT_FLOAT: fns = reduce_table_f32; break;
    case DT_DOUBLE: fns = reduce_table_f64; break;
    case DT_INT32: fns = reduce_table_i32; break;
    case DT_UINT32: fns = reduce_table_u32; break;
    case DT_INT64: fns = reduce_table_i64; break;
    case DT_UINT64: fns = reduce_table_u64; break;
    case DT_INT8: fns = reduce_table_i8; break;
    case DT_UINT8: fns = reduce_table_u8; break;
    case DT_BOOL: fns = reduce_table_boolean; break;
    default: return NULL;
    }
    return fns[op].fold ? &fns[op] : NULL;
}

/* -- the walk ------------------------------------------------------------------------------------------------------ */

typedef struct ReduceWalk {
    int n_keep, n_red; /* axes without the innermost one */
    int64_t keep[SDX_MAX_RANK], keep_stride[SDX_MAX_RANK];
    int64_t red[SDX_MAX_RANK], red_stride[SDX_MAX_RANK];
    int64_t width;      /* > 0: the innermost axis is kept and has this size */
    int64_t run;        /* otherwise it is reduced and has this size */
    int64_t rows, row_stride; /* with width: the last reduced axis */
    int64_t outer;      /* product of keep */
    int64_t count;      /* elements per result */
    int64_t results;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} ReduceWalk;

static void reduce_walk(ReduceWalk *w, const Tensor *x, const bool *mask, bool keepdims)
{
    memset(w, 0, sizeof *w);
    w->count = 1;
    w->results = 1;
    struct { int64_t n, stride; bool red; } axes[SDX_MAX_RANK];
    int n = 0;
    int64_t stride[SDX_MAX_RANK], s = 1;
    for (int k = x->rank - 1; k >= 0; k--) {
        stride[k] = s;
        s *= x->dims[k];
    }
    for (int k = 0; k < x->rank; k++) {
        if (mask[k]) w->count *= x->dims[k];
        else w->results *= x->dims[k];
        if (!mask[k] || keepdims) w->out_dims[w->out_rank++] = mask[k] ? 1 : x->dims[k];
        if (x->dims[k] == 1) continue;
        if (n && axes[n - 1].red == mask[k]) {
            axes[n - 1].n *= x->dims[k];
            axes[n - 1].stride = stride[k];
            continue;
        }
        axes[n].n = x->dims[k];
        axes[n].stride = stride[k];
        axes[n++].red = mask[k];
    }
    w->outer = 1;
    w->rows = 1;
    w->run = 1;
    if (n && !axes[n - 1].red) {
        w->width = axes[--n].n;
        if (n && axes[n - 1].red) {
            w->rows = axes[--n].n;
            w->row_stride = axes[n].stride;
        }
    } else if (n) {
        w->run = axes[--n].n;
    }
    for (int k = 0; k < n; k++) {
        if (axes[k].red) {
            w->red[w->n_red] = axes[k].n;
            w->red_stride[w->n_red++] = axes[k].stride;
        } else {
            w->keep[w->n_keep] = axes[k].n;
            w->keep_stride[w->n_keep++] = axes[k].stride;
            w->outer *= axes[k].n;
        }
    }
}

typedef struct ReduceJob {
    const ReduceWalk *w;
    const ReduceFns *fns, *pre; /* pre: a fold whose result the main one needs (the maximum, for LogSumExp) */
    size_t esize;
    const char *x;
    char *y;
    int64_t blocks; /* of REDUCE_WIDTH columns in width */
} ReduceJob;

/* Folds everything that belongs to `cols` results starting at x (one result when width is 0). */
static void reduce_fold(const ReduceJob *j, const ReduceFns *f, void *acc, const char *x, int64_t cols, const void *aux)
{
    const ReduceWalk *w = j->w;
    int64_t at[SDX_MAX_RANK] = { 0 };
    f->init(acc, cols);
    if (w->count == 0) return;
    for (;;) {
        if (w->width) f->fold_rows(acc, x, w->rows, w->row_stride, cols, aux);
        else f->fold(acc, x, w->run, aux);
        int k = w->n_red - 1;
        for (; k >= 0; k--) {
            x += w->red_stride[k] * (int64_t)j->esize;
            if (++at[k] < w->red[k]) break;
            x -= w->red_stride[k] * w->red[k] * (int64_t)j->esize;
            at[k] = 0;
        }
        if (k < 0) return;
    }
}

static void reduce_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ReduceJob *j = arg;
    const ReduceWalk *w = j->w;
    _Alignas(64) char acc[REDUCE_WIDTH * 16], aux_acc[REDUCE_WIDTH * 16];
    _Alignas(64) char aux[REDUCE_WIDTH * 8];
    for (int64_t u = from; u < to; u++) {
        int64_t o = u / j->blocks, block = u % j->blocks;
        int64_t first = block * REDUCE_WIDTH, cols = 1;
        if (w->width) cols = w->width - first < REDUCE_WIDTH ? w->width - first : REDUCE_WIDTH;
        int64_t offset = first, rest = o;
        for (int k = w->n_keep - 1; k >= 0; k--) {
            offset += rest % w->keep[k] * w->keep_stride[k];
            rest /= w->keep[k];
        }
        const char *x = j->x + offset * (int64_t)j->esize;
        char *y = j->y + ((w->width ? o * w->width : o) + first) * (int64_t)j->esize;
        if (j->pre) {
            reduce_fold(j, j->pre, aux_acc, x, cols, NULL);
            j->pre->finish(aux, aux_acc, cols, w->count, NULL);
        }
        reduce_fold(j, j->fns, acc, x, cols, aux);
        j->fns->finish(y, acc, cols, w->count, aux);
    }
}

static void reduce_all(const Run *r, const ReduceWalk *w, DType dtype, int op, const void *x, void *y)
{
    ReduceJob j = { .w = w, .fns = reduce_fns(dtype, op), .esize = sdx_dtype_size(dtype), .x = x, .y = y,
                    .blocks = w->width ? (w->width + REDUCE_WIDTH - 1) / REDUCE_WIDTH : 1 };
    if (op == RED_LOGSUMEXP) j.pre = reduce_fns(dtype, RED_MAX);
    int64_t per_unit = w->count * (w->width ? (w->width < REDUCE_WIDTH ? w->width : REDUCE_WIDTH) : 1);
    sdx_run_range(r, w->outer * j.blocks, grain_for(per_unit), reduce_range, &j);
}

void sdx_reduce_rows(const Run *r, DType dtype, int op, const void *x, void *y, int64_t rows, int64_t n)
{
    ReduceWalk w;
    Tensor t = { .dtype = dtype, .rank = 2, .dims = { rows, n } };
    reduce_walk(&w, &t, (bool[]){ false, true }, false);
    if (rows) reduce_all(r, &w, dtype, op, x, y);
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

typedef struct ReduceAttrs {
    int64_t keepdims, noop_with_empty_axes;
} ReduceAttrs;

static const AttrSpec reduce_attrs[] = {
    OP_INT(ReduceAttrs, keepdims, 1),
    OP_INT(ReduceAttrs, noop_with_empty_axes, 0),
    OP_ATTR_END
};

static sdx_status reduce_infer(Infer *c)
{
    const ReduceAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    DimVec axes = { 0 };
    bool known = true;
    const Shape *as = infer_has(c, 1) ? infer_shape(c, 1) : NULL;
    if (infer_has(c, 1)) {
        if (as && as->rank > 1) return sdx_infer_fail(c, "axes has rank %d; it must be 1", (int)as->rank);
        known = sdx_infer_ints(c, 1, &axes);
        for (int i = 0; known && i < axes.n; i++) known = axes.v[i].known;
    }
    if (known) {
        bool mask[SDX_MAX_RANK] = { false };
        for (int i = 0; i < axes.n; i++) {
            int axis;
            TRY(sdx_infer_axis(c, axes.v[i].v, x->rank, &axis));
            mask[axis] = true;
        }
        Dim dims[SDX_MAX_RANK];
        int rank = 0;
        for (int k = 0; k < x->rank; k++) {
            bool red = axes.n ? mask[k] : !a->noop_with_empty_axes;
            if (!red) dims[rank++] = x->dims[k];
            else if (a->keepdims) dims[rank++] = 1;
        }
        Dim *out = infer_out_rank(c, 0, rank);
        memcpy(out, dims, (size_t)rank * sizeof *dims);
        return SDX_OK;
    }
    if (a->keepdims) infer_out_rank(c, 0, x->rank);
    return SDX_OK;
}

typedef struct ReduceState {
    ReduceWalk walk;
} ReduceState;

/* Which axes go. axes NULL or empty: all, or none with noop_with_empty_axes. */
static bool reduce_mask(const ReduceAttrs *a, const Tensor *x, const Tensor *axes, bool *mask, int64_t *bad)
{
    int64_t n = axes ? sdx_tensor_count(axes) : 0;
    for (int k = 0; k < x->rank; k++) mask[k] = n == 0 && !a->noop_with_empty_axes;
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = sdx_tensor_get_int(axes, i);
        *bad = axis;
        if (axis < -x->rank || axis >= x->rank) return false;
        mask[axis < 0 ? axis + x->rank : axis] = true;
    }
    return true;
}

static sdx_status reduce_prepare(Prepare *p)
{
    const Tensor *axes = p->n_in > 1 && p->in[1] ? &p->in[1]->t : NULL;
    if (axes && !p->in_const[1]) return SDX_OK;
    bool mask[SDX_MAX_RANK];
    int64_t bad;
    if (!reduce_mask(p->args, &p->in[0]->t, axes, mask, &bad))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "axis %lld is outside [-%d, %d)", (long long)bad,
                                (int)p->in[0]->t.rank, (int)p->in[0]->t.rank);
    ReduceState *st = sdx_arena_new(p->arena, ReduceState);
    TRY_MEM(st, p->err);
    reduce_walk(&st->walk, &p->in[0]->t, mask, ((const ReduceAttrs *)p->args)->keepdims);
    p->state = st;
    return SDX_OK;
}

static sdx_status reduce_run(Run *r, int op)
{
    const Tensor *x = &r->in[0]->t;
    const ReduceAttrs *a = r->args;
    ReduceWalk local;
    const ReduceWalk *w = r->state ? &((const ReduceState *)r->state)->walk : &local;
    if (!r->state) {
        bool mask[SDX_MAX_RANK];
        int64_t bad;
        if (!reduce_mask(a, x, r->n_in > 1 && r->in[1] ? &r->in[1]->t : NULL, mask, &bad))
            return sdx_run_fail(r, "axis %lld is outside [-%d, %d)", (long long)bad, (int)x->rank, (int)x->rank);
        reduce_walk(&local, x, mask, a->keepdims);
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, w->out_rank, w->out_dims, &y));
    if (!reduce_fns(x->dtype, op)) return sdx_run_fail(r, "no reduction for %s", sdx_dtype_name(x->dtype));
    if (w->results == 0) return SDX_OK;
    reduce_all(r, w, x->dtype, op, x->data, y);
    return SDX_OK;
}

#define INTS4 (TS_I32 | TS_I64 | TS_U32 | TS_U64)
#define BYTES (TS_I8 | TS_U8)

static sdx_status axes_to_input(Node *n, Err *err) { return sdx_upgrade_ints_to_input(n, "axes", 1, err); }

#define REDUCE_OP(Name, op, ...)                                                                                       \
    static sdx_status run_##op(Run *r) { return reduce_run(r, op); }                                                   \
    static const OpVer vers_##op[] = { __VA_ARGS__, { 0 } };                                                           \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name, .sig = "T,i64?->T", .attrs = reduce_attrs, .attrs_size = sizeof(ReduceAttrs),                   \
        .vers = vers_##op, .flags = OP_F32_MATH, .infer = reduce_infer, .cpu = { reduce_prepare, run_##op },           \
    };

REDUCE_OP(ReduceSum, RED_SUM, { 13, { TS_FLTB | INTS4 } }, { 11, { TS_FLT | INTS4 }, axes_to_input },
          { 1, { TS_FLT | INTS4 } })
#define REDUCE_ROWS                                                                                                    \
    { 18, { TS_FLTB | INTS4 } }, { 13, { TS_FLTB | INTS4 }, axes_to_input }, { 11, { TS_FLT | INTS4 } },               \
        { 1, { TS_FLT | INTS4 } }
REDUCE_OP(ReduceMean, RED_MEAN, REDUCE_ROWS)
REDUCE_OP(ReduceProd, RED_PROD, REDUCE_ROWS)
REDUCE_OP(ReduceL1, RED_L1, REDUCE_ROWS)
REDUCE_OP(ReduceL2, RED_L2, REDUCE_ROWS)
REDUCE_OP(ReduceSumSquare, RED_SUMSQ, REDUCE_ROWS)
/* The integer types went in 28; models that used them still may. */
REDUCE_OP(ReduceLogSum, RED_LOGSUM, { 28, { TS_FLTB } }, REDUCE_ROWS)
REDUCE_OP(ReduceLogSumExp, RED_LOGSUMEXP, { 28, { TS_FLTB } }, REDUCE_ROWS)
#define REDUCE_MINMAX_ROWS                                                                                             \
    { 20, { TS_FLTB | INTS4 | BYTES | TS_BOOL } }, { 18, { TS_FLTB | INTS4 | BYTES } },                                \
        { 13, { TS_FLTB | INTS4 | BYTES }, axes_to_input }, { 12, { TS_FLT | INTS4 | BYTES } },                        \
        { 11, { TS_FLT | INTS4 } }, { 1, { TS_FLT | INTS4 } }
REDUCE_OP(ReduceMax, RED_MAX, REDUCE_MINMAX_ROWS)
REDUCE_OP(ReduceMin, RED_MIN, REDUCE_MINMAX_ROWS)
