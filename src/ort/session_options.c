#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_CreateSessionOptions(OrtSessionOptions **out)
{
    if (!out) return sdx_ort_null("out");
    OrtSessionOptions *o = sdx_alloc_zero(&sdx_alloc_default, sizeof *o);
    if (!o) return sdx_ort_no_memory();
    sdx_arena_init(&o->arena, &sdx_alloc_default, 0);
    o->level = OPT_DEFAULT;
    o->log.severity = -1;
    *out = o;
    return NULL;
}

void sdx_ort_ReleaseSessionOptions(OrtSessionOptions *o)
{
    if (!o) return;
    for (int i = 0; i < o->n_inits; i++) sdx_buf_release(o->inits[i].d.buf);
    sdx_arena_fini(&o->arena);
    sdx_free(&sdx_alloc_default, o);
}

static OrtStatus *no_options(void) { return sdx_ort_null("session options"); }

static OrtStatus *keep_text(OrtSessionOptions *o, const char *text, const char **field)
{
    if (!o || !text) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "options or text is NULL");
    char *copy = sdx_arena_strndup(&o->arena, text, strlen(text));
    if (!copy) return sdx_ort_no_memory();
    *field = copy;
    return NULL;
}

OrtStatus *sdx_ort_SetOptimizedModelFilePath(OrtSessionOptions *o, const char *path)
{
    return o ? keep_text(o, path, &o->optimized_path) : no_options();
}

OrtStatus *sdx_ort_EnableProfiling(OrtSessionOptions *o, const char *prefix)
{
    return o ? keep_text(o, prefix, &o->profile_prefix) : no_options();
}

OrtStatus *sdx_ort_DisableProfiling(OrtSessionOptions *o) { return o ? o->profile_prefix = NULL, NULL : no_options(); }

OrtStatus *sdx_ort_DisablePerSessionThreads(OrtSessionOptions *o)
{
    return o ? o->shares_threads = true, NULL : no_options();
}

/* Nodes run one after the other in either mode. */
OrtStatus *sdx_ort_SetSessionExecutionMode(OrtSessionOptions *o, int mode)
{
    if (!o) return no_options();
    if (mode != 0 && mode != 1) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "execution_mode is not valid");
    o->execution_mode = mode;
    return NULL;
}

OrtStatus *sdx_ort_GetSessionExecutionMode(const OrtSessionOptions *o, int *out)
{
    return o && out ? *out = o->execution_mode, NULL : sdx_ort_null("session options or out");
}

OrtStatus *sdx_ort_SetSessionLogId(OrtSessionOptions *o, const char *id)
{
    if (!o || !id) return sdx_ort_null("session options or log id");
    sdx_ort_log_init(&o->log, o->log.fn, o->log.user, o->log.severity, id);
    return NULL;
}

OrtStatus *sdx_ort_SetSessionLogVerbosityLevel(OrtSessionOptions *o, int v)
{
    return o ? (void)v, NULL : no_options(); /* of messages that are not made */
}

OrtStatus *sdx_ort_SetSessionLogSeverityLevel(OrtSessionOptions *o, int v)
{
    return o ? o->log.severity = v, NULL : no_options();
}

OrtStatus *sdx_ort_SetUserLoggingFunction(OrtSessionOptions *o, OrtLogFn fn, void *user)
{
    if (!o || !fn) return sdx_ort_null("session options or function");
    o->log.fn = fn;
    o->log.user = user;
    return NULL;
}

/* Memory is planned exactly in any case: these four have nothing to switch. */
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o)
{
    return o ? o->has_no_mem_pattern = false, NULL : no_options();
}

OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o)
{
    return o ? o->has_no_mem_pattern = true, NULL : no_options();
}

OrtStatus *sdx_ort_GetMemPatternEnabled(const OrtSessionOptions *o, int *out)
{
    return o && out ? *out = !o->has_no_mem_pattern, NULL : sdx_ort_null("session options or out");
}

OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o) { return o ? NULL : no_options(); }
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o) { return o ? NULL : no_options(); }

/* Results are the same bits for any number of threads anyway. */
OrtStatus *sdx_ort_SetDeterministicCompute(OrtSessionOptions *o, bool value)
{
    return o ? o->is_deterministic = value, NULL : no_options();
}

/* 0 disable all, 1 basic, 2 extended, 3 layout, 99 all. */
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level)
{
    enum { LAYOUT = 3, ALL = 99 };
    if (!o) return no_options();
    if (level != ALL && (level < 0 || level > LAYOUT))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "graph_optimization_level is not valid");
    o->level = level == 0 ? OPT_NONE : level == 1 ? OPT_EXACT : OPT_DEFAULT;
    return NULL;
}

/* 0 and less: default. */
OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads)
{
    return o ? o->threads = threads < 0 ? 0 : threads, NULL : no_options();
}

/* Nodes run one after the other; each uses all threads. */
OrtStatus *sdx_ort_SetInterOpNumThreads(OrtSessionOptions *o, int threads)
{
    return o ? (void)threads, NULL : no_options();
}

/* Looked at when a session is about to open, and by nobody after. */
OrtStatus *sdx_ort_SessionOptionsSetLoadCancellationFlag(OrtSessionOptions *o, bool cancel)
{
    if (!o) return no_options();
    __atomic_store_n(&o->cancels_load, cancel, __ATOMIC_RELAXED);
    return NULL;
}

/* -- symbolic sizes ------------------------------------------------------------------------------------------------ */

/* Denotations of dimensions ("DATA_BATCH") are not read from files: none is there to override. */
OrtStatus *sdx_ort_AddFreeDimensionOverride(OrtSessionOptions *o, const char *denotation, int64_t size)
{
    (void)size;
    return o && denotation ? NULL : sdx_ort_null("session options or denotation");
}

OrtStatus *sdx_ort_AddFreeDimensionOverrideByName(OrtSessionOptions *o, const char *name, int64_t size)
{
    const char *copy;
    if (!o) return no_options();
    if (size < 0) return NULL; /* leaves it free */
    OrtStatus *st = keep_text(o, name, &copy);
    if (st) return st;
    if (!sdx_arena_grow(&o->arena, o->dims, o->n_dims, o->cap_dims)) return sdx_ort_no_memory();
    o->dims[o->n_dims++] = (DimOverride){ copy, size };
    return NULL;
}

/* -- configuration entries ----------------------------------------------------------------------------------------- */

#define CONFIG_KEY_MAX 1024
#define CONFIG_VALUE_MAX 8192

OrtStatus *sdx_ort_config_add(Arena *a, OrtConfig **v, int *n, int *cap, const char *key, const char *value)
{
    if (!key || !value) return sdx_ort_null("a config key or value");
    if (!*key || strlen(key) > CONFIG_KEY_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Config key is empty or longer than maximum length %d",
                            CONFIG_KEY_MAX);
    if (strlen(value) > CONFIG_VALUE_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Config value is longer than maximum length: %d", CONFIG_VALUE_MAX);
    OrtConfig c = { sdx_arena_strndup(a, key, strlen(key)), sdx_arena_strndup(a, value, strlen(value)) };
    if (!c.key || !c.value || !sdx_arena_grow(a, *v, *n, *cap)) return sdx_ort_no_memory();
    (*v)[(*n)++] = c;
    return NULL;
}

const char *sdx_ort_config_get(const OrtConfig *v, int n, const char *key)
{
    while (n-- > 0)
        if (strcmp(v[n].key, key) == 0) return v[n].value;
    return NULL;
}

OrtStatus *sdx_ort_AddSessionConfigEntry(OrtSessionOptions *o, const char *key, const char *value)
{
    if (!o || !key || !value) return sdx_ort_null("the session options, key or value");
    bool taken;
    OrtStatus *st = sdx_ort_key_apply(o, key, value, &taken);
    return st || taken ? st : sdx_ort_config_add(&o->arena, &o->config, &o->n_config, &o->cap_config, key, value);
}

OrtStatus *sdx_ort_HasSessionConfigEntry(const OrtSessionOptions *o, const char *key, int *out)
{
    if (!o || !key || !out) return sdx_ort_null("options, key or out");
    *out = sdx_ort_config_get(o->config, o->n_config, key) != NULL;
    return NULL;
}

/* size: what value holds; becomes what is needed. value may be NULL to ask. */
OrtStatus *sdx_ort_GetSessionConfigEntry(const OrtSessionOptions *o, const char *key, char *value, size_t *size)
{
    if (!o || !key || !size) return sdx_ort_null("options, key or size");
    const char *text = sdx_ort_config_get(o->config, o->n_config, key);
    if (!text) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Session config entry '%s' was not found.", key);
    size_t held = *size;
    *size = strlen(text) + 1;
    if (!value) return NULL;
    if (held < *size)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "Output buffer is not large enough for session config entry: %zu bytes, %zu needed", held,
                            *size);
    memcpy(value, text, *size);
    return NULL;
}

OrtStatus *sdx_ort_GetSessionOptionsConfigEntries(const OrtSessionOptions *o, OrtKeyValuePairs **out)
{
    if (!o || !out) return sdx_ort_null("options or out");
    OrtKeyValuePairs *kv = sdx_ort_kvps_new();
    bool ok = kv;
    for (int i = 0; ok && i < o->n_config; i++) ok = sdx_ort_kvps_add(kv, o->config[i].key, o->config[i].value);
    if (!ok) {
        sdx_ort_ReleaseKeyValuePairs(kv);
        return sdx_ort_no_memory();
    }
    *out = kv;
    return NULL;
}

/* -- copies -------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_CloneSessionOptions(const OrtSessionOptions *in, OrtSessionOptions **out)
{
    if (!in || !out) return sdx_ort_null("options or out");
    OrtSessionOptions *o;
    OrtStatus *st = sdx_ort_CreateSessionOptions(&o);
    if (st) return st;
    o->level = in->level;
    o->threads = in->threads;
    o->shares_threads = in->shares_threads;
    o->is_deterministic = in->is_deterministic;
    o->has_no_mem_pattern = in->has_no_mem_pattern;
    o->execution_mode = in->execution_mode;
    o->log = in->log;
    o->threads_by = in->threads_by;
    if (in->optimized_path) st = keep_text(o, in->optimized_path, &o->optimized_path);
    if (!st && in->profile_prefix) st = keep_text(o, in->profile_prefix, &o->profile_prefix);
    for (int i = 0; !st && i < in->n_dims; i++)
        st = sdx_ort_AddFreeDimensionOverrideByName(o, in->dims[i].name, in->dims[i].size);
    for (int i = 0; !st && i < in->n_config; i++)
        st = sdx_ort_AddSessionConfigEntry(o, in->config[i].key, in->config[i].value);
    for (int i = 0; !st && i < in->n_inits; i++) st = sdx_ort_init_add(o, &in->inits[i]);
    for (int i = 0; !st && i < in->n_files; i++) st = sdx_ort_file_add(o, &in->files[i]);
    for (int i = 0; !st && i < in->n_domains; i++) st = sdx_ort_domain_add(o, in->domains[i]);
    if (st)
        sdx_ort_ReleaseSessionOptions(o);
    else
        *out = o;
    return st;
}
