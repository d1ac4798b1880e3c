/* ops/tree_heap.c - shallow ensembles as perfect binary trees
 *
 * Every tree is padded to the depth of the deepest: the children of slot i are 2i (yes) and 2i + 1 (no), slot 1 is the
 * root, and a walk is `depth` comparisons and no pointers. All trees have the same size, so that a step of any of eight
 * neighbouring walks differs from that of the first by a constant offset. */
#include <string.h>

#include "ops/tree.h"

enum { WALKS = 8 };

void sdx_tree_heap_build(TreeModel *m, int64_t most_slots)
{
    uint32_t depth = 0, id[2 << TREE_HEAP_DEPTH];
    for (int64_t r = 0; r < m->n_roots; r++)
        if (m->depth[r] > depth) depth = m->depth[r];
    if (!m->only_leq || !m->n_weights || depth < 1 || depth > TREE_HEAP_DEPTH) return;
    if (m->n_roots > most_slots >> depth) return;
    for (int64_t i = 0; i < m->n_leaves; i++)
        if (m->leaf_first[i + 1] - m->leaf_first[i] > 1) return;
    uint32_t n = (uint32_t)1 << depth;
    for (int64_t r = 0; r < m->n_roots; r++) {
        TreeSlot *slot = m->slots + r * n;
        slot[0] = (TreeSlot){ 0 };
        id[1] = m->roots[r];
        for (uint32_t i = 1; i < n; i++) {
            const TreeNode *node = &m->nodes[id[i]];
            bool leaf = m->mode[id[i]] == TREE_LEAF;
            slot[i] = leaf ? (TreeSlot){ 0 } : (TreeSlot){ node->threshold, node->feature };
            m->slots_nan |= !leaf && node->feature & TREE_NAN_YES;
            id[2 * i] = node->next[1];
            id[2 * i + 1] = node->next[0];
        }
        for (uint32_t i = 0; i < n; i++) {
            int64_t leaf = m->nodes[id[n + i]].leaf, w = m->leaf_first[leaf];
            bool has = m->leaf_first[leaf + 1] > w;
            m->slot_weight[r * n + i] = has ? m->weights[w].weight : 0;
            m->slot_target[r * n + i] = has ? m->weights[w].target : 0;
        }
    }
    m->heap_depth = (int)depth;
}

/* The slots that `walks` neighbouring trees of a compile-time depth reach, minus 2^depth. */
static inline __attribute__((always_inline)) void heap_walk(const TreeSlot *slots, const float *x, int depth, int walks,
                                                            bool nan, uint32_t *at)
{
    size_t i[WALKS];
    for (int l = 0; l < walks; l++) i[l] = 1;
    for (int d = 0; d < depth; d++) {
#pragma GCC unroll 8
        for (int l = 0; l < walks; l++) {
            const TreeSlot *s = slots + ((size_t)l << depth) + i[l];
            float v = x[nan ? s->feature & ~TREE_NAN_YES : s->feature];
            bool yes = v <= s->threshold;
            if (nan) yes |= (v != v) & (s->feature >> 31);
            i[l] = 2 * i[l] + !yes;
        }
    }
    for (int l = 0; l < walks; l++) at[l] = (uint32_t)i[l] - ((uint32_t)1 << depth);
}

static inline __attribute__((always_inline)) void heap_sum(const TreeModel *m, int depth, bool nan, const float *x,
                                                           int64_t rows, int64_t cols, double *score, int64_t n_targets)
{
    for (int64_t t = 0; t < m->n_roots; t += WALKS) {
        int walks = m->n_roots - t < WALKS ? (int)(m->n_roots - t) : WALKS;
        const TreeSlot *slots = m->slots + (t << depth);
        const double *weight = m->slot_weight + (t << depth);
        const int32_t *target = m->slot_target + (t << depth);
        for (int64_t r = 0; r < rows; r++) {
            const float *row = x + r * cols;
            uint32_t at[WALKS];
            if (walks == WALKS)
                heap_walk(slots, row, depth, WALKS, nan, at);
            else
                for (int l = 0; l < walks; l++) heap_walk(slots + ((size_t)l << depth), row, depth, 1, nan, at + l);
            double *s = score + r * n_targets;
            if (m->n_ids <= 1) {
                double sum = s[m->first_id];
                for (int l = 0; l < walks; l++) sum += weight[((size_t)l << depth) + at[l]];
                s[m->first_id] = sum;
            } else {
                for (int l = 0; l < walks; l++) {
                    size_t leaf = ((size_t)l << depth) + at[l];
                    s[target[leaf]] += weight[leaf];
                }
            }
        }
    }
}

#define HEAP_DEPTH(d)                                                                                                  \
    case d:                                                                                                            \
        if (m->slots_nan)                                                                                              \
            heap_sum(m, d, true, x, rows, cols, score, n_targets);                                                     \
        else                                                                                                           \
            heap_sum(m, d, false, x, rows, cols, score, n_targets);                                                    \
        break;

void sdx_tree_heap_sum(const TreeModel *m, const float *x, int64_t rows, int64_t cols, double *score, int64_t n_targets)
{
    switch (m->heap_depth) {
        HEAP_DEPTH(1)
        HEAP_DEPTH(2)
        HEAP_DEPTH(3)
        HEAP_DEPTH(4)
        HEAP_DEPTH(5)
        HEAP_DEPTH(6)
        HEAP_DEPTH(7)
        HEAP_DEPTH(8)
    }
}
