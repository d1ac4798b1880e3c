/* ops/conv_nhwc.c - sdx.Conv: convolution with channels last, and what follows it in the same pass over the result
 *
 *     Y = act(conv(X, W) + B + Add)        add_last = 0
 *     Y = act(conv(X, W) + B) + Add        add_last = 1
 *
 * X is [N, spatial..., C], or [N, C, spatial...] with x_first; W is ONNX's [M, C/group, kernel...]; B is [M]; Add and Y
 * are [N, spatial..., M]. act is one of SDX_ACT_ with parameters p0 and p1. Kernels: kern/conv/conv.h. */
#include <stdio.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "ops/axis3.h"
#include "ops/conv_plan.h"
#include "ops/dims.h"
#include "ops/nhwc.h"

typedef struct ConvNhwcAttrs {
    ConvAttrs conv; /* first */
    int64_t x_first, add_last, act;
    float p0, p1;
} ConvNhwcAttrs;

static const AttrSpec conv_nhwc_attrs[] = {
    OP_CONV_ATTRS,
    OP_INT(ConvNhwcAttrs, x_first, 0),
    OP_INT(ConvNhwcAttrs, add_last, 0),
    OP_INT(ConvNhwcAttrs, act, SDX_ACT_NONE),
    OP_FLOAT(ConvNhwcAttrs, p0, 0),
    OP_FLOAT(ConvNhwcAttrs, p1, 0),
    OP_ATTR_END,
};

static sdx_status conv_nhwc_infer(Infer *c)
{
    const ConvNhwcAttrs *a = c->args;
    if (a->act < 0 || a->act >= SDX_ACTS) return sdx_infer_fail(c, "act is %lld", (long long)a->act);
    TRY(infer_rank_between(c, 0, 3, 5, "X"));
    return sdx_nhwc_infer(c, a->x_first != 0, sdx_conv_infer);
}

typedef struct ConvNhwcState {
    ConvGeometry geo;
    const Kern *kern;
    const float *packed; /* NULL: W is packed in scratch by each run */
    size_t pack_nbytes;  /* scratch begins with the packed weights when they are not constant */
    size_t worker_nbytes;
    bool flush;
} ConvNhwcState;

static void pack_weights(const ConvNhwcState *st, const float *w, float *packed)
{
    sdx_conv_f32_weights(st->kern, &st->geo.plan, w, st->flush, packed);
}

static void conv_nhwc_pack(void *user, void *dst, const Tensor *src) { pack_weights(user, src->data, dst); }

static sdx_status conv_nhwc_prepare(Prepare *p)
{
    const ConvNhwcAttrs *a = p->args;
    ConvNhwcState *st = sdx_arena_new(p->arena, ConvNhwcState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    st->flush = p->flush_subnormals;
    sdx_conv_geometry(&a->conv, a->x_first != 0, &p->in[0]->t, &p->in[1]->t, &st->geo);
    ConvPlan *q = &st->geo.plan;
    if (conv_is_empty(&st->geo)) return SDX_OK;
    q->may_transform = p->may_round && p->in_const[1];
    size_t floats;
    if (!sdx_conv_f32_weights_size(p->kern, q, &floats) || !sdx_mul_size(&st->pack_nbytes, floats, sizeof(float)) ||
        st->pack_nbytes > SIZE_MAX - SDX_ALIGN)
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    st->pack_nbytes = sdx_round_up(st->pack_nbytes, SDX_ALIGN);
    sdx_conv_f32_plan(p->kern, q);
    if (p->in_const[1]) {
        const void *packed;
        char key[96];
        snprintf(key, sizeof key, "conv_f32 %s %s g%zu %zux%zux%zu%s", p->kern->name, sdx_conv_f32_form(p->kern, q),
                 q->groups, q->c_in, q->c_out, st->geo.taps, st->flush ? " flush" : "");
        TRY(sdx_prepare_pack(p, 1, key, st->pack_nbytes, conv_nhwc_pack, st, &packed));
        st->packed = packed;
        st->pack_nbytes = 0;
    }
    st->worker_nbytes = sdx_round_up(q->scratch, SDX_ALIGN);
    size_t all;
    if (!sdx_mul_size(&all, st->worker_nbytes, (size_t)(p->threads > 0 ? p->threads : 1)) ||
        !sdx_add_size(&p->scratch, all, st->pack_nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

typedef struct ConvNhwcJob {
    const ConvNhwcState *st;
    ConvF32 conv;
    char *scratch;
} ConvNhwcJob;

static void conv_nhwc_chunks(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvNhwcJob *j = arg;
    FpEnv caller = sdx_fpenv_save();
    if (j->st->flush) sdx_fpenv_flush(true);
    for (int64_t i = from; i < to; i++)
        sdx_conv_f32_chunk(j->st->kern, &j->st->geo.plan, &j->conv, (size_t)i,
                           j->scratch + (size_t)worker * j->st->worker_nbytes);
    sdx_fpenv_restore(caller);
}

static const float *input_or_null(const Run *r, int i) { return i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

static sdx_status conv_nhwc_run(Run *r)
{
    const ConvNhwcAttrs *a = r->args;
    const ConvNhwcState *st = r->state;
    void *y;
    TRY(sdx_run_output(r, 0, DT_FLOAT, st->geo.out_rank, st->geo.out_dims, &y));
    if (conv_is_empty(&st->geo)) return SDX_OK;
    const float *w = st->packed;
    if (!w) {
        pack_weights(st, r->in[1]->t.data, r->scratch);
        w = r->scratch;
    }
    ConvNhwcJob j = { .st = st, .scratch = (char *)r->scratch + st->pack_nbytes };
    j.conv = (ConvF32){ .x = r->in[0]->t.data, .w = w, .y = y, .epi = SDX_EPILOGUE_NONE };
    j.conv.epi.bias = input_or_null(r, 2);
    j.conv.epi.add = input_or_null(r, 3);
    j.conv.epi.ldadd = st->geo.plan.c_out;
    j.conv.epi.add_last = a->add_last != 0;
    j.conv.epi.act = (unsigned)a->act;
    j.conv.epi.p0 = a->p0;
    j.conv.epi.p1 = a->p1;
    sdx_run_range(r, (int64_t)st->geo.plan.chunks, 1, conv_nhwc_chunks, &j);
    return SDX_OK;
}

static const OpVer conv_nhwc_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_sdx_Conv = {
    .name = "Conv",
    .domain = "sdx",
    .sig = "T,T,T?,T?->T",
    .attrs = conv_nhwc_attrs,
    .attrs_size = sizeof(ConvNhwcAttrs),
    .vers = conv_nhwc_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1,
    .infer = conv_nhwc_infer,
    .cpu = { conv_nhwc_prepare, conv_nhwc_run },
};
