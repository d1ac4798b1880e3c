/* A provider sees four things: the graph, of which it claims nodes; a part, which it compiles; input shapes, for which
 * it plans; and data, on which it runs. This one walks its part's nodes and keeps every value in a block of its own. */
#include "tests/toy_ep/toy.h"

#include <string.h>

int toy_runs;

typedef struct Toy {
    const Alloc *alloc;
} Toy;

/* A compiled part is the part itself; its arrays live as long as the session. */
typedef struct ToyProg {
    const Toy *toy;
    EpPart part;
} ToyProg;

/* All values of a part have one shape, because Add takes equal ones. */
typedef struct ToyPlan {
    const ToyProg *prog;
    Tensor like;
    int64_t count;
} ToyPlan;

static sdx_status toy_open(const EpConfig *cfg, void **ep, Err *err)
{
    Toy *t = sdx_alloc(cfg->alloc, sizeof *t);
    TRY_MEM(t, err);
    *t = (Toy){ cfg->alloc };
    *ep = t;
    return SDX_OK;
}

static void toy_close(void *ep) { sdx_free(((Toy *)ep)->alloc, ep); }

static bool same_shape(const Value *a, const Value *b)
{
    if (a->type.kind != TYPE_TENSOR || a->type.shape.rank == SDX_RANK_UNKNOWN) return false;
    if (a->type.shape.rank != b->type.shape.rank) return false;
    for (int i = 0; i < a->type.shape.rank; i++)
        if (a->type.shape.dims[i] != b->type.shape.dims[i]) return false; /* equal handles: equal sizes */
    return true;
}

static const char *why_not(const Node *n)
{
    if (strcmp(n->op_type, "Add") != 0 && strcmp(n->op_type, "Relu") != 0) return "only Add and Relu";
    for (int i = 0; i < n->n_in; i++) {
        if (n->in[i]->type.elem != DT_FLOAT) return "only float";
        if (sdx_value_is_const(n->in[i])) return "no constants";
        if (!same_shape(n->in[i], n->out[0])) return "no broadcasting";
    }
    return NULL;
}

static sdx_status toy_claim(void *ep, const Graph *g, Claims *c, Err *err)
{
    for (const Node *n = g->first; n; n = n->next) {
        c->reason[n->id] = why_not(n);
        c->taken[n->id] = !c->reason[n->id];
    }
    return SDX_OK;
}

static sdx_status toy_compile(void *ep, const EpPart *part, void **prog, Err *err)
{
    const Toy *t = ep;
    ToyProg *p = sdx_alloc(t->alloc, sizeof *p);
    TRY_MEM(p, err);
    *p = (ToyProg){ t, *part };
    *prog = p;
    return SDX_OK;
}

static void toy_drop(void *prog) { sdx_free(((ToyProg *)prog)->toy->alloc, prog); }

static sdx_status toy_plan(void *prog, const Datum *const *in, void **plan, size_t *slab_nbytes, Err *err)
{
    const ToyProg *p = prog;
    ToyPlan *pl = sdx_alloc(p->toy->alloc, sizeof *pl);
    TRY_MEM(pl, err);
    *pl = (ToyPlan){ .prog = p, .like = in[0]->t, .count = sdx_tensor_count(&in[0]->t) };
    *slab_nbytes = (size_t)p->part.n_nodes * (size_t)pl->count * sizeof(float);
    *plan = pl;
    return SDX_OK;
}

static void toy_drop_plan(void *plan) { sdx_free(((ToyPlan *)plan)->prog->toy->alloc, plan); }

/* Where a value lies in this run: an input's data, or the block of the node that makes it. */
static const float *find(const ToyPlan *pl, const EpIo *io, float *slab, const Value *v)
{
    const EpPart *part = &pl->prog->part;
    for (int i = 0; i < part->n_inputs; i++)
        if (part->inputs[i] == v) return io->in[i]->t.data;
    for (int i = 0; i < part->n_nodes; i++)
        if (part->nodes[i] == v->producer) return slab + (size_t)i * (size_t)pl->count;
    return NULL;
}

static sdx_status give(const ToyPlan *pl, Datum *out, const float *y, Err *err)
{
    Tensor t = pl->like;
    t.data = (void *)y;
    if (out->kind != DATUM_TENSOR || !out->t.data) return sdx_datum_copy(out, &t, pl->prog->toy->alloc, err);
    if (out->t.dtype != DT_FLOAT || !sdx_dims_equal(out->t.dims, out->t.rank, t.dims, t.rank))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "the bound buffer does not fit");
    memcpy(out->t.data, y, (size_t)pl->count * sizeof *y);
    return SDX_OK;
}

static sdx_status toy_run(void *plan, const EpIo *io, Err *err)
{
    const ToyPlan *pl = plan;
    const EpPart *part = &pl->prog->part;
    const Alloc *a = pl->prog->toy->alloc;
    float *slab = sdx_alloc(a, (size_t)part->n_nodes * (size_t)pl->count * sizeof *slab);
    TRY_MEM(slab, err);
    __atomic_add_fetch(&toy_runs, 1, __ATOMIC_RELAXED);
    for (int i = 0; i < part->n_nodes; i++) {
        const Node *n = part->nodes[i];
        const float *x = find(pl, io, slab, n->in[0]), *w = n->n_in > 1 ? find(pl, io, slab, n->in[1]) : NULL;
        float *y = slab + (size_t)i * (size_t)pl->count;
        for (int64_t k = 0; k < pl->count; k++) y[k] = w ? x[k] + w[k] : x[k] > 0 ? x[k] : 0;
    }
    sdx_status st = SDX_OK;
    for (int o = 0; o < part->n_outputs && st == SDX_OK; o++)
        st = give(pl, &io->out[o], find(pl, io, slab, part->outputs[o]), err);
    sdx_free(a, slab);
    return st;
}

const EpApi toy_ep = {
    .name = "toy",
    .open = toy_open,
    .close = toy_close,
    .claim = toy_claim,
    .compile = toy_compile,
    .drop = toy_drop,
    .plan = toy_plan,
    .drop_plan = toy_drop_plan,
    .run = toy_run,
};
