/* Locks for short sections that survive fork.
 *
 * Every lock is listed while it lives; fork takes them all first, so the child finds what they guard whole, and gets
 * them free. For that to be free of deadlock they are leaves: nobody takes one while holding another, and nobody
 * forks while holding one. */
#ifndef SDX_BASE_LOCK_H
#define SDX_BASE_LOCK_H

#include "base/status.h"

typedef struct Lock {
    uint32_t word; /* 0 free, 1 held, 2 held and somebody waits */
    struct Lock *prev, *next;
    void (*forked)(struct Lock *l); /* called in the child; may be NULL */
} Lock;

void sdx_lock_init(Lock *l, void (*forked)(Lock *l));
void sdx_lock_fini(Lock *l);

void sdx_lock_slow(Lock *l);
void sdx_unlock_slow(Lock *l);

static inline void sdx_lock(Lock *l)
{
    uint32_t free = 0;
    if (!__atomic_compare_exchange_n(&l->word, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) sdx_lock_slow(l);
}

static inline void sdx_unlock(Lock *l)
{
    if (__atomic_exchange_n(&l->word, 0, __ATOMIC_RELEASE) == 2) sdx_unlock_slow(l);
}

#endif
