/* Attention: y = p v, p = softmax(s), s = scale q k' + mask, head by head, groups of heads of q sharing one of k and v.
 *
 *     dv = p' dy,   dp = dy v',   ds = p (dp - sum(dp p)),   dq = scale ds k,   dk = scale ds' q
 *
 * p comes from the operator itself, as its output 3 in mode 3. All is done in [batch, heads of k, heads of the group,
 * sequence, size]. */
#include <math.h>

#include "train/vjp.h"

static Value *tail_swapped(Vjp *g, Value *v)
{
    static const int64_t perm[] = { 0, 1, 2, 4, 3 };
    return sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, 5), 1);
}

static Value *heads_swapped(Vjp *g, Value *v)
{
    static const int64_t perm[] = { 0, 2, 1, 3 };
    return sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, 4), 1);
}

/* [batch, sequence, heads * size] as [batch, heads, sequence, size]; heads 0: it is so already. */
static Value *heads_apart(Vjp *g, Value *v, int64_t heads)
{
    if (!heads) return v;
    Value *shape = sdx_vjp_list(g, (int64_t[]){ 0, 0, heads, -1 }, 4);
    return heads_swapped(g, sdx_vjp_op(g, "Reshape", v, shape, NULL));
}

/* And back, to the shape of input i. */
static void give_heads(Vjp *g, int i, Value *v, int64_t heads)
{
    sdx_vjp_give(g, i, heads ? sdx_vjp_reshape_like(g, heads_swapped(g, v), in(g, i)) : v);
}

/* The heads of q, those of k apart. */
static Value *grouped(Vjp *g, Value *v, Value *k)
{
    Value *rest = sdx_vjp_list(g, (int64_t[]){ -1 }, 1);
    Value *shape[] = { sdx_vjp_shape(g, v, 0, 1), sdx_vjp_shape(g, k, 1, 2), rest, sdx_vjp_shape(g, v, 2, -1) };
    return sdx_vjp_reshape(g, v, sdx_vjp_concat(g, shape, 4, 0));
}

static Value *probabilities(Vjp *g)
{
    enum { MAX_ATTRS = 8 };
    Attr attrs[MAX_ATTRS];
    Value *list[7], *all[4];
    int n = 0, n_in = g->n->n_in;
    for (int i = 0; i < g->n->n_attrs && n < MAX_ATTRS - 1; i++)
        if (strcmp(g->n->attrs[i].name, "qk_matmul_output_mode") != 0) attrs[n++] = g->n->attrs[i];
    attrs[n++] = VJP_INT("qk_matmul_output_mode", 3);
    for (int i = 0; i < 7; i++) list[i] = in(g, i);
    return sdx_vjp_many(g, "Attention", list, n_in, attrs, n, all, 4) ? all[3] : NULL;
}

static Value *scale_of(Vjp *g, Value *q)
{
    if (sdx_node_attr(g->n, "scale")) return sdx_vjp_num(g, q, sdx_vjp_float(g, "scale", 1));
    if (size_of(q, 3) > 0) return sdx_vjp_num(g, q, 1 / sqrt((double)size_of(q, 3)));
    Value *size = sdx_vjp_op(g, "Reshape", sdx_vjp_shape(g, q, 3, -1), sdx_vjp_list(g, NULL, 0), NULL);
    return q ? apply(g, "Reciprocal", apply(g, "Sqrt", sdx_vjp_cast(g, size, q->type.elem))) : NULL;
}

void sdx_back_attention(Vjp *g)
{
    static const int64_t last[] = { -1 }, group[] = { 2 };
    bool flat = sdx_vjp_rank(g, in(g, 0)) == 3;
    int64_t q_heads = flat ? sdx_vjp_int(g, "q_num_heads", 0) : 0,
            kv_heads = flat ? sdx_vjp_int(g, "kv_num_heads", 0) : 0;
    if (in(g, 4) || in(g, 5) || in(g, 6) || sdx_vjp_float(g, "softcap", 0) != 0)
        sdx_vjp_fail(g, "its gradient is not known with a past, padding or softcap");
    bool gives_p = sdx_vjp_int(g, "qk_matmul_output_mode", 0) == 3;
    for (int o = 1; o < g->n->n_out; o++)
        if (dy(g, o) && !(o == 3 && gives_p)) sdx_vjp_fail(g, "its gradient is not known for output %d", o);
    Value *q = heads_apart(g, in(g, 0), q_heads), *k = heads_apart(g, in(g, 1), kv_heads);
    Value *v = heads_apart(g, in(g, 2), kv_heads), *p = probabilities(g);
    if (!q || !p) return;
    Value *factor = scale_of(g, q), *p5 = grouped(g, p, k), *d5 = NULL, *dp = NULL;
    if (dy(g, 0)) {
        d5 = grouped(g, heads_apart(g, dy(g, 0), q_heads), k);
        dp = sdx_vjp_op(g, "MatMul", d5, tail_swapped(g, sdx_vjp_unsqueeze(g, v, group, 1)), NULL);
    }
    if (dy(g, 3)) dp = dp ? add(g, dp, grouped(g, dy(g, 3), k)) : grouped(g, dy(g, 3), k);
    if (sdx_vjp_wants(g, 2) && d5) {
        Value *dv = sdx_vjp_op(g, "MatMul", tail_swapped(g, p5), d5, NULL);
        give_heads(g, 2, sdx_vjp_reduce(g, "ReduceSum", dv, group, 1, false), kv_heads);
    }
    Value *ds = mul(g, p5, sub(g, dp, sdx_vjp_reduce(g, "ReduceSum", mul(g, dp, p5), last, 1, true)));
    Value *scaled = mul(g, ds, factor);
    if (sdx_vjp_wants(g, 0)) {
        Value *dq = sdx_vjp_op(g, "MatMul", scaled, sdx_vjp_unsqueeze(g, k, group, 1), NULL);
        give_heads(g, 0, sdx_vjp_reshape_like(g, dq, q), q_heads);
    }
    if (sdx_vjp_wants(g, 1)) {
        Value *dk = sdx_vjp_op(g, "MatMul", tail_swapped(g, scaled), grouped(g, q, k), NULL);
        give_heads(g, 1, sdx_vjp_reduce(g, "ReduceSum", dk, group, 1, false), kv_heads);
    }
    if (sdx_vjp_wants(g, 3)) sdx_vjp_give_sum(g, 3, sdx_vjp_reshape_like(g, ds, p));
}
