/* Operators that kernels call: each is a session of one node, whose inputs have no types until it is invoked. */
#include <stdio.h>

#include "ort/entries_model.h"

enum { ARGS_MAX = 256 };

struct OrtOp {
    OrtSession *session;
    int n_in, n_out;
    const char **in, **out; /* names */
    Arena arena;
};

static const char **make_names(Arena *a, char letter, int n)
{
    const char **names = sdx_arena_array(a, const char *, n + 1);
    for (int i = 0; names && i < n; i++)
        if (!(names[i] = sdx_arena_printf(a, "%c%d", letter, i))) return NULL;
    return names;
}

static OrtStatus *declare(OrtGraph *g, const char *const *names, int n, bool out)
{
    static OrtTypeInfo unknown = { .refs = 1, .kind = TYPE_UNKNOWN }; /* a reference that nobody gives up */
    OrtValueInfo *list[ARGS_MAX];
    OrtStatus *st = NULL;
    int made = 0;
    for (; !st && made < n; made++) st = sdx_edit_CreateValueInfo(names[made], &unknown, &list[made]);
    if (!st)
        st = out ? sdx_edit_SetGraphOutputs(g, list, (size_t)n) : sdx_edit_SetGraphInputs(g, list, (size_t)n);
    else
        made--;
    for (int i = 0; st && i < made; i++) sdx_ort_ReleaseValueInfo(list[i]);
    return st;
}

/* A graph of the node; attributes stay the caller's. */
static OrtStatus *op_graph(OrtOp *op, const char *name, const char *domain, const OrtOpAttr *const *attrs, int n_attrs,
                           OrtGraph **out)
{
    OrtGraph *g;
    OrtNode *node = NULL;
    OrtStatus *st = sdx_edit_CreateGraph(&g);
    if (st) return st;
    st = declare(g, op->in, op->n_in, false);
    if (!st) st = declare(g, op->out, op->n_out, true);
    if (!st)
        st = sdx_edit_CreateNode(name, domain, "", op->in, (size_t)op->n_in, op->out, (size_t)op->n_out, NULL, 0,
                                 &node);
    if (!st) {
        node->attrs = sdx_arena_array(&node->arena, OrtOpAttr *, n_attrs + 1);
        if (!node->attrs) st = sdx_ort_no_memory();
        for (int i = 0; !st && i < n_attrs; i++) node->attrs[i] = (OrtOpAttr *)attrs[i];
        node->n_borrowed = st ? 0 : (size_t)n_attrs;
        OrtStatus *added = st ? NULL : sdx_edit_AddNodeToGraph(g, node);
        if (st || added) sdx_ort_ReleaseNode(node);
        if (added) st = added;
    }
    if (st)
        sdx_ort_ReleaseGraph(g);
    else
        *out = g;
    return st;
}

static OrtStatus *op_open(OrtOp *op, const char *name, const char *domain, int version, const OrtOpAttr *const *attrs,
                          int n_attrs)
{
    OrtModel *m = NULL;
    OrtGraph *g = NULL;
    OrtEnv *env = NULL;
    OrtSessionOptions *o = NULL;
    OrtStatus *st = op_graph(op, name, domain, attrs, n_attrs, &g);
    if (!st) st = sdx_edit_CreateModel(&domain, &version, 1, &m);
    if (st) {
        sdx_ort_ReleaseGraph(g);
        return st;
    }
    st = sdx_edit_AddGraphToModel(m, g);
    if (!st) st = sdx_ort_CreateEnv(2, "", &env);
    if (!st) st = sdx_ort_CreateSessionOptions(&o);
    if (!st) st = sdx_ort_SetSessionGraphOptimizationLevel(o, 0); /* one node, as it is asked for */
    if (!st) st = sdx_edit_CreateSessionFromModel(env, m, o, &op->session);
    sdx_ort_ReleaseSessionOptions(o);
    sdx_ort_ReleaseEnv(env);
    sdx_ort_ReleaseModel(m);
    return st;
}

/* Types come with the values of each call: constraints are not needed to find the code. */
OrtStatus *sdx_ort_CreateOp(const OrtKernelInfo *info, const char *name, const char *domain, int version,
                            const char **constraints, const int *types, int n_constraints,
                            const OrtOpAttr *const *attrs, int n_attrs, int n_in, int n_out, OrtOp **out)
{
    (void)constraints, (void)types, (void)n_constraints;
    if (!info || !name || !out || (n_attrs && !attrs)) return sdx_ort_null("kernel info, name, attributes or out");
    if (n_in < 0 || n_out < 1 || n_attrs < 0 || n_in > ARGS_MAX || n_out > ARGS_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%d inputs, %d outputs, %d attributes", n_in, n_out, n_attrs);
    OrtOp *op = sdx_alloc_zero(&sdx_alloc_default, sizeof *op);
    if (!op) return sdx_ort_no_memory();
    sdx_arena_init(&op->arena, &sdx_alloc_default, 0);
    op->n_in = n_in;
    op->n_out = n_out;
    op->in = make_names(&op->arena, 'i', n_in);
    op->out = make_names(&op->arena, 'o', n_out);
    OrtStatus *st = op->in && op->out ? op_open(op, name, domain ? domain : "", version, attrs, n_attrs)
                                      : sdx_ort_no_memory();
    if (st)
        sdx_ort_ReleaseOp(op);
    else
        *out = op;
    return st;
}

OrtStatus *sdx_ort_InvokeOp(const OrtKernelContext *c, const OrtOp *op, const OrtValue *const *in, int n_in,
                            OrtValue *const *out, int n_out)
{
    OrtValue *results[ARGS_MAX];
    if (!c || !op || (n_in && !in) || !out) return sdx_ort_null("context, operator or values");
    if (n_in != op->n_in || n_out != op->n_out)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the operator was made for %d inputs and %d outputs, not %d and %d",
                            op->n_in, op->n_out, n_in, n_out);
    for (int i = 0; i < n_out; i++) {
        if (!out[i]) return sdx_ort_null("an output");
        results[i] = out[i];
    }
    return sdx_ort_Run(op->session, NULL, op->in, in, (size_t)n_in, op->out, (size_t)n_out, results);
}

void sdx_ort_ReleaseOp(OrtOp *op)
{
    if (!op) return;
    sdx_ort_ReleaseSession(op->session);
    sdx_arena_fini(&op->arena);
    sdx_free(&sdx_alloc_default, op);
}
