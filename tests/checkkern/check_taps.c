/* Rows joined tap by tap, against plain loops in the same order. */
#include "check.h"

#include <math.h>

enum { TAPS = 9 };

static void check_all(const Check *c)
{
    for (size_t l = 0; l < ck_nlengths; l++)
        for (size_t t = 0; t < 12; t++) {
            size_t n = ck_lengths[l], stride = 1 + t % 3, taps = (size_t[]){ 0, 1, 4, TAPS }[t / 3],
                   len = n ? (n - 1) * stride + 1 : 0;
            float *x = ck_buf(TAPS * len * 4, 4 * (l % 5)), *y = ck_buf(n * 4, 4 * (l % 3)), *want = ck_buf(n * 4, 0);
            const float *rows[TAPS];
            float weight[TAPS];
            ck_floats(x, TAPS * len, -4, 4);
            ck_plain(weight, TAPS, -1, 1);
            for (size_t k = 0; k < TAPS; k++) rows[k] = x + (TAPS - 1 - k) * len; /* the last one ends the buffer */
            for (size_t i = 0; i < n; i++) {
                want[i] = -INFINITY;
                for (size_t k = 0; k < taps; k++) {
                    float v = rows[k][i * stride];
                    if (isnan(v) || v > want[i]) want[i] = v;
                }
            }
            c->k->max_taps_f32(y, rows, taps, n, stride);
            ck_same_f32(y, want, n, "max");
            for (size_t i = 0; i < n; i++) {
                want[i] = 0;
                for (size_t k = 0; k < taps; k++) want[i] += rows[k][i * stride];
                want[i] /= 3;
            }
            c->k->mean_taps_f32(y, rows, taps, n, stride, 3);
            ck_same_f32(y, want, n, "mean");
            if (stride == 1) {
                for (size_t i = 0; i < n; i++) {
                    want[i] = 0;
                    for (size_t k = 0; k < taps; k++) want[i] = fmaf(weight[k], rows[k][i], want[i]);
                }
                c->k->blend_taps_f32(y, rows, weight, taps, n);
                ck_same_f32(y, want, n, "blend");
            }
            ck_margins();
            ck_free();
        }
}

typedef struct Timed {
    const Kern *k;
    const float *rows[TAPS];
    float weight[TAPS], *y;
    size_t stride, n;
} Timed;

static void time_max(void *arg)
{
    Timed *t = arg;
    t->k->max_taps_f32(t->y, t->rows, TAPS, t->n, t->stride);
}
static void time_mean(void *arg)
{
    Timed *t = arg;
    t->k->mean_taps_f32(t->y, t->rows, TAPS, t->n, t->stride, 9);
}
static void time_blend(void *arg)
{
    Timed *t = arg;
    t->k->blend_taps_f32(t->y, t->rows, t->weight, 2, t->n);
}

static void bench(const Check *c, const char *what, size_t stride, void (*call)(void *))
{
    enum { N = 256 };
    if (!ck_begin(c, "taps %s, stride %zu", what, stride)) return;
    Timed t = { .k = c->k, .y = ck_buf(N * 4, 0), .stride = stride, .n = N };
    float *x = ck_buf(TAPS * N * stride * 4, 0);
    ck_plain(x, TAPS * N * stride, -4, 4);
    for (size_t k = 0; k < TAPS; k++) t.rows[k] = x + k * N * stride, t.weight[k] = 0.5f;
    ck_report(ck_time(call, &t), N, 0);
    ck_end();
}

void check_taps(const Check *c)
{
    if (c->below && c->below->max_taps_f32 == c->k->max_taps_f32) return;
    if (c->bench) {
        bench(c, "max of 9", 1, time_max);
        bench(c, "max of 9", 2, time_max);
        bench(c, "mean of 9", 1, time_mean);
        bench(c, "blend of 2", 1, time_blend);
    } else if (ck_begin(c, "taps")) {
        check_all(c);
        ck_end();
    }
}
