#include "tests/op_case.h"

OP_CASE(ngram_blocks, "y = com.microsoft.NGramRepeatBlock <ngram_size = 2> (i, s)", IN("int64[1,4] i {1, 2, 3, 1}"),
        IN("float[1,4] s {1, 1, 1, 1}"), OUT("float[1,4] y {1, 1, -inf, 1}"))
OP_FAILS(ngram_token_outside, "y = com.microsoft.NGramRepeatBlock <ngram_size = 1> (i, s)", SDX_RUN_FAILED,
         "token 7 is outside [0, 2)", IN("int64[1,1] i {7}"), IN("float[1,2] s {1, 1}"))
OP_CASE(bifurcation_first, "t, m = com.microsoft.BifurcationDetector (s, c, p, q)", IN("int64[4] s {1, 5, 3, 4}"),
        IN("int64[1] c {0}"), IN("int64 p {0}"), IN("int64[5] q {1, 5, 9, 7, 1}"), OUT("int64[4] t {0, 1, 5, 9}"),
        OUT("int64 m {-1}"))
OP_FAILS(bifurcation_prediction_length, "t, m = com.microsoft.BifurcationDetector (s, c, p, q)", SDX_RUN_FAILED,
         "5 are needed", IN("int64[4] s {1, 5, 3, 4}"), IN("int64[1] c {0}"), IN("int64 p {0}"), IN("int64[1] q {1}"))
OP_CASE(hash_int, "y = com.microsoft.MurmurHash3 (x)", IN("int32[1] x {3}"), OUT("uint32[1] y {847579505}"))
OP_CASE(hash_empty_string, "y = com.microsoft.MurmurHash3 (x)", IN("string[1] x {\"\"}"), OUT("uint32[1] y {0}"))
OP_CASE(warp_diagonal, "y = com.microsoft.DynamicTimeWarping (x)", IN("float[2,3] x {0, 1, 1, 1, 0, 0}"),
        OUT("int32[2,3] y {0, 1, 1, 0, 1, 2}"))
OP_FAILS(warp_empty, "y = com.microsoft.DynamicTimeWarping (x)", SDX_RUN_FAILED, "is empty", IN("float[0,3] x {}"))

SUITE(tokens_test)
{
    RUN(ngram_blocks);
    RUN(ngram_token_outside);
    RUN(bifurcation_first);
    RUN(bifurcation_prediction_length);
    RUN(hash_int);
    RUN(hash_empty_string);
    RUN(warp_diagonal);
    RUN(warp_empty);
}
