#include "kern/kern.h"

static float dot_nibbles(const DotNibbles *d)
{
    const uint8_t *q = d->q;
    const int8_t *a = d->a;
    float sum = 0;
    for (size_t b = 0; b < d->blocks; b++) {
        int32_t dot = 0;
        for (size_t i = 0; i < d->bytes; i += 16, q += 16, a += 32)
            for (size_t k = 0; k < 16; k++) dot += (q[k] & 15) * a[k] + (q[k] >> 4) * a[16 + k];
        sum += (float)dot * (d->scale[b] * d->a_scale[b]);
    }
    return sum;
}

void sdx_kern_init_nibbles_c(Kern *k);
void sdx_kern_init_nibbles_c(Kern *k) { k->dot_nibbles_i8 = dot_nibbles; }
