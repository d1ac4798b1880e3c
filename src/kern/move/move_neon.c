/* kern/move/move_neon.c - transposes of four bytes by 4x4 register blocks. */
#include "kern/kern.h"

#if SDX_ARCH_ARM
#include <string.h>
#define ISA_NEON
#include "kern/isa_begin.h"

static inline void block_4(uint32_t *y, ptrdiff_t ldy, const uint32_t *x, ptrdiff_t ldx)
{
    uint32x4x2_t ab = vtrnq_u32(vld1q_u32(x), vld1q_u32(x + ldx));
    uint32x4x2_t cd = vtrnq_u32(vld1q_u32(x + 2 * ldx), vld1q_u32(x + 3 * ldx));
    vst1q_u32(y, vcombine_u32(vget_low_u32(ab.val[0]), vget_low_u32(cd.val[0])));
    vst1q_u32(y + ldy, vcombine_u32(vget_low_u32(ab.val[1]), vget_low_u32(cd.val[1])));
    vst1q_u32(y + 2 * ldy, vcombine_u32(vget_high_u32(ab.val[0]), vget_high_u32(cd.val[0])));
    vst1q_u32(y + 3 * ldy, vcombine_u32(vget_high_u32(ab.val[1]), vget_high_u32(cd.val[1])));
}

static void transpose_4(void *y_, ptrdiff_t ldy, const void *x_, ptrdiff_t ldx, size_t rows, size_t cols)
{
    uint32_t *y = y_;
    const uint32_t *x = x_;
    const size_t full_r = rows / 4 * 4, full_c = cols / 4 * 4;
    for (size_t r = 0; r < full_r; r += 4)
        for (size_t c = 0; c < full_c; c += 4)
            block_4(y + (ptrdiff_t)c * ldy + (ptrdiff_t)r, ldy, x + (ptrdiff_t)r * ldx + (ptrdiff_t)c, ldx);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = r < full_r ? full_c : 0; c < cols; c++)
            memcpy(y + (ptrdiff_t)c * ldy + (ptrdiff_t)r, x + (ptrdiff_t)r * ldx + (ptrdiff_t)c, 4);
}

void sdx_kern_init_move_neon(Kern *k);
void sdx_kern_init_move_neon(Kern *k) { k->transpose[2] = transpose_4; }
#include "kern/isa_end.h"
#endif
