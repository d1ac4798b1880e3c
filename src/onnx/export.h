/* What the writers of the binary and the textual form share: the versions that a model needs. */
#ifndef SDX_ONNX_EXPORT_H
#define SDX_ONNX_EXPORT_H

#include "onnx/onnx.h"

#define SDX_MAX_DOMAINS 16

/* The lowest opsets that give every node the form it has; the default domain is first and always there. */
typedef struct Opsets {
    OpsetImport v[SDX_MAX_DOMAINS];
    int n;
    Arena *scratch;
} Opsets;

/* UNSUPPORTED when a node has an internal form. */
sdx_status sdx_export_opsets(const Model *m, Arena *scratch, Opsets *out, Err *err);
/* The first IR version that knows an opset of the default domain, or an element type. */
int64_t sdx_ir_of_opset(int64_t opset);
int64_t sdx_ir_of_type(DType d);

#endif
