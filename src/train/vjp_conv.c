/* Convolution and pooling.
 *
 * For y = conv(x, w), dx spreads dy over the windows, which ConvTranspose does, or for strides of 1 a convolution with the
 * kernel turned round; dw is a matrix product of dy and the windows of x laid out. */
#include "train/vjp.h"

enum { AXES = SDX_MAX_RANK, MAX_TAPS = 64 };

/* Windows over n spatial axes, those after batch and channels. */
typedef struct Windows {
    int n;
    int64_t group;
    int64_t strides[AXES], dilations[AXES], begins[AXES], ends[AXES];
    int64_t zeros[AXES], axes[AXES];
    Value *x, *pads; /* what the windows go over: input 0, or that padded by pads, as auto_pad asks */
} Windows;

static Value *padded(Vjp *g, const Windows *s, Value *v, Value *pads)
{
    return sdx_vjp_with(g, "Pad", (Value *[]){ v, pads, NULL, sdx_vjp_list(g, s->axes, s->n) }, 4, NULL, 0);
}

static Value *minus_one(Vjp *g, Value *v) { return sub(g, v, sdx_vjp_list(g, (int64_t[]){ 1 }, 1)); }

/* auto_pad SAME makes the output ceil(size / stride): x padded so by itself, more of it before the elements or behind. */
static void pad_same(Vjp *g, Windows *s, Value *kernel, bool upper)
{
    Value *zero = sdx_vjp_list(g, (int64_t[]){ 0 }, 1), *two = sdx_vjp_list(g, (int64_t[]){ 2 }, 1);
    Value *strides = sdx_vjp_list(g, s->strides, s->n), *dilations = sdx_vjp_list(g, s->dilations, s->n);
    Value *last = mul(g, minus_one(g, sdx_vjp_shape(g, out(g), 2, -1)), strides);
    Value *beyond = sub(g, minus_one(g, sdx_vjp_shape(g, s->x, 2, -1)), mul(g, minus_one(g, kernel), dilations));
    Value *total = sdx_vjp_op(g, "Max", sub(g, last, beyond), zero, NULL), *less = over(g, total, two);
    Value *more = sub(g, total, less);
    s->pads = sdx_vjp_concat(g, upper ? (Value *[]){ less, more } : (Value *[]){ more, less }, 2, 0);
    s->x = padded(g, s, s->x, s->pads);
}

/* kernel: its spatial sizes, an int64 vector. */
static bool windows_read(Vjp *g, Windows *s, int rank, Value *kernel)
{
    int64_t pads[2 * AXES];
    *s = (Windows){ .n = rank - 2, .group = sdx_vjp_int(g, "group", 1), .x = in(g, 0) };
    if (rank < 3) return false;
    sdx_vjp_ints(g, "strides", s->strides, s->n, 1);
    sdx_vjp_ints(g, "dilations", s->dilations, s->n, 1);
    sdx_vjp_ints(g, "pads", pads, 2 * s->n, 0);
    bool upper = sdx_vjp_word(g, "auto_pad", "SAME_UPPER"), lower = sdx_vjp_word(g, "auto_pad", "SAME_LOWER");
    bool none = upper || lower || sdx_vjp_word(g, "auto_pad", "VALID");
    for (int i = 0; i < s->n; i++) {
        s->axes[i] = i + 2;
        s->begins[i] = none ? 0 : pads[i];
        s->ends[i] = none ? 0 : pads[s->n + i];
    }
    if (upper || lower) pad_same(g, s, kernel, upper);
    return true;
}

/* d spread over windows of w, and the padding cut off: what comes out has the spatial sizes of input 0. */
static Value *spread(Vjp *g, const Windows *s, Value *d, Value *w)
{
    int64_t minus[AXES];
    Attr attrs[] = { VJP_INTS("strides", s->strides, s->n), VJP_INTS("dilations", s->dilations, s->n),
                     VJP_INT("group", s->group) };
    Value *full = sdx_vjp_with(g, "ConvTranspose", (Value *[]){ d, w }, 2, attrs, 3);
    for (int i = 0; i < s->n; i++) minus[i] = -s->begins[i];
    /* Elements that no window reaches lie beyond the end: there the padding is positive. */
    Value *more = sub(g, sdx_vjp_shape(g, s->x, 2, -1), sdx_vjp_shape(g, full, 2, -1));
    Value *before = sdx_vjp_list(g, minus, s->n), *behind = sub(g, more, before);
    Value *dx = padded(g, s, full, sdx_vjp_concat(g, (Value *[]){ before, behind }, 2, 0));
    return s->pads ? padded(g, s, dx, neg(g, s->pads)) : dx;
}

static Value *swapped(Vjp *g, Value *v, int rank)
{
    int64_t perm[SDX_MAX_RANK];
    for (int i = 0; i < rank; i++) perm[i] = i < 2 ? 1 - i : i;
    return sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, rank), 1);
}

/* Where windows lie one beside the other, dx is a convolution too: with the kernel turned round, its channels exchanged. */
static Value *convolved_back(Vjp *g, const Windows *s, Value *d, Value *w)
{
    int64_t pads[2 * AXES], from[AXES], to[AXES], step[AXES], perm[SDX_MAX_RANK];
    int n = s->n, rank = n + 3;
    for (int i = 0; i < n; i++) {
        int64_t reach = s->dilations[i] * (size_of(w, i + 2) - 1);
        if (size_of(w, i + 2) < 1 || s->strides[i] != 1 || s->begins[i] > reach || s->ends[i] > reach) return NULL;
        pads[i] = reach - s->begins[i];
        pads[n + i] = reach - s->ends[i];
        from[i] = -1, to[i] = INT64_MIN, step[i] = -1;
    }
    if (rank > SDX_MAX_RANK) return NULL;
    /* [M, C/g, ...] as [g, M/g, C/g, ...], then [C, M/g, ...] */
    Value *list[] = { w, sdx_vjp_list(g, from, n), sdx_vjp_list(g, to, n), sdx_vjp_list(g, s->axes, n),
                      sdx_vjp_list(g, step, n) };
    Value *turned = sdx_vjp_with(g, "Slice", list, 5, NULL, 0), *tail = sdx_vjp_shape(g, w, 1, -1);
    Value *head = sdx_vjp_list(g, (int64_t[]){ s->group, -1 }, 2), *rest = sdx_vjp_list(g, (int64_t[]){ -1 }, 1);
    turned = sdx_vjp_op(g, "Reshape", turned, sdx_vjp_concat(g, (Value *[]){ head, tail }, 2, 0), NULL);
    for (int i = 0; i < rank; i++) perm[i] = i == 1 || i == 2 ? 3 - i : i;
    turned = sdx_vjp_with(g, "Transpose", &turned, 1, &VJP_INTS("perm", perm, rank), 1);
    tail = sdx_vjp_shape(g, turned, 2, -1);
    turned = sdx_vjp_op(g, "Reshape", turned, sdx_vjp_concat(g, (Value *[]){ rest, tail }, 2, 0), NULL);
    Attr attrs[] = { VJP_INTS("dilations", s->dilations, n), VJP_INTS("pads", pads, 2 * n),
                     VJP_INT("group", s->group) };
    Value *dx = sdx_vjp_with(g, "Conv", (Value *[]){ d, turned }, 2, attrs, 3);
    return s->pads ? padded(g, s, dx, neg(g, s->pads)) : dx;
}

/* x [N, C, ...] as [C/g, g N, ...]: the groups side by side, each with its batch for channels. */
static Value *batch_as_channels(Vjp *g, const Windows *s, Value *x, int rank)
{
    int64_t perm[SDX_MAX_RANK];
    if (s->group == 1) return swapped(g, x, rank);
    if (rank + 1 > SDX_MAX_RANK) return NULL;
    Value *sizes = sdx_vjp_shape(g, x, 2, -1), *split = sdx_vjp_list(g, (int64_t[]){ s->group, -1 }, 2);
    Value *to = sdx_vjp_concat(g, (Value *[]){ sdx_vjp_shape(g, x, 0, 1), split, sizes }, 3, 0);
    for (int i = 0; i <= rank; i++) perm[i] = i < 3 ? 2 - i : i;
    Value *v = sdx_vjp_reshape(g, x, to);
    v = sdx_vjp_with(g, "Transpose", &v, 1, &VJP_INTS("perm", perm, rank + 1), 1);
    to = sdx_vjp_concat(g, (Value *[]){ sdx_vjp_shape(g, v, 0, 1), sdx_vjp_list(g, (int64_t[]){ -1 }, 1), sizes }, 3,
                        0);
    return sdx_vjp_reshape(g, v, to);
}

/* For kernels that are large, or of unknown size: dw convolves x with d, batch and channels having changed places. The step
 * from one element of dw to the next is the dilation, and d is dilated by the stride. */
static Value *weights_by_windows(Vjp *g, const Windows *s, Value *x, Value *d, Value *w)
{
    int64_t pads[2 * AXES];
    int rank = s->n + 2;
    for (int i = 0; i < s->n; i++) pads[i] = s->begins[i], pads[s->n + i] = s->ends[i];
    Attr attrs[] = { VJP_INTS("strides", s->dilations, s->n), VJP_INTS("dilations", s->strides, s->n),
                     VJP_INTS("pads", pads, 2 * s->n), VJP_INT("group", s->group) };
    Value *list[] = { batch_as_channels(g, s, x, rank), swapped(g, d, rank) };
    Value *all = swapped(g, sdx_vjp_with(g, "Conv", list, 2, attrs, 4), rank);
    /* Elements behind the last window make it larger than w. */
    Value *cut[] = { all, sdx_vjp_list(g, s->zeros, s->n), sdx_vjp_shape(g, w, 2, -1), sdx_vjp_list(g, s->axes, s->n) };
    return sdx_vjp_with(g, "Slice", cut, 4, NULL, 0);
}

/* [N, C, ...] as [N, groups, C / groups, elements] */
static Value *as_rows(Vjp *g, const Windows *s, Value *v)
{
    Value *one = sdx_vjp_list(g, (int64_t[]){ -1 }, 1);
    Value *channels = sdx_vjp_shape(g, v, 1, 2), *groups = sdx_vjp_list(g, &s->group, 1);
    Value *shape[] = { sdx_vjp_shape(g, v, 0, 1), groups, over(g, channels, groups), one };
    return sdx_vjp_op(g, "Reshape", v, sdx_vjp_concat(g, shape, 4, 0), NULL);
}

/* The adjoint of w [M, C/g, ...] where windows of x give rise to d [N, M, ...]. For each element of the kernel, the elements
 * of x that it met, times d, summed over all places: one product, with the elements of the kernel one below the other. */
static Value *weights_back(Vjp *g, const Windows *s, Value *x, Value *d, Value *w)
{
    int64_t tap[AXES] = { 0 }, pads[2 * AXES], n_taps = 1;
    bool pad = false;
    for (int i = 0; i < s->n; i++) {
        int64_t k = size_of(w, i + 2);
        if (k < 1 || n_taps > MAX_TAPS / k) return weights_by_windows(g, s, x, d, w);
        n_taps *= k;
        pads[i] = s->begins[i], pads[s->n + i] = s->ends[i];
        pad = pad || pads[i] || pads[s->n + i];
    }
    if (pad) x = padded(g, s, x, sdx_vjp_list(g, pads, 2 * s->n));
    Value *axes = sdx_vjp_list(g, s->axes, s->n), *strides = sdx_vjp_list(g, s->strides, s->n);
    Value *length = mul(g, minus_one(g, sdx_vjp_shape(g, d, 2, -1)), strides); /* from the first window to the last */
    Value **rows = sdx_vjp_room(g, (int)n_taps);
    for (int64_t t = 0; t < n_taps && rows; t++) {
        int64_t from[AXES], next[AXES];
        for (int i = 0; i < s->n; i++) from[i] = tap[i] * s->dilations[i], next[i] = from[i] + 1;
        Value *list[] = { x, sdx_vjp_list(g, from, s->n), add(g, length, sdx_vjp_list(g, next, s->n)), axes, strides };
        rows[t] = as_rows(g, s, sdx_vjp_with(g, "Slice", list, 5, NULL, 0));
        for (int i = s->n - 1; i >= 0 && ++tap[i] == size_of(w, i + 2); i--) tap[i] = 0;
    }
    if (!rows) return NULL;
    static const int64_t last_two[] = { 0, 1, 3, 2 }, order[] = { 0, 3, 2, 1 }, batch[] = { 0 };
    Value *columns = as_rows(g, s, d);
    columns = sdx_vjp_with(g, "Transpose", &columns, 1, &VJP_INTS("perm", last_two, 4), 1);
    Value *all = sdx_vjp_concat(g, rows, (int)n_taps, 2);
    Value *dw = sdx_vjp_reduce(g, "ReduceSum", sdx_vjp_op(g, "MatMul", all, columns, NULL), batch, 1, false);
    /* [g, taps * C/g, M/g] as [g, taps, C/g, M/g] */
    Value *shape[] = { sdx_vjp_list(g, (int64_t[]){ s->group, n_taps, -1 }, 3), sdx_vjp_shape(g, dw, 2, 3) };
    dw = sdx_vjp_op(g, "Reshape", dw, sdx_vjp_concat(g, shape, 2, 0), NULL);
    return sdx_vjp_reshape_like(g, sdx_vjp_with(g, "Transpose", &dw, 1, &VJP_INTS("perm", order, 4), 1), w);
}

static void give_bias(Vjp *g, int i, int rank)
{
    int64_t axes[SDX_MAX_RANK] = { 0 };
    for (int k = 2; k < rank; k++) axes[k - 1] = k;
    if (sdx_vjp_wants(g, i)) sdx_vjp_give(g, i, sdx_vjp_reduce(g, "ReduceSum", dy(g, 0), axes, rank - 1, false));
}

void sdx_back_conv(Vjp *g)
{
    Value *w = in(g, 1), *d = dy(g, 0);
    int rank = sdx_vjp_rank(g, in(g, 0));
    Windows s;
    if (!windows_read(g, &s, rank, sdx_vjp_shape(g, w, 2, -1))) return;
    if (sdx_vjp_wants(g, 0)) {
        Value *dx = convolved_back(g, &s, d, w);
        sdx_vjp_give(g, 0, dx ? dx : spread(g, &s, d, w));
    }
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give(g, 1, weights_back(g, &s, s.x, d, w));
    give_bias(g, 2, rank);
}

/* The other way about: dx is a convolution of dy, and dw that of a convolution from dy to x. */
void sdx_back_convtranspose(Vjp *g)
{
    int64_t pads[2 * AXES];
    Value *x = in(g, 0), *w = in(g, 1), *d = dy(g, 0);
    int rank = sdx_vjp_rank(g, x);
    const Attr *auto_pad = sdx_node_attr(g->n, "auto_pad");
    Windows s;
    if (sdx_node_attr(g->n, "output_shape") || (auto_pad && !sdx_vjp_word(g, "auto_pad", "NOTSET"))) {
        sdx_vjp_fail(g, "its gradient is not known with output_shape or auto_pad");
        return;
    }
    if (!windows_read(g, &s, rank, NULL)) return;
    for (int i = 0; i < s.n; i++) pads[i] = s.begins[i], pads[s.n + i] = s.ends[i];
    Attr attrs[] = { VJP_INTS("strides", s.strides, s.n), VJP_INTS("dilations", s.dilations, s.n),
                     VJP_INTS("pads", pads, 2 * s.n), VJP_INT("group", s.group) };
    if (sdx_vjp_wants(g, 0)) {
        Value *all = sdx_vjp_with(g, "Conv", (Value *[]){ d, w }, 2, attrs, 4);
        /* output_padding of a stride or more would give further windows. */
        Value *cut[] = { all, sdx_vjp_list(g, s.zeros, s.n), sdx_vjp_shape(g, x, 2, -1), sdx_vjp_list(g, s.axes, s.n) };
        sdx_vjp_give(g, 0, sdx_vjp_with(g, "Slice", cut, 4, NULL, 0));
    }
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give(g, 1, weights_back(g, &s, d, x, w));
    give_bias(g, 2, rank);
}

/* Indices count through all of x. */
void sdx_back_maxpool(Vjp *g)
{
    if (sdx_vjp_int(g, "storage_order", 0)) sdx_vjp_fail(g, "its gradient is not known for storage_order 1");
    sdx_vjp_give(g, 0, sdx_vjp_scatter(g, in(g, 0), sdx_vjp_out(g, 1), dy(g, 0)));
}

void sdx_back_globalaveragepool(Vjp *g)
{
    Value *share = mul(g, dy(g, 0), sdx_vjp_ratio(g, in(g, 0), out(g), true));
    sdx_vjp_give(g, 0, sdx_vjp_expand_like(g, share, in(g, 0)));
}

/* Each channel by itself is a convolution with ones, divided by the number of elements in the window: those of the
 * kernel, or without padding what pooling ones tells. */
void sdx_back_averagepool(Vjp *g)
{
    int64_t kernel[AXES + 2] = { 1, 1 }, count = 1, pads[2 * AXES];
    Value *x = in(g, 0), *d = dy(g, 0);
    int rank = sdx_vjp_rank(g, x);
    Windows s;
    if (sdx_vjp_int(g, "ceil_mode", 0)) sdx_vjp_fail(g, "its gradient is not known for ceil_mode 1");
    if (rank < 3) return;
    sdx_vjp_ints(g, "kernel_shape", kernel + 2, rank - 2, 1);
    if (!windows_read(g, &s, rank, sdx_vjp_list(g, kernel + 2, rank - 2))) return;
    for (int i = 0; i < s.n; i++) count *= kernel[i + 2], pads[i] = s.begins[i], pads[s.n + i] = s.ends[i];
    if (sdx_vjp_int(g, "count_include_pad", 0)) {
        d = scale(g, d, 1. / (double)count);
    } else {
        Attr attrs[] = { VJP_INTS("kernel_shape", kernel + 2, s.n), VJP_INTS("strides", s.strides, s.n),
                         VJP_INTS("dilations", s.dilations, s.n), VJP_INTS("pads", pads, 2 * s.n),
                         VJP_INT("count_include_pad", 1) };
        Value *ones = sdx_vjp_fill_like(g, 1, x);
        if (s.pads) ones = padded(g, &s, ones, s.pads);
        d = over(g, d, scale(g, sdx_vjp_with(g, "AveragePool", &ones, 1, attrs, 5), (double)count));
    }
    /* [N, C, ...] as [N C, 1, ...] */
    Value *one = sdx_vjp_list(g, (int64_t[]){ -1, 1 }, 2), *sizes = sdx_vjp_shape(g, d, 2, -1);
    Value *flat = sdx_vjp_reshape(g, d, sdx_vjp_concat(g, (Value *[]){ one, sizes }, 2, 0));
    Value *w = sdx_vjp_fill(g, 1, x->type.elem, sdx_vjp_list(g, kernel, rank));
    sdx_vjp_give(g, 0, sdx_vjp_reshape_like(g, spread(g, &s, flat, w), x));
}
