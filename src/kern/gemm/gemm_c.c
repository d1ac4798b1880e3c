/* The portable matrix product: also the definition the others are tested against. */
#include "kern/kern.h"

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/gemm/epilogue_block_body.h"
#include "kern/gemm/tile.h"

enum { TILE_MR = 4, TILE_NR = 16 };

/* mr <= TILE_MR rows times one panel. Whole panels: B is padded with zeros. */
static void tile_run(const GemmTile *t, size_t row, size_t mr, const float *b, float sum[TILE_MR][TILE_NR])
{
    for (size_t s = 0; s < t->nseg; s++)
        for (size_t k = 0; k < t->seglen; k++, b += TILE_NR)
            for (size_t r = 0; r < mr; r++) {
                float x = *((const float *)(const void *)((const char *)t->a + t->seg[s]) + (row + r) * t->lda + k);
                for (int j = 0; j < TILE_NR; j++) sum[r][j] += x * b[j];
            }
}

void sdx_gemm_f32_tile_c(const GemmTile *t);
void sdx_gemm_f32_tile_c(const GemmTile *t)
{
    for (size_t p = 0; p < t->npanel; p++)
        for (size_t row = 0; row < t->rows; row += TILE_MR) {
            float sum[TILE_MR][TILE_NR] = { { 0 } };
            size_t mr = t->rows - row < TILE_MR ? t->rows - row : TILE_MR;
            float *part = t->first && t->last ? NULL : t->part + (p * t->rows + row) * TILE_NR;
            if (!t->first) memcpy(sum, part, mr * sizeof sum[0]);
            tile_run(t, row, mr, t->b + p * t->b_panel, sum);
            if (!t->last) {
                memcpy(part, sum, mr * sizeof sum[0]);
                continue;
            }
            size_t col = p * TILE_NR, left = t->cols - col;
            epilogue_block(t->epi, sum[0], TILE_NR, t->c + row * t->ldc + col, t->ldc, row, col, mr,
                           left < TILE_NR ? left : TILE_NR);
        }
}

#define T_ROWS 4
static void transpose_block(float *dst, size_t ldd, const float *src, size_t lds)
{
    for (size_t i = 0; i < 4; i++)
        for (size_t j = 0; j < 4; j++) dst[j * ldd + i] = src[i * lds + j];
}
#include "kern/gemm/transpose_body.h"

void sdx_kern_init_gemm_c(Kern *k);
void sdx_kern_init_gemm_c(Kern *k)
{
    k->gemm_f32_tile = sdx_gemm_f32_tile_c;
    k->transpose_32 = sdx_transpose_32_c;
    k->gemm_f32_mr = TILE_MR;
    k->gemm_f32_nr = TILE_NR;
    k->gemm_f32_kc = 256;
}

#include "kern/isa_end.h"
