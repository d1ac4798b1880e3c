/* rules.h - a file of exceptions for test cases. Lines of: PATTERN RULE... # reason
 *
 * PATTERN is a shell pattern on the case's name. Rules:
 *     skip             (a reason is required)
 *     binary           random results: values are 0 or 1
 *     rtol=X, atol=X
 *     corrected        the case's own outputs are at odds with the standard: those in the folder corrected/NAME beside the
 *                      file of rules, made by tools/correct_conformance.py, replace them
 *     bfloat16-bits    files from before bfloat16 had a form of its own hold its bits as uint16
 *     repeat           an input of one element is repeated to the shape that the model declares
 * A line without a reason is refused. */
#ifndef SDX_CLI_RULES_H
#define SDX_CLI_RULES_H

#include "cli/report.h"

bool rules_apply(const char *path, TestCase *cases, size_t n);

#endif
