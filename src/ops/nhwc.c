#include "ops/nhwc.h"

/* [N, s..., C] -> [N, C, s...] */
static void channels_second(Shape *s)
{
    Dim c = s->dims[s->rank - 1];
    for (int k = s->rank - 1; k > 1; k--) s->dims[k] = s->dims[k - 1];
    s->dims[1] = c;
}

static void channels_last(Shape *s)
{
    Dim c = s->dims[1];
    for (int k = 1; k < s->rank - 1; k++) s->dims[k] = s->dims[k + 1];
    s->dims[s->rank - 1] = c;
}

#define MAX_IN 4

sdx_status sdx_nhwc_infer(Infer *c, bool x_first, sdx_status (*infer)(Infer *c))
{
    Infer turned = *c;
    const Type *in[MAX_IN];
    Type x = *c->in[0];
    for (int i = 1; i < c->n_in && i < MAX_IN; i++) in[i] = c->in[i];
    if (!x_first && x.shape.rank > 2) channels_second(&x.shape);
    in[0] = &x;
    turned.in = in;
    TRY(infer(&turned));
    if (c->n_out && c->out[0].shape.rank > 2) channels_last(&c->out[0].shape);
    return SDX_OK;
}
