/* Providers of other builds: refused as a build for the CPU alone refuses them. Clients look at the code and go on. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "ort/entries.h"

static OrtStatus *not_enabled(const char *what)
{
    return sdx_ort_fail(ORT_FAIL, "%s execution provider is not enabled in this build. ", what);
}

#define ORT_PROVIDER(id, text)                                                                                         \
    OrtStatus *sdx_ort_Create##id##ProviderOptions(void **out) { return (void)out, not_enabled(text); }                \
    OrtStatus *sdx_ort_Update##id##ProviderOptions(void *p, const char *const *keys, const char *const *values,        \
                                                   size_t n)                                                           \
    {                                                                                                                  \
        return (void)p, (void)keys, (void)values, (void)n, not_enabled(text);                                          \
    }                                                                                                                  \
    OrtStatus *sdx_ort_Get##id##ProviderOptionsAsString(const void *p, OrtAllocator *a, char **out)                    \
    {                                                                                                                  \
        return (void)p, (void)a, (void)out, not_enabled(text);                                                         \
    }                                                                                                                  \
    void sdx_ort_Release##id##ProviderOptions(void *p) { (void)p; /* none was made */ }
#define ORT_APPEND(id, text)                                                                                           \
    OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_##id(OrtSessionOptions *o, const void *p)                 \
    {                                                                                                                  \
        return o ? (void)p, not_enabled(text) : sdx_ort_null("options");                                               \
    }
#define ORT_APPEND_LIST(id, text)                                                                                      \
    OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_##id(OrtSessionOptions *o, const char *const *keys,       \
                                                                  const char *const *values, size_t n)                 \
    {                                                                                                                  \
        return o ? (void)keys, (void)values, (void)n, not_enabled(text) : sdx_ort_null("options");                     \
    }
#define ORT_BY_NAME(id, text)                                                                                          \
    OrtStatus *sdx_ort_Update##id##ProviderOptionsWithValue(void *p, const char *key, void *value)                     \
    {                                                                                                                  \
        return (void)p, (void)key, (void)value, not_enabled(text);                                                     \
    }                                                                                                                  \
    OrtStatus *sdx_ort_Get##id##ProviderOptionsByName(const void *p, const char *key, void **out)                      \
    {                                                                                                                  \
        return (void)p, (void)key, (void)out, not_enabled(text);                                                       \
    }
#include "ort/absent.def"
#undef ORT_PROVIDER
#undef ORT_APPEND
#undef ORT_APPEND_LIST
#undef ORT_BY_NAME

OrtStatus *sdx_ort_SetCurrentGpuDeviceId(int id) { return (void)id, not_enabled("CUDA"); }
OrtStatus *sdx_ort_GetCurrentGpuDeviceId(int *id) { return (void)id, not_enabled("CUDA"); }

OrtStatus *sdx_ort_GetExecutionProviderApi(const char *name, uint32_t version, const void **out)
{
    (void)version;
    if (!name || !out) return sdx_ort_null("provider or out");
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Specified provider is not supported.");
}

/* -- by name ------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_provider_options(OrtSessionOptions *o, const char *provider, const char *const *keys,
                                    const char *const *values, size_t n)
{
    if (n && (!keys || !values)) return sdx_ort_null("provider options");
    for (size_t i = 0; i < n; i++) {
        char key[1200], *p = key;
        if (!keys[i] || !values[i]) return sdx_ort_null("a provider option");
        snprintf(key, sizeof key, "ep.%s.", provider);
        for (; *p; p++) *p = (char)tolower((unsigned char)*p);
        snprintf(p, sizeof key - (size_t)(p - key), "%s", keys[i]);
        OrtStatus *st = sdx_ort_AddSessionConfigEntry(o, key, values[i]);
        if (st) return st;
    }
    return NULL;
}

static bool is_provider(const char *name, const char *text)
{
    size_t n = strlen(text);
    return strncmp(name, text, n) == 0 && (!name[n] || strcmp(name + n, "ExecutionProvider") == 0);
}

OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider(OrtSessionOptions *o, const char *name,
                                                         const char *const *keys, const char *const *values, size_t n)
{
    static const char *const elsewhere[] = { "DML",    "QNN",   "OpenVINO", "SNPE",    "XNNPACK", "WEBNN",
                                             "WebGPU", "AZURE", "JS",       "VitisAI", "CoreML" };
    if (!o || !name) return sdx_ort_null("options or provider");
    if (is_provider(name, "CPU")) return sdx_ort_provider_options(o, ORT_CPU_PROVIDER, keys, values, n);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (is_provider(name, elsewhere[i]))
            return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s execution provider is not supported in this build. ", name);
    return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                        "Unknown provider name '%s'. Currently supported values are 'CPU'/'CPUExecutionProvider'.",
                        name);
}

/* -- plugins ------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_RegisterExecutionProviderLibrary(OrtEnv *env, const char *name, const char *path)
{
    if (!env || !name || !path) return sdx_ort_null("env, name or path");
    return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "RegisterExecutionProviderLibrary: %s: plugin providers are not supported",
                        path);
}

OrtStatus *sdx_ort_UnregisterExecutionProviderLibrary(OrtEnv *env, const char *name)
{
    if (!env || !name) return sdx_ort_null("env or name");
    return sdx_ort_fail(ORT_FAIL, "Execution provider library: %s was not registered.", name);
}
