#include "tests/op_case.h"

OP_CASE(add_broadcasts_both_ways, "c = Add(a, b)", IN("float[2,1,3] a {1, 2, 3, 4, 5, 6}"), IN("float[2,1] b {10, 20}"),
        OUT("float[2,2,3] c {11, 12, 13, 21, 22, 23, 14, 15, 16, 24, 25, 26}"))
OP_CASE(add_rounds_halves_once, "c = Add(a, b)", IN("float16[2] a {2048, 1}"), IN("float16[1] b {1}"),
        OUT("float16[2] c {2048, 2}"))
OP_CASE(add_of_nothing, "c = Add(a, b)", IN("float[0,3] a {}"), IN("float[3] b {1, 2, 3}"), OUT("float[0,3] c {}"))
OP_CASE(integers_wrap, "c = Add(a, b)", IN("int8[2] a {127, -128}"), IN("int8[2] b {1, -1}"),
        OUT("int8[2] c {-128, 127}"))
OP_CASE(integer_division_has_no_traps, "c = Div(a, b)", IN("int32[4] a {7, -7, 5, -2147483648}"),
        IN("int32[4] b {2, 2, 0, -1}"), OUT("int32[4] c {3, -3, 0, -2147483648}"))
OP_CASE(division_by_zero_is_infinite, "c = Div(a, b)", IN("float[2] a {1, -1}"), IN("float b {0}"),
        OUT("float[2] c {inf, -inf}"))
OP_CASE_AT(add_6_lines_up_at_axis, 6, "c = Add <broadcast = 1, axis = 0> (a, b)", IN("float[2,3] a {1, 2, 3, 4, 5, 6}"),
           IN("float[2] b {10, 20}"), OUT("float[2,3] c {11, 12, 13, 24, 25, 26}"))
OP_CASE(equal_compares_strings, "c = Equal(a, b)", IN("string[3] a {\"x\", \"\", \"yz\"}"),
        IN("string[3] b {\"x\", \"y\", \"yz\"}"), OUT("bool[3] c {1, 0, 1}"))
OP_CASE(less_with_nan_is_false, "c = Less(a, b)", IN("float[3] a {nan, 1, 2}"), IN("float[3] b {1, nan, 3}"),
        OUT("bool[3] c {0, 0, 1}"))
OP_CASE(and_takes_truth_tables, "c = And(a, b)", IN("bool[4] a {0, 0, 1, 1}"), IN("bool[4] b {0, 1, 0, 1}"),
        OUT("bool[4] c {0, 0, 0, 1}"))
OP_CASE(prelu_slope_per_channel, "y = PRelu(x, s)", IN("float[1,2,2] x {-1, 1, -2, 2}"), IN("float[2,1] s {0.5, 0.25}"),
        OUT("float[1,2,2] y {-0.5, 1, -0.5, 2}"))
OP_CASE_AT(prelu_6_slope_is_axis_1, 6, "y = PRelu(x, s)", IN("float[1,2,2] x {-1, 1, -2, 2}"),
           IN("float[2] s {0.5, 0.25}"), OUT("float[1,2,2] y {-0.5, 1, -0.5, 2}"))
OP_FAILS(add_needs_shapes_that_broadcast, "c = Add(a, b)", SDX_INVALID_MODEL, "do not broadcast",
         IN("float[2] a {1, 2}"), IN("float[3] b {1, 2, 3}"))
OP_FAILS(add_needs_one_type, "c = Add(a, b)", SDX_INVALID_MODEL, "has elements of type int32", IN("float[1] a {1}"),
         IN("int32[1] b {1}"))
OP_FAILS(prelu_slope_does_not_widen, "y = PRelu(x, s)", SDX_INVALID_MODEL, "slope", IN("float[2] x {1, 2}"),
         IN("float[3,2] s {1, 2, 3, 4, 5, 6}"))

SUITE(binary_test)
{
    RUN(add_broadcasts_both_ways);
    RUN(add_rounds_halves_once);
    RUN(add_of_nothing);
    RUN(integers_wrap);
    RUN(integer_division_has_no_traps);
    RUN(division_by_zero_is_infinite);
    RUN(add_6_lines_up_at_axis);
    RUN(equal_compares_strings);
    RUN(less_with_nan_is_false);
    RUN(and_takes_truth_tables);
    RUN(prelu_slope_per_channel);
    RUN(prelu_6_slope_is_axis_1);
    RUN(add_needs_shapes_that_broadcast);
    RUN(add_needs_one_type);
    RUN(prelu_slope_does_not_widen);
}
