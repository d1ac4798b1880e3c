#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

#include "graph/edit.h"

/* -- names: one open-addressing table per model, keyed by graph and name -------------------------------------------- */

static size_t name_hash(const Graph *g, const char *name)
{
    uint64_t h = (uint64_t)(uintptr_t)g * 0x9e3779b97f4a7c15u;             /* 2^64 / golden ratio */
    for (; *name; name++) h = (h ^ (unsigned char)*name) * 0x100000001b3u; /* FNV-1a */
    return (size_t)(h ^ h >> 32);
}

/* The slot of (g, name), or the empty one where it would go. The table has room. */
static Value **name_slot(const Model *m, const Graph *g, const char *name)
{
    size_t mask = (size_t)m->cap_names - 1;
    for (size_t i = name_hash(g, name) & mask;; i = (i + 1) & mask) {
        Value *v = m->names[i];
        if (!v || (v->graph == g && strcmp(v->name, name) == 0)) return &m->names[i];
    }
}

static bool names_reserve(Model *m)
{
    if (m->n_names + m->n_names / 2 < m->cap_names) return true;
    if (m->cap_names > INT32_MAX / 2) return false;
    Value **old = m->names;
    int n_old = m->cap_names;
    int cap = n_old ? n_old * 2 : 64;
    Value **fresh = sdx_arena_array(&m->arena, Value *, cap);
    if (!fresh) return false;
    m->names = fresh;
    m->cap_names = cap;
    for (int i = 0; i < n_old; i++)
        if (old[i]) *name_slot(m, old[i]->graph, old[i]->name) = old[i];
    return true;
}

Value *sdx_graph_find(const Graph *g, const char *name)
{
    const Model *m = g->model;
    if (!m->cap_names || !name) return NULL;
    Value *v = *name_slot(m, g, name);
    return v && m->values[v->id] == v ? v : NULL; /* names of removed values stay taken */
}

/* Is the name taken in g or in a graph around it? */
static bool name_visible(const Graph *g, const char *name)
{
    for (; g; g = g->parent)
        if (*name_slot(g->model, g, name)) return true;
    return false;
}

/* A name nobody has: `base`_N, the counter being the model's. */
static const char *name_make(Graph *g, const char *base)
{
    Model *m = g->model;
    const char *name;
    if (!base || !*base) base = "v";
    do name = sdx_arena_printf(&m->arena, "%s_%d", base, m->next_name++);
    while (name && name_visible(g, name));
    return name;
}

bool sdx_value_rename(Value *v, Graph *g, const char *name)
{
    Model *m = g->model;
    if (!names_reserve(m)) return false;
    Value **slot = name_slot(m, g, name);
    if (*slot) {
        name = name_make(g, name);
        if (!name) return false;
        slot = name_slot(m, g, name);
    }
    v->graph = g;
    v->name = name;
    *slot = v;
    m->n_names++;
    return true;
}

/* -- values -------------------------------------------------------------------------------------------------------- */

Value *sdx_value_create(Graph *g, const char *name)
{
    Model *m = g->model;
    if (!sdx_arena_grow(&m->arena, m->values, m->n_values, m->cap_values)) return NULL;
    if (!names_reserve(m)) return NULL;
    Value *v = sdx_arena_new(&m->arena, Value);
    if (!v) return NULL;
    if (name && *name && !*name_slot(m, g, name))
        name = sdx_arena_strndup(&m->arena, name, strlen(name));
    else
        name = name_make(g, name);
    if (!name || !sdx_value_rename(v, g, name)) return NULL;
    v->id = m->n_values;
    v->type.shape.rank = SDX_RANK_UNKNOWN;
    m->values[m->n_values++] = v;
    return v;
}

Value *sdx_value_constant(Graph *g, const char *name, const Tensor *t)
{
    Value *v = sdx_value_create(g, name);
    Tensor *copy = v ? sdx_arena_new(&g->model->arena, Tensor) : NULL;
    if (!copy) return NULL;
    *copy = *t;
    v->constant = copy;
    v->flags = VALUE_INITIALIZER;
    v->type = (Type){ .kind = TYPE_TENSOR, .elem = t->dtype, .shape.rank = t->rank };
    for (int i = 0; i < t->rank; i++) v->type.shape.dims[i] = t->dims[i];
    return v;
}

void sdx_value_remove(Value *v)
{
    Model *m = v->graph->model;
    m->values[v->id] = NULL;
    if (v->constant) sdx_model_block_drop(m, v->constant->data);
    v->producer = NULL;
    v->n_uses = 0;
}

bool sdx_value_is_const(const Value *v) { return v->constant && !(v->flags & VALUE_OVERRIDABLE); }

/* -- use lists ----------------------------------------------------------------------------------------------------- */

bool sdx_use_reserve(Value *v)
{
    return !v || sdx_arena_grow(&v->graph->model->arena, v->uses, v->n_uses, v->cap_uses);
}

void sdx_use_add(Value *v, Node *n, int index)
{
    if (!v) return;
    v->uses[v->n_uses++] = (Use){ n, index };
    if (n->graph != v->graph) v->flags |= VALUE_CAPTURED;
}

void sdx_use_drop(Value *v, const Node *n, int index)
{
    if (!v) return;
    bool captured = false;
    for (int i = 0; i < v->n_uses; i++) {
        if (v->uses[i].node == n && v->uses[i].index == index)
            v->uses[i--] = v->uses[--v->n_uses];
        else
            captured |= v->uses[i].node->graph != v->graph;
    }
    if (!captured) v->flags &= ~(unsigned)VALUE_CAPTURED;
}

/* -- replacing ----------------------------------------------------------------------------------------------------- */

bool sdx_value_can_replace(const Value *from, const Value *to)
{
    if (!(from->flags & VALUE_GRAPH_OUTPUT)) return true;
    if (from->graph != to->graph) return false;
    return from->graph->parent || !(to->flags & (VALUE_GRAPH_INPUT | VALUE_INITIALIZER | VALUE_GRAPH_OUTPUT));
}

static void value_exchange_names(Value *a, Value *b)
{
    const Model *m = a->graph->model;
    Value **sa = name_slot(m, a->graph, a->name), **sb = name_slot(m, b->graph, b->name);
    const char *name = a->name;
    a->name = b->name;
    b->name = name;
    *sa = b;
    *sb = a;
}

bool sdx_value_replace(Value *from, Value *to)
{
    Model *m = from->graph->model;
    if (from == to) return true;
    if (!sdx_value_can_replace(from, to)) return false;
    if (!from->n_uses && !(from->flags & VALUE_GRAPH_OUTPUT)) return true;
    while (to->cap_uses - to->n_uses < from->n_uses) {
        int had = to->cap_uses;
        if (!sdx_arena_grow_(&m->arena, (void **)&to->uses, (size_t)to->n_uses, &to->cap_uses, sizeof *to->uses))
            return false;
        if (to->cap_uses <= had) return false;
    }
    for (int i = 0; i < from->n_uses; i++) {
        Use u = from->uses[i];
        u.node->in[u.index] = to;
        sdx_use_add(to, u.node, u.index);
    }
    from->n_uses = 0;
    from->flags &= ~(unsigned)VALUE_CAPTURED;
    if (from->flags & VALUE_GRAPH_OUTPUT) {
        Graph *g = from->graph;
        for (int i = 0; i < g->n_outputs; i++)
            if (g->outputs[i] == from) g->outputs[i] = to;
        from->flags &= ~(unsigned)VALUE_GRAPH_OUTPUT;
        to->flags |= VALUE_GRAPH_OUTPUT;
        if (!g->parent) value_exchange_names(from, to);
    }
    return true;
}
