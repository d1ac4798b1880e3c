#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/wire_out.h"
#include "ops/ops.h"
#include "tests/harness.h"

static const Alloc *const alloc = &sdx_alloc_default;

/* A host's operator with nested graphs. */
typedef struct CondArgs {
    Graph *yes, *no;
} CondArgs;

static const AttrSpec cond_attrs[] = { OP_GRAPH_REQ(CondArgs, yes), OP_GRAPH_REQ(CondArgs, no), OP_ATTR_END };
static const OpVer cond_vers[] = { { .since = 1, .types = { TS_FLT } }, { .since = 0 } };
static const OpDef cond = { .name = "Cond",
                            .domain = "test",
                            .sig = "bool->T",
                            .attrs = cond_attrs,
                            .attrs_size = sizeof(CondArgs),
                            .vers = cond_vers };
static const OpDef *const custom_ops[] = { &cond, NULL };
static const ImportOptions with_cond = { .custom_ops = custom_ops };

static Model *import_text(const char *text)
{
    Model *m;
    Err err = { 0 };
    sdx_onnx_import_text(alloc, text, strlen(text), &with_cond, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

/* The whole error, so that its readers see what users see. */
static void refused(const char *text, sdx_status want, const char *message)
{
    Model *m;
    Err err = { 0 };
    CHECK_INT(sdx_onnx_import_text(alloc, text, strlen(text), NULL, &m, &err), want);
    CHECK_STR(err.text, message);
    CHECK(m == NULL);
}

/* "Op(in,in)->out Op(...)" of a graph: inputs and outputs by name. */
static const char *shape_of(const Graph *g)
{
    static char text[2048];
    size_t at = 0;
    text[0] = 0;
    for (const Node *n = g->first; n; n = n->next) {
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%s(", at ? " " : "", n->op_type);
        for (int i = 0; i < n->n_in; i++)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%s", i ? "," : "", n->in[i] ? n->in[i]->name : "");
        at += (size_t)snprintf(text + at, sizeof text - at, ")->%s", n->out[0] ? n->out[0]->name : "");
    }
    return text;
}

static void only_nodes_make_a_graph(void)
{
    Model *m = import_text("s = Sigmoid(x)  y = Mul(x, s) # swish\n z = Neg(s)");
    if (!m) return;
    CHECK_STR(shape_of(m->graph), "Sigmoid(x)->s Mul(x,s)->y Neg(s)->z");
    CHECK_INT(m->graph->n_inputs, 1);
    CHECK_INT(m->graph->n_outputs, 2);
    CHECK_STR(m->graph->outputs[1]->name, "z");
    sdx_model_destroy(m);
}

static void reads_headers_types_and_constants(void)
{
    Model *m = import_text("< ir_version: 8, opset_import: [ \"\" : 17, \"ai.onnx.ml\" : 3 ], producer_name: \"me\",\n"
                           "  model_version: 5, metadata_props: [ \"k\" : \"v\\\"w\" ] >\n"
                           "agraph (float[N, 3, ?] x, seq(int64[]) s) => (float[N] y)\n"
                           "< float[2] w = { 1.5, -inf }, bool b = { true }, string[2] t = {\"a\", \"b\\\\\"} >\n"
                           "{ [first] y = Identity(x) }");
    if (!m) return;
    CHECK_INT(m->ir_version, 8);
    CHECK_INT(m->n_opsets, 2);
    CHECK_INT(m->opsets[1].version, 3);
    CHECK_STR(m->producer_name, "me");
    CHECK_STR(m->metadata[0].value, "v\"w");
    CHECK_STR(m->graph->first->name, "first");
    char type[64];
    CHECK_STR(sdx_type_text(m->syms, &m->graph->inputs[0]->type, type, sizeof type), "float[N,3,?]");
    CHECK_STR(sdx_type_text(m->syms, &m->graph->inputs[1]->type, type, sizeof type), "seq(int64[])");
    const Value *w = sdx_graph_find(m->graph, "w"), *b = sdx_graph_find(m->graph, "b"),
                *t = sdx_graph_find(m->graph, "t");
    CHECK(((float *)w->constant->data)[0] == 1.5f && ((float *)w->constant->data)[1] < -3e38f);
    CHECK_INT(((uint8_t *)b->constant->data)[0], 1);
    CHECK_INT(((Str *)t->constant->data)[1].n, 2);
    sdx_model_destroy(m);
}

static void constant_nodes_become_constants(void)
{
    Model *m = import_text("a = Constant <value = int64[2] {3, 4}> ()  b = Constant <value_float = 0.5> ()\n"
                           "c = Constant <value_ints = [1, 2, 3]> ()  d = Constant <value_string = \"hey\"> ()\n"
                           "y = Sum(b, x)  z = Identity(a) v = Identity(c) u = Identity(d)");
    if (!m) return;
    CHECK_INT(m->graph->n_nodes, 4);
    CHECK_INT(((int64_t *)sdx_graph_find(m->graph, "a")->constant->data)[1], 4);
    CHECK(*(float *)sdx_graph_find(m->graph, "b")->constant->data == 0.5f);
    CHECK_INT(sdx_graph_find(m->graph, "c")->constant->dims[0], 3);
    CHECK_INT(((Str *)sdx_graph_find(m->graph, "d")->constant->data)->n, 3);
    sdx_model_destroy(m);
}

static void sorts_and_finds_outer_names(void)
{
    Model *m = import_text("g (float[2] x, bool c) => (float[2] y) {\n"
                           "  y = test.Cond (c) < yes = t () => (float[2] p) { p = Neg(late) },\n"
                           "               no = e () => (float[2] x) { } >\n"
                           "  late = Abs(x)\n"
                           "}");
    if (!m) return;
    CHECK_STR(shape_of(m->graph), "Abs(x)->late Cond(c)->y");
    const Attr *e = sdx_node_attr(m->graph->last, "no");
    CHECK_INT(e->g->n_nodes, 1); /* a value of the outer graph comes out through an Identity */
    CHECK_STR(e->g->first->op_type, "Identity");
    CHECK(e->g->outputs[0]->graph == e->g);
    sdx_model_destroy(m);

    m = import_text("g (float[2] x, bool c) => (float[2] y) {\n"
                    "  z = Neg(x)  y = test.Cond (c) < yes = t () => (float[2] z) { z = Abs(x) },\n"
                    "               no = e () => (float[2] q) { q = Abs(z) } >\n"
                    "}");
    if (!m) return;
    CHECK_STR(shape_of(sdx_node_attr(m->graph->last, "yes")->g), "Abs(x)->z"); /* shadows */
    sdx_model_destroy(m);
}

#define FUNCTIONS                                                                                                      \
    "< domain: \"local\", opset_import: [ \"\" : 10 ] > clamp <lo, hi: float = 6.0> (a) => (r)\n"                      \
    "  { r = Clip <min: float = @lo, max: float = @hi> (a) }\n"                                                        \
    "< domain: \"local\", opset_import: [ \"\" : 17, \"local\" : 1 ] > twice <lo> (a, b) => (r, s)\n"                  \
    "  { t = local.clamp <lo: float = @lo> (a)  r = local.clamp <lo = -1.0, hi = 1.0> (t)  s = Sum(t, b) }\n"          \
    "< domain: \"local\", overload: \"two\", opset_import: [ \"\" : 17 ] > clamp (a) => (a) { }\n"

static void inlines_functions(void)
{
    Model *m = import_text("< ir_version: 10, opset_import: [ \"\" : 18, \"local\" : 1 ] >\n"
                           "g (float[2] x) => (float[2] y, float[2] z) {\n"
                           "  [call] y, q = local.twice <lo = 0.25> (x)  z = local.clamp:two (q)\n"
                           "}\n" FUNCTIONS);
    if (!m) return;
    const Graph *g = m->graph;
    CHECK_INT(g->n_nodes, 4);
    CHECK_STR(g->first->op_type, "Clip");
    CHECK_STR(g->first->out[0]->name, "call/t");
    CHECK_STR(g->first->next->out[0]->name, "y"); /* the body produces the caller's value */
    CHECK_INT(g->first->origin->since_version, 6);
    CHECK_STR(g->first->origin->attrs[0].name, "min");
    CHECK(g->first->origin->attrs[0].f == 0.25f);
    /* the body's own opset is older: attributes became inputs; defaults and the caller's values arrived */
    CHECK_INT(g->first->n_in, 3);
    CHECK(*(float *)g->first->in[1]->constant->data == 0.25f);
    CHECK(*(float *)g->first->in[2]->constant->data == 6.0f);
    CHECK(*(float *)g->first->next->in[2]->constant->data == 1.0f);
    /* the absent second input stays absent */
    CHECK_STR(g->last->prev->op_type, "Sum");
    CHECK_INT(g->last->prev->n_in, 1);
    CHECK_STR(g->last->op_type, "Identity"); /* an input passed through */
    sdx_model_destroy(m);
}

static void refuses_with_reasons(void)
{
    refused("y = Foo(x)", SDX_UNSUPPORTED,
            "node `y` (Foo): operator Foo of domain ai.onnx (not imported) is not known");
    refused("<opset_import: [\"com.x\" : 3]> g (float x) => (float y) { [n1] y = com.x.Bar(x) }", SDX_UNSUPPORTED,
            "node `n1` (com.x.Bar): operator Bar of domain com.x (opset 3) is not known");
    refused("g (float x) => (float y) { y = Add(x, nowhere) }", SDX_INVALID_MODEL,
            "node `y` (Add): input 1: `nowhere` is not defined");
    refused("g (float x) => (float y) { x = Neg(x)  y = Neg(x) }", SDX_INVALID_MODEL,
            "node `x` (Neg): output 0: `x` is defined twice");
    refused("g (float x) => (float z) { y = Neg(x) }", SDX_INVALID_MODEL, "output of graph `g`: `z` is not defined");
    refused("g (float x) => (float y, float y) { y = Neg(x) }", SDX_INVALID_MODEL,
            "output of graph `g`: `y` is listed twice");
    refused("y = Neg <what = 1> (x)", SDX_INVALID_MODEL, "node `y` (Neg): attribute what is not one of this operator");
    refused("y = LeakyRelu <alpha = 1> (x)", SDX_INVALID_MODEL,
            "node `y` (LeakyRelu): attribute alpha is of type INT, not FLOAT");
    refused("y = LeakyRelu <alpha = 1.0, alpha = 2.0> (x)", SDX_INVALID_MODEL,
            "node `y` (LeakyRelu): attribute `alpha` is given twice");
    refused("y = LeakyRelu <alpha: float = @beta> (x)", SDX_INVALID_MODEL,
            "node `y` (LeakyRelu): attribute `alpha`: it refers to `beta`, but stands in no function");
    refused("g (float x) => (float y) { y = Add(x, z)  z = Neg(y) }", SDX_INVALID_MODEL, /* a cycle */
            "node `y` (Add) depends on its own output, through 2 nodes");
    refused("g (float x) => (float y) { y = l.f(x) } <domain: \"l\"> f (a) => (b) { b = l.f(a) }", SDX_INVALID_MODEL,
            "node `y` (l.f): node `b` (l.f): function f calls itself");
    refused("g (float x) => (float y) { y = l.f(x, x) } <domain: \"l\"> f (a) => (b) { b = Neg(a) }", SDX_INVALID_MODEL,
            "node `y` (l.f): function f has 1 inputs and 1 outputs, the call 2 and 1");
    refused("g (float[2 x) => (float y) { }", SDX_INVALID_MODEL, "line 1: `]` is missing before `x`");
    refused("y = Neg(\"x)", SDX_INVALID_MODEL, "line 1: a string does not end, or memory is short, before `\"`");
    refused("y = Constant <value = float[3] {1, 2}> ()", SDX_INVALID_MODEL,
            "line 1: the number of elements does not fit the shape before `1`");
}

/* -- binary files -------------------------------------------------------------------------------------------------- */

static void out_node(WireOut *o, const char *op, const char *in, const char *out)
{
    size_t mark = o->total;
    sdx_out_string(o, 4, op);
    sdx_out_string(o, 2, out);
    sdx_out_string(o, 1, in);
    sdx_out_message(o, 1, mark);
}

static void out_value(WireOut *o, uint32_t field, const char *name)
{
    size_t mark = o->total;
    sdx_out_string(o, 1, name);
    sdx_out_message(o, field, mark);
}

static void out_initializer(WireOut *o, const char *name, const float *v, int64_t n)
{
    size_t mark = o->total;
    Tensor t = { .dtype = DT_FLOAT, .rank = 1, .dims = { n }, .data = (void *)v };
    sdx_out_string(o, 8, name);
    sdx_out_tensor(o, &t);
    sdx_out_message(o, 5, mark);
}

static Model *import_bytes(const Buf *b, const ImportOptions *opt, Err *err)
{
    Source s;
    Model *m = NULL;
    sdx_source_memory(&s, alloc, b->data, b->nbytes);
    sdx_onnx_import(alloc, &s, opt, &m, err);
    return m;
}

/* y = Neg(w), z = Neg(x), w an initializer that is listed as an input */
static Buf *listed_initializer(int64_t ir)
{
    static const float w[] = { 1, 2 };
    Arena arena;
    Buf *b = NULL;
    sdx_arena_init(&arena, alloc, 0);
    WireOut o = sdx_out(&arena);
    size_t mark = o.total;
    out_value(&o, 12, "z");
    out_value(&o, 12, "y");
    out_value(&o, 11, "w");
    out_value(&o, 11, "x");
    out_initializer(&o, "w", w, 2);
    out_node(&o, "Neg", "x", "z");
    out_node(&o, "Neg", "w", "y");
    sdx_out_message(&o, 7, mark);
    sdx_out_int(&o, 1, ir);
    CHECK_INT(sdx_out_join(&o, alloc, &b, NULL), SDX_OK);
    sdx_arena_fini(&arena);
    return b;
}

static void initializers_are_inputs_by_version(void)
{
    for (int ir = 1; ir <= 5; ir++) {
        Buf *b = listed_initializer(ir);
        Err err = { 0 };
        Model *m = import_bytes(b, NULL, &err);
        sdx_harness_note("IR %d", ir);
        if (CHECK_STR(err.text, "")) {
            const Value *w = sdx_graph_find(m->graph, "w");
            CHECK_INT(m->graph->n_inputs, ir <= 3 ? 1 : 2);
            CHECK_INT(sdx_value_is_const(w), ir <= 3);
            CHECK_INT(!!(w->flags & VALUE_OVERRIDABLE), ir > 3);
            CHECK(((float *)w->constant->data)[1] == 2);
            /* without an import, old files mean version 1, newer ones the newest */
            CHECK_INT(m->graph->first->origin->since_version == 1, ir < 3);
        }
        sdx_model_destroy(m);
        sdx_buf_release(b);
    }
    sdx_harness_note(NULL);
}

static void survives_truncation(void)
{
    Buf *b = listed_initializer(4);
    for (size_t n = 0; n < b->nbytes; n++) {
        void *cut = malloc(n + 1);
        memcpy(cut, b->data, n);
        Buf part = { .data = cut, .nbytes = n };
        Err err = { 0 };
        Model *m = import_bytes(&part, NULL, &err);
        CHECK(m != NULL || *err.text);
        sdx_model_destroy(m);
        free(cut);
    }
    sdx_buf_release(b);
}

static void large_constants_stay_in_the_file(void)
{
    enum { N = 40000 };
    float *w = malloc(N * sizeof *w);
    for (int i = 0; i < N; i++) w[i] = (float)i;
    for (size_t shift = 0; shift < 4; shift++) { /* names of four lengths: elements at four places */
        Arena arena;
        Buf *b = NULL;
        Err err = { 0 };
        sdx_arena_init(&arena, alloc, 0);
        WireOut o = sdx_out(&arena);
        size_t mark = o.total;
        out_value(&o, 12, "y");
        out_node(&o, "Neg", "w", "y");
        out_initializer(&o, "w", w, N);
        sdx_out_string(&o, 2, &"abc"[3 - shift]);
        sdx_out_message(&o, 7, mark);
        CHECK_INT(sdx_out_join(&o, alloc, &b, NULL), SDX_OK);
        Model *m = import_bytes(b, NULL, &err);
        Value *v = m ? sdx_graph_find(m->graph, "w") : NULL;
        if (CHECK(v != NULL)) {
            const char *data = v->constant->data, *file = b->data;
            CHECK(data > file && data < file + b->nbytes);
            CHECK_INT(!!(v->flags & VALUE_UNALIGNED), (uintptr_t)data % 4 != 0);
            CHECK_INT(sdx_value_align(v, &err), SDX_OK);
            CHECK((uintptr_t)v->constant->data % 4 == 0);
            CHECK_BYTES(v->constant->data, w, N * sizeof *w);
        }
        sdx_model_destroy(m);
        sdx_buf_release(b);
        sdx_arena_fini(&arena);
    }
    free(w);
}

static void says_what_other_files_are(void)
{
    Err err = { 0 };
    Buf b = { .data = "version https://git-lfs.github.com/spec/v1\noid", .nbytes = 46 };
    CHECK(import_bytes(&b, NULL, &err) == NULL);
    CHECK_HAS(err.text, "git lfs pull");
    sdx_err_clear(&err);
    b = (Buf){ .data = "", .nbytes = 0 };
    CHECK(import_bytes(&b, NULL, &err) == NULL);
    CHECK_STR(err.text, "it is empty");
    sdx_err_clear(&err);
    b = (Buf){ .data = "\x08\x07", .nbytes = 2 };
    CHECK(import_bytes(&b, NULL, &err) == NULL);
    CHECK_HAS(err.text, "it has no graph");
}

static void keeps_to_limits(void)
{
    Buf *b = listed_initializer(4);
    Err err = { 0 };
    CHECK(import_bytes(b, &(ImportOptions){ .max_nodes = 1 }, &err) == NULL);
    CHECK_INT(err.code, SDX_LIMIT_NODES);
    sdx_err_clear(&err);
    CHECK(import_bytes(b, &(ImportOptions){ .max_bytes = 1000 }, &err) == NULL);
    CHECK(err.code == SDX_LIMIT_BYTES || err.code == SDX_OUT_OF_MEMORY);
    sdx_buf_release(b);
}

/* -- memory ------------------------------------------------------------------------------------------------------- */

typedef struct Miser {
    int64_t left; /* allocations until one fails */
    int64_t live;
} Miser;

static void *miser_alloc(void *user, size_t nbytes, size_t align)
{
    Miser *m = user;
    if (m->left-- <= 0) return NULL;
    void *p = sdx_alloc_default.alloc(NULL, nbytes, align);
    m->live += p != NULL;
    return p;
}

static void miser_free(void *user, void *p)
{
    ((Miser *)user)->live -= p != NULL;
    sdx_alloc_default.free(NULL, p);
}

/* Reads a text, writes it, reads that: fails at allocation 1, 2, 3, ... until it runs clean. */
static void every_allocation_may_fail(void)
{
    static const char text[] = "< ir_version: 10, opset_import: [ \"\" : 18, \"local\" : 1 ] >\n"
                               "g (float[2] x) => (float[2] y, float[2] z) <int64[20000] big = {0}> {\n"
                               "  [call] y, q = local.twice <lo = 0.25> (x)  z = local.clamp:two (q)\n"
                               "}\n" FUNCTIONS;
    char *large = malloc(sizeof text + 80000);
    const char *cut = strstr(text, "{0}");
    size_t n = (size_t)(cut - text) + 1;
    memcpy(large, text, n);
    for (int i = 0; i < 20000; i++, n += 2) memcpy(large + n, i ? ",1" : " 1", 2);
    strcpy(large + n, cut + 2);
    sdx_status status = SDX_OUT_OF_MEMORY;
    for (int64_t k = 0; status != SDX_OK && k < 1000; k++) {
        Miser miser = { .left = k };
        Alloc a = { miser_alloc, miser_free, &miser };
        Model *m = NULL, *again = NULL;
        Buf *bytes = NULL;
        Err err = { 0 };
        status = sdx_onnx_import_text(&a, large, strlen(large), NULL, &m, &err);
        if (status == SDX_OK) status = sdx_onnx_export_bytes(m, &bytes, &err);
        if (status == SDX_OK) {
            Source s;
            sdx_source_memory(&s, &a, bytes->data, bytes->nbytes);
            status = sdx_onnx_import(&a, &s, NULL, &again, &err);
        }
        CHECK(status == SDX_OK || status == SDX_OUT_OF_MEMORY);
        sdx_model_destroy(again);
        sdx_model_destroy(m);
        sdx_buf_release(bytes);
        if (!CHECK_INT(miser.live, 0)) break;
    }
    CHECK_INT(status, SDX_OK);
    free(large);
}

SUITE(import_test)
{
    RUN(every_allocation_may_fail);
    RUN(only_nodes_make_a_graph);
    RUN(reads_headers_types_and_constants);
    RUN(constant_nodes_become_constants);
    RUN(sorts_and_finds_outer_names);
    RUN(inlines_functions);
    RUN(refuses_with_reasons);
    RUN(initializers_are_inputs_by_version);
    RUN(survives_truncation);
    RUN(large_constants_stay_in_the_file);
    RUN(says_what_other_files_are);
    RUN(keeps_to_limits);
}
