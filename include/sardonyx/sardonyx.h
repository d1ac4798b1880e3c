/* sardonyx.h - run ONNX models.
 *
 *     sdx_error err = { 0 };
 *     sdx_session *s;
 *     if (sdx_session_open("model.onnx", NULL, &s, &err) != SDX_OK) { puts(err.text); return 1; }
 *
 *     int64_t shape[] = { 1, 3, 224, 224 };
 *     sdx_value *x, *y = NULL;
 *     sdx_tensor_wrap(SDX_FLOAT, shape, 4, pixels, sizeof pixels, NULL, NULL, &x, &err);
 *
 *     const char *in[] = { "x" }, *out[] = { "y" };
 *     if (sdx_session_run(s, in, (const sdx_value *const *)&x, 1, out, &y, 1, NULL, &err) != SDX_OK) puts(err.text);
 *
 * Rules that hold everywhere
 * - Every function that can fail returns a status and takes an sdx_error *, which may be NULL. A failed call changes
 *   nothing and leaves its out-parameters alone.
 * - `_create`, `_open`, `_wrap` and friends hand over a reference that the caller gives back with `_release`;
 *   `_retain` takes one more. Releasing NULL is allowed. Strings and arrays returned by getters belong to the object.
 * - A session may be used by any number of threads at once. Values, bindings and options: one thread at a time.
 * - Nothing is written to stdout or stderr, no file is touched but the named ones, no network is used.
 * - Names of inputs and outputs are NUL-terminated; names in files that contain NUL bytes are refused.
 */
#ifndef SARDONYX_H
#define SARDONYX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define SDX_API __declspec(dllexport)
#elif defined(__GNUC__)
#define SDX_API __attribute__((visibility("default")))
#else
#define SDX_API
#endif

#define SDX_VERSION_MAJOR 0
#define SDX_VERSION_MINOR 1
#define SDX_VERSION_PATCH 0

/* "0.1.0": of the library that is loaded, which may be newer than this header. */
SDX_API const char *sdx_version(void);

/* ---------------------------------------------------------------------------------------------------------------
 * Errors */

#ifndef SDX_BASE_STATUS_H /* the library's own sources have the list already */
typedef enum sdx_status {
    SDX_OK = 0,
    SDX_INVALID_ARGUMENT = 1, /* a value of the caller's breaks a rule stated here */
    SDX_INVALID_MODEL = 2,    /* the file breaks a rule of the format or of an operator */
    SDX_UNSUPPORTED = 3,      /* valid, but not something this build can do */
    SDX_OUT_OF_MEMORY = 4,
    SDX_IO = 5, /* the system refused to open, map, read or write */
    SDX_NOT_FOUND = 6,
    SDX_CANCELLED = 7,
    SDX_LIMIT_BYTES = 8, /* a limit that the caller set: bytes, nodes, loop trips, time */
    SDX_LIMIT_NODES = 9,
    SDX_LIMIT_TRIPS = 10,
    SDX_LIMIT_TIME = 11,
    SDX_RUN_FAILED = 12, /* data met while running breaks an operator's rule */
    SDX_INTERNAL = 13    /* a mistake of ours; please report it */
} sdx_status;
#endif

/* The first failure of a call: its code, and one line that names node, value, shape and rule as far as they matter.
 * Start from { 0 } or sdx_error_clear; a record that holds a failure already is left as it is. */
typedef struct sdx_error {
    int32_t code;
    int32_t reserved;
    char text[1016];
} sdx_error;

SDX_API void sdx_error_clear(sdx_error *err);
/* "invalid model" and so on; never NULL. */
SDX_API const char *sdx_status_name(sdx_status code);

/* ---------------------------------------------------------------------------------------------------------------
 * Types */

/* Element types: the numbers of ONNX's TensorProto.DataType. */
typedef enum sdx_dtype {
    SDX_UNDEFINED = 0,
    SDX_FLOAT = 1,
    SDX_UINT8 = 2,
    SDX_INT8 = 3,
    SDX_UINT16 = 4,
    SDX_INT16 = 5,
    SDX_INT32 = 6,
    SDX_INT64 = 7,
    SDX_STRING = 8,
    SDX_BOOL = 9, /* one byte, 0 or 1 */
    SDX_FLOAT16 = 10,
    SDX_DOUBLE = 11,
    SDX_UINT32 = 12,
    SDX_UINT64 = 13,
    SDX_COMPLEX64 = 14,
    SDX_COMPLEX128 = 15,
    SDX_BFLOAT16 = 16,
    SDX_FLOAT8E4M3FN = 17,
    SDX_FLOAT8E4M3FNUZ = 18,
    SDX_FLOAT8E5M2 = 19,
    SDX_FLOAT8E5M2FNUZ = 20,
    SDX_UINT4 = 21, /* types below 8 bits are packed, first element in the low bits, rows not padded */
    SDX_INT4 = 22,
    SDX_FLOAT4E2M1 = 23,
    SDX_FLOAT8E8M0 = 24,
    SDX_UINT2 = 25,
    SDX_INT2 = 26,
    SDX_FLOAT6E2M3 = 27,
    SDX_FLOAT6E3M2 = 28
} sdx_dtype;

SDX_API const char *sdx_dtype_text(sdx_dtype d); /* "float", "int64", ...: ONNX's names; "undefined" for others */
SDX_API int sdx_dtype_nbits(sdx_dtype d);        /* bits of an element; 0 for strings and unknown codes */

typedef enum sdx_kind {
    SDX_NONE = 0, /* an absent or empty optional value */
    SDX_TENSOR = 1,
    SDX_SEQUENCE = 2,
    SDX_MAP = 3,
    SDX_SPARSE_TENSOR = 4,
    SDX_OPTIONAL = 5, /* of types only: a value of an optional type is its content, or NONE */
    SDX_OPAQUE = 6
} sdx_kind;

/* The type of a model's input or output; belongs to the session. */
typedef struct sdx_type sdx_type;

SDX_API sdx_kind sdx_type_kind(const sdx_type *t);
/* Element type of tensors, key type of maps; SDX_UNDEFINED otherwise. */
SDX_API sdx_dtype sdx_type_dtype(const sdx_type *t);
/* Number of dimensions, -1 when the model does not say. */
SDX_API int sdx_type_rank(const sdx_type *t);
/* Size of dimension i, -1 when it is symbolic or unknown. */
SDX_API int64_t sdx_type_dim(const sdx_type *t, int i);
/* Symbol of dimension i as the model names it ("batch"), "" when it has none. */
SDX_API const char *sdx_type_dim_symbol(const sdx_type *t, int i);
/* Content of sequences and optionals, values of maps; NULL otherwise. */
SDX_API const sdx_type *sdx_type_of(const sdx_type *t);
/* "float[batch,3,224,224]", "seq(float[])", ... */
SDX_API const char *sdx_type_string(const sdx_type *t);

/* ---------------------------------------------------------------------------------------------------------------
 * Values */

/* A tensor, sequence, map or nothing. Reference counted; sessions never change the values they are fed. */
typedef struct sdx_value sdx_value;

SDX_API void sdx_value_retain(sdx_value *v);
SDX_API void sdx_value_release(sdx_value *v);
SDX_API sdx_kind sdx_value_kind(const sdx_value *v);

/* A tensor over the caller's memory: row-major, nbytes at least what the shape needs, aligned to the element. The memory
 * must stay until the value is released, when drop(user, data) is called (drop may be NULL). Not for strings. */
SDX_API sdx_status sdx_tensor_wrap(sdx_dtype dtype, const int64_t *dims, int rank, void *data, size_t nbytes,
                                   void (*drop)(void *user, void *data), void *user, sdx_value **out, sdx_error *err);
/* A tensor with memory of its own, 64-byte aligned, zeroed (strings: all empty). */
SDX_API sdx_status sdx_tensor_create(sdx_dtype dtype, const int64_t *dims, int rank, sdx_value **out, sdx_error *err);
/* A string tensor; bytes are copied. lengths may be NULL: NUL-terminated then. */
SDX_API sdx_status sdx_tensor_create_strings(const int64_t *dims, int rank, const char *const *strings,
                                             const size_t *lengths, sdx_value **out, sdx_error *err);

SDX_API sdx_dtype sdx_value_dtype(const sdx_value *v);
SDX_API int sdx_value_rank(const sdx_value *v);
SDX_API const int64_t *sdx_value_dims(const sdx_value *v); /* rank of them */
SDX_API int64_t sdx_value_count(const sdx_value *v);       /* elements */
SDX_API size_t sdx_value_nbytes(const sdx_value *v);       /* 0 for strings */
/* The elements; NULL for strings and for values that are no tensors. Writable when the caller made the value. */
SDX_API void *sdx_value_data(const sdx_value *v);
/* String i: pointer (not NUL-terminated) and length. */
SDX_API sdx_status sdx_value_string(const sdx_value *v, int64_t i, const char **text, size_t *length, sdx_error *err);

/* An empty sequence of tensors of this type (SDX_UNDEFINED: anything). */
SDX_API sdx_status sdx_sequence_create(sdx_dtype elem, sdx_value **out, sdx_error *err);
SDX_API sdx_status sdx_sequence_append(sdx_value *seq, const sdx_value *item, sdx_error *err);
SDX_API int64_t sdx_sequence_count(const sdx_value *seq);
SDX_API sdx_dtype sdx_sequence_dtype(const sdx_value *seq);
/* A new reference to element i. */
SDX_API sdx_status sdx_sequence_get(const sdx_value *seq, int64_t i, sdx_value **out, sdx_error *err);

/* A map from a 1-D tensor of keys (integers or strings) to as many values (a 1-D tensor or a sequence). */
SDX_API sdx_status sdx_map_create(const sdx_value *keys, const sdx_value *values, sdx_value **out, sdx_error *err);
SDX_API sdx_status sdx_map_keys(const sdx_value *map, sdx_value **out, sdx_error *err);
SDX_API sdx_status sdx_map_values(const sdx_value *map, sdx_value **out, sdx_error *err);

/* A sparse tensor from a 1-D tensor of values and an int64 tensor of where they are: [n] counted in the flattened
 * tensor, or [n, rank]. sdx_value_rank and sdx_value_dims tell its dense shape. */
SDX_API sdx_status sdx_sparse_create(const int64_t *dims, int rank, const sdx_value *values, const sdx_value *indices,
                                     sdx_value **out, sdx_error *err);
SDX_API sdx_status sdx_sparse_values(const sdx_value *sparse, sdx_value **out, sdx_error *err);
SDX_API sdx_status sdx_sparse_indices(const sdx_value *sparse, sdx_value **out, sdx_error *err);

/* The value of an optional that is empty. */
SDX_API sdx_status sdx_none_create(sdx_value **out, sdx_error *err);

/* ONNX test data: a serialised TensorProto, SequenceProto, MapProto or OptionalProto, chosen by type (NULL: tensor). */
SDX_API sdx_status sdx_value_parse(const void *bytes, size_t nbytes, const sdx_type *type, sdx_value **out,
                                   sdx_error *err);
/* The serialised form; *bytes is freed with sdx_bytes_free. */
SDX_API sdx_status sdx_value_serialize(const sdx_value *v, const char *name, void **bytes, size_t *nbytes,
                                       sdx_error *err);
SDX_API void sdx_bytes_free(void *bytes);

/* Element i of a numeric tensor as a double (real part of complex ones), from any type; 0 out of range. */
SDX_API double sdx_value_get(const sdx_value *v, int64_t i);
/* Sets element i of a numeric tensor from a double: floats round, integers truncate and clamp. */
SDX_API void sdx_value_set(sdx_value *v, int64_t i, double x);

/* ---------------------------------------------------------------------------------------------------------------
 * Sessions */

typedef struct sdx_session sdx_session;

/* How much the graph may be rewritten. */
typedef enum sdx_level {
    SDX_LEVEL_NONE = 0,    /* nodes as written */
    SDX_LEVEL_EXACT = 1,   /* bit-identical rewrites only */
    SDX_LEVEL_DEFAULT = 2, /* rounding may change, number formats never */
    SDX_LEVEL_FAST = 3     /* number formats may change where named in docs/numerics.md */
} sdx_level;

/* Where a model's bytes come from: exactly one of path, data, fd (>= 0) and read. */
typedef struct sdx_source {
    size_t struct_size; /* sizeof(sdx_source) */
    const char *path;
    const void *data; /* nbytes of them */
    size_t nbytes;    /* of data, or the total behind read */
    int copy; /* data: non-zero copies, zero borrows until the session's last release. Files: read, not mapped */
    int fd;   /* an open file, borrowed during the call; -1: none */
    int (*read)(void *user, uint64_t at, void *dst, size_t n); /* reads exactly n bytes; 0 on success */
    void *user;
    const char *external_dir; /* folder of external data; NULL: the path's own folder */
} sdx_source;
#define SDX_SOURCE_INIT                                                                                                \
    {                                                                                                                  \
        sizeof(sdx_source), NULL, NULL, 0, 0, -1, NULL, NULL, NULL                                                     \
    }

/* A host's thread pool: parallel must call fn(arg, chunk, worker) once for each chunk in [0, nchunks), with worker in
 * [0, threads) distinct among calls at one time, and return when all are done. */
typedef struct sdx_host_pool {
    void (*parallel)(void *user, void (*fn)(void *arg, int64_t chunk, int worker), void *arg, int64_t nchunks);
    int threads;
    void *user;
} sdx_host_pool;

/* A host's allocator: nbytes aligned to align (a power of two) or NULL. Must outlive every object made with it. */
typedef struct sdx_host_alloc {
    void *(*alloc)(void *user, size_t nbytes, size_t align);
    void (*free)(void *user, void *p);
    void *user;
} sdx_host_alloc;

typedef struct sdx_dim {
    const char *symbol; /* as the model names it */
    int64_t size;
} sdx_dim;

/* A weight in place of the model's: a tensor of the same type and shape. */
typedef struct sdx_initializer {
    const char *name;
    const sdx_value *value; /* retained with its memory by the session */
} sdx_initializer;

/* A file of external data in memory. */
typedef struct sdx_file {
    const char *name; /* as the model names it */
    const void *data; /* stays until the session's last release */
    size_t nbytes;
} sdx_file;

typedef enum sdx_severity {
    SDX_LOG_VERBOSE = 0,
    SDX_LOG_INFO = 1,
    SDX_LOG_WARNING = 2,
    SDX_LOG_ERROR = 3
} sdx_severity;

/* Zero (or NULL) stands for the default everywhere but level. */
typedef struct sdx_session_options {
    size_t struct_size;           /* sizeof(sdx_session_options) */
    sdx_level level;              /* SDX_LEVEL_DEFAULT */
    int threads;                  /* 0: cgroup quota, affinity and physical cores decide; 1: the caller alone */
    const char *const *disabled;  /* names of rewrites to leave out, NULL-terminated; unknown names are errors */
    const char *const *providers; /* "cpu", ... in order of preference, NULL-terminated; strict */
    const sdx_dim *dims;          /* symbolic sizes fixed at load */
    size_t n_dims;
    size_t max_bytes;      /* ceiling of a run's working memory */
    int64_t max_nodes;     /* of the model; LIMIT_NODES above */
    int plan_cache;        /* plans kept, one per combination of input shapes; 0: 16 */
    int keep_subnormals;   /* non-zero: multiply-accumulate kernels do not flush them at any level */
    const char *cpu_level; /* "c", "avx2", ...: use no more than this of the CPU; NULL: all */
    const sdx_host_pool *pool;
    const sdx_host_alloc *allocator;
    void (*log)(void *user, sdx_severity severity, const char *text);
    void *log_user;
    const sdx_initializer *initializers; /* each must be one of the model's */
    size_t n_initializers;
    const sdx_file *files; /* looked for before the folder of external data */
    size_t n_files;
} sdx_session_options;

/* Fills in the defaults. */
SDX_API void sdx_session_options_init(sdx_session_options *o);
/* Sets one option from text, by field name ("level", "threads", "max_bytes", "keep_subnormals", "cpu_level"...): for
 * command lines and bindings. Unknown names and bad values are INVALID_ARGUMENT. */
SDX_API sdx_status sdx_session_options_set(sdx_session_options *o, const char *name, const char *value, sdx_error *err);

/* options NULL: the defaults. */
SDX_API sdx_status sdx_session_create(const sdx_source *source, const sdx_session_options *options, sdx_session **out,
                                      sdx_error *err);
SDX_API sdx_status sdx_session_open(const char *path, const sdx_session_options *options, sdx_session **out,
                                    sdx_error *err);
/* data is borrowed: it must stay until the last release. */
SDX_API sdx_status sdx_session_open_bytes(const void *data, size_t nbytes, const sdx_session_options *options,
                                          sdx_session **out, sdx_error *err);
SDX_API void sdx_session_retain(sdx_session *s);
/* Runs in progress hold a reference: releasing during one is safe. */
SDX_API void sdx_session_release(sdx_session *s);

SDX_API size_t sdx_session_input_count(const sdx_session *s);
SDX_API size_t sdx_session_output_count(const sdx_session *s);
/* NULL when i is out of range. */
SDX_API const char *sdx_session_input_name(const sdx_session *s, size_t i);
SDX_API const char *sdx_session_output_name(const sdx_session *s, size_t i);
SDX_API const sdx_type *sdx_session_input_type(const sdx_session *s, size_t i);
SDX_API const sdx_type *sdx_session_output_type(const sdx_session *s, size_t i);
/* Initializers that a run may replace by feeding their name (IR 4 and later). */
SDX_API size_t sdx_session_overridable_count(const sdx_session *s);
SDX_API const char *sdx_session_overridable_name(const sdx_session *s, size_t i);
SDX_API const sdx_type *sdx_session_overridable_type(const sdx_session *s, size_t i);

/* Facts about the model: "producer_name", "producer_version", "domain", "description", "graph_name",
 * "graph_description", "model_version", "ir_version", "opset" ("ai.onnx 17, ai.onnx.ml 3"); NULL for other names. */
SDX_API const char *sdx_session_model_info(const sdx_session *s, const char *name);
/* The author's own key and value pairs. */
SDX_API size_t sdx_session_metadata_count(const sdx_session *s);
SDX_API const char *sdx_session_metadata_key(const sdx_session *s, size_t i);
SDX_API const char *sdx_session_metadata_value(const sdx_session *s, size_t i);

/* ---------------------------------------------------------------------------------------------------------------
 * Running */

/* What happened at one node; valid during the callback. Times are CLOCK_MONOTONIC nanoseconds. */
typedef struct sdx_node_event {
    const char *name, *op_type, *domain;
    int64_t start_ns, end_ns;
    const sdx_value *const *inputs; /* NULL entries: absent. Do not keep them */
    size_t n_inputs;
    const sdx_value *const *outputs;
    size_t n_outputs;
} sdx_node_event;

typedef struct sdx_run_options {
    size_t struct_size; /* sizeof(sdx_run_options) */
    const int *cancel;  /* polled; another thread makes it non-zero to end the run with CANCELLED */
    int64_t timeout_ns; /* 0: none; LIMIT_TIME */
    size_t max_bytes;   /* 0: the session's; LIMIT_BYTES */
    int64_t max_trips;  /* of all loops together; 0: none; LIMIT_TRIPS */
    void (*on_node)(void *user, const sdx_node_event *event); /* profiling: called after each node, on one thread */
    void *user;
} sdx_run_options;
#define SDX_RUN_OPTIONS_INIT                                                                                           \
    {                                                                                                                  \
        sizeof(sdx_run_options), NULL, 0, 0, 0, NULL, NULL                                                             \
    }

/* Runs the model once. All non-optional inputs must be fed, in any order. outputs[i] NULL on entry: a new value is
 * returned. Not NULL: a tensor that the result is written into, whose type and shape must be the result's. Feeds are
 * checked, and all that is wrong with them is listed. */
SDX_API sdx_status sdx_session_run(sdx_session *s, const char *const *input_names, const sdx_value *const *inputs,
                                   size_t n_inputs, const char *const *output_names, sdx_value **outputs,
                                   size_t n_outputs, const sdx_run_options *options, sdx_error *err);

/* A prepared run: names resolved once, values set as needed. */
typedef struct sdx_binding sdx_binding;

SDX_API sdx_status sdx_binding_create(sdx_session *s, sdx_binding **out, sdx_error *err); /* retains s */
SDX_API void sdx_binding_release(sdx_binding *b);
/* Feeds `name` until changed; retains v. NULL takes it away. */
SDX_API sdx_status sdx_binding_set_input(sdx_binding *b, const char *name, sdx_value *v, sdx_error *err);
/* Asks for `name`: v is written into on each run (retained), or NULL for a new value each time. */
SDX_API sdx_status sdx_binding_set_output(sdx_binding *b, const char *name, sdx_value *v, sdx_error *err);
/* Without any output set, all are computed. */
SDX_API sdx_status sdx_binding_run(sdx_binding *b, const sdx_run_options *options, sdx_error *err);
/* The last run's value, borrowed until the next run or release; NULL when there is none. */
SDX_API sdx_value *sdx_binding_output(const sdx_binding *b, const char *name);

/* Gives back working memory, cached plans and free buffers; weights stay. */
SDX_API void sdx_session_trim(sdx_session *s);

/* ---------------------------------------------------------------------------------------------------------------
 * Reports */

/* Bytes of working memory that a run with these inputs needs at its peak, outputs excluded. The part that depends on
 * data (strings, sequences, data-dependent shapes) is not in it. */
SDX_API sdx_status sdx_session_plan_bytes(sdx_session *s, const char *const *input_names,
                                          const sdx_value *const *inputs, size_t n_inputs, size_t *nbytes,
                                          sdx_error *err);

typedef struct sdx_node_info {
    const char *name, *op_type, *domain;
    const char *provider;
    const char *reason;           /* why providers asked before did not take it; "" when the first did */
    const char *inputs, *outputs; /* value names, comma-separated */
    const char *type;             /* of the first output */
} sdx_node_info;

/* Each node that runs, in order, after rewriting. */
SDX_API void sdx_session_each_node(const sdx_session *s, void (*fn)(void *user, const sdx_node_info *node), void *user);
/* Each value that a node makes, with its inferred type ("float[batch,3]"). At SDX_LEVEL_NONE these are the model's own
 * values, but for those of operator versions that were rewritten at load. */
SDX_API void sdx_session_each_value(const sdx_session *s, void (*fn)(void *user, const char *name, const char *type),
                                    void *user);
/* Each rewrite that was applied: its name and what it touched. */
SDX_API void sdx_session_each_rewrite(const sdx_session *s,
                                      void (*fn)(void *user, const char *name, const char *detail), void *user);
/* Each rewrite that exists, with the lowest level that uses it. */
SDX_API void sdx_each_rewrite(void (*fn)(void *user, const char *name, sdx_level level, const char *text), void *user);
/* Each operator with a CPU implementation: since_versions is "1,6,13". */
SDX_API void sdx_each_operator(void (*fn)(void *user, const char *domain, const char *name, const char *since_versions),
                               void *user);

/* How a node of a file runs. */
typedef enum sdx_runs {
    SDX_RUNS_NATIVE = 0, /* by the operator's own code */
    SDX_RUNS_BODY = 1,   /* a call of a function of the model: its nodes run in its place, and are listed behind it */
    SDX_RUNS_REWRITTEN = 2, /* as another operator, as a part of other nodes, or at load */
    SDX_RUNS_NOT = 3
} sdx_runs;

typedef struct sdx_node_coverage {
    const char *name, *op_type, *domain; /* as in the file; domain "ai.onnx" for the default one */
    const char *output;                  /* name of the first, "" when none is asked for */
    int since_version;                   /* of the operator version that the file means; 0: a function, or not known */
    sdx_runs how;
    const char *text; /* REWRITTEN: into what. NOT: why. "" when there is nothing to tell */
} sdx_node_coverage;

/* Calls fn for each node of the file: of the main graph, of nested graphs, and of functions at each call. Returns what
 * opening a session returns. Nodes that stand behind one that has no types yet are native as far as is known. */
SDX_API sdx_status sdx_model_coverage(const sdx_source *source, const sdx_session_options *options,
                                      void (*fn)(void *user, const sdx_node_coverage *node), void *user,
                                      sdx_error *err);

typedef struct sdx_operator_info {
    const char *domain, *name;
    int since_version;
    const char *signature; /* of the newest version: "T,i64?->T"; "" of a BODY */
    const char *types;     /* of this version: "T: float,double; U: int64"; "" when the signature names them all */
    sdx_runs how;          /* NATIVE; REWRITTEN into others when the model is read; BODY: a function of others */
} sdx_operator_info;

/* Each version of each operator, newest first. */
SDX_API void sdx_each_operator_version(void (*fn)(void *user, const sdx_operator_info *op), void *user);

/* Reads a model, rewrites it at the level, writes it: to one file, or with tensors of 1 KiB and more in a file beside it
 * named external (a plain name; NULL: none). The result is plain ONNX in its newest forms. */
SDX_API sdx_status sdx_model_optimize(const sdx_source *source, const sdx_session_options *options, const char *path,
                                      const char *external, sdx_error *err);
/* ONNX's textual form of a model as it is in the file. */
SDX_API sdx_status sdx_model_print(const sdx_source *source, void (*write)(void *user, const char *text, size_t n),
                                   void *user, sdx_error *err);

typedef struct sdx_system_info {
    size_t struct_size;    /* sizeof(sdx_system_info), set by the caller */
    const char *cpu_level; /* in use */
    char cpu_levels[128];  /* all that this machine has, lowest first, comma-separated */
    int default_threads;
    size_t l1d_bytes, l2_bytes, l3_bytes; /* 0: unknown */
} sdx_system_info;

SDX_API void sdx_system(sdx_system_info *info);

#ifdef __cplusplus
}
#endif

#endif
