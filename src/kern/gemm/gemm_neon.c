#include "kern/kern.h"

#if SDX_ARCH_ARM
#define ISA_NEON
#include "kern/isa_begin.h"
#include "kern/simd/neon.h"

#define TILE_MR 6
#define TILE_NV 4
#define TILE_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "kern/gemm/tile_body.h"
#include "kern/gemm/epilogue_block_body.h"

#define T_ROWS 4
V_INLINE void transpose_block(float *dst, size_t ldd, const float *src, size_t lds)
{
    float32x4x2_t ab = vtrnq_f32(vld1q_f32(src), vld1q_f32(src + lds));
    float32x4x2_t cd = vtrnq_f32(vld1q_f32(src + 2 * lds), vld1q_f32(src + 3 * lds));
    vst1q_f32(dst, vcombine_f32(vget_low_f32(ab.val[0]), vget_low_f32(cd.val[0])));
    vst1q_f32(dst + ldd, vcombine_f32(vget_low_f32(ab.val[1]), vget_low_f32(cd.val[1])));
    vst1q_f32(dst + 2 * ldd, vcombine_f32(vget_high_f32(ab.val[0]), vget_high_f32(cd.val[0])));
    vst1q_f32(dst + 3 * ldd, vcombine_f32(vget_high_f32(ab.val[1]), vget_high_f32(cd.val[1])));
}
#include "kern/gemm/transpose_body.h"

void sdx_kern_init_gemm_neon(Kern *k);
void sdx_kern_init_gemm_neon(Kern *k)
{
    k->gemm_f32_tile = sdx_gemm_f32_tile_neon;
    k->transpose_32 = sdx_transpose_32_neon;
    k->gemm_f32_mr = TILE_MR;
    k->gemm_f32_nr = TILE_NR;
    k->gemm_f32_kc = 384;
}

#include "kern/isa_end.h"
#endif
