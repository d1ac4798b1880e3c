/* tests/evaluate.h - runs a model node by node: no plan, no memory reuse, nothing that an executor could get wrong.
 *
 * For tests that ask whether two graphs compute the same. */
#ifndef SDX_TESTS_EVALUATE_H
#define SDX_TESTS_EVALUATE_H

#include <string.h>

#include "ops/infer.h"
#include "ops/run.h"

typedef struct Evaluator {
    const Model *m;
    Datum *value; /* by id */
    Arena arena;
    Heap *heap;
    RunRoot root;
    RunEnv env;
} Evaluator;

static inline sdx_status evaluate_nested(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out);

static inline sdx_status evaluate_init(Evaluator *e, const Model *m)
{
    *e = (Evaluator){ .m = m };
    sdx_arena_init(&e->arena, &sdx_alloc_default, 0);
    e->heap = sdx_heap_create(&sdx_alloc_default);
    e->value = sdx_arena_array(&e->arena, Datum, m->n_values);
    e->root = (RunRoot){ .heap = e->heap, .trips_left = INT64_MAX };
    e->env = (RunEnv){ .root = &e->root, .graph = evaluate_nested, .frame = e };
    sdx_arena_init(&e->root.strings, &sdx_alloc_default, 0);
    for (int i = 0; i < m->n_values; i++)
        if (m->values[i] && m->values[i]->constant)
            e->value[i] = (Datum){ .kind = DATUM_TENSOR, .t = *m->values[i]->constant };
    return SDX_OK;
}

static inline void evaluate_fini(Evaluator *e)
{
    for (int i = 0; i < e->m->n_values; i++) sdx_datum_clear(&e->value[i]);
    sdx_arena_fini(&e->root.strings);
    sdx_arena_fini(&e->arena);
    sdx_heap_release(e->heap);
}

static inline const Tensor *evaluate_content(const InferHost *h, const Infer *c, int i)
{
    const Evaluator *e = h->user;
    const Datum *d = &e->value[c->node->in[i]->id];
    return d->kind == DATUM_TENSOR ? &d->t : NULL;
}

static inline sdx_status evaluate_node(Evaluator *e, const Node *n, Err *err)
{
    enum { MAX = 64 };
    Type in_type[MAX], out_type[MAX];
    const Type *in_ptr[MAX];
    const Datum *in[MAX];
    Datum *out[MAX];
    bool in_const[MAX] = { false };
    if (n->n_in > MAX || n->n_out > MAX) return sdx_fail(err, SDX_UNSUPPORTED, "too many inputs");
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        in[i] = v ? &e->value[v->id] : NULL;
        in_ptr[i] = v ? &in_type[i] : NULL;
        if (!v) continue;
        in_type[i] = v->type;
        in_const[i] = sdx_value_is_const(v);
        if (in[i]->kind != DATUM_TENSOR) continue;
        in_type[i] = (Type){ .kind = TYPE_TENSOR, .elem = in[i]->t.dtype, .shape.rank = in[i]->t.rank };
        memcpy(in_type[i].shape.dims, in[i]->t.dims, sizeof in[i]->t.dims);
    }
    InferHost host = { .tensor = evaluate_content, .user = e };
    TRY(sdx_infer_node(&host, n, NULL, &e->arena, in_ptr, out_type, NULL, err));
    for (int i = 0; i < n->n_out; i++) {
        const Type *t = &out_type[i];
        out[i] = n->out[i] ? &e->value[n->out[i]->id] : NULL;
        if (!out[i]) continue;
        sdx_datum_clear(out[i]);
        bool numbers = t->kind == TYPE_TENSOR && t->elem != DT_NONE && t->shape.rank != SDX_RANK_UNKNOWN;
        for (int k = 0; k < t->shape.rank; k++) numbers &= t->shape.dims[k] >= 0;
        if (numbers) TRY(sdx_datum_tensor(out[i], &sdx_alloc_default, t->elem, t->shape.rank, t->shape.dims, err));
    }
    RunTools tools = { .kern = sdx_kern_best() };
    return sdx_run_once(&e->env, &tools, n, in, n->n_in, in_const, out, n->n_out, &e->arena, err);
}

static inline sdx_status evaluate_graph(Evaluator *e, const Graph *g, Err *err)
{
    for (const Node *n = g->first; n; n = n->next) TRY(evaluate_node(e, n, err));
    return SDX_OK;
}

static inline sdx_status evaluate_nested(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out)
{
    Evaluator *e = r->env->frame;
    for (int i = 0; i < n_in; i++) {
        sdx_datum_clear(&e->value[body->inputs[i]->id]);
        TRY(sdx_datum_share(&e->value[body->inputs[i]->id], in[i], &sdx_alloc_default, r->err));
    }
    TRY(evaluate_graph(e, body, r->err));
    for (int i = 0; i < n_out; i++)
        TRY(sdx_datum_share(&out[i], &e->value[body->outputs[i]->id], &sdx_alloc_default, r->err));
    return SDX_OK;
}

/* Runs the main graph. inputs: e->value of its inputs, set by the caller; outputs are found there afterwards. */
static inline sdx_status evaluate_model(Evaluator *e, Err *err) { return evaluate_graph(e, e->m->graph, err); }

#endif
