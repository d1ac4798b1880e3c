/* Reductions and softmax. */
#include "train/vjp.h"

/* v, of the output's shape, with the reduced axes as 1: it broadcasts to the input's. */
static Value *kept(Vjp *g, Value *v)
{
    bool all = !in(g, 1) || !has_elements(in(g, 1)); /* a scalar broadcasts as it is */
    bool keeps = sdx_vjp_int(g, "keepdims", 1) || !strncmp(g->n->op_type, "Global", 6);
    return keeps || all ? v : sdx_vjp_op(g, "Unsqueeze", v, in(g, 1), NULL);
}

/* The share of each element of x, when all of a sum are equal. */
static void give_evenly(Vjp *g, Value *share) { sdx_vjp_give(g, 0, sdx_vjp_expand_like(g, kept(g, share), in(g, 0))); }

void sdx_back_reducesum(Vjp *g) { give_evenly(g, dy(g, 0)); }

void sdx_back_reducemean(Vjp *g) { give_evenly(g, mul(g, dy(g, 0), sdx_vjp_ratio(g, in(g, 0), out(g), true))); }

void sdx_back_reducel1(Vjp *g) { sdx_vjp_give(g, 0, mul(g, apply(g, "Sign", in(g, 0)), kept(g, dy(g, 0)))); }

/* x / y, 0 where y is. */
void sdx_back_reducel2(Vjp *g)
{
    Value *y = out(g), *zero = sdx_vjp_num(g, y, 0), *none = sdx_vjp_op(g, "Equal", y, zero, NULL);
    Value *share = where(g, none, zero, over(g, dy(g, 0), where(g, none, sdx_vjp_num(g, y, 1), y)));
    sdx_vjp_give(g, 0, mul(g, in(g, 0), kept(g, share)));
}

void sdx_back_reducesumsquare(Vjp *g) { sdx_vjp_give(g, 0, mul(g, in(g, 0), kept(g, scale(g, dy(g, 0), 2)))); }

/* The sum itself is e^y. */
void sdx_back_reducelogsum(Vjp *g) { give_evenly(g, over(g, dy(g, 0), apply(g, "Exp", out(g)))); }

void sdx_back_reducelogsumexp(Vjp *g)
{
    Value *share = apply(g, "Exp", sub(g, in(g, 0), kept(g, out(g))));
    sdx_vjp_give(g, 0, mul(g, kept(g, dy(g, 0)), share));
}

/* ReduceMax, ReduceMin, GlobalMaxPool: elements that reach the result share evenly. */
void sdx_back_reduceextreme(Vjp *g)
{
    int64_t axes[SDX_MAX_RANK];
    Value *x = in(g, 0), *hit = sdx_vjp_op(g, "Equal", x, kept(g, out(g)), NULL);
    Value *list[] = { sdx_vjp_cast(g, hit, x->type.elem), in(g, 1) }, *count;
    if (!strncmp(g->n->op_type, "Global", 6)) {
        int rank = sdx_vjp_rank(g, x);
        for (int i = 2; i < rank; i++) axes[i - 2] = i;
        count = sdx_vjp_reduce(g, "ReduceSum", list[0], axes, rank - 2, true);
    } else {
        Attr noop = VJP_INT("noop_with_empty_axes", sdx_vjp_int(g, "noop_with_empty_axes", 0));
        count = sdx_vjp_with(g, "ReduceSum", list, list[1] ? 2 : 1, &noop, 1);
    }
    sdx_vjp_give(g, 0, only(g, hit, over(g, kept(g, dy(g, 0)), count)));
}

/* The product of the other elements is that of those before times that of those behind: right where some are 0. */
void sdx_back_reduceprod(Vjp *g)
{
    Value *x = in(g, 0), *axes = in(g, 1), *d = kept(g, dy(g, 0)), *row = x;
    bool all = !axes || !has_elements(axes), one = axes && size_of(axes, 0) == 1;
    if (!all && !one) sdx_vjp_fail(g, "its gradient is known for one axis or all of them");
    if (all) row = sdx_vjp_op(g, "Reshape", x, sdx_vjp_list(g, (int64_t[]){ -1 }, 1), NULL);
    Value *axis = all ? sdx_vjp_int64(g, 0) : sdx_vjp_op(g, "Reshape", axes, sdx_vjp_list(g, NULL, 0), NULL), *part[2];
    for (int i = 0; i < 2; i++) {
        Attr attrs[] = { VJP_INT("exclusive", 1), VJP_INT("reverse", i) };
        part[i] = sdx_vjp_with(g, "CumProd", (Value *[]){ row, axis }, 2, attrs, 2);
    }
    Value *others = mul(g, part[0], part[1]);
    sdx_vjp_give(g, 0, mul(g, d, all ? sdx_vjp_reshape_like(g, others, x) : others));
}

static Value *sum_along(Vjp *g, Value *v, int64_t axis) { return sdx_vjp_reduce(g, "ReduceSum", v, &axis, 1, true); }

void sdx_back_softmax(Vjp *g)
{
    Value *y = out(g), *d = dy(g, 0), *sum = sum_along(g, mul(g, d, y), sdx_vjp_int(g, "axis", -1));
    sdx_vjp_give(g, 0, mul(g, sub(g, d, sum), y));
}

void sdx_back_logsoftmax(Vjp *g)
{
    Value *d = dy(g, 0), *sum = sum_along(g, d, sdx_vjp_int(g, "axis", -1));
    sdx_vjp_give(g, 0, sub(g, d, mul(g, apply(g, "Exp", out(g)), sum)));
}
