/* Sleeping on a word of memory: the kernel's futex on Linux, one mutex and condition elsewhere. */
#ifndef SDX_BASE_FUTEX_H
#define SDX_BASE_FUTEX_H

#include <stdint.h>

/* Sleeps while *word is `expected`, until a wake or `timeout_ns` (0: none). May return early for no reason. */
void sdx_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns);
/* Wakes up to n sleepers of word. The word need not belong to a live object: only its address is used. */
void sdx_futex_wake(uint32_t *word, int n);

/* CLOCK_MONOTONIC in nanoseconds. */
int64_t sdx_now_ns(void);

/* Tells the core that this is a spin loop. */
static inline void sdx_cpu_relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
}

#endif
