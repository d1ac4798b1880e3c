/* compare.h - does a result agree with what was expected? */
#ifndef SDX_CLI_COMPARE_H
#define SDX_CLI_COMPARE_H

#include "cli/cli.h"

typedef struct Tolerance {
    double rtol, atol;
    bool binary; /* random results: only type, shape, and that every value is 0 or 1 */
} Tolerance;

typedef struct Difference {
    double max_abs, max_rel; /* over finite pairs */
    char text[512];          /* the first disagreement, "" when there is none */
} Difference;

/* ONNX's rules: kinds, types and shapes equal; strings equal; |got - want| <= atol + rtol |want|, NaN equal to NaN,
 * infinities only to themselves; sequences and maps element by element. Adds to d; true when they agree. */
bool compare_values(const sdx_value *got, const sdx_value *want, const Tolerance *tol, Difference *d);

#endif
