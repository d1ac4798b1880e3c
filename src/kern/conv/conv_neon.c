#include "kern/kern.h"

#if SDX_ARCH_ARM
#define ISA_NEON
#include "kern/isa_begin.h"
#include "kern/simd/neon.h"

#include "kern/conv/depthwise_body.h"
#include "kern/conv/winograd_body.h"

void sdx_kern_init_conv_neon(Kern *k);
void sdx_kern_init_conv_neon(Kern *k)
{
    k->depthwise_f32 = sdx_depthwise_f32_neon;
    k->winograd_input = sdx_winograd_input_neon;
    k->winograd_output = sdx_winograd_output_neon;
}

#include "kern/isa_end.h"
#endif
