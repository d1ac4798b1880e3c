#include "tests/op_case.h"

OP_CASE_AT(log_sum_18_truncates_integers, 18, "y = ReduceLogSum <keepdims = 0> (x)", IN("int64[3] x {5, 10, 6}"),
           OUT("int64 y {3}"))
OP_CASE_AT(log_sum_exp_1_truncates_integers, 1, "y = ReduceLogSumExp <axes = [0]> (x)", IN("uint32[2] x {3, 3}"),
           OUT("uint32[1] y {3}"))
OP_CASE(least_of_nothing_is_true, "y = ReduceMin (x, a)", IN("bool[0,2] x {}"), IN("int64[1] a {0}"),
        OUT("bool[1,2] y {1, 1}"))

SUITE(reduce_test)
{
    RUN(log_sum_18_truncates_integers);
    RUN(log_sum_exp_1_truncates_integers);
    RUN(least_of_nothing_is_true);
}
