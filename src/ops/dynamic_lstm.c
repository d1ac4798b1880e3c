/* ops/dynamic_lstm.c - com.microsoft DynamicQuantizeLSTM
 *
 * LSTM whose weights are 8-bit integers, [dirs, input, 4*hidden] and [dirs, hidden, 4*hidden], with a scale and zero
 * point for each direction or each of its columns. The operator's own kernels quantise each input and state too, to
 * multiply in integers; here weights are dequantised once and the products are LSTM's in float, which has less error
 * and, for the small states of such models, no more work. */
#include <string.h>

#include "base/size.h"
#include "ops/dims.h"
#include "ops/rnn.h"

enum { IN_X, IN_W, IN_R, IN_W_SCALE = 8, IN_W_ZERO, IN_R_SCALE, IN_R_ZERO };

static const AttrSpec dynamic_attrs[] = { OP_RNN_ATTRS, OP_INT(RnnAttrs, input_forget, 0), OP_ATTR_END };

static sdx_status dynamic_infer(Infer *c)
{
    const RnnAttrs *a = c->args;
    int dirs = sdx_rnn_dirs(a->direction);
    if (!dirs) return sdx_infer_fail(c, "direction is \"%.*s\"", (int)a->direction.n, a->direction.p);
    if (a->layout) return sdx_infer_fail(c, "layout is %lld; it must be 0", (long long)a->layout);
    TRY(infer_rank_between(c, IN_X, 3, 3, "X"));
    TRY(infer_rank_between(c, IN_W, 3, 3, "W"));
    TRY(infer_rank_between(c, IN_R, 3, 3, "R"));
    const Shape *x = infer_shape(c, IN_X), *w = infer_shape(c, IN_W), *r = infer_shape(c, IN_R);
    if (!x || !w || !r) return SDX_OK;
    Dim h = r->dims[1], columns = infer_mul(c, h, 4);
    if (dim_differs(w->dims[1], x->dims[2]) || dim_differs(w->dims[2], columns) || dim_differs(r->dims[2], columns) ||
        dim_differs(w->dims[0], dirs) || dim_differs(r->dims[0], dirs))
        return sdx_infer_fail(c, "the shapes of X, W and R do not fit each other or the direction");
    for (int o = 0; o < c->n_out; o++) {
        Dim *y = infer_out_rank(c, o, o ? 3 : 4);
        if (!o) *y++ = x->dims[0];
        y[0] = dirs;
        y[1] = x->dims[1];
        y[2] = h;
    }
    return SDX_OK;
}

/* [dirs, k, n] integers to [dirs, n, k] floats. Scales and zero points: one a direction, or one a column of it. */
static sdx_status dequantize(Prepare *p, int i, int scale_at, int zero_at, Datum *out)
{
    const Tensor *q = &p->in[i]->t, *scale = &p->in[scale_at]->t, *zero = &p->in[zero_at]->t;
    int64_t dirs = q->dims[0], k = q->dims[1], n = q->dims[2];
    int64_t scales = sdx_tensor_count(scale), zeros = sdx_tensor_count(zero);
    if (!p->in_const[i] || !p->in_const[scale_at] || !p->in_const[zero_at])
        return sdx_prepare_fail(p, SDX_UNSUPPORTED, "weights, scales and zero points must be constant");
    if ((scales != dirs && scales != dirs * n) || (zeros != dirs && zeros != dirs * n))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL,
                                "%lld scales and %lld zero points for %lld directions of %lld columns",
                                (long long)scales, (long long)zeros, (long long)dirs, (long long)n);
    *out = (Datum){ .kind = DATUM_TENSOR, .t = { .dtype = DT_FLOAT, .rank = 3, .dims = { dirs, n, k } } };
    float *y = out->t.data = sdx_arena_array(p->arena, float, dirs *n *k);
    TRY_MEM(y, p->err);
    for (int64_t d = 0; d < dirs; d++)
        for (int64_t j = 0; j < n; j++) {
            float s = (float)sdx_tensor_get_double(scale, scales == dirs ? d : d * n + j);
            int64_t z = sdx_tensor_get_int(zero, zeros == dirs ? d : d * n + j);
            for (int64_t l = 0; l < k; l++)
                y[(d * n + j) * k + l] = s * (float)(sdx_tensor_get_int(q, (d * k + l) * n + j) - z);
        }
    return SDX_OK;
}

/* LSTM's own preparation over the float weights, which live as long as the plan; so do their packed forms. */
static sdx_status dynamic_prepare(Prepare *p)
{
    Datum *weights = sdx_arena_array(p->arena, Datum, 2);
    TRY_MEM(weights, p->err);
    TRY(dequantize(p, IN_W, IN_W_SCALE, IN_W_ZERO, &weights[0]));
    TRY(dequantize(p, IN_R, IN_R_SCALE, IN_R_ZERO, &weights[1]));
    const Datum *in[IN_W_SCALE];
    bool in_const[IN_W_SCALE];
    for (int i = 0; i < IN_W_SCALE; i++) {
        bool is_weight = i == IN_W || i == IN_R;
        in[i] = is_weight ? &weights[i - IN_W] : p->in[i];
        in_const[i] = is_weight || p->in_const[i];
    }
    Prepare lstm = *p;
    lstm.in = in;
    lstm.in_const = in_const;
    lstm.n_in = IN_W_SCALE;
    lstm.packs = NULL;
    sdx_status st = sdx_rnn_prepare(&lstm, RNN_LSTM);
    p->state = lstm.state;
    p->scratch = lstm.scratch;
    return st;
}

static const OpVer dynamic_vers[] = { { 1, { TS_I8 | TS_U8, TS_I8 | TS_U8, TS_I8 | TS_U8, TS_I8 | TS_U8 } }, { 0 } };

const OpDef sdx_op_ms_DynamicQuantizeLSTM = {
    .name = "DynamicQuantizeLSTM",
    .domain = "com.microsoft",
    .sig = "f32,T,U,f32?,i32?,f32?,f32?,f32?,f32,V,f32,W->f32?,f32?,f32?",
    .attrs = dynamic_attrs,
    .attrs_size = sizeof(RnnAttrs),
    .vers = dynamic_vers,
    .infer = dynamic_infer,
    .cpu = { dynamic_prepare, sdx_rnn_run },
};
