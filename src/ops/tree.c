/* ops/tree.c - TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier
 *
 * The attributes are brought once per session into the form of tree.h. Rows are walked eight at a time down one tree
 * after the other (a lone row, and shallow trees: eight trees at a time), so that the loads of one walk hide behind
 * those of the others. Scores are added in double, tree by tree. Float rows compare with float thresholds; other types,
 * and ensembles that ask more than order, go through double. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/ml.h"
#include "ops/tree.h"

enum { AGG_AVERAGE, AGG_SUM, AGG_MIN, AGG_MAX, AGG_BAD };

typedef struct TreeAttrs {
    /* TreeEnsembleRegressor and -Classifier */
    IntList nodes_treeids, nodes_nodeids, nodes_truenodeids, nodes_falsenodeids;
    StrList nodes_modes;
    FloatList nodes_values, nodes_hitrates, base_values;
    const Tensor *nodes_values_as_tensor, *nodes_hitrates_as_tensor, *base_values_as_tensor;
    IntList target_treeids, target_nodeids, target_ids, class_treeids, class_nodeids, class_ids;
    FloatList target_weights, class_weights;
    const Tensor *target_weights_as_tensor, *class_weights_as_tensor;
    IntList classlabels_int64s;
    StrList classlabels_strings;
    Str aggregate_name, post_name;
    /* TreeEnsemble */
    IntList tree_roots, nodes_trueleafs, nodes_falseleafs, leaf_targetids;
    const Tensor *nodes_modes_t, *nodes_splits, *membership_values, *leaf_weights, *nodes_hitrates_t;
    int64_t aggregate, post;
    /* all */
    IntList nodes_featureids, nodes_missing_value_tracks_true;
    int64_t n_targets;
} TreeAttrs;

#define TREE_COMMON                                                                                                    \
    OP_INTS(TreeAttrs, nodes_featureids), OP_INTS(TreeAttrs, nodes_missing_value_tracks_true),                         \
        OP_INTS(TreeAttrs, nodes_truenodeids), OP_INTS(TreeAttrs, nodes_falsenodeids)
#define TREE_OLD                                                                                                       \
    TREE_COMMON, OP_INTS(TreeAttrs, nodes_treeids), OP_INTS(TreeAttrs, nodes_nodeids),                                 \
        OP_STRS(TreeAttrs, nodes_modes), OP_FLOATS(TreeAttrs, nodes_values), OP_FLOATS(TreeAttrs, nodes_hitrates),     \
        OP_FLOATS(TreeAttrs, base_values), OP_TENSOR(TreeAttrs, nodes_values_as_tensor),                               \
        OP_TENSOR(TreeAttrs, nodes_hitrates_as_tensor), OP_TENSOR(TreeAttrs, base_values_as_tensor),                   \
    {                                                                                                                  \
        .name = "post_transform", .type = ATTR_STRING, .offset = offsetof(TreeAttrs, post_name), .s = "NONE"           \
    }

static const AttrSpec regressor_attrs[] = {
    TREE_OLD,
    OP_INTS(TreeAttrs, target_treeids),
    OP_INTS(TreeAttrs, target_nodeids),
    OP_INTS(TreeAttrs, target_ids),
    OP_FLOATS(TreeAttrs, target_weights),
    OP_TENSOR(TreeAttrs, target_weights_as_tensor),
    OP_INT(TreeAttrs, n_targets, 0),
    { .name = "aggregate_function", .type = ATTR_STRING, .offset = offsetof(TreeAttrs, aggregate_name), .s = "SUM" },
    OP_ATTR_END
};
static const AttrSpec classifier_attrs[] = { TREE_OLD,
                                             OP_INTS(TreeAttrs, class_treeids),
                                             OP_INTS(TreeAttrs, class_nodeids),
                                             OP_INTS(TreeAttrs, class_ids),
                                             OP_FLOATS(TreeAttrs, class_weights),
                                             OP_TENSOR(TreeAttrs, class_weights_as_tensor),
                                             OP_INTS(TreeAttrs, classlabels_int64s),
                                             OP_STRS(TreeAttrs, classlabels_strings),
                                             OP_ATTR_END };
#define REQUIRED(attr, kind, field)                                                                                    \
    {                                                                                                                  \
        .name = attr, .type = kind, .offset = offsetof(TreeAttrs, field), .required = true                             \
    }
static const AttrSpec ensemble_attrs[] = {
    REQUIRED("leaf_targetids", ATTR_INTS, leaf_targetids),
    REQUIRED("leaf_weights", ATTR_TENSOR, leaf_weights),
    REQUIRED("nodes_falseleafs", ATTR_INTS, nodes_falseleafs),
    REQUIRED("nodes_falsenodeids", ATTR_INTS, nodes_falsenodeids),
    REQUIRED("nodes_featureids", ATTR_INTS, nodes_featureids),
    REQUIRED("nodes_modes", ATTR_TENSOR, nodes_modes_t),
    REQUIRED("nodes_splits", ATTR_TENSOR, nodes_splits),
    REQUIRED("nodes_trueleafs", ATTR_INTS, nodes_trueleafs),
    REQUIRED("nodes_truenodeids", ATTR_INTS, nodes_truenodeids),
    REQUIRED("tree_roots", ATTR_INTS, tree_roots),
    { .name = "aggregate_function", .type = ATTR_INT, .offset = offsetof(TreeAttrs, aggregate), .i = AGG_SUM },
    { .name = "post_transform", .type = ATTR_INT, .offset = offsetof(TreeAttrs, post), .i = POST_NONE },
    { .name = "nodes_hitrates", .type = ATTR_TENSOR, .offset = offsetof(TreeAttrs, nodes_hitrates_t) },
    OP_TENSOR(TreeAttrs, membership_values),
    OP_INTS(TreeAttrs, nodes_missing_value_tracks_true),
    OP_INT(TreeAttrs, n_targets, 1),
    OP_ATTR_END
};

static int aggregate_of(Str s)
{
    static const char *const names[] = { "AVERAGE", "SUM", "MIN", "MAX" };
    for (int i = 0; i < AGG_BAD; i++)
        if (s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return i;
    return AGG_BAD;
}

/* -- the source ---------------------------------------------------------------------------------------------------- */

/* Lists of n values as tensors, so that both forms read alike. */
typedef struct Views {
    Tensor splits, weights;
} Views;

static const Tensor *floats_view(const FloatList *l, const Tensor *t, Tensor *view)
{
    if (t) return t;
    *view = (Tensor){ .dtype = DT_FLOAT, .rank = 1, .dims = { l->n }, .data = (void *)l->v };
    return view;
}

/* NULL, or what does not fit together. */
static const char *tree_source_old(const TreeAttrs *a, bool classifier, int64_t n_targets, Views *v, TreeSource *s)
{
    *s = (TreeSource){ .n = a->nodes_treeids.n,
                       .tree_ids = a->nodes_treeids.v,
                       .node_ids = a->nodes_nodeids.v,
                       .true_ids = a->nodes_truenodeids.v,
                       .false_ids = a->nodes_falsenodeids.v,
                       .mode_names = a->nodes_modes.v,
                       .features = a->nodes_featureids.v,
                       .missing_true = a->nodes_missing_value_tracks_true.v,
                       .n_targets = n_targets };
    const IntList *trees = classifier ? &a->class_treeids : &a->target_treeids;
    const IntList *nodes = classifier ? &a->class_nodeids : &a->target_nodeids;
    const IntList *ids = classifier ? &a->class_ids : &a->target_ids;
    s->weight_trees = trees->v;
    s->weight_nodes = nodes->v;
    s->weight_ids = ids->v;
    s->n_weights = ids->n;
    s->splits = floats_view(&a->nodes_values, a->nodes_values_as_tensor, &v->splits);
    s->weights = classifier ? floats_view(&a->class_weights, a->class_weights_as_tensor, &v->weights)
                            : floats_view(&a->target_weights, a->target_weights_as_tensor, &v->weights);
    if (a->nodes_nodeids.n != s->n || a->nodes_truenodeids.n != s->n || a->nodes_falsenodeids.n != s->n ||
        a->nodes_modes.n != s->n || a->nodes_featureids.n != s->n || sdx_tensor_count(s->splits) != s->n)
        return "the lists that describe nodes have different lengths";
    if (s->missing_true && a->nodes_missing_value_tracks_true.n != s->n)
        return "nodes_missing_value_tracks_true has another length than the nodes";
    if (trees->n != ids->n || nodes->n != ids->n || sdx_tensor_count(s->weights) != ids->n)
        return "the lists that describe weights have different lengths";
    return NULL;
}

static const char *tree_source_new(const TreeAttrs *a, Views *v, TreeSource *s)
{
    *s = (TreeSource){ .flat = true,
                       .n = a->nodes_featureids.n,
                       .true_ids = a->nodes_truenodeids.v,
                       .false_ids = a->nodes_falsenodeids.v,
                       .true_leaf = a->nodes_trueleafs.v,
                       .false_leaf = a->nodes_falseleafs.v,
                       .features = a->nodes_featureids.v,
                       .missing_true = a->nodes_missing_value_tracks_true.v,
                       .roots = a->tree_roots.v,
                       .n_roots = a->tree_roots.n,
                       .n_leaves = a->leaf_targetids.n,
                       .weight_ids = a->leaf_targetids.v,
                       .n_weights = a->leaf_targetids.n,
                       .splits = a->nodes_splits,
                       .weights = a->leaf_weights,
                       .modes = a->nodes_modes_t,
                       .members = a->membership_values,
                       .n_targets = a->n_targets };
    if (a->nodes_truenodeids.n != s->n || a->nodes_falsenodeids.n != s->n || a->nodes_trueleafs.n != s->n ||
        a->nodes_falseleafs.n != s->n || sdx_tensor_count(s->modes) != s->n || sdx_tensor_count(s->splits) != s->n)
        return "the lists that describe nodes have different lengths";
    if (s->missing_true && a->nodes_missing_value_tracks_true.n != s->n)
        return "nodes_missing_value_tracks_true has another length than the nodes";
    if (sdx_tensor_count(s->weights) != s->n_leaves) return "leaf_weights and leaf_targetids have different lengths";
    return NULL;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status tree_numeric(const Infer *c, const Tensor *t, const char *what)
{
    if (t && sdx_dtype_class(t->dtype) == 'T') return sdx_infer_fail(c, "%s holds strings", what);
    return SDX_OK;
}

static sdx_status tree_check(Infer *c, const char *bad)
{
    const TreeAttrs *a = c->args;
    if (bad) return sdx_infer_fail(c, "%s", bad);
    TRY(tree_numeric(c, a->nodes_values_as_tensor, "nodes_values_as_tensor"));
    TRY(tree_numeric(c, a->base_values_as_tensor, "base_values_as_tensor"));
    TRY(tree_numeric(c, a->target_weights_as_tensor, "target_weights_as_tensor"));
    TRY(tree_numeric(c, a->class_weights_as_tensor, "class_weights_as_tensor"));
    TRY(tree_numeric(c, a->nodes_modes_t, "nodes_modes"));
    TRY(tree_numeric(c, a->nodes_splits, "nodes_splits"));
    TRY(tree_numeric(c, a->leaf_weights, "leaf_weights"));
    return tree_numeric(c, a->membership_values, "membership_values");
}

static sdx_status regressor_infer(Infer *c)
{
    const TreeAttrs *a = c->args;
    Views v;
    TreeSource s;
    int64_t n = a->n_targets > 0 ? a->n_targets : 1;
    TRY(tree_check(c, tree_source_old(a, false, n, &v, &s)));
    if (aggregate_of(a->aggregate_name) == AGG_BAD) return sdx_infer_fail(c, "aggregate_function is not known");
    if (sdx_ml_post(a->post_name) == POST_BAD) return sdx_infer_fail(c, "post_transform is not known");
    return sdx_ml_infer_rows(c, 0, n);
}

static sdx_status ensemble_infer(Infer *c)
{
    const TreeAttrs *a = c->args;
    Views v;
    TreeSource s;
    TRY(tree_check(c, tree_source_new(a, &v, &s)));
    if (a->n_targets < 1) return sdx_infer_fail(c, "n_targets is %lld", (long long)a->n_targets);
    if (a->aggregate < 0 || a->aggregate >= AGG_BAD)
        return sdx_infer_fail(c, "aggregate_function %lld is not known", (long long)a->aggregate);
    if (a->post < 0 || a->post >= POST_BAD)
        return sdx_infer_fail(c, "post_transform %lld is not known", (long long)a->post);
    return sdx_ml_infer_rows(c, 0, a->n_targets);
}

static MlLabels tree_labels(const TreeAttrs *a) { return (MlLabels){ a->classlabels_int64s, a->classlabels_strings }; }

static sdx_status classifier_infer(Infer *c)
{
    const TreeAttrs *a = c->args;
    MlLabels labels = tree_labels(a);
    Views v;
    TreeSource s;
    TRY(tree_check(c, tree_source_old(a, true, ml_labels_n(&labels), &v, &s)));
    if (sdx_ml_post(a->post_name) == POST_BAD) return sdx_infer_fail(c, "post_transform is not known");
    return sdx_ml_infer_classes(c, &labels, ml_labels_n(&labels));
}

/* -- plan ---------------------------------------------------------------------------------------------------------- */

enum { LANES = 8, ROWS = 64 }; /* walks in flight; rows of a task */

typedef struct TreeState {
    const TreeModel *m;
    int64_t rows, cols, n_targets;
    int aggregate, post;
    bool floats; /* float thresholds serve */
    bool heap;   /* and so do the slots */
    size_t at_rows, at_workers, worker_scratch, at_has;
    const Tensor *base; /* NULL: none */
    Tensor base_view;
} TreeState;

typedef struct BuildArgs {
    const TreeSource *s;
    const Alloc *temp;
} BuildArgs;

static void tree_make(void *user, void *dst, const Tensor *src)
{
    const BuildArgs *a = user;
    sdx_tree_build(a->s, dst, a->temp);
}

static sdx_status tree_prepare(Prepare *p, const TreeSource *s, int aggregate, int post)
{
    const TreeAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t;
    TreeState *st = sdx_arena_new(p->arena, TreeState);
    TRY_MEM(st, p->err);
    p->state = st;
    size_t nbytes = sdx_tree_nbytes(s);
    if (!nbytes) return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the ensemble is too large");
    BuildArgs args = { s, p->arena->alloc };
    const void *model;
    TRY(sdx_prepare_derive(p, "trees", nbytes, tree_make, &args, &model));
    st->m = model;
    if (st->m->bad) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", st->m->bad);
    st->rows = ml_rows(x);
    st->cols = ml_cols(x);
    st->n_targets = s->n_targets;
    st->aggregate = aggregate;
    st->post = post;
    if (st->m->max_feature >= st->cols)
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "a node asks for feature %lld; the input has %lld",
                                (long long)st->m->max_feature, (long long)st->cols);
    st->base = a->base_values_as_tensor;
    if (!st->base && a->base_values.n) st->base = floats_view(&a->base_values, NULL, &st->base_view);
    if (st->base && sdx_tensor_count(st->base) == 0) st->base = NULL;
    if (st->base && sdx_tensor_count(st->base) > st->n_targets)
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%lld base values for %lld scores",
                                (long long)sdx_tensor_count(st->base), (long long)st->n_targets);
    st->floats = x->dtype == DT_FLOAT && st->m->only_leq;
    st->heap = st->floats && st->m->heap_depth && (aggregate == AGG_SUM || aggregate == AGG_AVERAGE);
    /* A worker holds its rows in double, their scores, and which of them were touched. */
    size_t scores, row_bytes = 0, all;
    if (!st->floats && !sdx_mul_size(&row_bytes, (size_t)st->cols, ROWS * sizeof(double)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    if (!sdx_mul_size(&scores, (size_t)st->n_targets, ROWS * (sizeof(double) + 1)) ||
        !sdx_add_size(&all, sdx_round_up(row_bytes, SDX_ALIGN), scores) || all > SIZE_MAX / 2)
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    st->at_rows = sdx_round_up(row_bytes, SDX_ALIGN);
    st->at_has = st->at_rows + (size_t)st->n_targets * ROWS * sizeof(double);
    st->worker_scratch = sdx_round_up(all, SDX_ALIGN);
    if (!sdx_mul_size(&p->scratch, st->worker_scratch, (size_t)(p->threads > 0 ? p->threads : 1)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

static sdx_status regressor_prepare(Prepare *p)
{
    const TreeAttrs *a = p->args;
    Views v;
    TreeSource s;
    tree_source_old(a, false, a->n_targets > 0 ? a->n_targets : 1, &v, &s);
    return tree_prepare(p, &s, aggregate_of(a->aggregate_name), sdx_ml_post(a->post_name));
}

static sdx_status ensemble_prepare(Prepare *p)
{
    const TreeAttrs *a = p->args;
    Views v;
    TreeSource s;
    tree_source_new(a, &v, &s);
    return tree_prepare(p, &s, (int)a->aggregate, (int)a->post);
}

static sdx_status classifier_prepare(Prepare *p)
{
    const TreeAttrs *a = p->args;
    MlLabels labels = tree_labels(a);
    Views v;
    TreeSource s;
    tree_source_old(a, true, ml_labels_n(&labels), &v, &s);
    return tree_prepare(p, &s, AGG_SUM, sdx_ml_post(a->post_name));
}

/* -- walks --------------------------------------------------------------------------------------------------------- */

static bool set_has(const double *set, int64_t at, double x)
{
    for (; set[at] == set[at]; at++)
        if (set[at] == x) return true;
    return false;
}

static uint32_t general_step(const TreeModel *m, uint32_t at, const double *x)
{
    const TreeNode *n = &m->nodes[at];
    if (m->mode[at] == TREE_LEAF) return at;
    double v = x[n->feature & ~TREE_NAN_YES], t = m->threshold[at];
    bool yes;
    switch (m->mode[at]) {
    case TREE_LEQ: yes = v <= t; break;
    case TREE_EQ: yes = v == t; break;
    case TREE_NEQ: yes = v != t; break;
    default: yes = set_has(m->set, (int64_t)t, v); break;
    }
    return n->next[yes || (v != v && n->feature & TREE_NAN_YES)];
}

/* Leaves that LANES walks reach: walk l starts at root[l] with the features x[l]. */
static void walk_double(const TreeModel *m, const uint32_t *root, int lanes, const double *const *x, uint32_t *at)
{
    for (int l = 0; l < lanes; l++) {
        uint32_t node = root[l];
        for (uint32_t next; (next = general_step(m, node, x[l])) != node; node = next) {}
        at[l] = node;
    }
}

static void walk_float(const TreeModel *m, const uint32_t *root, uint32_t depth, const float *const *x, uint32_t *at)
{
    const TreeNode *nodes = m->nodes;
    memcpy(at, root, LANES * sizeof *at);
    for (uint32_t d = 0; d < depth;) {
        uint32_t moved = 0, end = depth - d < 8 ? depth : d + 8;
        for (; d < end; d++) {
            moved = 0;
            for (int l = 0; l < LANES; l++) {
                const TreeNode *n = &nodes[at[l]];
                float v = x[l][n->feature & ~TREE_NAN_YES];
                uint32_t yes = (v <= n->threshold) | ((v != v) & n->feature >> 31), next = n->next[yes];
                moved |= next ^ at[l];
                at[l] = next;
            }
        }
        if (!moved) return;
    }
}

typedef struct TreeJob {
    const TreeState *st;
    const Tensor *x;
    char *scratch;
    void (*finish)(const struct TreeJob *j, int64_t row, double *score, const uint8_t *has);
    const TreeAttrs *a;
    Tensor z;
    void *labels;
    MlLabels names;
} TreeJob;

static void leaf_add(const TreeState *st, uint32_t at, double *score, uint8_t *has)
{
    const TreeModel *m = st->m;
    if (m->mode[at] != TREE_LEAF) return;
    uint32_t leaf = m->nodes[at].leaf;
    for (int64_t i = m->leaf_first[leaf]; i < m->leaf_first[leaf + 1]; i++) {
        int32_t t = m->weights[i].target;
        double w = m->weights[i].weight;
        if (st->aggregate == AGG_SUM || st->aggregate == AGG_AVERAGE)
            score[t] += w;
        else if (!has[t] || (st->aggregate == AGG_MIN ? w < score[t] : w > score[t]))
            score[t] = w;
        has[t] = 1;
    }
}

/* All trees over rows [first, first + n) of a block whose features start at x. */
static void trees_over_rows(const TreeState *st, const void *x, int64_t n, double *score, uint8_t *has)
{
    const TreeModel *m = st->m;
    for (int64_t t = 0; t < m->n_roots; t++) {
        uint32_t root[LANES], at[LANES];
        for (int l = 0; l < LANES; l++) root[l] = m->roots[t];
        for (int64_t r = 0; r < n; r += LANES) {
            int lanes = n - r < LANES ? (int)(n - r) : LANES;
            const float *xf[LANES];
            const double *xd[LANES];
            for (int l = 0; l < LANES; l++) {
                int64_t row = r + (l < lanes ? l : 0);
                xf[l] = (const float *)x + row * st->cols;
                xd[l] = (const double *)x + row * st->cols;
            }
            if (st->floats)
                walk_float(m, root, m->depth[t], xf, at);
            else
                walk_double(m, root, lanes, xd, at);
            for (int l = 0; l < lanes; l++)
                leaf_add(st, at[l], score + (r + l) * st->n_targets, has + (r + l) * st->n_targets);
        }
    }
}

/* One row: LANES trees at a time. */
static void trees_over_one(const TreeState *st, const void *x, double *score, uint8_t *has)
{
    const TreeModel *m = st->m;
    const float *xf[LANES];
    const double *xd[LANES];
    for (int l = 0; l < LANES; l++) xf[l] = x, xd[l] = x;
    for (int64_t t = 0; t < m->n_roots; t += LANES) {
        int lanes = m->n_roots - t < LANES ? (int)(m->n_roots - t) : LANES;
        uint32_t root[LANES], at[LANES], depth = 0;
        for (int l = 0; l < LANES; l++) {
            root[l] = m->roots[t + (l < lanes ? l : 0)];
            if (l < lanes && m->depth[t + l] > depth) depth = m->depth[t + l];
        }
        if (st->floats)
            walk_float(m, root, depth, xf, at);
        else
            walk_double(m, root, lanes, xd, at);
        for (int l = 0; l < lanes; l++) leaf_add(st, at[l], score, has);
    }
}

static void tree_range(void *arg, int64_t from, int64_t to, int worker)
{
    const TreeJob *j = arg;
    const TreeState *st = j->st;
    char *scratch = j->scratch + (size_t)worker * st->worker_scratch;
    double *score = (double *)(void *)(scratch + st->at_rows);
    uint8_t *has = (uint8_t *)scratch + st->at_has;
    for (int64_t u = from; u < to; u++) {
        int64_t first = u * ROWS, n = st->rows - first < ROWS ? st->rows - first : ROWS;
        const void *x = (const float *)j->x->data + first * st->cols;
        if (!st->floats) {
            double *wide = (double *)(void *)scratch;
            for (int64_t i = 0; i < n * st->cols; i++) wide[i] = ml_get(j->x, first * st->cols + i);
            x = wide;
        }
        memset(score, 0, (size_t)(n * st->n_targets) * sizeof *score);
        memset(has, 0, (size_t)(n * st->n_targets));
        if (st->heap)
            sdx_tree_heap_sum(st->m, x, n, st->cols, score, st->n_targets);
        else if (n == 1)
            trees_over_one(st, x, score, has);
        else
            trees_over_rows(st, x, n, score, has);
        for (int64_t r = 0; r < n; r++) j->finish(j, first + r, score + r * st->n_targets, has + r * st->n_targets);
    }
}

/* -- results ------------------------------------------------------------------------------------------------------- */

static double base_at(const TreeState *st, int64_t i)
{
    return st->base && i < sdx_tensor_count(st->base) ? sdx_tensor_get_double(st->base, i) : 0;
}

static void store(const TreeJob *j, int64_t row, const double *score)
{
    if (!j->z.data) return;
    int64_t n = j->st->n_targets;
    for (int64_t i = 0; i < n; i++) sdx_tensor_set_double((Tensor *)&j->z, row * n + i, score[i]);
}

static void regressor_finish(const TreeJob *j, int64_t row, double *score, const uint8_t *has)
{
    const TreeState *st = j->st;
    bool one_base = st->base && sdx_tensor_count(st->base) == 1;
    for (int64_t i = 0; i < st->n_targets; i++) {
        if (st->aggregate == AGG_AVERAGE && st->m->n_roots) score[i] /= (double)st->m->n_roots;
        score[i] += base_at(st, one_base ? 0 : i);
    }
    sdx_ml_post_apply(st->post, score, st->n_targets);
    store(j, row, score);
}

/* Two classes of which only one has weights: its score decides, at 1/2 if no weight is negative and at 0 otherwise. When
 * it is the first class, the score is that of the second, positive class, and the first gets what is left. */
static int64_t binary_finish(const TreeJob *j, double *score)
{
    const TreeState *st = j->st;
    bool positive = st->m->all_positive;
    if (st->m->first_id == 1) {
        int64_t label = score[1] > (positive ? 0.5 : 0);
        sdx_ml_post_apply(st->post, score, 2);
        return label;
    }
    double s = score[0] + base_at(st, 0);
    score[1] = s;
    score[0] = positive && st->post != POST_LOGISTIC ? 1 - s : -s;
    if (st->post == POST_LOGISTIC || st->post == POST_PROBIT) {
        sdx_ml_post_apply(st->post, score + 1, 1);
        score[0] = st->post == POST_LOGISTIC ? 1 / (1 + exp(s)) : -score[1];
    }
    return s > (positive ? 0.5 : 0);
}

static void classifier_finish(const TreeJob *j, int64_t row, double *score, const uint8_t *has)
{
    const TreeState *st = j->st;
    int64_t n = st->n_targets, label = 0;
    int64_t n_base = st->base ? sdx_tensor_count(st->base) : 0;
    /* Weights of floats are no more than that exact: what is equal as the float that comes out is a tie. */
    for (int64_t i = 0; i < n && st->floats; i++) score[i] = (float)score[i];
    if (n == 2 && st->m->n_ids == 1 && n_base < 2) {
        label = binary_finish(j, score);
    } else {
        for (int64_t i = 0; i < n; i++) score[i] += base_at(st, i);
        for (int64_t i = 1; i < n; i++)
            if (score[i] > score[label]) label = i;
        sdx_ml_post_apply(st->post, score, n);
    }
    ml_set_label(&j->names, j->labels, row, label);
    store(j, row, score);
}

static sdx_status tree_run_all(Run *r, TreeJob *j)
{
    const TreeState *st = r->state;
    j->st = st;
    j->x = &r->in[0]->t;
    j->scratch = r->scratch;
    j->a = r->args;
    if (st->rows == 0) return SDX_OK;
    sdx_run_range(r, (st->rows + ROWS - 1) / ROWS, grain_for(st->m->n_roots * ROWS * 4), tree_range, j);
    return SDX_OK;
}

static sdx_status tree_targets_run(Run *r, DType type)
{
    const TreeState *st = r->state;
    TreeJob j = { .finish = regressor_finish, .z = { .dtype = type } };
    TRY(sdx_run_output(r, 0, type, 2, (int64_t[]){ st->rows, st->n_targets }, &j.z.data));
    return tree_run_all(r, &j);
}

static sdx_status regressor_run(Run *r) { return tree_targets_run(r, DT_FLOAT); }
static sdx_status ensemble_run(Run *r) { return tree_targets_run(r, r->in[0]->t.dtype); }

static sdx_status classifier_run(Run *r)
{
    const TreeState *st = r->state;
    TreeJob j = { .finish = classifier_finish, .z = { .dtype = DT_FLOAT }, .names = tree_labels(r->args) };
    TRY(sdx_ml_label_output(r, &j.names, st->rows, &j.labels));
    if (r->n_out > 1 && r->out[1])
        TRY(sdx_run_output(r, 1, DT_FLOAT, 2, (int64_t[]){ st->rows, st->n_targets }, &j.z.data));
    return tree_run_all(r, &j);
}

static const OpVer regressor_vers[] = { { 5, { TS_ML } }, { 3, { TS_ML } }, { 1, { TS_ML } }, { 0 } };
const OpDef sdx_op_ml_TreeEnsembleRegressor = {
    .name = "TreeEnsembleRegressor",
    .domain = "ai.onnx.ml",
    .sig = "T->f32",
    .attrs = regressor_attrs,
    .attrs_size = sizeof(TreeAttrs),
    .vers = regressor_vers,
    .flags = OP_LAZY_PACK,
    .infer = regressor_infer,
    .cpu = { regressor_prepare, regressor_run },
};

static const OpVer classifier_vers[] = {
    { 5, { TS_ML, TS_I64 | TS_STR } },
    { 3, { TS_ML, TS_I64 | TS_STR } },
    { 1, { TS_ML, TS_I64 | TS_STR } },
    { 0 },
};
const OpDef sdx_op_ml_TreeEnsembleClassifier = {
    .name = "TreeEnsembleClassifier",
    .domain = "ai.onnx.ml",
    .sig = "T->U,f32",
    .attrs = classifier_attrs,
    .attrs_size = sizeof(TreeAttrs),
    .vers = classifier_vers,
    .flags = OP_LAZY_PACK,
    .infer = classifier_infer,
    .cpu = { classifier_prepare, classifier_run },
};

static const OpVer ensemble_vers[] = { { 5, { TS_FLT } }, { 0 } };
const OpDef sdx_op_ml_TreeEnsemble = {
    .name = "TreeEnsemble",
    .domain = "ai.onnx.ml",
    .sig = "T->T",
    .attrs = ensemble_attrs,
    .attrs_size = sizeof(TreeAttrs),
    .vers = ensemble_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .infer = ensemble_infer,
    .cpu = { ensemble_prepare, ensemble_run },
};
