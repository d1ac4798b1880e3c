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
    ORT_EP_FAIL
} OrtErrorCode;

typedef struct OrtStatus {
    OrtErrorCode code;
    char text[]; /* NUL-terminated */
} OrtStatus;

typedef struct OrtEnv {
    int refs;    /* atomic: one process-wide environment, counted */
    int threads; /* of sessions that share them; 0: default */
} OrtEnv;

typedef struct OrtMemoryInfo {
    int type, id, mem_type;
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

typedef struct OrtSessionOptions {
    Arena arena; /* holds every text below */
    OptLevel level;
    int threads;
    bool shares_threads; /* the environment's number counts */
    const char *optimized_path, *profile_prefix;
    DimOverride *dims;
    int n_dims, cap_dims;
    OrtConfig *config;
    int n_config, cap_config;
} OrtSessionOptions;

typedef struct OrtTensorTypeAndShapeInfo {
    DType dtype;
    int rank;
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

typedef struct OrtSession {
    Session *ses;
    OrtProfile *profile; /* NULL: not profiling */
    bool profile_ended;  /* written by the caller's wish; else at release */
} OrtSession;

typedef struct OrtValue {
    Datum d;
} OrtValue;

typedef struct OrtRunOptions {
    Arena arena;
    int cancel; /* atomic */
    int verbosity, severity;
    const char *tag;
    OrtConfig *config;
    int n_config, cap_config;
} OrtRunOptions;

typedef struct OrtModelMetadata OrtModelMetadata;
typedef struct OrtIoBinding OrtIoBinding;
typedef struct OrtArenaCfg OrtArenaCfg;
typedef struct OrtThreadingOptions OrtThreadingOptions;

/* A status with a formatted text; falls back to a static one when memory is short. */
OrtStatus *sdx_ort_fail(OrtErrorCode code, const char *fmt, ...) SDX_PRINTF(2, 3);
/* The status for a library error; NULL for SDX_OK. */
OrtStatus *sdx_ort_status(sdx_status st, const Err *err);
OrtStatus *sdx_ort_no_memory(void);
OrtStatus *sdx_ort_null(const char *what); /* "... is NULL" */
char *sdx_ort_strdup(OrtAllocator *a, const char *s);
/* A copy of a text as callers get them. */
OrtStatus *sdx_ort_give_text(OrtAllocator *a, const char *text, char **out);
/* A new value that shares d's content; a borrowed tensor stays borrowed. */
OrtStatus *sdx_ort_value_alias(const Datum *d, OrtValue **out);
/* Keeps key and value in the arena; what ONNX Runtime refuses is refused. */
OrtStatus *sdx_ort_config_add(Arena *a, OrtConfig **v, int *n, int *cap, const char *key, const char *value);
const char *sdx_ort_config_get(const OrtConfig *v, int n, const char *key); /* the last; NULL: none */
int sdx_ort_shared_threads(void);                                           /* the environment's; 0: default */

/* Profiling: nodes of runs, collected until the end, then written in the trace-event format. */
OrtProfile *sdx_ort_profile_create(const char *prefix);
const RunTrace *sdx_ort_profile_trace(OrtProfile *p);
void sdx_ort_profile_run(OrtProfile *p, int64_t start_ns, int64_t end_ns); /* one whole run */
/* Writes the file and returns its name (valid until destroyed); NULL when it cannot be written. */
const char *sdx_ort_profile_write(OrtProfile *p);
void sdx_ort_profile_destroy(OrtProfile *p);

#endif
