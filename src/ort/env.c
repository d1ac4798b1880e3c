/* The environment and the threads that its sessions share. */
#include <string.h>

#include "ort/entries.h"

static OrtEnv the_env;

struct OrtThreadingOptions {
    int threads;
};

OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out)
{
    (void)severity, (void)id;
    if (!out) return sdx_ort_null("out");
    __atomic_fetch_add(&the_env.refs, 1, __ATOMIC_RELAXED);
    *out = &the_env;
    return NULL;
}

/* Nothing is logged: errors come back as statuses. */
OrtStatus *sdx_ort_CreateEnvWithCustomLogger(void *fn, void *user, int severity, const char *id, OrtEnv **out)
{
    (void)fn, (void)user;
    return sdx_ort_CreateEnv(severity, id, out);
}

OrtStatus *sdx_ort_CreateEnvWithGlobalThreadPools(int severity, const char *id, const OrtThreadingOptions *t,
                                                  OrtEnv **out)
{
    OrtStatus *st = sdx_ort_CreateEnv(severity, id, out);
    if (!st && t) __atomic_store_n(&the_env.threads, t->threads, __ATOMIC_RELAXED);
    return st;
}

OrtStatus *sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(void *fn, void *user, int severity, const char *id,
                                                                 const OrtThreadingOptions *t, OrtEnv **out)
{
    (void)fn, (void)user;
    return sdx_ort_CreateEnvWithGlobalThreadPools(severity, id, t, out);
}

int sdx_ort_shared_threads(void) { return __atomic_load_n(&the_env.threads, __ATOMIC_RELAXED); }

void sdx_ort_ReleaseEnv(OrtEnv *env)
{
    if (env) __atomic_fetch_sub(&env->refs, 1, __ATOMIC_RELAXED);
}

const char *sdx_ort_GetBuildInfoString(void) { return "Sardonyx 0.1.0"; }

/* There is no telemetry to switch, no log whose level matters, and every language is served alike. */
OrtStatus *sdx_ort_EnableTelemetryEvents(const OrtEnv *env) { return (void)env, NULL; }
OrtStatus *sdx_ort_DisableTelemetryEvents(const OrtEnv *env) { return (void)env, NULL; }
OrtStatus *sdx_ort_UpdateEnvWithCustomLogLevel(OrtEnv *env, int level) { return (void)env, (void)level, NULL; }
OrtStatus *sdx_ort_SetLanguageProjection(const OrtEnv *env, int language) { return (void)env, (void)language, NULL; }

OrtStatus *sdx_ort_CreateThreadingOptions(OrtThreadingOptions **out)
{
    *out = sdx_alloc_zero(&sdx_alloc_default, sizeof **out);
    return *out ? NULL : sdx_ort_no_memory();
}

void sdx_ort_ReleaseThreadingOptions(OrtThreadingOptions *t) { sdx_free(&sdx_alloc_default, t); }

OrtStatus *sdx_ort_SetGlobalIntraOpNumThreads(OrtThreadingOptions *t, int threads)
{
    if (!t) return sdx_ort_null("the threading options");
    if (threads < 0) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "intra_op_num_threads is negative");
    t->threads = threads;
    return NULL;
}

/* Nodes run one after the other, and how threads wait is the pool's business. */
OrtStatus *sdx_ort_SetGlobalInterOpNumThreads(OrtThreadingOptions *t, int threads)
{
    return t ? (void)threads, NULL : sdx_ort_null("the threading options");
}

OrtStatus *sdx_ort_SetGlobalSpinControl(OrtThreadingOptions *t, int spins)
{
    if (!t) return sdx_ort_null("the threading options");
    return spins == 0 || spins == 1 ? NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "allow_spinning is neither 0 nor 1");
}

OrtStatus *sdx_ort_GetAvailableProviders(char ***out, int *n)
{
    static const char name[] = "CPUExecutionProvider";
    size_t head = 2 * sizeof(char *);
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
