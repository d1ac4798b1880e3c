#include "ops/infer.h"

#include <string.h>

/* -- what operators ask -------------------------------------------------------------------------------------------- */

static bool is_integer(DType d) { return sdx_dtype_in(d, TS_INT | TS_BOOL | TS_INT4 | TS_INT2); }

/* Number of elements when it is a known number, at most SDX_DIMVEC_MAX; else -1. */
static int small_count(const Type *t)
{
    int64_t n = 1;
    if (t->kind != TYPE_TENSOR || t->shape.rank == SDX_RANK_UNKNOWN) return -1;
    for (int i = 0; i < t->shape.rank; i++) {
        Dim d = t->shape.dims[i];
        if (d < 0 || d > SDX_DIMVEC_MAX || (n *= d) > SDX_DIMVEC_MAX) return -1;
    }
    return (int)n;
}

static bool tensor_ints(Arena *arena, const Tensor *t, DimVec *out)
{
    int64_t n = sdx_tensor_count(t);
    if (!is_integer(t->dtype) || n > SDX_DIMVEC_MAX || (n && !t->data)) return false;
    DimVal *v = sdx_arena_array(arena, DimVal, n);
    if (!v) return false;
    for (int64_t i = 0; i < n; i++) v[i] = sdx_dimval_num(sdx_tensor_get_int(t, i));
    *out = (DimVec){ .n = (int32_t)n, .v = v };
    return true;
}

/* The numbers v as elements of t, whose data has room; false for types below 8 bits. */
static bool ints_store(const DimVec *v, Tensor *t)
{
    size_t size = sdx_dtype_size(t->dtype);
    for (int i = 0; i < v->n; i++) {
        int64_t x = v->v[i].v;
        switch (size) {
        case 1: ((uint8_t *)t->data)[i] = (uint8_t)x; break;
        case 2: ((uint16_t *)t->data)[i] = (uint16_t)x; break;
        case 4: ((uint32_t *)t->data)[i] = (uint32_t)x; break;
        case 8: ((int64_t *)t->data)[i] = x; break;
        default: return false;
        }
    }
    return true;
}

bool sdx_infer_ints(const Infer *c, int i, DimVec *out)
{
    const InferHost *h = c->host;
    if (i >= c->n_in || !c->in[i] || c->in[i]->kind != TYPE_TENSOR || !is_integer(c->in[i]->elem)) return false;
    if (h->ints ? h->ints(h, c, i, out) : false) return true;
    const Tensor *t = h->tensor ? h->tensor(h, c, i) : NULL;
    if (t) return tensor_ints(c->arena, t, out);
    /* Unknown elements of a known number are still worth having: Concat puts known ones beside them. */
    enum { UNKNOWN_MAX = 16 };
#define U                                                                                                              \
    {                                                                                                                  \
        .sym = SDX_DIM_UNKNOWN                                                                                         \
    }
    static const DimVal unknown[UNKNOWN_MAX] = { U, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U };
#undef U
    int n = small_count(c->in[i]);
    if (n < 0 || n > UNKNOWN_MAX) return false;
    *out = (DimVec){ .n = n, .v = unknown };
    return true;
}

const Tensor *sdx_infer_const(const Infer *c, int i)
{
    const InferHost *h = c->host;
    if (i >= c->n_in || !c->in[i] || c->in[i]->kind != TYPE_TENSOR) return NULL;
    return h->tensor ? h->tensor(h, c, i) : NULL;
}

sdx_status sdx_infer_set_ints(Infer *c, int o, const DimVal *v, int n)
{
    if (!c->out_known || o >= c->n_out || n > SDX_DIMVEC_MAX) return SDX_OK;
    bool any = n == 0;
    for (int i = 0; i < n && !any; i++) any = v[i].known || v[i].sym != SDX_DIM_UNKNOWN;
    if (!any) return SDX_OK;
    DimVal *copy = sdx_arena_array(c->arena, DimVal, n);
    TRY_MEM(copy, c->err);
    if (n) memcpy(copy, v, (size_t)n * sizeof *v);
    c->out_known[o] = (DimVec){ .n = n, .v = copy };
    return SDX_OK;
}

/* What a nested graph gives, as far as load time told. */
static void graph_types_at_load(const Graph *body, Type *out, int n_out)
{
    for (int i = 0; i < n_out && i < body->n_outputs; i++) {
        out[i] = body->outputs[i]->type;
        for (int k = 0; k < out[i].shape.rank; k++)
            if (out[i].shape.dims[k] < 0) out[i].shape.dims[k] = SDX_DIM_UNKNOWN;
    }
}

sdx_status sdx_infer_graph(const Infer *c, Graph *body, const Type *const *in, int n_in, Type *out, int n_out)
{
    for (int i = 0; i < n_out; i++) out[i] = (Type){ .shape.rank = SDX_RANK_UNKNOWN };
    if (c->host->graph) return c->host->graph(c->host, c, body, in, n_in, out, n_out);
    graph_types_at_load(body, out, n_out);
    return SDX_OK;
}

/* -- one node ------------------------------------------------------------------------------------------------------ */

sdx_status sdx_infer_node(const InferHost *host, const Node *n, SymTab *syms, Arena *arena, const Type *const *in,
                          Type *out, DimVec *out_known, Err *err)
{
    for (int i = 0; i < n->n_out; i++) {
        out[i] = (Type){ .shape.rank = SDX_RANK_UNKNOWN };
        if (out_known) out_known[i] = (DimVec){ .n = 0 };
    }
    if (!n->def) return SDX_OK;
    TRY(sdx_op_bind(n, NULL, in, out, err));
    for (int i = 0; i < n->n_out; i++) out[i].shape.rank = SDX_RANK_UNKNOWN;
    if (!n->def->infer) return SDX_OK;
    Infer c = { .node = n,
                .args = n->args,
                .syms = syms,
                .n_in = n->n_in,
                .n_out = n->n_out,
                .in = in,
                .out = out,
                .out_known = out_known,
                .arena = arena,
                .host = host,
                .err = err };
    return n->def->infer(&c);
}

/* -- the whole model ----------------------------------------------------------------------------------------------- */

typedef struct Driver {
    Model *m;
    Arena tmp;
    unsigned char *walked; /* by value id: its sources are marked or on the stack; NULL until needed */
    int n_walked;
    Value **walk; /* the stack */
    int n_walk, cap_walk;
    int64_t budget; /* nodes that may still be looked at: loops in loops infer their bodies again and again */
    Err *err;
} Driver;

enum { ASKED_MAX = 16 };

typedef struct ModelHost {
    InferHost base;
    Driver *d;
    Value *asked[ASKED_MAX]; /* inputs whose content was wanted and is not fully known */
    int n_asked;
} ModelHost;

static bool fully_known(const DimVec *k)
{
    if (!k->v) return false;
    for (int i = 0; i < k->n; i++)
        if (!k->v[i].known && k->v[i].sym == SDX_DIM_UNKNOWN) return false;
    return true;
}

static void host_asked(const InferHost *base, Value *v)
{
    ModelHost *h = (ModelHost *)base; /* the driver's own, which is not const */
    if (h->n_asked < ASKED_MAX) h->asked[h->n_asked++] = v;
}

static bool host_ints(const InferHost *base, const Infer *c, int i, DimVec *out)
{
    Value *v = c->node->in[i];
    if (!v->known.v && sdx_value_is_const(v)) tensor_ints(c->arena, v->constant, &v->known);
    if (!fully_known(&v->known)) host_asked(base, v);
    if (!v->known.v) return false;
    *out = v->known;
    return true;
}

static const Tensor *host_tensor(const InferHost *base, const Infer *c, int i)
{
    Value *v = c->node->in[i];
    if (sdx_value_is_const(v)) return v->constant;
    int n = v->known.v ? small_count(&v->type) : -1;
    bool numbers = n >= 0 && n == v->known.n;
    for (int k = 0; numbers && k < n; k++) numbers = v->known.v[k].known;
    if (!numbers) {
        host_asked(base, v);
        return NULL;
    }
    Tensor *t = sdx_arena_new(c->arena, Tensor);
    if (!t) return NULL;
    *t = (Tensor){ .dtype = v->type.elem, .rank = v->type.shape.rank };
    memcpy(t->dims, v->type.shape.dims, (size_t)t->rank * sizeof *t->dims);
    t->data = sdx_arena_alloc(c->arena, (size_t)n * sizeof(int64_t), SDX_ALIGN);
    if (!t->data || !ints_store(&v->known, t)) return NULL;
    return t;
}

/* -- shape-determining inputs */

/* Could this input be part of a plan's key? */
static bool key_sized(const Type *t)
{
    if (t->kind != TYPE_TENSOR || t->shape.rank == SDX_RANK_UNKNOWN || t->shape.rank > 1) return false;
    return t->shape.rank == 0 || t->shape.dims[0] <= SDX_DIMVEC_MAX;
}

static sdx_status walk_push(Driver *d, Value *v)
{
    if (v->id >= d->n_walked || d->walked[v->id]) return SDX_OK;
    d->walked[v->id] = 1;
    if (sdx_value_is_const(v) || fully_known(&v->known)) return SDX_OK;
    TRY_MEM(sdx_arena_grow(&d->tmp, d->walk, d->n_walk, d->cap_walk), d->err);
    d->walk[d->n_walk++] = v;
    return SDX_OK;
}

/* Can an output of n be known before a run when its inputs are? */
static bool is_plannable(const Node *n)
{
    /* Shape and Size look at no content. */
    if (strcmp(n->op_type, "Shape") == 0 || strcmp(n->op_type, "Size") == 0) return false;
    return n->def && !(n->def->flags & (OP_DATA_SHAPE | OP_RANDOM | OP_CONTROL));
}

/* Marks the inputs that v is computed from. */
static sdx_status mark_sources(Driver *d, Value *v)
{
    if (!d->walked) {
        d->n_walked = d->m->n_values;
        d->walked = sdx_arena_array(&d->tmp, unsigned char, d->n_walked + 1);
        TRY_MEM(d->walked, d->err);
    }
    TRY(walk_push(d, v));
    while (d->n_walk) {
        v = d->walk[--d->n_walk];
        Node *n = v->producer;
        if (!n && key_sized(&v->type)) v->shape_determining = true;
        bool large = v->type.shape.rank > 1 && small_count(&v->type) < 0;
        if (!n || large || !is_plannable(n)) continue;
        for (int i = 0; i < n->n_in; i++)
            if (n->in[i]) TRY(walk_push(d, n->in[i]));
    }
    return SDX_OK;
}

static bool shape_known(const Type *t)
{
    if (t->kind != TYPE_TENSOR) return true;
    if (t->shape.rank == SDX_RANK_UNKNOWN) return false;
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] == SDX_DIM_UNKNOWN) return false;
    return true;
}

/* -- values */

static void dims_freshen(Driver *d, Type *t)
{
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] == SDX_DIM_UNKNOWN) t->shape.dims[i] = sdx_dim_fresh(d->m->syms);
}

static sdx_status value_set(Driver *d, Value *v, const Type *t, const DimVec *known)
{
    TypeKind kind = v->type.kind;
    DType elem = v->type.elem;
    const Type *of = v->type.of;
    bool first = d->m->infer_mark == 1;
    if (first && (v->flags & VALUE_GRAPH_OUTPUT) && !v->graph->parent && kind != TYPE_UNKNOWN) {
        Type *copy = sdx_arena_new(&d->m->arena, Type);
        TRY_MEM(copy, d->err);
        *copy = v->type;
        v->declared = copy;
    }
    v->type = *t;
    /* An operator without a signature: the file's word for the kind, not for sizes. */
    if (t->kind == TYPE_UNKNOWN) v->type.kind = kind;
    if (v->type.kind == kind && t->elem == DT_NONE) v->type.elem = elem;
    if (v->type.kind == kind && !t->of) v->type.of = of;
    dims_freshen(d, &v->type);
    v->known = known ? *known : (DimVec){ .n = 0 };
    return SDX_OK;
}

static sdx_status graph_infer(Driver *d, Graph *g);

/* -- nested graphs */

static void values_forget(Graph *g)
{
    for (Node *n = g->first; n; n = n->next)
        for (int i = 0; i < n->n_out; i++) {
            if (!n->out[i]) continue;
            n->out[i]->type.shape.rank = SDX_RANK_UNKNOWN;
            n->out[i]->known = (DimVec){ .n = 0 };
        }
}

static sdx_status host_graph(const InferHost *base, const Infer *c, Graph *body, const Type *const *in, int n_in,
                             Type *out, int n_out)
{
    Driver *d = ((const ModelHost *)base)->d;
    (void)c;
    for (int i = 0; i < body->n_inputs; i++) {
        Value *v = body->inputs[i];
        Type t = i < n_in && in && in[i] ? *in[i] : (Type){ .shape.rank = SDX_RANK_UNKNOWN };
        TRY(value_set(d, v, &t, NULL));
    }
    TRY(graph_infer(d, body));
    for (int i = 0; i < n_out && i < body->n_outputs; i++) out[i] = body->outputs[i]->type;
    return SDX_OK;
}

/* Bodies that the operator did not ask about. */
static sdx_status bodies_infer(Driver *d, Node *n)
{
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        int64_t count = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
        for (int64_t k = 0; k < count; k++) {
            Graph *g = a->type == ATTR_GRAPHS ? a->graphs[k] : a->g;
            if (g->infer_mark != d->m->infer_mark) TRY(graph_infer(d, g));
        }
    }
    return SDX_OK;
}

/* -- nodes in the model */

static sdx_status node_infer(Driver *d, Node *n)
{
    enum { SMALL = 8 };
    const Type *in_small[SMALL], **in = in_small;
    Type out_small[SMALL], *out = out_small;
    DimVec known_small[SMALL], *known = known_small;
    if (n->n_in > SMALL) TRY_MEM(in = sdx_arena_array(&d->m->arena, const Type *, n->n_in), d->err);
    if (n->n_out > SMALL) {
        TRY_MEM(out = sdx_arena_array(&d->m->arena, Type, n->n_out), d->err);
        TRY_MEM(known = sdx_arena_array(&d->m->arena, DimVec, n->n_out), d->err);
    }
    for (int i = 0; i < n->n_in; i++) in[i] = n->in[i] ? &n->in[i]->type : NULL;

    ModelHost h = { .base = { .ints = host_ints, .tensor = host_tensor, .graph = host_graph }, .d = d };
    Err local = { 0 };
    sdx_status status = sdx_infer_node(&h.base, n, d->m->syms, &d->m->arena, in, out, known, &local);
    if (status == SDX_INVALID_MODEL && n->graph->parent) {
        /* A branch that is never taken may not fit its surroundings: exporters leave such behind. It fails if it runs. */
        for (int i = 0; i < n->n_out; i++) out[i].shape.rank = SDX_RANK_UNKNOWN, known[i] = (DimVec){ .n = 0 };
        status = SDX_OK;
    }
    if (status != SDX_OK) {
        if (d->err && d->err->code == SDX_OK) *d->err = local;
        return status;
    }
    bool all_known = true;
    for (int i = 0; i < n->n_out; i++) {
        all_known &= shape_known(&out[i]);
        if (n->out[i]) TRY(value_set(d, n->out[i], &out[i], &known[i]));
    }
    for (int i = 0; i < h.n_asked && !all_known; i++) TRY(mark_sources(d, h.asked[i]));
    return bodies_infer(d, n);
}

static sdx_status graph_infer(Driver *d, Graph *g)
{
    g->infer_mark = d->m->infer_mark;
    if (d->budget < g->n_nodes) {
        values_forget(g); /* types of an earlier visit may no longer be true */
        return SDX_OK;
    }
    d->budget -= g->n_nodes;
    for (int i = 0; i < g->n_inputs; i++) dims_freshen(d, &g->inputs[i]->type);
    for (Node *n = g->first; n; n = n->next) TRY(node_infer(d, n));
    return SDX_OK;
}

static sdx_status driver_run(Model *m, Node *n, Err *err)
{
    /* Each node once, and as much again many times over for loops. */
    Driver d = { .m = m, .err = err, .budget = 16 * (int64_t)m->next_node_id + 100000 };
    sdx_arena_init(&d.tmp, m->alloc, 0);
    m->infer_mark++;
    sdx_status status = n ? node_infer(&d, n) : graph_infer(&d, m->graph);
    sdx_arena_fini(&d.tmp);
    return status;
}

sdx_status sdx_model_infer(Model *m, Err *err) { return m->graph ? driver_run(m, NULL, err) : SDX_OK; }

bool sdx_model_is_known(const Model *m)
{
    for (int i = 0; i < m->n_values; i++)
        if (m->values[i] && m->values[i]->type.kind == TYPE_TENSOR && m->values[i]->type.shape.rank == SDX_RANK_UNKNOWN)
            return false;
    return sdx_symtab_fresh(m->syms) == 0;
}

sdx_status sdx_model_infer_node(Model *m, Node *n, Err *err) { return driver_run(m, n, err); }
