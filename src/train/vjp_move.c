/* Operators that move elements: the way back moves them to where they came from. */
#include "train/vjp.h"

void sdx_back_reshape(Vjp *g) { sdx_vjp_give(g, 0, sdx_vjp_reshape_like(g, dy(g, 0), in(g, 0))); }

void sdx_back_transpose(Vjp *g)
{
    int64_t inverse[SDX_MAX_RANK] = { 0 };
    const Attr *perm = sdx_node_attr(g->n, "perm");
    Value *d = dy(g, 0);
    int rank = perm && perm->n <= SDX_MAX_RANK ? (int)perm->n : 0;
    for (int i = 0; i < rank; i++) inverse[sdx_vjp_axis(g, perm->ints[i], rank)] = i;
    sdx_vjp_give(g, 0, sdx_vjp_with(g, "Transpose", &d, 1, &VJP_INTS("perm", inverse, rank), rank > 0));
}

/* Any operator whose output holds elements of input 0, each from a place that its other inputs tell: the same operator
 * on the numbers 0, 1, 2 ... in place of the elements says which. */
void sdx_back_moved(Vjp *g)
{
    enum { MAX_IN = 8 };
    Value *x = in(g, 0), *list[MAX_IN];
    int n = g->n->n_in;
    for (int i = 1; i < n; i++) list[i] = in(g, i);
    Value *zero = sdx_vjp_int64(g, 0), *one = sdx_vjp_int64(g, 1);
    list[0] = sdx_vjp_reshape_like(g, sdx_vjp_op(g, "Range", zero, apply(g, "Size", x), one), x);
    sdx_vjp_give(g, 0, sdx_vjp_scatter(g, x, sdx_vjp_again(g, list, n), dy(g, 0)));
}

/* Rows are added where they came from; along other axes, elements are. */
void sdx_back_gather(Vjp *g)
{
    Value *x = in(g, 0);
    if (sdx_vjp_int(g, "axis", 0) != 0) {
        sdx_back_moved(g);
        return;
    }
    Value *rows = sdx_vjp_unsqueeze(g, sdx_vjp_cast(g, in(g, 1), DT_INT64), (int64_t[]){ -1 }, 1);
    Value *list[] = { sdx_vjp_fill_like(g, 0, x), rows, dy(g, 0) };
    sdx_vjp_give(g, 0, sdx_vjp_with(g, "ScatterND", list, 3, &VJP_STR("reduction", "add"), 1));
}

void sdx_back_concat(Vjp *g)
{
    int n = g->n->n_in, axis = sdx_vjp_axis(g, sdx_vjp_int(g, "axis", 0), sdx_vjp_rank(g, out(g)));
    Value **sizes = sdx_vjp_room(g, n), **shares = sdx_vjp_room(g, n);
    if (n == 1) sdx_vjp_give(g, 0, dy(g, 0));
    if (n == 1 || !sizes || !shares) return;
    for (int i = 0; i < n; i++) sizes[i] = sdx_vjp_shape(g, in(g, i), axis, axis + 1);
    Value *list[] = { dy(g, 0), sdx_vjp_concat(g, sizes, n, 0) };
    if (!sdx_vjp_many(g, "Split", list, 2, &VJP_INT("axis", axis), 1, shares, n)) return;
    for (int i = 0; i < n; i++) sdx_vjp_give(g, i, shares[i]);
}

void sdx_back_split(Vjp *g)
{
    int n = g->n->n_out;
    Value **parts = sdx_vjp_room(g, n);
    if (!parts) return;
    for (int i = 0; i < n; i++) parts[i] = dy(g, i) ? dy(g, i) : sdx_vjp_fill_like(g, 0, sdx_vjp_out(g, i));
    sdx_vjp_give(g, 0, sdx_vjp_concat(g, parts, n, sdx_vjp_int(g, "axis", 0)));
}

/* Each axis of length n, repeated r times, is seen as r by n; the sum goes over r. */
void sdx_back_tile(Vjp *g)
{
    Value *x = in(g, 0), *column = sdx_vjp_list(g, (int64_t[]){ -1, 1 }, 2);
    int64_t axes[SDX_MAX_RANK];
    int rank = sdx_vjp_rank(g, x);
    if (2 * rank > SDX_MAX_RANK) sdx_vjp_fail(g, "its gradient is not known for rank %d", rank);
    if (2 * rank > SDX_MAX_RANK) return;
    for (int i = 0; i < rank; i++) axes[i] = 2 * i;
    Value *repeats = sdx_vjp_reshape(g, in(g, 1), column);
    Value *pairs = sdx_vjp_concat(g, (Value *[]){ repeats, sdx_vjp_reshape(g, sdx_vjp_shape(g, x, 0, -1), column) }, 2,
                                  1);
    Value *split = sdx_vjp_reshape(g, dy(g, 0), sdx_vjp_reshape(g, pairs, sdx_vjp_list(g, (int64_t[]){ -1 }, 1)));
    sdx_vjp_give(g, 0, sdx_vjp_reduce(g, "ReduceSum", split, axes, rank, false));
}

/* Constant padding is undone by padding with the opposite numbers, which cuts; in the other modes elements were copied. */
void sdx_back_pad(Vjp *g)
{
    const Attr *mode = sdx_node_attr(g->n, "mode");
    if (mode && !sdx_vjp_word(g, "mode", "constant")) {
        sdx_back_moved(g);
        return;
    }
    Value *d = dy(g, 0), *list[] = { d, neg(g, in(g, 1)), NULL, in(g, 3) };
    Value *dx = sdx_vjp_with(g, "Pad", list, 4, NULL, 0);
    sdx_vjp_give(g, 0, dx);
    if (sdx_vjp_wants(g, 2)) sdx_vjp_give(g, 2, sub(g, sdx_vjp_total(g, d), sdx_vjp_total(g, dx)));
}

/* Replaced elements give nothing back; added ones leave those below as they are. */
void sdx_back_scatter(Vjp *g)
{
    Value *d = dy(g, 0), *at = in(g, 1), *list[] = { d, at, NULL };
    bool nd = strcmp(g->n->op_type, "ScatterND") == 0, adds = sdx_vjp_word(g, "reduction", "add");
    if (sdx_node_attr(g->n, "reduction") && !adds && !sdx_vjp_word(g, "reduction", "none")) {
        sdx_vjp_fail(g, "its gradient is known for reduction none and add only");
        return;
    }
    Attr axis = VJP_INT("axis", sdx_vjp_int(g, "axis", 0));
    if (sdx_vjp_wants(g, 0) && !adds) list[2] = sdx_vjp_fill_like(g, 0, in(g, 2));
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give(g, 0, adds ? d : sdx_vjp_again(g, list, 3));
    if (sdx_vjp_wants(g, 2))
        sdx_vjp_give(g, 2, sdx_vjp_with(g, nd ? "GatherND" : "GatherElements", list, 2, &axis, !nd));
}

void sdx_back_cumsum(Vjp *g)
{
    Attr attrs[] = { VJP_INT("exclusive", sdx_vjp_int(g, "exclusive", 0)),
                     VJP_INT("reverse", !sdx_vjp_int(g, "reverse", 0)) };
    sdx_vjp_give(g, 0, sdx_vjp_with(g, "CumSum", (Value *[]){ dy(g, 0), in(g, 1) }, 2, attrs, 2));
}

void sdx_back_trilu(Vjp *g) { sdx_vjp_give(g, 0, sdx_vjp_again(g, (Value *[]){ dy(g, 0), in(g, 1) }, g->n->n_in)); }

void sdx_back_topk(Vjp *g)
{
    Value *list[] = { sdx_vjp_fill_like(g, 0, in(g, 0)), sdx_vjp_out(g, 1), dy(g, 0) };
    Attr axis = VJP_INT("axis", sdx_vjp_int(g, "axis", -1));
    sdx_vjp_give(g, 0, sdx_vjp_with(g, "ScatterElements", list, 3, &axis, 1));
}
