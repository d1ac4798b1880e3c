/* ops/matmul.c - MatMul
 *
 * numpy.matmul: the last two axes are multiplied, the others broadcast; a 1-D operand stands for a row (left) or a
 * column (right), whose axis the result does not have. */
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/matmul.h"
#include "ops/product.h"

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

sdx_status sdx_matmul_infer(Infer *c, int ia, int ib)
{
    const Shape *a = infer_shape(c, ia), *b = infer_shape(c, ib);
    if (!a || !b) return SDX_OK;
    if (a->rank < 1 || b->rank < 1) return sdx_infer_fail(c, "a scalar cannot be multiplied as a matrix");
    Dim ka = a->dims[a->rank - 1], kb = b->dims[b->rank > 1 ? b->rank - 2 : 0];
    if (dim_differs(ka, kb))
        return sdx_infer_fail(c, "inner sizes differ: %lld columns against %lld rows", (long long)ka, (long long)kb);
    Shape sa = *a, sb = *b, y;
    sa.rank = a->rank > 2 ? a->rank - 2 : 0;
    sb.rank = b->rank > 2 ? b->rank - 2 : 0;
    TRY(sdx_infer_broadcast_shapes(c, &sa, &sb, &y));
    if (y.rank + 2 > SDX_MAX_RANK) return sdx_infer_fail(c, "the result would have rank %d", (int)y.rank + 2);
    if (a->rank > 1) y.dims[y.rank++] = a->dims[a->rank - 2];
    if (b->rank > 1) y.dims[y.rank++] = b->dims[b->rank - 1];
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

void sdx_matmul_shape(const Tensor *a, const Tensor *b, MatShape *s)
{
    *s = (MatShape){ .m = a->rank > 1 ? a->dims[a->rank - 2] : 1,
                     .k = a->dims[a->rank - 1],
                     .n = b->rank > 1 ? b->dims[b->rank - 1] : 1 };
    s->rows = s->m;
    int ra = a->rank > 2 ? a->rank - 2 : 0, rb = b->rank > 2 ? b->rank - 2 : 0, r = ra > rb ? ra : rb;
    int64_t step_a = s->m * s->k, step_b = s->k * s->n;
    int64_t dims[SDX_MAX_RANK], sa[SDX_MAX_RANK], sb[SDX_MAX_RANK];
    for (int k = r - 1; k >= 0; k--) {
        int64_t da = k >= r - ra ? a->dims[k - (r - ra)] : 1, db = k >= r - rb ? b->dims[k - (r - rb)] : 1;
        dims[k] = da == 1 ? db : da;
        sa[k] = da == 1 ? 0 : step_a;
        sb[k] = db == 1 ? 0 : step_b;
        step_a *= da;
        step_b *= db;
    }
    memcpy(s->out_dims, dims, (size_t)r * sizeof *dims);
    s->out_rank = r;
    if (a->rank > 1) s->out_dims[s->out_rank++] = s->m;
    if (b->rank > 1) s->out_dims[s->out_rank++] = s->n;
    for (int k = 0; k < r; k++) {
        if (dims[k] == 1) continue;
        int last = s->n_batch - 1;
        if (last >= 0 && s->step_a[last] == sa[k] * dims[k] && s->step_b[last] == sb[k] * dims[k]) {
            s->dims[last] *= dims[k]; /* runs on from the axis before in both operands */
            s->step_a[last] = sa[k];
            s->step_b[last] = sb[k];
            continue;
        }
        s->dims[s->n_batch] = dims[k];
        s->step_a[s->n_batch] = sa[k];
        s->step_b[s->n_batch++] = sb[k];
    }
    int last = s->n_batch - 1;
    if (last >= 0 && s->step_b[last] == 0 && s->step_a[last] == s->m * s->k) {
        s->m *= s->dims[last];
        s->n_batch--;
    }
    s->batches = sdx_dims_product(s->dims, 0, s->n_batch);
}

typedef struct MatMulState {
    MatShape s;
    Product q; /* float */
} MatMulState;

static sdx_status matmul_prepare(Prepare *p)
{
    const Tensor *a = &p->in[0]->t, *b = &p->in[1]->t;
    MatMulState *st = sdx_arena_new(p->arena, MatMulState);
    TRY_MEM(st, p->err);
    p->state = st;
    MatShape *s = &st->s;
    sdx_matmul_shape(a, b, s);
    if (a->dtype != DT_FLOAT) return SDX_OK;
    Product *q = &st->q;
    q->plan = (GemmPlan){ .m = (size_t)s->m,
                          .n = (size_t)s->n,
                          .k = (size_t)s->k,
                          .lda = (size_t)s->k,
                          .ldb = (size_t)s->n,
                          .ldc = (size_t)s->n };
    q->step_c = s->m * s->n;
    q->n_batch = s->n_batch;
    memcpy(q->dims, s->dims, sizeof q->dims);
    memcpy(q->step_a, s->step_a, sizeof q->step_a);
    memcpy(q->step_b, s->step_b, sizeof q->step_b);
    if (p->in_const[1] && b->data && s->k && s->n) {
        int64_t count = sdx_dims_product(b->dims, 0, b->rank > 2 ? b->rank - 2 : 0), packed_step;
        TRY(sdx_product_pack(p, q, 1, 0, count, s->k * s->n, &packed_step));
        for (int k = 0; k < q->n_batch; k++) q->step_b[k] = q->step_b[k] / (s->k * s->n) * packed_step;
    }
    return sdx_product_plan(p, q);
}

typedef struct MatMulJob {
    const MatMulState *st;
    const char *a, *b;
    char *y;
    DType dtype;
} MatMulJob;

static void matmul_range(void *arg, int64_t from, int64_t to, int worker)
{
    const MatMulJob *j = arg;
    const MatShape *s = &j->st->s;
    size_t esize = sdx_dtype_size(j->dtype);
    for (int64_t u = from; u < to; u++) {
        int64_t at_a, at_b;
        matmul_at(s, u / s->m, &at_a, &at_b);
        at_a += u % s->m * s->k;
        const void *a = j->a + (size_t)at_a * esize, *b = j->b + (size_t)at_b * esize;
        void *y = j->y + (size_t)(u * s->n) * esize;
        memset(y, 0, (size_t)s->n * esize);
        if (j->dtype == DT_DOUBLE)
            product_rows_f64(a, s->k, 1, b, s->n, 1, y, 0, 1, s->n, s->k);
        else if (esize == 4)
            product_rows_32(a, s->k, 1, b, s->n, 1, y, 0, 1, s->n, s->k);
        else
            product_rows_64(a, s->k, 1, b, s->n, 1, y, 0, 1, s->n, s->k);
    }
}

static sdx_status matmul_run(Run *r)
{
    const MatMulState *st = r->state;
    const Tensor *a = &r->in[0]->t, *b = &r->in[1]->t;
    void *y;
    TRY(sdx_run_output(r, 0, a->dtype, st->s.out_rank, st->s.out_dims, &y));
    if (a->dtype == DT_FLOAT) {
        sdx_product_run(r, &st->q, a->data, b->data, y, &SDX_EPILOGUE_NONE);
        return SDX_OK;
    }
    if (st->s.m * st->s.n == 0) return SDX_OK;
    MatMulJob j = { .st = st, .a = a->data, .b = b->data, .y = y, .dtype = a->dtype };
    sdx_run_range(r, st->s.batches * st->s.m, grain_for(st->s.n * st->s.k), matmul_range, &j);
    return SDX_OK;
}

static sdx_status matmul_infer(Infer *c) { return sdx_matmul_infer(c, 0, 1); }

#define INTS4 (TS_I32 | TS_I64 | TS_U32 | TS_U64)
static const OpVer matmul_vers[] = { { 13, { TS_FLTB | INTS4 } }, { 9, { TS_FLT | INTS4 } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_MatMul = {
    .name = "MatMul",
    .sig = "T,T->T",
    .vers = matmul_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1,
    .infer = matmul_infer,
    .cpu = { matmul_prepare, matmul_run },
};
