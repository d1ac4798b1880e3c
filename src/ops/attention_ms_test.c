#include "tests/op_case.h"

#define MS "com.microsoft."

/* Weights of one: queries, keys and values are the input. */
OP_CASE(ms_attention_lengths, "y = " MS "Attention <num_heads = 1, scale = 0.000000001> (x, w, b, m)",
        IN("float[1,3,1] x {3, 6, 12}"), IN("float[1,3] w {1, 1, 1}"), IN("float[3] b {0, 0, 1}"), IN("int32[1] m {2}"),
        OUT("float[1,3,1] y {5.5, 5.5, 5.5}"))
OP_CASE(ms_attention_causal_past,
        "y, p = " MS "Attention <num_heads = 1, scale = 0.000001, unidirectional = 1> (x, w, b, \"\", h)",
        IN("float[1,2,1] x {3, 6}"), IN("float[1,3] w {0, 1, 1}"), IN("float[3] b {0, 0, 0}"),
        IN("float[2,1,1,1,1] h {7, 1}"), OUT("float[1,2,1] y {2, 3.3333333}"),
        OUT("float[2,1,1,3,1] p {7, 3, 6, 1, 3, 6}"))
OP_FAILS(ms_attention_widths, "y = " MS "Attention <num_heads = 1> (x, w, b)", SDX_INVALID_MODEL,
         "the input is 2 wide, the weights have 1 rows", IN("float[1,1,2] x {3, 6}"), IN("float[1,3] w {1, 1, 1}"),
         IN("float[3] b {0, 0, 0}"))
OP_FAILS(ms_attention_heads, "y = " MS "Attention <num_heads = 2> (x, w, b)", SDX_INVALID_MODEL,
         "which 2 heads do not divide", IN("float[1,1,1] x {3}"), IN("float[1,3] w {1, 1, 1}"),
         IN("float[3] b {0, 0, 0}"))
OP_FAILS(ms_attention_rotary, "y = " MS "Attention <num_heads = 1, do_rotary = 1> (x, w, b)", SDX_INVALID_MODEL,
         "do_rotary is not supported", IN("float[1,1,1] x {3}"), IN("float[1,3] w {1, 1, 1}"),
         IN("float[3] b {0, 0, 0}"))

/* [batch, rows, heads, 3, size]: each head's query, key and value side by side. */
OP_CASE(ms_multihead_packed, "y = " MS "MultiHeadAttention <num_heads = 2> (q)",
        IN("float[1,2,2,3,1] q {0, 5, 1, 0, 6, 10, 0, 7, 3, 0, 8, 30}"), OUT("float[1,2,2] y {2, 20, 2, 20}"))
OP_CASE(ms_multihead_packed_keys, "y = " MS "MultiHeadAttention <num_heads = 2> (q, k)", IN("float[1,1,2] q {0, 0}"),
        IN("float[1,2,2,2,1] k {5, 1, 6, 10, 7, 3, 8, 30}"), OUT("float[1,1,2] y {2, 20}"))
OP_CASE(ms_multihead_bias_of_ready_keys, "y = " MS "MultiHeadAttention <num_heads = 1, scale = 1.0> (q, k, v, b)",
        IN("float[1,1,1] q {0}"), IN("float[1,1,2,1] k {0, 1}"), IN("float[1,1,2,1] v {1, 2}"),
        IN("float[3] b {100, 50, 50}"), OUT("float[1,1,1] y {2}"))
OP_FAILS(ms_multihead_key_alone, "y = " MS "MultiHeadAttention <num_heads = 1> (q, k)", SDX_INVALID_MODEL,
         "there is a key without a value", IN("float[1,1,1] q {0}"), IN("float[1,1,1] k {0}"))

/* Two beams: the second continues the first's only key. */
OP_CASE(ms_decoder_beams,
        "y, pk, pv = " MS "DecoderMaskedMultiHeadAttention <num_heads = 1> "
        "(q, k, v, \"\", \"\", ck, cv, n, w, i)",
        IN("float[2,1,1] q {0, 0}"), IN("float[2,1,1] k {1, 2}"), IN("float[2,1,1] v {3, 4}"),
        IN("float[2,1,3,1] ck {0, 0, 9, 0, 0, 9}"), IN("float[2,1,3,1] cv {5, 0, 9, 7, 0, 9}"), IN("int32[1] n {1}"),
        IN("int32[1] w {2}"), IN("int32[1,2,3] i {0, 0, 0, 0, 0, 0}"), OUT("float[2,1,1] y {4, 4.5}"),
        OUT("float[2,1,3,1] pk {0, 1, 9, 0, 2, 9}"), OUT("float[2,1,3,1] pv {5, 3, 9, 7, 4, 9}"))
OP_FAILS(ms_decoder_full,
         "y, pk, pv = " MS "DecoderMaskedMultiHeadAttention <num_heads = 1> (q, k, v, \"\", \"\", ck, cv, n)",
         SDX_RUN_FAILED, "past_sequence_length is 2; with 1 new keys it must lie in [0, 1]", IN("float[1,1,1] q {0}"),
         IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {3}"), IN("float[1,1,2,1] ck {0, 0}"),
         IN("float[1,1,2,1] cv {0, 0}"), IN("int32[1] n {2}"))

OP_CASE(ms_quantized, "y = " MS "QAttention <num_heads = 1, scale = 0.000001> (x, w, b, s, t, \"\", z)",
        IN("uint8[1,2,1] x {12, 16}"), IN("int8[1,3] w {0, 0, 2}"), IN("float[3] b {0, 0, 0}"), IN("float s {0.5}"),
        IN("float t {2}"), IN("uint8 z {10}"), OUT("float[1,2,1] y {8, 8}"))

#define GROUP MS "GroupQueryAttention <num_heads = 2, kv_num_heads = 1>"
OP_CASE(ms_group_of_two, "y, pk, pv = " GROUP " (q, k, v, ck, cv, n, t)", IN("float[1,1,2] q {0, 100}"),
        IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("float[1,1,1,1] ck {0}"), IN("float[1,1,1,1] cv {2}"),
        IN("int32[1] n {1}"), IN("int32[1] t {2}"), OUT("float[1,1,2] y {3, 4}"), OUT("float[1,1,2,1] pk {0, 1}"),
        OUT("float[1,1,2,1] pv {2, 4}"))
OP_CASE(ms_group_packed_unasked, "y = " GROUP " (q, \"\", \"\", \"\", \"\", n, t)",
        IN("float[1,2,4] q {0, 0, 1, 2, 0, 0, 1, 4}"), IN("int32[1] n {1}"), IN("int32[1] t {2}"),
        OUT("float[1,2,2] y {2, 2, 3, 3}"))
OP_CASE(ms_group_norm,
        "y = " MS "GroupQueryAttention <num_heads = 1, kv_num_heads = 1, scale = 1.0> "
        "(q, k, v, ck, cv, n, t, \"\", \"\", \"\", \"\", \"\", \"\", \"\", wq, wk)",
        IN("float[1,1,1] q {9}"), IN("float[1,1,1] k {5}"), IN("float[1,1,1] v {3}"), IN("float[1,1,1,1] ck {0}"),
        IN("float[1,1,1,1] cv {0}"), IN("int32[1] n {1}"), IN("int32[1] t {2}"), IN("float[1] wq {0.5}"),
        IN("float[1] wk {1.3862943611}"), OUT("float[1,1,1] y {2}"))
OP_FAILS(ms_group_lengths, "y = " GROUP " (q, k, v, \"\", \"\", n, t)", SDX_RUN_FAILED, "row 0 of the batch has 5 keys",
         IN("float[1,1,2] q {0, 0}"), IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("int32[1] n {4}"),
         IN("int32[1] t {1}"))
OP_FAILS(ms_group_absurd_total, "y = " GROUP " (q, k, v, \"\", \"\", n, t)", SDX_RUN_FAILED,
         "total_sequence_length is 2147483647; there are 0 past rows and 1 new ones", IN("float[1,1,2] q {0, 0}"),
         IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("int32[1] n {0}"), IN("int32[1] t {2147483647}"))
/* Outputs that nobody asks for. */
OP_CASE(ms_group_cache_alone, "\"\", pk = " GROUP " (q, k, v, \"\", \"\", n, t)", IN("float[1,1,2] q {0, 0}"),
        IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("int32[1] n {0}"), IN("int32[1] t {1}"),
        OUT("float[1,1,1,1] pk {1}"))
OP_CASE(ms_causal_conv_output_alone, "y = " MS "CausalConvWithState (x, w)", IN("float[1,1,2] x {1, 2}"),
        IN("float[1,1,2] w {10, 1}"), OUT("float[1,1,2] y {1, 12}"))
OP_CASE(ms_linear_state_alone,
        "\"\", s = " MS "LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\"> (q, k, v)",
        IN("float[1,1,1] q {1}"), IN("float[1,1,1] k {3}"), IN("float[1,1,1] v {2}"), OUT("float[1,1,1,1] s {6}"))
#define QUANT "k_quant_type = \"PER_TENSOR\", v_quant_type = \"PER_TENSOR\""
/* Two halves of a byte: 4 bits and an offset of 8. */
OP_CASE(ms_group_four_bits,
        "y, pk, pv = " MS "GroupQueryAttention <num_heads = 1, kv_num_heads = 1, " QUANT "> "
        "(q, k, v, ck, cv, n, t, \"\", \"\", \"\", \"\", \"\", ks, vs)",
        IN("float[1,1,2] q {0, 0}"), IN("float[1,1,2] k {1, -9}"), IN("float[1,1,2] v {3.2, 1}"),
        IN("uint8[1,1,1,1] ck {136}"), IN("uint8[1,1,1,1] cv {160}"), IN("int32[1] n {1}"), IN("int32[1] t {2}"),
        IN("float[1] ks {1}"), IN("float[1] vs {0.5}"), OUT("float[1,1,2] y {-0.5, 1}"),
        OUT("uint8[1,1,2,1] pk {136, 9}"), OUT("uint8[1,1,2,1] pv {160, 174}"))
OP_FAILS(ms_group_codes_without_type, "y = " GROUP " (q, k, v, ck, cv, n, t)", SDX_INVALID_MODEL,
         "k_quant_type NONE and v_quant_type NONE do not go with a past of type int8", IN("float[1,1,2] q {0, 0}"),
         IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("int8[1,1,1,1] ck {0}"), IN("int8[1,1,1,1] cv {0}"),
         IN("int32[1] n {1}"), IN("int32[1] t {2}"))
OP_FAILS(ms_group_codes_without_scale,
         "y = " MS "GroupQueryAttention <num_heads = 2, kv_num_heads = 1, " QUANT "> (q, k, v, ck, cv, n, t)",
         SDX_INVALID_MODEL, "a cache of integers needs k_scale and v_scale", IN("float[1,1,2] q {0, 0}"),
         IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {4}"), IN("int8[1,1,1,1] ck {0}"), IN("int8[1,1,1,1] cv {0}"),
         IN("int32[1] n {1}"), IN("int32[1] t {2}"))
/* A window of two in a cache of three, which drops two rows at once: 3 keys, then 4, of which the last 2 stay. */
OP_CASE(ms_group_sliding,
        "y, pk, pv = " MS "GroupQueryAttention <num_heads = 1, kv_num_heads = 1, local_window_size = 2, "
        "sliding_window_cache = 1> (q, k, v, ck, cv, n, t)",
        IN("float[1,1,2] q {0, 0}"), IN("float[1,1,2] k {4, 4}"), IN("float[1,1,2] v {8, 9}"),
        IN("float[1,1,3,2] ck {1, 1, 2, 2, 3, 3}"), IN("float[1,1,3,2] cv {5, 5, 6, 6, 7, 7}"), IN("int32[1] n {3}"),
        IN("int32[1] t {4}"), OUT("float[1,1,2] y {7.5, 8}"), OUT("float[1,1,3,2] pk {3, 3, 4, 4, 0, 0}"),
        OUT("float[1,1,3,2] pv {7, 7, 8, 9, 0, 0}"))
OP_FAILS(ms_group_sliding_too_short,
         "y = " MS "GroupQueryAttention <num_heads = 1, kv_num_heads = 1, local_window_size = 2, "
         "sliding_window_cache = 1> (q, k, v, ck, cv, n, t)",
         SDX_RUN_FAILED, "the sliding cache has 1 rows, the window 2", IN("float[1,1,1] q {0}"),
         IN("float[1,1,1] k {4}"), IN("float[1,1,1] v {8}"), IN("float[1,1,1,1] ck {1}"), IN("float[1,1,1,1] cv {5}"),
         IN("int32[1] n {3}"), IN("int32[1] t {4}"))
OP_FAILS(ms_group_negative, "y = " GROUP " (q, k, v, \"\", \"\", n, t)", SDX_RUN_FAILED,
         "row 0 of the batch has -6 keys", IN("float[1,1,2] q {0, 0}"), IN("float[1,1,1] k {1}"),
         IN("float[1,1,1] v {4}"), IN("int32[1] n {-7}"), IN("int32[1] t {1}"))
OP_FAILS(ms_group_heads, "y = " MS "GroupQueryAttention <num_heads = 3, kv_num_heads = 2> (q, k, v, \"\", \"\", n, t)",
         SDX_INVALID_MODEL, "3 query heads are no multiple of 2 key heads", IN("float[1,1,3] q {0, 0, 0}"),
         IN("float[1,1,2] k {1, 1}"), IN("float[1,1,2] v {4, 4}"), IN("int32[1] n {0}"), IN("int32[1] t {1}"))

/* Blocks of one key; the second layout lets rows see themselves alone. */
OP_CASE(ms_sparse_layouts,
        "y, pk, pv = " MS "SparseAttention <num_heads = 2, kv_num_heads = 1, sparse_block_size = 1> "
        "(q, k, v, ck, cv, r, c, t, n)",
        IN("float[1,2,2] q {0, 0, 0, 0}"), IN("float[1,2,1] k {1, 1}"), IN("float[1,2,1] v {2, 4}"),
        IN("float[1,1,2,1] ck {0, 0}"), IN("float[1,1,2,1] cv {0, 0}"), IN("int32[2,3] r {0, 1, 3, 0, 1, 2}"),
        IN("int32[2,3] c {0, 0, 1, 0, 1, -1}"), IN("int32[1] t {2}"), IN("int32[1] n {2}"),
        OUT("float[1,2,2] y {2, 2, 3, 4}"), OUT("float[1,1,2,1] pk {1, 1}"), OUT("float[1,1,2,1] pv {2, 4}"))

OP_CASE(ms_linear_window,
        "y, s = " MS "LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\", scale = 1.0, "
        "state_window = 3> (q, k, v)",
        IN("float[1,2,1] q {1, 2}"), IN("float[1,2,1] k {1, 3}"), IN("float[1,2,1] v {2, 4}"),
        OUT("float[1,2,1] y {2, 28}"), OUT("float[3,1,1,1,1] s {0, 2, 14}"))
OP_CASE(ms_causal_conv_window, "y, s = " MS "CausalConvWithState <state_window = 3, dilation = 2> (x, w)",
        IN("float[1,1,2] x {1, 2}"), IN("float[1,1,2] w {10, 1}"), OUT("float[1,1,2] y {1, 2}"),
        OUT("float[3,1,1,2] s {0, 0, 0, 1, 1, 2}"))
OP_CASE(ms_rotary_offset, "y = " MS "RotaryEmbedding (x, p, c, s)", IN("float[1,2,2] x {1, 2, 3, 4}"),
        IN("int64[1] p {1}"), IN("float[3,1] c {9, 1, 0}"), IN("float[3,1] s {9, 0, 1}"),
        OUT("float[1,2,2] y {1, 2, -4, 3}"))

OP_CASE(ms_decoder_self,
        "y, p = " MS "DecoderMaskedSelfAttention <num_heads = 1, scale = 0.000000001, past_present_share_buffer = 1> "
        "(x, w, b, \"\", c, \"\", n)",
        IN("float[1,1,1] x {6}"), IN("float[1,3] w {0, 1, 1}"), IN("float[3] b {0, 0, 1}"),
        IN("float[2,1,1,3,1] c {5, 9, 8, 1, 9, 8}"), IN("int32[1] n {1}"), OUT("float[1,1,1] y {4}"),
        OUT("float[2,1,1,3,1] p {5, 6, 8, 1, 7, 8}"))
OP_CASE(ms_remove_padding, "y, o, c, m = " MS "RemovePadding (x, n)",
        IN("float[2,3,2] x {1, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0}"), IN("int32[2] n {2, 1}"),
        OUT("float[3,2] y {1, 2, 3, 4, 5, 6}"), OUT("int32[2,3] o {0, 1, 3, 2, 4, 5}"), OUT("int32[3] c {0, 2, 3}"),
        OUT("int32[1] m {2}"))
OP_CASE(ms_restore_padding, "y = " MS "RestorePadding (x, o)", IN("float[3,2] x {1, 2, 3, 4, 5, 6}"),
        IN("int32[2,3] o {0, 1, 3, 2, 4, 5}"), OUT("float[2,3,2] y {1, 2, 3, 4, 0, 0, 5, 6, 0, 0, 0, 0}"))
OP_CASE(ms_packed_attention, "y = " MS "PackedAttention <num_heads = 1, scale = 0.000000001> (x, w, b, o, c)",
        IN("float[3,1] x {3, 6, 9}"), IN("float[1,3] w {0, 0, 1}"), IN("float[3] b {0, 0, 1}"),
        IN("int32[2,2] o {0, 1, 2, 3}"), IN("int32[3] c {0, 2, 3}"), OUT("float[3,1] y {5.5, 5.5, 10}"))
OP_CASE(ms_packed_multihead, "y = " MS "PackedMultiHeadAttention <num_heads = 1> (q, \"\", \"\", \"\", o, c)",
        IN("float[3,1,3,1] q {0, 0, 3, 0, 0, 6, 0, 0, 9}"), IN("int32[2,2] o {0, 1, 2, 3}"), IN("int32[3] c {0, 2, 3}"),
        OUT("float[3,1] y {4.5, 4.5, 9}"))
OP_CASE(ms_packed_multihead_apart, "y = " MS "PackedMultiHeadAttention <num_heads = 1> (q, k, v, \"\", o, c)",
        IN("float[3,1] q {0, 0, 0}"), IN("float[3,1] k {0, 0, 0}"), IN("float[3,1] v {3, 6, 9}"),
        IN("int32[2,2] o {0, 1, 2, 3}"), IN("int32[3] c {0, 2, 3}"), OUT("float[3,1] y {4.5, 4.5, 9}"))
/* Four buckets a direction: 0, 1, then from 2 on by logarithms up to a distance of 8. */
OP_CASE(ms_relative_bias, "y = " MS "RelativePositionBias <max_distance = 8> (t, q, k)",
        IN("float[4,1] t {10, 11, 12, 13}"), IN("int64[1] q {6}"), IN("int64[1] k {2}"),
        OUT("float[1,1,6,2] y {10, 10, 11, 10, 12, 11, 12, 12, 13, 12, 13, 13}"))
OP_CASE(ms_relative_bias_both_ways, "y = " MS "RelativePositionBias <max_distance = 8, is_bidirectional = 1> (t, q, k)",
        IN("float[4,2] t {10, 11, 12, 13, 20, 21, 22, 23}"), IN("int64[1] q {2}"), IN("int64[1] k {2}"),
        OUT("float[1,2,2,2] y {10, 13, 11, 10, 20, 23, 21, 20}"))
OP_CASE(ms_gated_bias, "y = " MS "GatedRelativePositionBias <num_heads = 1> (q, qb, r, w, b, e)",
        IN("float[1,1,1] q {1}"), IN("float[1] qb {-1}"), IN("float[1,1,1,1] r {8}"), IN("float[1,2] w {1, 1}"),
        IN("float[2] b {0, 0}"), IN("float[1,1,1,1] e {3}"), OUT("float[1,1,1,1] y {18}"))
OP_FAILS(ms_gated_bias_packed, "y = " MS "GatedRelativePositionBias <num_heads = 1> (q, qb, r, w, b, e, o)",
         SDX_UNSUPPORTED, "it does not run on packed tokens", IN("float[1,1] q {1}"), IN("float[1] qb {-1}"),
         IN("float[1,1,1,1] r {8}"), IN("float[1,2] w {1, 1}"), IN("float[2] b {0, 0}"), IN("float[1,1,1,1] e {3}"),
         IN("int32[1,1] o {0}"))
OP_CASE(ms_gemma_rotary, "y, z = " MS "GemmaRotaryEmbedding (e, q, r, k, l)", IN("float[1,1,1] e {0}"),
        IN("float16[1,1,1,1] q {2}"), IN("float16[1,1,1,1] r {3}"), IN("float16[1,1,1,1] k {4}"),
        IN("float16[1,1,1,1] l {5}"), OUT("float16[1,1,1,1] y {2}"), OUT("float16[1,1,1,1] z {4}"))

SUITE(attention_ms_test)
{
    RUN(ms_decoder_self);
    RUN(ms_remove_padding);
    RUN(ms_restore_padding);
    RUN(ms_packed_attention);
    RUN(ms_packed_multihead);
    RUN(ms_packed_multihead_apart);
    RUN(ms_relative_bias);
    RUN(ms_relative_bias_both_ways);
    RUN(ms_gated_bias);
    RUN(ms_gated_bias_packed);
    RUN(ms_gemma_rotary);
    RUN(ms_attention_lengths);
    RUN(ms_attention_causal_past);
    RUN(ms_attention_widths);
    RUN(ms_attention_heads);
    RUN(ms_attention_rotary);
    RUN(ms_multihead_packed);
    RUN(ms_multihead_packed_keys);
    RUN(ms_multihead_bias_of_ready_keys);
    RUN(ms_multihead_key_alone);
    RUN(ms_decoder_beams);
    RUN(ms_decoder_full);
    RUN(ms_quantized);
    RUN(ms_group_of_two);
    RUN(ms_group_packed_unasked);
    RUN(ms_group_norm);
    RUN(ms_group_lengths);
    RUN(ms_group_negative);
    RUN(ms_group_sliding);
    RUN(ms_group_sliding_too_short);
    RUN(ms_group_four_bits);
    RUN(ms_group_codes_without_type);
    RUN(ms_group_codes_without_scale);
    RUN(ms_group_absurd_total);
    RUN(ms_group_cache_alone);
    RUN(ms_causal_conv_output_alone);
    RUN(ms_linear_state_alone);
    RUN(ms_group_heads);
    RUN(ms_sparse_layouts);
    RUN(ms_linear_window);
    RUN(ms_causal_conv_window);
    RUN(ms_rotary_offset);
}
