/* ops/gridsample.c - GridSample
 *
 * For each output position the grid names a point of the input in [-1, 1] coordinates, last axis first; values come
 * from the nearest element, or linearly or cubically (a = -0.75) from its neighbours. Points outside read zeros, the
 * border element, or the input mirrored at its ends. Any number of spatial axes; nearest also moves types that cannot
 * be computed with. */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

typedef struct GridSampleAttrs {
    int64_t align_corners;
    Str mode, padding_mode;
} GridSampleAttrs;

static const AttrSpec gridsample_attrs[] = { OP_INT(GridSampleAttrs, align_corners, 0),
                                             OP_STR(GridSampleAttrs, mode, "linear"),
                                             OP_STR(GridSampleAttrs, padding_mode, "zeros"), OP_ATTR_END };

enum { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };
enum { PAD_ZEROS, PAD_BORDER, PAD_REFLECTION };

static int name_index(Str s, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == s.n && !memcmp(names[i], s.p, s.n)) return i;
    return -1;
}

static int grid_mode(Str s)
{
    static const char *const names[] = { "nearest", "linear", "cubic", NULL };
    return name_index(s, names);
}

static int grid_padding(Str s)
{
    static const char *const names[] = { "zeros", "border", "reflection", NULL };
    return name_index(s, names);
}

static sdx_status gridsample_infer(Infer *c)
{
    const GridSampleAttrs *a = c->args;
    int mode = grid_mode(a->mode);
    if (mode < 0) return sdx_infer_fail(c, "mode is not nearest, linear or cubic");
    if (grid_padding(a->padding_mode) < 0) return sdx_infer_fail(c, "padding_mode is not zeros, border or reflection");
    char cls = sdx_dtype_class(c->in[0]->elem);
    if (mode != GRID_NEAREST && (cls == 'T' || cls == 'C' || cls == 'B'))
        return sdx_infer_fail(c, "%s can only be sampled with mode nearest", sdx_dtype_name(c->in[0]->elem));
    TRY(infer_rank_between(c, 0, 3, 8, "X"));
    const Shape *x = infer_shape(c, 0), *g = infer_shape(c, 1);
    if (!x || !g) return SDX_OK;
    if (g->rank != x->rank)
        return sdx_infer_fail(c, "the grid has rank %d against %d of X", (int)g->rank, (int)x->rank);
    if (dim_differs(g->dims[g->rank - 1], x->rank - 2))
        return sdx_infer_fail(c, "the grid has %lld coordinates; X has %d spatial axes",
                              (long long)g->dims[g->rank - 1], (int)x->rank - 2);
    if (dim_differs(g->dims[0], x->dims[0]))
        return sdx_infer_fail(c, "the grid has %lld items; X has %lld", (long long)g->dims[0], (long long)x->dims[0]);
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[0] = dim_prefer(x->dims[0], g->dims[0]);
    y[1] = x->dims[1];
    for (int k = 2; k < x->rank; k++) y[k] = g->dims[k - 1];
    return SDX_OK;
}

#define GRID_AXES 6
#define GRID_CHUNK 256 /* points whose neighbours are looked up at once, for all channels */

typedef struct GridJob {
    const GridSampleAttrs *a;
    const Tensor *x, *grid;
    Tensor y;
    int mode, padding, n, taps; /* taps along one axis */
    int64_t points, in_size, channels;
} GridJob;

/* Reflects x between lo and hi (hi > lo). */
static double reflect(double x, double lo, double hi)
{
    double range = hi - lo;
    if (x < lo) {
        double d = lo - x, turns = floor(d / range), rest = d - turns * range;
        return fmod(turns, 2) == 0 ? lo + rest : hi - rest;
    }
    if (x > hi) {
        double d = x - hi, turns = floor(d / range), rest = d - turns * range;
        return fmod(turns, 2) == 0 ? hi - rest : lo + rest;
    }
    return x;
}

/* Index for element i of an axis under the padding mode; -1: reads as zero. */
static int64_t grid_index(const GridJob *j, double i, int64_t n)
{
    if (i >= 0 && i <= (double)(n - 1)) return (int64_t)i;
    if (j->padding == PAD_ZEROS || i != i) return -1;
    if (j->padding == PAD_REFLECTION && isfinite(i)) {
        if (j->a->align_corners)
            i = n == 1 ? 0 : reflect(i, 0, (double)(n - 1));
        else
            i = reflect(i, -0.5, (double)n - 0.5);
    }
    return i < 0 ? 0 : i > (double)(n - 1) ? n - 1 : (int64_t)i;
}

static void cubic_weights(double t, double *w)
{
    const double a = -0.75;
    double d[4] = { t + 1, t, 1 - t, 2 - t };
    for (int k = 0; k < 4; k++)
        w[k] = k == 1 || k == 2 ? ((a + 2) * d[k] - (a + 3)) * d[k] * d[k] + 1
                                : ((a * d[k] - 5 * a) * d[k] + 8 * a) * d[k] - 4 * a;
}

/* Along axis k at coordinate g: taps' indices and weights. */
static void grid_axis(const GridJob *j, int k, double g, int64_t *index, double *weight)
{
    int64_t n = j->x->dims[2 + k];
    double x = j->a->align_corners ? (g + 1) / 2 * (double)(n - 1) : ((g + 1) * (double)n - 1) / 2;
    if (j->mode == GRID_NEAREST) x = nearbyint(x);
    /* Border and reflection first move the point itself; cubic looks up its taps one by one. */
    if (j->mode != GRID_CUBIC && isfinite(x)) {
        bool corners = j->a->align_corners;
        double lo = corners ? 0 : -0.5, hi = corners ? (double)(n - 1) : (double)n - 0.5;
        if (j->padding == PAD_REFLECTION && (x < lo || x > hi)) x = n == 1 && corners ? 0 : reflect(x, lo, hi);
        if (j->padding != PAD_ZEROS) x = x < 0 ? 0 : x > (double)(n - 1) ? (double)(n - 1) : x;
    }
    if (j->mode == GRID_NEAREST) {
        index[0] = grid_index(j, nearbyint(x), n);
        weight[0] = 1;
        return;
    }
    double base = floor(x), t = x - base;
    if (j->mode == GRID_LINEAR) {
        weight[0] = 1 - t;
        weight[1] = t;
        index[0] = grid_index(j, base, n);
        index[1] = grid_index(j, base + 1, n);
        return;
    }
    cubic_weights(t, weight);
    for (int i = 0; i < 4; i++) index[i] = grid_index(j, base - 1 + i, n);
}

#define T float
#define FN(name) name##_f32
#include "ops/gridsample_tmpl.h"
#define T double
#define FN(name) name##_f64
#include "ops/gridsample_tmpl.h"

/* Types that are moved, or integers: one element at a time. */
static void grid_other(void *arg, int64_t from, int64_t to, int worker)
{
    const GridJob *j = arg;
    size_t es = sdx_dtype_size(j->x->dtype);
    for (int64_t u = from; u < to; u++) {
        int64_t item = u / j->points, point = u % j->points;
        int64_t index[GRID_AXES][4];
        double weight[GRID_AXES][4];
        for (int k = 0; k < j->n; k++)
            grid_axis(j, k, sdx_tensor_get_double(j->grid, u * j->n + (j->n - 1 - k)), index[k], weight[k]);
        int combos = 1;
        for (int k = 0; k < j->n; k++) combos *= j->taps;
        for (int64_t c = 0; c < j->channels; c++) {
            int64_t plane = item * j->channels + c, to_at = plane * j->points + point;
            double sum = 0;
            int64_t found = -1;
            for (int i = 0; i < combos; i++) {
                int64_t at = 0;
                double w = 1;
                for (int k = 0, rest = i; k < j->n && at >= 0; k++, rest /= j->taps) {
                    int64_t tap = index[k][rest % j->taps];
                    at = tap < 0 ? -1 : at * j->x->dims[2 + k] + tap;
                    w *= weight[k][rest % j->taps];
                }
                if (at < 0) continue;
                found = plane * j->in_size + at;
                if (j->mode != GRID_NEAREST) sum += w * sdx_tensor_get_double(j->x, found);
            }
            if (j->mode != GRID_NEAREST)
                sdx_tensor_set_double((Tensor *)&j->y, to_at, trunc(sum));
            else if (found < 0)
                memset((char *)j->y.data + (size_t)to_at * es, 0, es);
            else
                memcpy((char *)j->y.data + (size_t)to_at * es, (const char *)j->x->data + (size_t)found * es, es);
        }
    }
}

static sdx_status gridsample_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, *g = &r->in[1]->t;
    GridJob j = { .a = r->args, .x = x, .grid = g, .n = x->rank - 2, .channels = x->dims[1] };
    j.mode = grid_mode(j.a->mode);
    j.padding = grid_padding(j.a->padding_mode);
    j.taps = j.mode == GRID_NEAREST ? 1 : j.mode == GRID_LINEAR ? 2 : 4;
    j.in_size = sdx_dims_product(x->dims, 2, x->rank);
    j.points = sdx_dims_product(g->dims, 1, g->rank - 1);
    int64_t dims[SDX_MAX_RANK] = { x->dims[0], x->dims[1] };
    for (int k = 2; k < x->rank; k++) dims[k] = g->dims[k - 1];
    j.y.dtype = x->dtype;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &j.y.data));
    if (x->dims[0] * j.channels * j.points == 0) return SDX_OK;
    if (j.in_size == 0) return sdx_run_fail(r, "X has no elements to sample");
    int64_t work = j.channels;
    for (int k = 0; k < j.n; k++) work *= j.taps;
    if (x->dtype == DT_FLOAT || x->dtype == DT_DOUBLE) {
        int64_t chunks = (j.points + GRID_CHUNK - 1) / GRID_CHUNK;
        sdx_run_range(r, x->dims[0] * chunks, grain_for(work * GRID_CHUNK),
                      x->dtype == DT_FLOAT ? grid_floats_f32 : grid_floats_f64, &j);
    } else {
        sdx_run_range(r, x->dims[0] * j.points, grain_for(4 * work), grid_other, &j);
    }
    return SDX_OK;
}

/* Before 20 two of the modes had other names. */
static sdx_status gridsample_from_16(Node *n, Err *err)
{
    const Attr *mode = sdx_node_attr(n, "mode");
    bool cubic = mode && mode->type == ATTR_STRING && mode->s.n == 7 && !memcmp(mode->s.p, "bicubic", 7);
    bool linear = !mode || (mode->type == ATTR_STRING && mode->s.n == 8 && !memcmp(mode->s.p, "bilinear", 8));
    if ((cubic || linear) && !sdx_node_set_string(n, "mode", cubic ? "cubic" : "linear"))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

#define GRID_TYPES (TS_NUM | TS_BOOL | TS_STR | TS_CPX)
static const OpVer gridsample_vers[] = {
    { 22, { GRID_TYPES | TS_BF16, TS_FLTB } },
    { 20, { GRID_TYPES, TS_FLT } },
    { 16, { GRID_TYPES, TS_FLT }, gridsample_from_16 },
    { 0 },
};

const OpDef sdx_op_GridSample = {
    .name = "GridSample",
    .sig = "T,U->T",
    .attrs = gridsample_attrs,
    .attrs_size = sizeof(GridSampleAttrs),
    .vers = gridsample_vers,
    .flags = OP_F32_MATH,
    .infer = gridsample_infer,
    .cpu = { NULL, gridsample_run },
};
