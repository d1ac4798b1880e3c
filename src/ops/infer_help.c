/* Inference helpers that need no driver. */
#include <stdarg.h>
#include <stdio.h>

#include "ops/ops.h"

sdx_status sdx_infer_fail(const Infer *c, const char *fmt, ...)
{
    char node[256], text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return sdx_fail(c->err, SDX_INVALID_MODEL, "%s: %s", sdx_node_text(c->node, node, sizeof node), text);
}

sdx_status sdx_infer_same_shape(Infer *c)
{
    if (c->n_in && c->in[0]) c->out[0].shape = c->in[0]->shape;
    return SDX_OK;
}

static char *shape_text(const Infer *c, const Shape *s, char *buf, size_t size)
{
    Type t = { .kind = TYPE_TENSOR, .elem = DT_NONE, .shape = *s };
    return sdx_type_text(c->syms, &t, buf, size);
}

sdx_status sdx_infer_broadcast_shapes(const Infer *c, const Shape *a, const Shape *b, Shape *out)
{
    Shape y = { .rank = SDX_RANK_UNKNOWN };
    if (a->rank != SDX_RANK_UNKNOWN && b->rank != SDX_RANK_UNKNOWN) {
        y.rank = a->rank > b->rank ? a->rank : b->rank;
        for (int i = 1; i <= y.rank; i++) {
            Dim da = i <= a->rank ? a->dims[a->rank - i] : 1, db = i <= b->rank ? b->dims[b->rank - i] : 1;
            if (!sdx_dim_broadcast(c->syms, da, db, &y.dims[y.rank - i])) {
                char ta[160], tb[160];
                return sdx_infer_fail(c, "shapes %s and %s do not broadcast: dimension -%d differs and neither is 1",
                                      shape_text(c, a, ta, sizeof ta), shape_text(c, b, tb, sizeof tb), i);
            }
        }
    }
    *out = y;
    return SDX_OK;
}

sdx_status sdx_infer_broadcast(Infer *c)
{
    Shape y = { .rank = 0 };
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]) TRY(sdx_infer_broadcast_shapes(c, &y, &c->in[i]->shape, &y));
    c->out[0].shape = y;
    return SDX_OK;
}

sdx_status sdx_infer_axis(const Infer *c, int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank)
        return sdx_infer_fail(c, "axis %lld is outside [-%d, %d)", (long long)axis, rank, rank);
    *out = (int)(axis < 0 ? axis + rank : axis);
    return SDX_OK;
}
