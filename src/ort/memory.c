/* Memory infos and allocators. All memory is the host's; infos of devices are descriptions that nothing here uses. */
#include <string.h>

#include "ort/entries.h"

OrtMemoryInfo sdx_ort_cpu_info = { .type = 0, .id = 0, .mem_type = 0, .name = "Cpu" };

OrtStatus *sdx_ort_CreateMemoryInfo(const char *name, int type, int id, int mem_type, OrtMemoryInfo **out)
{
    if (!name || !out) return sdx_ort_null("name or out");
    size_t n = strlen(name);
    if (n >= sizeof(*out)->name) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the name of a memory is too long");
    OrtMemoryInfo *info = sdx_alloc_zero(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    *info = (OrtMemoryInfo){ .type = type, .id = id, .mem_type = mem_type };
    memcpy(info->name, name, n);
    *out = info;
    return NULL;
}

OrtStatus *sdx_ort_CreateCpuMemoryInfo(int type, int mem_type, OrtMemoryInfo **out)
{
    return sdx_ort_CreateMemoryInfo("Cpu", type, 0, mem_type, out);
}

void sdx_ort_ReleaseMemoryInfo(OrtMemoryInfo *info)
{
    if (info != &sdx_ort_cpu_info) sdx_free(&sdx_alloc_default, info);
}

/* 0: equal. */
OrtStatus *sdx_ort_CompareMemoryInfo(const OrtMemoryInfo *a, const OrtMemoryInfo *b, int *out)
{
    if (!a || !b || !out) return sdx_ort_null("a memory info or out");
    bool same = a->type == b->type && a->id == b->id && a->mem_type == b->mem_type && strcmp(a->name, b->name) == 0;
    *out = same ? 0 : -1;
    return NULL;
}

OrtStatus *sdx_ort_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out) { return *out = info->name, NULL; }
OrtStatus *sdx_ort_MemoryInfoGetId(const OrtMemoryInfo *info, int *out) { return *out = info->id, NULL; }
OrtStatus *sdx_ort_MemoryInfoGetMemType(const OrtMemoryInfo *info, int *out) { return *out = info->mem_type, NULL; }
OrtStatus *sdx_ort_MemoryInfoGetType(const OrtMemoryInfo *info, int *out) { return *out = info->type, NULL; }

void sdx_ort_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, int *out)
{
    enum { DEVICE_CPU, DEVICE_GPU };
    *out = strncmp(info->name, "Cpu", 3) == 0 || info->mem_type < 0 ? DEVICE_CPU : DEVICE_GPU;
}

static void *allocator_alloc(OrtAllocator *self, size_t nbytes)
{
    (void)self;
    return sdx_alloc(&sdx_alloc_default, nbytes);
}

static void allocator_free(OrtAllocator *self, void *p)
{
    (void)self;
    sdx_free(&sdx_alloc_default, p);
}

static const OrtMemoryInfo *allocator_info(const OrtAllocator *self)
{
    (void)self;
    return &sdx_ort_cpu_info;
}

static OrtAllocator default_allocator = {
    .version = 18, /* no statistics, streams or shrinking */
    .Alloc = allocator_alloc,
    .Free = allocator_free,
    .Info = allocator_info,
    .Reserve = allocator_alloc,
};

OrtStatus *sdx_ort_GetAllocatorWithDefaultOptions(OrtAllocator **out)
{
    if (!out) return sdx_ort_null("out");
    *out = &default_allocator;
    return NULL;
}

OrtStatus *sdx_ort_CreateAllocator(const OrtSession *s, const OrtMemoryInfo *info, OrtAllocator **out)
{
    if (!s || !info || !out) return sdx_ort_null("session, memory info or out");
    if (strncmp(info->name, "Cpu", 3) != 0)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No requested allocator available: %s", info->name);
    *out = &default_allocator;
    return NULL;
}

void sdx_ort_ReleaseAllocator(OrtAllocator *a) { (void)a; /* static */ }

OrtStatus *sdx_ort_AllocatorAlloc(OrtAllocator *a, size_t nbytes, void **out)
{
    if (!a || !out) return sdx_ort_null("allocator or out");
    *out = a->Alloc(a, nbytes);
    return *out || !nbytes ? NULL : sdx_ort_no_memory();
}

OrtStatus *sdx_ort_AllocatorFree(OrtAllocator *a, void *p)
{
    if (!a) return sdx_ort_null("allocator");
    a->Free(a, p);
    return NULL;
}

OrtStatus *sdx_ort_AllocatorGetInfo(const OrtAllocator *a, const OrtMemoryInfo **out)
{
    if (!a || !out) return sdx_ort_null("allocator or out");
    *out = a->Info(a);
    return NULL;
}

/* -- arenas that sessions share ------------------------------------------------------------------------------------ */

/* Runs take memory by their plans and give it back to one process-wide heap: how an arena should grow is a hint that
 * has nothing to tune. */
struct OrtArenaCfg {
    size_t max_mem;
};

OrtStatus *sdx_ort_CreateArenaCfg(size_t max_mem, int strategy, int chunk, int dead, OrtArenaCfg **out)
{
    (void)strategy, (void)chunk, (void)dead;
    if (!out) return sdx_ort_null("out");
    *out = sdx_alloc_zero(&sdx_alloc_default, sizeof **out);
    if (!*out) return sdx_ort_no_memory();
    (*out)->max_mem = max_mem;
    return NULL;
}

OrtStatus *sdx_ort_CreateArenaCfgV2(const char *const *keys, const size_t *values, size_t n, OrtArenaCfg **out)
{
    static const char *const known[] = { "max_mem",
                                         "arena_extend_strategy",
                                         "initial_chunk_size_bytes",
                                         "max_dead_bytes_per_chunk",
                                         "initial_growth_chunk_size_bytes",
                                         "max_power_of_two_extend_bytes" };
    size_t max_mem = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < sizeof known / sizeof *known && strcmp(keys[i], known[k]) != 0) k++;
        if (k == sizeof known / sizeof *known)
            return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid key found: %s", keys[i]);
        if (k == 0) max_mem = values[i];
    }
    return sdx_ort_CreateArenaCfg(max_mem, -1, -1, -1, out);
}

void sdx_ort_ReleaseArenaCfg(OrtArenaCfg *cfg) { sdx_free(&sdx_alloc_default, cfg); }

/* Sessions share the host's heap already. A ceiling is no hint, so it is refused. */
OrtStatus *sdx_ort_CreateAndRegisterAllocator(OrtEnv *env, const OrtMemoryInfo *info, const OrtArenaCfg *cfg)
{
    if (!env || !info) return sdx_ort_null("env or memory info");
    if (strncmp(info->name, "Cpu", 3) != 0)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "only CPU memory is shared, not %s", info->name);
    if (cfg && cfg->max_mem) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "max_mem of a shared allocator is not supported");
    return NULL;
}

OrtStatus *sdx_ort_UnregisterAllocator(OrtEnv *env, const OrtMemoryInfo *info)
{
    return env && info ? NULL : sdx_ort_null("env or memory info");
}

/* -- texts for callers --------------------------------------------------------------------------------------------- */

char *sdx_ort_strdup(OrtAllocator *a, const char *s)
{
    char *p = a->Alloc(a, strlen(s) + 1);
    if (p) memcpy(p, s, strlen(s) + 1);
    return p;
}

OrtStatus *sdx_ort_give_text(OrtAllocator *a, const char *text, char **out)
{
    if (!a || !out) return sdx_ort_null("allocator or out");
    char *copy = sdx_ort_strdup(a, text ? text : "");
    if (!copy) return sdx_ort_no_memory();
    *out = copy;
    return NULL;
}
