/* Models that callers build, or add to: graphs of names, written as ONNX when a session is made of them.
 *
 * Containers own what is put into them. An initializer is not written but handed to the import, so its elements are not
 * copied; a caller's own memory must outlive the sessions when it says that the data is external. */
#ifndef SDX_ORT_MODEL_EDITOR_H
#define SDX_ORT_MODEL_EDITOR_H

#include "onnx/wire_out.h"
#include "ort/entries_custom.h"

typedef struct OrtValueInfo {
    OrtTypeInfo *type;
    char name[];
} OrtValueInfo;

typedef struct OrtNode {
    Arena arena; /* holds every text */
    const char *op_type, *domain, *name;
    const char **in, **out;
    size_t n_in, n_out;
    OrtOpAttr **attrs;
    size_t n_attrs, n_borrowed; /* one of them is 0: the node's own, or another's */
} OrtNode;

typedef struct OrtGraph {
    Arena arena; /* of the arrays and the names of initializers */
    OrtValueInfo **inputs, **outputs;
    size_t n_inputs, n_outputs;
    bool has_inputs, has_outputs; /* were set, if only to none */
    OrtNode **nodes;
    int n_nodes, cap_nodes;
    OrtInit *inits;
    int n_inits, cap_inits;
} OrtGraph;

typedef struct OrtModel {
    Arena arena;
    OpsetImport *opsets;
    size_t n_opsets;
    OrtGraph *graph; /* NULL before one is added */
} OrtModel;

typedef struct OrtModelCompilationOptions OrtModelCompilationOptions;

/* A session's model before it is final. */
struct OrtEdit {
    Buf *bytes; /* the model as it is now */
    char *path; /* where it came from; NULL: memory */
    OrtGraph *added;
};

/* The model as ONNX without the elements of its initializers. base: bytes of a model that it is added to; its inputs and
 * outputs give way when m has some. NULL: m alone. */
sdx_status sdx_ort_model_write(const OrtModel *m, const Buf *base, Buf **out, Err *err);

#endif
