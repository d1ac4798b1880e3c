#include "kern/kern.h"

#if SDX_ARCH_X86
#define ISA_AVX512
#include "kern/isa_begin.h"
#include "kern/simd/avx512.h"

#include "kern/conv/depthwise_body.h"
#include "kern/conv/winograd_body.h"

void sdx_kern_init_conv_avx512(Kern *k);
void sdx_kern_init_conv_avx512(Kern *k)
{
    k->depthwise_f32 = sdx_depthwise_f32_avx512;
    k->winograd_input = sdx_winograd_input_avx512;
    k->winograd_output = sdx_winograd_output_avx512;
}

#include "kern/isa_end.h"
#endif
