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
#include "kern/conv/conv.h"
#include "ops/axis3.h"
#include "ops/conv.h"
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
    ConvPlan plan;
    const Kern *kern;
    const float *packed;      /* NULL: W is packed in scratch by each run */
    size_t taps, pack_nbytes; /* scratch begins with the packed weights when they are not constant */
    size_t worker_nbytes;
    bool flush;
    int64_t out_dims[5];
    int out_rank;
} ConvNhwcState;

static void pack_weights(const ConvNhwcState *st, const float *w, float *packed)
{
    const ConvPlan *q = &st->plan;
    sdx_conv_f32_pack(st->kern, w, q->groups, q->c_in, q->c_out, st->taps, st->flush, packed);
}

static void conv_nhwc_pack(void *user, void *dst, const Tensor *src) { pack_weights(user, src->data, dst); }

/* Row-major steps of [N, d, h, w, C], or of [N, C, d, h, w]. */
static ConvStrides strides_of(const size_t *size, size_t channels, bool first)
{
    size_t plane = size[0] * size[1] * size[2], c = first ? 1 : channels;
    return (ConvStrides){ .n = plane * channels, .d = size[1] * size[2] * c, .h = size[2] * c, .w = c,
                          .c = first ? plane : 1 };
}

static void conv_nhwc_geometry(const ConvNhwcAttrs *a, const Tensor *x, const Tensor *w, ConvNhwcState *st)
{
    int n = x->rank - 2;
    const int64_t *spatial = x->dims + (a->x_first ? 2 : 1);
    Window win;
    ConvPlan *q = &st->plan;
    size_t in[3], out[3];
    sdx_window_make(&win, &a->conv.win, n, spatial, w->dims + 2);
    q->batch = (size_t)x->dims[0];
    q->groups = (size_t)a->conv.group;
    q->c_in = (size_t)x->dims[a->x_first ? 1 : n + 1];
    q->c_out = (size_t)w->dims[0];
    st->taps = 1;
    st->out_rank = x->rank;
    st->out_dims[0] = x->dims[0];
    st->out_dims[n + 1] = w->dims[0];
    for (int k = 0; k < 3; k++) {
        const WinAxis *ax = k < 3 - n ? NULL : &win.ax[k - (3 - n)];
        q->dim[k] = SDX_CONV_NO_DIM;
        if (ax) {
            q->dim[k] = (ConvDim){ (size_t)ax->in, (size_t)ax->out, (size_t)ax->kernel, (size_t)ax->stride,
                                   (size_t)ax->dilation, (ptrdiff_t)ax->pad0 };
            st->out_dims[1 + k - (3 - n)] = ax->out;
        }
        in[k] = q->dim[k].in;
        out[k] = q->dim[k].out;
        st->taps *= q->dim[k].kernel;
    }
    q->x = strides_of(in, q->c_in, a->x_first != 0);
    q->y = strides_of(out, q->c_out, false);
}

static sdx_status conv_nhwc_prepare(Prepare *p)
{
    const ConvNhwcAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *w = &p->in[1]->t;
    ConvNhwcState *st = sdx_arena_new(p->arena, ConvNhwcState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    st->flush = p->flush_subnormals;
    conv_nhwc_geometry(a, x, w, st);
    ConvPlan *q = &st->plan;
    if (sdx_dims_product(st->out_dims, 0, st->out_rank) == 0) return SDX_OK;
    size_t floats;
    if (!sdx_conv_f32_pack_size(p->kern, q->groups, q->c_in, q->c_out, st->taps, &floats) ||
        !sdx_mul_size(&st->pack_nbytes, floats, sizeof(float)) || st->pack_nbytes > SIZE_MAX - SDX_ALIGN)
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "packed weights do not fit the address space");
    st->pack_nbytes = sdx_round_up(st->pack_nbytes, SDX_ALIGN);
    sdx_conv_f32_plan(p->kern, q);
    if (p->in_const[1]) {
        const void *packed;
        char key[96];
        snprintf(key, sizeof key, "conv_f32 %s g%zu %zux%zux%zu%s", p->kern->name, q->groups, q->c_in, q->c_out,
                 st->taps, st->flush ? " flush" : "");
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
        sdx_conv_f32_chunk(j->st->kern, &j->st->plan, &j->conv, (size_t)i,
                           j->scratch + (size_t)worker * j->st->worker_nbytes);
    sdx_fpenv_restore(caller);
}

static const float *input_or_null(const Run *r, int i)
{
    return i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL;
}

static sdx_status conv_nhwc_run(Run *r)
{
    const ConvNhwcAttrs *a = r->args;
    const ConvNhwcState *st = r->state;
    void *y;
    TRY(sdx_run_output(r, 0, DT_FLOAT, st->out_rank, st->out_dims, &y));
    if (sdx_dims_product(st->out_dims, 0, st->out_rank) == 0) return SDX_OK;
    const float *w = st->packed;
    if (!w) {
        pack_weights(st, r->in[1]->t.data, r->scratch);
        w = r->scratch;
    }
    ConvNhwcJob j = { .st = st, .scratch = (char *)r->scratch + st->pack_nbytes };
    j.conv = (ConvF32){ .x = r->in[0]->t.data, .w = w, .y = y, .epi = SDX_EPILOGUE_NONE };
    j.conv.epi.bias = input_or_null(r, 2);
    j.conv.epi.add = input_or_null(r, 3);
    j.conv.epi.ldadd = st->plan.c_out;
    j.conv.epi.add_last = a->add_last != 0;
    j.conv.epi.act = (unsigned)a->act;
    j.conv.epi.p0 = a->p0;
    j.conv.epi.p1 = a->p1;
    sdx_run_range(r, (int64_t)st->plan.chunks, 1, conv_nhwc_chunks, &j);
    return SDX_OK;
}

static const OpVer conv_nhwc_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_sdx_Conv = {
    .name = "Conv", .domain = "sdx", .sig = "T,T,T?,T?->T", .attrs = conv_nhwc_attrs,
    .attrs_size = sizeof(ConvNhwcAttrs), .vers = conv_nhwc_vers, .flags = OP_F32_MATH | OP_LAZY_PACK, .packed = 1u << 1,
    .infer = conv_nhwc_infer, .cpu = { conv_nhwc_prepare, conv_nhwc_run },
};
