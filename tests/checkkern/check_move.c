/* Movers, against the one-line definition. */
#include "check.h"

#include <string.h>

static void transpose(const Check *c, unsigned log2)
{
    static const size_t sides[] = { 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 24, 31, 33, 64, 70 };
    enum { SIDES = sizeof sides / sizeof sides[0] };
    size_t size = (size_t)1 << log2;
    for (size_t t = 0; t < SIDES * SIDES; t++) {
        size_t rows = sides[t / SIDES], cols = sides[t % SIDES], ldx = cols + t % 3, ldy = rows + t % 2;
        char *x = ck_buf(rows * ldx * size, size), *y = ck_buf(cols * ldy * size, 0),
             *want = ck_buf(cols * ldy * size, 0);
        ck_bytes(x, rows * ldx * size);
        memset(y, 1, cols * ldy * size);
        memset(want, 1, cols * ldy * size);
        for (size_t r = 0; r < rows; r++)
            for (size_t j = 0; j < cols; j++) memcpy(want + (j * ldy + r) * size, x + (r * ldx + j) * size, size);
        c->k->transpose[log2](y, (ptrdiff_t)ldy, x, (ptrdiff_t)ldx, rows, cols);
        ck_same_bytes(y, want, cols * ldy * size, "transpose");
        ck_margins();
        ck_free();
    }
}

/* Random permutations, steps of either sign, repeats and gaps. */
static void move_nd(const Check *c, unsigned log2)
{
    enum { ELEMENTS = 40000 };
    size_t size = (size_t)1 << log2;
    char *x = ck_buf(ELEMENTS * size, 0), *y = ck_buf(ELEMENTS * size, 0), *want = ck_buf(ELEMENTS * size, 0);
    ck_bytes(x, ELEMENTS * size);
    for (int t = 0; t < 300; t++) {
        MoveNd m = { .log2 = log2, .rank = ck_rand() % 6 };
        ptrdiff_t step = 1, x0 = 0, xs[SDX_MOVE_RANK];
        size_t extent[SDX_MOVE_RANK], total = 1, perm[SDX_MOVE_RANK];
        for (unsigned a = 0; a < m.rank; a++) {
            static const size_t lengths[] = { 1, 2, 3, 4, 5, 8, 2, 1 };
            m.n[a] = lengths[ck_rand() >> 7 & 7];
            if (t % 8 == 0 && m.rank == 2) m.n[a] = 20 + ck_rand() % 100;
            if (t % 50 == 0) m.n[a] = 0;
            extent[a] = m.n[a] * (ck_rand() % 4 ? 1 : 2);
            perm[a] = a;
            total *= m.n[a];
        }
        for (unsigned a = m.rank; a-- > 1;) { /* a random order of the axes of x */
            unsigned b = ck_rand() % (a + 1);
            size_t s = perm[a];
            perm[a] = perm[b], perm[b] = s;
        }
        if (t % 4 == 1)
            for (unsigned a = 0; a < m.rank; a++) perm[a] = a;
        for (unsigned i = m.rank; i-- > 0;) {
            size_t a = perm[i];
            uint32_t kind = ck_rand() >> 5 & 15;
            xs[a] = step * (ptrdiff_t)(extent[a] / (m.n[a] ? m.n[a] : 1));
            step *= (ptrdiff_t)extent[a];
            if (kind == 0) xs[a] = 0;
            if (kind == 1 && m.n[a]) x0 += xs[a] * ((ptrdiff_t)m.n[a] - 1), xs[a] = -xs[a];
        }
        if (step > ELEMENTS) continue;
        ptrdiff_t ystep = t % 3 ? 1 : 2;
        for (unsigned a = m.rank; a-- > 0;) m.sx[a] = xs[a], m.sy[a] = ystep, ystep *= (ptrdiff_t)m.n[a];
        memset(y, 3, ELEMENTS * size);
        memset(want, 3, ELEMENTS * size);
        for (size_t i = 0; i < total; i++) {
            ptrdiff_t fx = x0, fy = 0;
            size_t rest = i;
            for (unsigned a = m.rank; a-- > 0; rest /= m.n[a]) {
                fx += (ptrdiff_t)(rest % m.n[a]) * m.sx[a];
                fy += (ptrdiff_t)(rest % m.n[a]) * m.sy[a];
            }
            memcpy(want + fy * (ptrdiff_t)size, x + fx * (ptrdiff_t)size, size);
        }
        sdx_move_nd_prepare(&m);
        size_t half = m.units / 3; /* any split gives the same */
        sdx_move_nd_run(c->k, &m, y, x + x0 * (ptrdiff_t)size, half, m.units - half);
        sdx_move_nd_run(c->k, &m, y, x + x0 * (ptrdiff_t)size, 0, half);
        if (!ck_same_bytes(y, want, ELEMENTS * size, "move")) ck_fail("case %d, rank %u", t, m.rank);
    }
    ck_margins();
}

static void simple(const Check *c)
{
    for (unsigned log2 = 0; log2 < 5; log2++)
        for (size_t l = 0; l < ck_nlengths; l++) {
            size_t size = (size_t)1 << log2, n = ck_lengths[l];
            char *x = ck_buf((n + 1) * size, 1), *y = ck_buf(n * size, 3);
            int64_t *i64 = ck_buf(n * 8, 0);
            int32_t *i32 = ck_buf(n * 4, 0);
            ck_bytes(x, (n + 1) * size);
            for (size_t i = 0; i < n; i++) i64[i] = i32[i] = (int32_t)(ck_rand() % (n + 1));
            c->k->fill[log2](y, x, n);
            for (size_t i = 0; i < n; i++) ck_same_bytes(y + i * size, x, size, "fill");
            sdx_gather_rows_i64(y, x, i64, n, size);
            for (size_t i = 0; i < n; i++) ck_same_bytes(y + i * size, x + (size_t)i64[i] * size, size, "gather");
            sdx_gather_rows_i32(y, x, i32, n, size);
            for (size_t i = 0; i < n; i++) ck_same_bytes(y + i * size, x + (size_t)i64[i] * size, size, "gather");
            ck_margins();
            ck_free();
        }
}

static void cumsum(const Check *c)
{
    static const int64_t x[] = { 1, 2, 3, 4, 5, 6 };
    static const struct {
        size_t outer, n, inner;
        bool exclusive, reverse;
        int64_t y[6];
    } cases[] = {
        { 1, 6, 1, false, false, { 1, 3, 6, 10, 15, 21 } },  { 1, 6, 1, true, false, { 0, 1, 3, 6, 10, 15 } },
        { 1, 6, 1, false, true, { 21, 20, 18, 15, 11, 6 } }, { 1, 6, 1, true, true, { 20, 18, 15, 11, 6, 0 } },
        { 2, 3, 1, false, false, { 1, 3, 6, 4, 9, 15 } },    { 1, 3, 2, false, false, { 1, 2, 4, 6, 9, 12 } },
        { 1, 2, 3, true, true, { 4, 5, 6, 0, 0, 0 } },
    };
    for (size_t t = 0; t < sizeof cases / sizeof cases[0]; t++) {
        int64_t y[6];
        float yf[6], xf[6];
        for (int i = 0; i < 6; i++) xf[i] = (float)x[i];
        c->k->cumsum[SDX_K_i64](y, x, cases[t].outer, cases[t].n, cases[t].inner, cases[t].exclusive, cases[t].reverse);
        c->k->cumsum[SDX_K_f32](yf, xf, cases[t].outer, cases[t].n, cases[t].inner, cases[t].exclusive,
                                cases[t].reverse);
        for (int i = 0; i < 6; i++)
            if (y[i] != cases[t].y[i] || yf[i] != (float)cases[t].y[i])
                ck_fail("case %zu at %d: %lld", t, i, (long long)y[i]);
    }
}

typedef struct Timed {
    const Kern *k;
    char *y, *x;
    size_t rows, cols;
    unsigned log2;
} Timed;

static void time_transpose(void *arg)
{
    Timed *t = arg;
    t->k->transpose[t->log2](t->y, (ptrdiff_t)t->rows, t->x, (ptrdiff_t)t->cols, t->rows, t->cols);
}

static void bench(const Check *c, unsigned log2, size_t rows, size_t cols)
{
    if (!ck_begin(c, "move transpose %u bytes %zux%zu", 1u << log2, rows, cols)) return;
    size_t nbytes = rows * cols << log2;
    Timed t = { c->k, ck_buf(nbytes, 0), ck_buf(nbytes, 0), rows, cols, log2 };
    ck_report(ck_time(time_transpose, &t), (double)(rows * cols), (double)nbytes * 2);
    ck_end();
}

void check_move(const Check *c)
{
    for (unsigned log2 = 0; log2 < 5; log2++) {
        if (c->below && c->below->transpose[log2] == c->k->transpose[log2]) continue;
        if (c->bench) {
            bench(c, log2, 64, 128);
            bench(c, log2, 512, 768);
            bench(c, log2, 3, 50176);
            continue;
        }
        if (ck_begin(c, "move transpose %u bytes", 1u << log2)) transpose(c, log2), ck_end();
        if (ck_begin(c, "move nd %u bytes", 1u << log2)) move_nd(c, log2), ck_end();
    }
    if (c->below || c->bench) return;
    if (ck_begin(c, "move fill, gather")) simple(c), ck_end();
    if (ck_begin(c, "move cumsum")) cumsum(c), ck_end();
}
