#include "tests/pass_case.h"

#define X "g (float[N,4] x) => (y) <float a = {3}, float b = {4}, float two = {2}, float big = {1e30}> "

PASS_CASE(products, "scalars", X "{ t = Mul(x, a) y = Mul(b, t) }",
          "g (float[N,4] x) => (y) <float c = {12}> { y = Mul(x, c) }")
PASS_CASE(sums, "scalars", X "{ t = Add(a, x) y = Add(t, b) }",
          "g (float[N,4] x) => (y) <float c = {7}> { y = Add(x, c) }")
PASS_CASE(quotient_of_product, "scalars", X "{ t = Mul(x, a) y = Div(t, b) }",
          "g (float[N,4] x) => (y) <float c = {0.75}> { y = Mul(x, c) }")
PASS_CASE(quotient_of_product_by_three, "scalars", X "{ t = Mul(x, b) y = Div(t, a) }",
          "g (float[N,4] x) => (y) <float c = {1.3333334}> { y = Mul(x, c) }")
PASS_CASE(quarter, "scalars", X "{ y = Div(x, b) }", "g (float[N,4] x) => (y) <float c = {0.25}> { y = Mul(x, c) }")
PASS_CASE(square, "scalars", X "{ y = Pow(x, two) }", "g (float[N,4] x) => (y) { y = Mul(x, x) }")
PASS_CASE(cube, "scalars", X "{ y = Pow(x, a) }", "g (float[N,4] x) => (y) { s = Mul(x, x) y = Mul(s, x) }")

PASS_KEEPS(third, "scalars", X "{ y = Div(x, a) }")
PASS_KEEPS(overflow, "scalars", X "{ t = Mul(x, big) y = Mul(t, big) }")
PASS_KEEPS(both_wanted, "scalars", "g (float[N] x) => (t, y) <float a = {3}> { t = Mul(x, a) y = Mul(t, a) }")
PASS_KEEPS(integers, "scalars", "g (int32[N] x) => (y) <int32 a = {3}> { t = Div(x, a) y = Div(t, a) }")

SUITE(scalars_test)
{
    RUN(products);
    RUN(sums);
    RUN(quotient_of_product);
    RUN(quotient_of_product_by_three);
    RUN(quarter);
    RUN(third);
    RUN(square);
    RUN(cube);
    RUN(overflow);
    RUN(both_wanted);
    RUN(integers);
}
