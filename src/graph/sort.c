/* Stable topological order: among the nodes whose inputs are ready, the one that came first comes first. A graph that
 * is in order stays as it is. A node depends on what its nested graphs capture as on its own inputs. */
#include "graph/graph.h"

#include <string.h>

typedef struct Sorter {
    const Model *m;
    int *pos;     /* by node id: place in the old order of its graph */
    int *waiting; /* by node id: edges from nodes not placed yet */
    Node **node;  /* of this graph, old order */
    int *heap;    /* old places of ready nodes */
    int n_heap;
} Sorter;

static void heap_push(Sorter *s, int v)
{
    int i = s->n_heap++;
    for (; i > 0 && s->heap[(i - 1) / 2] > v; i = (i - 1) / 2) s->heap[i] = s->heap[(i - 1) / 2];
    s->heap[i] = v;
}

static int heap_pop(Sorter *s)
{
    int top = s->heap[0], v = s->heap[--s->n_heap], i = 0;
    for (int c; (c = 2 * i + 1) < s->n_heap; i = c) {
        if (c + 1 < s->n_heap && s->heap[c + 1] < s->heap[c]) c++;
        if (s->heap[c] >= v) break;
        s->heap[i] = s->heap[c];
    }
    s->heap[i] = v;
    return top;
}

static bool graph_in_order(const Sorter *s, const Graph *g)
{
    for (const Node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->n_out; i++) {
            const Value *v = n->out[i];
            for (int k = 0; v && k < v->n_uses; k++) {
                const Node *user = sdx_graph_ancestor(g, v->uses[k].node);
                if (user && s->pos[user->id] <= s->pos[n->id]) return false;
            }
        }
    return true;
}

/* Counts (delta 1) or settles (delta -1, pushing nodes that become ready) the edges out of n. */
static void edges_add(Sorter *s, const Graph *g, const Node *n, int delta)
{
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        for (int k = 0; v && k < v->n_uses; k++) {
            const Node *user = sdx_graph_ancestor(g, v->uses[k].node);
            if (!user) continue;
            s->waiting[user->id] += delta;
            if (delta < 0 && s->waiting[user->id] == 0) heap_push(s, s->pos[user->id]);
        }
    }
}

static sdx_status graph_sort(Graph *g, void *user, Err *err)
{
    Sorter *s = user;
    int n_nodes = 0, placed = 0;
    for (Node *n = g->first; n; n = n->next) {
        s->node[n_nodes] = n;
        s->waiting[n->id] = 0;
        s->pos[n->id] = n_nodes++;
    }
    if (graph_in_order(s, g)) return SDX_OK;

    for (Node *n = g->first; n; n = n->next) edges_add(s, g, n, 1);
    s->n_heap = 0;
    for (int i = 0; i < n_nodes; i++)
        if (s->waiting[s->node[i]->id] == 0) heap_push(s, i);
    while (s->n_heap) {
        Node *n = s->node[heap_pop(s)];
        sdx_graph_move_before(n, NULL);
        edges_add(s, g, n, -1);
        placed++;
    }
    if (placed == n_nodes) return SDX_OK;

    const Node *stuck = g->first; /* the placed ones moved behind the others */
    char text[256];
    return sdx_fail(err, SDX_INVALID_MODEL, "%s depends on its own output, through %d nodes",
                    sdx_node_text(stuck, text, sizeof text), n_nodes - placed);
}

sdx_status sdx_model_sort(Model *m, Err *err)
{
    size_t n = (size_t)m->next_node_id + 1;
    Arena tmp;
    sdx_arena_init(&tmp, m->alloc, 0);
    Sorter s = { .m = m };
    s.pos = sdx_arena_array(&tmp, int, n);
    s.waiting = sdx_arena_array(&tmp, int, n);
    s.heap = sdx_arena_array(&tmp, int, n);
    s.node = sdx_arena_array(&tmp, Node *, n);
    sdx_status status = s.pos && s.waiting && s.heap && s.node ? sdx_model_each_graph(m, graph_sort, &s, err)
                                                               : sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    sdx_arena_fini(&tmp);
    return status;
}
