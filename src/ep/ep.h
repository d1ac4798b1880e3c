/* Execution providers: claim, compile, plan, run. Internal; outsiders write against ONNX Runtime's plugin ABI.
 *
 * session/ partitions the graph by claims into parts; each part is compiled by its provider, planned per input shapes,
 * and run. The CPU provider goes through this door too. */
#ifndef SDX_EP_EP_H
#define SDX_EP_EP_H

#include "base/recycle.h"
#include "opt/opt.h"

typedef struct EpApi EpApi;

typedef struct EpConfig {
    const Alloc *alloc;
    Recycler *results; /* for large results; NULL: alloc */
    const Kern *kern;
    OptOptions opt;
    Pool *pool;
    PackCache *packs;
    bool flush_subnormals;      /* multiply-accumulate kernels flush */
    bool may_round;             /* kernels may round differently from the definition */
    const char *const *options; /* key, value, key, value, NULL; may be NULL */
} EpConfig;

/* A set of nodes that run as one: a contiguous stretch of the graph's order. */
typedef struct EpPart {
    Graph *graph;
    Node **nodes;
    int n_nodes;
    Value **inputs; /* values from outside the part, constants excluded; captured ones included */
    int n_inputs;
    Value **outputs; /* values of the part that are read outside it or are graph outputs */
    int n_outputs;
} EpPart;

/* Why a node is not taken: for the placement report. */
typedef struct Claims {
    bool *taken;         /* by node id, within this provider */
    const char **reason; /* by node id: why not (arena memory or literals); may stay NULL */
    int n;               /* size of both */
    Arena *arena;        /* for reasons */
} Claims;

/* Run options as the engine sees them. All optional. */
typedef struct RunLimits {
    const int *cancel;   /* atomic; non-zero: cancel */
    int64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none */
    size_t max_bytes;    /* ceiling of slab + heap; 0: none */
    int64_t max_trips;   /* of loops in all; 0: none */
} RunLimits;

/* Per-node timing of one run, when wanted. */
typedef struct RunTrace {
    void (*node)(void *user, const Node *n, int64_t start_ns, int64_t end_ns, const Datum *const *in, int n_in,
                 Datum *const *out, int n_out);
    void *user;
} RunTrace;

typedef struct EpIo {
    const Datum *const *in;  /* part->n_inputs, all present (DATUM_NONE for empty optionals) */
    Datum *out;              /* part->n_outputs. A tensor with data on entry is bound: the result goes there when its
                                shape and type fit (else INVALID_ARGUMENT). Others come back owned */
    const RunLimits *limits; /* may be NULL */
    const RunTrace *trace;   /* may be NULL */
} EpIo;

struct EpApi {
    const char *name;
    sdx_status (*open)(const EpConfig *cfg, void **ep, Err *err);
    void (*close)(void *ep);
    sdx_status (*claim)(void *ep, const Graph *g, Claims *c, Err *err);
    /* The provider's own rewrites on its claimed nodes (node->ep == index), before partitioning is final. May be NULL. */
    sdx_status (*rewrite)(void *ep, Model *m, int index, Err *err);
    /* Those rewrites, so that each can be listed and switched off by name. May be NULL. */
    const Pass *(*rewrites)(int *n);
    sdx_status (*compile)(void *ep, const EpPart *part, void **prog, Err *err);
    void (*drop)(void *prog);
    /* Immutable plan for these inputs (shapes; contents where shape-determining). */
    sdx_status (*plan)(void *prog, const Datum *const *in, void **plan, size_t *slab_nbytes, Err *err);
    void (*drop_plan)(void *plan);
    /* Concurrent. Takes a frame from the plan's free list or makes one. */
    sdx_status (*run)(void *plan, const EpIo *io, Err *err);
    /* Releases what can be made again (frames, packed copies not in use). May be NULL. */
    void (*trim)(void *prog);
};

/* providers.def lists those built in; the CPU is last and takes what is left. */
const EpApi *const *sdx_ep_list(int *n);
const EpApi *sdx_ep_find(const char *name);

#endif
