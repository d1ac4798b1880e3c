#include "tests/op_case.h"

OP_CASE(floats_truncate, "y = Cast <to = 6> (x)", IN("float[4] x {1.9, -1.9, 0.5, nan}"),
        OUT("int32[4] y {1, -1, 0, 0}"))
OP_CASE(integers_keep_their_low_bits, "y = Cast <to = 2> (x)", IN("int32[3] x {256, -1, 511}"),
        OUT("uint8[3] y {0, 255, 255}"))
OP_CASE(anything_but_zero_is_true, "y = Cast <to = 9> (x)", IN("float[4] x {0, -0.0, 0.1, nan}"),
        OUT("bool[4] y {0, 0, 1, 1}"))
OP_CASE(doubles_round_once_to_halves, "y = Cast <to = 10> (x)", IN("double[1] x {1.0004882812500002}"),
        OUT("float16[1] y {1.0009765625}"))
OP_CASE(four_bits_pack_in_pairs, "y = Cast <to = 22> (x)", IN("float[5] x {-8, 7, 8, -9, 3}"),
        OUT("int4[5] y {-8, 7, -8, 7, 3}"))
OP_CASE(shortest_decimals, "y = Cast <to = 8> (x)", IN("float[5] x {0.1, 1000000, nan, inf, -inf}"),
        OUT("string[5] y {\"0.1\", \"1e+06\", \"NaN\", \"INF\", \"-INF\"}"))
OP_CASE(strings_to_integers, "y = Cast <to = 7> (x)", IN("string[3] x {\"9007199254740993\", \"-2\", \"1e3\"}"),
        OUT("int64[3] y {9007199254740993, -2, 1000}"))
OP_CASE(cast_like_takes_the_type, "y = CastLike(x, t)", IN("int32[2] x {1, 2}"), IN("double[0] t {}"),
        OUT("double[2] y {1, 2}"))
OP_CASE(bits_stay, "y = BitCast <to = 6> (x)", IN("float[2] x {1, -0.0}"), OUT("int32[2] y {1065353216, -2147483648}"))
OP_CASE_AT(cast_1_names_the_type, 1, "y = Cast <to = \"INT64\"> (x)", IN("float[2] x {1.5, 2}"),
           OUT("int64[2] y {1, 2}"))
OP_CASE_AT(cast_21_saturates_in_four_bits, 21, "y = Cast <to = 22> (x)", IN("float16[4] x {-9, 7.5, 8, 100}"),
           OUT("int4[4] y {-8, 7, 7, 7}"))
OP_CASE_AT(cast_23_saturates_in_four_bits, 23, "y = CastLike (x, t)", IN("float[4] x {-9, 7, 15.5, 16}"),
           IN("uint4[1] t {0}"), OUT("uint4[4] y {0, 7, 15, 15}"))
OP_CASE_AT(cast_23_integers_keep_their_low_bits, 23, "y = Cast <to = 22> (x)", IN("int32[2] x {-9, 8}"),
           OUT("int4[2] y {7, -8}"))
OP_CASE_AT(cast_23_makes_nan_the_largest_float4, 23, "y = Cast <to = 23> (x)", IN("float[3] x {nan, -inf, 1.5}"),
           OUT("float4e2m1[3] y {6, -6, 1.5}"))
OP_FAILS(words_are_no_numbers, "y = Cast <to = 1> (x)", SDX_RUN_FAILED, "\"one\", is not a number",
         IN("string[1] x {\"one\"}"))
OP_FAILS(cast_needs_a_type, "y = Cast <to = 99> (x)", SDX_INVALID_MODEL, "to = 99", IN("float[1] x {1}"))
OP_FAILS(bitcast_needs_one_width, "y = BitCast <to = 7> (x)", SDX_INVALID_MODEL, "differ in width",
         IN("float[1] x {1}"))

SUITE(cast_test)
{
    RUN(floats_truncate);
    RUN(integers_keep_their_low_bits);
    RUN(anything_but_zero_is_true);
    RUN(doubles_round_once_to_halves);
    RUN(four_bits_pack_in_pairs);
    RUN(shortest_decimals);
    RUN(strings_to_integers);
    RUN(cast_like_takes_the_type);
    RUN(bits_stay);
    RUN(cast_1_names_the_type);
    RUN(cast_21_saturates_in_four_bits);
    RUN(cast_23_saturates_in_four_bits);
    RUN(cast_23_integers_keep_their_low_bits);
    RUN(cast_23_makes_nan_the_largest_float4);
    RUN(words_are_no_numbers);
    RUN(cast_needs_a_type);
    RUN(bitcast_needs_one_width);
}
