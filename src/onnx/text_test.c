#include <string.h>

#include "onnx/onnx.h"
#include "tests/harness.h"

static const Alloc *const alloc = &sdx_alloc_default;

typedef struct Page {
    char text[16384];
    size_t n;
} Page;

static void append(void *user, const char *text, size_t n)
{
    Page *page = user;
    if (page->n + n >= sizeof page->text) return;
    memcpy(page->text + page->n, text, n);
    page->n += n;
    page->text[page->n] = 0;
}

static Model *read_text(const char *text)
{
    Model *m;
    Err err = { 0 };
    sdx_onnx_import_text(alloc, text, strlen(text), NULL, &m, &err);
    CHECK_STR(err.text, "");
    return m;
}

static bool print_text(const Model *m, Page *page)
{
    Err err = { 0 };
    page->n = 0;
    sdx_onnx_print(m, append, page, &err);
    return CHECK_STR(err.text, "");
}

/* Each is as the printer lays it out, so printing what was read gives the same text. */
static const char *const pages[] = {
    "<\n  ir_version: 10,\n  opset_import: [\"\" : 13]\n>\n"
    "g (float[N,3,?] x, seq(int64[2]) s, map(string, float) m, optional(float[]) o) => (float[N] y)\n"
    "{\n  [\"a node\"] y = Neg (x)\n}\n",

    "<\n  ir_version: 11,\n  opset_import: [\"\" : 16, \"ai.onnx.ml\" : 3],\n  producer_name: \"pro\\\"ducer\",\n"
    "  producer_version: \"1\",\n  domain: \"d\",\n  model_version: 7,\n  doc_string: \"two\\nlines\",\n"
    "  metadata_props: [\"k\" : \"v\", \"l\" : \"\"]\n>\n"
    "\"my graph\" (float[2] \"x:0\", float[2] w = {1, 2.5}) => (float[2] y) <\n"
    "  double[3] a = {0.10000000000000001, -inf, nan},\n  bool b = {1},\n  int4[3] c = {-8, 7, 0},\n"
    "  complex64[1] d = {1, -2},\n  uint64[1] e = {18446744073709551615},\n  string[2] f = {\"\", \"q\\\"\"},\n"
    "  bfloat16[0] h = {}>\n"
    "{\n  y = LeakyRelu <alpha = 1.0> (\"x:0\")\n  t = Transpose <perm: ints = [1, 0]> (a)\n"
    "  z = Sum (w, w)\n  b2 = Identity (b)\n  c2 = Identity (c)\n  d2 = Identity (d)\n  e2 = Identity (e)\n"
    "  f2 = Identity (f)\n  h2 = Identity (h)\n}\n",
};

static void what_is_printed_reads_back(void)
{
    static Page page;
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        sdx_harness_note("page %zu", i);
        Model *m = read_text(pages[i]);
        if (m && print_text(m, &page)) {
            Model *again = read_text(page.text);
            static Page second;
            if (again && print_text(again, &second)) CHECK_STR(second.text, page.text);
            sdx_model_destroy(again);
        }
        sdx_model_destroy(m);
    }
    sdx_harness_note(NULL);
}

static void prints_as_expected(void)
{
    static Page page;
    Model *m = read_text(pages[0]);
    if (m && print_text(m, &page)) CHECK_STR(page.text, pages[0]);
    sdx_model_destroy(m);
}

/* Any text is refused or read, never worse. */
static void survives_cuts_and_noise(void)
{
    const char *text = pages[1];
    size_t n = strlen(text);
    for (size_t cut = 0; cut < n; cut++) {
        Model *m;
        if (sdx_onnx_import_text(alloc, text, cut, NULL, &m, NULL) == SDX_OK) sdx_model_destroy(m);
    }
    char noisy[2048];
    static const char noise[] = "\"<>{}[](),=@?-#9a.\\";
    for (size_t at = 0; at < n && n < sizeof noisy; at++) {
        Model *m;
        memcpy(noisy, text, n);
        noisy[at] = noise[at % (sizeof noise - 1)];
        if (sdx_onnx_import_text(alloc, noisy, n, NULL, &m, NULL) == SDX_OK) sdx_model_destroy(m);
    }
}

SUITE(text_test)
{
    RUN(what_is_printed_reads_back);
    RUN(prints_as_expected);
    RUN(survives_cuts_and_noise);
}
