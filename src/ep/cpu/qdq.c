/* ep/cpu/qdq.c - integer arithmetic where a model says so by quantising and dequantising around float operators
 *
 *     q = Quantize(Conv(Dequantize(x), Dequantize(w), b))       =>   q = first(sdx.QConv(last(x), w, scales, b))
 *     q = QLinearConv(x, w, b)                                  =>   the same
 *     q = Quantize(Add(Dequantize(a), Dequantize(b)))           =>   q = sdx.QAdd(a, b)
 *     q = Quantize(MaxPool(Dequantize(x)))                      =>   q = MaxPool(x)        with one scale and zero point
 *
 * each with a Relu or Clip before the quantisation if there is one: in integers that is a bound. x is quantised as a
 * whole, w also by output channel; scales and zero points are constants; 8 bits. Skipped when somebody else reads a float
 * value in between. */
#include <math.h>

#include "ep/cpu/rewrites.h"
#include "kern/conv/iconv.h"
#include "opt/match.h"

typedef struct Linear {  /* how a tensor is quantised */
    const Tensor *scale; /* one, or one per channel */
    int64_t n;
    double zero;
    DType type;
} Linear;

static bool is_byte(DType d) { return d == DT_INT8 || d == DT_UINT8; }

/* From a constant scale and zero point; all zero points must be one number. */
static bool linear_from(const Value *scale, const Value *zero, DType type, Linear *l)
{
    *l = (Linear){ .type = type };
    if (!is_byte(type) || !scale || !sdx_value_is_const(scale) || scale->constant->dtype != DT_FLOAT) return false;
    if (scale->constant->rank > 1) return false;
    l->scale = scale->constant;
    l->n = sdx_tensor_count(l->scale);
    for (int64_t i = 0; i < l->n; i++)
        if (!(((const float *)l->scale->data)[i] > 0 && isfinite(((const float *)l->scale->data)[i]))) return false;
    if (l->n < 1) return false;
    if (!zero) return true;
    if (!sdx_value_is_const(zero)) return false;
    int64_t count = sdx_tensor_count(zero->constant);
    if (count < 1) return false;
    l->zero = sdx_tensor_get_double(zero->constant, 0);
    for (int64_t i = 1; i < count; i++)
        if (sdx_tensor_get_double(zero->constant, i) != l->zero) return false;
    return true;
}

/* Of a QuantizeLinear or DequantizeLinear. */
static bool linear_of(const Node *n, DType type, Linear *l)
{
    return !attr_int(n, "block_size", 0) && linear_from(node_in(n, 1), node_in(n, 2), type, l);
}

static float scale_at(const Linear *l, int64_t i) { return ((const float *)l->scale->data)[l->n == 1 ? 0 : i]; }

/* The DequantizeLinear that makes v, and how v was quantised. */
static Node *dequantized(const Value *v, Linear *l)
{
    Node *n = made_by(v, "DequantizeLinear");
    return n && n->in[0] && linear_of(n, n->in[0]->type.elem, l) ? n : NULL;
}

/* Float bounds of a Relu or Clip in front of the quantisation, taken off *v. */
static void take_bounds(Value **v, double *lo, double *hi)
{
    Node *n = (*v)->producer;
    double a = -INFINITY, b = INFINITY;
    *lo = a, *hi = b;
    if (!n || !is_private(*v) || *n->domain) return;
    if (node_is(n, "Relu"))
        a = 0;
    else if (!node_is(n, "Clip") || (node_in(n, 1) && !sdx_const_scalar(n->in[1], &a)) ||
             (node_in(n, 2) && !sdx_const_scalar(n->in[2], &b)))
        return;
    *lo = a, *hi = b;
    *v = n->in[0];
}

/* A float bound among the stored integers. */
static int64_t stored(double bound, const Linear *q)
{
    double lo = q->type == DT_INT8 ? -128 : 0, hi = q->type == DT_INT8 ? 127 : 255;
    double v = nearbyint(bound / scale_at(q, 0)) + q->zero;
    return (int64_t)(!(v >= lo) ? lo : v > hi ? hi : v);
}

static bool set_bounds(Node *m, const Linear *q, double lo, double hi)
{
    return sdx_node_set_int(m, "y_zero", (int64_t)q->zero) && sdx_node_set_int(m, "lo", stored(lo, q)) &&
           sdx_node_set_int(m, "hi", stored(hi, q)) && sdx_node_set_int(m, "to", q->type);
}

static sdx_status failed(Opt *o) { return (sdx_status)sdx_opt_err(o)->code; }

/* -- convolution --------------------------------------------------------------------------------------------------- */

typedef struct QConv {
    Node *conv;   /* has the attributes: a float convolution, or the QLinearConv itself */
    Value *x, *w; /* integers */
    Linear lx, lw, ly;
    double lo, hi;
    int64_t channels;
    bool by_row; /* w's scales, when there are several, are those of its output channels */
} QConv;

static bool match_float_conv(const Node *q, QConv *m)
{
    Value *v = q->n_in ? q->in[0] : NULL;
    if (!v || !linear_of(q, q->out[0]->type.elem, &m->ly)) return false;
    take_bounds(&v, &m->lo, &m->hi);
    m->conv = made_by(v, "Conv");
    if (!m->conv || !is_private(v)) return false;
    Node *x = dequantized(m->conv->in[0], &m->lx), *w = dequantized(m->conv->in[1], &m->lw);
    if (!x || !w) return false;
    m->x = x->in[0];
    m->w = w->in[0];
    m->by_row = attr_int(w, "axis", 1) == 0;
    return true;
}

static bool match_linear_conv(Node *q, QConv *m)
{
    m->conv = q;
    m->lo = -INFINITY;
    m->hi = INFINITY;
    m->by_row = true;
    m->x = q->in[0];
    m->w = q->in[3];
    return linear_from(q->in[1], q->in[2], m->x->type.elem, &m->lx) &&
           linear_from(q->in[4], q->in[5], m->w->type.elem, &m->lw) &&
           linear_from(q->in[6], q->in[7], q->out[0]->type.elem, &m->ly);
}

static bool match_conv(Node *q, QConv *m)
{
    if (!(node_is(q, "QLinearConv") ? match_linear_conv(q, m) : match_float_conv(q, m))) return false;
    if (rank_of(m->conv->in[0]) < 3 || rank_of(m->conv->in[0]) > 5) return false;
    if (m->lx.n != 1 || m->ly.n != 1 || !sdx_value_is_const(m->w)) return false;
    const Tensor *w = m->w->constant;
    m->channels = w->dims[0];
    bool by_channel = m->lw.n == m->channels && m->by_row;
    bool symmetric = m->lw.zero == (w->dtype == DT_INT8 ? 0 : 128);
    if (!(m->lw.n == 1 || by_channel)) return false;
    if (symmetric) return true;
    int64_t groups = attr_int(m->conv, "group", 1);
    return groups > 0 && sdx_iconv_takes_zero((size_t)groups, (size_t)(w->dims[1] * groups), (size_t)w->dims[0],
                                              (size_t)sdx_dims_product(w->dims, 2, w->rank));
}

/* The bias in units of x_scale * w_scale, from a float constant or a dequantised integer one. */
static sdx_status integer_bias(Opt *o, const QConv *m, Value **out, bool *ok)
{
    bool linear = node_is(m->conv, "QLinearConv");
    Value *b = node_in(m->conv, linear ? 8 : 2);
    *out = linear ? b : NULL;
    *ok = true;
    if (!b || linear) return SDX_OK;
    Node *dq = made_by(b, "DequantizeLinear");
    const Value *q = dq ? dq->in[0] : b, *s = dq ? node_in(dq, 1) : NULL;
    *ok = sdx_value_is_const(q) && (!dq || (s && sdx_value_is_const(s))) &&
          sdx_tensor_count(q->constant) == m->channels;
    if (*ok && dq && node_in(dq, 2))
        for (int64_t i = 0; *ok && i < sdx_tensor_count(dq->in[2]->constant); i++)
            *ok = sdx_value_is_const(dq->in[2]) && sdx_tensor_get_double(dq->in[2]->constant, i) == 0;
    if (!*ok) return SDX_OK;
    int32_t *data = sdx_arena_array(&m->conv->graph->model->arena, int32_t, m->channels);
    TRY_MEM(data, sdx_opt_err(o));
    int64_t n_scale = s ? sdx_tensor_count(s->constant) : 0;
    for (int64_t i = 0; i < m->channels; i++) {
        double v = sdx_tensor_get_double(q->constant, i);
        if (s) v *= sdx_tensor_get_double(s->constant, n_scale == 1 ? 0 : i);
        v = nearbyint(v / ((double)scale_at(&m->lx, 0) * scale_at(&m->lw, i)));
        if (!(fabs(v) < 0x1p31))
            *ok = false;
        else
            data[i] = (int32_t)v;
    }
    Tensor t = { .dtype = DT_INT32, .rank = 1, .dims = { m->channels }, .data = data };
    return *ok ? sdx_opt_constant(o, m->conv->graph, NULL, &t, out) : SDX_OK;
}

static sdx_status multipliers(Opt *o, const QConv *m, Value **out)
{
    float *data = sdx_arena_array(&m->conv->graph->model->arena, float, m->lw.n);
    TRY_MEM(data, sdx_opt_err(o));
    for (int64_t i = 0; i < m->lw.n; i++)
        data[i] = (float)((double)scale_at(&m->lx, 0) * scale_at(&m->lw, i) / scale_at(&m->ly, 0));
    Tensor t = { .dtype = DT_FLOAT, .rank = 1, .dims = { m->lw.n }, .data = data };
    return sdx_opt_constant(o, m->conv->graph, NULL, &t, out);
}

sdx_status sdx_pass_qdq_conv(Opt *o, Node *n, bool *changed)
{
    QConv m;
    bool ok;
    Value *in[4];
    if (*n->domain || n->n_out != 1 || !n->out[0] || !match_conv(n, &m)) return SDX_OK;
    TRY(integer_bias(o, &m, &in[3], &ok));
    if (!ok) return SDX_OK;
    Value *x = m.x;
    Dim c = x->type.shape.dims[1];
    bool x_first = !sdx_nhwc_source(x) && c >= 0 && c <= 4 && attr_int(m.conv, "group", 1) == 1;
    in[0] = x_first ? x : sdx_nhwc_source(x);
    if (!in[0]) TRY(sdx_nhwc_turn(o, n, x, true, &in[0]));
    in[1] = m.w;
    TRY(multipliers(o, &m, &in[2]));
    Node *y = sdx_opt_node(o, n, "sdx", "QConv", in, in[3] ? 4 : 3);
    if (!y) return failed(o);
    bool set = set_bounds(y, &m.ly, m.lo, m.hi) && sdx_node_set_int(y, "x_first", x_first) &&
               sdx_node_set_int(y, "x_zero", (int64_t)m.lx.zero) && sdx_node_set_int(y, "w_zero", (int64_t)m.lw.zero);
    for (int i = 0; set && i < m.conv->n_attrs; i++) set = sdx_node_set_attr(y, &m.conv->attrs[i]);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, y));
    *changed = true;
    return sdx_nhwc_replace(o, n, y->out[0]);
}

/* -- sums and maxima ----------------------------------------------------------------------------------------------- */

static sdx_status replace_noted(Opt *o, Node *n, Node *m, bool *changed)
{
    char text[200];
    TRY(sdx_opt_finish(o, m));
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    *changed = true;
    return sdx_opt_replace(o, n->out[0], m->out[0]);
}

sdx_status sdx_pass_qdq_add(Opt *o, Node *n, bool *changed)
{
    Linear la, lb, ly;
    double lo, hi;
    Value *v = n->n_in ? n->in[0] : NULL;
    if (*n->domain || n->n_out != 1 || !v || !linear_of(n, n->out[0]->type.elem, &ly) || ly.n != 1) return SDX_OK;
    take_bounds(&v, &lo, &hi);
    Node *add = made_by(v, "Add");
    if (!add || !is_private(v) || !sdx_same_type(&add->in[0]->type, &add->in[1]->type)) return SDX_OK;
    Node *a = dequantized(add->in[0], &la), *b = dequantized(add->in[1], &lb);
    if (!a || !b || la.n != 1 || lb.n != 1) return SDX_OK;
    Value *in[2] = { a->in[0], b->in[0] };
    Node *m = sdx_opt_node(o, n, "sdx", "QAdd", in, 2);
    if (!m) return failed(o);
    bool set = set_bounds(m, &ly, lo, hi) && sdx_node_set_int(m, "a_zero", (int64_t)la.zero) &&
               sdx_node_set_int(m, "b_zero", (int64_t)lb.zero) &&
               sdx_node_set_float(m, "a_scale", scale_at(&la, 0) / scale_at(&ly, 0)) &&
               sdx_node_set_float(m, "b_scale", scale_at(&lb, 0) / scale_at(&ly, 0));
    TRY_MEM(set, sdx_opt_err(o));
    return replace_noted(o, n, m, changed);
}

sdx_status sdx_pass_qdq_maxpool(Opt *o, Node *n, bool *changed)
{
    Linear lx, ly;
    Value *v = n->n_in ? n->in[0] : NULL;
    Node *pool = v ? made_by(v, "MaxPool") : NULL;
    if (*n->domain || n->n_out != 1 || !pool || !is_private(v) || pool->n_out != 1) return SDX_OK;
    Node *x = dequantized(pool->in[0], &lx);
    if (!x || !linear_of(n, n->out[0]->type.elem, &ly) || lx.n != 1 || ly.n != 1) return SDX_OK;
    if (lx.type != ly.type || lx.zero != ly.zero || scale_at(&lx, 0) != scale_at(&ly, 0)) return SDX_OK;
    Node *m = sdx_opt_node(o, n, "", "MaxPool", &x->in[0], 1);
    bool set = m != NULL;
    for (int i = 0; set && i < pool->n_attrs; i++) set = sdx_node_set_attr(m, &pool->attrs[i]);
    if (!m) return failed(o);
    TRY_MEM(set, sdx_opt_err(o));
    return replace_noted(o, n, m, changed);
}

/* -- what stays in float ------------------------------------------------------------------------------------------- */

/* Weights that no integer operator takes are dequantised once. */
sdx_status sdx_pass_qdq_weights(Opt *o, Node *n, bool *changed)
{
    Tensor t;
    bool done = false;
    Value *v;
    OptOptions all = *sdx_opt_options(o);
    all.fold_max_nbytes = SIZE_MAX;
    if (*n->domain || n->n_out != 1 || !n->out[0] || n->out[0]->flags & VALUE_GRAPH_OUTPUT) return SDX_OK;
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !sdx_value_is_const(n->in[i])) return SDX_OK;
    TRY(sdx_fold_node(sdx_opt_model(o), n, &all, &t, &done, sdx_opt_err(o)));
    if (!done) return SDX_OK;
    TRY(sdx_opt_constant(o, n->graph, NULL, &t, &v));
    *changed = true;
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    return sdx_opt_replace(o, n->out[0], v);
}
