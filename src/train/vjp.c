#include "train/vjp.h"

#include <stdarg.h>
#include <stdio.h>

#include "ops/infer.h"
#include "train/tape.h"

static bool failed(const Vjp *g) { return g->tape->err.code != SDX_OK; }

void sdx_vjp_fail(Vjp *g, const char *fmt, ...)
{
    char node[256], text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    sdx_fail(&g->tape->err, SDX_UNSUPPORTED, "%s: %s", sdx_node_text(g->n, node, sizeof node), text);
}

static void *no_memory(Vjp *g)
{
    sdx_fail(&g->tape->err, SDX_OUT_OF_MEMORY, "out of memory");
    return NULL;
}

/* -- the node ------------------------------------------------------------------------------------------------------ */

Value *sdx_vjp_out(Vjp *g, int o)
{
    if (failed(g)) return NULL;
    if (o < g->n->n_out && g->n->out[o]) return g->n->out[o];
    Value *v = sdx_value_create(g->n->graph, NULL);
    if (!v || !sdx_node_set_output(g->n, o, v)) return no_memory(g);
    return sdx_model_infer_node(g->tape->m, g->n, &g->tape->err) == SDX_OK ? v : NULL;
}

bool sdx_vjp_wants(const Vjp *g, int i)
{
    const Value *v = in(g, i);
    return v && v->id < g->tape->n_values && g->tape->active[v->id];
}

int64_t sdx_vjp_int(const Vjp *g, const char *attr, int64_t dflt)
{
    const Attr *a = sdx_node_attr(g->n, attr);
    return a && a->type == ATTR_INT ? a->i : dflt;
}

double sdx_vjp_float(const Vjp *g, const char *attr, float dflt)
{
    const Attr *a = sdx_node_attr(g->n, attr);
    return (double)(a && a->type == ATTR_FLOAT ? a->f : dflt);
}

bool sdx_vjp_word(const Vjp *g, const char *attr, const char *word)
{
    const Attr *a = sdx_node_attr(g->n, attr);
    return a && a->type == ATTR_STRING && a->s.n == strlen(word) && memcmp(a->s.p, word, a->s.n) == 0;
}

void sdx_vjp_ints(Vjp *g, const char *attr, int64_t *v, int n, int64_t dflt)
{
    const Attr *a = sdx_node_attr(g->n, attr);
    bool list = a && a->type == ATTR_INTS && a->n == n;
    if (a && !list) sdx_vjp_fail(g, "attribute %s does not have %d numbers", attr, n);
    for (int i = 0; i < n; i++) v[i] = list ? a->ints[i] : dflt;
}

int sdx_vjp_rank(Vjp *g, const Value *v)
{
    if (failed(g) || !v) return 0;
    if (v->type.shape.rank == SDX_RANK_UNKNOWN) sdx_vjp_fail(g, "its gradient needs the rank of `%s`", v->name);
    return v->type.shape.rank == SDX_RANK_UNKNOWN ? 0 : v->type.shape.rank;
}

int sdx_vjp_axis(Vjp *g, int64_t axis, int rank)
{
    if (axis >= -rank && axis < rank) return (int)(axis < 0 ? axis + rank : axis);
    sdx_vjp_fail(g, "axis %lld is outside [-%d, %d)", (long long)axis, rank, rank);
    return 0;
}

Value **sdx_vjp_room(Vjp *g, int n)
{
    if (failed(g)) return NULL;
    Value **list = sdx_arena_array(&g->tape->tmp, Value *, n);
    return list ? list : no_memory(g);
}

const char *sdx_vjp_text(Vjp *g, const char *s, int n)
{
    if (failed(g)) return NULL;
    const char *copy = sdx_arena_strndup(&g->tape->m->arena, s, (size_t)n);
    return copy ? copy : no_memory(g);
}

/* -- new nodes ----------------------------------------------------------------------------------------------------- */

static Node *node_start(Vjp *g, const OpDef *def, Value *const *from, int n_in, const Attr *attrs, int n_attrs,
                        int n_out)
{
    enum { MAX_OUT = 64 };
    Value *small[MAX_OUT], **to = small;
    Tape *t = g->tape;
    if (failed(g)) return NULL;
    if (t->m->next_node_id >= t->max_nodes) {
        sdx_fail(&t->err, SDX_LIMIT_NODES, "gradients take the model beyond %lld nodes", (long long)t->max_nodes);
        return NULL;
    }
    if (n_out > MAX_OUT && !(to = sdx_arena_array(&t->tmp, Value *, n_out))) return no_memory(g);
    for (int i = 0; i < n_out; i++)
        if (!(to[i] = sdx_value_create(t->at->graph, NULL))) return no_memory(g);
    Node *n = sdx_node_create(t->at->graph, t->at, def, NULL, from, n_in, to, n_out);
    if (!n) return no_memory(g);
    n->op_type = def->name;
    n->domain = def->domain ? def->domain : "";
    n->name = t->at->name;
    for (int i = 0; i < n_attrs; i++)
        if (!sdx_node_set_attr(n, &attrs[i])) return no_memory(g);
    return n;
}

static bool node_finish(Vjp *g, Node *n)
{
    Err *err = &g->tape->err;
    return n && sdx_node_parse(n, err) == SDX_OK && sdx_model_infer_node(g->tape->m, n, err) == SDX_OK;
}

/* Attribute lists live with the caller; the node's live with the model. */
static bool attrs_keep(Vjp *g, const Attr *attrs, int n, Attr *kept)
{
    Arena *a = &g->tape->m->arena;
    for (int i = 0; i < n; i++) {
        kept[i] = attrs[i];
        if (attrs[i].type != ATTR_INTS) continue;
        int64_t *v = sdx_arena_array(a, int64_t, attrs[i].n);
        if (!v) return no_memory(g) != NULL;
        for (int64_t k = 0; k < attrs[i].n; k++) v[k] = attrs[i].ints[k];
        kept[i].ints = v;
    }
    return true;
}

bool sdx_vjp_many(Vjp *g, const char *op, Value *const *from, int n_in, const Attr *attrs, int n_attrs, Value **to,
                  int n_out)
{
    enum { MAX_ATTRS = 8 };
    Attr kept[MAX_ATTRS];
    for (int i = 0; i < n_out; i++) to[i] = NULL;
    if (failed(g)) return false;
    const OpDef *def = sdx_op_find("", op);
    if (!def || n_attrs > MAX_ATTRS) {
        sdx_fail(&g->tape->err, SDX_INTERNAL, "operator %s cannot be built", op);
        return false;
    }
    if (!attrs_keep(g, attrs, n_attrs, kept)) return false;
    Node *n = node_start(g, def, from, n_in, kept, n_attrs, n_out);
    if (!node_finish(g, n)) return false;
    for (int i = 0; i < n_out; i++) to[i] = n->out[i];
    return true;
}

Value *sdx_vjp_with(Vjp *g, const char *op, Value *const *from, int n_in, const Attr *attrs, int n_attrs)
{
    Value *to;
    return sdx_vjp_many(g, op, from, n_in, attrs, n_attrs, &to, 1) ? to : NULL;
}

Value *sdx_vjp_op(Vjp *g, const char *op, Value *a, Value *b, Value *c)
{
    return sdx_vjp_with(g, op, (Value *[]){ a, b, c }, c ? 3 : b ? 2 : 1, NULL, 0);
}

Value *sdx_vjp_again(Vjp *g, Value *const *from, int n_in)
{
    Node *n = node_start(g, g->n->def, from, n_in, g->n->attrs, g->n->n_attrs, 1);
    return node_finish(g, n) ? n->out[0] : NULL;
}

/* -- constants ----------------------------------------------------------------------------------------------------- */

static Value *constant(Vjp *g, const Tensor *shape, void **data)
{
    Tensor t = *shape;
    if (failed(g) || !(t.data = *data = sdx_model_tensor_data(g->tape->m, &t))) return failed(g) ? NULL : no_memory(g);
    Value *v = sdx_value_constant(g->tape->at->graph, NULL, &t);
    return v ? v : no_memory(g);
}

Value *sdx_vjp_num(Vjp *g, const Value *like, double x)
{
    void *data;
    if (!like) return NULL;
    Tensor t = { .dtype = like->type.elem };
    Value *v = constant(g, &t, &data);
    t.data = data;
    if (v) sdx_tensor_set_double(&t, 0, x);
    return v;
}

static Value *constant_ints(Vjp *g, const int64_t *list, int n, int rank)
{
    void *data;
    Value *v = constant(g, &(Tensor){ .dtype = DT_INT64, .rank = rank, .dims = { n } }, &data);
    if (v && n) memcpy(data, list, (size_t)n * sizeof *list);
    return v;
}

Value *sdx_vjp_list(Vjp *g, const int64_t *list, int n) { return constant_ints(g, list, n, 1); }
Value *sdx_vjp_int64(Vjp *g, int64_t v) { return constant_ints(g, &v, 1, 0); }

Value *sdx_vjp_fill(Vjp *g, double x, DType elem, Value *shape)
{
    void *data;
    Tensor *t = sdx_arena_new(&g->tape->m->arena, Tensor);
    if (!t) return no_memory(g);
    *t = (Tensor){ .dtype = elem, .rank = 1, .dims = { 1 } };
    if (!(t->data = data = sdx_model_tensor_data(g->tape->m, t))) return no_memory(g);
    sdx_tensor_set_double(t, 0, x);
    Attr value = { .name = "value", .type = ATTR_TENSOR, .n = 1, .t = t };
    return sdx_vjp_with(g, "ConstantOfShape", &shape, 1, &value, 1);
}

Value *sdx_vjp_fill_like(Vjp *g, double x, Value *like)
{
    return like ? sdx_vjp_fill(g, x, like->type.elem, sdx_vjp_shape(g, like, 0, -1)) : NULL;
}

/* -- formulas that rules share ------------------------------------------------------------------------------------- */

Value *sdx_vjp_cast(Vjp *g, Value *v, DType to)
{
    if (!v || v->type.elem == to) return v;
    return sdx_vjp_with(g, "Cast", &v, 1, &VJP_INT("to", to), 1);
}

Value *sdx_vjp_shape(Vjp *g, Value *v, int from, int to)
{
    return sdx_vjp_with(g, "Shape", &v, 1, (Attr[]){ VJP_INT("start", from), VJP_INT("end", to) }, to < 0 ? 1 : 2);
}

Value *sdx_vjp_reshape(Vjp *g, Value *v, Value *shape)
{
    return sdx_vjp_with(g, "Reshape", (Value *[]){ v, shape }, 2, &VJP_INT("allowzero", 1), 1);
}

Value *sdx_vjp_reshape_like(Vjp *g, Value *v, Value *like)
{
    return sdx_vjp_reshape(g, v, sdx_vjp_shape(g, like, 0, -1));
}

Value *sdx_vjp_expand_like(Vjp *g, Value *v, Value *like)
{
    return sdx_vjp_op(g, "Expand", v, sdx_vjp_shape(g, like, 0, -1), NULL);
}

Value *sdx_vjp_reduce(Vjp *g, const char *op, Value *v, const int64_t *axes, int n, bool keep)
{
    if (n == 0) return v;
    return sdx_vjp_with(g, op, (Value *[]){ v, sdx_vjp_list(g, axes, n) }, 2, &VJP_INT("keepdims", keep), 1);
}

Value *sdx_vjp_unsqueeze(Vjp *g, Value *v, const int64_t *axes, int n)
{
    return n ? sdx_vjp_op(g, "Unsqueeze", v, sdx_vjp_list(g, axes, n), NULL) : v;
}

Value *sdx_vjp_concat(Vjp *g, Value *const *from, int n, int64_t axis)
{
    return n == 1 ? from[0] : sdx_vjp_with(g, "Concat", from, n, &VJP_INT("axis", axis), 1);
}

Value *sdx_vjp_total(Vjp *g, Value *v) { return sdx_vjp_with(g, "ReduceSum", &v, 1, &VJP_INT("keepdims", 0), 1); }

Value *sdx_vjp_ratio(Vjp *g, Value *a, Value *b, bool inverse)
{
    if (failed(g) || !a) return NULL;
    /* In float at least: a count may be more than float16 holds, while its inverse is fine. */
    DType wide = a->type.elem == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
    Value *na = sdx_vjp_cast(g, apply(g, "Size", a), wide), *nb = sdx_vjp_cast(g, apply(g, "Size", b), wide);
    return sdx_vjp_cast(g, inverse ? over(g, nb, na) : over(g, na, nb), a->type.elem);
}

Value *sdx_vjp_channels(Vjp *g, Value *v, int rank)
{
    int64_t axes[SDX_MAX_RANK];
    for (int i = 1; i < rank - 1; i++) axes[i - 1] = i;
    return sdx_vjp_unsqueeze(g, v, axes, rank > 2 ? rank - 2 : 0);
}

Value *sdx_vjp_scatter(Vjp *g, Value *x, Value *from, Value *d)
{
    if (failed(g)) return NULL;
    Value *flat = sdx_vjp_list(g, (int64_t[]){ -1 }, 1), *one = sdx_vjp_list(g, (int64_t[]){ 1 }, 1);
    Value *zeros = sdx_vjp_fill(g, 0, x->type.elem, sdx_vjp_op(g, "Reshape", apply(g, "Size", x), one, NULL));
    Value *list[] = { zeros, sdx_vjp_op(g, "Reshape", from, flat, NULL), sdx_vjp_op(g, "Reshape", d, flat, NULL) };
    Value *sum = sdx_vjp_with(g, "ScatterElements", list, 3, &VJP_STR("reduction", "add"), 1);
    return sdx_vjp_reshape_like(g, sum, x);
}

/* -- results ------------------------------------------------------------------------------------------------------- */

void sdx_vjp_give(Vjp *g, int i, Value *d)
{
    if (!failed(g) && d && sdx_vjp_wants(g, i)) sdx_tape_add(g->tape, in(g, i), d);
}

/* The axes of d to sum over, d being x repeated. -1: sizes do not tell. */
static int repeated_axes(const Shape *d, const Shape *x, int64_t *axes)
{
    int n = 0, lead = d->rank - x->rank;
    if (d->rank < 0 || x->rank < 0 || lead < 0) return -1;
    for (int i = 0; i < d->rank; i++) {
        Dim a = d->dims[i], b = i < lead ? 1 : x->dims[i - lead];
        if (i < lead || (b == 1 && a != 1))
            axes[n++] = i;
        else if (a != b && !sdx_dim_is_const(b) && a != 1)
            return -1;
    }
    return n;
}

/* Where sizes are known while running only: the axes are those whose sizes differ. */
static Value *sum_to_unknown(Vjp *g, Value *d, Value *x)
{
    Value *to = sdx_vjp_shape(g, x, 0, -1), *have = sdx_vjp_shape(g, d, 0, -1);
    Value *missing = sub(g, apply(g, "Shape", have), apply(g, "Shape", to));
    Value *padded = sdx_vjp_concat(g, (Value *[]){ sdx_vjp_fill(g, 1, DT_INT64, missing), to }, 2, 0);
    Value *differ = apply(g, "Not", sdx_vjp_op(g, "Equal", have, padded, NULL));
    Value *axes = sdx_vjp_op(g, "Reshape", apply(g, "NonZero", differ), sdx_vjp_list(g, (int64_t[]){ -1 }, 1), NULL);
    Value *sum = sdx_vjp_with(g, "ReduceSum", (Value *[]){ d, axes }, 2, &VJP_INT("noop_with_empty_axes", 1), 1);
    return sdx_vjp_reshape(g, sum, to);
}

void sdx_vjp_give_sum(Vjp *g, int i, Value *d)
{
    int64_t axes[SDX_MAX_RANK];
    if (failed(g) || !d || !sdx_vjp_wants(g, i)) return;
    Value *x = in(g, i);
    int n = repeated_axes(&d->type.shape, &x->type.shape, axes), lead = d->type.shape.rank - x->type.shape.rank;
    if (n < 0)
        d = sum_to_unknown(g, d, x);
    else if (n > 0)
        d = sdx_vjp_reduce(g, "ReduceSum", d, axes, n, n > lead);
    /* The leading axes come first in the list. */
    if (n > lead && lead > 0) d = sdx_vjp_op(g, "Squeeze", d, sdx_vjp_list(g, axes, lead), NULL);
    sdx_vjp_give(g, i, d);
}
