/* ops/tree_build.c - from the attributes of tree ensembles to the form that is evaluated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ops/tree.h"

/* The most nodes, leaves and so on that the block may hold, from the attributes alone. */
static int64_t most_nodes(const TreeSource *s) { return s->flat ? s->n + s->n_leaves : s->n; }
static int64_t most_roots(const TreeSource *s) { return s->flat ? s->n_roots : s->n; }
static int64_t most_leaves(const TreeSource *s) { return s->flat ? s->n_leaves : s->n; }
/* The leaves of an ensemble with one target have a weight each, given or not. */
static int64_t most_weights(const TreeSource *s) { return s->n_weights + (!s->flat && s->n_targets == 1 ? s->n : 0); }
static int64_t most_members(const TreeSource *s) { return s->members ? sdx_tensor_count(s->members) + 1 : 0; }

static bool part(size_t *total, int64_t count, size_t size, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(*total, SDX_ALIGN);
    return sdx_mul_size(&nbytes, (size_t)count, size) && sdx_add_size(total, *at, nbytes);
}

typedef struct Places {
    size_t nodes, threshold, mode, roots, depth, leaf_first, weights, set, slots, slot_weight, slot_target;
} Places;

static size_t tree_places(const TreeSource *s, Places *p)
{
    size_t total = sizeof(TreeModel);
    if (most_nodes(s) >= INT32_MAX) return 0;
    bool ok = part(&total, most_nodes(s), sizeof(TreeNode), &p->nodes) &&
              part(&total, most_nodes(s), sizeof(double), &p->threshold) && part(&total, most_nodes(s), 1, &p->mode) &&
              part(&total, most_roots(s), sizeof(uint32_t), &p->roots) &&
              part(&total, most_roots(s), sizeof(uint32_t), &p->depth) &&
              part(&total, most_leaves(s) + 1, sizeof(int64_t), &p->leaf_first) &&
              part(&total, most_weights(s), sizeof(TreeWeight), &p->weights) &&
              part(&total, most_members(s), sizeof(double), &p->set) &&
              part(&total, most_nodes(s), sizeof(TreeSlot), &p->slots) &&
              part(&total, most_nodes(s), sizeof(double), &p->slot_weight) &&
              part(&total, most_nodes(s), sizeof(int32_t), &p->slot_target);
    return ok ? total : 0;
}

size_t sdx_tree_nbytes(const TreeSource *s)
{
    Places p;
    return tree_places(s, &p);
}

/* -- questions ----------------------------------------------------------------------------------------------------- */

static int mode_of(Str s)
{
    static const char *const names[] = { "BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE",    "BRANCH_GT",
                                         "BRANCH_EQ",  "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF" };
    for (int i = 0; i <= TREE_LEAF; i++)
        if (s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return i;
    return -1;
}

/* Sets mode, threshold and the way of missing values; yes and no change places where the question is turned round.
 * x < t is x <= the value before t. A NaN threshold makes every comparison false. */
static void node_ask(TreeModel *m, int64_t at, int mode, double t, bool missing_yes)
{
    TreeNode *n = &m->nodes[at];
    bool turned = mode == TREE_GT || mode == TREE_GTE, exact = mode == TREE_EQ || mode == TREE_NEQ;
    float f = (float)t;
    if (mode == TREE_LT || mode == TREE_GTE) {
        m->threshold[at] = t == -INFINITY ? NAN : nextafter(t, -INFINITY);
        n->threshold = t == -INFINITY ? NAN : (double)f < t ? f : nextafterf(f, -INFINITY);
    } else {
        m->threshold[at] = t;
        n->threshold = f;
        if (exact && (double)f != t) n->threshold = NAN;
        if (!exact && (double)f > t) n->threshold = nextafterf(f, -INFINITY);
    }
    m->mode[at] = exact || mode == TREE_MEMBER ? (uint8_t)mode : TREE_LEQ;
    /* An ordered comparison with NaN is false; != is true. */
    bool yes = missing_yes || mode == TREE_NEQ;
    if (yes != turned) n->feature |= TREE_NAN_YES;
    if (turned) {
        uint32_t swap = n->next[0];
        n->next[0] = n->next[1];
        n->next[1] = swap;
    }
}

static void node_leaf(TreeModel *m, int64_t at, int64_t leaf)
{
    m->nodes[at] = (TreeNode){ .leaf = (uint32_t)leaf, .next = { (uint32_t)at, (uint32_t)at } };
    m->threshold[at] = NAN;
    m->mode[at] = TREE_LEAF;
}

/* -- ids ----------------------------------------------------------------------------------------------------------- */

typedef struct Key {
    int64_t tree, node, at;
} Key;

static int key_order(const void *av, const void *bv)
{
    const Key *a = av, *b = bv;
    if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Index of (tree, node), -1 when there is none; near: a node of that tree, whose neighbours usually are what is asked. */
static int64_t key_find(const TreeSource *s, const Key *keys, int64_t tree, int64_t node, int64_t near)
{
    int64_t guess = near;
    if (near >= 0 && !__builtin_sub_overflow(node, s->node_ids[near], &guess) &&
        !__builtin_add_overflow(guess, near, &guess) && guess >= 0 && guess < s->n && s->tree_ids[guess] == tree &&
        s->node_ids[guess] == node)
        return guess;
    int64_t lo = 0, hi = s->n;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (keys[mid].tree < tree || (keys[mid].tree == tree && keys[mid].node < node))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < s->n && keys[lo].tree == tree && keys[lo].node == node ? keys[lo].at : -1;
}

static const char *build_ids(const TreeSource *s, TreeModel *m, Key *keys, uint8_t *is_child)
{
    for (int64_t i = 0; i < s->n; i++) keys[i] = (Key){ s->tree_ids[i], s->node_ids[i], i };
    qsort(keys, (size_t)s->n, sizeof *keys, key_order);
    for (int64_t i = 1; i < s->n; i++)
        if (keys[i].tree == keys[i - 1].tree && keys[i].node == keys[i - 1].node)
            return "two nodes of a tree have the same id";
    for (int64_t i = 0; i < s->n; i++) {
        int mode = mode_of(s->mode_names[i]);
        if (mode < 0 || mode == TREE_MEMBER) return "a node has an unknown mode";
        if (mode == TREE_LEAF) {
            node_leaf(m, i, m->n_leaves++);
            continue;
        }
        int64_t yes = key_find(s, keys, s->tree_ids[i], s->true_ids[i], i);
        int64_t no = key_find(s, keys, s->tree_ids[i], s->false_ids[i], i);
        if (yes < 0 || no < 0) return "a node leads to one that does not exist";
        if (s->features[i] < 0 || s->features[i] > INT32_MAX)
            return "a node asks for a feature that is negative or too large";
        m->nodes[i] = (TreeNode){ .feature = (uint32_t)s->features[i], .next = { (uint32_t)no, (uint32_t)yes } };
        node_ask(m, i, mode, sdx_tensor_get_double(s->splits, i), s->missing_true && s->missing_true[i]);
        is_child[yes] = is_child[no] = 1;
    }
    for (int64_t i = 0; i < s->n; i++)
        if (!is_child[i]) m->roots[m->n_roots++] = (uint32_t)i;
    return m->n_roots || !s->n ? NULL : "a tree has no root";
}

/* Weights sorted by leaf, in their order. count: n_leaves + 1 zeros. A leaf of an ensemble with one target that has no
 * weight counts with its node's value, as upstream has it. weighted: as many zeros as there are nodes. */
static const char *build_weights(const TreeSource *s, TreeModel *m, const Key *keys, int64_t *leaf_of,
                                 uint8_t *weighted)
{
    int64_t near = -1;
    for (int64_t i = 0; i < s->n_weights; i++) {
        int64_t at = key_find(s, keys, s->weight_trees[i], s->weight_nodes[i], near);
        if (at < 0) return "a weight belongs to a node that does not exist";
        if (s->weight_ids[i] < 0 || s->weight_ids[i] >= s->n_targets)
            return "a weight belongs to a target or class that does not exist";
        near = at;
        leaf_of[i] = m->mode[at] == TREE_LEAF ? (int64_t)m->nodes[at].leaf : -1;
        weighted[at] = 1;
        if (leaf_of[i] >= 0) m->leaf_first[leaf_of[i] + 1]++;
    }
    for (int64_t i = 0; i < s->n; i++) {
        weighted[i] |= m->mode[i] != TREE_LEAF || s->n_targets != 1;
        if (!weighted[i]) m->leaf_first[m->nodes[i].leaf + 1]++;
    }
    for (int64_t i = 0; i < m->n_leaves; i++) m->leaf_first[i + 1] += m->leaf_first[i];
    m->n_weights = m->leaf_first[m->n_leaves];
    for (int64_t i = s->n_weights - 1; i >= 0; i--) {
        if (leaf_of[i] < 0) continue;
        /* From the back: leaf_first[l + 1] walks down to where leaf l begins, which is where l - 1 ends. */
        m->weights[--m->leaf_first[leaf_of[i] + 1]] = (TreeWeight){ (int32_t)s->weight_ids[i],
                                                                    sdx_tensor_get_double(s->weights, i) };
    }
    for (int64_t i = 0; i < s->n; i++)
        if (!weighted[i])
            m->weights[--m->leaf_first[m->nodes[i].leaf + 1]] = (TreeWeight){ 0, sdx_tensor_get_double(s->splits, i) };
    for (int64_t i = 0; i < m->n_leaves; i++) m->leaf_first[i] = m->leaf_first[i + 1];
    m->leaf_first[m->n_leaves] = m->n_weights;
    return NULL;
}

/* -- positions ----------------------------------------------------------------------------------------------------- */

static const char *flat_child(const TreeSource *s, int64_t at, bool is_leaf, uint32_t *out)
{
    if (at < 0 || at >= (is_leaf ? s->n_leaves : s->n)) return "a node leads to one that does not exist";
    *out = (uint32_t)(is_leaf ? s->n + at : at);
    return NULL;
}

static const char *build_flat(const TreeSource *s, TreeModel *m)
{
    int64_t member = 0, n_members = s->members ? sdx_tensor_count(s->members) : 0;
    for (int64_t i = 0; i < n_members; i++) m->set[i] = sdx_tensor_get_double(s->members, i);
    if (n_members) m->set[n_members] = NAN;
    m->n_set = n_members;
    for (int64_t i = 0; i < s->n; i++) {
        int64_t mode = sdx_tensor_get_int(s->modes, i);
        uint32_t yes, no;
        const char *bad = flat_child(s, s->true_ids[i], s->true_leaf[i] != 0, &yes);
        if (!bad) bad = flat_child(s, s->false_ids[i], s->false_leaf[i] != 0, &no);
        if (bad) return bad;
        if (mode < TREE_LEQ || mode > TREE_MEMBER) return "a node has an unknown mode";
        if (s->features[i] < 0 || s->features[i] > INT32_MAX)
            return "a node asks for a feature that is negative or too large";
        m->nodes[i] = (TreeNode){ .feature = (uint32_t)s->features[i], .next = { no, yes } };
        node_ask(m, i, (int)mode, sdx_tensor_get_double(s->splits, i), s->missing_true && s->missing_true[i]);
        if (mode != TREE_MEMBER) continue;
        if (member >= n_members) return "membership_values has fewer sets than there are nodes that ask for one";
        m->threshold[i] = (double)member;
        while (member < n_members && m->set[member] == m->set[member]) member++;
        member++;
    }
    for (int64_t i = 0; i < s->n_leaves; i++) {
        node_leaf(m, s->n + i, i);
        if (s->weight_ids[i] < 0 || s->weight_ids[i] >= s->n_targets)
            return "a leaf belongs to a target that does not exist";
        m->weights[i] = (TreeWeight){ (int32_t)s->weight_ids[i], sdx_tensor_get_double(s->weights, i) };
        m->leaf_first[i + 1] = i + 1;
    }
    m->n_leaves = m->n_weights = s->n_leaves;
    for (int64_t i = 0; i < s->n_roots; i++) {
        if (s->roots[i] < 0 || s->roots[i] >= s->n) return "a tree begins at a node that does not exist";
        m->roots[m->n_roots++] = (uint32_t)s->roots[i];
    }
    return NULL;
}

/* -- both ---------------------------------------------------------------------------------------------------------- */

/* Longest walk from each root; "a tree has a cycle". height: 0 not seen, 1 on the way, else height + 2. stack: as many
 * entries as there are nodes. */
static const char *find_depths(TreeModel *m, uint32_t *height, uint32_t *stack)
{
    for (int64_t r = 0; r < m->n_roots; r++) {
        int64_t n = 0;
        stack[n++] = m->roots[r];
        while (n) {
            uint32_t at = stack[n - 1];
            const TreeNode *node = &m->nodes[at];
            if (height[at] > 1) {
                n--;
                continue;
            }
            if (m->mode[at] == TREE_LEAF) {
                height[at] = 2;
                n--;
                continue;
            }
            uint32_t a = height[node->next[0]], b = height[node->next[1]];
            if (a > 1 && b > 1) {
                height[at] = (a > b ? a : b) + 1;
                n--;
                continue;
            }
            if (a == 1 || b == 1) return "a tree has a cycle";
            height[at] = 1;
            stack[n++] = node->next[a > 1 ? 1 : 0];
        }
        m->depth[r] = height[m->roots[r]] - 2;
    }
    return NULL;
}

static const char *tree_finish(TreeModel *m, const Alloc *temp)
{
    uint32_t *height = sdx_alloc_zero(temp, (size_t)m->n_nodes * sizeof *height + 1);
    uint32_t *stack = sdx_alloc(temp, ((size_t)m->n_nodes + 2) * sizeof *stack);
    const char *bad = height && stack ? find_depths(m, height, stack) : "out of memory";
    sdx_free(temp, height);
    sdx_free(temp, stack);
    m->max_feature = -1;
    m->only_leq = true;
    for (int64_t i = 0; i < m->n_nodes; i++) {
        const TreeNode *n = &m->nodes[i];
        if (m->mode[i] == TREE_LEAF) continue;
        int64_t feature = n->feature & ~TREE_NAN_YES;
        m->only_leq &= m->mode[i] == TREE_LEQ;
        if (feature > m->max_feature) m->max_feature = feature;
    }
    m->all_positive = true;
    for (int64_t i = 0; i < m->n_weights; i++) {
        m->all_positive &= m->weights[i].weight >= 0;
        if (i == 0)
            m->n_ids = 1, m->first_id = m->weights[0].target;
        else if (m->weights[i].target != m->first_id)
            m->n_ids = 2;
    }
    return bad;
}

void sdx_tree_build(const TreeSource *s, TreeModel *m, const Alloc *temp)
{
    Places p;
    tree_places(s, &p);
    char *base = (char *)m;
    memset(m, 0, p.slots); /* slots are written when there are any */
    m->nodes = (TreeNode *)(void *)(base + p.nodes);
    m->threshold = (double *)(void *)(base + p.threshold);
    m->mode = (uint8_t *)base + p.mode;
    m->roots = (uint32_t *)(void *)(base + p.roots);
    m->depth = (uint32_t *)(void *)(base + p.depth);
    m->leaf_first = (int64_t *)(void *)(base + p.leaf_first);
    m->weights = (TreeWeight *)(void *)(base + p.weights);
    m->set = (double *)(void *)(base + p.set);
    m->slots = (TreeSlot *)(void *)(base + p.slots);
    m->slot_weight = (double *)(void *)(base + p.slot_weight);
    m->slot_target = (int32_t *)(void *)(base + p.slot_target);
    m->n_nodes = most_nodes(s);
    if (s->flat) {
        m->bad = build_flat(s, m);
    } else {
        Key *keys = sdx_alloc(temp, (size_t)s->n * sizeof *keys + 1);
        uint8_t *is_child = sdx_alloc_zero(temp, (size_t)s->n + 1);
        int64_t *leaf_of = sdx_alloc(temp, (size_t)s->n_weights * sizeof *leaf_of + 1);
        m->bad = keys && is_child && leaf_of ? build_ids(s, m, keys, is_child) : "out of memory";
        if (is_child) memset(is_child, 0, (size_t)s->n + 1);
        if (!m->bad) m->bad = build_weights(s, m, keys, leaf_of, is_child);
        sdx_free(temp, keys);
        sdx_free(temp, is_child);
        sdx_free(temp, leaf_of);
    }
    if (!m->bad) m->bad = tree_finish(m, temp);
    if (!m->bad) sdx_tree_heap_build(m, m->n_nodes);
}
