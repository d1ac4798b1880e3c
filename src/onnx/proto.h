/* The messages of an ONNX file as C structs: what the binary and the textual reader give, and import consumes.
 *
 * They live in a scratch arena until the import ends. Strings are spans of the file (or of the text) and are not
 * NUL-terminated; lists of numbers and strings of attributes are in the model's arena, since nodes keep them. Elements of tensors stay
 * where they are until proto_tensor.c is asked for them. Fields that never change a result are not here: doc strings
 * but the model's, denotations, quantisation annotations, training graphs, device placement. */
#ifndef SDX_ONNX_PROTO_H
#define SDX_ONNX_PROTO_H

#include "base/source.h"
#include "graph/graph.h"
#include "onnx/wire.h"

typedef struct PNode PNode;
typedef struct PGraph PGraph;
typedef struct PType PType;

/* A growing list in the scratch arena. */
#define PLIST(T)                                                                                                       \
    struct {                                                                                                           \
        T *v;                                                                                                          \
        int n, cap;                                                                                                    \
    }

typedef struct PEntry {
    Str key, value;
} PEntry;

typedef struct PTensor {
    Str name;
    int32_t dtype; /* as in the file: may be no DType */
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    Str raw; /* raw_data */
    bool has_raw;
    bool has_segment;
    bool external; /* data_location */
    PLIST(PEntry) external_data;
    PLIST(Str) messages; /* the bytes of the message, in parts when it came more than once: for typed fields */
    const Tensor *made;  /* by sdx_proto_tensor */
} PTensor;

typedef struct PSparse {
    PTensor *values, *indices; /* NULL: missing */
    int32_t rank;
    int64_t dims[SDX_MAX_RANK];
    const Sparse *made;
} PSparse;

typedef struct PDim {
    bool has_value;
    int64_t value;
    Str param; /* n 0: none */
} PDim;

struct PType {
    TypeKind kind;
    int32_t elem; /* TENSOR, SPARSE: element; MAP: key */
    bool has_shape;
    PLIST(PDim) dims;
    PType *of;
};

typedef struct PValueInfo {
    Str name;
    PType *type; /* NULL: not given */
} PValueInfo;

typedef struct PAttr {
    Str name, ref;
    int32_t type; /* 0: old file, or none given */
    bool has_f, has_i, has_s;
    float f;
    int64_t i;
    Str s;
    PTensor *t;
    PGraph *g;
    PSparse *sparse;
    PType *tp;
    float *floats;
    int64_t *ints;
    int64_t n_floats, n_ints;
    PLIST(Str) strings; /* in the kept arena, like floats and ints */
    PLIST(PTensor *) tensors;
    PLIST(PGraph *) graphs;
    PLIST(PSparse *) sparses;
    PLIST(PType *) types;
} PAttr;

struct PNode {
    Str name, op_type, domain, overload;
    PLIST(Str) inputs, outputs;
    PLIST(PAttr *) attrs;
};

struct PGraph {
    Str name, doc;
    PLIST(PNode *) nodes;
    PLIST(PTensor *) initializers;
    PLIST(PSparse *) sparse_initializers;
    PLIST(PValueInfo) inputs, outputs, values;
};

typedef struct POpset {
    Str domain;
    int64_t version;
} POpset;

typedef PLIST(POpset) POpsets;

typedef struct PFunction {
    Str name, domain, overload;
    PLIST(Str) inputs, outputs;
    PLIST(Str) attr_names; /* without default */
    PLIST(PAttr *) attrs;  /* with default */
    PLIST(PNode *) nodes;
    PLIST(PValueInfo) values;
    POpsets opsets;
    bool builtin; /* from bodies.def */
} PFunction;

typedef struct PModel {
    int64_t ir_version, model_version;
    Str producer_name, producer_version, domain, doc;
    PGraph *graph;
    POpsets opsets;
    PLIST(PEntry) metadata;
    PLIST(PFunction *) functions;
} PModel;

/* Where a reader puts what it makes. */
typedef struct Proto {
    Arena *scratch;             /* the structs */
    Arena *kept;                /* list attributes */
    int64_t n_nodes, max_nodes; /* 0: no limit */
} Proto;

/* Decodes a ModelProto. Fields in any order; a message field that comes twice is merged, a number or string is the
 * last one. INVALID_MODEL with the offset where the bytes are wrong; LIMIT_NODES; OUT_OF_MEMORY or LIMIT_BYTES. */
sdx_status sdx_proto_model(Proto *p, const void *bytes, size_t n, PModel *out, Err *err);
/* One TensorProto or SparseTensorProto at w, for test data; adds to *out. */
sdx_status sdx_proto_read_tensor(Proto *p, Wire w, PTensor *out, Err *err);
sdx_status sdx_proto_read_sparse(Proto *p, Wire w, PSparse *out, Err *err);
sdx_status sdx_proto_read_type(Proto *p, Wire w, PType *out, Err *err);

/* OUT_OF_MEMORY, or LIMIT_BYTES when the arena has a ceiling and that was the reason. */
sdx_status sdx_proto_no_memory(const Arena *a, Err *err);

/* For allocations from an arena. */
#define TRY_ARENA(ptr, arena, err)                                                                                     \
    do {                                                                                                               \
        if (!(ptr)) return sdx_proto_no_memory((arena), (err));                                                        \
    } while (0)

/* A new last item of a PLIST, zeroed; NULL: out of memory. */
#define PLIST_ADD(arena, list) (sdx_arena_grow((arena), (list).v, (list).n, (list).cap) ? &(list).v[(list).n++] : NULL)

static inline bool sdx_str_is(Str s, const char *text)
{
    size_t i = 0;
    while (i < s.n && text[i] && s.p[i] == text[i]) i++;
    return i == s.n && !text[i];
}

/* "%.*s" wants an int; names in error texts are cut at 200 bytes. */
#define STR_ARG(s) ((int)((s).n < 200 ? (s).n : 200)), ((s).p ? (s).p : "")

/* -- elements (proto_tensor.c) ------------------------------------------------------------------------------------- */

typedef struct ExternalFile ExternalFile;

/* Gives tensors their elements. Zeroed and filled by import; sdx_tensors_fini closes the files. */
typedef struct TensorReader {
    Model *model; /* owner of bytes: its arena, buffers and mappings */
    const Alloc *alloc;
    LoadMode load;
    const char *dir, *real_dir;
    const struct ExternalOpener *opener;
    ExternalFile *files;
} TensorReader;

/* The tensor, its elements borrowed from the file where they can be. The result lives in the model's arena; a second
 * call gives the same. Large ones may be misaligned: see VALUE_UNALIGNED in graph.h. */
sdx_status sdx_proto_tensor(TensorReader *r, PTensor *p, const Tensor **out, Err *err);
/* The same, copied when it is misaligned. */
sdx_status sdx_proto_tensor_aligned(TensorReader *r, PTensor *p, const Tensor **out, Err *err);
/* In COO form, checked: indices inside the shape, linear or [nnz, rank]. */
sdx_status sdx_proto_sparse(TensorReader *r, PSparse *p, const Sparse **out, Err *err);
/* The dense tensor that it stands for; others hold zeros or empty strings. */
sdx_status sdx_proto_densify(TensorReader *r, PSparse *p, const Tensor **out, Err *err);
/* Values [nnz]; indices int64 [nnz] or [nnz, rank], each inside the shape. */
sdx_status sdx_sparse_check(const Sparse *s, Err *err);
void sdx_tensors_fini(TensorReader *r);

/* Without a model: type and shape into *t, once it is certain that p holds its elements itself and all of them; then the
 * elements into t->data (strings: views of the bytes of p). */
sdx_status sdx_proto_check(const PTensor *p, Tensor *t, Err *err);
sdx_status sdx_proto_elements(const PTensor *p, const Tensor *t, Err *err);

#endif
