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

/* Memory is planned exactly in any case: these four have nothing to switch. */
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o) { return (void)o, NULL; }
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o) { return (void)o, NULL; }

/* 0 disable all, 1 basic, 2 extended, 3 layout, 99 all. */
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level)
{
    if (level < 0) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "graph_optimization_level is not valid");
    o->level = level == 0 ? OPT_NONE : level == 1 ? OPT_EXACT : OPT_DEFAULT;
    return NULL;
}

OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads)
{
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

OrtStatus *sdx_ort_AddSessionConfigEntry(OrtSessionOptions *o, const char *key, const char *value)
{
    const char *k, *v;
    OrtStatus *st = keep_text(o, key, &k);
    if (!st) st = keep_text(o, value, &v);
    if (st) return st;
    if (!sdx_arena_grow(&o->arena, o->config, o->n_config, o->cap_config)) return sdx_ort_no_memory();
    o->config[o->n_config++] = (OrtConfig){ k, v };
    return NULL;
}
