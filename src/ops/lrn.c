/* ops/lrn.c - LRN
 *
 * y[c] = x[c] / (bias + alpha / size * s[c])^beta, s[c] the sum of squares of the channels from c - floor((size-1)/2) to
 * c + ceil((size-1)/2) that exist, at the same position. */
#include <math.h>

#include "ops/axis3.h"
#include "ops/dims.h"

typedef struct LrnAttrs {
    int64_t size;
    float alpha, beta, bias;
} LrnAttrs;

static const AttrSpec lrn_attrs[] = { OP_INT_REQ(LrnAttrs, size), OP_FLOAT(LrnAttrs, alpha, 1e-4f),
                                      OP_FLOAT(LrnAttrs, beta, 0.75f), OP_FLOAT(LrnAttrs, bias, 1), OP_ATTR_END };

typedef struct LrnJob {
    const void *x;
    void *y;
    int64_t channels, spatial;
    const LrnAttrs *a;
} LrnJob;

#define LRN_WIDTH 128

#define LRN_TYPE(T, tag, POW)                                                                                          \
    static void lrn_##tag(void *arg, int64_t from, int64_t to, int worker)                                             \
    {                                                                                                                  \
        const LrnJob *j = arg;                                                                                         \
        int64_t before = (j->a->size - 1) / 2, after = j->a->size - 1 - before;                                        \
        T scale = (T)j->a->alpha / (T)j->a->size, beta = (T)j->a->beta, bias = (T)j->a->bias;                          \
        for (int64_t u = from; u < to; u++) {                                                                          \
            int64_t c = u % j->channels, lo = c < before ? 0 : c - before;                                             \
            int64_t hi = j->channels - 1 - c < after ? j->channels : c + after + 1;                                    \
            const T *item = (const T *)j->x + (u - c) * j->spatial;                                                    \
            T *y = (T *)j->y + u * j->spatial;                                                                         \
            for (int64_t at = 0; at < j->spatial; at += LRN_WIDTH) {                                                   \
                T sum[LRN_WIDTH] = { 0 };                                                                              \
                int64_t n = j->spatial - at < LRN_WIDTH ? j->spatial - at : LRN_WIDTH;                                 \
                for (int64_t k = lo; k < hi; k++) {                                                                    \
                    const T *x = item + k * j->spatial + at;                                                           \
                    for (int64_t i = 0; i < n; i++) sum[i] += x[i] * x[i];                                             \
                }                                                                                                      \
                const T *x = item + c * j->spatial + at;                                                               \
                for (int64_t i = 0; i < n; i++) y[at + i] = x[i] * POW(bias + scale * sum[i], -beta);                  \
            }                                                                                                          \
        }                                                                                                              \
    }
LRN_TYPE(float, f32, powf)
LRN_TYPE(double, f64, pow)

static sdx_status lrn_infer(Infer *c)
{
    const LrnAttrs *a = c->args;
    if (a->size < 1) return sdx_infer_fail(c, "size is %lld; it must be at least 1", (long long)a->size);
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "the input"));
    return sdx_infer_same_shape(c);
}

static sdx_status lrn_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    LrnJob j = { .x = x->data, .channels = x->dims[1], .spatial = sdx_dims_product(x->dims, 2, x->rank), .a = r->args };
    TRY(run_output_like(r, 0, x, &j.y));
    if (sdx_tensor_count(x) == 0) return SDX_OK;
    int64_t window = j.a->size < j.channels ? j.a->size : j.channels;
    sdx_run_range(r, x->dims[0] * j.channels, grain_for(j.spatial * (window + 8)),
                  x->dtype == DT_DOUBLE ? lrn_f64 : lrn_f32, &j);
    return SDX_OK;
}

static const OpVer lrn_vers[] = { { 13, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_LRN = {
    .name = "LRN",
    .sig = "T->T",
    .attrs = lrn_attrs,
    .attrs_size = sizeof(LrnAttrs),
    .vers = lrn_vers,
    .flags = OP_F32_MATH,
    .infer = lrn_infer,
    .cpu = { NULL, lrn_run },
};
