/* kern/map/map2_rare.c - the two-input maps of integers that models seldom compute with, in plain loops: for size. */
#include "kern/kern.h"

#include <string.h>

#define T int8_t
#define UT uint32_t
#define FN(name) name##_i8
#define T_FLOAT 0
#define T_SIGNED 1
#include "kern/map/map2_tmpl.h"

#define T int16_t
#define UT uint32_t
#define FN(name) name##_i16
#define T_FLOAT 0
#define T_SIGNED 1
#include "kern/map/map2_tmpl.h"

#define T uint16_t
#define UT uint32_t
#define FN(name) name##_u16
#define T_FLOAT 0
#define T_SIGNED 0
#include "kern/map/map2_tmpl.h"

#define T uint32_t
#define UT uint32_t
#define FN(name) name##_u32
#define T_FLOAT 0
#define T_SIGNED 0
#include "kern/map/map2_tmpl.h"

#define T uint64_t
#define UT uint64_t
#define FN(name) name##_u64
#define T_FLOAT 0
#define T_SIGNED 0
#include "kern/map/map2_tmpl.h"

void sdx_kern_init_map2_rare_c(Kern *k);
void sdx_kern_init_map2_rare_c(Kern *k)
{
#define SET(t, name) k->map2[SDX_K_##t][SDX_MAP2_##name] = name##_##t;
#define SET_F(name)
#define SET_I(name) SET(i8, name) SET(i16, name) SET(u16, name) SET(u32, name) SET(u64, name)
#define SET_N(name) SET_I(name)
#define SET_B(name)
#define MAP2(name, types, result) SET_##types(name)
#include "kern/map/map2.def"
#undef MAP2
#undef SET_B
#undef SET_N
#undef SET_I
#undef SET_F
#undef SET
}
