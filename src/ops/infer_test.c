#include "ops/infer.h"

#include <string.h>

#include "tests/harness.h"

static Model *model;
static Graph *graph;

static void begin(void)
{
    CHECK_INT(sdx_model_create(&sdx_alloc_default, 0, &model, NULL), SDX_OK);
    graph = sdx_graph_create(model, NULL, NULL, "g");
}

static Dim sym(const char *name) { return sdx_dim_named(model->syms, name, strlen(name)); }

static Value *input(const char *name, DType elem, int rank, const Dim *dims)
{
    Value *v = sdx_value_create(graph, name);
    v->type = (Type){ .kind = TYPE_TENSOR, .elem = elem, .shape.rank = rank };
    for (int i = 0; i < rank; i++) v->type.shape.dims[i] = dims[i];
    sdx_graph_add_input(graph, v, NULL);
    return v;
}

static Value *ints(const char *name, const int64_t *v, int n)
{
    Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { n } };
    t.data = sdx_model_tensor_data(model, &t);
    memcpy(t.data, v, (size_t)n * sizeof *v);
    return sdx_value_constant(graph, name, &t);
}

static Value *op(const char *type, Value *a, Value *b)
{
    Err err = { 0 };
    Value *y = sdx_value_create(graph, NULL);
    CHECK(sdx_node_make(graph, NULL, "", type, (Value *[]){ a, b }, b ? 2 : 1, &y, 1, &err) != NULL);
    CHECK_STR(err.text, "");
    return y;
}

static void infer(void)
{
    Err err = { 0 };
    CHECK_INT(sdx_model_infer(model, &err), SDX_OK);
    CHECK_STR(err.text, "");
}

static void check_type(const Value *v, const char *want)
{
    char buf[256];
    CHECK_STR(sdx_type_text(model->syms, &v->type, buf, sizeof buf), want);
}

static void shapes_flow_through_contents(void)
{
    begin();
    Value *x = input("x", DT_FLOAT, 3, (Dim[]){ sym("N"), 12, 64 });
    Value *y = op("Reshape", x, ints("t", (int64_t[]){ 0, -1 }, 2));
    Value *s = op("Identity", op("Shape", y, NULL), NULL);
    Value *z = op("Reshape", op("Reshape", y, ints("flat", (int64_t[]){ -1 }, 1)), s);
    infer();
    check_type(y, "float[N,768]");
    check_type(z, "float[N,768]");
    CHECK_INT(s->known.n, 2);
    CHECK_INT(s->known.v[1].v, 768);
    CHECK(!x->shape_determining);
    sdx_model_destroy(model);
}

static void callers_contents_are_marked(void)
{
    begin();
    Value *x = input("x", DT_FLOAT, 2, (Dim[]){ sym("N"), 4 });
    Value *k = input("k", DT_INT64, 1, (Dim[]){ 2 }), *j = input("j", DT_INT64, 1, (Dim[]){ 2 });
    Value *y = op("Reshape", x, op("Identity", k, NULL));
    op("Identity", j, NULL);
    infer();
    CHECK(k->shape_determining);
    CHECK(!j->shape_determining && !x->shape_determining);
    CHECK_INT(y->type.shape.rank, 2);
    CHECK(y->type.shape.dims[0] < 0 && y->type.shape.dims[0] != SDX_DIM_UNKNOWN);
    sdx_model_destroy(model);
}

static void overridable_contents_are_not_believed(void)
{
    begin();
    Value *x = input("x", DT_FLOAT, 1, (Dim[]){ 4 });
    Value *t = ints("t", (int64_t[]){ 2, 2 }, 2);
    t->flags |= VALUE_OVERRIDABLE;
    Value *y = op("Reshape", x, t);
    infer();
    CHECK(y->type.shape.dims[0] < 0);
    CHECK(t->shape_determining);
    sdx_model_destroy(model);
}

static void failures_name_the_node(void)
{
    begin();
    Value *x = input("x", DT_FLOAT, 1, (Dim[]){ 6 });
    Value *y = op("Reshape", x, ints("t", (int64_t[]){ 4, -1 }, 2));
    Err err = { 0 };
    CHECK_INT(sdx_model_infer(model, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, y->name);
    sdx_model_destroy(model);
}

static const Tensor *plan_tensor(const InferHost *h, const Infer *c, int i)
{
    (void)c;
    return i == 1 ? h->user : NULL;
}

static void one_node_in_a_plan(void)
{
    begin();
    Value *x = input("x", DT_FLOAT, 1, (Dim[]){ sym("N") }), *t = input("t", DT_INT32, 1, (Dim[]){ 2 });
    t->type.elem = DT_INT64;
    Node *n = op("Reshape", x, t)->producer;
    Type tx = { .kind = TYPE_TENSOR, .elem = DT_FLOAT, .shape = { 1, { 6 } } }, out;
    Tensor target = { .dtype = DT_INT64, .rank = 1, .dims = { 2 }, .data = (int64_t[]){ -1, 3 } };
    InferHost h = { .tensor = plan_tensor, .user = &target };
    DimVec known;
    Err err = { 0 };
    CHECK_INT(sdx_infer_node(&h, n, NULL, &model->arena, (const Type *[]){ &tx, &t->type }, &out, &known, &err),
              SDX_OK);
    CHECK_STR(err.text, "");
    CHECK_INT(out.shape.rank, 2);
    CHECK_INT(out.shape.dims[0], 2);
    CHECK_INT(out.elem, DT_FLOAT);
    h.tensor = NULL; /* the target is computed in the run */
    CHECK_INT(sdx_infer_node(&h, n, NULL, &model->arena, (const Type *[]){ &tx, &t->type }, &out, &known, &err),
              SDX_OK);
    CHECK_INT(out.shape.rank, 2);
    CHECK_INT(out.shape.dims[0], SDX_DIM_UNKNOWN);
    sdx_model_destroy(model);
}

SUITE(infer_test)
{
    RUN(shapes_flow_through_contents);
    RUN(callers_contents_are_marked);
    RUN(overridable_contents_are_not_believed);
    RUN(failures_name_the_node);
    RUN(one_node_in_a_plan);
}
