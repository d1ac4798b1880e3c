#include "check.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MARGIN = 256, BUFS = 8, SHOWN = 3, WORDS = 8, PAINT = 0xA5 };

typedef struct Buf {
    unsigned char *block;
    size_t start, nbytes, total;
} Buf;

static struct {
    char name[160];
    const char *words[WORDS];
    int nwords;
    int failures; /* of the open case */
    int passed, failed, skipped;
    uint32_t seed;
    Buf buf[BUFS];
    int nbufs;
} ck;

const size_t ck_lengths[] = { 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,  12,  13,  14,  15,  16,  17,   18,  19,
                              20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31,  32,  33,  34,  35,  36,  37,   38,  39,
                              40, 47, 48, 49, 63, 64, 65, 79, 80, 81, 95, 127, 128, 129, 255, 257, 511, 1000, 4099 };
const size_t ck_nlengths = sizeof ck_lengths / sizeof ck_lengths[0];

void ck_free(void)
{
    for (int i = 0; i < ck.nbufs; i++) free(ck.buf[i].block);
    ck.nbufs = 0;
}

bool ck_begin(const Check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = snprintf(ck.name, sizeof ck.name, "%-10s ", c->k->name);
    vsnprintf(ck.name + n, sizeof ck.name - (size_t)n, fmt, ap);
    va_end(ap);
    for (int i = 0; i < ck.nwords; i++)
        if (!strstr(ck.name, ck.words[i])) return false;
    ck.failures = 0;
    ck.seed = 2463534242u;
    return true;
}

bool ck_fail(const char *fmt, ...)
{
    if (ck.failures++ < SHOWN) {
        va_list ap;
        va_start(ap, fmt);
        printf("FAIL %s: ", ck.name);
        vprintf(fmt, ap);
        putchar('\n');
        va_end(ap);
    }
    return false;
}

void ck_end(void)
{
    if (ck.failures > SHOWN) printf("FAIL %s: %d failures in all\n", ck.name, ck.failures);
    if (ck.failures)
        ck.failed++;
    else
        ck.passed++;
    ck_free();
}

void ck_skip(const char *why)
{
    printf("skip %s: %s\n", ck.name, why);
    ck.skipped++;
}

void *ck_buf(size_t nbytes, size_t shift)
{
    if (ck.nbufs == BUFS) abort();
    size_t total = (2 * MARGIN + nbytes + shift + 63) / 64 * 64;
    unsigned char *block = aligned_alloc(64, total);
    if (!block) abort();
    memset(block, PAINT, total);
    ck.buf[ck.nbufs++] = (Buf){ block, MARGIN + shift, nbytes, total };
    return block + MARGIN + shift;
}

bool ck_margins(void)
{
    for (int b = 0; b < ck.nbufs; b++) {
        const Buf *f = &ck.buf[b];
        for (size_t i = 0; i < f->total; i++)
            if ((i < f->start || i >= f->start + f->nbytes) && f->block[i] != PAINT)
                return ck_fail("buffer %d of %zu bytes: byte %td written", b, f->nbytes,
                               (ptrdiff_t)i - (ptrdiff_t)f->start);
    }
    return true;
}

uint32_t ck_rand(void)
{
    ck.seed ^= ck.seed << 13;
    ck.seed ^= ck.seed >> 17;
    return ck.seed ^= ck.seed << 5;
}

void ck_plain(float *x, size_t n, float lo, float hi)
{
    for (size_t i = 0; i < n; i++) x[i] = lo + (hi - lo) * ((float)(ck_rand() >> 8) * 0x1p-24f);
}

void ck_floats(float *x, size_t n, float lo, float hi)
{
    static const float odd[] = { 0.0f,     -0.0f,     INFINITY, -INFINITY, NAN,   1e-45f,  -1e-45f, 1e-39f,
                                 -1e-39f,  0x1p-126f, 3.4e38f,  -3.4e38f,  1.0f,  -1.0f,   0.5f,    -2.5f,
                                 65536.5f, -1e9f,     0x1p-30f, -0x1p-30f, 88.6f, -103.9f, -87.5f,  88.72283f };
    ck_plain(x, n, lo, hi);
    for (size_t i = 0; i < n; i++) {
        uint32_t r = ck_rand() >> 4;
        if (r % 5 == 0) x[i] = odd[r / 5 % (sizeof odd / sizeof odd[0])];
    }
}

void ck_bytes(void *x, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) ((unsigned char *)x)[i] = (unsigned char)(ck_rand() >> 11);
}

bool ck_same_f32(const float *got, const float *want, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(got + i, want + i, 4) == 0 || (isnan(got[i]) && isnan(want[i]))) continue;
        return ck_fail("%s, n = %zu: [%zu] is %.9g, not %.9g", what, n, i, (double)got[i], (double)want[i]);
    }
    return true;
}

bool ck_same_bytes(const void *got, const void *want, size_t nbytes, const char *what)
{
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < nbytes; i++)
        if (g[i] != w[i]) return ck_fail("%s: byte %zu of %zu is %02x, not %02x", what, i, nbytes, g[i], w[i]);
    return true;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double time_batch(void (*call)(void *arg), void *arg, size_t reps)
{
    double t = now_ns();
    for (size_t i = 0; i < reps; i++) call(arg);
    return now_ns() - t;
}

double ck_time(void (*call)(void *arg), void *arg)
{
    size_t reps = 1;
    while (reps < 1 << 20 && time_batch(call, arg, reps) < 2e5) reps *= 2;
    double best = INFINITY;
    for (int i = 0; i < 15; i++) best = fmin(best, time_batch(call, arg, reps) / (double)reps);
    return best;
}

void ck_report(double ns, double elements, double bytes)
{
    printf("%-48s %10.0f ns %8.3f ns/el", ck.name, ns, ns / elements);
    if (bytes > 0) printf(" %7.1f GB/s", bytes / ns);
    putchar('\n');
}

double ck_ulp(float got, double want)
{
    if (isnan(want) || isnan(got)) return isnan(got) && isnan(want) ? 0 : INFINITY;
    if ((float)want == got) return 0;
    if (isinf(want)) return INFINITY;
    int e = fabs(want) < 0x1p-126 ? -126 : ilogb(want);
    double y = isinf(got) ? copysign(0x1p128, (double)got) : (double)got; /* the next float, had it room */
    return fabs(y - want) / ldexp(1, (e > 127 ? 127 : e) - 23);
}

int main(int argc, char **argv)
{
    bool bench = false, all = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--bench") == 0)
            bench = true;
        else if (strcmp(argv[i], "--all") == 0)
            all = true;
        else if (ck.nwords < WORDS)
            ck.words[ck.nwords++] = argv[i];
    }
    const Kern *c = sdx_kern_at(SDX_CPU_C), *below = NULL;
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        const Kern *k = sdx_kern_at(level);
        if (!k) continue;
        const Check check = { c, below, k, bench, all };
#define CHECK_FAMILY(name) check_##name(&check);
#include "families.def"
#undef CHECK_FAMILY
        below = k;
    }
    if (!bench) printf("%d passed, %d failed, %d skipped\n", ck.passed, ck.failed, ck.skipped);
    return ck.failed ? 1 : 0;
}
