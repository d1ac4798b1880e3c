/* tests/op_case.h - one operator, stated as inputs and outputs
 *
 *     OP_CASE(softmax_rows, "y = Softmax <axis = -1> (x)",
 *             IN("float[2,2] x {0, 0, 1, 1}"), OUT("float[2,2] y {0.5, 0.5, 0.5, 0.5}"))
 *     OP_CASE_AT(add_before_7, 6, "c = Add <broadcast = 1, axis = 0> (a, b)", IN(...), OUT(...))
 *     OP_FAILS(softmax_bad_axis, "y = Softmax <axis = 5> (x)", SDX_INVALID_MODEL, "axis 5 is outside [-2, 2)",
 *             IN("float[2,2] x {0, 0, 1, 1}"))
 *
 * Each defines a test. A case is run many ways: outputs planned and made while running, inputs variable and constant,
 * in place where the operator allows, every CPU level, one thread and four, symbolic shapes. Values have the syntax of
 * ONNX's textual form. Integers, bools and strings must be equal, floats close. */
#ifndef SDX_TESTS_OP_CASE_H
#define SDX_TESTS_OP_CASE_H

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "ops/infer.h"
#include "ops/run.h"
#include "tests/harness.h"

typedef struct OpPort {
    const char *text;
    bool is_out;
} OpPort;

#define IN(text)                                                                                                       \
    {                                                                                                                  \
        (text), false                                                                                                  \
    }
#define OUT(text)                                                                                                      \
    {                                                                                                                  \
        (text), true                                                                                                   \
    }

#define OP_NEWEST 28
#define OP_CASE(name, node, ...) OP_CASE_AT(name, OP_NEWEST, node, __VA_ARGS__)
#define OP_CASE_AT(name, opset, node, ...)                                                                             \
    static void name(void) { op_case(opset, node, (const OpPort[]){ __VA_ARGS__, { NULL, false } }); }
#define OP_FAILS(name, node, code, message, ...)                                                                       \
    static void name(void) { op_fails(node, code, message, (const OpPort[]){ __VA_ARGS__, { NULL, false } }); }

enum { OP_PORTS = 16 };

/* One way to run a case. */
typedef struct OpWay {
    bool dynamic;  /* outputs are made while running */
    bool constant; /* inputs do not change for the life of the plan */
    bool in_place;
    const Kern *kern;
    Pool *pool;
} OpWay;

typedef struct OpCase {
    Model *m, *values; /* the node; the ports as initializers */
    const OpPort *ports;
    Err err;
} OpCase;

/* -- reading ------------------------------------------------------------------------------------------------------- */

/* "float[2] x {1, 2}": the part before the brace, without what follows the name. */
static inline int op_port_head(const char *text)
{
    const char *brace = strchr(text, '{');
    size_t n = brace ? (size_t)(brace - text) : strlen(text);
    while (n && text[n - 1] == ' ') n--;
    return (int)n;
}

static inline bool op_case_open(OpCase *c, int opset, const char *node, const OpPort *ports)
{
    char text[8192], in[2048] = "", out[2048] = "";
    *c = (OpCase){ .ports = ports };
    size_t n = 0, ni = 0, no = 0;
    for (const OpPort *p = ports; p->text; p++) {
        int head = op_port_head(p->text);
        if (p->is_out)
            no += (size_t)snprintf(out + no, sizeof out - no, "%s%.*s", no ? ", " : "", head, p->text);
        else
            ni += (size_t)snprintf(in + ni, sizeof in - ni, "%s%.*s", ni ? ", " : "", head, p->text);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.*s = %s", n ? ", " : "", head, p->text, p->text + head);
        if (!CHECK(n < sizeof text && ni < sizeof in && no < sizeof out)) return false;
    }
    char model[16384];
    const char *header = "< ir_version: 14, opset_import: [ \"\" : %d ] >\n";
    n = (size_t)snprintf(model, sizeof model, header, OP_NEWEST);
    snprintf(model + n, sizeof model - n, "values () => () < %s > { }", text);
    sdx_onnx_import_text(&sdx_alloc_default, model, strlen(model), NULL, &c->values, &c->err);
    if (!CHECK_STR(c->err.text, "")) return false;
    n = (size_t)snprintf(model, sizeof model, header, opset);
    /* Cases that fail have no outputs to show: the node's first one. */
    if (!*out) snprintf(out, sizeof out, "%.*s", (int)strcspn(node, " =,"), node);
    snprintf(model + n, sizeof model - n, "case (%s) => (%s) { %s }", in, out, node);
    sdx_onnx_import_text(&sdx_alloc_default, model, strlen(model), NULL, &c->m, &c->err);
    return true;
}

static inline void op_case_close(OpCase *c)
{
    sdx_model_destroy(c->m);
    sdx_model_destroy(c->values);
}

static inline const Tensor *op_case_value(const OpCase *c, const char *name)
{
    Value *v = sdx_graph_find(c->values->graph, name);
    return v ? v->constant : NULL;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

typedef struct OpRun {
    Datum *value; /* by id */
    Arena arena;
    Heap *heap;
    RunRoot root;
} OpRun;

static inline const Tensor *op_case_content(const InferHost *h, const Infer *c, int i)
{
    const Datum *d = &((const OpRun *)h->user)->value[c->node->in[i]->id];
    return d->kind == DATUM_TENSOR ? &d->t : NULL;
}

/* The plan's view of output i: a tensor with data where the shape is known, in the place of input 0 if asked for. */
static inline sdx_status op_case_output(OpRun *r, const Node *n, int i, const Type *t, const OpWay *way, Err *err)
{
    Datum *d = &r->value[n->out[i]->id];
    bool numbers = t->kind == TYPE_TENSOR && t->elem != DT_NONE && t->shape.rank != SDX_RANK_UNKNOWN;
    for (int k = 0; k < t->shape.rank; k++) numbers &= t->shape.dims[k] >= 0;
    if (!numbers || way->dynamic) return SDX_OK;
    Datum *x = n->n_in && n->in[0] ? &r->value[n->in[0]->id] : NULL;
    bool last_use = x && n->in[0]->n_uses == 1;
    if (way->in_place && i == 0 && (n->def->flags & OP_INPLACE) && last_use && x->kind == DATUM_TENSOR &&
        t->elem == x->t.dtype && sdx_dims_equal(t->shape.dims, t->shape.rank, x->t.dims, x->t.rank))
        return sdx_datum_share(d, x, &sdx_alloc_default, err);
    TRY(sdx_datum_tensor(d, &sdx_alloc_default, t->elem, t->shape.rank, t->shape.dims, err));
    if (t->elem != DT_STRING) memset(d->t.data, 0xa5, d->buf->nbytes);
    return SDX_OK;
}

static inline sdx_status op_case_node(OpRun *r, const Node *n, const OpWay *way, Err *err)
{
    Type in_type[OP_PORTS], out_type[OP_PORTS];
    const Type *in_ptr[OP_PORTS];
    const Datum *in[OP_PORTS];
    Datum *out[OP_PORTS];
    bool in_const[OP_PORTS];
    for (int i = 0; i < n->n_in; i++) {
        const Value *v = n->in[i];
        in[i] = v ? &r->value[v->id] : NULL;
        in_ptr[i] = v ? &in_type[i] : NULL;
        in_const[i] = v && (sdx_value_is_const(v) || way->constant);
        if (!v) continue;
        in_type[i] = v->type;
        if (in[i]->kind != DATUM_TENSOR) continue;
        in_type[i] = (Type){ .kind = TYPE_TENSOR, .elem = in[i]->t.dtype, .shape.rank = in[i]->t.rank };
        memcpy(in_type[i].shape.dims, in[i]->t.dims, sizeof in[i]->t.dims);
    }
    InferHost host = { .tensor = op_case_content, .user = r };
    TRY(sdx_infer_node(&host, n, NULL, &r->arena, in_ptr, out_type, NULL, err));
    for (int i = 0; i < n->n_out; i++) {
        out[i] = n->out[i] ? &r->value[n->out[i]->id] : NULL;
        if (out[i]) TRY(op_case_output(r, n, i, &out_type[i], way, err));
    }
    RunEnv env = { .root = &r->root };
    RunTools tools = { .kern = way->kern, .pool = way->pool };
    return sdx_run_once(&env, &tools, n, in, n->n_in, in_const, out, n->n_out, &r->arena, err);
}

static inline void op_case_same(const Tensor *got, const Tensor *want)
{
    char a[160], b[160];
    if (!CHECK_STR(sdx_dtype_name(got->dtype), sdx_dtype_name(want->dtype))) return;
    if (!CHECK_STR(sdx_dims_text(a, sizeof a, got->dims, got->rank),
                   sdx_dims_text(b, sizeof b, want->dims, want->rank)))
        return;
    double eps = want->dtype == DT_DOUBLE     ? 1e-12
                 : want->dtype == DT_FLOAT16  ? 1e-3
                 : want->dtype == DT_BFLOAT16 ? 8e-3
                                              : 2e-6;
    bool real = sdx_dtype_in(want->dtype, TS_FLTB);
    int64_t n = sdx_tensor_count(want);
    for (int64_t i = 0; i < n; i++) {
        if (want->dtype == DT_STRING) {
            const Str *x = (const Str *)got->data + i, *y = (const Str *)want->data + i;
            if (!CHECK(x->n == y->n && (!x->n || !memcmp(x->p, y->p, x->n)))) return;
            continue;
        }
        double y = sdx_tensor_get_double(want, i);
        if (!CHECK_NEAR(sdx_tensor_get_double(got, i), y, real ? eps * (1 + fabs(y)) : 0)) return;
    }
}

/* With err NULL the outputs must come out as stated. */
static inline void op_case_run(const OpCase *c, const OpWay *way, Err *err)
{
    Err own = { 0 };
    OpRun r = { .heap = sdx_heap_create(&sdx_alloc_default) };
    const Model *m = c->m;
    sdx_arena_init(&r.arena, &sdx_alloc_default, 0);
    r.root = (RunRoot){ .heap = r.heap, .trips_left = INT64_MAX };
    sdx_arena_init(&r.root.strings, &sdx_alloc_default, 0);
    r.value = sdx_arena_array(&r.arena, Datum, m->n_values);
    Err *e = err ? err : &own;
    for (int i = 0; i < m->n_values; i++)
        if (m->values[i] && m->values[i]->constant)
            r.value[i] = (Datum){ .kind = DATUM_TENSOR, .t = *m->values[i]->constant };
    for (int i = 0; i < m->graph->n_inputs; i++) {
        const Tensor *t = op_case_value(c, m->graph->inputs[i]->name);
        if (CHECK(t != NULL)) sdx_datum_copy(&r.value[m->graph->inputs[i]->id], t, &sdx_alloc_default, e);
    }
    for (const Node *n = m->graph->first; n && e->code == SDX_OK; n = n->next) op_case_node(&r, n, way, e);
    if (!err && CHECK_STR(own.text, ""))
        for (int i = 0; i < m->graph->n_outputs; i++) {
            const Value *v = m->graph->outputs[i];
            const Tensor *want = op_case_value(c, v->name);
            if (want && CHECK_INT(r.value[v->id].kind, DATUM_TENSOR)) op_case_same(&r.value[v->id].t, want);
        }
    for (int i = 0; i < m->n_values; i++) sdx_datum_clear(&r.value[i]);
    sdx_arena_fini(&r.root.strings);
    sdx_arena_fini(&r.arena);
    sdx_heap_release(r.heap);
}

/* At load, with every input size a symbol: no contradiction with the sizes that come out. */
static inline void op_case_symbolic(OpCase *c)
{
    Err err = { 0 };
    static const char *const letters[] = { "A", "B", "C", "D", "E", "F", "G", "H" };
    for (int i = 0; i < c->m->graph->n_inputs; i++) {
        Shape *s = &c->m->graph->inputs[i]->type.shape;
        for (int k = 0; k < s->rank; k++)
            if (s->dims[k] > 1) s->dims[k] = sdx_dim_named(c->m->syms, letters[s->dims[k] % 8], 1);
    }
    sdx_model_infer(c->m, &err);
    CHECK_STR(err.text, "");
    for (int i = 0; i < c->m->graph->n_outputs; i++) {
        const Value *v = c->m->graph->outputs[i];
        const Tensor *want = op_case_value(c, v->name);
        if (!want || v->type.kind != TYPE_TENSOR) continue;
        if (v->type.elem != DT_NONE) CHECK_INT(v->type.elem, want->dtype);
        if (v->type.shape.rank == SDX_RANK_UNKNOWN || !CHECK_INT(v->type.shape.rank, want->rank)) continue;
        for (int k = 0; k < want->rank; k++)
            if (sdx_dim_is_const(v->type.shape.dims[k])) CHECK_INT(v->type.shape.dims[k], want->dims[k]);
    }
}

/* -- the two tests ------------------------------------------------------------------------------------------------- */

static inline void op_case(int opset, const char *node, const OpPort *ports)
{
    OpCase c;
    if (op_case_open(&c, opset, node, ports) && CHECK_STR(c.err.text, "")) {
        Pool *pool = NULL;
        Err err = { 0 };
        sdx_pool_create(&sdx_alloc_default, 4, &pool, &err);
        for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
            const Kern *kern = sdx_kern_at(level);
            for (unsigned way = 0; kern && way < 16; way++) {
                OpWay w = { .dynamic = way & 1,
                            .constant = way & 2,
                            .in_place = way & 4,
                            .kern = kern,
                            .pool = way & 8 ? pool : NULL };
                sdx_harness_note("%s%s%s%s%s", kern->name, w.dynamic ? " dynamic" : "", w.constant ? " constant" : "",
                                 w.in_place ? " in place" : "", w.pool ? " threads" : "");
                op_case_run(&c, &w, NULL);
            }
        }
        sdx_harness_note("symbolic shapes");
        op_case_symbolic(&c);
        sdx_harness_note(NULL);
        sdx_pool_release(pool);
    }
    op_case_close(&c);
}

/* Import, inference at load or the run itself refuses, with this code and a text that contains message. */
static inline void op_fails(const char *node, sdx_status code, const char *message, const OpPort *ports)
{
    OpCase c;
    if (op_case_open(&c, OP_NEWEST, node, ports)) {
        if (c.err.code == SDX_OK) sdx_model_infer(c.m, &c.err);
        if (c.err.code == SDX_OK) op_case_run(&c, &(OpWay){ .kern = sdx_kern_at(SDX_CPU_C) }, &c.err);
        CHECK_INT(c.err.code, code);
        CHECK_HAS(c.err.text, message);
    }
    op_case_close(&c);
}

#endif
