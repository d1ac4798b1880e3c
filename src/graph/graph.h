/* The intermediate representation: models, graphs, nodes and values.
 *
 * Everything here lives in the model's arena and dies with it. Graphs are in SSA form: a value is a graph input, an
 * initializer, or one output of one node. Subgraphs (the GRAPH attributes of If, Loop, Scan, ...) refer to values of the
 * enclosing graphs directly. Nodes are in topological order in their graph's list. After import every node is in the
 * newest form of its operator, with the original kept beside it. Model-local functions are inlined at import. */
#ifndef SDX_GRAPH_GRAPH_H
#define SDX_GRAPH_GRAPH_H

#include "graph/dim.h"
#include "tensor/tensor.h"

typedef struct Model Model;
typedef struct Graph Graph;
typedef struct Node Node;
typedef struct Value Value;
typedef struct Attr Attr;
typedef struct OpDef OpDef;

#define SDX_RANK_UNKNOWN (-1)
#define SDX_MAX_GRAPH_DEPTH 64 /* of nesting; code that walks nested graphs may recurse */

typedef struct Shape {
    int32_t rank;           /* SDX_RANK_UNKNOWN: nothing is known */
    Dim dims[SDX_MAX_RANK]; /* a file's negative size never gets here: it is SDX_DIM_UNKNOWN */
} Shape;

typedef enum TypeKind {
    TYPE_UNKNOWN,
    TYPE_TENSOR,
    TYPE_SPARSE,
    TYPE_SEQUENCE,
    TYPE_MAP,
    TYPE_OPTIONAL,
    TYPE_OPAQUE
} TypeKind;

typedef struct Type {
    TypeKind kind;
    DType elem;            /* TENSOR, SPARSE: element type (DT_NONE unknown). MAP: key type */
    Shape shape;           /* TENSOR, SPARSE */
    const struct Type *of; /* SEQUENCE, OPTIONAL: content; MAP: value type. NULL unknown */
} Type;

/* The known content of a small integer tensor, symbolic or not (shape arithmetic). Row-major. */
typedef struct DimVec {
    int32_t n;
    const DimVal *v;
} DimVec;
#define SDX_DIMVEC_MAX 1024 /* longer vectors are not tracked */

typedef enum AttrType {
    ATTR_UNDEFINED = 0,
    ATTR_FLOAT = 1,
    ATTR_INT = 2,
    ATTR_STRING = 3,
    ATTR_TENSOR = 4,
    ATTR_GRAPH = 5,
    ATTR_FLOATS = 6,
    ATTR_INTS = 7,
    ATTR_STRINGS = 8,
    ATTR_TENSORS = 9,
    ATTR_GRAPHS = 10,
    ATTR_SPARSE = 11,
    ATTR_SPARSES = 12,
    ATTR_TYPE = 13,
    ATTR_TYPES = 14
} AttrType;

struct Attr {
    const char *name;
    AttrType type;
    const char *ref; /* inside function bodies before inlining: the function's attribute that stands here */
    int64_t n;       /* element count of list types, 1 otherwise */
    union {
        float f;
        int64_t i;
        Str s;
        const Tensor *t; /* one or an array of n */
        Graph *g;
        const float *floats;
        const int64_t *ints;
        const Str *strings;
        Graph **graphs;
        const Sparse *sparse;
        const Type *types;
    };
};

typedef struct Use {
    Node *node;
    int index; /* of the input */
} Use;

enum { /* Value.flags */
       VALUE_GRAPH_INPUT = 1,
       VALUE_GRAPH_OUTPUT = 2,
       VALUE_INITIALIZER = 4,
       VALUE_OVERRIDABLE = 8, /* an initializer that the caller may replace: never folded, packed or hash-shared */
       VALUE_CAPTURED = 16,   /* some nested graph reads it */
       VALUE_UNALIGNED = 32   /* the elements of `constant` may not be aligned for their type: see sdx_value_align */
};

struct Value {
    const char *name; /* unique in its graph; "" never occurs */
    int id;           /* index in model->values */
    unsigned flags;
    Graph *graph;   /* where it is defined */
    Node *producer; /* NULL for inputs and initializers */
    int producer_index;
    Type type;              /* before inference what the file says, then what is known */
    const Type *declared;   /* of outputs of the main graph, after inference: what the file said; else NULL */
    const Tensor *constant; /* initializer or folded content, NULL when not constant. For OVERRIDABLE: the default */
    DimVec known;           /* n > 0 or v != NULL: known small integer content */
    bool shape_determining; /* an input whose content shapes depend on: part of the plan key */
    Use *uses;
    int n_uses, cap_uses;
};

/* What the file said, for reports, the writer and hosts of plugin providers. */
typedef struct NodeOrigin {
    const char *op_type;
    const char *domain;
    int since_version; /* of the operator version the file meant */
    const Attr *attrs;
    int n_attrs;
} NodeOrigin;

struct Node {
    const char *name; /* may be empty; need not be unique */
    const char *op_type;
    const char *domain; /* "" is ai.onnx */
    int id;             /* unique in the model */
    const OpDef *def;
    Graph *graph;
    Node *prev, *next;
    Value **in; /* NULL entries: absent optional inputs. No trailing NULLs */
    int n_in;
    Value **out; /* NULL entries: outputs not asked for */
    int n_out;
    Attr *attrs; /* newest form, generic */
    int n_attrs;
    void *args; /* def's typed attributes, parsed from attrs by sdx_node_parse */
    int ep;     /* index of the claiming provider; -1 before */
    const NodeOrigin *origin;
};

struct Graph {
    Model *model;
    Graph *parent; /* enclosing graph, NULL for the main one */
    Node *owner;   /* node whose attribute this is */
    int depth;     /* 0 for the main graph */
    const char *name;
    Value **inputs; /* without the constants that old files list here */
    int n_inputs, cap_inputs;
    Value **outputs; /* defined in this graph (never captured); may repeat in nested graphs only */
    int n_outputs, cap_outputs;
    Node *first, *last;
    int n_nodes;
    int infer_mark; /* of the inference driver: when the graph was last looked at */
};

typedef struct OpsetImport {
    const char *domain;
    int64_t version;
} OpsetImport;

typedef struct MetaProp {
    const char *key, *value;
} MetaProp;

/* One rewrite that happened, for reports. */
typedef struct Rewrite {
    const char *pass;
    const char *detail; /* the nodes it touched, by name or output */
    struct Rewrite *next;
} Rewrite;

struct Model {
    Arena arena;
    const Alloc *alloc;
    SymTab *syms;
    Graph *graph;
    Value **values; /* all, by id; NULL after removal */
    int n_values, cap_values;
    Value **names; /* hash table of values by graph and name */
    int n_names, cap_names;
    int next_node_id, next_name;
    int infer_mark; /* 0 before the first inference */
    int64_t ir_version, model_version;
    const char *producer_name, *producer_version, *domain, *doc_string, *graph_doc;
    OpsetImport *opsets;
    int n_opsets;
    MetaProp *metadata;
    int n_metadata;
    Rewrite *rewrites, **rewrites_end;
    /* Owners of bytes that constants point into: mappings, caller memory. Released in reverse order at destroy. */
    Buf **owners;
    int n_owners, cap_owners;
    /* Elements of large constants that rewriting made, one entry for each value that uses the block. */
    Buf **blocks;
    int n_blocks, cap_blocks;
};

/* -- models and values ------------------------------------------------------------------------------------------- */

sdx_status sdx_model_create(const Alloc *a, size_t bytes_limit, Model **out, Err *err);
void sdx_model_destroy(Model *m);                     /* NULL is allowed */
sdx_status sdx_model_own(Model *m, Buf *b, Err *err); /* takes the reference */

/* name is copied. NULL: out of memory, or nested deeper than SDX_MAX_GRAPH_DEPTH. The first without a parent becomes
 * the main graph; the caller sets owner's attribute. */
Graph *sdx_graph_create(Model *m, Graph *parent, Node *owner, const char *name);
/* name (copied) NULL, empty or already taken in g: a new unique one is made. NULL: out of memory. */
Value *sdx_value_create(Graph *g, const char *name);
Value *sdx_graph_find(const Graph *g, const char *name); /* in g itself, not around it; NULL when there is none */
/* A constant value whose tensor is copied (header only; data is borrowed and must live as long as the model). */
Value *sdx_value_constant(Graph *g, const char *name, const Tensor *t);
/* Removes a value nobody reads, produces or lists. */
void sdx_value_remove(Value *v);
/* Allocates element storage for t in the model's arena (or a model-owned buffer when large). */
void *sdx_model_tensor_data(Model *m, const Tensor *t);
/* The same for a constant that rewriting makes: when large, its memory goes with sdx_value_remove. A second value with
 * the same data counts as another user of the block. false: out of memory. */
void *sdx_model_block_data(Model *m, const Tensor *t);
bool sdx_model_block_share(Model *m, const void *data);
void sdx_model_block_drop(Model *m, const void *data); /* of a tensor that became no value; small ones stay */
bool sdx_value_is_const(const Value *v);               /* has content that nobody can override */
/* Files align nothing. Import copies misaligned constants up to 16 kB and leaves larger ones in the mapping, flagged
 * VALUE_UNALIGNED, so that weights which get packed never take memory twice. Code that reads through memcpy (packing,
 * moving bytes: OpDef.moved, .packed) takes them as they are; whoever hands such elements to other code calls this first. The
 * model keeps the aligned copy. Not thread-safe: call it while a session is being opened. */
sdx_status sdx_value_align(Value *v, Err *err);
sdx_status sdx_graph_add_input(Graph *g, Value *v, Err *err);
sdx_status sdx_graph_add_output(Graph *g, Value *v, Err *err);
/* Is x in g or in a graph nested in it? */
bool sdx_graph_contains(const Graph *g, const Graph *x);
/* The node of g that is n or whose nested graphs hold n; NULL when n is elsewhere. */
Node *sdx_graph_ancestor(const Graph *g, Node *n);

/* -- nodes --------------------------------------------------------------------------------------------------------- */

/* Appends (before == NULL) or inserts before a node. def may be NULL and set later. Arrays and name are copied; use
 * lists kept. Outputs must be values of g without a producer. NULL: out of memory. */
Node *sdx_node_create(Graph *g, Node *before, const OpDef *def, const char *name, Value *const *in, int n_in,
                      Value *const *out, int n_out);
void sdx_node_remove(Node *n); /* its outputs must have no uses and be no graph outputs; they are removed too */
bool sdx_node_set_input(Node *n, int i, Value *v); /* v may be NULL; grows n_in when needed; false: out of memory */
bool sdx_node_set_inputs(Node *n, Value *const *in, int n_in);
bool sdx_node_set_output(Node *n, int i, Value *v); /* v without a producer, or NULL; the old one loses its producer */
/* Every reader of `from`, graph outputs included, reads `to` instead. When `from` is an output of the main graph the two
 * exchange names, since outputs are known by name. false: out of memory, or not sdx_value_can_replace. */
bool sdx_value_replace(Value *from, Value *to);
/* An output of the main graph can only give way to a value that is not known to the caller itself; an output of a
 * nested graph to a value of the same graph. Whether `to` comes before all readers is for the caller to know. */
bool sdx_value_can_replace(const Value *from, const Value *to);
void sdx_graph_move_before(Node *n, Node *before); /* within one graph; before NULL: to the end */
/* Moves the nodes and values of a nested graph to its parent, before `before` there; its inputs are replaced by args.
 * The body keeps only its outputs list, whose values now live in the parent. false: out of memory. */
bool sdx_graph_inline(Graph *body, Node *before, Value *const *args);

const Attr *sdx_node_attr(const Node *n, const char *name); /* NULL when absent */
/* Set or replace; the name is borrowed (string literal), lists are copied. */
bool sdx_node_set_int(Node *n, const char *name, int64_t v);
bool sdx_node_set_float(Node *n, const char *name, float v);
bool sdx_node_set_string(Node *n, const char *name, const char *v);
bool sdx_node_set_ints(Node *n, const char *name, const int64_t *v, int64_t count);
bool sdx_node_set_floats(Node *n, const char *name, const float *v, int64_t count);
bool sdx_node_set_attr(Node *n, const Attr *a);
void sdx_node_drop_attr(Node *n, const char *name);
/* "node `probs` (Softmax)": the name, or else the first output's, into buf; returns buf. */
char *sdx_node_text(const Node *n, char *buf, size_t size);

/* Calls fn for each graph of the model, parents first. */
sdx_status sdx_model_each_graph(Model *m, sdx_status (*fn)(Graph *g, void *user, Err *err), void *user, Err *err);

/* Stable topological sort of each graph; INVALID_MODEL naming a node on a cycle. */
sdx_status sdx_model_sort(Model *m, Err *err);
/* Checks every invariant stated in this header; INTERNAL (or INVALID_MODEL right after import) with the breach. */
sdx_status sdx_model_verify(const Model *m, Err *err);

/* -- shapes and types ---------------------------------------------------------------------------------------------- */

/* "float[N,3,224,224]" into buf; returns buf. As in ONNX's text: "float" is a scalar, "float[]" of unknown rank. */
char *sdx_type_text(const SymTab *s, const Type *t, char *buf, size_t size);

/* The ONNX-like text of a graph, for traces and tests: one line a node. Appends through write(user, text, n). */
void sdx_graph_print(const Graph *g, void (*write)(void *user, const char *text, size_t n), void *user);

#endif
