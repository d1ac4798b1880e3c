/* Entries about custom operators: see custom_op.h. */
#ifndef SDX_ORT_ENTRIES_CUSTOM_H
#define SDX_ORT_ENTRIES_CUSTOM_H

#include "ort/custom_op.h"

/* custom_op.c */
OrtStatus *sdx_ort_CreateCustomOpDomain(const char *name, OrtCustomOpDomain **out);
void sdx_ort_ReleaseCustomOpDomain(OrtCustomOpDomain *d);
OrtStatus *sdx_ort_CustomOpDomain_Add(OrtCustomOpDomain *d, const OrtCustomOp *op);
OrtStatus *sdx_ort_AddCustomOpDomain(OrtSessionOptions *o, OrtCustomOpDomain *d);
OrtStatus *sdx_ort_RegisterCustomOpsLibrary(OrtSessionOptions *o, const char *path, void **handle);
OrtStatus *sdx_ort_RegisterCustomOpsLibrary_V2(OrtSessionOptions *o, const char *path);
OrtStatus *sdx_ort_RegisterCustomOpsUsingFunction(OrtSessionOptions *o, const char *name);
OrtStatus *sdx_ort_EnableOrtCustomOps(OrtSessionOptions *o);

/* custom_run.c */
OrtStatus *sdx_ort_KernelContext_GetInputCount(const OrtKernelContext *c, size_t *out);
OrtStatus *sdx_ort_KernelContext_GetOutputCount(const OrtKernelContext *c, size_t *out);
OrtStatus *sdx_ort_KernelContext_GetInput(const OrtKernelContext *c, size_t i, const OrtValue **out);
OrtStatus *sdx_ort_KernelContext_GetOutput(OrtKernelContext *c, size_t i, const int64_t *dims, size_t rank,
                                           OrtValue **out);
OrtStatus *sdx_ort_KernelContext_GetPreallocatedOutput(const OrtKernelContext *c, size_t i, OrtValue **out);
OrtStatus *sdx_ort_KernelContext_GetGPUComputeStream(const OrtKernelContext *c, void **out);
OrtStatus *sdx_ort_KernelContext_GetSyncStream(const OrtKernelContext *c, void **out);
OrtStatus *sdx_ort_KernelContext_GetResource(const OrtKernelContext *c, int version, int id, void **out);
OrtStatus *sdx_ort_KernelContext_GetLogger(const OrtKernelContext *c, const OrtLogger **out);
OrtStatus *sdx_ort_KernelContext_GetAllocator(const OrtKernelContext *c, const OrtMemoryInfo *info, OrtAllocator **out);
OrtStatus *sdx_ort_KernelContext_GetScratchBuffer(const OrtKernelContext *c, const OrtMemoryInfo *info, size_t nbytes,
                                                  void **out);
OrtStatus *sdx_ort_KernelContext_ParallelFor(const OrtKernelContext *c, void (*fn)(void *, size_t), size_t total,
                                             size_t n_batches, void *user);
OrtStatus *sdx_ort_ShapeInferContext_GetInputCount(const OrtShapeInferContext *c, size_t *out);
OrtStatus *sdx_ort_ShapeInferContext_GetInputTypeShape(const OrtShapeInferContext *c, size_t i,
                                                       OrtTensorTypeAndShapeInfo **out);
OrtStatus *sdx_ort_ShapeInferContext_GetAttribute(const OrtShapeInferContext *c, const char *name,
                                                  const OrtOpAttr **out);
OrtStatus *sdx_ort_ShapeInferContext_SetOutputTypeShape(const OrtShapeInferContext *c, size_t i,
                                                        const OrtTensorTypeAndShapeInfo *t);

/* kernel_info.c */
OrtStatus *sdx_ort_KernelInfoGetAttribute_float(const OrtKernelInfo *k, const char *name, float *out);
OrtStatus *sdx_ort_KernelInfoGetAttribute_int64(const OrtKernelInfo *k, const char *name, int64_t *out);
OrtStatus *sdx_ort_KernelInfoGetAttribute_string(const OrtKernelInfo *k, const char *name, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfoGetAttributeArray_float(const OrtKernelInfo *k, const char *name, float *out,
                                                     size_t *size);
OrtStatus *sdx_ort_KernelInfoGetAttributeArray_int64(const OrtKernelInfo *k, const char *name, int64_t *out,
                                                     size_t *size);
OrtStatus *sdx_ort_KernelInfoGetAttributeArray_string(const OrtKernelInfo *k, const char *name, OrtAllocator *al,
                                                      char ***out, size_t *size);
OrtStatus *sdx_ort_KernelInfoGetAttribute_tensor(const OrtKernelInfo *k, const char *name, OrtAllocator *al,
                                                 OrtValue **out);
OrtStatus *sdx_ort_KernelInfo_GetInputCount(const OrtKernelInfo *k, size_t *out);
OrtStatus *sdx_ort_KernelInfo_GetOutputCount(const OrtKernelInfo *k, size_t *out);
OrtStatus *sdx_ort_KernelInfo_GetInputName(const OrtKernelInfo *k, size_t i, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfo_GetOutputName(const OrtKernelInfo *k, size_t i, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfo_GetInputTypeInfo(const OrtKernelInfo *k, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_KernelInfo_GetOutputTypeInfo(const OrtKernelInfo *k, size_t i, OrtTypeInfo **out);
OrtStatus *sdx_ort_KernelInfoGetConstantInput_tensor(const OrtKernelInfo *k, size_t i, int *is_constant,
                                                     const OrtValue **out);
OrtStatus *sdx_ort_KernelInfo_GetNodeName(const OrtKernelInfo *k, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfo_GetOperatorDomain(const OrtKernelInfo *k, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfo_GetOperatorType(const OrtKernelInfo *k, char *out, size_t *size);
OrtStatus *sdx_ort_KernelInfo_GetOperatorSinceVersion(const OrtKernelInfo *k, int *out);
OrtStatus *sdx_ort_KernelInfo_GetLogger(const OrtKernelInfo *k, const OrtLogger **out);
OrtStatus *sdx_ort_KernelInfoGetAllocator(const OrtKernelInfo *k, int mem_type, OrtAllocator **out);
OrtStatus *sdx_ort_KernelInfo_GetConfigEntries(const OrtKernelInfo *k, OrtKeyValuePairs **out);
OrtStatus *sdx_ort_CopyKernelInfo(const OrtKernelInfo *k, OrtKernelInfo **out);
void sdx_ort_ReleaseKernelInfo(OrtKernelInfo *k);

/* op_attr.c */
OrtStatus *sdx_ort_CreateOpAttr(const char *name, const void *data, int n, int type, OrtOpAttr **out);
void sdx_ort_ReleaseOpAttr(OrtOpAttr *a);
OrtStatus *sdx_ort_OpAttr_GetType(const OrtOpAttr *a, int *out);
OrtStatus *sdx_ort_OpAttr_GetName(const OrtOpAttr *a, const char **out);
OrtStatus *sdx_ort_OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr *a, OrtValue **out);
OrtStatus *sdx_ort_ReadOpAttr(const OrtOpAttr *a, int type, void *data, size_t nbytes, size_t *out);

#endif
