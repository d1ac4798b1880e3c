/* tests/pass_case.h - the picture in a rewrite's comment as its test
 *
 *     PASS_CASE(swish, "activation_form", "g (float[4] x) => (y) { s = Sigmoid(x) y = Mul(x, s) }",
 *                                         "g (float[4] x) => (y) { y = Swish(x) }")
 *     PASS_KEEPS(read_twice, "activation_form", "g (float[4] x) => (y, s) { s = Sigmoid(x) y = Mul(x, s) }")
 *
 * Each defines a test. A case rewrites the first graph with all passes of level default (or the pass's own, when that is
 * exact), compares it with the second, and both with what the nodes compute as written, on random inputs: bit by bit for
 * exact passes. Symbols in shapes stand for 3. */
#ifndef SDX_TESTS_PASS_CASE_H
#define SDX_TESTS_PASS_CASE_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "onnx/onnx.h"
#include "opt/opt.h"
#include "tests/evaluate.h"
#include "tests/harness.h"

#define PASS_CASE(name, pass, before, after)                                                                           \
    static void name(void) { pass_case(pass, before, after); }
#define PASS_KEEPS(name, pass, before)                                                                                 \
    static void name(void) { pass_keeps(pass, before); }

static inline Model *pass_import(const char *text)
{
    Model *m = NULL;
    Err err = { 0 };
    sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, &err);
    if (!strstr(err.text, "is not known")) CHECK_STR(err.text, ""); /* a build may leave operators out */
    return m;
}

static inline OptLevel pass_level(const char *name)
{
    int n;
    const Pass *passes = sdx_opt_passes(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(passes[i].name, name) == 0) return passes[i].level;
    CHECK_STR(name, "a pass of passes.def");
    return OPT_DEFAULT;
}

static inline bool pass_optimize(Model *m, OptLevel level)
{
    Err err = { 0 };
    OptOptions opt = { .level = level };
    sdx_opt_run(m, &opt, &err);
    return CHECK_STR(err.text, "") && (CHECK_INT(sdx_model_verify(m, &err), SDX_OK) || CHECK_STR(err.text, ""));
}

/* Only Constant nodes become constants. */
static inline bool pass_settle(Model *m)
{
    Err err = { 0 };
    int n, keep = 0;
    const Pass *all = sdx_opt_passes(&n);
    Pass few[64];
    for (int i = 0; i < n; i++)
        if (strcmp(all[i].name, "fold") == 0) few[keep++] = all[i];
    sdx_model_infer(m, &err);
    sdx_opt_run_passes(m, few, keep, -1, &(OptOptions){ .level = OPT_EXACT }, &err);
    return CHECK_STR(err.text, "");
}

static inline int pass_count(const Model *m, const char *pass)
{
    int n = 0;
    for (const Rewrite *r = m->rewrites; r; r = r->next) n += strcmp(r->pass, pass) == 0;
    return n;
}

/* -- equal graphs */

static inline bool pass_same_tensor(const Tensor *a, const Tensor *b)
{
    if (a->dtype != b->dtype || !sdx_dims_equal(a->dims, a->rank, b->dims, b->rank)) return false;
    for (int64_t i = 0, n = sdx_tensor_count(a); i < n && a->dtype != DT_STRING; i++) {
        double x = sdx_tensor_get_double(a, i), y = sdx_tensor_get_double(b, i);
        if (x != y && fabs(x - y) > 1e-5 * fabs(y)) return false;
    }
    return true;
}

static inline bool pass_same_attr(const Attr *a, const Attr *b)
{
    if (!b || a->type != b->type || a->n != b->n) return false;
    switch (a->type) {
    case ATTR_INT: return a->i == b->i;
    case ATTR_FLOAT: return fabsf(a->f - b->f) <= 1e-6f * fabsf(b->f);
    case ATTR_STRING: return a->s.n == b->s.n && !memcmp(a->s.p, b->s.p, a->s.n);
    case ATTR_INTS: return !memcmp(a->ints, b->ints, (size_t)a->n * sizeof *a->ints);
    default: return true;
    }
}

static inline bool pass_same_value(const Value *a, const Value *b, const Value **twin)
{
    if (!a || !b) return a == b;
    if (twin[a->id]) return twin[a->id] == b;
    twin[a->id] = b;
    if (a->constant || b->constant) return a->constant && b->constant && pass_same_tensor(a->constant, b->constant);
    const Node *n = a->producer, *m = b->producer;
    if (!n || !m) return !n && !m && !strcmp(a->name, b->name);
    if (strcmp(n->op_type, m->op_type) || n->n_in != m->n_in || a->producer_index != b->producer_index) return false;
    if (n->n_attrs != m->n_attrs) return false;
    for (int i = 0; i < n->n_attrs; i++)
        if (!pass_same_attr(&n->attrs[i], sdx_node_attr(m, n->attrs[i].name))) return false;
    for (int i = 0; i < n->n_in; i++)
        if (!pass_same_value(n->in[i], m->in[i], twin)) return false;
    return true;
}

static inline void pass_write(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stdout);
}

static inline bool pass_same_graph(const Model *got, const Model *want)
{
    const Value **twin = calloc((size_t)got->n_values + 1, sizeof *twin);
    bool same = got->graph->n_outputs == want->graph->n_outputs && got->graph->n_nodes == want->graph->n_nodes;
    for (int i = 0; i < want->graph->n_outputs && same; i++)
        same = pass_same_value(got->graph->outputs[i], want->graph->outputs[i], twin) &&
               !strcmp(got->graph->outputs[i]->name, want->graph->outputs[i]->name);
    free(twin);
    if (same) return true;
    printf("got:  ");
    sdx_graph_print(got->graph, pass_write, NULL);
    printf("want: ");
    sdx_graph_print(want->graph, pass_write, NULL);
    return false;
}

/* -- equal results */

static inline int64_t pass_symbol(void *user, const char *name)
{
    (void)user;
    (void)name;
    return 3;
}

/* The same values for the same input of any model. */
static inline bool pass_feed(Evaluator *e, unsigned seed)
{
    const Graph *g = e->m->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const Type *t = &g->inputs[i]->type;
        int64_t dims[SDX_MAX_RANK];
        for (int k = 0; k < t->shape.rank; k++) {
            dims[k] = sdx_dim_eval(e->m->syms, t->shape.dims[k], pass_symbol, NULL);
            if (dims[k] < 0) dims[k] = 3;
        }
        Datum *d = &e->value[g->inputs[i]->id];
        if (!CHECK(t->kind == TYPE_TENSOR && t->shape.rank >= 0)) return false;
        if (sdx_datum_tensor(d, &sdx_alloc_default, t->elem, t->shape.rank, dims, NULL) != SDX_OK) return false;
        uint32_t x = 2463534242u + 977u * (unsigned)i + seed;
        for (int64_t k = 0, n = sdx_tensor_count(&d->t); k < n; k++) {
            x ^= x << 13, x ^= x >> 17, x ^= x << 5; /* xorshift, Marsaglia 2003 */
            bool real = strchr("FS", sdx_dtype_class(t->elem)) != NULL;
            sdx_tensor_set_double(&d->t, k, real ? (x % 2001) / 500. - 2 : x % 3);
        }
    }
    return true;
}

static inline void pass_compare(const char *text, const Model *rewritten, bool exact)
{
    Model *m = pass_import(text);
    Err err = { 0 };
    Evaluator a, b;
    sdx_model_infer(m, &err);
    evaluate_init(&a, m);
    evaluate_init(&b, rewritten);
    if (pass_feed(&a, 1) && pass_feed(&b, 1)) {
        evaluate_model(&a, &err);
        CHECK_STR(err.text, "");
        evaluate_model(&b, &err);
        CHECK_STR(err.text, "");
        for (int i = 0; i < m->graph->n_outputs && err.code == SDX_OK; i++) {
            const Datum *x = &a.value[m->graph->outputs[i]->id], *y = &b.value[rewritten->graph->outputs[i]->id];
            if (!CHECK_INT(y->kind, x->kind) || x->kind != DATUM_TENSOR) continue;
            if (!CHECK(x->t.dtype == y->t.dtype && sdx_dims_equal(x->t.dims, x->t.rank, y->t.dims, y->t.rank)))
                continue;
            size_t nbytes;
            sdx_tensor_nbytes(&x->t, &nbytes);
            if (exact) {
                CHECK_BYTES(y->t.data, x->t.data, nbytes);
                continue;
            }
            for (int64_t k = 0, n = sdx_tensor_count(&x->t); k < n; k++) {
                double want = sdx_tensor_get_double(&x->t, k);
                double tol = x->t.dtype == DT_FLOAT16 ? 2e-3 : 1e-5;
                if (!CHECK_NEAR(sdx_tensor_get_double(&y->t, k), want, tol * (1 + fabs(want)))) break;
            }
        }
    }
    evaluate_fini(&a);
    evaluate_fini(&b);
    sdx_model_destroy(m);
}

/* -- the two tests */

static inline void pass_case(const char *pass, const char *before, const char *after)
{
    Model *m = pass_import(before), *want = pass_import(after);
    OptLevel level = pass_level(pass);
    if (m && want && pass_optimize(m, level) && pass_settle(want)) {
        CHECK(pass_same_graph(m, want));
        CHECK(pass_count(m, pass) > 0);
        pass_compare(before, m, level == OPT_EXACT);
    }
    sdx_model_destroy(m);
    sdx_model_destroy(want);
}

static inline void pass_keeps(const char *pass, const char *before)
{
    Model *m = pass_import(before);
    if (m && pass_optimize(m, pass_level(pass))) CHECK_INT(pass_count(m, pass), 0);
    if (m) pass_compare(before, m, pass_level(pass) == OPT_EXACT);
    sdx_model_destroy(m);
}

#endif
