/* tests/harness_test.c - the checks that can be tested without failing */
#include "tests/harness.h"

#include <math.h>

static void near_knows_nan_and_infinity(void)
{
    CHECK_NEAR(NAN, NAN, 0);
    CHECK_NEAR(INFINITY, INFINITY, 0);
    CHECK_NEAR(1.0, 1.5, 0.5);
}

static void bytes_and_strings(void)
{
    CHECK_BYTES("ab", "ac", 1);
    CHECK_STR(NULL, NULL);
    CHECK_HAS("axis 5 is outside [-2, 2)", "axis 5");
}

SUITE(harness_test)
{
    RUN(near_knows_nan_and_infinity);
    RUN(bytes_and_strings);
}
