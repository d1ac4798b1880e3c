/* Gradient nodes to ordinary nodes: reverse differentiation.
 *
 * xs and zs cut the graph above y: what lies between is the forward graph. Where a Gradient node gives other values than
 * the named tensors have, the forward nodes that depend on them are copied. Then the way back: from y, whose adjoint is 1
 * everywhere (the derivative of a tensor is that of its sum), each node's rule hands shares to its inputs, and the shares of
 * a tensor are added. A tensor that is neither in xs nor computed from one counts as a constant. */
#include <string.h>

#include "ops/infer.h"
#include "train/tape.h"
#include "train/train.h"

static const struct {
    const char *op; /* of ai.onnx */
    void (*fn)(Vjp *g);
} rules[] = {
#define VJP(op, fn) { #op, sdx_back_##fn },
#include "train/vjp.def"
#undef VJP
};

/* The forward graph while it is being found. */
typedef struct Forward {
    Tape *t;
    Value *const *named; /* what xs and zs name */
    Value *y;
    int n_xs, n_named;
    int n_values, n_node_ids; /* of the model when the search begins */
    bool *is_named;           /* by value id */
    unsigned char *state;     /* by node id: 0 new, 1 entered, 2 listed */
    Node **nodes;             /* in order */
    int n_nodes;
    Value **stand_in; /* by value id: what is read instead; NULL: the value itself */
} Forward;

static sdx_status gradient_fail(const Node *n, sdx_status code, Err *err, const char *what, const char *name)
{
    char text[256];
    return sdx_fail(err, code, "%s: `%s` %s", sdx_node_text(n, text, sizeof text), name, what);
}

/* -- what a node reads --------------------------------------------------------------------------------------------- */

typedef struct Reads {
    Value **v;
    int n, cap;
} Reads;

static sdx_status reads_add(Tape *t, Reads *r, Value *v)
{
    if (!v) return SDX_OK;
    TRY_MEM(sdx_arena_grow(&t->tmp, r->v, r->n, r->cap), &t->err);
    r->v[r->n++] = v;
    return SDX_OK;
}

/* The graphs in n's attributes. */
static int bodies(const Node *n, Graph *const **list, int i)
{
    const Attr *a = &n->attrs[i];
    *list = a->type == ATTR_GRAPHS ? a->graphs : &a->g;
    return a->type == ATTR_GRAPHS ? (int)a->n : a->type == ATTR_GRAPH && a->g;
}

static sdx_status reads_captured(Tape *t, Reads *r, const Graph *outermost, const Graph *g)
{
    for (const Node *n = g->first; n; n = n->next) {
        Graph *const *list;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i] && !sdx_graph_contains(outermost, n->in[i]->graph)) TRY(reads_add(t, r, n->in[i]));
        for (int i = 0; i < n->n_attrs; i++)
            for (int k = bodies(n, &list, i); k-- > 0;) TRY(reads_captured(t, r, outermost, list[k]));
    }
    return SDX_OK;
}

/* Inputs, and what nested graphs read from outside. */
static sdx_status reads_of(Tape *t, const Node *n, Reads *r)
{
    Graph *const *list;
    *r = (Reads){ .v = n->in, .n = n->n_in, .cap = n->n_in };
    bool captures = false;
    for (int i = 0; i < n->n_attrs && !captures; i++) captures = bodies(n, &list, i) > 0;
    if (!captures) return SDX_OK;
    *r = (Reads){ 0 };
    for (int i = 0; i < n->n_in; i++) TRY(reads_add(t, r, n->in[i]));
    for (int i = 0; i < n->n_attrs; i++)
        for (int k = bodies(n, &list, i); k-- > 0;) TRY(reads_captured(t, r, list[k], list[k]));
    return SDX_OK;
}

static bool has_bodies(const Node *n)
{
    Graph *const *list;
    for (int i = 0; i < n->n_attrs; i++)
        if (bodies(n, &list, i) > 0) return true;
    return false;
}

/* -- finding the forward graph ------------------------------------------------------------------------------------- */

typedef struct Step {
    Node *n;
    Reads reads;
    int next;
} Step;

/* Lists the nodes that v is computed from, without going beyond named tensors: inputs before readers. */
static sdx_status forward_walk(Forward *f, const Value *v)
{
    Tape *t = f->t;
    Step *stack = NULL;
    int depth = 0, cap = 0;
    Node *enter = f->is_named[v->id] ? NULL : v->producer;
    for (;;) {
        if (enter && !f->state[enter->id]) {
            f->state[enter->id] = 1;
            TRY_MEM(sdx_arena_grow(&t->tmp, stack, depth, cap), &t->err);
            stack[depth] = (Step){ .n = enter };
            TRY(reads_of(t, enter, &stack[depth++].reads));
        }
        if (!depth) return SDX_OK;
        Step *s = &stack[depth - 1];
        enter = NULL;
        if (s->next < s->reads.n) {
            const Value *x = s->reads.v[s->next++];
            if (x && !f->is_named[x->id]) enter = x->producer;
            continue;
        }
        f->state[s->n->id] = 2;
        f->nodes[f->n_nodes++] = s->n;
        depth--;
    }
}

/* xs and zs are independent: none is computed from another. */
static sdx_status names_check(Forward *f)
{
    Tape *t = f->t;
    for (int i = 0; i < f->n_named; i++) {
        Value *v = f->named[i];
        if (!v->producer) continue;
        int from = f->n_nodes;
        f->is_named[v->id] = false;
        TRY(forward_walk(f, v));
        f->is_named[v->id] = true;
        for (int k = from; k < f->n_nodes; k++) {
            Reads r;
            TRY(reads_of(t, f->nodes[k], &r));
            for (int j = 0; j < r.n; j++)
                if (r.v[j] && f->is_named[r.v[j]->id])
                    return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err,
                                         "is computed from another tensor of xs and zs, which have to be independent",
                                         v->name);
        }
    }
    memset(f->state, 0, (size_t)f->n_node_ids);
    f->n_nodes = 0;
    return SDX_OK;
}

static sdx_status forward_find(Forward *f)
{
    Tape *t = f->t;
    f->n_values = t->m->n_values;
    f->n_node_ids = t->m->next_node_id;
    f->is_named = sdx_arena_array(&t->tmp, bool, f->n_values);
    f->state = sdx_arena_array(&t->tmp, unsigned char, f->n_node_ids);
    f->nodes = sdx_arena_array(&t->tmp, Node *, f->n_node_ids);
    f->stand_in = sdx_arena_array(&t->tmp, Value *, f->n_values);
    TRY_MEM(f->is_named && f->state && f->nodes && f->stand_in ? f : NULL, &t->err);
    for (int i = 0; i < f->n_named; i++) {
        if (f->is_named[f->named[i]->id])
            return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err, "occurs twice in xs and zs", f->named[i]->name);
        f->is_named[f->named[i]->id] = true;
    }
    TRY(names_check(f));
    return forward_walk(f, f->y);
}

/* -- other values -------------------------------------------------------------------------------------------------- */

static Value *stand_in(const Forward *f, Value *v)
{
    return v && v->id < f->n_values && f->stand_in[v->id] ? f->stand_in[v->id] : v;
}

static sdx_status node_copy(Forward *f, Node **slot)
{
    Tape *t = f->t;
    const Node *n = *slot;
    Graph *g = t->at->graph;
    if (has_bodies(n))
        return gradient_fail(n, SDX_UNSUPPORTED, &t->err,
                             "is needed at other values than it has, but nodes with nested graphs are not copied",
                             f->y->name);
    Value **to = sdx_arena_array(&t->tmp, Value *, n->n_out), **from = sdx_arena_array(&t->tmp, Value *, n->n_in);
    Attr *attrs = sdx_arena_array(&t->m->arena, Attr, n->n_attrs);
    TRY_MEM(to && from && attrs ? n : NULL, &t->err);
    for (int i = 0; i < n->n_in; i++) from[i] = stand_in(f, n->in[i]);
    for (int i = 0; i < n->n_attrs; i++) attrs[i] = n->attrs[i];
    for (int i = 0; i < n->n_out; i++) {
        if (!n->out[i]) continue;
        TRY_MEM(to[i] = sdx_value_create(g, NULL), &t->err);
        f->stand_in[n->out[i]->id] = to[i];
    }
    Node *copy = sdx_node_create(g, t->at, n->def, n->name, from, n->n_in, to, n->n_out);
    TRY_MEM(copy, &t->err);
    copy->op_type = n->op_type;
    copy->domain = n->domain;
    copy->attrs = attrs;
    copy->n_attrs = n->n_attrs;
    *slot = copy;
    TRY(sdx_node_parse(copy, &t->err));
    return sdx_model_infer_node(t->m, copy, &t->err);
}

/* Where the value given for a name is another tensor than the named one, what depends on it is computed anew. */
static sdx_status forward_copy(Forward *f)
{
    Tape *t = f->t;
    for (int i = 0; i < f->n_named; i++) {
        Value *at = t->at->in[i], *own;
        if (at == f->named[i]) continue;
        /* A tensor of its own: the same value may be given for two names. */
        TRY_MEM(own = sdx_value_create(t->at->graph, NULL), &t->err);
        Node *n = sdx_node_make(t->at->graph, t->at, "", "Identity", &at, 1, &own, 1, &t->err);
        if (!n) return (sdx_status)t->err.code;
        TRY(sdx_model_infer_node(t->m, n, &t->err));
        f->stand_in[f->named[i]->id] = own;
    }
    for (int i = 0; i < f->n_nodes; i++) {
        Reads r;
        bool other = false;
        TRY(reads_of(t, f->nodes[i], &r));
        for (int k = 0; k < r.n && !other; k++) other = stand_in(f, r.v[k]) != r.v[k];
        if (other) TRY(node_copy(f, &f->nodes[i]));
    }
    return SDX_OK;
}

/* -- the way back -------------------------------------------------------------------------------------------------- */

static bool is_float(const Value *v) { return v->type.kind == TYPE_TENSOR && sdx_dtype_in(v->type.elem, TS_FLTB); }

void sdx_tape_add(Tape *t, Value *v, Value *d)
{
    Vjp g = { .tape = t };
    Value **sum = &t->adjoint[v->id];
    *sum = *sum ? add(&g, *sum, d) : d;
}

/* Room for what is known of all values that there are now. */
static sdx_status tape_grow(Tape *t)
{
    int n = t->m->n_values;
    bool *active = sdx_arena_array(&t->tmp, bool, n);
    Value **adjoint = sdx_arena_array(&t->tmp, Value *, n);
    TRY_MEM(active && adjoint ? t : NULL, &t->err);
    if (t->n_values) memcpy(active, t->active, (size_t)t->n_values * sizeof *active);
    if (t->n_values) memcpy(adjoint, t->adjoint, (size_t)t->n_values * sizeof(Value *));
    t->active = active;
    t->adjoint = adjoint;
    t->n_values = n;
    return SDX_OK;
}

/* Which tensors depend on xs: the outputs of n, if an input does. */
static sdx_status node_activate(Tape *t, const Node *n)
{
    Reads r;
    bool any = false;
    TRY(reads_of(t, n, &r));
    for (int k = 0; k < r.n && !any; k++) any = r.v[k] && t->active[r.v[k]->id];
    /* Sequences and the like carry derivatives too; their nodes have no rules, and say so. */
    for (int k = 0; k < n->n_out && any; k++)
        if (n->out[k] && (is_float(n->out[k]) || n->out[k]->type.kind != TYPE_TENSOR)) t->active[n->out[k]->id] = true;
    return SDX_OK;
}

static sdx_status node_back(Tape *t, Node *n)
{
    bool any = false, wanted = false;
    char text[256];
    Value **dy = sdx_arena_array(&t->tmp, Value *, n->n_out);
    Reads r;
    TRY_MEM(dy, &t->err);
    for (int i = 0; i < n->n_out; i++) {
        dy[i] = n->out[i] ? t->adjoint[n->out[i]->id] : NULL;
        any |= dy[i] != NULL;
    }
    if (!any) return SDX_OK;
    TRY(reads_of(t, n, &r));
    for (int i = 0; i < r.n && !wanted; i++) wanted = r.v[i] && t->active[r.v[i]->id];
    if (!wanted) return SDX_OK;
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !*n->domain; i++) {
        if (strcmp(rules[i].op, n->op_type) != 0) continue;
        rules[i].fn(&(Vjp){ .tape = t, .n = n, .dy = dy });
        return (sdx_status)t->err.code;
    }
    return sdx_fail(&t->err, SDX_UNSUPPORTED, "%s: there is no rule for the derivative of this operator",
                    sdx_node_text(n, text, sizeof text));
}

Node *sdx_vjp_mark(const Vjp *g) { return g->tape->at->prev; }

static sdx_status through(Vjp *g, Node *before, Value *const *y)
{
    Tape *t = g->tape;
    int n = 0;
    Node *first = before ? before->next : t->at->graph->first;
    TRY(tape_grow(t));
    for (Node *k = first; k != t->at; k = k->next, n++) TRY(node_activate(t, k));
    Node **nodes = sdx_arena_array(&t->tmp, Node *, n);
    TRY_MEM(nodes, &t->err);
    n = 0;
    for (Node *k = first; k != t->at; k = k->next) nodes[n++] = k;
    for (int o = 0; o < g->n->n_out; o++)
        if (g->dy[o]) sdx_tape_add(t, y[o], g->dy[o]);
    while (n-- > 0) TRY(node_back(t, nodes[n]));
    return SDX_OK;
}

void sdx_vjp_through(Vjp *g, Node *before, Value *const *y)
{
    if (g->tape->err.code == SDX_OK) through(g, before, y); /* the tape keeps the failure */
}

/* The Gradient node's outputs are the adjoints of xs. */
static sdx_status tape_finish(const Forward *f)
{
    Tape *t = f->t;
    Vjp g = { .tape = t };
    for (int i = 0; i < t->at->n_out; i++) {
        Value *to = t->at->out[i], *x = stand_in(f, f->named[i]);
        if (!to) continue;
        Value *d = t->adjoint[x->id] ? t->adjoint[x->id] : sdx_vjp_fill_like(&g, 0, x);
        if (!d) return (sdx_status)t->err.code;
        bool freed = sdx_node_set_output(t->at, i, NULL);
        TRY_MEM(freed ? t : NULL, &t->err);
        Node *n = sdx_node_make(t->at->graph, t->at, "", "Identity", &d, 1, &to, 1, &t->err);
        if (!n) return (sdx_status)t->err.code;
        n->name = t->at->name;
        TRY(sdx_model_infer_node(t->m, n, &t->err));
    }
    sdx_node_remove(t->at);
    return SDX_OK;
}

/* -- one Gradient node --------------------------------------------------------------------------------------------- */

static sdx_status types_check(const Forward *f)
{
    Tape *t = f->t;
    for (int i = 0; i < f->n_named; i++) {
        const Value *v = f->named[i], *at = t->at->in[i];
        if (!v || !at) return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err, "is absent", "an input");
        if (v->type.kind != TYPE_TENSOR || v->type.elem != at->type.elem)
            return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err, "and the value given for it differ in type",
                                 v->name);
        if (i < f->n_xs && !is_float(v))
            return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err,
                                 "is in xs, but derivatives exist for tensors of floats only", v->name);
    }
    if (is_float(f->y)) return SDX_OK;
    return gradient_fail(t->at, SDX_INVALID_MODEL, &t->err, "is y, but not a tensor of floats", f->y->name);
}

static sdx_status tape_run(Tape *t)
{
    const Attr *xs = sdx_node_attr(t->at, "xs");
    int n = (t->at->n_in - 1) / 2;
    Forward f = { .t = t, .named = t->at->in + n, .y = t->at->in[2 * n], .n_xs = (int)xs->n, .n_named = n };
    Vjp g = { .tape = t };
    TRY(types_check(&f));
    TRY(forward_find(&f));
    TRY(forward_copy(&f));
    TRY(tape_grow(t));
    for (int i = 0; i < f.n_xs; i++) t->active[stand_in(&f, f.named[i])->id] = true;
    for (int i = 0; i < f.n_nodes; i++) TRY(node_activate(t, f.nodes[i]));
    Value *y = stand_in(&f, f.y);
    if (t->active[y->id]) t->adjoint[y->id] = sdx_vjp_fill_like(&g, 1, y);
    for (int i = f.n_nodes; i-- > 0;) TRY(node_back(t, f.nodes[i]));
    if (t->err.code != SDX_OK) return (sdx_status)t->err.code;
    return tape_finish(&f);
}

typedef struct Expansion {
    Model *m;
    int64_t max_nodes;
    bool found;
} Expansion;

static sdx_status node_expand(const Expansion *e, Node *n, Err *err)
{
    Tape t = { .m = e->m, .at = n, .max_nodes = e->max_nodes };
    char text[256];
    sdx_node_text(n, text, sizeof text); /* of the Gradient node, which goes away */
    sdx_arena_init(&t.tmp, e->m->alloc, 0);
    sdx_status status = tape_run(&t);
    sdx_arena_fini(&t.tmp);
    if (status == SDX_OK) return SDX_OK;
    sdx_fail(err, status, "%s", t.err.text);
    if (err && !strstr(t.err.text, text)) sdx_err_prefix(err, "%s", text);
    return status;
}

static sdx_status graph_look(Graph *g, void *user, Err *err)
{
    Expansion *e = user;
    for (const Node *n = g->first; n && !e->found; n = n->next) e->found = n->def == &sdx_op_training_Gradient;
    return SDX_OK;
}

static sdx_status graph_expand(Graph *g, void *user, Err *err)
{
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next;
        if (n->def == &sdx_op_training_Gradient) TRY(node_expand(user, n, err));
    }
    return SDX_OK;
}

sdx_status sdx_gradients_expand(Model *m, int64_t max_nodes, Err *err)
{
    Expansion e = { .m = m, .max_nodes = max_nodes ? max_nodes : m->next_node_id + SDX_MAX_GRADIENT_NODES };
    if (!m->graph) return SDX_OK;
    TRY(sdx_model_each_graph(m, graph_look, &e, err));
    if (!e.found) return SDX_OK;
    TRY(sdx_model_infer(m, err));
    return sdx_model_each_graph(m, graph_expand, &e, err);
}
