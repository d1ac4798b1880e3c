#include "ops/rowsprod.h"

#include "base/fpenv.h"
#include "base/size.h"

enum { COLUMNS = 32 }; /* of the result, for one task at a time */

static size_t at_most(size_t a, size_t b) { return a < b ? a : b; }

/* Bytes that any product of this inner size asks for: see sdx_gemm_cut. */
static bool product_scratch(const Kern *kern, int64_t k, size_t *nbytes)
{
    size_t nr = kern->gemm_f32_nr, rows = 24 * (size_t)kern->gemm_f32_mr;
    size_t kc = at_most((size_t)k, 2 * (size_t)kern->gemm_f32_kc);
    size_t columns = (COLUMNS + nr - 1) / nr * nr, lanes;
    return sdx_mul_size(&lanes, rows, sdx_gemm_copy_stride(kc) + columns) && sdx_add_size(&lanes, lanes, kc * nr) &&
           sdx_mul_size(nbytes, lanes, sizeof(float));
}

sdx_status sdx_rows_plan(Prepare *p, int64_t k, RowsPlan *out)
{
    size_t more, all;
    *out = (RowsPlan){ .kern = p->kern, .flush = p->flush_subnormals, .at = sdx_round_up(p->scratch, SDX_ALIGN) };
    if (!sdx_mul_size(&out->room, (size_t)k, COLUMNS * sizeof(float)) || out->room > SIZE_MAX / 4 ||
        !product_scratch(p->kern, k, &more) ||
        !sdx_add_size(&out->worker, sdx_round_up(out->room, SDX_ALIGN), sdx_round_up(more, SDX_ALIGN)) ||
        !sdx_mul_size(&all, out->worker, (size_t)(p->threads > 0 ? p->threads : 1)) ||
        !sdx_add_size(&p->scratch, out->at, all))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

typedef struct RowsJob {
    const RowsPlan *plan;
    const RowsProduct *q;
    GemmPlan whole, tail; /* of COLUMNS columns, and of those left over */
    char *scratch;
} RowsJob;

static void rows_range(void *arg, int64_t from, int64_t to, int worker)
{
    const RowsJob *j = arg;
    const RowsProduct *q = j->q;
    char *scratch = j->scratch + (size_t)worker * j->plan->worker;
    FpEnv caller = sdx_fpenv_save();
    if (j->plan->flush) sdx_fpenv_flush(true);
    for (int64_t u = from; u < to; u++) {
        int64_t first = u * COLUMNS, n = q->n - first < COLUMNS ? q->n - first : COLUMNS;
        GemmF32 g = {
            .a = q->a, .b = q->rows(q->weights, first, n, (float *)scratch), .c = q->y + first, .epi = SDX_EPILOGUE_NONE
        };
        if (q->bias) g.epi.bias = q->bias + first;
        const GemmPlan *plan = n < COLUMNS ? &j->tail : &j->whole;
        for (size_t i = 0; i < plan->chunks; i++)
            sdx_gemm_f32_chunk(j->plan->kern, plan, &g, i, scratch + sdx_round_up(j->plan->room, SDX_ALIGN));
    }
    sdx_fpenv_restore(caller);
}

void sdx_rows_product(const Run *r, const RowsPlan *plan, const RowsProduct *q)
{
    RowsJob j = { .plan = plan, .q = q, .scratch = (char *)r->scratch + plan->at };
    j.whole = (GemmPlan){ .m = (size_t)q->m,
                          .n = COLUMNS,
                          .k = (size_t)q->k,
                          .lda = (size_t)q->k,
                          .ldb = (size_t)q->k,
                          .ldc = (size_t)q->n,
                          .b_form = SDX_MAT_COLS };
    j.tail = j.whole;
    j.tail.n = (size_t)(q->n % COLUMNS);
    sdx_gemm_f32_plan(plan->kern, &j.whole);
    sdx_gemm_f32_plan(plan->kern, &j.tail);
    if (q->m) sdx_run_range(r, (q->n + COLUMNS - 1) / COLUMNS, 1, rows_range, &j);
}
