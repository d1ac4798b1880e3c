/* The operators that move elements. */
#include "tests/op_case.h"

OP_CASE(reshape_copies_and_infers, "y = Reshape(x, s)", IN("int32[2,3] x {1, 2, 3, 4, 5, 6}"),
        IN("int64[3] s {0, -1, 1}"), OUT("int32[2,3,1] y {1, 2, 3, 4, 5, 6}"))
OP_CASE(reshape_keeps_packed_types, "y = Reshape(x, s)", IN("int4[3] x {1, -2, 3}"), IN("int64[2] s {3, 1}"),
        OUT("int4[3,1] y {1, -2, 3}"))
OP_CASE(reshape_of_nothing, "y = Reshape <allowzero = 1> (x, s)", IN("float[0,3] x {}"), IN("int64[2] s {7, 0}"),
        OUT("float[7,0] y {}"))
OP_CASE_AT(reshape_1_has_an_attribute, 1, "y = Reshape <shape = [3, 2]> (x)", IN("float[2,3] x {1, 2, 3, 4, 5, 6}"),
           OUT("float[3,2] y {1, 2, 3, 4, 5, 6}"))
OP_FAILS(reshape_counts, "y = Reshape(x, s)", SDX_INVALID_MODEL, "4 elements, the input 6",
         IN("float[2,3] x {1, 2, 3, 4, 5, 6}"), IN("int64[2] s {2, 2}"))
OP_CASE(flatten_at_zero, "y = Flatten <axis = 0> (x)", IN("uint8[2,2] x {1, 2, 3, 4}"),
        OUT("uint8[1,4] y {1, 2, 3, 4}"))
OP_CASE(squeeze_all, "y = Squeeze(x)", IN("float[1,2,1] x {1, 2}"), OUT("float[2] y {1, 2}"))
OP_CASE_AT(squeeze_11_has_an_attribute, 11, "y = Squeeze <axes = [-1]> (x)", IN("float[1,2,1] x {1, 2}"),
           OUT("float[1,2] y {1, 2}"))
OP_FAILS(squeeze_needs_ones, "y = Squeeze(x, a)", SDX_INVALID_MODEL, "has size 2, not 1", IN("float[1,2] x {1, 2}"),
         IN("int64[1] a {1}"))
OP_CASE(unsqueeze_front_and_back, "y = Unsqueeze(x, a)", IN("float[2] x {1, 2}"), IN("int64[2] a {-1, 0}"),
        OUT("float[1,2,1] y {1, 2}"))
OP_CASE(shape_of_a_slice, "y = Shape <start = -2, end = -1> (x)", IN("float[1,2,3] x {1, 2, 3, 4, 5, 6}"),
        OUT("int64[1] y {2}"))

OP_CASE(transpose_reverses, "y = Transpose(x)", IN("int16[2,3] x {1, 2, 3, 4, 5, 6}"),
        OUT("int16[3,2] y {1, 4, 2, 5, 3, 6}"))
OP_CASE(transpose_packed, "y = Transpose <perm = [1, 0]> (x)", IN("uint4[3,2] x {1, 2, 3, 4, 5, 6}"),
        OUT("uint4[2,3] y {1, 3, 5, 2, 4, 6}"))
OP_CASE(transpose_strings, "y = Transpose(x)", IN("string[2,2] x {\"a\", \"b\", \"c\", \"d\"}"),
        OUT("string[2,2] y {\"a\", \"c\", \"b\", \"d\"}"))
OP_FAILS(transpose_names_each_axis_once, "y = Transpose <perm = [0, 0]> (x)", SDX_INVALID_MODEL, "twice",
         IN("float[1,2] x {1, 2}"))
OP_CASE(concat_in_the_middle, "y = Concat <axis = 1> (a, b)", IN("int8[2,1] a {1, 2}"), IN("int8[2,2] b {3, 4, 5, 6}"),
        OUT("int8[2,3] y {1, 3, 4, 2, 5, 6}"))
OP_CASE(concat_with_nothing, "y = Concat <axis = 0> (a, b)", IN("float[0] a {}"), IN("float[2] b {3, 4}"),
        OUT("float[2] y {3, 4}"))
OP_FAILS(concat_needs_one_rank, "y = Concat <axis = 0> (a, b)", SDX_INVALID_MODEL, "rank", IN("float[1] a {1}"),
         IN("float[1,1] b {3}"))
OP_CASE(split_in_uneven_parts, "a, b = Split <axis = 1, num_outputs = 2> (x)", IN("float[2,3] x {1, 2, 3, 4, 5, 6}"),
        OUT("float[2,2] a {1, 2, 4, 5}"), OUT("float[2,1] b {3, 6}"))
OP_CASE_AT(split_2_has_an_attribute, 2, "a, b = Split <split = [1, 2]> (x)", IN("float[3] x {1, 2, 3}"),
           OUT("float[1] a {1}"), OUT("float[2] b {2, 3}"))
OP_CASE(slice_backwards, "y = Slice(x, s, e, a, t)", IN("float[2,4] x {1, 2, 3, 4, 5, 6, 7, 8}"), IN("int64[1] s {-1}"),
        IN("int64[1] e {-9223372036854775808}"), IN("int64[1] a {1}"), IN("int64[1] t {-2}"),
        OUT("float[2,2] y {4, 2, 8, 6}"))
OP_CASE(slice_clamps, "y = Slice(x, s, e)", IN("float[4] x {1, 2, 3, 4}"), IN("int32[1] s {-9}"),
        IN("int32[1] e {100}"), OUT("float[4] y {1, 2, 3, 4}"))
OP_CASE_AT(slice_1_has_attributes, 1, "y = Slice <starts = [1], ends = [3], axes = [0]> (x)",
           IN("float[4] x {1, 2, 3, 4}"), OUT("float[2] y {2, 3}"))
OP_FAILS(slice_needs_a_step, "y = Slice(x, s, e, a, t)", SDX_INVALID_MODEL, "step of axis 0 is 0",
         IN("float[2] x {1, 2}"), IN("int64[1] s {0}"), IN("int64[1] e {2}"), IN("int64[1] a {0}"),
         IN("int64[1] t {0}"))
OP_CASE(expand_both_ways, "y = Expand(x, s)", IN("float[2,1] x {1, 2}"), IN("int64[3] s {2, 1, 2}"),
        OUT("float[2,2,2] y {1, 1, 2, 2, 1, 1, 2, 2}"))
OP_CASE(tile_two_axes, "y = Tile(x, r)", IN("uint8[1,2] x {1, 2}"), IN("int64[2] r {2, 2}"),
        OUT("uint8[2,4] y {1, 2, 1, 2, 1, 2, 1, 2}"))
OP_CASE(depth_to_space_crd, "y = DepthToSpace <blocksize = 2, mode = \"CRD\"> (x)", IN("float[1,4,1,1] x {1, 2, 3, 4}"),
        OUT("float[1,1,2,2] y {1, 2, 3, 4}"))

OP_CASE(gather_counts_from_the_end, "y = Gather <axis = 1> (x, i)", IN("float[2,3] x {1, 2, 3, 4, 5, 6}"),
        IN("int32[2] i {-1, 0}"), OUT("float[2,2] y {3, 1, 6, 4}"))
OP_CASE(gather_with_a_scalar, "y = Gather(x, i)", IN("int64[3] x {5, 6, 7}"), IN("int64 i {1}"), OUT("int64 y {6}"))
OP_FAILS(gather_checks_indices, "y = Gather(x, i)", SDX_INVALID_MODEL, "index 3 is outside [-3, 3)",
         IN("int64[3] x {5, 6, 7}"), IN("int64 i {3}"))
OP_FAILS(gather_checks_indices_when_run, "y = Gather(x, i)", SDX_RUN_FAILED, "index 3 at position 0 is outside [-3, 3)",
         IN("float[3] x {5, 6, 7}"), IN("int64 i {3}"))
OP_CASE(gather_elements, "y = GatherElements <axis = 1> (x, i)", IN("float[2,2] x {1, 2, 3, 4}"),
        IN("int64[2,1] i {1, -2}"), OUT("float[2,1] y {2, 3}"))
OP_CASE(gather_nd_in_batches, "y = GatherND <batch_dims = 1> (x, i)", IN("int32[2,2] x {1, 2, 3, 4}"),
        IN("int64[2,1] i {1, 0}"), OUT("int32[2] y {2, 3}"))
OP_CASE(scatter_elements_adds_in_order, "y = ScatterElements <reduction = \"add\"> (x, i, u)",
        IN("float16[2] x {1, 2}"), IN("int64[3] i {0, 0, 1}"), IN("float16[3] u {10, 20, 30}"),
        OUT("float16[2] y {31, 32}"))
OP_CASE(scatter_nd_takes_the_last, "y = ScatterND(x, i, u)", IN("int8[3] x {1, 2, 3}"), IN("int64[2,1] i {-1, 2}"),
        IN("int8[2] u {7, 9}"), OUT("int8[3] y {1, 2, 9}"))
OP_CASE(tensor_scatter_wraps, "y = TensorScatter <mode = \"circular\", axis = 1> (x, u, w)",
        IN("float[1,3,1] x {1, 2, 3}"), IN("float[1,2,1] u {8, 9}"), IN("int64[1] w {2}"),
        OUT("float[1,3,1] y {9, 2, 8}"))

OP_CASE(pad_reflects_many_times, "y = Pad <mode = \"reflect\"> (x, p)", IN("float[3] x {1, 2, 3}"),
        IN("int64[2] p {5, 0}"), OUT("float[8] y {2, 1, 2, 3, 2, 1, 2, 3}"))
OP_CASE(pad_wraps, "y = Pad <mode = \"wrap\"> (x, p)", IN("int4[3] x {1, 2, 3}"), IN("int64[2] p {2, 1}"),
        OUT("int4[6] y {2, 3, 1, 2, 3, 1}"))
OP_CASE(pad_crops_one_side, "y = Pad(x, p, v)", IN("int32[2,2] x {1, 2, 3, 4}"), IN("int64[4] p {-1, 0, 0, 1}"),
        IN("int32 v {9}"), OUT("int32[1,3] y {3, 4, 9}"))
OP_CASE(pad_named_axes, "y = Pad <mode = \"edge\"> (x, p, \"\", a)", IN("float[1,2] x {1, 2}"), IN("int64[2] p {1, 1}"),
        IN("int32[1] a {-1}"), OUT("float[1,4] y {1, 1, 2, 2}"))
OP_CASE_AT(pad_1_says_paddings, 1, "y = Pad <paddings = [1, 0], value = 5.0> (x)", IN("float[1] x {1}"),
           OUT("float[2] y {5, 1}"))

OP_CASE(constant_of_shape_packed, "y = ConstantOfShape <value = int2[1] {-1}> (s)", IN("int64[1] s {5}"),
        OUT("int2[5] y {-1, -1, -1, -1, -1}"))
OP_CASE(range_down, "y = Range(a, b, d)", IN("int16 a {5}"), IN("int16 b {0}"), IN("int16 d {-2}"),
        OUT("int16[3] y {5, 3, 1}"))
OP_CASE(range_of_nothing, "y = Range(a, b, d)", IN("float a {5}"), IN("float b {0}"), IN("float d {2}"),
        OUT("float[0] y {}"))
OP_CASE(eye_above, "y = EyeLike <k = 1, dtype = 6> (x)", IN("float[2,3] x {0, 0, 0, 0, 0, 0}"),
        OUT("int32[2,3] y {0, 1, 0, 0, 0, 1}"))
OP_CASE(one_hot_first_axis, "y = OneHot <axis = 0> (i, d, v)", IN("int64[2] i {-1, 0}"), IN("int64 d {3}"),
        IN("float[2] v {0, 5}"), OUT("float[3,2] y {0, 5, 0, 0, 5, 0}"))
OP_CASE(trilu_lower, "y = Trilu <upper = 0> (x, k)", IN("float[2,2] x {1, 2, 3, 4}"), IN("int64 k {-1}"),
        OUT("float[2,2] y {0, 0, 3, 0}"))
OP_CASE(nonzero_by_rows, "y = NonZero(x)", IN("float[2,2] x {0, nan, 0.0, -1}"), OUT("int64[2,2] y {0, 1, 1, 1}"))
OP_CASE(compress_flat, "y = Compress(x, c)", IN("float[2,2] x {1, 2, 3, 4}"), IN("bool[3] c {1, 0, 1}"),
        OUT("float[2] y {1, 3}"))
OP_CASE(unique_in_order_of_appearance, "y, i, r, c = Unique <sorted = 0> (x)", IN("int32[5] x {7, 3, 7, 1, 3}"),
        OUT("int32[3] y {7, 3, 1}"), OUT("int64[3] i {0, 1, 3}"), OUT("int64[5] r {0, 1, 0, 2, 1}"),
        OUT("int64[3] c {2, 2, 1}"))
OP_CASE(unique_columns, "y = Unique <axis = 1> (x)", IN("float[2,3] x {2, 1, 2, 4, 3, 4}"),
        OUT("float[2,2] y {1, 2, 3, 4}"))
OP_CASE(reverse_sequence, "y = ReverseSequence <batch_axis = 0, time_axis = 1> (x, l)",
        IN("float[2,3] x {1, 2, 3, 4, 5, 6}"), IN("int64[2] l {2, 3}"), OUT("float[2,3] y {2, 1, 3, 6, 5, 4}"))
OP_CASE(cumsum_backwards_without_itself, "y = CumSum <exclusive = 1, reverse = 1> (x, a)", IN("int32[3] x {1, 2, 3}"),
        IN("int32 a {0}"), OUT("int32[3] y {5, 3, 0}"))
OP_CASE(cumprod_of_halves, "y = CumProd(x, a)", IN("float16[3] x {1, 2, 3}"), IN("int64 a {-1}"),
        OUT("float16[3] y {1, 2, 6}"))
OP_CASE(where_picks, "y = Where(c, a, b)", IN("bool[2,1] c {1, 0}"), IN("string[2] a {\"a\", \"b\"}"),
        IN("string b {\"z\"}"), OUT("string[2,2] y {\"a\", \"b\", \"z\", \"z\"}"))
OP_CASE(dropout_in_inference, "y, m = Dropout(x)", IN("float[2] x {1, 2}"), OUT("float[2] y {1, 2}"),
        OUT("bool[2] m {1, 1}"))
OP_CASE_AT(dropout_7_mask_is_float, 7, "y, m = Dropout <ratio = 0.3> (x)", IN("float[2] x {1, 2}"),
           OUT("float[2] y {1, 2}"), OUT("float[2] m {1, 1}"))

SUITE(move_test)
{
    RUN(reshape_copies_and_infers);
    RUN(reshape_keeps_packed_types);
    RUN(reshape_of_nothing);
    RUN(reshape_1_has_an_attribute);
    RUN(reshape_counts);
    RUN(flatten_at_zero);
    RUN(squeeze_all);
    RUN(squeeze_11_has_an_attribute);
    RUN(squeeze_needs_ones);
    RUN(unsqueeze_front_and_back);
    RUN(shape_of_a_slice);
    RUN(transpose_reverses);
    RUN(transpose_packed);
    RUN(transpose_strings);
    RUN(transpose_names_each_axis_once);
    RUN(concat_in_the_middle);
    RUN(concat_with_nothing);
    RUN(concat_needs_one_rank);
    RUN(split_in_uneven_parts);
    RUN(split_2_has_an_attribute);
    RUN(slice_backwards);
    RUN(slice_clamps);
    RUN(slice_1_has_attributes);
    RUN(slice_needs_a_step);
    RUN(expand_both_ways);
    RUN(tile_two_axes);
    RUN(depth_to_space_crd);
    RUN(gather_counts_from_the_end);
    RUN(gather_with_a_scalar);
    RUN(gather_checks_indices);
    RUN(gather_checks_indices_when_run);
    RUN(gather_elements);
    RUN(gather_nd_in_batches);
    RUN(scatter_elements_adds_in_order);
    RUN(scatter_nd_takes_the_last);
    RUN(tensor_scatter_wraps);
    RUN(pad_reflects_many_times);
    RUN(pad_wraps);
    RUN(pad_crops_one_side);
    RUN(pad_named_axes);
    RUN(pad_1_says_paddings);
    RUN(constant_of_shape_packed);
    RUN(range_down);
    RUN(range_of_nothing);
    RUN(eye_above);
    RUN(one_hot_first_axis);
    RUN(trilu_lower);
    RUN(nonzero_by_rows);
    RUN(compress_flat);
    RUN(unique_in_order_of_appearance);
    RUN(unique_columns);
    RUN(reverse_sequence);
    RUN(cumsum_backwards_without_itself);
    RUN(cumprod_of_halves);
    RUN(where_picks);
    RUN(dropout_in_inference);
    RUN(dropout_7_mask_is_float);
}
