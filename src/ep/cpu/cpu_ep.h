/* The CPU provider: programs, plans and frames.
 *
 * A Prog is a compiled part or nested graph: its values numbered as slots, its nodes with the slots they read and
 * write. A Plan is a Prog for given input shapes: every node that can be is inferred, evaluated or prepared, and the
 * tensors whose shapes are known lie at fixed offsets of one slab. A Frame is one run's memory: the slab, a Datum per
 * slot and a ready Run per step. Plans are immutable; frames are made on demand and kept in the plan's free list. */
#ifndef SDX_EP_CPU_CPU_EP_H
#define SDX_EP_CPU_CPU_EP_H

#include "ep/ep.h"
#include "ep/plan_cache.h"
#include "ops/infer.h"
#include "ops/run.h"

typedef struct CpuEp {
    EpConfig cfg;
    RunTools tools;
} CpuEp;

typedef struct Prog Prog;

/* A nested graph of a node. */
typedef struct SubProg {
    const Graph *body;
    Prog *prog;
    int *captured; /* for each input of prog after the formal ones: which hidden input of the node it is */
} SubProg;

typedef struct ProgNode {
    const Node *node;
    int *in;  /* slots, -1 for absent; first the node's n_in, then n_hidden values that nested graphs capture */
    int *out; /* slots, -1 for outputs not asked for */
    int n_in, n_hidden, n_out;
    SubProg *subs;
    int n_subs;
} ProgNode;

typedef struct ProgSlot {
    const Value *value;
    bool is_const; /* value->constant is its content, which no run changes */
    int last_use;  /* the last node that reads it; n_nodes for outputs, -1 when nobody reads it */
    int output;    /* the first output it is, or -1 */
} ProgSlot;

struct Prog {
    CpuEp *ep;
    Arena arena;
    bool is_nested;
    ProgSlot *slots; /* the inputs come first */
    int n_slots, cap_slots;
    int n_in, n_formal; /* n_formal of the inputs are the graph's own, the others captured (nested graphs only) */
    int *outputs;       /* slots */
    int n_out;
    ProgNode *nodes;
    int n_nodes;
    bool *by_content; /* n_in: contents that shapes depend on */
    PlanCache plans;  /* of nested graphs; a part's plans are kept by the session */
};

sdx_status sdx_prog_compile(CpuEp *ep, const EpPart *part, Prog **out, Err *err);
void sdx_prog_destroy(Prog *p); /* NULL is allowed */

/* -- plans ---------------------------------------------------------------------------------------------------------- */

typedef enum SlotKind {
    SLOT_NONE,   /* not produced (yet) */
    SLOT_CONST,  /* content known: d.t.data lies in the model or the plan */
    SLOT_STATIC, /* shape known: elements at an offset of a store */
    SLOT_DYNAMIC /* found while running: in the run's heap */
} SlotKind;

typedef struct PlanSlot {
    SlotKind kind;
    Datum d;   /* CONST: the content. STATIC: type and shape */
    int store; /* STATIC */
    size_t offset;
} PlanSlot;

typedef enum StoreKind { STORE_SLAB, STORE_INPUT, STORE_OUTPUT } StoreKind;

/* Memory that slots share: views, in-place results. */
typedef struct Store {
    StoreKind kind;
    int index; /* of the input or output */
    size_t nbytes;
    int first, last; /* nodes between which it is in use */
    size_t offset;   /* in the slab */
} Store;

typedef enum OutKind {
    OUT_STORE,  /* made in its place */
    OUT_COPY,   /* copied from a slot at the end: constants, strings, what aliases another output */
    OUT_INPUT,  /* an input passed through */
    OUT_DYNAMIC /* moved out of a slot */
} OutKind;

typedef struct PlanOut {
    OutKind kind;
    int slot;
    int input; /* OUT_INPUT */
} PlanOut;

typedef struct Step {
    sdx_status (*fn)(Run *r);
    const ProgNode *pn;
    int node; /* index in the program */
    const void *state;
    size_t scratch; /* offset in the slab */
    bool has_scratch;
    int *drops; /* dynamic slots that nobody reads after this step */
    int n_drops;
} Step;

/* A slot whose elements lie in an input or output: told anew each run. */
typedef struct Patch {
    int slot, index;
    size_t offset;
} Patch;

typedef struct Frame Frame;

typedef struct Plan {
    Prog *prog;
    Arena arena;
    PlanSlot *slots;
    Step *steps;
    int n_steps;
    PlanOut *outs;
    Patch *in_patches, *out_patches;
    int n_in_patches, n_out_patches;
    int *dyn_inputs; /* inputs that are no tensors, by number */
    int n_dyn_inputs;
    int *dyn_slots; /* slots to clear at the end of a run */
    int n_dyn_slots;
    size_t slab_nbytes;
    size_t n_ptrs; /* in and out pointers of all steps */
    Lock lock;
    Frame *frames;
} Plan;

sdx_status sdx_cpu_plan(Prog *prog, const Datum *const *in, Plan **out, Err *err);
void sdx_cpu_plan_drop(void *plan);
void sdx_cpu_plan_trim(Plan *p); /* drops its free frames */

/* Assigns slab offsets so that stores in use at the same time do not overlap; the slab's size to *nbytes. */
sdx_status sdx_place(Store *stores, int n, Arena *tmp, size_t *nbytes, Err *err);

/* -- running -------------------------------------------------------------------------------------------------------- */

struct Frame {
    Plan *plan;
    Frame *next;
    RunEnv env;
    RunRoot own_root; /* used when this is a run's outermost frame */
    Arena work;       /* states of steps that are prepared while running; over the run's heap */
    const Step *at;   /* the step in progress */
    const RunTrace *trace;
    Datum *slots;
    Datum *outs; /* results, before the caller gets them */
    Run *runs;   /* one per step */
    char *slab;
    Err err;
};

sdx_status sdx_cpu_run(void *plan, const EpIo *io, Err *err);
void sdx_frame_destroy(Frame *f);
/* The step function of nodes that could not be planned. */
sdx_status sdx_step_dynamic(Run *r);

#endif
