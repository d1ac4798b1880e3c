#include "tests/op_case.h"

OP_CASE(crop_middle, "y = com.microsoft.CropAndResize (x, r, b, s)", IN("float[1,1,3,3] x {0, 1, 2, 3, 4, 5, 6, 7, 8}"),
        IN("float[1,4] r {0, 0, 1, 1}"), IN("int32[1] b {0}"), IN("int32[2] s {1, 2}"), OUT("float[1,1,1,2] y {3, 5}"))
OP_FAILS(crop_item_outside, "y = com.microsoft.CropAndResize (x, r, b, s)", SDX_RUN_FAILED, "batch_indices[0] is 1",
         IN("float[1,1,1,1] x {0}"), IN("float[1,4] r {0, 0, 1, 1}"), IN("int32[1] b {1}"), IN("int32[2] s {1, 1}"))
OP_FAILS(crop_mode, "y = com.microsoft.CropAndResize <mode = \"cubic\"> (x, r, b, s)", SDX_INVALID_MODEL, "mode is",
         IN("float[1,1,1,1] x {0}"), IN("float[1,4] r {0, 0, 1, 1}"), IN("int32[1] b {1}"), IN("int32[2] s {1, 1}"))
OP_CASE(unfold_axis, "y = com.microsoft.UnfoldTensor <size = 2, dim = 0> (x)", IN("int8[3,2] x {1, 2, 3, 4, 5, 6}"),
        OUT("int8[2,2,2] y {1, 3, 2, 4, 3, 5, 4, 6}"))
OP_FAILS(unfold_too_wide, "y = com.microsoft.UnfoldTensor <size = 3> (x)", SDX_INVALID_MODEL, "does not fit",
         IN("float[2] x {1, 2}"))
OP_CASE(inverse_pivots, "y = com.microsoft.Inverse (x)", IN("float[2,2] x {0, 2, 4, 0}"),
        OUT("float[2,2] y {0, 0.25, 0.5, 0}"))
OP_FAILS(inverse_square, "y = com.microsoft.Inverse (x)", SDX_INVALID_MODEL, "not square", IN("float[1,2] x {1, 2}"))
OP_CASE(word_windows, "y = com.microsoft.WordConvEmbedding (x, w, b, c)", IN("int32[2,2] x {1, 1, 0, 0}"),
        IN("float[1,1,1,1] w {1}"), IN("float[1] b {0}"), IN("float[2,1] c {9, 0.5}"),
        OUT("float[2,1] y {0.4621171573, 0}"))
OP_FAILS(word_character, "y = com.microsoft.WordConvEmbedding (x, w, b, c)", SDX_RUN_FAILED, "character 7 is outside",
         IN("int32[1,1] x {7}"), IN("float[1,1,1,1] w {1}"), IN("float[1] b {0}"), IN("float[2,1] c {9, 0.5}"))
OP_CASE(finite_all, "y = com.microsoft.IsAllFinite (a, b)", IN("float[2] a {1, 2}"), IN("float[1] b {3}"),
        OUT("bool y {1}"))
OP_CASE(finite_only_nan, "y = com.microsoft.IsAllFinite <isnan_only = 1> (a)", IN("float[2] a {1, inf}"),
        OUT("bool y {1}"))
OP_CASE(fused_matmul_batch_inside, "y = com.microsoft.FusedMatMul <transBatchA = 1, alpha = 2.0> (a, b)",
        IN("float[2,2,1] a {1, 2, 3, 4}"), IN("float[2,1,1] b {1, 10}"), OUT("float[2,2,1] y {2, 6, 40, 80}"))
OP_FAILS(fused_matmul_sizes, "y = com.microsoft.FusedMatMul <transB = 1> (a, b)", SDX_INVALID_MODEL,
         "inner sizes differ", IN("float[1,2] a {1, 2}"), IN("float[2,1] b {1, 10}"))
OP_CASE(gather_block_zero, "y = com.microsoft.GatherBlockQuantized <bits = 4, block_size = 16> (d, i, s, z)",
        IN("uint8[2,1] d {33, 67}"), IN("int64[1] i {1}"), IN("float[2,1] s {1, 2}"), IN("uint8[2,1] z {0, 1}"),
        OUT("float[1,2] y {4, 6}"))
OP_CASE(gather_block_outside, "y = com.microsoft.GatherBlockQuantized <bits = 8, block_size = 16> (d, i, s)",
        IN("uint8[2,1] d {33, 130}"), IN("int64[3] i {2, -1, -3}"), IN("float[2,1] s {1, 2}"),
        OUT("float[3,1] y {0, 4, 0}"))
OP_FAILS(gather_block_zeros, "y = com.microsoft.GatherBlockQuantized <bits = 8, block_size = 16> (d, i, s, z)",
         SDX_RUN_FAILED, "zero points", IN("uint8[2,1] d {33, 67}"), IN("int64[1] i {1}"), IN("float[2,1] s {1, 2}"),
         IN("uint8[1,1] z {0}"))
OP_FAILS(nbits_short_weights, "y = com.microsoft.MatMulNBits <K = 16, N = 2, block_size = 16> (a, b, s)",
         SDX_INVALID_MODEL, "B has 8 elements; it needs 16",
         IN("float[1,16] a {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}"),
         IN("uint8[1,1,8] b {1, 1, 1, 1, 1, 1, 1, 1}"), IN("float[2] s {1, 2}"))
OP_FAILS(nbits_bits, "y = com.microsoft.MatMulNBits <K = 16, N = 1, block_size = 16, bits = 3> (a, b, s)",
         SDX_INVALID_MODEL, "bits is 3", IN("float[1,16] a {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}"),
         IN("uint8[1,1,8] b {1, 1, 1, 1, 1, 1, 1, 1}"), IN("float[1] s {1}"))
OP_FAILS(skip_shape, "y = com.microsoft.SkipLayerNormalization (x, s, g)", SDX_INVALID_MODEL, "skip does not fit",
         IN("float[2,2,1] x {1, 2, 3, 4}"), IN("float[3,1] s {1, 2, 3}"), IN("float[1] g {1}"))
OP_FAILS(qconcat_triples, "y = com.microsoft.QLinearConcat <axis = 0> (s, z, x)", SDX_INVALID_MODEL, "triples",
         IN("float s {1}"), IN("uint8 z {0}"), IN("uint8[1] x {1}"))

SUITE(contrib_test)
{
    RUN(crop_middle);
    RUN(crop_item_outside);
    RUN(crop_mode);
    RUN(unfold_axis);
    RUN(unfold_too_wide);
    RUN(inverse_pivots);
    RUN(inverse_square);
    RUN(word_windows);
    RUN(word_character);
    RUN(finite_all);
    RUN(finite_only_nan);
    RUN(fused_matmul_batch_inside);
    RUN(fused_matmul_sizes);
    RUN(gather_block_zero);
    RUN(gather_block_outside);
    RUN(gather_block_zeros);
    RUN(nbits_short_weights);
    RUN(nbits_bits);
    RUN(skip_shape);
    RUN(qconcat_triples);
}
