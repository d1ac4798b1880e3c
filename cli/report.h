/* report.h - test cases and how their results are told: lines, TAP, JUnit, JSON, the ratchet. */
#ifndef SDX_CLI_REPORT_H
#define SDX_CLI_REPORT_H

#include "cli/compare.h"

typedef enum CaseResult { CASE_PENDING, CASE_PASSED, CASE_FAILED, CASE_SKIPPED } CaseResult;

typedef struct TestCase {
    char *dir, *name; /* name: the path below the folder given */
    Tolerance tol;
    char *corrected;    /* folder of expected outputs that replace the case's own; NULL: none */
    bool bfloat16_bits; /* its files hold bfloat16 as the bits of uint16 */
    bool repeat;        /* inputs of one element are repeated to the model's shape */
    CaseResult result;
    bool crashed;
    char *text; /* why it failed or is skipped */
    double max_abs, max_rel, seconds;
} TestCase;

/* Prints what the arguments ask for and the closing line; returns the exit code. */
int report_cases(const Args *a, const TestCase *cases, size_t n);

#endif
