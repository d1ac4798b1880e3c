/* The environment, and the threads that its sessions share. */
#include <string.h>

#include "ort/entries.h"

static OrtEnv the_env = { .log = { .severity = 2 } };

/* There is one, which the first creation configures; the last release forgets it. */
OrtStatus *sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLogFn fn, void *user, int severity, const char *id,
                                                                 const OrtThreadingOptions *t, OrtEnv **out)
{
    if (!out) return sdx_ort_null("out");
    if (__atomic_fetch_add(&the_env.refs, 1, __ATOMIC_ACQ_REL) == 0) {
        sdx_ort_log_init(&the_env.log, fn, user, severity, id);
        the_env.flushes_subnormals = the_env.shares_threads = false;
        __atomic_store_n(&the_env.threads, 0, __ATOMIC_RELAXED);
    }
    *out = &the_env;
    if (!t) return NULL;
    __atomic_store_n(&the_env.threads, t->threads, __ATOMIC_RELAXED);
    the_env.flushes_subnormals = t->flushes_subnormals;
    the_env.shares_threads = true;
    if (the_env.pool) return NULL;
    OrtStatus *st = sdx_ort_thread_pool(&t->by, t->affinity, t->threads, &the_env.pool);
    if (st) sdx_ort_ReleaseEnv(&the_env);
    return st;
}

OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out)
{
    return sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(NULL, NULL, severity, id, NULL, out);
}

OrtStatus *sdx_ort_CreateEnvWithCustomLogger(OrtLogFn fn, void *user, int severity, const char *id, OrtEnv **out)
{
    return sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(fn, user, severity, id, NULL, out);
}

OrtStatus *sdx_ort_CreateEnvWithGlobalThreadPools(int severity, const char *id, const OrtThreadingOptions *t,
                                                  OrtEnv **out)
{
    if (!t) return sdx_ort_null("threading options");
    return sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(NULL, NULL, severity, id, t, out);
}

/* Layout of the ABI. */
struct OrtEnvCreationOptions {
    uint32_t version;
    int32_t severity;
    const char *id;
    OrtLogFn fn;
    void *user;
    const OrtThreadingOptions *threading;
    const OrtKeyValuePairs *config;
};

OrtStatus *sdx_ort_CreateEnvWithOptions(const OrtEnvCreationOptions *o, OrtEnv **out)
{
    if (!o || !out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "CreateEnvWithOptions requires a valid (non-null) OrtEnvCreationOptions argument");
    if (!o->id) return sdx_ort_null("log_id");
    return sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(o->fn, o->user, o->severity, o->id, o->threading, out);
}

int sdx_ort_shared_threads(void) { return __atomic_load_n(&the_env.threads, __ATOMIC_RELAXED); }
bool sdx_ort_shares_threads(void) { return the_env.shares_threads; }
Pool *sdx_ort_shared_pool(void) { return the_env.pool; }
bool sdx_ort_flushes_subnormals(void) { return the_env.flushes_subnormals; }
const OrtLogger *sdx_ort_env_log(void) { return &the_env.log; }

void sdx_ort_ReleaseEnv(OrtEnv *env)
{
    if (!env || __atomic_sub_fetch(&env->refs, 1, __ATOMIC_ACQ_REL) > 0) return;
    sdx_ort_forget_allocators();
    sdx_pool_release(env->pool);
    env->pool = NULL;
    sdx_ort_log_init(&env->log, NULL, NULL, 2, "");
}

const char *sdx_ort_GetBuildInfoString(void) { return "Sardonyx 0.1.0"; }

/* There is no telemetry to switch, and every language is served alike. */
static OrtStatus *nothing_to_do(const OrtEnv *env) { return env ? NULL : sdx_ort_null("env"); }
OrtStatus *sdx_ort_EnableTelemetryEvents(const OrtEnv *env) { return nothing_to_do(env); }
OrtStatus *sdx_ort_DisableTelemetryEvents(const OrtEnv *env) { return nothing_to_do(env); }
OrtStatus *sdx_ort_SetLanguageProjection(const OrtEnv *env, int language) { return (void)language, nothing_to_do(env); }

/* Layout of the ABI, as far as it matters here. */
struct OrtThreadPoolCallbacksConfig {
    uint32_t version;
    void *callbacks[4]; /* on enqueue, start, stop, abandon */
};

/* Workers take chunks from a region; there are no tasks whose steps could be told. */
OrtStatus *sdx_ort_SetPerSessionThreadPoolCallbacks(OrtEnv *env, const OrtThreadPoolCallbacksConfig *config)
{
    if (!env) return sdx_ort_null("env");
    for (int i = 0; config && i < 4; i++)
        if (config->callbacks[i])
            return sdx_ort_fail(ORT_NOT_IMPLEMENTED,
                                "SetPerSessionThreadPoolCallbacks: threads do not report what they do");
    return NULL;
}

OrtStatus *sdx_ort_UpdateEnvWithCustomLogLevel(OrtEnv *env, int level)
{
    if (!env) return sdx_ort_null("env");
    env->log.severity = level;
    return NULL;
}

/* -- providers ----------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_GetAvailableProviders(char ***out, int *n)
{
    static const char name[] = ORT_CPU_PROVIDER;
    size_t head = 2 * sizeof(char *);
    if (!out || !n) return sdx_ort_null("an out");
    char **list = sdx_alloc_zero(&sdx_alloc_default, head + sizeof name);
    if (!list) return sdx_ort_no_memory();
    list[0] = strcpy((char *)list + head, name);
    *out = list;
    *n = 1;
    return NULL;
}

OrtStatus *sdx_ort_ReleaseAvailableProviders(char **list, int n)
{
    (void)n;
    sdx_free(&sdx_alloc_default, list);
    return NULL;
}
