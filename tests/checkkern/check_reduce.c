/* Reductions. Sums: C against doubles, within 2 k eps sum|x| where k is the length of the longest chain of
 * additions; extremes and their places exactly. Other levels against the bits of C. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef struct Shape {
    size_t outer, n, inner, ld;
} Shape;

static const Shape shapes[] = {
    { 1, 0, 1, 1 },    { 3, 1, 1, 1 },       { 5, 7, 1, 1 },     { 4, 16, 1, 1 },    { 3, 33, 1, 1 },
    { 2, 63, 1, 1 },   { 2, 64, 1, 1 },      { 2, 65, 1, 1 },    { 3, 197, 1, 1 },   { 2, 768, 1, 1 },
    { 1, 4096, 1, 1 }, { 1, 4097, 1, 1 },    { 1, 30000, 1, 1 }, { 2, 0, 5, 5 },     { 2, 1, 3, 3 },
    { 2, 5, 1, 9 },    { 3, 17, 2, 2 },      { 2, 40, 7, 7 },    { 1, 300, 13, 13 }, { 2, 49, 64, 64 },
    { 1, 21, 77, 80 }, { 1, 500, 130, 130 }, { 1, 9, 200, 200 },
};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static size_t span(Shape s) { return s.outer && s.n ? (s.outer * s.n - 1) * s.ld + s.inner : 0; }

static double exact(unsigned red, const float *x, size_t n, size_t ld, double *scale)
{
    double s = red == SDX_REDUCE_prod ? 1 : 0, max = -INFINITY, min = INFINITY, abs_sum = 0;
    bool nan = false;
    for (size_t i = 0; i < n; i++) {
        double v = (double)x[i * ld];
        nan |= isnan(v);
        max = fmax(max, v);
        min = fmin(min, v);
        if (red == SDX_REDUCE_sum || red == SDX_REDUCE_mean) s += v, abs_sum += fabs(v);
        if (red == SDX_REDUCE_prod) s *= v;
        if (red == SDX_REDUCE_sumsq) s += v * v, abs_sum += v * v;
        if (red == SDX_REDUCE_sumabs) s += fabs(v), abs_sum += fabs(v);
    }
    *scale = abs_sum;
    switch (red) {
    case SDX_REDUCE_max: return nan ? NAN : max;
    case SDX_REDUCE_min: return nan ? NAN : min;
    case SDX_REDUCE_mean: *scale /= (double)n; return s / (double)n;
    case SDX_REDUCE_prod: *scale = fabs(s); return s;
    case SDX_REDUCE_logsumexp:
        for (size_t i = 0; i < n; i++) s += exp((double)x[i * ld] - (fabs(max) < INFINITY ? max : 0));
        *scale = 1 + fabs(max);
        return log(s) + (fabs(max) < INFINITY ? max : 0);
    default: return s;
    }
}

static void fill(unsigned red, float *x, size_t n, bool odd)
{
    float lo = red == SDX_REDUCE_prod ? 0.9f : -8, hi = red == SDX_REDUCE_prod ? 1.11f : 8;
    ck_plain(x, n, lo, hi);
    for (size_t i = 0; i < n && odd; i++)
        if (ck_rand() % 97 == 0) x[i] = (float[]){ NAN, INFINITY, -INFINITY, 0, -0.0f }[ck_rand() >> 5 & 3];
}

static void reduce_f32(const Check *c, unsigned red)
{
    for (int t = 0; t < 2 * SHAPES; t++) {
        Shape s = shapes[t / 2];
        bool odd = t & 1;
        size_t ny = s.outer * s.inner;
        float *x = ck_buf(span(s) * 4, 4 * (t % 5)), *got = ck_buf(ny * 4, 4 * (t % 3)), *want = ck_buf(ny * 4, 0);
        fill(red, x, span(s), odd);
        c->k->reduce[SDX_K_f32][red](got, x, s.outer, s.n, s.inner, s.ld);
        if (c->below) {
            c->c->reduce[SDX_K_f32][red](want, x, s.outer, s.n, s.inner, s.ld);
            ck_same_f32(got, want, ny, "bits of C");
        } else {
            double chain = s.ld == 1 ? 64 + (double)s.n / 64 : 2 * sqrt((double)s.n) + 16;
            for (size_t i = 0; i < ny; i++) {
                double scale, y = exact(red, x + i / s.inner * s.n * s.ld + i % s.inner, s.n, s.ld, &scale);
                double bound = red == SDX_REDUCE_max || red == SDX_REDUCE_min ? 0 : 2 * chain * FLT_EPSILON * scale;
                bool same = isnan(y)          ? isnan(got[i])
                            : isinf((float)y) ? (float)y == got[i]
                                              : fabs((double)got[i] - y) <= bound;
                if (!same)
                    ck_fail("[%zu,%zu,%zu] at %zu: %.9g, not %.12g +- %.3g", s.outer, s.n, s.inner, i, (double)got[i],
                            y, bound);
            }
        }
        ck_margins();
        ck_free();
    }
    /* A column alone has the bits it has among others. */
    Shape s = { 1, 333, 70, 70 };
    float *x = ck_buf(span(s) * 4, 0), *all = ck_buf(s.inner * 4, 0), one;
    fill(red, x, span(s), false);
    c->k->reduce[SDX_K_f32][red](all, x, 1, s.n, s.inner, s.ld);
    for (size_t j = 0; j < s.inner; j += 23) {
        c->k->reduce[SDX_K_f32][red](&one, x + j, 1, s.n, 1, s.ld);
        ck_same_f32(&one, all + j, 1, "a column by itself");
    }
}

static void arg_f32(const Check *c, bool max)
{
    ArgReduce *f = max ? c->k->argmax[SDX_K_f32] : c->k->argmin[SDX_K_f32];
    for (int t = 0; t < 4 * SHAPES; t++) {
        Shape s = shapes[t / 4];
        if (s.n == 0) continue;
        bool last = t & 1, odd = t & 2;
        size_t ny = s.outer * s.inner;
        float *x = ck_buf(span(s) * 4, 0);
        int64_t *got = ck_buf(ny * 8, 0);
        fill(0, x, span(s), odd);
        for (size_t i = 0; i < span(s); i++)
            if (x[i] == x[i]) x[i] = rintf(x[i]); /* ties */
        f(got, x, s.outer, s.n, s.inner, s.ld, last);
        for (size_t i = 0; i < ny; i++) {
            const float *p = x + i / s.inner * s.n * s.ld + i % s.inner;
            size_t at = 0;
            for (size_t j = 1; j < s.n; j++) {
                float v = p[j * s.ld], b = p[at * s.ld];
                bool better = isnan(b) ? false : isnan(v) || (max ? v > b : v < b);
                bool tie = isnan(b) ? isnan(v) : v == b;
                if (better || (last && tie)) at = j;
            }
            if (got[i] != (int64_t)at)
                ck_fail("[%zu,%zu,%zu]%s: %lld, not %zu", s.outer, s.n, s.inner, last ? " last" : "", (long long)got[i],
                        at);
        }
        ck_margins();
        ck_free();
    }
}

/* The template, through i64, i32, u8 and f64: against plain loops. */
#define TYPED(T, name, max_scale)                                                                                      \
    static void typed_##name(const Check *c)                                                                           \
    {                                                                                                                  \
        for (int t = 0; t < SHAPES; t++) {                                                                             \
            Shape s = shapes[t];                                                                                       \
            if (s.n == 0) continue;                                                                                    \
            size_t ny = s.outer * s.inner;                                                                             \
            T *x = ck_buf(span(s) * sizeof(T), 0), *y = ck_buf(ny * sizeof(T), 0);                                     \
            for (size_t i = 0; i < span(s); i++) x[i] = (T)((ck_rand() >> 9) / max_scale);                             \
            for (unsigned red = 0; red < SDX_REDUCE_COUNT; red++) {                                                    \
                if (!c->k->reduce[SDX_K_##name][red] || red == SDX_REDUCE_logsumexp) continue;                         \
                c->k->reduce[SDX_K_##name][red](y, x, s.outer, s.n, s.inner, s.ld);                                    \
                for (size_t i = 0; i < ny; i++) {                                                                      \
                    const T *p = x + i / s.inner * s.n * s.ld + i % s.inner;                                           \
                    T sum = 0, max = p[0], min = p[0], prod = 1, sq = 0;                                               \
                    for (size_t j = 0; j < s.n; j++) {                                                                 \
                        T v = p[j * s.ld];                                                                             \
                        if ((T)0.5 == 0) prod = (T)((uint64_t)prod * (uint64_t)v);                                     \
                        sum = (T)(sum + v), sq = (T)(sq + v * v);                                                      \
                        max = v > max ? v : max, min = v < min ? v : min;                                              \
                    }                                                                                                  \
                    T want = red == SDX_REDUCE_max ? max : red == SDX_REDUCE_min ? min : sum;                          \
                    if (red == SDX_REDUCE_sumsq) want = sq;                                                            \
                    if (red == SDX_REDUCE_mean) want = (T)(sum / (T)s.n);                                              \
                    if (red == SDX_REDUCE_prod) {                                                                      \
                        if ((T)0.5 == 0 && y[i] != prod) ck_fail("product");                                           \
                        continue;                                                                                      \
                    }                                                                                                  \
                    if (y[i] != want) ck_fail("%s [%zu,%zu,%zu]", sdx_reduce_name(red), s.outer, s.n, s.inner);        \
                }                                                                                                      \
            }                                                                                                          \
            ck_margins();                                                                                              \
            ck_free();                                                                                                 \
        }                                                                                                              \
    }
TYPED(int64_t, i64, 70001)
TYPED(int32_t, i32, 1000001)
TYPED(uint8_t, u8, 1)
TYPED(double, f64, 4001) /* whole numbers, so that sums are exact */

typedef struct Timed {
    Reduce *f;
    float *y, *x;
    Shape s;
} Timed;

static void timed(void *arg)
{
    Timed *t = arg;
    t->f(t->y, t->x, t->s.outer, t->s.n, t->s.inner, t->s.ld);
}

static void bench(const Check *c, unsigned red, Shape s)
{
    if (!ck_begin(c, "reduce f32 %s %zux%zux%zu", sdx_reduce_name(red), s.outer, s.n, s.inner)) return;
    Timed t = { c->k->reduce[SDX_K_f32][red], ck_buf(s.outer * s.inner * 4, 0), ck_buf(span(s) * 4, 0), s };
    ck_plain(t.x, span(s), 0.9f, 1.1f);
    ck_report(ck_time(timed, &t), (double)span(s), (double)span(s) * 4);
    ck_end();
}

void check_reduce(const Check *c)
{
    for (unsigned red = 0; red < SDX_REDUCE_COUNT; red++) {
        if (c->below && c->below->reduce[SDX_K_f32][red] == c->k->reduce[SDX_K_f32][red]) continue;
        if (c->bench) {
            bench(c, red, (Shape){ 4, 1024, 1, 1 });
            bench(c, red, (Shape){ 256, 16, 1, 1 });
            bench(c, red, (Shape){ 1, 256, 768, 768 });
            bench(c, red, (Shape){ 1, 49, 64, 64 });
            continue;
        }
        if (!ck_begin(c, "reduce f32 %s", sdx_reduce_name(red))) continue;
        reduce_f32(c, red);
        ck_end();
    }
    if (c->bench) return;
    for (int max = 0; max < 2; max++) {
        if (c->below && c->below->argmax[SDX_K_f32] == c->k->argmax[SDX_K_f32]) break;
        if (!ck_begin(c, "reduce f32 %s", max ? "argmax" : "argmin")) continue;
        arg_f32(c, max);
        ck_end();
    }
    if (c->below || !ck_begin(c, "reduce other types")) return;
    typed_i64(c);
    typed_i32(c);
    typed_u8(c);
    typed_f64(c);
    ck_end();
}
