/* opt/groupnorm_form.c - group normalisation by way of instances
 *
 *     r = Reshape(x) to [N, groups, ..]   i = InstanceNormalization(r, ones, zeros)   b = Reshape(i) to the shape of x
 *     y = b * scale [+ bias], one number per channel      =>   y = GroupNormalization <groups> (x, scale, bias)
 *
 * Skipped when scale or bias is not constant or an intermediate value has another reader. */
#include "opt/match.h"

static Node *reader_of(const Value *v, const char *op)
{
    Node *n = is_private(v) ? v->uses[0].node : NULL;
    return node_is(n, op) && n->graph == v->graph ? n : NULL;
}

static bool is_filled(const Value *v, double c)
{
    if (!v || !sdx_value_is_const(v) || !v->constant->data) return false;
    for (int64_t i = 0, n = sdx_tensor_count(v->constant); i < n; i++)
        if (sdx_tensor_get_double(v->constant, i) != c) return false;
    return true;
}

/* The operand of n beside v as a vector of x's channels; NULL when it is none. v NULL: a vector of zeros. */
static sdx_status channels_of(Opt *o, const Node *n, const Value *v, const Value *x, Value **out)
{
    int64_t channels = x->type.shape.dims[1];
    int rank = rank_of(x);
    const Value *w = !n ? NULL : n->in[0] == v ? n->in[1] : n->in[0];
    Tensor t = { .dtype = x->type.elem, .rank = 1, .dims = { channels } };
    *out = NULL;
    if (w) {
        const Tensor *c = w->constant;
        if (!sdx_value_is_const(w) || c->rank > rank || c->rank < rank - 1) return SDX_OK;
        if (sdx_tensor_count(c) != channels || c->dims[c->rank - rank + 1] != channels) return SDX_OK;
        t.data = c->data;
        TRY(sdx_opt_constant(o, x->graph, w->name, &t, out));
        return SDX_OK;
    }
    t.data = sdx_model_block_data(sdx_opt_model(o), &t);
    TRY_MEM(t.data, sdx_opt_err(o));
    for (int64_t i = 0; i < channels; i++) sdx_tensor_set_double(&t, i, 0);
    *out = sdx_value_constant(x->graph, NULL, &t);
    TRY_MEM(*out, sdx_opt_err(o));
    return SDX_OK;
}

sdx_status sdx_pass_groupnorm_form(Opt *o, Node *n, bool *changed)
{
    const Node *r = made_by(node_in(n, 0), "Reshape");
    Node *back = reader_of(n->out[0], "Reshape"), *mul = back ? reader_of(back->out[0], "Mul") : NULL;
    Value *x = r ? r->in[0] : NULL, *scale, *bias;
    if (!x || !mul || n->n_in != 3 || rank_of(x) < 3 || rank_of(r->out[0]) < 3) return SDX_OK;
    const Shape *xs = &x->type.shape, *rs = &r->out[0]->type.shape;
    int64_t groups = rs->dims[1], channels = xs->dims[1];
    if (groups < 1 || channels < 1 || channels % groups || rs->dims[0] != xs->dims[0]) return SDX_OK;
    if (!sdx_same_type(&back->out[0]->type, &x->type) || !sdx_same_type(&mul->out[0]->type, &x->type)) return SDX_OK;
    if (!is_filled(n->in[1], 1) || !is_filled(n->in[2], 0)) return SDX_OK;
    TRY(channels_of(o, mul, back->out[0], x, &scale));
    Node *add = reader_of(mul->out[0], "Add");
    bias = NULL;
    if (scale && add) TRY(channels_of(o, add, mul->out[0], x, &bias));
    if (!bias) add = NULL;
    if (scale && !bias) TRY(channels_of(o, NULL, NULL, x, &bias));
    if (!scale || !bias) return SDX_OK;
    Node *last = add ? add : mul,
         *y = sdx_opt_node(o, last, "", "GroupNormalization", (Value *[]){ x, scale, bias }, 3);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_int(y, "num_groups", groups) &&
               sdx_node_set_float(y, "epsilon", attr_float(n, "epsilon", 1e-5f));
    TRY_MEM(set, sdx_opt_err(o));
    *changed = true;
    return sdx_opt_supersede(o, last, y);
}
