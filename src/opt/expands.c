/* opt/expands.c      t = Expand(x, s)   y = Add(t, z)   =>   y = Add(x, z)
 *
 * For all elementwise operators that broadcast every input, when z alone makes y as large. */
#include "opt/match.h"

/* The shape of all inputs broadcast, x standing at place i. */
static bool shape_with(Opt *o, const Node *n, int i, const Value *x, Shape *out)
{
    *out = (Shape){ .rank = 0 };
    for (int k = 0; k < n->n_in; k++) {
        const Value *v = k == i ? x : n->in[k];
        if (!v || rank_of(v) < 0) return false;
        const Shape *s = &v->type.shape;
        Shape sum = { .rank = s->rank > out->rank ? s->rank : out->rank };
        for (int d = 1; d <= sum.rank; d++) {
            Dim a = d <= s->rank ? s->dims[s->rank - d] : 1, b = d <= out->rank ? out->dims[out->rank - d] : 1;
            if (!sdx_dim_broadcast(sdx_opt_model(o)->syms, a, b, &sum.dims[sum.rank - d])) return false;
        }
        *out = sum;
    }
    return true;
}

sdx_status sdx_pass_expands(Opt *o, Node *n, bool *changed)
{
    for (int i = 0; i < n->n_in; i++) {
        const Node *expand = made_by(n->in[i], "Expand");
        Shape with;
        if (!expand || !shape_with(o, n, i, expand->in[0], &with)) continue;
        if (!sdx_same_shape(&with, &n->out[0]->type.shape)) continue;
        char text[200];
        TRY(sdx_opt_note(o, "%s", sdx_node_text(expand, text, sizeof text)));
        *changed = true;
        TRY(sdx_opt_set_input(o, n, i, expand->in[0]));
        return sdx_opt_finish(o, n);
    }
    return SDX_OK;
}
