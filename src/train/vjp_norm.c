/* Normalisation: u = (x - mean) / sqrt(var + epsilon) over some axes, y = u * scale + bias.
 *
 * With e = dy * scale:   dx = (e - mean(e) - u mean(e u)) / sqrt(var + epsilon), the term mean(e) where the mean was
 * subtracted. What the forward node computed on the way is computed again, unless rewriting finds both. */
#include "train/vjp.h"

typedef struct Norm {
    const int64_t *axes;
    int n;
    bool centred;
    Value *u, *inverse; /* 1 / sqrt(var + epsilon) */
} Norm;

static Value *mean(Vjp *g, const Norm *s, Value *v) { return sdx_vjp_reduce(g, "ReduceMean", v, s->axes, s->n, true); }

static Value *inverse_root(Vjp *g, Value *var, double epsilon)
{
    return apply(g, "Reciprocal", apply(g, "Sqrt", shift(g, var, epsilon)));
}

static void norm_forward(Vjp *g, Norm *s, Value *x, double epsilon)
{
    Value *c = s->centred ? sub(g, x, mean(g, s, x)) : x;
    s->inverse = inverse_root(g, mean(g, s, square(g, c)), epsilon);
    s->u = mul(g, c, s->inverse);
}

static Value *norm_back(Vjp *g, const Norm *s, Value *e)
{
    Value *d = sub(g, e, mul(g, s->u, mean(g, s, mul(g, e, s->u))));
    if (s->centred) d = sub(g, d, mean(g, s, e));
    return mul(g, d, s->inverse);
}

/* The last axes, and a scale that broadcasts. */
static void norm_last(Vjp *g, bool centred)
{
    int64_t axes[SDX_MAX_RANK];
    int rank = sdx_vjp_rank(g, in(g, 0)), axis = sdx_vjp_axis(g, sdx_vjp_int(g, "axis", -1), rank);
    Value *d = dy(g, 0);
    for (int o = 1; o < g->n->n_out; o++)
        if (dy(g, o)) sdx_vjp_fail(g, "its gradient is not known for output %d", o);
    if (!d) return;
    for (int i = axis; i < rank; i++) axes[i - axis] = i;
    Norm s = { .axes = axes, .n = rank - axis, .centred = centred };
    norm_forward(g, &s, in(g, 0), sdx_vjp_float(g, "epsilon", 1e-5f));
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give(g, 0, norm_back(g, &s, mul(g, d, in(g, 1))));
    if (sdx_vjp_wants(g, 1)) sdx_vjp_give_sum(g, 1, mul(g, d, s.u));
    sdx_vjp_give_sum(g, 2, d);
}

void sdx_back_layernorm(Vjp *g) { norm_last(g, true); }
void sdx_back_rmsnorm(Vjp *g) { norm_last(g, false); }

/* Of scale and bias: the sums over all axes but that of the channels, 1. */
static void give_channels(Vjp *g, Value *u, int rank)
{
    int64_t axes[SDX_MAX_RANK] = { 0 };
    for (int i = 2; i < rank; i++) axes[i - 1] = i;
    if (sdx_vjp_wants(g, 1))
        sdx_vjp_give(g, 1, sdx_vjp_reduce(g, "ReduceSum", mul(g, dy(g, 0), u), axes, rank - 1, false));
    if (sdx_vjp_wants(g, 2)) sdx_vjp_give(g, 2, sdx_vjp_reduce(g, "ReduceSum", dy(g, 0), axes, rank - 1, false));
}

void sdx_back_instancenorm(Vjp *g)
{
    int64_t axes[SDX_MAX_RANK];
    int rank = sdx_vjp_rank(g, in(g, 0));
    for (int i = 2; i < rank; i++) axes[i - 2] = i;
    Norm s = { .axes = axes, .n = rank - 2, .centred = true };
    norm_forward(g, &s, in(g, 0), sdx_vjp_float(g, "epsilon", 1e-5f));
    Value *e = mul(g, dy(g, 0), sdx_vjp_channels(g, in(g, 1), rank));
    if (sdx_vjp_wants(g, 0)) sdx_vjp_give(g, 0, norm_back(g, &s, e));
    give_channels(g, s.u, rank);
}

/* Groups of channels are seen as [N, groups, the rest], normalised over the rest. */
void sdx_back_groupnorm(Vjp *g)
{
    static const int64_t axes[] = { 2 };
    Value *x = in(g, 0);
    int rank = sdx_vjp_rank(g, x);
    Value *groups = sdx_vjp_list(g, (int64_t[]){ 0, sdx_vjp_int(g, "num_groups", 1), -1 }, 3);
    Norm s = { .axes = axes, .n = 1, .centred = true };
    norm_forward(g, &s, sdx_vjp_op(g, "Reshape", x, groups, NULL), sdx_vjp_float(g, "epsilon", 1e-5f));
    Value *e = mul(g, dy(g, 0), sdx_vjp_channels(g, in(g, 1), rank));
    Value *dx = norm_back(g, &s, sdx_vjp_op(g, "Reshape", e, groups, NULL));
    sdx_vjp_give(g, 0, sdx_vjp_reshape_like(g, dx, x));
    give_channels(g, sdx_vjp_reshape_like(g, s.u, x), rank);
}

/* With given mean and variance y is linear in x; in training they are those of the batch. */
void sdx_back_batchnorm(Vjp *g)
{
    int64_t axes[SDX_MAX_RANK] = { 0 };
    Value *x = in(g, 0), *d = dy(g, 0);
    int rank = sdx_vjp_rank(g, x);
    for (int i = 2; i < rank; i++) axes[i - 1] = i;
    for (int o = 1; o < g->n->n_out; o++)
        if (dy(g, o)) sdx_vjp_fail(g, "its gradient is not known for output %d", o);
    if (rank < 2) sdx_vjp_fail(g, "its gradient is not known for rank %d", rank);
    if (!d || rank < 2) return;
    double epsilon = sdx_vjp_float(g, "epsilon", 1e-5f);
    Value *e = mul(g, d, sdx_vjp_channels(g, in(g, 1), rank));
    Norm s = { .axes = axes, .n = rank - 1, .centred = true };
    if (sdx_vjp_int(g, "training_mode", 0)) {
        norm_forward(g, &s, x, epsilon);
        if (sdx_vjp_wants(g, 0)) sdx_vjp_give(g, 0, norm_back(g, &s, e));
        give_channels(g, s.u, rank);
        return;
    }
    Value *inverse = inverse_root(g, in(g, 4), epsilon), *column = sdx_vjp_channels(g, inverse, rank);
    Value *u = mul(g, sub(g, x, sdx_vjp_channels(g, in(g, 3), rank)), column), *dx = mul(g, e, column);
    sdx_vjp_give(g, 0, dx);
    give_channels(g, u, rank);
    if (sdx_vjp_wants(g, 3)) sdx_vjp_give(g, 3, neg(g, sdx_vjp_reduce(g, "ReduceSum", dx, axes, rank - 1, false)));
    if (sdx_vjp_wants(g, 4)) {
        Value *sum = sdx_vjp_reduce(g, "ReduceSum", mul(g, e, u), axes, rank - 1, false);
        sdx_vjp_give(g, 4, scale(g, mul(g, sum, square(g, inverse)), -0.5));
    }
}

/* y = x / |x| along an axis, |x| the sum of magnitudes or the Euclidean length: with d|x|/dx = sign x or y,
 * dx = (dy - d|x|/dx sum(dy y)) / |x|, 0 where |x| is. */
void sdx_back_lpnorm(Vjp *g)
{
    Value *x = in(g, 0), *y = out(g), *d = dy(g, 0);
    int64_t axis = sdx_vjp_int(g, "axis", -1), p = sdx_vjp_int(g, "p", 2);
    Value *length = sdx_vjp_reduce(g, p == 1 ? "ReduceL1" : "ReduceL2", x, &axis, 1, true);
    Value *sum = sdx_vjp_reduce(g, "ReduceSum", mul(g, d, y), &axis, 1, true);
    Value *zero = sdx_vjp_num(g, x, 0), *none = sdx_vjp_op(g, "Equal", length, zero, NULL);
    Value *safe = where(g, none, sdx_vjp_num(g, x, 1), length);
    Value *dx = over(g, sub(g, d, mul(g, p == 1 ? apply(g, "Sign", x) : y, sum)), safe);
    sdx_vjp_give(g, 0, where(g, none, zero, dx));
}

/* The mean over `before` channels in front of each and `behind` channels after it: [N, C, the rest] as an image. */
static Value *mean_of_channels(Vjp *g, Value *v, int64_t before, int64_t behind)
{
    const int64_t kernel[] = { before + behind + 1, 1 }, pads[] = { before, 0, behind, 0 };
    Attr attrs[] = { VJP_INTS("kernel_shape", kernel, 2), VJP_INTS("pads", pads, 4), VJP_INT("count_include_pad", 1) };
    Value *one = sdx_vjp_list(g, (int64_t[]){ 1 }, 1), *rest = sdx_vjp_list(g, (int64_t[]){ -1 }, 1);
    Value *shape[] = { sdx_vjp_shape(g, v, 0, 1), one, sdx_vjp_shape(g, v, 1, 2), rest };
    Value *image = sdx_vjp_op(g, "Reshape", v, sdx_vjp_concat(g, shape, 4, 0), NULL);
    return sdx_vjp_reshape_like(g, sdx_vjp_with(g, "AveragePool", &image, 1, attrs, 3), v);
}

/* y = x s^-beta, s = bias + alpha mean(x^2) over neighbouring channels:
 * dx = dy s^-beta - 2 alpha beta x mean'(dy y / s), mean' over the channels that see this one. */
void sdx_back_lrn(Vjp *g)
{
    Value *x = in(g, 0), *d = dy(g, 0);
    int64_t size = sdx_vjp_int(g, "size", 1), before = (size - 1) / 2, behind = size - 1 - before;
    double alpha = sdx_vjp_float(g, "alpha", 1e-4f), beta = sdx_vjp_float(g, "beta", 0.75f);
    Value *s = shift(g, scale(g, mean_of_channels(g, square(g, x), before, behind), alpha),
                     sdx_vjp_float(g, "bias", 1));
    Value *power = s ? sdx_vjp_op(g, "Pow", s, sdx_vjp_num(g, s, -beta), NULL) : NULL;
    Value *seen = mean_of_channels(g, over(g, mul(g, d, out(g)), s), behind, before);
    sdx_vjp_give(g, 0, sub(g, mul(g, d, power), scale(g, mul(g, x, seen), 2 * alpha * beta)));
}
