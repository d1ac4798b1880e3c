/* kern/gemm/igemm_out_body.h - from int32 sums to results, in the vocabulary of kern/simd/. */
#include "kern/gemm/epilogue_body.h"
#include "kern/gemm/igemm_tile.h"

/* n <= VW lanes to memory that may be any of the output types. */
V_INLINE void iout_store_8(uint8_t *c, vi32 v, size_t n)
{
    if (n == VW) {
        vi_store_8(c, v);
        return;
    }
    uint8_t lane[VW];
    vi_store_8(lane, v);
    memcpy(c, lane, n);
}

/* Sums y (row stride ldy) of rows row.., columns col.. to c, whose first element is theirs. Overwrites y. */
static __attribute__((noinline)) void iout_block(const IgemmOut *o, int32_t *y, size_t ldy, void *c, size_t ldc,
                                                 size_t row, size_t col, size_t rows, size_t cols)
{
    const vf32 lo = v_set((float)(o->lo - o->zero)), hi = v_set((float)(o->hi - o->zero));
    const vi32 zero = vi_set(o->zero);
    for (size_t r = 0; r < rows; r++) {
        vi32 sum_a = vi_set(o->b_zero ? o->row_sum[row + r] : 0);
        for (size_t j = 0; j < cols; j += VW) {
            size_t n = cols - j < VW ? cols - j : VW;
            int32_t *p = y + r * ldy + j;
            vi32 v = vi_load_n(p, n);
            if (o->col) v = vi_add(v, vi_load_n(o->col + col + j, n));
            if (o->b_zero) v = vi_sub(v, vi_mul(sum_a, vi_load_n(o->b_zero + col + j, n)));
            if (o->kind == SDX_IOUT_I32) {
                vi_store_n((int32_t *)c + r * ldc + j, v, n);
                continue;
            }
            vf32 scale = o->one_scale ? v_set(*o->scale) : v_load_n(o->scale + col + j, n);
            vf32 f = v_mul(v_from_int(v), scale);
            if (o->kind == SDX_IOUT_F32) {
                vi_store_n(p, v_asint(f), n);
            } else {
                iout_store_8((uint8_t *)c + r * ldc + j, vi_add(v_to_int(v_clamp(f, lo, hi)), zero), n);
            }
        }
    }
    if (o->kind == SDX_IOUT_F32)
        epilogue_block(&o->epi, (float *)(void *)y, ldy, (float *)c, ldc, row, col, rows, cols);
}
