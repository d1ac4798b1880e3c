#include "graph/graph.h"

#include <string.h>

#include "base/size.h"

/* Constants up to this size live in the arena; larger ones get a block of their own, so that arena blocks stay small. */
#define ARENA_TENSOR_MAX ((size_t)64 << 10)

sdx_status sdx_model_create(const Alloc *a, size_t bytes_limit, Model **out, Err *err)
{
    *out = NULL;
    Model *m = sdx_alloc_zero(a, sizeof *m);
    TRY_MEM(m, err);
    m->alloc = a;
    sdx_arena_init(&m->arena, a, bytes_limit);
    m->rewrites_end = &m->rewrites;
    m->syms = sdx_symtab_create(&m->arena);
    if (!m->syms) {
        sdx_model_destroy(m);
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    *out = m;
    return SDX_OK;
}

void sdx_model_destroy(Model *m)
{
    if (!m) return;
    for (int i = m->n_blocks; i-- > 0;) sdx_buf_release(m->blocks[i]);
    for (int i = m->n_owners; i-- > 0;) sdx_buf_release(m->owners[i]);
    sdx_arena_fini(&m->arena);
    sdx_free(m->alloc, m);
}

sdx_status sdx_model_own(Model *m, Buf *b, Err *err)
{
    if (!b) return SDX_OK;
    if (!sdx_arena_grow(&m->arena, m->owners, m->n_owners, m->cap_owners)) {
        sdx_buf_release(b);
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    m->owners[m->n_owners++] = b;
    return SDX_OK;
}

void *sdx_model_tensor_data(Model *m, const Tensor *t)
{
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) return NULL;
    if (nbytes <= ARENA_TENSOR_MAX) return sdx_arena_alloc(&m->arena, nbytes, SDX_ALIGN);
    Buf *b = sdx_buf_create(m->alloc, nbytes);
    if (!b || sdx_model_own(m, b, NULL) != SDX_OK) return NULL;
    return b->data;
}

static bool block_add(Model *m, Buf *b)
{
    if (b && sdx_arena_grow(&m->arena, m->blocks, m->n_blocks, m->cap_blocks)) {
        m->blocks[m->n_blocks++] = b;
        return true;
    }
    sdx_buf_release(b);
    return false;
}

/* The last entry for data, or -1. */
static int block_find(const Model *m, const void *data)
{
    int i = m->n_blocks;
    while (i-- > 0 && m->blocks[i]->data != data) continue;
    return i;
}

void *sdx_model_block_data(Model *m, const Tensor *t)
{
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) return NULL;
    if (nbytes <= ARENA_TENSOR_MAX) return sdx_arena_alloc(&m->arena, nbytes, SDX_ALIGN);
    Buf *b = sdx_buf_create(m->alloc, nbytes);
    return block_add(m, b) ? b->data : NULL;
}

bool sdx_model_block_share(Model *m, const void *data)
{
    int i = block_find(m, data);
    return i < 0 || block_add(m, sdx_buf_retain(m->blocks[i]));
}

void sdx_model_block_drop(Model *m, const void *data)
{
    int i = data ? block_find(m, data) : -1;
    if (i < 0) return;
    sdx_buf_release(m->blocks[i]);
    m->blocks[i] = m->blocks[--m->n_blocks];
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

Graph *sdx_graph_create(Model *m, Graph *parent, Node *owner, const char *name)
{
    if (parent && parent->depth >= SDX_MAX_GRAPH_DEPTH) return NULL;
    Graph *g = sdx_arena_new(&m->arena, Graph);
    if (!g) return NULL;
    g->model = m;
    g->parent = parent;
    g->owner = owner;
    g->depth = parent ? parent->depth + 1 : 0;
    g->name = sdx_arena_strndup(&m->arena, name ? name : "", name ? strlen(name) : 0);
    if (!g->name) return NULL;
    if (!parent && !m->graph) m->graph = g;
    return g;
}

sdx_status sdx_graph_add_input(Graph *g, Value *v, Err *err)
{
    TRY_MEM(sdx_arena_grow(&g->model->arena, g->inputs, g->n_inputs, g->cap_inputs), err);
    g->inputs[g->n_inputs++] = v;
    v->flags |= VALUE_GRAPH_INPUT;
    return SDX_OK;
}

sdx_status sdx_graph_add_output(Graph *g, Value *v, Err *err)
{
    TRY_MEM(sdx_arena_grow(&g->model->arena, g->outputs, g->n_outputs, g->cap_outputs), err);
    g->outputs[g->n_outputs++] = v;
    v->flags |= VALUE_GRAPH_OUTPUT;
    return SDX_OK;
}

bool sdx_graph_contains(const Graph *g, const Graph *x)
{
    while (x && x != g) x = x->parent;
    return x != NULL;
}

Node *sdx_graph_ancestor(const Graph *g, Node *n)
{
    while (n && n->graph != g) n = n->graph->owner;
    return n;
}

static sdx_status graph_each(Graph *g, sdx_status (*fn)(Graph *g, void *user, Err *err), void *user, Err *err)
{
    TRY(fn(g, user, err));
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        for (int i = 0; i < n->n_attrs; i++) {
            const Attr *a = &n->attrs[i];
            if (a->type == ATTR_GRAPH && a->g) TRY(graph_each(a->g, fn, user, err));
            if (a->type != ATTR_GRAPHS) continue;
            for (int64_t k = 0; k < a->n; k++) TRY(graph_each(a->graphs[k], fn, user, err));
        }
    }
    return SDX_OK;
}

sdx_status sdx_model_each_graph(Model *m, sdx_status (*fn)(Graph *g, void *user, Err *err), void *user, Err *err)
{
    return m->graph ? graph_each(m->graph, fn, user, err) : SDX_OK;
}
