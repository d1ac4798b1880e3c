/* ops/gemm_op.c - Gemm
 *
 * y = alpha * op(a) * op(b) + beta * c, c spread to (m, n). Before 7 c was spread only when broadcast = 1; a c that
 * needs no spreading means the same either way. */
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/product.h"
#include "ops/upgrade.h"

typedef struct GemmAttrs {
    float alpha, beta;
    int64_t transA, transB;
} GemmAttrs;

static const AttrSpec gemm_attrs[] = { OP_FLOAT(GemmAttrs, alpha, 1), OP_FLOAT(GemmAttrs, beta, 1),
                                       OP_INT(GemmAttrs, transA, 0), OP_INT(GemmAttrs, transB, 0), OP_ATTR_END };

#define T double
#define ACC double
#define FN(name) name##_f64
#include "ops/product_tmpl.h"
#define T uint32_t
#define ACC uint32_t
#define FN(name) name##_32
#include "ops/product_tmpl.h"
#define T uint64_t
#define ACC uint64_t
#define FN(name) name##_64
#include "ops/product_tmpl.h"

static sdx_status gemm_infer(Infer *c)
{
    const GemmAttrs *at = c->args;
    TRY(infer_rank_between(c, 0, 2, 2, "A"));
    TRY(infer_rank_between(c, 1, 2, 2, "B"));
    const Shape *a = infer_shape(c, 0), *b = infer_shape(c, 1), *bias = infer_shape(c, 2);
    Dim m = a ? a->dims[at->transA != 0] : SDX_DIM_UNKNOWN, n = b ? b->dims[at->transB == 0] : SDX_DIM_UNKNOWN;
    if (a && b) {
        Dim ka = a->dims[at->transA == 0], kb = b->dims[at->transB != 0];
        if (dim_differs(ka, kb))
            return sdx_infer_fail(c, "inner sizes differ: %lld in A against %lld in B", (long long)ka, (long long)kb);
    }
    if (bias && bias->rank > 2) return sdx_infer_fail(c, "C has rank %d; at most 2 spreads to (M, N)", (int)bias->rank);
    for (int k = 1; bias && k <= bias->rank; k++) {
        Dim d = bias->dims[bias->rank - k], want = k == 1 ? n : m;
        if (d != 1 && dim_differs(d, want))
            return sdx_infer_fail(c, "C does not spread to (M, N): dimension -%d is %lld against %lld", k, (long long)d,
                                  (long long)want);
    }
    Dim *out = infer_out_rank(c, 0, 2);
    out[0] = m;
    out[1] = n;
    return SDX_OK;
}

enum { BIAS_NONE, BIAS_COLS, BIAS_ROWS, BIAS_FULL, BIAS_SCALAR };

typedef struct GemmState {
    Product q;
    int64_t m, n, k;
    int64_t c_row, c_col; /* strides of c in (m, n) */
    int bias;
    size_t bias_at; /* in scratch: one spread or scaled vector */
} GemmState;

static sdx_status gemm_prepare(Prepare *p)
{
    const GemmAttrs *at = p->args;
    const Tensor *a = &p->in[0]->t, *b = &p->in[1]->t;
    GemmState *st = sdx_arena_new(p->arena, GemmState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->m = a->dims[at->transA != 0];
    st->k = a->dims[at->transA == 0];
    st->n = b->dims[at->transB == 0];
    if (p->n_in > 2 && p->in[2]) {
        const Tensor *c = &p->in[2]->t;
        int64_t cols = c->rank > 0 ? c->dims[c->rank - 1] : 1, rows = c->rank > 1 ? c->dims[0] : 1;
        st->c_col = cols == 1 ? 0 : 1;
        st->c_row = rows == 1 ? 0 : cols;
        bool by_row = rows != 1 || st->m == 1, by_col = cols != 1 || st->n == 1;
        st->bias = rows != 1 && by_col ? BIAS_FULL : by_col ? BIAS_COLS : by_row ? BIAS_ROWS : BIAS_SCALAR;
        if (a->dtype == DT_FLOAT && (st->bias == BIAS_ROWS || st->bias == BIAS_SCALAR)) {
            int64_t count = st->bias == BIAS_ROWS ? st->m : st->n;
            st->bias_at = p->scratch;
            if (!sdx_add_size(&p->scratch, p->scratch, sdx_round_up((size_t)count * sizeof(float), SDX_ALIGN)))
                return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
        }
    }
    if (a->dtype != DT_FLOAT) return SDX_OK;
    Product *q = &st->q;
    q->plan = (GemmPlan){ .m = (size_t)st->m,
                          .n = (size_t)st->n,
                          .k = (size_t)st->k,
                          .lda = (size_t)(at->transA ? st->m : st->k),
                          .ldb = (size_t)(at->transB ? st->k : st->n),
                          .ldc = (size_t)st->n,
                          .a_form = at->transA ? SDX_MAT_COLS : SDX_MAT_ROWS,
                          .b_form = at->transB ? SDX_MAT_COLS : SDX_MAT_ROWS };
    int64_t unused;
    if (p->in_const[1] && b->data && st->k && st->n) TRY(sdx_product_pack(p, q, 1, 0, 1, 0, &unused));
    return sdx_product_plan(p, q);
}

static void gemm_f32(Run *r, const GemmState *st, float *y)
{
    const GemmAttrs *at = r->args;
    Epilogue epi = SDX_EPILOGUE_NONE;
    epi.alpha = at->alpha;
    epi.beta = at->beta;
    const float *c = st->bias ? r->in[2]->t.data : NULL;
    float *vector = (float *)((char *)r->scratch + st->bias_at);
    switch (st->bias) {
    case BIAS_FULL:
        epi.add = c;
        epi.ldadd = (size_t)st->n;
        break;
    case BIAS_COLS:
        if (at->beta == 1)
            epi.bias = c;
        else
            epi.add = c; /* one row, repeated */
        break;
    case BIAS_ROWS:
        for (int64_t i = 0; i < st->m; i++) vector[i] = at->beta * c[i];
        epi.bias = vector;
        epi.bias_by_row = true;
        break;
    case BIAS_SCALAR:
        for (int64_t i = 0; i < st->n; i++) vector[i] = at->beta * c[0];
        epi.bias = vector;
        break;
    default: break;
    }
    sdx_product_run(r, &st->q, r->in[0]->t.data, r->in[1]->t.data, y, &epi);
}

typedef struct GemmJob {
    const GemmState *st;
    const GemmAttrs *at;
    const void *a, *b, *c;
    void *y;
    DType dtype;
} GemmJob;

/* alpha * sum + beta * c for one row whose sums lie in y; integers exactly when both factors are 1. */
static void gemm_finish(const GemmJob *j, int64_t row)
{
    const GemmState *st = j->st;
    bool plain = j->at->alpha == 1 && j->at->beta == 1;
    Tensor y = { .dtype = j->dtype, .data = j->y }, c = { .dtype = j->dtype, .data = (void *)j->c };
    if (plain && !j->c) return;
    for (int64_t i = 0; i < st->n; i++) {
        int64_t at = row * st->n + i, from = row * st->c_row + i * st->c_col;
        if (plain && sdx_dtype_size(j->dtype) == 4) {
            ((uint32_t *)j->y)[at] += ((const uint32_t *)j->c)[from];
        } else if (plain && j->dtype != DT_DOUBLE) {
            ((uint64_t *)j->y)[at] += ((const uint64_t *)j->c)[from];
        } else {
            double v = (double)j->at->alpha * sdx_tensor_get_double(&y, at);
            if (j->c) v += (double)j->at->beta * sdx_tensor_get_double(&c, from);
            sdx_tensor_set_double(&y, at, v);
        }
    }
}

static void gemm_range(void *arg, int64_t from, int64_t to, int worker)
{
    const GemmJob *j = arg;
    const GemmState *st = j->st;
    int64_t ra = j->at->transA ? 1 : st->k, ca = j->at->transA ? st->m : 1;
    int64_t rb = j->at->transB ? 1 : st->n, cb = j->at->transB ? st->k : 1;
    size_t esize = sdx_dtype_size(j->dtype);
    memset((char *)j->y + (size_t)(from * st->n) * esize, 0, (size_t)((to - from) * st->n) * esize);
    if (j->dtype == DT_DOUBLE)
        product_rows_f64(j->a, ra, ca, j->b, rb, cb, j->y, from, to, st->n, st->k);
    else if (esize == 4)
        product_rows_32(j->a, ra, ca, j->b, rb, cb, j->y, from, to, st->n, st->k);
    else
        product_rows_64(j->a, ra, ca, j->b, rb, cb, j->y, from, to, st->n, st->k);
    for (int64_t i = from; i < to; i++) gemm_finish(j, i);
}

static sdx_status gemm_run(Run *r)
{
    const GemmState *st = r->state;
    DType d = r->in[0]->t.dtype;
    void *y;
    TRY(sdx_run_output(r, 0, d, 2, (int64_t[]){ st->m, st->n }, &y));
    if (st->m * st->n == 0) return SDX_OK;
    if (d == DT_FLOAT) {
        gemm_f32(r, st, y);
        return SDX_OK;
    }
    GemmJob j = { .st = st,
                  .at = r->args,
                  .a = r->in[0]->t.data,
                  .b = r->in[1]->t.data,
                  .c = st->bias ? r->in[2]->t.data : NULL,
                  .y = y,
                  .dtype = d };
    sdx_run_range(r, st->m, grain_for(st->n * st->k), gemm_range, &j);
    return SDX_OK;
}

static sdx_status gemm_from_6(Node *n, Err *err)
{
    sdx_node_drop_attr(n, "broadcast");
    return SDX_OK;
}

#define INTS4 (TS_I32 | TS_I64 | TS_U32 | TS_U64)
static const OpVer gemm_vers[] = {
    { 13, { TS_FLTB | INTS4 } },
    { 11, { TS_FLT | INTS4 } },
    { 9, { TS_FLT | INTS4 } },
    { 7, { TS_FLT } },
    { 6, { TS_FLT }, gemm_from_6 },
    { 1, { TS_FLT } },
    { 0 },
};

const OpDef sdx_op_Gemm = {
    .name = "Gemm",
    .sig = "T,T,T?->T",
    .attrs = gemm_attrs,
    .attrs_size = sizeof(GemmAttrs),
    .vers = gemm_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1,
    .infer = gemm_infer,
    .cpu = { gemm_prepare, gemm_run },
};
