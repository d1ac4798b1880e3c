#include "tests/op_case.h"

/* Queries of zero see all keys alike, so that results are means of the values that are seen. */
#define Q2 IN("float[1,1,2,2] q {0, 0, 0, 0}")
#define K3 IN("float[1,1,3,2] k {1, 2, 3, 4, 5, 6}")
#define V3 IN("float[1,1,3,2] v {0, 3, 6, 9, 12, 15}")

OP_CASE(attention_mean, "y = Attention (q, k, v)", Q2, K3, V3, OUT("float[1,1,2,2] y {6, 9, 6, 9}"))
OP_CASE(attention_causal, "y = Attention <is_causal = 1> (q, k, v)", Q2, K3, V3, OUT("float[1,1,2,2] y {0, 3, 3, 6}"))
OP_CASE(attention_causal_past, "y, pk, pv = Attention <is_causal = 1> (q, k, v, \"\", k0, v0)",
        IN("float[1,1,2,1] q {0, 0}"), IN("float[1,1,2,1] k {1, 2}"), IN("float[1,1,2,1] v {4, 8}"),
        IN("float[1,1,1,1] k0 {9}"), IN("float[1,1,1,1] v0 {2}"), OUT("float[1,1,2,1] y {3, 4.66666667}"),
        OUT("float[1,1,3,1] pk {9, 1, 2}"), OUT("float[1,1,3,1] pv {2, 4, 8}"))
OP_CASE(attention_past_unasked, "y = Attention (q, k, v, \"\", k0, v0)", IN("float[1,1,1,1] q {0}"),
        IN("float[1,1,1,1] k {1}"), IN("float[1,1,1,1] v {4}"), IN("float[1,1,1,1] k0 {9}"),
        IN("float[1,1,1,1] v0 {2}"), OUT("float[1,1,1,1] y {3}"))
OP_CASE(attention_window, "y = Attention <left_window_size = 0, right_window_size = 1> (q, k, v)", Q2, K3, V3,
        OUT("float[1,1,2,2] y {3, 6, 9, 12}"))
OP_CASE(attention_bool_mask, "y = Attention (q, k, v, m)", Q2, K3, V3, IN("bool[2,3] m {0, 1, 0, 0, 0, 0}"),
        OUT("float[1,1,2,2] y {6, 9, 0, 0}"))
OP_CASE(attention_short_mask, "y = Attention (q, k, v, m)", Q2, K3, V3, IN("float[1,2] m {0, 0}"),
        OUT("float[1,1,2,2] y {3, 6, 3, 6}"))
OP_CASE(attention_int_mask, "y = Attention (q, k, v, m)", Q2, K3, V3, IN("int32[3] m {0, -200, -300}"),
        OUT("float[1,1,2,2] y {0, 3, 0, 3}"))
/* Two query heads share the keys of one; rows of a head follow each other in rank 3. */
OP_CASE(attention_shared_keys, "y = Attention <q_num_heads = 2, kv_num_heads = 1, scale = 1.0> (q, k, v)",
        IN("float[1,1,2] q {0, 100}"), IN("float[1,2,1] k {0, 1}"), IN("float[1,2,2] v {1, 2, 3, 4}"),
        OUT("float[1,1,4] y {2, 3, 3, 4}"))
OP_CASE(attention_valid_keys, "y = Attention <is_causal = 1> (q, k, v, \"\", \"\", \"\", n)",
        IN("float[2,1,2,1] q {0, 0, 0, 0}"), IN("float[2,1,3,1] k {0, 0, 0, 0, 0, 0}"),
        IN("float[2,1,3,1] v {1, 2, 6, 1, 2, 6}"), IN("int64[2] n {3, 1}"), OUT("float[2,1,2,1] y {1.5, 3, 0, 1}"))
OP_CASE(attention_scores, "y, \"\", \"\", s = Attention <qk_matmul_output_mode = 2, scale = 1.0> (q, k, v, m)",
        IN("float[1,1,1,1] q {2}"), IN("float[1,1,2,1] k {1, 1}"), IN("float[1,1,2,1] v {0, 1}"),
        IN("float[2] m {3, 3}"), OUT("float[1,1,1,1] y {0.5}"), OUT("float[1,1,1,2] s {5, 5}"))
OP_CASE(attention_softcap,
        "y, \"\", \"\", s = Attention <qk_matmul_output_mode = 1, scale = 1.0, softcap = 2.0> (q, k, v)",
        IN("float[1,1,1,1] q {1}"), IN("float[1,1,2,1] k {100, -100}"), IN("float[1,1,2,1] v {0, 1}"),
        OUT("float[1,1,1,1] y {0.0179862}"), OUT("float[1,1,1,2] s {2, -2}"))
OP_CASE(attention_double, "y = Attention <scale = 1.0> (q, k, v)", IN("double[1,1,1,1] q {1}"),
        IN("double[1,1,2,1] k {0, 0.6931471805599453}"), IN("double[1,1,2,1] v {0, 3}"), OUT("double[1,1,1,1] y {2}"))
OP_CASE(attention_half, "y = Attention (q, k, v)", IN("float16[1,1,1,1] q {0}"), IN("float16[1,1,2,1] k {0, 5}"),
        IN("float16[1,1,2,1] v {1, 2}"), OUT("float16[1,1,1,1] y {1.5}"))
OP_CASE(attention_values_of_other_type, "y, \"\", pv = Attention (q, k, v, \"\", k0, v0)", IN("float[1,1,1,1] q {0}"),
        IN("float[1,1,1,1] k {0}"), IN("double[1,1,1,1] v {4}"), IN("float[1,1,1,1] k0 {0}"),
        IN("double[1,1,1,1] v0 {2}"), OUT("float[1,1,1,1] y {3}"), OUT("double[1,1,2,1] pv {2, 4}"))
/* What is hidden may hold anything. */
OP_CASE(attention_hidden_nan, "y = Attention <is_causal = 1> (q, k, v, m)", IN("float[1,1,2,1] q {1, 1}"),
        IN("float[1,1,2,1] k {0, nan}"), IN("float[1,1,2,1] v {5, 7}"), IN("bool[2,2] m {1, 1, 1, 0}"),
        OUT("float[1,1,2,1] y {5, 5}"))
OP_CASE(attention_no_keys, "y = Attention (q, k, v)", IN("float[1,1,1,2] q {1, 2}"), IN("float[1,1,0,2] k {}"),
        IN("float[1,1,0,3] v {}"), OUT("float[1,1,1,3] y {0, 0, 0}"))
OP_CASE(attention_no_queries, "y = Attention (q, k, v)", IN("float[1,1,0,2] q {}"), K3, V3, OUT("float[1,1,0,2] y {}"))

OP_FAILS(attention_heads, "y = Attention (q, k, v)", SDX_INVALID_MODEL, "3 query heads are no multiple of 2 key heads",
         IN("float[1,3,1,1] q {0, 0, 0}"), IN("float[1,2,1,1] k {0, 0}"), IN("float[1,2,1,1] v {0, 0}"))
OP_FAILS(attention_rank3_without_heads, "y = Attention (q, k, v)", SDX_INVALID_MODEL, "needs a positive q_num_heads",
         IN("float[1,1,1] q {0}"), IN("float[1,1,1] k {0}"), IN("float[1,1,1] v {0}"))
OP_FAILS(attention_head_width, "y = Attention <q_num_heads = 2, kv_num_heads = 2> (q, k, v)", SDX_INVALID_MODEL,
         "Q is 3 wide, which 2 heads do not divide", IN("float[1,1,3] q {0, 0, 0}"), IN("float[1,1,2] k {0, 0}"),
         IN("float[1,1,2] v {0, 0}"))
OP_FAILS(attention_half_past, "y = Attention (q, k, v, \"\", k0)", SDX_INVALID_MODEL,
         "past_key and past_value go together", Q2, K3, V3, IN("float[1,1,1,2] k0 {0, 0}"))
OP_FAILS(attention_mask_size, "y = Attention (q, k, v, m)", SDX_INVALID_MODEL,
         "attn_mask has size 4 along axis 1; it is to fit 3", Q2, K3, V3, IN("bool[2,4] m {1, 1, 1, 1, 1, 1, 1, 1}"))
OP_FAILS(attention_negative_length, "y = Attention (q, k, v, \"\", \"\", \"\", n)", SDX_RUN_FAILED,
         "nonpad_kv_seqlen[0] is -1; it must lie in [0, 3]", Q2, K3, V3, IN("int64[1] n {-1}"))
OP_FAILS(attention_mode, "y = Attention <qk_matmul_output_mode = 4> (q, k, v)", SDX_INVALID_MODEL,
         "qk_matmul_output_mode is 4", Q2, K3, V3)

OP_CASE(rotary_halves, "y = RotaryEmbedding (x, c, s, p)", IN("float[1,1,2,4] x {1, 2, 3, 4, 5, 6, 7, 8}"),
        IN("float[3,2] c {1, 1, 0, 1, 9, 9}"), IN("float[3,2] s {0, 0, 1, 0, 9, 9}"), IN("int64[1,2] p {0, 1}"),
        OUT("float[1,1,2,4] y {1, 2, 3, 4, -7, 6, 5, 8}"))
OP_CASE(rotary_pairs_of_a_part,
        "y = RotaryEmbedding <interleaved = 1, rotary_embedding_dim = 2, num_heads = 2> (x, c, s)",
        IN("float[1,1,6] x {1, 2, 3, 4, 5, 6}"), IN("float[1,1,1] c {0}"), IN("float[1,1,1] s {1}"),
        OUT("float[1,1,6] y {-2, 1, 3, -5, 4, 6}"))
OP_FAILS(rotary_position, "y = RotaryEmbedding (x, c, s, p)", SDX_RUN_FAILED, "position_ids holds 3",
         IN("float[1,1,1,2] x {1, 2}"), IN("float[3,1] c {1, 1, 1}"), IN("float[3,1] s {0, 0, 0}"),
         IN("int64[1,1] p {3}"))
OP_FAILS(rotary_width, "y = RotaryEmbedding (x, c, s, p)", SDX_INVALID_MODEL,
         "cos_cache has size 1 along axis 1; it must be 2", IN("float[1,1,1,4] x {1, 2, 3, 4}"), IN("float[1,1] c {1}"),
         IN("float[1,1] s {0}"), IN("int64[1,1] p {0}"))

OP_CASE(linear_attention_sums,
        "y, s = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"linear\", scale = 1.0> (q, k, v)",
        IN("float[1,2,1] q {1, 2}"), IN("float[1,2,1] k {1, 3}"), IN("float[1,2,1] v {2, 4}"),
        OUT("float[1,2,1] y {2, 28}"), OUT("float[1,1,1,1] s {14}"))
OP_CASE(linear_attention_delta,
        "y, s = LinearAttention <q_num_heads = 1, kv_num_heads = 1, update_rule = \"delta\", scale = 1.0> "
        "(q, k, v, p, \"\", b)",
        IN("float[1,1,1] q {1}"), IN("float[1,1,1] k {1}"), IN("float[1,1,1] v {2}"), IN("float[1,1,1,1] p {4}"),
        IN("float[1,1,1] b {0.5}"), OUT("float[1,1,1] y {3}"), OUT("float[1,1,1,1] s {3}"))
OP_FAILS(linear_attention_no_decay,
         "y, s = LinearAttention <q_num_heads = 1, kv_num_heads = 1, "
         "update_rule = \"gated\"> (q, k, v)",
         SDX_INVALID_MODEL, "rule gated takes a decay and no beta", IN("float[1,1,1] q {1}"), IN("float[1,1,1] k {1}"),
         IN("float[1,1,1] v {2}"))

OP_CASE(causal_conv_state, "y, s = CausalConvWithState (x, w, b, p)", IN("float[1,1,2] x {1, 2}"),
        IN("float[1,1,3] w {1, 10, 100}"), IN("float[1] b {1000}"), IN("float[1,1,2] p {7, 8}"),
        OUT("float[1,1,2] y {1187, 1218}"), OUT("float[1,1,2] s {1, 2}"))
OP_FAILS(causal_conv_activation, "y, s = CausalConvWithState <activation = \"gelu\"> (x, w)", SDX_INVALID_MODEL,
         "activation is \"gelu\"", IN("float[1,1,2] x {1, 2}"), IN("float[1,1,1] w {1}"))

SUITE(attention_test)
{
    RUN(attention_mean);
    RUN(attention_causal);
    RUN(attention_causal_past);
    RUN(attention_past_unasked);
    RUN(attention_window);
    RUN(attention_bool_mask);
    RUN(attention_short_mask);
    RUN(attention_int_mask);
    RUN(attention_shared_keys);
    RUN(attention_valid_keys);
    RUN(attention_scores);
    RUN(attention_softcap);
    RUN(attention_double);
    RUN(attention_half);
    RUN(attention_values_of_other_type);
    RUN(attention_hidden_nan);
    RUN(attention_no_keys);
    RUN(attention_no_queries);
    RUN(attention_heads);
    RUN(attention_rank3_without_heads);
    RUN(attention_head_width);
    RUN(attention_half_past);
    RUN(attention_mask_size);
    RUN(attention_negative_length);
    RUN(attention_mode);
    RUN(rotary_halves);
    RUN(rotary_pairs_of_a_part);
    RUN(rotary_position);
    RUN(rotary_width);
    RUN(linear_attention_sums);
    RUN(linear_attention_delta);
    RUN(linear_attention_no_decay);
    RUN(causal_conv_state);
    RUN(causal_conv_activation);
}
