#include "kern/gemm/gemm.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

/* Uniform in [-1, 1), the same on every machine. */
static float *random_floats(size_t n, uint32_t seed)
{
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return x;
}

static double reference_act(const Epilogue *e, double x)
{
    switch (e->act) {
    case SDX_ACT_RELU: return fmax(x, 0);
    case SDX_ACT_CLIP: return fmin(fmax(x, e->p0), e->p1);
    case SDX_ACT_LEAKY: return x < 0 ? x * e->p0 : x;
    case SDX_ACT_HARDSIGMOID: return fmin(fmax(x * e->p0 + e->p1, 0), 1);
    case SDX_ACT_HARDSWISH: return x * fmin(fmax(x / 6 + 0.5, 0), 1);
    case SDX_ACT_SIGMOID: return 1 / (1 + exp(-x));
    case SDX_ACT_SILU: return x / (1 + exp(-x));
    case SDX_ACT_TANH: return tanh(x);
    case SDX_ACT_GELU_ERF: return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
    case SDX_ACT_GELU_TANH: return 0.5 * x * (1 + tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
    default: return x;
    }
}

typedef struct Case {
    size_t m, n, k;
    unsigned a_form, b_form; /* b_form: as it is before packing */
    bool pack;
    Epilogue epi; /* bias and add: any pointer but NULL asks for them */
} Case;

static const float yes[1];

/* Runs the case; true if every element is within the bound of a sum of k terms, margins untouched.
 * result, if wanted, receives m*n floats. */
static bool run_case(const Kern *kern, const Case *t, float *result)
{
    size_t m = t->m, n = t->n, k = t->k;
    size_t lda = (t->a_form == SDX_MAT_COLS ? m : k) + 3, ldb = (t->b_form == SDX_MAT_COLS ? n == 0 ? 1 : k : n) + 2;
    size_t ldc = n + 5, ldadd = n + 1;
    float *a = random_floats((t->a_form == SDX_MAT_COLS ? k : m) * lda, 1);
    float *b = random_floats((t->b_form == SDX_MAT_COLS ? n : k) * ldb, 2);
    float *bias = random_floats(m + n, 3), *add = random_floats(m * ldadd, 4);
    float *c = malloc((m * ldc + 1) * sizeof *c);
    for (size_t i = 0; i < m * ldc; i++) c[i] = 1234;

    GemmPlan p = { .m = m,
                   .n = n,
                   .k = k,
                   .lda = lda,
                   .ldb = ldb,
                   .ldc = ldc,
                   .a_form = t->a_form,
                   .b_form = t->pack ? SDX_MAT_PACKED : t->b_form };
    GemmF32 g = { .a = a, .b = b, .c = c, .epi = t->epi };
    if (g.epi.bias) g.epi.bias = bias;
    if (g.epi.add) g.epi.add = add, g.epi.ldadd = ldadd;
    float *packed = NULL;
    if (t->pack) {
        size_t nfloats;
        CHECK(sdx_gemm_f32_pack_size(kern, k, n, &nfloats));
        packed = malloc((nfloats + 1) * sizeof *packed);
        sdx_gemm_f32_pack(kern, b, ldb, t->b_form, k, n, 0, nfloats / (kern->gemm_f32_nr * (k ? k : 1)), false, packed);
        g.b = packed;
    }
    sdx_gemm_f32_plan(kern, &p);
    void *scratch = malloc(p.scratch + 1);
    for (size_t i = p.chunks; i-- > 0;) sdx_gemm_f32_chunk(kern, &p, &g, i, scratch);

    bool ok = true;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < ldc; j++) {
            float got = c[i * ldc + j];
            if (j >= n) {
                ok = ok && got == 1234;
                continue;
            }
            double sum = 0, abs_sum = 0;
            for (size_t q = 0; q < k; q++) {
                double x = t->a_form == SDX_MAT_COLS ? a[q * lda + i] : a[i * lda + q];
                double y = t->b_form == SDX_MAT_COLS ? b[j * ldb + q] : b[q * ldb + j];
                sum += x * y;
                abs_sum += fabs(x * y);
            }
            const Epilogue *e = &t->epi;
            double s = e->alpha * sum, mag = fabs(e->alpha) * abs_sum;
            if (e->bias) s += bias[e->bias_by_row ? i : j], mag += 1;
            double other = e->add ? e->beta * add[i * ldadd + j] : 0;
            mag += fabs(other);
            double want = e->add_last ? reference_act(e, s) + other : reference_act(e, s + other);
            /* Every activation here has a slope below 1.13; evaluating it costs a few roundings. */
            double tol = FLT_EPSILON * (1.2 * ((double)k + 4) * mag + 8 * (1 + fabs(want)));
            if (!(fabs(got - want) <= tol) && ok) {
                sdx_harness_note("%s m %zu n %zu k %zu a %u b %u pack %d act %u: [%zu,%zu] got %.9g want %.9g",
                                 kern->name, m, n, k, t->a_form, t->b_form, t->pack, e->act, i, j, got, want);
                ok = false;
            }
        }
    if (result)
        for (size_t i = 0; i < m; i++) memcpy(result + i * n, c + i * ldc, n * sizeof *c);
    free(a), free(b), free(bias), free(add), free(c), free(packed), free(scratch);
    return ok;
}

#define EACH_LEVEL(kern)                                                                                               \
    const Kern *kern;                                                                                                  \
    for (unsigned level_ = 0; level_ < SDX_CPU_LEVELS; level_++)                                                       \
        if ((kern = sdx_kern_at(level_)) != NULL)

static void every_small_size(void)
{
    EACH_LEVEL(kern)
    {
        bool ok = true;
        for (size_t m = 0; m <= 40 && ok; m += m < 18 ? 1 : 11)
            for (size_t n = 0; n <= 70 && ok; n += n < 34 ? 3 : 12)
                for (size_t k = 0; k <= 40 && ok; k += k < 4 ? 1 : 9)
                    for (unsigned form = 0; form < 8 && ok; form++) {
                        Case t = { m, n, k, form & 1, form >> 1 & 1, form >> 2, SDX_EPILOGUE_NONE };
                        ok = CHECK(run_case(kern, &t, NULL));
                    }
    }
    sdx_harness_note(NULL);
}

static void sliced_and_blocked(void)
{
    static const size_t sizes[][3] = { { 1, 300, 2000 }, { 2, 129, 1700 },  { 17, 100, 3000 }, { 400, 33, 1024 },
                                       { 5, 1000, 700 }, { 130, 70, 2500 }, { 3, 16, 5000 } };
    EACH_LEVEL(kern)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned form = 0; form < 8; form++) {
            Case t = { sizes[i][0], sizes[i][1], sizes[i][2], form & 1, form >> 1 & 1, form >> 2, SDX_EPILOGUE_NONE };
            if (!CHECK(run_case(kern, &t, NULL))) return;
        }
    sdx_harness_note(NULL);
}

static void epilogues(void)
{
    EACH_LEVEL(kern)
    for (unsigned act = 0; act < SDX_ACTS; act++)
        for (unsigned bits = 0; bits < 16; bits++) {
            Case t = { 9,
                       45,
                       11,
                       0,
                       0,
                       true,
                       { .alpha = bits & 1 ? 0.5f : 1,
                         .bias = bits & 2 ? yes : NULL,
                         .bias_by_row = bits & 1,
                         .add = bits & 4 ? yes : NULL,
                         .beta = bits & 8 ? 1 : -0.25f,
                         .add_last = bits & 8,
                         .act = act,
                         .p0 = act == SDX_ACT_CLIP ? -0.4f : 0.2f,
                         .p1 = 0.5f } };
            if (!CHECK(run_case(kern, &t, NULL))) return;
        }
    sdx_harness_note(NULL);
}

/* The first rows of a taller product, and any layout of b, give the same bits. */
static void bits_do_not_depend_on_m(void)
{
    enum { N = 133, K = 1900, M = 31 };
    static float tall[M * N], low[M * N];
    EACH_LEVEL(kern)
    {
        Case t = { M, N, K, 0, 0, true, SDX_EPILOGUE_NONE };
        CHECK(run_case(kern, &t, tall));
        for (size_t m = 1; m <= 5; m++)
            for (int pack = 0; pack < 2; pack++) {
                t.m = m;
                t.pack = pack;
                CHECK(run_case(kern, &t, low));
                CHECK_BYTES(low, tall, m * N * sizeof(float));
            }
    }
    sdx_harness_note(NULL);
}

static void add_in_place(void)
{
    EACH_LEVEL(kern)
    {
        float a[4] = { 1, 2, 3, 4 }, b[4] = { 1, 0, 0, 1 }, c[4] = { 10, 20, 30, 40 };
        GemmPlan p = { .m = 2, .n = 2, .k = 2, .lda = 2, .ldb = 2, .ldc = 2 };
        GemmF32 g = { a, b, c, { .alpha = 1, .add = c, .ldadd = 2, .beta = 2 } };
        sdx_gemm_f32_plan(kern, &p);
        float scratch[8192];
        if (!CHECK(p.chunks == 1 && p.scratch <= sizeof scratch)) return;
        sdx_gemm_f32_chunk(kern, &p, &g, 0, scratch);
        CHECK_FLOATS(c, ((float[]){ 21, 42, 63, 84 }), 4, 0);
    }
}

static void nan_and_infinity_pass(void)
{
    EACH_LEVEL(kern)
    {
        float a[2] = { NAN, INFINITY }, b[1] = { 1 }, c[2];
        GemmPlan p = { .m = 2, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldc = 1 };
        GemmF32 g = { a, b, c, { .alpha = 1, .act = SDX_ACT_RELU } };
        sdx_gemm_f32_plan(kern, &p);
        float scratch[8192];
        sdx_gemm_f32_chunk(kern, &p, &g, 0, scratch);
        CHECK(isnan(c[0]) && isinf(c[1]));
    }
}

static void transposes(void)
{
    EACH_LEVEL(kern)
    for (size_t m = 0; m < 40; m++)
        for (size_t n = 0; n < 40; n++) {
            float x[40 * 41], y[40 * 43];
            for (size_t i = 0; i < m * 41; i++) x[i] = (float)i;
            for (size_t i = 0; i < n * 43; i++) y[i] = -1;
            kern->transpose_32(y, 43, x, 41, m, n);
            bool ok = true;
            for (size_t j = 0; j < n; j++)
                for (size_t i = 0; i < 43; i++) ok = ok && y[j * 43 + i] == (i < m ? x[i * 41 + j] : -1);
            if (!CHECK(ok)) return;
        }
}

SUITE(gemm_test)
{
    RUN(every_small_size);
    RUN(sliced_and_blocked);
    RUN(epilogues);
    RUN(bits_do_not_depend_on_m);
    RUN(add_in_place);
    RUN(nan_and_infinity_pass);
    RUN(transposes);
}
