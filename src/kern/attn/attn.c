#include "kern/attn/attn.h"

#include <math.h>
#include <string.h>

#include "base/size.h"
#include "kern/gemm/gemm.h"

static int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* -- planning ------------------------------------------------------------------------------------------------------ */

/* Scores of a block take at most half the second-level cache, unless that leaves fewer than MIN rows: each unit packs all
 * keys and values, which costs about as much as one row of the products. */
enum { BLOCK_MIN = 32, BLOCK_MAX = 192, UNIT_ALIGN = 64 };
/* Where there are fewer units than this, blocks are halved as long as they stay worth so many multiply-adds. */
enum { UNITS_WANTED = 32, UNIT_WORK = 2 << 20 };

/* Lanes that a product of at most m x n over k needs in scratch (kern/gemm/gemm.h): a is not copied, as its rows are
 * ours and do not collide in the cache. */
static size_t gemm_lanes(const Kern *kern, size_t m, size_t n, size_t k)
{
    size_t nr = kern->gemm_f32_nr, kc = 2 * kern->gemm_f32_kc;
    return (k < kc ? k : kc) * nr + (m + kern->gemm_f32_mr) * (n + nr);
}

static bool reserve(size_t *total, size_t *at, size_t rows, size_t ld, size_t esize)
{
    size_t nbytes;
    *at = *total;
    if (!sdx_mul_size(&nbytes, rows, ld) || !sdx_mul_size(&nbytes, nbytes, esize) ||
        !sdx_add_size(&nbytes, nbytes, UNIT_ALIGN - 1))
        return false;
    return sdx_add_size(total, *total, nbytes / UNIT_ALIGN * UNIT_ALIGN);
}

bool sdx_attn_plan(const Attn *a, size_t esize, AttnPlan *p)
{
    *p = (AttnPlan){ .block = 0 };
    if (a->keys > INT64_MAX / 64 || a->size > INT64_MAX / 64 || a->v_size > INT64_MAX / 64) return false;
    int64_t heads = a->heads, rows = a->rows;
    if (rows == 1) heads = a->kv_heads, rows = a->kv_heads ? a->heads / a->kv_heads : 0;
    if (!sdx_mul_i64(&p->units, a->batches, heads)) return false;
    int64_t fit = (int64_t)(sdx_cpu()->l2 / 2 / sizeof(float)) / (a->keys + 1);
    p->block = min_i64(min_i64(max_i64(fit, BLOCK_MIN), BLOCK_MAX), rows);
    if (!rows || !p->units) return p->units = 0, true;
    double row_work = (double)a->keys * ((double)a->size + (double)a->v_size);
    while (p->block >= 2 * BLOCK_MIN && p->units * ((rows + p->block - 1) / p->block) < UNITS_WANTED &&
           (double)(p->block / 2) * row_work >= UNIT_WORK)
        p->block /= 2;
    p->blocks = (rows + p->block - 1) / p->block;
    p->block = (rows + p->blocks - 1) / p->blocks;
    if (!sdx_mul_i64(&p->units, p->units, p->blocks)) return false;

    size_t block = (size_t)p->block, keys = (size_t)a->keys, at_q;
    p->ld_q = sdx_gemm_copy_stride((size_t)a->size);
    p->ld_s = sdx_gemm_copy_stride(keys + 1); /* and the sink */
    int64_t units = rows == 1 || !a->kv_heads ? 1 : p->blocks * (a->heads / a->kv_heads);
    if (esize == sizeof(float) && !a->round && units > 1 && a->rows > 1) {
        size_t heads = (size_t)a->batches * (size_t)a->kv_heads, all;
        if (!sdx_gemm_f32_pack_size(a->kern, (size_t)a->size, keys, &p->packed_k) ||
            !sdx_gemm_f32_pack_size(a->kern, keys, (size_t)a->v_size, &p->packed_v) ||
            !sdx_add_size(&all, p->packed_k, p->packed_v) || !sdx_mul_size(&p->packed, all, heads))
            return false;
    }
    size_t scores = gemm_lanes(a->kern, block, keys, (size_t)a->size);
    size_t values = gemm_lanes(a->kern, block, (size_t)a->v_size, keys);
    return reserve(&p->scratch, &at_q, block, p->ld_q, esize) &&
           reserve(&p->scratch, &p->at_s, block, p->ld_s, esize) &&
           reserve(&p->scratch, &p->at_extra, 1, p->ld_s, esize) &&
           reserve(&p->scratch, &p->at_k, a->round ? keys : 0, (size_t)a->size, esize) &&
           reserve(&p->scratch, &p->at_gemm, 1, scores > values ? scores : values, sizeof(float));
}

/* -- steps by type ------------------------------------------------------------------------------------------------- */

static void gemm_f32(const Kern *kern, GemmPlan g, const float *a, const float *b, float *c, void *scratch)
{
    sdx_gemm_f32_plan(kern, &g);
    GemmF32 operands = { .a = a, .b = b, .c = c, .epi = SDX_EPILOGUE_NONE };
    for (size_t i = 0; i < g.chunks; i++) sdx_gemm_f32_chunk(kern, &g, &operands, i, scratch);
}

/* Is a unit of m rows done where keys and values lie? Packing them costs as much as some rows of a product. */
static bool is_few(const Attn *a, size_t m) { return a->rows <= 4 && m <= 4 && !a->packed; }

/* A head's packed keys, and the values behind them. */
static float *packed_head(const Attn *a, const AttnPlan *p, int64_t b, int64_t kv, float *packed)
{
    return packed + (size_t)(b * a->kv_heads + kv) * (p->packed_k + p->packed_v);
}

void sdx_attn_pack(const Attn *a, const AttnPlan *p, int64_t i, float *packed)
{
    int64_t b = i / 2 / a->kv_heads, kv = i / 2 % a->kv_heads;
    const AttnMat *m = i % 2 ? &a->v : &a->k;
    const float *from = (const float *)m->p + b * m->batch + kv * m->head;
    size_t nr = a->kern->gemm_f32_nr, keys = (size_t)a->keys, size = (size_t)(i % 2 ? a->v_size : a->size);
    float *to = packed_head(a, p, b, kv, packed);
    if (i % 2)
        sdx_gemm_f32_pack(a->kern, from, (size_t)m->row, SDX_MAT_ROWS, keys, size, 0, (size + nr - 1) / nr, false,
                          to + p->packed_k);
    else if (!a->scores)
        sdx_gemm_f32_pack(a->kern, from, (size_t)m->row, SDX_MAT_COLS, size, keys, 0, (keys + nr - 1) / nr, false, to);
}

/* Keys [j0, j0 + n) of a head; with packed keys j0 is the first of a panel. */
static void scores_f32(const Attn *at, const AttnPlan *p, int64_t b, int64_t kv, size_t m, size_t j0, size_t n,
                       const float *q, size_t ldq, const float *k, size_t ldk, float *s, void *scratch)
{
    GemmPlan g = {
        .m = m, .n = n, .k = (size_t)at->size, .lda = ldq, .ldb = ldk, .ldc = p->ld_s, .b_form = SDX_MAT_COLS
    };
    if (is_few(at, m)) {
        at->kern->attn_scores_f32(s, p->ld_s, q, ldq, m, k, ldk, n, g.k);
        return;
    }
    if (at->packed) {
        g.b_form = SDX_MAT_PACKED;
        k = packed_head(at, p, b, kv, (float *)at->packed) + j0 * g.k;
    }
    gemm_f32(at->kern, g, q, k, s, scratch);
}

static void values_f32(const Attn *at, const AttnPlan *p, int64_t b, int64_t kv, size_t m, size_t j0, size_t n,
                       const float *s, const float *v, size_t ldv, float *y, size_t ldy, void *scratch)
{
    GemmPlan g = { .m = m, .n = (size_t)at->v_size, .k = n, .lda = p->ld_s, .ldb = ldv, .ldc = ldy };
    if (is_few(at, m)) {
        at->kern->attn_values_f32(y, ldy, s, p->ld_s, m, v, ldv, n, g.n);
        return;
    }
    if (!at->packed) {
        gemm_f32(at->kern, g, s, v, y, scratch);
        return;
    }
    /* A panel at a time, as the plan knows no slices of a packed k. */
    size_t nr = at->kern->gemm_f32_nr, all = g.n;
    const float *packed = packed_head(at, p, b, kv, (float *)at->packed) + p->packed_k + j0 * nr;
    g.b_form = SDX_MAT_PACKED;
    for (size_t d = 0; d < all; d += nr) {
        g.n = all - d < nr ? all - d : nr;
        gemm_f32(at->kern, g, s, packed + d * (size_t)at->keys, y + d, scratch);
    }
}

static void scores_f64(const Attn *at, const AttnPlan *p, int64_t b, int64_t kv, size_t m, size_t j0, size_t n,
                       const double *q, size_t ldq, const double *k, size_t ldk, double *s, void *scratch)
{
    size_t lds = p->ld_s;
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++) {
            double sum = 0;
            for (size_t d = 0; d < (size_t)at->size; d++) sum += q[r * ldq + d] * k[j * ldk + d];
            s[r * lds + j] = sum;
        }
}

static void values_f64(const Attn *at, const AttnPlan *p, int64_t b, int64_t kv, size_t m, size_t j0, size_t n,
                       const double *s, const double *v, size_t ldv, double *y, size_t ldy, void *scratch)
{
    size_t lds = p->ld_s;
    for (size_t r = 0; r < m; r++) {
        memset(y + r * ldy, 0, (size_t)at->v_size * sizeof *y);
        for (size_t j = 0; j < n; j++)
            for (size_t d = 0; d < (size_t)at->v_size; d++) y[r * ldy + d] += s[r * lds + j] * v[j * ldv + d];
    }
}

/* Through a 16-bit format and back. */
static void round_f32(const Kern *kern, int to, float *x, size_t n)
{
    if (to != ATTN_ROUND_F16 && to != ATTN_ROUND_BF16) return;
    unsigned format = to == ATTN_ROUND_F16 ? SDX_FORMAT_f16 : SDX_FORMAT_bf16;
    uint16_t codes[256];
    for (size_t m; n; x += m, n -= m) {
        m = n < 256 ? n : 256;
        kern->narrow_f32[format](codes, x, m, true);
        kern->widen_f32[format](x, codes, m);
    }
}

static void round_f64(const Kern *kern, int to, double *x, size_t n) {}

/* Sum of probabilities in a 16-bit format. ONNX's reference rounds a sum of bfloat16 after each term, one of float16
 * once. Long sums of bfloat16 would stand still at 256 that way, so only runs of 8 terms are summed so. */
static float sum_rounded(const Kern *kern, int to, const float *x, size_t n)
{
    float sum = 0;
    for (size_t i = 0; i < n; i += 8) {
        float run = x[i];
        for (size_t k = i + 1; k < n && k < i + 8; k++) {
            run += x[k];
            if (to == ATTN_ROUND_BF16) round_f32(kern, to, &run, 1);
        }
        sum += run;
    }
    round_f32(kern, to, &sum, 1);
    return sum;
}

static void softmax_by_f64(double *x, size_t n, double max)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += x[i] = exp(x[i] - max);
    for (size_t i = 0; i < n; i++) x[i] /= sum;
}

/* A row of at least one score, whose largest is finite or NaN. extra: room for n elements. */
static void softmax_f32(const Attn *a, float *x, size_t n, float max, void *extra)
{
    const Kern *k = a->kern;
    if (a->soft == ATTN_ROUND_F64) {
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += exp((double)x[i] - (double)max);
        for (size_t i = 0; i < n; i++) x[i] = (float)(exp((double)x[i] - (double)max) / sum);
        return;
    }
    if (a->soft != ATTN_ROUND_F16 && a->soft != ATTN_ROUND_BF16) {
        k->softmax_f32(x, x, 1, n, 1, 1);
        return;
    }
    if (a->soft != a->round) {
        round_f32(k, a->soft, x, n);
        round_f32(k, a->soft, &max, 1);
    }
    k->map2[SDX_K_f32][SDX_MAP2_sub](x, x, &max, n, SDX_B_ONE);
    round_f32(k, a->soft, x, n);
    k->map1_f32[SDX_MAP1_exp](x, x, n, NULL);
    round_f32(k, a->soft, x, n);
    float sum = sum_rounded(k, a->soft, x, n);
    k->map2[SDX_K_f32][SDX_MAP2_div](x, x, &sum, n, SDX_B_ONE);
    round_f32(k, a->soft, x, n);
}

static void softmax_f64(const Attn *a, double *x, size_t n, double max, void *extra)
{
    if (a->soft == ATTN_NO_ROUND || a->soft == ATTN_ROUND_F64) {
        softmax_by_f64(x, n, max);
        return;
    }
    float *narrow = extra, top = (float)max;
    for (size_t i = 0; i < n; i++) narrow[i] = (float)x[i];
    softmax_f32(a, narrow, n, top, NULL);
    for (size_t i = 0; i < n; i++) x[i] = (double)narrow[i];
}

static bool is_plain_f64(const Attn *a) { return false; }
static void rows_f64(const Attn *a, int64_t b, int64_t head, int64_t row, size_t m, int64_t j0, int64_t j1, double *s,
                     size_t ld)
{
}

/* Nothing but a scale, and at most one dense bias, lies between the products: kern/softmax does that by rows. */
static bool is_plain_f32(const Attn *a)
{
    const AttnBias *s = &a->bias[0];
    if (a->round || a->round_p || a->soft || a->softcap != 0 || a->sink || a->qk || a->scores || a->bias[1].p)
        return false;
    return !s->p || (!s->is_bool && s->col == 1 && !s->heads);
}

static void rows_f32(const Attn *a, int64_t b, int64_t head, int64_t row, size_t m, int64_t j0, int64_t j1, float *s,
                     size_t ld);

#define T float
#define FN(name) name##_f32
#define TYPE SDX_K_f32
#define MAP1 map1_f32
#include "kern/attn/attn_tmpl.h"

/* Scores of m rows of a unit, of keys [j0, j1), to probabilities. */
static void rows_f32(const Attn *a, int64_t b, int64_t head, int64_t row, size_t m, int64_t j0, int64_t j1, float *s,
                     size_t ld)
{
    bool by_head = a->rows == 1, alike = by_head || (!a->causal && a->left < 0 && a->right < 0);
    const AttnBias *by = &a->bias[0];
    int64_t ldb = by_head ? by->head : by->row;
    for (size_t r = 0; r < m; r += alike ? m : 1, s += ld) {
        int64_t lo, hi, at = b * by->batch + head * by->head + row * by->row + (int64_t)r * ldb;
        visible_f32(a, b, by_head ? 0 : row + (int64_t)r, &lo, &hi);
        if (lo == hi) lo = hi = j0;
        const float *bias = by->p ? (const float *)by->p + at + lo : NULL;
        if (lo < hi)
            a->kern->softmax_scores_f32(s + (lo - j0), alike ? m : 1, (size_t)(hi - lo), ld, (float)a->scale, bias,
                                        (size_t)ldb);
        for (int64_t j = j0; j < lo; j++) s[j - j0] = 0;
        for (int64_t j = hi; j < j1; j++) s[j - j0] = 0;
    }
}

#define T double
#define FN(name) name##_f64
#define TYPE SDX_K_f64
#define MAP1 map1_f64
#include "kern/attn/attn_tmpl.h"
