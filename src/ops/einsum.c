/* ops/einsum.c - Einsum
 *
 * Operands are taken into the result one by one. Joining two, every label is one of: in both and needed later (a batch
 * axis), in both and not needed (summed by the product), in one and needed (rows or columns), in one and not needed
 * (summed while that operand is laid out). So each join is: lay out both operands as [batch, rows, k] and
 * [batch, k, columns], then a batched matrix product. A repeated label is a diagonal: its strides add up.
 *
 * Labels: 0..51 are A-Z a-z, in the order that an implicit output uses; 52.. the ellipsis, counted from the right. */
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/product.h"

typedef struct EinsumAttrs {
    Str equation;
} EinsumAttrs;

static const AttrSpec einsum_attrs[] = { OP_STR_REQ(EinsumAttrs, equation), OP_ATTR_END };

#define LABELS 68
#define ELLIPSIS 52

typedef struct Labels {
    int n;
    uint8_t v[SDX_MAX_RANK];
} Labels;

/* One operand's labels from *at on, up to ',', '-' or the end. rank < 0: the output. NULL, or what is wrong. */
static const char *einsum_term(Str e, size_t *at, int rank, int ellipsis, Labels *out)
{
    int named = 0, dots = 0;
    for (size_t i = *at; i < e.n && e.p[i] != ',' && e.p[i] != '-'; i++) {
        char ch = e.p[i];
        if ((ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'))
            named++;
        else if (ch == '.')
            dots++;
        else if (ch != ' ')
            return "the equation has a character that is neither a letter, nor of '...', ',' or '->'";
    }
    if (dots != 0 && dots != 3) return "an ellipsis has three dots";
    if (rank >= 0) {
        if (named > rank || (!dots && named != rank))
            return "the equation has another number of labels than an operand has axes";
        ellipsis = rank - named;
    } else if (!dots) {
        ellipsis = 0;
    }
    if (named + (dots ? ellipsis : 0) > SDX_MAX_RANK) return "too many labels";
    out->n = 0;
    for (; *at < e.n && e.p[*at] != ',' && e.p[*at] != '-'; (*at)++) {
        char ch = e.p[*at];
        if (ch == ' ') continue;
        if (ch != '.') {
            out->v[out->n++] = (uint8_t)(ch <= 'Z' ? ch - 'A' : ch - 'a' + 26);
            continue;
        }
        if (e.n - *at < 3 || e.p[*at + 1] != '.' || e.p[*at + 2] != '.') return "an ellipsis has three dots";
        for (int k = ellipsis; k > 0; k--) out->v[out->n++] = (uint8_t)(ELLIPSIS + k - 1);
        *at += 2;
    }
    return NULL;
}

/* Labels of all operands, of ranks rank[0..n), and of the output. */
static const char *einsum_parse(Str e, int n, const int *rank, Labels *in, Labels *out)
{
    size_t at = 0;
    int widest = 0, seen[LABELS] = { 0 };
    for (int i = 0; i < n; i++) {
        const char *bad = einsum_term(e, &at, rank[i], 0, &in[i]);
        if (bad) return bad;
        for (int k = 0; k < in[i].n; k++) {
            seen[in[i].v[k]]++;
            if (in[i].v[k] >= ELLIPSIS && in[i].v[k] - ELLIPSIS >= widest) widest = in[i].v[k] - ELLIPSIS + 1;
        }
        if (i < n - 1 && (at >= e.n || e.p[at++] != ',')) return "the equation has fewer terms than there are inputs";
    }
    if (at == e.n) { /* the ellipsis, then every label that occurs once */
        out->n = 0;
        for (int k = widest; k > 0; k--) out->v[out->n++] = (uint8_t)(ELLIPSIS + k - 1);
        for (int l = 0; l < ELLIPSIS; l++) {
            if (seen[l] != 1) continue;
            if (out->n == SDX_MAX_RANK) return "too many labels in the output";
            out->v[out->n++] = (uint8_t)l;
        }
        return NULL;
    }
    if (e.p[at] == ',') return "the equation has more terms than there are inputs";
    if (e.n - at < 2 || e.p[at + 1] != '>') return "the equation has '-' without '>'";
    at += 2;
    const char *bad = einsum_term(e, &at, -1, widest, out);
    if (bad) return bad;
    if (at != e.n) return "the equation goes on after the output";
    int used[LABELS] = { 0 };
    for (int k = 0; k < out->n; k++) {
        if (used[out->v[k]]++) return "a label occurs twice in the output";
        if (!seen[out->v[k]]) return "a label of the output is in no input";
    }
    return NULL;
}

static sdx_status einsum_infer(Infer *c)
{
    const EinsumAttrs *a = c->args;
    int *rank = sdx_arena_array(c->arena, int, c->n_in + 1);
    Labels *in = sdx_arena_array(c->arena, Labels, c->n_in + 1), out;
    TRY_MEM(rank && in ? in : NULL, c->err);
    for (int i = 0; i < c->n_in; i++) {
        const Shape *s = infer_shape(c, i);
        if (!s) return SDX_OK;
        rank[i] = s->rank;
    }
    const char *bad = einsum_parse(a->equation, c->n_in, rank, in, &out);
    if (bad)
        return sdx_infer_fail(c, "%s: \"%.*s\"", bad, (int)(a->equation.n > 100 ? 100 : a->equation.n), a->equation.p);
    Dim size[LABELS];
    for (int l = 0; l < LABELS; l++) size[l] = 1;
    for (int i = 0; i < c->n_in; i++)
        for (int k = 0; k < in[i].n; k++) {
            Dim d = infer_shape(c, i)->dims[k];
            if (!sdx_dim_broadcast(c->syms, size[in[i].v[k]], d, &size[in[i].v[k]]))
                return sdx_infer_fail(c, "axis %d of input %d has size %lld; its label has another size elsewhere", k,
                                      i, (long long)d);
        }
    Dim *y = infer_out_rank(c, 0, out.n);
    for (int k = 0; k < out.n; k++) y[k] = size[out.v[k]];
    return SDX_OK;
}

/* -- plan ---------------------------------------------------------------------------------------------------------- */

/* A tensor with labelled axes: sizes come from the labels, stride 0 repeats. */
typedef struct View {
    uint64_t has[2]; /* set of labels */
    int64_t stride[LABELS];
    int source; /* input; -1: the running result */
} View;

static bool view_has(const View *v, int l) { return v->has[l / 64] >> (l % 64) & 1; }
static void view_add(View *v, int l, int64_t stride)
{
    v->has[l / 64] |= (uint64_t)1 << (l % 64);
    v->stride[l] += stride;
}

/* A strided copy: dst contiguous over keep axes, summed over sum axes. */
typedef struct Layout {
    int n_keep, n_sum;
    int64_t keep[LABELS], keep_stride[LABELS];
    int64_t sum[LABELS], sum_stride[LABELS];
    int64_t count;
    bool in_place; /* the source is already so */
    size_t at;     /* of dst in scratch */
} Layout;

typedef struct Join {
    Layout a, b;
    int source_a, source_b; /* -1: the running result */
    size_t result_at;       /* in scratch; SIZE_MAX: the output */
    Product q;
    int64_t batch, m, n, k;
} Join;

typedef struct EinsumState {
    int n_joins;
    Join *joins;
    Layout last; /* from the running result to the output */
    bool last_needed;
    int first_source; /* with no joins */
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} EinsumState;

static void layout_axis(Layout *l, const int64_t *size, const View *v, int label, bool sum)
{
    int64_t n = size[label];
    int64_t *dims = sum ? l->sum : l->keep, *strides = sum ? l->sum_stride : l->keep_stride;
    int *count = sum ? &l->n_sum : &l->n_keep;
    if (!sum) l->count *= n;
    if (n == 1) return;
    if (*count && strides[*count - 1] == v->stride[label] * n) { /* runs on from the axis before */
        dims[*count - 1] *= n;
        strides[*count - 1] = v->stride[label];
        return;
    }
    dims[*count] = n;
    strides[(*count)++] = v->stride[label];
}

static void layout_close(Layout *l)
{
    l->in_place = l->n_sum == 0 && (l->n_keep == 0 || (l->n_keep == 1 && l->keep_stride[0] == 1));
}

static sdx_status einsum_reserve(Prepare *p, int64_t count, size_t esize, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(p->scratch, SDX_ALIGN);
    if (count < 0 || !sdx_mul_size(&nbytes, (size_t)count, esize) || nbytes > SIZE_MAX / 4 ||
        !sdx_add_size(&p->scratch, *at, nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "an intermediate result does not fit the address space");
    return SDX_OK;
}

/* Joins `next` into `cur`; needed: labels of the output and of later operands. */
static sdx_status einsum_join(Prepare *p, Join *j, View *cur, const View *next, const bool *needed, const int64_t *size,
                              DType dtype)
{
    Layout *a = &j->a, *b = &j->b;
    View result = { .source = -1 };
    *a = *b = (Layout){ .count = 1 };
    j->batch = j->m = j->n = j->k = 1;
    j->source_a = cur->source;
    j->source_b = next->source;
    uint8_t order[LABELS];
    int n_order = 0;
    for (int pass = 0; pass < 4; pass++) /* batch, rows, k, columns */
        for (int l = LABELS - 1; l >= 0; l--) {
            bool in_a = view_has(cur, l), in_b = view_has(next, l), keep = needed[l];
            int64_t n = size[l];
            if (pass == 0 && in_a && in_b && keep) {
                layout_axis(a, size, cur, l, false);
                layout_axis(b, size, next, l, false);
                j->batch *= n;
                order[n_order++] = (uint8_t)l;
            } else if (pass == 1 && in_a && !in_b && keep) {
                layout_axis(a, size, cur, l, false);
                j->m *= n;
                order[n_order++] = (uint8_t)l;
            } else if (pass == 2 && in_a && in_b && !keep) {
                layout_axis(a, size, cur, l, false);
                layout_axis(b, size, next, l, false);
                j->k *= n;
            } else if (pass == 3 && in_b && !in_a && keep) {
                layout_axis(b, size, next, l, false);
                j->n *= n;
                order[n_order++] = (uint8_t)l;
            } else if (pass == 3 && in_a != in_b && !keep) {
                layout_axis(in_a ? a : b, size, in_a ? cur : next, l, true);
            }
        }
    layout_close(a);
    layout_close(b);
    int64_t stride = 1;
    for (int i = n_order - 1; i >= 0; i--) {
        view_add(&result, order[i], stride);
        if (!sdx_mul_i64(&stride, stride, size[order[i]]))
            return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "an intermediate result does not fit the address space");
    }
    size_t esize = sdx_dtype_size(dtype);
    if (!a->in_place) TRY(einsum_reserve(p, a->count, esize, &a->at));
    if (!b->in_place) TRY(einsum_reserve(p, b->count, esize, &b->at));
    TRY(einsum_reserve(p, stride, esize, &j->result_at));
    *cur = result;
    if (dtype != DT_FLOAT) return SDX_OK;
    j->q.plan = (GemmPlan){ .m = (size_t)j->m,
                            .n = (size_t)j->n,
                            .k = (size_t)j->k,
                            .lda = (size_t)j->k,
                            .ldb = (size_t)j->n,
                            .ldc = (size_t)j->n };
    j->q.n_batch = 1;
    j->q.dims[0] = j->batch;
    j->q.step_a[0] = j->m * j->k;
    j->q.step_b[0] = j->k * j->n;
    j->q.step_c = j->m * j->n;
    return sdx_product_plan(p, &j->q);
}

static sdx_status einsum_prepare(Prepare *p)
{
    const EinsumAttrs *at = p->args;
    EinsumState *st = sdx_arena_new(p->arena, EinsumState);
    int *rank = sdx_arena_array(p->arena, int, p->n_in + 1);
    Labels *in = sdx_arena_array(p->arena, Labels, p->n_in + 1), out;
    View *views = sdx_arena_array(p->arena, View, p->n_in);
    TRY_MEM(st && rank && in && views ? st : NULL, p->err);
    p->state = st;
    for (int i = 0; i < p->n_in; i++) rank[i] = p->in[i]->t.rank;
    const char *bad = einsum_parse(at->equation, p->n_in, rank, in, &out);
    if (bad) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", bad);
    int64_t size[LABELS];
    int last_use[LABELS]; /* the last operand that has the label; n_in for the output */
    for (int l = 0; l < LABELS; l++) size[l] = 1, last_use[l] = -1;
    for (int i = 0; i < p->n_in; i++) {
        const Tensor *t = &p->in[i]->t;
        for (int k = 0; k < t->rank; k++) {
            if (t->dims[k] != 1) size[in[i].v[k]] = t->dims[k];
            last_use[in[i].v[k]] = i;
        }
    }
    for (int i = 0; i < p->n_in; i++) {
        const Tensor *t = &p->in[i]->t;
        int64_t stride = 1;
        views[i].source = i;
        for (int k = t->rank - 1; k >= 0; k--) {
            view_add(&views[i], in[i].v[k], t->dims[k] == 1 ? 0 : stride);
            stride *= t->dims[k];
        }
    }
    for (int k = 0; k < out.n; k++) last_use[out.v[k]] = p->n_in;

    DType dtype = p->in[0]->t.dtype;
    View cur = views[0];
    st->first_source = 0;
    st->n_joins = p->n_in - 1;
    st->joins = sdx_arena_array(p->arena, Join, st->n_joins + 1);
    TRY_MEM(st->joins, p->err);
    for (int i = 1; i < p->n_in; i++) {
        bool needed[LABELS];
        for (int l = 0; l < LABELS; l++) needed[l] = last_use[l] > i;
        TRY(einsum_join(p, &st->joins[i - 1], &cur, &views[i], needed, size, dtype));
    }
    st->last = (Layout){ .count = 1 };
    st->out_rank = out.n;
    bool in_output[LABELS] = { false };
    for (int k = 0; k < out.n; k++) {
        in_output[out.v[k]] = true;
        layout_axis(&st->last, size, &cur, out.v[k], false);
        st->out_dims[k] = size[out.v[k]];
    }
    for (int l = 0; l < LABELS; l++)
        if (view_has(&cur, l) && !in_output[l]) layout_axis(&st->last, size, &cur, l, true);
    layout_close(&st->last);
    /* A result that is in order already is written to the output directly. */
    if (st->n_joins && st->last.in_place)
        st->joins[st->n_joins - 1].result_at = SIZE_MAX;
    else
        st->last_needed = true;
    return SDX_OK;
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

typedef struct LayoutJob {
    const Layout *l;
    const void *x;
    void *y;
} LayoutJob;

typedef struct JoinJob {
    const Join *j;
    const void *a, *b;
    void *y;
} JoinJob;

#define T float
#define ACC double
#define FN(name) name##_f32
#include "ops/einsum_tmpl.h"
#define T double
#define ACC double
#define FN(name) name##_f64
#include "ops/einsum_tmpl.h"
#define T uint8_t
#define ACC uint32_t
#define FN(name) name##_8
#include "ops/einsum_tmpl.h"
#define T uint16_t
#define ACC uint32_t
#define FN(name) name##_16
#include "ops/einsum_tmpl.h"
#define T uint32_t
#define ACC uint32_t
#define FN(name) name##_32
#include "ops/einsum_tmpl.h"
#define T uint64_t
#define ACC uint64_t
#define FN(name) name##_64
#include "ops/einsum_tmpl.h"

typedef struct EinsumFns {
    RangeFn layout, join;
} EinsumFns;

static EinsumFns einsum_fns(DType d)
{
    if (d == DT_FLOAT) return (EinsumFns){ layout_f32, join_f32 };
    if (d == DT_DOUBLE) return (EinsumFns){ layout_f64, join_f64 };
    switch (sdx_dtype_size(d)) {
    case 1: return (EinsumFns){ layout_8, join_8 };
    case 2: return (EinsumFns){ layout_16, join_16 };
    case 4: return (EinsumFns){ layout_32, join_32 };
    default: return (EinsumFns){ layout_64, join_64 };
    }
}

static const void *einsum_layout(Run *r, const Layout *l, RangeFn fn, const void *x, void *dst)
{
    if (l->in_place && !dst) return x;
    LayoutJob j = { l, x, dst ? dst : (char *)r->scratch + l->at };
    int64_t summed = 1;
    for (int i = 0; i < l->n_sum; i++) summed *= l->sum[i];
    if (l->count) sdx_run_range(r, l->count, grain_for(summed), fn, &j);
    return j.y;
}

static sdx_status einsum_run(Run *r)
{
    const EinsumState *st = r->state;
    DType d = r->in[0]->t.dtype;
    EinsumFns fns = einsum_fns(d);
    void *y;
    TRY(sdx_run_output(r, 0, d, st->out_rank, st->out_dims, &y));
    if (sdx_dims_product(st->out_dims, 0, st->out_rank) == 0) return SDX_OK;
    const void *cur = r->in[st->first_source]->t.data;
    for (int i = 0; i < st->n_joins; i++) {
        const Join *j = &st->joins[i];
        const void *a = einsum_layout(r, &j->a, fns.layout, j->source_a < 0 ? cur : r->in[j->source_a]->t.data, NULL);
        const void *b = einsum_layout(r, &j->b, fns.layout, j->source_b < 0 ? cur : r->in[j->source_b]->t.data, NULL);
        void *result = j->result_at == SIZE_MAX ? y : (char *)r->scratch + j->result_at;
        if (d == DT_FLOAT) {
            sdx_product_run(r, &j->q, a, b, result, &SDX_EPILOGUE_NONE);
        } else if (j->batch * j->m * j->n > 0) {
            JoinJob job = { j, a, b, result };
            sdx_run_range(r, j->batch * j->m, grain_for(j->n * j->k), fns.join, &job);
        }
        cur = result;
        TRY(sdx_run_poll(r));
    }
    if (st->last_needed) einsum_layout(r, &st->last, fns.layout, cur, y);
    return SDX_OK;
}

static const OpVer einsum_vers[] = { { 28, { TS_NUMB } }, { 12, { TS_NUM } }, { 0 } };

const OpDef sdx_op_Einsum = {
    .name = "Einsum",
    .sig = "T+->T",
    .attrs = einsum_attrs,
    .attrs_size = sizeof(EinsumAttrs),
    .vers = einsum_vers,
    .flags = OP_F32_MATH,
    .infer = einsum_infer,
    .cpu = { einsum_prepare, einsum_run },
};
