#include "base/fpenv.h"

#include <float.h>

#include "tests/harness.h"

static void flushes_and_restores(void)
{
    volatile float tiny = FLT_MIN, half = 0.5f;
    FpEnv before = sdx_fpenv_save();
    CHECK(tiny * half != 0);
#if defined(__SSE__) || defined(__aarch64__)
    sdx_fpenv_flush(true);
    CHECK(tiny * half == 0);
    sdx_fpenv_flush(false);
    CHECK(tiny * half != 0);
#endif
    sdx_fpenv_flush(true);
    sdx_fpenv_restore(before);
    CHECK(tiny * half != 0);
}

SUITE(fpenv_test) { RUN(flushes_and_restores); }
