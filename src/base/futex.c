#include "base/futex.h"

#include <time.h>

#if defined(__linux__)
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#else
#include <pthread.h>
#endif

int64_t sdx_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#if defined(__linux__)

void sdx_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    struct timespec t = { .tv_sec = timeout_ns / 1000000000, .tv_nsec = timeout_ns % 1000000000 };
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns ? &t : NULL, NULL, 0);
}

void sdx_futex_wake(uint32_t *word, int n) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0); }

#else

/* One queue for all words: a wake rouses everybody, and who is not meant goes back to sleep. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;

void sdx_futex_wait(uint32_t *word, uint32_t expected, int64_t timeout_ns)
{
    pthread_mutex_lock(&mutex);
    if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == expected) {
        if (timeout_ns) {
            struct timespec t;
            clock_gettime(CLOCK_REALTIME, &t);
            int64_t ns = t.tv_nsec + timeout_ns;
            t.tv_sec += ns / 1000000000;
            t.tv_nsec = ns % 1000000000;
            pthread_cond_timedwait(&cond, &mutex, &t);
        } else {
            pthread_cond_wait(&cond, &mutex);
        }
    }
    pthread_mutex_unlock(&mutex);
}

void sdx_futex_wake(uint32_t *word, int n)
{
    (void)word;
    (void)n;
    pthread_mutex_lock(&mutex);
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
}

#endif
