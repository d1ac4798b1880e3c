#include "ops/product.h"

#include <stdio.h>

#include "base/fpenv.h"
#include "base/size.h"

enum { GRAIN = 65536 }; /* multiply-adds that are worth another thread */

typedef struct PackArgs {
    const Kern *kern;
    const Product *q;
    int64_t first, count, step;
    size_t floats;
    bool flush;
} PackArgs;

static void product_pack(void *user, void *dst, const Tensor *src)
{
    const PackArgs *a = user;
    const GemmPlan *g = &a->q->plan;
    size_t panels = (g->n + a->kern->gemm_f32_nr - 1) / a->kern->gemm_f32_nr;
    for (int64_t i = 0; i < a->count; i++)
        sdx_gemm_f32_pack(a->kern, (const float *)src->data + a->first + i * a->step, g->ldb, g->b_form, g->k, g->n, 0,
                          panels, a->flush, (float *)dst + (size_t)i * a->floats);
}

sdx_status sdx_product_pack(Prepare *p, Product *q, int i, int64_t first, int64_t count, int64_t step,
                            int64_t *packed_step)
{
    PackArgs a = {
        .kern = p->kern, .q = q, .first = first, .count = count, .step = step, .flush = p->flush_subnormals
    };
    size_t floats, nbytes;
    if (!sdx_gemm_f32_pack_size(p->kern, q->plan.k, q->plan.n, &a.floats) ||
        !sdx_add_size(&floats, a.floats, SDX_ALIGN / sizeof(float) - 1))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    a.floats = floats / (SDX_ALIGN / sizeof(float)) * (SDX_ALIGN / sizeof(float));
    if (!sdx_mul_size(&nbytes, a.floats, (size_t)count) || !sdx_mul_size(&nbytes, nbytes, sizeof(float)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    char key[96];
    snprintf(key, sizeof key, "gemm_f32 nr%u %zux%zu ld%zu form%u at%lld n%lld*%lld%s", p->kern->gemm_f32_nr, q->plan.k,
             q->plan.n, q->plan.ldb, q->plan.b_form, (long long)first, (long long)count, (long long)step,
             a.flush ? " flush" : "");
    const void *packed;
    TRY(sdx_prepare_pack(p, i, key, nbytes, product_pack, &a, &packed));
    q->packed = packed;
    q->plan.b_form = SDX_MAT_PACKED;
    *packed_step = (int64_t)a.floats;
    return SDX_OK;
}

sdx_status sdx_product_plan(Prepare *p, Product *q)
{
    q->kern = p->kern;
    q->flush = p->flush_subnormals;
    q->batches = sdx_dims_product(q->dims, 0, q->n_batch);
    sdx_gemm_f32_plan(p->kern, &q->plan);
    double work = (double)q->plan.m * (double)q->plan.n * (double)q->plan.k / (double)(q->plan.chunks + 1);
    q->grain = work >= GRAIN ? 1 : (int64_t)(GRAIN / (work + 1)) + 1;
    q->worker_scratch = sdx_round_up(q->plan.scratch, SDX_ALIGN);
    q->scratch_at = sdx_round_up(p->scratch, SDX_ALIGN);
    size_t all;
    if (!sdx_mul_size(&all, q->worker_scratch, (size_t)(p->threads > 0 ? p->threads : 1)) ||
        !sdx_add_size(&p->scratch, q->scratch_at, all))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch of a product does not fit the address space");
    return SDX_OK;
}

typedef struct ProductJob {
    const Product *q;
    const float *a, *b;
    float *c;
    const Epilogue *epi;
    char *scratch;
} ProductJob;

static void product_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ProductJob *j = arg;
    const Product *q = j->q;
    char *scratch = j->scratch + (size_t)worker * q->worker_scratch;
    int64_t chunks = (int64_t)q->plan.chunks;
    FpEnv caller = sdx_fpenv_save();
    if (q->flush) sdx_fpenv_flush(true);
    for (int64_t u = from; u < to; u++) {
        int64_t batch = chunks == 1 ? u : u / chunks, at_a = 0, at_b = 0, rest = batch;
        for (int k = q->n_batch - 1; k >= 0; k--) {
            at_a += rest % q->dims[k] * q->step_a[k];
            at_b += rest % q->dims[k] * q->step_b[k];
            rest /= q->dims[k];
        }
        GemmF32 g = {
            .a = j->a + at_a, .b = (q->packed ? q->packed : j->b) + at_b, .c = j->c + batch * q->step_c, .epi = *j->epi
        };
        sdx_gemm_f32_chunk(q->kern, &q->plan, &g, (size_t)(u - batch * chunks), scratch);
    }
    sdx_fpenv_restore(caller);
}

void sdx_product_run(const Run *r, const Product *q, const float *a, const float *b, float *c, const Epilogue *epi)
{
    int64_t units = q->batches * (int64_t)q->plan.chunks;
    if (units == 0) return;
    ProductJob j = { .q = q, .a = a, .b = b, .c = c, .epi = epi, .scratch = (char *)r->scratch + q->scratch_at };
    sdx_run_range(r, units, q->grain, product_range, &j);
}
