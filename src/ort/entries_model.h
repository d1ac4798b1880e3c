/* Entries about graphs that are looked at or built: see model_editor.h. */
#ifndef SDX_ORT_ENTRIES_MODEL_H
#define SDX_ORT_ENTRIES_MODEL_H

#include "ort/model_editor.h"

/* custom_invoke.c */
OrtStatus *sdx_ort_CreateOp(const OrtKernelInfo *info, const char *name, const char *domain, int version,
                            const char **constraints, const int *types, int n_constraints,
                            const OrtOpAttr *const *attrs, int n_attrs, int n_in, int n_out, OrtOp **out);
OrtStatus *sdx_ort_InvokeOp(const OrtKernelContext *c, const OrtOp *op, const OrtValue *const *in, int n_in,
                            OrtValue *const *out, int n_out);
void sdx_ort_ReleaseOp(OrtOp *op);

/* model_editor.c */
void sdx_ort_ReleaseValueInfo(OrtValueInfo *v);
OrtStatus *sdx_ort_GetValueInfoName(const OrtValueInfo *v, const char **out);
OrtStatus *sdx_ort_GetValueInfoTypeInfo(const OrtValueInfo *v, const OrtTypeInfo **out);
void sdx_ort_ReleaseNode(OrtNode *n);
void sdx_ort_ReleaseGraph(OrtGraph *g);
void sdx_ort_ReleaseModel(OrtModel *m);

/* sub_tables.c */
const void *sdx_ort_GetModelEditorApi(void);
const void *sdx_ort_GetCompileApi(void);
const void *sdx_ort_GetInteropApi(void);
const void *sdx_ort_GetEpApi(void);
const void *sdx_ort_GetModelPackageApi(void);
const void *sdx_ort_GetTrainingApi(uint32_t version);
void *sdx_ort_GetExperimentalFunction(const char *name);

/* model_editor.c, in the sub-tables */
OrtStatus *sdx_edit_CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo *shape, OrtTypeInfo **out);
OrtStatus *sdx_edit_CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo *shape, OrtTypeInfo **out);
OrtStatus *sdx_edit_CreateMapTypeInfo(int key, const OrtTypeInfo *value, OrtTypeInfo **out);
OrtStatus *sdx_edit_CreateSequenceTypeInfo(const OrtTypeInfo *of, OrtTypeInfo **out);
OrtStatus *sdx_edit_CreateOptionalTypeInfo(const OrtTypeInfo *of, OrtTypeInfo **out);
OrtStatus *sdx_edit_CreateValueInfo(const char *name, const OrtTypeInfo *type, OrtValueInfo **out);
OrtStatus *sdx_edit_CreateNode(const char *op, const char *domain, const char *name, const char *const *in, size_t n_in,
                               const char *const *out_names, size_t n_out, OrtOpAttr **attrs, size_t n_attrs,
                               OrtNode **out);
OrtStatus *sdx_edit_CreateGraph(OrtGraph **out);
OrtStatus *sdx_edit_SetGraphInputs(OrtGraph *g, OrtValueInfo **inputs, size_t n);
OrtStatus *sdx_edit_SetGraphOutputs(OrtGraph *g, OrtValueInfo **outputs, size_t n);
OrtStatus *sdx_edit_AddInitializerToGraph(OrtGraph *g, const char *name, OrtValue *v, bool is_external);
OrtStatus *sdx_edit_AddNodeToGraph(OrtGraph *g, OrtNode *n);
OrtStatus *sdx_edit_CreateModel(const char *const *domains, const int *versions, size_t n, OrtModel **out);
OrtStatus *sdx_edit_AddGraphToModel(OrtModel *m, OrtGraph *g);
OrtStatus *sdx_edit_CreateSessionFromModel(const OrtEnv *env, const OrtModel *m, const OrtSessionOptions *o,
                                           OrtSession **out);
OrtStatus *sdx_edit_CreateModelEditorSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o,
                                             OrtSession **out);
OrtStatus *sdx_edit_CreateModelEditorSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                                      const OrtSessionOptions *o, OrtSession **out);
OrtStatus *sdx_edit_SessionGetOpsetForDomain(const OrtSession *s, const char *domain, int *out);
OrtStatus *sdx_edit_ApplyModelToModelEditorSession(OrtSession *s, OrtModel *m);
OrtStatus *sdx_edit_FinalizeModelEditorSession(OrtSession *s, const OrtSessionOptions *o,
                                               OrtPrepackedWeightsContainer *weights);

/* compile.c, in the sub-tables */
void sdx_compile_ReleaseModelCompilationOptions(OrtModelCompilationOptions *c);
OrtStatus *sdx_compile_CreateModelCompilationOptionsFromSessionOptions(const OrtEnv *env, const OrtSessionOptions *o,
                                                                       OrtModelCompilationOptions **out);
OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModelPath(OrtModelCompilationOptions *c, const char *path);
OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModelFromBuffer(OrtModelCompilationOptions *c, const void *data,
                                                                       size_t nbytes);
OrtStatus *sdx_compile_ModelCompilationOptions_SetInputModel(OrtModelCompilationOptions *c, const OrtModel *m);
OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelPath(OrtModelCompilationOptions *c, const char *path);
OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelExternalInitializersFile(OrtModelCompilationOptions *c,
                                                                                      const char *path, size_t min);
OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelBuffer(OrtModelCompilationOptions *c, OrtAllocator *a,
                                                                    void **bytes, size_t *nbytes);
OrtStatus *sdx_compile_ModelCompilationOptions_SetOutputModelWriteFunc(OrtModelCompilationOptions *c, void *fn,
                                                                       void *state);
OrtStatus *sdx_compile_ModelCompilationOptions_SetEpContextEmbedMode(OrtModelCompilationOptions *c, bool embed);
OrtStatus *sdx_compile_ModelCompilationOptions_SetEpContextBinaryInformation(OrtModelCompilationOptions *c,
                                                                             const char *folder, const char *name);
OrtStatus *sdx_compile_ModelCompilationOptions_SetWeightlessEnabled(OrtModelCompilationOptions *c, bool weightless);
OrtStatus *sdx_compile_ModelCompilationOptions_SetFlags(OrtModelCompilationOptions *c, uint32_t flags);
OrtStatus *sdx_compile_ModelCompilationOptions_SetGraphOptimizationLevel(OrtModelCompilationOptions *c, int level);
OrtStatus *sdx_compile_CompileModel(const OrtEnv *env, const OrtModelCompilationOptions *c);

#endif
