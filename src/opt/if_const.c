/* opt/if_const.c      y = If(true) { then } { else }   =>   then, in place
 *
 * Which makes the branch's nodes part of the surrounding graph. */
#include "opt/match.h"

sdx_status sdx_pass_if_const(Opt *o, Node *n, bool *changed)
{
    int64_t cond;
    if (sdx_known_ints(node_in(n, 0), &cond, 1) != 1) return SDX_OK;
    const Attr *a = sdx_node_attr(n, cond ? "then_branch" : "else_branch");
    if (!a || a->type != ATTR_GRAPH || a->g->n_outputs < n->n_out) return SDX_OK;
    Graph *body = a->g;
    Node *before_body = n->prev;
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    *changed = true;
    bool inlined = sdx_graph_inline(body, n, NULL);
    TRY_MEM(inlined, sdx_opt_err(o));
    for (Node *m = before_body ? before_body->next : n->graph->first; m && m != n; m = m->next)
        TRY(sdx_opt_touch(o, m));
    for (int i = 0, n_out = n->n_out; i < n_out && n->graph; i++) {
        Value *from = n->out[i], *to = body->outputs[i];
        if (!from) continue;
        if (!sdx_value_can_replace(from, to)) TRY(sdx_opt_apply(o, n, "Identity", &to, 1, &to));
        TRY(sdx_opt_replace(o, from, to));
    }
    return SDX_OK;
}
