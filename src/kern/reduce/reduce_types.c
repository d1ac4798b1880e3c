/* kern/reduce/reduce_types.c - reductions of every type but f32: kern/reduce/reduce_tmpl.h for each. */
#include "kern/kern.h"

#include <math.h>

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("tree-vectorize", "fp-contract=off")
#endif

#define T double
#define A double
#define FN(name) name##_f64
#define T_LEAST -INFINITY
#define T_MOST INFINITY
#define T_FLOAT 1
#define T_SUMS 1
#include "kern/reduce/reduce_tmpl.h"

#define T int8_t
#define FN(name) name##_i8
#define T_LEAST INT8_MIN
#define T_MOST INT8_MAX
#define T_FLOAT 0
#define T_SUMS 0
#include "kern/reduce/reduce_tmpl.h"

#define T uint8_t
#define FN(name) name##_u8
#define T_LEAST 0
#define T_MOST UINT8_MAX
#define T_FLOAT 0
#define T_SUMS 0
#include "kern/reduce/reduce_tmpl.h"

#define T int16_t
#define FN(name) name##_i16
#define T_LEAST INT16_MIN
#define T_MOST INT16_MAX
#define T_FLOAT 0
#define T_SUMS 0
#include "kern/reduce/reduce_tmpl.h"

#define T uint16_t
#define FN(name) name##_u16
#define T_LEAST 0
#define T_MOST UINT16_MAX
#define T_FLOAT 0
#define T_SUMS 0
#include "kern/reduce/reduce_tmpl.h"

#define T int32_t
#define A uint32_t
#define MEAN_T int64_t
#define FN(name) name##_i32
#define T_LEAST INT32_MIN
#define T_MOST INT32_MAX
#define T_FLOAT 0
#define T_SUMS 1
#include "kern/reduce/reduce_tmpl.h"

#define T uint32_t
#define A uint32_t
#define MEAN_T uint64_t
#define FN(name) name##_u32
#define T_LEAST 0
#define T_MOST UINT32_MAX
#define T_FLOAT 0
#define T_SUMS 1
#include "kern/reduce/reduce_tmpl.h"

#define T int64_t
#define A uint64_t
#define MEAN_T int64_t
#define FN(name) name##_i64
#define T_LEAST INT64_MIN
#define T_MOST INT64_MAX
#define T_FLOAT 0
#define T_SUMS 1
#include "kern/reduce/reduce_tmpl.h"

#define T uint64_t
#define A uint64_t
#define MEAN_T uint64_t
#define FN(name) name##_u64
#define T_LEAST 0
#define T_MOST UINT64_MAX
#define T_FLOAT 0
#define T_SUMS 1
#include "kern/reduce/reduce_tmpl.h"

static void logsumexp_f64(void *y_, const void *x_, size_t outer, size_t n, size_t inner, size_t ld)
{
    double *y = y_;
    const double *x = x_;
    max_f64(y, x, outer, n, inner, ld);
    for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)
        for (size_t j = 0; j < inner; j++) {
            const double shift = fabs(y[j]) < INFINITY ? y[j] : 0;
            double s = 0;
            for (size_t i = 0; i < n; i++) s += exp(x[i * ld + j] - shift);
            y[j] = log(s) + shift;
        }
}

void sdx_kern_init_reduce_types_c(Kern *k);
void sdx_kern_init_reduce_types_c(Kern *k)
{
#define SET(t, name) k->reduce[SDX_K_##t][SDX_REDUCE_##name] = name##_##t;
#define SET_F(name) SET(f64, name)
#define SET_N(name) SET_F(name) SET(i32, name) SET(u32, name) SET(i64, name) SET(u64, name)
#define SET_A(name) SET_N(name) SET(i8, name) SET(u8, name) SET(i16, name) SET(u16, name)
#define REDUCE(name, types, empty) SET_##types(name)
#include "kern/reduce/reductions.def"
#undef REDUCE
#undef SET_F
#undef SET_N
#undef SET_A
#undef SET
#define SET(t) k->argmax[SDX_K_##t] = argmax_##t, k->argmin[SDX_K_##t] = argmin_##t;
    SET(f64) SET(i8) SET(u8) SET(i16) SET(u16) SET(i32) SET(u32) SET(i64) SET(u64)
#undef SET
}

const char *sdx_reduce_name(unsigned reduction)
{
    static const char *const names[] = {
#define REDUCE(name, types, empty) #name,
#include "kern/reduce/reductions.def"
#undef REDUCE
    };
    return reduction < SDX_REDUCE_COUNT ? names[reduction] : NULL;
}
