/* ops/qconv_nhwc.c - sdx.QConv: convolution of 8-bit integers with channels last, quantised again at once
 *
 *     Y = clamp(round(sum((X - x_zero) (W - w_zero)) + B) * M) + y_zero, lo, hi)      half to even
 *
 * X is [N, spatial..., C] (or [N, C, spatial...] with x_first), W ONNX's [M, C/group, kernel...], constant; M, float, is
 * x_scale * w_scale / y_scale for each output channel, or one for all; B int32. lo and hi hold what a Relu or Clip
 * between the convolution and its quantisation would cut. Exact sums: kern/conv/iconv.h. */
#include <stdio.h>

#include "base/size.h"
#include "kern/conv/iconv.h"
#include "ops/axis3.h"
#include "ops/conv_plan.h"
#include "ops/dims.h"
#include "ops/nhwc.h"

typedef struct QConvAttrs {
    ConvAttrs conv; /* first */
    int64_t x_first, x_zero, w_zero, y_zero, lo, hi, to;
} QConvAttrs;

static const AttrSpec qconv_attrs[] = {
    OP_CONV_ATTRS,
    OP_INT(QConvAttrs, x_first, 0),
    OP_INT(QConvAttrs, x_zero, 0),
    OP_INT(QConvAttrs, w_zero, 0),
    OP_INT(QConvAttrs, y_zero, 0),
    OP_INT_REQ(QConvAttrs, lo),
    OP_INT_REQ(QConvAttrs, hi),
    OP_INT_REQ(QConvAttrs, to),
    OP_ATTR_END,
};

enum { IN_X, IN_W, IN_M, IN_B };

/* Conv's rule knows X, W and, third, the bias. */
static sdx_status qconv_shape(Infer *c)
{
    Infer plain = *c;
    plain.n_in = 2;
    return sdx_conv_infer(&plain);
}

static sdx_status qconv_infer(Infer *c)
{
    const QConvAttrs *a = c->args;
    if (a->to != DT_INT8 && a->to != DT_UINT8) return sdx_infer_fail(c, "to is %lld", (long long)a->to);
    TRY(infer_rank_between(c, IN_X, 3, 5, "X"));
    TRY(sdx_nhwc_infer(c, a->x_first != 0, qconv_shape));
    c->out[0].kind = TYPE_TENSOR;
    c->out[0].elem = (DType)a->to;
    return SDX_OK;
}

typedef struct QConvState {
    ConvGeometry geo;
    const Kern *kern;
    const void *packed;
    bool w_signed, x_signed, one_scale;
    int32_t w_zero;
    size_t worker_nbytes, col_nbytes; /* scratch begins with the columns' corrections */
} QConvState;

static void qconv_pack(void *user, void *dst, const Tensor *src)
{
    const QConvState *st = user;
    sdx_iconv_pack(st->kern, &st->geo.plan, src->data, st->w_signed, &st->w_zero, true, dst);
}

static sdx_status qconv_prepare(Prepare *p)
{
    const QConvAttrs *a = p->args;
    const Tensor *w = &p->in[IN_W]->t;
    QConvState *st = sdx_arena_new(p->arena, QConvState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    st->x_signed = p->in[IN_X]->t.dtype == DT_INT8;
    st->w_signed = w->dtype == DT_INT8;
    st->w_zero = (int32_t)a->w_zero;
    st->one_scale = sdx_tensor_count(&p->in[IN_M]->t) == 1;
    sdx_conv_geometry(&a->conv, a->x_first != 0, &p->in[IN_X]->t, w, &st->geo);
    if (conv_is_empty(&st->geo)) return SDX_OK;
    size_t nbytes, all;
    char key[128];
    if (!p->in_const[IN_W]) return sdx_prepare_fail(p, SDX_INTERNAL, "the weights are not constant");
    if (!sdx_iconv_pack_size(p->kern, &st->geo.plan, &nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    snprintf(key, sizeof key, "iconv %s g%zu %zux%zu %zux%zux%zu z%d", p->kern->name, st->geo.plan.groups,
             st->geo.plan.c_in, st->geo.plan.c_out, st->geo.plan.dim[0].kernel, st->geo.plan.dim[1].kernel,
             st->geo.plan.dim[2].kernel, (int)a->w_zero);
    TRY(sdx_prepare_pack(p, IN_W, key, nbytes, qconv_pack, st, &st->packed));
    sdx_iconv_plan(p->kern, &st->geo.plan, st->x_signed);
    st->col_nbytes = sdx_round_up(st->geo.plan.c_out * sizeof(int32_t), SDX_ALIGN);
    st->worker_nbytes = sdx_round_up(st->geo.plan.scratch, SDX_ALIGN);
    if (!sdx_mul_size(&all, st->worker_nbytes, (size_t)(p->threads > 0 ? p->threads : 1)) ||
        !sdx_add_size(&p->scratch, all, st->col_nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

typedef struct QConvJob {
    const QConvState *st;
    Iconv conv;
    char *scratch;
} QConvJob;

static void qconv_chunks(void *arg, int64_t from, int64_t to, int worker)
{
    const QConvJob *j = arg;
    for (int64_t i = from; i < to; i++)
        sdx_iconv_chunk(j->st->kern, &j->st->geo.plan, &j->conv, (size_t)i,
                        j->scratch + (size_t)worker * j->st->worker_nbytes);
}

static sdx_status qconv_run(Run *r)
{
    const QConvAttrs *a = r->args;
    const QConvState *st = r->state;
    void *y;
    TRY(sdx_run_output(r, 0, (DType)a->to, st->geo.out_rank, st->geo.out_dims, &y));
    if (conv_is_empty(&st->geo)) return SDX_OK;
    int32_t *col = r->scratch;
    sdx_iconv_columns(st->kern, &st->geo.plan, st->packed, st->x_signed, (int32_t)a->x_zero,
                      r->n_in > IN_B && r->in[IN_B] ? r->in[IN_B]->t.data : NULL, col);
    QConvJob j = { .st = st, .scratch = (char *)r->scratch + st->col_nbytes };
    j.conv = (Iconv){
        .x = r->in[IN_X]->t.data, .w = st->packed, .y = y, .x_signed = st->x_signed, .zx = (int32_t)a->x_zero
    };
    j.conv.out = (IgemmOut){ .kind = a->to == DT_INT8 ? SDX_IOUT_I8 : SDX_IOUT_U8,
                             .col = col,
                             .scale = r->in[IN_M]->t.data,
                             .one_scale = st->one_scale,
                             .zero = (int32_t)a->y_zero,
                             .lo = (int32_t)a->lo,
                             .hi = (int32_t)a->hi };
    sdx_run_range(r, (int64_t)st->geo.plan.chunks, 1, qconv_chunks, &j);
    return SDX_OK;
}

static const OpVer qconv_vers[] = { { 1, { TS_I8 | TS_U8, TS_I8 | TS_U8 } }, { 0 } };

const OpDef sdx_op_sdx_QConv = {
    .name = "QConv",
    .domain = "sdx",
    .sig = "T,U,f32,i32?->any",
    .attrs = qconv_attrs,
    .attrs_size = sizeof(QConvAttrs),
    .vers = qconv_vers,
    .flags = OP_LAZY_PACK,
    .infer = qconv_infer,
    .cpu = { qconv_prepare, qconv_run },
};
