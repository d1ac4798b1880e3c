/* Softmax and normalisation: C against doubles, other levels against the bits of C. */
#include "check.h"

#include <float.h>
#include <math.h>

typedef struct Shape {
    size_t outer, n, inner, ld;
} Shape;

static const Shape shapes[] = { { 3, 1, 1, 1 },  { 5, 7, 1, 1 },    { 4, 16, 1, 1 },     { 2, 31, 1, 1 },
                                { 3, 64, 1, 1 }, { 3, 197, 1, 1 },  { 2, 1000, 1, 1 },   { 1, 9001, 1, 1 },
                                { 2, 1, 3, 3 },  { 1, 16, 17, 17 }, { 2, 21, 130, 130 }, { 1, 4, 33, 40 },
                                { 3, 85, 5, 5 } };
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void softmax(const Check *c, bool log_)
{
    SoftmaxF32 *f = log_ ? c->k->logsoftmax_f32 : c->k->softmax_f32;
    SoftmaxF32 *ref = log_ ? c->c->logsoftmax_f32 : c->c->softmax_f32;
    for (int t = 0; t < 3 * SHAPES; t++) {
        Shape s = shapes[t / 3];
        size_t n = s.outer * s.n * s.ld;
        float *x = ck_buf(n * 4, 4 * (t % 7)), *got = ck_buf(n * 4, 4 * (t % 3)), *want = ck_buf(n * 4, 0);
        ck_plain(x, n, t % 3 == 0 ? -2 : -60, t % 3 == 0 ? 2 : 60);
        for (size_t i = 0; i < n && t % 3 == 2; i++)
            if (ck_rand() % 7 == 0) x[i] = ck_rand() & 256 ? -INFINITY : -1e30f;
        for (size_t i = 0; i < n; i++) got[i] = want[i] = 99;
        f(got, x, s.outer, s.n, s.inner, s.ld);
        ref(want, x, s.outer, s.n, s.inner, s.ld);
        ck_same_f32(got, want, n, "bits of C");
        for (size_t o = 0; o < s.outer && !c->below; o++)
            for (size_t j = 0; j < s.inner; j++) {
                const float *p = x + o * s.n * s.ld + j, *y = got + (p - x);
                double max = -INFINITY, sum = 0;
                for (size_t i = 0; i < s.n; i++) max = fmax(max, (double)p[i * s.ld]);
                for (size_t i = 0; i < s.n; i++) sum += exp((double)p[i * s.ld] - max);
                double chain = s.ld == 1 ? 8 + (double)s.n / 64 : (double)s.n;
                for (size_t i = 0; i < s.n; i++) {
                    double d = (double)p[i * s.ld] - max, v = log_ ? d - log(sum) : exp(d) / sum;
                    double bound = log_ ? FLT_EPSILON * fmax(2 + chain, 2 * fabs(d))
                                        : (8 + chain + fmin(fabs(d), 200)) * FLT_EPSILON * v + 2e-38;
                    float g = y[i * s.ld];
                    if (isnan(v) ? !isnan(g) : isinf(v) ? g != (float)v : !(fabs((double)g - v) <= bound))
                        ck_fail("[%zu,%zu,%zu]: f(%.9g - %.9g) is %.9g, not %.12g", s.outer, s.n, s.inner,
                                (double)p[i * s.ld], max, (double)g, v);
                }
            }
        if (s.ld == s.inner) {
            f(x, x, s.outer, s.n, s.inner, s.ld);
            ck_same_f32(x, want, n, "in place");
        }
        ck_margins();
        ck_free();
    }
}

static void softmax_scores(const Check *c)
{
    for (int t = 0; t < 4 * SHAPES; t++) {
        size_t rows = shapes[t / 4].outer, n = shapes[t / 4].n, ld = n + (size_t)(t % 3);
        float *x = ck_buf(rows * ld * 4, 4), *want = ck_buf(rows * ld * 4, 0), *bias = ck_buf(n * 4, 8), scale = 0.25f;
        ck_plain(x, rows * ld, -20, 20);
        ck_plain(bias, n, -2, 2);
        for (size_t i = 0; i < n && t & 2; i++)
            if (ck_rand() % 3 == 0) bias[i] = -INFINITY, x[i] = NAN;
        float *y = ck_buf(rows * ld * 4, 0);
        for (size_t i = 0; i < rows * ld; i++) y[i] = want[i] = x[i];
        c->k->softmax_scores_f32(x, rows, n, ld, scale, t & 1 ? bias : NULL, 0);
        c->c->softmax_scores_f32(want, rows, n, ld, scale, t & 1 ? bias : NULL, 0);
        ck_same_f32(x, want, rows * ld, "bits of C");
        for (size_t r = 0; r < rows && !c->below; r++) { /* the steps one by one */
            float *row = y + r * ld;
            bool seen = false;
            for (size_t i = 0; i < n; i++) {
                row[i] = t & 1 && bias[i] == -INFINITY ? -INFINITY : row[i] * scale + (t & 1 ? bias[i] : 0);
                seen |= row[i] != -INFINITY;
            }
            if (seen)
                c->c->softmax_f32(row, row, 1, n, 1, 1);
            else
                for (size_t i = 0; i < n; i++) row[i] = 0;
        }
        if (!c->below) ck_same_f32(want, y, rows * ld, "softmax of the sum");
        ck_margins();
        ck_free();
    }
}

static void norm_rows(const Check *c)
{
    static const size_t lengths[] = { 1, 3, 8, 15, 16, 17, 64, 65, 100, 384, 768, 1000, 4100 };
    for (size_t t = 0; t < 16 * (sizeof lengths / sizeof lengths[0]); t++) {
        size_t n = lengths[t / 16], rows = 3;
        float *x = ck_buf(rows * n * 4, 0), *skip = ck_buf(rows * n * 4, 4), *vec[3];
        for (int i = 0; i < 3; i++) ck_plain(vec[i] = ck_buf(n * 4, 4 * (size_t)i), n, -1, 1);
        float *y = ck_buf(rows * n * 4, 8), *want = ck_buf(rows * n * 4, 0), *sum = ck_buf(rows * n * 4, 0);
        float mean[2][3], inv[2][3];
        ck_plain(x, rows * n, 1, 4);
        ck_plain(skip, rows * n, -1, 1);
        NormRows a = {
            .y = want, .x = x, .rows = rows, .n = n, .eps = 1e-5f, .rms = t & 1, .mean = mean[0], .inv_std = inv[0]
        };
        if (t & 2) a.skip = skip;
        if (t & 4) a.scale = vec[0];
        if (t & 8) a.bias = vec[1];
        if (t % 3 == 0 && a.skip) a.skip_bias = vec[2];
        if (t % 5 == 0) a.sum = sum;
        c->c->norm_rows_f32(&a);
        a.y = y, a.mean = mean[1], a.inv_std = inv[1];
        c->k->norm_rows_f32(&a);
        ck_same_f32(y, want, rows * n, "bits of C");
        ck_same_f32(mean[1], mean[0], rows, "mean");
        ck_same_f32(inv[1], inv[0], rows, "1/std");
        for (size_t r = 0; r < rows && !c->below; r++) {
            double m = 0, v = 0, big = 0;
            for (int pass = 0; pass < 3; pass++) {
                for (size_t i = 0; i < n; i++) {
                    double s = (double)x[r * n + i];
                    if (a.skip) s = (double)((float)s + skip[r * n + i]);
                    if (a.skip_bias) s = (double)((float)s + vec[2][i]);
                    if (a.sum && sum[r * n + i] != (float)s) ck_fail("n = %zu: sum", n);
                    big = fmax(big, fabs(s));
                    if (pass == 0 && !a.rms) m += s / (double)n;
                    if (pass == 1) v += (s - m) * (s - m) / (double)n;
                    if (pass < 2) continue;
                    double e = (s - m) / sqrt(v + 1e-5);
                    double bound = 16 * FLT_EPSILON * (fabs(e) + big / sqrt(v + 1e-5) + 1);
                    if (a.scale) e *= (double)vec[0][i];
                    if (a.bias) e += (double)vec[1][i];
                    if (!(fabs(e - (double)y[r * n + i]) <= bound))
                        ck_fail("n = %zu, case %zu: %.9g, not %.9g", n, t % 16, (double)y[r * n + i], e);
                }
            }
        }
        a.y = x;
        c->k->norm_rows_f32(&a);
        ck_same_f32(x, want, rows * n, "in place");
        ck_margins();
        ck_free();
    }
}

static void moments_and_affine(const Check *c)
{
    for (size_t l = 1; l < ck_nlengths; l++) {
        size_t n = ck_lengths[l], rows = 4, ld = n + l % 2 * 3, m = rows > n ? rows : n;
        float *x = ck_buf(rows * ld * 4, 4 * (l % 5)), *got = ck_buf(rows * ld * 4, 0),
              *want = ck_buf(rows * ld * 4, 0);
        float *p[3];
        for (int i = 0; i < 3; i++) ck_plain(p[i] = ck_buf(m * 4, 4), m, -2, 2);
        ck_floats(x, rows * ld, -3, 3);
        for (int columns = 0; columns < 2; columns++)
            for (int center = 0; center < 2; center++) {
                AffineF32 *f = columns ? c->k->affine_columns_f32 : c->k->affine_rows_f32;
                for (size_t i = 0; i < rows * ld; i++) {
                    size_t at = columns ? i % ld : i / ld;
                    got[i] = want[i] = 7;
                    if (i % ld < n) want[i] = fmaf(x[i] - (center ? p[0][at] : 0), p[1][at], p[2][at]);
                }
                f(got, x, rows, n, ld, center ? p[0] : NULL, p[1], p[2]);
                ck_same_f32(got, want, rows * ld, columns ? "columns" : "rows");
            }
        float mean[2][4], inv[2][4];
        ck_plain(x, rows * n, 2, 3);
        c->c->moments_f32(mean[0], inv[0], x, rows, n, 1e-3f);
        c->k->moments_f32(mean[1], inv[1], x, rows, n, 1e-3f);
        ck_same_f32(mean[1], mean[0], rows, "mean");
        ck_same_f32(inv[1], inv[0], rows, "1/std");
        ck_margins();
        ck_free();
    }
}

typedef struct Timed {
    const Kern *k;
    float *y, *x, *w;
    Shape s;
} Timed;

static void time_softmax(void *arg)
{
    Timed *t = arg;
    t->k->softmax_f32(t->y, t->x, t->s.outer, t->s.n, t->s.inner, t->s.ld);
}
static void time_norm(void *arg)
{
    Timed *t = arg;
    NormRows a = { .y = t->y, .x = t->x, .scale = t->w, .bias = t->w, .rows = t->s.outer, .n = t->s.n, .eps = 1e-5f };
    t->k->norm_rows_f32(&a);
}
static void time_skip_norm(void *arg)
{
    Timed *t = arg;
    NormRows a = {
        .y = t->y, .x = t->x, .skip = t->x, .scale = t->w, .bias = t->w, .rows = t->s.outer, .n = t->s.n, .eps = 1e-5f
    };
    t->k->norm_rows_f32(&a);
}

static void bench(const Check *c, const char *what, Shape s, void (*call)(void *))
{
    if (!ck_begin(c, "norm %s %zux%zux%zu", what, s.outer, s.n, s.inner)) return;
    size_t n = s.outer * s.n * s.ld;
    Timed t = { c->k, ck_buf(n * 4, 0), ck_buf(n * 4, 0), ck_buf(s.n * 4, 0), s };
    ck_plain(t.x, n, -4, 4);
    ck_plain(t.w, s.n, -4, 4);
    ck_report(ck_time(call, &t), (double)n, 0);
    ck_end();
}

void check_norm(const Check *c)
{
    if (c->below && c->below->softmax_f32 == c->k->softmax_f32) return;
    if (c->bench) {
        bench(c, "softmax", (Shape){ 32, 128, 1, 1 }, time_softmax);
        bench(c, "softmax", (Shape){ 4, 1000, 1, 1 }, time_softmax);
        bench(c, "softmax", (Shape){ 1, 16, 400, 400 }, time_softmax);
        bench(c, "layer", (Shape){ 8, 768, 1, 1 }, time_norm);
        bench(c, "skip layer", (Shape){ 8, 768, 1, 1 }, time_skip_norm);
        return;
    }
    if (ck_begin(c, "softmax")) softmax(c, false), ck_end();
    if (ck_begin(c, "softmax_scores")) softmax_scores(c), ck_end();
    if (ck_begin(c, "logsoftmax")) softmax(c, true), ck_end();
    if (ck_begin(c, "norm rows")) norm_rows(c), ck_end();
    if (ck_begin(c, "norm moments, affine")) moments_and_affine(c), ck_end();
}
