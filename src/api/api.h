/* The public structs, for this folder only. */
#ifndef SDX_API_API_H
#define SDX_API_API_H

#include "session/session.h"

#include "sardonyx/sardonyx.h"

_Static_assert(sizeof(sdx_error) == sizeof(Err) && offsetof(sdx_error, text) == offsetof(Err, text),
               "the public error record is the internal one");
_Static_assert((int)SDX_FLOAT6E3M2 == (int)DT_FLOAT6E3M2 && (int)SDX_SPARSE_TENSOR == (int)DATUM_SPARSE,
               "public and internal codes agree");

struct sdx_value {
    int refs; /* atomic */
    const Alloc *alloc;
    Datum d;
};

struct sdx_type {
    Type type;
    const SymTab *syms;
    const char *text;
    const sdx_type *of;
};

/* A named input or output with its public type. */
typedef struct Port {
    const char *name;
    sdx_type *type;
} Port;

struct sdx_session {
    int refs; /* atomic */
    Session *ses;
    Arena arena; /* types, texts, model facts */
    Buf *bytes;  /* the model's own copy, when asked for */
    Port *inputs, *outputs, *overridable;
    size_t n_inputs, n_outputs, n_overridable;
    MetaProp *info;
    size_t n_info;
    Pool *pool;      /* the host's, wrapped */
    Alloc allocator; /* the host's */
};

static inline Err *api_err(sdx_error *err) { return (Err *)err; }

/* A value over d, which it takes. NULL: out of memory, d untouched. */
sdx_value *sdx_api_value(const Alloc *a, const Datum *d);

/* Public types for an internal one; NULL: out of memory. */
sdx_type *sdx_api_type(Arena *a, const SymTab *syms, const Type *t);

/* Turns public options into internal ones; arrays live in a. Host pool and allocator are kept in s. */
sdx_status sdx_api_options(sdx_session *s, const sdx_session_options *o, SessionOptions *out, Err *err);
/* Reads the model behind a public source. options (for the files in memory; NULL: none) and survey may be NULL. */
sdx_status sdx_api_import(const Alloc *a, const sdx_source *source, const sdx_session_options *options,
                          const SessionOptions *o, const ImportSurvey *survey, Buf **kept, Model **out, Err *err);

sdx_status sdx_api_run_options(const sdx_run_options *o, RunOptions *out, RunTrace *trace, Err *err);

/* Runs with datums taken from values, and turns results into values; fresh values come into NULL entries of outputs. */
sdx_status sdx_api_run(sdx_session *s, const RunSpec *spec, const char *const *in_names, const sdx_value *const *inputs,
                       size_t n_in, const char *const *out_names, sdx_value **outputs, size_t n_out,
                       const sdx_run_options *options, Err *err);

#endif
