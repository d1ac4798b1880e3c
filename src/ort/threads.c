/* Threads: how many, and who starts them. */
#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_CreateThreadingOptions(OrtThreadingOptions **out)
{
    if (!out) return sdx_ort_null("out");
    *out = sdx_alloc_zero(&sdx_alloc_default, sizeof **out);
    return *out ? NULL : sdx_ort_no_memory();
}

void sdx_ort_ReleaseThreadingOptions(OrtThreadingOptions *t)
{
    if (t) sdx_free(&sdx_alloc_default, t->affinity);
    sdx_free(&sdx_alloc_default, t);
}

/* 0 and less: default. */
OrtStatus *sdx_ort_SetGlobalIntraOpNumThreads(OrtThreadingOptions *t, int threads)
{
    if (!t) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null OrtThreadingOptions");
    t->threads = threads < 0 ? 0 : threads;
    return NULL;
}

/* Nodes run one after the other, and how threads wait is the pool's business. */
OrtStatus *sdx_ort_SetGlobalInterOpNumThreads(OrtThreadingOptions *t, int threads)
{
    return t ? (void)threads, NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null OrtThreadingOptions");
}

OrtStatus *sdx_ort_SetGlobalSpinControl(OrtThreadingOptions *t, int spins)
{
    if (!t) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null OrtThreadingOptions");
    if (spins == 0 || spins == 1) return NULL;
    return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                        "Received invalid value for allow_spinning. Valid values are 0 or 1, not %d", spins);
}

OrtStatus *sdx_ort_SetGlobalDenormalAsZero(OrtThreadingOptions *t)
{
    if (!t) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null OrtThreadingOptions");
    t->flushes_subnormals = true;
    return NULL;
}

/* Read when an environment is made. */
OrtStatus *sdx_ort_SetGlobalIntraOpThreadAffinity(OrtThreadingOptions *t, const char *text)
{
    enum { AFFINITY_MAX = 4096 };
    if (!t) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null OrtThreadingOptions");
    if (!text) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Received null affinity_string");
    size_t n = strlen(text);
    if (n && n <= AFFINITY_MAX) {
        char *copy = sdx_alloc(&sdx_alloc_default, n + 1);
        if (!copy) return sdx_ort_no_memory();
        sdx_free(&sdx_alloc_default, t->affinity);
        t->affinity = memcpy(copy, text, n + 1);
        return NULL;
    }
    return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                        "Size of affinity string must be between 1 and %d; affinity string must not be empty",
                        AFFINITY_MAX);
}

/* -- threads of the caller's --------------------------------------------------------------------------------------- */

static void *start(void *user, void (*main)(void *arg), void *arg)
{
    const OrtThreadFns *by = user;
    return (void *)by->create(by->options, main, arg);
}

static void join(void *user, void *thread)
{
    const OrtThreadFns *by = user;
    by->join(thread);
}

static void drop(void *user) { sdx_free(&sdx_alloc_default, user); }

OrtStatus *sdx_ort_thread_pool(const OrtThreadFns *by, const char *affinity, int threads, Pool **out)
{
    *out = NULL;
    if (!by->create) return affinity ? sdx_ort_affinity_pool(affinity, threads, out) : NULL;
    if (!by->join)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "a function that joins threads is needed beside one that creates them");
    OrtThreadFns *copy = sdx_alloc(&sdx_alloc_default, sizeof *copy);
    if (!copy) return sdx_ort_no_memory();
    *copy = *by;
    Err err = { 0 };
    PoolThreads how = { start, join, drop, copy };
    sdx_status st = sdx_pool_create_on(&sdx_alloc_default, threads, &how, out, &err);
    if (st != SDX_OK) drop(copy);
    return sdx_ort_status(st, &err);
}

static OrtStatus *set_create(OrtThreadFns *by, OrtCreateThreadFn fn)
{
    return by ? by->create = fn, NULL : sdx_ort_null("options");
}

static OrtStatus *set_options(OrtThreadFns *by, void *options)
{
    return by ? by->options = options, NULL : sdx_ort_null("options");
}

static OrtStatus *set_join(OrtThreadFns *by, OrtJoinThreadFn fn)
{
    return by ? by->join = fn, NULL : sdx_ort_null("options");
}

OrtStatus *sdx_ort_SessionOptionsSetCustomCreateThreadFn(OrtSessionOptions *o, OrtCreateThreadFn fn)
{
    return set_create(o ? &o->threads_by : NULL, fn);
}

OrtStatus *sdx_ort_SessionOptionsSetCustomThreadCreationOptions(OrtSessionOptions *o, void *options)
{
    return set_options(o ? &o->threads_by : NULL, options);
}

OrtStatus *sdx_ort_SessionOptionsSetCustomJoinThreadFn(OrtSessionOptions *o, OrtJoinThreadFn fn)
{
    return set_join(o ? &o->threads_by : NULL, fn);
}

OrtStatus *sdx_ort_SetGlobalCustomCreateThreadFn(OrtThreadingOptions *t, OrtCreateThreadFn fn)
{
    return set_create(t ? &t->by : NULL, fn);
}

OrtStatus *sdx_ort_SetGlobalCustomThreadCreationOptions(OrtThreadingOptions *t, void *options)
{
    return set_options(t ? &t->by : NULL, options);
}

OrtStatus *sdx_ort_SetGlobalCustomJoinThreadFn(OrtThreadingOptions *t, OrtJoinThreadFn fn)
{
    return set_join(t ? &t->by : NULL, fn);
}
