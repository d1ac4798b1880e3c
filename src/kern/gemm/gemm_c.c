#include "kern/kern.h"
#define ISA_C
#include "kern/isa_begin.h"

void sdx_kern_init_gemm_c(Kern *k);
void sdx_kern_init_gemm_c(Kern *k)
{
    k->gemm_f32_mr = 4;
    k->gemm_f32_nr = 16;
}

#include "kern/isa_end.h"
