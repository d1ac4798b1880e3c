#include "tests/pass_case.h"

#define CONV "g (float[N,1,4,4] x) => (y) "
#define W "float[2,1,1,1] w = {2, -1}"
#define NORM "float[2] s = {3, 4}, float[2] t = {1, 2}, float[2] m = {0.5, -1}, float[2] v = {3, 15}"

PASS_CASE(conv_batchnorm, "affine",
          CONV "<" W ", " NORM "> { c = Conv(x, w) y = BatchNormalization <epsilon = 1.0> (c, s, t, m, v) }",
          CONV "<float[2,1,1,1] w = {3, -1}, float[2] b = {0.25, 3}> { y = Conv(x, w, b) }")
PASS_CASE(conv_bias_batchnorm, "affine",
          CONV "<" W ", float[2] b = {10, 20}, " NORM "> "
               "{ c = Conv(x, w, b) y = BatchNormalization <epsilon = 1.0> (c, s, t, m, v) }",
          CONV "<float[2,1,1,1] w = {3, -1}, float[2] b = {15.25, 23}> { y = Conv(x, w, b) }")
PASS_CASE(conv_scale_shift, "affine",
          CONV "<" W ", float[2,1,1] a = {2, 3}, float[1,2,1,1] b = {5, 6}> "
               "{ c = Conv(x, w) d = Mul(a, c) y = Add(d, b) }",
          CONV "<float[2,1,1,1] w = {4, -3}, float[2] b = {5, 6}> { y = Conv(x, w, b) }")
PASS_CASE(conv_minus, "affine",
          CONV "<" W ", float[2,1,1] a = {2, 3}, float b = {5}> { c = Conv(x, w) d = Sub(a, c) y = Div(d, b) }",
          CONV "<float[2,1,1,1] w = {-0.4, 0.2}, float[2] b = {0.4, 0.6}> { y = Conv(x, w, b) }")
PASS_CASE(gemm_batchnorm, "affine",
          "g (float[N,2] x) => (y) <float[2,2] w = {1, 2, 3, 4}, float[2] b = {1, 2}, " NORM "> "
          "{ c = Gemm <transB = 1, beta = 2.0> (x, w, b) y = BatchNormalization <epsilon = 1.0> (c, s, t, m, v) }",
          "g (float[N,2] x) => (y) <float[2,2] w = {1.5, 3, 3, 4}, float[2] b = {3.25, 7}> "
          "{ y = Gemm <transB = 1> (x, w, b) }")
PASS_CASE(matmul_batchnorm, "affine",
          "g (float[N,2] x) => (y) <float[2,2] w = {1, 2, 3, 4}, " NORM "> "
          "{ c = MatMul (x, w) y = BatchNormalization <epsilon = 1.0> (c, s, t, m, v) }",
          "g (float[N,2] x) => (y) <float[2,2] w = {1.5, 2, 4.5, 4}, float[2] b = {0.25, 3}> { y = Gemm (x, w, b) }")

PASS_KEEPS(product_read_twice, "affine",
           "g (float[N,1,4,4] x) => (y, c) <" W ", " NORM "> "
           "{ c = Conv(x, w) y = BatchNormalization (c, s, t, m, v) }")
PASS_KEEPS(weights_from_the_caller, "affine",
           "g (float[N,1,4,4] x, float[2,1,1,1] w) => (y) <" NORM "> "
           "{ c = Conv(x, w) y = BatchNormalization (c, s, t, m, v) }")
PASS_KEEPS(shift_per_pixel, "affine", CONV "<" W ", float[4] b = {1, 2, 3, 4}> { c = Conv(x, w) y = Add(c, b) }")
PASS_KEEPS(variance_minus_epsilon, "affine",
           CONV "<" W ", float[2] s = {1, 1}, float[2] v = {-1, 1}> "
                "{ c = Conv(x, w) y = BatchNormalization <epsilon = 1.0> (c, s, s, s, v) }")

SUITE(affine_test)
{
    RUN(conv_batchnorm);
    RUN(conv_bias_batchnorm);
    RUN(conv_scale_shift);
    RUN(conv_minus);
    RUN(gemm_batchnorm);
    RUN(matmul_batchnorm);
    RUN(product_read_twice);
    RUN(weights_from_the_caller);
    RUN(shift_per_pixel);
    RUN(variance_minus_epsilon);
}
