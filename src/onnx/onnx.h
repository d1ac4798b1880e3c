/* ONNX files: reading into the IR, upgrading to the newest operator forms, writing, and the textual form.
 *
 * The only place that knows protobuf and decides on opset numbers. */
#ifndef SDX_ONNX_ONNX_H
#define SDX_ONNX_ONNX_H

#include "base/source.h"
#include "graph/graph.h"

/* A host's way to open external data: location is the checked relative path. */
typedef struct ExternalOpener {
    sdx_status (*open)(void *user, const char *location, Source *out, Err *err);
    void *user;
} ExternalOpener;

/* A host's own content for an initializer of the main graph, in place of the file's: type and shape must be the same.
 * Its elements must outlive the model. */
typedef struct GivenInit {
    const char *name;
    Tensor t;
    bool used; /* set when the model has it */
} GivenInit;

/* A node of the file as import meets it: of the main graph, of nested graphs, and of functions at each call. */
typedef struct ImportedNode {
    Str name, op_type, domain; /* as in the file */
    const Value *output;       /* the first; NULL: none is asked for */
    const Node *node;          /* NULL: a constant, a call of a function, or not known */
    int since_version;         /* of the operator version it means; 0: not an operator, or not known */
    bool is_call;
    const char *missing; /* why nobody can run it; NULL: known */
} ImportedNode;

typedef struct ImportSurvey {
    void (*node)(void *user, const ImportedNode *n);
    void *user;
} ImportSurvey;

typedef struct ImportOptions {
    LoadMode load;
    const char *dir;                /* folder of the model's path, for external data; NULL: refuse external data */
    const char *real_dir;           /* folder of its real path; NULL: same */
    const ExternalOpener *external; /* overrides dir */
    size_t max_bytes;               /* of the model's arena; 0 = none */
    int64_t max_nodes;              /* 0 = none */
    const OpDef *const *custom_ops; /* searched before the built-in ones; NULL-terminated; may be NULL */
    GivenInit *given;
    int n_given;
    bool *parsed;               /* set when the bytes were read as a model, however the import ends; may be NULL */
    const ImportSurvey *survey; /* hears of each node; a node that nobody knows then fails the import at its end */
} ImportOptions;

/* Reads, resolves operators, inlines functions, upgrades, sorts and verifies. Shapes are not inferred yet. Constants
 * point into the source's mapping (or its copy), which the model owns from here on. */
sdx_status sdx_onnx_import(const Alloc *a, Source *src, const ImportOptions *opt, Model **out, Err *err);
/* Opens path, sets dir and real_dir from it. A name that ends in ".onnxtxt" is read as text. */
sdx_status sdx_onnx_import_path(const Alloc *a, const char *path, const ImportOptions *opt, Model **out, Err *err);
/* ONNX's textual form (a model, or graph body with opset defaults: newest). */
sdx_status sdx_onnx_import_text(const Alloc *a, const char *text, size_t n, const ImportOptions *opt, Model **out,
                                Err *err);

typedef struct ExportOptions {
    const char *external_location; /* NULL: one file. Else tensors of at least external_min bytes go there */
    size_t external_min;
} ExportOptions;

/* Serialises the model, newest forms and opsets. Internal operators must have been lowered; UNSUPPORTED otherwise. */
sdx_status sdx_onnx_export(const Model *m, const char *path, const ExportOptions *opt, Err *err);
sdx_status sdx_onnx_export_bytes(const Model *m, Buf **out, Err *err);
/* Textual form through write(user, text, n), newest forms. Constants of more than 1000 elements show as {...}; a text
 * with such cannot be read back. */
sdx_status sdx_onnx_print(const Model *m, void (*write)(void *user, const char *text, size_t n), void *user, Err *err);

/* Test data: a TensorProto, SequenceProto, OptionalProto or MapProto, as `type` says (NULL: guess tensor). */
sdx_status sdx_onnx_read_datum(const Alloc *a, const void *bytes, size_t n, const Type *type, Datum *out, Err *err);
sdx_status sdx_onnx_write_datum(const Alloc *a, const Datum *d, const char *name, Buf **out, Err *err);

#endif
