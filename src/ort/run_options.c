#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_CreateRunOptions(OrtRunOptions **out)
{
    if (!out) return sdx_ort_null("out");
    OrtRunOptions *o = sdx_alloc_zero(&sdx_alloc_default, sizeof *o);
    if (!o) return sdx_ort_no_memory();
    sdx_arena_init(&o->arena, &sdx_alloc_default, 0);
    o->severity = -1;
    o->tag = "";
    *out = o;
    return NULL;
}

void sdx_ort_ReleaseRunOptions(OrtRunOptions *o)
{
    if (o) sdx_arena_fini(&o->arena);
    sdx_free(&sdx_alloc_default, o);
}

OrtStatus *sdx_ort_RunOptionsSetRunLogVerbosityLevel(OrtRunOptions *o, int v)
{
    return o ? o->verbosity = v, NULL : sdx_ort_null("run options");
}

OrtStatus *sdx_ort_RunOptionsSetRunLogSeverityLevel(OrtRunOptions *o, int v)
{
    return o ? o->severity = v, NULL : sdx_ort_null("run options");
}

OrtStatus *sdx_ort_RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions *o, int *out)
{
    if (!o || !out) return sdx_ort_null("run options or out");
    *out = o->verbosity;
    return NULL;
}

OrtStatus *sdx_ort_RunOptionsGetRunLogSeverityLevel(const OrtRunOptions *o, int *out)
{
    if (!o || !out) return sdx_ort_null("run options or out");
    *out = o->severity;
    return NULL;
}

OrtStatus *sdx_ort_RunOptionsSetRunTag(OrtRunOptions *o, const char *tag)
{
    if (!o) return sdx_ort_null("run options");
    if (!tag) return o->tag = "", NULL;
    char *copy = sdx_arena_strndup(&o->arena, tag, strlen(tag));
    if (!copy) return sdx_ort_no_memory();
    o->tag = copy;
    return NULL;
}

OrtStatus *sdx_ort_RunOptionsGetRunTag(const OrtRunOptions *o, const char **out)
{
    return o && out ? *out = o->tag, NULL : sdx_ort_null("run options or out");
}

/* From any thread, during runs too. */
OrtStatus *sdx_ort_RunOptionsSetTerminate(OrtRunOptions *o)
{
    if (!o) return sdx_ort_null("run options");
    __atomic_store_n(&o->cancel, 1, __ATOMIC_RELAXED);
    return NULL;
}

OrtStatus *sdx_ort_RunOptionsUnsetTerminate(OrtRunOptions *o)
{
    if (!o) return sdx_ort_null("run options");
    __atomic_store_n(&o->cancel, 0, __ATOMIC_RELAXED);
    return NULL;
}

/* Kept for GetRunConfigEntry; one key gives back memory after a run. */
OrtStatus *sdx_ort_AddRunConfigEntry(OrtRunOptions *o, const char *key, const char *value)
{
    if (!o) return sdx_ort_null("the run options");
    return sdx_ort_config_add(&o->arena, &o->config, &o->n_config, &o->cap_config, key, value);
}

const char *sdx_ort_GetRunConfigEntry(const OrtRunOptions *o, const char *key)
{
    return o && key ? sdx_ort_config_get(o->config, o->n_config, key) : NULL;
}

/* Each run writes a profile of its own. */
OrtStatus *sdx_ort_RunOptionsEnableProfiling(OrtRunOptions *o, const char *prefix)
{
    if (!o || !prefix) return sdx_ort_null("the run options or prefix");
    char *copy = sdx_arena_strndup(&o->arena, prefix, strlen(prefix));
    if (!copy) return sdx_ort_no_memory();
    o->profile_prefix = copy;
    return NULL;
}

OrtStatus *sdx_ort_RunOptionsDisableProfiling(OrtRunOptions *o)
{
    return o ? o->profile_prefix = NULL, NULL : sdx_ort_null("the run options");
}

/* There are no streams to set, nor objects to release. */
void sdx_ort_RunOptionsSetSyncStream(OrtRunOptions *o, void *stream) { (void)o, (void)stream; }
void *sdx_ort_SyncStream_GetHandle(void *stream) { return (void)stream, NULL; }
void sdx_ort_ReleaseSyncStream(void *stream) { (void)stream; }
