/* ops/attention_ms.c - com.microsoft: Attention, QAttention, MultiHeadAttention, and DecoderMasked of self and multi-head
 *
 * Attention over as many key heads as query heads, output [batch, rows, heads * size]. The operators differ in where
 * queries, keys and values come from:
 *   Attention    input [batch, rows, width] times weights [width, q + k + v] plus a bias
 *   QAttention   the same of 8-bit integers with scales and zero points, which are dequantised first
 *   MultiHead    separate [batch, rows, heads * size]; keys and values also [batch, heads, keys, size], ready to use; or
 *                packed in the query, [batch, rows, heads, 3, size], or in the key, [batch, keys, heads, 2, size]; the
 *                bias [q + k + v] is added unless they are ready
 *   DecoderMasked   as MultiHead with one row, past in buffers of a maximal length, and keys of other beams
 * A padding mask adds mask_filter_value to the scores of what it masks, it does not hide it; unidirectional does. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/dims.h"
#include "ops/product.h"
#include "ops/shapes.h"

/* Inputs and outputs by role; -1: there is none. */
typedef struct MsRoles {
    int q, k, v, bias, mask, add, past_k, past_v, past_length, beams, indirection;
    int weights, x_scale, w_scale, x_zero, w_zero; /* Attention, QAttention: q is the input, past_k the pair */
    bool one_row;                                  /* DecoderMasked */
} MsRoles;

static const MsRoles attention_roles = { .q = 0,
                                         .weights = 1,
                                         .bias = 2,
                                         .mask = 3,
                                         .past_k = 4,
                                         .add = 5,
                                         .past_length = 6,
                                         .k = -1,
                                         .v = -1,
                                         .past_v = -1,
                                         .beams = -1,
                                         .indirection = -1,
                                         .x_scale = -1,
                                         .w_scale = -1,
                                         .x_zero = -1,
                                         .w_zero = -1 };
static const MsRoles self_roles = { .q = 0,
                                    .weights = 1,
                                    .bias = 2,
                                    .mask = 3,
                                    .past_k = 4,
                                    .add = 5,
                                    .past_length = 6,
                                    .beams = 7,
                                    .indirection = 8,
                                    .k = -1,
                                    .v = -1,
                                    .past_v = -1,
                                    .x_scale = -1,
                                    .w_scale = -1,
                                    .x_zero = -1,
                                    .w_zero = -1,
                                    .one_row = true };
static const MsRoles quantized_roles = { .q = 0,
                                         .weights = 1,
                                         .bias = 2,
                                         .x_scale = 3,
                                         .w_scale = 4,
                                         .mask = 5,
                                         .x_zero = 6,
                                         .w_zero = 7,
                                         .past_k = 8,
                                         .add = -1,
                                         .past_length = -1,
                                         .k = -1,
                                         .v = -1,
                                         .past_v = -1,
                                         .beams = -1,
                                         .indirection = -1 };
static const MsRoles multi_roles = { .q = 0,
                                     .k = 1,
                                     .v = 2,
                                     .bias = 3,
                                     .mask = 4,
                                     .add = 5,
                                     .past_k = 6,
                                     .past_v = 7,
                                     .past_length = 8,
                                     .indirection = 9,
                                     .beams = -1,
                                     .weights = -1,
                                     .x_scale = -1,
                                     .w_scale = -1,
                                     .x_zero = -1,
                                     .w_zero = -1 };
static const MsRoles decoder_roles = { .q = 0,
                                       .k = 1,
                                       .v = 2,
                                       .mask = 3,
                                       .add = 4,
                                       .past_k = 5,
                                       .past_v = 6,
                                       .past_length = 7,
                                       .beams = 8,
                                       .indirection = 9,
                                       .bias = 10,
                                       .weights = -1,
                                       .x_scale = -1,
                                       .w_scale = -1,
                                       .x_zero = -1,
                                       .w_zero = -1,
                                       .one_row = true };

typedef struct MsAttrs {
    int64_t num_heads, unidirectional, do_rotary, past_present_share_buffer, rotary_embedding_dim, output_qk;
    float mask_filter_value, scale;
    IntList qkv_hidden_sizes;
} MsAttrs;

/* -- sizes --------------------------------------------------------------------------------------------------------- */

enum { FORM_SEPARATE, FORM_READY, FORM_QKV, FORM_KV, FORM_WIDE, FORM_PROJECTED };

/* All that shapes tell. keys: rows of present outputs; more than past and fresh ones with a shared buffer. */
typedef struct MsSizes {
    int form;
    Dim batch, rows, fresh, past, keys, size, v_size;
    Dim width; /* of the projection: q + k + v */
} MsSizes;

static Dim input_dim(const Infer *c, int i, int axis)
{
    const Shape *s = i < 0 ? NULL : infer_shape(c, i);
    return s && axis < s->rank ? s->dims[axis] : SDX_DIM_UNKNOWN;
}

static bool has(const Infer *c, int i) { return i >= 0 && infer_has(c, i); }

static sdx_status projected_sizes(const Infer *c, const MsRoles *ro, MsSizes *z)
{
    const MsAttrs *a = c->args;
    TRY(infer_rank_between(c, ro->q, 3, 3, "the input"));
    TRY(infer_rank_between(c, ro->weights, 2, 2, "the weights"));
    z->form = FORM_PROJECTED;
    z->batch = input_dim(c, ro->q, 0);
    z->rows = z->fresh = input_dim(c, ro->q, 1);
    z->width = input_dim(c, ro->weights, 1);
    if (dim_differs(input_dim(c, ro->q, 2), input_dim(c, ro->weights, 0)))
        return sdx_infer_fail(c, "the input is %lld wide, the weights have %lld rows",
                              (long long)input_dim(c, ro->q, 2), (long long)input_dim(c, ro->weights, 0));
    TRY(infer_is_vector(c, ro->bias, z->width, "the bias"));
    const IntList *sizes = &a->qkv_hidden_sizes;
    if (!sizes->n) {
        TRY(sdx_infer_head_size(c, "the weights' matrix", z->width, 3, &z->size));
        TRY(sdx_infer_head_size(c, "a third of the weights", z->size, a->num_heads, &z->size));
        z->v_size = z->size;
        return SDX_OK;
    }
    int64_t sum;
    if (sizes->n != 3 || sizes->v[0] < 1 || sizes->v[0] != sizes->v[1] || sizes->v[2] < 1 ||
        !sdx_mul_i64(&sum, sizes->v[0], 2) || !sdx_add_i64(&sum, sum, sizes->v[2]) || dim_differs(z->width, sum))
        return sdx_infer_fail(c, "qkv_hidden_sizes has to hold three sizes, the first two alike, of weights %lld wide",
                              (long long)z->width);
    TRY(sdx_infer_head_size(c, "the query", sizes->v[0], a->num_heads, &z->size));
    return sdx_infer_head_size(c, "the value", sizes->v[2], a->num_heads, &z->v_size);
}

static sdx_status separate_sizes(const Infer *c, const MsRoles *ro, MsSizes *z)
{
    const MsAttrs *a = c->args;
    const Shape *q = infer_shape(c, ro->q), *k = infer_shape(c, ro->k), *v = infer_shape(c, ro->v);
    bool alone = !has(c, ro->k);
    z->batch = input_dim(c, ro->q, 0);
    z->rows = input_dim(c, ro->q, 1);
    if (alone && has(c, ro->v)) return sdx_infer_fail(c, "there is a value without a key");
    if (alone) {
        z->form = ro->one_row ? FORM_WIDE : FORM_QKV;
        z->fresh = z->rows;
        TRY(infer_rank_between(c, ro->q, ro->one_row ? 3 : 5, ro->one_row ? 3 : 5, "a query without a key"));
        if (!q) return SDX_OK;
        if (ro->one_row) {
            TRY(sdx_infer_head_size(c, "the packed query", q->dims[2], 3, &z->size));
            TRY(sdx_infer_head_size(c, "a third of the packed query", z->size, a->num_heads, &z->size));
        } else {
            z->size = q->dims[4];
            if (dim_differs(q->dims[2], a->num_heads) || dim_differs(q->dims[3], 3))
                return sdx_infer_fail(c, "a packed query has shape [batch, rows, num_heads, 3, size]");
        }
        z->v_size = z->size;
        return SDX_OK;
    }
    TRY(infer_rank_between(c, ro->q, 3, 3, "the query"));
    if (q) TRY(sdx_infer_head_size(c, "the query", q->dims[2], a->num_heads, &z->size));
    TRY(infer_rank_between(c, ro->k, 3, 5, "the key"));
    if (!k) return SDX_OK;
    if (k->rank == 5) {
        z->form = FORM_KV;
        if (has(c, ro->v)) return sdx_infer_fail(c, "there is a value besides packed keys and values");
        TRY(sdx_infer_shape_is(c, ro->k, "the key", 5, (Dim[]){ z->batch, SDX_DIM_UNKNOWN, a->num_heads, 2, z->size }));
        z->fresh = k->dims[1];
        z->size = z->v_size = dim_prefer(z->size, k->dims[4]);
        return SDX_OK;
    }
    if (!has(c, ro->v)) return sdx_infer_fail(c, "there is a key without a value");
    TRY(infer_rank_between(c, ro->v, k->rank, k->rank, "the value"));
    if (k->rank == 4) {
        z->form = FORM_READY;
        z->fresh = k->dims[2];
        TRY(sdx_infer_shape_is(c, ro->k, "the key", 4, (Dim[]){ z->batch, a->num_heads, z->fresh, z->size }));
        TRY(sdx_infer_shape_is(c, ro->v, "the value", 4, (Dim[]){ z->batch, a->num_heads, z->fresh, SDX_DIM_UNKNOWN }));
        z->size = dim_prefer(z->size, k->dims[3]);
        z->v_size = v ? v->dims[3] : SDX_DIM_UNKNOWN;
        return SDX_OK;
    }
    z->form = FORM_SEPARATE;
    z->fresh = k->dims[1];
    TRY(sdx_infer_shape_is(c, ro->k, "the key", 3, (Dim[]){ z->batch, z->fresh, q ? q->dims[2] : SDX_DIM_UNKNOWN }));
    TRY(sdx_infer_shape_is(c, ro->v, "the value", 3, (Dim[]){ z->batch, z->fresh, SDX_DIM_UNKNOWN }));
    return v ? sdx_infer_head_size(c, "the value", v->dims[2], a->num_heads, &z->v_size) : SDX_OK;
}

/* What came before, and what both make together. */
static sdx_status past_sizes(const Infer *c, const MsRoles *ro, MsSizes *z)
{
    const MsAttrs *a = c->args;
    bool pair = ro->past_v < 0, past = has(c, ro->past_k);
    if (!pair && past != has(c, ro->past_v)) return sdx_infer_fail(c, "past keys and values go together");
    if (past && z->form == FORM_READY) return sdx_infer_fail(c, "keys that are ready to use have no past");
    z->past = past ? input_dim(c, ro->past_k, pair ? 3 : 2) : 0;
    if (pair) {
        if (past && dim_differs(z->size, z->v_size))
            return sdx_infer_fail(c, "with a past, keys and values have the same size");
        TRY(sdx_infer_shape_is(c, ro->past_k, "past", 5, (Dim[]){ 2, z->batch, a->num_heads, z->past, z->size }));
    } else if (past) {
        TRY(sdx_infer_shape_is(c, ro->past_k, "past_key", 4, (Dim[]){ z->batch, a->num_heads, z->past, z->size }));
        TRY(sdx_infer_shape_is(c, ro->past_v, "past_value", 4, (Dim[]){ z->batch, a->num_heads, z->past, z->v_size }));
    }
    bool shared = past && has(c, ro->past_length);
    if (a->past_present_share_buffer && past && !shared)
        return sdx_infer_fail(c, "a shared buffer needs the length of the past");
    z->keys = shared ? z->past : sdx_infer_add(c, z->past, z->fresh);
    return SDX_OK;
}

static sdx_status ms_sizes(const Infer *c, const MsRoles *ro, MsSizes *z)
{
    const MsAttrs *a = c->args;
    *z = (MsSizes){ .form = FORM_SEPARATE,
                    .fresh = SDX_DIM_UNKNOWN,
                    .size = SDX_DIM_UNKNOWN,
                    .v_size = SDX_DIM_UNKNOWN,
                    .width = SDX_DIM_UNKNOWN };
    if (a->num_heads < 1 || a->num_heads > INT32_MAX)
        return sdx_infer_fail(c, "num_heads is %lld; it must be positive", (long long)a->num_heads);
    if (a->do_rotary) return sdx_infer_fail(c, "do_rotary is not supported");
    TRY(ro->weights >= 0 ? projected_sizes(c, ro, z) : separate_sizes(c, ro, z));
    if (ro->one_row && dim_differs(z->rows, 1))
        return sdx_infer_fail(c, "the query has %lld rows; it must have one", (long long)z->rows);
    if (ro->weights < 0 && has(c, ro->bias)) {
        Dim width = infer_mul(c, a->num_heads, sdx_infer_add(c, infer_mul(c, 2, z->size), z->v_size));
        TRY(infer_is_vector(c, ro->bias, width, "the bias"));
    }
    return past_sizes(c, ro, z);
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status mask_check(const Infer *c, const MsRoles *ro, const MsSizes *z)
{
    const Shape *m = ro->mask < 0 ? NULL : infer_shape(c, ro->mask);
    if (!m) return SDX_OK;
    if (m->rank == 1 && sdx_dim_is_const(m->dims[0]) && sdx_dim_is_const(z->batch) && m->dims[0] != z->batch &&
        (ro->weights < 0 || m->dims[0] != 2 * z->batch))
        return sdx_infer_fail(c, "a mask of %lld lengths does not go with %lld rows of the batch",
                              (long long)m->dims[0], (long long)z->batch);
    if (m->rank < 1 || m->rank > 4) return sdx_infer_fail(c, "the mask has rank %d", (int)m->rank);
    if (m->rank == 4 &&
        (dim_differs(m->dims[0], z->batch) || dim_differs(m->dims[1], 1) || dim_differs(m->dims[2], m->dims[3]) ||
         (sdx_dim_is_const(m->dims[3]) && sdx_dim_is_const(z->keys) && m->dims[3] < z->keys)))
        return sdx_infer_fail(c, "a mask of rank 4 has shape [batch, 1, most keys, most keys]");
    bool shared = has(c, ro->past_length) && has(c, ro->past_k); /* then there are fewer keys than room for them */
    Dim keys = shared ? SDX_DIM_UNKNOWN : z->keys;
    if (m->rank == 2) return sdx_infer_shape_is(c, ro->mask, "the mask", 2, (Dim[]){ z->batch, keys });
    if (m->rank == 3) return sdx_infer_shape_is(c, ro->mask, "the mask", 3, (Dim[]){ z->batch, z->rows, keys });
    return SDX_OK;
}

static sdx_status add_check(const Infer *c, const MsRoles *ro, const MsSizes *z)
{
    const MsAttrs *a = c->args;
    const Shape *s = ro->add < 0 ? NULL : infer_shape(c, ro->add);
    if (!s) return SDX_OK;
    bool shared = has(c, ro->past_length) && has(c, ro->past_k);
    if (s->rank != 4 || (dim_differs(s->dims[0], z->batch) && s->dims[0] != 1) ||
        (dim_differs(s->dims[1], a->num_heads) && s->dims[1] != 1) || dim_differs(s->dims[2], z->rows) ||
        (!shared && dim_differs(s->dims[3], z->keys)))
        return sdx_infer_fail(c, "attention_bias has to have the shape [1 or batch, 1 or num_heads, rows, keys]");
    return SDX_OK;
}

static sdx_status ms_infer(Infer *c, const MsRoles *ro)
{
    const MsAttrs *a = c->args;
    MsSizes z;
    TRY(ms_sizes(c, ro, &z));
    TRY(mask_check(c, ro, &z));
    TRY(add_check(c, ro, &z));
    Dim *y = infer_out_rank(c, 0, 3);
    y[0] = z.batch, y[1] = z.rows, y[2] = infer_mul(c, a->num_heads, z.v_size);
    if (ro->past_v < 0) {
        Dim *p = infer_out_rank(c, 1, 5);
        p[0] = 2, p[1] = z.batch, p[2] = a->num_heads, p[3] = z.keys, p[4] = z.size;
        if (c->n_out > 1 && c->node->out[1] && dim_differs(z.size, z.v_size))
            return sdx_infer_fail(c, "keys and values of different sizes do not fit one present output");
        return SDX_OK;
    }
    for (int o = 1; o <= 3; o++) {
        Dim *p = infer_out_rank(c, o, 4);
        p[0] = z.batch, p[1] = a->num_heads, p[2] = o == 3 ? z.rows : z.keys;
        p[3] = o == 3   ? (has(c, ro->past_length) && has(c, ro->past_k) ? SDX_DIM_UNKNOWN : z.keys)
               : o == 1 ? z.size
                        : z.v_size;
    }
    if (c->n_out > 3) c->out[3].elem = c->in[ro->q]->elem;
    return SDX_OK;
}

/* -- plan ---------------------------------------------------------------------------------------------------------- */

typedef struct MsState {
    Attend s;
    const MsRoles *ro;
    MsSizes z;
    bool shared;         /* past and present are buffers of z.keys rows */
    bool keep_k, keep_v; /* keys, values are brought together with what came before */
    const Kern *kern;
    Product project;      /* FORM_PROJECTED */
    const float *weights; /* QAttention with constant weights: dequantised */
    size_t at_x, at_w, at_project, at_q, at_k, at_v, at_beam_k, at_beam_v, at_mask, at_offset;
} MsState;

static bool given(const Prepare *p, int i) { return i >= 0 && DATUM_HAS(p, i); }

static double weight_at(const Tensor *w, const Tensor *scale, const Tensor *zero, int64_t i, int64_t column)
{
    int64_t z = zero ? sdx_tensor_get_int(zero, sdx_tensor_count(zero) == 1 ? 0 : column) : 0;
    return (double)(sdx_tensor_get_int(w, i) - z) *
           sdx_tensor_get_double(scale, sdx_tensor_count(scale) == 1 ? 0 : column);
}

static void dequantize_weights(const Tensor *w, const Tensor *scale, const Tensor *zero, float *y)
{
    int64_t n = sdx_tensor_count(w), columns = w->dims[1];
    for (int64_t i = 0; i < n; i++) y[i] = (float)weight_at(w, scale, zero, i, i % columns);
}

/* Quantisation parameters of QAttention: one, or for weights one a column. */
static sdx_status quantized_check(Prepare *p, const MsRoles *ro, int64_t width)
{
    const int of[4] = { ro->x_scale, ro->x_zero, ro->w_scale, ro->w_zero };
    for (int i = 0; i < 4; i++) {
        int64_t n = given(p, of[i]) ? sdx_tensor_count(&p->in[of[i]]->t) : 1;
        if (n != 1 && (i < 2 || n != width))
            return sdx_prepare_fail(p, SDX_INVALID_MODEL, "input %d has %lld elements; it may have 1%s", of[i],
                                    (long long)n, i < 2 ? "" : ", or one for each column of the weights");
    }
    return SDX_OK;
}

static sdx_status project_prepare(Prepare *p, MsState *st)
{
    const MsRoles *ro = st->ro;
    const Tensor *x = &p->in[ro->q]->t, *w = &p->in[ro->weights]->t;
    int64_t m = st->z.batch * st->z.rows, k = x->dims[2], n = st->z.width, step, count;
    if (!sdx_shape_count((int64_t[]){ st->z.batch, st->z.rows, n }, 3, &count))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the projection does not fit the address space");
    TRY(sdx_scratch_add(p, count, sizeof(float), &st->at_project));
    Product *q = &st->project;
    q->plan = (GemmPlan){
        .m = (size_t)m, .n = (size_t)n, .k = (size_t)k, .lda = (size_t)k, .ldb = (size_t)n, .ldc = (size_t)n
    };
    bool packs = p->in_const[ro->weights] && w->data && k && n;
    if (ro->x_scale < 0) {
        if (packs) TRY(sdx_product_pack(p, q, ro->weights, 0, 1, k * n, &step));
        return sdx_product_plan(p, q);
    }
    TRY(quantized_check(p, ro, n));
    TRY(sdx_scratch_add(p, sdx_tensor_count(x), sizeof(float), &st->at_x));
    packs = packs && p->in_const[ro->w_scale] && (!given(p, ro->w_zero) || p->in_const[ro->w_zero]);
    if (!packs) {
        TRY(sdx_scratch_add(p, k * n, sizeof(float), &st->at_w));
        return sdx_product_plan(p, q);
    }
    /* The float weights live as long as the plan, and their packed form is made from them. */
    Datum *d = sdx_arena_new(p->arena, Datum);
    TRY_MEM(d, p->err);
    *d = (Datum){ .kind = DATUM_TENSOR, .t = *w };
    d->t.dtype = DT_FLOAT;
    d->t.data = sdx_arena_array(p->arena, float, k *n);
    TRY_MEM(d->t.data, p->err);
    dequantize_weights(w, &p->in[ro->w_scale]->t, given(p, ro->w_zero) ? &p->in[ro->w_zero]->t : NULL, d->t.data);
    st->weights = d->t.data;
    const Datum *in[2] = { NULL, d };
    Prepare inner = *p;
    inner.in = in;
    inner.n_in = 2;
    inner.in_const = (const bool[]){ false, true };
    inner.packs = NULL;
    TRY(sdx_product_pack(&inner, q, 1, 0, 1, k * n, &step));
    return sdx_product_plan(p, q);
}

static sdx_status ms_prepare(Prepare *p, const MsRoles *ro)
{
    const MsAttrs *a = p->args;
    MsState *st = sdx_arena_new(p->arena, MsState);
    Infer c;
    TRY_MEM(st, p->err);
    TRY(sdx_prepare_infer(p, &c));
    TRY(ms_sizes(&c, ro, &st->z));
    p->state = st;
    st->ro = ro;
    st->kern = p->kern;
    const MsSizes *z = &st->z;
    Attn *at = &st->s.a;
    *at = (Attn){ .batches = z->batch,
                  .heads = a->num_heads,
                  .kv_heads = a->num_heads,
                  .rows = z->rows,
                  .keys = z->keys,
                  .size = z->size,
                  .v_size = z->v_size,
                  .causal = a->unidirectional != 0,
                  .left = -1,
                  .right = -1,
                  .qk_what = ATTN_QK_BIASED,
                  .qk_hidden = -(double)FLT_MAX };
    at->scale = a->scale != 0 ? (double)a->scale : z->size ? 1 / sqrt((double)z->size) : 1;
    st->s.dtype = DT_FLOAT;
    int64_t n_q, n_k, n_v, n_mask;
    if (!sdx_shape_count((int64_t[]){ z->batch, a->num_heads, z->rows, z->size }, 4, &n_q) ||
        !sdx_shape_count((int64_t[]){ z->batch, a->num_heads, z->keys, z->size }, 4, &n_k) ||
        !sdx_shape_count((int64_t[]){ z->batch, a->num_heads, z->keys, z->v_size }, 4, &n_v) ||
        !sdx_shape_count((int64_t[]){ z->batch, z->rows, z->keys }, 3, &n_mask))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "queries and keys do not fit the address space");

    bool pair = ro->past_v < 0, past = given(p, ro->past_k), bias = ro->weights < 0 && given(p, ro->bias);
    bool out_k = p->n_out > 1 && p->out[1], out_v = pair ? out_k : p->n_out > 2 && p->out[2];
    bool beams = given(p, ro->indirection);
    st->shared = past && given(p, ro->past_length);
    st->keep_k = past || out_k || (bias && z->form != FORM_READY);
    st->keep_v = past || out_v || (bias && z->form != FORM_READY);
    if (beams && !st->shared)
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "cache_indirection goes with the length of the past");
    if (z->form == FORM_PROJECTED) TRY(project_prepare(p, st));
    if (bias) TRY(sdx_scratch_add(p, n_q, sizeof(float), &st->at_q));
    if (st->keep_k && !out_k) TRY(sdx_scratch_add(p, n_k, sizeof(float), &st->at_k));
    if (st->keep_v && !out_v) TRY(sdx_scratch_add(p, n_v, sizeof(float), &st->at_v));
    if (beams) TRY(sdx_scratch_add(p, n_k, sizeof(float), &st->at_beam_k));
    if (beams) TRY(sdx_scratch_add(p, n_v, sizeof(float), &st->at_beam_v));
    if (given(p, ro->mask)) {
        bool by_row = p->in[ro->mask]->t.rank > 2;
        TRY(sdx_scratch_add(p, by_row ? n_mask : z->batch * z->keys, sizeof(float), &st->at_mask));
    }
    TRY(sdx_scratch_add(p, z->batch, sizeof(int64_t), &st->at_offset));
    return sdx_attend_plan(p, &st->s);
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

static const Tensor *input(const Run *r, int i) { return i >= 0 && DATUM_HAS(r, i) ? &r->in[i]->t : NULL; }
static float *floats(const Run *r, size_t at) { return (float *)(void *)((char *)r->scratch + at); }
static AttnMat shifted(AttnMat m, int64_t by) { return m.p = (const float *)m.p + by, m; }

/* The input times the weights, for all tokens. */
static const float *project(const Run *r, const MsState *st)
{
    const MsRoles *ro = st->ro;
    const Tensor *x = input(r, ro->q), *w = input(r, ro->weights), *bias = input(r, ro->bias);
    const float *a = x->data, *b = w->data;
    if (ro->x_scale >= 0) {
        float *y = floats(r, st->at_x), scale = ((const float *)input(r, ro->x_scale)->data)[0];
        int64_t n = sdx_tensor_count(x), zero = input(r, ro->x_zero) ? sdx_tensor_get_int(input(r, ro->x_zero), 0) : 0;
        for (int64_t i = 0; i < n; i++) y[i] = (float)(sdx_tensor_get_int(x, i) - zero) * scale;
        a = y;
        b = st->weights;
        if (!b) {
            dequantize_weights(w, input(r, ro->w_scale), input(r, ro->w_zero), floats(r, st->at_w));
            b = floats(r, st->at_w);
        }
    }
    Epilogue epi = SDX_EPILOGUE_NONE;
    if (bias) epi.bias = bias->data;
    sdx_product_run(r, &st->project, a, b, floats(r, st->at_project), &epi);
    return floats(r, st->at_project);
}

/* Where queries and new keys and values lie before biases. */
static void find_operands(const Run *r, const MsState *st, Attn *a)
{
    const MsSizes *z = &st->z;
    const Tensor *q = input(r, st->ro->q), *k = input(r, st->ro->k), *v = input(r, st->ro->v);
    int64_t n = a->heads, h = z->size;
    if (z->form == FORM_PROJECTED) {
        const float *p = project(r, st);
        a->q = a->k = a->v = (AttnMat){ p, z->rows * z->width, h, z->width };
        a->v.head = z->v_size;
        a->k = shifted(a->k, n * h);
        a->v = shifted(a->v, 2 * n * h);
    } else if (z->form == FORM_QKV || z->form == FORM_WIDE) {
        int64_t head = z->form == FORM_QKV ? 3 * h : h, part = z->form == FORM_QKV ? h : n * h;
        a->q = (AttnMat){ q->data, z->rows * n * 3 * h, head, n * 3 * h };
        a->k = shifted(a->q, part);
        a->v = shifted(a->q, 2 * part);
    } else if (z->form == FORM_KV) {
        a->q = attn_mat(q->data, true, n, z->rows, h);
        a->k = (AttnMat){ k->data, z->fresh * n * 2 * h, 2 * h, n * 2 * h };
        a->v = shifted(a->k, h);
    } else {
        bool flat = z->form == FORM_SEPARATE;
        a->q = attn_mat(q->data, true, n, z->rows, h);
        a->k = attn_mat(k->data, flat, n, z->fresh, h);
        a->v = attn_mat(v->data, flat, n, z->fresh, z->v_size);
    }
}

/* Past and new rows, with a bias, to dst; *m becomes a view of them. */
static void keep(const Run *r, const MsState *st, AttnMat *m, int64_t size, int64_t past, const float *before,
                 const float *bias, float *dst)
{
    const MsSizes *z = &st->z;
    KvAppend k = { .dst = dst,
                   .before = before,
                   .m = *m,
                   .batches = z->batch,
                   .heads = st->s.a.heads,
                   .capacity = z->keys,
                   .before_rows = z->past,
                   .past = past,
                   .fresh = z->fresh,
                   .size = size,
                   .bias = bias,
                   .buffer = st->shared,
                   .esize = sizeof(float) };
    sdx_kv_append(r, &k);
    *m = attn_mat(dst, false, st->s.a.heads, z->keys, size);
}

/* Keys or values of each beam from the beams that they came from. */
static sdx_status follow_beams(const Run *r, const MsState *st, AttnMat *m, int64_t size, int64_t past, float *dst)
{
    const Tensor *from = input(r, st->ro->indirection);
    const MsSizes *z = &st->z;
    int64_t beams = from->rank == 3 ? from->dims[1] : 0, most = from->rank == 3 ? from->dims[2] : 0, n = st->s.a.heads;
    if (beams < 1 || most < past || from->dims[0] != z->batch / beams || z->batch % beams)
        return sdx_run_fail(r,
                            "cache_indirection has to have the shape [batch, beams, most keys] for %lld rows and %lld "
                            "keys",
                            (long long)z->batch, (long long)past);
    for (int64_t b = 0; b < z->batch; b++)
        for (int64_t j = 0; j < past + z->fresh; j++) {
            int64_t beam = j < past ? ((const int32_t *)from->data)[b * most + j] : b % beams;
            if (beam < 0 || beam >= beams)
                return sdx_run_fail(r, "cache_indirection holds beam %lld of %lld", (long long)beam, (long long)beams);
            for (int64_t h = 0; h < n && size; h++)
                memcpy(dst + ((b * n + h) * z->keys + j) * size,
                       (const float *)m->p + (((b / beams * beams + beam) * n + h) * z->keys + j) * size,
                       (size_t)size * sizeof *dst);
        }
    *m = attn_mat(dst, false, n, z->keys, size);
    return SDX_OK;
}

/* The padding mask as something to add. */
static sdx_status mask_bias(const Run *r, const MsState *st, int64_t past, const Attn *a, AttnBias *out)
{
    const Tensor *m = input(r, st->ro->mask);
    float filter = ((const MsAttrs *)r->args)->mask_filter_value, *y = floats(r, st->at_mask);
    const int32_t *x = m->data;
    int64_t batch = a->batches, rows = m->rank > 2 ? a->rows : 1, keys = a->keys, width = m->dims[m->rank - 1];
    if (m->rank > 1 && width < keys)
        return sdx_run_fail(r, "the mask is %lld wide; there are %lld keys", (long long)width, (long long)keys);
    for (int64_t b = 0; b < batch; b++)
        for (int64_t i = 0; i < rows; i++)
            for (int64_t j = 0; j < keys; j++) {
                bool seen;
                if (m->rank == 1)
                    seen = j < x[b] && (m->dims[0] == batch || j >= x[batch + b]);
                else if (m->rank == 2)
                    seen = x[b * width + j] > 0;
                else if (m->rank == 3)
                    seen = x[(b * rows + i) * width + j] > 0;
                else
                    seen = past + i < width && x[(b * width + past + i) * width + j] > 0;
                y[(b * rows + i) * keys + j] = seen ? 0 : filter;
            }
    *out = (AttnBias){ .p = y, .batch = rows * keys, .row = rows == 1 ? 0 : keys, .col = 1, .keys = keys };
    if (m->rank > 2) out->row = keys;
    return SDX_OK;
}

static sdx_status add_bias(const Run *r, const Tensor *t, const Attn *a, AttnBias *out)
{
    int64_t keys = t->dims[3], each = a->rows * keys;
    if (keys < a->keys)
        return sdx_run_fail(r, "attention_bias is %lld wide; there are %lld keys", (long long)keys, (long long)a->keys);
    *out = (AttnBias){ .p = t->data, .row = keys, .col = 1, .keys = a->keys };
    out->head = t->dims[1] == 1 ? 0 : each;
    out->batch = t->dims[0] == 1 ? 0 : t->dims[1] * each;
    return SDX_OK;
}

/* Present outputs, or scratch for what has to be kept together. */
static sdx_status outputs(Run *r, const MsState *st, float **k, float **v)
{
    const MsSizes *z = &st->z;
    int64_t n = st->s.a.heads, pair[5] = { 2, z->batch, n, z->keys, z->size };
    void *data;
    *k = floats(r, st->at_k);
    *v = floats(r, st->at_v);
    if (st->ro->past_v < 0) {
        if (r->n_out < 2 || !r->out[1]) return SDX_OK;
        TRY(sdx_run_output(r, 1, DT_FLOAT, 5, pair, &data));
        *k = data;
        *v = *k + z->batch * n * z->keys * z->size;
        return SDX_OK;
    }
    for (int o = 1; o <= 2; o++) {
        int64_t dims[4] = { z->batch, n, z->keys, o == 1 ? z->size : z->v_size };
        if (o >= r->n_out || !r->out[o]) continue;
        TRY(sdx_run_output(r, o, DT_FLOAT, 4, dims, &data));
        *(o == 1 ? k : v) = data;
    }
    return SDX_OK;
}

static sdx_status ms_run(Run *r)
{
    const MsState *st = r->state;
    const MsRoles *ro = st->ro;
    const MsSizes *z = &st->z;
    Attn a = st->s.a;
    int64_t past = z->past, n = a.heads, *offset = (int64_t *)(void *)((char *)r->scratch + st->at_offset);
    const float *bias = ro->weights < 0 && input(r, ro->bias) ? input(r, ro->bias)->data : NULL;
    float *k, *v;
    void *y = NULL;
    if (st->shared) {
        const Tensor *length = input(r, ro->past_length);
        past = sdx_tensor_count(length) == 1 ? sdx_tensor_get_int(length, 0) : -1;
        if (past < 0 || past > z->keys - z->fresh)
            return sdx_run_fail(r, "past_sequence_length is %lld; with %lld new keys it must lie in [0, %lld]",
                                (long long)past, (long long)z->fresh, (long long)(z->keys - z->fresh));
        a.keys = past + z->fresh;
    }
    if (r->out[0])
        TRY(sdx_run_output(r, 0, DT_FLOAT, 3, (int64_t[]){ z->batch, z->rows, n * z->v_size }, &y));
    else
        a.v_size = 0; /* nobody asks: scores and caches alone */
    TRY(outputs(r, st, &k, &v));
    if (ro->past_v >= 0 && r->n_out > 3 && r->out[3])
        TRY(sdx_run_output(r, 3, DT_FLOAT, 4, (int64_t[]){ z->batch, n, z->rows, a.keys }, &a.qk));
    find_operands(r, st, &a);

    const Tensor *before_k = input(r, ro->past_k), *before_v = input(r, ro->past_v);
    const float *pk = before_k ? before_k->data : NULL, *pv = before_v ? before_v->data : NULL;
    if (ro->past_v < 0 && pk) pv = pk + z->batch * n * z->past * z->size;
    bool add = bias && z->form != FORM_READY;
    if (bias) {
        KvAppend q = { .dst = floats(r, st->at_q),
                       .m = a.q,
                       .batches = z->batch,
                       .heads = n,
                       .capacity = z->rows,
                       .fresh = z->rows,
                       .size = z->size,
                       .bias = bias,
                       .esize = sizeof(float) };
        sdx_kv_append(r, &q);
        a.q = attn_mat(q.dst, false, n, z->rows, z->size);
    }
    if (st->keep_k) keep(r, st, &a.k, z->size, past, pk, add ? bias + n * z->size : NULL, k);
    if (st->keep_v) keep(r, st, &a.v, z->v_size, past, pv, add ? bias + 2 * n * z->size : NULL, v);
    if (input(r, ro->indirection)) {
        TRY(follow_beams(r, st, &a.k, z->size, past, floats(r, st->at_beam_k)));
        TRY(follow_beams(r, st, &a.v, z->v_size, past, floats(r, st->at_beam_v)));
    }
    for (int64_t b = 0; b < z->batch; b++) offset[b] = past;
    a.offset = offset;
    if (input(r, ro->mask)) TRY(mask_bias(r, st, past, &a, &a.bias[0]));
    if (ro->add >= 0 && input(r, ro->add)) TRY(add_bias(r, input(r, ro->add), &a, &a.bias[1]));
    a.y = attn_mat(y, true, n, z->rows, z->v_size);
    sdx_attend_run(r, &st->s, &a);
    return SDX_OK;
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

static const AttrSpec attention_attrs[] = {
    OP_INT_REQ(MsAttrs, num_heads),
    OP_INT(MsAttrs, do_rotary, 0),
    OP_FLOAT(MsAttrs, mask_filter_value, -10000),
    OP_INT(MsAttrs, past_present_share_buffer, 0),
    OP_INTS(MsAttrs, qkv_hidden_sizes),
    OP_INT(MsAttrs, rotary_embedding_dim, 0),
    OP_FLOAT(MsAttrs, scale, 0),
    OP_INT(MsAttrs, unidirectional, 0),
    OP_ATTR_END,
};
static const AttrSpec quantized_attrs[] = {
    OP_INT_REQ(MsAttrs, num_heads),
    OP_INT(MsAttrs, do_rotary, 0),
    OP_FLOAT(MsAttrs, mask_filter_value, -10000),
    OP_INT(MsAttrs, past_present_share_buffer, 0),
    OP_FLOAT(MsAttrs, scale, 0),
    OP_INT(MsAttrs, unidirectional, 0),
    OP_ATTR_END,
};
static const AttrSpec self_attrs[] = {
    OP_INT_REQ(MsAttrs, num_heads),
    OP_INT(MsAttrs, do_rotary, 0),
    OP_FLOAT(MsAttrs, mask_filter_value, -10000),
    OP_INT(MsAttrs, past_present_share_buffer, 0),
    OP_FLOAT(MsAttrs, scale, 0),
    OP_ATTR_END,
};
static const AttrSpec multi_attrs[] = {
    OP_INT_REQ(MsAttrs, num_heads),
    OP_FLOAT(MsAttrs, mask_filter_value, -10000),
    OP_FLOAT(MsAttrs, scale, 0),
    OP_INT(MsAttrs, unidirectional, 0),
    OP_ATTR_END,
};
static const AttrSpec decoder_attrs[] = {
    OP_INT_REQ(MsAttrs, num_heads), OP_FLOAT(MsAttrs, mask_filter_value, -10000),
    OP_INT(MsAttrs, output_qk, 0),  OP_INT(MsAttrs, past_present_share_buffer, 0),
    OP_FLOAT(MsAttrs, scale, 0),    OP_ATTR_END,
};

#define TS_F32_16 (TS_F32 | TS_F16 | TS_BF16)
static const OpVer float_vers[] = { { 1, { TS_F32_16, TS_F32_16 } }, { 0 } };
static const OpVer quantized_vers[] = { { 1, { TS_I8 | TS_U8, TS_I8 | TS_U8, TS_F32 | TS_F16 } }, { 0 } };

#define MS_OP(Name, prefix, signature, versions, weights)                                                              \
    static sdx_status prefix##_infer(Infer *c) { return ms_infer(c, &prefix##_roles); }                                \
    static sdx_status prefix##_prepare(Prepare *p) { return ms_prepare(p, &prefix##_roles); }                          \
    const OpDef sdx_op_ms_##Name = {                                                                                   \
        .name = #Name,                                                                                                 \
        .domain = "com.microsoft",                                                                                     \
        .sig = signature,                                                                                              \
        .attrs = prefix##_attrs,                                                                                       \
        .attrs_size = sizeof(MsAttrs),                                                                                 \
        .vers = versions,                                                                                              \
        .flags = OP_F32_MATH | OP_LAZY_PACK,                                                                           \
        .packed = weights,                                                                                             \
        .infer = prefix##_infer,                                                                                       \
        .cpu = { prefix##_prepare, ms_run },                                                                           \
    };
MS_OP(Attention, attention, "T,T,T?,i32?,T?,T?,i32?->T,T?", float_vers, 1u << 1)
MS_OP(DecoderMaskedSelfAttention, self, "T,T,T,i32?,T,T?,i32,i32?,i32?->T,T?", float_vers, 1u << 1)
MS_OP(QAttention, quantized, "T,U,V,V,V,i32?,T?,U?,V?->V,V?", quantized_vers, 0)
MS_OP(MultiHeadAttention, multi, "T,T?,T?,T?,i32?,T?,T?,T?,i32?,i32?->T,T?,T?,U?", float_vers, 0)
MS_OP(DecoderMaskedMultiHeadAttention, decoder, "T,T?,T?,i32?,T?,T?,T?,i32?,i32?,i32?,T?->T,T?,T?,U?", float_vers, 0)
