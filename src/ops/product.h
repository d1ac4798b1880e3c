/* ops/product.h - f32 matrix products of operators: a plan (kern/gemm/gemm.h) repeated over broadcast batches.
 *
 * Prepare: set plan.m, n, k, lda, ldb, ldc and forms and the batch axes, then sdx_product_plan; constant right operands
 * are packed with sdx_product_pack first. Run: sdx_product_run with the operands of batch 0. */
#ifndef SDX_OPS_PRODUCT_H
#define SDX_OPS_PRODUCT_H

#include "kern/gemm/gemm.h"
#include "ops/ops.h"

typedef struct Product {
    GemmPlan plan;
    int n_batch; /* batch axes, outermost first; 0: one product */
    int64_t dims[SDX_MAX_RANK];
    int64_t step_a[SDX_MAX_RANK], step_b[SDX_MAX_RANK]; /* in elements; 0 repeats */
    int64_t batches;                                    /* filled by sdx_product_plan */
    int64_t step_c;                                     /* results lie one after the other */
    const float *packed;                                /* of the right operand: step_b counts floats in here */
    int64_t grain;                                      /* chunks that are worth handing out */
    size_t scratch_at, worker_scratch;
    const Kern *kern;
    bool flush; /* subnormals count as zero */
} Product;

/* Packs constant input i, from element `first` on `count` matrices of k x n with leading dimension ldb lying `step`
 * elements apart; sets q->packed and the form of the plan. *packed_step: floats from one packed matrix to the next. */
sdx_status sdx_product_pack(Prepare *p, Product *q, int i, int64_t first, int64_t count, int64_t step,
                            int64_t *packed_step);
/* Plans and adds what workers need to p->scratch. */
sdx_status sdx_product_plan(Prepare *p, Product *q);
/* c = epilogue(a * b) for all batches; b is ignored when packed. Epilogue operands are the same for every batch. */
void sdx_product_run(const Run *r, const Product *q, const float *a, const float *b, float *c, const Epilogue *epi);

#endif
