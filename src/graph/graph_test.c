#include "graph/graph.h"

#include <string.h>

#include "tests/harness.h"

static Model *model;
static Graph *graph;

static Value *input(const char *name)
{
    Value *v = sdx_value_create(graph, name);
    sdx_graph_add_input(graph, v, NULL);
    return v;
}

static Node *op(Graph *g, const char *type, Value *a, Value *b, const char *out)
{
    Value *y = sdx_value_create(g, out);
    Node *n = sdx_node_create(g, NULL, NULL, NULL, (Value *[]){ a, b }, 2, &y, 1);
    n->op_type = type;
    return n;
}

static void begin(void)
{
    CHECK_INT(sdx_model_create(&sdx_alloc_default, 0, &model, NULL), SDX_OK);
    graph = sdx_graph_create(model, NULL, NULL, "g");
}

static void end(void)
{
    sdx_model_destroy(model);
    model = NULL;
}

static void verify(void)
{
    Err err = { 0 };
    CHECK_INT(sdx_model_verify(model, &err), SDX_OK);
    CHECK_STR(err.text, "");
}

static char printed[4096];

static void print_add(void *user, const char *text, size_t n)
{
    (void)user;
    size_t at = strlen(printed);
    if (at + n < sizeof printed) memcpy(printed + at, text, n), printed[at + n] = '\0';
}

static const char *print(void)
{
    printed[0] = '\0';
    sdx_graph_print(graph, print_add, NULL);
    return printed;
}

static void names_are_unique_per_graph(void)
{
    begin();
    Value *a = sdx_value_create(graph, "x"), *b = sdx_value_create(graph, "x"), *c = sdx_value_create(graph, NULL);
    CHECK(strcmp(a->name, b->name) != 0 && strcmp(b->name, c->name) != 0);
    CHECK(sdx_graph_find(graph, "x") == a);
    CHECK(sdx_graph_find(graph, "y") == NULL);
    for (int i = 0; i < 500; i++) sdx_value_create(graph, NULL);
    CHECK(sdx_graph_find(graph, b->name) == b);
    sdx_value_remove(a);
    CHECK(sdx_graph_find(graph, "x") == NULL);
    Graph *inner = sdx_graph_create(model, graph, NULL, "inner");
    CHECK_STR(sdx_value_create(inner, "x")->name, "x");
    end();
}

static void use_lists_follow_edits(void)
{
    begin();
    Value *x = input("x"), *y = input("y");
    Node *n = op(graph, "Add", x, x, "s");
    CHECK_INT(x->n_uses, 2);
    CHECK(sdx_node_set_input(n, 1, y));
    CHECK_INT(x->n_uses, 1);
    CHECK_INT(y->n_uses, 1);
    CHECK(sdx_node_set_input(n, 3, y));
    CHECK_INT(n->n_in, 4);
    CHECK(n->in[2] == NULL);
    verify();
    CHECK(sdx_node_set_input(n, 3, NULL));
    CHECK_INT(n->n_in, 2); /* no trailing absent inputs */
    CHECK(sdx_node_set_inputs(n, (Value *[]){ y, x, NULL }, 3));
    CHECK_INT(n->n_in, 2);
    verify();
    sdx_node_remove(n);
    CHECK_INT(x->n_uses + y->n_uses, 0);
    CHECK_INT(graph->n_nodes, 0);
    verify();
    end();
}

static void outputs_keep_their_names(void)
{
    begin();
    Value *x = input("x");
    Node *neg = op(graph, "Neg", x, NULL, "t"), *id = op(graph, "Identity", neg->out[0], NULL, "y");
    Value *t = neg->out[0], *y = id->out[0];
    sdx_graph_add_output(graph, y, NULL);
    CHECK(!sdx_value_can_replace(y, x)); /* an input cannot be known as y */
    CHECK(sdx_value_replace(y, t));
    sdx_node_remove(id);
    CHECK(graph->outputs[0] == t);
    CHECK_STR(t->name, "y");
    CHECK(sdx_graph_find(graph, "y") == t);
    verify();
    end();
}

static void sorting(void)
{
    begin();
    Value *x = input("x"), *late = sdx_value_create(graph, "late");
    Node *first = op(graph, "Add", x, late, "y");
    Node *other = op(graph, "Neg", x, NULL, "o");
    Node *last = sdx_node_create(graph, NULL, NULL, "last", &x, 1, &late, 1);
    last->op_type = "Relu";
    Err err = { 0 };
    CHECK_INT(sdx_model_verify(model, NULL), SDX_INTERNAL);
    CHECK_INT(sdx_model_sort(model, &err), SDX_OK);
    CHECK(graph->first == other && other->next == last && last->next == first && graph->last == first);
    verify();
    sdx_node_set_input(last, 0, first->out[0]);
    CHECK_INT(sdx_model_sort(model, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "depends on its own output");
    end();
}

/* y = If(c) { t = Neg(x); r = Add(t, x) } */
static Node *make_if(Value *c, Value *x, Graph **body)
{
    Node *n = op(graph, "If", c, NULL, "y");
    *body = sdx_graph_create(model, graph, n, "body");
    sdx_node_set_attr(n, &(Attr){ .name = "then_branch", .type = ATTR_GRAPH, .n = 1, .g = *body });
    Node *neg = op(*body, "Neg", x, NULL, "t");
    Node *add = op(*body, "Add", neg->out[0], x, "r");
    sdx_graph_add_output(*body, add->out[0], NULL);
    return n;
}

static void nested_graphs(void)
{
    begin();
    Value *c = input("c"), *x = input("x");
    Node *relu = op(graph, "Relu", x, NULL, "z");
    Graph *body;
    Node *branch = make_if(c, relu->out[0], &body);
    CHECK(relu->out[0]->flags & VALUE_CAPTURED);
    CHECK(sdx_graph_ancestor(graph, body->first) == branch);
    verify();
    sdx_graph_move_before(branch, relu); /* now it captures what comes later */
    CHECK_INT(sdx_model_verify(model, NULL), SDX_INTERNAL);
    CHECK_INT(sdx_model_sort(model, NULL), SDX_OK);
    CHECK(graph->first == relu);
    CHECK(sdx_value_replace(relu->out[0], x));
    CHECK(x->flags & VALUE_CAPTURED);
    CHECK(!(relu->out[0]->flags & VALUE_CAPTURED));
    verify();
    sdx_node_remove(branch);
    CHECK(!(x->flags & VALUE_CAPTURED));
    CHECK_INT(x->n_uses, 1);
    verify();
    end();
}

static void inlining(void)
{
    begin();
    Value *c = input("c"), *x = input("x");
    op(graph, "Relu", x, NULL, "t"); /* takes the name of the inner value */
    Graph *body;
    Node *branch = make_if(c, x, &body);
    sdx_graph_add_output(graph, branch->out[0], NULL);
    CHECK(sdx_graph_inline(body, branch, NULL));
    CHECK(sdx_value_replace(branch->out[0], body->outputs[0]));
    sdx_node_remove(branch);
    CHECK_INT(graph->n_nodes, 3);
    CHECK_STR(graph->outputs[0]->name, "y");
    CHECK(!(x->flags & VALUE_CAPTURED));
    verify();
    end();
}

static void attributes(void)
{
    begin();
    Node *n = op(graph, "Conv", input("x"), NULL, "y");
    CHECK(sdx_node_set_int(n, "group", 2) && sdx_node_set_ints(n, "pads", (int64_t[]){ 1, 2 }, 2));
    CHECK(sdx_node_set_string(n, "auto_pad", "VALID") && sdx_node_set_int(n, "group", 3));
    CHECK_INT(n->n_attrs, 3);
    CHECK_INT(sdx_node_attr(n, "group")->i, 3);
    sdx_node_drop_attr(n, "group");
    CHECK(sdx_node_attr(n, "group") == NULL);
    CHECK_INT(sdx_node_attr(n, "pads")->ints[1], 2);
    char text[64];
    CHECK_STR(sdx_node_text(n, text, sizeof text), "node `y` (Conv)");
    end();
}

static void printing(void)
{
    begin();
    Value *x = input("x");
    x->type = (Type){ .kind = TYPE_TENSOR,
                      .elem = DT_FLOAT,
                      .shape = { 2, { sdx_dim_named(model->syms, "N", 1), 4 } } };
    float data[] = { 1, 2.5f };
    Value *w = sdx_value_constant(graph, "w", &(Tensor){ .dtype = DT_FLOAT, .rank = 1, .dims = { 2 }, .data = data });
    Node *n = op(graph, "Mul", x, w, "y");
    sdx_node_set_int(n, "k", -1);
    sdx_graph_add_output(graph, n->out[0], NULL);
    CHECK_STR(print(), "g (float[N,4] x) => (? y) <\n  float[2] w = {1, 2.5}>\n{\n  y = Mul <k = -1> (x, w)\n}\n");
    end();
}

SUITE(graph_test)
{
    RUN(names_are_unique_per_graph);
    RUN(use_lists_follow_edits);
    RUN(outputs_keep_their_names);
    RUN(sorting);
    RUN(nested_graphs);
    RUN(inlining);
    RUN(attributes);
    RUN(printing);
}
