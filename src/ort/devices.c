/* Devices and the providers on them: one CPU. */
#include <string.h>

#include "base/cpu.h"
#include "ort/entries.h"
#include "ort/key_values.h"

struct OrtHardwareDevice {
    int type;
    uint32_t vendor_id, device_id;
    const char *vendor;
    OrtKeyValuePairs metadata;
};

struct OrtEpDevice {
    const char *name, *vendor;
    const OrtHardwareDevice *hardware;
    OrtKeyValuePairs metadata, options;
};

static char *version_key[] = { "version" }, *version_value[] = { ORT_VERSION_TEXT };
static OrtHardwareDevice cpu;
static const OrtEpDevice cpu_ep = {
    .name = ORT_CPU_PROVIDER, .vendor = "Sardonyx", .hardware = &cpu, .metadata = { version_key, version_value, 1, 1 }
};

/* Any number of threads may write the same facts. */
static const OrtHardwareDevice *find_cpu(void)
{
    const CpuVendor v = sdx_cpu_vendor();
    __atomic_store_n(&cpu.vendor_id, v.pci_id, __ATOMIC_RELAXED);
    __atomic_store_n(&cpu.vendor, v.name, __ATOMIC_RELAXED);
    return &cpu;
}

OrtStatus *sdx_ort_GetEpDevices(const OrtEnv *env, const OrtEpDevice *const **out, size_t *n)
{
    static const OrtEpDevice *const list[] = { &cpu_ep };
    if (!env || !out || !n) return sdx_ort_null("env or an out");
    find_cpu();
    *out = list;
    *n = 1;
    return NULL;
}

OrtStatus *sdx_ort_GetNumHardwareDevices(const OrtEnv *env, size_t *out)
{
    if (!env || !out) return sdx_ort_null("env or out");
    *out = 1;
    return NULL;
}

OrtStatus *sdx_ort_GetHardwareDevices(const OrtEnv *env, const OrtHardwareDevice **out, size_t n)
{
    if (!env || !out) return sdx_ort_null("env or out");
    if (n < 1) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "there is 1 hardware device, the array has room for none");
    out[0] = find_cpu();
    return NULL;
}

int sdx_ort_HardwareDevice_Type(const OrtHardwareDevice *d) { return d ? d->type : 0; }
uint32_t sdx_ort_HardwareDevice_VendorId(const OrtHardwareDevice *d) { return d ? d->vendor_id : 0; }
uint32_t sdx_ort_HardwareDevice_DeviceId(const OrtHardwareDevice *d) { return d ? d->device_id : 0; }
const char *sdx_ort_HardwareDevice_Vendor(const OrtHardwareDevice *d) { return d && d->vendor ? d->vendor : ""; }
const OrtKeyValuePairs *sdx_ort_HardwareDevice_Metadata(const OrtHardwareDevice *d) { return d ? &d->metadata : NULL; }

const char *sdx_ort_EpDevice_EpName(const OrtEpDevice *d) { return d ? d->name : NULL; }
const char *sdx_ort_EpDevice_EpVendor(const OrtEpDevice *d) { return d ? d->vendor : NULL; }
const OrtKeyValuePairs *sdx_ort_EpDevice_EpMetadata(const OrtEpDevice *d) { return d ? &d->metadata : NULL; }
const OrtKeyValuePairs *sdx_ort_EpDevice_EpOptions(const OrtEpDevice *d) { return d ? &d->options : NULL; }
const OrtHardwareDevice *sdx_ort_EpDevice_Device(const OrtEpDevice *d) { return d ? d->hardware : NULL; }

/* The CPU's memory is everybody's: its provider registers none. */
const OrtMemoryInfo *sdx_ort_EpDevice_MemoryInfo(const OrtEpDevice *d, int memory)
{
    return (void)d, (void)memory, NULL;
}

OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions *o, OrtEnv *env,
                                                            const OrtEpDevice *const *devices, size_t n,
                                                            const char *const *keys, const char *const *values,
                                                            size_t n_keys)
{
    if (!o || !env) return sdx_ort_null("options or env");
    if (!n || !devices) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Must provide one or more OrtEpDevice instances.");
    for (size_t i = 0; i < n; i++)
        if (devices[i] != &cpu_ep) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "OrtEpDevice %zu is not known", i);
    return sdx_ort_provider_options(o, ORT_CPU_PROVIDER, keys, values, n_keys);
}

/* There is one device to choose from. */
OrtStatus *sdx_ort_SessionOptionsSetEpSelectionPolicy(OrtSessionOptions *o, int policy)
{
    (void)policy;
    return o ? NULL : sdx_ort_null("options");
}

OrtStatus *sdx_ort_SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions *o, void *delegate, void *user)
{
    (void)user;
    return o && delegate ? NULL : sdx_ort_null("options or delegate");
}

/* -- compatibility ------------------------------------------------------------------------------------------------- */

struct OrtDeviceEpIncompatibilityDetails {
    uint32_t reasons; /* none */
};

OrtStatus *sdx_ort_GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv *env, const char *name,
                                                             const OrtHardwareDevice *d,
                                                             OrtDeviceEpIncompatibilityDetails **out)
{
    if (!env || !name || !d || !out) return sdx_ort_null("env, provider, device or out");
    if (strcmp(name, ORT_CPU_PROVIDER) != 0)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No valid factory found for execution provider '%s'.", name);
    *out = sdx_alloc_zero(&sdx_alloc_default, sizeof **out);
    return *out ? NULL : sdx_ort_no_memory();
}

OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetReasonsBitmask(const OrtDeviceEpIncompatibilityDetails *d,
                                                                    uint32_t *out)
{
    if (!d || !out) return sdx_ort_null("details or out");
    *out = d->reasons;
    return NULL;
}

OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetNotes(const OrtDeviceEpIncompatibilityDetails *d, const char **out)
{
    if (!d || !out) return sdx_ort_null("details or out");
    *out = NULL;
    return NULL;
}

OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetErrorCode(const OrtDeviceEpIncompatibilityDetails *d, int32_t *out)
{
    if (!d || !out) return sdx_ort_null("details or out");
    *out = 0;
    return NULL;
}

void sdx_ort_ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails *d)
{
    sdx_free(&sdx_alloc_default, d);
}

/* Models compiled for a provider are not read, so none applies. */
OrtStatus *sdx_ort_GetModelCompatibilityForEpDevices(const OrtEpDevice *const *devices, size_t n, const char *info,
                                                     int *out)
{
    enum { NOT_APPLICABLE };
    if (!devices || !n || !info || !out) return sdx_ort_null("devices, compatibility info or out");
    *out = NOT_APPLICABLE;
    return NULL;
}

/* -- the devices of a session -------------------------------------------------------------------------------------- */

static OrtStatus *each_is_cpu(const OrtSession *s, int have, const void **out, size_t n, const void *what)
{
    if (!s || (n && !out)) return sdx_ort_null("session or out");
    if (n != (size_t)have)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the session has %d of them, the array has room for %zu", have, n);
    for (size_t i = 0; i < n; i++) out[i] = what;
    return NULL;
}

OrtStatus *sdx_ort_SessionGetEpDeviceForInputs(const OrtSession *s, const OrtEpDevice **out, size_t n)
{
    return each_is_cpu(s, s ? sdx_ses_n_inputs(s->ses) : 0, (const void **)out, n, &cpu_ep);
}

OrtStatus *sdx_ort_SessionGetEpDeviceForOutputs(const OrtSession *s, const OrtEpDevice **out, size_t n)
{
    return each_is_cpu(s, s ? sdx_ses_n_outputs(s->ses) : 0, (const void **)out, n, &cpu_ep);
}

OrtStatus *sdx_ort_SessionGetMemoryInfoForInputs(const OrtSession *s, const OrtMemoryInfo **out, size_t n)
{
    return each_is_cpu(s, s ? sdx_ses_n_inputs(s->ses) : 0, (const void **)out, n, &sdx_ort_cpu_info);
}

OrtStatus *sdx_ort_SessionGetMemoryInfoForOutputs(const OrtSession *s, const OrtMemoryInfo **out, size_t n)
{
    return each_is_cpu(s, s ? sdx_ses_n_outputs(s->ses) : 0, (const void **)out, n, &sdx_ort_cpu_info);
}

/* Host memory needs no streams. */
OrtStatus *sdx_ort_CreateSyncStreamForEpDevice(const OrtEpDevice *d, const OrtKeyValuePairs *options, void **out)
{
    (void)options;
    if (!d || !out) return sdx_ort_null("device or out");
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "ep_device does not use DEFAULT memory of a non-CPU device.");
}

static OrtStatus *no_shared_memory(const OrtEnv *env, const OrtEpDevice *d)
{
    if (!env || !d) return sdx_ort_null("env or device");
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid memory type for OrtEpDevice.");
}

OrtStatus *sdx_ort_CreateSharedAllocator(OrtEnv *env, const OrtEpDevice *d, int memory, int type,
                                         const OrtKeyValuePairs *options, OrtAllocator **out)
{
    (void)memory, (void)type, (void)options, (void)out;
    return no_shared_memory(env, d);
}

OrtStatus *sdx_ort_ReleaseSharedAllocator(OrtEnv *env, const OrtEpDevice *d, int memory)
{
    (void)memory;
    return no_shared_memory(env, d);
}

OrtStatus *sdx_ort_SetEpDynamicOptions(OrtSession *s, const char *const *keys, const char *const *values, size_t n)
{
    if (!s || (n && (!keys || !values))) return sdx_ort_null("session, keys or values");
    return n ? NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "no options were given");
}
