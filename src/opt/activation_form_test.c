#include "tests/pass_case.h"

#define X "g (float[N,8] x) => (y) "

PASS_CASE(gelu_erf, "activation_form",
          X "<float r = {1.41421354}, float one = {1}, float h = {0.5}> "
            "{ d = Div(x, r) e = Erf(d) p = Add(e, one) q = Mul(x, p) y = Mul(q, h) }",
          X "{ y = Gelu(x) }")
PASS_CASE(gelu_half_first, "activation_form",
          X "<float r = {0.70710678}, float one = {1}, float h = {0.5}> "
            "{ a = Mul(x, h) d = Mul(r, x) e = Erf(d) p = Add(one, e) y = Mul(a, p) }",
          X "{ y = Gelu(x) }")
PASS_CASE(gelu_tanh, "activation_form",
          X "<float three = {3}, float k = {0.044715}, float s = {0.79788458}, float one = {1}, float h = {0.5}> "
            "{ c = Pow(x, three) a = Mul(c, k) b = Add(x, a) d = Mul(b, s) t = Tanh(d) p = Add(t, one) q = Mul(x, h) "
            "  y = Mul(q, p) }",
          X "{ y = Gelu <approximate = \"tanh\"> (x) }")
PASS_CASE(gelu_tanh_factored, "activation_form",
          X "<float k = {0.044715}, float s = {0.79788458}, float one = {1}, float h = {0.5}> "
            "{ c = Mul(x, x) a = Mul(k, c) b = Add(a, one) u = Mul(x, s) d = Mul(u, b) t = Tanh(d) p = Add(t, one) "
            "  q = Mul(x, h)  y = Mul(q, p) }",
          X "{ y = Gelu <approximate = \"tanh\"> (x) }")
PASS_CASE(swish, "activation_form", X "{ s = Sigmoid(x) y = Mul(x, s) }", X "{ y = Swish <alpha = 1.0> (x) }")
PASS_CASE(quick_gelu, "activation_form", X "<float a = {1.702}> { u = Mul(x, a) s = Sigmoid(u) y = Mul(s, x) }",
          X "{ y = Swish <alpha = 1.702> (x) }")
PASS_CASE(mish, "activation_form", X "{ s = Softplus(x) t = Tanh(s) y = Mul(x, t) }", X "{ y = Mish(x) }")
PASS_CASE(mish_from_logarithms, "activation_form",
          X "<float one = {1}> { e = Exp(x) p = Add(e, one) s = Log(p) t = Tanh(s) y = Mul(x, t) }",
          X "{ y = Mish(x) }")
PASS_CASE(softplus, "softplus_form", X "<float one = {1}> { e = Exp(x) p = Add(e, one) y = Log(p) }",
          X "{ y = Softplus(x) }")
PASS_CASE(hardswish, "activation_form",
          X "<float a = {3}, float lo = {0}, float hi = {6}> "
            "{ p = Add(x, a) c = Clip(p, lo, hi) m = Mul(x, c) y = Div(m, hi) }",
          X "{ y = HardSwish(x) }")
PASS_CASE(hardswish_from_gate, "activation_form",
          X "{ g = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) y = Mul(x, g) }", X "{ y = HardSwish(x) }")
PASS_CASE(hardsigmoid, "activation_form",
          X "<float a = {3}, float lo = {0}, float hi = {6}> { p = Add(x, a) c = Clip(p, lo, hi) y = Div(c, hi) }",
          X "{ y = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x) }")

PASS_KEEPS(gate_read_twice, "activation_form", "g (float[N,8] x) => (y, s) { s = Sigmoid(x) y = Mul(x, s) }")
PASS_KEEPS(other_gate, "activation_form", "g (float[N,8] x, float[N,8] z) => (y) { s = Sigmoid(z) y = Mul(x, s) }")
PASS_KEEPS(constant_enlarges, "activation_form",
           "g (float[8] x) => (y) <float[1,1] one = {1}, float r = {0.70710678}, float h = {0.5}> "
           "{ d = Mul(x, r) e = Erf(d) p = Add(e, one) q = Mul(x, p) y = Mul(q, h) }")
PASS_KEEPS(not_a_gelu, "activation_form",
           X "<float r = {0.9}, float one = {1}, float h = {0.5}> "
             "{ d = Mul(x, r) e = Erf(d) p = Add(e, one) q = Mul(x, p) y = Mul(q, h) }")

SUITE(activation_form_test)
{
    RUN(gelu_erf);
    RUN(gelu_half_first);
    RUN(gelu_tanh);
    RUN(gelu_tanh_factored);
    RUN(swish);
    RUN(quick_gelu);
    RUN(mish);
    RUN(mish_from_logarithms);
    RUN(softplus);
    RUN(hardswish);
    RUN(hardswish_from_gate);
    RUN(hardsigmoid);
    RUN(gate_read_twice);
    RUN(other_gate);
    RUN(constant_enlarges);
    RUN(not_a_gelu);
}
