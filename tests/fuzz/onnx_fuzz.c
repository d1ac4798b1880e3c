/* tests/fuzz/onnx_fuzz.c - the reader and the writers against each other
 *
 * What imports also exports, and the export imports and exports to the same bytes; what prints reads back. The first
 * byte is not the model's: odd means that the rest is text. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "onnx/onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

enum { MAX_TEXT = 1 << 20 };

static const ImportOptions options = { .max_bytes = 64u << 20, .max_nodes = 5000 };

static Model *import_bytes(const void *p, size_t n, Err *err)
{
    Source s;
    Model *m = NULL;
    sdx_source_memory(&s, &sdx_alloc_default, p, n);
    sdx_onnx_import(&sdx_alloc_default, &s, &options, &m, err);
    sdx_source_fini(&s);
    return m;
}

/* The finding, with what the library said. */
static void finding(const char *what, const Err *err)
{
    fprintf(stderr, "%s: %s\n", what, err->text);
    abort();
}

static bool ran_out(const Err *err)
{
    return err->code == SDX_LIMIT_BYTES || err->code == SDX_LIMIT_NODES || err->code == SDX_OUT_OF_MEMORY;
}

static void check_bytes(const Model *m)
{
    Buf *first = NULL, *second = NULL;
    Err err = { 0 };
    if (sdx_onnx_export_bytes(m, &first, &err) != SDX_OK) {
        if (err.code != SDX_UNSUPPORTED && !ran_out(&err)) finding("no export", &err);
        return;
    }
    Model *again = import_bytes(first->data, first->nbytes, &err);
    if (!again && !ran_out(&err)) finding("the export does not import", &err);
    if (again) {
        if (sdx_onnx_export_bytes(again, &second, &err) != SDX_OK) finding("no second export", &err);
        if (first->nbytes != second->nbytes || memcmp(first->data, second->data, first->nbytes) != 0)
            finding("the second export differs", &err);
    }
    sdx_model_destroy(again);
    sdx_buf_release(first);
    sdx_buf_release(second);
}

typedef struct Page {
    char text[MAX_TEXT];
    size_t n;
} Page;

static void append(void *user, const char *text, size_t n)
{
    Page *page = user;
    if (n < MAX_TEXT - page->n) memcpy(page->text + page->n, text, n);
    page->n += n < MAX_TEXT - page->n ? n : 0;
}

static void check_text(const Model *m)
{
    static Page page;
    Model *again;
    Err err = { 0 };
    page.n = 0;
    if (sdx_onnx_print(m, append, &page, &err) != SDX_OK) return;
    if (sdx_onnx_import_text(&sdx_alloc_default, page.text, page.n, &options, &again, &err) == SDX_OK)
        sdx_model_destroy(again); /* cut constants and texts do not read back */
    else if (err.code == SDX_INTERNAL)
        finding("the print is read wrong", &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    Model *m = NULL;
    Err err = { 0 };
    if (nbytes < 1) return 0;
    if (data[0] & 1)
        sdx_onnx_import_text(&sdx_alloc_default, (const char *)data + 1, nbytes - 1, &options, &m, &err);
    else
        m = import_bytes(data + 1, nbytes - 1, &err);
    if (!m) {
        if (err.code == SDX_OK || err.code == SDX_INTERNAL || err.text[0] == '\0')
            finding("an error without reason", &err);
        return 0;
    }
    check_bytes(m);
    check_text(m);
    sdx_model_destroy(m);
    return 0;
}
