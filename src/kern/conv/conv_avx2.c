#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
#include "kern/simd/avx2.h"

#include "kern/conv/depthwise_body.h"
#include "kern/conv/winograd_body.h"

void sdx_kern_init_conv_avx2(Kern *k);
void sdx_kern_init_conv_avx2(Kern *k)
{
    k->depthwise_f32 = sdx_depthwise_f32_avx2;
    k->winograd_input = sdx_winograd_input_avx2;
    k->winograd_output = sdx_winograd_output_avx2;
}

#include "kern/isa_end.h"
#endif
