#include "tests/op_case.h"

OP_CASE(rounds_half_to_even_and_saturates, "y = QuantizeLinear(x, s, z)", IN("float[6] x {1, 3, -1000, 1000, 0, nan}"),
        IN("float s {2}"), IN("uint8 z {128}"), OUT("uint8[6] y {128, 130, 0, 255, 128, 0}"))
OP_CASE(one_scale_per_channel, "y = QuantizeLinear <axis = 0> (x, s, z)", IN("float[2,2] x {1, 2, 3, 4}"),
        IN("float[2] s {1, 0.5}"), IN("int8[2] z {0, 10}"), OUT("int8[2,2] y {1, 2, 16, 18}"))
OP_CASE(one_scale_per_column, "y = QuantizeLinear <axis = 1> (x, s)", IN("float[2,2] x {1, 2, 3, 4}"),
        IN("float[2] s {1, 0.5}"), OUT("uint8[2,2] y {1, 4, 3, 8}"))
OP_CASE(one_scale_per_block, "y = QuantizeLinear <axis = 1, block_size = 2, output_dtype = 22> (x, s)",
        IN("float[2,3] x {1, 2, 3, 4, 5, 60}"), IN("float[2,2] s {1, 2, 4, 8}"), OUT("int4[2,3] y {1, 2, 2, 1, 1, 7}"))
OP_CASE(blocks_along_the_first_axis, "y = DequantizeLinear <axis = 0, block_size = 2> (x, s, z)",
        IN("int8[3,2] x {1, 2, 3, 4, 5, 6}"), IN("float[2,2] s {1, 10, 100, 1000}"), IN("int8[2,2] z {0, 1, 0, 1}"),
        OUT("float[3,2] y {1, 10, 3, 30, 500, 5000}"))
OP_CASE(to_float8_without_saturation, "y = QuantizeLinear <saturate = 0> (x, s, z)", IN("float[2] x {2, 1000}"),
        IN("float s {1}"), IN("float8e4m3fn[1] z {0}"), OUT("float8e4m3fn[2] y {2, nan}"))
OP_CASE(from_int32_exactly, "y = DequantizeLinear(x, s, z)", IN("int32[1] x {16777217}"), IN("float s {1}"),
        IN("int32 z {16777216}"), OUT("float[1] y {1}"))
OP_CASE(half_scales_give_halves, "y = DequantizeLinear(x, s)", IN("uint2[3] x {0, 1, 3}"), IN("float16 s {0.5}"),
        OUT("float16[3] y {0, 0.5, 1.5}"))
OP_CASE(power_of_two_scales, "y = DequantizeLinear(x, s)", IN("float4e2m1[2] x {1.5, -6}"), IN("float8e8m0 s {4}"),
        OUT("float[2] y {6, -24}"))
OP_CASE(dynamic_covers_zero, "y, s, z = DynamicQuantizeLinear(x)", IN("float[3] x {1, 2, 5.1}"),
        OUT("uint8[3] y {50, 100, 255}"), OUT("float s {0.02}"), OUT("uint8 z {0}"))
OP_CASE(dynamic_of_zeros, "y, s, z = DynamicQuantizeLinear(x)", IN("float[2] x {0, 0}"), OUT("uint8[2] y {0, 0}"),
        OUT("float s {1}"), OUT("uint8 z {0}"))
OP_FAILS(scales_must_fit, "y = QuantizeLinear <axis = 0> (x, s)", SDX_RUN_FAILED, "one for each index",
         IN("float[3] x {1, 2, 3}"), IN("float[2] s {1, 1}"))
OP_FAILS(types_must_agree, "y = QuantizeLinear <output_dtype = 3> (x, s, z)", SDX_INVALID_MODEL,
         "the zero point is of uint8", IN("float[1] x {1}"), IN("float s {1}"), IN("uint8 z {1}"))

SUITE(quantize_test)
{
    RUN(rounds_half_to_even_and_saturates);
    RUN(one_scale_per_channel);
    RUN(one_scale_per_column);
    RUN(one_scale_per_block);
    RUN(blocks_along_the_first_axis);
    RUN(to_float8_without_saturation);
    RUN(from_int32_exactly);
    RUN(half_scales_give_halves);
    RUN(power_of_two_scales);
    RUN(dynamic_covers_zero);
    RUN(dynamic_of_zeros);
    RUN(scales_must_fit);
    RUN(types_must_agree);
}
