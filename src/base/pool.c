/* One descriptor per region, in a fixed set of slots. Its chunks are split into one contiguous range per thread; a
 * thread takes from its own range first, which keeps rows of consecutive operators in one core's cache, then from the
 * fullest other one. A slot's `state` counts the workers inside: the caller closes the slot when no chunk is left to
 * take and waits for those alone, so a worker that never woke up is never waited for. */
#include "base/pool.h"

#include <pthread.h>
#include <signal.h>

#include "base/fpenv.h"
#include "base/futex.h"
#include "base/lock.h"
#include "base/ncpu.h"
#include "base/size.h"

#define POOL_SLOTS 8 /* regions of concurrent runs; one more runs on its caller alone */
#define POOL_MAX_THREADS 1024
#define POOL_STACK ((size_t)1 << 20)
#define SPIN_MAX_NS 30000 /* longest wait between regions, and of a caller for a claimed chunk, before sleeping */
#define PAUSE_MAX 64      /* backoff: most pauses between two looks at memory */

enum { STATE_OPEN = 1, STATE_SLEEPER = 2, STATE_ONE = 4 }; /* the rest of state counts workers inside */

typedef struct Range {
    _Alignas(SDX_ALIGN) int64_t next; /* atomic; runs past end once empty */
    int64_t end;
} Range;

typedef struct Region {
    _Alignas(SDX_ALIGN) uint32_t state; /* atomic */
    bool busy;                          /* atomic: a caller owns the slot */
    bool exhausted;                     /* atomic: nothing left to take */
    int n_ranges;
    PoolFn fn;
    void *arg;
    Range *ranges; /* one per thread of the pool */
} Region;

struct Pool {
    _Alignas(SDX_ALIGN) uint32_t epoch; /* atomic, futex: counts regions opened */
    int spinners;                       /* atomic: workers that poll epoch */
    int sleepers;                       /* atomic: workers in the futex, or about to be */
    int runs;                           /* atomic: session runs in progress */
    bool stop;                          /* atomic */
    _Alignas(SDX_ALIGN) int refs;       /* atomic; of a shared pool: under the table's lock */
    bool is_shared;
    int threads;
    const Alloc *alloc;
    PoolHost host;   /* parallel NULL: our own threads */
    PoolThreads how; /* start NULL: the system's */
    Lock lock;       /* for starting threads */
    int started;     /* atomic */
    union {
        pthread_t *ids;
        void **handles; /* of the host's threads */
    };
    Region slots[POOL_SLOTS];
};

static _Thread_local bool in_region;

/* -- taking chunks -------------------------------------------------------------------------------------------------- */

static int64_t range_left(const Range *r) { return r->end - __atomic_load_n(&r->next, __ATOMIC_RELAXED); }

static int64_t range_take(Range *r)
{
    int64_t c = __atomic_fetch_add(&r->next, 1, __ATOMIC_RELAXED);
    return c < r->end ? c : -1;
}

static int64_t region_take(Region *g, int worker)
{
    if (worker < g->n_ranges && range_left(&g->ranges[worker]) > 0) {
        int64_t c = range_take(&g->ranges[worker]);
        if (c >= 0) return c;
    }
    for (;;) {
        Range *fullest = NULL;
        int64_t most = 0;
        for (int i = 0; i < g->n_ranges; i++) {
            int64_t left = range_left(&g->ranges[i]);
            if (left > most) most = left, fullest = &g->ranges[i];
        }
        if (!fullest) break;
        int64_t c = range_take(fullest);
        if (c >= 0) return c;
    }
    __atomic_store_n(&g->exhausted, true, __ATOMIC_RELAXED);
    return -1;
}

static void region_work(Region *g, int64_t chunk, int worker)
{
    in_region = true;
    for (; chunk >= 0; chunk = region_take(g, worker)) g->fn(g->arg, chunk, worker);
    in_region = false;
}

/* -- workers -------------------------------------------------------------------------------------------------------- */

static bool region_join(Region *g)
{
    uint32_t s = __atomic_load_n(&g->state, __ATOMIC_RELAXED);
    while ((s & STATE_OPEN) && !__atomic_load_n(&g->exhausted, __ATOMIC_RELAXED))
        if (__atomic_compare_exchange_n(&g->state, &s, s + STATE_ONE, true, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
            return true;
    return false;
}

static void region_leave(Region *g)
{
    uint32_t s = __atomic_sub_fetch(&g->state, STATE_ONE, __ATOMIC_RELEASE);
    if (s == STATE_SLEEPER) sdx_futex_wake(&g->state, 1);
}

/* Works where there is work, all slots once around. wake: this worker was roused, and passes it on. */
static bool pool_scan(Pool *p, int worker, bool wake)
{
    bool found = false;
    for (int i = 0; i < POOL_SLOTS; i++) {
        Region *g = &p->slots[(worker + i) % POOL_SLOTS];
        if (!region_join(g)) continue;
        found = true;
        int64_t chunk = region_take(g, worker);
        if (chunk >= 0 && wake && !__atomic_load_n(&g->exhausted, __ATOMIC_RELAXED) &&
            __atomic_load_n(&p->sleepers, __ATOMIC_RELAXED) > 0)
            sdx_futex_wake(&p->epoch, 2);
        region_work(g, chunk, worker);
        region_leave(g);
    }
    return found;
}

/* Polls for a new region while a run is in progress, for at most `bound` ns; the time it took to *gap. */
static bool pool_spin(Pool *p, uint32_t epoch, int64_t bound, int64_t *gap)
{
    int64_t from = sdx_now_ns();
    bool seen = false;
    __atomic_add_fetch(&p->spinners, 1, __ATOMIC_RELAXED);
    for (int pauses = 1;;) {
        for (int i = 0; i < pauses; i++) sdx_cpu_relax();
        if (pauses < PAUSE_MAX) pauses *= 2;
        seen = __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) != epoch;
        if (seen || __atomic_load_n(&p->runs, __ATOMIC_RELAXED) <= 0) break;
        if (sdx_now_ns() - from > bound) break;
    }
    __atomic_sub_fetch(&p->spinners, 1, __ATOMIC_RELAXED);
    *gap = sdx_now_ns() - from;
    return seen;
}

typedef struct WorkerArg {
    Pool *pool;
    int worker;
} WorkerArg;

static void worker_main(void *arg)
{
    Pool *p = ((WorkerArg *)arg)->pool;
    int worker = ((WorkerArg *)arg)->worker;
    sdx_free(p->alloc, arg);
    int64_t mean_gap = SPIN_MAX_NS / 2; /* moving average of the time between regions */
    bool roused = true;
    sdx_fpenv_default();
    for (;;) {
        uint32_t epoch = __atomic_load_n(&p->epoch, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&p->stop, __ATOMIC_ACQUIRE)) return;
        bool found = pool_scan(p, worker, roused);
        roused = false;
        if (found || __atomic_load_n(&p->epoch, __ATOMIC_RELAXED) != epoch) continue;
        if (__atomic_load_n(&p->runs, __ATOMIC_RELAXED) > 0) {
            int64_t bound = 2 * mean_gap < SPIN_MAX_NS ? 2 * mean_gap : SPIN_MAX_NS, gap;
            bool seen = pool_spin(p, epoch, bound, &gap);
            mean_gap += (gap - mean_gap) / 8;
            if (seen) continue;
        }
        __atomic_add_fetch(&p->sleepers, 1, __ATOMIC_SEQ_CST);
        sdx_futex_wait(&p->epoch, epoch, 0);
        __atomic_sub_fetch(&p->sleepers, 1, __ATOMIC_RELAXED);
        roused = true;
    }
}

static void *worker_thread(void *arg)
{
    worker_main(arg);
    return NULL;
}

/* One more thread; false: refused. */
static bool worker_start(Pool *p, const pthread_attr_t *attr)
{
    WorkerArg *arg = sdx_alloc(p->alloc, sizeof *arg);
    if (!arg) return false;
    *arg = (WorkerArg){ p, p->started + 1 };
    bool ok;
    if (p->how.start) {
        void *handle = p->how.start(p->how.user, worker_main, arg);
        p->handles[p->started] = handle;
        ok = handle != NULL;
    } else {
        ok = pthread_create(&p->ids[p->started], attr, worker_thread, arg) == 0;
    }
    if (!ok) sdx_free(p->alloc, arg);
    return ok;
}

/* Starts the threads that are missing. One that the system refuses is done without until the next region. */
static void pool_start(Pool *p)
{
    sigset_t all, old;
    pthread_attr_t attr;
    sdx_lock(&p->lock);
    if (pthread_attr_init(&attr) == 0) {
        pthread_attr_setstacksize(&attr, POOL_STACK);
        sigfillset(&all); /* signals are for the host's threads */
        pthread_sigmask(SIG_SETMASK, &all, &old);
        while (p->started < p->threads - 1 && worker_start(p, &attr))
            __atomic_store_n(&p->started, p->started + 1, __ATOMIC_RELEASE);
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        pthread_attr_destroy(&attr);
    }
    sdx_unlock(&p->lock);
}

/* -- callers -------------------------------------------------------------------------------------------------------- */

static Region *pool_slot(Pool *p)
{
    for (int i = 0; i < POOL_SLOTS; i++) {
        Region *g = &p->slots[i];
        if (!__atomic_load_n(&g->busy, __ATOMIC_RELAXED) && !__atomic_exchange_n(&g->busy, true, __ATOMIC_ACQUIRE))
            return g;
    }
    return NULL;
}

/* No chunk is left to take: waits for those being worked on. */
static void region_close(Region *g)
{
    uint32_t s = __atomic_and_fetch(&g->state, ~(uint32_t)STATE_OPEN, __ATOMIC_ACQUIRE);
    if (s) {
        int64_t from = sdx_now_ns();
        for (int i = 0; (s = __atomic_load_n(&g->state, __ATOMIC_ACQUIRE)) != 0; i++) {
            sdx_cpu_relax();
            if ((i & 15) == 15 && sdx_now_ns() - from > SPIN_MAX_NS) break;
        }
        if (s) {
            s = __atomic_or_fetch(&g->state, STATE_SLEEPER, __ATOMIC_ACQUIRE);
            for (; s != STATE_SLEEPER; s = __atomic_load_n(&g->state, __ATOMIC_ACQUIRE))
                sdx_futex_wait(&g->state, s, 0);
            __atomic_store_n(&g->state, 0, __ATOMIC_RELAXED);
        }
    }
}

static void run_serial(PoolFn fn, void *arg, int64_t nchunks)
{
    for (int64_t c = 0; c < nchunks; c++) fn(arg, c, 0);
}

typedef struct HostCall {
    PoolFn fn;
    void *arg;
} HostCall;

static void host_chunk(void *arg, int64_t chunk, int worker)
{
    const HostCall *call = arg;
    bool nested = in_region;
    in_region = true;
    call->fn(call->arg, chunk, worker);
    in_region = nested;
}

void sdx_pool_run(Pool *p, PoolFn fn, void *arg, int64_t nchunks)
{
    if (!p || nchunks <= 1 || p->threads <= 1 || in_region) {
        run_serial(fn, arg, nchunks);
        return;
    }
    if (p->host.parallel) {
        HostCall call = { fn, arg };
        p->host.parallel(p->host.user, host_chunk, &call, nchunks);
        return;
    }
    if (__atomic_load_n(&p->started, __ATOMIC_ACQUIRE) < p->threads - 1) pool_start(p);
    Region *g = pool_slot(p);
    if (!g) {
        run_serial(fn, arg, nchunks);
        return;
    }
    g->fn = fn;
    g->arg = arg;
    g->n_ranges = nchunks < p->threads ? (int)nchunks : p->threads;
    int64_t share = nchunks / g->n_ranges, rest = nchunks % g->n_ranges, at = 0;
    for (int i = 0; i < g->n_ranges; i++) {
        __atomic_store_n(&g->ranges[i].next, at, __ATOMIC_RELAXED);
        at += share + (i < rest);
        g->ranges[i].end = at;
    }
    __atomic_store_n(&g->exhausted, false, __ATOMIC_RELAXED);
    __atomic_store_n(&g->state, STATE_OPEN, __ATOMIC_RELEASE);
    /* Against worker_main: it counts itself among the sleepers, then compares epoch in the kernel; we move epoch, then
     * count sleepers. One of the two sees the other. */
    __atomic_add_fetch(&p->epoch, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->sleepers, __ATOMIC_SEQ_CST) > 0 &&
        __atomic_load_n(&p->spinners, __ATOMIC_RELAXED) < nchunks - 1)
        sdx_futex_wake(&p->epoch, 1);
    region_work(g, region_take(g, 0), 0);
    region_close(g);
    __atomic_store_n(&g->busy, false, __ATOMIC_RELEASE);
}

void sdx_pool_enter(Pool *p)
{
    if (p && p->threads > 1) __atomic_add_fetch(&p->runs, 1, __ATOMIC_RELAXED);
}

void sdx_pool_leave(Pool *p)
{
    if (p && p->threads > 1) __atomic_sub_fetch(&p->runs, 1, __ATOMIC_RELAXED);
}

/* -- life ----------------------------------------------------------------------------------------------------------- */

/* In a forked child the workers are gone, and with them the regions and runs of other threads. */
static void pool_forked(Lock *l)
{
    Pool *p = (Pool *)((char *)l - offsetof(Pool, lock));
    p->started = p->spinners = p->sleepers = p->runs = 0;
    for (int i = 0; i < POOL_SLOTS; i++) {
        p->slots[i].state = 0;
        p->slots[i].busy = false;
    }
    in_region = false;
}

static sdx_status pool_create(const Alloc *a, int threads, const PoolHost *host, Pool **out, Err *err)
{
    *out = NULL;
    bool own = !host->parallel && threads > 1;
    size_t ids_at = sdx_round_up(sizeof(Pool), SDX_ALIGN);
    size_t ranges_at = sdx_round_up(ids_at + (own ? (size_t)threads * sizeof(pthread_t) : 0), SDX_ALIGN);
    Pool *p = sdx_alloc_zero(a, ranges_at + (own ? (size_t)threads * POOL_SLOTS * sizeof(Range) : 0));
    TRY_MEM(p, err);
    p->refs = 1;
    p->threads = threads;
    p->alloc = a;
    p->host = *host;
    p->ids = (pthread_t *)((char *)p + ids_at);
    for (int i = 0; own && i < POOL_SLOTS; i++)
        p->slots[i].ranges = (Range *)((char *)p + ranges_at) + (size_t)i * (size_t)threads;
    sdx_lock_init(&p->lock, pool_forked);
    *out = p;
    return SDX_OK;
}

sdx_status sdx_pool_create(const Alloc *a, int threads, Pool **out, Err *err)
{
    *out = NULL;
    if (threads < 0 || threads > POOL_MAX_THREADS)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%d threads: the number must be in [0, %d]", threads,
                        POOL_MAX_THREADS);
    return pool_create(a, threads ? threads : sdx_ncpu(), &(PoolHost){ 0 }, out, err);
}

sdx_status sdx_pool_create_on(const Alloc *a, int threads, const PoolThreads *how, Pool **out, Err *err)
{
    _Static_assert(sizeof(void *) <= sizeof(pthread_t), "handles lie where ids do");
    *out = NULL;
    if (!how->start || !how->join)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "a host's threads need functions that start and join them");
    TRY(sdx_pool_create(a, threads, out, err));
    (*out)->how = *how;
    if ((*out)->threads > 1) pool_start(*out);
    return SDX_OK;
}

sdx_status sdx_pool_wrap(const Alloc *a, const PoolHost *host, Pool **out, Err *err)
{
    *out = NULL;
    if (!host->parallel || host->threads < 1)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "a host's pool needs a function and at least one thread");
    return pool_create(a, host->threads, host, out, err);
}

static void pool_destroy(Pool *p)
{
    __atomic_store_n(&p->stop, true, __ATOMIC_RELEASE);
    __atomic_add_fetch(&p->epoch, 1, __ATOMIC_SEQ_CST);
    sdx_futex_wake(&p->epoch, INT32_MAX);
    for (int i = 0; i < p->started; i++) {
        if (p->how.start)
            p->how.join(p->how.user, p->handles[i]);
        else
            pthread_join(p->ids[i], NULL);
    }
    if (p->how.drop) p->how.drop(p->how.user);
    sdx_lock_fini(&p->lock);
    sdx_free(p->alloc, p);
}

/* The shared pools: few, one for each number of threads in use. */
#define SHARED_MAX 16
static struct {
    Lock lock;
    Pool *pools[SHARED_MAX];
} shared;
static pthread_once_t shared_once = PTHREAD_ONCE_INIT;

static void shared_init(void) { sdx_lock_init(&shared.lock, NULL); }

static Pool *shared_find(int threads)
{
    for (int i = 0; i < SHARED_MAX; i++)
        if (shared.pools[i] && shared.pools[i]->threads == threads) return shared.pools[i];
    return NULL;
}

/* made (may be NULL) enters the table when no pool of its size is there and a place is free. */
static Pool *shared_take(int threads, Pool *made)
{
    sdx_lock(&shared.lock);
    Pool *p = shared_find(threads);
    if (p) p->refs++;
    for (int i = 0; i < SHARED_MAX && !p && made; i++)
        if (!shared.pools[i]) {
            shared.pools[i] = p = made;
            p->is_shared = true;
        }
    sdx_unlock(&shared.lock);
    return p;
}

sdx_status sdx_pool_shared(int threads, Pool **out, Err *err)
{
    pthread_once(&shared_once, shared_init);
    if (threads == 0) threads = sdx_ncpu();
    if ((*out = shared_take(threads, NULL))) return SDX_OK;
    /* Made outside the lock, which must not be held while another is listed. */
    Pool *made;
    TRY(sdx_pool_create(&sdx_alloc_default, threads, &made, err));
    Pool *p = shared_take(threads, made);
    *out = p ? p : made; /* with the table full the pool is the caller's alone */
    if (*out != made) pool_destroy(made);
    return SDX_OK;
}

Pool *sdx_pool_retain(Pool *p)
{
    if (p && p->is_shared) {
        sdx_lock(&shared.lock);
        p->refs++;
        sdx_unlock(&shared.lock);
    } else if (p) {
        __atomic_add_fetch(&p->refs, 1, __ATOMIC_RELAXED);
    }
    return p;
}

void sdx_pool_release(Pool *p)
{
    if (!p) return;
    int left;
    if (p->is_shared) {
        sdx_lock(&shared.lock);
        left = --p->refs;
        for (int i = 0; i < SHARED_MAX && left == 0; i++)
            if (shared.pools[i] == p) shared.pools[i] = NULL;
        sdx_unlock(&shared.lock);
    } else {
        left = __atomic_sub_fetch(&p->refs, 1, __ATOMIC_ACQ_REL);
    }
    if (left == 0) pool_destroy(p);
}

int sdx_pool_threads(const Pool *p) { return p ? p->threads : 1; }

int sdx_pool_default_threads(void) { return sdx_ncpu(); }
