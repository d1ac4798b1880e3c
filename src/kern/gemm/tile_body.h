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

/* mr rows times np panels over the whole slice; of each panel the first nv vectors. The three counts
 * are constants, so that every loop over them unrolls. Sums go to y, laid out as GemmTile's part. */
V_INLINE void tile_run(const GemmTile *t, size_t row, size_t panel, float *y, size_t y_panel, const int mr,
                       const int np, const int nv)
{
    vf32 acc[TILE_ACC];
    const float *part = t->first ? NULL : t->part + (panel * t->rows + row) * TILE_NR;
    V_UNROLL for (int p = 0; p < np; p++)
        V_UNROLL for (int r = 0; r < mr; r++)
            V_UNROLL for (int j = 0; j < nv; j++)
                acc[(p * mr + r) * nv + j] =
                    t->first ? v_zero() : v_load(part + p * t->rows * TILE_NR + r * TILE_NR + j * VW);

    const size_t lda = t->lda, b_panel = t->b_panel, seglen = t->seglen;
    const float *b = t->b + panel * b_panel;
    for (size_t s = 0; s < t->nseg; s++) {
        /* Three rows a pointer: an x86 address adds one scaled index, and 14 pointers are too many. */
        const float *a[TILE_PTRS];
        V_UNROLL for (int g = 0; g < (mr + 2) / 3; g++) a[g] = t->a + t->seg[s] + (row + (size_t)g * 3) * lda;
        for (size_t k = 0; k < seglen; k++) {
            vf32 bv[TILE_NV * TILE_FEW];
            V_UNROLL for (int p = 0; p < np; p++)
                V_UNROLL for (int j = 0; j < nv; j++) {
                    bv[p * nv + j] = v_load(b + p * b_panel + j * VW);
                    if (j * VW * sizeof(float) % 64 == 0) __builtin_prefetch(b + p * b_panel + j * VW + TILE_AHEAD);
                }
            V_UNROLL for (int r = 0; r < mr; r++) {
                vf32 x = v_set(a[r / 3][k + (size_t)(r % 3) * lda]);
                V_UNROLL for (int p = 0; p < np; p++)
                    V_UNROLL for (int j = 0; j < nv; j++)
                        acc[(p * mr + r) * nv + j] = v_fma(x, bv[p * nv + j], acc[(p * mr + r) * nv + j]);
            }
            b += TILE_NR;
        }
    }

    V_UNROLL for (int p = 0; p < np; p++)
        V_UNROLL for (int r = 0; r < mr; r++)
            V_UNROLL for (int j = 0; j < nv; j++)
                v_store(y + p * y_panel + r * TILE_NR + j * VW, acc[(p * mr + r) * nv + j]);
}

typedef void TileFn(const GemmTile *t, size_t row, size_t panel, float *y, size_t y_panel);

#define TILE_FN(name, mr, np, nv)                                                                    \
    static void name##_##mr(const GemmTile *t, size_t row, size_t panel, float *y, size_t y_panel) \
    {                                                                                                \
        tile_run(t, row, panel, y, y_panel, mr, np, nv);                                             \
    }

/* The includer lists the row counts: TILE_ROWS(X) X(1) X(2) ... X(TILE_MR). */
#define TILE_WHOLE(mr) TILE_FN(tile_whole, mr, 1, TILE_NV)
#define TILE_WHOLE_NAME(mr) tile_whole_##mr,
TILE_ROWS(TILE_WHOLE)
static TileFn *const tile_whole[] = { TILE_ROWS(TILE_WHOLE_NAME) };

/* For a last panel with at most half its columns. */
#define TILE_HALF(mr) TILE_FN(tile_half, mr, 1, TILE_NV / 2)
#define TILE_HALF_NAME(mr) tile_half_##mr,
TILE_ROWS(TILE_HALF)
static TileFn *const tile_half[] = { TILE_ROWS(TILE_HALF_NAME) };

/* Few rows: several panels at a time keep enough chains and enough streams of B in flight. */
TILE_FN(tile_few, 1, 4, TILE_NV)
TILE_FN(tile_few, 2, 2, TILE_NV)
static TileFn *const tile_few[] = { tile_few_1, tile_few_2 };

void ISA(sdx_gemm_f32_tile)(const GemmTile *t);
void ISA(sdx_gemm_f32_tile)(const GemmTile *t)
{
    float sums[TILE_ACC * VW];
    size_t max = t->max_rows && t->max_rows < TILE_MR ? t->max_rows : TILE_MR;
    size_t blocks = (t->rows + max - 1) / max;
    for (size_t p = 0, np; p < t->npanel; p += np) {
        np = 1;
        for (size_t i = 0, row = 0, mr; i < blocks; i++, row += mr) {
            mr = (t->rows - row + blocks - i - 1) / (blocks - i); /* near-equal: 29 = 10 + 10 + 9 */
            TileFn *fn = t->cols - p * TILE_NR <= TILE_NR / 2 ? tile_half[mr - 1] : tile_whole[mr - 1];
            if (t->rows <= 2 && t->npanel - p >= TILE_FEW / mr) {
                fn = tile_few[mr - 1];
                np = TILE_FEW / mr;
            }
            if (!t->last) {
                fn(t, row, p, t->part + (p * t->rows + row) * TILE_NR, t->rows * TILE_NR);
                continue;
            }
            fn(t, row, p, sums, mr * TILE_NR);
            for (size_t q = 0; q < np; q++) {
                size_t col = (p + q) * TILE_NR, left = t->cols - col;
                epilogue_block(t->epi, sums + q * mr * TILE_NR, TILE_NR, t->c + row * t->ldc + col, t->ldc, row, col,
                               mr, left < TILE_NR ? left : TILE_NR);
            }
        }
    }
}
