/* opt/softmax_form.c      m = ReduceMax <a> (x)   e = Exp(x - m)   y = e / ReduceSum <a> (e)   =>   y = Softmax <a> (x)
 *
 * One axis, kept. Skipped when e has another reader. */
#include "opt/match.h"

static int only_axis(const Node *reduce)
{
    int64_t axes[SDX_MAX_RANK];
    return reduce && attr_int(reduce, "keepdims", 1) && sdx_reduce_axes(reduce, axes) == 1 ? (int)axes[0] : -1;
}

sdx_status sdx_pass_softmax_form(Opt *o, Node *n, bool *changed)
{
    const Node *exp = made_by(node_in(n, 0), "Exp"), *sum = made_by(node_in(n, 1), "ReduceSum");
    const Node *sub = exp ? made_by(exp->in[0], "Sub") : NULL, *max = sub ? made_by(sub->in[1], "ReduceMax") : NULL;
    int axis = only_axis(sum);
    if (!max || !sum || axis < 0 || only_axis(max) != axis) return SDX_OK;
    Value *x = sub->in[0], *e = n->in[0];
    if (sum->in[0] != e || max->in[0] != x || e->n_uses != 2 || (e->flags & VALUE_GRAPH_OUTPUT)) return SDX_OK;
    if (!sdx_dtype_in(x->type.elem, TS_FLTB) || !sdx_same_type(&x->type, &n->out[0]->type)) return SDX_OK;
    Node *y = sdx_opt_node(o, n, "", "Softmax", &x, 1);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_int(y, "axis", axis);
    TRY_MEM(set, sdx_opt_err(o));
    *changed = true;
    return sdx_opt_supersede(o, n, y);
}
