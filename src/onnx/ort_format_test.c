#include "onnx/ort_format.h"

#include <stdio.h>
#include <string.h>

#include "onnx/onnx.h"
#include "tests/harness.h"

/* y = x * two, as ONNX Runtime 1.32 saves it with session.save_model_format=ORT. */
static Buf *file(void)
{
    Source src;
    Buf *b = NULL;
    Err err = { 0 };
    if (CHECK_INT(sdx_source_path(&src, &sdx_alloc_default, SDX_TEST_DATA "/scale.ort", &err), SDX_OK))
        CHECK_INT(sdx_source_bytes(&src, 0, src.size, LOAD_COPY, &b, &err), SDX_OK);
    sdx_source_fini(&src);
    return b;
}

static sdx_status import(const void *bytes, size_t n, Model **m, Err *err)
{
    Source src;
    ImportOptions o = { .load = LOAD_COPY };
    sdx_source_memory(&src, &sdx_alloc_default, bytes, n);
    sdx_status st = sdx_onnx_import(&sdx_alloc_default, &src, &o, m, err);
    sdx_source_fini(&src);
    return st;
}

static void reads(void)
{
    Buf *b = file();
    Model *m = NULL;
    Err err = { 0 };
    if (!b) return;
    CHECK_INT(import(b->data, b->nbytes, &m, &err), SDX_OK);
    CHECK_STR(err.text, "");
    if (m) {
        CHECK_STR(m->producer_name, "clients");
        CHECK_INT(m->graph->n_nodes, 1);
        CHECK_STR(m->graph->first->op_type, "Mul");
        CHECK_INT(m->n_metadata, 2);
        const Value *two = sdx_graph_find(m->graph, "two");
        if (CHECK(two && two->constant)) CHECK_FLOATS(two->constant->data, ((float[]){ 2 }), 1, 0);
    }
    sdx_model_destroy(m);
    sdx_buf_release(b);
}

/* Every byte changed, and every length: an error or a model, never more. */
static void damaged(void)
{
    Buf *b = file();
    if (!b) return;
    uint8_t *p = b->data;
    for (size_t i = 0; i < b->nbytes; i++) {
        static const uint8_t flips[] = { 0x01, 0x80, 0xff };
        for (size_t k = 0; k < sizeof flips; k++) {
            Model *m = NULL;
            Err err = { 0 };
            p[i] ^= flips[k];
            import(p, b->nbytes, &m, &err);
            p[i] ^= flips[k];
            sdx_model_destroy(m);
        }
        Model *m = NULL;
        Err err = { 0 };
        if (i >= 8 && i < b->nbytes / 2) CHECK(import(p, i, &m, &err) != SDX_OK);
        sdx_model_destroy(m);
    }
    sdx_buf_release(b);
}

SUITE(ort_format_test)
{
    RUN(reads);
    RUN(damaged);
}
