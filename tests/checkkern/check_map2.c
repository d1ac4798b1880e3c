/* Two-input maps of every type, multiply-add and select. The C versions are compared with one-line
 * formulas here, computed in a wider type or by the C library; other levels with C. */
#include "check.h"

#include <math.h>
#include <string.h>

static const char *const type_names[] = {
#define KTYPE(name, type) #name,
#include "kern/types.def"
#undef KTYPE
};
static const size_t type_sizes[] = {
#define KTYPE(name, type) sizeof(type),
#include "kern/types.def"
#undef KTYPE
};
static const bool is_flag[] = {
#define MAP2(name, types, result) #result[0] == 'U',
#include "kern/map/map2.def"
#undef MAP2
};

static const unsigned modes[] = { 0, SDX_A_ONE, SDX_B_ONE, SDX_A_ONE | SDX_B_ONE };

static void fill(unsigned type, void *x, size_t n)
{
    if (type == SDX_K_f32) {
        ck_floats(x, n, -4, 4);
        for (size_t i = 0; i < n; i++)
            if (ck_rand() % 3 == 0) ((float *)x)[i] = rintf(((float *)x)[i]);
    } else if (type == SDX_K_f64) {
        float f[1];
        for (size_t i = 0; i < n; i++) ck_floats(f, 1, -4, 4), ((double *)x)[i] = (double)f[0];
    } else {
        ck_bytes(x, n * type_sizes[type]);
        for (size_t i = 0; i < n; i++) /* small values, so that divisors, counts and equals occur */
            if (ck_rand() & 0x100) {
                int64_t small = (int64_t)(ck_rand() >> 9 & 7) - 3;
                memcpy((char *)x + i * type_sizes[type], &small, type_sizes[type]);
            }
    }
}

/* Every length and mode: k against C, and in place over an operand of the result's size. */
static void compare(const Check *c, unsigned type, unsigned map)
{
    size_t in = type_sizes[type], out = is_flag[map] ? 1 : in;
    for (size_t l = 0; l < ck_nlengths; l++)
        for (int m = 0; m < 4; m++) {
            size_t n = ck_lengths[l], sa = in * (l % 7), sb = in * (l * 5 % 9);
            unsigned mode = modes[m];
            char *a = ck_buf((n ? n : 1) * in, sa), *b = ck_buf((n ? n : 1) * in, sb);
            char *want = ck_buf(n * out, 0), *got = ck_buf(n * out, out * (l % 5));
            fill(type, a, n ? n : 1);
            fill(type, b, n ? n : 1);
            c->c->map2[type][map](want, a, b, n, mode);
            c->k->map2[type][map](got, a, b, n, mode);
            const char *what = mode ? "one operand repeated" : "apart";
            if (type == SDX_K_f32 && !is_flag[map])
                ck_same_f32((float *)got, (float *)want, n, what);
            else
                ck_same_bytes(got, want, n * out, what);
            if (out == in && !(mode & SDX_A_ONE)) {
                c->k->map2[type][map](a, a, b, n, mode);
                if (type == SDX_K_f32)
                    ck_same_f32((float *)a, (float *)want, n, "in place");
                else
                    ck_same_bytes(a, want, n * out, "in place");
            }
            ck_margins();
            ck_free();
        }
}

/* ---- the C version against formulas ------------------------------------------------------------ */
static double floor_mod(double a, double b)
{
    double r = fmod(a, b);
    return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

static bool float_formula(unsigned map, double a, double b, double *y)
{
    switch (map) {
    case SDX_MAP2_add: *y = a + b; return true;
    case SDX_MAP2_sub: *y = a - b; return true;
    case SDX_MAP2_mul: *y = a * b; return true;
    case SDX_MAP2_div: *y = a / b; return true;
    case SDX_MAP2_max: *y = isnan(a) || isnan(b) ? NAN : fmax(a, b); return true;
    case SDX_MAP2_min: *y = isnan(a) || isnan(b) ? NAN : fmin(a, b); return true;
    case SDX_MAP2_pow: *y = pow(a, b); return true;
    case SDX_MAP2_fmod: *y = fmod(a, b); return true;
    case SDX_MAP2_mod: *y = floor_mod(a, b); return true;
    case SDX_MAP2_prelu: *y = a < 0 ? a * b : a; return true;
    case SDX_MAP2_eq: *y = a == b; return true;
    case SDX_MAP2_lt: *y = a < b; return true;
    case SDX_MAP2_le: *y = a <= b; return true;
    case SDX_MAP2_gt: *y = a > b; return true;
    case SDX_MAP2_ge: *y = a >= b; return true;
    default: return false;
    }
}

static void define_f32(const Check *c, unsigned map)
{
    enum { N = 40000 };
    float *a = ck_buf(N * 4, 0), *b = ck_buf(N * 4, 0), *y = ck_buf(N * 4, 0);
    ck_floats(a, N, map == SDX_MAP2_pow ? 0 : -9, 9);
    ck_floats(b, N, -40, 40);
    for (size_t i = 0; i < N; i += 3) b[i] = rintf(b[i]);
    for (size_t i = 0; i < N; i += 7) a[i] = 1 + (a[i] - 4) * 0x1p-12f, b[i] *= 1000;
    c->k->map2[SDX_K_f32][map](y, a, b, N, 0);
    for (size_t i = 0; i < N; i++) {
        double want, bound = map == SDX_MAP2_pow || map == SDX_MAP2_mod ? 2 : 0.5;
        if (!float_formula(map, (double)a[i], (double)b[i], &want)) return;
        float got = is_flag[map] ? (float)((uint8_t *)y)[i] : y[i];
        double err = ck_ulp(got, want);
        if (!(err <= bound))
            ck_fail("f(%.9g, %.9g) is %.9g, not %.12g: %.3g ulp", (double)a[i], (double)b[i], (double)got, want, err);
    }
    for (int e = -2; e <= 6 && map == SDX_MAP2_pow; e++) { /* the exponents with a case of their own */
        float half = (float)e * 0.5f;
        c->k->map2[SDX_K_f32][map](y, a, &half, N, SDX_B_ONE);
        for (size_t i = 0; i < N; i++) {
            double want = pow((double)a[i], (double)half);
            if (!(ck_ulp(y[i], want) <= 2))
                ck_fail("%.9g^%g is %.9g, not %.12g", (double)a[i], (double)half, (double)y[i], want);
        }
    }
}

/* Integers up to 32 bits, through int64. */
static bool int_formula(unsigned map, int64_t a, int64_t b, size_t size, int64_t *y)
{
    int64_t bits = (int64_t)size * 8, wide = bits == 32 ? UINT32_MAX : (INT64_C(1) << bits) - 1;
    switch (map) {
    case SDX_MAP2_add: *y = a + b; return true;
    case SDX_MAP2_sub: *y = a - b; return true;
    case SDX_MAP2_mul: *y = (int64_t)((uint64_t)a * (uint64_t)b); return true;
    case SDX_MAP2_div: *y = b ? a / b : 0; return true;
    case SDX_MAP2_fmod: *y = b ? a % b : 0; return true;
    case SDX_MAP2_mod: *y = b ? ((a % b) + b) % b : 0; return true;
    case SDX_MAP2_max: *y = a > b ? a : b; return true;
    case SDX_MAP2_min: *y = a < b ? a : b; return true;
    case SDX_MAP2_prelu: *y = a < 0 ? (int64_t)((uint64_t)a * (uint64_t)b) : a; return true;
    case SDX_MAP2_eq: *y = a == b; return true;
    case SDX_MAP2_lt: *y = a < b; return true;
    case SDX_MAP2_le: *y = a <= b; return true;
    case SDX_MAP2_gt: *y = a > b; return true;
    case SDX_MAP2_ge: *y = a >= b; return true;
    case SDX_MAP2_band: *y = a & b; return true;
    case SDX_MAP2_bor: *y = a | b; return true;
    case SDX_MAP2_bxor: *y = a ^ b; return true;
    case SDX_MAP2_shl: *y = b >= 0 && b < bits ? (int64_t)((uint64_t)(a & wide) << b) : 0; return true;
    case SDX_MAP2_shr: *y = a >> (b >= 0 && b < bits ? b : 63); return true;
    case SDX_MAP2_land: *y = a && b; return true;
    case SDX_MAP2_lor: *y = a || b; return true;
    case SDX_MAP2_lxor: *y = !a != !b; return true;
    default: return false;
    }
}

static int64_t int_at(unsigned type, const void *x, size_t i)
{
    switch (type) {
    case SDX_K_i8: return ((const int8_t *)x)[i];
    case SDX_K_u8: return ((const uint8_t *)x)[i];
    case SDX_K_i16: return ((const int16_t *)x)[i];
    case SDX_K_u16: return ((const uint16_t *)x)[i];
    case SDX_K_i32: return ((const int32_t *)x)[i];
    default: return ((const uint32_t *)x)[i];
    }
}

static void define_int(const Check *c, unsigned type, unsigned map)
{
    enum { N = 3000 };
    size_t in = type_sizes[type], out = is_flag[map] ? 1 : in;
    char *a = ck_buf(N * in, 0), *b = ck_buf(N * in, 0), *y = ck_buf(N * out, 0);
    fill(type, a, N);
    fill(type, b, N);
    c->k->map2[type][map](y, a, b, N, 0);
    for (size_t i = 0; i < N; i++) {
        int64_t va = int_at(type, a, i), vb = int_at(type, b, i), want;
        if (!int_formula(map, va, vb, in, &want)) return;
        if (memcmp(y + i * out, &want, out) != 0)
            ck_fail("f(%lld, %lld) is not %lld", (long long)va, (long long)vb, (long long)want);
    }
}

/* pow of integers, 64-bit division and the other corners, by hand. */
static void corners(const Check *c)
{
    if (!ck_begin(c, "map2 i64 corners")) return;
    int64_t a[] = { 3, -2, 2, -1, -1, 1, 5, 0, INT64_MIN, INT64_MIN, 7, -7, 7, 10 }, y[14];
    int64_t b[] = { 5, 3, -1, -3, -2, -9, 0, 0, -1, 0, -2, 2, 0, 20 };
    static const int64_t powers[] = { 243, -8, 0, -1, 1, 1, 1, 1, 0, 1, 0, 49, 1, INT64_C(7766279631452241920) };
    static const int64_t mods[] = { 3, 1, 0, -1, -1, -8, 0, 0, 0, 0, -1, 1, 0, 10 };
    static const int64_t divs[] = { 0, 0, -2, 0, 0, 0, 0, 0, INT64_MIN, 0, -3, -3, 0, 0 };
    c->k->map2[SDX_K_i64][SDX_MAP2_pow](y, a, b, 14, 0);
    ck_same_bytes(y, powers, sizeof y, "pow");
    c->k->map2[SDX_K_i64][SDX_MAP2_mod](y, a, b, 14, 0);
    ck_same_bytes(y, mods, sizeof y, "mod");
    c->k->map2[SDX_K_i64][SDX_MAP2_div](y, a, b, 14, 0);
    ck_same_bytes(y, divs, sizeof y, "div");
    ck_end();
}

static void muladd(const Check *c)
{
    if (c->below && c->below->muladd_f32 == c->k->muladd_f32) return;
    if (!ck_begin(c, "muladd f32")) return;
    static const unsigned some[] = { 0, SDX_B_ONE, SDX_C_ONE, SDX_B_ONE | SDX_C_ONE };
    for (size_t l = 0; l < ck_nlengths && !c->bench; l++)
        for (int m = 0; m < 4; m++) {
            size_t n = ck_lengths[l];
            float *x[3], *y = ck_buf(n * 4, 4 * (l % 3)), *want = ck_buf(n * 4, 0);
            for (int j = 0; j < 3; j++) ck_floats(x[j] = ck_buf(4 * n + 4, 4 * (l % 5)), n + 1, -4, 4);
            for (size_t i = 0; i < n; i++)
                want[i] = fmaf(x[0][i], x[1][some[m] & SDX_B_ONE ? 0 : i], x[2][some[m] & SDX_C_ONE ? 0 : i]);
            c->k->muladd_f32(y, x[0], x[1], x[2], n, some[m]);
            ck_same_f32(y, want, n, "apart");
            ck_margins();
            ck_free();
        }
    ck_end();
}

static void where(const Check *c)
{
    for (unsigned s = 0; s < 5; s++) {
        if (c->bench || (c->below && c->below->where[s] == c->k->where[s])) continue;
        if (!ck_begin(c, "where %u bytes", 1u << s)) continue;
        for (size_t l = 0; l < ck_nlengths; l++)
            for (int m = 0; m < 4; m++) {
                size_t n = ck_lengths[l], size = (size_t)1 << s;
                char *a = ck_buf((n + 1) * size, 0), *b = ck_buf((n + 1) * size, 0), *y = ck_buf(n * size, 0);
                uint8_t *cond = ck_buf(n, l % 3);
                ck_bytes(a, (n + 1) * size);
                ck_bytes(b, (n + 1) * size);
                for (size_t i = 0; i < n; i++) cond[i] = ck_rand() & 0x80 ? (uint8_t)(ck_rand() >> 8) : 0;
                c->k->where[s](y, cond, a, b, n, modes[m]);
                for (size_t i = 0; i < n; i++) {
                    size_t ia = modes[m] & SDX_A_ONE ? 0 : i, ib = modes[m] & SDX_B_ONE ? 0 : i;
                    ck_same_bytes(y + i * size, cond[i] ? a + ia * size : b + ib * size, size, "element");
                }
                ck_margins();
                ck_free();
            }
        ck_end();
    }
}

typedef struct Timed {
    Map2 *f;
    void *y, *a, *b;
    size_t n;
    unsigned mode;
} Timed;

static void timed(void *arg)
{
    Timed *t = arg;
    t->f(t->y, t->a, t->b, t->n, t->mode);
}

static void bench(const Check *c, unsigned type, unsigned map)
{
    enum { N = 2048 };
    Timed t = { c->k->map2[type][map], ck_buf(N * 8, 0), ck_buf(N * 8, 0), ck_buf(N * 8, 0), N, 0 };
    if (type == SDX_K_f32) {
        ck_plain(t.a, N, 0, 9);
        ck_plain(t.b, N, -3, 3);
    } else {
        ck_bytes(t.a, N * 8);
        fill(type, t.b, N);
    }
    ck_report(ck_time(timed, &t), N, 0);
}

void check_map2(const Check *c)
{
    for (unsigned type = 0; type < SDX_K_COUNT; type++)
        for (unsigned map = 0; map < SDX_MAP2_COUNT; map++) {
            if (!c->k->map2[type][map]) continue;
            if (c->below && c->below->map2[type][map] == c->k->map2[type][map]) continue;
            if (!ck_begin(c, "map2 %s %s", type_names[type], sdx_map2_name(map))) continue;
            if (c->bench)
                bench(c, type, map);
            else {
                compare(c, type, map); /* at level C: modes, margins and aliasing */
                if (!c->below && type == SDX_K_f32) define_f32(c, map);
                if (!c->below && type >= SDX_K_i8 && type <= SDX_K_u32) define_int(c, type, map);
            }
            ck_end();
        }
    muladd(c);
    where(c);
    if (!c->below && !c->bench) corners(c);
}
