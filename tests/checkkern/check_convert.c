/* Storage floats: every code widened against its definition, narrowing against a search for the nearest code; other
 * levels against C. Elements below a byte against shifts. */
#include "check.h"

#include <math.h>
#include <string.h>

enum { IEEE, FN, FNUZ, FINITE, POWER };

typedef struct Format {
    size_t size;
    int m, e, bias, specials;
} Format;

static const Format formats[] = {
#define FORMAT(name, code, m, e, bias, specials) { sizeof(code), m, e, bias, specials },
#include "kern/convert/formats.def"
#undef FORMAT
};

static double value_of(const Format *f, unsigned c)
{
    unsigned m = c & ((1u << f->m) - 1), e = c >> f->m & ((1u << f->e) - 1), top = (1u << f->e) - 1;
    bool negative = c >> (f->m + f->e) & 1;
    if (f->specials == POWER) return c == 0xff ? NAN : ldexp(1, (int)c - 127);
    if (f->specials == IEEE && e == top) return m ? NAN : negative ? -INFINITY : INFINITY;
    if (f->specials == FN && e == top && m == (1u << f->m) - 1) return NAN;
    if (f->specials == FNUZ && c == 1u << (f->m + f->e)) return NAN;
    double v = e ? ldexp((double)(m + (1u << f->m)), (int)e - f->bias - f->m) : ldexp((double)m, 1 - f->bias - f->m);
    return negative ? -v : v;
}

static void widen_all(const Check *c, unsigned format)
{
    const Format *f = &formats[format];
    unsigned codes = 1u << (f->m + f->e + (f->specials != POWER));
    uint16_t *x = ck_buf(codes * f->size, 0);
    float *y = ck_buf(codes * 4, 0);
    for (unsigned i = 0; i < codes; i++)
        if (f->size == 2)
            x[i] = (uint16_t)i;
        else
            ((uint8_t *)x)[i] = (uint8_t)i;
    c->k->widen_f32[format](y, x, codes);
    for (unsigned i = 0; i < codes; i++) {
        double want = value_of(f, i);
        bool same = isnan(want) ? isnan(y[i]) : (double)y[i] == want && !signbit(y[i]) == !signbit(want);
        if (!same) ck_fail("code %02x is %.9g, not %.9g", i, (double)y[i], want);
    }
    ck_margins();
    ck_free();
}

/* The code for x by comparing with every value: nearest, ties to the even code. */
static unsigned nearest(const Format *f, float x, bool saturate)
{
    unsigned signs = 1u << (f->m + f->e), sign = signbit(x) ? signs : 0, all = signs - 1,
             inf = all - ((1u << f->m) - 1);
    unsigned largest = f->specials == IEEE ? inf - 1 : f->specials == FN ? all - 1 : all;
    if (isnan(x)) {
        if (f->specials == IEEE) return sign | inf | 1u << (f->m - 1);
        return f->specials == FN ? sign | all : signs;
    }
    double a = fabs((double)x), beyond = value_of(f, largest) + (value_of(f, largest) - value_of(f, largest - 1)) / 2;
    unsigned best = 0;
    for (unsigned c = 1; c <= largest; c++) {
        double d = fabs(value_of(f, c) - a), b = fabs(value_of(f, best) - a);
        if (d < b || (d == b && c % 2 == 0)) best = c;
    }
    bool over = isinf(x) || a > beyond || (a == beyond && largest % 2 == 1);
    if (over && f->size == 2) return sign | inf;
    if (over && (saturate || f->specials == FINITE)) return sign | largest;
    if (over) return f->specials == IEEE ? sign | inf : f->specials == FN ? sign | all : signs;
    return f->specials == FNUZ && best == 0 ? 0 : sign | best;
}

static void narrow_all(const Check *c, unsigned format)
{
    enum { N = 4000 };
    const Format *f = &formats[format];
    if (f->specials == POWER) return;
    for (int saturate = 0; saturate < 2; saturate++) {
        float *x = ck_buf(N * 4, 0);
        uint16_t *y = ck_buf(N * f->size, 0);
        unsigned codes = 1u << (f->m + f->e);
        ck_floats(x, N, -8, 8);
        for (unsigned i = 0; i < N; i += 2) { /* at, next to and between values of the format */
            unsigned code = ck_rand() % codes;
            double v = value_of(f, code), w = value_of(f, code + 1 < codes ? code + 1 : code);
            float at = (float)(i % 4 ? v : (v + w) / 2);
            x[i] = i % 3 == 0 ? at : nextafterf(at, i % 3 == 1 ? INFINITY : -INFINITY);
            if (ck_rand() & 64) x[i] = -x[i];
        }
        size_t n = f->size == 2 ? 1500 : N; /* searching 32768 codes is slow */
        c->k->narrow_f32[format](y, x, n, saturate);
        for (size_t i = 0; i < n; i += f->size == 2 ? 7 : 1) {
            unsigned got = f->size == 2 ? y[i] : ((uint8_t *)y)[i], want = nearest(f, x[i], saturate);
            if (got != want && !(isnan(x[i]) && isnan(value_of(f, got))))
                ck_fail("%s%.9g is code %02x, not %02x", saturate ? "saturated " : "", (double)x[i], got, want);
        }
        ck_margins();
        ck_free();
    }
}

static void power_of_two(const Check *c)
{
    static const float x[] = { 0,        1,   1.5f,      2,         -3,     0x1p127f, 3e38f,
                               INFINITY, NAN, 0x1p-126f, 0x1p-127f, 1e-45f, -0.0f,    0x1.000002p-1f };
    static const uint8_t saturated[] = { 0, 127, 128, 128, 129, 254, 254, 254, 255, 1, 1, 1, 0, 127 };
    static const uint8_t strict[] = { 255, 127, 128, 128, 129, 254, 255, 255, 255, 1, 1, 1, 255, 127 };
    enum { N = sizeof x / sizeof x[0] };
    uint8_t y[N];
    c->k->narrow_f32[SDX_FORMAT_f8e8m0](y, x, N, true);
    ck_same_bytes(y, saturated, N, "saturated");
    c->k->narrow_f32[SDX_FORMAT_f8e8m0](y, x, N, false);
    ck_same_bytes(y, strict, N, "strict");
}

static void compare(const Check *c, unsigned format)
{
    const Format *f = &formats[format];
    for (size_t l = 0; l < ck_nlengths; l++)
        for (int saturate = 0; saturate < 2; saturate++) {
            size_t n = ck_lengths[l];
            float *x = ck_buf(n * 4, 4 * (l % 5)), *wide[2];
            void *code[2];
            for (int i = 0; i < 2; i++)
                wide[i] = ck_buf(n * 4, 4 * (l % 3)), code[i] = ck_buf(n * f->size, f->size * (l % 7));
            ck_floats(x, n, -600, 600);
            for (size_t i = 0; i < n; i += 3) x[i] *= 0x1p-10f;
            for (int i = 0; i < 2; i++) {
                const Kern *k = i ? c->k : c->c;
                k->narrow_f32[format](code[i], x, n, saturate);
                k->widen_f32[format](wide[i], code[0], n);
            }
            ck_same_bytes(code[1], code[0], n * f->size, "narrow");
            ck_same_f32(wide[1], wide[0], n, "widen");
            ck_bytes(code[0], n * f->size);
            for (size_t i = 0; i < n && f->size == 1; i++)
                ((uint8_t *)code[0])[i] &= (uint8_t)((1u << (f->m + f->e + (f->specials != POWER))) - 1);
            c->c->widen_f32[format](wide[0], code[0], n);
            c->k->widen_f32[format](wide[1], code[0], n);
            ck_same_f32(wide[1], wide[0], n, "widen any code");
            ck_margins();
            ck_free();
        }
}

static void packed(const Check *c)
{
    const struct {
        UnpackBits *unpack;
        PackBits *pack;
        unsigned bits;
        bool is_signed;
    } kinds[] = { { c->k->unpack_u4, c->k->pack_4, 4, false },
                  { c->k->unpack_i4, c->k->pack_4, 4, true },
                  { c->k->unpack_u2, c->k->pack_2, 2, false },
                  { c->k->unpack_i2, c->k->pack_2, 2, true },
                  { c->k->unpack_6, c->k->pack_6, 6, false } };
    for (int t = 0; t < 5; t++)
        for (size_t l = 0; l < ck_nlengths; l++) {
            size_t n = ck_lengths[l], nbytes = (n * kinds[t].bits + 7) / 8;
            uint8_t *x = ck_buf(nbytes, 1), *y = ck_buf(n, 0), *back = ck_buf(nbytes, 3);
            ck_bytes(x, nbytes);
            if (nbytes && n * kinds[t].bits % 8) x[nbytes - 1] &= (uint8_t)((1u << n * kinds[t].bits % 8) - 1);
            kinds[t].unpack(y, x, n);
            for (size_t i = 0; i < n; i++) {
                unsigned at = (unsigned)(i * kinds[t].bits), mask = (1u << kinds[t].bits) - 1;
                unsigned word = x[at / 8] | (at / 8 + 1 < nbytes ? (unsigned)x[at / 8 + 1] << 8 : 0),
                         v = word >> at % 8 & mask;
                if (kinds[t].is_signed && v >> (kinds[t].bits - 1)) v |= 0xff & ~mask;
                if (y[i] != v) ck_fail("kind %d, n = %zu: [%zu] is %02x, not %02x", t, n, i, y[i], v);
            }
            kinds[t].pack(back, y, n);
            ck_same_bytes(back, x, nbytes, "packed again");
            ck_margins();
            ck_free();
        }
}

typedef struct Timed {
    const Kern *k;
    unsigned format;
    float *x;
    void *y;
    size_t n;
} Timed;
static void time_widen(void *arg)
{
    Timed *t = arg;
    t->k->widen_f32[t->format](t->x, t->y, t->n);
}
static void time_narrow(void *arg)
{
    Timed *t = arg;
    t->k->narrow_f32[t->format](t->y, t->x, t->n, true);
}

static void bench(const Check *c, unsigned format, bool narrow)
{
    enum { N = 4096 };
    if (!ck_begin(c, "convert %s %s", narrow ? "to" : "from", sdx_format_name(format))) return;
    Timed t = { c->k, format, ck_buf(N * 4, 0), ck_buf(N * 2, 0), N };
    ck_plain(t.x, N, -4, 4);
    c->k->narrow_f32[format](t.y, t.x, N, true);
    ck_report(ck_time(narrow ? time_narrow : time_widen, &t), N, 0);
    ck_end();
}

void check_convert(const Check *c)
{
    for (unsigned format = 0; format < SDX_FORMAT_COUNT; format++) {
        if (c->below && c->below->widen_f32[format] == c->k->widen_f32[format]) continue;
        if (c->bench) {
            bench(c, format, false);
            bench(c, format, true);
            continue;
        }
        if (!ck_begin(c, "convert %s", sdx_format_name(format))) continue;
        if (c->below) {
            compare(c, format);
        } else {
            widen_all(c, format);
            narrow_all(c, format);
            if (format == SDX_FORMAT_f8e8m0) power_of_two(c);
        }
        ck_end();
    }
    if (!c->below && !c->bench && ck_begin(c, "convert packed")) packed(c), ck_end();
}
