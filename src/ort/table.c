/* The function table and the two exported symbols. */
#include "ort/entries_custom.h"
#include "ort/entries_model.h"

#define ORT_EXPORT __attribute__((visibility("default")))

typedef void (*OrtFn)(void);

#define ORT_HAVE(name)
#define ORT_STATUS(name)                                                                                               \
    static OrtStatus *missing_##name(void)                                                                             \
    {                                                                                                                  \
        return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "%s is not supported by this version of Sardonyx", #name);            \
    }
#include "ort/ort_api.def"
#undef ORT_HAVE
#undef ORT_STATUS

static const OrtFn table[] = {
#define ORT_HAVE(name) (OrtFn) sdx_ort_##name,
#define ORT_STATUS(name) (OrtFn) missing_##name,
#include "ort/ort_api.def"
#undef ORT_HAVE
#undef ORT_STATUS
};
_Static_assert(sizeof table / sizeof *table == 428, "the table of API version 31 has 428 entries");

static const void *get_api(uint32_t version) { return version >= 1 && version <= ORT_API_VERSION ? table : NULL; }

static const char *get_version(void) { return ORT_VERSION_TEXT; }

typedef struct OrtApiBase {
    const void *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} OrtApiBase;

ORT_EXPORT const OrtApiBase *OrtGetApiBase(void);
ORT_EXPORT OrtStatus *OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions *o, int use_arena);

static const OrtApiBase base = { get_api, get_version };

const OrtApiBase *OrtGetApiBase(void) { return &base; }
const void *sdx_ort_api(void) { return table; }
const void *sdx_ort_api_base(void) { return &base; }

/* The CPU provider is always there. */
OrtStatus *OrtSessionOptionsAppendExecutionProvider_CPU(OrtSessionOptions *o, int use_arena)
{
    (void)use_arena;
    return o ? NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "options is NULL");
}
