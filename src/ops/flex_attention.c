/* ops/flex_attention.c - FlexAttention of ai.onnx.preview
 *
 * Y = prob_mod(softmax(score_mod(scale * Q K^T))) V, where the two are nested graphs over all scores and probabilities,
 * [batch, heads, rows, keys], in the type that softmax_precision names; float if it is absent, double for double.
 *
 * 16-bit operands and scores are rounded after each step as the reference rounds them; probabilities and their product
 * with V are not. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/dims.h"

typedef struct FlexAttrs {
    Graph *prob_mod, *score_mod;
    float scale;
    int64_t softmax_precision;
} FlexAttrs;

static const AttrSpec flex_attrs[] = { OP_ATTR(FlexAttrs, prob_mod, ATTR_GRAPH),
                                       OP_FLOAT(FlexAttrs, scale, NAN), /* absent */
                                       OP_ATTR(FlexAttrs, score_mod, ATTR_GRAPH),
                                       OP_INT(FlexAttrs, softmax_precision, OP_INT_ABSENT), OP_ATTR_END };

static DType precision_of(const FlexAttrs *a, DType outer)
{
    if (a->softmax_precision != OP_INT_ABSENT) return (DType)a->softmax_precision;
    return outer == DT_DOUBLE ? DT_DOUBLE : DT_FLOAT;
}

static sdx_status mod_infer(const Infer *c, Graph *mod, const char *what, const Type *scores)
{
    Type out;
    if (!mod) return SDX_OK;
    if (mod->n_inputs != 1 || mod->n_outputs != 1)
        return sdx_infer_fail(c, "%s takes %d inputs and gives %d outputs; it must take and give one", what,
                              mod->n_inputs, mod->n_outputs);
    TRY(sdx_infer_graph(c, mod, (const Type *const[]){ scores }, 1, &out, 1));
    if (out.elem != DT_NONE && out.elem != scores->elem)
        return sdx_infer_fail(c, "%s gives %s; it must give %s", what, sdx_dtype_name(out.elem),
                              sdx_dtype_name(scores->elem));
    return SDX_OK;
}

static sdx_status flex_infer(Infer *c)
{
    const FlexAttrs *a = c->args;
    static const char *const names[3] = { "Q", "K", "V" };
    if (a->softmax_precision != OP_INT_ABSENT && (a->softmax_precision < 0 || a->softmax_precision >= DT_COUNT ||
                                                  !sdx_dtype_in((DType)a->softmax_precision, TS_FLTB)))
        return sdx_infer_fail(c, "softmax_precision is %lld, which is no float type", (long long)a->softmax_precision);
    for (int i = 0; i < 3; i++) TRY(infer_rank_between(c, i, 4, 4, names[i]));
    const Shape *q = infer_shape(c, 0), *k = infer_shape(c, 1), *v = infer_shape(c, 2);
    Type scores = { .kind = TYPE_TENSOR, .elem = precision_of(a, c->in[0]->elem), .shape.rank = 4 };
    Dim *s = scores.shape.dims, *y = infer_out_rank(c, 0, 4);
    for (int n = 0; n < 4; n++) s[n] = SDX_DIM_UNKNOWN;
    if (q && k && v) {
        TRY(sdx_infer_shape_is(c, 1, "K", 4, (Dim[]){ q->dims[0], SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN, q->dims[3] }));
        TRY(sdx_infer_shape_is(c, 2, "V", 4, (Dim[]){ q->dims[0], k->dims[1], k->dims[2], SDX_DIM_UNKNOWN }));
        Dim hq = q->dims[1], hk = k->dims[1];
        if (sdx_dim_is_const(hq) && sdx_dim_is_const(hk) && (hk ? hq % hk : hq))
            return sdx_infer_fail(c, "%lld query heads are no multiple of %lld key heads", (long long)hq,
                                  (long long)hk);
        memcpy(s, q->dims, 3 * sizeof *s);
        s[3] = k->dims[2];
        memcpy(y, q->dims, 3 * sizeof *y);
        y[3] = v->dims[3];
    }
    TRY(mod_infer(c, a->score_mod, "score_mod", &scores));
    return mod_infer(c, a->prob_mod, "prob_mod", &scores);
}

typedef struct FlexState {
    Attend s, scores; /* the whole; without values */
    DType precision;
} FlexState;

static int rounding(DType d) { return d == DT_FLOAT16 ? ATTN_ROUND_F16 : d == DT_BFLOAT16 ? ATTN_ROUND_BF16 : 0; }

static sdx_status flex_prepare(Prepare *p)
{
    const FlexAttrs *a = p->args;
    const Tensor *q = &p->in[0]->t, *k = &p->in[1]->t, *v = &p->in[2]->t;
    FlexState *st = sdx_arena_new(p->arena, FlexState);
    TRY_MEM(st, p->err);
    p->state = st;
    DType outer = p->node->in[0]->type.elem;
    st->precision = precision_of(a, outer);
    st->s.dtype = q->dtype;
    Attn *at = &st->s.a;
    *at = (Attn){ .batches = q->dims[0],
                  .heads = q->dims[1],
                  .kv_heads = k->dims[1],
                  .rows = q->dims[2],
                  .keys = k->dims[2],
                  .size = q->dims[3],
                  .v_size = v->dims[3],
                  .left = -1,
                  .right = -1,
                  .round = rounding(outer),
                  .round_p = rounding(st->precision) };
    at->scale = a->scale == a->scale ? (double)a->scale : at->size ? 1 / sqrt((double)at->size) : 1;
    at->soft = rounding(st->precision);
    if (!at->soft && st->precision != q->dtype) at->soft = st->precision == DT_FLOAT ? ATTN_ROUND_F32 : ATTN_ROUND_F64;
    int64_t n;
    if (!sdx_shape_count((int64_t[]){ at->batches, at->heads, at->rows, at->keys }, 4, &n))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "the scores do not fit the address space");
    st->scores = st->s;
    st->scores.a.v_size = 0;
    TRY(sdx_attend_plan(p, &st->s));
    return sdx_attend_plan(p, &st->scores);
}

/* A tensor of x's shape and of type d with x's elements; x goes. */
static sdx_status recast(Run *r, Datum *x, DType d)
{
    Datum y;
    if (x->t.dtype == d) return SDX_OK;
    TRY(sdx_datum_tensor(&y, sdx_run_alloc(r), d, x->t.rank, x->t.dims, r->err));
    int64_t n = sdx_tensor_count(&x->t);
    for (int64_t i = 0; i < n; i++) sdx_tensor_set_double(&y.t, i, sdx_tensor_get_double(&x->t, i));
    sdx_datum_clear(x);
    *x = y;
    return SDX_OK;
}

/* x becomes what the graph makes of it. */
static sdx_status modify(Run *r, const FlexState *st, Graph *mod, const char *what, Datum *x)
{
    Datum out = { .kind = DATUM_NONE };
    if (!mod) return SDX_OK;
    TRY(recast(r, x, st->precision));
    const Datum *in = x;
    TRY(sdx_run_graph(r, mod, &in, 1, &out, 1));
    sdx_status status = SDX_OK;
    if (out.kind != DATUM_TENSOR || out.t.dtype != x->t.dtype ||
        !sdx_dims_equal(out.t.dims, out.t.rank, x->t.dims, x->t.rank))
        status = sdx_run_fail(r, "%s does not keep the shape and type of what it is given", what);
    Datum own = { .kind = DATUM_NONE };
    if (status == SDX_OK) status = sdx_datum_share(&own, &out, sdx_run_alloc(r), r->err); /* it may give back x */
    sdx_datum_clear(&out);
    if (status != SDX_OK) return status;
    sdx_datum_clear(x);
    *x = own;
    return recast(r, x, st->s.dtype);
}

/* Scores, or with from the probabilities of these scores, into x. */
static void scores_to(Run *r, const FlexState *st, const Attn *a, const void *from, int what, Datum *x)
{
    Attn one = *a;
    one.v_size = 0;
    one.scores = from;
    one.qk = x->t.data;
    one.qk_what = what;
    sdx_attend_run(r, &st->scores, &one);
}

static sdx_status with_mods(Run *r, const FlexState *st, Attn *a, Datum *x)
{
    const FlexAttrs *attrs = r->args;
    scores_to(r, st, a, NULL, ATTN_QK_RAW, x);
    TRY(modify(r, st, attrs->score_mod, "score_mod", x));
    a->round = ATTN_NO_ROUND;
    a->scores = x->t.data;
    if (attrs->prob_mod) {
        Datum probs;
        TRY(sdx_datum_tensor(&probs, sdx_run_alloc(r), st->s.dtype, 4, x->t.dims, r->err));
        scores_to(r, st, a, x->t.data, ATTN_QK_SOFTMAX, &probs);
        sdx_datum_clear(x);
        *x = probs;
        TRY(modify(r, st, attrs->prob_mod, "prob_mod", x));
        a->is_softmax = true;
        a->scores = x->t.data;
    }
    sdx_attend_run(r, &st->s, a);
    return SDX_OK;
}

static sdx_status flex_run(Run *r)
{
    const FlexState *st = r->state;
    const FlexAttrs *attrs = r->args;
    Attn a = st->s.a;
    void *y;
    TRY(sdx_run_output(r, 0, st->s.dtype, 4, (int64_t[]){ a.batches, a.heads, a.rows, a.v_size }, &y));
    a.q = attn_mat(r->in[0]->t.data, false, a.heads, a.rows, a.size);
    a.k = attn_mat(r->in[1]->t.data, false, a.kv_heads, a.keys, a.size);
    a.v = attn_mat(r->in[2]->t.data, false, a.kv_heads, a.keys, a.v_size);
    a.y = attn_mat(y, false, a.heads, a.rows, a.v_size);
    if (!attrs->score_mod && !attrs->prob_mod) {
        sdx_attend_run(r, &st->s, &a);
        return SDX_OK;
    }
    Datum x;
    int64_t dims[4] = { a.batches, a.heads, a.rows, a.keys };
    TRY(sdx_datum_tensor(&x, sdx_run_alloc(r), st->s.dtype, 4, dims, r->err));
    sdx_status status = with_mods(r, st, &a, &x);
    sdx_datum_clear(&x);
    return status;
}

static const OpVer flex_vers[] = { { 1, { TS_FLTB } }, { 0 } };

const OpDef sdx_op_preview_FlexAttention = {
    .name = "FlexAttention",
    .domain = "ai.onnx.preview",
    .sig = "T,T,T->T",
    .attrs = flex_attrs,
    .attrs_size = sizeof(FlexAttrs),
    .vers = flex_vers,
    .flags = OP_F32_MATH | OP_CONTROL,
    .infer = flex_infer,
    .cpu = { flex_prepare, flex_run },
};
