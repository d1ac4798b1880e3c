#include "tests/op_case.h"

/* One expert of 1 x 1: relu(2x + 1) * 3. */
OP_CASE(moe_one_expert, "y = com.microsoft.MoE (x, p, a, ab, b)", IN("float[2,1] x {1, -4}"), IN("float[2,1] p {5, 5}"),
        IN("float[1,1,1] a {2}"), IN("float[1,1] ab {1}"), IN("float[1,1,1] b {3}"), OUT("float[2,1] y {9, 0}"))
OP_CASE(moe_best_of_two,
        "y = com.microsoft.MoE <activation_type = \"identity\", normalize_routing_weights = 1> (x, p, a, \"\", b)",
        IN("float[2,1] x {1, 1}"), IN("float[2,2] p {0, 1, 1, 0}"), IN("float[2,1,1] a {2, 3}"),
        IN("float[2,1,1] b {1, 1}"), OUT("float[2,1] y {3, 2}"))
OP_CASE(moe_third_matrix, "y = com.microsoft.MoE <activation_type = \"identity\"> (x, p, a, \"\", b, \"\", c)",
        IN("float[1,1] x {2}"), IN("float[1,1] p {0}"), IN("float[1,1,1] a {3}"), IN("float[1,1,1] b {1}"),
        IN("float[1,1,1] c {5}"), OUT("float[1,1] y {60}"))
OP_CASE(qmoe_zero_points,
        "y = com.microsoft.QMoE <activation_type = \"identity\", expert_weight_bits = 8> "
        "(x, p, a, as, \"\", b, bs, \"\", \"\", \"\", \"\", z)",
        IN("float[1,1] x {1}"), IN("float[1,1] p {0}"), IN("uint8[1,1,1] a {12}"), IN("float[1,1] as {2}"),
        IN("uint8[1,1,1] b {129}"), IN("float[1,1] bs {1}"), IN("uint8[1,1] z {2}"), OUT("float[1,1] y {20}"))
OP_FAILS(moe_too_many, "y = com.microsoft.MoE <k = 2> (x, p, a, \"\", b)", SDX_INVALID_MODEL, "k is 2 of 1 experts",
         IN("float[1,1] x {2}"), IN("float[1,1] p {0}"), IN("float[1,1,1] a {3}"), IN("float[1,1,1] b {1}"))
OP_FAILS(moe_activation, "y = com.microsoft.MoE <activation_type = \"tan\"> (x, p, a, \"\", b)", SDX_INVALID_MODEL,
         "activation_type is", IN("float[1,1] x {2}"), IN("float[1,1] p {0}"), IN("float[1,1,1] a {3}"),
         IN("float[1,1,1] b {1}"))
OP_FAILS(moe_sizes, "y = com.microsoft.MoE (x, p, a, \"\", b)", SDX_RUN_FAILED, "do not fit tokens of 2",
         IN("float[1,2] x {2, 3}"), IN("float[1,1] p {0}"), IN("float[1,1,1] a {3}"), IN("float[1,1,1] b {1}"))
OP_FAILS(moe_swiglu_alone, "y = com.microsoft.MoE <activation_type = \"swiglu\"> (x, p, a, \"\", b)", SDX_RUN_FAILED,
         "swiglu needs", IN("float[1,1] x {2}"), IN("float[1,1] p {0}"), IN("float[1,2,1] a {3, 3}"),
         IN("float[1,1,1] b {1}"))
OP_FAILS(qmoe_scales, "y = com.microsoft.QMoE <expert_weight_bits = 8> (x, p, a, as, \"\", b, bs)", SDX_RUN_FAILED,
         "must hold 1 scales", IN("float[1,1] x {1}"), IN("float[1,1] p {0}"), IN("uint8[1,1,1] a {12}"),
         IN("float[1,2] as {2, 2}"), IN("uint8[1,1,1] b {129}"), IN("float[1,1] bs {1}"))

SUITE(moe_test)
{
    RUN(moe_one_expert);
    RUN(moe_best_of_two);
    RUN(moe_third_matrix);
    RUN(qmoe_zero_points);
    RUN(moe_too_many);
    RUN(moe_activation);
    RUN(moe_sizes);
    RUN(moe_swiglu_alone);
    RUN(qmoe_scales);
}
