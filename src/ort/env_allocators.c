/* Allocators registered with the environment. Sessions with `session.use_env_allocators` take their memory from a
 * caller's; one that the environment is asked to make itself is the heap, which sessions share anyway. */
#include <string.h>

#include "base/lock.h"
#include "ort/entries.h"

/* A caller's allocator as ours: blocks are aligned, and a word before each says where the caller's begins. Lives until
 * the environment goes, as sessions may hold on to one that is no longer registered. */
typedef struct EnvAllocator {
    Alloc alloc;
    OrtAllocator *ort;
    struct EnvAllocator *next;
} EnvAllocator;

static EnvAllocator *all;
static const EnvAllocator *current; /* of the host's memory, which is all there is */
static bool has_any;                /* current, or the heap itself */
static Lock lock;

static void *env_alloc(void *user, size_t nbytes, size_t align)
{
    OrtAllocator *a = ((EnvAllocator *)user)->ort;
    if (nbytes > SIZE_MAX - align - sizeof(void *)) return NULL;
    char *block = a->Alloc(a, nbytes + align + sizeof(void *));
    if (!block) return NULL;
    uintptr_t at = ((uintptr_t)block + sizeof(void *) + align - 1) & ~(uintptr_t)(align - 1);
    ((void **)at)[-1] = block;
    return (void *)at;
}

static void env_free(void *user, void *p)
{
    OrtAllocator *a = ((EnvAllocator *)user)->ort;
    if (p) a->Free(a, ((void **)p)[-1]);
}

const Alloc *sdx_ort_env_allocator(void)
{
    sdx_lock(&lock);
    const Alloc *a = current ? &current->alloc : NULL;
    sdx_unlock(&lock);
    return a;
}

/* A later one takes the place of an earlier; NULL is the heap. */
static void put(const EnvAllocator *a, bool has)
{
    sdx_lock(&lock);
    current = a;
    has_any = has;
    sdx_unlock(&lock);
}

void sdx_ort_forget_allocators(void)
{
    put(NULL, false);
    for (EnvAllocator *a = all, *next; a; a = next) {
        next = a->next;
        sdx_free(&sdx_alloc_default, a);
    }
    all = NULL;
}

OrtStatus *sdx_ort_RegisterAllocator(OrtEnv *env, OrtAllocator *a)
{
    if (!env || !a) return sdx_ort_null("env or allocator");
    const OrtMemoryInfo *info = a->Info(a);
    if (info && !sdx_ort_is_host_memory(info))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "only CPU memory is shared, not %s", info->name);
    EnvAllocator *e = sdx_alloc(&sdx_alloc_default, sizeof *e);
    if (!e) return sdx_ort_no_memory();
    sdx_lock(&lock);
    *e = (EnvAllocator){ { env_alloc, env_free, e }, a, all };
    all = e;
    sdx_unlock(&lock);
    put(e, true);
    return NULL;
}

/* A ceiling is no hint, so it is refused. */
OrtStatus *sdx_ort_CreateAndRegisterAllocator(OrtEnv *env, const OrtMemoryInfo *info, const OrtArenaCfg *cfg)
{
    if (!env || !info) return sdx_ort_null("env or memory info");
    if (!sdx_ort_is_host_memory(info))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "only CPU memory is shared, not %s", info->name);
    if (cfg && cfg->max_mem) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "max_mem of a shared allocator is not supported");
    put(NULL, true);
    return NULL;
}

OrtStatus *sdx_ort_CreateAndRegisterAllocatorV2(OrtEnv *env, const char *provider, const OrtMemoryInfo *info,
                                                const OrtArenaCfg *cfg, const char *const *keys,
                                                const char *const *values, size_t n)
{
    (void)keys, (void)values, (void)n;
    if (!provider) return sdx_ort_null("provider");
    if (strcmp(provider, ORT_CPU_PROVIDER) != 0)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s is not implemented in CreateAndRegisterAllocatorV2()", provider);
    return sdx_ort_CreateAndRegisterAllocator(env, info, cfg);
}

OrtStatus *sdx_ort_UnregisterAllocator(OrtEnv *env, const OrtMemoryInfo *info)
{
    if (!env || !info) return sdx_ort_null("env or memory info");
    if (!__atomic_load_n(&has_any, __ATOMIC_RELAXED) || !sdx_ort_is_host_memory(info))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No allocator for this device has been registered for sharing.");
    put(NULL, false);
    return NULL;
}

/* NULL when there is none. */
OrtStatus *sdx_ort_GetSharedAllocator(OrtEnv *env, const OrtMemoryInfo *info, OrtAllocator **out)
{
    if (!env || !info || !out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "OrtEnv and OrtMemoryInfo must be provided, and out");
    sdx_lock(&lock);
    *out = current ? current->ort : NULL;
    sdx_unlock(&lock);
    if (*out || !sdx_ort_is_host_memory(info)) return NULL;
    return sdx_ort_GetAllocatorWithDefaultOptions(out);
}
