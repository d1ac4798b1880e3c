/* ops/linear_attention.c - LinearAttention, CausalConvWithState and LinearAttentionGate: ai.onnx 27 and com.microsoft
 *
 * LinearAttention keeps for each key head a matrix S of size k x v. Of the four rules, `gated` scales S by exp(decay)
 * first, and `delta` writes beta * (v - S^T k) in the place of v:
 *     S = exp(g) S;  w = beta (v - S^T k);  S += k w^T;  o = scale * S^T q
 * Query head h reads the state of key head h * kv_heads / q_heads; with fewer query than key heads (com.microsoft) there
 * is an output for each key head. Sums are in float, tokens one after the other.
 *
 * CausalConvWithState is a convolution of each channel by itself over what came before: y[t] = act(bias + sum_j w[j] x[t -
 * (k - 1 - j) * dilation]), where the past state holds the inputs before the first, zeros if it is absent.
 *
 * state_window W > 0 (com.microsoft): states have a leading axis of W, whose last slots are the states after the last W
 * tokens; slots before the first token are zero, and only the last slot is read. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/shapes.h"

/* A state's shape: `rank` sizes, after the axis of a window. */
static sdx_status state_infer(Infer *c, int in, int64_t window, int rank, const Dim *sizes)
{
    Dim want[6];
    if (window < 0 || window > 8)
        return sdx_infer_fail(c, "state_window is %lld; it must lie in [0, 8]", (long long)window);
    int extra = window > 0;
    if (rank + extra > 6)
        return sdx_infer_fail(c, "the state would have rank %d; at most 6 is supported", rank + extra);
    want[0] = window;
    memcpy(want + extra, sizes, (size_t)rank * sizeof *want);
    TRY(sdx_infer_shape_is(c, in, "past_state", rank + extra, want));
    memcpy(infer_out_rank(c, 1, rank + extra), want, (size_t)(rank + extra) * sizeof *want);
    if (c->n_out > 1 && !infer_has(c, in)) c->out[1].elem = c->in[0]->elem;
    return SDX_OK;
}

/* -- LinearAttention ----------------------------------------------------------------------------------------------- */

enum { IN_Q, IN_K, IN_V, IN_STATE, IN_DECAY, IN_BETA };

typedef struct LinearAttrs {
    int64_t chunk_size, kv_num_heads, q_num_heads, state_window;
    float scale;
    Str update_rule;
} LinearAttrs;

#define LINEAR_ATTRS                                                                                                   \
    OP_INT(LinearAttrs, chunk_size, 64), OP_INT_REQ(LinearAttrs, kv_num_heads), OP_INT_REQ(LinearAttrs, q_num_heads),  \
        OP_FLOAT(LinearAttrs, scale, 0), OP_STR(LinearAttrs, update_rule, "gated_delta")
static const AttrSpec linear_attrs[] = { LINEAR_ATTRS, OP_ATTR_END };
static const AttrSpec linear_ms_attrs[] = { LINEAR_ATTRS, OP_INT(LinearAttrs, state_window, 0), OP_ATTR_END };

/* Which of the two parts a rule has; false: it is none. */
static bool rule_of(Str s, bool *gated, bool *delta)
{
    *gated = str_is(s, "gated") || str_is(s, "gated_delta");
    *delta = str_is(s, "delta") || str_is(s, "gated_delta");
    return *gated || *delta || str_is(s, "linear");
}

static sdx_status linear_infer(Infer *c)
{
    const LinearAttrs *a = c->args;
    static const char *const names[3] = { "query", "key", "value" };
    bool gated, delta, is_ms = c->node->def->domain != NULL;
    int64_t hq = a->q_num_heads, hk = a->kv_num_heads;
    if (!rule_of(a->update_rule, &gated, &delta))
        return sdx_infer_fail(c, "update_rule is \"%.*s\"", (int)a->update_rule.n, a->update_rule.p);
    if (hq < 1 || hk < 1 || hq > INT32_MAX || hk > INT32_MAX || (hq % hk && !(is_ms && hk % hq == 0)))
        return sdx_infer_fail(c, "%lld query heads do not go with %lld key heads", (long long)hq, (long long)hk);
    if (gated != infer_has(c, IN_DECAY) || delta != infer_has(c, IN_BETA))
        return sdx_infer_fail(c, "rule %.*s takes %s decay and %s beta", (int)a->update_rule.n, a->update_rule.p,
                              gated ? "a" : "no", delta ? "a" : "no");
    Dim dims[3] = { SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN }, k = SDX_DIM_UNKNOWN, v = SDX_DIM_UNKNOWN;
    for (int i = 0; i < 3; i++) {
        const Shape *s = infer_shape(c, i);
        TRY(infer_rank_between(c, i, 3, 3, names[i]));
        if (!s) continue;
        for (int n = 0; n < 2; n++) dims[n] = dim_prefer(dims[n], s->dims[n]);
        Dim size;
        TRY(sdx_infer_head_size(c, names[i], s->dims[2], i == IN_Q ? hq : hk, &size));
        if (i == IN_V)
            v = size;
        else if (dim_differs(k, size))
            return sdx_infer_fail(c, "heads of query have %lld elements, those of key %lld", (long long)k,
                                  (long long)size);
        else
            k = dim_prefer(k, size);
    }
    for (int i = 0; i < 3; i++)
        TRY(sdx_infer_shape_is(c, i, names[i], 3, (Dim[]){ dims[0], dims[1], SDX_DIM_UNKNOWN }));
    Dim each = infer_mul(c, k, hk);
    for (int i = IN_DECAY; i <= IN_BETA; i++) {
        const Shape *s = infer_shape(c, i);
        const char *what = i == IN_DECAY ? "decay" : "beta";
        TRY(sdx_infer_shape_is(c, i, what, 3, (Dim[]){ dims[0], dims[1], SDX_DIM_UNKNOWN }));
        if (s && dim_differs(s->dims[2], hk) && dim_differs(s->dims[2], i == IN_DECAY ? each : 1))
            return sdx_infer_fail(c, "%s is %lld wide; it may be %lld or %lld", what, (long long)s->dims[2],
                                  (long long)hk, i == IN_DECAY ? (long long)each : 1LL);
    }
    Dim *y = infer_out_rank(c, 0, 3);
    y[0] = dims[0], y[1] = dims[1], y[2] = infer_mul(c, v, hq > hk ? hq : hk);
    return state_infer(c, IN_STATE, a->state_window, 4, (Dim[]){ dims[0], hk, k, v });
}

typedef struct LinearJob {
    const Kern *kern;
    const float *q, *k, *v, *past, *decay, *beta;
    float *y, *present; /* the last slot */
    int64_t batches, steps, hq, hk, size_k, size_v, decay_width, beta_width, window;
    float scale;
    float *scratch; /* of each worker: size_v */
    size_t at_scratch, at_y, at_state;
} LinearJob;

/* Copies the state that token t left to its slot of the window. */
static void keep_slot(float *last, int64_t slot_size, int64_t window, int64_t steps, int64_t t, int64_t n)
{
    int64_t back = steps - 1 - t;
    if (back > 0 && back < window) memcpy(last - back * slot_size, last, (size_t)n * sizeof *last);
}

static void linear_token(const LinearJob *j, int64_t row, int64_t h, float *s, float *w)
{
    const Kern *kn = j->kern;
    Map2 *mul = kn->map2[SDX_K_f32][SDX_MAP2_mul];
    size_t nv = (size_t)j->size_v;
    const float *k = j->k + (row * j->hk + h) * j->size_k, *v = j->v + (row * j->hk + h) * j->size_v;
    if (j->decay) {
        bool per_head = j->decay_width == j->hk;
        const float *g = j->decay + row * j->decay_width + (per_head ? h : h * j->size_k);
        for (int64_t d = 0; d < j->size_k; d++) {
            float e = expf(g[per_head ? 0 : d]);
            mul(s + d * j->size_v, s + d * j->size_v, &e, nv, SDX_B_ONE);
        }
    }
    if (j->beta) {
        float beta = j->beta[row * j->beta_width + (j->beta_width == j->hk ? h : 0)];
        memset(w, 0, nv * sizeof *w);
        for (int64_t d = 0; d < j->size_k; d++) kn->muladd_f32(w, s + d * j->size_v, k + d, w, nv, SDX_B_ONE);
        kn->map2[SDX_K_f32][SDX_MAP2_sub](w, v, w, nv, 0);
        mul(w, w, &beta, nv, SDX_B_ONE);
        v = w;
    }
    for (int64_t d = 0; d < j->size_k; d++)
        kn->muladd_f32(s + d * j->size_v, v, k + d, s + d * j->size_v, nv, SDX_B_ONE);
    /* Outputs that read this state. */
    int64_t outs = j->hq > j->hk ? j->hq : j->hk, group = outs / j->hk;
    for (int64_t o = h * group; o < (h + 1) * group; o++) {
        const float *q = j->q + (row * j->hq + o * j->hq / outs) * j->size_k;
        float *y = j->y + (row * outs + o) * j->size_v;
        memset(y, 0, nv * sizeof *y);
        for (int64_t d = 0; d < j->size_k; d++) kn->muladd_f32(y, s + d * j->size_v, q + d, y, nv, SDX_B_ONE);
        mul(y, y, &j->scale, nv, SDX_B_ONE);
    }
}

static void linear_range(void *arg, int64_t from, int64_t to, int worker)
{
    const LinearJob *j = arg;
    int64_t n = j->size_k * j->size_v, slot = j->batches * j->hk * n;
    for (int64_t u = from; u < to && n; u++) {
        float *s = j->present + u * n;
        if (j->past)
            memcpy(s, j->past + u * n, (size_t)n * sizeof *s);
        else
            memset(s, 0, (size_t)n * sizeof *s);
        for (int64_t w = j->steps; w < j->window; w++) memset(s - w * slot, 0, (size_t)(w ? n : 0) * sizeof *s);
        for (int64_t t = 0; t < j->steps; t++) {
            linear_token(j, u / j->hk * j->steps + t, u % j->hk, s, j->scratch + (int64_t)worker * j->size_v);
            keep_slot(s, slot, j->window, j->steps, t, n);
        }
    }
}

static sdx_status linear_prepare(Prepare *p)
{
    const LinearAttrs *a = p->args;
    LinearJob *j = sdx_arena_new(p->arena, LinearJob);
    TRY_MEM(j, p->err);
    p->state = j;
    const Tensor *q = &p->in[IN_Q]->t, *v = &p->in[IN_V]->t;
    j->kern = p->kern;
    j->batches = q->dims[0];
    j->steps = q->dims[1];
    j->hq = a->q_num_heads;
    j->hk = a->kv_num_heads;
    j->size_k = q->dims[2] / j->hq;
    j->size_v = v->dims[2] / j->hk;
    j->window = a->state_window > 0 ? a->state_window : 1;
    j->scale = a->scale != 0 ? a->scale : j->size_k ? (float)(1 / sqrt((double)j->size_k)) : 1;
    int64_t n, n_y, outs = j->hq > j->hk ? j->hq : j->hk;
    size_t each;
    if (!sdx_shape_count((int64_t[]){ j->window, j->batches, j->hk, j->size_k, j->size_v }, 5, &n) ||
        !sdx_shape_count((int64_t[]){ j->batches, j->steps, outs, j->size_v }, 4, &n_y) ||
        !sdx_mul_size(&each, (size_t)j->size_v, sizeof(float)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the state does not fit the address space");
    TRY(sdx_output_room(p, 0, n_y, sizeof(float), &j->at_y));
    TRY(sdx_output_room(p, 1, n, sizeof(float), &j->at_state));
    return sdx_scratch_add(p, p->threads > 0 ? p->threads : 1, each, &j->at_scratch);
}

static const float *data_or_null(const Run *r, int i) { return DATUM_HAS(r, i) ? r->in[i]->t.data : NULL; }

static sdx_status linear_run(Run *r)
{
    const LinearAttrs *a = r->args;
    LinearJob j = *(const LinearJob *)r->state;
    int64_t outs = j.hq > j.hk ? j.hq : j.hk, n = j.size_k * j.size_v, slot = j.batches * j.hk * n;
    void *y, *present;
    int64_t dims[5] = { a->state_window, j.batches, j.hk, j.size_k, j.size_v };
    int extra = a->state_window > 0;
    int64_t y_dims[3] = { j.batches, j.steps, outs * j.size_v };
    TRY(sdx_output_or_scratch(r, 0, DT_FLOAT, 3, y_dims, j.at_y, &y));
    TRY(sdx_output_or_scratch(r, 1, DT_FLOAT, 4 + extra, dims + !extra, j.at_state, &present));
    j.q = r->in[IN_Q]->t.data;
    j.k = r->in[IN_K]->t.data;
    j.v = r->in[IN_V]->t.data;
    j.past = data_or_null(r, IN_STATE);
    j.decay = data_or_null(r, IN_DECAY);
    j.beta = data_or_null(r, IN_BETA);
    if (j.decay) j.decay_width = r->in[IN_DECAY]->t.dims[2];
    if (j.beta) j.beta_width = r->in[IN_BETA]->t.dims[2];
    j.y = y;
    j.scratch = (float *)(void *)((char *)r->scratch + j.at_scratch);
    if (!n) {
        if (sdx_dims_product((int64_t[]){ j.batches, j.steps, outs, j.size_v }, 0, 4))
            memset(y, 0, (size_t)(j.batches * j.steps * outs * j.size_v) * sizeof(float));
        return SDX_OK;
    }
    if (!slot) return SDX_OK;
    j.present = (float *)present + (j.window - 1) * slot;
    if (j.past) j.past += (j.window - 1) * slot;
    sdx_run_range(r, j.batches * j.hk, grain_for(n * (j.steps + 1)), linear_range, &j);
    return SDX_OK;
}

#define TS_F32_16 (TS_F32 | TS_F16 | TS_BF16)
static const OpVer linear_vers[] = { { 27, { TS_F32_16, TS_F32_16 } }, { 0 } };
static const OpVer ms_vers[] = { { 1, { TS_F32_16, TS_F32_16 } }, { 0 } };

#define LINEAR_OP(id, dom, spec, versions)                                                                             \
    const OpDef sdx_op_##id = {                                                                                        \
        .name = "LinearAttention",                                                                                     \
        .domain = dom,                                                                                                 \
        .sig = "T,T,T,U?,T?,T?->T,U",                                                                                  \
        .attrs = spec,                                                                                                 \
        .attrs_size = sizeof(LinearAttrs),                                                                             \
        .vers = versions,                                                                                              \
        .flags = OP_F32_MATH,                                                                                          \
        .infer = linear_infer,                                                                                         \
        .cpu = { linear_prepare, linear_run },                                                                         \
    };
LINEAR_OP(LinearAttention, NULL, linear_attrs, linear_vers)
LINEAR_OP(ms_LinearAttention, "com.microsoft", linear_ms_attrs, ms_vers)

/* -- LinearAttentionGate ------------------------------------------------------------------------------------------- */

/* decay = decay_scale * softplus(a + dt_bias), beta = sigmoid(b); a and b are [batch, tokens, heads]. */
static sdx_status gate_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 3, 3, "a"));
    const Shape *a = infer_shape(c, 0);
    if (c->n_out > 1 && !infer_has(c, 3)) return sdx_infer_fail(c, "beta is asked for and b is missing");
    if (!a) return SDX_OK;
    TRY(infer_is_vector(c, 1, a->dims[2], "dt_bias"));
    TRY(infer_is_vector(c, 2, a->dims[2], "decay_scale"));
    TRY(sdx_infer_shape_is(c, 3, "b", 3, a->dims));
    infer_out_shape(c, 0, a);
    infer_out_shape(c, 1, a);
    return SDX_OK;
}

static sdx_status gate_run(Run *r)
{
    const Kern *k = r->state;
    const Tensor *a = &r->in[0]->t;
    int64_t n = sdx_tensor_count(a), heads = a->dims[2];
    void *y = NULL;
    if (r->out[0]) TRY(run_output_like(r, 0, a, &y));
    const float *x = a->data, *bias = r->in[1]->t.data, *scale = r->in[2]->t.data;
    for (int64_t i = 0; y && i < n; i += heads) {
        float *row = (float *)y + i;
        k->map2[SDX_K_f32][SDX_MAP2_add](row, x + i, bias, (size_t)heads, 0);
        k->map1_f32[SDX_MAP1_softplus](row, row, (size_t)heads, NULL);
        k->map2[SDX_K_f32][SDX_MAP2_mul](row, row, scale, (size_t)heads, 0);
    }
    if (r->n_out < 2 || !r->out[1]) return SDX_OK;
    TRY(run_output_like(r, 1, a, &y));
    if (n) k->map1_f32[SDX_MAP1_sigmoid](y, r->in[3]->t.data, (size_t)n, NULL);
    return SDX_OK;
}

const OpDef sdx_op_ms_LinearAttentionGate = {
    .name = "LinearAttentionGate",
    .domain = "com.microsoft",
    .sig = "T,f32,f32,T?->T,T?",
    .vers = ms_vers,
    .flags = OP_F32_MATH,
    .infer = gate_infer,
    .cpu = { prepare_kern, gate_run },
};

/* -- CausalConvWithState ------------------------------------------------------------------------------------------- */

enum { IN_X, IN_W, IN_BIAS, IN_PAST };

typedef struct CausalAttrs {
    int64_t channels_last, dilation, ndim, state_window;
    Str activation;
    /* Of one accelerator: they must keep their defaults. */
    int64_t state_update_capacity, state_channels_last, state_length, input_channel_offset, input_channels;
} CausalAttrs;

static const AttrSpec causal_attrs[] = { OP_STR(CausalAttrs, activation, "none"), OP_ATTR_END };
static const AttrSpec causal_ms_attrs[] = { OP_STR(CausalAttrs, activation, "none"),
                                            OP_INT(CausalAttrs, channels_last, 0),
                                            OP_INT(CausalAttrs, dilation, 1),
                                            OP_INT(CausalAttrs, ndim, 1),
                                            OP_INT(CausalAttrs, state_window, 0),
                                            OP_INT(CausalAttrs, state_update_capacity, 0),
                                            OP_INT(CausalAttrs, state_channels_last, -1),
                                            OP_INT(CausalAttrs, state_length, 0),
                                            OP_INT(CausalAttrs, input_channel_offset, 0),
                                            OP_INT(CausalAttrs, input_channels, 0),
                                            OP_ATTR_END };

static int64_t dilation_of(const OpDef *def, const CausalAttrs *a) { return def->domain ? a->dilation : 1; }

static sdx_status causal_attrs_check(const Infer *c)
{
    const CausalAttrs *a = c->args;
    if (!str_is(a->activation, "none") && !str_is(a->activation, "silu") && !str_is(a->activation, "swish"))
        return sdx_infer_fail(c, "activation is \"%.*s\"; it may be silu, swish or none", (int)a->activation.n,
                              a->activation.p);
    if (!c->node->def->domain) return SDX_OK;
    if (a->ndim != 1) return sdx_infer_fail(c, "ndim is %lld; only 1 is supported", (long long)a->ndim);
    if (a->dilation < 1 || a->dilation > INT32_MAX)
        return sdx_infer_fail(c, "dilation is %lld; it must be positive", (long long)a->dilation);
    if (a->state_update_capacity || a->state_channels_last != -1 || a->state_length || a->input_channel_offset ||
        a->input_channels || c->n_out > 2)
        return sdx_infer_fail(c, "compact state updates and channel slices are not supported");
    return SDX_OK;
}

static sdx_status causal_infer(Infer *c)
{
    const CausalAttrs *a = c->args;
    TRY(causal_attrs_check(c));
    TRY(infer_rank_between(c, IN_X, 3, a->channels_last ? 5 : 3, "the input"));
    TRY(infer_rank_between(c, IN_W, 3, 3, "the weight"));
    TRY(sdx_infer_same_shape(c));
    const Shape *x = infer_shape(c, IN_X), *w = infer_shape(c, IN_W);
    if (!x || !w) return SDX_OK;
    Dim channels = a->channels_last ? 1 : x->dims[1], kernel = w->dims[2], state = SDX_DIM_UNKNOWN;
    for (int k = 2; a->channels_last && k < x->rank; k++) channels = infer_mul(c, channels, x->dims[k]);
    TRY(sdx_infer_shape_is(c, IN_W, "the weight", 3, (Dim[]){ channels, 1, kernel }));
    TRY(infer_is_vector(c, IN_BIAS, channels, "the bias"));
    if (sdx_dim_is_const(kernel)) {
        if (kernel < 1) return sdx_infer_fail(c, "the kernel has no elements");
        if (!sdx_mul_i64(&state, kernel - 1, dilation_of(c->node->def, a)))
            return sdx_infer_fail(c, "a kernel of %lld with dilation %lld is too long", (long long)kernel,
                                  (long long)a->dilation);
    }
    Shape s = *x;
    s.dims[a->channels_last ? 1 : 2] = state;
    return state_infer(c, IN_PAST, c->node->def->domain ? a->state_window : 0, s.rank, s.dims);
}

typedef struct CausalJob {
    const Kern *kern;
    const float *x, *w, *bias, *past;
    float *y, *present;
    int64_t batches, channels, length, kernel, dilation, state, window; /* slots: 1 without a window */
    bool last, silu;                                                    /* channels last */
    float *scratch; /* of each worker: length + state, then length */
    size_t at_scratch, at_y, at_state;
} CausalJob;

/* n elements of channel ch of batch b, to or from a row; x is [batch, channels, n] or [batch, n, channels]. */
static void channel_move(const CausalJob *j, float *x, int64_t b, int64_t ch, int64_t n, float *row, bool outward)
{
    int64_t step = j->last ? j->channels : 1;
    x += j->last ? b * n * j->channels + ch : (b * j->channels + ch) * n;
    for (int64_t i = 0; i < n; i++) {
        if (outward)
            x[i * step] = row[i];
        else
            row[i] = x[i * step];
    }
}

static void causal_channel(const CausalJob *j, int64_t b, int64_t ch, float *row, float *y)
{
    const Kern *k = j->kern;
    if (j->past)
        channel_move(j, (float *)j->past, b, ch, j->state, row, false);
    else if (j->state)
        memset(row, 0, (size_t)j->state * sizeof *row);
    channel_move(j, (float *)j->x, b, ch, j->length, row + j->state, false);
    for (int64_t i = 0; i < j->length; i++) y[i] = j->bias ? j->bias[ch] : 0;
    for (int64_t t = 0; t < j->kernel && j->length; t++)
        k->muladd_f32(y, row + t * j->dilation, j->w + ch * j->kernel + t, y, (size_t)j->length, SDX_B_ONE);
    if (j->silu && j->length) k->map1_f32[SDX_MAP1_silu](y, y, (size_t)j->length, NULL);
    channel_move(j, j->y, b, ch, j->length, y, true);
    int64_t slot = j->batches * j->channels * j->state;
    for (int64_t s = j->window - 1; s >= 0; s--) {
        int64_t after = j->length - j->window + 1 + s; /* inputs that this slot has seen */
        float *from = row + after;
        if (after <= 0 && s + 1 < j->window) {
            from = row; /* no token of this call: zeros */
            memset(row, 0, (size_t)j->state * sizeof *row);
        }
        channel_move(j, j->present + s * slot, b, ch, j->state, from, true);
    }
}

static void causal_range(void *arg, int64_t from, int64_t to, int worker)
{
    const CausalJob *j = arg;
    float *row = j->scratch + (int64_t)worker * (j->state + 2 * j->length);
    for (int64_t u = from; u < to; u++)
        causal_channel(j, u / j->channels, u % j->channels, row, row + j->state + j->length);
}

static sdx_status causal_prepare(Prepare *p)
{
    const CausalAttrs *a = p->args;
    const Tensor *x = &p->in[IN_X]->t, *w = &p->in[IN_W]->t;
    CausalJob *j = sdx_arena_new(p->arena, CausalJob);
    TRY_MEM(j, p->err);
    p->state = j;
    j->kern = p->kern;
    j->last = a->channels_last != 0;
    j->silu = !str_is(a->activation, "none");
    j->batches = x->dims[0];
    j->channels = w->dims[0];
    j->length = x->dims[j->last ? 1 : 2];
    j->kernel = w->dims[2];
    j->dilation = dilation_of(p->node->def, a);
    j->state = (j->kernel - 1) * j->dilation;
    j->window = a->state_window > 0 ? a->state_window : 1;
    int64_t n, row;
    if (!sdx_shape_count((int64_t[]){ j->window, j->batches, j->channels, j->state }, 4, &n) ||
        !sdx_mul_i64(&row, j->length, 2) || !sdx_add_i64(&row, row, j->state) || row > INT64_MAX / 8)
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the state does not fit the address space");
    TRY(sdx_output_room(p, 0, sdx_tensor_count(x), sizeof(float), &j->at_y));
    TRY(sdx_output_room(p, 1, n, sizeof(float), &j->at_state));
    return sdx_scratch_add(p, p->threads > 0 ? p->threads : 1, (size_t)row * sizeof(float), &j->at_scratch);
}

static sdx_status causal_run(Run *r)
{
    CausalJob j = *(const CausalJob *)r->state;
    const CausalAttrs *a = r->args;
    const Tensor *x = &r->in[IN_X]->t;
    int64_t dims[SDX_MAX_RANK] = { a->state_window };
    int extra = a->state_window > 0;
    void *y, *present;
    memcpy(dims + extra, x->dims, (size_t)x->rank * sizeof *dims);
    dims[extra + (j.last ? 1 : 2)] = j.state;
    TRY(sdx_output_or_scratch(r, 0, DT_FLOAT, x->rank, x->dims, j.at_y, &y));
    TRY(sdx_output_or_scratch(r, 1, DT_FLOAT, x->rank + extra, dims, j.at_state, &present));
    j.x = x->data;
    j.w = r->in[IN_W]->t.data;
    j.bias = data_or_null(r, IN_BIAS);
    j.past = data_or_null(r, IN_PAST);
    if (j.past) j.past += (j.window - 1) * j.batches * j.channels * j.state;
    j.y = y;
    j.present = present;
    j.scratch = (float *)(void *)((char *)r->scratch + j.at_scratch);
    sdx_run_range(r, j.batches * j.channels, grain_for((j.length + j.state) * j.kernel), causal_range, &j);
    return SDX_OK;
}

static const OpVer causal_vers[] = { { 27, { TS_F32_16 } }, { 0 } };

#define CAUSAL_OP(id, dom, signature, spec, versions)                                                                  \
    const OpDef sdx_op_##id = {                                                                                        \
        .name = "CausalConvWithState",                                                                                 \
        .domain = dom,                                                                                                 \
        .sig = signature,                                                                                              \
        .attrs = spec,                                                                                                 \
        .attrs_size = sizeof(CausalAttrs),                                                                             \
        .vers = versions,                                                                                              \
        .flags = OP_F32_MATH,                                                                                          \
        .infer = causal_infer,                                                                                         \
        .cpu = { causal_prepare, causal_run },                                                                         \
    };
CAUSAL_OP(CausalConvWithState, NULL, "T,T,T?,T?->T,T", causal_attrs, causal_vers)
CAUSAL_OP(ms_CausalConvWithState, "com.microsoft", "T,T,T?,T?->T,T,T?", causal_ms_attrs, ms_vers)
