#include "tests/op_case.h"

OP_CASE(relu_keeps_nan, "y = Relu(x)", IN("float[5] x {-1, 0, 2, nan, -inf}"), OUT("float[5] y {0, 0, 2, nan, 0}"))
OP_CASE(relu_of_integers, "y = Relu(x)", IN("int8[3] x {-128, 0, 127}"), OUT("int8[3] y {0, 0, 127}"))
OP_CASE(abs_of_the_least_integer_wraps, "y = Abs(x)", IN("int16[3] x {-32768, -5, 7}"),
        OUT("int16[3] y {-32768, 5, 7}"))
OP_CASE(abs_of_unsigned, "y = Abs(x)", IN("uint8[2] x {255, 1}"), OUT("uint8[2] y {255, 1}"))
OP_CASE(neg_of_integers, "y = Neg(x)", IN("int64[3] x {-9223372036854775808, 1, 0}"),
        OUT("int64[3] y {-9223372036854775808, -1, 0}"))
OP_CASE(sign_of_integers, "y = Sign(x)", IN("int32[3] x {-7, 0, 9}"), OUT("int32[3] y {-1, 0, 1}"))
OP_CASE(round_is_half_to_even, "y = Round(x)", IN("float[6] x {0.5, 1.5, 2.5, -0.5, -1.5, 0.4}"),
        OUT("float[6] y {0, 2, 2, 0, -2, 0}"))
OP_CASE(exp_of_bfloat16, "y = Exp(x)", IN("bfloat16[2] x {0, 1}"), OUT("bfloat16[2] y {1, 2.71875}"))
OP_CASE(sigmoid_of_doubles, "y = Sigmoid(x)", IN("double[2] x {0, 2}"), OUT("double[2] y {0.5, 0.88079707797788243}"))
OP_CASE(bitwise_not, "y = BitwiseNot(x)", IN("uint16[2] x {0, 65535}"), OUT("uint16[2] y {65535, 0}"))
OP_CASE(not_of_bools, "y = Not(x)", IN("bool[2] x {0, 1}"), OUT("bool[2] y {1, 0}"))
OP_CASE(isinf_one_side, "y = IsInf <detect_negative = 0> (x)", IN("float[3] x {inf, -inf, nan}"),
        OUT("bool[3] y {1, 0, 0}"))
OP_CASE(isnan_of_halves, "y = IsNaN(x)", IN("float16[2] x {nan, 1}"), OUT("bool[2] y {1, 0}"))
OP_CASE(gelu_tanh, "y = Gelu <approximate = \"tanh\"> (x)", IN("float[2] x {1, -1}"),
        OUT("float[2] y {0.841191991, -0.158808009}"))
OP_CASE(shrink_of_integers, "y = Shrink <lambd = 1.5, bias = 1.0> (x)", IN("int32[4] x {-3, -1, 1, 3}"),
        OUT("int32[4] y {-2, 0, 0, 2}"))
OP_CASE_AT(selu_1_has_short_constants, 1, "y = Selu(x)", IN("float[1] x {1}"), OUT("float[1] y {1.0507}"))
OP_CASE(swish_with_alpha, "y = Swish <alpha = 2.0> (x)", IN("float[2] x {1, 0}"), OUT("float[2] y {0.880797078, 0}"))
OP_FAILS(gelu_knows_two_ways, "y = Gelu <approximate = \"no\"> (x)", SDX_INVALID_MODEL, "neither none nor tanh",
         IN("float[1] x {1}"))
OP_FAILS(unknown_attributes_are_refused, "y = Relu <slope = 1> (x)", SDX_INVALID_MODEL, "slope", IN("float[1] x {1}"))

OP_CASE(clip_both, "y = Clip(x, a, b)", IN("float[4] x {-3, 0.5, 3, nan}"), IN("float a {-1}"), IN("float b {1}"),
        OUT("float[4] y {-1, 0.5, 1, nan}"))
OP_CASE(clip_to_max_when_bounds_cross, "y = Clip(x, a, b)", IN("float[2] x {0, 9}"), IN("float a {5}"),
        IN("float b {2}"), OUT("float[2] y {2, 2}"))
OP_CASE(clip_integers_from_above, "y = Clip(x, \"\", b)", IN("int8[3] x {-100, 0, 100}"), IN("int8 b {10}"),
        OUT("int8[3] y {-100, 0, 10}"))
OP_CASE(clip_nothing, "y = Clip(x)", IN("uint16[2] x {1, 65535}"), OUT("uint16[2] y {1, 65535}"))
OP_CASE(clip_halves, "y = Clip(x, a, b)", IN("float16[3] x {-3, 0.5, 3}"), IN("float16 a {-1}"), IN("float16 b {1}"),
        OUT("float16[3] y {-1, 0.5, 1}"))
OP_CASE_AT(clip_6_has_attributes, 6, "y = Clip <min = -1.0, max = 1.0> (x)", IN("float[3] x {-3, 0.5, 3}"),
           OUT("float[3] y {-1, 0.5, 1}"))
OP_FAILS(clip_needs_scalars, "y = Clip(x, a)", SDX_INVALID_MODEL, "min must be a scalar", IN("float[2] x {1, 2}"),
         IN("float[2] a {1, 2}"))
OP_CASE_AT(erf_9_truncates_integers, 9, "y = Erf(x)", IN("int32[3] x {-3, 0, 1}"), OUT("int32[3] y {0, 0, 0}"))

SUITE(unary_test)
{
    RUN(erf_9_truncates_integers);
    RUN(relu_keeps_nan);
    RUN(relu_of_integers);
    RUN(abs_of_the_least_integer_wraps);
    RUN(abs_of_unsigned);
    RUN(neg_of_integers);
    RUN(sign_of_integers);
    RUN(round_is_half_to_even);
    RUN(exp_of_bfloat16);
    RUN(sigmoid_of_doubles);
    RUN(bitwise_not);
    RUN(not_of_bools);
    RUN(isinf_one_side);
    RUN(isnan_of_halves);
    RUN(gelu_tanh);
    RUN(shrink_of_integers);
    RUN(selu_1_has_short_constants);
    RUN(swish_with_alpha);
    RUN(gelu_knows_two_ways);
    RUN(unknown_attributes_are_refused);
    RUN(clip_both);
    RUN(clip_to_max_when_bounds_cross);
    RUN(clip_integers_from_above);
    RUN(clip_nothing);
    RUN(clip_halves);
    RUN(clip_6_has_attributes);
    RUN(clip_needs_scalars);
}
