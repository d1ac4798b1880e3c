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

/* Select, by element size. One loop for all modes: strides 0 and 1. */
#define WHERE(size, type)                                                                         \
    static void where_##size(void *y_, const uint8_t *cond, const void *a_, const void *b_, size_t n, unsigned mode) \
    {                                                                                             \
        type *y = y_;                                                                             \
        const type *a = a_, *b = b_;                                                              \
        const size_t sa = mode & SDX_A_ONE ? 0 : 1, sb = mode & SDX_B_ONE ? 0 : 1;                \
        for (size_t i = 0; i < n; i++) y[i] = *(cond[i] ? a + i * sa : b + i * sb);               \
    }
typedef struct Bytes16 {
    uint64_t half[2];
} Bytes16;
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)
WHERE(16, Bytes16)

void sdx_kern_init_map2_only_c(Kern *k);
void sdx_kern_init_map2_only_c(Kern *k)
{
    k->map2[SDX_K_f32][SDX_MAP2_fmod] = fmod_f32;
    k->map2[SDX_K_f32][SDX_MAP2_mod] = mod_f32;
    k->where[0] = where_1;
    k->where[1] = where_2;
    k->where[2] = where_4;
    k->where[3] = where_8;
    k->where[4] = where_16;
}

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/map/map2_body.h"
#include "kern/isa_end.h"
