/* Compiling a part or a nested graph: numbering its values, finding last uses and what nested graphs capture. */
#include <string.h>

#include "ep/cpu/cpu_ep.h"

enum { NESTED_PLANS = 8 };

/* The slot that a value has in the program being compiled. Nested programs take entries over and give them back. */
typedef struct Entry {
    const Prog *owner;
    int slot;
} Entry;

typedef struct Undo {
    int id;
    Entry old;
} Undo;

typedef struct Compiler {
    CpuEp *ep;
    Arena tmp;
    Entry *entries; /* by value id */
    Undo *undo;
    int n_undo, cap_undo;
    Err *err;
} Compiler;

static sdx_status prog_create(CpuEp *ep, Prog **out, Err *err)
{
    Prog *p = sdx_alloc_zero(ep->cfg.alloc, sizeof *p);
    TRY_MEM(p, err);
    p->ep = ep;
    sdx_arena_init(&p->arena, ep->cfg.alloc, 0);
    *out = p;
    return SDX_OK;
}

void sdx_prog_destroy(Prog *p)
{
    if (!p) return;
    for (int i = 0; i < p->n_nodes; i++)
        for (int k = 0; k < p->nodes[i].n_subs; k++) sdx_prog_destroy(p->nodes[i].subs[k].prog);
    if (p->plans.max) sdx_plan_cache_fini(&p->plans);
    sdx_arena_fini(&p->arena);
    sdx_free(p->ep->cfg.alloc, p);
}

static int slot_of(const Compiler *c, const Prog *p, const Value *v)
{
    const Entry *e = &c->entries[v->id];
    return e->owner == p ? e->slot : -1;
}

static sdx_status slot_add(Compiler *c, Prog *p, const Value *v, int *slot)
{
    TRY_MEM(sdx_arena_grow(&c->tmp, c->undo, c->n_undo, c->cap_undo), c->err);
    TRY_MEM(sdx_arena_grow(&p->arena, p->slots, p->n_slots, p->cap_slots), c->err);
    c->undo[c->n_undo++] = (Undo){ v->id, c->entries[v->id] };
    c->entries[v->id] = (Entry){ p, p->n_slots };
    p->slots[p->n_slots] = (ProgSlot){ .value = v, .is_const = sdx_value_is_const(v), .last_use = -1, .output = -1 };
    *slot = p->n_slots++;
    return SDX_OK;
}

/* The slot of a value that a node reads: known, or a constant met for the first time. */
static sdx_status slot_read(Compiler *c, Prog *p, const Value *v, int *slot)
{
    *slot = slot_of(c, p, v);
    if (*slot >= 0) return SDX_OK;
    if (!sdx_value_is_const(v)) return sdx_fail(c->err, SDX_INTERNAL, "value `%s` is read before it is made", v->name);
    return slot_add(c, p, v, slot);
}

static bool takes_misaligned(const Node *n, int i)
{
    const OpDef *def = n->def;
    if (i >= 32) return false;
    bool is_packed = def->packed >> i & 1 && n->in[i]->constant->dtype == DT_FLOAT && sdx_value_is_const(n->in[i]);
    return is_packed || def->moved >> i & 1;
}

/* Elements that the file left misaligned, for code that cannot take them so. */
static sdx_status align_constants(Compiler *c, const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && (n->in[i]->flags & VALUE_UNALIGNED) && !takes_misaligned(n, i))
            TRY(sdx_value_align(n->in[i], c->err));
    return SDX_OK;
}

/* -- captured values ------------------------------------------------------------------------------------------------ */

typedef struct Captures {
    Value **v;
    int n, cap;
} Captures;

static sdx_status capture_add(Compiler *c, Captures *out, const Graph *g, Value *v)
{
    if (!v || sdx_value_is_const(v) || sdx_graph_contains(g, v->graph)) return SDX_OK;
    for (int i = 0; i < out->n; i++)
        if (out->v[i] == v) return SDX_OK;
    TRY_MEM(sdx_arena_grow(&c->tmp, out->v, out->n, out->cap), c->err);
    out->v[out->n++] = v;
    return SDX_OK;
}

/* Values from outside g that are read in it or in graphs nested in it, constants excluded. */
static sdx_status graph_captures(Compiler *c, const Graph *g, const Graph *from, Captures *out)
{
    for (const Node *n = from->first; n; n = n->next) {
        for (int i = 0; i < n->n_in; i++) TRY(capture_add(c, out, g, n->in[i]));
        for (int i = 0; i < n->n_attrs; i++) {
            const Attr *a = &n->attrs[i];
            int64_t count = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
            for (int64_t k = 0; k < count; k++)
                TRY(graph_captures(c, g, a->type == ATTR_GRAPHS ? a->graphs[k] : a->g, out));
        }
    }
    for (int i = 0; i < from->n_outputs; i++) TRY(capture_add(c, out, g, from->outputs[i]));
    return SDX_OK;
}

/* -- nodes ---------------------------------------------------------------------------------------------------------- */

static sdx_status prog_fill(Compiler *c, Prog *p, Node *const *nodes, int n_nodes, Value *const *in, int n_in,
                            Value *const *out, int n_out);

static sdx_status sub_compile(Compiler *c, SubProg *sub, Graph *g, const Captures *all, const Captures *own)
{
    Prog *p = NULL;
    TRY(prog_create(c->ep, &p, c->err));
    sub->body = g;
    sub->prog = p;
    p->is_nested = true;
    p->n_formal = g->n_inputs;
    Node **nodes = sdx_arena_array(&c->tmp, Node *, g->n_nodes);
    Value **in = sdx_arena_array(&c->tmp, Value *, g->n_inputs + own->n);
    sub->captured = sdx_arena_array(&p->arena, int, own->n);
    TRY_MEM(nodes && in && sub->captured ? p : NULL, c->err);
    int n_nodes = 0;
    for (Node *n = g->first; n; n = n->next) nodes[n_nodes++] = n;
    for (int i = 0; i < g->n_inputs; i++) in[i] = g->inputs[i];
    for (int i = 0; i < own->n; i++) {
        in[g->n_inputs + i] = own->v[i];
        for (int k = 0; k < all->n; k++)
            if (all->v[k] == own->v[i]) sub->captured[i] = k;
    }
    int undo = c->n_undo;
    TRY(prog_fill(c, p, nodes, n_nodes, in, g->n_inputs + own->n, g->outputs, g->n_outputs));
    while (c->n_undo > undo) {
        const Undo *u = &c->undo[--c->n_undo];
        c->entries[u->id] = u->old;
    }
    sdx_plan_cache_init(&p->plans, c->ep->cfg.alloc, NESTED_PLANS, p->n_in, p->by_content, sdx_cpu_plan_drop);
    return SDX_OK;
}

static sdx_status node_subs(Compiler *c, Prog *p, ProgNode *pn, Captures *all)
{
    const Node *n = pn->node;
    int count = 0;
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        count += a->type == ATTR_GRAPHS ? (int)a->n : a->type == ATTR_GRAPH && a->g;
    }
    if (!count) return SDX_OK;
    pn->subs = sdx_arena_array(&p->arena, SubProg, count);
    Captures *own = sdx_arena_array(&c->tmp, Captures, count);
    Graph **bodies = sdx_arena_array(&c->tmp, Graph *, count);
    TRY_MEM(pn->subs && own && bodies ? pn : NULL, c->err);
    int at = 0;
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        int64_t graphs = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
        for (int64_t k = 0; k < graphs; k++, at++) {
            bodies[at] = a->type == ATTR_GRAPHS ? a->graphs[k] : a->g;
            TRY(graph_captures(c, bodies[at], bodies[at], &own[at]));
            for (int v = 0; v < own[at].n; v++) TRY(capture_add(c, all, bodies[at], own[at].v[v]));
        }
    }
    for (int i = 0; i < count; i++) {
        pn->n_subs++; /* counted first, so that a failure finds and frees it */
        TRY(sub_compile(c, &pn->subs[i], bodies[i], all, &own[i]));
    }
    return SDX_OK;
}

static sdx_status node_compile(Compiler *c, Prog *p, ProgNode *pn, Node *n)
{
    Captures hidden = { 0 };
    pn->node = n;
    TRY(align_constants(c, n));
    TRY(node_subs(c, p, pn, &hidden));
    pn->n_in = n->n_in;
    pn->n_hidden = hidden.n;
    pn->n_out = n->n_out;
    pn->in = sdx_arena_array(&p->arena, int, n->n_in + hidden.n);
    pn->out = sdx_arena_array(&p->arena, int, n->n_out);
    TRY_MEM(pn->in && pn->out ? pn : NULL, c->err);
    int index = (int)(pn - p->nodes);
    for (int i = 0; i < n->n_in + hidden.n; i++) {
        const Value *v = i < n->n_in ? n->in[i] : hidden.v[i - n->n_in];
        pn->in[i] = -1;
        if (!v) continue;
        TRY(slot_read(c, p, v, &pn->in[i]));
        p->slots[pn->in[i]].last_use = index;
    }
    for (int o = 0; o < n->n_out; o++) {
        pn->out[o] = -1;
        if (n->out[o]) TRY(slot_add(c, p, n->out[o], &pn->out[o]));
    }
    return SDX_OK;
}

static sdx_status prog_fill(Compiler *c, Prog *p, Node *const *nodes, int n_nodes, Value *const *in, int n_in,
                            Value *const *out, int n_out)
{
    p->nodes = sdx_arena_array(&p->arena, ProgNode, n_nodes);
    p->outputs = sdx_arena_array(&p->arena, int, n_out);
    p->by_content = sdx_arena_array(&p->arena, bool, n_in);
    TRY_MEM(p->nodes && p->outputs && p->by_content ? p : NULL, c->err);
    p->n_in = n_in;
    p->n_out = n_out;
    for (int i = 0, slot; i < n_in; i++) {
        TRY(slot_add(c, p, in[i], &slot));
        /* An input that has a default is no constant here: the caller may have replaced it. */
        p->slots[slot].is_const = false;
        p->by_content[i] = !p->is_nested && in[i]->shape_determining;
    }
    for (int i = 0; i < n_nodes; i++) {
        p->n_nodes++;
        TRY(node_compile(c, p, &p->nodes[i], nodes[i]));
    }
    for (int o = 0; o < n_out; o++) {
        TRY(slot_read(c, p, out[o], &p->outputs[o]));
        ProgSlot *s = &p->slots[p->outputs[o]];
        s->last_use = n_nodes;
        if (s->output < 0) s->output = o;
    }
    return SDX_OK;
}

sdx_status sdx_prog_compile(CpuEp *ep, const EpPart *part, Prog **out, Err *err)
{
    Compiler c = { .ep = ep, .err = err };
    sdx_arena_init(&c.tmp, ep->cfg.alloc, 0);
    Prog *p = NULL;
    sdx_status st = prog_create(ep, &p, err);
    if (st == SDX_OK) {
        c.entries = sdx_arena_array(&c.tmp, Entry, part->graph->model->n_values);
        if (!c.entries) st = sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    if (st == SDX_OK)
        st = prog_fill(&c, p, part->nodes, part->n_nodes, part->inputs, part->n_inputs, part->outputs, part->n_outputs);
    sdx_arena_fini(&c.tmp);
    if (st != SDX_OK) {
        sdx_prog_destroy(p);
        p = NULL;
    }
    *out = p;
    return st;
}
