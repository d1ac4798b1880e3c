#include "kern/fft/fft.h"

#include <math.h>
#include <stdlib.h>

#include "tests/harness.h"

/* The definition, with angles that are exact in integers. */
static void slow(double *y, const double *x, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (int64_t j = 0; j < n; j++) {
            double angle = -2 * acos(-1) * (double)(j * k % n) / (double)n, c = cos(angle), s = sin(angle);
            re += c * x[2 * j] - s * x[2 * j + 1];
            im += c * x[2 * j + 1] + s * x[2 * j];
        }
        y[2 * k] = re;
        y[2 * k + 1] = im;
    }
}

static void forward(double *x, int64_t n)
{
    size_t n_tables, n_work;
    if (!CHECK(sdx_fft_sizes(n, &n_tables, &n_work))) return;
    double *tables = malloc(n_tables * sizeof *tables), *work = malloc(n_work * sizeof *work);
    Fft f;
    sdx_fft_init(&f, n, tables, work);
    sdx_fft_forward(&f, x, work);
    free(tables);
    free(work);
}

static void fill(double *x, int64_t n)
{
    uint32_t state = (uint32_t)n;
    for (int64_t i = 0; i < 2 * n; i++) {
        state = state * 1664525u + 1013904223u;
        x[i] = (double)(state >> 8) / (1 << 23) - 1;
    }
}

static void every_length_follows_the_definition(void)
{
    static double x[2 * 400], y[2 * 400];
    for (int64_t n = 1; n < 400; n += n < 130 ? 1 : 13) {
        fill(x, n);
        slow(y, x, n);
        forward(x, n);
        sdx_harness_note("length %d", (int)n);
        for (int64_t i = 0; i < 2 * n; i++) CHECK_NEAR(x[i], y[i], 4e-14 * (double)n);
    }
    sdx_harness_note(NULL);
}

/* Forward, then back with the parts exchanged. */
static void long_lines_come_back(void)
{
    static const int64_t lengths[] = { 1 << 16, 30030, 10007, 65537, 7 * 7 * 7 * 7, 99991 };
    for (size_t t = 0; t < sizeof lengths / sizeof *lengths; t++) {
        int64_t n = lengths[t];
        double *x = malloc(2 * sizeof *x * (size_t)n), *want = malloc(2 * sizeof *x * (size_t)n), worst = 0;
        fill(want, n);
        for (int64_t i = 0; i < 2 * n; i++) x[i] = want[i];
        forward(x, n);
        for (int64_t i = 0; i < n; i++) {
            double re = x[2 * i];
            x[2 * i] = x[2 * i + 1];
            x[2 * i + 1] = re;
        }
        forward(x, n);
        for (int64_t i = 0; i < n; i++) {
            worst = fmax(worst, fabs(x[2 * i + 1] / (double)n - want[2 * i]));
            worst = fmax(worst, fabs(x[2 * i] / (double)n - want[2 * i + 1]));
        }
        sdx_harness_note("length %d", (int)n);
        CHECK_NEAR(worst, 0, 1e-13);
        free(x);
        free(want);
    }
    sdx_harness_note(NULL);
}

static void refuses_lengths_beyond_reason(void)
{
    size_t a, b;
    CHECK(!sdx_fft_sizes(0, &a, &b));
    CHECK(!sdx_fft_sizes(-5, &a, &b));
    CHECK(!sdx_fft_sizes(INT64_MAX, &a, &b));
    CHECK(sdx_fft_sizes((int64_t)1 << 40, &a, &b));
}

SUITE(fft_test)
{
    RUN(every_length_follows_the_definition);
    RUN(long_lines_come_back);
    RUN(refuses_lengths_beyond_reason);
}
