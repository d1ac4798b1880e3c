#include "onnx/import.h"
#include "onnx/text.h"
#include "tests/op_case.h"

static const struct {
    const char *domain, *name, *when, *text;
} rows[] = {
#define BODY(...) { __VA_ARGS__ },
#include "onnx/bodies.def"
#undef BODY
};
enum { ROWS = sizeof rows / sizeof *rows };

/* Every text can be read, and is no operator already. */
static void bodies_read(void)
{
    const char *at = NULL, *domain, *name;
    int seen = 0;
    while (sdx_body_next(&at, &domain, &name)) seen++;
    for (int i = 0; i < ROWS; i++) seen += *rows[i].text == '!';
    CHECK_INT(seen, ROWS);
    for (int i = 0; i < ROWS; i++) {
        Model *m;
        Err err = { 0 };
        Arena scratch;
        Text t;
        PFunction fn = { 0 };
        sdx_harness_note("%s %s", rows[i].name, rows[i].when);
        CHECK(!sdx_op_find(rows[i].domain, rows[i].name));
        if (*rows[i].text == '!' || !CHECK_INT(sdx_model_create(&sdx_alloc_default, 0, &m, &err), SDX_OK)) continue;
        sdx_arena_init(&scratch, &sdx_alloc_default, 0);
        Proto proto = { .scratch = &scratch, .kept = &m->arena };
        sdx_text_init(&t, m, &proto, rows[i].text, strlen(rows[i].text), &err);
        sdx_text_function(&t, &fn);
        CHECK_STR(err.text, "");
        CHECK_INT(t.next.kind, TOKEN_END);
        CHECK(fn.nodes.n > 0);
        sdx_arena_fini(&scratch);
        sdx_model_destroy(m);
    }
    sdx_harness_note(NULL);
}

OP_CASE(bodies_optional_given, "y = com.microsoft.FastGelu (x, b)", IN("float[2] x {-1, 1}"), IN("float[2] b {1, -1}"),
        OUT("float[2] y {0, 0}"))
OP_CASE(bodies_optional_absent, "y = com.microsoft.FastGelu (x)", IN("float[2] x {0, 1}"),
        OUT("float[2] y {0, 0.8411919906}"))
OP_CASE(bodies_item_of_list,
        "y = com.microsoft.FusedConv <activation = \"Clip\", activation_params = [0.0, 5.0]> (x, w, \"\", z)",
        IN("float[1,1,3] x {-1, 2, 3}"), IN("float[1,1,1] w {2}"), IN("float[1,1,3] z {1, 0, 0}"),
        OUT("float[1,1,3] y {0, 4, 5}"))
OP_CASE(bodies_output_left_out, "y, m = com.microsoft.EmbedLayerNormalization (i, \"\", w, p, \"\", g, b)",
        IN("int32[1,1] i {1}"), IN("float[2,2] w {9, 9, 1, 2}"), IN("float[2,2] p {0, 1, 9, 9}"),
        IN("float[2] g {1, 1}"), IN("float[2] b {0, 5}"), OUT("float[1,1,2] y {-1, 6}"), OUT("int32[1] m {0}"))
OP_CASE(bodies_split_gelu, "y = com.microsoft.BiasSplitGelu (x, b)", IN("float[1,1,4] x {1, 2, 0, 100}"),
        IN("float[4] b {1, 1, 0, 0}"), OUT("float[1,1,2] y {0, 300}"))
OP_CASE(bodies_skip_group_norm,
        "y, s = com.microsoft.SkipGroupNorm <groups = 1, activation = 0, epsilon = 0.0> (x, g, b, k)",
        IN("float[1,1,1,2] x {0, 1}"), IN("float[2] g {1, 2}"), IN("float[2] b {0, 1}"), IN("float[1,2] k {1, 2}"),
        OUT("float[1,1,1,2] y {-1, 3}"), OUT("float[1,1,1,2] s {1, 3}"))
OP_CASE(bodies_nhwc_conv, "y = com.microsoft.NhwcConv <kernel_shape = [1, 2]> (x, w)",
        IN("float[1,1,3,2] x {1, 2, 3, 4, 5, 6}"), IN("float[1,1,2,2] w {1, 10, 100, 1000}"),
        OUT("float[1,1,2,1] y {4321, 6543}"))
OP_CASE(bodies_complex_mul, "y = com.microsoft.ComplexMulConj (a, b)", IN("float[1,2] a {1, 2}"),
        IN("float[1,2] b {3, 4}"), OUT("float[1,2] y {11, 2}"))
OP_CASE(bodies_bias_softmax, "y = com.microsoft.BiasSoftmax <axis = 1, is_inner_broadcast = 0> (x, b)",
        IN("float[2,2] x {0, 1, 2, 2}"), IN("float[1,2] b {1, 0}"),
        OUT("float[2,2] y {0.5, 0.5, 0.7310585786, 0.2689414214}"))
OP_CASE(bodies_mul_integer, "y = com.microsoft.MulInteger (a, az, b)", IN("uint8[2] a {5, 1}"), IN("uint8 az {3}"),
        IN("uint8[2] b {200, 2}"), OUT("int32[2] y {400, -4}"))
OP_CASE(bodies_nbits_mlp,
        "y = com.microsoft.MatMulNBitsMlp <K = 16, N = 1, bits = 8, block_size = 16, activation = \"relu\"> "
        "(a, \"\", \"\", g, gs, \"\", u, us)",
        IN("float[1,16] a {1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"),
        IN("uint8[1,1,16] g {130, 129, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"), IN("float[1,1] gs {2}"),
        IN("uint8[1,1,16] u {127, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}"), IN("float[1,1] us {1}"),
        OUT("float[1,1] y {-6}"))

OP_CASE(bodies_rfft, "y = com.microsoft.Rfft <signal_ndim = 1> (x)", IN("float[1,4] x {1, 2, 3, 4}"),
        OUT("float[1,3,2] y {10, 0, -2, 2, -2, 0}"))
OP_CASE(bodies_rfft_irfft_2d,
        "f = com.microsoft.Rfft <signal_ndim = 2> (x) y = com.microsoft.Irfft <signal_ndim = 2> (f)",
        IN("float[1,2,4] x {1, 2, 3, 4, 9, 0, 5, 7}"), OUT("float[1,2,4] y {1, 2, 3, 4, 9, 0, 5, 7}"))

OP_CASE_AT(bodies_filled, 1, "y = ConstantFill <shape = [2, 1], dtype = 7, value = 3.0> ()", OUT("int64[2,1] y {3, 3}"))
OP_CASE_AT(bodies_filled_like, 1, "y = ConstantFill <input_as_shape = 1, extra_shape = [2]> (s)", IN("int32[1] s {1}"),
           OUT("float[1,2] y {0, 0}"))
OP_CASE_AT(bodies_given, 1, "y = GivenTensorFill <values = [1.0, 2.0]> (x)", IN("float[2,1] x {7, 7}"),
           OUT("float[2,1] y {1, 2}"))
OP_CASE_AT(bodies_embedding, 1, "y = Embedding <input_dim = 2, output_dim = 2, weights = float[2,2] {1, 2, 3, 4}> (i)",
           IN("int64[2] i {1, 0}"), OUT("float[2,2] y {3, 4, 1, 2}"))
OP_CASE_AT(bodies_loop_index, 1, "y = LoopIndexTensor <axis = 1> (x, i)", IN("float[2,2] x {1, 2, 3, 4}"),
           IN("int32 i {1}"), OUT("float[2] y {2, 4}"))
OP_CASE_AT(bodies_fc, 1, "y = FC <axis = 2> (x, w, b)", IN("float[1,2,2] x {1, 2, 3, 4}"), IN("float[1,2] w {10, 1}"),
           IN("float[1] b {100}"), OUT("float[1,2,1] y {112, 134}"))
OP_CASE_AT(bodies_gru_unit, 1, "y = GRUUnit (h, g, l, t)", IN("float[1,2,1] h {2, 4}"),
           IN("float[1,2,3] g {9, 0, 0, 9, 0, 0}"), IN("int32[2] l {3, 1}"), IN("int32[1] t {1}"),
           OUT("float[1,2,1] y {1, 4}"))
OP_FAILS(bodies_aten, "y = ATen <operator = \"index_put\"> (x)", SDX_UNSUPPORTED, "export the model without",
         IN("float[1] x {1}"))
OP_FAILS(bodies_wrong_form, "y = com.microsoft.FusedConv <activation = \"Shrug\"> (x, w)", SDX_INVALID_MODEL,
         "no form of", IN("float[1,1,3] x {1, 2, 3}"), IN("float[1,1,1] w {2}"))
OP_FAILS(bodies_too_many_inputs, "y = com.microsoft.Gelu (x, w)", SDX_INVALID_MODEL, "has 1 inputs",
         IN("float[1] x {1}"), IN("float[1] w {2}"))
OP_FAILS(bodies_missing_input, "y = com.microsoft.BiasGelu (x)", SDX_INVALID_MODEL, "Add", IN("float[1] x {1}"))
OP_FAILS(bodies_compiled, "y = com.microsoft.EPContext (x)", SDX_UNSUPPORTED, "compiled for one accelerator",
         IN("float[1] x {1}"))
OP_FAILS(bodies_pieces_are_private, "y = body.Silu <on = 1> (x)", SDX_UNSUPPORTED, "not known", IN("float[1] x {1}"))
SUITE(bodies_test)
{
    RUN(bodies_read);
    RUN(bodies_optional_given);
    RUN(bodies_optional_absent);
    RUN(bodies_item_of_list);
    RUN(bodies_output_left_out);
    RUN(bodies_split_gelu);
    RUN(bodies_skip_group_norm);
    RUN(bodies_nhwc_conv);
    RUN(bodies_complex_mul);
    RUN(bodies_bias_softmax);
    RUN(bodies_mul_integer);
    RUN(bodies_nbits_mlp);
    RUN(bodies_rfft);
    RUN(bodies_rfft_irfft_2d);
    RUN(bodies_filled);
    RUN(bodies_filled_like);
    RUN(bodies_given);
    RUN(bodies_embedding);
    RUN(bodies_loop_index);
    RUN(bodies_fc);
    RUN(bodies_gru_unit);
    RUN(bodies_aten);
    RUN(bodies_wrong_form);
    RUN(bodies_too_many_inputs);
    RUN(bodies_missing_input);
    RUN(bodies_compiled);
    RUN(bodies_pieces_are_private);
}
