#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

typedef struct Verify {
    const Model *m;
    int *placed; /* by node id: 1 + place in the graph, 0 when not linked */
    int at;
} Verify;

static sdx_status breach(const Graph *g, const Node *n, Err *err, const char *fmt, ...) SDX_PRINTF(4, 5);
static sdx_status breach(const Graph *g, const Node *n, Err *err, const char *fmt, ...)
{
    char text[256] = "", what[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    if (n) sdx_node_text(n, text, sizeof text);
    return sdx_fail(err, SDX_INTERNAL, "graph `%s`: %s%s%s", g->name, text, n ? ": " : "", what);
}

static bool value_lives(const Verify *c, const Value *v)
{
    return v->id >= 0 && v->id < c->m->n_values && c->m->values[v->id] == v;
}

static bool use_listed(const Value *v, const Node *n, int index)
{
    for (int i = 0; i < v->n_uses; i++)
        if (v->uses[i].node == n && v->uses[i].index == index) return true;
    return false;
}

static sdx_status input_verify(const Verify *c, const Graph *g, const Node *n, int i, Err *err)
{
    const Value *v = n->in[i];
    if (!value_lives(c, v)) return breach(g, n, err, "input %d was removed", i);
    if (!sdx_graph_contains(v->graph, g)) return breach(g, n, err, "input %d `%s` is out of sight", i, v->name);
    if (v->n_uses < 64 && !use_listed(v, n, i))
        return breach(g, n, err, "input %d `%s` does not list this use", i, v->name);
    if (!v->producer) {
        if (!v->constant && !(v->flags & VALUE_GRAPH_INPUT))
            return breach(g, n, err, "input %d `%s` comes from nowhere", i, v->name);
        return SDX_OK;
    }
    const Node *here = n;
    while (here && here->graph != v->graph) here = here->graph->owner;
    if (!here || !c->placed[v->producer->id] || c->placed[v->producer->id] >= c->placed[here->id])
        return breach(g, n, err, "input %d `%s` is not computed before", i, v->name);
    return SDX_OK;
}

static sdx_status output_verify(const Verify *c, const Graph *g, const Node *n, int i, Err *err)
{
    const Value *v = n->out[i];
    if (!value_lives(c, v)) return breach(g, n, err, "output %d was removed", i);
    if (v->graph != g) return breach(g, n, err, "output %d `%s` belongs to another graph", i, v->name);
    if (v->producer != n || v->producer_index != i)
        return breach(g, n, err, "output %d `%s` has another producer", i, v->name);
    if (v->flags & (VALUE_GRAPH_INPUT | VALUE_INITIALIZER))
        return breach(g, n, err, "output %d `%s` is a graph input or initializer", i, v->name);
    return SDX_OK;
}

static sdx_status graph_verify(Graph *g, void *user, Err *err)
{
    Verify *c = user;
    int count = 0;
    const Node *prev = NULL;
    for (const Node *n = g->first; n; prev = n, n = n->next, count++) {
        if (n->prev != prev || n->graph != g) return breach(g, n, err, "the list of nodes is broken");
        if (n->id < 0 || n->id >= c->m->next_node_id) return breach(g, n, err, "id %d is out of range", n->id);
        c->placed[n->id] = ++c->at; /* parents come first: a nested graph's nodes are never compared with these */
    }
    if (g->last != prev || g->n_nodes != count) return breach(g, NULL, err, "the list of nodes is broken at its end");
    for (const Node *n = g->first; n; n = n->next) {
        if (n->n_in && !n->in[n->n_in - 1]) return breach(g, n, err, "the last input is absent");
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i]) TRY(input_verify(c, g, n, i, err));
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i]) TRY(output_verify(c, g, n, i, err));
        for (int i = 0; i < n->n_attrs; i++) {
            const Attr *a = &n->attrs[i];
            if (a->type == ATTR_GRAPH && (!a->g || a->g->parent != g || a->g->owner != n))
                return breach(g, n, err, "attribute %s: the nested graph does not know its place", a->name);
        }
    }
    for (int i = 0; i < g->n_inputs; i++) {
        const Value *v = g->inputs[i];
        if (!value_lives(c, v) || v->graph != g || v->producer || !(v->flags & VALUE_GRAPH_INPUT))
            return breach(g, NULL, err, "input %d `%s` is no graph input", i, v->name);
    }
    for (int i = 0; i < g->n_outputs; i++) {
        const Value *v = g->outputs[i];
        if (!value_lives(c, v) || v->graph != g || !(v->flags & VALUE_GRAPH_OUTPUT))
            return breach(g, NULL, err, "output %d `%s` is not a value of the graph", i, v->name);
        if (!v->producer && !v->constant && !(v->flags & VALUE_GRAPH_INPUT))
            return breach(g, NULL, err, "output %d `%s` comes from nowhere", i, v->name);
    }
    return SDX_OK;
}

static sdx_status uses_verify(const Verify *c, Err *err)
{
    for (int i = 0; i < c->m->n_values; i++) {
        const Value *v = c->m->values[i];
        if (!v) continue;
        if (v->id != i || !v->graph) return sdx_fail(err, SDX_INTERNAL, "value %d is not at its place", i);
        bool captured = false;
        for (int k = 0; k < v->n_uses; k++) {
            const Use u = v->uses[k];
            if (!c->placed[u.node->id] || u.index >= u.node->n_in || u.node->in[u.index] != v)
                return breach(v->graph, u.node, err, "value `%s` lists a use that is none", v->name);
            captured |= u.node->graph != v->graph;
        }
        if (captured != !!(v->flags & VALUE_CAPTURED))
            return breach(v->graph, NULL, err, "value `%s`: wrong capture flag", v->name);
    }
    return SDX_OK;
}

sdx_status sdx_model_verify(const Model *m, Err *err)
{
    if (!m->graph) return sdx_fail(err, SDX_INTERNAL, "the model has no graph");
    int *placed = sdx_alloc_zero(m->alloc, ((size_t)m->next_node_id + 1) * sizeof *placed);
    TRY_MEM(placed, err);
    Verify c = { .m = m, .placed = placed };
    sdx_status status = sdx_model_each_graph((Model *)m, graph_verify, &c, err); /* graph_verify changes nothing */
    if (status == SDX_OK) status = uses_verify(&c, err);
    sdx_free(m->alloc, placed);
    return status;
}
