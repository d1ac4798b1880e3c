/* Memory infos and allocators. All memory is the host's; infos of devices are descriptions that nothing here uses. */
#include <string.h>

#include "ort/entries.h"

OrtMemoryInfo sdx_ort_cpu_info = { .name = "Cpu" };

OrtStatus *sdx_ort_CreateMemoryInfo_V2(const char *name, int device_type, uint32_t vendor_id, int32_t device_id,
                                       int device_mem, size_t alignment, int allocator_type, OrtMemoryInfo **out)
{
    (void)alignment; /* of a device's memory, which nobody allocates here */
    if (!name || !out) return sdx_ort_null("name or out");
    size_t n = strlen(name);
    if (n >= sizeof(*out)->name) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the name of a memory is too long");
    OrtMemoryInfo *info = sdx_alloc_zero(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    *info = (OrtMemoryInfo){ .type = allocator_type,
                             .id = device_id,
                             .device_type = device_type,
                             .device_mem = device_mem,
                             .vendor_id = vendor_id };
    memcpy(info->name, name, n);
    *out = info;
    return NULL;
}

OrtStatus *sdx_ort_CreateMemoryInfo(const char *name, int type, int id, int mem_type, OrtMemoryInfo **out)
{
    enum { CPU, GPU, SHARED = 5, AMD = 0x1002, NVIDIA = 0x10de, MICROSOFT = 0x1414, QUALCOMM = 0x5143, INTEL = 0x8086 };
    static const struct {
        const char *name;
        int type, mem, vendor;
    } known[] = {
        { "Cpu", CPU, 0, 0 },
        { "Cuda", GPU, 0, NVIDIA },
        { "CudaPinned", GPU, SHARED, NVIDIA },
        { "Hip", GPU, 0, AMD },
        { "HipPinned", GPU, SHARED, AMD },
        { "DML", GPU, 0, MICROSOFT },
        { "OpenVINO_GPU", GPU, 0, INTEL },
        { "WebGPU_Buffer", GPU, 0, 0 },
        { "WebGPU_Buf", GPU, 0, 0 },
        { "WebNN_Tensor", GPU, 0, 0 },
        { "WebNN_Ten", GPU, 0, 0 },
        { "QnnHtpShared", CPU, SHARED, QUALCOMM },
    };
    if (!name || !out) return sdx_ort_null("name or out");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        OrtStatus *st = sdx_ort_CreateMemoryInfo_V2(name, known[i].type, (uint32_t)known[i].vendor, id, known[i].mem, 0,
                                                    type, out);
        if (!st) (*out)->mem_type = mem_type;
        return st;
    }
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Specified device is not supported. Try CreateMemoryInfo_V2.");
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
    bool same = a->type == b->type && a->id == b->id && a->mem_type == b->mem_type &&
                a->device_type == b->device_type && a->device_mem == b->device_mem && strcmp(a->name, b->name) == 0;
    *out = same ? 0 : -1;
    return NULL;
}

OrtStatus *sdx_ort_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out)
{
    return info && out ? *out = info->name, NULL : sdx_ort_null("memory info or out");
}

OrtStatus *sdx_ort_MemoryInfoGetId(const OrtMemoryInfo *info, int *out)
{
    return info && out ? *out = info->id, NULL : sdx_ort_null("memory info or out");
}

OrtStatus *sdx_ort_MemoryInfoGetMemType(const OrtMemoryInfo *info, int *out)
{
    return info && out ? *out = info->mem_type, NULL : sdx_ort_null("memory info or out");
}

OrtStatus *sdx_ort_MemoryInfoGetType(const OrtMemoryInfo *info, int *out)
{
    return info && out ? *out = info->type, NULL : sdx_ort_null("memory info or out");
}

void sdx_ort_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, int *out)
{
    if (info && out) *out = info->device_type;
}

int sdx_ort_MemoryInfoGetDeviceMemType(const OrtMemoryInfo *info) { return info ? info->device_mem : 0; }
uint32_t sdx_ort_MemoryInfoGetVendorId(const OrtMemoryInfo *info) { return info ? info->vendor_id : 0; }

bool sdx_ort_is_host_memory(const OrtMemoryInfo *info) { return info->device_type == 0 || info->device_mem == 5; }

/* -- allocators ---------------------------------------------------------------------------------------------------- */

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
    if (info->device_type != 0)
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

/* Nothing is counted here; a caller's allocator may do so from version 23 on. */
OrtStatus *sdx_ort_AllocatorGetStats(const OrtAllocator *a, OrtKeyValuePairs **out)
{
    enum { HAS_STATS = 23 };
    if (!a || !out) return sdx_ort_null("allocator or out");
    if (a->version >= HAS_STATS && a->GetStats) return a->GetStats(a, (void **)out);
    *out = sdx_ort_kvps_new();
    return *out ? NULL : sdx_ort_no_memory();
}

/* -- arenas that sessions share ------------------------------------------------------------------------------------ */

/* Runs take memory by their plans and give it back to one process-wide heap: how an arena should grow is a hint that
 * has nothing to tune. */
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
    if (n && (!keys || !values)) return sdx_ort_null("keys or values");
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
