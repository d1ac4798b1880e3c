/* tests/harness.c - counts tests and prints what failed. One thread. */
#include "tests/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static struct {
    const char *filter;
    const char *test;
    char note[256];
    int passed, failed, failures_here;
} harness;

void sdx_harness_filter(const char *part) { harness.filter = part; }

void sdx_harness_note(const char *fmt, ...)
{
    harness.note[0] = 0;
    if (fmt == NULL) return;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(harness.note, sizeof harness.note, fmt, ap);
    va_end(ap);
}

void sdx_harness_run(const char *name, void (*test)(void))
{
    if (harness.filter != NULL && strstr(name, harness.filter) == NULL) return;
    harness.test = name;
    harness.failures_here = 0;
    harness.note[0] = 0;
    test();
    if (harness.failures_here == 0) {
        harness.passed++;
    } else {
        harness.failed++;
        fprintf(stderr, "FAILED %s: %d check(s)\n", name, harness.failures_here);
    }
}

int sdx_harness_finish(void)
{
    printf("%d passed, %d failed\n", harness.passed, harness.failed);
    return harness.failed != 0;
}

/* A test that fails a thousand times says so ten times. */
static bool harness_should_print(const char *file, int line)
{
    if (++harness.failures_here > 10) return false;
    fprintf(stderr, "%s:%d: %s%s%s%s: ", file, line, harness.test ? harness.test : "-", harness.note[0] ? " [" : "",
            harness.note, harness.note[0] ? "]" : "");
    return true;
}

bool sdx_harness_check(bool ok, const char *file, int line, const char *what)
{
    if (!ok && harness_should_print(file, line)) fprintf(stderr, "%s\n", what);
    return ok;
}

bool sdx_harness_int(int64_t got, int64_t want, const char *file, int line, const char *what)
{
    bool ok = got == want;
    if (!ok && harness_should_print(file, line))
        fprintf(stderr, "%s is %lld, want %lld\n", what, (long long)got, (long long)want);
    return ok;
}

bool sdx_harness_str(const char *got, const char *want, const char *file, int line, const char *what)
{
    bool ok = got == want || (got != NULL && want != NULL && strcmp(got, want) == 0);
    if (!ok && harness_should_print(file, line))
        fprintf(stderr, "%s is\n  %s\nwant\n  %s\n", what, got ? got : "(null)", want ? want : "(null)");
    return ok;
}

bool sdx_harness_has(const char *got, const char *part, const char *file, int line, const char *what)
{
    bool ok = got != NULL && strstr(got, part) != NULL;
    if (!ok && harness_should_print(file, line))
        fprintf(stderr, "%s is\n  %s\nwithout\n  %s\n", what, got ? got : "(null)", part);
    return ok;
}

static bool is_near(double got, double want, double tol)
{
    if (isnan(want)) return isnan(got);
    if (isinf(want) || isinf(got)) return got == want;
    return fabs(got - want) <= tol;
}

bool sdx_harness_near(double got, double want, double tol, const char *file, int line, const char *what)
{
    bool ok = is_near(got, want, tol);
    if (!ok && harness_should_print(file, line))
        fprintf(stderr, "%s is %.9g, want %.9g within %.3g\n", what, got, want, tol);
    return ok;
}

bool sdx_harness_floats(const float *got, const float *want, size_t n, double tol, const char *file, int line,
                        const char *what)
{
    for (size_t i = 0; i < n; i++) {
        if (is_near(got[i], want[i], tol)) continue;
        if (harness_should_print(file, line))
            fprintf(stderr, "%s[%zu] is %.9g, want %.9g within %.3g\n", what, i, (double)got[i], (double)want[i], tol);
        return false;
    }
    return true;
}

bool sdx_harness_bytes(const void *got, const void *want, size_t nbytes, const char *file, int line, const char *what)
{
    const unsigned char *g = got, *w = want;
    for (size_t i = 0; i < nbytes; i++) {
        if (g[i] == w[i]) continue;
        if (harness_should_print(file, line))
            fprintf(stderr, "%s: byte %zu of %zu is 0x%02x, want 0x%02x\n", what, i, nbytes, g[i], w[i]);
        return false;
    }
    return true;
}
