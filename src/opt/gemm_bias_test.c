#include "tests/pass_case.h"

#define AB "g (float[N,4] a, float[4,8] b, float[8] c) => (y) "

PASS_CASE(product_and_row, "gemm_bias", AB "{ p = MatMul(a, b) y = Add(c, p) }", AB "{ y = Gemm(a, b, c) }")
PASS_KEEPS(three_dims, "gemm_bias",
           "g (float[2,N,4] a, float[4,8] b, float[8] c) => (y) { p = MatMul(a, b) y = Add(c, p) }")
PASS_KEEPS(sum_enlarges, "gemm_bias",
           "g (float[1,4] a, float[4,8] b, float[5,8] c) => (y) { p = MatMul(a, b) y = Add(p, c) }")

SUITE(gemm_bias_test)
{
    RUN(product_and_row);
    RUN(three_dims);
    RUN(sum_enlarges);
}
