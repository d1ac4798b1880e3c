/* kern/map/map2_types.c - the two-input maps of the usual types but f32: kern/map/map2_tmpl.h for each. */
#include "kern/kern.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic", "fp-contract=off")
#endif

#define T double
#define FN(name) name##_f64
#define T_FLOAT 1
#include "kern/map/map2_tmpl.h"

#define T uint8_t
#define UT uint32_t
#define FN(name) name##_u8
#define T_FLOAT 0
#define T_SIGNED 0
#include "kern/map/map2_tmpl.h"

#define T int32_t
#define UT uint32_t
#define FN(name) name##_i32
#define T_FLOAT 0
#define T_SIGNED 1
#include "kern/map/map2_tmpl.h"

#define T int64_t
#define UT uint64_t
#define FN(name) name##_i64
#define T_FLOAT 0
#define T_SIGNED 1
#include "kern/map/map2_tmpl.h"

#define LOGICAL(name, expr)                                                                                            \
    static void name##_u8(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)                           \
    {                                                                                                                  \
        if (mode) {                                                                                                    \
            sdx_map2_spread(name##_u8, 1, 1, y_, a_, b_, n, mode);                                                     \
            return;                                                                                                    \
        }                                                                                                              \
        const uint8_t *pa = a_, *pb = b_;                                                                              \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const bool a = pa[i] != 0, b = pb[i] != 0;                                                                 \
            ((uint8_t *)y_)[i] = expr;                                                                                 \
        }                                                                                                              \
    }
LOGICAL(land, a &b)
LOGICAL(lor, a | b)
LOGICAL(lxor, a ^ b)
#undef LOGICAL

void sdx_kern_init_map2_types_c(Kern *k);
void sdx_kern_init_map2_types_c(Kern *k)
{
#define SET(t, name) k->map2[SDX_K_##t][SDX_MAP2_##name] = name##_##t;
#define SET_F(name) SET(f64, name)
#define SET_I(name) SET(u8, name) SET(i32, name) SET(i64, name)
#define SET_N(name) SET_F(name) SET_I(name)
#define SET_B(name) SET(u8, name)
#define MAP2(name, types, result) SET_##types(name)
#include "kern/map/map2.def"
#undef MAP2
#undef SET_B
#undef SET_N
#undef SET_I
#undef SET_F
#undef SET
}

void sdx_map2_spread(Map2 *f, size_t in, size_t out, void *y, const void *a, const void *b, size_t n, unsigned mode)
{
    unsigned char one_a[512], one_b[512];
    size_t block = sizeof one_a / in;
    if (block > n) block = n;
    for (size_t i = 0; i < block; i++) {
        if (mode & SDX_A_ONE) memcpy(one_a + i * in, a, in);
        if (mode & SDX_B_ONE) memcpy(one_b + i * in, b, in);
    }
    for (size_t i = 0; i < n; i += block) {
        size_t m = n - i < block ? n - i : block;
        f((char *)y + i * out, mode & SDX_A_ONE ? (const void *)one_a : (const char *)a + i * in,
          mode & SDX_B_ONE ? (const void *)one_b : (const char *)b + i * in, m, 0);
    }
}

const char *sdx_map2_name(unsigned map)
{
    static const char *const names[] = {
#define MAP2(name, types, result) #name,
#include "kern/map/map2.def"
#undef MAP2
    };
    return map < SDX_MAP2_COUNT ? names[map] : NULL;
}
