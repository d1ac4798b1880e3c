/* ops/loss.c - NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss
 *
 * For item i with class t = target[i]:   loss[i] = -weight[t] * logp[i, t],   0 where t is ignore_index
 * mean divides the sum by the sum of the weights used. logp is the input, or the log-softmax of it over axis 1. Sums are
 * taken in double, in order. */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"

typedef struct LossAttrs {
    int64_t ignore_index;
    Str reduction;
} LossAttrs;

static const AttrSpec loss_attrs[] = { OP_INT(LossAttrs, ignore_index, OP_INT_ABSENT),
                                       OP_STR(LossAttrs, reduction, "mean"), OP_ATTR_END };

static bool is_word(Str s, const char *word) { return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0; }

static sdx_status loss_infer(Infer *c)
{
    const LossAttrs *a = c->args;
    bool none = is_word(a->reduction, "none");
    if (!none && !is_word(a->reduction, "mean") && !is_word(a->reduction, "sum"))
        return sdx_infer_fail(c, "reduction is \"%.*s\"; it must be none, mean or sum", (int)a->reduction.n,
                              a->reduction.p);
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "the input"));
    const Shape *x = infer_shape(c, 0), *t = infer_shape(c, 1);
    if (x && t) {
        if (t->rank != x->rank - 1)
            return sdx_infer_fail(c, "target has rank %d; the input's rank %d asks for %d", (int)t->rank, (int)x->rank,
                                  (int)x->rank - 1);
        for (int k = 0; k < t->rank; k++)
            if (dim_differs(t->dims[k], x->dims[k ? k + 1 : 0]))
                return sdx_infer_fail(c, "target's axis %d has %lld elements, the input %lld", k, (long long)t->dims[k],
                                      (long long)x->dims[k ? k + 1 : 0]);
        TRY(infer_is_vector(c, 2, x->dims[1], "the weight"));
    }
    if (!none)
        infer_out_rank(c, 0, 0);
    else if (t)
        infer_out_shape(c, 0, t);
    if (c->n_out > 1 && x) infer_out_shape(c, 1, x);
    return SDX_OK;
}

/* log-softmax over the middle axis of [outer, n, inner], in double, rounded once. */
static void log_softmax(const Tensor *x, Axis3 s, Tensor *y)
{
    for (int64_t o = 0; o < s.outer; o++)
        for (int64_t i = 0; i < s.inner; i++) {
            int64_t at = o * s.n * s.inner + i;
            double max = -INFINITY, sum = 0;
            for (int64_t k = 0; k < s.n; k++) max = fmax(max, sdx_tensor_get_double(x, at + k * s.inner));
            for (int64_t k = 0; k < s.n; k++) sum += exp(sdx_tensor_get_double(x, at + k * s.inner) - max);
            double shift = max + log(sum);
            for (int64_t k = 0; k < s.n; k++)
                sdx_tensor_set_double(y, at + k * s.inner, sdx_tensor_get_double(x, at + k * s.inner) - shift);
        }
}

/* logp: [outer, classes, inner]. */
static sdx_status loss_reduce(Run *r, const Tensor *logp, Axis3 s)
{
    const LossAttrs *a = r->args;
    const Tensor *target = &r->in[1]->t, *weight = r->n_in > 2 && r->in[2] ? &r->in[2]->t : NULL;
    bool none = is_word(a->reduction, "none");
    double sum = 0, weights = 0;
    Tensor y = { .dtype = r->in[0]->t.dtype };
    TRY(sdx_run_output(r, 0, y.dtype, none ? target->rank : 0, target->dims, &y.data));
    for (int64_t i = 0; i < s.outer * s.inner; i++) {
        int64_t t = sdx_tensor_get_int(target, i);
        bool ignored = t == a->ignore_index && a->ignore_index != OP_INT_ABSENT;
        if (!ignored && (t < 0 || t >= s.n))
            return sdx_run_fail(r, "target[%lld] is %lld; there are %lld classes", (long long)i, (long long)t,
                                (long long)s.n);
        double w = ignored ? 0 : weight ? sdx_tensor_get_double(weight, t) : 1;
        int64_t at = i / s.inner * s.n * s.inner + t * s.inner + i % s.inner;
        double loss = ignored ? 0 : -w * sdx_tensor_get_double(logp, at);
        if (none) sdx_tensor_set_double(&y, i, loss);
        sum += loss;
        weights += w;
    }
    if (!none) sdx_tensor_set_double(&y, 0, is_word(a->reduction, "mean") ? sum / weights : sum);
    return SDX_OK;
}

static sdx_status nll_run(Run *r) { return loss_reduce(r, &r->in[0]->t, axis3_of(&r->in[0]->t, 1)); }

static sdx_status cross_entropy_prepare(Prepare *p)
{
    size_t nbytes;
    if (!sdx_tensor_nbytes(&p->in[0]->t, &nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the probabilities do not fit the address space");
    p->scratch = nbytes;
    return SDX_OK;
}

static sdx_status cross_entropy_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    Tensor logp = *x;
    logp.data = r->scratch;
    if (r->n_out > 1 && r->out[1]) TRY(run_output_like(r, 1, x, &logp.data));
    log_softmax(x, axis3_of(x, 1), &logp);
    return loss_reduce(r, &logp, axis3_of(x, 1));
}

static const OpVer nll_vers[] = {
    { 22, { TS_FLTB, TS_IDX } },
    { 13, { TS_FLT, TS_IDX } },
    { 12, { TS_FLT, TS_IDX } },
    { 0 },
};
const OpDef sdx_op_NegativeLogLikelihoodLoss = {
    .name = "NegativeLogLikelihoodLoss",
    .sig = "T,U,T?->T",
    .attrs = loss_attrs,
    .attrs_size = sizeof(LossAttrs),
    .vers = nll_vers,
    .flags = OP_F32_MATH,
    .infer = loss_infer,
    .cpu = { NULL, nll_run },
};

static const OpVer cross_entropy_vers[] = { { 13, { TS_FLTB, TS_IDX } }, { 12, { TS_FLT, TS_IDX } }, { 0 } };
const OpDef sdx_op_SoftmaxCrossEntropyLoss = {
    .name = "SoftmaxCrossEntropyLoss",
    .sig = "T,U,T?->T,T?",
    .attrs = loss_attrs,
    .attrs_size = sizeof(LossAttrs),
    .vers = cross_entropy_vers,
    .flags = OP_F32_MATH,
    .infer = loss_infer,
    .cpu = { cross_entropy_prepare, cross_entropy_run },
};
