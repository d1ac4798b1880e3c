/* kern/gemm/igemm_body.h - kern/gemm/igemm_tile.h in the vocabulary of kern/simd/.
 *
 * The including file defines IT_MR, IT_NV and IT_ROWS as for kern/gemm/tile_body.h, and
 * it_dot(acc, a, b): acc plus, lane by lane, the products of a group. */
#include "kern/gemm/igemm_out_body.h"

enum { IT_NR = IT_NV * VW, IT_ACC = IT_MR * IT_NV, IT_FEW = 4, IT_PTRS = (IT_MR + 2) / 3 };

#define IT_EACH_COLUMN V_UNROLL for (int p = 0; p < np; p++) V_UNROLL for (int j = 0; j < IT_NV; j++)
#define IT_EACH_ROW V_UNROLL for (int r = 0; r < mr; r++)
#define IT_AT(r) acc[(p * mr + (r)) * IT_NV + j]

/* mr rows by np panels; sums to y as in tile_run. */
V_INLINE void it_run(const IgemmTile *t, size_t row, size_t panel, int32_t *y, size_t y_panel, const int mr,
                     const int np)
{
    vi32 acc[IT_ACC];
    if (t->first) {
        IT_EACH_COLUMN IT_EACH_ROW IT_AT(r) = vi_set(0);
    } else {
        const int32_t *part = t->part + (panel * t->rows + row) * IT_NR;
        IT_EACH_COLUMN IT_EACH_ROW IT_AT(r) = vi_load(part + p * t->rows * IT_NR + r * IT_NR + j * VW);
    }
    const size_t lda = t->lda, b_panel = t->b_panel, seglen = t->seglen;
    const int32_t *b = t->b + panel * b_panel;
    for (size_t s = 0; s < t->nseg; s++) {
        const uint8_t *a[IT_PTRS];
        V_UNROLL for (int g = 0; g < (mr + 2) / 3; g++) a[g] = t->a + t->seg[s] + (row + (size_t)g * 3) * lda;
        for (size_t k = 0; k < seglen; k++) {
            vi32 bv[IT_NV * IT_FEW];
            IT_EACH_COLUMN
            {
                bv[p * IT_NV + j] = vi_load(b + p * b_panel + j * VW);
                if (j * VW * 4 % 64 == 0) __builtin_prefetch(b + p * b_panel + j * VW + 256);
            }
            IT_EACH_ROW
            {
                int32_t group;
                memcpy(&group, a[r / 3] + k * 4 + (size_t)(r % 3) * lda, 4);
                vi32 x = vi_set(group);
                IT_EACH_COLUMN IT_AT(r) = it_dot(IT_AT(r), x, bv[p * IT_NV + j]);
            }
            b += IT_NR;
        }
    }
    IT_EACH_COLUMN IT_EACH_ROW vi_store(y + p * y_panel + r * IT_NR + j * VW, IT_AT(r));
}

typedef void ItFn(const IgemmTile *t, size_t row, size_t panel, int32_t *y, size_t y_panel);
#define IT_FN(name, mr, np)                                                                                            \
    static void name##_##mr(const IgemmTile *t, size_t row, size_t panel, int32_t *y, size_t y_panel)                  \
    {                                                                                                                  \
        it_run(t, row, panel, y, y_panel, mr, np);                                                                     \
    }
#define IT_WHOLE(mr) IT_FN(it_whole, mr, 1)
#define IT_WHOLE_NAME(mr) it_whole_##mr,
IT_ROWS(IT_WHOLE)
static ItFn *const it_whole[] = { IT_ROWS(IT_WHOLE_NAME) };
IT_FN(it_few, 1, 4)
IT_FN(it_few, 2, 2)
static ItFn *const it_few[] = { it_few_1, it_few_2 };

/* Bytes of an element of the result. */
static size_t it_size(const IgemmOut *o) { return o->kind <= SDX_IOUT_F32 ? 4 : 1; }

static void it_call(const IgemmTile *t, ItFn *fn, size_t row, size_t mr, size_t p, size_t np)
{
    if (!t->last) {
        fn(t, row, p, t->part + (p * t->rows + row) * IT_NR, t->rows * IT_NR);
        return;
    }
    int32_t sums[IT_ACC * VW];
    fn(t, row, p, sums, mr * IT_NR);
    for (size_t q = 0; q < np; q++) {
        size_t col = (p + q) * IT_NR, left = t->cols - col;
        uint8_t *c = (uint8_t *)t->c + (row * t->ldc + col) * it_size(t->out);
        iout_block(t->out, sums + q * mr * IT_NR, IT_NR, c, t->ldc, row, col, mr, left < IT_NR ? left : IT_NR);
    }
}

void ISA(sdx_igemm_tile)(const IgemmTile *t);
void ISA(sdx_igemm_tile)(const IgemmTile *t)
{
    size_t blocks = (t->rows + IT_MR - 1) / IT_MR;
    for (size_t p = 0, np = 1; p < t->npanel; p += np) {
        if (t->rows <= 2 && t->npanel - p >= IT_FEW / t->rows) {
            np = IT_FEW / t->rows;
            it_call(t, it_few[t->rows - 1], 0, t->rows, p, np);
            continue;
        }
        np = 1;
        for (size_t i = 0, row = 0, mr; i < blocks; i++, row += mr) {
            mr = (t->rows - row + blocks - i - 1) / (blocks - i);
            it_call(t, it_whole[mr - 1], row, mr, p, 1);
        }
    }
}
