/* opt/transposes.c      t = Transpose <p> (x)   y = Transpose <q> (t)   =>   y = Transpose <p[q]> (x)
 *                       y = Transpose (x) that moves dims of size 1 only   =>   y = Reshape (x)
 *
 *     a = Reshape(x) to [P,m,n]   t = Transpose <0,2,1> (a)   y = Reshape(t) to [..,n,m], x being [..,m,n]
 *         =>   y = Transpose <..,last two exchanged> (x) */
#include "opt/match.h"
#include "opt/target.h"

/* The permutation, the reverse order when the attribute is absent; -1: rank unknown. */
static int perm_of(const Node *n, int64_t *out)
{
    const Attr *a = sdx_node_attr(n, "perm");
    int rank = a ? (int)a->n : rank_of(n->in[0]);
    if (rank < 0 || rank > SDX_MAX_RANK) return -1;
    for (int i = 0; i < rank; i++) out[i] = a ? a->ints[i] : rank - 1 - i;
    return rank;
}

static sdx_status transpose_merge(Opt *o, Node *n, const Node *inner, bool *changed)
{
    int64_t p[SDX_MAX_RANK], q[SDX_MAX_RANK], r[SDX_MAX_RANK];
    int rank = perm_of(n, q);
    if (rank < 0 || perm_of(inner, p) != rank) return SDX_OK;
    for (int i = 0; i < rank; i++) {
        if (q[i] < 0 || q[i] >= rank) return SDX_OK;
        r[i] = p[q[i]];
    }
    *changed = true;
    bool set = sdx_node_set_ints(n, "perm", r, rank);
    TRY_MEM(set, sdx_opt_err(o));
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    TRY(sdx_opt_set_input(o, n, 0, inner->in[0]));
    return sdx_opt_finish(o, n);
}

/* Do the dims that are not 1 keep their order? */
static bool moves_units_only(const Node *n)
{
    int64_t perm[SDX_MAX_RANK], last = -1;
    int rank = perm_of(n, perm);
    if (rank < 0 || rank_of(n->in[0]) != rank) return false;
    for (int i = 0; i < rank; i++) {
        if (perm[i] < 0 || perm[i] >= rank) return false;
        if (n->in[0]->type.shape.dims[perm[i]] == 1) continue;
        if (perm[i] < last) return false;
        last = perm[i];
    }
    return true;
}

sdx_status sdx_pass_transposes(Opt *o, Node *n, bool *changed)
{
    if (!node_in(n, 0)) return SDX_OK;
    const Node *inner = made_by(n->in[0], "Transpose");
    if (inner) return transpose_merge(o, n, inner, changed);
    int64_t target[SDX_MAX_RANK];
    if (!moves_units_only(n) || !sdx_reshape_target(n->in[0], &n->out[0]->type.shape, target)) return SDX_OK;
    *changed = true;
    return sdx_replace_by_reshape(o, n, n->in[0], target, rank_of(n->out[0]));
}

/* Are the dims of a before its last two those of b, which has the rank of a? */
static bool same_batch(const Shape *a, const Shape *b)
{
    if (a->rank != b->rank) return false;
    for (int i = 0; i < a->rank - 2; i++)
        if (a->dims[i] != b->dims[i]) return false;
    return true;
}

static bool swaps_last_two(const Node *t)
{
    int64_t perm[SDX_MAX_RANK];
    int rank = perm_of(t, perm);
    if (rank < 2 || perm[rank - 1] != rank - 2 || perm[rank - 2] != rank - 1) return false;
    for (int i = 0; i < rank - 2; i++)
        if (perm[i] != i) return false;
    return true;
}

/* A swap of the last two dims with the others taken together and apart again. */
sdx_status sdx_pass_swaps(Opt *o, Node *n, bool *changed)
{
    int64_t perm[SDX_MAX_RANK];
    const Node *t = made_by(node_in(n, 0), "Transpose"), *r = t ? made_by(t->in[0], "Reshape") : NULL;
    int rank = r ? rank_of(r->in[0]) : -1;
    if (rank < 2 || rank_of(t->in[0]) < 2 || rank_of(n->out[0]) != rank || !swaps_last_two(t)) return SDX_OK;
    const Shape *x = &r->in[0]->type.shape, *a = &t->in[0]->type.shape, *y = &n->out[0]->type.shape;
    bool kept = a->dims[a->rank - 1] == x->dims[rank - 1] && a->dims[a->rank - 2] == x->dims[rank - 2];
    bool swapped = y->dims[rank - 1] == x->dims[rank - 2] && y->dims[rank - 2] == x->dims[rank - 1];
    if (!kept || !swapped || !same_batch(x, y)) return SDX_OK;
    for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    Node *swap = sdx_opt_node(o, n, "", "Transpose", &r->in[0], 1);
    if (!swap || !sdx_node_set_ints(swap, "perm", perm, rank))
        return sdx_fail(sdx_opt_err(o), SDX_OUT_OF_MEMORY, "out of memory");
    *changed = true;
    return sdx_opt_supersede(o, n, swap);
}
