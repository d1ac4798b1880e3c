#include "tests/pass_case.h"

#define X "g (float[N,8] x, float[8] w, float[8] b) => (y) "
#define CONSTANTS                                                                                                      \
    "<float two = {2}, float eps = {1e-5}, int64[1] last = {-1}, int64[1] one = {1}, int64[1] zero = {0}> "
#define CENTRE "m = ReduceMean (x, last) d = Sub(x, m) "
#define DEVIATION "v = ReduceMean(p, last) e = Add(v, eps) s = Sqrt(e) "
#define WANT X "{ y = LayerNormalization <epsilon = 1e-5, axis = -1> (x, w, b) }"

PASS_CASE(by_power, "layernorm_form",
          X CONSTANTS "{ " CENTRE "p = Pow(d, two) " DEVIATION "n = Div(d, s) k = Mul(n, w) y = Add(k, b) }", WANT)
PASS_CASE(by_product, "layernorm_form",
          X CONSTANTS "{ " CENTRE "p = Mul(d, d) " DEVIATION "n = Div(d, s) k = Mul(w, n) y = Add(b, k) }", WANT)
PASS_CASE(axis_from_the_front, "layernorm_form",
          X CONSTANTS "{ m = ReduceMean (x, one) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, one) e = Add(v, eps) "
                      "s = Sqrt(e) n = Div(d, s) k = Mul(w, n) y = Add(b, k) }",
          WANT)
PASS_CASE(by_reciprocal, "layernorm_form",
          X CONSTANTS "{ " CENTRE "p = Mul(d, d) " DEVIATION
                      "r = Reciprocal(s) n = Mul(d, r) k = Mul(n, w) y = Add(k, b) }",
          WANT)
PASS_CASE(subtracted_twice, "layernorm_form",
          X CONSTANTS "{ " CENTRE "d2 = Sub(x, m) p = Mul(d2, d2) " DEVIATION
                      "n = Div(d, s) k = Mul(n, w) y = Add(k, b) }",
          WANT)
PASS_CASE(without_bias, "layernorm_form",
          X CONSTANTS "{ " CENTRE "p = Mul(d, d) " DEVIATION "n = Div(d, s) y = Mul(n, w) }",
          X "{ y = LayerNormalization <epsilon = 1e-5, axis = -1> (x, w) }")
PASS_CASE(scale_with_ones, "layernorm_form",
          "g (float[N,2] x) => (y) <float[1,2] w = {2, 3}, float eps = {1e-5}, int64[1] last = {-1}> "
          "{ " CENTRE "p = Mul(d, d) " DEVIATION "n = Div(d, s) y = Mul(n, w) }",
          "g (float[N,2] x) => (y) <float[2] w = {2, 3}> { y = LayerNormalization <epsilon = 1e-5, axis = -1> (x, w) }")

PASS_KEEPS(another_axis, "layernorm_form",
           X CONSTANTS "{ m = ReduceMean (x, zero) d = Sub(x, m) p = Mul(d, d) v = ReduceMean(p, zero) e = Add(v, eps) "
                       "s = Sqrt(e) n = Div(d, s) k = Mul(n, w) y = Add(k, b) }")
PASS_KEEPS(read_before_scaling, "layernorm_form",
           "g (float[N,8] x, float[8] w) => (y, n) " CONSTANTS "{ " CENTRE "p = Mul(d, d) " DEVIATION
           "n = Div(d, s) y = Mul(n, w) }")
PASS_KEEPS(scale_per_row, "layernorm_form",
           "g (float[8,8] x, float[8,1] w) => (y) " CONSTANTS "{ " CENTRE "p = Mul(d, d) " DEVIATION
           "n = Div(d, s) y = Mul(n, w) }")

#define R "g (float[N,8] x, float[8] w) => (y) "
#define RWANT R "{ y = RMSNormalization <epsilon = 1e-5, axis = -1> (x, w) }"

PASS_CASE(rms, "rmsnorm_form", R CONSTANTS "{ p = Pow(x, two) " DEVIATION "n = Div(x, s) y = Mul(w, n) }", RWANT)
PASS_CASE(rms_by_reciprocal, "rmsnorm_form",
          R CONSTANTS "{ p = Mul(x, x) " DEVIATION "r = Reciprocal(s) n = Mul(x, r) y = Mul(w, n) }", RWANT)
PASS_CASE(rms_by_power, "rmsnorm_form",
          R "<float half = {-0.5}, float eps = {1e-5}, int64[1] last = {-1}> "
            "{ p = Mul(x, x) v = ReduceMean(p, last) e = Add(v, eps) r = Pow(e, half) n = Mul(x, r) y = Mul(w, n) }",
          RWANT)
PASS_CASE(rms_in_half_precision, "rmsnorm_form",
          "g (float16[N,8] h, float16[8] w) => (y) " CONSTANTS "{ x = Cast <to = 1> (h) p = Mul(x, x) " DEVIATION
          "n = Div(x, s) c = Cast <to = 10> (n) y = Mul(w, c) }",
          "g (float16[N,8] h, float16[8] w) => (y) { y = RMSNormalization <epsilon = 1e-5, axis = -1> (h, w) }")

#define G "g (float[N,4,3,2] x) => (y) "
#define INSTANCES                                                                                                      \
    "int64[3] in = {0,2,-1}, float[2] one = {1,1}, float[2] zero = {0,0}, float[4,1,1] w = {1,2,3,4}, "                \
    "float[1,4,1,1] b = {5,6,7,8}> { r = Reshape(x, in) i = InstanceNormalization <epsilon = 1e-3> (r, one, zero) "

PASS_CASE(groups, "groupnorm_form", G "<" INSTANCES "s = Shape(x) k = Reshape(i, s) m = Mul(k, w) y = Add(m, b) }",
          G "<float[4] w = {1,2,3,4}, float[4] b = {5,6,7,8}> "
            "{ y = GroupNormalization <num_groups = 2, epsilon = 1e-3> (x, w, b) }")
PASS_CASE(groups_without_bias, "groupnorm_form", G "<" INSTANCES "s = Shape(x) k = Reshape(i, s) y = Mul(k, w) }",
          G "<float[4] w = {1,2,3,4}, float[4] b = {0,0,0,0}> "
            "{ y = GroupNormalization <num_groups = 2, epsilon = 1e-3> (x, w, b) }")
PASS_KEEPS(scaled_along_the_wrong_axis, "groupnorm_form",
           "g (float[N,4,3,4] x) => (y) <int64[3] in = {0,2,-1}, float[2] one = {1,1}, float[2] zero = {0,0}, "
           "float[4] w = {1,2,3,4}> { r = Reshape(x, in) i = InstanceNormalization(r, one, zero) s = Shape(x) "
           "k = Reshape(i, s) y = Mul(k, w) }")

SUITE(layernorm_form_test)
{
    RUN(by_power);
    RUN(by_product);
    RUN(axis_from_the_front);
    RUN(by_reciprocal);
    RUN(subtracted_twice);
    RUN(without_bias);
    RUN(scale_with_ones);
    RUN(another_axis);
    RUN(read_before_scaling);
    RUN(scale_per_row);
    RUN(groups);
    RUN(groups_without_bias);
    RUN(scaled_along_the_wrong_axis);
    RUN(rms);
    RUN(rms_by_reciprocal);
    RUN(rms_by_power);
    RUN(rms_in_half_precision);
}
