/* ep/cpu/layout.c - channels last for convolutional stretches of a graph
 *
 *     y = Conv(x, w)        =>   y = first(sdx.Conv(last(x), w))       first: [N, s..., C] -> [N, C, s...], last: back
 *     y = Relu(first(x))    =>   y = first(Relu(x))                    and other nodes that work in any layout
 *     last(first(x))        =>   x                                     by the portable pass on transposes
 *
 * So the transposes around convolutions move down the graph until they meet, and only those at its edges stay. Skipped
 * when weights are not constant. */
#include "ep/cpu/rewrites.h"

#include "opt/match.h"

/* -- transposes of channels ---------------------------------------------------------------------------------------- */

static bool is_first_perm(const Node *n)
{
    const Attr *a = sdx_node_attr(n, "perm");
    if (!a || a->type != ATTR_INTS || a->n < 3 || a->ints[0] != 0 || a->ints[1] != a->n - 1) return false;
    for (int64_t i = 2; i < a->n; i++)
        if (a->ints[i] != i - 1) return false;
    return true;
}

Value *sdx_nhwc_source(const Value *v)
{
    const Node *t = made_by(v, "Transpose");
    return t && is_first_perm(t) ? t->in[0] : NULL;
}

sdx_status sdx_nhwc_turn(Opt *o, Node *before, Value *v, bool to_last, Value **out)
{
    int64_t perm[SDX_MAX_RANK];
    int rank = rank_of(v);
    for (int i = 0; i < rank; i++)
        perm[i] = to_last ? (i == 0 ? 0 : i == rank - 1 ? 1 : i + 1) : (i == 0 ? 0 : i == 1 ? rank - 1 : i - 1);
    Node *t = sdx_opt_node(o, before, "", "Transpose", &v, 1);
    if (!t) return (sdx_status)sdx_opt_err(o)->code;
    bool set = sdx_node_set_ints(t, "perm", perm, rank);
    TRY_MEM(set, sdx_opt_err(o));
    *out = t->out[0];
    return sdx_opt_finish(o, t);
}

sdx_status sdx_nhwc_replace(Opt *o, Node *n, Value *y)
{
    Value *first;
    char text[200];
    TRY(sdx_nhwc_turn(o, n, y, false, &first));
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    return sdx_opt_replace(o, n->out[0], first);
}

/* v in channels-last form: the source of its transpose, or a new transpose. */
static sdx_status last_form(Opt *o, Node *before, Value *v, Value **out)
{
    *out = sdx_nhwc_source(v);
    return *out ? SDX_OK : sdx_nhwc_turn(o, before, v, true, out);
}

/* A node before n with n's attributes but those of `except` (NULL-terminated). */
static Node *node_like(Opt *o, Node *n, const char *domain, const char *op, Value *const *in, int n_in,
                       const char *const *except)
{
    Node *m = sdx_opt_node(o, n, domain, op, in, n_in);
    for (int i = 0; m && i < n->n_attrs; i++) {
        bool skip = false;
        for (const char *const *e = except; e && *e; e++) skip |= strcmp(*e, n->attrs[i].name) == 0;
        if (!skip && !sdx_node_set_attr(m, &n->attrs[i])) {
            sdx_fail(sdx_opt_err(o), SDX_OUT_OF_MEMORY, "out of memory");
            return NULL;
        }
    }
    return m;
}

static sdx_status failed(Opt *o) { return (sdx_status)sdx_opt_err(o)->code; }

/* -- convolution and pooling --------------------------------------------------------------------------------------- */

static bool is_image(const Value *v, int min_rank, int max_rank)
{
    int rank = v ? rank_of(v) : 0;
    return v && v->type.elem == DT_FLOAT && rank >= min_rank && rank <= max_rank;
}

sdx_status sdx_pass_nhwc_conv(Opt *o, Node *n, bool *changed)
{
    if (*n->domain || n->n_in < 2 || !is_image(n->in[0], 3, 5) || !n->in[1]) return SDX_OK;
    if (!sdx_value_is_const(n->in[1]) || (node_in(n, 2) && !sdx_value_is_const(n->in[2]))) return SDX_OK;
    Value *in[3] = { n->in[0], n->in[1], node_in(n, 2) };
    Dim channels = n->in[0]->type.shape.dims[1];
    /* Images of few channels are turned round by the kernel as it reads them. */
    bool x_first = !sdx_nhwc_source(n->in[0]) && channels >= 0 && channels <= 4 && attr_int(n, "group", 1) == 1;
    if (!x_first) TRY(last_form(o, n, n->in[0], &in[0]));
    Node *m = node_like(o, n, "sdx", "Conv", in, in[2] ? 3 : 2, NULL);
    if (!m) return failed(o);
    bool set = !x_first || sdx_node_set_int(m, "x_first", 1);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    return sdx_nhwc_replace(o, n, m->out[0]);
}

/* GlobalAveragePool and GlobalMaxPool are reductions over the spatial axes. */
static sdx_status global_pool(Opt *o, Node *n, Value *x, const char *reduce, Node **out)
{
    int64_t axes[SDX_MAX_RANK];
    int count = rank_of(x) - 2;
    for (int i = 0; i < count; i++) axes[i] = i + 1;
    Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { count }, .data = axes };
    Value *in[2] = { x };
    TRY(sdx_opt_constant(o, n->graph, NULL, &t, &in[1]));
    *out = sdx_opt_node(o, n, "", reduce, in, 2);
    return *out ? SDX_OK : failed(o);
}

sdx_status sdx_pass_nhwc_pool(Opt *o, Node *n, bool *changed)
{
    static const char *const except[] = { "storage_order", NULL };
    Value *x = *n->domain || n->n_in < 1 || !n->in[0] ? NULL : sdx_nhwc_source(n->in[0]);
    bool bytes = x && (x->type.elem == DT_INT8 || x->type.elem == DT_UINT8) && node_is(n, "MaxPool");
    if (!x || (!is_image(x, 3, 5) && !bytes) || n->n_out != 1) return SDX_OK;
    Node *m = NULL;
    if (node_is(n, "GlobalAveragePool"))
        TRY(global_pool(o, n, x, "ReduceMean", &m));
    else if (node_is(n, "GlobalMaxPool"))
        TRY(global_pool(o, n, x, "ReduceMax", &m));
    else if (!(m = node_like(o, n, "sdx", n->op_type, &x, 1, except)))
        return failed(o);
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    return sdx_nhwc_replace(o, n, m->out[0]);
}

/* -- nodes that work in any layout --------------------------------------------------------------------------------- */

/* A constant that broadcasts against channels second, made to broadcast against channels last. */
static sdx_status turn_constant(Opt *o, Graph *g, const Value *v, int rank, Value **out)
{
    const Tensor *t = v->constant;
    size_t size = sdx_dtype_size(t->dtype), nbytes;
    int64_t from_dims[SDX_MAX_RANK], step[SDX_MAX_RANK], at[SDX_MAX_RANK] = { 0 }, stride = 1;
    Tensor turned = { .dtype = t->dtype, .rank = rank };
    for (int i = rank - 1; i >= 0; i--) {
        from_dims[i] = i < rank - t->rank ? 1 : t->dims[i - (rank - t->rank)];
        step[nhwc_axis(i, rank)] = stride;
        turned.dims[nhwc_axis(i, rank)] = from_dims[i];
        stride *= from_dims[i];
    }
    bool fits = sdx_tensor_nbytes(&turned, &nbytes);
    char *data = fits ? sdx_arena_alloc(&g->model->arena, nbytes, SDX_ALIGN) : NULL;
    TRY_MEM(data, sdx_opt_err(o));
    for (int64_t i = 0; i < stride; i++) {
        int64_t k = 0;
        for (int d = 0; d < rank; d++) k += at[d] * step[d];
        memcpy(data + (size_t)i * size, (const char *)t->data + (size_t)k * size, size);
        for (int d = rank - 1; d >= 0 && ++at[d] == turned.dims[d]; d--) at[d] = 0;
    }
    turned.data = data;
    return sdx_opt_constant(o, g, NULL, &turned, out);
}

static bool all_ones(const Shape *s, int from, int to)
{
    for (int i = from; i < to; i++)
        if (s->dims[i] != 1) return false;
    return true;
}

typedef enum InputKind { INPUT_ABSENT, INPUT_SOURCE, INPUT_AS_IS, INPUT_CONSTANT, INPUT_TURN, INPUT_BAD } InputKind;

/* What an elementwise node of this rank needs done to an input. */
static InputKind input_kind(const Value *v, int rank)
{
    if (!v) return INPUT_ABSENT;
    int r = rank_of(v);
    if (r < 0 || r > rank) return INPUT_BAD;
    if (sdx_nhwc_source(v)) return r == rank ? INPUT_SOURCE : INPUT_BAD;
    if (all_ones(&v->type.shape, 0, r)) return INPUT_AS_IS;
    if (sdx_value_is_const(v) && sdx_dtype_size(v->constant->dtype) && v->constant->dtype != DT_STRING)
        return INPUT_CONSTANT;
    return r == rank && all_ones(&v->type.shape, 2, r) ? INPUT_TURN : INPUT_BAD; /* nothing moves: a view */
}

static sdx_status sink_elementwise(Opt *o, Node *n, bool *changed)
{
    Value *in[SDX_MAX_RANK];
    int rank = rank_of(n->out[0]), sources = 0;
    if (n->n_in > SDX_MAX_RANK || rank < 3) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) {
        InputKind kind = input_kind(n->in[i], rank);
        if (kind == INPUT_BAD) return SDX_OK;
        sources += kind == INPUT_SOURCE;
    }
    if (!sources) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) {
        in[i] = n->in[i];
        switch (input_kind(n->in[i], rank)) {
        case INPUT_SOURCE: in[i] = sdx_nhwc_source(n->in[i]); break;
        case INPUT_CONSTANT: TRY(turn_constant(o, n->graph, n->in[i], rank, &in[i])); break;
        case INPUT_TURN: TRY(sdx_nhwc_turn(o, n, n->in[i], true, &in[i])); break;
        default: break;
        }
    }
    Node *m = node_like(o, n, n->domain, n->op_type, in, n->n_in, NULL);
    if (!m) return failed(o);
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    return sdx_nhwc_replace(o, n, m->out[0]);
}

static bool axis_of(const Node *n, int64_t dflt, int rank, int64_t *axis)
{
    *axis = attr_int(n, "axis", dflt);
    if (*axis < 0) *axis += rank;
    return *axis >= 0 && *axis < rank;
}

/* All inputs are transposes, or most of them by bytes: the others are turned. */
static sdx_status sink_concat(Opt *o, Node *n, bool *changed)
{
    enum { MAX_IN = 64 };
    Value *in[MAX_IN];
    int rank = rank_of(n->out[0]), sources = 0;
    int64_t axis;
    if (n->n_in > MAX_IN || rank < 3 || !axis_of(n, 0, rank, &axis)) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) sources += sdx_nhwc_source(n->in[i]) != NULL;
    if (sources * 2 <= n->n_in) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) TRY(last_form(o, n, n->in[i], &in[i]));
    Node *m = node_like(o, n, "", "Concat", in, n->n_in, NULL);
    bool set = m && sdx_node_set_int(m, "axis", nhwc_axis(axis, rank));
    if (!m) return failed(o);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    return sdx_nhwc_replace(o, n, m->out[0]);
}

/* Reductions over known axes that stay in place. */
static sdx_status sink_reduce(Opt *o, Node *n, bool *changed)
{
    Value *x = n->n_in > 1 ? sdx_nhwc_source(n->in[0]) : NULL;
    int64_t axes[SDX_MAX_RANK];
    int rank = x ? rank_of(x) : 0, count = x ? sdx_reduce_axes(n, axes) : -1;
    bool keep = attr_int(n, "keepdims", 1) != 0, spatial = count == rank - 2;
    if (!x || count < 1) return SDX_OK;
    for (int i = 0; i < count; i++) {
        spatial &= axes[i] >= 2;
        axes[i] = nhwc_axis(axes[i], rank);
    }
    if (!keep && !spatial) return SDX_OK; /* what is left changes places */
    Tensor t = { .dtype = DT_INT64, .rank = 1, .dims = { count }, .data = axes };
    Value *in[2] = { x };
    TRY(sdx_opt_constant(o, n->graph, NULL, &t, &in[1]));
    Node *m = node_like(o, n, "", n->op_type, in, 2, NULL);
    if (!m) return failed(o);
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    if (keep) return sdx_nhwc_replace(o, n, m->out[0]);
    return sdx_opt_replace(o, n->out[0], m->out[0]);
}

/* Vectors of one number per axis (pads: two), put in channels-last order. */
static sdx_status turn_vector(Opt *o, Graph *g, const Value *v, int rank, Value **out)
{
    const Tensor *t = v->constant;
    size_t size = sdx_dtype_size(t->dtype);
    Tensor turned = *t;
    TRY_MEM(turned.data = sdx_arena_alloc(&g->model->arena, (size_t)t->dims[0] * size, SDX_ALIGN), sdx_opt_err(o));
    for (int64_t i = 0; i < t->dims[0]; i++) {
        int64_t to = i / rank * rank + nhwc_axis(i % rank, rank);
        memcpy((char *)turned.data + (size_t)to * size, (const char *)t->data + (size_t)i * size, size);
    }
    return sdx_opt_constant(o, g, NULL, &turned, out);
}

static bool is_vector_of(const Value *v, int64_t n)
{
    return v && sdx_value_is_const(v) && v->constant->rank == 1 && v->constant->dims[0] == n;
}

/* Pad and Resize without axes, told by constants. */
static sdx_status sink_per_axis(Opt *o, Node *n, bool *changed)
{
    bool pad = node_is(n, "Pad");
    Value *x = n->n_in ? sdx_nhwc_source(n->in[0]) : NULL, *in[4] = { x };
    int rank = x ? rank_of(x) : 0, n_in = n->n_in, last = pad ? 2 : 4;
    if (!x || n_in > last + pad || (pad && node_in(n, 3)) || sdx_node_attr(n, "axes")) return SDX_OK;
    for (int i = 1; i < n_in; i++) {
        in[i] = n->in[i];
        if (!in[i] || (pad && i == 2)) continue;
        if (!is_vector_of(in[i], pad ? 2 * rank : rank) && !is_vector_of(in[i], 0)) return SDX_OK;
    }
    for (int i = 1; i < n_in && i < 4; i++)
        if (in[i] && !(pad && i == 2) && !is_vector_of(in[i], 0)) TRY(turn_vector(o, n->graph, in[i], rank, &in[i]));
    Node *m = node_like(o, n, "", n->op_type, in, n_in, NULL);
    if (!m) return failed(o);
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    return sdx_nhwc_replace(o, n, m->out[0]);
}

/* y_i = Split(first(x)) on one axis. */
static sdx_status sink_split(Opt *o, Node *n, bool *changed)
{
    Value *x = n->n_in ? sdx_nhwc_source(n->in[0]) : NULL;
    enum { MAX_OUT = 16 };
    Value *out[MAX_OUT], *in[2] = { x, node_in(n, 1) };
    int rank = x ? rank_of(x) : 0;
    int64_t axis;
    if (!x || n->n_out > MAX_OUT || !axis_of(n, 0, rank, &axis)) return SDX_OK;
    for (int i = 0; i < n->n_out; i++)
        if (!n->out[i] || (n->out[i]->flags & VALUE_GRAPH_OUTPUT)) return SDX_OK;
    for (int i = 0; i < n->n_out; i++) TRY_MEM(out[i] = sdx_value_create(n->graph, NULL), sdx_opt_err(o));
    Node *m = sdx_node_make(n->graph, n, "", "Split", in, in[1] ? 2 : 1, out, n->n_out, sdx_opt_err(o));
    if (!m) return failed(o);
    m->ep = n->ep;
    bool set = sdx_node_set_int(m, "axis", nhwc_axis(axis, rank));
    const Attr *parts = sdx_node_attr(n, "num_outputs");
    if (parts) set &= sdx_node_set_attr(m, parts);
    TRY_MEM(set, sdx_opt_err(o));
    TRY(sdx_opt_finish(o, m));
    *changed = true;
    char text[200];
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    Value *old[MAX_OUT];
    int count = n->n_out;
    memcpy(old, n->out, (size_t)count * sizeof *old);
    for (int i = 0; i < count; i++) {
        Value *first;
        TRY(sdx_nhwc_turn(o, n, out[i], false, &first));
        out[i] = first;
    }
    for (int i = 0; i < count; i++) TRY(sdx_opt_replace(o, old[i], out[i]));
    return SDX_OK;
}

/* Quantised as a whole: elementwise. */
static sdx_status sink_linear(Opt *o, Node *n, bool *changed)
{
    const Value *scale = node_in(n, 1);
    bool whole = scale && rank_of(scale) >= 0 && all_ones(&scale->type.shape, 0, rank_of(scale));
    return whole ? sink_elementwise(o, n, changed) : SDX_OK;
}

static const struct {
    const char *op;
    sdx_status (*sink)(Opt *o, Node *n, bool *changed);
} sinks[] = {
    { "Concat", sink_concat },           { "Pad", sink_per_axis },
    { "Resize", sink_per_axis },         { "Split", sink_split },
    { "ReduceMean", sink_reduce },       { "ReduceSum", sink_reduce },
    { "ReduceMax", sink_reduce },        { "ReduceMin", sink_reduce },
    { "ReduceL2", sink_reduce },         { "QuantizeLinear", sink_linear },
    { "DequantizeLinear", sink_linear },
};

sdx_status sdx_pass_nhwc_sink(Opt *o, Node *n, bool *changed)
{
    bool internal = strcmp(n->domain, "sdx") == 0;
    if ((*n->domain && !internal) || !n->def || !n->n_out || !n->out[0]) return SDX_OK;
    bool any = false;
    for (int i = 0; i < n->n_in && !any; i++) any = n->in[i] && sdx_nhwc_source(n->in[i]);
    if (!any) return SDX_OK;
    if (n->def->flags & OP_ELEMENTWISE && n->n_out == 1) return sink_elementwise(o, n, changed);
    for (size_t i = 0; i < sizeof sinks / sizeof *sinks; i++) {
        if (strcmp(sinks[i].op, n->op_type) == 0) return sinks[i].sink(o, n, changed);
    }
    return SDX_OK;
}
