/* tests/prop - properties of random graphs
 *
 *     rewritten at level exact    = as written, bit by bit
 *     rewritten at level default  = as written, up to rounding
 *     inferred shape              = shape when run, symbols having values
 *
 *     prop             a fixed number of graphs
 *     prop N           N of them
 *     prop N SEED      from that seed on; a failure prints the call that repeats it */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "opt/opt.h"
#include "tests/evaluate.h"
#include "tests/prop/random_graph.h"

enum { NODES = 14, GRAPHS = 5000 };

static uint32_t seed;
static int failures;

static void fail(const char *what, const char *detail)
{
    failures++;
    printf("prop 1 %u: %s: %s\n", seed, what, detail);
}

static void write_out(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stdout);
}

static int64_t symbol(void *user, const char *name)
{
    (void)user;
    return name[0] == 'N' ? 3 : 2;
}

static void feed(Evaluator *e)
{
    const Graph *g = e->m->graph;
    for (int i = 0; i < g->n_inputs; i++) {
        const Shape *s = &g->inputs[i]->type.shape;
        int64_t dims[SDX_MAX_RANK];
        for (int k = 0; k < s->rank; k++) dims[k] = sdx_dim_eval(e->m->syms, s->dims[k], symbol, NULL);
        Datum *d = &e->value[g->inputs[i]->id];
        if (sdx_datum_tensor(d, &sdx_alloc_default, DT_FLOAT, s->rank, dims, NULL) != SDX_OK) continue;
        uint32_t x = seed * 7919u + (uint32_t)i + 1;
        for (int64_t k = 0, n = sdx_tensor_count(&d->t); k < n; k++) {
            x = x * 1664525u + 1013904223u; /* Numerical Recipes */
            ((float *)d->t.data)[k] = (float)((int)(x >> 16) % 4001 - 2000) / 1000.f;
        }
    }
}

static bool same_element(double a, double b, bool exact)
{
    if (isnan(a) || isnan(b)) return isnan(a) == isnan(b) || !exact;
    if (a == b) return true;
    if (exact) return false;
    if (!isfinite(a) || !isfinite(b) || fabs(a) > 1e4) return true; /* rewrites may overflow later, or not */
    return fabs(a - b) <= 2e-3 * (1 + fabs(a));
}

static void compare(const Evaluator *a, const Evaluator *b, bool exact)
{
    const Graph *g = a->m->graph, *h = b->m->graph;
    char text[256];
    for (int i = 0; i < g->n_outputs; i++) {
        const Datum *x = &a->value[g->outputs[i]->id], *y = &b->value[h->outputs[i]->id];
        if (strcmp(g->outputs[i]->name, h->outputs[i]->name) != 0) fail("output renamed", h->outputs[i]->name);
        if (x->t.dtype != y->t.dtype || !sdx_dims_equal(x->t.dims, x->t.rank, y->t.dims, y->t.rank)) {
            fail("type or shape changed", g->outputs[i]->name);
            continue;
        }
        for (int64_t k = 0, n = sdx_tensor_count(&x->t); k < n; k++) {
            double u = sdx_tensor_get_double(&x->t, k), v = sdx_tensor_get_double(&y->t, k);
            if (same_element(u, v, exact)) continue;
            snprintf(text, sizeof text, "%s[%lld] is %.9g, as written %.9g", g->outputs[i]->name, (long long)k, v, u);
            fail(exact ? "level exact" : "level default", text);
            break;
        }
    }
}

/* Reshape to a -1 beside a 0 has no defined size: inference takes N / N for 1. */
static bool reads_nothing(const Evaluator *e, const Node *n)
{
    const Datum *d = n->n_in ? &e->value[n->in[0]->id] : NULL;
    return d && d->kind == DATUM_TENSOR && sdx_tensor_count(&d->t) == 0;
}

static void check_shapes(const Evaluator *e)
{
    char text[256];
    for (int i = 0; i < e->m->n_values; i++) {
        const Value *v = e->m->values[i];
        const Datum *d = &e->value[i];
        if (!v || !v->producer || d->kind != DATUM_TENSOR || reads_nothing(e, v->producer)) continue;
        bool right = v->type.shape.rank == d->t.rank && v->type.elem == d->t.dtype;
        for (int k = 0; k < d->t.rank && right; k++) {
            int64_t want = sdx_dim_eval(e->m->syms, v->type.shape.dims[k], symbol, NULL);
            right = want < 0 || want == d->t.dims[k];
        }
        for (int k = 0; right && k < v->known.n; k++)
            right = !v->known.v[k].known || v->known.v[k].v == sdx_tensor_get_int(&d->t, k);
        if (!right) fail("inferred", sdx_type_text(e->m->syms, &v->type, text, sizeof text));
    }
}

static void check_level(const Evaluator *plain, OptLevel level)
{
    Model *m = sdx_random_graph(seed, NODES);
    Err err = { 0 };
    Evaluator e;
    if (sdx_opt_run(m, &(OptOptions){ .level = level }, &err) != SDX_OK || sdx_model_verify(m, &err) != SDX_OK) {
        fail("rewriting", err.text);
    } else {
        evaluate_init(&e, m);
        feed(&e);
        if (evaluate_model(&e, &err) != SDX_OK)
            fail("rewritten model", err.text);
        else
            compare(plain, &e, level == OPT_EXACT);
        evaluate_fini(&e);
    }
    sdx_model_destroy(m);
}

static void check_seed(void)
{
    Model *m = sdx_random_graph(seed, NODES);
    Err err = { 0 };
    Evaluator e;
    int before = failures;
    if (sdx_model_infer(m, &err) != SDX_OK) fail("infer", err.text);
    evaluate_init(&e, m);
    feed(&e);
    /* What symbols hide may not fit when they get values: such a graph has nothing to say. */
    if (evaluate_model(&e, &err) == SDX_OK) {
        check_shapes(&e);
        check_level(&e, OPT_EXACT);
        check_level(&e, OPT_DEFAULT);
    }
    if (failures != before) sdx_graph_print(m->graph, write_out, NULL);
    evaluate_fini(&e);
    sdx_model_destroy(m);
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : GRAPHS;
    uint32_t from = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1;
    for (int i = 0; i < n && failures < 20; i++) {
        seed = from + (uint32_t)i;
        check_seed();
    }
    printf("prop: %d graphs, %d failures\n", n, failures);
    return failures != 0;
}
