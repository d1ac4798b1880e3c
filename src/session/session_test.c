#include "session/session.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/futex.h"
#include "tests/harness.h"

/* -- models from text ----------------------------------------------------------------------------------------------- */

static sdx_status try_open(const char *text, const SessionOptions *o, Session **s, Err *err)
{
    Model *m = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    const Alloc *a = o && o->alloc ? o->alloc : &sdx_alloc_default;
    *s = NULL;
    TRY(sdx_onnx_import_text(a, text, strlen(text), &import, &m, err));
    return sdx_ses_open(&m, o, s, err);
}

static Session *open_text(const char *text, const SessionOptions *o)
{
    Session *s;
    Err err = { 0 };
    if (try_open(text, o, &s, &err) != SDX_OK) CHECK_STR(err.text, "");
    return s;
}

static Datum tensor(DType dtype, void *v, int rank, const int64_t *dims)
{
    Datum d = { .kind = DATUM_TENSOR, .t = { .dtype = dtype, .rank = rank, .data = v } };
    memcpy(d.t.dims, dims, (size_t)rank * sizeof *dims);
    return d;
}

#define DIMS(...)                                                                                                      \
    (int)(sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t)), (int64_t[]) { __VA_ARGS__ }
#define F32(v, ...) tensor(DT_FLOAT, v, DIMS(__VA_ARGS__))
#define I64(v, ...) tensor(DT_INT64, v, DIMS(__VA_ARGS__))

/* Runs with inputs in the order of the model, all outputs. */
static sdx_status run_all(Session *s, const Datum *in, Datum *out, const RunOptions *o, Err *err)
{
    const char *in_names[8], *out_names[8];
    const Datum *ptrs[8];
    for (int i = 0; i < sdx_ses_n_inputs(s); i++) {
        in_names[i] = sdx_ses_input(s, i)->name;
        ptrs[i] = &in[i];
    }
    for (int i = 0; i < sdx_ses_n_outputs(s); i++) out_names[i] = sdx_ses_output(s, i)->name;
    return sdx_ses_run_names(s, in_names, ptrs, sdx_ses_n_inputs(s), out_names, out, sdx_ses_n_outputs(s), o, err);
}

/* One output of floats. */
static void check_run(Session *s, const Datum *in, const float *want, int rank, const int64_t *dims)
{
    Datum y = { 0 };
    Err err = { 0 };
    if (!CHECK_INT(run_all(s, in, &y, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
    char got[64], expect[64];
    CHECK_STR(sdx_dims_text(got, sizeof got, y.t.dims, y.t.rank), sdx_dims_text(expect, sizeof expect, dims, rank));
    if (y.t.data && sdx_dims_equal(y.t.dims, y.t.rank, dims, rank))
        CHECK_FLOATS(y.t.data, want, (size_t)sdx_tensor_count(&y.t), 0);
    sdx_datum_clear(&y);
}

static const OptLevel levels[] = { OPT_NONE, OPT_EXACT, OPT_DEFAULT };
#define EACH_LEVEL(o)                                                                                                  \
    for (SessionOptions o = { .alloc = &sdx_alloc_default }, *o##_end = NULL; !o##_end; o##_end = &o)                  \
        for (int level_ = 0; level_ < 3 && (o.level = levels[level_], true); level_++)

/* -- plans ---------------------------------------------------------------------------------------------------------- */

static void a_new_shape_is_a_new_plan(void)
{
    Session *s = open_text("g (float[N,2] x) => (float[N,2] y) { a = Add(x, x) b = Neg(a) y = Relu(b) }", NULL);
    if (!s) return;
    float v[6] = { -1, 2, -3, 4, -5, 6 };
    const float want[6] = { 2, 0, 6, 0, 10, 0 };
    for (int round = 0; round < 2; round++)
        for (int64_t n = 0; n <= 3; n++) check_run(s, (Datum[]){ F32(v, n, 2) }, want, DIMS(n, 2));
    sdx_ses_close(s);
}

static size_t plan_nbytes(Session *s, const Datum *x)
{
    RunSpec *spec;
    size_t n = SIZE_MAX;
    const char *in = sdx_ses_input(s, 0)->name, *out = sdx_ses_output(s, 0)->name;
    if (!CHECK_INT(sdx_ses_spec(s, &in, 1, &out, 1, &spec, NULL), SDX_OK)) return n;
    CHECK_INT(sdx_ses_plan_nbytes(s, spec, &x, &n, NULL), SDX_OK);
    sdx_ses_spec_drop(spec);
    return n;
}

/* A chain of maps works in the memory of its result; views cost nothing. */
static void memory_is_shared(void)
{
    SessionOptions o = { .level = OPT_NONE };
    float v[16] = { 4, 9 };
    Session *s = open_text("g (float[16] x) => (float[4,4] y)"
                           "<int64[2] d = {4, 4}> { a = Neg(x) b = Abs(a) c = Reshape(b, d) e = Sqrt(c) y = Neg(e) }",
                           &o);
    if (!s) return;
    CHECK_INT(plan_nbytes(s, (Datum[]){ F32(v, 16) }), 0);
    sdx_ses_close(s);
    /* Two values that live at once, of which one takes over the memory of a third: two blocks, not three. */
    s = open_text("g (float[16] x) => (float[16] y) { a = Neg(x) b = Abs(x) c = Sin(a) d = Mul(c, b) e = Exp(d)"
                  " f = Add(e, b) y = Transpose(f) }",
                  &o);
    if (!s) return;
    CHECK_INT(plan_nbytes(s, (Datum[]){ F32(v, 16) }), 128);
    sdx_ses_close(s);
}

/* Overwriting an input that is read again, or twice under two names, would be seen here. */
static void in_place_only_when_nobody_looks(void)
{
    float v[4] = { 1, 2, 3, 4 };
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (float[2,2] x) => (float[2,2] y) <int64[1] m = {4}, int64[2] d = {2,2}>"
                               "{ a = Neg(x) f = Reshape(a, m) b = Abs(f) c = Reshape(b, d) y = Sub(c, a) }",
                               &o);
        if (!s) return;
        check_run(s, (Datum[]){ F32(v, 2, 2) }, (float[]){ 2, 4, 6, 8 }, DIMS(2, 2));
        sdx_ses_close(s);
        s = open_text("g (float[2,2] x) => (float[2,2] y) { a = Neg(x) t = Transpose(a) y = Sub(a, t) }", &o);
        if (!s) return;
        check_run(s, (Datum[]){ F32(v, 2, 2) }, (float[]){ 0, 1, -1, 0 }, DIMS(2, 2));
        sdx_ses_close(s);
        s = open_text("g (float[2,2] x) => (float[2,2] y) { a = Neg(x) y = Mul(a, a) }", &o);
        if (!s) return;
        check_run(s, (Datum[]){ F32(v, 2, 2) }, (float[]){ 1, 4, 9, 16 }, DIMS(2, 2));
        sdx_ses_close(s);
    }
}

/* Contents that shapes depend on are part of the plan's key. */
static void shapes_from_contents(void)
{
    float v[6] = { 1, 2, 3, 4, 5, 6 };
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (float[A] x, int64[2] d) => (float[B,C] y) { e = Reshape(x, d) y = Neg(e) }", &o);
        if (!s) return;
        int64_t d[2] = { 2, 3 };
        const float want[6] = { -1, -2, -3, -4, -5, -6 };
        check_run(s, (Datum[]){ F32(v, 6), I64(d, 2) }, want, DIMS(2, 3));
        d[0] = 3, d[1] = -1;
        check_run(s, (Datum[]){ F32(v, 6), I64(d, 2) }, want, DIMS(3, 2));
        sdx_ses_close(s);
        /* Through arithmetic that no plan can do: the shape comes out of floats. */
        s = open_text("g (float[A] x, float[2] d) => (float[B,C] y)"
                      "{ i = Cast <to = 7> (d) e = Reshape(x, i) n = Neg(e) y = Add(n, n) }",
                      &o);
        if (!s) return;
        float f[2] = { 2, 3 };
        const float twice[6] = { -2, -4, -6, -8, -10, -12 };
        check_run(s, (Datum[]){ F32(v, 6), F32(f, 2) }, twice, DIMS(2, 3));
        f[0] = 6, f[1] = 1;
        check_run(s, (Datum[]){ F32(v, 6), F32(f, 2) }, twice, DIMS(6, 1));
        f[0] = 4;
        Err err = { 0 };
        Datum y = { 0 };
        CHECK(run_all(s, (Datum[]){ F32(v, 6), F32(f, 2) }, &y, NULL, &err) != SDX_OK);
        CHECK_HAS(err.text, "Reshape");
        sdx_ses_close(s);
    }
}

/* -- results -------------------------------------------------------------------------------------------------------- */

static void bound_outputs_are_used(void)
{
    Session *s = open_text("g (float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }", NULL);
    if (!s) return;
    float v[2] = { -3, 4 }, w[4] = { 0 };
    Datum x = F32(v, 2), y = F32(w, 2);
    Err err = { 0 };
    CHECK_INT(run_all(s, &x, &y, NULL, &err), SDX_OK);
    CHECK(y.t.data == w && !y.buf && w[0] == 3 && w[1] == 4);
    /* Over the input's own bytes. */
    y = F32(v, 2);
    CHECK_INT(run_all(s, &x, &y, NULL, &err), SDX_OK);
    CHECK(y.t.data == v && !y.buf && v[0] == 3 && v[1] == 4);
    y = F32(w, 4);
    CHECK_INT(run_all(s, &x, &y, NULL, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "output `y` is float[2]; the buffer bound to it is for float[4]");
    sdx_ses_close(s);
}

/* Inputs, constants and one value under two names as outputs: each with memory of its own. */
static void results_alias_nothing(void)
{
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (float[2] x) => (float[2] x, float[2] k, float[2] y, float[2] z)"
                               "<float[2] k = {5, 6}> { y = Neg(x) z = Identity(y) }",
                               &o);
        if (!s) return;
        float v[2] = { 1, 2 };
        Datum x = F32(v, 2), out[4] = { { 0 } };
        Err err = { 0 };
        if (!CHECK_INT(run_all(s, &x, out, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
        sdx_ses_close(s); /* results outlive the session */
        const float want[4][2] = { { 1, 2 }, { 5, 6 }, { -1, -2 }, { -1, -2 } };
        for (int i = 0; i < 4; i++) {
            CHECK(out[i].buf != NULL && out[i].t.data != v);
            for (int k = 0; k < i; k++) CHECK(out[i].t.data != out[k].t.data);
            if (out[i].t.data) CHECK_FLOATS(out[i].t.data, want[i], 2, 0);
            sdx_datum_clear(&out[i]);
        }
    }
}

static void some_outputs_in_any_order(void)
{
    Session *s = open_text("g (float[1] x, float[1] w) => (float[1] a, float[1] b) { a = Neg(x) b = Add(x, w) }", NULL);
    if (!s) return;
    float one = 1, two = 2;
    Datum x = F32(&one, 1), w = F32(&two, 1), out[2] = { { 0 } };
    Err err = { 0 };
    CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "w", "x" }, (const Datum *[]){ &w, &x }, 2,
                                (const char *[]){ "b", "a" }, out, 2, NULL, &err),
              SDX_OK);
    if (CHECK(out[0].t.data && out[1].t.data)) CHECK(*(float *)out[0].t.data == 3 && *(float *)out[1].t.data == -1);
    for (int i = 0; i < 2; i++) sdx_datum_clear(&out[i]);
    CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "w", "x" }, (const Datum *[]){ &w, &x }, 2,
                                (const char *[]){ "b" }, out, 1, NULL, &err),
              SDX_OK);
    sdx_datum_clear(&out[0]);
    sdx_ses_close(s);
}

/* -- mistakes ------------------------------------------------------------------------------------------------------- */

static void every_bad_input_is_told(void)
{
    Session *s = open_text(
        "g (float[N,3] x, int64[2] i) => (float[N,3] y) { c = Cast <to = 1> (i) r = ReduceSum(c) y = Add(x, r) }",
        NULL);
    if (!s) return;
    float v[4] = { 0 };
    int64_t w[2] = { 0 };
    Datum y = { 0 };
    Err err = { 0 };
    CHECK_INT(run_all(s, (Datum[]){ F32(v, 2, 2), F32(v, 2) }, &y, NULL, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "input `x` has shape [2,2], the model takes float[N,3]");
    CHECK_HAS(err.text, "input `i` is float, the model takes int64[2]: convert it to int64");
    err.code = 0;
    CHECK_INT(run_all(s, (Datum[]){ F32(v, 1, 1, 3), I64(w, 2) }, &y, NULL, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "add or remove dimensions of size 1");
    err.code = 0;
    const Datum x = F32(v, 1, 3);
    CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "x" }, (const Datum *[]){ &x }, 1, (const char *[]){ "y" }, &y, 1,
                                NULL, &err),
              SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "missing inputs: `i` (int64[2])");
    err.code = 0;
    CHECK_INT(sdx_ses_run_names(s, (const char *[]){ "q" }, (const Datum *[]){ &x }, 1, (const char *[]){ "y" }, &y, 1,
                                NULL, &err),
              SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "no input `q`; it has `x`, `i`");
    sdx_ses_close(s);
    err.code = 0;
    SessionOptions o = { .providers = (const char *[]){ "quantum", NULL } };
    CHECK_INT(try_open("y = Neg(x)", &o, &s, &err), SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "provider `quantum` is not in this build");
}

static void limits_hold(void)
{
    Session *s = open_text("g (float[N] x) => (float[N] y) { a = Neg(x) b = Abs(x) c = Mul(a, b) y = Transpose(c) }",
                           NULL);
    if (!s) return;
    float v[1000] = { 0 };
    Datum x = F32(v, 1000), y = { 0 };
    Err err = { 0 };
    RunOptions o = { .limits = { .max_bytes = 3000 } };
    CHECK_INT(run_all(s, &x, &y, &o, &err), SDX_LIMIT_BYTES);
    CHECK_HAS(err.text, "the limit is 3000");
    x = F32(v, 100);
    CHECK_INT(run_all(s, &x, &y, &o, NULL), SDX_OK);
    sdx_datum_clear(&y);
    int cancel = 1;
    o = (RunOptions){ .limits = { .cancel = &cancel } };
    CHECK_INT(run_all(s, &x, &y, &o, NULL), SDX_CANCELLED);
    o = (RunOptions){ .limits = { .deadline_ns = sdx_now_ns() - 1 } };
    CHECK_INT(run_all(s, &x, &y, &o, NULL), SDX_LIMIT_TIME);
    CHECK_INT(run_all(s, &x, &y, NULL, NULL), SDX_OK); /* still usable */
    sdx_datum_clear(&y);
    sdx_ses_close(s);
}

/* -- nested graphs -------------------------------------------------------------------------------------------------- */

static void branches(void)
{
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (bool c, float[2] x) => (float[K] y) {"
                               " h = Neg(x)"
                               " y = If (c) <then_branch = t () => (float[2] a) { a = Add(h, x) },"
                               "             else_branch = e () => (float[4] b) { b = Concat <axis = 0> (h, x) }> }",
                               &o);
        if (!s) return;
        float v[2] = { 1, 2 };
        bool c = true;
        Datum in[2] = { { .kind = DATUM_TENSOR, .t = { .dtype = DT_BOOL, .data = &c } }, F32(v, 2) };
        check_run(s, in, (float[]){ 0, 0 }, DIMS(2));
        c = false;
        check_run(s, in, (float[]){ -1, -2, 1, 2 }, DIMS(4));
        sdx_ses_close(s);
    }
}

/* A carried value that grows, one that stays, captured values, and rows that are stacked. */
static const char *const loop_text =
    "g (int64 m, float[K] x) => (float[A] y, float[B] n, float[T,C] rows) <bool t = {1}, float[1] one = {1}> {"
    " two = Add(one, one)"
    " y, n, rows = Loop (m, t, x, one) <body = b (int64 i, bool c, float[P] a, float[Q] k)"
    "   => (bool c2, float[R] a2, float[Q] k2, float[Q] row) {"
    "     c2 = Identity(c) a2 = Concat <axis = 0> (a, k) k2 = Mul(k, two) f = Cast <to = 1> (i) row = Add(k, f) }> }";

static void loops(void)
{
    EACH_LEVEL(o)
    {
        Session *s = open_text(loop_text, &o);
        if (!s) return;
        float v[1] = { 7 };
        for (int64_t m = 0; m <= 4; m++) {
            Datum in[2] = { { .kind = DATUM_TENSOR, .t = { .dtype = DT_INT64, .data = &m } }, F32(v, 1) };
            Datum out[3] = { { 0 } };
            Err err = { 0 };
            if (!CHECK_INT(run_all(s, in, out, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
            const float y[5] = { 7, 1, 2, 4, 8 }, n[5] = { 1, 2, 4, 8, 16 }, rows[4] = { 1, 3, 6, 11 };
            CHECK_INT(out[0].t.dims[0], m + 1);
            if (out[0].t.data) CHECK_FLOATS(out[0].t.data, y, (size_t)m + 1, 0);
            if (out[1].t.data) CHECK_FLOATS(out[1].t.data, &n[m], 1, 0);
            CHECK_INT(out[2].t.dims[0], m);
            if (m && out[2].t.data) CHECK_FLOATS(out[2].t.data, rows, (size_t)m, 0);
            for (int i = 0; i < 3; i++) sdx_datum_clear(&out[i]);
        }
        int64_t m = INT64_MAX;
        Datum in[2] = { { .kind = DATUM_TENSOR, .t = { .dtype = DT_INT64, .data = &m } }, F32(v, 1) };
        Datum out[3] = { { 0 } };
        Err err = { 0 };
        RunOptions limits = { .limits = { .max_trips = 100 } };
        CHECK_INT(run_all(s, in, out, &limits, &err), SDX_LIMIT_TRIPS);
        CHECK_HAS(err.text, "100 trips");
        limits = (RunOptions){ .limits = { .max_bytes = 1 << 20 } };
        CHECK_INT(run_all(s, in, out, &limits, NULL), SDX_LIMIT_BYTES);
        sdx_ses_close(s);
    }
}

static void scans(void)
{
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (float[2] h, float[2,T] x) => (float[2] y, float[2,T] z) {"
                               " y, z = Scan <num_scan_inputs = 1, scan_input_axes = [1], scan_output_axes = [1], "
                               "scan_output_directions = [1],"
                               "   body = b (float[2] s, float[2] e) => (float[2] s2, float[2] r) { s2 = Add(s, e) r = "
                               "Identity(s2) }> (h, x) }",
                               &o);
        if (!s) return;
        float h[2] = { 10, 20 }, x[6] = { 1, 2, 3, 4, 5, 6 };
        Datum in[2] = { F32(h, 2), F32(x, 2, 3) }, out[2] = { { 0 } };
        Err err = { 0 };
        if (!CHECK_INT(run_all(s, in, out, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
        const float y[2] = { 16, 35 }, z[6] = { 16, 13, 11, 35, 29, 24 };
        if (out[0].t.data) CHECK_FLOATS(out[0].t.data, y, 2, 0);
        if (out[1].t.data) CHECK_FLOATS(out[1].t.data, z, 6, 0);
        for (int i = 0; i < 2; i++) sdx_datum_clear(&out[i]);
        sdx_ses_close(s);
    }
}

/* The bytes of a row's strings go with the body's result; the stack has its own. */
static void stacked_strings_outlive_their_trip(void)
{
    EACH_LEVEL(o)
    {
        Session *s = open_text("g (string[T] x) => (string[T] y) { y = Scan <num_scan_inputs = 1,"
                               "   body = b (string e) => (string r) { r = StringConcat(e, e) }> (x) }",
                               &o);
        if (!s) return;
        Str x[3] = { { "a", 1 }, { "bc", 2 }, { "def", 3 } };
        const char *want[3] = { "aa", "bcbc", "defdef" };
        Datum in = tensor(DT_STRING, x, DIMS(3)), y = { 0 };
        Err err = { 0 };
        if (!CHECK_INT(run_all(s, &in, &y, NULL, &err), SDX_OK)) CHECK_STR(err.text, "");
        for (int i = 0; y.t.data && i < 3; i++) CHECK_BYTES(((Str *)y.t.data)[i].p, want[i], strlen(want[i]));
        sdx_datum_clear(&y);
        sdx_ses_close(s);
    }
}

/* -- threads -------------------------------------------------------------------------------------------------------- */

static float *ramp(void)
{
    float *v = malloc(300 * 300 * sizeof *v);
    for (int i = 0; v && i < 300 * 300; i++) v[i] = (float)(i * 7919 % 1000) / 500 - 1;
    return v;
}

static void same_bits_for_any_thread_count(void)
{
    const char *text = "g (float[300,300] x) => (float[300,300] y)"
                       "{ a = MatMul(x, x) b = Softmax(a) c = Mul(b, x) d = Exp(c) e = MatMul(d, a) y = Tanh(e) }";
    float *v = ramp();
    Datum first = { 0 };
    const int counts[] = { 1, 2, 3, 8 };
    for (int i = 0; i < 4; i++) {
        SessionOptions o = { .level = OPT_DEFAULT, .threads = counts[i] };
        Session *s = open_text(text, &o);
        if (!s) return;
        Datum y = { 0 };
        CHECK_INT(run_all(s, (Datum[]){ F32(v, 300, 300) }, &y, NULL, NULL), SDX_OK);
        if (first.t.data && y.t.data) CHECK_BYTES(y.t.data, first.t.data, 300 * 300 * sizeof(float));
        if (i == 0)
            first = y;
        else
            sdx_datum_clear(&y);
        sdx_ses_close(s);
    }
    sdx_datum_clear(&first);
    free(v);
}

static void *concurrent_main(void *arg)
{
    Session *s = arg;
    long bad = 0;
    float v[64];
    for (int i = 0; i < 64; i++) v[i] = (float)i;
    for (int round = 0; round < 200; round++) {
        int64_t n = 1 + round % 32;
        Datum x = F32(v, n, 2), y = { 0 };
        bad += run_all(s, &x, &y, NULL, NULL) != SDX_OK;
        for (int64_t i = 0; i < 2 * n && y.t.data; i++) bad += ((float *)y.t.data)[i] != -2 * v[i];
        sdx_datum_clear(&y);
        if (round % 50 == 0) sdx_ses_trim(s);
    }
    return (void *)bad;
}

static void one_session_many_threads(void)
{
    SessionOptions o = { .threads = 2, .plan_cache = 4 };
    Session *s = open_text(
        "g (float[N,2] x) => (float[N,2] y) { a = Add(x, x) b = Shape(a) c = Reshape(a, b) y = Neg(c) }", &o);
    if (!s) return;
    pthread_t ids[4];
    int n = 0;
    while (n < 4 && pthread_create(&ids[n], NULL, concurrent_main, s) == 0) n++;
    for (int i = 0; i < n; i++) {
        void *bad = NULL;
        pthread_join(ids[i], &bad);
        CHECK(bad == NULL);
    }
    sdx_ses_close(s);
}

static void floating_point_state_is_kept(void)
{
    Session *s = open_text("g (float[1] x) => (float[1] y) { y = Mul(x, x) }", NULL);
    if (!s) return;
    float v = 1e-22f; /* its square is subnormal */
    FpEnv before = sdx_fpenv_save();
    sdx_fpenv_flush(true);
    FpEnv flushing = sdx_fpenv_save();
    Datum y = { 0 };
    CHECK_INT(run_all(s, (Datum[]){ F32(&v, 1) }, &y, NULL, NULL), SDX_OK);
    CHECK(sdx_fpenv_save().word == flushing.word);
    sdx_fpenv_restore(before);
    if (y.t.data) CHECK(*(float *)y.t.data > 0);
    sdx_datum_clear(&y);
    sdx_ses_close(s);
}

/* -- memory --------------------------------------------------------------------------------------------------------- */

typedef struct Counted {
    Alloc alloc;
    int live;       /* blocks */
    int until_fail; /* < 0: never */
} Counted;

static void *counted_alloc(void *user, size_t nbytes, size_t align)
{
    Counted *c = user;
    if (c->until_fail == 0) return NULL;
    if (c->until_fail > 0) c->until_fail--;
    void *p = sdx_alloc_default.alloc(NULL, nbytes, align);
    c->live += p != NULL;
    return p;
}

static void counted_free(void *user, void *p)
{
    Counted *c = user;
    c->live -= p != NULL;
    sdx_alloc_default.free(NULL, p);
}

static void trim_gives_back(void)
{
    Counted c = { .until_fail = -1 };
    c.alloc = (Alloc){ counted_alloc, counted_free, &c };
    SessionOptions o = { .alloc = &c.alloc, .level = OPT_DEFAULT, .threads = 1 };
    Session *s = open_text(loop_text, &o);
    if (!s) return;
    int after_open = c.live;
    float v[40] = { 0 };
    for (int64_t m = 0; m < 20; m++) {
        Datum in[2] = { { .kind = DATUM_TENSOR, .t = { .dtype = DT_INT64, .data = &m } }, F32(v, 2 * m + 1) };
        Datum out[3] = { { 0 } };
        CHECK_INT(run_all(s, in, out, NULL, NULL), SDX_OK);
        for (int i = 0; i < 3; i++) sdx_datum_clear(&out[i]);
    }
    CHECK(c.live > after_open);
    sdx_ses_trim(s);
    CHECK_INT(c.live, after_open);
    sdx_ses_close(s);
    CHECK_INT(c.live, 0);
}

/* Fails the first allocation, the second, ... until open and run get through. */
static void every_allocation_may_fail(void)
{
    for (int n = 0; n < 100000; n++) {
        Counted c = { .until_fail = n };
        c.alloc = (Alloc){ counted_alloc, counted_free, &c };
        SessionOptions o = { .alloc = &c.alloc, .level = OPT_DEFAULT, .threads = 1 };
        Session *s;
        Err err = { 0 };
        Datum out[3] = { { 0 } };
        sdx_status st = try_open(loop_text, &o, &s, &err);
        if (st == SDX_OK) {
            int64_t m = 3;
            float v[1] = { 7 };
            Datum in[2] = { { .kind = DATUM_TENSOR, .t = { .dtype = DT_INT64, .data = &m } }, F32(v, 1) };
            st = run_all(s, in, out, NULL, &err);
        }
        for (int i = 0; i < 3; i++) sdx_datum_clear(&out[i]);
        sdx_ses_close(s);
        sdx_harness_note("allocation %d: %s", n, err.text);
        if (!CHECK_INT(c.live, 0) || st == SDX_OK) break;
        if (!CHECK_INT(st, SDX_OUT_OF_MEMORY)) break;
    }
    sdx_harness_note(NULL);
}

static void traced(void *user, const Node *n, int64_t from, int64_t to, const Datum *const *in, int n_in,
                   Datum *const *out, int n_out)
{
    ++*(int *)user;
    CHECK(to >= from && n_in >= 1 && n_out == 1 && in[0] && out[0]->t.data);
}

static void traces_see_every_step(void)
{
    SessionOptions o = { .level = OPT_NONE };
    Session *s = open_text("g (float[2] x) => (float[2] y) { a = Neg(x) b = Identity(a) y = Abs(b) }", &o);
    if (!s) return;
    int n = 0;
    RunTrace trace = { traced, &n };
    RunOptions run = { .trace = &trace };
    float v[2] = { 1, 2 };
    Datum y = { 0 };
    CHECK_INT(run_all(s, (Datum[]){ F32(v, 2) }, &y, &run, NULL), SDX_OK);
    CHECK_INT(n, 2); /* the view is no step */
    sdx_datum_clear(&y);
    sdx_ses_close(s);
}

SUITE(session_test)
{
    RUN(a_new_shape_is_a_new_plan);
    RUN(memory_is_shared);
    RUN(in_place_only_when_nobody_looks);
    RUN(shapes_from_contents);
    RUN(bound_outputs_are_used);
    RUN(results_alias_nothing);
    RUN(some_outputs_in_any_order);
    RUN(every_bad_input_is_told);
    RUN(limits_hold);
    RUN(branches);
    RUN(loops);
    RUN(scans);
    RUN(stacked_strings_outlive_their_trip);
    RUN(same_bits_for_any_thread_count);
    RUN(one_session_many_threads);
    RUN(floating_point_state_is_kept);
    RUN(trim_gives_back);
    RUN(every_allocation_may_fail);
    RUN(traces_see_every_step);
}
