/* ops/matmul.c - MatMul
 *
 * numpy.matmul: the last two axes are multiplied, the others broadcast; a 1-D operand stands for a row (left) or a
 * column (right), whose axis the result does not have. */
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
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

static sdx_status matmul_infer(Infer *c)
{
    const Shape *a = infer_shape(c, 0), *b = infer_shape(c, 1);
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

typedef struct MatMulState {
    Product q;          /* for float; its batch axes serve every type */
    int64_t m, n, k;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} MatMulState;

/* Batch axes, joined where both operands allow it. */
static void matmul_batch(MatMulState *st, const Tensor *a, const Tensor *b)
{
    Product *q = &st->q;
    int ra = a->rank > 2 ? a->rank - 2 : 0, rb = b->rank > 2 ? b->rank - 2 : 0, r = ra > rb ? ra : rb;
    int64_t step_a = st->m * st->k, step_b = st->k * st->n;
    int64_t dims[SDX_MAX_RANK], sa[SDX_MAX_RANK], sb[SDX_MAX_RANK];
    for (int k = r - 1; k >= 0; k--) {
        int64_t da = k >= r - ra ? a->dims[k - (r - ra)] : 1, db = k >= r - rb ? b->dims[k - (r - rb)] : 1;
        dims[k] = da == 1 ? db : da;
        sa[k] = da == 1 ? 0 : step_a;
        sb[k] = db == 1 ? 0 : step_b;
        step_a *= da;
        step_b *= db;
    }
    memcpy(st->out_dims, dims, (size_t)r * sizeof *dims);
    st->out_rank = r;
    for (int k = 0; k < r; k++) {
        if (dims[k] == 1) continue;
        int last = q->n_batch - 1;
        if (last >= 0 && q->step_a[last] == sa[k] * dims[k] && q->step_b[last] == sb[k] * dims[k]) {
            q->dims[last] *= dims[k];
            q->step_a[last] = sa[k];
            q->step_b[last] = sb[k];
            continue;
        }
        q->dims[q->n_batch] = dims[k];
        q->step_a[q->n_batch] = sa[k];
        q->step_b[q->n_batch++] = sb[k];
    }
    /* Stacked left matrices against one right matrix are one tall left matrix. */
    int last = q->n_batch - 1;
    if (last >= 0 && q->step_b[last] == 0 && q->step_a[last] == st->m * st->k) {
        st->m *= q->dims[last];
        q->n_batch--;
    }
}

static sdx_status matmul_prepare(Prepare *p)
{
    const Tensor *a = &p->in[0]->t, *b = &p->in[1]->t;
    MatMulState *st = sdx_arena_new(p->arena, MatMulState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->m = a->rank > 1 ? a->dims[a->rank - 2] : 1;
    st->k = a->dims[a->rank - 1];
    st->n = b->rank > 1 ? b->dims[b->rank - 1] : 1;
    int64_t m = st->m;
    matmul_batch(st, a, b);
    if (a->rank > 1) st->out_dims[st->out_rank++] = m;
    if (b->rank > 1) st->out_dims[st->out_rank++] = st->n;
    Product *q = &st->q;
    q->plan = (GemmPlan){ .m = (size_t)st->m, .n = (size_t)st->n, .k = (size_t)st->k, .lda = (size_t)st->k,
                          .ldb = (size_t)st->n, .ldc = (size_t)st->n };
    q->step_c = st->m * st->n;
    if (a->dtype != DT_FLOAT) {
        q->batches = sdx_dims_product(q->dims, 0, q->n_batch);
        return SDX_OK;
    }
    if (p->in_const[1] && b->data && st->k && st->n) {
        int64_t count = sdx_dims_product(b->dims, 0, b->rank > 2 ? b->rank - 2 : 0), packed_step;
        TRY(sdx_product_pack(p, q, 1, 0, count, st->k * st->n, &packed_step));
        for (int k = 0; k < q->n_batch; k++) q->step_b[k] = q->step_b[k] / (st->k * st->n) * packed_step;
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
    const MatMulState *st = j->st;
    const Product *q = &st->q;
    size_t esize = sdx_dtype_size(j->dtype);
    for (int64_t u = from; u < to; u++) {
        int64_t batch = u / st->m, row = u % st->m, at_a = row * st->k, at_b = 0, rest = batch;
        for (int k = q->n_batch - 1; k >= 0; k--) {
            at_a += rest % q->dims[k] * q->step_a[k];
            at_b += rest % q->dims[k] * q->step_b[k];
            rest /= q->dims[k];
        }
        const void *a = j->a + (size_t)at_a * esize, *b = j->b + (size_t)at_b * esize;
        void *y = j->y + (size_t)(u * st->n) * esize;
        memset(y, 0, (size_t)st->n * esize);
        if (j->dtype == DT_DOUBLE) product_rows_f64(a, st->k, 1, b, st->n, 1, y, 0, 1, st->n, st->k);
        else if (esize == 4) product_rows_32(a, st->k, 1, b, st->n, 1, y, 0, 1, st->n, st->k);
        else product_rows_64(a, st->k, 1, b, st->n, 1, y, 0, 1, st->n, st->k);
    }
}

static sdx_status matmul_run(Run *r)
{
    const MatMulState *st = r->state;
    const Tensor *a = &r->in[0]->t, *b = &r->in[1]->t;
    void *y;
    TRY(sdx_run_output(r, 0, a->dtype, st->out_rank, st->out_dims, &y));
    if (a->dtype == DT_FLOAT) {
        sdx_product_run(r, &st->q, a->data, b->data, y, &SDX_EPILOGUE_NONE);
        return SDX_OK;
    }
    if (st->m * st->n == 0) return SDX_OK;
    MatMulJob j = { .st = st, .a = a->data, .b = b->data, .y = y, .dtype = a->dtype };
    sdx_run_range(r, st->q.batches * st->m, grain_for(st->n * st->k), matmul_range, &j);
    return SDX_OK;
}

#define INTS4 (TS_I32 | TS_I64 | TS_U32 | TS_U64)
static const OpVer matmul_vers[] = { { 13, { TS_FLTB | INTS4 } }, { 9, { TS_FLT | INTS4 } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_MatMul = {
    .name = "MatMul", .sig = "T,T->T", .vers = matmul_vers, .flags = OP_F32_MATH | OP_LAZY_PACK,
    .infer = matmul_infer, .cpu = { matmul_prepare, matmul_run },
};
