/* Custom operators: a caller's code behind an operator's name.
 *
 * A session builds operator definitions from the domains in its options, imports the model with them, and makes one
 * kernel for each of their nodes. Definitions live as long as the model; kernels end with the session, as their code may
 * be unloaded after it. */
#ifndef SDX_ORT_CUSTOM_OP_H
#define SDX_ORT_CUSTOM_OP_H

#include "ops/ops.h"
#include "ort/entries.h"

typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtShapeInferContext OrtShapeInferContext;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtCustomOp OrtCustomOp;
typedef struct OrtOp OrtOp;

/* Layout of the ABI; version says how far a caller's own may be read. */
struct OrtCustomOp {
    uint32_t version;
    void *(*CreateKernel)(const OrtCustomOp *op, const void *api, const OrtKernelInfo *info);
    const char *(*GetName)(const OrtCustomOp *op);
    const char *(*GetExecutionProviderType)(const OrtCustomOp *op);
    int (*GetInputType)(const OrtCustomOp *op, size_t i);
    size_t (*GetInputTypeCount)(const OrtCustomOp *op);
    int (*GetOutputType)(const OrtCustomOp *op, size_t i);
    size_t (*GetOutputTypeCount)(const OrtCustomOp *op);
    void (*KernelCompute)(void *kernel, OrtKernelContext *c);
    void (*KernelDestroy)(void *kernel);
    int (*GetInputCharacteristic)(const OrtCustomOp *op, size_t i); /* 8 */
    int (*GetOutputCharacteristic)(const OrtCustomOp *op, size_t i);
    int (*GetInputMemoryType)(const OrtCustomOp *op, size_t i); /* 13 */
    int (*GetVariadicInputMinArity)(const OrtCustomOp *op);     /* 14 */
    int (*GetVariadicInputHomogeneity)(const OrtCustomOp *op);
    int (*GetVariadicOutputMinArity)(const OrtCustomOp *op);
    int (*GetVariadicOutputHomogeneity)(const OrtCustomOp *op);
    OrtStatus *(*CreateKernelV2)(const OrtCustomOp *op, const void *api, const OrtKernelInfo *info,
                                 void **out); /* 16 */
    OrtStatus *(*KernelComputeV2)(void *kernel, OrtKernelContext *c);
    OrtStatus *(*InferOutputShapeFn)(const OrtCustomOp *op, OrtShapeInferContext *c); /* 17 */
    int (*GetStartVersion)(const OrtCustomOp *op);                                    /* 18 */
    int (*GetEndVersion)(const OrtCustomOp *op);
    size_t (*GetMayInplace)(int **in, int **out);
    void (*ReleaseMayInplace)(int *in, int *out);
    size_t (*GetAliasMap)(int **in, int **out);
    void (*ReleaseAliasMap)(int *in, int *out);
};

enum { CUSTOM_REQUIRED, CUSTOM_OPTIONAL, CUSTOM_VARIADIC };

/* One input or output of an operator: its element type (DT_NONE: any), and how often it occurs. */
typedef struct CustomArg {
    DType dtype;
    int kind;
    bool is_mixed; /* variadic, of differing types */
    int min;       /* variadic: least number */
} CustomArg;
CustomArg sdx_custom_input(const OrtCustomOp *op, size_t i);
CustomArg sdx_custom_output(const OrtCustomOp *op, size_t i);

struct OrtCustomOpDomain {
    char *name;
    const OrtCustomOp **ops;
    int n, cap;
};

/* Operators of one name: several when they differ in the types they take. */
typedef struct CustomDef {
    OpDef def;
    CustomOps *owner;
    const OrtCustomOp **ops;
    int n, cap;
} CustomDef;

struct OrtKernelInfo {
    CustomOps *owner;
    const Node *node;
    const OrtCustomOp *op;
    void *kernel;         /* NULL: not made */
    OrtValue **constants; /* by input, of those that are */
};

struct CustomOps {
    Arena arena;
    CustomDef **defs; /* NULL-terminated, as the list that import takes: each begins with its OpDef */
    int n_defs, cap_defs;
    OrtLogger log;
    OrtKeyValuePairs *config; /* entries of the session's options */
    OrtKernelInfo **kernels;  /* by node id */
    int n_kernels;
};

/* Definitions for the domains of o; *out NULL when there are none. */
OrtStatus *sdx_custom_build(const OrtSessionOptions *o, CustomOps **out);
/* For ImportOptions; NULL for NULL. */
const OpDef *const *sdx_custom_defs(const CustomOps *c);
void sdx_custom_destroy(CustomOps *c);
/* Hands them to the model, whatever happens. */
sdx_status sdx_custom_give(CustomOps *c, Model *m, Err *err);
/* One kernel for each node that is left of the model. */
OrtStatus *sdx_custom_open(CustomOps *c, Model *m);
void sdx_custom_close(CustomOps *c); /* NULL is allowed */

/* The operator among n's that takes elements of these types (DT_NONE: unknown), in the version of its domain that the
 * model imports; NULL: none does. */
const OrtCustomOp *sdx_custom_pick(const Node *n, const DType *in, int n_in);
/* Element type of output o of op at n; DT_NONE: not known. */
DType sdx_custom_output_type(const OrtCustomOp *op, const DType *in, int n_in, int o);

/* Calls a client's code. An exception that comes out of it becomes a status. */
OrtStatus *sdx_custom_guard(OrtStatus *(*fn)(void *arg), void *arg);

/* Inference and running, in custom_run.c. */
sdx_status sdx_custom_infer(Infer *c);
sdx_status sdx_custom_run(Run *r);

/* Attributes are nodes' own, or made by CreateOpAttr. */
typedef Attr OrtOpAttr;

#endif
