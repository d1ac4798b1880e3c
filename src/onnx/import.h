/* What the files of the import share: from proto.h structs to the IR.
 *
 * import.c builds graphs, function.c what model-local functions stand for, resolve.c finds operators and brings nodes to
 * their newest form. Names are looked up in scopes: one for a graph, one for each call of a function. */
#ifndef SDX_ONNX_IMPORT_H
#define SDX_ONNX_IMPORT_H

#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "ops/ops.h"

#define SDX_MAX_IMPORT_DEPTH 128  /* graphs in graphs and functions in functions, together */
#define SDX_MAX_ATTRS 1024        /* of one node */
#define SDX_MAX_CALLS (1LL << 20) /* in one model: calls double at every level in a hostile file */

/* Names to anything. The strings are borrowed. */
typedef struct Names {
    struct NameSlot *slots;
    size_t n, cap;
} Names;

/* The slot of name, made (with NULL in it) when it is not there: *made says so. NULL: out of memory. */
void **sdx_names_add(Names *t, Arena *a, Str name, bool *made);
void **sdx_names_find(const Names *t, Str name); /* NULL: not there */

typedef struct Scope Scope;

/* A call of a model-local function: where its attributes come from. */
typedef struct Call {
    PFunction *fn;
    const PNode *site;
    Scope *site_scope;
} Call;

struct Scope {
    Scope *outer; /* names around; NULL for the main graph and for function bodies */
    Graph *graph; /* gets the values and nodes */
    Names values; /* to Value *; NULL: an absent input of a function */
    const POpsets *opsets;
    const Call *call;   /* NULL outside functions */
    const char *prefix; /* of names made here; "" outside functions */
};

typedef struct Import {
    Model *model;
    Arena *scratch;
    const ImportOptions *opt;
    PModel *proto;
    TensorReader tensors;
    Names functions; /* "domain\0name\0overload" to PFunction * */
    Names bodies;    /* texts of bodies.def to PFunction * */
    int64_t n_calls;
    int depth;
    Err missing; /* with a survey: of the first node that nobody knows */
} Import;

/* A NUL-terminated copy. INVALID_MODEL when the name holds a zero byte itself. */
sdx_status sdx_import_name(Arena *a, Str s, const char **out, Err *err);

/* -- import.c: graphs ---------------------------------------------------------------------------------------------- */

/* Fills the empty model m from proto: operators resolved, functions inlined, nodes sorted, upgraded and verified. */
sdx_status sdx_import_model(Model *m, Arena *scratch, PModel *proto, const ImportOptions *opt, Err *err);
sdx_status sdx_import_nodes(Import *im, Scope *s, PNode *const *nodes, int n, Err *err);
/* Makes the value of every node output. formal: names that get a given value instead; may be NULL. */
sdx_status sdx_import_declare(Import *im, Scope *s, PNode *const *nodes, int n, const Names *formal, Err *err);
/* A graph attribute of owner, its names seen from s. */
sdx_status sdx_import_subgraph(Import *im, Scope *s, Node *owner, const PGraph *p, Graph **out, Err *err);
/* The value, or NULL for an absent one; INVALID_MODEL when the name is not defined. */
sdx_status sdx_import_find(const Scope *s, Str name, Value **out, Err *err);
/* from -> to through an Identity. */
sdx_status sdx_import_identity(Graph *g, Value *from, Value *to, Err *err);
/* "node `x` (Op)": for errors before there is a Node. */
char *sdx_pnode_text(const PNode *p, char *buf, size_t size);
sdx_status sdx_import_type(Import *im, const PType *p, Type *out, Err *err);

/* -- import_attr.c: attributes ------------------------------------------------------------------------------------- */

/* All attributes of p, references to function attributes resolved; those that resolve to nothing are left out. Graphs
 * are built below owner. def gives names and the type of empty lists; may be NULL. */
sdx_status sdx_import_attrs(Import *im, Scope *s, Node *owner, const PNode *p, const OpDef *def, Attr **out, int *n,
                            Err *err);
/* The attribute by name, or what it refers to; NULL when there is none. */
const PAttr *sdx_import_attr(Import *im, Scope *s, const PNode *p, const char *name);

/* -- function.c ---------------------------------------------------------------------------------------------------- */

sdx_status sdx_import_index_functions(Import *im, Err *err);
/* The function that p calls; NULL: none, p is an operator. OUT_OF_MEMORY. */
sdx_status sdx_import_function(const Import *im, const PNode *p, PFunction **out, Err *err);
/* Puts the body in place of the call. */
sdx_status sdx_import_call(Import *im, Scope *s, const PNode *p, PFunction *fn, Err *err);

/* -- bodies.c ------------------------------------------------------------------------------------------------------ */

/* The body that stands for p, which is no operator and no function of the model; NULL: there is none. INVALID_MODEL when
 * its attributes and inputs fit no form, UNSUPPORTED when it is known not to run. */
sdx_status sdx_import_body(Import *im, Scope *s, const PNode *p, PFunction **out, Err *err);
/* Inside a body: a node that is left out because of what the call leaves out. */
sdx_status sdx_import_optional(Scope *s, const PNode *p, bool *done, Err *err);
/* Removes what the call whose scope is body put behind `last` and nobody reads. */
void sdx_import_prune(const Scope *body, Node *last);
/* The rows of bodies.def that can run, for lists of what is known: start with *at NULL. */
bool sdx_body_next(const char **at, const char **domain, const char **name);

/* -- resolve.c ----------------------------------------------------------------------------------------------------- */

/* The version of a domain's operators that a body imports; INT64_MAX when it does not say. */
int64_t sdx_import_opset(const POpsets *opsets, Str domain);
/* The operator and the row of its version that p means in scope s; NULL: it is none. */
sdx_status sdx_import_operator(Import *im, const Scope *s, const PNode *p, const OpDef **def, const OpVer **ver,
                               Err *err);
/* UNSUPPORTED, for one that is nothing else either. */
sdx_status sdx_import_unknown(const Scope *s, const PNode *p, Err *err);
/* Brings every node to its newest form and parses its attributes. Nodes are sorted. */
sdx_status sdx_import_upgrade(Model *m, Err *err);

#endif
