/* opt/attention_form.c - attention written out
 *
 *     s = MatMul(q, k')   p = Softmax(s, scaled by constants, plus masks)   y = MatMul(p, v)
 *         =>   y = Attention <scale> (q, k, v, mask)
 *
 * over [batch, heads, rows, size] or [batch, rows, size], k' being k with its last dims exchanged. Constant factors of q and k' are taken into
 * the scale too. A mask is what is added, or Where(seen, s, low), whose low is added where it is not seen; of two masks
 * their sum is taken. k' and v may be key heads repeated for several query heads, Reshape(Expand(Unsqueeze(k))), and the
 * probabilities may be guarded, Where(IsNaN(p), 0, p), as rows of which all is hidden give 0 anyway. A mask that may have
 * one key for all of them is expanded, since to Attention the others would be hidden. Skipped when scores or
 * probabilities have another reader.
 *
 *     y = Transpose <0,2,1,3> (Attention(q, k, v, mask)), and each of q, k, v = Transpose <0,2,1,3> (Reshape(x))
 *         =>   y = Reshape(Attention <q_num_heads, kv_num_heads> (xq, xk, xv, mask))
 *
 * where Reshape splits the last dim of x into heads: they are read where they lie. */
#include "opt/match.h"
#include "opt/target.h"

#include <math.h>

enum { MASKS = 2, DEPTH = 6 };

/* What lies between a product and its softmax. */
typedef struct Scores {
    const Node *product;
    double scale;
    bool scaled; /* seen from below: a mask further up would be scaled too */
    struct {
        Value *v; /* what is added, or what says where a key is seen */
        double low;
        bool is_seen;
    } mask[MASKS];
    int n_masks;
} Scores;

/* n when it multiplies or divides by a constant: that factor, and what is scaled. */
static bool factor_of(const Node *n, double *c, Value **x)
{
    int i;
    if (node_is(n, "Mul")) return sdx_split_scalar(n, c, x, &i);
    if (!node_is(n, "Div") || !sdx_split_scalar(n, c, x, &i) || i != 1 || *c == 0) return false;
    *c = 1 / *c;
    return true;
}

static bool scores_of(const Value *v, Scores *s, int depth)
{
    const Node *n = v->producer;
    Value *x;
    double c;
    if (!is_private(v) || !n || v->producer_index != 0 || depth == 0) return false;
    if (node_is(n, "MatMul")) {
        s->product = n;
        return true;
    }
    if (factor_of(n, &c, &x)) {
        s->scale *= c;
        s->scaled = true;
        return scores_of(x, s, depth - 1);
    }
    if (s->scaled || s->n_masks == MASKS) return false;
    int at = s->n_masks++;
    if (node_is(n, "Where") && sdx_const_scalar(n->in[2], &s->mask[at].low)) {
        s->mask[at].v = n->in[0];
        s->mask[at].is_seen = true;
        return scores_of(n->in[1], s, depth - 1);
    }
    for (int i = 0; i < 2 && node_is(n, "Add"); i++) {
        Scores t = *s;
        t.mask[at].v = n->in[1 - i];
        t.mask[at].is_seen = false;
        if (!scores_of(n->in[i], &t, depth - 1)) continue;
        *s = t;
        return true;
    }
    return false;
}

/* Does it fit the scores from the right? Keys need not be known to be as many: the product with v sees to that. */
static bool mask_fits(const Value *v, const Shape *scores)
{
    int rank = rank_of(v);
    if (rank < 1 || rank > scores->rank) return false;
    for (int k = 0; k < rank - 1; k++) {
        Dim have = v->type.shape.dims[k];
        if (have != scores->dims[k + scores->rank - rank] && have != 1) return false;
    }
    return rank != 3 || scores->rank != 3 || v->type.shape.dims[0] == 1; /* batches would become heads */
}

/* A mask with as many keys as v has rows. */
static sdx_status mask_expand(Opt *o, Node *before, Value *v, Value **mask)
{
    int rank = rank_of(*mask), rows = rank_of(v) - 2;
    if ((*mask)->type.shape.dims[rank - 1] == v->type.shape.dims[rows]) return SDX_OK;
    int64_t ones[4] = { 1, 1, 1, 1 };
    Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { rank - 1 }, .data = ones };
    Value *lead;
    TRY(sdx_opt_constant(o, before->graph, "ones", &t, &lead));
    Node *keys = sdx_opt_node(o, before, "", "Shape", &v, 1);
    if (!keys) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_int(keys, "start", rows) && sdx_node_set_int(keys, "end", rows + 1);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, keys));
    Node *target = sdx_opt_node(o, before, "", "Concat", (Value *[]){ lead, keys->out[0] }, 2);
    if (!target) return (sdx_status)sdx_opt_err(o)->code;
    set = sdx_node_set_int(target, "axis", 0);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, target));
    return sdx_opt_apply(o, before, "Expand", (Value *[]){ *mask, target->out[0] }, 2, mask);
}

/* The masks as one value to add; NULL: there is none. */
static sdx_status mask_build(Opt *o, Node *before, const Scores *s, Value **out)
{
    *out = NULL;
    for (int i = 0; i < s->n_masks; i++) {
        Value *v = s->mask[i].v;
        if (s->mask[i].is_seen) {
            float number[2] = { 0, (float)s->mask[i].low };
            Value *c[2];
            for (int k = 0; k < 2; k++) {
                Tensor t = { .dtype = DT_FLOAT, .data = &number[k] };
                TRY(sdx_opt_constant(o, before->graph, "mask", &t, &c[k]));
            }
            TRY(sdx_opt_apply(o, before, "Where", (Value *[]){ v, c[0], c[1] }, 3, &v));
        }
        if (*out) TRY(sdx_opt_apply(o, before, "Add", (Value *[]){ *out, v }, 2, &v));
        *out = v;
    }
    return SDX_OK;
}

/* x when v is x times a constant. */
static Value *unscaled(Value *v, double *scale)
{
    Value *x;
    double c;
    if (!v->producer || v->producer_index != 0 || !factor_of(v->producer, &c, &x)) return v;
    if (!sdx_same_type(&x->type, &v->type)) return v;
    *scale *= c;
    return x;
}

static bool perm_is(const Node *n, int a, int b, int c, int d)
{
    const Attr *p = n ? sdx_node_attr(n, "perm") : NULL;
    return p && p->n == 4 && p->ints[0] == a && p->ints[1] == b && p->ints[2] == c && p->ints[3] == d;
}

static bool is_heads(const Value *v, const Value *like)
{
    if (v->type.kind != TYPE_TENSOR || v->type.elem != DT_FLOAT || rank_of(v) != rank_of(like)) return false;
    for (int k = 0; k < rank_of(v) - 2; k++)
        if (v->type.shape.dims[k] != like->type.shape.dims[k]) return false;
    return true;
}

/* k when v is k with each of its heads repeated: [b,n,t,h] -> [b,n,1,t,h] -> [b,n,g,t,h] -> [b,n*g,t,h]; else v. */
static Value *unrepeated(Value *v)
{
    const Node *join = made_by(v, "Reshape"), *expand = join ? made_by(join->in[0], "Expand") : NULL;
    const Node *split = expand ? made_by(expand->in[0], "Unsqueeze") : NULL;
    if (!split) split = expand ? made_by(expand->in[0], "Reshape") : NULL;
    if (!split || rank_of(v) != 4 || rank_of(split->in[0]) != 4 || rank_of(expand->in[0]) != 5 ||
        rank_of(join->in[0]) != 5)
        return v;
    const Dim *k = split->in[0]->type.shape.dims, *one = expand->in[0]->type.shape.dims;
    const Dim *all = join->in[0]->type.shape.dims, *y = v->type.shape.dims;
    for (int i = 0; i < 4; i++) {
        int j = i < 2 ? i : i + 1;
        if (k[i] != one[j] || k[i] != all[j] || (i != 1 && k[i] != y[i])) return v;
    }
    bool repeats = one[2] == 1 && sdx_dim_is_const(k[1]) && sdx_dim_is_const(all[2]) && sdx_dim_is_const(y[1]);
    return repeats && k[1] > 0 && y[1] / k[1] == all[2] && y[1] % k[1] == 0 ? split->in[0] : v;
}

/* The softmax when v is its result, or that with 0 in the place of NaN; *only: nobody else reads it. */
static const Node *softmax_of(const Value *v, bool *only)
{
    const Node *soft = made_by(v, "Softmax"), *where = made_by(v, "Where");
    *only = is_private(v);
    if (soft || !where || !sdx_const_is(where->in[1], 0)) return soft;
    const Node *nan = made_by(where->in[0], "IsNaN");
    const Value *p = where->in[2];
    if (!nan || nan->in[0] != p || !is_private(where->in[0])) return NULL;
    *only = *only && p->n_uses == 2 && !(p->flags & (VALUE_GRAPH_OUTPUT | VALUE_CAPTURED));
    return made_by(p, "Softmax");
}

sdx_status sdx_pass_attention_form(Opt *o, Node *n, bool *changed)
{
    bool only;
    const Node *soft = softmax_of(n->in[0], &only);
    Scores s = { .scale = 1 };
    int rank = rank_of(n->in[0]);
    if (!soft || !only || (rank != 3 && rank != 4)) return SDX_OK;
    int64_t axis = attr_int(soft, "axis", -1);
    if ((axis != -1 && axis != rank - 1) || !scores_of(soft->in[0], &s, DEPTH)) return SDX_OK;
    const Shape *scores = &s.product->out[0]->type.shape;
    if (s.product->graph != n->graph || scores->rank != rank) return SDX_OK;
    for (int k = 0; k < rank - 1; k++) /* no mask enlarges the scores */
        if (n->in[0]->type.shape.dims[k] != scores->dims[k]) return SDX_OK;
    for (int i = 0; i < s.n_masks; i++)
        if (!mask_fits(s.mask[i].v, scores)) return SDX_OK;

    Value *q = unscaled(s.product->in[0], &s.scale), *kt = unscaled(s.product->in[1], &s.scale), *v = n->in[1];
    const Node *turn = made_by(kt, "Transpose");
    const Attr *perm = turn ? sdx_node_attr(turn, "perm") : NULL;
    if (!perm || perm->n != rank || rank_of(q) != rank || !is_heads(q, q) || !is_heads(kt, q) || !is_heads(v, q))
        return SDX_OK;
    Value *keys = unscaled(turn->in[0], &s.scale);
    if (v->type.shape.dims[rank - 2] != scores->dims[rank - 1] || !(s.scale > 0) || !isfinite(s.scale)) return SDX_OK;

    Value *few = unrepeated(keys), *few_v = unrepeated(v);
    if (rank == 4 && few != keys && few_v != v && perm_is(turn, 0, 1, 3, 2) && is_heads(few_v, few)) {
        keys = few;
        v = few_v;
    }
    int64_t back[4];
    for (int k = 0; k < rank; k++) back[k] = perm->ints[k < rank - 2 ? k : 2 * rank - 3 - k];
    Node *k = sdx_opt_node(o, n, "", "Transpose", (Value *[]){ keys }, 1);
    if (!k) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_ints(k, "perm", back, rank);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, k));
    Value *in[4] = { q, k->out[0], v, NULL }, *one = NULL;
    TRY(mask_build(o, n, &s, &in[3]));
    if (in[3]) TRY(mask_expand(o, n, v, &in[3]));
    if (rank == 3) {
        Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { 1 }, .data = (int64_t[]){ 1 } };
        TRY(sdx_opt_constant(o, n->graph, "one", &t, &one));
        for (int i = 0; i < 3; i++) TRY(sdx_opt_apply(o, n, "Unsqueeze", (Value *[]){ in[i], one }, 2, &in[i]));
    }
    Node *y = sdx_opt_node(o, n, "", "Attention", in, in[3] ? 4 : 3);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    set = sdx_node_set_float(y, "scale", (float)s.scale);
    TRY_MEM(set, sdx_opt_err(o));
    *changed = true;
    if (rank == 4) return sdx_opt_supersede(o, n, y);
    TRY(sdx_opt_finish(o, y));
    Node *flat = sdx_opt_node(o, n, "", "Squeeze", (Value *[]){ y->out[0], one }, 2);
    return flat ? sdx_opt_supersede(o, n, flat) : (sdx_status)sdx_opt_err(o)->code;
}

/* x [batch, rows, heads * size] when v is its heads, [batch, heads, rows, size]. */
static Value *flat_of(const Value *v, int64_t *heads)
{
    const Node *t = made_by(v, "Transpose"), *r = t ? made_by(t->in[0], "Reshape") : NULL;
    if (!r || !perm_is(t, 0, 2, 1, 3) || rank_of(r->in[0]) != 3 || rank_of(t->in[0]) != 4) return NULL;
    const Dim *x = r->in[0]->type.shape.dims, *h = t->in[0]->type.shape.dims;
    int64_t width;
    if (x[0] != h[0] || x[1] != h[1] || !sdx_dim_is_const(h[2]) || !sdx_dim_is_const(h[3])) return NULL;
    if (h[2] < 1 || __builtin_mul_overflow(h[2], h[3], &width) || x[2] != width) return NULL;
    *heads = h[2];
    return r->in[0];
}

sdx_status sdx_pass_attention_flat(Opt *o, Node *n, bool *changed)
{
    const Node *a = made_by(node_in(n, 0), "Attention");
    int64_t heads[3], target[SDX_MAX_RANK];
    Value *in[4] = { NULL };
    if (!a || a->graph != n->graph || !perm_is(n, 0, 2, 1, 3) || !is_private(a->out[0]) || a->n_in > 4 || a->n_out > 1)
        return SDX_OK;
    for (int i = 0; i < 3; i++)
        if (!(in[i] = flat_of(a->in[i], &heads[i]))) return SDX_OK;
    in[3] = node_in(a, 3);
    if (heads[1] != heads[2] || !sdx_reshape_target(in[0], &n->out[0]->type.shape, target)) return SDX_OK;
    Node *y = sdx_opt_node(o, n, "", "Attention", in, a->n_in);
    if (!y) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_int(y, "q_num_heads", heads[0]) && sdx_node_set_int(y, "kv_num_heads", heads[1]);
    static const char *const kept[] = { "is_causal", "left_window_size", "right_window_size",
                                        "scale",     "softcap",          "softmax_precision" };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        const Attr *attr = sdx_node_attr(a, kept[i]);
        set = set && (!attr || sdx_node_set_attr(y, attr));
    }
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, y));
    *changed = true;
    return sdx_replace_by_reshape(o, n, y->out[0], target, 4);
}
