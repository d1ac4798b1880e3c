/* Affinity strings: for each worker a list of processors, from 1, as "1,2;3-4". */
#define _GNU_SOURCE /* cpu_set_t */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "ort/entries.h"

/* A number or an interval of them, which go into set; moves *text behind it. */
static OrtStatus *read_processors(const char **text, cpu_set_t *set)
{
    unsigned long ends[2] = { 0, 0 };
    const char *at = *text;
    for (int i = 0; i < 2; i++) {
        char *end;
        if (*at < '0' || *at > '9')
            return sdx_ort_fail(ORT_FAIL, "Processor id must consist of only digits: %s", *text);
        ends[i] = strtoul(at, &end, 10);
        if (!ends[i]) return sdx_ort_fail(ORT_FAIL, "Processor id must start from 1: %s", *text);
        at = end;
        if (*at != '-') break;
        at++;
    }
    if (ends[1] && ends[1] < ends[0]) return sdx_ort_fail(ORT_FAIL, "Invalid processor interval: %s", *text);
    unsigned long last = ends[1] ? ends[1] : ends[0];
    for (unsigned long p = ends[0]; p <= last && p <= CPU_SETSIZE; p++) CPU_SET(p - 1, set);
    *text = at;
    return NULL;
}

static OrtStatus *wrong_count(int lists, int threads)
{
    return sdx_ort_fail(ORT_FAIL,
                        "Number of affinities does not equal to thread_pool_size minus one, affinities: %d, "
                        "thread_pool_size: %d",
                        lists, threads);
}

/* sets: threads - 1 of them, zeroed. */
static OrtStatus *read_affinity(const char *text, int threads, cpu_set_t *sets)
{
    int list = 0;
    if (!*text) return sdx_ort_fail(ORT_FAIL, "Affinity string must not be empty");
    for (const char *at = text; *at;) {
        cpu_set_t beyond;
        CPU_ZERO(&beyond);
        OrtStatus *st = read_processors(&at, list < threads - 1 ? &sets[list] : &beyond);
        if (st) return st;
        if (*at && *at != ',' && *at != ';')
            return sdx_ort_fail(ORT_FAIL, "Processor id must consist of only digits: %s", at);
        if (*at == ';' && at[1]) list++;
        if (*at) at++;
    }
    return list + 1 == threads - 1 ? NULL : wrong_count(list + 1, threads);
}

/* -- a pool whose threads stay where they are told ----------------------------------------------------------------- */

typedef struct Pinned {
    int n, started;
    cpu_set_t sets[]; /* by worker */
} Pinned;

typedef struct PinnedThread {
    void (*main)(void *arg);
    void *arg;
    pthread_t id;
} PinnedThread;

static void *pinned_main(void *p)
{
    const PinnedThread *t = p;
    t->main(t->arg);
    return NULL;
}

/* A processor that is not there, or not for us, is no reason to do without the thread. */
static void *pinned_start(void *user, void (*main)(void *arg), void *arg)
{
    Pinned *p = user;
    pthread_attr_t attr;
    PinnedThread *t = sdx_alloc(&sdx_alloc_default, sizeof *t);
    if (!t) return NULL;
    *t = (PinnedThread){ .main = main, .arg = arg };
    const cpu_set_t *set = &p->sets[p->started++ % p->n];
    int refused = pthread_attr_init(&attr);
    if (!refused) {
        refused = pthread_attr_setaffinity_np(&attr, sizeof *set, set);
        if (!refused) refused = pthread_create(&t->id, &attr, pinned_main, t);
        pthread_attr_destroy(&attr);
    }
    if (refused) refused = pthread_create(&t->id, NULL, pinned_main, t);
    if (!refused) return t;
    sdx_free(&sdx_alloc_default, t);
    return NULL;
}

static void pinned_join(void *user, void *thread)
{
    PinnedThread *t = thread;
    (void)user;
    pthread_join(t->id, NULL);
    sdx_free(&sdx_alloc_default, t);
}

static void pinned_drop(void *user) { sdx_free(&sdx_alloc_default, user); }

OrtStatus *sdx_ort_affinity_pool(const char *text, int threads, Pool **out)
{
    enum { THREADS_MAX = 1024 };
    if (!threads) threads = sdx_pool_default_threads();
    if (threads > THREADS_MAX) return wrong_count(0, threads);
    Pinned *p = sdx_alloc_zero(&sdx_alloc_default, sizeof *p + (size_t)threads * sizeof *p->sets);
    if (!p) return sdx_ort_no_memory();
    p->n = threads;
    OrtStatus *st = read_affinity(text, threads, p->sets);
    Err err = { 0 };
    PoolThreads how = { pinned_start, pinned_join, pinned_drop, p };
    if (!st) st = sdx_ort_status(sdx_pool_create_on(&sdx_alloc_default, threads, &how, out, &err), &err);
    if (st) pinned_drop(p);
    return st;
}
