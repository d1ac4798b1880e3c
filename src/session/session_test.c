#include "session/session.h"

#include <string.h>

#include "tests/harness.h"

static Session *open_text(const char *text, const SessionOptions *o)
{
    Model *m = NULL;
    Session *s = NULL;
    Err err = { 0 };
    ImportOptions import = { .load = LOAD_COPY };
    sdx_status st = sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err);
    if (st == SDX_OK) st = sdx_ses_open(&m, o, &s, &err);
    if (!CHECK_INT(st, SDX_OK)) CHECK_STR(err.text, "");
    return s;
}

static Datum floats(float *v, int rank, const int64_t *dims)
{
    Datum d = { .kind = DATUM_TENSOR, .t = { .dtype = DT_FLOAT, .rank = rank, .data = v } };
    memcpy(d.t.dims, dims, (size_t)rank * sizeof *dims);
    return d;
}

#define DIMS(...) (sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]){ __VA_ARGS__ }

/* One input x, one output y. */
static sdx_status run1(Session *s, Datum *x, Datum *y, const RunOptions *o, Err *err)
{
    const Datum *in = x;
    return sdx_ses_run_names(s, (const char *[]){ "x" }, &in, 1, (const char *[]){ "y" }, y, 1, o, err);
}

static void chain(void)
{
    Session *s = open_text("agraph (float[N,2] x) => (float[N,2] y) { a = Add(x, x) b = Neg(a) y = Relu(b) }", NULL);
    if (!s) return;
    float v[6] = { -1, 2, -3, 4, -5, 6 };
    for (int n = 1; n <= 3; n++) {
        Datum x = floats(v, DIMS(n, 2)), y = { 0 };
        Err err = { 0 };
        if (!CHECK_INT(run1(s, &x, &y, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
        CHECK_INT(y.t.dims[0], n);
        const float want[6] = { 2, 0, 6, 0, 10, 0 };
        if (y.t.data) CHECK_FLOATS(y.t.data, want, (size_t)n * 2, 0);
        sdx_datum_clear(&y);
    }
    sdx_ses_close(s);
}

SUITE(session_test) { RUN(chain); }
