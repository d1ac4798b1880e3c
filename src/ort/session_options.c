#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_CreateSessionOptions(OrtSessionOptions **out)
{
    OrtSessionOptions *o = sdx_alloc_zero(&sdx_alloc_default, sizeof *o);
    if (!o) return sdx_ort_no_memory();
    sdx_arena_init(&o->arena, &sdx_alloc_default, 0);
    o->level = OPT_DEFAULT;
    *out = o;
    return NULL;
}

void sdx_ort_ReleaseSessionOptions(OrtSessionOptions *o)
{
    if (o) sdx_arena_fini(&o->arena);
    sdx_free(&sdx_alloc_default, o);
}

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
    return keep_text(o, path, &o->optimized_path);
}

OrtStatus *sdx_ort_EnableProfiling(OrtSessionOptions *o, const char *prefix)
{
    return keep_text(o, prefix, &o->profile_prefix);
}

OrtStatus *sdx_ort_DisableProfiling(OrtSessionOptions *o)
{
    if (!o) return sdx_ort_null("the session options");
    o->profile_prefix = NULL;
    return NULL;
}

OrtStatus *sdx_ort_DisablePerSessionThreads(OrtSessionOptions *o)
{
    if (!o) return sdx_ort_null("the session options");
    o->shares_threads = true;
    return NULL;
}

/* Nodes run one after the other in either mode, and nothing is logged. */
OrtStatus *sdx_ort_SetSessionExecutionMode(OrtSessionOptions *o, int mode)
{
    (void)o;
    return mode == 0 || mode == 1 ? NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "execution_mode is not valid");
}

OrtStatus *sdx_ort_SetSessionLogId(OrtSessionOptions *o, const char *id) { return (void)o, (void)id, NULL; }
OrtStatus *sdx_ort_SetSessionLogVerbosityLevel(OrtSessionOptions *o, int v) { return (void)o, (void)v, NULL; }
OrtStatus *sdx_ort_SetSessionLogSeverityLevel(OrtSessionOptions *o, int v) { return (void)o, (void)v, NULL; }

/* Memory is planned exactly in any case: these four have nothing to switch. */
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o) { return (void)o, NULL; }

/* 0 disable all, 1 basic, 2 extended, 3 layout, 99 all. */
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level)
{
    if (!o) return sdx_ort_null("session options");
    if (level < 0) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "graph_optimization_level is not valid");
    o->level = level == 0 ? OPT_NONE : level == 1 ? OPT_EXACT : OPT_DEFAULT;
    return NULL;
}

OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads)
{
    if (!o) return sdx_ort_null("session options");
    if (threads < 0) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "intra_op_num_threads is negative");
    o->threads = threads;
    return NULL;
}

/* Nodes run one after the other; each uses all threads. */
OrtStatus *sdx_ort_SetInterOpNumThreads(OrtSessionOptions *o, int threads)
{
    (void)o;
    return threads < 0 ? sdx_ort_fail(ORT_INVALID_ARGUMENT, "inter_op_num_threads is negative") : NULL;
}

OrtStatus *sdx_ort_AddFreeDimensionOverrideByName(OrtSessionOptions *o, const char *name, int64_t size)
{
    const char *copy;
    if (size < 0) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the size of a dimension is negative");
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
    if (!*key) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Config key is empty");
    if (strlen(key) > CONFIG_KEY_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Config key is longer than maximum length: %d", CONFIG_KEY_MAX);
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
    if (!o) return sdx_ort_null("the session options");
    return sdx_ort_config_add(&o->arena, &o->config, &o->n_config, &o->cap_config, key, value);
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
    if (!text) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "session config entry '%s' was not found", key);
    size_t held = *size;
    *size = strlen(text) + 1;
    if (!value) return NULL;
    if (held < *size) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "config value needs %zu bytes, got %zu", *size, held);
    memcpy(value, text, *size);
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
    if (in->optimized_path) st = keep_text(o, in->optimized_path, &o->optimized_path);
    if (!st && in->profile_prefix) st = keep_text(o, in->profile_prefix, &o->profile_prefix);
    for (int i = 0; !st && i < in->n_dims; i++)
        st = sdx_ort_AddFreeDimensionOverrideByName(o, in->dims[i].name, in->dims[i].size);
    for (int i = 0; !st && i < in->n_config; i++)
        st = sdx_ort_AddSessionConfigEntry(o, in->config[i].key, in->config[i].value);
    if (st)
        sdx_ort_ReleaseSessionOptions(o);
    else
        *out = o;
    return st;
}
