/* kern/map/map1_body.h - the loops over kern/map/act_body.h, and the rows they fill. Each function is there once: the
 * last few elements take the same way round. */
#include "kern/map/act_body.h"

#define MAP_CALL0(name) v_##name(v)
#define MAP_CALL1(name) v_##name(v, alpha)
#define MAP_CALL2(name) v_##name(v, alpha, beta)
#define MAP_PARAM0
#define MAP_PARAM1 const vf32 alpha = v_set((float)p->alpha);
#define MAP_PARAM2 MAP_PARAM1 const vf32 beta = v_set((float)p->beta);

#define MAP1(name, params, error, lo, hi)                                                                              \
    static void ISA(map1_##name)(float *y, const float *x, size_t n, const MapParam *p)                                \
    {                                                                                                                  \
        MAP_PARAM##params for (size_t i = 0; i < n; i += VW)                                                           \
        {                                                                                                              \
            const size_t left = n - i;                                                                                 \
            vf32 v = left >= VW ? v_load(x + i) : v_load_n(x + i, left);                                               \
            v = MAP_CALL##params(name);                                                                                \
            if (left >= VW)                                                                                            \
                v_store(y + i, v);                                                                                     \
            else                                                                                                       \
                v_store_n(y + i, v, left);                                                                             \
        }                                                                                                              \
    }
#ifdef ISA_AVX512 /* the others stay with AVX2's */
#define RARE_MAP1(...)
#endif
#include "kern/map/map1.def"
#undef MAP1

void ISA(sdx_kern_init_map1)(Kern *k);
void ISA(sdx_kern_init_map1)(Kern *k)
{
#define MAP1(name, params, error, lo, hi) k->map1_f32[SDX_MAP1_##name] = ISA(map1_##name);
#ifdef ISA_AVX512 /* the others stay with AVX2's */
#define RARE_MAP1(...)
#endif
#include "kern/map/map1.def"
#undef MAP1
}
