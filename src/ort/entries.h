/* The implemented entries, by their names in the table with our prefix. Parameters as the ABI has them. */
#ifndef SDX_ORT_ENTRIES_H
#define SDX_ORT_ENTRIES_H

#include "ort/ort.h"

/* ort_status.c */
OrtStatus *sdx_ort_CreateStatus(OrtErrorCode code, const char *text);
OrtErrorCode sdx_ort_GetErrorCode(const OrtStatus *status);
const char *sdx_ort_GetErrorMessage(const OrtStatus *status);
void sdx_ort_ReleaseStatus(OrtStatus *status);

/* env.c */
OrtStatus *sdx_ort_CreateEnv(int severity, const char *id, OrtEnv **out);
void sdx_ort_ReleaseEnv(OrtEnv *env);
const char *sdx_ort_GetBuildInfoString(void);
OrtStatus *sdx_ort_CreateCpuMemoryInfo(int allocator, int mem_type, OrtMemoryInfo **out);
void sdx_ort_ReleaseMemoryInfo(OrtMemoryInfo *info);
OrtStatus *sdx_ort_GetAllocatorWithDefaultOptions(OrtAllocator **out);
OrtStatus *sdx_ort_AllocatorFree(OrtAllocator *a, void *p);

/* session_options.c */
OrtStatus *sdx_ort_CreateSessionOptions(OrtSessionOptions **out);
void sdx_ort_ReleaseSessionOptions(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetOptimizedModelFilePath(OrtSessionOptions *o, const char *path);
OrtStatus *sdx_ort_EnableProfiling(OrtSessionOptions *o, const char *prefix);
OrtStatus *sdx_ort_EnableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableMemPattern(OrtSessionOptions *o);
OrtStatus *sdx_ort_EnableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_DisableCpuMemArena(OrtSessionOptions *o);
OrtStatus *sdx_ort_SetSessionGraphOptimizationLevel(OrtSessionOptions *o, int level);
OrtStatus *sdx_ort_SetIntraOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_SetInterOpNumThreads(OrtSessionOptions *o, int threads);
OrtStatus *sdx_ort_AddFreeDimensionOverrideByName(OrtSessionOptions *o, const char *name, int64_t size);
OrtStatus *sdx_ort_AddSessionConfigEntry(OrtSessionOptions *o, const char *key, const char *value);

/* ort_session.c */
OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out);
OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out);
void sdx_ort_ReleaseSession(OrtSession *s);
OrtStatus *sdx_ort_SessionGetInputCount(const OrtSession *s, size_t *out);
OrtStatus *sdx_ort_SessionGetOutputCount(const OrtSession *s, size_t *out);
OrtStatus *sdx_ort_SessionGetInputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_SessionGetOutputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_SessionGetInputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionGetOutputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_SessionEndProfiling(OrtSession *s, OrtAllocator *a, char **out);
OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out);

/* ort_value.c */
OrtStatus *sdx_ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *data, size_t nbytes,
                                                  const int64_t *shape, size_t rank, int type, OrtValue **out);
void sdx_ort_ReleaseValue(OrtValue *v);
OrtStatus *sdx_ort_IsTensor(const OrtValue *v, int *out);
OrtStatus *sdx_ort_GetTensorMutableData(OrtValue *v, void **out);
OrtStatus *sdx_ort_GetTensorTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out);

/* type_info.c */
OrtStatus *sdx_ort_type_info(const SymTab *syms, const Type *t, OrtTypeInfo **out);
void sdx_ort_ReleaseTypeInfo(OrtTypeInfo *t);
void sdx_ort_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *t);
OrtStatus *sdx_ort_CastTypeInfoToTensorInfo(const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_GetTensorElementType(const OrtTensorTypeAndShapeInfo *t, int *out);
OrtStatus *sdx_ort_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *t, size_t *out);
OrtStatus *sdx_ort_GetDimensions(const OrtTensorTypeAndShapeInfo *t, int64_t *dims, size_t n);
OrtStatus *sdx_ort_GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n);

#endif
