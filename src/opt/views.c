/* opt/views.c - chains of Reshape, Squeeze, Unsqueeze, Flatten
 *
 *     t = view(x)   y = view(t)   =>   x for y when they have one shape; else y = Reshape(x, constant)
 *     y = Reshape(x, s), s computed from shapes   =>   y = Reshape(x, constant)
 *
 * The second form makes the shape arithmetic that exporters write out disappear. Skipped when the target cannot be
 * written as a constant that holds for every value of the symbols. */
#include "opt/match.h"
#include "opt/target.h"

bool sdx_reshape_target(const Value *x, const Shape *shape, int64_t *target)
{
    int inferred = -1, copied = 0;
    if (shape->rank == SDX_RANK_UNKNOWN) return false;
    for (int i = 0; i < shape->rank; i++) {
        Dim d = shape->dims[i];
        target[i] = d;
        if (d > 0) continue;
        if (d != SDX_DIM_UNKNOWN && i < rank_of(x) && x->type.shape.dims[i] == d) {
            target[i] = 0;
            copied++;
        } else if (d < 0 && inferred < 0) {
            target[i] = -1;
            inferred = i;
        } else {
            return false;
        }
    }
    return inferred < 0 || copied == 0; /* beside a copied 0, -1 would be undefined */
}

sdx_status sdx_replace_by_reshape(Opt *o, Node *n, Value *x, const int64_t *target, int rank)
{
    Value *t;
    Tensor data = { .dtype = DT_INT64, .rank = 1, .dims = { rank }, .data = (void *)target };
    TRY(sdx_opt_constant(o, n->graph, NULL, &data, &t));
    Node *y = sdx_opt_node(o, n, "", "Reshape", (Value *[]){ x, t }, 2);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    return sdx_opt_supersede(o, n, y);
}

static bool is_view(const Node *n)
{
    return node_is(n, "Reshape") || node_is(n, "Squeeze") || node_is(n, "Unsqueeze") || node_is(n, "Flatten");
}

sdx_status sdx_pass_views(Opt *o, Node *n, bool *changed)
{
    int64_t target[SDX_MAX_RANK];
    Value *y = n->out[0], *x = node_in(n, 0), *source = x;
    if (!x || !y) return SDX_OK;
    while (source->producer && is_view(source->producer) && source->producer->in[0]) {
        source = source->producer->in[0];
        if (!sdx_same_type(&source->type, &y->type) || !sdx_value_can_replace(y, source)) continue;
        char text[200];
        TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
        *changed = true;
        return sdx_opt_replace(o, y, source);
    }
    bool dynamic = node_is(n, "Reshape") && node_in(n, 1) && !sdx_value_is_const(n->in[1]);
    if (source == x && !dynamic) return SDX_OK;
    if (!sdx_reshape_target(source, &y->type.shape, target)) {
        if (!dynamic || !sdx_reshape_target(x, &y->type.shape, target)) return SDX_OK;
        source = x;
    }
    *changed = true;
    return sdx_replace_by_reshape(o, n, source, target, y->type.shape.rank);
}
