/* kern/gemm/epilogue_body.h - kern/gemm/epilogue.h in the vocabulary of kern/simd/.
 *
 * Tiles apply the simple epilogues to registers; epilogue_block does any, on a block of sums in memory. */
#ifndef SDX_KERN_GEMM_EPILOGUE_BODY_H
#define SDX_KERN_GEMM_EPILOGUE_BODY_H

#include "kern/gemm/epilogue.h"
#include "kern/map/act_body.h"

/* Is the add done before the activation? */
V_INLINE bool epilogue_adds_early(const Epilogue *e) { return e->add && !(e->add_last && e->act != SDX_ACT_NONE); }

/* Bias per column, clamp: what a tile does itself. */
V_INLINE bool epilogue_is_simple(const Epilogue *e)
{
    return e->alpha == 1 && !e->bias_by_row && e->act <= SDX_ACT_CLIP && !e->add;
}

/* Sums y of rows row.. and columns col.. to c. Overwrites y. In kern/gemm/epilogue_block_body.h. */
#define epilogue_block V_NAME(sdx_epilogue_block)
void epilogue_block(const Epilogue *e, float *y, size_t ldy, float *c, size_t ldc, size_t row, size_t col, size_t rows,
                    size_t cols);

#endif
