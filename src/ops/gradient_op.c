/* ops/gradient_op.c - Gradient of ai.onnx.preview.training
 *
 * The attributes xs, zs and y name tensors; import resolves them and appends the tensors to the inputs, so that they are
 * edges as all others: inputs are the values at which the derivative is wanted, one for each name of xs and zs, then the
 * tensors that xs, zs and y name. Outputs: dy/dx for each of xs. src/train puts ordinary nodes in its place. */
#include "ops/shapes.h"

typedef struct GradientAttrs {
    StrList xs, zs;
    Str y;
} GradientAttrs;

static sdx_status gradient_infer(Infer *c)
{
    const GradientAttrs *a = c->args;
    int64_t n = a->xs.n + a->zs.n;
    if (c->n_in != 2 * n + 1)
        return sdx_infer_fail(c, "has %d inputs, not a value and a tensor for each of %lld names, and y", c->n_in,
                              (long long)n);
    if (c->n_out > a->xs.n)
        return sdx_infer_fail(c, "has %d outputs, but xs holds %lld names", c->n_out, (long long)a->xs.n);
    for (int o = 0; o < c->n_out; o++)
        if (INFER_HAS(c, o)) c->out[o] = *c->in[o];
    return SDX_OK;
}

static const AttrSpec gradient_attrs[] = { OP_STRS_REQ(GradientAttrs, xs), OP_STRS(GradientAttrs, zs),
                                           OP_STR_REQ(GradientAttrs, y), OP_ATTR_END };
static const OpVer gradient_vers[] = { { 1, { TS_BASIC, TS_FLT } }, { 0 } };

const OpDef sdx_op_training_Gradient = {
    .name = "Gradient",
    .domain = "ai.onnx.preview.training",
    .sig = "T~->U~",
    .attrs = gradient_attrs,
    .attrs_size = sizeof(GradientAttrs),
    .vers = gradient_vers,
    .infer = gradient_infer,
};
