#include "tests/prop/random_graph.h"

#include <stdio.h>
#include <string.h>

typedef struct Gen {
    Model *m;
    Graph *g;
    uint32_t x;
    Value *pool[256]; /* what nodes may read */
    int n_pool;
} Gen;

static uint32_t draw(Gen *r, uint32_t below) /* xorshift, Marsaglia 2003 */
{
    r->x ^= r->x << 13, r->x ^= r->x >> 17, r->x ^= r->x << 5;
    return r->x % below;
}

static void pool_add(Gen *r, Value *v)
{
    if (v && r->n_pool < (int)(sizeof r->pool / sizeof *r->pool)) r->pool[r->n_pool++] = v;
}

/* Recent values are likelier: that makes chains. */
static Value *pick(Gen *r)
{
    int back = (int)draw(r, draw(r, 3) ? 4 : 64);
    return r->pool[back < r->n_pool ? r->n_pool - 1 - back : (int)draw(r, (uint32_t)r->n_pool)];
}

static Value *pick_float(Gen *r)
{
    for (int i = 0; i < 16; i++) {
        Value *v = pick(r);
        if (v->type.elem == DT_FLOAT) return v;
    }
    return r->pool[0];
}

static Value *ints(Gen *r, const int64_t *v, int n)
{
    Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { n } };
    t.data = sdx_model_tensor_data(r->m, &t);
    if (t.data && n) memcpy(t.data, v, (size_t)n * sizeof *v);
    return t.data ? sdx_value_constant(r->g, NULL, &t) : NULL;
}

static Value *floats(Gen *r, int rank, const int64_t *dims)
{
    static const float nice[] = { 0, 1, 0.5f, 2, 3, -1, 0.70710678f, 1.702f, 1e-5f, 6 };
    Tensor t = { .dtype = DT_FLOAT, .rank = rank };
    for (int i = 0; i < rank; i++) t.dims[i] = dims[i];
    float *p = t.data = sdx_model_tensor_data(r->m, &t);
    if (!p) return NULL;
    for (int64_t i = 0, n = sdx_tensor_count(&t); i < n; i++)
        p[i] = n == 1 ? nice[draw(r, sizeof nice / sizeof *nice)] : ((int)draw(r, 41) - 20) / 10.f;
    return sdx_value_constant(r->g, NULL, &t);
}

/* Adds a node and keeps it when inference accepts it. */
static Value *node_attrs(Gen *r, const char *op, Value *const *in, int n_in, const Attr *attrs, int n_attrs)
{
    Err err = { 0 };
    Value *y = sdx_value_create(r->g, NULL);
    if (!y || !sdx_op_find("", op)) return NULL;
    for (int i = 0; i < n_in; i++)
        if (!in[i]) return NULL;
    const OpDef *def = sdx_op_find("", op);
    Node *n = sdx_node_create(r->g, NULL, def, NULL, in, n_in, &y, 1);
    if (!n) return NULL;
    n->op_type = op;
    for (int i = 0; i < n_attrs; i++)
        if (!sdx_node_set_attr(n, &attrs[i])) return NULL;
    if (sdx_node_parse(n, &err) == SDX_OK && sdx_model_infer_node(r->m, n, &err) == SDX_OK && y->type.shape.rank >= 0) {
        pool_add(r, y);
        return y;
    }
    sdx_node_remove(n);
    return NULL;
}

static Value *node(Gen *r, const char *op, Value *a, Value *b)
{
    return node_attrs(r, op, (Value *[]){ a, b }, b ? 2 : 1, NULL, 0);
}

static Value *scalar(Gen *r)
{
    static const int64_t ones[3] = { 1, 1, 1 };
    return floats(r, draw(r, 5) ? 0 : (int)draw(r, 3), ones);
}

/* -- steps --------------------------------------------------------------------------------------------------------- */

#define COUNT(a) (sizeof(a) / sizeof *(a))

static void step_unary(Gen *r)
{
    static const char *const ops[] = { "Neg", "Abs",      "Relu",     "Sigmoid",    "Tanh",
                                       "Erf", "Identity", "Softplus", "HardSigmoid" };
    node(r, ops[draw(r, COUNT(ops))], pick_float(r), NULL);
}

static void step_binary(Gen *r)
{
    static const char *const ops[] = { "Add", "Sub", "Mul", "Max", "Min" };
    Value *a = pick_float(r), *b = draw(r, 2) ? scalar(r) : pick_float(r);
    bool swap = draw(r, 2);
    Value *y = node(r, ops[draw(r, COUNT(ops))], swap ? b : a, swap ? a : b);
    if (y && draw(r, 2)) node(r, "Tanh", y, NULL); /* keeps sizes moderate */
}

static void step_quotient(Gen *r)
{
    static const float by[] = { 1, 2, 4, 0.5f, 1.41421354f, 3 };
    Tensor t = { .dtype = DT_FLOAT, .data = sdx_arena_alloc(&r->m->arena, sizeof(float), SDX_ALIGN) };
    if (!t.data) return;
    *(float *)t.data = by[draw(r, COUNT(by))];
    node(r, draw(r, 3) ? "Div" : "Mul", pick_float(r), sdx_value_constant(r->g, NULL, &t));
}

static void step_cast(Gen *r)
{
    static const int to[] = { DT_FLOAT, DT_DOUBLE, DT_INT32, DT_INT64, DT_FLOAT16, DT_FLOAT };
    Value *v = node(r, "Tanh", pick_float(r), NULL);
    for (int i = 0; v && i < 2; i++) {
        int64_t type = i ? DT_FLOAT : to[draw(r, COUNT(to))];
        v = node_attrs(r, "Cast", &v, 1, &(Attr){ .name = "to", .type = ATTR_INT, .n = 1, .i = type }, 1);
    }
}

static void step_transpose(Gen *r)
{
    Value *x = pick_float(r);
    int64_t perm[SDX_MAX_RANK];
    int rank = x->type.shape.rank;
    for (int i = 0; i < rank; i++) perm[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        int k = (int)draw(r, (uint32_t)i + 1);
        int64_t t = perm[i];
        perm[i] = perm[k];
        perm[k] = t;
    }
    int64_t *kept = sdx_arena_array(&r->m->arena, int64_t, rank);
    if (!kept) return;
    memcpy(kept, perm, (size_t)rank * sizeof *kept);
    node_attrs(r, "Transpose", &x, 1, &(Attr){ .name = "perm", .type = ATTR_INTS, .n = rank, .ints = kept }, 1);
}

static void step_view(Gen *r)
{
    static const int64_t targets[][4] = {
        { -1 }, { 0, -1 }, { -1, 2 }, { 2, -1 }, { 0, 0, -1 }, { 1, -1, 1 }, { 0, 0 }
    };
    static const int lens[] = { 1, 2, 2, 2, 3, 3, 2 };
    Value *x = pick_float(r);
    uint32_t kind = draw(r, 5), t = draw(r, COUNT(lens));
    int64_t axis = draw(r, (uint32_t)x->type.shape.rank + 1);
    if (kind == 0)
        node(r, "Unsqueeze", x, ints(r, &axis, 1));
    else if (kind == 1)
        node(r, "Squeeze", x, ints(r, &axis, 1));
    else if (kind == 2)
        node_attrs(r, "Flatten", &x, 1, &(Attr){ .name = "axis", .type = ATTR_INT, .n = 1, .i = axis }, 1);
    else if (kind == 3)
        node(r, "Reshape", x, ints(r, targets[t], lens[t]));
    else { /* to the shape of another value of as many elements, or of itself */
        Value *y = node(r, "Neg", x, NULL), *flat = y ? node(r, "Reshape", y, ints(r, targets[0], 1)) : NULL;
        if (flat) node(r, "Reshape", flat, node(r, "Shape", x, NULL));
    }
}

static void step_slice(Gen *r)
{
    Value *x = pick_float(r);
    int rank = x->type.shape.rank;
    if (rank < 1) return;
    int64_t axis = draw(r, (uint32_t)rank), from = (int)draw(r, 4) - 1, to = draw(r, 2) ? 99 : (int)draw(r, 4) - 1;
    int64_t step = draw(r, 3) ? 1 : draw(r, 2) ? 2 : -1;
    if (step < 0) from = 99, to = -99;
    node_attrs(r, "Slice", (Value *[]){ x, ints(r, &from, 1), ints(r, &to, 1), ints(r, &axis, 1), ints(r, &step, 1) },
               5, NULL, 0);
}

static void step_concat(Gen *r)
{
    Value *x = pick_float(r), *in[3] = { x, pick_float(r), x };
    int rank = x->type.shape.rank;
    if (rank < 1) return;
    node_attrs(r, "Concat", in, 2 + (int)draw(r, 2),
               &(Attr){ .name = "axis", .type = ATTR_INT, .n = 1, .i = draw(r, (uint32_t)rank) }, 1);
}

static void step_expand(Gen *r)
{
    Value *x = pick_float(r), *like = pick_float(r);
    Value *s = node(r, "Shape", like, NULL), *y = s ? node(r, "Expand", x, s) : NULL;
    if (y) node(r, "Add", y, like);
}

static void step_reduce(Gen *r)
{
    static const char *const ops[] = { "ReduceMean", "ReduceSum", "ReduceMax" };
    Value *x = node(r, "Tanh", pick_float(r), NULL);
    if (!x || x->type.shape.rank < 1) return;
    int64_t axis = draw(r, (uint32_t)x->type.shape.rank);
    Value *in[2] = { x, ints(r, &axis, 1) };
    Value *y = node_attrs(r, ops[draw(r, COUNT(ops))], in, 2,
                          &(Attr){ .name = "keepdims", .type = ATTR_INT, .n = 1, .i = draw(r, 2) }, 1);
    if (y && draw(r, 2)) node(r, "Sub", x, y);
}

static void step_matmul(Gen *r)
{
    Value *x = pick_float(r);
    int rank = x->type.shape.rank;
    if (rank < 2 || x->type.shape.dims[rank - 1] < 0) return;
    int64_t dims[2] = { x->type.shape.dims[rank - 1], 1 + draw(r, 4) };
    Value *y = node(r, "MatMul", x, floats(r, 2, dims));
    if (y && draw(r, 3)) y = node(r, "Add", y, floats(r, 1, &dims[1]));
    if (y) node(r, "Tanh", y, NULL);
}

static void step_conv(Gen *r)
{
    Value *x = pick_float(r);
    if (x->type.shape.rank != 4 || x->type.shape.dims[1] < 0) return;
    int64_t c = 1 + draw(r, 3), dims[4] = { c, x->type.shape.dims[1], 1, 1 }, per_channel[3] = { c, 1, 1 };
    Value *y = node(r, "Conv", x, floats(r, 4, dims));
    if (y && draw(r, 2)) y = node(r, draw(r, 2) ? "Mul" : "Add", y, floats(r, 3, per_channel));
    if (y) node(r, "Tanh", y, NULL);
}

static void step_swish(Gen *r)
{
    Value *x = pick_float(r), *s = node(r, draw(r, 3) ? "Sigmoid" : "HardSigmoid", x, NULL);
    if (s) node(r, "Mul", draw(r, 2) ? x : s, draw(r, 8) ? (draw(r, 2) ? s : x) : pick_float(r));
}

static void step_norm(Gen *r)
{
    Value *x = pick_float(r);
    int rank = x->type.shape.rank;
    if (rank < 1 || x->type.shape.dims[rank - 1] < 1) return;
    int64_t last = -1;
    float eps = 1e-3f;
    Tensor t = { .dtype = DT_FLOAT, .data = sdx_arena_alloc(&r->m->arena, sizeof eps, SDX_ALIGN) };
    if (!t.data) return;
    memcpy(t.data, &eps, sizeof eps);
    bool centre = draw(r, 2);
    Value *m = centre ? node(r, "ReduceMean", x, ints(r, &last, 1)) : NULL, *d = m ? node(r, "Sub", x, m) : x;
    Value *p = d ? node(r, "Mul", d, d) : NULL, *v = p ? node(r, "ReduceMean", p, ints(r, &last, 1)) : NULL;
    Value *e = v ? node(r, "Add", v, sdx_value_constant(r->g, NULL, &t)) : NULL,
          *s = e ? node(r, "Sqrt", e, NULL) : NULL;
    Value *n = s ? node(r, "Div", d, s) : NULL, *w = floats(r, 1, &x->type.shape.dims[rank - 1]);
    Value *y = n ? node(r, "Mul", n, w) : NULL;
    if (y && draw(r, 2)) node(r, "Add", y, w);
}

static void step_softmax(Gen *r)
{
    Value *x = pick_float(r);
    if (x->type.shape.rank < 1) return;
    node_attrs(r, "Softmax", &x, 1,
               &(Attr){ .name = "axis", .type = ATTR_INT, .n = 1, .i = draw(r, (uint32_t)x->type.shape.rank) }, 1);
}

static void (*const steps[])(Gen *r) = {
    step_unary,  step_binary, step_binary, step_quotient, step_cast,    step_transpose,
    step_view,   step_view,   step_slice,  step_concat,   step_expand,  step_reduce,
    step_matmul, step_conv,   step_swish,  step_norm,     step_softmax,
};

/* -- models -------------------------------------------------------------------------------------------------------- */

static void input_add(Gen *r, const char *name, int rank, const Dim *dims)
{
    Value *v = sdx_value_create(r->g, name);
    if (!v || sdx_graph_add_input(r->g, v, NULL) != SDX_OK) return;
    v->type = (Type){ .kind = TYPE_TENSOR, .elem = DT_FLOAT, .shape.rank = rank };
    for (int i = 0; i < rank; i++) v->type.shape.dims[i] = dims[i];
    pool_add(r, v);
}

Model *sdx_random_graph(uint32_t seed, int n_nodes)
{
    Gen r = { .x = seed * 2654435761u + 12345u };
    if (!r.x) r.x = 1;
    if (sdx_model_create(&sdx_alloc_default, 0, &r.m, NULL) != SDX_OK) return NULL;
    r.g = sdx_graph_create(r.m, NULL, NULL, "random");
    Dim n = sdx_dim_named(r.m->syms, "N", 1), m = sdx_dim_named(r.m->syms, "M", 1);
    input_add(&r, "x", 2, (Dim[]){ draw(&r, 2) ? n : 2, 4 });
    input_add(&r, "y", 4, (Dim[]){ n, 2, draw(&r, 2) ? m : 3, 1 });
    input_add(&r, "z", (int)draw(&r, 4), (Dim[]){ draw(&r, 2) ? 1 : m, 4, n });
    for (int guard = 0; r.g->n_nodes < n_nodes && guard < 10 * n_nodes; guard++) steps[draw(&r, COUNT(steps))](&r);
    for (int i = 0; i < r.n_pool; i++) {
        Value *v = r.pool[i];
        if (v->producer && (!v->n_uses || draw(&r, 16) == 0)) sdx_graph_add_output(r.g, v, NULL);
    }
    return r.m;
}
