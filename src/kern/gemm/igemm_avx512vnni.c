#include "kern/gemm/igemm.h"

#if SDX_ARCH_X86
#define ISA_AVX512VNNI
#include "kern/isa_begin.h"
#include "kern/simd/avx512.h"

V_INLINE vi32 it_dot(vi32 acc, vi32 a, vi32 b) { return _mm512_dpbusd_epi32(acc, a, b); }

#define IT_MR 14
#define IT_NV 2
#define IT_ROWS(X) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14)
#include "kern/gemm/igemm_body.h"

void sdx_kern_init_igemm_avx512vnni(Kern *k);
void sdx_kern_init_igemm_avx512vnni(Kern *k)
{
    k->igemm_tile = sdx_igemm_tile_avx512vnni;
    k->igemm_out = iout_block;
    k->igemm_widen = igemm_widen;
    k->igemm_whole = igemm_whole;
    k->igemm_mr = IT_MR;
    k->igemm_nr = IT_NR;
    k->igemm_kc = 768;
    k->igemm_group = 4;
    k->igemm_form = SDX_IFORM_U8;
}

#include "kern/isa_end.h"
#endif
