/* What vector code gets wrong at its edges: every integer compared exactly, NaN at every place, the same bits each time. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/session.h"
#include "tensor/element.h"
#include "tests/harness.h"
#include "tests/op_case.h"

static Session *open_at(const char *text, const Kern *kern, int threads)
{
    Err err = { 0 };
    Model *m = NULL;
    Session *s = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    SessionOptions o;
    sdx_ses_options_init(&o);
    o.kern = kern;
    o.threads = threads;
    if (sdx_onnx_import_text(&sdx_alloc_default, text, strlen(text), &import, &m, &err) == SDX_OK)
        sdx_ses_open(&m, &o, &s, &err);
    CHECK_STR(err.text, "");
    return s;
}

/* Feeds in order, gives all outputs. */
static bool run_all(Session *s, const Datum *in, Datum *out)
{
    const char *in_names[8], *out_names[16];
    const Datum *ptrs[8];
    int n_in = sdx_ses_n_inputs(s), n_out = sdx_ses_n_outputs(s);
    Err err = { 0 };
    for (int i = 0; i < n_in; i++) in_names[i] = sdx_ses_input(s, i)->name, ptrs[i] = &in[i];
    for (int i = 0; i < n_out; i++) out_names[i] = sdx_ses_output(s, i)->name;
    sdx_ses_run_names(s, in_names, ptrs, n_in, out_names, out, n_out, NULL, &err);
    return CHECK_STR(err.text, "");
}

static uint64_t next_random(uint64_t *x) { return *x = *x * 6364136223846793005u + 1442695040888963407u; }

/* -- integers -------------------------------------------------------------------------------------------------------- */

enum { N = 1003, ROWS = 17, COLUMNS = N / ROWS };

typedef struct IntType {
    const char *name;
    DType dtype;
    bool is_signed, reduces;
} IntType;

/* Numbers of every size: random bits, shifted right by 0 to all but two. */
static void fill(void *v, const IntType *t, uint64_t seed)
{
    int bits = sdx_dtype_bits(t->dtype);
    for (int i = 0; i < N; i++) {
        uint64_t x = next_random(&seed);
        int shift = (int)(next_random(&seed) >> 33) % (bits - 1) + 64 - bits;
        x = t->is_signed ? (uint64_t)((int64_t)x >> shift) : x >> shift;
        sdx_element_set_bits(t->dtype, v, i, x);
    }
}

static int64_t element(const IntType *t, const void *v, int64_t i)
{
    uint64_t x = sdx_element_bits(t->dtype, v, i);
    int shift = 64 - sdx_dtype_bits(t->dtype);
    return t->is_signed ? (int64_t)(x << shift) >> shift : (int64_t)x;
}

static bool is_less(const IntType *t, int64_t a, int64_t b) { return t->is_signed ? a < b : (uint64_t)a < (uint64_t)b; }

static void compare_all(const IntType *t, const void *a, const void *b, const Datum *y)
{
    bool ok = true;
    for (int i = 0; i < N && ok; i++) {
        int64_t p = element(t, a, i), q = element(t, b, i), low = t->is_signed ? -100 : 3, high = 100;
        int64_t clipped = is_less(t, p, low) ? low : is_less(t, high, p) ? high : p;
        ok &= CHECK_INT(element(t, y[0].t.data, i), is_less(t, p, q) ? q : p);
        ok &= CHECK_INT(element(t, y[1].t.data, i), is_less(t, p, q) ? p : q);
        ok &= CHECK_INT(element(t, y[2].t.data, i), clipped);
        ok &= CHECK_INT(element(t, y[3].t.data, i), p == 0 ? 0 : t->is_signed && p < 0 ? -1 : 1);
        ok &= CHECK_INT(((const bool *)y[4].t.data)[i], is_less(t, p, q));
        ok &= CHECK_INT(((const bool *)y[5].t.data)[i], is_less(t, q, p));
        ok &= CHECK_INT(((const bool *)y[6].t.data)[i], p == q);
    }
    for (int r = 0; r < ROWS && ok; r++) {
        int64_t most = 0, least = 0;
        for (int c = 1; c < COLUMNS; c++) {
            int64_t v = element(t, a, r * COLUMNS + c);
            if (is_less(t, element(t, a, r * COLUMNS + most), v)) most = c;
            if (is_less(t, v, element(t, a, r * COLUMNS + least))) least = c;
        }
        ok &= CHECK_INT(((const int64_t *)y[7].t.data)[r], most);
        if (!t->reduces) continue;
        ok &= CHECK_INT(element(t, y[8].t.data, r), element(t, a, r * COLUMNS + most));
        ok &= CHECK_INT(element(t, y[9].t.data, r), element(t, a, r * COLUMNS + least));
    }
}

static void integers_compare_exactly(void)
{
    static const IntType types[] = {
        { "int64", DT_INT64, true, true },  { "uint64", DT_UINT64, false, true },
        { "int32", DT_INT32, true, true },  { "uint32", DT_UINT32, false, true },
        { "int16", DT_INT16, true, false }, { "uint16", DT_UINT16, false, false },
        { "int8", DT_INT8, true, true },    { "uint8", DT_UINT8, false, true },
    };
    static uint64_t a[N], b[N];
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
            const IntType *t = &types[k];
            const Kern *kern = sdx_kern_at(level);
            char text[1024], more[64] = "";
            if (!kern) continue;
            sdx_harness_note("%s, %s", t->name, kern->name);
            if (t->reduces) snprintf(more, sizeof more, ", %s[17,1] rx, %s[17,1] rn", t->name, t->name);
            snprintf(
                text, sizeof text,
                "<opset_import: [\"\" : 18]> g (%s[17,59] a, %s[17,59] b) => (%s[17,59] mx, %s[17,59] mn, %s[17,59] c,"
                " %s[17,59] s, bool[17,59] l, bool[17,59] g, bool[17,59] e, int64[17,1] am%s)"
                "<%s lo = {%d}, %s hi = {100}, int64[1] ax = {1}>"
                "{ mx = Max (a, b) mn = Min (a, b) c = Clip (a, lo, hi) s = Sign (a) l = Less (a, b)"
                " g = Greater (a, b) e = Equal (a, b) am = ArgMax <axis = 1> (a) %s }",
                t->name, t->name, t->name, t->name, t->name, t->name, more, t->name, t->is_signed ? -100 : 3, t->name,
                t->reduces ? "rx = ReduceMax (a, ax) rn = ReduceMin (a, ax)" : "");
            Session *s = open_at(text, kern, 1);
            if (!s) continue;
            fill(a, t, 7 * k + 1);
            fill(b, t, 11 * k + 3);
            for (int i = 0; i < N; i += 13) sdx_element_set_bits(t->dtype, b, i, sdx_element_bits(t->dtype, a, i));
            Datum in[2] = { { .kind = DATUM_TENSOR, .t = { t->dtype, 2, { ROWS, COLUMNS }, a } },
                            { .kind = DATUM_TENSOR, .t = { t->dtype, 2, { ROWS, COLUMNS }, b } } };
            Datum out[10] = { { 0 } };
            if (run_all(s, in, out)) compare_all(t, a, b, out);
            for (int i = 0; i < 10; i++) sdx_datum_clear(&out[i]);
            sdx_ses_close(s);
        }
    sdx_harness_note(NULL);
}

/* -- NaN ------------------------------------------------------------------------------------------------------------- */

/* One or many, before or after a number: the extremes of all lengths are NaN, whatever a vector's remainder holds. */
static void extremes_keep_nan_at_every_length(void)
{
    static const char text[] =
        "<opset_import: [\"\" : 18]> g (float[1,1,n] x) => (float[] a, float[] b, float[] c, float[] d, float[] e, "
        "float[] f)"
        "<int64[1] ax = {2}>"
        "{ a = ReduceMax (x, ax) b = ReduceMin (x, ax) c = GlobalMaxPool (x) t = Transpose <perm = [2, 0, 1]> (x)"
        "  ay = Constant <value_ints = [0]> () d = ReduceMax (t, ay) h = Cast <to = 10> (x) hm = ReduceMin (h, ax)"
        "  e = Cast <to = 1> (hm) w = Cast <to = 11> (x) wm = ReduceMax (w, ax) f = Cast <to = 1> (wm) }";
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        const Kern *kern = sdx_kern_at(level);
        Session *s = kern ? open_at(text, kern, 1) : NULL;
        for (int n = 2; s && n <= 72; n++)
            for (int way = 0; way < 3; way++) {
                float v[80];
                for (int i = 0; i < n; i++) v[i] = way == 2 ? (i == n / 2 ? NAN : (float)i) : NAN;
                if (way < 2) v[way ? n - 1 : 0] = 42;
                Datum x = { .kind = DATUM_TENSOR, .t = { DT_FLOAT, 3, { 1, 1, n }, v } }, out[6] = { { 0 } };
                sdx_harness_note("%s, %d elements, way %d", kern->name, n, way);
                if (run_all(s, &x, out))
                    for (int i = 0; i < 6; i++) CHECK(isnan(*(const float *)out[i].t.data));
                for (int i = 0; i < 6; i++) sdx_datum_clear(&out[i]);
            }
        if (s) sdx_ses_close(s);
    }
    sdx_harness_note(NULL);
}

/* -- order ----------------------------------------------------------------------------------------------------------- */

/* Many updates of few rows: the last counts, or all in order, for any number of threads and each time. */
static void repeated_updates_keep_their_order(void)
{
    enum { UPDATES = 20000, LAST = 10 };
    static int64_t index[UPDATES];
    static float update[UPDATES], zeros[LAST];
    float last[LAST], sum[LAST] = { 0 };
    uint64_t seed = 5;
    for (int i = 0; i < UPDATES; i++) {
        index[i] = (int64_t)(next_random(&seed) >> 40) % LAST;
        update[i] = (float)(next_random(&seed) >> 40) / 1000;
        last[index[i]] = update[i];
        sum[index[i]] += update[i];
    }
    static const char text[] =
        "<opset_import: [\"\" : 18]> g (float[10] x, int64[n,1] i, int64[n] j, float[n] u) =>"
        " (float[10] a, float[10] b, float[10] c, float[10] d)"
        "{ a = ScatterND (x, i, u) b = ScatterElements (x, j, u) c = ScatterND <reduction = \"add\"> (x, i, u)"
        "  d = ScatterElements <reduction = \"add\"> (x, j, u) }";
    static const int threads[] = { 1, 2, 8 };
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        Session *s = open_at(text, NULL, threads[k]);
        Datum in[4] = { { .kind = DATUM_TENSOR, .t = { DT_FLOAT, 1, { LAST }, zeros } },
                        { .kind = DATUM_TENSOR, .t = { DT_INT64, 2, { UPDATES, 1 }, index } },
                        { .kind = DATUM_TENSOR, .t = { DT_INT64, 1, { UPDATES }, index } },
                        { .kind = DATUM_TENSOR, .t = { DT_FLOAT, 1, { UPDATES }, update } } };
        sdx_harness_note("%d threads", threads[k]);
        for (int round = 0; s && round < 10; round++) {
            Datum out[4] = { { 0 } };
            if (run_all(s, in, out))
                for (int i = 0; i < 4; i++) CHECK_BYTES(out[i].t.data, i < 2 ? last : sum, sizeof last);
            for (int i = 0; i < 4; i++) sdx_datum_clear(&out[i]);
        }
        if (s) sdx_ses_close(s);
    }
    sdx_harness_note(NULL);
}

/* -- nothing --------------------------------------------------------------------------------------------------------- */

/* The harness fills outputs with rubbish before the run. */
OP_CASE(product_over_nothing, "y = MatMul(a, b)", IN("float[2,0] a {}"), IN("float[0,2] b {}"),
        OUT("float[2,2] y {0, 0, 0, 0}"))
OP_CASE(product_over_nothing_in_double, "y = MatMul(a, b)", IN("double[2,0] a {}"), IN("double[0,2] b {}"),
        OUT("double[2,2] y {0, 0, 0, 0}"))
OP_CASE(product_over_nothing_in_half, "y = MatMul(a, b)", IN("float16[2,0] a {}"), IN("float16[0,2] b {}"),
        OUT("float16[2,2] y {0, 0, 0, 0}"))
OP_CASE(product_of_integers_over_nothing, "y = MatMul(a, b)", IN("int64[2,0] a {}"), IN("int64[0,2] b {}"),
        OUT("int64[2,2] y {0, 0, 0, 0}"))
OP_CASE(bytes_over_nothing, "y = MatMulInteger(a, b)", IN("uint8[2,0] a {}"), IN("int8[0,1] b {}"),
        OUT("int32[2,1] y {0, 0}"))
OP_CASE(gemm_over_nothing, "y = Gemm <beta = 0.5> (a, b, c)", IN("float[2,0] a {}"), IN("float[0,1] b {}"),
        IN("float[1] c {3}"), OUT("float[2,1] y {1.5, 1.5}"))
OP_CASE(convolution_over_nothing, "y = Conv(x, w, b)", IN("float[1,0,2,2] x {}"), IN("float[2,0,1,1] w {}"),
        IN("float[2] b {1, 2}"), OUT("float[1,2,2,2] y {1, 1, 1, 1, 2, 2, 2, 2}"))
OP_CASE(einsum_over_nothing, "y = Einsum <equation = \"ij,jk->ik\"> (a, b)", IN("float[2,0] a {}"),
        IN("float[0,1] b {}"), OUT("float[2,1] y {0, 0}"))

SUITE(edges_test)
{
    RUN(integers_compare_exactly);
    RUN(extremes_keep_nan_at_every_length);
    RUN(repeated_updates_keep_their_order);
    RUN(product_over_nothing);
    RUN(product_over_nothing_in_double);
    RUN(product_over_nothing_in_half);
    RUN(product_of_integers_over_nothing);
    RUN(bytes_over_nothing);
    RUN(gemm_over_nothing);
    RUN(convolution_over_nothing);
    RUN(einsum_over_nothing);
}
