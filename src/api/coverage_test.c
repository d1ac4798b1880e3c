#include "sardonyx/sardonyx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/harness.h"

typedef struct Told {
    char text[2048];
} Told;

static void tell(void *user, const sdx_node_coverage *n)
{
    static const char *const hows[] = { "native", "body", "rewritten", "not" };
    Told *t = user;
    size_t at = strlen(t->text);
    snprintf(t->text + at, sizeof t->text - at, "%s%s.%s-%d %s: %s%s%s", at ? "\n" : "", n->domain, n->op_type,
             n->since_version, n->output, hows[n->how], *n->text ? ", " : "", n->text);
}

static sdx_status cover(const char *text, Told *told, sdx_error *err)
{
    char path[] = "/tmp/sdx_coverage_XXXXXX.onnxtxt";
    int fd = mkstemps(path, 8);
    sdx_source source = SDX_SOURCE_INIT;
    source.path = path;
    *told = (Told){ "" };
    *err = (sdx_error){ 0 };
    if (!CHECK(fd >= 0) || !CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text))) return SDX_IO;
    close(fd);
    sdx_status st = sdx_model_coverage(&source, NULL, tell, told, err);
    unlink(path);
    return st;
}

#define HEAD "<ir_version: 8, opset_import: [\"\" : 17, \"own\" : 1]> g (float[N] x) => (float[N] y) "

static void nodes_are_told_with_what_became_of_them(void)
{
    Told t;
    sdx_error err;
    CHECK_INT(cover(HEAD "{ a = Identity(x) b = Neg(a) y = Exp(b) }", &t, &err), SDX_OK);
    CHECK_STR(t.text, "ai.onnx.Identity-16 a: rewritten, taken over by noop\n"
                      "ai.onnx.Neg-13 b: native\n"
                      "ai.onnx.Exp-13 y: native");
    CHECK_INT(cover(HEAD "{ y = own.twice(x) } <domain: \"own\", opset_import: [\"\" : 17]> twice (v) => (w) "
                         "{ w = Add(v, v) }",
                    &t, &err),
              SDX_OK);
    CHECK_STR(t.text, "own.twice-0 y: body\n"
                      "ai.onnx.Add-14 y: native");
}

static void all_that_is_missing_is_told(void)
{
    Told t;
    sdx_error err;
    CHECK_INT(cover(HEAD "{ a = own.One(x) b = Neg(a) y = own.Two(b) }", &t, &err), SDX_UNSUPPORTED);
    CHECK_STR(t.text, "own.One-0 a: not, operator One of domain own (opset 1) is not known\n"
                      "ai.onnx.Neg-13 b: native\n"
                      "own.Two-0 y: not, operator Two of domain own (opset 1) is not known");
    CHECK_HAS(err.text, "operator One of domain own");
}

static void the_node_that_an_error_names_does_not_run(void)
{
    Told t;
    sdx_error err;
    CHECK_INT(cover(HEAD "{ a = Neg(x) y = Not(a) }", &t, &err), SDX_INVALID_MODEL);
    CHECK_HAS(t.text, "ai.onnx.Not-1 y: not, node `y` (Not): input 0 has elements of type float");
}

static void count_row(void *user, const sdx_operator_info *op)
{
    int *n = user;
    CHECK(*op->domain && *op->name && op->since_version > 0);
    CHECK(strcmp(op->domain, "sdx") != 0);
    if (!strcmp(op->name, "Relu") && op->since_version == 14)
        CHECK_STR(op->types, "T: float,int8,int16,int32,int64,float16,double,bfloat16");
    ++*n;
}

static void operators_are_told_by_version(void)
{
    int n = 0;
    sdx_each_operator_version(count_row, &n);
    CHECK(n > 500);
}

SUITE(coverage_test)
{
    RUN(nodes_are_told_with_what_became_of_them);
    RUN(all_that_is_missing_is_told);
    RUN(the_node_that_an_error_names_does_not_run);
    RUN(operators_are_told_by_version);
}
