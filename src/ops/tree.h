/* ops/tree.h - ensembles of decision trees in the form that is evaluated (tree_build.c makes it, tree.c uses it;
 * tree_heap.c does both for shallow ones).
 *
 * One block of memory: this header, nodes, roots, leaf ranges, leaf weights, sets. A node asks one question; every
 * question is brought to `x <= threshold` where that is possible, so that a step is one comparison. Leaves lead to
 * themselves: a walk of `depth` steps ends at the leaf however early it got there. */
#ifndef SDX_OPS_TREE_H
#define SDX_OPS_TREE_H

#include "ops/ops.h"

/* What a node asks; LEQ with thresholds in the compute type covers LT, GT and GTE. */
enum { TREE_LEQ, TREE_LT, TREE_GTE, TREE_GT, TREE_EQ, TREE_NEQ, TREE_MEMBER, TREE_LEAF };

#define TREE_NAN_YES ((uint32_t)1 << 31) /* flag in TreeNode.feature: a missing value answers yes */

typedef struct TreeNode {
    union {
        float threshold; /* for float inputs, rounded so that x <= t means what it did */
        uint32_t leaf;   /* leaves: index of their range of weights */
    };
    uint32_t feature;
    uint32_t next[2]; /* [0]: the answer is no, [1]: yes. Leaves: themselves */
} TreeNode;

typedef struct TreeWeight {
    int32_t target;
    double weight;
} TreeWeight;

/* A question of a tree that is stored as a perfect binary tree. */
enum { TREE_HEAP_DEPTH = 8 }; /* the deepest that is */
typedef struct TreeSlot {
    float threshold;
    uint32_t feature; /* with TREE_NAN_YES */
} TreeSlot;

typedef struct TreeModel {
    const char *bad; /* what is wrong with the ensemble; NULL: nothing */
    int64_t n_nodes, n_roots, n_leaves, n_weights, n_set;
    int64_t max_feature; /* -1: no question is asked */
    bool only_leq;
    int64_t n_ids; /* distinct targets that leaves name */
    int64_t first_id;
    bool all_positive; /* no weight is negative */
    TreeNode *nodes;
    double *threshold;       /* by node; of MEMBER: where its set begins */
    uint8_t *mode;           /* by node: TREE_LEQ, EQ, NEQ, MEMBER or LEAF */
    uint32_t *roots, *depth; /* by root */
    int64_t *leaf_first;     /* n_leaves + 1: weights of a leaf */
    TreeWeight *weights;
    double *set; /* members, NaN after each set */
    /* Shallow trees whose leaves have a weight at most: 2^heap_depth slots and leaves for each root. */
    int heap_depth; /* 0: there are none of these */
    bool slots_nan; /* a slot has TREE_NAN_YES */
    TreeSlot *slots;
    double *slot_weight;
    int32_t *slot_target;
} TreeModel;

/* An ensemble as its attributes give it, of either form. */
typedef struct TreeSource {
    int64_t n; /* nodes */
    /* TreeEnsembleRegressor and -Classifier: ids, and modes by name. */
    const int64_t *tree_ids, *node_ids, *true_ids, *false_ids;
    const Str *mode_names;
    int64_t n_weights;
    const int64_t *weight_trees, *weight_nodes, *weight_ids;
    /* TreeEnsemble: positions, leaves apart. */
    bool flat;
    const int64_t *roots, *true_leaf, *false_leaf;
    int64_t n_roots, n_leaves;
    const Tensor *modes;
    const Tensor *members;
    /* both */
    const int64_t *features, *missing_true;
    const Tensor *splits, *weights; /* float or double, any tensor of n values */
    int64_t n_targets;
} TreeSource;

/* Bytes of the block; 0: too large. */
size_t sdx_tree_nbytes(const TreeSource *s);
void sdx_tree_build(const TreeSource *s, TreeModel *m, const Alloc *temp);

/* Makes the slots if the ensemble is of that kind and they are no more than most_slots. */
void sdx_tree_heap_build(TreeModel *m, int64_t most_slots);
/* Adds the weights of all trees, in their order, to the scores of rows. */
void sdx_tree_heap_sum(const TreeModel *m, const float *x, int64_t rows, int64_t cols, double *score,
                       int64_t n_targets);

#endif
