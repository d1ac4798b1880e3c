/* ops/skipnorm.c - com.microsoft SkipLayerNormalization, SkipSimplifiedLayerNormalization
 *
 *     sum = input + skip + bias      output = LayerNormalization(sum) * gamma + beta       over the last axis
 *
 * in one pass over the rows; the simplified form leaves mean and beta out. skip has the shape of input, or lacks its
 * leading axis, or has 1 there. Outputs 1 and 2 are mean and 1/sqrt(variance + epsilon), output 3 is sum. */
#include "ops/axis3.h"
#include "ops/dims.h"

typedef struct SkipAttrs {
    float epsilon;
} SkipAttrs;

static const AttrSpec skip_attrs[] = { OP_FLOAT(SkipAttrs, epsilon, 1e-12f), OP_ATTR_END };

enum { IN_X, IN_SKIP, IN_GAMMA };

static sdx_status skip_infer(Infer *c, int beta, int bias)
{
    TRY(infer_rank_between(c, IN_X, 2, SDX_MAX_RANK, "input"));
    const Shape *x = infer_shape(c, IN_X), *skip = infer_shape(c, IN_SKIP);
    if (!x) return SDX_OK;
    Dim n = x->dims[x->rank - 1];
    if (skip) {
        if (skip->rank < 2 || skip->rank > x->rank || skip->rank < x->rank - 1)
            return sdx_infer_fail(c, "skip has rank %d, input %d", (int)skip->rank, (int)x->rank);
        for (int k = 1; k <= skip->rank; k++) {
            Dim d = skip->dims[skip->rank - k], want = x->dims[x->rank - k];
            bool repeats = k == skip->rank && k == x->rank && k > 2 && d == 1;
            if (!repeats && dim_differs(d, want))
                return sdx_infer_fail(c, "skip does not fit input: dimension -%d is %lld against %lld", k, (long long)d,
                                      (long long)want);
        }
    }
    TRY(infer_is_vector(c, IN_GAMMA, n, "gamma"));
    if (beta) TRY(infer_is_vector(c, beta, n, "beta"));
    TRY(infer_is_vector(c, bias, n, "bias"));
    infer_out_shape(c, 0, x);
    infer_out_shape(c, 3, x);
    for (int o = 1; o < 3; o++) {
        Dim *d = infer_out_rank(c, o, x->rank);
        for (int k = 0; k < x->rank; k++) d[k] = k < x->rank - 1 ? x->dims[k] : 1;
    }
    return SDX_OK;
}

static sdx_status skipnorm_infer(Infer *c) { return skip_infer(c, 3, 4); }
static sdx_status skiprms_infer(Infer *c) { return skip_infer(c, 0, 3); }

typedef struct SkipJob {
    NormRows a;
    int64_t period; /* rows of skip, which then repeat */
    const Kern *kern;
} SkipJob;

static float *row_at(float *base, int64_t row, int64_t n) { return base ? base + row * n : NULL; }

static void skip_range(void *arg, int64_t from, int64_t to, int worker)
{
    const SkipJob *j = arg;
    for (int64_t row = from, next; row < to; row = next) {
        next = row + j->period - row % j->period;
        if (next > to) next = to;
        NormRows a = j->a;
        int64_t n = (int64_t)a.n;
        a.x += row * n;
        a.skip += row % j->period * n;
        a.y += row * n;
        a.sum = row_at(a.sum, row, n);
        a.mean = row_at(a.mean, row, 1);
        a.inv_std = row_at(a.inv_std, row, 1);
        a.rows = (size_t)(next - row);
        j->kern->norm_rows_f32(&a);
    }
}

static const float *vector_at(const Run *r, int i) { return i && i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

static sdx_status skip_run(Run *r, int beta, int bias)
{
    const SkipAttrs *at = r->args;
    const Tensor *x = &r->in[IN_X]->t, *skip = &r->in[IN_SKIP]->t;
    int64_t n = x->dims[x->rank - 1], rows = sdx_dims_product(x->dims, 0, x->rank - 1), stat[SDX_MAX_RANK];
    SkipJob j = { .period = sdx_dims_product(skip->dims, 0, skip->rank - 1), .kern = r->state };
    void *out[4] = { NULL };
    for (int k = 0; k < x->rank; k++) stat[k] = k < x->rank - 1 ? x->dims[k] : 1;
    for (int o = 0; o < r->n_out; o++)
        if (o == 0 || r->out[o]) TRY(sdx_run_output(r, o, DT_FLOAT, x->rank, o % 3 ? stat : x->dims, &out[o]));
    if (rows * n == 0) return SDX_OK;
    j.a = (NormRows){ .x = x->data,
                      .skip = skip->data,
                      .scale = r->in[IN_GAMMA]->t.data,
                      .bias = vector_at(r, beta),
                      .skip_bias = vector_at(r, bias),
                      .y = out[0],
                      .mean = out[1],
                      .inv_std = out[2],
                      .sum = out[3],
                      .n = (size_t)n,
                      .eps = at->epsilon,
                      .rms = !beta };
    sdx_run_range(r, rows, grain_for(2 * n), skip_range, &j);
    return SDX_OK;
}

static sdx_status skipnorm_run(Run *r) { return skip_run(r, 3, 4); }
static sdx_status skiprms_run(Run *r) { return skip_run(r, 0, 3); }

static const OpVer skip_vers[] = { { 1, { TS_F32 | TS_F16 | TS_BF16 } }, { 0 } };

const OpDef sdx_op_ms_SkipLayerNormalization = {
    .name = "SkipLayerNormalization",
    .domain = "com.microsoft",
    .sig = "T,T,T,T?,T?->T,f32?,f32?,T?",
    .attrs = skip_attrs,
    .attrs_size = sizeof(SkipAttrs),
    .vers = skip_vers,
    .flags = OP_F32_MATH,
    .infer = skipnorm_infer,
    .cpu = { prepare_kern, skipnorm_run },
};

const OpDef sdx_op_ms_SkipSimplifiedLayerNormalization = {
    .name = "SkipSimplifiedLayerNormalization",
    .domain = "com.microsoft",
    .sig = "T,T,T,T?->T,f32?,f32?,T?",
    .attrs = skip_attrs,
    .attrs_size = sizeof(SkipAttrs),
    .vers = skip_vers,
    .flags = OP_F32_MATH,
    .infer = skiprms_infer,
    .cpu = { prepare_kern, skiprms_run },
};
