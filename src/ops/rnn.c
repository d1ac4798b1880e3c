/* ops/rnn.c - RNN, GRU, LSTM
 *
 * RNN   h = f(Wx + Rh' + b)
 * GRU   z = f(..), r = f(..), n = g(Wx + (r o h') R + b), or with linear_before_reset g(Wx + r o (R h' + rb) + wb);
 *       h = (1 - z) o n + z o h'                                                     weights in the order z r n
 * LSTM  i = f(.. + Pi o c'), f = f(.. + Pf o c'), n = g(..), c = f o c' + i o n, o = f(.. + Po o c), h = o o h(c)
 *                                                                                    weights in the order i o f n
 * where ' is the step before. Rows beyond their sequence length give 0 in Y and leave the state alone. */
#include "ops/rnn.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

/* -- activations --------------------------------------------------------------------------------------------------- */

enum { ACT_AFFINE = SDX_MAP1_COUNT, ACT_SCALED_TANH, ACT_NONE };

static const struct {
    const char *name;
    int kind;
    bool takes_alpha, takes_beta;
    double alpha, beta; /* defaults */
} act_table[] = {
    { "Relu", SDX_MAP1_relu, false, false, 0, 0 },
    { "Tanh", SDX_MAP1_tanh, false, false, 0, 0 },
    { "Sigmoid", SDX_MAP1_sigmoid, false, false, 0, 0 },
    { "Affine", ACT_AFFINE, true, true, 1, 0 },
    { "LeakyRelu", SDX_MAP1_leakyrelu, true, false, 0.01, 0 },
    { "ThresholdedRelu", SDX_MAP1_thresholdedrelu, true, false, 1, 0 },
    { "ScaledTanh", ACT_SCALED_TANH, true, true, 1, 1 },
    { "HardSigmoid", SDX_MAP1_hardsigmoid, true, true, 0.2, 0.5 },
    { "Elu", SDX_MAP1_elu, true, false, 1, 0 },
    { "Softsign", SDX_MAP1_softsign, false, false, 0, 0 },
    { "Softplus", SDX_MAP1_softplus, false, false, 0, 0 },
};

static bool same_name(Str s, const char *name)
{
    size_t n = strlen(name);
    if (s.n != n) return false;
    for (size_t i = 0; i < n; i++)
        if ((s.p[i] | 32) != (name[i] | 32)) return false;
    return true;
}

const char *sdx_rnn_activations(const RnnAttrs *a, int kind, int dirs, RnnAct *out)
{
    static const char *const dflt[3][3] = { { "Tanh" }, { "Sigmoid", "Tanh" }, { "Sigmoid", "Tanh", "Tanh" } };
    int per = kind + 1;
    int64_t alpha = 0, beta = 0;
    if (a->activations.v && a->activations.n != (int64_t)per * dirs && a->activations.n != per)
        return "activations must name one function for each part of each direction";
    for (int i = 0; i < per * dirs; i++) {
        const char *name = dflt[kind][i % per];
        Str s = { name, strlen(name) };
        if (a->activations.v) s = a->activations.v[i % a->activations.n];
        size_t k = 0, n = sizeof act_table / sizeof *act_table;
        while (k < n && !same_name(s, act_table[k].name)) k++;
        if (k == n) return "an activation is not known";
        RnnAct *act = &out[i / per * 3 + i % per];
        *act = (RnnAct){ act_table[k].kind, act_table[k].alpha, act_table[k].beta };
        if (act_table[k].takes_alpha && alpha < a->activation_alpha.n)
            act->alpha = (double)a->activation_alpha.v[alpha++];
        if (act_table[k].takes_beta && beta < a->activation_beta.n) act->beta = (double)a->activation_beta.v[beta++];
    }
    return NULL;
}

#define ACT_TYPE(T, tag, TANH)                                                                                         \
    void sdx_rnn_act_##tag(const Kern *k, const RnnAct *a, double clip, T *x, int64_t n)                               \
    {                                                                                                                  \
        if (clip > 0) {                                                                                                \
            T hi = (T)clip;                                                                                            \
            for (int64_t i = 0; i < n; i++) x[i] = x[i] < -hi ? -hi : x[i] > hi ? hi : x[i];                           \
        }                                                                                                              \
        if (a->kind == ACT_NONE) return;                                                                               \
        if (a->kind < SDX_MAP1_COUNT) {                                                                                \
            k->map1_##tag[a->kind](x, x, (size_t)n, &(MapParam){ a->alpha, a->beta });                                 \
            return;                                                                                                    \
        }                                                                                                              \
        T alpha = (T)a->alpha, beta = (T)a->beta;                                                                      \
        for (int64_t i = 0; i < n; i++)                                                                                \
            x[i] = a->kind == ACT_AFFINE ? alpha * x[i] + beta : alpha * TANH(beta * x[i]);                            \
    }
ACT_TYPE(float, f32, tanhf)
ACT_TYPE(double, f64, tanh)

int sdx_rnn_dirs(Str d)
{
    if (same_name(d, "forward") || same_name(d, "reverse") || same_name(d, "foward")) return 1;
    return same_name(d, "bidirectional") ? 2 : 0;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

/* Input i, present, has this shape (unknowns fit). */
static sdx_status rnn_shape(const Infer *c, int i, const char *what, int rank, Dim d0, Dim d1, Dim d2)
{
    const Shape *s = infer_shape(c, i);
    const Dim want[3] = { d0, d1, d2 };
    if (!s) return SDX_OK;
    if (s->rank != rank) return sdx_infer_fail(c, "%s has rank %d; it must be %d", what, (int)s->rank, rank);
    for (int k = 0; k < rank; k++)
        if (dim_differs(s->dims[k], want[k]))
            return sdx_infer_fail(c, "%s has size %lld along axis %d; it must be %lld", what, (long long)s->dims[k], k,
                                  (long long)want[k]);
    return SDX_OK;
}

sdx_status sdx_rnn_infer(Infer *c, int gates)
{
    const RnnAttrs *a = c->args;
    int dirs = sdx_rnn_dirs(a->direction);
    if (!dirs) return sdx_infer_fail(c, "direction is not forward, reverse or bidirectional");
    if (a->layout != 0 && a->layout != 1) return sdx_infer_fail(c, "layout is %lld", (long long)a->layout);
    if (a->clip < 0) return sdx_infer_fail(c, "clip is %g; it must not be negative", (double)a->clip);
    RnnAct acts[6];
    const char *bad = sdx_rnn_activations(a, gates == 1 ? RNN_PLAIN : gates == 3 ? RNN_GRU : RNN_LSTM, dirs, acts);
    if (bad) return sdx_infer_fail(c, "%s", bad);
    TRY(infer_rank_between(c, 0, 3, 3, "X"));
    TRY(infer_rank_between(c, 1, 3, 3, "W"));
    TRY(infer_rank_between(c, 2, 3, 3, "R"));
    const Shape *x = infer_shape(c, 0), *w = infer_shape(c, 1), *r = infer_shape(c, 2);
    Dim hidden = r ? r->dims[2] : SDX_DIM_UNKNOWN, in = x ? x->dims[2] : w ? w->dims[2] : SDX_DIM_UNKNOWN;
    if (a->hidden_size > 0) {
        if (dim_differs(hidden, a->hidden_size))
            return sdx_infer_fail(c, "hidden_size is %lld; R has %lld", (long long)a->hidden_size, (long long)hidden);
        hidden = a->hidden_size;
    }
    if (sdx_dim_is_const(hidden) && hidden > INT32_MAX / 8) return sdx_infer_fail(c, "hidden_size is too large");
    Dim all = sdx_dim_is_const(hidden) ? gates * hidden : SDX_DIM_UNKNOWN;
    Dim steps = x ? x->dims[a->layout ? 1 : 0] : SDX_DIM_UNKNOWN,
        batch = x ? x->dims[a->layout ? 0 : 1] : SDX_DIM_UNKNOWN;
    TRY(rnn_shape(c, 1, "W", 3, dirs, all, in));
    TRY(rnn_shape(c, 2, "R", 3, dirs, all, hidden));
    TRY(rnn_shape(c, 3, "B", 2, dirs, sdx_dim_is_const(all) ? 2 * all : all, 0));
    TRY(rnn_shape(c, 4, "sequence_lens", 1, batch, 0, 0));
    for (int i = 5; i <= 6; i++) {
        const char *what = i == 5 ? "initial_h" : "initial_c";
        if (a->layout)
            TRY(rnn_shape(c, i, what, 3, batch, dirs, hidden));
        else
            TRY(rnn_shape(c, i, what, 3, dirs, batch, hidden));
    }
    TRY(rnn_shape(c, 7, "P", 2, dirs, sdx_dim_is_const(hidden) ? 3 * hidden : SDX_DIM_UNKNOWN, 0));
    for (int o = 0; o < c->n_out; o++) {
        Dim *y = infer_out_rank(c, o, o == 0 ? 4 : 3);
        if (o == 0 && a->layout)
            y[0] = batch, y[1] = steps, y[2] = dirs, y[3] = hidden;
        else if (o == 0)
            y[0] = steps, y[1] = dirs, y[2] = batch, y[3] = hidden;
        else if (a->layout)
            y[0] = batch, y[1] = dirs, y[2] = hidden;
        else
            y[0] = dirs, y[1] = batch, y[2] = hidden;
    }
    return SDX_OK;
}

/* -- plan ---------------------------------------------------------------------------------------------------------- */

#define BLOCK_ELEMENTS (256 * 1024) /* sums of input products held at once */

static sdx_status rnn_reserve(Prepare *p, int64_t count, size_t esize, size_t *at)
{
    size_t nbytes;
    *at = sdx_round_up(p->scratch, SDX_ALIGN);
    if (!sdx_mul_size(&nbytes, (size_t)count, esize) || !sdx_add_size(&p->scratch, *at, nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

/* A product whose right operand is rows [first, first + n) of one direction of input i, `all` rows each, transposed. */
static sdx_status rnn_product(Prepare *p, Product *q, int i, int64_t m, int64_t n, int64_t k, int64_t first,
                              int64_t all, int64_t dirs, const Product *same, int64_t *step)
{
    q->plan = (GemmPlan){ .m = (size_t)m,
                          .n = (size_t)n,
                          .k = (size_t)k,
                          .lda = (size_t)k,
                          .ldb = (size_t)k,
                          .ldc = (size_t)n,
                          .b_form = SDX_MAT_COLS };
    *step = all * k;
    if (same && same->packed) {
        q->packed = same->packed;
        q->plan.b_form = SDX_MAT_PACKED;
    } else if (p->in_const[i] && p->in[i]->t.data && k && n) {
        TRY(sdx_product_pack(p, q, i, first * k, dirs, all * k, step));
    }
    return sdx_product_plan(p, q);
}

sdx_status sdx_rnn_prepare(Prepare *p, int kind)
{
    const RnnAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *r = &p->in[2]->t;
    RnnState *st = sdx_arena_new(p->arena, RnnState);
    TRY_MEM(st, p->err);
    p->state = st;
    static const int gates[3] = { 1, 3, 4 };
    st->kern = p->kern;
    st->kind = kind;
    st->gates = gates[kind];
    st->dirs = sdx_rnn_dirs(a->direction);
    st->reverse_first = same_name(a->direction, "reverse");
    st->layout1 = a->layout == 1;
    st->f64 = x->dtype == DT_DOUBLE;
    st->flush = p->flush_subnormals;
    st->linear_before_reset = a->linear_before_reset != 0;
    st->input_forget = a->input_forget != 0;
    st->clip = (double)a->clip;
    st->steps = x->dims[st->layout1 ? 1 : 0];
    st->batch = x->dims[st->layout1 ? 0 : 1];
    st->in = x->dims[2];
    st->hidden = r->dims[2];
    const char *bad = sdx_rnn_activations(a, kind, st->dirs, st->act);
    if (bad) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", bad);
    int64_t h = st->hidden, b = st->batch, gh = st->gates * h;
    if (st->steps == 0 || b == 0 || h == 0) return SDX_OK;

    st->block = BLOCK_ELEMENTS / (b * gh);
    if (st->block < 1) st->block = 1;
    if (st->block > st->steps) st->block = st->steps;
    st->last_block = (st->steps - 1) % st->block + 1;
    size_t esize = sdx_dtype_size(x->dtype);
    TRY(rnn_reserve(p, st->block * b * st->in, esize, &st->at_xs));
    TRY(rnn_reserve(p, st->block * b * gh, esize, &st->at_xw));
    TRY(rnn_reserve(p, b * gh, esize, &st->at_hr));
    TRY(rnn_reserve(p, b * gh, esize, &st->at_tmp));
    TRY(rnn_reserve(p, b * h, esize, &st->at_h));
    TRY(rnn_reserve(p, b * h, esize, &st->at_c));
    TRY(rnn_reserve(p, gh, esize, &st->at_bias));
    st->x_step = gh * st->in;
    st->r_step = st->reset_step = gh * h;
    if (st->f64) return SDX_OK;
    bool split = kind == RNN_GRU && !st->linear_before_reset;
    TRY(rnn_product(p, &st->x, 1, st->block * b, gh, st->in, 0, gh, st->dirs, NULL, &st->x_step));
    int64_t step = st->x_step;
    TRY(rnn_product(p, &st->x_last, 1, st->last_block * b, gh, st->in, 0, gh, st->dirs, &st->x, &step));
    TRY(rnn_product(p, &st->r, 2, b, split ? 2 * h : gh, h, 0, gh, st->dirs, NULL, &st->r_step));
    if (split) TRY(rnn_product(p, &st->r_reset, 2, b, h, h, 2 * h, gh, st->dirs, NULL, &st->reset_step));
    return SDX_OK;
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

/* One direction of one run. Pointers of the element type. */
typedef struct RnnPass {
    const RnnState *st;
    int dir;
    bool reverse;
    const int32_t *lens; /* NULL: all of them */
    const void *x, *w, *rw, *bias, *peep, *h0, *c0;
    void *y, *y_h, *y_c; /* NULL: not asked for */
} RnnPass;

static int64_t rnn_len(const RnnPass *q, int64_t b) { return q->lens ? q->lens[b] : q->st->steps; }
/* The step in time that row b does at step s. */
static int64_t rnn_time(const RnnPass *q, int64_t b, int64_t s) { return q->reverse ? rnn_len(q, b) - 1 - s : s; }
static int64_t rnn_x_row(const RnnState *st, int64_t t, int64_t b)
{
    return st->layout1 ? b * st->steps + t : t * st->batch + b;
}
static int64_t rnn_y_row(const RnnPass *q, int64_t t, int64_t b)
{
    const RnnState *st = q->st;
    return st->layout1 ? (b * st->steps + t) * st->dirs + q->dir : (t * st->dirs + q->dir) * st->batch + b;
}
static int64_t rnn_h_row(const RnnPass *q, int64_t b)
{
    return q->st->layout1 ? b * q->st->dirs + q->dir : q->dir * q->st->batch + b;
}

#define T float
#define FN(name) name##_f32
#define ACT sdx_rnn_act_f32
#define IS_F32
#include "ops/rnn_tmpl.h"
#define T double
#define FN(name) name##_f64
#define ACT sdx_rnn_act_f64
#include "ops/rnn_tmpl.h"

static const void *rnn_data(const Run *r, int i) { return i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

sdx_status sdx_rnn_run(Run *r)
{
    const RnnState *st = r->state;
    DType d = r->in[0]->t.dtype;
    void *out[3] = { NULL, NULL, NULL };
    int64_t h = st->hidden, b = st->batch;
    for (int o = 0; o < r->n_out; o++) {
        if (!r->out[o]) continue;
        int64_t y[2][4] = { { st->steps, st->dirs, b, h }, { b, st->steps, st->dirs, h } };
        int64_t last[2][3] = { { st->dirs, b, h }, { b, st->dirs, h } };
        TRY(sdx_run_output(r, o, d, o ? 3 : 4, o ? last[st->layout1] : y[st->layout1], &out[o]));
    }
    const int32_t *lens = rnn_data(r, 4);
    for (int64_t i = 0; lens && i < b; i++)
        if (lens[i] < 0 || lens[i] > st->steps)
            return sdx_run_fail(r, "sequence_lens[%lld] is %d; it must lie in [0, %lld]", (long long)i, (int)lens[i],
                                (long long)st->steps);
    if (b == 0 || h == 0) return SDX_OK;
    for (int dir = 0; dir < st->dirs; dir++) {
        RnnPass q = { .st = st,
                      .dir = dir,
                      .reverse = dir == 1 || st->reverse_first,
                      .lens = lens,
                      .x = rnn_data(r, 0),
                      .w = rnn_data(r, 1),
                      .rw = rnn_data(r, 2),
                      .bias = rnn_data(r, 3),
                      .h0 = rnn_data(r, 5),
                      .c0 = st->kind == RNN_LSTM ? rnn_data(r, 6) : NULL,
                      .peep = st->kind == RNN_LSTM ? rnn_data(r, 7) : NULL,
                      .y = out[0],
                      .y_h = out[1],
                      .y_c = out[2] };
        TRY(st->f64 ? rnn_pass_f64(r, &q) : rnn_pass_f32(r, &q));
    }
    return SDX_OK;
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

static sdx_status plain_infer(Infer *c) { return sdx_rnn_infer(c, 1); }
static sdx_status gru_infer(Infer *c) { return sdx_rnn_infer(c, 3); }
static sdx_status lstm_infer(Infer *c) { return sdx_rnn_infer(c, 4); }
static sdx_status plain_prepare(Prepare *p) { return sdx_rnn_prepare(p, RNN_PLAIN); }
static sdx_status gru_prepare(Prepare *p) { return sdx_rnn_prepare(p, RNN_GRU); }
static sdx_status lstm_prepare(Prepare *p) { return sdx_rnn_prepare(p, RNN_LSTM); }

static const AttrSpec plain_attrs[] = { OP_RNN_ATTRS, OP_ATTR_END };
static const AttrSpec gru_attrs[] = { OP_RNN_ATTRS, OP_INT(RnnAttrs, linear_before_reset, 0), OP_ATTR_END };
static const AttrSpec lstm_attrs[] = { OP_RNN_ATTRS, OP_INT(RnnAttrs, input_forget, 0), OP_ATTR_END };

/* Before 7 the attribute output_sequence said whether Y was wanted; its place in the output list says it too. */
static sdx_status rnn_from_6(Node *n, Err *err)
{
    sdx_node_drop_attr(n, "output_sequence");
    return SDX_OK;
}

static const OpVer plain_vers[] = {
    { 22, { TS_FLTB, TS_I32 } },
    { 14, { TS_FLT, TS_I32 } },
    { 7, { TS_FLT, TS_I32 } },
    { 1, { TS_FLT, TS_I32 }, rnn_from_6 },
    { 0 },
};
static const OpVer gru_vers[] = {
    { 22, { TS_FLTB, TS_I32 } },           { 14, { TS_FLT, TS_I32 } }, { 7, { TS_FLT, TS_I32 } },
    { 3, { TS_FLT, TS_I32 }, rnn_from_6 }, { 1, { TS_FLT, TS_I32 } },  { 0 },
};

const OpDef sdx_op_RNN = {
    .name = "RNN",
    .sig = "T,T,T,T?,U?,T?->T?,T?",
    .attrs = plain_attrs,
    .attrs_size = sizeof(RnnAttrs),
    .vers = plain_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1 | 1u << 2,
    .infer = plain_infer,
    .cpu = { plain_prepare, sdx_rnn_run },
};
const OpDef sdx_op_GRU = {
    .name = "GRU",
    .sig = "T,T,T,T?,U?,T?->T?,T?",
    .attrs = gru_attrs,
    .attrs_size = sizeof(RnnAttrs),
    .vers = gru_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1 | 1u << 2,
    .infer = gru_infer,
    .cpu = { gru_prepare, sdx_rnn_run },
};
const OpDef sdx_op_LSTM = {
    .name = "LSTM",
    .sig = "T,T,T,T?,U?,T?,T?,T?->T?,T?,T?",
    .attrs = lstm_attrs,
    .attrs_size = sizeof(RnnAttrs),
    .vers = plain_vers,
    .flags = OP_F32_MATH | OP_LAZY_PACK,
    .packed = 1u << 1 | 1u << 2,
    .infer = lstm_infer,
    .cpu = { lstm_prepare, sdx_rnn_run },
};
