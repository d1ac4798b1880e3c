#include "tests/pass_case.h"

PASS_CASE(there_and_back, "views",
          "g (float[N,4] x) => (y) <int64[1] a = {1}> { t = Unsqueeze(x, a) u = Squeeze(t, a) y = Neg(u) }",
          "g (float[N,4] x) => (y) { y = Neg(x) }")
PASS_CASE(merged, "views",
          "g (float[N,6] x) => (y) <int64[3] a = {0,2,3}, int64[3] b = {-1,3,2}> { t = Reshape(x, a) u = Reshape(t, b) "
          "y = Neg(u) }",
          "g (float[N,6] x) => (y) <int64[3] b = {0,3,2}> { u = Reshape(x, b) y = Neg(u) }")
PASS_CASE(flattened, "views",
          "g (float[2,3,N] x) => (y) <int64[1] a = {0}> { t = Unsqueeze(x, a) u = Flatten <axis = 3> (t) y = Neg(u) }",
          "g (float[2,3,N] x) => (y) <int64[2] b = {6,-1}> { u = Reshape(x, b) y = Neg(u) }")
/* The heads of attention: Concat(Shape(x)[0:2], [2, 4]) */
PASS_CASE(target_from_shapes, "views",
          "g (float[N,M,8] x) => (y) <int64[2] heads = {2, 4}> "
          "{ s = Shape <start = 0, end = 2> (x) t = Concat <axis = 0> (s, heads) u = Reshape(x, t) y = Neg(u) }",
          "g (float[N,M,8] x) => (y) <int64[4] t = {0, 0, 2, 4}> { u = Reshape(x, t) y = Neg(u) }")
SUITE(views_test)
{
    RUN(there_and_back);
    RUN(merged);
    RUN(flattened);
    RUN(target_from_shapes);
}
