#include "tests/bench/peak.h"

#include <time.h>

#include "base/cpu.h"

#define PEAK_ROUNDS 20000

/* Twelve chains: more than latency times ports of any core we know. */
#define PEAK_LOOP(name, V, set, fma)                                                                                   \
    static float name(void)                                                                                            \
    {                                                                                                                  \
        V s[12], x = set(0.999f), y = set(1e-3f);                                                                      \
        for (int i = 0; i < 12; i++) s[i] = set((float)i);                                                             \
        for (int n = 0; n < PEAK_ROUNDS; n++)                                                                          \
            _Pragma("GCC unroll 16") for (int i = 0; i < 12; i++) s[i] = fma(s[i], x, y);                              \
        _Pragma("GCC unroll 16") for (int i = 1; i < 12; i++) s[0] = fma(s[0], s[i], y);                               \
        return *(float *)&s[0];                                                                                        \
    }

#if SDX_ARCH_X86
#define ISA_AVX2
#include "kern/isa_begin.h"
PEAK_LOOP(peak_avx2, __m256, _mm256_set1_ps, _mm256_fmadd_ps)
#include "kern/isa_end.h"
#define ISA_AVX512
#include "kern/isa_begin.h"
PEAK_LOOP(peak_avx512, __m512, _mm512_set1_ps, _mm512_fmadd_ps)
#include "kern/isa_end.h"
#elif SDX_ARCH_ARM
#define ISA_NEON
#include "kern/isa_begin.h"
#define PEAK_FMA(a, b, c) vfmaq_f32(c, a, b)
PEAK_LOOP(peak_neon, float32x4_t, vdupq_n_f32, PEAK_FMA)
#include "kern/isa_end.h"
#endif

#define PEAK_SET(x) (x)
#define PEAK_MULADD(a, b, c) ((a) * (b) + (c))
PEAK_LOOP(peak_c, float, PEAK_SET, PEAK_MULADD)

double sdx_bench_peak_f32(unsigned level)
{
    float (*loop)(void) = peak_c;
    unsigned lanes = 1;
#if SDX_ARCH_X86
    if (level >= SDX_CPU_AVX2) loop = peak_avx2, lanes = 8;
    if (level >= SDX_CPU_AVX512) loop = peak_avx512, lanes = 16;
#elif SDX_ARCH_ARM
    if (level >= SDX_CPU_NEON) loop = peak_neon, lanes = 4;
#endif
    static volatile float sink;
    double best = 1e9;
    for (int i = 0; i < 10; i++) {
        struct timespec t0, t1;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t0);
        sink = loop();
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t1);
        double s = (double)(t1.tv_sec - t0.tv_sec) + 1e-9 * (double)(t1.tv_nsec - t0.tv_nsec);
        if (s < best) best = s;
    }
    (void)sink;
    return 2e-9 * 12 * lanes * PEAK_ROUNDS / best;
}
