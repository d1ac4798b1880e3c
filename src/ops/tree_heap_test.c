#include "tests/op_case.h"

/* Two trees of different depth, whose leaves are at different heights: x0 <= 0.5 ? (x1 < 2 ? 1 : 2) : 4 and
 * x1 > 2 ? 8 : 16. A missing x1 is less than 2. */
#define TWO_TREES(targets, ids)                                                                                        \
    "y = ai.onnx.ml.TreeEnsembleRegressor <n_targets = " targets ", nodes_treeids = [0,0,0,0,0,1,1,1], "               \
    "nodes_nodeids = [0,1,2,3,4,0,1,2], nodes_featureids = [0,1,0,0,0,1,0,0], "                                        \
    "nodes_values = [0.5,2.0,0.0,0.0,0.0,2.0,0.0,0.0], nodes_truenodeids = [1,3,0,0,0,1,0,0], "                        \
    "nodes_falsenodeids = [2,4,0,0,0,2,0,0], nodes_missing_value_tracks_true = [0,1,0,0,0,0,0,0], "                    \
    "nodes_modes = [\"BRANCH_LEQ\",\"BRANCH_LT\",\"LEAF\",\"LEAF\",\"LEAF\",\"BRANCH_GT\",\"LEAF\",\"LEAF\"], "        \
    "target_treeids = [0,0,0,1,1], target_nodeids = [3,4,2,1,2], target_ids = [" ids "], "                             \
    "target_weights = [1.0,2.0,4.0,8.0,16.0]> (x)"

OP_CASE(leaves_of_any_height, TWO_TREES("1", "0,0,0,0,0"),
        IN("float[6,2] x {0.5, 1, 0.5, 2, 0.5, 3, 0.75, 3, 0.25, nan, nan, nan}"),
        OUT("float[6,1] y {17, 18, 10, 12, 17, 20}"))
OP_CASE(one_row, TWO_TREES("1", "0,0,0,0,0"), IN("float[1,2] x {0.5, 3}"), OUT("float[1,1] y {10}"))
OP_CASE(leaves_of_several_targets, TWO_TREES("2", "0,1,0,1,0"), IN("float[3,2] x {0.5, 1, 0.5, 3, 0.75, 2}"),
        OUT("float[3,2] y {17, 0, 0, 10, 20, 0}"))

#define ONE_SPLIT(op, rest)                                                                                            \
    "y = ai.onnx.ml." op " <nodes_treeids = [0,0,0], nodes_nodeids = [0,1,2], nodes_featureids = [0,0,0], "            \
    "nodes_values = [0.5,3.0,7.0], nodes_truenodeids = [1,0,0], nodes_falsenodeids = [2,0,0], "                        \
    "nodes_modes = [\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"], " rest "> (x)"
OP_CASE(a_leaf_without_weight_counts_with_its_value,
        ONE_SPLIT("TreeEnsembleRegressor", "n_targets = 1, target_treeids = [0], target_nodeids = [1], "
                                           "target_ids = [0], target_weights = [2.0]"),
        IN("float[2,1] x {0, 1}"), OUT("float[2,1] y {2, 7}"))
OP_CASE(with_two_targets_it_counts_nothing,
        ONE_SPLIT("TreeEnsembleRegressor", "n_targets = 2, target_treeids = [0], target_nodeids = [1], "
                                           "target_ids = [0], target_weights = [2.0]"),
        IN("float[2,1] x {0, 1}"), OUT("float[2,2] y {2, 0, 0, 0}"))

SUITE(tree_heap_test)
{
    RUN(a_leaf_without_weight_counts_with_its_value);
    RUN(with_two_targets_it_counts_nothing);
    RUN(leaves_of_any_height);
    RUN(one_row);
    RUN(leaves_of_several_targets);
}
