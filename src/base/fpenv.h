/* base/fpenv.h - flushing subnormals to zero, per thread.
 *
 * Multiply-accumulate kernels may run with subnormal operands and results treated as zero: models hold
 * many, and each costs a hundred cycles. The state belongs to the calling thread, so every worker sets
 * it for itself and every entry point restores what its caller had:
 *
 *     FpEnv caller = sdx_fpenv_save();
 *     sdx_fpenv_flush(true);  ...  sdx_fpenv_flush(false);
 *     sdx_fpenv_restore(caller);
 *
 * Where the hardware cannot flush, these do nothing.
 */
#ifndef SDX_BASE_FPENV_H
#define SDX_BASE_FPENV_H

#include <stdbool.h>
#include <stdint.h>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

typedef struct FpEnv {
    uint64_t word;
} FpEnv;

static inline FpEnv sdx_fpenv_save(void)
{
    FpEnv env = { 0 };
#if defined(__SSE__)
    env.word = _mm_getcsr();
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(env.word));
#endif
    return env;
}

static inline void sdx_fpenv_restore(FpEnv env)
{
#if defined(__SSE__)
    _mm_setcsr((unsigned)env.word);
#elif defined(__aarch64__)
    __asm__ volatile("msr fpcr, %0" : : "r"(env.word));
#else
    (void)env;
#endif
}

/* Rounding to nearest, no traps, subnormals kept: the state in which runs work. */
static inline void sdx_fpenv_default(void)
{
#if defined(__SSE__)
    sdx_fpenv_restore((FpEnv){ 0x1f80 });
#else
    sdx_fpenv_restore((FpEnv){ 0 });
#endif
}

static inline void sdx_fpenv_flush(bool on)
{
#if defined(__SSE__)
    const uint64_t bits = 0x8040; /* MXCSR: flush to zero, denormals are zero */
#elif defined(__aarch64__)
    const uint64_t bits = 1u << 24; /* FPCR.FZ: both */
#else
    const uint64_t bits = 0;
#endif
    FpEnv env = sdx_fpenv_save();
    uint64_t word = on ? env.word | bits : env.word & ~bits;
    if (word == env.word) return; /* writing drains the pipeline */
    env.word = word;
    sdx_fpenv_restore(env);
}

#endif
