/* ops/qadd.c - sdx.QAdd: the sum of two quantised tensors of one shape, quantised again
 *
 *     Y = clamp(round((A - a_zero) a_scale + (B - b_zero) b_scale) + y_zero, lo, hi)      half to even
 *
 * with scales already divided by that of Y. lo and hi hold what a Relu or Clip in between would cut. */
#include "ops/axis3.h"
#include "ops/dims.h"

typedef struct QAddAttrs {
    int64_t a_zero, b_zero, y_zero, lo, hi, to;
    float a_scale, b_scale;
} QAddAttrs;

static const AttrSpec qadd_attrs[] = {
    OP_INT(QAddAttrs, a_zero, 0),     OP_INT(QAddAttrs, b_zero, 0),     OP_INT(QAddAttrs, y_zero, 0),
    OP_INT_REQ(QAddAttrs, lo),        OP_INT_REQ(QAddAttrs, hi),        OP_INT_REQ(QAddAttrs, to),
    OP_FLOAT_REQ(QAddAttrs, a_scale), OP_FLOAT_REQ(QAddAttrs, b_scale), OP_ATTR_END,
};

static sdx_status qadd_infer(Infer *c)
{
    const QAddAttrs *a = c->args;
    if (a->to != DT_INT8 && a->to != DT_UINT8) return sdx_infer_fail(c, "to is %lld", (long long)a->to);
    TRY(sdx_infer_same_shape(c));
    c->out[0].kind = TYPE_TENSOR;
    c->out[0].elem = (DType)a->to;
    return SDX_OK;
}

typedef struct QAddJob {
    const QAddAttrs *a;
    const Kern *kern;
    const char *x[2];
    bool is_signed[2];
    char *y;
} QAddJob;

static sdx_status qadd_prepare(Prepare *p)
{
    p->state = (void *)(uintptr_t)p->kern; /* all that a run needs */
    return SDX_OK;
}

static void qadd_range(void *arg, int64_t from, int64_t to, int worker)
{
    enum { BLOCK = 1024 };
    const QAddJob *j = arg;
    const QAddAttrs *q = j->a;
    float a[BLOCK], b[BLOCK];
    QuantizeF32 *quantize = j->kern->quantize_f32[q->to == DT_INT8 ? SDX_Q_i8 : SDX_Q_u8];
    DequantizeF32 *widen[2];
    for (int i = 0; i < 2; i++) widen[i] = j->kern->dequantize_f32[j->is_signed[i] ? SDX_Q_i8 : SDX_Q_u8];
    for (int64_t i = from; i < to; i += BLOCK) {
        size_t n = (size_t)(to - i < BLOCK ? to - i : BLOCK);
        widen[0](a, j->x[0] + i, n, q->a_scale, (int32_t)q->a_zero);
        widen[1](b, j->x[1] + i, n, q->b_scale, (int32_t)q->b_zero);
        j->kern->map2[SDX_K_f32][SDX_MAP2_add](a, a, b, n, 0);
        quantize(j->y + i, a, n, 1, (int32_t)q->y_zero, (int32_t)q->lo, (int32_t)q->hi);
    }
}

static sdx_status qadd_run(Run *r)
{
    const Tensor *a = &r->in[0]->t, *b = &r->in[1]->t;
    const QAddAttrs *q = r->args;
    void *y;
    if (!sdx_dims_equal(a->dims, a->rank, b->dims, b->rank)) return sdx_run_fail(r, "the shapes of A and B differ");
    TRY(sdx_run_output(r, 0, (DType)q->to, a->rank, a->dims, &y));
    QAddJob j = { .a = q,
                  .kern = r->state,
                  .x = { a->data, b->data },
                  .is_signed = { a->dtype == DT_INT8, b->dtype == DT_INT8 },
                  .y = y };
    sdx_run_range(r, sdx_tensor_count(a), 32768, qadd_range, &j);
    return SDX_OK;
}

static const OpVer qadd_vers[] = { { 1, { TS_I8 | TS_U8, TS_I8 | TS_U8 } }, { 0 } };

const OpDef sdx_op_sdx_QAdd = {
    .name = "QAdd",
    .domain = "sdx",
    .sig = "T,U->any",
    .attrs = qadd_attrs,
    .attrs_size = sizeof(QAddAttrs),
    .vers = qadd_vers,
    .flags = OP_ELEMENTWISE,
    .infer = qadd_infer,
    .cpu = { qadd_prepare, qadd_run },
};
