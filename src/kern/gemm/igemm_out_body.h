/* kern/gemm/igemm_out_body.h - from int32 sums to results, in the vocabulary of kern/simd/. */
#include "kern/gemm/epilogue_body.h"
#include "kern/gemm/igemm_tile.h"

static void igemm_widen(int16_t *dst, const void *src, bool is_signed, size_t n)
{
    const uint8_t *x = src;
    size_t i = 0;
    for (; n - i >= VW; i += VW)
        vi_store_16(dst + i, is_signed ? vi_load_i8((const int8_t *)x + i) : vi_load_u8(x + i));
    for (; i < n; i++) dst[i] = is_signed ? (int8_t)x[i] : x[i];
}

static void igemm_whole(float *x, size_t n)
{
    for (size_t i = 0; i < n; i += VW) {
        size_t m = n - i < VW ? n - i : VW;
        v_store_n(x + i, v_asfloat(v_to_int(v_load_n(x + i, m))), m);
    }
}

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

/* Columns [j, j+n), n <= VW, of every row: what belongs to a column is loaded once. */
V_INLINE void iout_columns(const IgemmOut *o, int32_t *y, size_t ldy, void *c, size_t ldc, size_t row, size_t col,
                           size_t rows, size_t j, const size_t n)
{
    const vf32 lo = v_set((float)(o->lo - o->zero)), hi = v_set((float)(o->hi - o->zero));
    const vi32 zero = vi_set(o->zero), shift = o->col ? vi_load_n(o->col + col + j, n) : vi_set(0);
    const vi32 b_zero = o->b_zero ? vi_load_n(o->b_zero + col + j, n) : vi_set(0);
    vf32 scale = v_set(1);
    if (o->kind != SDX_IOUT_I32) scale = o->one_scale ? v_set(*o->scale) : v_load_n(o->scale + col + j, n);
    for (size_t r = 0; r < rows; r++) {
        int32_t *p = y + r * ldy + j;
        vi32 v = vi_add(n == VW ? vi_load(p) : vi_load_n(p, n), shift);
        if (o->b_zero) v = vi_sub(v, vi_mul(vi_set(o->row_sum[row + r]), b_zero));
        if (o->kind == SDX_IOUT_I32) {
            int32_t *to = (int32_t *)c + r * ldc + j;
            if (n == VW)
                vi_store(to, v);
            else
                vi_store_n(to, v, n);
            continue;
        }
        vf32 f = v_mul(v_from_int(v), scale);
        if (o->kind == SDX_IOUT_F32)
            vi_store_n(p, v_asint(f), n);
        else
            iout_store_8((uint8_t *)c + r * ldc + j, vi_add(v_to_int(v_clamp(f, lo, hi)), zero), n);
    }
}

/* Sums y (row stride ldy) of rows row.., columns col.. to c, whose first element is theirs. Overwrites y. */
#define iout_block ISA(sdx_iout_block)
void iout_block(const IgemmOut *o, int32_t *y, size_t ldy, void *c, size_t ldc, size_t row, size_t col, size_t rows,
                size_t cols);
void iout_block(const IgemmOut *o, int32_t *y, size_t ldy, void *c, size_t ldc, size_t row, size_t col, size_t rows,
                size_t cols)
{
    size_t j = 0;
    for (; cols - j >= VW; j += VW) iout_columns(o, y, ldy, c, ldc, row, col, rows, j, VW);
    if (j < cols) iout_columns(o, y, ldy, c, ldc, row, col, rows, j, cols - j);
    if (o->kind == SDX_IOUT_F32)
        epilogue_block(&o->epi, (float *)(void *)y, ldy, (float *)c, ldc, row, col, rows, cols);
}
