/* ONNX Runtime's C ABI over src/session: the structs behind its opaque types, and what the files here share.
 *
 * Facts about the ABI (order, codes, who may pass NULL) are public; the entries of ort_api.def that are ORT_HAVE are
 * implemented in this folder, the others answer NOT_IMPLEMENTED with their name. */
#ifndef SDX_ORT_ORT_H
#define SDX_ORT_ORT_H

#include "session/session.h"

#define ORT_API_VERSION 31
#define ORT_VERSION_TEXT "1.31.1" /* clients compare the second part with the API version they ask for */

typedef enum OrtErrorCode {
    ORT_OK,
    ORT_FAIL,
    ORT_INVALID_ARGUMENT,
    ORT_NO_SUCHFILE,
    ORT_NO_MODEL,
    ORT_ENGINE_ERROR,
    ORT_RUNTIME_EXCEPTION,
    ORT_INVALID_PROTOBUF,
    ORT_MODEL_LOADED,
    ORT_NOT_IMPLEMENTED,
    ORT_INVALID_GRAPH,
    ORT_EP_FAIL,
    ORT_MODEL_LOAD_CANCELED
} OrtErrorCode;

typedef struct OrtStatus {
    OrtErrorCode code;
    char text[]; /* NUL-terminated */
} OrtStatus;

/* A caller's log: fn(user, severity, category, log id, place in the code, text). */
typedef void (*OrtLogFn)(void *user, int severity, const char *category, const char *id, const char *place,
                         const char *text);

/* Where messages go: to fn, or without one to stderr. Ours are few, and none is above INFO; the others come from custom
 * operators. */
typedef struct OrtLogger {
    OrtLogFn fn;
    void *user;
    int severity; /* the lowest that is passed on: 0 verbose .. 4 fatal */
    char id[64];
} OrtLogger;

/* A caller's way to start threads. */
typedef const void *(*OrtCreateThreadFn)(void *options, void (*main)(void *arg), void *arg);
typedef void (*OrtJoinThreadFn)(const void *thread);
typedef struct OrtThreadFns {
    OrtCreateThreadFn create;
    OrtJoinThreadFn join;
    void *options;
} OrtThreadFns;

typedef struct OrtKeyValuePairs OrtKeyValuePairs;

typedef struct OrtEnv {
    int refs;    /* atomic: one process-wide environment, counted */
    int threads; /* of sessions that share them; 0: default */
    bool flushes_subnormals, shares_threads;
    OrtLogger log;
    Pool *pool; /* of the caller's threads; NULL: none */
} OrtEnv;

typedef struct OrtMemoryInfo {
    int type, id, mem_type;
    int device_type, device_mem; /* 0 CPU, 1 GPU, 2 FPGA, 3 NPU; 0 default, 5 host-accessible */
    uint32_t vendor_id;
    char name[64];
} OrtMemoryInfo;

extern OrtMemoryInfo sdx_ort_cpu_info; /* of every value of ours */

/* Layout of the ABI; version says how far a caller's own may be read. */
typedef struct OrtAllocator {
    uint32_t version;
    void *(*Alloc)(struct OrtAllocator *self, size_t nbytes);
    void (*Free)(struct OrtAllocator *self, void *p);
    const OrtMemoryInfo *(*Info)(const struct OrtAllocator *self);
    void *(*Reserve)(struct OrtAllocator *self, size_t nbytes);
    OrtStatus *(*GetStats)(const struct OrtAllocator *self, void **out);
    void *(*AllocOnStream)(struct OrtAllocator *self, size_t nbytes, void *stream);
    OrtStatus *(*Shrink)(struct OrtAllocator *self);
} OrtAllocator;

typedef struct OrtConfig {
    const char *key, *value;
} OrtConfig;

/* The caller's content for an initializer. Its memory stays the caller's: it must outlive the sessions. */
typedef struct OrtInit {
    const char *name;
    Datum d;
    bool is_external; /* stands for one whose elements are in another file */
} OrtInit;

/* Bytes that stand for a file of external data. */
typedef struct OrtFile {
    const char *name;
    const void *data;
    size_t nbytes;
} OrtFile;

typedef struct OrtCustomOpDomain OrtCustomOpDomain;

typedef struct OrtSessionOptions {
    Arena arena; /* holds every text below */
    OptLevel level;
    int threads;
    bool shares_threads; /* the environment's number counts */
    bool is_deterministic, has_no_mem_pattern;
    OrtThreadFns threads_by; /* create NULL: the library */
    int execution_mode;
    int cancels_load; /* atomic */
    const char *optimized_path, *profile_prefix;
    DimOverride *dims;
    int n_dims, cap_dims;
    OrtConfig *config;
    int n_config, cap_config;
    OrtInit *inits;
    int n_inits, cap_inits;
    OrtFile *files;
    int n_files, cap_files;
    const OrtCustomOpDomain **domains;
    int n_domains, cap_domains;
    OrtLogger log; /* severity -1: the environment's; fn NULL: the environment's */
} OrtSessionOptions;

typedef struct OrtTensorTypeAndShapeInfo {
    DType dtype;
    int rank;
    bool has_no_shape;                 /* the rank is not known; then 0 */
    int64_t dims[SDX_MAX_RANK];        /* -1: symbolic */
    const char *symbols[SDX_MAX_RANK]; /* point into `names` */
    char *names;
} OrtTensorTypeAndShapeInfo;

/* The ABI's map, sequence and optional infos are this one under other names. */
typedef struct OrtTypeInfo {
    int refs; /* atomic */
    TypeKind kind;
    OrtTensorTypeAndShapeInfo tensor; /* MAP: dtype is the key's */
    struct OrtTypeInfo *of;           /* SEQUENCE, OPTIONAL: content; MAP: value. NULL: unknown */
} OrtTypeInfo;

typedef struct OrtProfile OrtProfile;
typedef struct CustomOps CustomOps; /* custom_op.h */
typedef struct OrtEdit OrtEdit;     /* model_editor.h */
typedef struct OrtAsync OrtAsync;

typedef struct OrtSession {
    Session *ses;
    bool records_placement;
    struct OrtEpAssignedSubgraph *placement; /* made when asked for */
    bool takes_scalars;                      /* an input of the model is one */
    CustomOps *custom;                       /* belongs to the model; NULL: none */
    OrtEdit *edit;                           /* model_editor.h; NULL: the session is final */
    OrtAsync *async;                         /* atomic; made by the first asynchronous run */
    OrtLogger log;
    OrtProfile *profile; /* NULL: not profiling */
    bool profile_ended;  /* written by the caller's wish; else at release */
} OrtSession;

/* What a sparse value has beside values and indices. */
typedef struct OrtSparseForm {
    int format;  /* 0 not told yet, 1 COO, 2 CSR, 4 blocks */
    Datum outer; /* CSR: where rows begin; the indices of the datum are the inner ones then */
} OrtSparseForm;

typedef struct OrtValue {
    Datum d;
    OrtSparseForm *form; /* of sparse values that callers make; NULL: COO */
} OrtValue;

typedef struct OrtLoraAdapter OrtLoraAdapter;
typedef void (*OrtAsyncFn)(void *user, OrtValue **out, size_t n_out, OrtStatus *st);

typedef struct OrtRunOptions {
    Arena arena;
    int cancel; /* atomic */
    int verbosity, severity;
    const OrtLoraAdapter **adapters;
    int n_adapters, cap_adapters;
    const char *tag, *profile_prefix; /* of runs with these options; NULL: the session's */
    OrtConfig *config;
    int n_config, cap_config;
} OrtRunOptions;

typedef struct OrtArenaCfg {
    size_t max_mem;
} OrtArenaCfg;

typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtPrepackedWeightsContainer OrtPrepackedWeightsContainer;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtThreadingOptions {
    int threads;
    bool flushes_subnormals;
    OrtThreadFns by;
    char *affinity; /* NULL: none */
} OrtThreadingOptions;
typedef struct OrtEnvCreationOptions OrtEnvCreationOptions;
typedef struct OrtThreadPoolCallbacksConfig OrtThreadPoolCallbacksConfig;
typedef struct OrtEpAssignedSubgraph OrtEpAssignedSubgraph;
typedef struct OrtEpAssignedNode OrtEpAssignedNode;
typedef struct OrtExternalInitializerInfo OrtExternalInitializerInfo;
typedef struct OrtHardwareDevice OrtHardwareDevice;
typedef struct OrtEpDevice OrtEpDevice;
typedef struct OrtDeviceEpIncompatibilityDetails OrtDeviceEpIncompatibilityDetails;

#define ORT_CPU_PROVIDER "CPUExecutionProvider"

/* Element types: the ABI's numbers and ours agree below 24. DT_NONE and 0 for what the other side has not. */
DType sdx_ort_dtype(int code);
int sdx_ort_dtype_code(DType d);

/* A status with a formatted text; falls back to a static one when memory is short. */
OrtStatus *sdx_ort_fail(OrtErrorCode code, const char *fmt, ...) SDX_PRINTF(2, 3);
/* The status for a library error; NULL for SDX_OK. */
OrtStatus *sdx_ort_status(sdx_status st, const Err *err);
/* The code of a client's kernel on its way through the engine: sdx_ort_status gives it back as it was. */
sdx_status sdx_ort_foreign(OrtErrorCode code);
OrtStatus *sdx_ort_no_memory(void);
OrtStatus *sdx_ort_null(const char *what); /* "... is NULL" */
char *sdx_ort_strdup(OrtAllocator *a, const char *s);
/* A copy of a text as callers get them. */
OrtStatus *sdx_ort_give_text(OrtAllocator *a, const char *text, char **out);
/* A value over d, which it takes when it succeeds. */
OrtStatus *sdx_ort_value_new(const Datum *d, OrtValue **out);
void sdx_ort_form_free(OrtSparseForm *f); /* NULL is allowed */
/* A new value that shares d's content; a borrowed tensor stays borrowed. */
OrtStatus *sdx_ort_value_alias(const Datum *d, OrtValue **out);
OrtStatus *sdx_ort_type_info(const SymTab *syms, const Type *t, OrtTypeInfo **out);
/* A tensor with memory of the allocator, and t's elements in it. */
OrtStatus *sdx_ort_value_copy(const Tensor *t, OrtAllocator *a, OrtValue **out);
/* Fills out, whose names the caller frees. syms may be NULL. */
OrtStatus *sdx_ort_shape_info(const SymTab *syms, const Type *t, OrtTensorTypeAndShapeInfo *out);
OrtStatus *sdx_ort_shape_of(const Tensor *t, OrtTensorTypeAndShapeInfo **out);
const void *sdx_ort_api(void); /* the function table */
const void *sdx_ort_api_base(void);
/* Keeps key and value in the arena; what ONNX Runtime refuses is refused. */
OrtStatus *sdx_ort_config_add(Arena *a, OrtConfig **v, int *n, int *cap, const char *key, const char *value);
/* An entry that stands for an option: sets it and says so. */
OrtStatus *sdx_ort_key_apply(OrtSessionOptions *o, const char *key, const char *value, bool *taken);
const char *sdx_ort_config_get(const OrtConfig *v, int n, const char *key); /* the last; NULL: none */
int sdx_ort_shared_threads(void);                                           /* the environment's; 0: default */
bool sdx_ort_shares_threads(void); /* the environment was made with threads for sessions to share */
Pool *sdx_ort_shared_pool(void);   /* of the environment's own threads; NULL: it has none */
/* A pool of threads that the caller starts, or that stay on the processors which an affinity string (may be NULL) gives
 * each; *out NULL when neither is asked for. */
OrtStatus *sdx_ort_thread_pool(const OrtThreadFns *by, const char *affinity, int threads, Pool **out);
OrtStatus *sdx_ort_affinity_pool(const char *text, int threads, Pool **out);
bool sdx_ort_flushes_subnormals(void); /* the environment's sessions do */

/* -- logs ---------------------------------------------------------------------------------------------------------- */

const OrtLogger *sdx_ort_env_log(void);
void sdx_ort_log_init(OrtLogger *l, OrtLogFn fn, void *user, int severity, const char *id);
/* What a session with these options logs to. */
void sdx_ort_log_session(OrtLogger *l, const OrtSessionOptions *o);
void sdx_ort_log(const OrtLogger *l, int severity, const char *fmt, ...) SDX_PRINTF(3, 4);
void sdx_ort_log_text(const OrtLogger *l, int severity, const char *place, const char *text);

bool sdx_ort_is_host_memory(const OrtMemoryInfo *info);
const Alloc *sdx_ort_env_allocator(void); /* the caller's that is registered; NULL: none */
void sdx_ort_forget_allocators(void);
/* Keeps a provider's options as session entries "ep.<provider>.<key>". */
OrtStatus *sdx_ort_provider_options(OrtSessionOptions *o, const char *provider, const char *const *keys,
                                    const char *const *values, size_t n);
/* Where a model comes from, and with what it is opened. */
typedef struct OrtOrigin {
    const char *path; /* NULL: data */
    const void *data;
    size_t nbytes;
    const char *beside;         /* data: a path whose folder has the external files; may be NULL */
    const OrtSessionOptions *o; /* may be NULL */
    const OrtInit *more;        /* initializers beside those of o */
    int n_more;
} OrtOrigin;
OrtStatus *sdx_ort_open(const OrtOrigin *from, OrtSession **out);
/* Writes the model as rewrites of the level leave it: to path, or without one to *bytes. */
OrtStatus *sdx_ort_rewrite(const OrtOrigin *from, OptLevel level, const char *path, const ExportOptions *eo,
                           Buf **bytes);
/* What options hold, once more. */
OrtStatus *sdx_ort_init_add(OrtSessionOptions *o, const OrtInit *init);
OrtStatus *sdx_ort_file_add(OrtSessionOptions *o, const OrtFile *file);
OrtStatus *sdx_ort_domain_add(OrtSessionOptions *o, const OrtCustomOpDomain *domain);
void sdx_ort_edit_free(OrtEdit *e); /* NULL is allowed */
/* Tensors of the adapters that o names: how many, and each. */
size_t sdx_ort_lora_count(const OrtRunOptions *o);
void sdx_ort_lora_fill(const OrtRunOptions *o, const char **names, const OrtValue **values);
/* Waits for what RunAsync started; callbacks have returned. */
void sdx_ort_async_finish(OrtSession *s);
/* Adds a pair or replaces its value. false: out of memory. */
bool sdx_ort_kvps_add(OrtKeyValuePairs *kv, const char *key, const char *value);
OrtKeyValuePairs *sdx_ort_kvps_new(void);

/* Profiling: nodes of runs, collected until the end, then written in the trace-event format. */
OrtProfile *sdx_ort_profile_create(const char *prefix);
const RunTrace *sdx_ort_profile_trace(OrtProfile *p);
/* Something of the session's: "model_run", "session_initialization". */
void sdx_ort_profile_event(OrtProfile *p, const char *name, int64_t start_ns, int64_t end_ns);
/* Writes the file and returns its name (valid until destroyed); NULL when it cannot be written. */
const char *sdx_ort_profile_write(OrtProfile *p);
uint64_t sdx_ort_profile_start(const OrtProfile *p); /* CLOCK_MONOTONIC, ns */
void sdx_ort_profile_destroy(OrtProfile *p);

#endif
