/* One-input maps: C against doubles over the whole range of floats, other levels against C. */
#include "check.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { KIND_EXACT, KIND_ULP, KIND_NEAR };

static const struct {
    int kind;
    double bound;
    float lo, hi;
} rows[] = {
#define EXACT KIND_EXACT, 0.5
#define ULP(n) KIND_ULP, n
#define NEAR(n) KIND_NEAR, n
#define MAP1(name, params, error, lo, hi) { error, lo, hi },
#include "kern/map/map1.def"
#undef MAP1
};

static const MapParam *params_of(unsigned map)
{
    static const MapParam unit = { 1, 0.5 }, steep = { 0.125, 0.25 }, range = { -1.5, 2.5 }, gate = { 1.703125, 0 };
    switch (map) {
    case SDX_MAP1_clip: return &range;
    case SDX_MAP1_selu:
    case SDX_MAP1_quickgelu: return &gate;
    case SDX_MAP1_leakyrelu:
    case SDX_MAP1_hardsigmoid: return &steep;
    default: return &unit;
    }
}

/* Error of y against the exact value, in the unit of the map's row. */
static double error_of(unsigned map, float x, float y, double exact)
{
    if (rows[map].kind != KIND_NEAR) return ck_ulp(y, exact);
    if (isnan(exact) || isnan(y)) return isnan(exact) && isnan(y) ? 0 : INFINITY;
    if (isinf(exact) || isinf(y)) return (float)exact == y ? 0 : INFINITY;
    return fabs((double)y - exact) / (0x1p-24 * fmax(1, fmax(fabs((double)x), fabs(exact))));
}

/* Half the time through all floats in steps of an odd number of bit patterns, half in the range. */
static void sweep(const Check *c, unsigned map)
{
    enum { BLOCK = 1024 };
    const size_t blocks = c->all ? ((size_t)1 << 33) / BLOCK : 200; /* of the former half */
    const uint32_t step = c->all ? 1 : 41943;
    float x[BLOCK], y[BLOCK], worst_x = 0, worst_y = 0;
    double xd[BLOCK], exact[BLOCK], worst = 0, worst_exact = 0;
    const MapParam *p = params_of(map);
    uint32_t bits = 0;
    for (size_t b = 0; b < blocks; b++) {
        if (b < blocks / 2)
            for (int i = 0; i < BLOCK; i++, bits += step) memcpy(x + i, &bits, 4);
        else if (c->all)
            break;
        else
            ck_floats(x, BLOCK, rows[map].lo, rows[map].hi);
        for (int i = 0; i < BLOCK; i++) xd[i] = x[i];
        c->k->map1_f32[map](y, x, BLOCK, p);
        c->k->map1_f64[map](exact, xd, BLOCK, p);
        for (int i = 0; i < BLOCK; i++) {
            double e = error_of(map, x[i], y[i], exact[i]);
            if (e <= worst) continue;
            worst = e, worst_x = x[i], worst_y = y[i], worst_exact = exact[i];
        }
    }
    if (!(worst <= rows[map].bound))
        ck_fail("f(%.9g) is %.9g, not %.12g: error %.3g, bound %g", (double)worst_x, (double)worst_y, worst_exact,
                worst, rows[map].bound);
}

static void compare(const Check *c, unsigned map)
{
    const MapParam *p = params_of(map);
    for (size_t l = 0; l < ck_nlengths; l++) {
        size_t n = ck_lengths[l];
        float *x = ck_buf(n * 4, 4 * (l % 16)), *want = ck_buf(n * 4, 0), *got = ck_buf(n * 4, 4 * (l * 7 % 16));
        ck_floats(x, n, rows[map].lo, rows[map].hi);
        c->c->map1_f32[map](want, x, n, p);
        c->k->map1_f32[map](got, x, n, p);
        ck_same_f32(got, want, n, "apart");
        c->k->map1_f32[map](x, x, n, p);
        ck_same_f32(x, want, n, "in place");
        ck_margins();
        ck_free();
    }
}

typedef struct Timed {
    Map1F32 *f;
    float *y, *x;
    size_t n;
    const MapParam *p;
} Timed;

static void timed(void *arg)
{
    Timed *t = arg;
    t->f(t->y, t->x, t->n, t->p);
}

static void bench(const Check *c, unsigned map)
{
    enum { N = 4096 };
    Timed t = { c->k->map1_f32[map], ck_buf(N * 4, 0), ck_buf(N * 4, 0), N, params_of(map) };
    ck_plain(t.x, N, fmaxf(rows[map].lo, -10), fminf(rows[map].hi, 10)); /* away from subnormal results */
    ck_report(ck_time(timed, &t), N, 0);
}

void check_map1(const Check *c)
{
    for (unsigned map = 0; map < SDX_MAP1_COUNT; map++) {
        if (c->below && c->below->map1_f32[map] == c->k->map1_f32[map]) continue;
        if (!ck_begin(c, "map1 f32 %s", sdx_map1_name(map))) continue;
        if (c->bench)
            bench(c, map);
        else if (c->below && !c->all)
            compare(c, map);
        else
            sweep(c, map);
        ck_end();
    }
}
