#include "kern/gemm/igemm.h"

#if SDX_ARCH_X86
#define ISA_AVX512
#include "kern/isa_begin.h"
#include "kern/simd/avx512.h"

/* Pairs of int16: exact for any operands. */
V_INLINE vi32 it_dot(vi32 acc, vi32 a, vi32 b) { return vi_add(acc, _mm512_madd_epi16(a, b)); }

#define IT_MR 14
#define IT_NV 2
#define IT_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#include "kern/gemm/igemm_body.h"

void sdx_kern_init_igemm_avx512(Kern *k);
void sdx_kern_init_igemm_avx512(Kern *k)
{
    k->igemm_tile = sdx_igemm_tile_avx512;
    k->igemm_out = iout_block;
    k->igemm_widen = igemm_widen;
    k->igemm_whole = igemm_whole;
    k->igemm_mr = IT_MR;
    k->igemm_nr = IT_NR;
    k->igemm_kc = 768;
    k->igemm_group = 2;
    k->igemm_form = SDX_IFORM_S16;
}

#include "kern/isa_end.h"
#endif
