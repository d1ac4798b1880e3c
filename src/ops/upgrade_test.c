#include "ops/upgrade.h"

#include <string.h>

#include "onnx/onnx.h"
#include "tests/harness.h"

static Model *import_text(const char *text)
{
    Model *m;
    Err err = { 0 };
    sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

static const char *ops_of(const Model *m)
{
    static char text[256];
    text[0] = 0;
    for (const Node *n = m->graph->first; n; n = n->next) {
        strcat(text, *text ? " " : "");
        strcat(text, n->op_type);
    }
    return text;
}

/* What `broadcast` and `axis` of opset 6 turn into, by what is known of the ranks. */
static void broadcasts_as_old_files_meant(void)
{
    static const struct {
        const char *types, *attrs, *ops;
    } cases[] = {
        { "float[2,3,4] a, float[3,4] b", "", "Add" },
        { "float[2,3,4] a, float[3,4] b", "<broadcast = 1>", "Add" },
        { "float[2,3,4] a, float[3,4] b", "<broadcast = 1, axis = 1>", "Add" },
        { "float[2,3,4] a, float[3] b", "<broadcast = 1, axis = 1>", "Unsqueeze Add" },
        { "float[2,3,4] a, float[2] b", "<broadcast = 1, axis = 0>", "Unsqueeze Add" },
        { "float[2,3,4] a, float[2] b", "<axis = 0>", "Add" },
        { "float[] a, float[2] b", "<broadcast = 1, axis = 0>",
          "Shape Shape Shape Shape Sub Sub ConstantOfShape Concat Reshape Add" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[256];
        sdx_harness_note("case %zu", i);
        strcpy(text, "<opset_import: [\"\" : 6]> g (");
        strcat(strcat(text, cases[i].types), ") => (float[] y) { y = Add ");
        strcat(strcat(text, cases[i].attrs), "(a, b) }");
        Model *m = import_text(text);
        if (m) CHECK_STR(ops_of(m), cases[i].ops);
        sdx_model_destroy(m);
    }
    sdx_harness_note(NULL);
}

static void refuses_a_broadcast_that_does_not_fit(void)
{
    const char *text = "<opset_import: [\"\" : 6]> g (float[2] a, float[2] b) => (float[] y)\n"
                       "{ [n] y = Add <broadcast = 1, axis = 1> (a, b) }";
    Model *m;
    Err err = { 0 };
    CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), NULL, &m, &err), SDX_INVALID_MODEL);
    CHECK_STR(err.text, "node `n` (Add), from version 6 to the newest: rank 1 cannot be broadcast to rank 1 at axis 1");
}

/* Steps read inputs before inference has counted them. */
static void refuses_nodes_without_their_inputs(void)
{
    static const char *const models[] = {
        "<opset_import: [\"\" : 10]> y = Resize (x, \"\")",
        "<opset_import: [\"\" : 10]> y = Resize ()",
        "<opset_import: [\"\" : 9]> y = Upsample (x, \"\")",
        "<opset_import: [\"\" : 7]> y = BatchNormalization <spatial = 0> ()",
        "<opset_import: [\"\" : 7]> y, mask = Dropout ()",
        "<opset_import: [\"\" : 18]> y = GroupNormalization <num_groups = 2> (x)",
        "<opset_import: [\"\" : 11]> y = Softmax ()",
        "<opset_import: [\"\" : 1]> y = Tile ()",
    };
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        Model *m = NULL;
        Err err = { 0 };
        sdx_harness_note("%s", models[i]);
        CHECK_INT(sdx_onnx_import_text(&sdx_alloc_default, models[i], strlen(models[i]), NULL, &m, &err),
                  SDX_INVALID_MODEL);
        CHECK_HAS(err.text, "is missing");
        sdx_model_destroy(m);
    }
    sdx_harness_note(NULL);
}

/* Attributes that became inputs have the element type of the first input, known or not. */
static void scalars_get_the_type_of_the_input(void)
{
    Model *m = import_text("<opset_import: [\"\" : 6]> g (double[2] x) => (double[2] z)\n"
                           "{ y = Neg(x)  z = Clip <min = 0.5> (y) }");
    if (m) {
        CHECK_STR(ops_of(m), "Neg Clip");
        CHECK_INT(m->graph->last->in[1]->constant->dtype, DT_DOUBLE);
        CHECK(*(double *)m->graph->last->in[1]->constant->data == 0.5);
    }
    sdx_model_destroy(m);
    m = import_text("<opset_import: [\"\" : 6]> y = Clip <min = 0.5> (x)");
    if (m) CHECK_STR(ops_of(m), "CastLike Clip");
    sdx_model_destroy(m);
}

SUITE(upgrade_test)
{
    RUN(broadcasts_as_old_files_meant);
    RUN(refuses_a_broadcast_that_does_not_fit);
    RUN(refuses_nodes_without_their_inputs);
    RUN(scalars_get_the_type_of_the_input);
}
