/* rules.h - a file of exceptions for test cases. Lines of: PATTERN RULE... # reason
 *
 * PATTERN is a shell pattern on the case's name. Rules: skip (a reason is required), binary (random results: values are
 * 0 or 1), rtol=X, atol=X. A line without a reason is refused. */
#ifndef SDX_CLI_RULES_H
#define SDX_CLI_RULES_H

#include "cli/report.h"

bool rules_apply(const char *path, TestCase *cases, size_t n);

#endif
