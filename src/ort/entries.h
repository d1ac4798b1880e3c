/* The implemented entries, by their names in the table with our prefix. Parameters as the ABI has them. */
#ifndef SDX_ORT_ENTRIES_H
#define SDX_ORT_ENTRIES_H

#include "ort/ort.h"

/* devices.c */
OrtStatus *sdx_ort_GetEpDevices(const OrtEnv *env, const OrtEpDevice *const **out, size_t *n);
OrtStatus *sdx_ort_GetNumHardwareDevices(const OrtEnv *env, size_t *out);
OrtStatus *sdx_ort_GetHardwareDevices(const OrtEnv *env, const OrtHardwareDevice **out, size_t n);
int sdx_ort_HardwareDevice_Type(const OrtHardwareDevice *d);
uint32_t sdx_ort_HardwareDevice_VendorId(const OrtHardwareDevice *d);
uint32_t sdx_ort_HardwareDevice_DeviceId(const OrtHardwareDevice *d);
const char *sdx_ort_HardwareDevice_Vendor(const OrtHardwareDevice *d);
const OrtKeyValuePairs *sdx_ort_HardwareDevice_Metadata(const OrtHardwareDevice *d);
const char *sdx_ort_EpDevice_EpName(const OrtEpDevice *d);
const char *sdx_ort_EpDevice_EpVendor(const OrtEpDevice *d);
const OrtKeyValuePairs *sdx_ort_EpDevice_EpMetadata(const OrtEpDevice *d);
const OrtKeyValuePairs *sdx_ort_EpDevice_EpOptions(const OrtEpDevice *d);
const OrtHardwareDevice *sdx_ort_EpDevice_Device(const OrtEpDevice *d);
const OrtMemoryInfo *sdx_ort_EpDevice_MemoryInfo(const OrtEpDevice *d, int memory);
OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_V2(OrtSessionOptions *o, OrtEnv *env,
                                                            const OrtEpDevice *const *devices, size_t n,
                                                            const char *const *keys, const char *const *values,
                                                            size_t n_keys);
OrtStatus *sdx_ort_SessionOptionsSetEpSelectionPolicy(OrtSessionOptions *o, int policy);
OrtStatus *sdx_ort_SessionOptionsSetEpSelectionPolicyDelegate(OrtSessionOptions *o, void *delegate, void *user);
OrtStatus *sdx_ort_GetHardwareDeviceEpIncompatibilityDetails(const OrtEnv *env, const char *name,
                                                             const OrtHardwareDevice *d,
                                                             OrtDeviceEpIncompatibilityDetails **out);
OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetReasonsBitmask(const OrtDeviceEpIncompatibilityDetails *d,
                                                                    uint32_t *out);
OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetNotes(const OrtDeviceEpIncompatibilityDetails *d,
                                                           const char **out);
OrtStatus *sdx_ort_DeviceEpIncompatibilityDetails_GetErrorCode(const OrtDeviceEpIncompatibilityDetails *d,
                                                               int32_t *out);
void sdx_ort_ReleaseDeviceEpIncompatibilityDetails(OrtDeviceEpIncompatibilityDetails *d);
OrtStatus *sdx_ort_GetModelCompatibilityForEpDevices(const OrtEpDevice *const *devices, size_t n, const char *info,
                                                     int *out);
OrtStatus *sdx_ort_SessionGetEpDeviceForInputs(const OrtSession *s, const OrtEpDevice **out, size_t n);
OrtStatus *sdx_ort_SessionGetEpDeviceForOutputs(const OrtSession *s, const OrtEpDevice **out, size_t n);
OrtStatus *sdx_ort_SessionGetMemoryInfoForInputs(const OrtSession *s, const OrtMemoryInfo **out, size_t n);
OrtStatus *sdx_ort_SessionGetMemoryInfoForOutputs(const OrtSession *s, const OrtMemoryInfo **out, size_t n);
OrtStatus *sdx_ort_CreateSyncStreamForEpDevice(const OrtEpDevice *d, const OrtKeyValuePairs *options, void **out);
OrtStatus *sdx_ort_CreateSharedAllocator(OrtEnv *env, const OrtEpDevice *d, int memory, int type,
                                         const OrtKeyValuePairs *options, OrtAllocator **out);
OrtStatus *sdx_ort_ReleaseSharedAllocator(OrtEnv *env, const OrtEpDevice *d, int memory);
OrtStatus *sdx_ort_SetEpDynamicOptions(OrtSession *s, const char *const *keys, const char *const *values, size_t n);

/* env.c */
OrtStatus *sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(OrtLogFn fn, void *user, int severity, const char *id,
                                                                 const OrtThreadingOptions *t, OrtEnv **out);
OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithCustomLogger(OrtLogFn fn, void *user, int severity, const char *id, OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithGlobalThreadPools(int severity, const char *id, const OrtThreadingOptions *t,
                                                  OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithOptions(const OrtEnvCreationOptions *o, OrtEnv **out);
void sdx_ort_ReleaseEnv(OrtEnv *env);
const char *sdx_ort_GetBuildInfoString(void);
OrtStatus *sdx_ort_EnableTelemetryEvents(const OrtEnv *env);
OrtStatus *sdx_ort_DisableTelemetryEvents(const OrtEnv *env);
OrtStatus *sdx_ort_SetLanguageProjection(const OrtEnv *env, int language);
OrtStatus *sdx_ort_SetPerSessionThreadPoolCallbacks(OrtEnv *env, const OrtThreadPoolCallbacksConfig *config);
OrtStatus *sdx_ort_UpdateEnvWithCustomLogLevel(OrtEnv *env, int level);
OrtStatus *sdx_ort_GetAvailableProviders(char ***out, int *n);
OrtStatus *sdx_ort_ReleaseAvailableProviders(char **list, int n);

/* env_allocators.c */
OrtStatus *sdx_ort_RegisterAllocator(OrtEnv *env, OrtAllocator *a);
OrtStatus *sdx_ort_CreateAndRegisterAllocator(OrtEnv *env, const OrtMemoryInfo *info, const OrtArenaCfg *cfg);
OrtStatus *sdx_ort_CreateAndRegisterAllocatorV2(OrtEnv *env, const char *provider, const OrtMemoryInfo *info,
                                                const OrtArenaCfg *cfg, const char *const *keys,
                                                const char *const *values, size_t n);
OrtStatus *sdx_ort_UnregisterAllocator(OrtEnv *env, const OrtMemoryInfo *info);
OrtStatus *sdx_ort_GetSharedAllocator(OrtEnv *env, const OrtMemoryInfo *info, OrtAllocator **out);

/* initializers.c */
OrtStatus *sdx_ort_AddInitializer(OrtSessionOptions *o, const char *name, const OrtValue *v);
OrtStatus *sdx_ort_AddExternalInitializers(OrtSessionOptions *o, const char *const *names, const OrtValue *const *v,
                                           size_t n);
OrtStatus *sdx_ort_AddExternalInitializersFromFilesInMemory(OrtSessionOptions *o, const char *const *names,
                                                            char *const *buffers, const size_t *lengths, size_t n);
OrtStatus *sdx_ort_CreateExternalInitializerInfo(const char *path, int64_t offset, size_t nbytes,
                                                 OrtExternalInitializerInfo **out);
void sdx_ort_ReleaseExternalInitializerInfo(OrtExternalInitializerInfo *i);
const char *sdx_ort_ExternalInitializerInfo_GetFilePath(const OrtExternalInitializerInfo *i);
int64_t sdx_ort_ExternalInitializerInfo_GetFileOffset(const OrtExternalInitializerInfo *i);
size_t sdx_ort_ExternalInitializerInfo_GetByteSize(const OrtExternalInitializerInfo *i);

/* io_binding.c */
OrtStatus *sdx_ort_CreateIoBinding(OrtSession *s, OrtIoBinding **out);
void sdx_ort_ReleaseIoBinding(OrtIoBinding *b);
void sdx_ort_ClearBoundInputs(OrtIoBinding *b);
void sdx_ort_ClearBoundOutputs(OrtIoBinding *b);
OrtStatus *sdx_ort_SynchronizeBoundInputs(OrtIoBinding *b);
OrtStatus *sdx_ort_SynchronizeBoundOutputs(OrtIoBinding *b);
OrtStatus *sdx_ort_BindInput(OrtIoBinding *b, const char *name, const OrtValue *v);
OrtStatus *sdx_ort_BindOutput(OrtIoBinding *b, const char *name, const OrtValue *v);
OrtStatus *sdx_ort_BindOutputToDevice(OrtIoBinding *b, const char *name, const OrtMemoryInfo *info);
OrtStatus *sdx_ort_RunWithBinding(OrtSession *s, const OrtRunOptions *ro, const OrtIoBinding *b);
OrtStatus *sdx_ort_GetBoundOutputNames(const OrtIoBinding *b, OrtAllocator *a, char **out, size_t **lengths, size_t *n);
OrtStatus *sdx_ort_GetBoundOutputValues(const OrtIoBinding *b, OrtAllocator *a, OrtValue ***out, size_t *n);

/* key_values.c */
void sdx_ort_CreateKeyValuePairs(OrtKeyValuePairs **out);
void sdx_ort_AddKeyValuePair(OrtKeyValuePairs *kv, const char *key, const char *value);
const char *sdx_ort_GetKeyValue(const OrtKeyValuePairs *kv, const char *key);
void sdx_ort_GetKeyValuePairs(const OrtKeyValuePairs *kv, const char *const **keys, const char *const **values,
                              size_t *n);
void sdx_ort_RemoveKeyValuePair(OrtKeyValuePairs *kv, const char *key);
void sdx_ort_ReleaseKeyValuePairs(OrtKeyValuePairs *kv);

/* log.c */
OrtStatus *sdx_ort_Logger_LogMessage(const OrtLogger *l, int severity, const char *text, const char *file, int line,
                                     const char *function);
OrtStatus *sdx_ort_Logger_GetLoggingSeverityLevel(const OrtLogger *l, int *out);

/* lora.c */
OrtStatus *sdx_ort_CreateLoraAdapterFromArray(const void *bytes, size_t nbytes, OrtAllocator *allocator,
                                              OrtLoraAdapter **out);
OrtStatus *sdx_ort_CreateLoraAdapter(const char *path, OrtAllocator *allocator, OrtLoraAdapter **out);
void sdx_ort_ReleaseLoraAdapter(OrtLoraAdapter *a);
OrtStatus *sdx_ort_RunOptionsAddActiveLoraAdapter(OrtRunOptions *o, const OrtLoraAdapter *a);

/* memory.c */
OrtStatus *sdx_ort_CreateMemoryInfo_V2(const char *name, int device_type, uint32_t vendor_id, int32_t device_id,
                                       int device_mem, size_t alignment, int allocator_type, OrtMemoryInfo **out);
OrtStatus *sdx_ort_CreateMemoryInfo(const char *name, int type, int id, int mem_type, OrtMemoryInfo **out);
OrtStatus *sdx_ort_CreateCpuMemoryInfo(int type, int mem_type, OrtMemoryInfo **out);
void sdx_ort_ReleaseMemoryInfo(OrtMemoryInfo *info);
OrtStatus *sdx_ort_CompareMemoryInfo(const OrtMemoryInfo *a, const OrtMemoryInfo *b, int *out);
OrtStatus *sdx_ort_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out);
OrtStatus *sdx_ort_MemoryInfoGetId(const OrtMemoryInfo *info, int *out);
OrtStatus *sdx_ort_MemoryInfoGetMemType(const OrtMemoryInfo *info, int *out);
OrtStatus *sdx_ort_MemoryInfoGetType(const OrtMemoryInfo *info, int *out);
void sdx_ort_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, int *out);
int sdx_ort_MemoryInfoGetDeviceMemType(const OrtMemoryInfo *info);
uint32_t sdx_ort_MemoryInfoGetVendorId(const OrtMemoryInfo *info);
OrtStatus *sdx_ort_GetAllocatorWithDefaultOptions(OrtAllocator **out);
OrtStatus *sdx_ort_CreateAllocator(const OrtSession *s, const OrtMemoryInfo *info, OrtAllocator **out);
void sdx_ort_ReleaseAllocator(OrtAllocator *a);
OrtStatus *sdx_ort_AllocatorAlloc(OrtAllocator *a, size_t nbytes, void **out);
OrtStatus *sdx_ort_AllocatorFree(OrtAllocator *a, void *p);
OrtStatus *sdx_ort_AllocatorGetInfo(const OrtAllocator *a, const OrtMemoryInfo **out);
OrtStatus *sdx_ort_AllocatorGetStats(const OrtAllocator *a, OrtKeyValuePairs **out);
OrtStatus *sdx_ort_CreateArenaCfg(size_t max_mem, int strategy, int chunk, int dead, OrtArenaCfg **out);
OrtStatus *sdx_ort_CreateArenaCfgV2(const char *const *keys, const size_t *values, size_t n, OrtArenaCfg **out);
void sdx_ort_ReleaseArenaCfg(OrtArenaCfg *cfg);

/* metadata.c */
OrtStatus *sdx_ort_SessionGetModelMetadata(const OrtSession *s, OrtModelMetadata **out);
void sdx_ort_ReleaseModelMetadata(OrtModelMetadata *m);
OrtStatus *sdx_ort_ModelMetadataGetProducerName(const OrtModelMetadata *m, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_ModelMetadataGetGraphName(const OrtModelMetadata *m, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_ModelMetadataGetDomain(const OrtModelMetadata *m, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_ModelMetadataGetDescription(const OrtModelMetadata *m, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_ModelMetadataGetGraphDescription(const OrtModelMetadata *m, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_ModelMetadataGetVersion(const OrtModelMetadata *m, int64_t *out);
OrtStatus *sdx_ort_ModelMetadataLookupCustomMetadataMap(const OrtModelMetadata *m, OrtAllocator *a, const char *key,
                                                        char **out);
OrtStatus *sdx_ort_ModelMetadataGetCustomMetadataMapKeys(const OrtModelMetadata *m, OrtAllocator *a, char ***keys,
                                                         int64_t *n);
OrtStatus *sdx_ort_GetCompatibilityInfoFromModel(const char *path, const char *provider, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_GetCompatibilityInfoFromModelBytes(const void *data, size_t nbytes, const char *provider,
                                                      OrtAllocator *a, char **out);

/* ort_session.c */
OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out);
OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out);
OrtStatus *sdx_ort_CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer **out);
void sdx_ort_ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer *c);
OrtStatus *sdx_ort_CreateSessionWithPrepackedWeightsContainer(const OrtEnv *env, const char *path,
                                                              const OrtSessionOptions *o,
                                                              OrtPrepackedWeightsContainer *c, OrtSession **out);
OrtStatus *sdx_ort_CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv *env, const void *data,
                                                                       size_t nbytes, const OrtSessionOptions *o,
                                                                       OrtPrepackedWeightsContainer *c,
                                                                       OrtSession **out);
void sdx_ort_ReleaseSession(OrtSession *s);
OrtStatus *sdx_ort_SessionGetInputCount(const OrtSession *s, size_t *out);
OrtStatus *sdx_ort_SessionGetOutputCount(const OrtSession *s, size_t *out);
OrtStatus *sdx_ort_SessionGetInputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_SessionGetOutputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_SessionGetOverridableInitializerCount(const OrtSession *s, size_t *out);
OrtStatus *sdx_ort_SessionGetOverridableInitializerTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_SessionGetOverridableInitializerName(const OrtSession *s, size_t i, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionGetInputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionGetOutputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionEndProfiling(OrtSession *s, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionGetProfilingStartTimeNs(const OrtSession *s, uint64_t *out);
OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out);
OrtStatus *sdx_ort_SessionReleaseCapturedGraph(OrtSession *s, int id);

/* ort_status.c */
OrtStatus *sdx_ort_CreateStatus(OrtErrorCode code, const char *text);
OrtErrorCode sdx_ort_GetErrorCode(const OrtStatus *s);
const char *sdx_ort_GetErrorMessage(const OrtStatus *s);
void sdx_ort_ReleaseStatus(OrtStatus *s);

/* ort_value.c */
OrtStatus *sdx_ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *data, size_t nbytes,
                                                  const int64_t *shape, size_t rank, int type, OrtValue **out);
OrtStatus *sdx_ort_CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator *deleter, void *data, size_t nbytes,
                                                            const int64_t *shape, size_t rank, int type,
                                                            OrtValue **out);
OrtStatus *sdx_ort_CreateTensorAsOrtValue(OrtAllocator *a, const int64_t *shape, size_t rank, int type, OrtValue **out);
void sdx_ort_ReleaseValue(OrtValue *v);
OrtStatus *sdx_ort_IsTensor(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetTensorMutableData(OrtValue *v, void **out);
OrtStatus *sdx_ort_GetTensorData(const OrtValue *v, const void **out);
OrtStatus *sdx_ort_HasValue(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetTensorMemoryInfo(const OrtValue *v, const OrtMemoryInfo **out);
OrtStatus *sdx_ort_GetTensorSizeInBytes(const OrtValue *v, size_t *out);
OrtStatus *sdx_ort_CopyTensors(const OrtEnv *env, const OrtValue *const *from, OrtValue *const *to, void *stream,
                               size_t n);
OrtStatus *sdx_ort_CreateOpaqueValue(const char *domain, const char *type, const void *data, size_t nbytes,
                                     OrtValue **out);
OrtStatus *sdx_ort_GetOpaqueValue(const char *domain, const char *type, const OrtValue *v, void *data, size_t nbytes);
OrtStatus *sdx_ort_TensorAt(OrtValue *v, const int64_t *at, size_t n, void **out);
OrtStatus *sdx_ort_GetValueCount(const OrtValue *v, size_t *out);
OrtStatus *sdx_ort_GetValue(const OrtValue *v, int i, OrtAllocator *a, OrtValue **out);
OrtStatus *sdx_ort_CreateValue(const OrtValue *const *in, size_t n, int type, OrtValue **out);

/* placement.c */
OrtStatus *sdx_ort_Session_GetEpGraphAssignmentInfo(const OrtSession *s, const OrtEpAssignedSubgraph *const **out,
                                                    size_t *n);
OrtStatus *sdx_ort_EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph *g, const char **out);
OrtStatus *sdx_ort_EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph *g, const OrtEpAssignedNode *const **out,
                                               size_t *n);
OrtStatus *sdx_ort_EpAssignedNode_GetName(const OrtEpAssignedNode *n, const char **out);
OrtStatus *sdx_ort_EpAssignedNode_GetDomain(const OrtEpAssignedNode *n, const char **out);
OrtStatus *sdx_ort_EpAssignedNode_GetOperatorType(const OrtEpAssignedNode *n, const char **out);

/* providers.c */
OrtStatus *sdx_ort_SetCurrentGpuDeviceId(int id);
OrtStatus *sdx_ort_GetCurrentGpuDeviceId(int *id);
OrtStatus *sdx_ort_GetExecutionProviderApi(const char *name, uint32_t version, const void **out);
OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider(OrtSessionOptions *o, const char *name,
                                                         const char *const *keys, const char *const *values, size_t n);
OrtStatus *sdx_ort_RegisterExecutionProviderLibrary(OrtEnv *env, const char *name, const char *path);
OrtStatus *sdx_ort_UnregisterExecutionProviderLibrary(OrtEnv *env, const char *name);

/* run_async.c */
OrtStatus *sdx_ort_RunAsync(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names,
                            const OrtValue *const *in, size_t n_in, const char *const *out_names, size_t n_out,
                            OrtValue **out, OrtAsyncFn done, void *user);

/* run_options.c */
OrtStatus *sdx_ort_CreateRunOptions(OrtRunOptions **out);
void sdx_ort_ReleaseRunOptions(OrtRunOptions *o);
OrtStatus *sdx_ort_RunOptionsSetRunLogVerbosityLevel(OrtRunOptions *o, int v);
OrtStatus *sdx_ort_RunOptionsSetRunLogSeverityLevel(OrtRunOptions *o, int v);
OrtStatus *sdx_ort_RunOptionsGetRunLogVerbosityLevel(const OrtRunOptions *o, int *out);
OrtStatus *sdx_ort_RunOptionsGetRunLogSeverityLevel(const OrtRunOptions *o, int *out);
OrtStatus *sdx_ort_RunOptionsSetRunTag(OrtRunOptions *o, const char *tag);
OrtStatus *sdx_ort_RunOptionsGetRunTag(const OrtRunOptions *o, const char **out);
OrtStatus *sdx_ort_RunOptionsSetTerminate(OrtRunOptions *o);
OrtStatus *sdx_ort_RunOptionsUnsetTerminate(OrtRunOptions *o);
OrtStatus *sdx_ort_AddRunConfigEntry(OrtRunOptions *o, const char *key, const char *value);
const char *sdx_ort_GetRunConfigEntry(const OrtRunOptions *o, const char *key);
OrtStatus *sdx_ort_RunOptionsEnableProfiling(OrtRunOptions *o, const char *prefix);
OrtStatus *sdx_ort_RunOptionsDisableProfiling(OrtRunOptions *o);
void sdx_ort_RunOptionsSetSyncStream(OrtRunOptions *o, void *stream);
void *sdx_ort_SyncStream_GetHandle(void *stream);
void sdx_ort_ReleaseSyncStream(void *stream);

/* session_options.c */
OrtStatus *sdx_ort_CreateSessionOptions(OrtSessionOptions **out);
void sdx_ort_ReleaseSessionOptions(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetOptimizedModelFilePath(OrtSessionOptions *o, const char *path);
OrtStatus *sdx_ort_EnableProfiling(OrtSessionOptions *o, const char *prefix);
OrtStatus *sdx_ort_DisableProfiling(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisablePerSessionThreads(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetSessionExecutionMode(OrtSessionOptions *o, int mode);
OrtStatus *sdx_ort_GetSessionExecutionMode(const OrtSessionOptions *o, int *out);
OrtStatus *sdx_ort_SetSessionLogId(OrtSessionOptions *o, const char *id);
OrtStatus *sdx_ort_SetSessionLogVerbosityLevel(OrtSessionOptions *o, int v);
OrtStatus *sdx_ort_SetSessionLogSeverityLevel(OrtSessionOptions *o, int v);
OrtStatus *sdx_ort_SetUserLoggingFunction(OrtSessionOptions *o, OrtLogFn fn, void *user);
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_GetMemPatternEnabled(const OrtSessionOptions *o, int *out);
OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetDeterministicCompute(OrtSessionOptions *o, bool value);
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level);
OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_SetInterOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_SessionOptionsSetLoadCancellationFlag(OrtSessionOptions *o, bool cancel);
OrtStatus *sdx_ort_AddFreeDimensionOverride(OrtSessionOptions *o, const char *denotation, int64_t size);
OrtStatus *sdx_ort_AddFreeDimensionOverrideByName(OrtSessionOptions *o, const char *name, int64_t size);
OrtStatus *sdx_ort_AddSessionConfigEntry(OrtSessionOptions *o, const char *key, const char *value);
OrtStatus *sdx_ort_HasSessionConfigEntry(const OrtSessionOptions *o, const char *key, int *out);
OrtStatus *sdx_ort_GetSessionConfigEntry(const OrtSessionOptions *o, const char *key, char *value, size_t *size);
OrtStatus *sdx_ort_GetSessionOptionsConfigEntries(const OrtSessionOptions *o, OrtKeyValuePairs **out);
OrtStatus *sdx_ort_CloneSessionOptions(const OrtSessionOptions *in, OrtSessionOptions **out);

/* sparse_value.c */
OrtStatus *sdx_ort_CreateSparseTensorAsOrtValue(OrtAllocator *a, const int64_t *dims, size_t rank, int type,
                                                OrtValue **out);
OrtStatus *sdx_ort_CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo *info, void *data, const int64_t *dims,
                                                          size_t rank, const int64_t *values_dims, size_t values_rank,
                                                          int type, OrtValue **out);
OrtStatus *sdx_ort_FillSparseTensorCoo(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                       const void *values, const int64_t *data, size_t n);
OrtStatus *sdx_ort_FillSparseTensorCsr(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                       const void *values, const int64_t *inner, size_t n_inner, const int64_t *outer,
                                       size_t n_outer);
OrtStatus *sdx_ort_FillSparseTensorBlockSparse(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                               const void *values, const int64_t *index_dims, size_t index_rank,
                                               const int32_t *data);
OrtStatus *sdx_ort_UseCooIndices(OrtValue *v, int64_t *data, size_t n);
OrtStatus *sdx_ort_UseCsrIndices(OrtValue *v, int64_t *inner, size_t n_inner, int64_t *outer, size_t n_outer);
OrtStatus *sdx_ort_UseBlockSparseIndices(OrtValue *v, const int64_t *dims, size_t rank, int32_t *data);
OrtStatus *sdx_ort_IsSparseTensor(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetSparseTensorFormat(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetSparseTensorValuesTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_GetSparseTensorValues(const OrtValue *v, const void **out);
OrtStatus *sdx_ort_GetSparseTensorIndicesTypeShape(const OrtValue *v, int which, OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_GetSparseTensorIndices(const OrtValue *v, int which, size_t *n, const void **out);

/* string_value.c */
OrtStatus *sdx_ort_FillStringTensor(OrtValue *v, const char *const *s, size_t len);
OrtStatus *sdx_ort_FillStringTensorElement(OrtValue *v, const char *s, size_t i);
OrtStatus *sdx_ort_GetResizedStringTensorElementBuffer(OrtValue *v, size_t i, size_t nbytes, char **out);
OrtStatus *sdx_ort_GetStringTensorDataLength(const OrtValue *v, size_t *out);
OrtStatus *sdx_ort_GetStringTensorContent(const OrtValue *v, void *bytes, size_t nbytes, size_t *offsets,
                                          size_t n_offsets);
OrtStatus *sdx_ort_GetStringTensorElementLength(const OrtValue *v, size_t i, size_t *out);
OrtStatus *sdx_ort_GetStringTensorElement(const OrtValue *v, size_t nbytes, size_t i, void *out);

/* threads.c */
OrtStatus *sdx_ort_CreateThreadingOptions(OrtThreadingOptions **out);
void sdx_ort_ReleaseThreadingOptions(OrtThreadingOptions *t);
OrtStatus *sdx_ort_SetGlobalIntraOpNumThreads(OrtThreadingOptions *t, int threads);
OrtStatus *sdx_ort_SetGlobalInterOpNumThreads(OrtThreadingOptions *t, int threads);
OrtStatus *sdx_ort_SetGlobalSpinControl(OrtThreadingOptions *t, int spins);
OrtStatus *sdx_ort_SetGlobalDenormalAsZero(OrtThreadingOptions *t);
OrtStatus *sdx_ort_SetGlobalIntraOpThreadAffinity(OrtThreadingOptions *t, const char *text);
OrtStatus *sdx_ort_SessionOptionsSetCustomCreateThreadFn(OrtSessionOptions *o, OrtCreateThreadFn fn);
OrtStatus *sdx_ort_SessionOptionsSetCustomThreadCreationOptions(OrtSessionOptions *o, void *options);
OrtStatus *sdx_ort_SessionOptionsSetCustomJoinThreadFn(OrtSessionOptions *o, OrtJoinThreadFn fn);
OrtStatus *sdx_ort_SetGlobalCustomCreateThreadFn(OrtThreadingOptions *t, OrtCreateThreadFn fn);
OrtStatus *sdx_ort_SetGlobalCustomThreadCreationOptions(OrtThreadingOptions *t, void *options);
OrtStatus *sdx_ort_SetGlobalCustomJoinThreadFn(OrtThreadingOptions *t, OrtJoinThreadFn fn);

/* type_info.c */
void sdx_ort_ReleaseTypeInfo(OrtTypeInfo *t);
void sdx_ort_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *t);
OrtStatus *sdx_ort_GetTypeInfo(const OrtValue *v, OrtTypeInfo **out);
OrtStatus *sdx_ort_GetTensorTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_GetOnnxTypeFromTypeInfo(const OrtTypeInfo *t, int *out);
OrtStatus *sdx_ort_GetValueType(const OrtValue *v, int *out);
OrtStatus *sdx_ort_CastTypeInfoToTensorInfo(const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_CastTypeInfoToMapTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out);
OrtStatus *sdx_ort_CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out);
OrtStatus *sdx_ort_CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out);
OrtStatus *sdx_ort_GetMapValueType(const OrtTypeInfo *t, OrtTypeInfo **out);
OrtStatus *sdx_ort_GetSequenceElementType(const OrtTypeInfo *t, OrtTypeInfo **out);
OrtStatus *sdx_ort_GetOptionalContainedTypeInfo(const OrtTypeInfo *t, OrtTypeInfo **out);
OrtStatus *sdx_ort_GetMapKeyType(const OrtTypeInfo *t, int *out);
OrtStatus *sdx_ort_GetDenotationFromTypeInfo(const OrtTypeInfo *t, const char **out, size_t *len);
OrtStatus *sdx_ort_CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_SetTensorElementType(OrtTensorTypeAndShapeInfo *t, int type);
OrtStatus *sdx_ort_SetDimensions(OrtTensorTypeAndShapeInfo *t, const int64_t *dims, size_t n);
OrtStatus *sdx_ort_GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo *t, size_t *out);
OrtStatus *sdx_ort_GetTensorElementType(const OrtTensorTypeAndShapeInfo *t, int *out);
OrtStatus *sdx_ort_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *t, size_t *out);
OrtStatus *sdx_ort_GetDimensions(const OrtTensorTypeAndShapeInfo *t, int64_t *dims, size_t n);
OrtStatus *sdx_ort_GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n);
OrtStatus *sdx_ort_SetSymbolicDimensions(OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n);
bool sdx_ort_TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo *t);
void sdx_ort_ReleaseMapTypeInfo(OrtTypeInfo *t);
void sdx_ort_ReleaseSequenceTypeInfo(OrtTypeInfo *t);
OrtStatus *sdx_ort_GetTensorElementTypeAndShapeDataReference(const OrtValue *v, int *type, const int64_t **dims,
                                                             size_t *rank);

/* providers.c */
#define ORT_PROVIDER(id, text)                                                                                         \
    OrtStatus *sdx_ort_Create##id##ProviderOptions(void **out);                                                        \
    OrtStatus *sdx_ort_Update##id##ProviderOptions(void *p, const char *const *keys, const char *const *values,        \
                                                   size_t n);                                                          \
    OrtStatus *sdx_ort_Get##id##ProviderOptionsAsString(const void *p, OrtAllocator *a, char **out);                   \
    void sdx_ort_Release##id##ProviderOptions(void *p);
#define ORT_APPEND(id, text)                                                                                           \
    OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_##id(OrtSessionOptions *o, const void *p);
#define ORT_APPEND_LIST(id, text)                                                                                      \
    OrtStatus *sdx_ort_SessionOptionsAppendExecutionProvider_##id(OrtSessionOptions *o, const char *const *keys,       \
                                                                  const char *const *values, size_t n);
#define ORT_BY_NAME(id, text)                                                                                          \
    OrtStatus *sdx_ort_Update##id##ProviderOptionsWithValue(void *p, const char *key, void *value);                    \
    OrtStatus *sdx_ort_Get##id##ProviderOptionsByName(const void *p, const char *key, void **out);
#include "ort/absent.def"
#undef ORT_PROVIDER
#undef ORT_APPEND
#undef ORT_APPEND_LIST
#undef ORT_BY_NAME

#endif
