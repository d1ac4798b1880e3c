/* Planning: a program and its input shapes become steps over a slab.
 *
 * Nodes are taken in order. One whose outputs are known before any run (shape arithmetic, small constants) is evaluated
 * and vanishes; one that only shows bytes of its input becomes a view; one whose input shapes are known is prepared; the
 * rest is inferred and prepared while running. */
#include <string.h>

#include "base/size.h"
#include "ep/cpu/cpu_ep.h"
#include "ops/eval.h"

/* Results that are kept in the plan instead of being made by each run. */
#define EVAL_MAX_NBYTES ((size_t)64 << 10)

typedef struct Planner {
    Prog *prog;
    Plan *plan;
    Arena tmp;
    DimVec *known; /* by slot: contents known in part */
    Store *stores;
    int n_stores, cap_stores;
    bool types_only; /* nothing will run: the types of the outputs are all that is wanted */
    int depth;       /* of nested graphs, counted from the program that is planned */
    Err *err;
} Planner;

static const ProgSlot *prog_slot(const Planner *pl, int s) { return &pl->prog->slots[s]; }
static PlanSlot *plan_slot(const Planner *pl, int s) { return &pl->plan->slots[s]; }

static sdx_status slot_nbytes(Planner *pl, const Tensor *t, size_t *nbytes)
{
    if (sdx_tensor_nbytes(t, nbytes)) return SDX_OK;
    char text[256];
    return sdx_fail(pl->err, SDX_LIMIT_BYTES, "a tensor of shape %s is too large",
                    sdx_dims_text(text, sizeof text, t->dims, t->rank));
}

/* -- stores --------------------------------------------------------------------------------------------------------- */

static sdx_status store_add(Planner *pl, Store s, int *index)
{
    TRY_MEM(sdx_arena_grow(&pl->tmp, pl->stores, pl->n_stores, pl->cap_stores), pl->err);
    *index = pl->n_stores;
    pl->stores[pl->n_stores++] = s;
    return SDX_OK;
}

/* Slot s lies at `offset` of a store from now on, and keeps it in use. A store that a graph output fills becomes that
 * output's memory. Strings stay ours: their bytes have to be copied for the caller. */
static void store_join(Planner *pl, int s, int store, size_t offset, size_t nbytes)
{
    PlanSlot *slot = plan_slot(pl, s);
    Store *st = &pl->stores[store];
    slot->kind = SLOT_STATIC;
    slot->store = store;
    slot->offset = offset;
    if (prog_slot(pl, s)->last_use > st->last) st->last = prog_slot(pl, s)->last_use;
    int o = prog_slot(pl, s)->output;
    if (o >= 0 && st->kind == STORE_SLAB && offset == 0 && st->nbytes == nbytes && slot->d.t.dtype != DT_STRING) {
        st->kind = STORE_OUTPUT;
        st->index = o;
    }
}

static sdx_status store_new(Planner *pl, int s, int node)
{
    size_t nbytes;
    int store;
    TRY(slot_nbytes(pl, &plan_slot(pl, s)->d.t, &nbytes));
    TRY(store_add(pl, (Store){ .nbytes = nbytes, .first = node, .last = node }, &store));
    store_join(pl, s, store, 0, nbytes);
    return SDX_OK;
}

/* -- what inference sees -------------------------------------------------------------------------------------------- */

typedef struct NodeHost {
    InferHost base;
    Planner *pl;
    const ProgNode *pn;
} NodeHost;

static const Tensor *host_tensor(const InferHost *h, const Infer *c, int i)
{
    const NodeHost *host = (const NodeHost *)h;
    int s = host->pn->in[i];
    if (s < 0) return NULL;
    const PlanSlot *slot = plan_slot(host->pl, s);
    return slot->kind == SLOT_CONST ? &slot->d.t : NULL;
}

static bool host_ints(const InferHost *h, const Infer *c, int i, DimVec *out)
{
    const NodeHost *host = (const NodeHost *)h;
    int s = host->pn->in[i];
    if (s < 0 || plan_slot(host->pl, s)->kind == SLOT_CONST || !host->pl->known[s].v) return false;
    *out = host->pl->known[s];
    return true;
}

static sdx_status host_graph(const InferHost *h, const Infer *c, Graph *body, const Type *const *in, int n_in,
                             Type *out, int n_out);

static void slot_type(const Planner *pl, int s, Type *t)
{
    const PlanSlot *slot = plan_slot(pl, s);
    if (slot->kind == SLOT_DYNAMIC) {
        /* What load time knew, without sizes. */
        *t = prog_slot(pl, s)->value->type;
        for (int i = 0; i < t->shape.rank; i++) t->shape.dims[i] = SDX_DIM_UNKNOWN;
        if (pl->prog->is_nested) t->shape.rank = SDX_RANK_UNKNOWN;
        return;
    }
    *t = (Type){ .kind = TYPE_TENSOR, .elem = slot->d.t.dtype, .shape.rank = slot->d.t.rank };
    memcpy(t->shape.dims, slot->d.t.dims, sizeof t->shape.dims);
}

static bool type_is_exact(const Type *t)
{
    if (t->kind != TYPE_TENSOR || t->elem == DT_NONE || t->shape.rank == SDX_RANK_UNKNOWN) return false;
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] < 0) return false;
    return true;
}

static Tensor exact_tensor(const Type *t)
{
    Tensor x = { .dtype = t->elem, .rank = t->shape.rank };
    if (x.rank) memcpy(x.dims, t->shape.dims, (size_t)x.rank * sizeof *x.dims);
    return x;
}

/* -- nodes that vanish ---------------------------------------------------------------------------------------------- */

static bool known_is_exact(const DimVec *k, const Type *t)
{
    int64_t n;
    if (!type_is_exact(t) || !sdx_dtype_in(t->elem, TS_INT | TS_BOOL)) return false;
    if (!sdx_shape_count(t->shape.dims, t->shape.rank, &n) || n != k->n || (n && !k->v)) return false;
    for (int i = 0; i < k->n; i++)
        if (!k->v[i].known) return false;
    return true;
}

static sdx_status slot_set_const(Planner *pl, int s, const Tensor *t)
{
    PlanSlot *slot = plan_slot(pl, s);
    slot->kind = SLOT_CONST;
    slot->d = (Datum){ .kind = DATUM_TENSOR, .t = *t };
    return SDX_OK;
}

/* Inference told the content of every output: nothing is left to compute. */
static sdx_status take_known(Planner *pl, const ProgNode *pn, const Type *out, const DimVec *known, bool *done)
{
    if (pn->node->def->flags & (OP_RANDOM | OP_CONTROL)) return SDX_OK;
    for (int o = 0; o < pn->n_out; o++)
        if (pn->out[o] >= 0 && !known_is_exact(&known[o], &out[o])) return SDX_OK;
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        Tensor t = exact_tensor(&out[o]);
        size_t size = sdx_dtype_size(t.dtype);
        char *p = sdx_arena_alloc(&pl->plan->arena, (size_t)known[o].n * size, SDX_ALIGN);
        TRY_MEM(p, pl->err);
        t.data = p;
        for (int i = 0; i < known[o].n; i++) {
            int64_t v = known[o].v[i].v;
            switch (size) {
            case 1: ((int8_t *)p)[i] = (int8_t)v; break;
            case 2: ((int16_t *)p)[i] = (int16_t)v; break;
            case 4: ((int32_t *)p)[i] = (int32_t)v; break;
            default: ((int64_t *)p)[i] = v; break;
            }
        }
        TRY(slot_set_const(pl, pn->out[o], &t));
    }
    *done = true;
    return SDX_OK;
}

static bool is_evaluable(Planner *pl, const ProgNode *pn, const Type *out)
{
    const OpDef *def = pn->node->def;
    size_t total = 0, n;
    if (!def->cpu.run || (def->flags & (OP_RANDOM | OP_CONTROL))) return false;
    for (int i = 0; i < pn->n_in; i++) {
        if (pn->in[i] < 0) continue;
        if (plan_slot(pl, pn->in[i])->kind != SLOT_CONST) return false;
        if (!sdx_tensor_nbytes(&plan_slot(pl, pn->in[i])->d.t, &n)) return false;
        /* A small result of much data (a reduction of weights) is worth its time once; results of unknown size are
         * bounded by their inputs. */
        if (def->flags & OP_DATA_SHAPE) total += n;
    }
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        if (out[o].kind != TYPE_TENSOR) return false;
        Tensor t = exact_tensor(&out[o]);
        if (!type_is_exact(&out[o]))
            total += def->flags & OP_DATA_SHAPE ? 0 : EVAL_MAX_NBYTES + 1;
        else if (!sdx_tensor_nbytes(&t, &n) || n > EVAL_MAX_NBYTES)
            return false;
        else
            total += n;
    }
    return total <= EVAL_MAX_NBYTES;
}

/* Copies a tensor, string bytes included, into the plan. */
static sdx_status keep_tensor(Planner *pl, Tensor *t)
{
    size_t nbytes;
    TRY(slot_nbytes(pl, t, &nbytes));
    void *p = sdx_arena_alloc(&pl->plan->arena, nbytes, SDX_ALIGN);
    TRY_MEM(p, pl->err);
    if (nbytes) memcpy(p, t->data, nbytes);
    t->data = p;
    for (int64_t i = 0, n = t->dtype == DT_STRING ? sdx_tensor_count(t) : 0; i < n; i++) {
        Str *s = (Str *)p + i;
        TRY_MEM(s->p = sdx_arena_strndup(&pl->plan->arena, s->p, s->n), pl->err);
    }
    return SDX_OK;
}

static sdx_status evaluate(Planner *pl, const ProgNode *pn)
{
    const Node *n = pn->node;
    const Datum **in = sdx_arena_array(&pl->tmp, const Datum *, pn->n_in);
    Datum *out = sdx_arena_array(&pl->tmp, Datum, pn->n_out);
    TRY_MEM(in && out ? in : NULL, pl->err);
    for (int i = 0; i < pn->n_in; i++) in[i] = pn->in[i] < 0 ? NULL : &plan_slot(pl, pn->in[i])->d;
    TRY(sdx_eval_node(&pl->prog->ep->tools, n, in, out, pl->prog->ep->cfg.alloc, pl->err));
    sdx_status st = SDX_OK;
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] >= 0 && st == SDX_OK) {
            Tensor t = out[o].t;
            if (out[o].kind != DATUM_TENSOR) st = sdx_fail(pl->err, SDX_INTERNAL, "%s made no tensor", n->op_type);
            if (st == SDX_OK) st = keep_tensor(pl, &t);
            if (st == SDX_OK) st = slot_set_const(pl, pn->out[o], &t);
        }
        sdx_datum_clear(&out[o]);
    }
    return st;
}

/* -- views and in-place --------------------------------------------------------------------------------------------- */

/* Output o as bytes of input i at an offset: another name for the same memory. */
static sdx_status take_alias(Planner *pl, int from, int to, size_t offset)
{
    PlanSlot *src = plan_slot(pl, from), *dst = plan_slot(pl, to);
    size_t nbytes;
    TRY(slot_nbytes(pl, &dst->d.t, &nbytes));
    if (src->kind == SLOT_CONST) {
        Tensor t = dst->d.t;
        t.data = (char *)src->d.t.data + offset;
        return slot_set_const(pl, to, &t);
    }
    store_join(pl, to, src->store, src->offset + offset, nbytes);
    return SDX_OK;
}

/* Whether output o of the node is a view, of which input and where. */
static bool find_alias(Planner *pl, const ProgNode *pn, const Prepare *p, int o, int *in, size_t *offset)
{
    const OpDef *def = pn->node->def;
    size_t need, have;
    if ((def->flags & OP_VIEW) && o == 0)
        *in = 0, *offset = 0;
    else if (!def->alias || !def->alias(p, o, in, offset))
        return false;
    if (*in >= pn->n_in || pn->in[*in] < 0) return false;
    const PlanSlot *src = plan_slot(pl, pn->in[*in]);
    return src->d.t.dtype == p->out[o]->t.dtype && sdx_tensor_nbytes(&src->d.t, &have) &&
           sdx_tensor_nbytes(&p->out[o]->t, &need) && *offset <= have && need <= have - *offset;
}

/* Every output that is asked for is a view: the node vanishes. */
static sdx_status take_views(Planner *pl, const ProgNode *pn, const Prepare *p, bool *done)
{
    int in;
    size_t offset;
    if (!(pn->node->def->flags & OP_VIEW) && !pn->node->def->alias) return SDX_OK;
    for (int o = 0; o < pn->n_out; o++)
        if (pn->out[o] >= 0 && !find_alias(pl, pn, p, o, &in, &offset)) return SDX_OK;
    for (int o = 0; o < pn->n_out; o++)
        if (pn->out[o] >= 0 && find_alias(pl, pn, p, o, &in, &offset))
            TRY(take_alias(pl, pn->in[in], pn->out[o], offset));
    *done = true;
    return SDX_OK;
}

/* May output 0 overwrite input i? Its memory must be the slab's, end its life here, and hold no other input. */
static bool can_overwrite(Planner *pl, const ProgNode *pn, int node, int i, size_t nbytes, bool same_shape)
{
    if (pn->in[i] < 0) return false;
    const PlanSlot *x = plan_slot(pl, pn->in[i]);
    const Tensor *y = &plan_slot(pl, pn->out[0])->d.t;
    size_t n;
    if (x->kind != SLOT_STATIC || pl->stores[x->store].kind != STORE_SLAB || pl->stores[x->store].last > node)
        return false;
    if (!sdx_tensor_nbytes(&x->d.t, &n) || n != nbytes) return false;
    if (same_shape && (x->d.t.dtype != y->dtype || !sdx_dims_equal(x->d.t.dims, x->d.t.rank, y->dims, y->rank)))
        return false;
    for (int k = 0; k < pn->n_in + pn->n_hidden; k++) {
        if (k == i || pn->in[k] < 0) continue;
        const PlanSlot *z = plan_slot(pl, pn->in[k]);
        if (z->kind != SLOT_STATIC || z->store != x->store) continue;
        /* The same elements read twice, as in x * x, are read before they are written, if the operator is pointwise. */
        if (!same_shape || z->offset != x->offset || !sdx_tensor_nbytes(&z->d.t, &n) || n != nbytes) return false;
    }
    return true;
}

static sdx_status output_store(Planner *pl, const ProgNode *pn, int node, int o)
{
    unsigned flags = pn->node->def->flags;
    size_t nbytes;
    TRY(slot_nbytes(pl, &plan_slot(pl, pn->out[o])->d.t, &nbytes));
    if (o == 0 && nbytes && (flags & (OP_INPLACE | OP_INPLACE_ANY))) {
        bool any = flags & OP_INPLACE_ANY;
        for (int i = 0; i < (any ? pn->n_in : 1) && i < pn->n_in; i++) {
            if (!can_overwrite(pl, pn, node, i, nbytes, any)) continue;
            const PlanSlot *x = plan_slot(pl, pn->in[i]);
            store_join(pl, pn->out[0], x->store, x->offset, nbytes);
            return SDX_OK;
        }
    }
    return store_new(pl, pn->out[o], node);
}

/* -- nodes ---------------------------------------------------------------------------------------------------------- */

static Step *step_add(Planner *pl, const ProgNode *pn, int node, sdx_status (*fn)(Run *r))
{
    Step *s = &pl->plan->steps[pl->plan->n_steps++];
    *s = (Step){ .fn = fn, .pn = pn, .node = node };
    pl->plan->n_ptrs += (size_t)(pn->n_in + pn->n_hidden + pn->n_out);
    return s;
}

/* Outputs with a known shape get memory from the slab even when the node has to wait for its inputs. */
static sdx_status plan_dynamic(Planner *pl, const ProgNode *pn, int node, const Type *out)
{
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        PlanSlot *slot = plan_slot(pl, pn->out[o]);
        if (type_is_exact(&out[o]) && !(pn->node->def->flags & OP_DATA_SHAPE)) {
            slot->d = (Datum){ .kind = DATUM_TENSOR, .t = exact_tensor(&out[o]) };
            TRY(store_new(pl, pn->out[o], node));
        } else {
            slot->kind = SLOT_DYNAMIC;
        }
    }
    step_add(pl, pn, node, sdx_step_dynamic);
    return SDX_OK;
}

static sdx_status plan_static(Planner *pl, const ProgNode *pn, int node, const Type *out)
{
    const Node *n = pn->node;
    Plan *plan = pl->plan;
    const RunTools *tools = &pl->prog->ep->tools;
    const Datum **in = sdx_arena_array(&pl->tmp, const Datum *, pn->n_in);
    Datum **outs = sdx_arena_array(&pl->tmp, Datum *, pn->n_out);
    bool *in_const = sdx_arena_array(&pl->tmp, bool, pn->n_in);
    TRY_MEM(in && outs && in_const ? in : NULL, pl->err);
    for (int i = 0; i < pn->n_in; i++) {
        if (pn->in[i] < 0) continue;
        in[i] = &plan_slot(pl, pn->in[i])->d;
        in_const[i] = plan_slot(pl, pn->in[i])->kind == SLOT_CONST;
    }
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        outs[o] = &plan_slot(pl, pn->out[o])->d;
        *outs[o] = (Datum){ .kind = DATUM_TENSOR, .t = exact_tensor(&out[o]) };
    }
    Prepare p = {
        .node = n,
        .args = n->args,
        .n_in = pn->n_in,
        .n_out = pn->n_out,
        .in = in,
        .out = outs,
        .in_const = in_const,
        .arena = &plan->arena,
        .kern = tools->kern,
        .threads = sdx_pool_threads(tools->pool),
        .flush_subnormals = tools->flush_subnormals,
        .may_round = tools->may_round,
        .packs = tools->packs,
        .err = pl->err,
    };
    bool done = false;
    TRY(take_views(pl, pn, &p, &done));
    if (done) return SDX_OK;
    for (int o = 0; o < pn->n_out; o++)
        if (pn->out[o] >= 0) TRY(output_store(pl, pn, node, o));
    TRY(sdx_op_prepare(&p));
    Step *s = step_add(pl, pn, node, sdx_op_run);
    s->state = p.state;
    if (p.scratch) {
        int store;
        TRY(store_add(pl, (Store){ .nbytes = p.scratch, .first = node, .last = node }, &store));
        s->has_scratch = true;
        s->scratch = (size_t)store; /* the store for now, its offset once it has one */
    }
    return SDX_OK;
}

/* Without a run to plan for: outputs are known by their type or not at all. */
static sdx_status take_types(Planner *pl, const ProgNode *pn, const Type *out)
{
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        PlanSlot *slot = plan_slot(pl, pn->out[o]);
        slot->kind = type_is_exact(&out[o]) ? SLOT_STATIC : SLOT_DYNAMIC;
        if (slot->kind == SLOT_STATIC) slot->d = (Datum){ .kind = DATUM_TENSOR, .t = exact_tensor(&out[o]) };
    }
    return SDX_OK;
}

static sdx_status plan_node(Planner *pl, const ProgNode *pn, int node)
{
    const Node *n = pn->node;
    Type *types = sdx_arena_array(&pl->tmp, Type, pn->n_in + pn->n_out), *out = types + pn->n_in;
    const Type **in = sdx_arena_array(&pl->tmp, const Type *, pn->n_in);
    DimVec *known = sdx_arena_array(&pl->tmp, DimVec, pn->n_out);
    TRY_MEM(types && in && known ? types : NULL, pl->err);
    bool is_static = true;
    for (int i = 0; i < pn->n_in; i++) {
        if (pn->in[i] < 0) continue;
        slot_type(pl, pn->in[i], &types[i]);
        in[i] = &types[i];
        is_static &= plan_slot(pl, pn->in[i])->kind != SLOT_DYNAMIC;
    }
    NodeHost host = { .base = { .ints = host_ints, .tensor = host_tensor, .graph = host_graph }, .pl = pl, .pn = pn };
    TRY(sdx_infer_node(&host.base, n, NULL, &pl->tmp, in, out, known, pl->err));
    bool done = false;
    TRY(take_known(pl, pn, out, known, &done));
    if (done) return SDX_OK;
    if (is_static && is_evaluable(pl, pn, out)) return evaluate(pl, pn);
    for (int o = 0; o < pn->n_out; o++) {
        if (pn->out[o] < 0) continue;
        pl->known[pn->out[o]] = known[o];
        is_static &= type_is_exact(&out[o]);
    }
    if (pl->types_only) return take_types(pl, pn, out);
    is_static &= !(n->def->flags & OP_CONTROL);
    return is_static ? plan_static(pl, pn, node, out) : plan_dynamic(pl, pn, node, out);
}

/* -- the whole ------------------------------------------------------------------------------------------------------ */

static sdx_status plan_inputs(Planner *pl, const Datum *const *in)
{
    Plan *plan = pl->plan;
    for (int s = 0; s < pl->prog->n_slots; s++) {
        PlanSlot *slot = &plan->slots[s];
        if (s >= pl->prog->n_in) {
            if (prog_slot(pl, s)->is_const) TRY(slot_set_const(pl, s, prog_slot(pl, s)->value->constant));
            continue;
        }
        if (in[s]->kind != DATUM_TENSOR) {
            slot->kind = SLOT_DYNAMIC;
            plan->dyn_inputs[plan->n_dyn_inputs++] = s;
            continue;
        }
        size_t nbytes;
        slot->d = (Datum){ .kind = DATUM_TENSOR, .t = in[s]->t };
        TRY(slot_nbytes(pl, &slot->d.t, &nbytes));
        if (pl->prog->by_content[s] && in[s]->t.dtype != DT_STRING && (in[s]->t.data || !nbytes)) {
            Tensor t = in[s]->t;
            TRY(keep_tensor(pl, &t));
            TRY(slot_set_const(pl, s, &t));
            continue;
        }
        int store;
        slot->d.t.data = NULL;
        TRY(store_add(pl, (Store){ .kind = STORE_INPUT, .index = s, .nbytes = nbytes, .last = pl->prog->n_nodes },
                      &store));
        store_join(pl, s, store, 0, nbytes);
    }
    return SDX_OK;
}

static sdx_status plan_outputs(Planner *pl)
{
    Plan *plan = pl->plan;
    for (int o = 0; o < pl->prog->n_out; o++) {
        int s = pl->prog->outputs[o];
        const PlanSlot *slot = &plan->slots[s];
        PlanOut *out = &plan->outs[o];
        *out = (PlanOut){ .kind = OUT_COPY, .slot = s, .input = s };
        if (s < pl->prog->n_in)
            out->kind = OUT_INPUT;
        else if (slot->kind == SLOT_DYNAMIC)
            out->kind = OUT_DYNAMIC;
        else if (slot->kind == SLOT_STATIC && pl->stores[slot->store].kind == STORE_OUTPUT &&
                 pl->stores[slot->store].index == o && prog_slot(pl, s)->output == o)
            out->kind = OUT_STORE;
    }
    return SDX_OK;
}

/* Dynamic values go after the last step that reads them. */
static sdx_status plan_drops(Planner *pl)
{
    Plan *plan = pl->plan;
    const Prog *prog = pl->prog;
    int *of_step = sdx_arena_array(&pl->tmp, int, prog->n_slots);
    int *step_of = sdx_arena_array(&pl->tmp, int, prog->n_nodes + 1); /* the last step at or before a node */
    TRY_MEM(of_step && step_of ? of_step : NULL, pl->err);
    for (int i = 0, s = 0; i <= prog->n_nodes; i++) {
        while (s < plan->n_steps && plan->steps[s].node <= i) s++;
        step_of[i] = s - 1;
    }
    for (int i = 0; i < plan->n_steps; i++) {
        const ProgNode *pn = plan->steps[i].pn;
        for (int o = 0; o < pn->n_out; o++) {
            int s = pn->out[o];
            if (s < 0 || plan->slots[s].kind != SLOT_DYNAMIC) continue;
            plan->dyn_slots[plan->n_dyn_slots++] = s;
            int last = prog->slots[s].last_use;
            of_step[s] = last < 0 ? i : last >= prog->n_nodes ? -1 : step_of[last];
            if (of_step[s] >= 0) plan->steps[of_step[s]].n_drops++;
        }
    }
    for (int k = 0; k < plan->n_dyn_slots; k++) {
        int s = plan->dyn_slots[k];
        if (of_step[s] < 0) continue;
        Step *st = &plan->steps[of_step[s]];
        if (!st->drops) {
            TRY_MEM(st->drops = sdx_arena_array(&plan->arena, int, st->n_drops), pl->err);
            st->n_drops = 0;
        }
        st->drops[st->n_drops++] = s;
    }
    return SDX_OK;
}

static sdx_status plan_memory(Planner *pl)
{
    Plan *plan = pl->plan;
    TRY(sdx_place(pl->stores, pl->n_stores, &pl->tmp, &plan->slab_nbytes, pl->err));
    for (int i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].has_scratch) plan->steps[i].scratch = pl->stores[plan->steps[i].scratch].offset;
    for (int s = 0; s < pl->prog->n_slots; s++) {
        PlanSlot *slot = &plan->slots[s];
        if (slot->kind != SLOT_STATIC) continue;
        const Store *st = &pl->stores[slot->store];
        Patch patch = { s, st->index, slot->offset };
        if (st->kind == STORE_INPUT)
            plan->in_patches[plan->n_in_patches++] = patch;
        else if (st->kind == STORE_OUTPUT)
            plan->out_patches[plan->n_out_patches++] = patch;
        else
            slot->offset += st->offset;
        slot->store = st->kind == STORE_SLAB ? 0 : -1; /* from here on: whether it lies in the slab */
    }
    return SDX_OK;
}

static sdx_status plan_fill(Planner *pl, const Datum *const *in)
{
    Prog *prog = pl->prog;
    Plan *plan = pl->plan;
    Arena *a = &plan->arena;
    plan->slots = sdx_arena_array(a, PlanSlot, prog->n_slots);
    plan->steps = sdx_arena_array(a, Step, prog->n_nodes);
    plan->outs = sdx_arena_array(a, PlanOut, prog->n_out);
    plan->in_patches = sdx_arena_array(a, Patch, prog->n_slots);
    plan->out_patches = sdx_arena_array(a, Patch, prog->n_slots);
    plan->dyn_inputs = sdx_arena_array(a, int, prog->n_in);
    plan->dyn_slots = sdx_arena_array(a, int, prog->n_slots);
    pl->known = sdx_arena_array(&pl->tmp, DimVec, prog->n_slots);
    TRY_MEM(plan->slots && plan->steps && plan->outs && plan->in_patches && plan->out_patches && plan->dyn_inputs &&
                    plan->dyn_slots && pl->known
                ? plan
                : NULL,
            pl->err);
    TRY(plan_inputs(pl, in));
    for (int i = 0; i < prog->n_nodes; i++) TRY(plan_node(pl, &prog->nodes[i], i));
    if (pl->types_only) return SDX_OK;
    TRY(plan_outputs(pl));
    TRY(plan_drops(pl));
    return plan_memory(pl);
}

static sdx_status plan_create(Prog *prog, Plan **out, Err *err)
{
    const Alloc *a = prog->ep->cfg.alloc;
    Plan *plan = sdx_alloc_zero(a, sizeof *plan);
    TRY_MEM(plan, err);
    plan->prog = prog;
    sdx_arena_init(&plan->arena, a, 0);
    sdx_lock_init(&plan->lock, NULL);
    *out = plan;
    return SDX_OK;
}

/* -- nested graphs: what they give for what they take, without planning them ----------------------------------------- */

enum { TYPES_DEPTH = 3 }; /* loops infer their bodies several times over, and so do loops in them */

static void types_at_load(const Graph *body, Type *out, int n_out)
{
    for (int i = 0; i < n_out && i < body->n_outputs; i++) {
        out[i] = body->outputs[i]->type;
        for (int k = 0; k < out[i].shape.rank; k++)
            if (out[i].shape.dims[k] < 0) out[i].shape.dims[k] = SDX_DIM_UNKNOWN;
    }
}

/* Inputs of a nested program as far as they are known here: tensors without data, or nothing. */
static const Datum **sub_inputs(Planner *pl, const ProgNode *pn, const SubProg *sub, const Type *const *in, int n_in)
{
    int n = sub->prog->n_in;
    Datum *d = sdx_arena_array(&pl->tmp, Datum, n);
    const Datum **ptr = sdx_arena_array(&pl->tmp, const Datum *, n);
    for (int i = 0; d && ptr && i < n; i++) {
        ptr[i] = &d[i];
        if (i < n_in) {
            if (in && in[i] && type_is_exact(in[i])) d[i] = (Datum){ .kind = DATUM_TENSOR, .t = exact_tensor(in[i]) };
            continue;
        }
        const PlanSlot *slot = plan_slot(pl, pn->in[pn->n_in + sub->captured[i - n_in]]);
        if (slot->kind == SLOT_CONST || slot->kind == SLOT_STATIC)
            d[i] = (Datum){ .kind = DATUM_TENSOR, .t = slot->d.t };
    }
    return d ? ptr : NULL;
}

static sdx_status sub_types(Planner *pl, Prog *prog, const Datum *const *in, Type *out, int n_out)
{
    Plan *plan;
    TRY(plan_create(prog, &plan, pl->err));
    /* A branch that does not fit these shapes may never be taken: no error here. */
    Planner sub = { .prog = prog, .plan = plan, .types_only = true, .depth = pl->depth + 1 };
    sdx_arena_init(&sub.tmp, prog->ep->cfg.alloc, 0);
    sdx_status st = plan_fill(&sub, in);
    for (int o = 0; o < n_out && st == SDX_OK; o++)
        if (plan->slots[prog->outputs[o]].kind != SLOT_DYNAMIC) slot_type(&sub, prog->outputs[o], &out[o]);
    sdx_arena_fini(&sub.tmp);
    sdx_cpu_plan_drop(plan);
    return st == SDX_OUT_OF_MEMORY ? sdx_fail(pl->err, st, "out of memory") : SDX_OK;
}

static sdx_status host_graph(const InferHost *h, const Infer *c, Graph *body, const Type *const *in, int n_in,
                             Type *out, int n_out)
{
    const NodeHost *host = (const NodeHost *)h;
    Planner *pl = host->pl;
    const SubProg *sub = host->pn->subs;
    types_at_load(body, out, n_out);
    while (sub < host->pn->subs + host->pn->n_subs && sub->body != body) sub++;
    if (sub == host->pn->subs + host->pn->n_subs || pl->depth >= TYPES_DEPTH) return SDX_OK;
    if (sub->prog->n_formal != (in ? n_in : 0) || sub->prog->n_out != n_out) return SDX_OK;
    const Datum **sub_in = sub_inputs(pl, host->pn, sub, in, in ? n_in : 0);
    TRY_MEM(sub_in, pl->err);
    return sub_types(pl, sub->prog, sub_in, out, n_out);
}

sdx_status sdx_cpu_plan(Prog *prog, const Datum *const *in, Plan **out, Err *err)
{
    Plan *plan;
    *out = NULL;
    TRY(plan_create(prog, &plan, err));
    Planner pl = { .prog = prog, .plan = plan, .err = err };
    sdx_arena_init(&pl.tmp, prog->ep->cfg.alloc, 0);
    sdx_status st = plan_fill(&pl, in);
    sdx_arena_fini(&pl.tmp);
    if (st != SDX_OK)
        sdx_cpu_plan_drop(plan);
    else
        *out = plan;
    return st;
}

void sdx_cpu_plan_trim(Plan *p)
{
    sdx_lock(&p->lock);
    Frame *f = p->frames;
    p->frames = NULL;
    sdx_unlock(&p->lock);
    for (Frame *next; f; f = next) {
        next = f->next;
        sdx_frame_destroy(f);
    }
}

void sdx_cpu_plan_drop(void *plan)
{
    Plan *p = plan;
    sdx_cpu_plan_trim(p);
    sdx_lock_fini(&p->lock);
    sdx_arena_fini(&p->arena);
    sdx_free(p->prog->ep->cfg.alloc, p);
}
