#include "kern/kern.h"

#include <math.h>

/* No instruction set helps with these. */
static void fmod_f32(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)
{
    float *y = y_;
    const float *a = a_, *b = b_;
    size_t sa = mode & SDX_A_ONE ? 0 : 1, sb = mode & SDX_B_ONE ? 0 : 1;
    for (size_t i = 0; i < n; i++) y[i] = fmodf(a[i * sa], b[i * sb]);
}
static void mod_f32(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)
{
    float *y = y_;
    const float *a = a_, *b = b_;
    size_t sa = mode & SDX_A_ONE ? 0 : 1, sb = mode & SDX_B_ONE ? 0 : 1;
    for (size_t i = 0; i < n; i++) {
        float d = b[i * sb], r = fmodf(a[i * sa], d);
        y[i] = r == 0 ? copysignf(0, d) : (r < 0) != (d < 0) ? r + d : r;
    }
}

void sdx_kern_init_map2_only_c(Kern *k);
void sdx_kern_init_map2_only_c(Kern *k)
{
    k->map2[SDX_K_f32][SDX_MAP2_fmod] = fmod_f32;
    k->map2[SDX_K_f32][SDX_MAP2_mod] = mod_f32;
}

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/map/map2_body.h"
#include "kern/isa_end.h"
