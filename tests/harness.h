/* tests/harness.h - the unit test harness
 *
 * A test is a static function without arguments; the file's suite, named like the file, lists them.
 * A test that is not listed is an unused function, which the compiler refuses.
 *
 *     static void rows_sum_to_one(void) { CHECK(sum == 1); }
 *     SUITE(softmax_test) { RUN(rows_sum_to_one); }
 *
 * Checks record a failure and carry on; each yields whether it held, so a test that cannot
 * continue writes `if (!CHECK(p != NULL)) return;`.
 *
 *     sdx_unit                     runs everything
 *     sdx_unit softmax_test        runs one suite
 *     sdx_unit softmax_test rows   runs its tests whose names contain "rows"
 */
#ifndef SDX_TESTS_HARNESS_H
#define SDX_TESTS_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SUITE(name)                                                                                                    \
    void sdx_suite_##name(void);                                                                                       \
    void sdx_suite_##name(void)
#define RUN(test) sdx_harness_run(#test, test)

#define CHECK(cond) sdx_harness_check((cond), __FILE__, __LINE__, #cond)
/* Integers of any type up to 64 bits. */
#define CHECK_INT(got, want) sdx_harness_int((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
/* Equal strings; NULL equals NULL only. */
#define CHECK_STR(got, want) sdx_harness_str((got), (want), __FILE__, __LINE__, #got)
/* `part` occurs in `got`. For error texts. */
#define CHECK_HAS(got, part) sdx_harness_has((got), (part), __FILE__, __LINE__, #got)
/* |got - want| <= tol; NaN equals NaN, an infinity only itself. */
#define CHECK_NEAR(got, want, tol) sdx_harness_near((got), (want), (tol), __FILE__, __LINE__, #got)
/* n floats, each as CHECK_NEAR; reports the first that differs. */
#define CHECK_FLOATS(got, want, n, tol) sdx_harness_floats((got), (want), (n), (tol), __FILE__, __LINE__, #got)
/* nbytes equal bytes; reports the first that differs. */
#define CHECK_BYTES(got, want, nbytes) sdx_harness_bytes((got), (want), (nbytes), __FILE__, __LINE__, #got)

void sdx_harness_run(const char *name, void (*test)(void));
bool sdx_harness_check(bool ok, const char *file, int line, const char *what);
bool sdx_harness_int(int64_t got, int64_t want, const char *file, int line, const char *what);
bool sdx_harness_str(const char *got, const char *want, const char *file, int line, const char *what);
bool sdx_harness_has(const char *got, const char *part, const char *file, int line, const char *what);
bool sdx_harness_near(double got, double want, double tol, const char *file, int line, const char *what);
bool sdx_harness_floats(const float *got, const float *want, size_t n, double tol, const char *file, int line,
                        const char *what);
bool sdx_harness_bytes(const void *got, const void *want, size_t nbytes, const char *file, int line, const char *what);

/* Says which case of a table the checks that follow belong to; printed with a failure. NULL clears it. */
void sdx_harness_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* For programs with a main of their own: only tests whose names contain `part` run (NULL: all). */
void sdx_harness_filter(const char *part);
/* Prints `N passed, N failed` and returns the exit status. */
int sdx_harness_finish(void);

#endif
