/* ops/matmul_fused.c - sdx.MatMul: rows times a matrix, and what follows it in the same pass over the result
 *
 *     Y = act(A W + B + Add)        add_last = 0
 *     Y = act(A W + B) + Add        add_last = 1
 *
 * A is [..., K]; W is [K, N], or [N, K] with trans_b; B is [N]; Add and Y are [..., N]. act is one of SDX_ACT_ with
 * parameters p0 and p1. Made by the CPU provider's rewrites. */
#include <string.h>

#include "ops/dims.h"
#include "ops/product.h"

typedef struct FusedAttrs {
    int64_t trans_b, add_last, act;
    float p0, p1;
} FusedAttrs;

static const AttrSpec fused_attrs[] = {
    OP_INT(FusedAttrs, trans_b, 0), OP_INT(FusedAttrs, add_last, 0), OP_INT(FusedAttrs, act, SDX_ACT_NONE),
    OP_FLOAT(FusedAttrs, p0, 0),    OP_FLOAT(FusedAttrs, p1, 0),     OP_ATTR_END,
};

static sdx_status fused_infer(Infer *c)
{
    const FusedAttrs *f = c->args;
    const Shape *a = infer_shape(c, 0), *w = infer_shape(c, 1);
    if (f->act < 0 || f->act >= SDX_ACTS) return sdx_infer_fail(c, "act is %lld", (long long)f->act);
    TRY(infer_rank_between(c, 1, 2, 2, "W"));
    TRY(infer_rank_between(c, 0, 1, SDX_MAX_RANK, "A"));
    if (!a || !w) return SDX_OK;
    Dim k = w->dims[f->trans_b ? 1 : 0], n = w->dims[f->trans_b ? 0 : 1];
    if (dim_differs(a->dims[a->rank - 1], k))
        return sdx_infer_fail(c, "inner sizes differ: %lld columns against %lld rows", (long long)a->dims[a->rank - 1],
                              (long long)k);
    TRY(infer_is_vector(c, 2, n, "the bias"));
    Shape y = *a;
    y.dims[y.rank - 1] = n;
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

typedef struct FusedState {
    Product q;
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} FusedState;

static sdx_status fused_prepare(Prepare *p)
{
    const FusedAttrs *f = p->args;
    const Tensor *a = &p->in[0]->t, *w = &p->in[1]->t;
    FusedState *st = sdx_arena_new(p->arena, FusedState);
    TRY_MEM(st, p->err);
    p->state = st;
    int64_t k = a->dims[a->rank - 1], n = w->dims[f->trans_b ? 0 : 1];
    st->out_rank = a->rank;
    memcpy(st->out_dims, a->dims, sizeof st->out_dims);
    st->out_dims[a->rank - 1] = n;
    Product *q = &st->q;
    q->plan = (GemmPlan){ .m = (size_t)sdx_dims_product(a->dims, 0, a->rank - 1),
                          .n = (size_t)n,
                          .k = (size_t)k,
                          .lda = (size_t)k,
                          .ldb = (size_t)w->dims[1],
                          .ldc = (size_t)n,
                          .b_form = f->trans_b ? SDX_MAT_COLS : SDX_MAT_ROWS };
    int64_t packed_step;
    if (p->in_const[1] && w->data && n && k) TRY(sdx_product_pack(p, q, 1, 0, 1, k * n, &packed_step));
    return sdx_product_plan(p, q);
}

static const float *input_or_null(const Run *r, int i) { return i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

static sdx_status fused_run(Run *r)
{
    const FusedAttrs *f = r->args;
    const FusedState *st = r->state;
    void *y;
    TRY(sdx_run_output(r, 0, DT_FLOAT, st->out_rank, st->out_dims, &y));
    Epilogue epi = SDX_EPILOGUE_NONE;
    epi.bias = input_or_null(r, 2);
    epi.add = input_or_null(r, 3);
    epi.ldadd = st->q.plan.n;
    epi.add_last = f->add_last != 0;
    epi.act = (unsigned)f->act;
    epi.p0 = f->p0;
    epi.p1 = f->p1;
    sdx_product_run(r, &st->q, r->in[0]->t.data, r->in[1]->t.data, y, &epi);
    return SDX_OK;
}

static const OpVer fused_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_sdx_MatMul = {
    .name = "MatMul",
    .domain = "sdx",
    .sig = "T,T,T?,T?->T",
    .attrs = fused_attrs,
    .attrs_size = sizeof(FusedAttrs),
    .vers = fused_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1,
    .infer = fused_infer,
    .cpu = { fused_prepare, fused_run },
};
