#include "kern/gemm/igemm.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
#include "kern/simd/avx2.h"

/* Pairs of int16: exact for any operands. */
V_INLINE vi32 it_dot(vi32 acc, vi32 a, vi32 b) { return vi_add(acc, _mm256_madd_epi16(a, b)); }

#define IT_MR 6
#define IT_NV 2
#define IT_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6)
#include "kern/gemm/igemm_body.h"

void sdx_kern_init_igemm_avx2(Kern *k);
void sdx_kern_init_igemm_avx2(Kern *k)
{
    k->igemm_tile = sdx_igemm_tile_avx2;
    k->igemm_out = iout_block;
    k->igemm_widen = igemm_widen;
    k->igemm_whole = igemm_whole;
    k->igemm_mr = IT_MR;
    k->igemm_nr = IT_NR;
    k->igemm_kc = 384;
    k->igemm_group = 2;
    k->igemm_form = SDX_IFORM_S16;
}

#include "kern/isa_end.h"
#endif
