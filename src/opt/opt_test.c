/* The driver, fold.c, noop.c, cse.c */
#include "tests/pass_case.h"

PASS_CASE(constants, "fold",
          "g (float[2] x) => (y) <float[2] a = {1, 2}> { b = Neg(a) c = Add(a, b) d = Sub(c, a) y = Mul(x, d) }",
          "g (float[2] x) => (y) <float[2] d = {-1, -2}> { y = Mul(x, d) }")
PASS_CASE(shapes, "fold", "g (float[2,1] x) => (y) { s = Shape(x) t = Cast <to = 1> (s) y = Add(x, t) }",
          "g (float[2,1] x) => (y) <float[2] t = {2, 1}> { y = Add(x, t) }")
PASS_KEEPS(constant_output, "fold", "g () => (y) <float[2] a = {1, 2}> { y = Neg(a) }")
PASS_KEEPS(large_result, "fold",
           "g (float[300,1000] x) => (y) <int64[2] s = {300, 1000}> { c = ConstantOfShape(s) y = Add(x, c) }")

PASS_CASE(identity, "noop", "g (float[N] x) => (y) { a = Identity(x) b = Identity(a) y = Neg(b) }",
          "g (float[N] x) => (y) { y = Neg(x) }")
PASS_CASE(identity_at_the_end, "noop", "g (float[N] x) => (y) { a = Neg(x) y = Identity(a) }",
          "g (float[N] x) => (y) { y = Neg(x) }")
PASS_KEEPS(identity_of_an_input, "noop", "g (float[N] x) => (y) { y = Identity(x) }")
PASS_KEEPS(one_value_twice, "noop", "g (float[N] x) => (a, y) { a = Neg(x) y = Identity(a) }")
PASS_CASE(neutral_numbers, "noop",
          "g (float[N,2] x) => (y) <float one = {1}, float zero = {0}> "
          "{ a = Mul(one, x) b = Div(a, one) c = Sub(b, zero) d = Pow(c, one) y = Neg(d) }",
          "g (float[N,2] x) => (y) { y = Neg(x) }")
PASS_KEEPS(neutral_that_enlarges, "noop",
           "g (float[N,2] x) => (y) <float[1,1,1] one = {1}> { a = Mul(one, x) y = Neg(a) }")
PASS_KEEPS(zero_added, "noop", "g (float[N,2] x) => (y) <float zero = {0}> { a = Add(zero, x) y = Neg(a) }")
PASS_CASE(whole_slices, "noop",
          "g (float[3,4] x) => (y) <int64[1] from = {0}, int64[1] to = {99}, int64[4] no = {0,0,0,0}> "
          "{ a = Slice(x, from, to) b = Pad(a, no) y = Neg(b) }",
          "g (float[3,4] x) => (y) { y = Neg(x) }")
PASS_KEEPS(reversed_slice, "noop",
           "g (float[3,4] x) => (y) <int64[1] from = {-1}, int64[1] to = {-99}, int64[1] axis = {0}> "
           "{ a = Slice(x, from, to, axis, from) y = Neg(a) }")

PASS_CASE(computed_twice, "cse",
          "g (float[N] x) => (y) <float a = {2}, float b = {2}> { p = Mul(x, a) q = Mul(x, b) r = Neg(p) s = Neg(q) y "
          "= Mul(r, s) }",
          "g (float[N] x) => (y) <float a = {2}> { p = Mul(x, a) r = Neg(p) y = Mul(r, r) }")
PASS_CASE(
    sizes_taken_twice, "cse",
    "g (float[N,M] x) => (y, z) { u = Neg(x) s = Shape(x) t = Shape(u) y = Cast <to = 1> (s) z = Cast <to = 6> (t) }",
    "g (float[N,M] x) => (y, z) { s = Shape(x) y = Cast <to = 1> (s) z = Cast <to = 6> (s) }")
PASS_KEEPS(two_outputs_alike, "cse", "g (float[N] x) => (y, z) { y = Neg(x) z = Neg(x) }")
PASS_KEEPS(attributes_differ, "cse",
           "g (float[N,2] x) => (y) { a = Softmax <axis = 0> (x) b = Softmax <axis = 1> (x) y = Add(a, b) }")

PASS_CASE(
    branch_known, "if_const",
    "g (float[N] x) => (y) <bool c = {1}> { t = Abs(x) "
    "r = If (c) <then_branch = th () => (u) { u = Neg(t) }, else_branch = el () => (v) { v = Exp(t) }> y = Relu(r) }",
    "g (float[N] x) => (y) { t = Abs(x) u = Neg(t) y = Relu(u) }")

/* What a branch gives may become constant. */
PASS_CASE(
    constant_branch, "fold",
    "g (float[1] x, bool c) => (y) { r = If (c) <then_branch = th () => (u) { a = Constant <value_float = 1.0> () "
    "  u = Neg(a) }, else_branch = el () => (v) { v = Identity(x) }> y = Relu(r) }",
    "g (float[1] x, bool c) => (y) { r = If (c) <then_branch = th () => (u) { u = Constant <value_float = -1.0> () }, "
    "  else_branch = el () => (v) { v = Identity(x) }> y = Relu(r) }")

static void nobody_reads(void)
{
    Model *m = pass_import("g (float[N] x) => (y) <float a = {1}> { u = Mul(x, a) v = Neg(u) y = Abs(x) }");
    pass_optimize(m, OPT_EXACT);
    CHECK_INT(m->graph->n_nodes, 1);
    CHECK(sdx_graph_find(m->graph, "a") == NULL);
    sdx_model_destroy(m);
}

static void level_none_changes_nothing(void)
{
    Model *m = pass_import("g (float[N] x) => (y) { u = Identity(x) y = Abs(u) }");
    pass_optimize(m, OPT_NONE);
    CHECK_INT(m->graph->n_nodes, 2);
    CHECK(m->rewrites == NULL);
    CHECK_INT(m->graph->outputs[0]->type.shape.rank, 1);
    sdx_model_destroy(m);
}

static void rewrites_by_name(void)
{
    Model *m = pass_import("g (float[N] x) => (y) { u = Identity(x) y = Abs(u) }");
    Err err = { 0 };
    OptOptions opt = { .level = OPT_DEFAULT, .disabled = (const char *[]){ "noop", NULL } };
    CHECK_INT(sdx_opt_run(m, &opt, &err), SDX_OK);
    CHECK_INT(m->graph->n_nodes, 2);
    opt.disabled = (const char *[]){ "nop", NULL };
    CHECK_INT(sdx_opt_run(m, &opt, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "nop");
    opt.others = (const char *[]){ "nop", NULL };
    err = (Err){ 0 };
    CHECK_INT(sdx_opt_run(m, &opt, &err), SDX_OK);
    CHECK_INT(m->graph->n_nodes, 1);
    CHECK_STR(m->rewrites->pass, "noop");
    sdx_model_destroy(m);
}

static void overridable_constants_stay(void)
{
    Model *m = pass_import("g (float[2] x) => (y) <float[2] a = {1, 1}> { b = Neg(a) y = Mul(x, b) }");
    sdx_graph_find(m->graph, "a")->flags |= VALUE_OVERRIDABLE;
    pass_optimize(m, OPT_DEFAULT);
    CHECK_INT(m->graph->n_nodes, 2);
    sdx_model_destroy(m);
}

/* An allocator whose nth block from now is refused. */
static int until_refusal;

static void *stingy_alloc(void *user, size_t nbytes, size_t align)
{
    (void)user;
    return until_refusal-- == 0 ? NULL : sdx_alloc_default.alloc(NULL, nbytes, align);
}

static void stingy_free(void *user, void *p)
{
    (void)user;
    sdx_alloc_default.free(NULL, p);
}

static void memory_runs_out(void)
{
    static const char text[] =
        "g (float[N,1,4,4] x, float[N,4,8] z) => (y, w) <float[2,1,1,1] k = {2, -1}, float[2] s = {3, 4}, float a = "
        "{2}, "
        "float[1] one = {1}> { c = Conv(x, k) b = BatchNormalization(c, s, s, s, s) g = Sigmoid(b) y = Mul(b, g) "
        "t = Transpose(z) u = Transpose(t) d = Shape(u) v = Reshape(u, d) q = Mul(v, a) w = Mul(q, a) }";
    const Alloc stingy = { stingy_alloc, stingy_free, NULL };
    sdx_status st = SDX_OUT_OF_MEMORY;
    for (int n = 0; n < 1000 && st == SDX_OUT_OF_MEMORY; n++) {
        Model *m = NULL;
        Err err = { 0 };
        until_refusal = -1;
        st = sdx_onnx_import_text(&stingy, text, sizeof text - 1, NULL, &m, &err);
        if (!CHECK_STR(err.text, "")) return;
        until_refusal = n;
        st = sdx_opt_run(m, &(OptOptions){ .level = OPT_DEFAULT }, &err);
        CHECK(st == SDX_OK || st == SDX_OUT_OF_MEMORY);
        sdx_model_destroy(m);
    }
    CHECK_INT(st, SDX_OK);
}

SUITE(opt_test)
{
    RUN(memory_runs_out);
    RUN(constants);
    RUN(constant_output);
    RUN(identity);
    RUN(identity_at_the_end);
    RUN(identity_of_an_input);
    RUN(one_value_twice);
    RUN(neutral_numbers);
    RUN(neutral_that_enlarges);
    RUN(zero_added);
    RUN(whole_slices);
    RUN(reversed_slice);
    RUN(computed_twice);
    RUN(sizes_taken_twice);
    RUN(two_outputs_alike);
    RUN(attributes_differ);
    RUN(branch_known);
    RUN(constant_branch);
    RUN(nobody_reads);
    RUN(level_none_changes_nothing);
    RUN(rewrites_by_name);
    RUN(overridable_constants_stay);
    RUN(shapes);
    RUN(large_result);
}
