/* casts.c, concats.c, expands.c, transposes.c, unused.c, if_const.c */
#include "tests/pass_case.h"

PASS_CASE(
    transposed_twice, "transposes",
    "g (float[N,3,4] x) => (y) { t = Transpose <perm = [1,2,0]> (x) u = Transpose <perm = [2,1,0]> (t) y = Neg(u) }",
    "g (float[N,3,4] x) => (y) { u = Transpose <perm = [0,2,1]> (x) y = Neg(u) }")
PASS_CASE(transposed_back, "transposes", "g (float[N,3,4] x) => (y) { t = Transpose(x) u = Transpose(t) y = Neg(u) }",
          "g (float[N,3,4] x) => (y) { y = Neg(x) }")
PASS_CASE(transposed_units, "transposes", "g (float[N,1,4] x) => (y) { t = Transpose <perm = [1,0,2]> (x) y = Neg(t) }",
          "g (float[N,1,4] x) => (y) <int64[3] s = {1,-1,4}> { t = Reshape (x, s) y = Neg(t) }")

PASS_CASE(keys_transposed, "swaps",
          "g (float[N,2,M,4] x) => (y) <int64[3] a = {-1,0,4}, int64[1] m = {-1}> { s = Shape <start = 0, end = 2> (x) "
          "e = Shape <start = 2, end = 3> (x) d = Constant <value = int64[1] {4}> () f = Concat <axis = 0> (m, e, d) "
          "b = Reshape(x, f) t = Transpose <perm = [0,2,1]> (b) c = Concat <axis = 0> (s, d, e) y = Reshape(t, c) }",
          "g (float[N,2,M,4] x) => (y) { y = Transpose <perm = [0,1,3,2]> (x) }")

PASS_CASE(concat_of_concat, "concats",
          "g (float[N,3] a, float[N,3] b) => (y) { t = Concat <axis = -1> (a, b) y = Concat <axis = 1> (b, t, a) }",
          "g (float[N,3] a, float[N,3] b) => (y) { y = Concat <axis = 1> (b, a, b, a) }")
PASS_CASE(concat_of_nothing, "concats",
          "g (float[N,3] a, float[N,0] b) => (y) { t = Concat <axis = 1> (b, a) y = Neg(t) }",
          "g (float[N,3] a, float[N,0] b) => (y) { y = Neg(a) }")
PASS_KEEPS(concat_of_two_axes, "concats",
           "g (float[N,4] a, float[N,2] b) => (y) { t = Concat <axis = 1> (b, b) y = Concat <axis = 0> (t, a) }")

PASS_CASE(cast_through_wider, "casts",
          "g (float16[N] x) => (y) { t = Cast <to = 1> (x) u = Cast <to = 7> (t) y = Neg(u) }",
          "g (float16[N] x) => (y) { u = Cast <to = 7> (x) y = Neg(u) }")
PASS_CASE(cast_there_and_back, "casts",
          "g (float16[N] x) => (y) { t = Cast <to = 1> (x) u = Cast <to = 10> (t) y = Neg(u) }",
          "g (float16[N] x) => (y) { y = Neg(x) }")
PASS_KEEPS(cast_through_narrower, "casts",
           "g (float[N] x) => (y) { t = Cast <to = 10> (x) u = Cast <to = 1> (t) y = Neg(u) }")
PASS_KEEPS(cast_through_integers, "casts",
           "g (float[N] x) => (y) { t = Cast <to = 7> (x) u = Cast <to = 1> (t) y = Neg(u) }")

PASS_CASE(expanded_beside_full, "expands",
          "g (float[1,4] x, float[N,4] z) => (y) { s = Shape(z) t = Expand(x, s) y = Add(t, z) }",
          "g (float[1,4] x, float[N,4] z) => (y) { y = Add(x, z) }")
PASS_KEEPS(expanded_alone, "expands",
           "g (float[1,4] x, float[4] z) => (y) <int64[2] s = {3,4}> { t = Expand(x, s) y = Add(t, z) }")

PASS_CASE(indices_nobody_reads, "unused", "g (float[N,1,4] x) => (y) { y, i = MaxPool <kernel_shape = [2]> (x) }",
          "g (float[N,1,4] x) => (y) { y = MaxPool <kernel_shape = [2]> (x) }")
PASS_KEEPS(indices_wanted, "unused", "g (float[N,1,4] x) => (y, i) { y, i = MaxPool <kernel_shape = [2]> (x) }")

SUITE(moves_test)
{
    RUN(transposed_twice);
    RUN(transposed_back);
    RUN(transposed_units);
    RUN(keys_transposed);
    RUN(concat_of_concat);
    RUN(concat_of_nothing);
    RUN(concat_of_two_axes);
    RUN(cast_through_wider);
    RUN(cast_there_and_back);
    RUN(cast_through_narrower);
    RUN(cast_through_integers);
    RUN(expanded_beside_full);
    RUN(expanded_alone);
    RUN(indices_nobody_reads);
    RUN(indices_wanted);
}
