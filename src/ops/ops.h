/* Operators: what each one IS. Static tables and callbacks; no state.
 *
 * An OpDef says how an operator is written (signature, attributes, versions), what shapes it gives (infer) and how the
 * CPU computes it (cpu.prepare once per plan, cpu.run every time). Only the newest form of an operator exists outside
 * src/onnx: older nodes are rewritten at import by the upgrade functions of the version rows. */
#ifndef SDX_OPS_OPS_H
#define SDX_OPS_OPS_H

#include "base/pool.h"
#include "graph/graph.h"
#include "kern/kern.h"

/* -- attributes ---------------------------------------------------------------------------------------------------- */

/* List attributes of typed structs. Absent without default: n == 0, v == NULL. */
typedef struct IntList {
    int64_t n;
    const int64_t *v;
} IntList;
typedef struct FloatList {
    int64_t n;
    const float *v;
} FloatList;
typedef struct StrList {
    int64_t n;
    const Str *v;
} StrList;

typedef struct AttrSpec {
    const char *name; /* NULL ends the table */
    AttrType type;    /* INT int64_t; FLOAT float; STRING Str; TENSOR const Tensor *; GRAPH Graph *; INTS IntList;
                         FLOATS FloatList; STRINGS StrList; TENSORS const Attr *; SPARSE const Sparse *;
                         TYPE const Type * */
    uint16_t offset;  /* of the field in the operator's struct */
    bool required;
    int64_t i; /* defaults */
    float f;
    const char *s;
} AttrSpec;

#define OP_INT(S, field, dflt)                                                                                         \
    {                                                                                                                  \
        .name = #field, .type = ATTR_INT, .offset = offsetof(S, field), .i = (dflt)                                    \
    }
#define OP_INT_ABSENT INT64_MIN /* default of an integer whose absence means something */
#define OP_INT_REQ(S, field)                                                                                           \
    {                                                                                                                  \
        .name = #field, .type = ATTR_INT, .offset = offsetof(S, field), .required = true                               \
    }
#define OP_FLOAT(S, field, dflt)                                                                                       \
    {                                                                                                                  \
        .name = #field, .type = ATTR_FLOAT, .offset = offsetof(S, field), .f = (dflt)                                  \
    }
#define OP_FLOAT_REQ(S, field)                                                                                         \
    {                                                                                                                  \
        .name = #field, .type = ATTR_FLOAT, .offset = offsetof(S, field), .required = true                             \
    }
#define OP_STR(S, field, dflt)                                                                                         \
    {                                                                                                                  \
        .name = #field, .type = ATTR_STRING, .offset = offsetof(S, field), .s = (dflt)                                 \
    }
#define OP_STR_REQ(S, field)                                                                                           \
    {                                                                                                                  \
        .name = #field, .type = ATTR_STRING, .offset = offsetof(S, field), .required = true                            \
    }
#define OP_INTS(S, field)                                                                                              \
    {                                                                                                                  \
        .name = #field, .type = ATTR_INTS, .offset = offsetof(S, field)                                                \
    }
#define OP_FLOATS(S, field)                                                                                            \
    {                                                                                                                  \
        .name = #field, .type = ATTR_FLOATS, .offset = offsetof(S, field)                                              \
    }
#define OP_STRS(S, field)                                                                                              \
    {                                                                                                                  \
        .name = #field, .type = ATTR_STRINGS, .offset = offsetof(S, field)                                             \
    }
#define OP_STRS_REQ(S, field)                                                                                          \
    {                                                                                                                  \
        .name = #field, .type = ATTR_STRINGS, .offset = offsetof(S, field), .required = true                           \
    }
#define OP_TENSOR(S, field)                                                                                            \
    {                                                                                                                  \
        .name = #field, .type = ATTR_TENSOR, .offset = offsetof(S, field)                                              \
    }
#define OP_GRAPH_REQ(S, field)                                                                                         \
    {                                                                                                                  \
        .name = #field, .type = ATTR_GRAPH, .offset = offsetof(S, field), .required = true                             \
    }
#define OP_ATTR(S, field, kind)                                                                                        \
    {                                                                                                                  \
        .name = #field, .type = (kind), .offset = offsetof(S, field)                                                   \
    }
#define OP_ATTR_END                                                                                                    \
    {                                                                                                                  \
        .name = NULL                                                                                                   \
    }

/* -- versions ------------------------------------------------------------------------------------------------------ */

/* One row per published version, newest first. types: what the type variables T, U, V, W of OpDef.sig may be in that
 * version. upgrade rewrites a node of this version into the form of the row above (NULL: nothing to do). It may insert
 * nodes before it, and must leave attributes and inputs as the newer form has them. */
typedef struct OpVer {
    int since; /* 0 ends the table */
    DTypeSet types[4];
    sdx_status (*upgrade)(Node *n, Err *err);
} OpVer;

/* -- inference ----------------------------------------------------------------------------------------------------- */

/* The same callbacks serve symbolic inference at load (syms != NULL) and exact inference in a plan (syms NULL, all
 * sizes numbers or unknown until run). Output types come with kind and elem already bound by the signature; infer
 * fills shapes (rank unknown unless it does). */
typedef struct Infer {
    const Node *node;
    const void *args;
    SymTab *syms;
    int n_in, n_out;
    const Type *const *in; /* NULL: absent */
    Type *out;             /* n_out of them */
    DimVec *out_known;     /* n_out; set with sdx_infer_set_ints */
    Arena *arena;
    const struct InferHost *host; /* answers for contents; private to the driver */
    Err *err;
    Dim unasked[SDX_MAX_RANK]; /* where sizes of outputs go that nobody asked for */
} Infer;

/* Content of integer (or bool) input i, if known: constant, or symbolic shape arithmetic; single elements may still be
 * unknown. When an output's shape stays unknown after asking, the caller's inputs it comes from are marked as
 * shape-determining. */
bool sdx_infer_ints(const Infer *c, int i, DimVec *out);
/* Content of input i as a tensor, if known exactly. */
const Tensor *sdx_infer_const(const Infer *c, int i);
sdx_status sdx_infer_set_ints(Infer *c, int o, const DimVal *v, int n);
/* Sizes of nested graphs: infers body with the given input types, returns its output types (n of them). */
sdx_status sdx_infer_graph(const Infer *c, Graph *body, const Type *const *in, int n_in, Type *out, int n_out);

/* Helpers shared by families. Each fails with a text that names the shapes and the rule. */
sdx_status sdx_infer_same_shape(Infer *c);                                   /* out 0 has the shape of in 0 */
sdx_status sdx_infer_broadcast(Infer *c);                                    /* out 0 = all inputs broadcast */
sdx_status sdx_infer_axis(const Infer *c, int64_t axis, int rank, int *out); /* normalises; fails outside [-r, r) */
sdx_status sdx_infer_broadcast_shapes(const Infer *c, const Shape *a, const Shape *b, Shape *out);
/* Records INVALID_MODEL with the node's description in front. */
sdx_status sdx_infer_fail(const Infer *c, const char *fmt, ...) SDX_PRINTF(2, 3);

/* -- CPU execution ------------------------------------------------------------------------------------------------- */

typedef struct PackCache PackCache;

/* Once per node of a plan, when shapes are numbers. Data pointers of in are NULL unless constant; out have shapes. */
typedef struct Prepare {
    const Node *node;
    const void *args;
    int n_in, n_out;
    const Datum *const *in; /* NULL: absent */
    Datum *const *out;      /* NULL: not asked for */
    const bool *in_const;   /* content of in[i] will not change for the life of the plan */
    Arena *arena;           /* plan lifetime */
    const Kern *kern;
    int threads;           /* of the pool the run may use, for scratch only: never let results depend on it */
    bool flush_subnormals; /* multiply-accumulate kernels flush (levels default and fast) */
    bool may_round;        /* kernels may round differently from the definition (levels default and fast) */
    PackCache *packs;      /* packed weights, shared by plans and sessions */
    /* results */
    void *state;    /* handed to run */
    size_t scratch; /* bytes of SDX_ALIGN-aligned scratch per run */
    Err *err;
} Prepare;

/* Packed form of constant input i: looked up by content and key, or made once by pack(user, dst, src). */
sdx_status sdx_prepare_pack(Prepare *p, int i, const char *key, size_t nbytes,
                            void (*pack)(void *user, void *dst, const Tensor *src), void *user, const void **out);
/* The same for what follows from the node's attributes alone: made once per session; make gets src NULL. */
sdx_status sdx_prepare_derive(Prepare *p, const char *key, size_t nbytes,
                              void (*make)(void *user, void *dst, const Tensor *src), void *user, const void **out);
sdx_status sdx_prepare_fail(const Prepare *p, sdx_status code, const char *fmt, ...) SDX_PRINTF(3, 4);

typedef struct RunEnv RunEnv; /* of one run: cancellation, limits, heap, nested graphs */

typedef struct Run {
    const Node *node;
    const void *args;
    const void *state;
    int n_in, n_out;
    const Datum *const *in;
    Datum *const *out; /* static outputs have dtype, dims and data; others are made with sdx_run_output */
    void *scratch;     /* never NULL, so that offsets may be added where there is none */
    Pool *pool;
    RunEnv *env;
    Err *err;
} Run;

/* Makes output o of this shape: checks it against a static one, or allocates. Sets *data when not NULL. */
sdx_status sdx_run_output(Run *r, int o, DType dtype, int rank, const int64_t *dims, void **data);
/* Output o becomes a reference to src (sequences, optionals, tensors passed through). */
sdx_status sdx_run_forward(Run *r, int o, const Datum *src);
/* Memory that lives until the end of the run (string bytes). NULL at the ceiling. */
void *sdx_run_heap(Run *r, size_t nbytes);
const Alloc *sdx_run_alloc(const Run *r); /* counts against the run's ceiling; for sequences and maps */
/* CANCELLED or LIMIT_TIME when the run has to end. Long kernels and loops ask now and then. */
sdx_status sdx_run_poll(Run *r);
sdx_status sdx_run_trip(Run *r); /* one more loop trip: LIMIT_TRIPS, CANCELLED, LIMIT_TIME */
/* Runs a nested graph; in/out are its formal inputs and outputs, out filled with owned data. */
sdx_status sdx_run_graph(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out);
sdx_status sdx_run_fail(const Run *r, const char *fmt, ...) SDX_PRINTF(2, 3); /* RUN_FAILED, node named */
sdx_status sdx_run_fail_as(const Run *r, sdx_status code, const char *fmt, ...) SDX_PRINTF(3, 4);

/* Splits [0, n) into chunks of `grain` and runs fn(arg, from, to, worker) over the pool. grain depends on shapes. */
typedef void (*RangeFn)(void *arg, int64_t from, int64_t to, int worker);
void sdx_run_range(const Run *r, int64_t n, int64_t grain, RangeFn fn, void *arg);

typedef struct OpCpu {
    sdx_status (*prepare)(Prepare *p); /* NULL: nothing to prepare */
    sdx_status (*run)(Run *r);         /* NULL: no CPU implementation (internal or legalised forms only) */
} OpCpu;

enum {                       /* OpDef.flags */
       OP_INPLACE = 1,       /* out 0 may overwrite in 0 (same size) */
       OP_INPLACE_ANY = 2,   /* out 0 may overwrite any input of the same shape and type (elementwise) */
       OP_VIEW = 4,          /* out 0 has the bytes of in 0 (Reshape and kin): no step is run when planned */
       OP_F32_MATH = 8,      /* float math is written for float only: storage floats are widened around it */
       OP_BYTE_MOVER = 16,   /* moves elements without looking: sub-byte types are unpacked around it */
       OP_RANDOM = 32,       /* not a function of its inputs: never folded or merged */
       OP_DATA_SHAPE = 64,   /* output shapes depend on input contents beyond what infer can know */
       OP_ELEMENTWISE = 128, /* pointwise over broadcast inputs */
       OP_CONTROL = 256,     /* runs nested graphs */
       OP_LAZY_PACK = 512,   /* packs constant inputs in prepare */
       OP_ANY_ATTRS = 1024   /* attributes are not declared: any may be given */
};

struct OpDef {
    const char *name;
    const char *domain; /* NULL is ai.onnx */
    /* "T,T->T": inputs -> outputs. Items: a variable T U V W (see OpVer.types) or a type by short name (f32 i64 i32 u8
     * bool str ...), or seq(X) opt(X) map(k,v), or any; suffix ? optional, * repeated (0 or more), + repeated (1 or
     * more) of one type, ~ repeated with differing types. An output variable that no input binds, or any, is left to
     * infer. */
    const char *sig;
    const AttrSpec *attrs;
    size_t attrs_size;
    const OpVer *vers;
    unsigned flags;
    uint32_t moved;  /* bit i: input i is read through memcpy alone, so a constant may lie misaligned */
    uint32_t packed; /* bit i: input i, when a constant of type float, is read through sdx_prepare_pack alone */
    sdx_status (*infer)(Infer *c);
    OpCpu cpu;
    /* Optional. Given numbers for all shapes: is output o a contiguous run of bytes of input *in at *offset? */
    bool (*alias)(const Prepare *p, int o, int *in, size_t *offset);
    void *user; /* custom operators */
};

/* A definition is `const OpDef sdx_op_Name` and one line OP(Name) in ops.def. Outside ai.onnx the domain has a tag
 * before the name, as in sdx_op_ml_Scaler: ml (ai.onnx.ml), training (ai.onnx.preview.training), preview (ai.onnx.preview),
 * ms (com.microsoft), sdx (internal). */
#define OP(id) extern const OpDef sdx_op_##id;
#include "ops/ops.def"
#undef OP

/* The operator for (domain, name) or NULL; domain "" or "ai.onnx" for the default one. */
const OpDef *sdx_op_find(const char *domain, const char *name);
/* All of them, in ops.def order. */
const OpDef *const *sdx_op_list(int *n);

/* Checks attributes against def and fills node->args. Unknown attributes are an error naming them. */
sdx_status sdx_node_parse(Node *n, Err *err);
/* Builds a node of an operator by name: for passes and upgrades. NULL on failure (err told). Its args are parsed when
 * no attribute is required; a caller that sets attributes calls sdx_node_parse after it. */
Node *sdx_node_make(Graph *g, Node *before, const char *domain, const char *op, Value *const *in, int n_in,
                    Value *const *out, int n_out, Err *err);
/* Checks that the inputs which def->sig requires are there, and none beyond: what needs no types. */
sdx_status sdx_op_check_inputs(const Node *n, Err *err);
/* Checks arity and element types of in against def->sig and ver (NULL: the newest row), binds out kinds and elems. */
sdx_status sdx_op_bind(const Node *n, const OpVer *ver, const Type *const *in, Type *out, Err *err);

/* prepare/run of a node on the CPU, with widening of storage floats and unpacking of sub-byte types where the flags
 * ask for it. Executors call these, never def->cpu directly. */
sdx_status sdx_op_prepare(Prepare *p);
sdx_status sdx_op_run(Run *r);

#endif
