/* Environment, memory info and the default allocator: things that cost us nothing. */
#include <string.h>

#include "ort/entries.h"

static OrtEnv the_env;

OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out)
{
    (void)severity, (void)id;
    __atomic_fetch_add(&the_env.refs, 1, __ATOMIC_RELAXED);
    *out = &the_env;
    return NULL;
}

void sdx_ort_ReleaseEnv(OrtEnv *env)
{
    if (env) __atomic_fetch_sub(&env->refs, 1, __ATOMIC_RELAXED);
}

const char *sdx_ort_GetBuildInfoString(void) { return "Sardonyx 0.1.0"; }

static OrtMemoryInfo cpu_info = { "Cpu" };

OrtStatus *sdx_ort_CreateCpuMemoryInfo(int allocator, int mem_type, OrtMemoryInfo **out)
{
    (void)allocator, (void)mem_type;
    *out = &cpu_info;
    return NULL;
}

void sdx_ort_ReleaseMemoryInfo(OrtMemoryInfo *info) { (void)info; /* static */ }

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
    return &cpu_info;
}

static OrtAllocator default_allocator = {
    .version = ORT_API_VERSION,
    .Alloc = allocator_alloc,
    .Free = allocator_free,
    .Info = allocator_info,
    .Reserve = allocator_alloc,
};

OrtStatus *sdx_ort_GetAllocatorWithDefaultOptions(OrtAllocator **out)
{
    *out = &default_allocator;
    return NULL;
}

OrtStatus *sdx_ort_AllocatorFree(OrtAllocator *a, void *p)
{
    a->Free(a, p);
    return NULL;
}

char *sdx_ort_strdup(OrtAllocator *a, const char *s)
{
    char *p = a->Alloc(a, strlen(s) + 1);
    if (p) memcpy(p, s, strlen(s) + 1);
    return p;
}
