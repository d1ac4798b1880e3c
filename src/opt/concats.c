/* opt/concats.c      t = Concat <a> (x, y)   z = Concat <a> (.., t, ..)   =>   z = Concat <a> (.., x, y, ..)
 *
 * Skipped when t has another reader. Inputs known to be empty along the axis go, while one is left. */
#include "opt/match.h"

enum { PARTS_MAX = 256 };

static int axis_of_concat(const Node *n)
{
    int rank = rank_of(n->out[0]);
    int64_t axis = attr_int(n, "axis", 0);
    return (int)(axis < 0 && rank > 0 ? axis + rank : axis);
}

sdx_status sdx_pass_concats(Opt *o, Node *n, bool *changed)
{
    Value *parts[PARTS_MAX];
    int count = 0, axis = axis_of_concat(n), rank = rank_of(n->out[0]);
    bool differs = false;
    if (n->n_in < 1 || rank < 1 || axis < 0 || axis >= rank) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) {
        Value *v = n->in[i];
        const Node *inner = made_by(v, "Concat");
        if (!v) return SDX_OK;
        if (rank_of(v) == rank && v->type.shape.dims[axis] == 0 && n->n_in > 1 && (count || i + 1 < n->n_in)) {
            differs = true;
            continue;
        }
        bool merge = inner && is_private(v) && axis_of_concat(inner) == axis;
        if (count + (merge ? inner->n_in : 1) > PARTS_MAX) return SDX_OK;
        if (!merge) parts[count++] = v;
        for (int k = 0; merge && k < inner->n_in; k++) parts[count++] = inner->in[k];
        differs |= merge;
    }
    if (!differs || !count) return SDX_OK;
    Node *y = sdx_opt_node(o, n, "", "Concat", parts, count);
    if (!y || !sdx_node_set_int(y, "axis", axis)) return sdx_fail(sdx_opt_err(o), SDX_OUT_OF_MEMORY, "out of memory");
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}
