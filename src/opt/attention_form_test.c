#include "tests/pass_case.h"

#define IO "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v) => (y) "
#define KT "t = Transpose <perm = [0,1,3,2]> (k) "

PASS_CASE(divided, "attention_form",
          IO "<float c = {2}> { " KT "s = MatMul(q, t) d = Div(s, c) p = Softmax <axis = -1> (d) y = MatMul(p, v) }",
          IO "{ y = Attention <scale = 0.5> (q, k, v) }")
PASS_CASE(factors_before, "attention_form",
          IO "<float c = {0.5}> { a = Mul(q, c) b = Mul(k, c) t = Transpose <perm = [0,1,3,2]> (b) "
             "s = MatMul(a, t) p = Softmax <axis = 3> (s) y = MatMul(p, v) }",
          IO "{ y = Attention <scale = 0.25> (q, k, v) }")
PASS_CASE(mask_added, "attention_form",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, float[2,1,1,K] m) => (y) <float c = {0.5}> { " KT
          "s = MatMul(q, t) d = Mul(s, c) e = Add(d, m) p = Softmax <axis = -1> (e) y = MatMul(p, v) }",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, float[2,1,1,K] m) => (y) "
          "{ y = Attention <scale = 0.5> (q, k, v, m) }")
PASS_CASE(mask_chosen, "attention_form",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, bool[L,K] c, float[K] m) => (y) "
          "<float low = {-10000}> { " KT "s = MatMul(q, t) w = Where(c, s, low) e = Add(m, w) "
          "p = Softmax <axis = -1> (e) y = MatMul(p, v) }",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, bool[L,K] c, float[K] m) => (y) "
          "<float low = {-10000}, float zero = {0}> { w = Where(c, zero, low) e = Add(m, w) "
          "y = Attention <scale = 1.0> (q, k, v, e) }")
PASS_CASE(mask_of_other_keys, "attention_form",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, float[L,M] m) => (y) { " KT
          "s = MatMul(q, t) e = Add(s, m) p = Softmax <axis = -1> (e) y = MatMul(p, v) }",
          "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, float[L,M] m) => (y) <int64[1] one = {1}> { "
          "n = Shape <start = 2, end = 3> (v) c = Concat <axis = 0> (one, n) e = Expand(m, c) "
          "y = Attention <scale = 1.0> (q, k, v, e) }")
PASS_CASE(mask_of_one_key, "attention_form",
          "g (float[2,3,4,4] q, float[2,3,5,4] k, float[2,3,5,5] v, float[4,1] m) => (y) { " KT
          "s = MatMul(q, t) e = Add(s, m) p = Softmax <axis = -1> (e) y = MatMul(p, v) }",
          "g (float[2,3,4,4] q, float[2,3,5,4] k, float[2,3,5,5] v, float[4,1] m) => (y) <int64[2] c = {1, 5}> { "
          "e = Expand(m, c) y = Attention <scale = 1.0> (q, k, v, e) }")
PASS_CASE(without_heads, "attention_form",
          "g (float[6,L,4] q, float[6,K,4] k, float[6,K,5] v, float[1,L,K] m) => (y) <float c = {2}> { "
          "t = Transpose <perm = [0,2,1]> (k) s = MatMul(q, t) d = Div(s, c) e = Add(d, m) p = Softmax <axis = 2> (e) "
          "y = MatMul(p, v) }",
          "g (float[6,L,4] q, float[6,K,4] k, float[6,K,5] v, float[1,L,K] m) => (y) "
          "<int64[1] one = {1}> { q4 = Unsqueeze(q, one) k4 = Unsqueeze(k, one) v4 = Unsqueeze(v, one) "
          "y4 = Attention <scale = 0.5> (q4, k4, v4, m) y = Squeeze(y4, one) }")
PASS_CASE(guarded, "attention_form",
          IO "<float zero = {0}> { " KT "s = MatMul(q, t) p = Softmax <axis = -1> (s) n = IsNaN(p) "
             "w = Where(n, zero, p) y = MatMul(w, v) }",
          IO "{ y = Attention <scale = 1.0> (q, k, v) }")
PASS_CASE(
    repeated, "attention_form",
    "g (float[2,6,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v) => (y) "
    "<int64[1] two = {2}, int64[5] e = {1, 1, 2, 1, 1}, int64[4] r = {2, 6, -1, 4}, int64[4] rv = {2, 6, -1, 5}> { "
    "k5 = Unsqueeze(k, two) kg = Expand(k5, e) k6 = Reshape(kg, r) v5 = Unsqueeze(v, two) vg = Expand(v5, e) "
    "v6 = Reshape(vg, rv) t = Transpose <perm = [0,1,3,2]> (k6) s = MatMul(q, t) p = Softmax <axis = -1> (s) "
    "y = MatMul(p, v6) }",
    "g (float[2,6,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v) => (y) { y = Attention <scale = 1.0> (q, k, v) }")
PASS_CASE(flat, "attention_flat",
          "g (float[2,L,12] a, float[2,K,12] b, float[2,K,12] c) => (y) "
          "<int64[4] h = {0, 0, 3, 4}, int64[3] f = {0, 0, 12}, float c2 = {2}> { "
          "a4 = Reshape(a, h) b4 = Reshape(b, h) c4 = Reshape(c, h) q = Transpose <perm = [0,2,1,3]> (a4) "
          "t = Transpose <perm = [0,2,3,1]> (b4) v = Transpose <perm = [0,2,1,3]> (c4) s = MatMul(q, t) d = Div(s, c2) "
          "p = Softmax <axis = -1> (d) o = MatMul(p, v) o4 = Transpose <perm = [0,2,1,3]> (o) y = Reshape(o4, f) }",
          "g (float[2,L,12] a, float[2,K,12] b, float[2,K,12] c) => (y) "
          "{ y = Attention <q_num_heads = 3, kv_num_heads = 3, scale = 0.5> (a, b, c) }")

PASS_KEEPS(scores_read, "attention_form",
           "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v) => (y, s) { " KT
           "s = MatMul(q, t) p = Softmax <axis = -1> (s) y = MatMul(p, v) }")
PASS_KEEPS(mask_by_batch_without_heads, "attention_form",
           "g (float[6,L,4] q, float[6,K,4] k, float[6,K,5] v, float[6,L,K] m) => (y) { "
           "t = Transpose <perm = [0,2,1]> (k) s = MatMul(q, t) e = Add(s, m) p = Softmax <axis = 2> (e) "
           "y = MatMul(p, v) }")
PASS_KEEPS(mask_scaled, "attention_form",
           "g (float[2,3,L,4] q, float[2,3,K,4] k, float[2,3,K,5] v, float[K] m) => (y) <float c = {0.5}> { " KT
           "s = MatMul(q, t) e = Add(s, m) d = Mul(e, c) p = Softmax <axis = -1> (d) y = MatMul(p, v) }")
PASS_KEEPS(mask_enlarges, "attention_form",
           "g (float[1,3,L,4] q, float[1,3,K,4] k, float[1,3,K,5] v, float[2,1,1,K] m) => (y) { " KT
           "s = MatMul(q, t) e = Add(s, m) p = Softmax <axis = -1> (e) y = MatMul(p, v) }")
PASS_KEEPS(other_axis, "attention_form", IO "{ " KT "s = MatMul(q, t) p = Softmax <axis = 2> (s) y = MatMul(p, v) }")
PASS_KEEPS(negative_scale, "attention_form",
           IO "<float c = {-2}> { " KT "s = MatMul(q, t) d = Mul(s, c) p = Softmax <axis = -1> (d) y = MatMul(p, v) }")

SUITE(attention_form_test)
{
    RUN(divided);
    RUN(factors_before);
    RUN(mask_added);
    RUN(mask_chosen);
    RUN(mask_of_other_keys);
    RUN(without_heads);
    RUN(guarded);
    RUN(repeated);
    RUN(flat);
    RUN(scores_read);
    RUN(mask_of_one_key);
    RUN(mask_by_batch_without_heads);
    RUN(mask_scaled);
    RUN(mask_enlarges);
    RUN(other_axis);
    RUN(negative_scale);
}
