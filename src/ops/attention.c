/* ops/attention.c - Attention
 *
 * Y = softmax(scale * Q K^T + bias) V over heads, Q, K and V either [batch, heads, rows, size] or
 * [batch, rows, heads * size]; query heads share key heads when there are more of them. past_key and past_value come
 * before K and V, and present_key and present_value are both together. Options and their order are those of kern/attn.
 *
 * 16-bit types are rounded after each step that the standard's function body writes down, and in the softmax after each
 * step of its reference (docs/numerics.md).
 *
 * Versions: 24 adds nonpad_kv_seqlen and masks shorter than the keys, 25 windows. What they have in common means the
 * same in all. */
#include "ops/attend.h"

#include <math.h>

#include "base/size.h"
#include "ops/dims.h"
#include "ops/shapes.h"

enum { IN_Q, IN_K, IN_V, IN_MASK, IN_PAST_K, IN_PAST_V, IN_NONPAD };
enum { OUT_Y, OUT_K, OUT_V, OUT_QK };

typedef struct AttentionAttrs {
    int64_t is_causal, kv_num_heads, left_window_size, q_num_heads, qk_matmul_output_mode, right_window_size,
        softmax_precision;
    float scale, softcap;
} AttentionAttrs;

static const AttrSpec attention_attrs[] = {
    OP_INT(AttentionAttrs, is_causal, 0),
    OP_INT(AttentionAttrs, kv_num_heads, OP_INT_ABSENT),
    OP_INT(AttentionAttrs, left_window_size, -1),
    OP_INT(AttentionAttrs, q_num_heads, OP_INT_ABSENT),
    OP_INT(AttentionAttrs, qk_matmul_output_mode, 0),
    OP_INT(AttentionAttrs, right_window_size, -1),
    OP_INT(AttentionAttrs, softmax_precision, OP_INT_ABSENT),
    OP_FLOAT(AttentionAttrs, scale, NAN), /* absent */
    OP_FLOAT(AttentionAttrs, softcap, 0),
    OP_ATTR_END,
};

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status attrs_check(const Infer *c)
{
    const AttentionAttrs *a = c->args;
    if (a->qk_matmul_output_mode < 0 || a->qk_matmul_output_mode > 3)
        return sdx_infer_fail(c, "qk_matmul_output_mode is %lld; it must lie in [0, 3]",
                              (long long)a->qk_matmul_output_mode);
    if (a->left_window_size < -1 || a->right_window_size < -1)
        return sdx_infer_fail(c, "the window reaches %lld to the left and %lld to the right; -1 is the least",
                              (long long)a->left_window_size, (long long)a->right_window_size);
    if (a->softmax_precision != OP_INT_ABSENT && (a->softmax_precision < 0 || a->softmax_precision >= DT_COUNT ||
                                                  !sdx_dtype_in((DType)a->softmax_precision, TS_FLTB)))
        return sdx_infer_fail(c, "softmax_precision is %lld, which is no float type", (long long)a->softmax_precision);
    if (infer_has(c, IN_PAST_K) != infer_has(c, IN_PAST_V))
        return sdx_infer_fail(c, "past_key and past_value go together");
    if (infer_has(c, IN_PAST_K) && infer_has(c, IN_NONPAD))
        return sdx_infer_fail(c, "nonpad_kv_seqlen cannot go with past_key");
    return SDX_OK;
}

/* Sizes of one of Q, K, V: batch, heads, rows, size. */
static sdx_status operand(const Infer *c, int i, int64_t heads, Dim d[4])
{
    static const char *const names[3] = { "Q", "K", "V" };
    const Shape *s = infer_shape(c, i), *q = infer_shape(c, IN_Q);
    for (int k = 0; k < 4; k++) d[k] = SDX_DIM_UNKNOWN;
    TRY(infer_rank_between(c, i, 3, 4, names[i]));
    if (!s) return SDX_OK;
    if (q && q->rank != s->rank)
        return sdx_infer_fail(c, "%s has rank %d and Q %d", names[i], (int)s->rank, (int)q->rank);
    if (s->rank == 4) {
        memcpy(d, s->dims, 4 * sizeof *d);
        if (heads != OP_INT_ABSENT && dim_differs(d[1], heads))
            return sdx_infer_fail(c, "%s has %lld heads, the attribute says %lld", names[i], (long long)d[1],
                                  (long long)heads);
        return SDX_OK;
    }
    if (heads < 1)
        return sdx_infer_fail(c, "%s has rank 3 and needs a positive %s", names[i],
                              i == IN_Q ? "q_num_heads" : "kv_num_heads");
    d[0] = s->dims[0];
    d[1] = heads;
    d[2] = s->dims[1];
    return sdx_infer_head_size(c, names[i], s->dims[2], heads, &d[3]);
}

/* The mask fits [batch, heads, rows, keys] from the right; it may have fewer keys. */
static sdx_status mask_check(const Infer *c, const Dim want[4])
{
    const Shape *s = infer_shape(c, IN_MASK);
    TRY(infer_rank_between(c, IN_MASK, 1, 4, "attn_mask"));
    for (int k = 0; s && k < s->rank; k++) {
        int at = k + 4 - s->rank;
        bool fits = !dim_differs(s->dims[k], want[at]) || (at < 3 && s->dims[k] == 1) ||
                    (at == 3 && s->dims[k] < want[at]);
        if (!fits)
            return sdx_infer_fail(c, "attn_mask has size %lld along axis %d; it is to fit %lld", (long long)s->dims[k],
                                  k, (long long)want[at]);
    }
    return SDX_OK;
}

static sdx_status attention_infer(Infer *c)
{
    const AttentionAttrs *a = c->args;
    Dim q[4], k[4], v[4];
    TRY(attrs_check(c));
    TRY(operand(c, IN_Q, a->q_num_heads, q));
    TRY(operand(c, IN_K, a->kv_num_heads, k));
    TRY(operand(c, IN_V, a->kv_num_heads, v));
    if (dim_differs(q[0], k[0]) || dim_differs(q[0], v[0]) || dim_differs(k[1], v[1]) || dim_differs(k[2], v[2]) ||
        dim_differs(q[3], k[3]))
        return sdx_infer_fail(
            c, "Q [%lld,%lld,%lld,%lld], K [%lld,%lld,%lld,%lld] and V [%lld,%lld,%lld,%lld] do not fit",
            (long long)q[0], (long long)q[1], (long long)q[2], (long long)q[3], (long long)k[0], (long long)k[1],
            (long long)k[2], (long long)k[3], (long long)v[0], (long long)v[1], (long long)v[2], (long long)v[3]);
    Dim batch = dim_prefer(dim_prefer(q[0], k[0]), v[0]), kv_heads = dim_prefer(k[1], v[1]);
    Dim fresh = dim_prefer(k[2], v[2]), size = dim_prefer(q[3], k[3]), past = 0;
    if (sdx_dim_is_const(q[1]) && sdx_dim_is_const(kv_heads) && (kv_heads ? q[1] % kv_heads : q[1]))
        return sdx_infer_fail(c, "%lld query heads are no multiple of %lld key heads", (long long)q[1],
                              (long long)kv_heads);
    if (infer_has(c, IN_PAST_K)) {
        const Shape *pk = infer_shape(c, IN_PAST_K), *pv = infer_shape(c, IN_PAST_V);
        past = pk && pk->rank == 4 ? pk->dims[2] : pv && pv->rank == 4 ? pv->dims[2] : SDX_DIM_UNKNOWN;
        TRY(sdx_infer_shape_is(c, IN_PAST_K, "past_key", 4, (Dim[]){ batch, kv_heads, past, size }));
        TRY(sdx_infer_shape_is(c, IN_PAST_V, "past_value", 4, (Dim[]){ batch, kv_heads, past, v[3] }));
    }
    TRY(infer_is_vector(c, IN_NONPAD, batch, "nonpad_kv_seqlen"));
    Dim keys = sdx_infer_add(c, past, fresh);
    TRY(mask_check(c, (Dim[]){ batch, q[1], q[2], keys }));

    const Shape *sq = infer_shape(c, IN_Q);
    if (sq && sq->rank == 3) {
        Dim *y = infer_out_rank(c, OUT_Y, 3);
        y[0] = batch, y[1] = q[2], y[2] = infer_mul(c, q[1], v[3]);
    } else if (sq) {
        Dim *y = infer_out_rank(c, OUT_Y, 4);
        y[0] = batch, y[1] = q[1], y[2] = q[2], y[3] = v[3];
    }
    for (int o = OUT_K; o <= OUT_QK; o++) {
        Dim *y = infer_out_rank(c, o, 4);
        y[0] = batch, y[1] = o == OUT_QK ? q[1] : kv_heads, y[2] = o == OUT_QK ? q[2] : keys;
        y[3] = o == OUT_QK ? keys : o == OUT_K ? size : v[3];
    }
    return SDX_OK;
}

/* -- plan ---------------------------------------------------------------------------------------------------------- */

typedef struct AttentionState {
    Attend s;
    bool flat; /* rank 3 */
    int64_t past, fresh;
    int64_t v_count; /* elements of all values, past ones too */
    size_t at_k, at_v, at_v_cast, at_mask, at_offset;
} AttentionState;

static int rounding(DType d)
{
    return d == DT_FLOAT16    ? ATTN_ROUND_F16
           : d == DT_BFLOAT16 ? ATTN_ROUND_BF16
           : d == DT_FLOAT    ? ATTN_ROUND_F32
                              : ATTN_ROUND_F64;
}

static bool wants(const Prepare *p, int o) { return o < p->n_out && p->out[o]; }

static sdx_status attention_prepare(Prepare *p)
{
    const AttentionAttrs *a = p->args;
    const Tensor *q = &p->in[IN_Q]->t, *k = &p->in[IN_K]->t, *v = &p->in[IN_V]->t;
    AttentionState *st = sdx_arena_new(p->arena, AttentionState);
    TRY_MEM(st, p->err);
    p->state = st;
    Attn *at = &st->s.a;
    st->flat = q->rank == 3;
    st->s.dtype = q->dtype;
    at->batches = q->dims[0];
    at->heads = st->flat ? a->q_num_heads : q->dims[1];
    at->kv_heads = st->flat ? a->kv_num_heads : k->dims[1];
    at->rows = q->dims[st->flat ? 1 : 2];
    at->size = st->flat ? q->dims[2] / at->heads : q->dims[3];
    at->v_size = st->flat ? v->dims[2] / at->kv_heads : v->dims[3];
    st->past = DATUM_HAS(p, IN_PAST_K) ? p->in[IN_PAST_K]->t.dims[2] : 0;
    st->fresh = k->dims[st->flat ? 1 : 2];
    int64_t k_count;
    if (!sdx_add_i64(&at->keys, st->past, st->fresh) ||
        !sdx_shape_count((int64_t[]){ at->batches, at->kv_heads, at->keys, at->size }, 4, &k_count) ||
        !sdx_shape_count((int64_t[]){ at->batches, at->kv_heads, at->keys, at->v_size }, 4, &st->v_count))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "past and new keys are too many");
    at->scale = a->scale == a->scale ? (double)a->scale : at->size ? 1 / sqrt((double)at->size) : 1;
    at->softcap = a->softcap > 0 ? (double)a->softcap : 0;
    at->causal = a->is_causal != 0;
    at->left = a->left_window_size;
    at->right = a->right_window_size;
    at->qk_what = (int)a->qk_matmul_output_mode;
    at->qk_hidden = -INFINITY;

    DType outer = p->node->in[IN_Q]->type.elem;
    bool narrow = outer == DT_FLOAT16 || outer == DT_BFLOAT16;
    if (narrow) at->round = at->round_p = rounding(outer);
    DType soft = a->softmax_precision == OP_INT_ABSENT ? (narrow ? outer : q->dtype) : (DType)a->softmax_precision;
    at->soft = soft == q->dtype ? ATTN_NO_ROUND : rounding(soft);

    bool past = DATUM_HAS(p, IN_PAST_K);
    size_t esize = sdx_dtype_size(q->dtype);
    if (past && !wants(p, OUT_K)) TRY(sdx_scratch_add(p, k_count, esize, &st->at_k));
    if (past && !wants(p, OUT_V)) TRY(sdx_scratch_add(p, st->v_count, sdx_dtype_size(v->dtype), &st->at_v));
    if (v->dtype != q->dtype) TRY(sdx_scratch_add(p, st->v_count, esize, &st->at_v_cast));
    if (DATUM_HAS(p, IN_MASK)) TRY(sdx_scratch_add(p, sdx_tensor_count(&p->in[IN_MASK]->t), esize, &st->at_mask));
    TRY(sdx_scratch_add(p, at->batches, 2 * sizeof(int64_t), &st->at_offset));
    return sdx_attend_plan(p, &st->s);
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

static void *in_scratch(const Run *r, size_t at) { return (char *)r->scratch + at; }

/* t's elements in type d, in scratch unless they are so already. */
static const void *cast_to(const Run *r, const Tensor *t, int64_t n, DType d, size_t at)
{
    if (t->dtype == d) return t->data;
    Tensor to = { .dtype = d, .rank = 1, .dims = { n }, .data = in_scratch(r, at) };
    for (int64_t i = 0; i < n; i++) sdx_tensor_set_double(&to, i, sdx_tensor_get_double(t, i));
    return to.data;
}

/* Keys or values: past before new ones where there is a past or somebody asks for both; else what came in. */
static sdx_status gather_kv(Run *r, const AttentionState *st, int in, int in_past, int o, size_t at, int64_t size,
                            Tensor *all, bool *flat)
{
    const Attn *a = &st->s.a;
    bool past = DATUM_HAS(r, in_past), asked = o < r->n_out && r->out[o];
    *all = r->in[in]->t;
    *flat = st->flat;
    if (!past && !asked) return SDX_OK;
    KvAppend k = { .before = past ? r->in[in_past]->t.data : NULL,
                   .m = attn_mat(all->data, st->flat, a->kv_heads, st->fresh, size),
                   .batches = a->batches,
                   .heads = a->kv_heads,
                   .capacity = a->keys,
                   .before_rows = st->past,
                   .past = st->past,
                   .fresh = st->fresh,
                   .size = size,
                   .esize = sdx_dtype_size(all->dtype) };
    int64_t dims[4] = { a->batches, a->kv_heads, a->keys, size };
    if (asked)
        TRY(sdx_run_output(r, o, all->dtype, 4, dims, &k.dst));
    else
        k.dst = in_scratch(r, at);
    sdx_kv_append(r, &k);
    all->data = k.dst;
    *flat = false;
    return SDX_OK;
}

/* Places of the queries among the keys, and how many keys there are. */
static sdx_status set_lengths(Run *r, const AttentionState *st, Attn *a)
{
    int64_t *offset = in_scratch(r, st->at_offset), *valid = offset + a->batches;
    const int64_t *nonpad = DATUM_HAS(r, IN_NONPAD) ? r->in[IN_NONPAD]->t.data : NULL;
    for (int64_t b = 0; b < a->batches; b++) {
        if (nonpad && (nonpad[b] < 0 || nonpad[b] > a->keys))
            return sdx_run_fail(r, "nonpad_kv_seqlen[%lld] is %lld; it must lie in [0, %lld]", (long long)b,
                                (long long)nonpad[b], (long long)a->keys);
        offset[b] = nonpad ? nonpad[b] - a->rows : st->past;
        valid[b] = nonpad ? nonpad[b] : a->keys;
    }
    a->offset = offset;
    a->valid = valid;
    return SDX_OK;
}

static AttnBias mask_bias(const Run *r, const AttentionState *st)
{
    const Tensor *t = &r->in[IN_MASK]->t;
    int64_t d[4] = { 1, 1, 1, 1 };
    for (int k = 0; k < t->rank; k++) d[k + 4 - t->rank] = t->dims[k];
    AttnBias m = { .is_bool = t->dtype == DT_BOOL, .col = 1, .keys = d[3] };
    m.p = m.is_bool ? t->data : cast_to(r, t, sdx_tensor_count(t), st->s.dtype, st->at_mask);
    if (!m.p) m.p = ""; /* a mask of no keys hides all */
    m.row = d[2] == 1 ? 0 : d[3];
    m.head = d[1] == 1 ? 0 : d[2] * d[3];
    m.batch = d[0] == 1 ? 0 : d[1] * d[2] * d[3];
    return m;
}

static sdx_status attention_run(Run *r)
{
    const AttentionState *st = r->state;
    Attn a = st->s.a;
    DType d = st->s.dtype;
    int64_t flat_y[3] = { a.batches, a.rows, a.heads * a.v_size }, y_dims[4] = { a.batches, a.heads, a.rows, a.v_size };
    void *y = NULL;
    if (r->out[OUT_Y])
        TRY(sdx_run_output(r, OUT_Y, d, st->flat ? 3 : 4, st->flat ? flat_y : y_dims, &y));
    else
        a.v_size = 0; /* nobody asks: scores and caches alone */
    if (OUT_QK < r->n_out && r->out[OUT_QK])
        TRY(sdx_run_output(r, OUT_QK, d, 4, (int64_t[]){ a.batches, a.heads, a.rows, a.keys }, &a.qk));
    Tensor k, v;
    bool flat_k, flat_v;
    TRY(gather_kv(r, st, IN_K, IN_PAST_K, OUT_K, st->at_k, a.size, &k, &flat_k));
    TRY(gather_kv(r, st, IN_V, IN_PAST_V, OUT_V, st->at_v, st->s.a.v_size, &v, &flat_v));
    TRY(set_lengths(r, st, &a));
    if (DATUM_HAS(r, IN_MASK)) a.bias[0] = mask_bias(r, st);
    a.q = attn_mat(r->in[IN_Q]->t.data, st->flat, a.heads, a.rows, a.size);
    a.k = attn_mat(k.data, flat_k, a.kv_heads, a.keys, a.size);
    const void *values = cast_to(r, &v, st->v_count, d, st->at_v_cast);
    a.v = attn_mat(values, flat_v, a.kv_heads, a.keys, st->s.a.v_size);
    a.y = attn_mat(y, st->flat, a.heads, a.rows, a.v_size);
    sdx_attend_run(r, &st->s, &a);
    return SDX_OK;
}

#define VER_ATTENTION(n)                                                                                               \
    {                                                                                                                  \
        n, { TS_FLTB, TS_FLTB, TS_INT | TS_FLTB | TS_BOOL }                                                            \
    }
static const OpVer attention_vers[] = { VER_ATTENTION(25), VER_ATTENTION(24), VER_ATTENTION(23), { 0 } };

const OpDef sdx_op_Attention = {
    .name = "Attention",
    .sig = "T,T,U,V?,T?,U?,i64?->T,T?,U?,T?",
    .attrs = attention_attrs,
    .attrs_size = sizeof(AttentionAttrs),
    .vers = attention_vers,
    .flags = OP_F32_MATH,
    .infer = attention_infer,
    .cpu = { attention_prepare, attention_run },
};
