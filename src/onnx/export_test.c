#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "onnx/onnx.h"
#include "tests/harness.h"

static const Alloc *const alloc = &sdx_alloc_default;

static Model *import_text(const char *text)
{
    Model *m;
    Err err = { 0 };
    sdx_onnx_import_text(alloc, text, strlen(text), NULL, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

static Model *import_bytes(const Buf *b)
{
    Source s;
    Model *m;
    Err err = { 0 };
    sdx_source_memory(&s, alloc, b->data, b->nbytes);
    sdx_onnx_import(alloc, &s, NULL, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

static void append(void *user, const char *text, size_t n)
{
    char *to = user;
    size_t at = strlen(to);
    if (at + n < 8192) memcpy(to + at, text, n);
}

static const char *const texts[] = {
    "g (float[N, 3, ?] x) => (float[N] y)\n"
    "<float[3] w = {1, 2, 3}, float16 h = {0.5}, int4[3] q = {-1, 2, 3}, string[2] t = {\"a b\", \"\"}>\n"
    "{ [n] y = LeakyRelu <alpha = 0.25> (x)  p = Add(w, w)  u = Sum(h) [two] v = Abs(w) r = Identity(q) s = "
    "Identity(t) }",
    "y = Sigmoid(x)",
    "g (float[2] x) => (float[2] y) { a = Clip(x, \"\", hi) y = Neg(a) hi = Constant <value_float = 2.0> () }",
};

static void what_comes_back_is_the_same(void)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        Buf *first = NULL, *second = NULL;
        sdx_harness_note("text %zu", i);
        Model *m = import_text(texts[i]);
        if (!m) continue;
        CHECK_INT(sdx_onnx_export_bytes(m, &first, NULL), SDX_OK);
        Model *again = import_bytes(first);
        if (again && CHECK_INT(sdx_onnx_export_bytes(again, &second, NULL), SDX_OK)) {
            static char a[8192], b[8192];
            memset(a, 0, sizeof a);
            memset(b, 0, sizeof b);
            sdx_graph_print(m->graph, append, a);
            sdx_graph_print(again->graph, append, b);
            CHECK_STR(b, a);
            if (CHECK_INT(second->nbytes, first->nbytes)) CHECK_BYTES(second->data, first->data, first->nbytes);
        }
        sdx_model_destroy(again);
        sdx_model_destroy(m);
        sdx_buf_release(first);
        sdx_buf_release(second);
    }
    sdx_harness_note(NULL);
}

static void keeps_what_the_file_said(void)
{
    Model *m = import_text(
        "<ir_version: 8, opset_import: [\"\" : 17], producer_name: \"p\", producer_version: \"1\", domain: \"d\",\n"
        " model_version: 3, doc_string: \"doc\", metadata_props: [\"a\" : \"b\"]>\n"
        "g (float[N, 3, ?] x, seq(int64[2]) s, map(string, float) m, optional(float) o) => (float[N] y)\n"
        "<string[2] t = {\"a b\", \"\"}> { y = Neg(x) z = Identity(t) }");
    Buf *bytes = NULL;
    if (!m || !CHECK_INT(sdx_onnx_export_bytes(m, &bytes, NULL), SDX_OK)) return;
    sdx_model_destroy(m);
    if (!(m = import_bytes(bytes))) return;
    CHECK_STR(m->producer_name, "p");
    CHECK_STR(m->producer_version, "1");
    CHECK_STR(m->domain, "d");
    CHECK_STR(m->doc_string, "doc");
    CHECK_INT(m->model_version, 3);
    CHECK_STR(m->metadata[0].value, "b");
    CHECK_INT(m->opsets[0].version, 16); /* of Identity, newer than Neg's 13 and not above the file's 17 */
    static const char *const types[] = { "float[N,3,?]", "seq(int64[2])", "map(string,float)", "optional(float)" };
    for (int i = 0; i < 4; i++) {
        char text[64];
        CHECK_STR(sdx_type_text(m->syms, &m->graph->inputs[i]->type, text, sizeof text), types[i]);
    }
    CHECK_INT(((Str *)sdx_graph_find(m->graph, "t")->constant->data)[0].n, 3);
    sdx_model_destroy(m);
    sdx_buf_release(bytes);
}

static void refuses_internal_forms(void)
{
    Model *m = import_text("y = Neg(x)");
    Buf *bytes;
    Err err = { 0 };
    if (!m) return;
    m->graph->first->domain = "sdx";
    CHECK_INT(sdx_onnx_export_bytes(m, &bytes, &err), SDX_UNSUPPORTED);
    CHECK_STR(err.text, "node `y` (sdx.Neg) is an internal form that ONNX cannot express");
    sdx_model_destroy(m);
}

static void puts_large_tensors_beside_the_model(void)
{
    char dir[] = "/tmp/sdx_export_XXXXXX", path[64], data[64];
    Err err = { 0 };
    if (!CHECK(mkdtemp(dir) != NULL)) return;
    snprintf(path, sizeof path, "%s/m.onnx", dir);
    snprintf(data, sizeof data, "%s/m.data", dir);
    Model *m = import_text("g (float[4] x) => (float[4] y, float[4] z)\n"
                           "<float[4] a = {1, 2, 3, 4}, float[4] b = {5, 6, 7, 8}, float[2] c = {9, 9}>\n"
                           "{ y = Add(x, a)  z = Add(x, b)  w = Neg(c) }");
    ExportOptions opt = { .external_location = "m.data", .external_min = 16 };
    if (!m) return;
    CHECK_INT(sdx_onnx_export(m, path, &opt, &err), SDX_OK);
    sdx_model_destroy(m);
    for (int mode = LOAD_MAP; mode <= LOAD_COPY; mode++) {
        CHECK_INT(sdx_onnx_import_path(alloc, path, &(ImportOptions){ .load = (LoadMode)mode }, &m, &err), SDX_OK);
        CHECK_STR(err.text, "");
        if (!m) continue;
        CHECK(((float *)sdx_graph_find(m->graph, "a")->constant->data)[3] == 4);
        CHECK(((float *)sdx_graph_find(m->graph, "b")->constant->data)[0] == 5);
        CHECK(((float *)sdx_graph_find(m->graph, "c")->constant->data)[1] == 9);
        if (mode == LOAD_MAP) CHECK_INT(sdx_onnx_export(m, path, &opt, &err), SDX_OK); /* over its own mapping */
        sdx_model_destroy(m);
    }
    CHECK_INT(truncate(data, 10), 0);
    CHECK_INT(sdx_onnx_import_path(alloc, path, NULL, &m, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "m.onnx: tensor `");
    CHECK_HAS(err.text, "lie outside the 10 bytes of m.data");
    sdx_err_clear(&err);
    CHECK_INT(unlink(data), 0);
    CHECK_INT(sdx_onnx_import_path(alloc, path, NULL, &m, &err), SDX_NOT_FOUND);
    sdx_err_clear(&err);

    /* without a folder there is no other file */
    Source s;
    CHECK_INT(sdx_source_path(&s, alloc, path, &err), SDX_OK);
    CHECK_INT(sdx_onnx_import(alloc, &s, NULL, &m, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "without a folder");
    sdx_source_fini(&s);
    CHECK_INT(unlink(path), 0);
    CHECK_INT(rmdir(dir), 0);
}

SUITE(export_test)
{
    RUN(what_comes_back_is_the_same);
    RUN(keeps_what_the_file_said);
    RUN(refuses_internal_forms);
    RUN(puts_large_tensors_beside_the_model);
}
