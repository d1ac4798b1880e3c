/* tests/toy_ep - a second provider beside the CPU: placement, parts, what crosses between them */
#include <stdio.h>
#include <string.h>

#include "session/session.h"
#include "tests/harness.h"
#include "tests/toy_ep/toy.h"

static Session *open_with(const char *const *providers, const char *text)
{
    static const EpApi *const extra[] = { &toy_ep, NULL };
    SessionOptions o = { .level = OPT_NONE, .providers = providers, .extra = extra };
    Model *m = NULL;
    Session *s = NULL;
    Err err = { 0 };
    ImportOptions import = { .load = LOAD_COPY };
    sdx_status st = sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err);
    if (st == SDX_OK) st = sdx_ses_open(&m, &o, &s, &err);
    if (st != SDX_OK) CHECK_STR(err.text, "");
    return s;
}

static const char *const toy_first[] = { "toy", "cpu", NULL };
static const char *const toy_only[] = { "toy", NULL };

/* Runs with x; compares outputs y and, when there is a second, z. */
static void check(Session *s, const float *x, int64_t n, const float *y, const float *z)
{
    Datum in = { .kind = DATUM_TENSOR, .t = { .dtype = DT_FLOAT, .rank = 1, .dims = { n }, .data = (void *)x } };
    const Datum *ptr = &in;
    Datum out[2] = { { 0 } };
    Err err = { 0 };
    if (!CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "x" }, &ptr, 1, (const char *[]){ "y", "z" }, out, z ? 2 : 1,
                                     NULL, &err),
                   SDX_OK))
        CHECK_STR(err.text, "");
    if (out[0].t.data) CHECK_FLOATS(out[0].t.data, y, (size_t)n, 0);
    if (z && out[1].t.data) CHECK_FLOATS(out[1].t.data, z, (size_t)n, 0);
    sdx_datum_clear(&out[0]);
    sdx_datum_clear(&out[1]);
}

static void placed(void *user, const Node *n, const char *ep, const char *reason)
{
    char *text = user;
    sprintf(text + strlen(text), "%s:%s%s%s ", n->op_type, ep, reason ? "/" : "", reason ? reason : "");
}

/* The toy's nodes before and after Neg make two parts, Neg one between them. */
static void parts_alternate(void)
{
    Session *s = open_with(toy_first, "g (float[N] x) => (float[N] y, float[N] z)"
                                      "{ a = Relu(x) b = Add(a, x) c = Neg(b) d = Relu(c) y = Add(d, b) z = Abs(a) }");
    if (!s) return;
    char text[512] = "";
    sdx_ses_each_node(s, placed, text);
    CHECK_STR(text, "Relu:toy Add:toy Neg:cpu/only Add and Relu Relu:toy Add:toy Abs:cpu/only Add and Relu ");
    toy_runs = 0;
    const float x[4] = { 1, -2, 3, -4 };
    check(s, x, 4, (float[]){ 2, 0, 6, 0 }, (float[]){ 1, 0, 3, 0 });
    CHECK_INT(toy_runs, 2);
    check(s, x, 2, (float[]){ 2, 0 }, NULL); /* other shapes, other plans; fewer outputs */
    sdx_ses_trim(s);
    check(s, x, 3, (float[]){ 2, 0, 6 }, (float[]){ 1, 0, 3 });
    sdx_ses_close(s);
}

static void a_bound_output_reaches_the_provider(void)
{
    Session *s = open_with(toy_first, "g (float[2] x) => (float[2] y) { a = Neg(x) y = Relu(a) }");
    if (!s) return;
    float x[2] = { -5, 5 }, y[2] = { 9, 9 };
    Datum in = { .kind = DATUM_TENSOR, .t = { .dtype = DT_FLOAT, .rank = 1, .dims = { 2 }, .data = x } };
    Datum out = in;
    const Datum *ptr = &in;
    out.t.data = y;
    CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "x" }, &ptr, 1, (const char *[]){ "y" }, &out, 1, NULL, NULL),
              SDX_OK);
    CHECK(out.t.data == y && !out.buf && y[0] == 5 && y[1] == 0);
    sdx_ses_close(s);
}

/* Nothing falls back to a provider that was not asked for. */
static void the_list_is_strict(void)
{
    Session *s = open_with(toy_only, "g (float[N] x) => (float[N] y) { a = Relu(x) y = Add(a, a) }");
    if (!s) return;
    check(s, (float[]){ 1, -1 }, 2, (float[]){ 2, 0 }, NULL);
    sdx_ses_close(s);

    static const EpApi *const extra[] = { &toy_ep, NULL };
    SessionOptions o = { .level = OPT_NONE, .providers = toy_only, .extra = extra };
    Model *m = NULL;
    Err err = { 0 };
    const char *text = "g (float[N] x) => (float[N] y) { y = Neg(x) }";
    CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, &err), SDX_OK);
    CHECK_INT(sdx_ses_open(&m, &o, &s, &err), SDX_UNSUPPORTED);
    CHECK_HAS(err.text, "(Neg): no provider runs it (toy: only Add and Relu)");
    CHECK(m == NULL && s == NULL);
}

int main(void)
{
    RUN(parts_alternate);
    RUN(a_bound_output_reaches_the_provider);
    RUN(the_list_is_strict);
    return sdx_harness_finish();
}
