#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/edit.h"

static int trim(Value *const *v, int n)
{
    while (n > 0 && !v[n - 1]) n--;
    return n;
}

static void node_link(Node *n, Node *before)
{
    Graph *g = n->graph;
    n->next = before;
    n->prev = before ? before->prev : g->last;
    *(n->prev ? &n->prev->next : &g->first) = n;
    *(before ? &before->prev : &g->last) = n;
    g->n_nodes++;
}

static void node_unlink(Node *n)
{
    Graph *g = n->graph;
    *(n->prev ? &n->prev->next : &g->first) = n->next;
    *(n->next ? &n->next->prev : &g->last) = n->prev;
    g->n_nodes--;
}

Node *sdx_node_create(Graph *g, Node *before, const OpDef *def, const char *name, Value *const *in, int n_in,
                      Value *const *out, int n_out)
{
    Arena *a = &g->model->arena;
    Node *n = sdx_arena_new(a, Node);
    if (!n) return NULL;
    n->name = name ? sdx_arena_strndup(a, name, strlen(name)) : "";
    n->out = sdx_arena_array(a, Value *, n_out);
    if (!n->name || !n->out) return NULL;
    n->op_type = n->domain = "";
    n->def = def;
    n->graph = g;
    n->ep = -1;
    if (!sdx_node_set_inputs(n, in, n_in)) return NULL;
    n->n_out = n_out;
    for (int i = 0; i < n_out; i++) {
        n->out[i] = out[i];
        if (!out[i]) continue;
        out[i]->producer = n;
        out[i]->producer_index = i;
    }
    n->id = g->model->next_node_id++;
    node_link(n, before);
    return n;
}

/* Takes everything out of a graph that goes away with its node. */
static void graph_clear(Graph *g)
{
    while (g->last) {
        Node *n = g->last;
        for (int i = 0; i < n->n_out; i++)
            if (n->out[i]) n->out[i]->flags &= ~(unsigned)VALUE_GRAPH_OUTPUT;
        sdx_node_remove(n);
    }
    g->n_inputs = g->n_outputs = 0;
}

static void attr_clear(const Attr *a)
{
    if (a->type == ATTR_GRAPH && a->g) graph_clear(a->g);
    if (a->type != ATTR_GRAPHS) return;
    for (int64_t k = 0; k < a->n; k++) graph_clear(a->graphs[k]);
}

void sdx_node_remove(Node *n)
{
    for (int i = 0; i < n->n_attrs; i++) attr_clear(&n->attrs[i]);
    for (int i = 0; i < n->n_in; i++) sdx_use_drop(n->in[i], n, i);
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) sdx_value_remove(n->out[i]);
    n->n_in = n->n_out = n->n_attrs = 0;
    node_unlink(n);
    n->graph = NULL;
}

bool sdx_node_set_inputs(Node *n, Value *const *in, int n_in)
{
    n_in = trim(in, n_in);
    Value **list = sdx_arena_array(&n->graph->model->arena, Value *, n_in);
    if (!list) return false;
    for (int i = 0; i < n_in; i++) list[i] = in[i];
    for (int i = 0; i < n->n_in; i++) sdx_use_drop(n->in[i], n, i);
    n->n_in = 0;
    n->in = list;
    for (int i = 0; i < n_in; i++) {
        if (!sdx_use_reserve(list[i])) return false;
        sdx_use_add(list[i], n, i);
        n->n_in = i + 1;
    }
    return true;
}

bool sdx_node_set_input(Node *n, int i, Value *v)
{
    if (i < n->n_in) {
        if (!sdx_use_reserve(v)) return false;
        sdx_use_drop(n->in[i], n, i);
        n->in[i] = v;
        sdx_use_add(v, n, i);
        n->n_in = trim(n->in, n->n_in);
        return true;
    }
    if (!v) return true;
    Value **list = sdx_arena_array(&n->graph->model->arena, Value *, i + 1);
    if (!list || !sdx_use_reserve(v)) return false;
    for (int k = 0; k < n->n_in; k++) list[k] = n->in[k];
    list[i] = v;
    n->in = list;
    n->n_in = i + 1;
    sdx_use_add(v, n, i);
    return true;
}

bool sdx_node_set_output(Node *n, int i, Value *v)
{
    if (i >= n->n_out) {
        Value **list = sdx_arena_array(&n->graph->model->arena, Value *, i + 1);
        if (!list) return false;
        for (int k = 0; k < n->n_out; k++) list[k] = n->out[k];
        n->out = list;
        n->n_out = i + 1;
    }
    if (n->out[i]) n->out[i]->producer = NULL;
    n->out[i] = v;
    if (!v) return true;
    v->producer = n;
    v->producer_index = i;
    return true;
}

void sdx_graph_move_before(Node *n, Node *before)
{
    if (n == before) return;
    node_unlink(n);
    node_link(n, before);
}

char *sdx_node_text(const Node *n, char *buf, size_t size)
{
    const char *name = n->name;
    for (int i = 0; i < n->n_out && !*name; i++)
        if (n->out[i]) name = n->out[i]->name;
    bool plain = !n->domain || !*n->domain;
    snprintf(buf, size, "node `%s` (%s%s%s)", name, plain ? "" : n->domain, plain ? "" : ".", n->op_type);
    return buf;
}

/* -- inlining ------------------------------------------------------------------------------------------------------ */

/* Values of the model know their graph; those of body that nodes do not produce are its inputs and initializers. */
static bool values_move(Graph *body, Graph *to)
{
    Model *m = body->model;
    for (int i = 0; i < m->n_values; i++) {
        Value *v = m->values[i];
        if (!v || v->graph != body) continue;
        if (!sdx_value_rename(v, to, v->name)) return false;
    }
    return true;
}

/* Which values some nested graph reads changes when nodes move outwards. */
static void captures_recount(Value *v)
{
    v->flags &= ~(unsigned)VALUE_CAPTURED;
    for (int i = 0; i < v->n_uses; i++)
        if (v->uses[i].node->graph != v->graph) v->flags |= VALUE_CAPTURED;
}

/* The graphs of a node that moved hang below another graph. */
static void graph_rehang(Graph *g, Graph *parent)
{
    g->parent = parent;
    g->depth = parent->depth + 1;
    for (Node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->n_attrs; i++) {
            const Attr *a = &n->attrs[i];
            if (a->type == ATTR_GRAPH && a->g) graph_rehang(a->g, g);
            for (int64_t k = 0; a->type == ATTR_GRAPHS && k < a->n; k++) graph_rehang(a->graphs[k], g);
        }
}

bool sdx_graph_inline(Graph *body, Node *before, Value *const *args)
{
    Graph *to = body->parent;
    for (int i = 0; i < body->n_inputs; i++) {
        Value *v = body->inputs[i];
        for (int k = 0; k < body->n_outputs; k++)
            if (body->outputs[k] == v) body->outputs[k] = args[i];
        v->flags &= ~(unsigned)(VALUE_GRAPH_INPUT | VALUE_GRAPH_OUTPUT);
        if (!sdx_value_replace(v, args[i])) return false;
        sdx_value_remove(v);
    }
    body->n_inputs = 0;
    if (!values_move(body, to)) return false;
    for (int i = 0; i < body->n_outputs; i++)
        if (body->outputs[i]->graph == to && body->outputs[i]->producer) /* an output of body, but not of `to` */
            body->outputs[i]->flags &= ~(unsigned)VALUE_GRAPH_OUTPUT;
    while (body->first) {
        Node *n = body->first;
        node_unlink(n);
        n->graph = to;
        node_link(n, before);
        for (int i = 0; i < n->n_attrs; i++) {
            const Attr *a = &n->attrs[i];
            if (a->type == ATTR_GRAPH && a->g) graph_rehang(a->g, to);
            for (int64_t k = 0; a->type == ATTR_GRAPHS && k < a->n; k++) graph_rehang(a->graphs[k], to);
        }
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i]) captures_recount(n->in[i]);
    }
    return true;
}
