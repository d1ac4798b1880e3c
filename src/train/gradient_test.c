/* What Gradient accepts, where it computes, and what it refuses. The rules are tested in vjp_test.c. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"
#include "session/session.h"
#include "tests/evaluate.h"
#include "tests/harness.h"
#include "train/train.h"

#define HEAD "<ir_version: 10, opset_import: [\"\" : 26, \"ai.onnx.preview.training\" : 1, \"f\" : 1]>\n"
#define GRAD "ai.onnx.preview.training.Gradient"

/* Reads and expands. NULL: refused, err says why. */
static Model *expanded(const char *text, int64_t max_nodes, Err *err)
{
    Model *m = NULL;
    *err = (Err){ 0 };
    if (sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, err) == SDX_OK)
        sdx_gradients_expand(m, max_nodes, err);
    if (err->code == SDX_OK) sdx_model_verify(m, err);
    if (err->code == SDX_OK) return m;
    sdx_model_destroy(m);
    return NULL;
}

static void refuses(const char *text, sdx_status code, const char *message)
{
    Err err;
    Model *m = expanded(text, 0, &err);
    CHECK_INT(err.code, code);
    CHECK_HAS(err.text, message);
    sdx_model_destroy(m);
}

/* Runs the graph with input i, a tensor of floats, filled with i + 2, i + 2.5, ...; compares output d. */
static void gives(const char *text, const float *want, int n)
{
    Err err;
    Evaluator e;
    Model *m = expanded(text, 0, &err);
    CHECK_STR(err.text, "");
    if (!m) return;
    evaluate_init(&e, m);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        const Value *v = m->graph->inputs[i];
        Datum *d = &e.value[v->id];
        sdx_datum_tensor(d, &sdx_alloc_default, v->type.elem, v->type.shape.rank, v->type.shape.dims, &err);
        for (int64_t k = 0; k < sdx_tensor_count(&d->t); k++) sdx_tensor_set_double(&d->t, k, i + 2 + 0.5 * (double)k);
    }
    evaluate_model(&e, &err);
    CHECK_STR(err.text, "");
    const Value *v = sdx_graph_find(m->graph, "d");
    if (CHECK(v != NULL) && CHECK_INT(e.value[v->id].kind, DATUM_TENSOR)) {
        const Tensor *d = &e.value[v->id].t;
        if (CHECK_INT(d->dtype, DT_FLOAT) && CHECK_INT(sdx_tensor_count(d), n)) CHECK_FLOATS(d->data, want, n, 1e-5);
    }
    evaluate_fini(&e);
    sdx_model_destroy(m);
}
#define GIVES(text, ...)                                                                                               \
    do {                                                                                                               \
        const float want[] = { __VA_ARGS__ };                                                                          \
        gives(HEAD text, want, sizeof want / sizeof *want);                                                            \
    } while (0)

static void follows_the_standard(void)
{
    /* x = 2, w = 3 */
    GIVES("g (float x, float w) => (d) { y = Mul(x, w) d = " GRAD " <xs = [\"x\"], zs = [\"w\"], y = \"y\"> (x, w) }",
          3);
    /* The node may come before y. */
    GIVES("g (float x, float w) => (d) { d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) y = Mul(x, w) }", 3);
    /* An output that is not asked for. */
    GIVES("g (float x, float w) => (d) { y = Mul(x, w) \"\", d = " GRAD " <xs = [\"x\", \"w\"], y = \"y\"> (x, w) }",
          2);
    /* An intermediate tensor: h = 6, dy/dh = 2 h. */
    GIVES("g (float x, float w) => (d) { h = Mul(x, w) y = Mul(h, h) d = " GRAD " <xs = [\"h\"], y = \"y\"> (h) }", 12);
    /* y itself. */
    GIVES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"y\"], y = \"y\"> (y) }", 1);
    /* The sum of a tensor. */
    GIVES("g (float[3] x) => (d) { y = Mul(x, x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", 4, 5, 6);
    /* Two ways to y. */
    GIVES("g (float x) => (d) { a = Mul(x, x) b = Neg(x) y = Mul(a, b) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }",
          -12);
}

static void elsewhere(void)
{
    /* At x = 5 instead of 2: y = x^2 w. */
    GIVES("g (float x, float w, float u, float v) => (d) { s = Mul(x, x) y = Mul(s, w) d = " GRAD
          " <xs = [\"x\"], zs = [\"w\"], y = \"y\"> (v, w) }",
          30);
    /* One value for two names: x = w = 4. */
    GIVES("g (float x, float w, float u) => (d) { s = Mul(x, x) y = Mul(s, w) d = " GRAD
          " <xs = [\"w\", \"x\"], y = \"y\"> (u, u) }",
          16);
    /* Names exchanged: dy/dx at x = 3, w = 2. */
    GIVES("g (float x, float w) => (d) { s = Mul(x, x) y = Mul(s, w) d = " GRAD
          " <xs = [\"x\", \"w\"], y = \"y\"> (w, x) }",
          12);
    /* A tensor of another shape. */
    GIVES("g (float x, float[2] u) => (d) { y = Mul(x, x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (u) }", 6, 7);
    /* The forward value stays what it was: y = 4 times dy/dx at 3. */
    GIVES("g (float x, float u) => (d) { y = Mul(x, x) t = " GRAD " <xs = [\"x\"], y = \"y\"> (u) d = Mul(t, y) }", 24);
}

static void zeros(void)
{
    GIVES("g (float[2] x, float w) => (d) { y = Mul(w, w) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", 0, 0);
    GIVES("g (float[2] x) => (d) { y = Floor(x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", 0, 0);
    GIVES("g (float[2] x) => (d) { i = Cast<to = 7>(x) y = Cast<to = 1>(i) d = " GRAD
          " <xs = [\"x\"], y = \"y\"> (x) }",
          0, 0);
    GIVES("g (float[2] x) => (d) { y = Constant<value_float = 1.0>() d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", 0,
          0);
}

static void higher_orders(void)
{
    /* (x^4)'' = 12 x^2, (x^4)''' = 24 x */
    GIVES("g (float x) => (d) { s = Mul(x, x) y = Mul(s, s) a = " GRAD " <xs = [\"x\"], y = \"y\"> (x) d = " GRAD
          " <xs = [\"x\"], y = \"a\"> (x) }",
          48);
    GIVES("g (float x) => (d) { s = Mul(x, x) y = Mul(s, s) a = " GRAD " <xs = [\"x\"], y = \"y\"> (x) b = " GRAD
          " <xs = [\"x\"], y = \"a\"> (x) d = " GRAD " <xs = [\"x\"], y = \"b\"> (x) }",
          48);
}

static void in_nested_graphs_and_functions(void)
{
    /* Names are those of the body, which sees x as well. */
    GIVES("g (float x, float[2] u) => (d) { c = Constant<value = bool {1}>() d = If (c) <\n"
          "then_branch = t () => (r) { y = Mul(x, x) r = " GRAD " <xs = [\"x\"], y = \"y\"> (x) },\n"
          "else_branch = e () => (x2) { x2 = Identity(x) }> }",
          4);
    /* Those of the function, not the caller's of the same name. */
    GIVES("g (float y, float x) => (d) { d = f.slope(x) }\n"
          "<domain: \"f\", opset_import: [\"\" : 26, \"ai.onnx.preview.training\" : 1]>\n"
          "slope (a) => (r) { x = Mul(a, a) y = Mul(x, a) r = " GRAD " <xs = [\"a\"], y = \"y\"> (a) }",
          27);
    /* A branch that does not depend on x is a constant. */
    GIVES("g (float x, float w) => (d) { c = Constant<value = bool {1}>() k = If (c) <\n"
          "then_branch = t () => (r) { r = Mul(w, w) }, else_branch = e () => (q) { q = Neg(w) }>\n"
          "y = Mul(x, k) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }",
          9);
}

#define REFUSES(text, code, message) refuses(HEAD text, SDX_##code, message)

static void refuses_what_does_not_fit(void)
{
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"q\"], y = \"y\"> (x) }", INVALID_MODEL,
            "attribute xs: `q` is not defined");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\"], y = \"q\"> (x) }", INVALID_MODEL,
            "attribute y: `q` is not defined");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\"], y = \"d\"> (x) }", INVALID_MODEL,
            "depends on its own output");
    REFUSES("g (float x) => (y) { y = Mul(x, d) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", INVALID_MODEL,
            "depends on its own output");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\"], zs = [\"x\"], y = \"y\"> (x) }", INVALID_MODEL,
            "has 1 inputs, but xs and zs hold 2 names");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\", \"x\"], y = \"y\"> (x, x) }", INVALID_MODEL,
            "`x` occurs twice in xs and zs");
    REFUSES("g (float x) => (d) { y = Exp(x) d, e = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", INVALID_MODEL,
            "has 2 outputs, but xs holds 1 names");
    REFUSES("g (int64 x) => (d) { f = Cast<to = 1>(x) y = Exp(f) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }",
            INVALID_MODEL, "`x` is in xs, but derivatives exist for tensors of floats only");
    REFUSES("g (float x) => (d) { y = Cast<to = 7>(x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", INVALID_MODEL,
            "`y` is y, but not a tensor of floats");
    REFUSES("g (float x, double u) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (u) }", INVALID_MODEL,
            "differ in type");
    REFUSES("g (float x) => (d) { h = Exp(x) y = Mul(h, x) d = " GRAD " <xs = [\"x\", \"h\"], y = \"y\"> (x, h) }",
            INVALID_MODEL, "`h` is computed from another tensor of xs and zs");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <y = \"y\"> (x) }", INVALID_MODEL, "xs");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = 3, y = \"y\"> (x) }", INVALID_MODEL, "xs");
    REFUSES("g (float x) => (d) { y = Exp(x) d = " GRAD " <xs = [\"x\"], y = \"y\"> () }", INVALID_MODEL,
            "has 0 inputs, but xs and zs hold 1 names");
}

static void refuses_what_it_cannot_do(void)
{
    REFUSES("g (float[2,2] x) => (d) { [det] y = Det(x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }", UNSUPPORTED,
            "node `det` (Det): there is no rule for the derivative of this operator");
    REFUSES("g (float x, bool c) => (d) { y = If (c) <then_branch = t () => (r) { r = Mul(x, x) },\n"
            "else_branch = e () => (q) { q = Neg(x) }> d = " GRAD " <xs = [\"x\"], y = \"y\"> (x) }",
            UNSUPPORTED, "(If): there is no rule");
    REFUSES("g (float x, bool c, float u) => (d) { k = If (c) <then_branch = t () => (r) { r = Mul(x, x) },\n"
            "else_branch = e () => (q) { q = Neg(x) }> y = Mul(k, x) d = " GRAD " <xs = [\"x\"], y = \"y\"> (u) }",
            UNSUPPORTED, "nested graphs are not copied");
}

static void refuses_what_would_not_end(void)
{
    REFUSES("g (float[100000000,1,1] x, float[1,1,1] w, float[1,1,1] r) => (d) { y = RNN <hidden_size = 1> (x, w, r) d "
            "= " GRAD " <xs = [\"w\"], y = \"y\"> (w) }",
            UNSUPPORTED, "and of steps, at most 16384");
    REFUSES("g (float[N,1,1] x, float[1,1,1] w, float[1,1,1] r) => (d) { y = RNN <hidden_size = 1> (x, w, r) d = " GRAD
            " <xs = [\"w\"], y = \"y\"> (w) }",
            UNSUPPORTED, "needs a known number");
}

/* Each derivative of a product is larger than the last. */
static void grows_within_limits(void)
{
    char text[8192];
    Err err;
    size_t n = (size_t)snprintf(text, sizeof text, "%sg (float x) => (d39) { s = Sin(x) d0 = Mul(s, x)\n", HEAD);
    for (int i = 1; i < 40; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "d%d = " GRAD " <xs = [\"x\"], y = \"d%d\"> (x)\n", i, i - 1);
    snprintf(text + n, sizeof text - n, "}");
    Model *m = expanded(text, 1000, &err);
    CHECK(m == NULL);
    CHECK_INT(err.code, SDX_LIMIT_NODES);
    CHECK_HAS(err.text, "gradients take the model beyond 1000 nodes");
    sdx_model_destroy(m);
}

/* As many nodes deep as a stack of calls would not be. */
static void deep_chains(void)
{
    enum { DEEP = 20000, SIZE = DEEP * 32 };
    char *text = malloc(SIZE);
    Err err;
    if (!CHECK(text != NULL)) return;
    size_t n = (size_t)snprintf(text, SIZE, "%sg (float x) => (d) { v0 = Neg(x)\n", HEAD);
    for (int i = 1; i < DEEP; i++) n += (size_t)snprintf(text + n, SIZE - n, "v%d = Neg(v%d)\n", i, i - 1);
    snprintf(text + n, SIZE - n, "d = " GRAD " <xs = [\"x\"], y = \"v%d\"> (x) }", DEEP - 1);
    Model *m = expanded(text, 0, &err);
    CHECK_STR(err.text, "");
    sdx_model_destroy(m);
    free(text);
}

/* -- learning ------------------------------------------------------------------------------------------------------ */

/* One step of a small classifier: weights and momentum in, the same after the step out, and the loss before it. */
static const char step_text[] = HEAD
    "g (float[4,2] x, int64[4] t, float[2,8] w, float[8] b, float[8,2] u, float[2,8] mw, float[8] mb, float[8,2] mu)\n"
    "  => (loss, w1, b1, u1, mw1, mb1, mu1) <float rate = {0.3}, int64 count = {1}> {\n"
    "h = Gemm(x, w, b) a = Tanh(h) s = MatMul(a, u) loss = SoftmaxCrossEntropyLoss(s, t)\n"
    "dw, db, du = " GRAD " <xs = [\"w\", \"b\", \"u\"], zs = [\"x\", \"t\"], y = \"loss\"> (w, b, u, x, t)\n"
    "w1, b1, u1, mw1, mb1, mu1 = ai.onnx.preview.training.Momentum <alpha = 0.9, beta = 1.0, mode = \"standard\",\n"
    "  norm_coefficient = 0.0> (rate, count, w, b, u, dw, db, du, mw, mb, mu) }";

/* The exclusive or of two inputs, from fixed weights. */
static void learns(void)
{
    enum { N_IN = 8, N_OUT = 7, STEPS = 100 };
    static const char *const in[N_IN] = { "x", "t", "w", "b", "u", "mw", "mb", "mu" };
    static const char *const out[N_OUT] = { "loss", "w1", "b1", "u1", "mw1", "mb1", "mu1" };
    float x[] = { 0, 0, 0, 1, 1, 0, 1, 1 }, weights[6][16] = { { 0 } };
    int64_t t[] = { 0, 1, 1, 0 };
    Model *m = NULL;
    Session *s = NULL;
    Err err = { 0 };
    for (int i = 0; i < 16; i++) weights[0][i] = sinf((float)(3 * i)), weights[2][i] = cosf((float)(5 * i));
    sdx_onnx_import_text(&sdx_alloc_default, step_text, strlen(step_text), NULL, &m, &err);
    if (err.code == SDX_OK) sdx_ses_open(&m, NULL, &s, &err);
    if (!CHECK_STR(err.text, "")) return;
    Datum state[N_IN] = { { .kind = DATUM_TENSOR, .t = { DT_FLOAT, 2, { 4, 2 }, x } },
                          { .kind = DATUM_TENSOR, .t = { DT_INT64, 1, { 4 }, t } } };
    for (int i = 0; i < 6; i++) {
        const Tensor shapes[] = { { DT_FLOAT, 2, { 2, 8 }, NULL },
                                  { DT_FLOAT, 1, { 8 }, NULL },
                                  { DT_FLOAT, 2, { 8, 2 }, NULL } };
        state[2 + i] = (Datum){ .kind = DATUM_TENSOR, .t = shapes[i % 3] };
        state[2 + i].t.data = weights[i];
    }
    float first = 0, last = 0;
    for (int step = 0; step < STEPS && err.code == SDX_OK; step++) {
        const Datum *ptrs[N_IN];
        Datum result[N_OUT] = { { 0 } };
        for (int i = 0; i < N_IN; i++) ptrs[i] = &state[i];
        sdx_ses_run_names(s, in, ptrs, N_IN, out, result, N_OUT, NULL, &err);
        if (!CHECK_STR(err.text, "")) break;
        last = *(float *)result[0].t.data;
        if (step == 0) first = last;
        for (int i = 0; i < 6; i++) {
            sdx_datum_clear(&state[2 + i]);
            state[2 + i] = result[1 + i];
        }
        sdx_datum_clear(&result[0]);
    }
    CHECK(first > 0.3f && last < 0.02f);
    for (int i = 2; i < N_IN; i++) sdx_datum_clear(&state[i]);
    sdx_ses_close(s);
}

/* -- memory -------------------------------------------------------------------------------------------------------- */

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

static void every_allocation_may_fail(void)
{
    static const char text[] = HEAD
        "g (float[N,2,5] x, float[4,1,3] w, float[4] b) => (d, e, h) {\n"
        "c = Conv<group = 2, auto_pad = \"SAME_UPPER\">(x, w, b) r = Relu(c)\n"
        "p, q = Split<axis = 1, num_outputs = 2>(r) m = Mul(p, q) s = Softmax(m) y = ReduceMean(s)\n"
        "d, e = " GRAD " <xs = [\"w\", \"b\"], zs = [\"x\"], y = \"y\"> (w, b, x)\n"
        "h = " GRAD " <xs = [\"b\"], y = \"e\"> (b) }";
    sdx_status status = SDX_OUT_OF_MEMORY;
    for (int64_t k = 0; status != SDX_OK && k < 2000; k++) {
        Miser miser = { .left = k };
        Alloc a = { miser_alloc, miser_free, &miser };
        Model *m = NULL;
        Err err = { 0 };
        status = sdx_onnx_import_text(&a, text, strlen(text), NULL, &m, &err);
        if (status == SDX_OK) status = sdx_gradients_expand(m, 0, &err);
        CHECK(status == SDX_OK || status == SDX_OUT_OF_MEMORY);
        CHECK_INT(err.code, status);
        sdx_model_destroy(m);
        if (!CHECK_INT(miser.live, 0)) break;
    }
    CHECK_INT(status, SDX_OK);
}

SUITE(gradient_test)
{
    RUN(follows_the_standard);
    RUN(elsewhere);
    RUN(zeros);
    RUN(higher_orders);
    RUN(in_nested_graphs_and_functions);
    RUN(refuses_what_does_not_fit);
    RUN(refuses_what_it_cannot_do);
    RUN(refuses_what_would_not_end);
    RUN(grows_within_limits);
    RUN(deep_chains);
    RUN(learns);
    RUN(every_allocation_may_fail);
}
