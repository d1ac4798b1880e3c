/* ops/fusedmatmul.c - com.microsoft FusedMatMul, and TransposeMatMul, its first name
 *
 * alpha * op(A) op(B) with numpy.matmul's broadcasting. transA and transB exchange the last two axes; transBatchA and
 * transBatchB say that the rows (transposed: the inner axis) lie on the first axis and the batch axes behind it. Nothing
 * is moved: the products read both operands where they lie. */
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/product.h"

#define T double
#define ACC double
#define FN(name) name##_f64
#include "ops/product_tmpl.h"

typedef struct FusedAttrs {
    float alpha;
    int64_t transA, transB, transBatchA, transBatchB;
} FusedAttrs;

static const AttrSpec fused_attrs[] = { OP_FLOAT(FusedAttrs, alpha, 1),     OP_INT(FusedAttrs, transA, 0),
                                        OP_INT(FusedAttrs, transB, 0),      OP_INT(FusedAttrs, transBatchA, 0),
                                        OP_INT(FusedAttrs, transBatchB, 0), OP_ATTR_END };

/* Which axes of an operand are what. A vector has one axis, along the inner size. */
typedef struct Roles {
    int outer, inner; /* -1: none */
    int first_batch, n_batch;
} Roles;

static Roles roles_of(int rank, bool is_left, bool trans, bool batch_inside)
{
    if (rank == 1) return (Roles){ -1, 0, 0, 0 };
    bool inside = batch_inside && rank > 2;
    int a = inside ? 0 : rank - 2, b = rank - 1;
    bool outer_first = is_left != trans;
    return (Roles){ outer_first ? a : b, outer_first ? b : a, inside ? 1 : 0, rank - 2 };
}

static sdx_status fused_infer(Infer *c)
{
    const FusedAttrs *f = c->args;
    TRY(infer_rank_between(c, 0, 1, SDX_MAX_RANK, "A"));
    TRY(infer_rank_between(c, 1, 1, SDX_MAX_RANK, "B"));
    const Shape *a = infer_shape(c, 0), *b = infer_shape(c, 1);
    if (!a || !b) return SDX_OK;
    Roles ra = roles_of(a->rank, true, f->transA != 0, f->transBatchA != 0);
    Roles rb = roles_of(b->rank, false, f->transB != 0, f->transBatchB != 0);
    Dim ka = a->dims[ra.inner], kb = b->dims[rb.inner];
    if (dim_differs(ka, kb))
        return sdx_infer_fail(c, "inner sizes differ: %lld in A against %lld in B", (long long)ka, (long long)kb);
    Shape sa = { .rank = ra.n_batch }, sb = { .rank = rb.n_batch }, y;
    memcpy(sa.dims, a->dims + ra.first_batch, (size_t)ra.n_batch * sizeof *sa.dims);
    memcpy(sb.dims, b->dims + rb.first_batch, (size_t)rb.n_batch * sizeof *sb.dims);
    TRY(sdx_infer_broadcast_shapes(c, &sa, &sb, &y));
    if (ra.outer >= 0) y.dims[y.rank++] = a->dims[ra.outer];
    if (rb.outer >= 0) y.dims[y.rank++] = b->dims[rb.outer];
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

/* An operand as a matrix: elements from one row of its storage to the next, and from batch to batch. */
typedef struct Operand {
    int64_t outer, inner, ld;
    bool outer_first; /* the storage's rows run along the outer axis */
    int n_batch;
    int64_t dims[SDX_MAX_RANK], step[SDX_MAX_RANK];
} Operand;

static Operand operand_of(const Tensor *t, bool is_left, bool trans, bool batch_inside)
{
    Roles r = roles_of(t->rank, is_left, trans, batch_inside);
    Operand o = { .outer = r.outer < 0 ? 1 : t->dims[r.outer], .inner = t->dims[r.inner], .n_batch = r.n_batch };
    int slow = r.outer < r.inner ? r.outer : r.inner; /* of the two; the other is the last axis */
    o.outer_first = r.outer < r.inner;
    if (r.outer < 0) o.outer_first = is_left; /* a vector is a row on the left, a column on the right */
    o.ld = slow < 0 ? (is_left ? o.inner : 1) : sdx_dims_product(t->dims, slow + 1, t->rank);
    for (int k = 0; k < r.n_batch; k++) {
        o.dims[k] = t->dims[r.first_batch + k];
        o.step[k] = sdx_dims_product(t->dims, r.first_batch + k + 1, t->rank);
    }
    return o;
}

typedef struct FusedState {
    Product q; /* its batch axes and steps serve double too */
    int64_t row_a, col_a, row_b, col_b;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} FusedState;

/* Batch axes of both, broadcast. Left matrices that follow one another and meet one right matrix are one tall one. */
static void fused_batches(FusedState *st, const Operand *a, const Operand *b)
{
    Product *q = &st->q;
    int rank = a->n_batch > b->n_batch ? a->n_batch : b->n_batch;
    for (int k = 0; k < rank; k++) {
        int ka = k - (rank - a->n_batch), kb = k - (rank - b->n_batch);
        int64_t da = ka < 0 ? 1 : a->dims[ka], db = kb < 0 ? 1 : b->dims[kb];
        q->dims[k] = st->out_dims[k] = da == 1 ? db : da;
        q->step_a[k] = da == 1 ? 0 : a->step[ka];
        q->step_b[k] = db == 1 ? 0 : b->step[kb];
    }
    q->n_batch = st->out_rank = rank;
    while (q->n_batch && a->outer_first) {
        int last = q->n_batch - 1;
        bool tall = q->dims[last] == 1 ||
                    (q->step_b[last] == 0 && q->step_a[last] == (int64_t)q->plan.m * (int64_t)q->plan.lda);
        if (!tall) break;
        q->plan.m *= (size_t)q->dims[last];
        q->n_batch--;
    }
    q->step_c = (int64_t)(q->plan.m * q->plan.n);
}

static sdx_status fused_prepare(Prepare *p)
{
    const FusedAttrs *f = p->args;
    const Tensor *ta = &p->in[0]->t, *tb = &p->in[1]->t;
    FusedState *st = sdx_arena_new(p->arena, FusedState);
    TRY_MEM(st, p->err);
    p->state = st;
    Operand a = operand_of(ta, true, f->transA != 0, f->transBatchA != 0);
    Operand b = operand_of(tb, false, f->transB != 0, f->transBatchB != 0);
    Product *q = &st->q;
    q->plan = (GemmPlan){ .m = (size_t)a.outer,
                          .n = (size_t)b.outer,
                          .k = (size_t)a.inner,
                          .lda = (size_t)a.ld,
                          .ldb = (size_t)b.ld,
                          .ldc = (size_t)b.outer,
                          .a_form = a.outer_first ? SDX_MAT_ROWS : SDX_MAT_COLS,
                          .b_form = b.outer_first ? SDX_MAT_COLS : SDX_MAT_ROWS };
    st->row_a = a.outer_first ? a.ld : 1;
    st->col_a = a.outer_first ? 1 : a.ld;
    st->row_b = b.outer_first ? 1 : b.ld;
    st->col_b = b.outer_first ? b.ld : 1;
    fused_batches(st, &a, &b);
    if (ta->rank > 1) st->out_dims[st->out_rank++] = a.outer;
    if (tb->rank > 1) st->out_dims[st->out_rank++] = b.outer;
    if (ta->dtype != DT_FLOAT) {
        q->batches = sdx_dims_product(q->dims, 0, q->n_batch);
        return SDX_OK;
    }
    if (p->in_const[1] && tb->data && b.n_batch == 0 && a.inner && b.outer) {
        int64_t unused;
        TRY(sdx_product_pack(p, q, 1, 0, 1, 0, &unused));
    }
    return sdx_product_plan(p, q);
}

typedef struct FusedJob {
    const FusedState *st;
    const double *a, *b;
    double *y;
    double alpha;
} FusedJob;

static void fused_range_f64(void *arg, int64_t from, int64_t to, int worker)
{
    const FusedJob *j = arg;
    const FusedState *st = j->st;
    const Product *q = &st->q;
    int64_t m = (int64_t)q->plan.m, n = (int64_t)q->plan.n;
    for (int64_t u = from; u < to; u++) {
        int64_t rest = u / m, row = u % m;
        const double *a = j->a + row * st->row_a, *b = j->b;
        double *y = j->y + u * n;
        for (int k = q->n_batch - 1; k >= 0; k--) {
            a += rest % q->dims[k] * q->step_a[k];
            b += rest % q->dims[k] * q->step_b[k];
            rest /= q->dims[k];
        }
        memset(y, 0, (size_t)n * sizeof *y);
        product_rows_f64(a, 0, st->col_a, b, st->row_b, st->col_b, y, 0, 1, n, (int64_t)q->plan.k);
        for (int64_t i = 0; i < n; i++) y[i] *= j->alpha;
    }
}

static sdx_status fused_run(Run *r)
{
    const FusedAttrs *f = r->args;
    const FusedState *st = r->state;
    const Product *q = &st->q;
    const Tensor *a = &r->in[0]->t, *b = &r->in[1]->t;
    void *y;
    TRY(sdx_run_output(r, 0, a->dtype, st->out_rank, st->out_dims, &y));
    if (a->dtype == DT_FLOAT) {
        Epilogue epi = SDX_EPILOGUE_NONE;
        epi.alpha = f->alpha;
        sdx_product_run(r, q, a->data, b->data, y, &epi);
        return SDX_OK;
    }
    int64_t rows = q->batches * (int64_t)q->plan.m;
    if (rows * (int64_t)q->plan.n == 0) return SDX_OK;
    FusedJob j = { .st = st, .a = a->data, .b = b->data, .y = y, .alpha = (double)f->alpha };
    sdx_run_range(r, rows, grain_for((int64_t)(q->plan.n * q->plan.k)), fused_range_f64, &j);
    return SDX_OK;
}

static const OpVer fused_vers[] = { { 1, { TS_FLTB } }, { 0 } };

#define FUSED_MATMUL(id)                                                                                               \
    const OpDef sdx_op_ms_##id = { .name = #id,                                                                        \
                                   .domain = "com.microsoft",                                                          \
                                   .sig = "T,T->T",                                                                    \
                                   .attrs = fused_attrs,                                                               \
                                   .attrs_size = sizeof(FusedAttrs),                                                   \
                                   .vers = fused_vers,                                                                 \
                                   .flags = OP_F32_MATH | OP_LAZY_PACK,                                                \
                                   .infer = fused_infer,                                                               \
                                   .cpu = { fused_prepare, fused_run } }
FUSED_MATMUL(FusedMatMul);
FUSED_MATMUL(TransposeMatMul);
