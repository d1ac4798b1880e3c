/* kern/gemm/tile_body.h - kern/gemm/tile.h in the vocabulary of kern/simd/.
 *
 * The including file defines TILE_MR and TILE_NV: a register tile has TILE_MR rows and TILE_NV
 * vectors of columns. TILE_MR*TILE_NV accumulators, TILE_NV vectors of B and one of A must fit the
 * register file.
 */
#include "kern/gemm/epilogue_body.h"
#include "kern/gemm/tile.h"

enum {
    TILE_NR = TILE_NV * VW,
    TILE_ACC = TILE_MR * TILE_NV, /* accumulators */
    TILE_FEW = 4,                 /* rows times panels, where there are few rows */
    TILE_PTRS = (TILE_MR + 2) / 3,
    TILE_AHEAD = 1024 / sizeof(float), /* B is fetched so far ahead of its loads */
};

/* A register tile is mr rows times np panels; of each panel the first nv vectors. The three counts are
 * constants, so that every loop over them unrolls and `acc` is registers. */
#define TILE_EACH_COLUMN V_UNROLL for (int p = 0; p < np; p++) V_UNROLL for (int j = 0; j < nv; j++)
#define TILE_EACH_ROW V_UNROLL for (int r = 0; r < mr; r++)
#define TILE_AT(r) acc[(p * mr + (r)) * nv + j]

/* The frequent epilogues, on registers: bias per column, clamps; every column exists. */
V_INLINE void tile_finish(const GemmTile *t, size_t row, size_t panel, vf32 *acc, const int mr, const int np,
                          const int nv)
{
    const Epilogue *e = t->epi;
    size_t col = panel * TILE_NR;
    if (e->bias) {
        TILE_EACH_COLUMN
        {
            vf32 bias = v_load(e->bias + col + p * TILE_NR + j * VW);
            TILE_EACH_ROW TILE_AT(r) = v_add(TILE_AT(r), bias);
        }
    }
    if (e->act == SDX_ACT_RELU) {
        TILE_EACH_COLUMN TILE_EACH_ROW TILE_AT(r) = v_relu(TILE_AT(r));
    } else if (e->act == SDX_ACT_CLIP) {
        vf32 lo = v_set(e->p0), hi = v_set(e->p1);
        TILE_EACH_COLUMN TILE_EACH_ROW TILE_AT(r) = v_clamp(TILE_AT(r), lo, hi);
    }
    float *c = t->c + row * t->ldc + col;
    TILE_EACH_ROW TILE_EACH_COLUMN v_store(c + r * t->ldc + p * TILE_NR + j * VW, TILE_AT(r));
}

/* Sums go through the frequent epilogue to c, or, when y is not NULL, as they are to y: row r of the
 * p-th panel at y + p*y_panel + r*TILE_NR. ahead: fetches for later from b_next, or, where that is NULL, the rows of the
 * next tile, 16 of them a cache line each while k moves by one line. */
V_INLINE void tile_run(const GemmTile *t, size_t row, size_t panel, const float *b_next, float *y, size_t y_panel,
                       const int mr, const int np, const int nv, const bool ahead)
{
    vf32 acc[TILE_ACC];
    if (t->first) {
        TILE_EACH_COLUMN TILE_EACH_ROW TILE_AT(r) = v_zero();
    } else {
        const float *part = t->part + (panel * t->rows + row) * TILE_NR;
        TILE_EACH_COLUMN TILE_EACH_ROW TILE_AT(r) = v_load(part + p * t->rows * TILE_NR + r * TILE_NR + j * VW);
    }

    const size_t lda = t->lda, b_panel = t->b_panel, seglen = t->seglen;
    const float *b = t->b + panel * b_panel;
    for (size_t s = 0; s < t->nseg; s++) {
        const float *a0 = (const float *)(const void *)((const char *)t->a + t->seg[s]) + row * lda;
        const float *later = b_next ? b_next + s * seglen * t->b_step : a0 + mr * lda;
        const size_t lines = b_next ? SIZE_MAX : 15, step = b_next ? t->b_step : lda;
        /* Three rows a pointer: an x86 address adds one scaled index, and 14 pointers are too many. */
        const float *a[TILE_PTRS];
        V_UNROLL for (int g = 0; g < (mr + 2) / 3; g++) a[g] = a0 + (size_t)g * 3 * lda;
        for (size_t k = 0; k < seglen; k++) {
            vf32 bv[TILE_NV * TILE_FEW];
            TILE_EACH_COLUMN
            {
                bv[p * nv + j] = v_load(b + p * b_panel + j * VW);
                if (j * VW * sizeof(float) % 64 == 0) __builtin_prefetch(b + p * b_panel + j * VW + TILE_AHEAD);
            }
            if (ahead) __builtin_prefetch(later + (k & lines) * step + (k & ~lines), 0, 2);
            TILE_EACH_ROW
            {
                vf32 x = v_set(a[r / 3][k + (size_t)(r % 3) * lda]);
                TILE_EACH_COLUMN TILE_AT(r) = v_fma(x, bv[p * nv + j], TILE_AT(r));
            }
            b += TILE_NR;
        }
    }

    if (!y)
        tile_finish(t, row, panel, acc, mr, np, nv);
    else
        TILE_EACH_COLUMN TILE_EACH_ROW v_store(y + p * y_panel + r * TILE_NR + j * VW, TILE_AT(r));
}

typedef void TileFn(const GemmTile *t, size_t row, size_t panel, const float *b_next, float *y, size_t y_panel);

#define TILE_FN(name, mr, np, nv, ahead)                                                                               \
    static void name##_##mr(const GemmTile *t, size_t row, size_t panel, const float *b_next, float *y,                \
                            size_t y_panel)                                                                            \
    {                                                                                                                  \
        tile_run(t, row, panel, b_next, y, y_panel, mr, np, nv, ahead);                                                \
    }

/* As most are: all rows, nothing to fetch. */
static void tile_whole(const GemmTile *t, size_t row, size_t panel, const float *b_next, float *y, size_t y_panel)
{
    (void)b_next;
    tile_run(t, row, panel, NULL, y, y_panel, TILE_MR, 1, TILE_NV, false);
}

/* For the first panel, which meets its rows of A uncached, and where weights stream: the next panel arrives while this
 * one is used. The includer lists the row counts: TILE_ROWS(X) X(1) X(2) ... X(TILE_MR). */
#define TILE_AHEAD_FN(mr) TILE_FN(tile_ahead, mr, 1, TILE_NV, true)
#define TILE_AHEAD_NAME(mr) tile_ahead_##mr,
TILE_ROWS(TILE_AHEAD_FN)
static TileFn *const tile_ahead[] = { TILE_ROWS(TILE_AHEAD_NAME) };

/* For a last panel with at most half its columns. */
#define TILE_HALF(mr) TILE_FN(tile_half, mr, 1, TILE_NV / 2, true)
#define TILE_HALF_NAME(mr) tile_half_##mr,
TILE_ROWS(TILE_HALF)
static TileFn *const tile_half[] = { TILE_ROWS(TILE_HALF_NAME) };

/* Few rows: several panels at a time keep enough chains and enough streams of B in flight. */
TILE_FN(tile_few, 1, 4, TILE_NV, false)
TILE_FN(tile_few, 2, 2, TILE_NV, false)
TILE_FN(tile_pair, 1, 2, TILE_NV, false)

/* The tile for `rows` rows and the next panels when `left` are left, and how many it takes; NULL: not a case of these. */
static TileFn *tile_of_few(size_t rows, size_t left, size_t *np)
{
    *np = rows == 1 && left >= 4 ? 4 : 2;
    if (rows > 2 || left < *np) return NULL;
    return rows == 2 ? tile_few_2 : *np == 4 ? tile_few_1 : tile_pair_1;
}

/* Rows [row, row+mr) of panels [p, p+np), by whichever way out they need. */
static void tile_call(const GemmTile *t, TileFn *fn, size_t row, size_t mr, size_t p, size_t np, const float *b_next,
                      size_t width)
{
    size_t col = p * TILE_NR;
    if (!t->last) {
        fn(t, row, p, b_next, t->part + (p * t->rows + row) * TILE_NR, t->rows * TILE_NR);
    } else if (epilogue_is_simple(t->epi) && t->cols - col >= width) {
        fn(t, row, p, b_next, NULL, 0);
    } else {
        float sums[TILE_ACC * VW];
        fn(t, row, p, b_next, sums, mr * TILE_NR);
        for (size_t q = 0; q < np; q++, col += TILE_NR)
            epilogue_block(t->epi, sums + q * mr * TILE_NR, TILE_NR, t->c + row * t->ldc + col, t->ldc, row, col, mr,
                           t->cols - col < TILE_NR ? t->cols - col : TILE_NR);
    }
}

void ISA(sdx_gemm_f32_tile)(const GemmTile *t);
void ISA(sdx_gemm_f32_tile)(const GemmTile *t)
{
    size_t blocks = (t->rows + TILE_MR - 1) / TILE_MR;
    for (size_t p = 0, np = 1; p < t->npanel; p += np) {
        TileFn *few = tile_of_few(t->rows, t->npanel - p, &np);
        if (few) {
            tile_call(t, few, 0, t->rows, p, np, NULL, np * TILE_NR);
            continue;
        }
        np = 1;
        bool half = t->cols - p * TILE_NR <= TILE_NR / 2;
        const float *b_next = t->b_next ? t->b_next + p * t->b_panel : NULL;
        for (size_t i = 0, row = 0, mr; i < blocks; i++, row += mr) {
            mr = t->rows - row;
            if (blocks - i > 1) mr = (mr + blocks - i - 1) / (blocks - i); /* near-equal: 29 = 10 + 10 + 9 */
            bool fetches = b_next || (p == 0 && !t->cached && i + 1 < blocks);
            TileFn *fn = half ? tile_half[mr - 1] : fetches || mr < TILE_MR ? tile_ahead[mr - 1] : tile_whole;
            /* Lower tiles have no form that fetches nothing: they fetch what is there, their own panel. */
            const float *later = fetches || half ? b_next : t->b + p * t->b_panel;
            tile_call(t, fn, row, mr, p, 1, later, half ? TILE_NR / 2 : TILE_NR);
            if (b_next) b_next += t->nseg * t->seglen * t->b_step;
        }
    }
}
