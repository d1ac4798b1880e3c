/* Linear quantisation, against its formula in double. */
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Type {
    const char *name;
    size_t size;
    int32_t lo, hi;
} Type;

static const Type types[SDX_Q_COUNT] = { { "u8", 1, 0, 255 },
                                         { "i8", 1, -128, 127 },
                                         { "u16", 2, 0, 65535 },
                                         { "i16", 2, -32768, 32767 },
                                         { "i32", 4, INT32_MIN, INT32_MAX } };

static int32_t at(unsigned type, const void *q, size_t i)
{
    switch (type) {
    case SDX_Q_u8: return ((const uint8_t *)q)[i];
    case SDX_Q_i8: return ((const int8_t *)q)[i];
    case SDX_Q_u16: return ((const uint16_t *)q)[i];
    case SDX_Q_i16: return ((const int16_t *)q)[i];
    default: return ((const int32_t *)q)[i];
    }
}

static int32_t formula(float x, float scale, int32_t zero, int32_t lo, int32_t hi)
{
    float t = x / scale;
    if (isnan(t)) return lo;
    double r = rint((double)t) + zero;
    return r < lo ? lo : r > hi ? hi : (int32_t)r;
}

static void check_type(const Check *c, unsigned type)
{
    const Type *t = &types[type];
    for (size_t l = 0; l < ck_nlengths; l++)
        for (int small = 0; small < 2; small++) {
            size_t n = ck_lengths[l];
            int32_t lo = small ? t->lo / 16 : t->lo, hi = small ? t->hi / 16 : t->hi, zero = small ? 3 : t->lo / 3 + 7;
            float *x = ck_buf(n * 4, 4 * (l % 3)), *scale = ck_buf(n * 4, 4), *back = ck_buf(n * 4, 4 * (l % 5));
            int32_t *zeros = ck_buf(n * 4, 0);
            char *q = ck_buf(n * t->size, t->size * (l % 7));
            ck_floats(x, n, -200, 200);
            for (size_t i = 0; i < n; i += 2) x[i] = rintf(x[i]) + 0.5f; /* ties */
            ck_plain(scale, n, 0.01f, 4);
            for (size_t i = 0; i < n; i++) zeros[i] = small ? (int32_t)(ck_rand() % 9) - 4 : 0;
            if (type == SDX_Q_i32) {
                ck_bytes(q, n * 4);
            } else {
                c->k->quantize_each_f32[type](q, x, n, scale, small ? zeros : NULL, lo, hi);
                for (size_t i = 0; i < n; i++)
                    if (at(type, q, i) != formula(x[i], scale[i], zeros[i], lo, hi))
                        ck_fail("each: %.9g / %.9g + %d is %d, not %d", (double)x[i], (double)scale[i], zeros[i],
                                at(type, q, i), formula(x[i], scale[i], zeros[i], lo, hi));
                c->k->quantize_f32[type](q, x, n, 1, zero, lo, hi);
                c->k->quantize_f32[type](q, x, n, 0.3f, zero, lo, hi);
                for (size_t i = 0; i < n; i++)
                    if (at(type, q, i) != formula(x[i], 0.3f, zero, lo, hi))
                        ck_fail("%.9g / 0.3 + %d is %d, not %d", (double)x[i], zero, at(type, q, i),
                                formula(x[i], 0.3f, zero, lo, hi));
            }
            c->k->dequantize_f32[type](back, q, n, 0.7f, zero);
            for (size_t i = 0; i < n; i++) {
                float want = (float)(int32_t)((uint32_t)at(type, q, i) - (uint32_t)zero) * 0.7f;
                if (back[i] != want)
                    ck_fail("(%d - %d) * 0.7 is %.9g, not %.9g", at(type, q, i), zero, (double)back[i], (double)want);
            }
            c->k->dequantize_each_f32[type](back, q, n, scale, small ? zeros : NULL);
            for (size_t i = 0; i < n; i++) {
                float want = (float)(int32_t)((uint32_t)at(type, q, i) - (uint32_t)zeros[i]) * scale[i];
                if (back[i] != want)
                    ck_fail("each: %d is %.9g, not %.9g", at(type, q, i), (double)back[i], (double)want);
            }
            ck_margins();
            ck_free();
        }
}

static void check_range(const Check *c)
{
    for (size_t l = 0; l < ck_nlengths; l++) {
        size_t n = ck_lengths[l];
        float *x = ck_buf(n * 4, 4 * (l % 3)), got[2], lo = 0, hi = 0;
        ck_floats(x, n, l % 2 ? 1 : -3, l % 3 ? 3 : -1);
        for (size_t i = 0; i < n; i++) lo = x[i] < lo ? x[i] : lo, hi = x[i] > hi ? x[i] : hi;
        c->k->range_f32(got, x, n);
        if (got[0] != lo || got[1] != hi) ck_fail("n = %zu: [%g, %g]", n, (double)got[0], (double)got[1]);
        ck_free();
    }
}

static void check_dot(const Check *c)
{
    enum { MOST = 9 };
    for (unsigned form = 0; form < 8; form++)
        for (size_t blocks = 0; blocks < MOST; blocks++) {
            bool halves = form & 1, zeros = form & 2;
            size_t bytes = form & 4 ? 48 : 16, n = blocks * bytes * (halves ? 2 : 1), per = n / (blocks ? blocks : 1);
            float *a = ck_buf(n * 4, 4), *scale = ck_buf(blocks * 4, 4);
            uint8_t *q = ck_buf(blocks * bytes, blocks % 3), *zero = ck_buf(MOST, 1);
            ck_plain(a, n, -2, 2);
            ck_plain(scale, blocks, 0.01f, 0.1f);
            ck_bytes(q, blocks * bytes);
            ck_bytes(zero, MOST);
            double want = 0, size = 0;
            for (size_t i = 0; i < n; i++) {
                size_t b = i / per;
                int v = halves ? q[i / 2] >> (i % 2 * 4) & 15 : q[i], z = halves ? 8 : 128;
                if (zeros) z = halves ? zero[b / 2] >> (b % 2 * 4) & 15 : zero[b];
                double x = (double)(v - z) * (double)scale[b] * (double)a[halves ? i / 2 + i % 2 * (n / 2) : i];
                want += x;
                size += fabs(x);
            }
            DotBlocks d = { q, scale, zeros ? zero : NULL, a, blocks, bytes, halves ? 4 : 8 };
            float got = c->k->dot_blocks_f32(&d);
            if (!(fabs((double)got - want) <= 6e-8 * (double)(n + 3) * size))
                ck_fail("%zu blocks of %zu, form %u: %.9g, not %.9g", blocks, bytes, form, (double)got, want);
            ck_margins();
            ck_free();
        }
}

static void check_nibbles(const Check *c)
{
    enum { MOST = 70 };
    for (size_t bytes = 16; bytes <= 48; bytes += 16)
        for (size_t blocks = 0; blocks < MOST; blocks += blocks < 5 ? 1 : 13) {
            size_t n = blocks * bytes;
            float *scale = ck_buf(blocks * 4, 4), *a_scale = ck_buf(blocks * 4, 8), *sums = ck_buf(blocks * 4, 0);
            uint8_t *q = ck_buf(n, blocks % 3), *zero = ck_buf((blocks + 1) / 2, 1);
            int8_t *a = ck_buf(2 * n, blocks % 5);
            ck_plain(scale, blocks, 0.01f, 0.1f);
            ck_plain(a_scale, blocks, 0.01f, 0.1f);
            ck_plain(sums, blocks, -2, 2);
            ck_bytes(q, n);
            ck_bytes(a, 2 * n);
            ck_bytes(zero, (blocks + 1) / 2);
            double want = 0, size = 0, zeros = 0, eights = 0, zsize = 0;
            for (size_t b = 0; b < blocks; b++) {
                int32_t dot = 0, parts = 0;
                for (size_t i = 0; i < bytes; i++) {
                    const int8_t *at = a + (b * bytes + i) / 16 * 32 + (b * bytes + i) % 16;
                    int32_t even = (q[b * bytes + i] & 15) * at[0], odd = (q[b * bytes + i] >> 4) * at[16];
                    dot += even + odd;
                    parts += abs(even) + abs(odd);
                }
                double x = (double)dot * (double)(scale[b] * a_scale[b]);
                double s = (double)scale[b] * (double)sums[b / 2 + b % 2 * ((blocks + 1) / 2)];
                want += x;
                size += (double)parts * (double)(scale[b] * a_scale[b]);
                zeros += s * (zero[b / 2] >> (b % 2 * 4) & 15);
                eights += s * 8;
                zsize += fabs(s) * 15;
            }
            DotNibbles d = { q, scale, a, a_scale, blocks, bytes };
            float got = c->k->dot_nibbles_i8(&d);
            if (!(fabs((double)got - want) <= 6e-8 * (double)(blocks + 4) * size))
                ck_fail("%zu blocks of %zu: %.9g, not %.9g", blocks, bytes, (double)got, want);
            got = c->k->dot_zeros_f32(scale, zero, sums, blocks);
            if (!(fabs((double)got - zeros) <= 6e-8 * (double)(blocks + 4) * zsize))
                ck_fail("zeros of %zu blocks: %.9g, not %.9g", blocks, (double)got, zeros);
            got = c->k->dot_zeros_f32(scale, NULL, sums, blocks);
            if (!(fabs((double)got - eights) <= 6e-8 * (double)(blocks + 4) * zsize))
                ck_fail("eights of %zu blocks: %.9g, not %.9g", blocks, (double)got, eights);
            ck_margins();
            ck_free();
        }
}

typedef struct Timed {
    const Kern *k;
    unsigned type;
    float *x;
    void *q;
    size_t n;
} Timed;
static void time_quantize(void *arg)
{
    Timed *t = arg;
    t->k->quantize_f32[t->type](t->q, t->x, t->n, 0.03f, 5, types[t->type].lo, types[t->type].hi);
}
static void time_dequantize(void *arg)
{
    Timed *t = arg;
    t->k->dequantize_f32[t->type](t->x, t->q, t->n, 0.03f, 5);
}
static void time_range(void *arg)
{
    Timed *t = arg;
    float out[2];
    t->k->range_f32(out, t->x, t->n);
}

static void bench(const Check *c, unsigned type, const char *what, void (*call)(void *))
{
    enum { N = 4096 };
    if (!ck_begin(c, "quant %s %s", what, types[type].name)) return;
    Timed t = { c->k, type, ck_buf(N * 4, 0), ck_buf(N * 4, 0), N };
    ck_plain(t.x, N, -4, 4);
    memset(t.q, 1, N * 4);
    ck_report(ck_time(call, &t), N, 0);
    ck_end();
}

void check_quant(const Check *c)
{
    bool same_dot = c->below && c->below->dot_nibbles_i8 == c->k->dot_nibbles_i8;
    if (!c->bench && !same_dot && ck_begin(c, "quant nibbles")) check_nibbles(c), ck_end();
    if (c->below && c->below->range_f32 == c->k->range_f32) return;
    for (unsigned type = 0; type < SDX_Q_COUNT; type++) {
        if (c->bench) {
            if (type != SDX_Q_i32) bench(c, type, "to", time_quantize);
            bench(c, type, "from", time_dequantize);
            continue;
        }
        if (!ck_begin(c, "quant %s", types[type].name)) continue;
        check_type(c, type);
        ck_end();
    }
    if (c->bench) bench(c, SDX_Q_u8, "range", time_range);
    if (!c->bench && ck_begin(c, "quant range")) check_range(c), ck_end();
    if (!c->bench && ck_begin(c, "quant dot")) check_dot(c), ck_end();
}
