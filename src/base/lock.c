#include "base/lock.h"

#include <pthread.h>

#include "base/futex.h"

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t list_once = PTHREAD_ONCE_INIT;
static Lock *list;

static void fork_prepare(void)
{
    pthread_mutex_lock(&list_mutex);
    for (Lock *l = list; l; l = l->next) sdx_lock(l);
}

static void fork_parent(void)
{
    for (Lock *l = list; l; l = l->next) sdx_unlock(l);
    pthread_mutex_unlock(&list_mutex);
}

static void fork_child(void)
{
    for (Lock *l = list; l; l = l->next) {
        __atomic_store_n(&l->word, 0, __ATOMIC_RELEASE);
        if (l->forked) l->forked(l);
    }
    pthread_mutex_unlock(&list_mutex);
}

static void list_init(void) { pthread_atfork(fork_prepare, fork_parent, fork_child); }

void sdx_lock_init(Lock *l, void (*forked)(Lock *l))
{
    pthread_once(&list_once, list_init);
    *l = (Lock){ .forked = forked };
    pthread_mutex_lock(&list_mutex);
    l->next = list;
    if (list) list->prev = l;
    list = l;
    pthread_mutex_unlock(&list_mutex);
}

void sdx_lock_fini(Lock *l)
{
    pthread_mutex_lock(&list_mutex);
    if (l->prev)
        l->prev->next = l->next;
    else
        list = l->next;
    if (l->next) l->next->prev = l->prev;
    pthread_mutex_unlock(&list_mutex);
}

/* The three-state lock of Drepper, "Futexes are tricky", 2011, section 5, after a short spin. */
void sdx_lock_slow(Lock *l)
{
    for (int i = 0; i < 100; i++) {
        uint32_t free = 0;
        if (__atomic_load_n(&l->word, __ATOMIC_RELAXED) == 0 &&
            __atomic_compare_exchange_n(&l->word, &free, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return;
        sdx_cpu_relax();
    }
    while (__atomic_exchange_n(&l->word, 2, __ATOMIC_ACQUIRE) != 0) sdx_futex_wait(&l->word, 2, 0);
}

void sdx_unlock_slow(Lock *l) { sdx_futex_wake(&l->word, 1); }
