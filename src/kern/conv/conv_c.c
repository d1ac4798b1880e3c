#include "kern/kern.h"

#if SDX_ARCH_ANY
#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"

#include "kern/conv/depthwise_body.h"
#include "kern/conv/winograd_body.h"

void sdx_kern_init_conv_c(Kern *k);
void sdx_kern_init_conv_c(Kern *k)
{
    k->depthwise_f32 = sdx_depthwise_f32_c;
    k->winograd_input = sdx_winograd_input_c;
    k->winograd_output = sdx_winograd_output_c;
}

#include "kern/isa_end.h"
#endif
