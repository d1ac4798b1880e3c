#include "tests/pass_case.h"

#define X "g (float[N,4,8] x) => (y) <int64[1] a = {1}, int64[1] b = {2}> "

PASS_CASE(softmax_parts, "softmax_form",
          X "{ m = ReduceMax(x, a) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, a) y = Div(e, s) }",
          X "{ y = Softmax <axis = 1> (x) }")
PASS_KEEPS(two_axes, "softmax_form",
           X "{ m = ReduceMax(x, a) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, b) y = Div(e, s) }")
PASS_KEEPS(exponentials_wanted, "softmax_form",
           "g (float[N,4] x) => (y, e) <int64[1] a = {1}> "
           "{ m = ReduceMax(x, a) d = Sub(x, m) e = Exp(d) s = ReduceSum(e, a) y = Div(e, s) }")

SUITE(softmax_form_test)
{
    RUN(softmax_parts);
    RUN(two_axes);
    RUN(exponentials_wanted);
}
