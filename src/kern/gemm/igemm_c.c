/* The portable integer product. */
#include "kern/gemm/igemm.h"

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/gemm/igemm_out_body.h"

enum { IT_MR = 4, IT_NR = 16 };

void sdx_igemm_tile_c(const IgemmTile *t);
void sdx_igemm_tile_c(const IgemmTile *t)
{
    for (size_t p = 0; p < t->npanel; p++)
        for (size_t row = 0; row < t->rows; row++) {
            int32_t sum[IT_NR] = { 0 };
            int32_t *part = t->first && t->last ? NULL : t->part + (p * t->rows + row) * IT_NR;
            if (!t->first) memcpy(sum, part, sizeof sum);
            const int8_t *b = (const int8_t *)(t->b + p * t->b_panel);
            for (size_t s = 0; s < t->nseg; s++) {
                const uint8_t *a = t->a + t->seg[s] + row * t->lda;
                for (size_t k = 0; k < t->seglen; k++, a += 4, b += 4 * IT_NR)
                    for (int j = 0; j < IT_NR; j++) {
                        int32_t dot = a[0] * b[4 * j] + a[1] * b[4 * j + 1] + a[2] * b[4 * j + 2] + a[3] * b[4 * j + 3];
                        sum[j] = (int32_t)((uint32_t)sum[j] + (uint32_t)dot);
                    }
            }
            if (!t->last) {
                memcpy(part, sum, sizeof sum);
                continue;
            }
            size_t col = p * IT_NR, left = t->cols - col, size = t->out->kind <= SDX_IOUT_F32 ? 4 : 1;
            iout_block(t->out, sum, IT_NR, (uint8_t *)t->c + (row * t->ldc + col) * size, t->ldc, row, col, 1,
                       left < IT_NR ? left : IT_NR);
        }
}

void sdx_kern_init_igemm_c(Kern *k);
void sdx_kern_init_igemm_c(Kern *k)
{
    k->igemm_tile = sdx_igemm_tile_c;
    k->igemm_out = iout_block;
    k->igemm_widen = igemm_widen;
    k->igemm_whole = igemm_whole;
    k->igemm_mr = IT_MR;
    k->igemm_nr = IT_NR;
    k->igemm_kc = 256;
    k->igemm_group = 4;
    k->igemm_form = SDX_IFORM_U8;
}

#include "kern/isa_end.h"
