/* What an executor supplies to the nodes that it runs. Operators see these only through the sdx_run_ functions. */
#ifndef SDX_OPS_RUN_H
#define SDX_OPS_RUN_H

#include "base/heap.h"
#include "ops/ops.h"

/* State of one run, shared by the nested graphs that it enters. */
typedef struct RunRoot {
    Heap *heap;            /* results made while running; counts against the ceiling */
    Arena strings;         /* sdx_run_heap: over heap, until the end of the run */
    uint32_t strings_busy; /* atomic: a spin lock, as string kernels may run on several threads */
    const int *cancel;     /* atomic; NULL: cannot be cancelled */
    int64_t deadline_ns;   /* CLOCK_MONOTONIC; 0: none */
    int64_t trips_left;    /* of loops in all; INT64_MAX: no limit */
    int64_t max_trips;     /* what trips_left began with, for the message */
    int depth;             /* of nested graphs, now */
} RunRoot;

struct RunEnv {
    RunRoot *root;
    /* sdx_run_graph. NULL: nested graphs cannot run here. */
    sdx_status (*graph)(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out);
    void *frame; /* the executor's */
};

/* What nodes are prepared with. */
typedef struct RunTools {
    const Kern *kern;
    Pool *pool;
    PackCache *packs; /* NULL: packed copies go to the plan's arena */
    bool flush_subnormals, may_round;
} RunTools;

/* What Run.scratch points to for a node that asked for none: nothing is read or written there. */
extern char sdx_no_scratch[];

/* Prepares n in `arena` and runs it at once, scratch included. out as in Run: tensors with data where the shape is
 * known, DATUM_NONE for those that the node makes. */
sdx_status sdx_run_once(RunEnv *env, const RunTools *tools, const Node *n, const Datum *const *in, int n_in,
                        const bool *in_const, Datum *const *out, int n_out, Arena *arena, Err *err);

/* CANCELLED or LIMIT_TIME, for executors between nodes. */
sdx_status sdx_root_poll(const RunRoot *root, Err *err);
/* OUT_OF_MEMORY or LIMIT_BYTES: why an allocation from the run's heap failed. */
sdx_status sdx_root_no_memory(const RunRoot *root, Err *err);

#endif
