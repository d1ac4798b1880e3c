#include "kern/gemm/gemm.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A chunk should be worth this many multiply-adds: 20 to 50 microseconds. */
enum { GEMM_CHUNK = 4 << 20 };

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

bool sdx_gemm_f32_pack_size(const Kern *kern, size_t k, size_t n, size_t *nfloats)
{
    size_t nr = kern->gemm_f32_nr, columns;
    if (n > SIZE_MAX - nr) return false;
    columns = div_up(n, nr) * nr;
    if (k && columns > SIZE_MAX / sizeof(float) / k) return false;
    *nfloats = k * columns;
    return true;
}

static float flushed(float x) { return fabsf(x) < FLT_MIN ? 0 : x; }

void sdx_f32_flush(float *x, size_t n)
{
    enum { BLOCK = 16 }; /* a count that compilers know becomes vectors */
    for (; n >= BLOCK; n -= BLOCK, x += BLOCK)
        for (int i = 0; i < BLOCK; i++) x[i] = flushed(x[i]);
    for (size_t i = 0; i < n; i++) x[i] = flushed(x[i]);
}

/* Rows [0, k) and columns [0, n), n <= nr, of b into one panel, padded with zeros. */
static void gemm_pack_panel(const Kern *kern, const float *b, size_t ldb, unsigned form, size_t k, size_t n,
                            float *panel)
{
    size_t nr = kern->gemm_f32_nr;
    if (form == SDX_MAT_COLS) {
        kern->transpose_32(panel, nr, b, ldb, n, k);
        for (size_t i = 0; n < nr && i < k; i++) memset(panel + i * nr + n, 0, (nr - n) * sizeof *panel);
    } else if (n == nr) {
        for (size_t i = 0; i < k; i++) memcpy(panel + i * nr, b + i * ldb, nr * sizeof *panel);
    } else {
        memset(panel, 0, k * nr * sizeof *panel);
        for (size_t i = 0; i < k; i++) memcpy(panel + i * nr, b + i * ldb, n * sizeof *panel);
    }
}

/* Element (row k, column n) of an operand. */
static const float *gemm_at(const float *x, size_t ld, unsigned form, size_t i, size_t j)
{
    return x + (form == SDX_MAT_COLS ? j * ld + i : i * ld + j);
}

void sdx_gemm_f32_pack(const Kern *kern, const float *b, size_t ldb, unsigned form, size_t k, size_t n, size_t panel,
                       size_t npanel, bool flush, float *packed)
{
    size_t nr = kern->gemm_f32_nr;
    for (size_t p = panel; p < panel + npanel; p++) {
        float *to = packed + p * nr * k;
        gemm_pack_panel(kern, gemm_at(b, ldb, form, 0, p * nr), ldb, form, k, min_size(nr, n - p * nr), to);
        if (flush) sdx_f32_flush(to, nr * k);
    }
}

size_t sdx_gemm_copy_stride(size_t kc) { return (div_up(kc, 16) | 1) * 16; }

void sdx_gemm_cut(size_t mr, size_t nr, size_t usual_kc, GemmPlan *p)
{
    size_t panels = div_up(p->n, nr), l2 = sdx_cpu()->l2;
    p->chunks = p->scratch = 0;
    if (!p->m || !p->n) return;

    /* Slices of equal length; up to half more than the usual one rather than two short ones. */
    size_t slices = max_size(1, (p->k + usual_kc / 2) / usual_kc);
    p->kc = max_size(1, div_up(p->k, slices));

    /* Rows of a that lie a multiple of a page apart share cache sets: 8 or 12 of them evict each other. */
    bool collide = p->m > 4 && p->a_form == SDX_MAT_ROWS && p->lda % 1024 == 0;
    p->copy_a = p->a_form == SDX_MAT_COLS || collide;

    /* A block of a: half the second-level cache. */
    size_t mb = max_size(mr, l2 / 2 / 4 / p->kc);
    mb = min_size(mb, 24 * mr);
    mb = div_up(p->m, div_up(p->m, mb));
    if (mb < p->m) mb = div_up(mb, mr) * mr;
    p->mb = mb;

    size_t work = max_size(1, mb * nr * max_size(p->k, 1));
    size_t nb = max_size(1, GEMM_CHUNK / work);
    if (p->copy_a) nb = max_size(nb, 512 / nr);
    nb = min_size(nb, panels);
    p->nb = div_up(panels, div_up(panels, nb));

    p->panels = panels;
    p->mchunks = div_up(p->m, p->mb);
    p->chunks = p->mchunks * div_up(panels, p->nb);
    p->streams = div_up(p->mb, mr) > 1 && p->k * p->n > l2 / 8;
    size_t lanes = 0;
    if (p->copy_a) lanes += mb * sdx_gemm_copy_stride(p->kc);
    if (p->b_form != SDX_MAT_PACKED) lanes += p->kc * nr;
    if (p->kc < p->k) lanes += mb * p->nb * nr;
    p->scratch = lanes * 4;
}

void sdx_gemm_f32_plan(const Kern *kern, GemmPlan *p)
{
    sdx_gemm_cut(kern->gemm_f32_mr, kern->gemm_f32_nr, kern->gemm_f32_kc, p);
}

void sdx_gemm_f32_chunk(const Kern *kern, const GemmPlan *p, const GemmF32 *g, size_t i, void *scratch)
{
    size_t nr = kern->gemm_f32_nr, column = p->mchunks == 1 ? i : i / p->mchunks;
    size_t row = (i - column * p->mchunks) * p->mb, panel = column * p->nb;
    size_t rows = min_size(p->mb, p->m - row), npanel = min_size(p->nb, p->panels - panel);
    size_t col = panel * nr, cols = min_size(npanel * nr, p->n - col);

    float *free_ = scratch, *a_copy = NULL, *b_copy = NULL, *part = NULL;
    size_t a_stride = sdx_gemm_copy_stride(p->kc);
    if (p->copy_a) a_copy = free_, free_ += p->mb * a_stride;
    if (p->b_form != SDX_MAT_PACKED) b_copy = free_, free_ += p->kc * nr;
    if (p->kc < p->k) part = free_;

    Epilogue epi = g->epi;
    if (epi.bias) epi.bias += epi.bias_by_row ? row : col;
    if (epi.add) epi.add += row * epi.ldadd + col;
    const ptrdiff_t seg = 0;
    GemmTile t = {
        .seg = &seg,
        .nseg = 1,
        .c = g->c + row * p->ldc + col,
        .ldc = p->ldc,
        .rows = rows,
        .epi = &epi,
    };
    for (size_t k = 0; k == 0 || k < p->k; k += p->kc) {
        size_t kc = min_size(p->kc, p->k - k);
        t.first = k == 0;
        t.last = k + kc == p->k;
        t.seglen = kc;
        if (!p->copy_a) {
            t.a = g->a + row * p->lda + k;
            t.lda = p->lda;
        } else {
            t.a = a_copy;
            t.lda = a_stride;
            const float *a = gemm_at(g->a, p->lda, p->a_form, row, k);
            if (p->a_form == SDX_MAT_COLS)
                kern->transpose_32(a_copy, a_stride, a, p->lda, kc, rows);
            else
                for (size_t r = 0; r < rows; r++) memcpy(a_copy + r * a_stride, a + r * p->lda, kc * sizeof *a);
        }
        if (p->b_form == SDX_MAT_PACKED) {
            t.b = g->b + (panel * p->k + k) * nr;
            t.b_panel = p->k * nr;
            if (p->streams && rows > kern->gemm_f32_mr)
                t.b_next = t.b + t.b_panel, t.b_step = div_up(nr, div_up(rows, kern->gemm_f32_mr));
            t.npanel = npanel;
            t.cols = cols;
            t.part = part;
            kern->gemm_f32_tile(&t);
            continue;
        }
        /* One panel at a time: it stays in the first-level cache between packing and use. */
        GemmTile one = t;
        Epilogue e = epi;
        one.epi = &e;
        one.npanel = 1;
        one.b = b_copy;
        for (size_t q = 0; q < npanel; q++) {
            one.cols = min_size(nr, cols - q * nr);
            gemm_pack_panel(kern, gemm_at(g->b, p->ldb, p->b_form, k, col + q * nr), p->ldb, p->b_form, kc, one.cols,
                            b_copy);
            one.part = part ? part + q * rows * nr : NULL;
            one.c = t.c + q * nr;
            if (epi.bias && !epi.bias_by_row) e.bias = epi.bias + q * nr;
            if (epi.add) e.add = epi.add + q * nr;
            kern->gemm_f32_tile(&one);
        }
    }
}
