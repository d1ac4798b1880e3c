/* The implemented entries, by their names in the table with our prefix. Parameters as the ABI has them. */
#ifndef SDX_ORT_ENTRIES_H
#define SDX_ORT_ENTRIES_H

#include "ort/ort.h"

/* ort_status.c */
OrtStatus *sdx_ort_CreateStatus(OrtErrorCode code, const char *text);
OrtErrorCode sdx_ort_GetErrorCode(const OrtStatus *s);
const char *sdx_ort_GetErrorMessage(const OrtStatus *s);
void sdx_ort_ReleaseStatus(OrtStatus *s);

/* env.c */
OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithCustomLogger(void *fn, void *user, int severity, const char *id, OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithGlobalThreadPools(int severity, const char *id, const OrtThreadingOptions *t,
                                                  OrtEnv **out);
OrtStatus *sdx_ort_CreateEnvWithCustomLoggerAndGlobalThreadPools(void *fn, void *user, int severity, const char *id,
                                                                 const OrtThreadingOptions *t, OrtEnv **out);
void sdx_ort_ReleaseEnv(OrtEnv *env);
const char *sdx_ort_GetBuildInfoString(void);
OrtStatus *sdx_ort_EnableTelemetryEvents(const OrtEnv *env);
OrtStatus *sdx_ort_DisableTelemetryEvents(const OrtEnv *env);
OrtStatus *sdx_ort_UpdateEnvWithCustomLogLevel(OrtEnv *env, int level);
OrtStatus *sdx_ort_SetLanguageProjection(const OrtEnv *env, int language);
OrtStatus *sdx_ort_CreateThreadingOptions(OrtThreadingOptions **out);
void sdx_ort_ReleaseThreadingOptions(OrtThreadingOptions *t);
OrtStatus *sdx_ort_SetGlobalIntraOpNumThreads(OrtThreadingOptions *t, int threads);
OrtStatus *sdx_ort_SetGlobalInterOpNumThreads(OrtThreadingOptions *t, int threads);
OrtStatus *sdx_ort_SetGlobalSpinControl(OrtThreadingOptions *t, int spins);
OrtStatus *sdx_ort_GetAvailableProviders(char ***out, int *n);
OrtStatus *sdx_ort_ReleaseAvailableProviders(char **list, int n);

/* memory.c */
OrtStatus *sdx_ort_CreateMemoryInfo(const char *name, int type, int id, int mem_type, OrtMemoryInfo **out);
OrtStatus *sdx_ort_CreateCpuMemoryInfo(int type, int mem_type, OrtMemoryInfo **out);
void sdx_ort_ReleaseMemoryInfo(OrtMemoryInfo *info);
OrtStatus *sdx_ort_CompareMemoryInfo(const OrtMemoryInfo *a, const OrtMemoryInfo *b, int *out);
OrtStatus *sdx_ort_MemoryInfoGetName(const OrtMemoryInfo *info, const char **out);
OrtStatus *sdx_ort_MemoryInfoGetId(const OrtMemoryInfo *info, int *out);
OrtStatus *sdx_ort_MemoryInfoGetMemType(const OrtMemoryInfo *info, int *out);
OrtStatus *sdx_ort_MemoryInfoGetType(const OrtMemoryInfo *info, int *out);
void sdx_ort_MemoryInfoGetDeviceType(const OrtMemoryInfo *info, int *out);
OrtStatus *sdx_ort_GetAllocatorWithDefaultOptions(OrtAllocator **out);
OrtStatus *sdx_ort_CreateAllocator(const OrtSession *s, const OrtMemoryInfo *info, OrtAllocator **out);
void sdx_ort_ReleaseAllocator(OrtAllocator *a);
OrtStatus *sdx_ort_AllocatorAlloc(OrtAllocator *a, size_t nbytes, void **out);
OrtStatus *sdx_ort_AllocatorFree(OrtAllocator *a, void *p);
OrtStatus *sdx_ort_AllocatorGetInfo(const OrtAllocator *a, const OrtMemoryInfo **out);

/* session_options.c */
OrtStatus *sdx_ort_CreateSessionOptions(OrtSessionOptions **out);
void sdx_ort_ReleaseSessionOptions(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetOptimizedModelFilePath(OrtSessionOptions *o, const char *path);
OrtStatus *sdx_ort_EnableProfiling(OrtSessionOptions *o, const char *prefix);
OrtStatus *sdx_ort_DisableProfiling(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisablePerSessionThreads(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetSessionExecutionMode(OrtSessionOptions *o, int mode);
OrtStatus *sdx_ort_SetSessionLogId(OrtSessionOptions *o, const char *id);
OrtStatus *sdx_ort_SetSessionLogVerbosityLevel(OrtSessionOptions *o, int v);
OrtStatus *sdx_ort_SetSessionLogSeverityLevel(OrtSessionOptions *o, int v);
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level);
OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_SetInterOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_AddFreeDimensionOverrideByName(OrtSessionOptions *o, const char *name, int64_t size);
OrtStatus *sdx_ort_AddSessionConfigEntry(OrtSessionOptions *o, const char *key, const char *value);
OrtStatus *sdx_ort_HasSessionConfigEntry(const OrtSessionOptions *o, const char *key, int *out);
OrtStatus *sdx_ort_GetSessionConfigEntry(const OrtSessionOptions *o, const char *key, char *value, size_t *size);
OrtStatus *sdx_ort_CloneSessionOptions(const OrtSessionOptions *in, OrtSessionOptions **out);

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

/* ort_session.c */
OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out);
OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out);
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
OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out);

/* ort_value.c */
OrtStatus *sdx_ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *data, size_t nbytes,
                                                  const int64_t *shape, size_t rank, int type, OrtValue **out);
OrtStatus *sdx_ort_CreateTensorAsOrtValue(OrtAllocator *a, const int64_t *shape, size_t rank, int type, OrtValue **out);
void sdx_ort_ReleaseValue(OrtValue *v);
OrtStatus *sdx_ort_IsTensor(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetTensorMutableData(OrtValue *v, void **out);
OrtStatus *sdx_ort_GetTensorData(const OrtValue *v, const void **out);
OrtStatus *sdx_ort_HasValue(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetTensorMemoryInfo(const OrtValue *v, const OrtMemoryInfo **out);
OrtStatus *sdx_ort_TensorAt(OrtValue *v, const int64_t *at, size_t n, void **out);
OrtStatus *sdx_ort_GetValueCount(const OrtValue *v, size_t *out);
OrtStatus *sdx_ort_GetValue(const OrtValue *v, int i, OrtAllocator *a, OrtValue **out);
OrtStatus *sdx_ort_CreateValue(const OrtValue *const *in, size_t n, int type, OrtValue **out);

/* string_value.c */
OrtStatus *sdx_ort_FillStringTensor(OrtValue *v, const char *const *s, size_t len);
OrtStatus *sdx_ort_FillStringTensorElement(OrtValue *v, const char *s, size_t i);
OrtStatus *sdx_ort_GetStringTensorDataLength(const OrtValue *v, size_t *out);
OrtStatus *sdx_ort_GetStringTensorContent(const OrtValue *v, void *bytes, size_t nbytes, size_t *offsets,
                                          size_t n_offsets);
OrtStatus *sdx_ort_GetStringTensorElementLength(const OrtValue *v, size_t i, size_t *out);
OrtStatus *sdx_ort_GetStringTensorElement(const OrtValue *v, size_t nbytes, size_t i, void *out);

/* type_info.c */
OrtStatus *sdx_ort_type_info(const SymTab *syms, const Type *t, OrtTypeInfo **out);
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

/* memory.c */
OrtStatus *sdx_ort_CreateArenaCfg(size_t max_mem, int strategy, int chunk, int dead, OrtArenaCfg **out);
OrtStatus *sdx_ort_CreateArenaCfgV2(const char *const *keys, const size_t *values, size_t n, OrtArenaCfg **out);
void sdx_ort_ReleaseArenaCfg(OrtArenaCfg *cfg);
OrtStatus *sdx_ort_CreateAndRegisterAllocator(OrtEnv *env, const OrtMemoryInfo *info, const OrtArenaCfg *cfg);
OrtStatus *sdx_ort_UnregisterAllocator(OrtEnv *env, const OrtMemoryInfo *info);

#endif
