/* report.h - test cases and how their results are told: lines, TAP, JUnit, JSON, the ratchet. */
#ifndef SDX_CLI_REPORT_H
#define SDX_CLI_REPORT_H

#include "cli/compare.h"

typedef enum CaseResult { CASE_PENDING, CASE_PASSED, CASE_FAILED, CASE_SKIPPED } CaseResult;

typedef struct TestCase {
    char *dir, *name; /* name: the path below the folder given */
    Tolerance tol;
    CaseResult result;
    bool crashed;
    char *text; /* why it failed or is skipped */
    double max_abs, max_rel, seconds;
} TestCase;

/* Prints what the arguments ask for and the closing line; returns the exit code. */
int report_cases(const Args *a, const TestCase *cases, size_t n);

#endif
