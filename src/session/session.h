/* Sessions: a model made ready to run. What both C faces are thin shells over.
 *
 * A session is immutable after creation but for its caches; any number of threads may run it at once. Outputs may
 * outlive it. */
#ifndef SDX_SESSION_SESSION_H
#define SDX_SESSION_SESSION_H

#include "ep/ep.h"
#include "onnx/onnx.h"

typedef struct Session Session;

typedef struct DimOverride {
    const char *name; /* of a symbolic dim */
    int64_t size;
} DimOverride;

typedef struct SessionOptions {
    const Alloc *alloc; /* NULL: default */
    OptLevel level;
    const char *const *disabled; /* rewrites; NULL-terminated or NULL */
    int threads;                 /* 0: default; 1: the caller alone */
    Pool *pool;                  /* NULL: the shared one for `threads` */
    const char *const
        *providers; /* names in order, NULL-terminated; NULL: "cpu". Strict: unknown or failing is an error */
    const EpApi *const *extra; /* further providers (tests); NULL-terminated or NULL */
    const DimOverride *dims;
    int n_dims;
    size_t max_bytes; /* ceiling for runs; 0: none */
    int64_t max_nodes;
    LoadMode load;
    int plan_cache; /* plans kept; 0: 16 */
    const OpDef *const *custom_ops;
    const Kern *kern;     /* NULL: the best of this machine */
    bool keep_subnormals; /* never flush */
    GivenInit *given;     /* for the import, as in ImportOptions */
    int n_given;
} SessionOptions;

void sdx_ses_options_init(SessionOptions *o);

/* Takes the model (sets *model to NULL) whatever happens. */
sdx_status sdx_ses_open(Model **model, const SessionOptions *o, Session **out, Err *err);
void sdx_ses_retain(Session *s);
void sdx_ses_close(Session *s); /* waits for nothing: runs in flight hold a reference */

const Model *sdx_ses_model(const Session *s);
int sdx_ses_n_inputs(const Session *s);
int sdx_ses_n_outputs(const Session *s);
int sdx_ses_n_overridable(const Session *s);
const Value *sdx_ses_input(const Session *s, int i); /* name, type as declared or inferred */
const Value *sdx_ses_output(const Session *s, int i);
const Value *sdx_ses_overridable(const Session *s, int i);

/* A run resolved once: which inputs come, which outputs are wanted. Belongs to the session. */
typedef struct RunSpec RunSpec;
sdx_status sdx_ses_spec(Session *s, const char *const *in_names, int n_in, const char *const *out_names, int n_out,
                        RunSpec **out, Err *err);
void sdx_ses_spec_drop(RunSpec *spec);

typedef struct RunOptions {
    RunLimits limits;
    const RunTrace *trace;
} RunOptions;

/* in: one per spec input; out: one per spec output; see EpIo for bound outputs. All bad inputs are listed in err. */
sdx_status sdx_ses_run(Session *s, const RunSpec *spec, const Datum *const *in, Datum *out, const RunOptions *o,
                       Err *err);
/* By name, without a spec of the caller's: looks names up each time (fast: small tables). */
sdx_status sdx_ses_run_names(Session *s, const char *const *in_names, const Datum *const *in, int n_in,
                             const char *const *out_names, Datum *out, int n_out, const RunOptions *o, Err *err);

/* Gives back everything but weights: frames, cached plans, free buffers. */
void sdx_ses_trim(Session *s);

/* Peak static working memory of a run with these inputs, in bytes. */
sdx_status sdx_ses_plan_nbytes(Session *s, const RunSpec *spec, const Datum *const *in, size_t *nbytes, Err *err);

/* Placement, one line a node: calls fn(user, node, provider name, reason why earlier providers did not take it). */
void sdx_ses_each_node(const Session *s, void (*fn)(void *user, const Node *n, const char *ep, const char *reason),
                       void *user);

#endif
