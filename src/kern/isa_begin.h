/* kern/isa_begin.h - compile the rest of this file for one instruction set.
 *
 * Define exactly one of ISA_C, ISA_AVX2, ISA_AVX512, ISA_AVX512VNNI, ISA_AMX, ISA_NEON, ISA_DOTPROD, ISA_I8MM,
 * include the headers of other folders, then this file; end with kern/isa_end.h:
 *
 *     #include "kern/kern.h"
 *     #if SDX_ARCH_X86
 *     #define ISA_AVX2
 *     #include "kern/isa_begin.h"
 *     ...
 *     #include "kern/isa_end.h"
 *     #endif
 *
 * The flags live here and not in the build, so that `cc src/x.c` builds every file. Contraction is
 * off: a*b+c rounds twice unless the source says fma. ISA() appends the level to a name:
 * void ISA(sdx_relu_f32)(...) defines sdx_relu_f32_avx2.
 *
 * No include guard: one file may hold several sections, one after the other.
 */
#include <stddef.h>
#include <stdint.h>

#if defined(ISA_C)
#define ISA_SUFFIX c
#elif defined(ISA_AVX2)
#include <immintrin.h>
#define ISA_SUFFIX avx2
#define ISA_TARGET "avx2,fma,f16c,bmi,bmi2"
#elif defined(ISA_AVX512)
#include <immintrin.h>
#define ISA_SUFFIX avx512
#define ISA_TARGET "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl"
#elif defined(ISA_AVX512VNNI)
#include <immintrin.h>
#define ISA_SUFFIX avx512vnni
#define ISA_TARGET "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"
#elif defined(ISA_AMX)
#include <immintrin.h>
#define ISA_SUFFIX amx
#define ISA_TARGET "avx2,fma,f16c,bmi,bmi2,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,amx-tile,amx-int8"
#elif defined(ISA_NEON)
#include <arm_neon.h>
#define ISA_SUFFIX neon
#elif defined(ISA_DOTPROD)
#include <arm_neon.h>
#define ISA_SUFFIX dotprod
#ifdef __clang__
#define ISA_TARGET "dotprod"
#else
#define ISA_TARGET "arch=armv8.2-a+dotprod"
#endif
#elif defined(ISA_I8MM)
#include <arm_neon.h>
#define ISA_SUFFIX i8mm
#ifdef __clang__
#define ISA_TARGET "dotprod,i8mm"
#else
#define ISA_TARGET "arch=armv8.2-a+dotprod+i8mm"
#endif
#else
#error "define one ISA_<level> before including kern/isa_begin.h"
#endif

#define ISA_PASTE2(name, suffix) name##_##suffix
#define ISA_PASTE(name, suffix) ISA_PASTE2(name, suffix)
#define ISA(name) ISA_PASTE(name, ISA_SUFFIX)

#define ISA_PRAGMA2(text) _Pragma(#text)
#define ISA_PRAGMA(text) ISA_PRAGMA2(text)

#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#ifdef ISA_TARGET
ISA_PRAGMA(clang attribute push(__attribute__((target(ISA_TARGET))), apply_to = function))
#endif
#else
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#ifdef ISA_TARGET
ISA_PRAGMA(GCC target ISA_TARGET)
#endif
#endif
