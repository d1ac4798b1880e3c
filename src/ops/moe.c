/* ops/moe.c - com.microsoft MoE, QMoE: layers of experts
 *
 * A token goes to the k experts of the largest probability, softmax(router_probs); their results are added with that
 * probability as weight, divided by the k's sum when normalize_routing_weights is set, and always in QMoE unless its
 * router_weights are what mixes. An expert computes
 *
 *     W2 h + b2,   h = act(W1 x + b1),  or act(W1 x + b1) * (W3 x + b3) where there is a third matrix
 *
 * swiglu takes both parts from W1, whose rows alternate (swiglu_fusion 1) or are two halves (2):
 * h = g sigmoid(alpha g) (l + beta), g at most the limit and l within it on either side.
 * QMoE's weights are integers of 2, 4 or 8 bits, packed low bits first along the inner axis, (q - zero) * scale by row
 * or by blocks of a row. Experts run one after the other, all threads sharing the rows of the weights of one. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/rowsprod.h"
#include "ops/shapes.h"

typedef struct MoeAttrs {
    float activation_alpha, activation_beta, swiglu_limit;
    int64_t k, normalize_routing_weights, swiglu_fusion, use_sparse_mixer;
    int64_t accuracy_level, block_size, expert_weight_bits, weights_prepacked;
    Str activation_type, quant_type;
} MoeAttrs;

#define MOE_ATTRS                                                                                                      \
    OP_FLOAT(MoeAttrs, activation_alpha, 1), OP_FLOAT(MoeAttrs, activation_beta, 0),                                   \
        OP_FLOAT(MoeAttrs, swiglu_limit, INFINITY), OP_INT(MoeAttrs, k, 1),                                            \
        OP_INT(MoeAttrs, normalize_routing_weights, 0), OP_INT(MoeAttrs, swiglu_fusion, 0),                            \
        OP_INT(MoeAttrs, use_sparse_mixer, 0), OP_STR(MoeAttrs, activation_type, "relu")
static const AttrSpec moe_attrs[] = { MOE_ATTRS, OP_ATTR_END };
static const AttrSpec qmoe_attrs[] = { MOE_ATTRS,
                                       OP_INT(MoeAttrs, accuracy_level, 0),
                                       OP_INT(MoeAttrs, block_size, 0),
                                       OP_INT(MoeAttrs, expert_weight_bits, 4),
                                       OP_INT(MoeAttrs, weights_prepacked, -1),
                                       OP_STR(MoeAttrs, quant_type, "int"),
                                       OP_ATTR_END };

/* Inputs of one matrix; -1: the operator has none. */
typedef struct MatrixRoles {
    int w, scale, bias, zero;
} MatrixRoles;
static const MatrixRoles moe_roles[3] = { { 2, -1, 3, -1 }, { 4, -1, 5, -1 }, { 6, -1, 7, -1 } };
static const MatrixRoles qmoe_roles[3] = { { 2, 3, 4, 11 }, { 5, 6, 7, 12 }, { 8, 9, 10, 13 } };
enum { IN_X, IN_ROUTER, IN_ROUTER_WEIGHTS = 14 };

typedef enum Activation { ACT_RELU, ACT_GELU, ACT_SILU, ACT_IDENTITY, ACT_SWIGLU, ACTS } Activation;

static Activation activation_of(Str s)
{
    static const char *const names[ACTS] = { "relu", "gelu", "silu", "identity", "swiglu" };
    int i = 0;
    while (i < ACTS && !str_is(s, names[i])) i++;
    return (Activation)i;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status matrix_infer(Infer *c, const MatrixRoles *ro, Dim experts, const char *name)
{
    TRY(infer_rank_between(c, ro->w, 3, 3, name));
    const Shape *w = infer_shape(c, ro->w), *bias = infer_shape(c, ro->bias);
    if (!w) return SDX_OK;
    if (dim_differs(w->dims[0], experts))
        return sdx_infer_fail(c, "%s has %lld experts, router_probs %lld", name, (long long)w->dims[0],
                              (long long)experts);
    if (bias && (bias->rank != 2 || dim_differs(bias->dims[0], w->dims[0]) || dim_differs(bias->dims[1], w->dims[1])))
        return sdx_infer_fail(c, "the bias of %s does not fit it", name);
    return SDX_OK;
}

static sdx_status moe_infer_with(Infer *c, const MatrixRoles *ro)
{
    const MoeAttrs *a = c->args;
    if (activation_of(a->activation_type) == ACTS)
        return sdx_infer_fail(c, "activation_type is \"%.*s\"", (int)a->activation_type.n, a->activation_type.p);
    if (a->use_sparse_mixer) return sdx_infer_fail(c, "use_sparse_mixer is not supported");
    if (a->swiglu_fusion < 0 || a->swiglu_fusion > 2)
        return sdx_infer_fail(c, "swiglu_fusion is %lld; it may be 0, 1 or 2", (long long)a->swiglu_fusion);
    TRY(infer_rank_between(c, IN_X, 2, 3, "input"));
    TRY(infer_rank_between(c, IN_ROUTER, 2, 2, "router_probs"));
    const Shape *x = infer_shape(c, IN_X), *router = infer_shape(c, IN_ROUTER);
    Dim experts = router ? router->dims[1] : SDX_DIM_UNKNOWN;
    if (a->k < 1 || (sdx_dim_is_const(experts) && a->k > experts))
        return sdx_infer_fail(c, "k is %lld of %lld experts", (long long)a->k, (long long)experts);
    TRY(matrix_infer(c, &ro[0], experts, "fc1_experts_weights"));
    TRY(matrix_infer(c, &ro[1], experts, "fc2_experts_weights"));
    TRY(matrix_infer(c, &ro[2], experts, "fc3_experts_weights"));
    if (x) infer_out_shape(c, 0, x);
    return SDX_OK;
}

static sdx_status moe_infer(Infer *c) { return moe_infer_with(c, moe_roles); }

static sdx_status qmoe_infer(Infer *c)
{
    const MoeAttrs *a = c->args;
    if (!str_is(a->quant_type, "int"))
        return sdx_infer_fail(c, "quant_type \"%.*s\" is not supported; int is", (int)a->quant_type.n, a->quant_type.p);
    if (a->expert_weight_bits != 2 && a->expert_weight_bits != 4 && a->expert_weight_bits != 8)
        return sdx_infer_fail(c, "expert_weight_bits is %lld; it may be 2, 4 or 8", (long long)a->expert_weight_bits);
    if (a->weights_prepacked > 0)
        return sdx_infer_fail(c, "weights_prepacked is set: the weights have the layout of one device");
    if (a->block_size < 0 || (a->block_size && a->block_size % 8))
        return sdx_infer_fail(c, "block_size is %lld; it must be a multiple of 8", (long long)a->block_size);
    return moe_infer_with(c, qmoe_roles);
}

/* -- one matrix of all experts ------------------------------------------------------------------------------------- */

typedef struct Matrix {
    int64_t rows, cols; /* of one expert; rows 0: there is none */
    int64_t bits, block, blocks;
    const float *floats, *bias, *scales;
    const uint8_t *packed, *zero;
    const Kern *kern;
    int64_t expert;
} Matrix;

static int32_t zero_of(const Matrix *w, int64_t row, int64_t block)
{
    int64_t line = (w->blocks * w->bits + 7) / 8;
    if (!w->zero) return 1 << (w->bits - 1);
    /* One a row: packed along the rows of an expert. Several: along the blocks of a row. */
    int64_t bit = w->blocks == 1 ? w->expert * ((w->rows * w->bits + 7) / 8) * 8 + row * w->bits
                                 : ((w->expert * w->rows + row) * line) * 8 + block * w->bits;
    return (w->zero[bit / 8] >> (bit % 8)) & ((1 << w->bits) - 1);
}

static const float *float_rows(const void *weights, int64_t first, int64_t n, float *room)
{
    const Matrix *w = weights;
    return w->floats + (w->expert * w->rows + first) * w->cols;
}

static const float *packed_rows(const void *weights, int64_t first, int64_t n, float *room)
{
    const Matrix *w = weights;
    uint8_t q[64];
    for (int64_t i = 0; i < n; i++) {
        int64_t row = w->expert * w->rows + first + i, per_byte = 8 / w->bits;
        const uint8_t *from = w->packed + row * (w->cols / per_byte);
        for (int64_t at = 0, size; at < w->cols; at += size) {
            int64_t block = at / w->block, left = (block + 1) * w->block - at;
            size = left < 64 ? left : 64;
            if (size > w->cols - at) size = w->cols - at;
            for (int64_t k = 0; k < size; k++)
                q[k] = (uint8_t)((from[(at + k) / per_byte] >> ((at + k) % per_byte * w->bits)) & ((1 << w->bits) - 1));
            w->kern->dequantize_f32[SDX_Q_u8](room + i * w->cols + at, q, (size_t)size,
                                              w->scales[row * w->blocks + block], zero_of(w, first + i, block));
        }
    }
    return room;
}

static int64_t count_of(const Run *r, int i) { return sdx_tensor_count(&r->in[i]->t); }
static const void *data_of(const Run *r, int i) { return i >= 0 && i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

static sdx_status matrix_load(const Run *r, const MatrixRoles *ro, const Kern *kern, Matrix *w)
{
    const MoeAttrs *a = r->args;
    *w = (Matrix){ .kern = kern };
    if (ro->w >= r->n_in || !r->in[ro->w]) return SDX_OK;
    const Tensor *t = &r->in[ro->w]->t;
    w->rows = t->dims[1];
    w->cols = t->dims[2];
    w->bias = data_of(r, ro->bias);
    if (ro->scale < 0) {
        w->floats = t->data;
        return SDX_OK;
    }
    w->bits = a->expert_weight_bits;
    w->cols *= 8 / w->bits;
    w->packed = t->data;
    w->scales = data_of(r, ro->scale);
    w->zero = data_of(r, ro->zero);
    w->block = a->block_size ? a->block_size : w->cols;
    w->blocks = w->block ? (w->cols + w->block - 1) / w->block : 0;
    int64_t per_expert = w->blocks == 1 ? (w->rows * w->bits + 7) / 8 : w->rows * ((w->blocks * w->bits + 7) / 8);
    if (!w->scales || count_of(r, ro->scale) != t->dims[0] * w->rows * w->blocks)
        return sdx_run_fail(r, "input %d must hold %lld scales", ro->scale,
                            (long long)(t->dims[0] * w->rows * w->blocks));
    if (w->zero && count_of(r, ro->zero) != t->dims[0] * per_expert)
        return sdx_run_fail(r, "input %d must hold %lld bytes of zero points", ro->zero,
                            (long long)(t->dims[0] * per_expert));
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

typedef struct MoeState {
    RowsPlan plan;
    const MatrixRoles *roles;
} MoeState;

static sdx_status moe_prepare_with(Prepare *p, const MatrixRoles *ro, int64_t per_byte)
{
    MoeState *st = sdx_arena_new(p->arena, MoeState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->roles = ro;
    int64_t k = p->in[ro[0].w]->t.dims[2], k2 = p->in[ro[1].w]->t.dims[2];
    return sdx_rows_plan(p, (k > k2 ? k : k2) * per_byte, &st->plan);
}

static sdx_status moe_prepare(Prepare *p) { return moe_prepare_with(p, moe_roles, 1); }
static sdx_status qmoe_prepare(Prepare *p)
{
    return moe_prepare_with(p, qmoe_roles, 8 / ((const MoeAttrs *)p->args)->expert_weight_bits);
}

static float sigmoid(float x) { return 1 / (1 + expf(-x)); }

static float activate(Activation act, const MoeAttrs *a, float g, float l)
{
    switch (act) {
    case ACT_RELU: return (g > 0 ? g : 0) * l;
    case ACT_GELU: return 0.5f * g * (1 + tanhf(0.79788456f * (g + 0.044715f * g * g * g))) * l;
    case ACT_SILU: return g * sigmoid(g) * l;
    case ACT_SWIGLU:
        g = fminf(g, a->swiglu_limit);
        l = fmaxf(-a->swiglu_limit, fminf(l, a->swiglu_limit));
        return g * sigmoid(a->activation_alpha * g) * (l + a->activation_beta);
    default: return g * l;
    }
}

/* The k best of n logits, by falling probability (equal: lower index first), and their weights. */
static void route(const MoeAttrs *a, const float *logits, const float *mix, bool normalise, int64_t n, int32_t *best,
                  float *weight)
{
    float most = -INFINITY, sum = 0, chosen = 0;
    for (int64_t i = 0; i < n; i++) most = fmaxf(most, logits[i]);
    for (int64_t i = 0; i < n; i++) sum += expf(logits[i] - most);
    for (int64_t k = 0; k < a->k; k++) {
        int64_t at = -1;
        for (int64_t i = 0; i < n; i++) {
            bool taken = false;
            for (int64_t j = 0; j < k; j++) taken |= best[j] == i;
            if (!taken && (at < 0 || logits[i] > logits[at])) at = i;
        }
        best[k] = (int32_t)at;
        weight[k] = mix ? mix[at] : expf(logits[at] - most) / sum;
        chosen += weight[k];
    }
    for (int64_t k = 0; normalise && chosen > 0 && k < a->k; k++) weight[k] /= chosen;
}

/* Room of a run: tokens of an expert, what its matrices make of them, and who goes where. */
typedef struct MoeRoom {
    float *x, *first, *third, *y, *weight;
    int32_t *best;
} MoeRoom;

static sdx_status room_make(Run *r, int64_t tokens, int64_t k, int64_t hidden, int64_t wide, MoeRoom *room)
{
    int64_t row = 2 * hidden + 2 * wide + 2 * k;
    size_t nbytes;
    if (!sdx_mul_size(&nbytes, (size_t)tokens, (size_t)row * sizeof(float))) return sdx_run_fail(r, "too many tokens");
    room->x = sdx_run_heap(r, nbytes);
    if (!room->x && nbytes) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    room->y = room->x + tokens * hidden;
    room->first = room->y + tokens * hidden;
    room->third = room->first + tokens * wide;
    room->weight = room->third + tokens * wide;
    room->best = (int32_t *)(room->weight + tokens * k);
    return SDX_OK;
}

static void expert_product(Run *r, const Matrix *w, int64_t tokens, const float *a, float *y)
{
    const MoeState *st = r->state;
    RowsProduct q = { .m = tokens,
                      .n = w->rows,
                      .k = w->cols,
                      .a = a,
                      .bias = w->bias ? w->bias + w->expert * w->rows : NULL,
                      .y = y,
                      .rows = w->floats ? float_rows : packed_rows,
                      .weights = w };
    sdx_rows_product(r, &st->plan, &q);
}

/* h of `tokens` rows, into room->first, whose rows get `inner` elements. */
static void expert_hidden(Run *r, const Matrix *w, const MoeRoom *room, int64_t tokens, int64_t inner)
{
    const MoeAttrs *a = r->args;
    Activation act = activation_of(a->activation_type);
    bool fused = act == ACT_SWIGLU && !w[2].rows;
    int64_t wide = w[0].rows, step = fused && a->swiglu_fusion == 1 ? 2 : 1, half = step == 2 ? 1 : inner;
    expert_product(r, &w[0], tokens, room->x, room->first);
    if (w[2].rows) expert_product(r, &w[2], tokens, room->x, room->third);
    for (int64_t t = 0; t < tokens; t++) /* in place: the result never runs ahead of what is read */
        for (int64_t i = 0; i < inner; i++) {
            const float *row = room->first + t * wide;
            float l = fused ? row[i * step + half] : w[2].rows ? room->third[t * inner + i] : 1;
            room->first[t * inner + i] = activate(act, a, row[i * step], l);
        }
}

static sdx_status moe_check(const Run *r, const Matrix *w, int64_t hidden, int64_t *inner)
{
    const MoeAttrs *a = r->args;
    bool fused = activation_of(a->activation_type) == ACT_SWIGLU && !w[2].rows;
    *inner = fused ? w[0].rows / 2 : w[0].rows;
    if (fused && (!a->swiglu_fusion || w[0].rows % 2))
        return sdx_run_fail(r, "swiglu needs fc3_experts_weights, or swiglu_fusion and an even number of rows");
    if (w[0].cols != hidden || w[1].rows != hidden || w[1].cols != *inner ||
        (w[2].rows && (w[2].rows != *inner || w[2].cols != hidden)))
        return sdx_run_fail(r, "the experts' matrices (%lld x %lld, %lld x %lld) do not fit tokens of %lld",
                            (long long)w[0].rows, (long long)w[0].cols, (long long)w[1].rows, (long long)w[1].cols,
                            (long long)hidden);
    return SDX_OK;
}

static sdx_status moe_run(Run *r)
{
    const MoeState *st = r->state;
    const MoeAttrs *a = r->args;
    const Tensor *x = &r->in[IN_X]->t, *router = &r->in[IN_ROUTER]->t;
    int64_t hidden = x->dims[x->rank - 1], tokens = sdx_dims_product(x->dims, 0, x->rank - 1), inner;
    int64_t experts = router->dims[1];
    Matrix w[3];
    MoeRoom room = { 0 };
    void *out;
    for (int i = 0; i < 3; i++) TRY(matrix_load(r, &st->roles[i], st->plan.kern, &w[i]));
    TRY(moe_check(r, w, hidden, &inner));
    if (router->dims[0] != tokens || a->k > experts || r->in[st->roles[0].w]->t.dims[0] != experts)
        return sdx_run_fail(r, "router_probs are %lld x %lld for %lld tokens", (long long)router->dims[0],
                            (long long)experts, (long long)tokens);
    const float *mix = st->roles == qmoe_roles ? data_of(r, IN_ROUTER_WEIGHTS) : NULL;
    if (mix && count_of(r, IN_ROUTER_WEIGHTS) != tokens * experts)
        return sdx_run_fail(r, "router_weights do not have the shape of router_probs");
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank, x->dims, &out));
    TRY(room_make(r, tokens, a->k, hidden, w[0].rows > inner ? w[0].rows : inner, &room));
    bool normalise = a->normalize_routing_weights || (st->roles == qmoe_roles && !mix);
    for (int64_t t = 0; t < tokens; t++)
        route(a, (const float *)router->data + t * experts, mix ? mix + t * experts : NULL, normalise, experts,
              room.best + t * a->k, room.weight + t * a->k);
    float *y = out;
    memset(y, 0, (size_t)(tokens * hidden) * sizeof *y);
    for (int64_t e = 0; e < experts; e++) {
        int64_t n = 0;
        for (int64_t i = 0; i < tokens * a->k; i++)
            if (room.best[i] == e)
                memcpy(room.x + n++ * hidden, (const float *)x->data + i / a->k * hidden, (size_t)hidden * sizeof *y);
        if (!n) continue;
        TRY(sdx_run_poll(r));
        for (int i = 0; i < 3; i++) w[i].expert = e;
        expert_hidden(r, w, &room, n, inner);
        expert_product(r, &w[1], n, room.first, room.y);
        n = 0;
        for (int64_t i = 0; i < tokens * a->k; i++) {
            if (room.best[i] != e) continue;
            const float *from = room.y + n++ * hidden;
            float *to = y + i / a->k * hidden;
            for (int64_t k = 0; k < hidden; k++) to[k] += room.weight[i] * from[k];
        }
    }
    return SDX_OK;
}

#define REALS (TS_F32 | TS_F16 | TS_BF16)
static const OpVer moe_vers[] = { { 1, { REALS } }, { 0 } };

const OpDef sdx_op_ms_MoE = {
    .name = "MoE",
    .domain = "com.microsoft",
    .sig = "T,T,T,T?,T,T?,T?,T?->T",
    .attrs = moe_attrs,
    .attrs_size = sizeof(MoeAttrs),
    .vers = moe_vers,
    .flags = OP_F32_MATH,
    .infer = moe_infer,
    .cpu = { moe_prepare, moe_run },
};

static const OpVer qmoe_vers[] = { { 1, { REALS, TS_U8 | TS_F8, REALS | TS_E8M0 | TS_F8 } }, { 0 } };

const OpDef sdx_op_ms_QMoE = {
    .name = "QMoE",
    .domain = "com.microsoft",
    .sig = "T,T,U,V?,T?,U,V?,T?,U?,V?,T?,U?,U?,U?,T?,f32?,f32?,f32?,f32?,V?,V?->T",
    .attrs = qmoe_attrs,
    .attrs_size = sizeof(MoeAttrs),
    .vers = qmoe_vers,
    .flags = OP_F32_MATH,
    .infer = qmoe_infer,
    .cpu = { qmoe_prepare, moe_run },
};
