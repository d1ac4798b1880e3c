/* Placement: claims, then the main graph split into parts that each run on one provider. */
#include <stdio.h>
#include <string.h>

#include "session/session_parts.h"

/* -- claims --------------------------------------------------------------------------------------------------------- */

static sdx_status claims_ask(Session *s, Provider *p, Err *err)
{
    int n = s->model->next_node_id;
    p->claims = (Claims){ .taken = sdx_arena_array(&s->arena, bool, n),
                          .reason = sdx_arena_array(&s->arena, const char *, n),
                          .n = n,
                          .arena = &s->arena };
    TRY_MEM(p->claims.taken && p->claims.reason ? p : NULL, err);
    return p->api->claim(p->ep, s->model->graph, &p->claims, err);
}

static sdx_status not_taken(const Session *s, const Node *n, Err *err)
{
    char node[256], text[512] = "";
    for (int i = 0; i < s->n_providers; i++) {
        const Claims *c = &s->providers[i].claims;
        const char *why = n->id < c->n && c->reason[n->id] ? c->reason[n->id] : "not taken";
        size_t at = strlen(text);
        snprintf(text + at, sizeof text - at, "%s%s: %s", i ? "; " : "", s->providers[i].api->name, why);
    }
    return sdx_fail(err, SDX_UNSUPPORTED, "%s: no provider runs it (%s)", sdx_node_text(n, node, sizeof node), text);
}

/* Nodes of nested graphs run where their node runs. */
static void place_nested(Node *n)
{
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        int64_t count = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
        for (int64_t k = 0; k < count; k++)
            for (Node *m = (a->type == ATTR_GRAPHS ? a->graphs[k] : a->g)->first; m; m = m->next) {
                m->ep = n->ep;
                place_nested(m);
            }
    }
}

/* Gives nodes without a provider to the first that takes them. */
static sdx_status claims_settle(Session *s, Err *err)
{
    for (Node *n = s->model->graph->first; n; n = n->next) {
        for (int i = 0; i < s->n_providers && n->ep < 0; i++)
            if (n->id < s->providers[i].claims.n && s->providers[i].claims.taken[n->id]) n->ep = i;
        if (n->ep < 0) return not_taken(s, n, err);
        place_nested(n);
    }
    return SDX_OK;
}

sdx_status sdx_ses_claim(Session *s, const EpConfig *cfg, Err *err)
{
    for (Node *n = s->model->graph->first; n; n = n->next) n->ep = -1;
    for (int i = 0; i < s->n_providers; i++) {
        Provider *p = &s->providers[i];
        TRY(p->api->open(cfg, &p->ep, err));
        TRY(claims_ask(s, p, err));
    }
    TRY(claims_settle(s, err));
    for (int i = 0; i < s->n_providers; i++) {
        Provider *p = &s->providers[i];
        if (!p->api->rewrite) continue;
        TRY(p->api->rewrite(p->ep, s->model, i, err));
        /* What a provider put into the graph is its own. */
        for (Node *n = s->model->graph->first; n; n = n->next)
            if (n->ep < 0) n->ep = i;
    }
    return SDX_OK;
}

/* -- the split ------------------------------------------------------------------------------------------------------ */

/* Calls fn for each value of the main graph that n or its nested graphs read. */
static sdx_status each_read(const Graph *g, const Node *n, sdx_status (*fn)(Value *v, void *user), void *user)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && n->in[i]->graph == g) TRY(fn(n->in[i], user));
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        int64_t count = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
        for (int64_t k = 0; k < count; k++) {
            const Graph *body = a->type == ATTR_GRAPHS ? a->graphs[k] : a->g;
            for (const Node *m = body->first; m; m = m->next) TRY(each_read(g, m, fn, user));
            for (int o = 0; o < body->n_outputs; o++)
                if (body->outputs[o]->graph == g) TRY(fn(body->outputs[o], user));
        }
    }
    return SDX_OK;
}

typedef struct Splitter {
    Session *s;
    Arena tmp;
    int *part_of; /* by node id: the part it is in, -1 while it waits */
    Part *parts;
    int n_parts, cap_parts;
    int part; /* the one being looked at */
    bool ready;
    Err *err;
} Splitter;

static sdx_status read_is_ready(Value *v, void *user)
{
    Splitter *sp = user;
    if (v->producer && sp->part_of[v->producer->id] < 0) sp->ready = false;
    return SDX_OK;
}

/* Takes every waiting node of provider `ep` whose inputs are there; nodes come in an order that makes one sweep enough. */
static sdx_status part_take(Splitter *sp, int ep)
{
    Graph *g = sp->s->model->graph;
    TRY_MEM(sdx_arena_grow(&sp->s->arena, sp->parts, sp->n_parts, sp->cap_parts), sp->err);
    int index = sp->n_parts++;
    Part *part = &sp->parts[index];
    *part = (Part){ .part = { .graph = g }, .api = sp->s->providers[ep].api };
    part->part.nodes = sdx_arena_array(&sp->s->arena, Node *, g->n_nodes);
    TRY_MEM(part->part.nodes, sp->err);
    for (Node *n = g->first; n; n = n->next) {
        if (sp->part_of[n->id] >= 0 || n->ep != ep) continue;
        sp->ready = true;
        TRY(each_read(g, n, read_is_ready, sp));
        if (!sp->ready) continue;
        sp->part_of[n->id] = index;
        part->part.nodes[part->part.n_nodes++] = n;
    }
    return SDX_OK;
}

/* The provider of the first node that can run now, -1 when none is left. */
static int next_ep(Splitter *sp)
{
    Graph *g = sp->s->model->graph;
    for (const Node *n = g->first; n; n = n->next) {
        if (sp->part_of[n->id] >= 0) continue;
        sp->ready = true;
        each_read(g, n, read_is_ready, sp);
        if (sp->ready) return n->ep;
    }
    return -1;
}

/* -- wires ---------------------------------------------------------------------------------------------------------- */

static sdx_status wire_add(Session *s, Value *v, Err *err)
{
    if (s->wire_of[v->id] >= 0) return SDX_OK;
    TRY_MEM(sdx_arena_grow(&s->arena, s->wires, s->n_wires, s->cap_wires), err);
    s->wire_of[v->id] = s->n_wires;
    s->wires[s->n_wires++] = v;
    return SDX_OK;
}

/* A value that another part reads is a wire. */
static sdx_status read_crosses(Value *v, void *user)
{
    Splitter *sp = user;
    if (v->producer && sp->part_of[v->producer->id] != sp->part) return wire_add(sp->s, v, sp->err);
    return SDX_OK;
}

typedef struct Marks {
    const Session *s;
    bool *read; /* by wire */
} Marks;

static sdx_status mark_read(Value *v, void *user)
{
    Marks *m = user;
    int w = m->s->wire_of[v->id];
    if (w >= 0) m->read[w] = true;
    return SDX_OK;
}

/* Inputs and outputs of a part, in the order of wires. A part that is the whole graph takes every input, so that runs
 * hand their inputs through as they are. */
static sdx_status part_wires(Splitter *sp, Part *part, int index)
{
    Session *s = sp->s;
    EpPart *p = &part->part;
    Marks m = { s, sdx_arena_array(&sp->tmp, bool, s->n_wires) };
    part->in_wires = sdx_arena_array(&s->arena, int, s->n_wires);
    part->out_wires = sdx_arena_array(&s->arena, int, s->n_wires);
    p->inputs = sdx_arena_array(&s->arena, Value *, s->n_wires);
    p->outputs = sdx_arena_array(&s->arena, Value *, s->n_wires);
    part->by_content = sdx_arena_array(&s->arena, bool, s->n_wires);
    TRY_MEM(m.read && part->in_wires && part->out_wires && p->inputs && p->outputs && part->by_content ? part : NULL,
            sp->err);
    for (int i = 0; i < p->n_nodes; i++) TRY(each_read(p->graph, p->nodes[i], mark_read, &m));
    for (int w = 0; w < s->n_wires; w++) {
        Value *v = s->wires[w];
        if (v->producer && sp->part_of[v->producer->id] == index) {
            part->out_wires[p->n_outputs] = w;
            p->outputs[p->n_outputs++] = v;
        } else if (m.read[w] || (sp->n_parts == 1 && w < s->n_inputs)) {
            part->by_content[p->n_inputs] = v->shape_determining;
            part->in_wires[p->n_inputs] = w;
            p->inputs[p->n_inputs++] = v;
        }
    }
    return SDX_OK;
}

static sdx_status split(Splitter *sp)
{
    Session *s = sp->s;
    Graph *g = s->model->graph;
    sp->part_of = sdx_arena_array(&sp->tmp, int, s->model->next_node_id);
    s->wire_of = sdx_arena_array(&s->arena, int, s->model->n_values);
    s->output_wires = sdx_arena_array(&s->arena, int, g->n_outputs);
    TRY_MEM(sp->part_of && s->wire_of && s->output_wires ? sp : NULL, sp->err);
    memset(sp->part_of, -1, (size_t)s->model->next_node_id * sizeof(int));
    memset(s->wire_of, -1, (size_t)s->model->n_values * sizeof(int));
    int taken = 0;
    for (int ep; (ep = next_ep(sp)) >= 0;) {
        TRY(part_take(sp, ep));
        taken += sp->parts[sp->n_parts - 1].part.n_nodes;
    }
    if (taken != g->n_nodes) return sdx_fail(sp->err, SDX_INTERNAL, "the nodes are not in topological order");
    for (int i = 0; i < s->n_inputs; i++) TRY(wire_add(s, s->inputs[i], sp->err));
    for (int i = 0; i < s->n_overridable; i++) TRY(wire_add(s, s->overridable[i], sp->err));
    for (int o = 0; o < g->n_outputs; o++) {
        s->output_wires[o] = -1;
        if (sdx_value_is_const(g->outputs[o])) continue;
        TRY(wire_add(s, g->outputs[o], sp->err));
        s->output_wires[o] = s->wire_of[g->outputs[o]->id];
    }
    for (sp->part = 0; sp->part < sp->n_parts; sp->part++) {
        const EpPart *p = &sp->parts[sp->part].part;
        for (int i = 0; i < p->n_nodes; i++) TRY(each_read(g, p->nodes[i], read_crosses, sp));
    }
    for (int i = 0; i < sp->n_parts; i++) TRY(part_wires(sp, &sp->parts[i], i));
    return SDX_OK;
}

sdx_status sdx_ses_split(Session *s, Err *err)
{
    Splitter sp = { .s = s, .err = err };
    sdx_arena_init(&sp.tmp, s->alloc, 0);
    sdx_status st = split(&sp);
    sdx_arena_fini(&sp.tmp);
    s->parts = sp.parts;
    s->n_parts = st == SDX_OK ? sp.n_parts : 0;
    return st;
}
