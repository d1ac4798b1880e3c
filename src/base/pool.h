/* The thread pool: parallel regions over chunks.
 *
 * A region is {fn, arg, nchunks}; chunk boundaries are the caller's and depend on shapes only, so results have the same
 * bits for any number of threads. The caller takes part and never waits for a worker that has not started. Workers
 * spin briefly within a run, then park; an idle pool uses no CPU. */
#ifndef SDX_BASE_POOL_H
#define SDX_BASE_POOL_H

#include "base/alloc.h"

typedef struct Pool Pool;

/* worker is 0..threads-1, distinct among the threads that work on one region at a time. */
typedef void (*PoolFn)(void *arg, int64_t chunk, int worker);

/* A host's own executor: must call fn(arg, chunk, worker) once for each chunk, return when all are done. */
typedef struct PoolHost {
    void (*parallel)(void *user, PoolFn fn, void *arg, int64_t nchunks);
    int threads;
    void *user;
} PoolHost;

/* threads: 0 = min(cgroup quota, affinity mask, physical cores). The caller counts as one: threads - 1 are started,
 * lazily, at the first region that can use them. */
sdx_status sdx_pool_create(const Alloc *a, int threads, Pool **out, Err *err);
sdx_status sdx_pool_wrap(const Alloc *a, const PoolHost *host, Pool **out, Err *err);
/* A host's way to start threads: start must run main(arg) on a new one and return what join takes, or NULL; join waits
 * until main has returned. */
typedef struct PoolThreads {
    void *(*start)(void *user, void (*main)(void *arg), void *arg);
    void (*join)(void *user, void *thread);
    void (*drop)(void *user); /* called when the pool ends; may be NULL */
    void *user;
} PoolThreads;
/* A pool whose workers are threads of the host's, started now. */
sdx_status sdx_pool_create_on(const Alloc *a, int threads, const PoolThreads *how, Pool **out, Err *err);
/* The process-wide pool for `threads` (0 = default), shared by sessions: retained; threads joined at last release. */
sdx_status sdx_pool_shared(int threads, Pool **out, Err *err);
Pool *sdx_pool_retain(Pool *p);
void sdx_pool_release(Pool *p);

int sdx_pool_threads(const Pool *p); /* 1 for NULL */
int sdx_pool_default_threads(void);  /* what 0 stands for on this machine now */

/* Runs the region. With p NULL, one chunk or one thread: a plain loop on the caller. Re-entrant: a region started
 * inside a chunk runs on that thread alone. */
void sdx_pool_run(Pool *p, PoolFn fn, void *arg, int64_t nchunks);

/* A run of the session begins or ends: workers may spin between regions only in between. */
void sdx_pool_enter(Pool *p);
void sdx_pool_leave(Pool *p);

#endif
