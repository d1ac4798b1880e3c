#include "base/pool.h"

#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/futex.h"
#include "tests/harness.h"

#define MAX_CHUNKS 300

/* The thread sanitizer refuses to start threads in a forked child. */
#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define UNDER_TSAN 1
#endif
#endif
#ifndef UNDER_TSAN
#define UNDER_TSAN 0
#endif

typedef struct Tally {
    int hits[MAX_CHUNKS]; /* atomic */
    int at_work[8];       /* atomic: by worker */
    int clashes;          /* atomic: two threads under one worker number */
    int spin;
    Pool *pool;
    int depth;
} Tally;

static void tally_chunk(void *arg, int64_t chunk, int worker)
{
    Tally *t = arg;
    if (__atomic_fetch_add(&t->at_work[worker], 1, __ATOMIC_ACQ_REL) != 0)
        __atomic_fetch_add(&t->clashes, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < t->spin * (int)(chunk * 7919 % 13); i++) sdx_cpu_relax();
    __atomic_fetch_add(&t->hits[chunk], 1, __ATOMIC_RELAXED);
    __atomic_fetch_sub(&t->at_work[worker], 1, __ATOMIC_ACQ_REL);
}

static void check_once_each(const Tally *t, int64_t n)
{
    int wrong = 0;
    for (int64_t i = 0; i < MAX_CHUNKS; i++) wrong += t->hits[i] != (i < n);
    CHECK_INT(wrong, 0);
    CHECK_INT(t->clashes, 0);
}

static void every_chunk_runs_once(void)
{
    for (int threads = 1; threads <= 8; threads += threads == 3 ? 5 : 1) {
        Pool *p;
        if (!CHECK_INT(sdx_pool_create(&sdx_alloc_default, threads, &p, NULL), SDX_OK)) return;
        CHECK_INT(sdx_pool_threads(p), threads);
        for (int round = 0; round < 60; round++)
            for (int64_t n = 0; n < MAX_CHUNKS; n = n < 10 ? n + 1 : n * 3) {
                Tally t = { .spin = round % 3 * 10 };
                if (round % 2) sdx_pool_enter(p);
                sdx_pool_run(p, tally_chunk, &t, n);
                if (round % 2) sdx_pool_leave(p);
                check_once_each(&t, n);
            }
        sdx_pool_release(p);
    }
}

static void nested_chunk(void *arg, int64_t chunk, int worker)
{
    Tally *t = arg;
    Tally inner = { .spin = 0 };
    sdx_pool_run(t->pool, tally_chunk, &inner, 5);
    int sum = 0;
    for (int i = 0; i < 5; i++) sum += inner.hits[i];
    if (sum == 5 && inner.clashes == 0) tally_chunk(t, chunk, worker);
}

static void a_region_in_a_chunk_runs_there(void)
{
    Pool *p;
    if (!CHECK_INT(sdx_pool_create(&sdx_alloc_default, 4, &p, NULL), SDX_OK)) return;
    Tally t = { .pool = p };
    sdx_pool_run(p, nested_chunk, &t, 40);
    check_once_each(&t, 40);
    sdx_pool_release(p);
}

static void *caller_main(void *arg)
{
    Pool *p = arg;
    long bad = 0;
    for (int round = 0; round < 200; round++) {
        Tally t = { .spin = 5 };
        sdx_pool_enter(p);
        sdx_pool_run(p, tally_chunk, &t, 17);
        sdx_pool_leave(p);
        for (int i = 0; i < 17; i++) bad += t.hits[i] != 1;
        bad += t.clashes;
    }
    return (void *)bad;
}

static void many_callers_share_the_workers(void)
{
    Pool *p;
    if (!CHECK_INT(sdx_pool_create(&sdx_alloc_default, 3, &p, NULL), SDX_OK)) return;
    pthread_t ids[12];
    int n = 0;
    while (n < 12 && pthread_create(&ids[n], NULL, caller_main, p) == 0) n++;
    for (int i = 0; i < n; i++) {
        void *bad = NULL;
        pthread_join(ids[i], &bad);
        CHECK(bad == NULL);
    }
    sdx_pool_release(p);
}

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 }, NULL);
}

static void an_idle_pool_uses_no_cpu(void)
{
    Pool *p;
    if (!CHECK_INT(sdx_pool_create(&sdx_alloc_default, 4, &p, NULL), SDX_OK)) return;
    Tally t = { .spin = 100 };
    sdx_pool_enter(p);
    sdx_pool_run(p, tally_chunk, &t, 100);
    sdx_pool_leave(p);
    sleep_ms(5);
    double from = cpu_seconds();
    sleep_ms(100);
    CHECK(cpu_seconds() - from < 0.002);
    /* Also while a run is in progress but has no region: polling ends by itself. */
    sdx_pool_enter(p);
    sdx_pool_run(p, tally_chunk, &t, 100);
    sleep_ms(5);
    from = cpu_seconds();
    sleep_ms(100);
    CHECK(cpu_seconds() - from < 0.002);
    sdx_pool_leave(p);
    sdx_pool_release(p);
}

static void host_parallel(void *user, PoolFn fn, void *arg, int64_t nchunks)
{
    ++*(int *)user;
    for (int64_t c = nchunks; c-- > 0;) fn(arg, c, (int)(c % 2));
}

static void a_host_pool_is_used(void)
{
    int calls = 0;
    Pool *p;
    PoolHost host = { host_parallel, 2, &calls };
    if (!CHECK_INT(sdx_pool_wrap(&sdx_alloc_default, &host, &p, NULL), SDX_OK)) return;
    Tally t = { .pool = p };
    sdx_pool_run(p, nested_chunk, &t, 20);
    check_once_each(&t, 20);
    CHECK_INT(calls, 1); /* nested regions stay where they are */
    sdx_pool_release(p);
    Err err = { 0 };
    host.threads = 0;
    CHECK_INT(sdx_pool_wrap(&sdx_alloc_default, &host, &p, &err), SDX_INVALID_ARGUMENT);
}

static void shared_pools_are_one_per_size(void)
{
    Pool *a, *b, *c;
    if (!CHECK_INT(sdx_pool_shared(3, &a, NULL), SDX_OK)) return;
    sdx_pool_shared(3, &b, NULL);
    sdx_pool_shared(2, &c, NULL);
    CHECK(a == b && a != c);
    sdx_pool_release(a);
    Tally t = { .spin = 1 };
    sdx_pool_run(b, tally_chunk, &t, 50);
    check_once_each(&t, 50);
    sdx_pool_release(sdx_pool_retain(b));
    sdx_pool_release(b);
    sdx_pool_release(c);
    sdx_pool_release(NULL);
    CHECK_INT(sdx_pool_threads(NULL), 1);
    CHECK(sdx_pool_default_threads() >= 1);
}

static void a_forked_child_starts_its_own_threads(void)
{
    Pool *p;
    if (UNDER_TSAN || !CHECK_INT(sdx_pool_create(&sdx_alloc_default, 3, &p, NULL), SDX_OK)) return;
    Tally t = { .spin = 10 };
    sdx_pool_run(p, tally_chunk, &t, 50);
    pid_t child = fork();
    if (child == 0) {
        alarm(10); /* a hang ends as a failure */
        Tally u = { .spin = 10 };
        sdx_pool_run(p, tally_chunk, &u, 50);
        int wrong = u.clashes;
        for (int i = 0; i < 50; i++) wrong += u.hits[i] != 1;
        sdx_pool_release(p);
        _exit(wrong != 0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK_INT(status, 0);
    sdx_pool_release(p);
}

static void bad_sizes_are_refused(void)
{
    Err err = { 0 };
    Pool *p;
    CHECK_INT(sdx_pool_create(&sdx_alloc_default, -1, &p, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "-1 threads");
}

typedef struct OwnThread {
    void (*main)(void *arg);
    void *arg;
    pthread_t id;
} OwnThread;

static OwnThread own_threads[4];
static int n_own, n_joined;

static void *own_run(void *p)
{
    OwnThread *t = p;
    t->main(t->arg);
    return NULL;
}

static void *own_start(void *user, void (*main)(void *arg), void *arg)
{
    if (user != own_threads || n_own == 2) return NULL; /* the third is refused */
    OwnThread *t = &own_threads[n_own++];
    *t = (OwnThread){ .main = main, .arg = arg };
    return pthread_create(&t->id, NULL, own_run, t) == 0 ? t : NULL;
}

static void own_join(void *user, void *thread)
{
    (void)user;
    pthread_join(((OwnThread *)thread)->id, NULL);
    n_joined++;
}

static void hosts_threads(void)
{
    Pool *p = NULL;
    Tally t = { .spin = 20 };
    PoolThreads how = { .start = own_start, .user = own_threads };
    CHECK_INT(sdx_pool_create_on(&sdx_alloc_default, 4, &how, &p, NULL), SDX_INVALID_ARGUMENT);
    how.join = own_join;
    if (!CHECK_INT(sdx_pool_create_on(&sdx_alloc_default, 4, &how, &p, NULL), SDX_OK)) return;
    CHECK_INT(n_own, 2);
    sdx_pool_run(p, tally_chunk, &t, MAX_CHUNKS);
    for (int i = 0; i < MAX_CHUNKS; i++) CHECK_INT(t.hits[i], 1);
    CHECK_INT(t.clashes, 0);
    sdx_pool_release(p);
    CHECK_INT(n_joined, 2);
}

SUITE(pool_test)
{
    RUN(every_chunk_runs_once);
    RUN(a_region_in_a_chunk_runs_there);
    RUN(many_callers_share_the_workers);
    RUN(an_idle_pool_uses_no_cpu);
    RUN(a_host_pool_is_used);
    RUN(shared_pools_are_one_per_size);
    RUN(a_forked_child_starts_its_own_threads);
    RUN(bad_sizes_are_refused);
    RUN(hosts_threads);
}
