#include "kern/kern.h"

#if SDX_ARCH_ARM
#define ISA_NEON
#include "kern/isa_begin.h"

/* Products of bytes below 16 with bytes fit int16 by twos. */
static float dot_nibbles(const DotNibbles *d)
{
    const uint8_t *q = d->q;
    const int8_t *a = d->a;
    float32x4_t sum = vdupq_n_f32(0);
    for (size_t b = 0; b < d->blocks; b++) {
        int32x4_t s = vdupq_n_s32(0);
        for (size_t i = 0; i < d->bytes; i += 16, q += 16, a += 32) {
            const uint8x16_t x = vld1q_u8(q);
            const int8x16_t low = vreinterpretq_s8_u8(vandq_u8(x, vdupq_n_u8(15)));
            const int8x16_t high = vreinterpretq_s8_u8(vshrq_n_u8(x, 4));
            const int8x16_t even = vld1q_s8(a), odd = vld1q_s8(a + 16);
            s = vpadalq_s16(
                s, vmlal_s8(vmull_s8(vget_low_s8(low), vget_low_s8(even)), vget_low_s8(high), vget_low_s8(odd)));
            s = vpadalq_s16(s, vmlal_high_s8(vmull_high_s8(low, even), high, odd));
        }
        sum = vfmaq_n_f32(sum, vcvtq_f32_s32(s), d->scale[b] * d->a_scale[b]);
    }
    return vaddvq_f32(sum);
}

void ISA(sdx_kern_init_nibbles)(Kern *k);
void ISA(sdx_kern_init_nibbles)(Kern *k) { k->dot_nibbles_i8 = dot_nibbles; }

#include "kern/isa_end.h"
#endif
