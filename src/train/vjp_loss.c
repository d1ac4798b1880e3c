/* Losses over classes along axis 1: with t the target and w its weight, the adjoint of log p[t] is -w dy / norm, where norm
 * is the sum of the weights for reduction mean, else 1. Targets equal to ignore_index have weight 0. */
#include "train/vjp.h"

/* The adjoint of log p, which has the shape of `like`. */
static Value *nll_back(Vjp *g, Value *like)
{
    int64_t axes[SDX_MAX_RANK];
    Value *target = in(g, 1), *weight = in(g, 2), *d = dy(g, 0), *kept = NULL;
    int rank = sdx_vjp_rank(g, like);
    if (rank < 2) return NULL;
    if (sdx_vjp_wants(g, 2)) sdx_vjp_fail(g, "its gradient is not known for input 2");
    if (sdx_node_attr(g->n, "ignore_index")) {
        Value *ignored = sdx_vjp_num(g, target, (double)sdx_vjp_int(g, "ignore_index", 0));
        kept = apply(g, "Not", sdx_vjp_op(g, "Equal", target, ignored, NULL));
        target = only(g, kept, target);
    }
    Value *w = weight ? sdx_vjp_op(g, "Gather", weight, target, NULL)
                      : sdx_vjp_fill(g, 1, like->type.elem, sdx_vjp_shape(g, target, 0, -1));
    if (kept) w = only(g, kept, w);
    Value *share = mul(g, w, d);
    if (!sdx_vjp_word(g, "reduction", "none") && !sdx_vjp_word(g, "reduction", "sum"))
        share = over(g, share, sdx_vjp_total(g, w));
    /* The classes 0, 1, ... along axis 1, compared with the targets. */
    Value *classes = sdx_vjp_op(g, "Reshape", sdx_vjp_shape(g, like, 1, 2), sdx_vjp_list(g, NULL, 0), NULL);
    Value *range = sdx_vjp_op(g, "Range", sdx_vjp_int64(g, 0), classes, sdx_vjp_int64(g, 1));
    for (int i = 1; i < rank - 1; i++) axes[i - 1] = i;
    range = sdx_vjp_unsqueeze(g, range, axes, rank - 2);
    Value *hit = sdx_vjp_op(g, "Equal", sdx_vjp_unsqueeze(g, sdx_vjp_cast(g, target, DT_INT64), (int64_t[]){ 1 }, 1),
                            range, NULL);
    return only(g, hit, neg(g, sdx_vjp_unsqueeze(g, share, (int64_t[]){ 1 }, 1)));
}

void sdx_back_nll(Vjp *g) { sdx_vjp_give(g, 0, nll_back(g, in(g, 0))); }

/* Through log p = log softmax of the scores, which is output 1 as well. */
void sdx_back_crossentropy(Vjp *g)
{
    static const int64_t axis = 1;
    Value *logp = sdx_vjp_out(g, 1), *d = dy(g, 1);
    if (!logp) return;
    if (dy(g, 0)) d = d ? add(g, d, nll_back(g, logp)) : nll_back(g, logp);
    Value *sum = sdx_vjp_reduce(g, "ReduceSum", d, &axis, 1, true);
    sdx_vjp_give(g, 0, sub(g, d, mul(g, apply(g, "Exp", logp), sum)));
}
