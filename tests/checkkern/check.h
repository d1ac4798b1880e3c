/* tests/checkkern/check.h - the kernel test and benchmark.
 *
 * main walks the CPU levels upwards. At each, every check_<family> looks for members of Kern that
 * differ from the level below and compares them with the portable C version: short lengths, then
 * longer ones, misaligned starts, the output on top of the input, odd values, and margins that must
 * stay painted. At level C the same functions measure the C version against doubles.
 *
 *     checkkern [--bench | --all] [words that must occur in a case's name]
 *
 * --all tries the one-input maps on all floats, at the level its name is given for: `checkkern --all avx2 exp`. */
#ifndef SDX_TESTS_CHECKKERN_CHECK_H
#define SDX_TESTS_CHECKKERN_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kern/kern.h"

typedef struct Check {
    const Kern *c;     /* the definition */
    const Kern *below; /* NULL at level C */
    const Kern *k;     /* under test */
    bool bench;
    bool all; /* every float, not a sample: hours */
} Check;

#define CHECK_FAMILY(name) void check_##name(const Check *c);
#include "families.def"
#undef CHECK_FAMILY

/* Opens a case; false if the filter leaves it out. Every opened case is closed by ck_end. */
bool ck_begin(const Check *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Reports a failure of the open case (the first few are printed); false, for `return ck_fail(...)`. */
bool ck_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ck_end(void);
void ck_skip(const char *why);

/* Memory for the open case, `shift` bytes past a 64-byte boundary, between painted margins. Freed by
 * ck_free and ck_end; BUFS (eight) at most at a time. */
void *ck_buf(size_t nbytes, size_t shift);
void ck_free(void);
/* Are all margins as painted? Reports. */
bool ck_margins(void);

/* Repeatable noise, seeded anew by ck_begin. */
uint32_t ck_rand(void);
/* n floats over [lo, hi], about every fifth one odd: 0, -0, infinities, NaN, subnormals, extremes. */
void ck_floats(float *x, size_t n, float lo, float hi);
/* n floats over [lo, hi]. */
void ck_plain(float *x, size_t n, float lo, float hi);
void ck_bytes(void *x, size_t nbytes);

/* Equal bits, or both NaN. Reports the first that differs. */
bool ck_same_f32(const float *got, const float *want, size_t n, const char *what);
bool ck_same_bytes(const void *got, const void *want, size_t nbytes, const char *what);

/* The lengths to try: 0..40, then some larger. */
extern const size_t ck_lengths[];
extern const size_t ck_nlengths;

/* Times `call`: best of several batches, in nanoseconds per call. */
double ck_time(void (*call)(void *arg), void *arg);
/* One line of the benchmark: ns per element and, if bytes > 0, GB/s. */
void ck_report(double ns, double elements, double bytes);

/* Distance of a float from the true value, in units of the last place there. */
double ck_ulp(float got, double want);

#endif
