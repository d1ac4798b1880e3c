/* ops/resize.c - Resize; Upsample becomes one at import
 *
 * Output position x along an axis looks at input position
 *     half_pixel            (x + 0.5) / scale - 0.5           pytorch_half_pixel: 0 when the output has size 1
 *     half_pixel_symmetric  half_pixel, shifted so that the centres agree when out != in * scale
 *     asymmetric            x / scale
 *     align_corners         x * (in - 1) / (in * scale - 1)
 *     tf_half_pixel_for_nn  (x + 0.5) / scale                 (gone since 13, kept for what came before)
 *     tf_crop_and_resize    the region roi; outside [0, in - 1] the result is extrapolation_value
 * where scale is scales[i], or sizes[i] / in. The position decides the taps and their weights: 1 (nearest), 2 (linear)
 * or 4 (cubic), more when antialiasing a shrinking axis; taps beyond the ends repeat the end element, or with
 * exclude_outside count for nothing. The axes are independent: each that changes is one pass over the data, the
 * shrinking ones first. Integers are computed in float and truncated. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

typedef struct ResizeAttrs {
    Str mode, coordinate_transformation_mode, nearest_mode, keep_aspect_ratio_policy;
    int64_t antialias, exclude_outside;
    float cubic_coeff_a, extrapolation_value;
    IntList axes;
} ResizeAttrs;

static const AttrSpec resize_attrs[] = { OP_INT(ResizeAttrs, antialias, 0),
                                         OP_INTS(ResizeAttrs, axes),
                                         OP_STR(ResizeAttrs, coordinate_transformation_mode, "half_pixel"),
                                         OP_FLOAT(ResizeAttrs, cubic_coeff_a, -0.75f),
                                         OP_INT(ResizeAttrs, exclude_outside, 0),
                                         OP_FLOAT(ResizeAttrs, extrapolation_value, 0),
                                         OP_STR(ResizeAttrs, keep_aspect_ratio_policy, "stretch"),
                                         OP_STR(ResizeAttrs, mode, "nearest"),
                                         OP_STR(ResizeAttrs, nearest_mode, "round_prefer_floor"),
                                         OP_ATTR_END };

enum { MODE_NEAREST, MODE_LINEAR, MODE_CUBIC };
enum { CO_HALF_PIXEL, CO_SYMMETRIC, CO_PYTORCH, CO_ALIGN, CO_ASYMMETRIC, CO_TF_NN, CO_CROP };
enum { NEAR_FLOOR_HALF, NEAR_CEIL_HALF, NEAR_FLOOR, NEAR_CEIL };
enum { KEEP_STRETCH, KEEP_NOT_LARGER, KEEP_NOT_SMALLER };

/* Index of s in a list of names that ends with NULL; -1 when absent. */
static int name_index(Str s, const char *const *names)
{
    for (int i = 0; names[i]; i++)
        if (strlen(names[i]) == s.n && !memcmp(names[i], s.p, s.n)) return i;
    return -1;
}

typedef struct ResizeModes {
    int mode, coord, nearest, keep;
} ResizeModes;

static ResizeModes resize_modes(const ResizeAttrs *a)
{
    static const char *const modes[] = { "nearest", "linear", "cubic", NULL };
    static const char *const coords[] = { "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
                                          "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize", NULL };
    static const char *const nearest[] = { "round_prefer_floor", "round_prefer_ceil", "floor", "ceil", NULL };
    static const char *const keep[] = { "stretch", "not_larger", "not_smaller", NULL };
    return (ResizeModes){ name_index(a->mode, modes), name_index(a->coordinate_transformation_mode, coords),
                          name_index(a->nearest_mode, nearest), name_index(a->keep_aspect_ratio_policy, keep) };
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

/* Axes that scales, sizes and roi speak of. */
static int resize_axes(const ResizeAttrs *a, int rank, int *axes)
{
    if (!a->axes.v) {
        for (int k = 0; k < rank; k++) axes[k] = k;
        return rank;
    }
    for (int64_t i = 0; i < a->axes.n; i++) axes[i] = (int)(a->axes.v[i] < 0 ? a->axes.v[i] + rank : a->axes.v[i]);
    return (int)a->axes.n;
}

static int64_t round_half_up(double v) { return (int64_t)floor(v + 0.5); }

/* Sizes and scales in numbers; scale and out are for all axes of x. */
static void resize_sizes(const ResizeAttrs *a, int keep, int rank, const int64_t *in, const float *scales,
                         const int64_t *sizes, double *scale, int64_t *out)
{
    int axes[SDX_MAX_RANK], n = resize_axes(a, rank, axes);
    for (int k = 0; k < rank; k++) {
        scale[k] = 1;
        out[k] = in[k];
    }
    if (scales) {
        for (int i = 0; i < n; i++) {
            scale[axes[i]] = (double)scales[i];
            out[axes[i]] = (int64_t)floor((double)in[axes[i]] * (double)scales[i]);
        }
        return;
    }
    double common = 0;
    for (int i = 0; i < n; i++) {
        double s = in[axes[i]] ? (double)sizes[i] / (double)in[axes[i]] : 1;
        scale[axes[i]] = s;
        out[axes[i]] = sizes[i];
        if (i == 0 || (keep == KEEP_NOT_LARGER ? s < common : s > common)) common = s;
    }
    if (keep == KEEP_STRETCH) return;
    for (int i = 0; i < n; i++) {
        scale[axes[i]] = common;
        out[axes[i]] = round_half_up(common * (double)in[axes[i]]);
    }
}

static bool has_elements(const Infer *c, int i)
{
    if (!infer_has(c, i)) return false;
    const Shape *s = infer_shape(c, i);
    return !s || s->rank != 1 || s->dims[0] != 0;
}

static sdx_status resize_check(Infer *c, const Shape *x)
{
    const ResizeAttrs *a = c->args;
    ResizeModes m = resize_modes(a);
    if (m.mode < 0) return sdx_infer_fail(c, "mode is not nearest, linear or cubic");
    if (m.coord < 0) return sdx_infer_fail(c, "coordinate_transformation_mode is not known");
    if (m.nearest < 0) return sdx_infer_fail(c, "nearest_mode is not known");
    if (m.keep < 0) return sdx_infer_fail(c, "keep_aspect_ratio_policy is not stretch, not_larger or not_smaller");
    if (m.mode != MODE_NEAREST && (c->in[0]->elem == DT_STRING || sdx_dtype_class(c->in[0]->elem) == 'C'))
        return sdx_infer_fail(c, "%s can only be resized with mode nearest", sdx_dtype_name(c->in[0]->elem));
    if (!x) return SDX_OK;
    bool seen[SDX_MAX_RANK] = { false };
    for (int64_t i = 0; i < a->axes.n; i++) {
        int axis;
        TRY(sdx_infer_axis(c, a->axes.v[i], x->rank, &axis));
        if (seen[axis]) return sdx_infer_fail(c, "axis %d occurs twice", axis);
        seen[axis] = true;
    }
    int axes[SDX_MAX_RANK], n = resize_axes(a, x->rank, axes);
    if (has_elements(c, 1) && m.coord == CO_CROP) TRY(infer_is_vector(c, 1, 2 * n, "roi"));
    if (has_elements(c, 2)) TRY(infer_is_vector(c, 2, n, "scales"));
    if (has_elements(c, 3)) TRY(infer_is_vector(c, 3, n, "sizes"));
    if (m.coord == CO_CROP && !has_elements(c, 1)) return sdx_infer_fail(c, "tf_crop_and_resize needs roi");
    return SDX_OK;
}

static sdx_status resize_infer(Infer *c)
{
    const ResizeAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    TRY(resize_check(c, x));
    if (!x) return SDX_OK;
    bool by_scale = has_elements(c, 2), by_size = has_elements(c, 3);
    if (!by_scale && !by_size) return sdx_infer_fail(c, "one of scales and sizes is needed");
    const Shape *scale_shape = by_scale ? infer_shape(c, 2) : NULL;
    bool surely_scale = by_scale && scale_shape && scale_shape->rank == 1 && sdx_dim_is_const(scale_shape->dims[0]);
    if (by_scale && by_size && surely_scale && infer_shape(c, 3) && sdx_dim_is_const(infer_shape(c, 3)->dims[0]))
        return sdx_infer_fail(c, "scales and sizes are both given");
    int axes[SDX_MAX_RANK], n = resize_axes(a, x->rank, axes);
    ResizeModes m = resize_modes(a);
    Dim *out = infer_out_rank(c, 0, x->rank);
    bool touched[SDX_MAX_RANK] = { false };
    for (int i = 0; i < n; i++) touched[axes[i]] = true;
    for (int k = 0; k < x->rank; k++)
        if (!touched[k]) out[k] = x->dims[k];
    if (by_scale && by_size) return SDX_OK; /* which one is empty shows at run time */
    if (by_scale) {
        const Tensor *t = sdx_infer_const(c, 2);
        if (!t || sdx_tensor_count(t) != n) return SDX_OK;
        for (int i = 0; i < n; i++) {
            double s = sdx_tensor_get_double(t, i);
            if (!(s > 0) || !(s < 1e9)) return sdx_infer_fail(c, "scales[%d] is %g; it must be positive", i, s);
            Dim d = x->dims[axes[i]];
            if (sdx_dim_is_const(d))
                out[axes[i]] = (Dim)floor((double)d * s);
            else if (s == floor(s))
                out[axes[i]] = infer_mul(c, d, (Dim)s);
        }
        return SDX_OK;
    }
    DimVec v;
    if (!sdx_infer_ints(c, 3, &v) || v.n != n) return SDX_OK;
    bool numbers = true;
    int64_t sizes[SDX_MAX_RANK] = { 0 }, in[SDX_MAX_RANK] = { 0 }, exact[SDX_MAX_RANK];
    for (int i = 0; i < n; i++) {
        if (v.v[i].known && v.v[i].v < 0) return sdx_infer_fail(c, "sizes[%d] is %lld", i, (long long)v.v[i].v);
        if (m.keep == KEEP_STRETCH) out[axes[i]] = sdx_dim_of(v.v[i]);
        sizes[i] = v.v[i].v;
        numbers &= v.v[i].known;
    }
    if (m.keep == KEEP_STRETCH) return SDX_OK;
    for (int k = 0; k < x->rank; k++) {
        in[k] = sdx_dim_is_const(x->dims[k]) ? x->dims[k] : 1;
        numbers &= sdx_dim_is_const(x->dims[k]) || !touched[k];
    }
    if (!numbers) return SDX_OK;
    double scale[SDX_MAX_RANK];
    resize_sizes(a, m.keep, x->rank, in, NULL, sizes, scale, exact);
    for (int i = 0; i < n; i++) out[axes[i]] = exact[axes[i]];
    return SDX_OK;
}

/* -- tables -------------------------------------------------------------------------------------------------------- */

typedef struct ResizeAxis {
    int axis;
    int64_t in, out;
    int taps;
    int64_t *index; /* out * taps; nearest: out, -1 where extrapolated */
    float *weight;  /* out * taps; the first is NaN where extrapolated */
} ResizeAxis;

typedef struct ResizePlan {
    int mode, rank, n; /* axes that change, in the order of the passes */
    int64_t out_dims[SDX_MAX_RANK];
    ResizeAxis axes[SDX_MAX_RANK];
    int64_t most; /* elements of the largest result between two passes */
} ResizePlan;

static double cubic_weight(double x, double a)
{
    x = fabs(x);
    if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Input position of output x. */
static double resize_position(int coord, int64_t x, int64_t in, int64_t out, double scale, const double *roi)
{
    double width = scale * (double)in;
    switch (coord) {
    case CO_ALIGN: return width == 1 || out == 1 ? 0 : (double)x * (double)(in - 1) / (width - 1);
    case CO_ASYMMETRIC: return (double)x / scale;
    case CO_TF_NN: return ((double)x + 0.5) / scale;
    case CO_PYTORCH: return out == 1 ? 0 : ((double)x + 0.5) / scale - 0.5;
    case CO_SYMMETRIC: return (double)in / 2 * (1 - (double)out / width) + ((double)x + 0.5) / scale - 0.5;
    case CO_CROP:
        if (out == 1) return (roi[0] + roi[1]) * (double)(in - 1) / 2;
        return roi[0] * (double)(in - 1) + (double)x * (roi[1] - roi[0]) * (double)(in - 1) / (double)(out - 1);
    default: return ((double)x + 0.5) / scale - 0.5;
    }
}

/* NaN, which scales and regions from outside can make, is 0. */
static int64_t clamp_index(double i, int64_t in) { return !(i > 0) ? 0 : i > (double)(in - 1) ? in - 1 : (int64_t)i; }

static int64_t nearest_index(int mode, double x, int64_t in)
{
    double below = floor(x), part = x - below;
    bool up = part > 0 &&
              (mode == NEAR_CEIL || (mode == NEAR_FLOOR_HALF && part > 0.5) || (mode == NEAR_CEIL_HALF && part >= 0.5));
    return clamp_index(below + up, in);
}

/* Fills row j of an axis for position x. `first`: tap 0 relative to the element left of x (or x itself). */
static void resize_weights(const ResizeAttrs *a, ResizeAxis *ax, int64_t j, double x, int first, double shrink,
                           bool cubic)
{
    double base = ceil(x) - 1, ratio = x - base, sum = 0; /* ratio in (0, 1] */
    double w[64], *weights = w;
    float *out = ax->weight + j * ax->taps;
    int64_t *index = ax->index + j * ax->taps;
    for (int t = 0; t < ax->taps; t++) {
        double at = base + first + t, d = (first + t - ratio) * shrink;
        double v = cubic ? cubic_weight(d, (double)a->cubic_coeff_a) : fabs(d) < 1 ? 1 - fabs(d) : 0;
        if (a->exclude_outside && (at < 0 || at > (double)(ax->in - 1))) v = 0;
        index[t] = clamp_index(at, ax->in);
        if (ax->taps <= 64)
            weights[t] = v;
        else
            out[t] = (float)v;
        sum += v;
    }
    bool normalise = a->exclude_outside || shrink != 1;
    for (int t = 0; t < ax->taps; t++) {
        double v = ax->taps <= 64 ? weights[t] : (double)out[t];
        out[t] = (float)(normalise && sum != 0 ? v / sum : v);
    }
}

/* Memory for the tables: the plan's arena, or the run's heap. */
typedef struct ResizeMemory {
    Arena *arena;
    Run *run;
} ResizeMemory;

static void *resize_get(const ResizeMemory *m, int64_t count, size_t size)
{
    size_t nbytes;
    if (count < 0 || !sdx_mul_size(&nbytes, (size_t)count, size)) return NULL;
    return m->arena ? sdx_arena_alloc(m->arena, nbytes, SDX_ALIGN) : sdx_run_heap(m->run, nbytes);
}

/* false: no memory. */
static bool resize_table(const ResizeAttrs *a, const ResizeModes *m, const ResizeMemory *mem, ResizeAxis *ax,
                         double scale, const double *roi)
{
    double shrink = a->antialias && scale < 1 && m->mode != MODE_NEAREST ? scale : 1;
    int first = 0;
    ax->taps = 1;
    if (m->mode == MODE_LINEAR) first = (int)floor(-1 / shrink) + 1;
    if (m->mode == MODE_CUBIC) first = (int)floor(-2 / shrink) + 1;
    if (m->mode != MODE_NEAREST) ax->taps = 2 - 2 * first;
    int64_t entries;
    if (!sdx_mul_i64(&entries, ax->out, ax->taps)) return false;
    ax->index = resize_get(mem, entries, sizeof *ax->index);
    ax->weight = m->mode == MODE_NEAREST ? NULL : resize_get(mem, entries, sizeof *ax->weight);
    if (!ax->index || (!ax->weight && m->mode != MODE_NEAREST)) return false;
    for (int64_t j = 0; j < ax->out; j++) {
        double x = resize_position(m->coord, j, ax->in, ax->out, scale, roi);
        bool outside = m->coord == CO_CROP && (x < 0 || x > (double)(ax->in - 1));
        if (m->mode == MODE_NEAREST) {
            ax->index[j] = outside ? -1 : nearest_index(m->nearest, x, ax->in);
            continue;
        }
        resize_weights(a, ax, j, x, first, shrink, m->mode == MODE_CUBIC);
        if (outside) ax->weight[j * ax->taps] = NAN;
    }
    return true;
}

/* NULL, or what is wrong. */
static const char *resize_plan(const ResizeAttrs *a, const Tensor *x, const Tensor *roi, const Tensor *scales,
                               const Tensor *sizes, const ResizeMemory *mem, ResizePlan *p)
{
    ResizeModes m = resize_modes(a);
    int axes[SDX_MAX_RANK], n = resize_axes(a, x->rank, axes);
    float scale_in[SDX_MAX_RANK];
    int64_t size_in[SDX_MAX_RANK];
    bool by_scale = scales && sdx_tensor_count(scales) > 0;
    const Tensor *t = by_scale ? scales : sizes;
    if (!t || sdx_tensor_count(t) != n) return "scales or sizes must have one value for each axis";
    for (int i = 0; i < n; i++) {
        if (by_scale) {
            scale_in[i] = (float)sdx_tensor_get_double(t, i);
            if (!(scale_in[i] > 0) || !(scale_in[i] < 1e9f)) return "a scale is not positive";
        } else if ((size_in[i] = sdx_tensor_get_int(t, i)) < 0) {
            return "a size is negative";
        }
    }
    if (m.coord == CO_CROP && (!roi || sdx_tensor_count(roi) != 2 * n)) return "roi must have two values for each axis";
    double scale[SDX_MAX_RANK];
    p->mode = m.mode;
    p->rank = x->rank;
    p->n = 0;
    resize_sizes(a, m.keep, x->rank, x->dims, by_scale ? scale_in : NULL, size_in, scale, p->out_dims);
    int64_t count;
    if (!sdx_shape_count(p->out_dims, p->rank, &count)) return "the result does not fit the address space";
    for (int pass = 0; pass < 2; pass++) /* shrinking axes first, then the others; the last axes first */
        for (int i = n - 1; i >= 0; i--) {
            int k = axes[i];
            bool same = x->dims[k] == p->out_dims[k] && scale[k] == 1 && m.coord != CO_CROP;
            if (same || (p->out_dims[k] < x->dims[k]) != (pass == 0)) continue;
            double crop[2] = { 0, 1 };
            if (m.coord == CO_CROP) {
                crop[0] = sdx_tensor_get_double(roi, i);
                crop[1] = sdx_tensor_get_double(roi, n + i);
            }
            ResizeAxis *ax = &p->axes[p->n++];
            *ax = (ResizeAxis){ .axis = k, .in = x->dims[k], .out = p->out_dims[k] };
            if (count == 0) continue;
            if (ax->in == 0) return "an empty axis cannot grow";
            if (!resize_table(a, &m, mem, ax, scale[k], crop)) return "out of memory";
        }
    p->most = 0;
    int64_t dims[SDX_MAX_RANK], between;
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i + 1 < p->n; i++) {
        dims[p->axes[i].axis] = p->axes[i].out;
        if (!sdx_shape_count(dims, p->rank, &between)) return "the result does not fit the address space";
        if (between > p->most) p->most = between;
    }
    return NULL;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

enum { BLEND_TAPS = 32 };

typedef struct PassJob {
    const Kern *kern;
    const ResizeAxis *ax;
    const void *x;
    void *y;
    int64_t inner;
    double outside;
} PassJob;

#define T float
#define FN(name) name##_f32
#include "ops/resize_tmpl.h"
#define T double
#define FN(name) name##_f64
#include "ops/resize_tmpl.h"

/* As pass_inner_f32, all taps of an output at once. */
static void pass_blend(void *arg, int64_t from, int64_t to, int worker)
{
    const PassJob *j = arg;
    const ResizeAxis *ax = j->ax;
    for (int64_t u = from; u < to; u++) {
        int64_t o = u % ax->out;
        const float *w = ax->weight + o * ax->taps, *x = (const float *)j->x + u / ax->out * ax->in * j->inner;
        float *y = (float *)j->y + u * j->inner, outside = (float)j->outside;
        if (w[0] != w[0]) {
            j->kern->fill[2](y, &outside, (size_t)j->inner);
            continue;
        }
        const float *row[BLEND_TAPS];
        for (int t = 0; t < ax->taps; t++) row[t] = x + ax->index[o * ax->taps + t] * j->inner;
        j->kern->blend_taps_f32(y, row, w, (size_t)ax->taps, (size_t)j->inner);
    }
}

typedef struct NearestJob {
    const ResizePlan *p;
    const int64_t *in_dims;
    const char *x;
    char *y;
    size_t esize;
    const int64_t *last; /* input of each output along the last axis; NULL: all as they are */
    char fill[16];
} NearestJob;

static const int64_t *nearest_table(const ResizePlan *p, int axis)
{
    for (int i = 0; i < p->n; i++)
        if (p->axes[i].axis == axis) return p->axes[i].index;
    return NULL;
}

/* Rows of outputs along the last axis. */
static void nearest_range(void *arg, int64_t from, int64_t to, int worker)
{
    const NearestJob *j = arg;
    const ResizePlan *p = j->p;
    int64_t cols = p->out_dims[p->rank - 1], in_cols = j->in_dims[p->rank - 1];
    size_t es = j->esize;
    for (int64_t u = from; u < to; u++) {
        int64_t rest = u, step = in_cols, at = 0;
        bool outside = false;
        for (int k = p->rank - 2; k >= 0; k--) {
            const int64_t *table = nearest_table(p, k);
            int64_t o = rest % p->out_dims[k], i = table ? table[o] : o;
            rest /= p->out_dims[k];
            outside |= i < 0;
            at += i * step;
            step *= j->in_dims[k];
        }
        const char *x = j->x + (outside ? 0 : at) * (int64_t)es;
        char *y = j->y + u * cols * (int64_t)es;
        if (!outside && !j->last) {
            memcpy(y, x, (size_t)cols * es);
            continue;
        }
        for (int64_t o = 0; o < cols; o++) {
            int64_t i = outside ? -1 : j->last ? j->last[o] : o;
            const char *src = i < 0 ? j->fill : x + i * (int64_t)es;
            switch (es) {
            case 1: y[o] = *src; break;
            case 2: memcpy(y + o * 2, src, 2); break;
            case 4: memcpy(y + o * 4, src, 4); break;
            case 8: memcpy(y + o * 8, src, 8); break;
            default: memcpy(y + o * 16, src, 16); break;
            }
        }
    }
}

static void resize_nearest(const Run *r, const ResizePlan *p, void *y)
{
    const ResizeAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    NearestJob j = { .p = p, .in_dims = x->dims, .x = x->data, .y = y, .esize = sdx_dtype_size(x->dtype) };
    char cls = sdx_dtype_class(x->dtype);
    Tensor fill = { .dtype = x->dtype, .rank = 0, .data = j.fill };
    if (cls == 'C') fill.dtype = x->dtype == DT_COMPLEX64 ? DT_FLOAT : DT_DOUBLE;
    if (cls != 'T') sdx_tensor_set_double(&fill, 0, (double)a->extrapolation_value);
    j.last = p->rank ? nearest_table(p, p->rank - 1) : NULL;
    int64_t cols = p->out_dims[p->rank - 1];
    sdx_run_range(r, sdx_dims_product(p->out_dims, 0, p->rank - 1), grain_for(cols), nearest_range, &j);
}

/* Elements of a tensor as float, or back with truncation. */
static void to_float(const Tensor *x, float *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) y[i] = (float)sdx_tensor_get_double(x, i);
}

static void from_float(const float *x, Tensor *y, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sdx_tensor_set_double(y, i, trunc((double)x[i]));
}

static sdx_status resize_passes(Run *r, const Kern *kern, const ResizePlan *p, void *y)
{
    const ResizeAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    bool f64 = x->dtype == DT_DOUBLE, direct = f64 || x->dtype == DT_FLOAT;
    size_t esize = f64 ? 8 : 4;
    int64_t count = sdx_tensor_count(x), results = sdx_dims_product(p->out_dims, 0, p->rank);
    char *between[2] = { NULL, NULL };
    const void *src = x->data;
    void *last = y;
    for (int i = 0; i < 2 && p->n > 1 + i; i++) TRY_MEM(between[i] = sdx_run_heap(r, (size_t)p->most * esize), r->err);
    if (!direct) {
        float *in = sdx_run_heap(r, (size_t)count * sizeof *in);
        last = sdx_run_heap(r, (size_t)results * sizeof(float));
        TRY_MEM(in && last ? in : NULL, r->err);
        to_float(x, in, count);
        src = in;
    }
    int64_t dims[SDX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < p->n; i++) {
        const ResizeAxis *ax = &p->axes[i];
        PassJob j = { .kern = kern,
                      .ax = ax,
                      .x = src,
                      .y = i == p->n - 1 ? last : between[i % 2],
                      .inner = sdx_dims_product(dims, ax->axis + 1, p->rank),
                      .outside = (double)a->extrapolation_value };
        int64_t outer = sdx_dims_product(dims, 0, ax->axis);
        RangeFn inner = f64 ? pass_inner_f64 : ax->taps <= BLEND_TAPS ? pass_blend : pass_inner_f32;
        if (j.inner == 1)
            sdx_run_range(r, outer, grain_for(ax->out * ax->taps), f64 ? pass_rows_f64 : pass_rows_f32, &j);
        else
            sdx_run_range(r, outer * ax->out, grain_for(j.inner * ax->taps), inner, &j);
        src = j.y;
        dims[ax->axis] = ax->out;
    }
    if (!direct) from_float(last, &(Tensor){ .dtype = x->dtype, .data = y }, results);
    return SDX_OK;
}

static const Tensor *resize_input(const Datum *const *in, int n_in, int i)
{
    return i < n_in && in[i] ? &in[i]->t : NULL;
}

typedef struct ResizeState {
    const Kern *kern;
    const ResizePlan *plan; /* NULL: sizes or scales are known in run only */
} ResizeState;

static sdx_status resize_prepare(Prepare *p)
{
    ResizeState *st = sdx_arena_new(p->arena, ResizeState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    for (int i = 1; i < p->n_in; i++)
        if (p->in[i] && !p->in_const[i]) return SDX_OK;
    ResizePlan *plan = sdx_arena_new(p->arena, ResizePlan);
    TRY_MEM(plan, p->err);
    ResizeMemory mem = { .arena = p->arena };
    const char *bad = resize_plan(p->args, &p->in[0]->t, resize_input(p->in, p->n_in, 1),
                                  resize_input(p->in, p->n_in, 2), resize_input(p->in, p->n_in, 3), &mem, plan);
    if (bad) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "%s", bad);
    st->plan = plan;
    return SDX_OK;
}

static sdx_status resize_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    const ResizeState *st = r->state;
    const ResizePlan *p = st->plan;
    ResizePlan local;
    if (!p) {
        ResizeMemory mem = { .run = r };
        const char *bad = resize_plan(r->args, x, resize_input(r->in, r->n_in, 1), resize_input(r->in, r->n_in, 2),
                                      resize_input(r->in, r->n_in, 3), &mem, &local);
        if (bad) return sdx_run_fail(r, "%s", bad);
        p = &local;
    }
    void *y;
    size_t nbytes;
    TRY(sdx_run_output(r, 0, x->dtype, p->rank, p->out_dims, &y));
    if (sdx_dims_product(p->out_dims, 0, p->rank) == 0) return SDX_OK;
    if (p->n == 0) {
        if (sdx_tensor_nbytes(x, &nbytes)) memcpy(y, x->data, nbytes);
        return SDX_OK;
    }
    if (p->mode != MODE_NEAREST) return resize_passes(r, st->kern, p, y);
    resize_nearest(r, p, y);
    return SDX_OK;
}

/* -- versions ------------------------------------------------------------------------------------------------------ */

/* Are all factors known to be at most 1 (sign < 0), or at least 1? */
static bool scales_known(const Value *scales, int sign)
{
    const Tensor *t = scales ? scales->constant : NULL;
    if (!t || t->dtype != DT_FLOAT) return false;
    for (int64_t i = 0; i < sdx_tensor_count(t); i++)
        if (sign < 0 ? ((const float *)t->data)[i] > 1 : ((const float *)t->data)[i] < 1) return false;
    return true;
}

static Attr string_attr(const char *name, const char *v)
{
    return (Attr){ .name = name, .type = ATTR_STRING, .n = 1, .s = { v, strlen(v) } };
}

/* Version 10 had two inputs and asymmetric positions, rounded down. The text says nothing of sizes that shrink; its
 * test data, like the runtimes of the time, rounds up there, axis by axis. Where an axis may do either, one node shrinks
 * and the next one enlarges. */
static sdx_status resize_from_10(Node *n, Err *err)
{
    static const float one = 1;
    TRY(sdx_upgrade_needs(n, 2, err));
    Value *in[3] = { n->in[0], NULL, n->in[1] };
    const Attr *mode = sdx_node_attr(n, "mode");
    bool linear = mode && mode->type == ATTR_STRING && mode->s.n > 0 && strchr("bl", mode->s.p[0]);
    bool grows = linear || scales_known(in[2], 1), shrinks = !grows && scales_known(in[2], -1);
    if (!grows && !shrinks) {
        const Attr attrs[] = { string_attr("mode", "nearest"), string_attr("nearest_mode", "ceil"),
                               string_attr("coordinate_transformation_mode", "asymmetric") };
        Value *bound = sdx_upgrade_const_floats(n, &one, 1, err);
        Value *low = bound ? sdx_upgrade_before(n, "Min", (Value *[]){ in[2], bound }, 2, err) : NULL;
        Value *high = low ? sdx_upgrade_before(n, "Max", (Value *[]){ in[2], bound }, 2, err) : NULL;
        Value *small = high ? sdx_upgrade_before_with(n, "Resize", attrs, 3, (Value *[]){ in[0], NULL, low }, 3, err)
                            : NULL;
        if (!small) return SDX_OUT_OF_MEMORY;
        in[0] = small;
        in[2] = high;
    }
    if (!sdx_node_set_inputs(n, in, 3) || !sdx_node_set_string(n, "coordinate_transformation_mode", "asymmetric") ||
        !sdx_node_set_string(n, "nearest_mode", shrinks ? "ceil" : "floor"))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    if (mode && mode->type == ATTR_STRING && mode->s.n == 8 && !memcmp(mode->s.p, "bilinear", 8) &&
        !sdx_node_set_string(n, "mode", "linear"))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

#define RESIZE_10 (TS_NUM | TS_BOOL | TS_STR | TS_CPX)
static const OpVer resize_vers[] = {
    { 19, { RESIZE_10 | TS_BF16, TS_FLT } },       { 18, { RESIZE_10 | TS_BF16, TS_FLT } },
    { 13, { RESIZE_10 | TS_BF16, TS_FLT } },       { 11, { RESIZE_10, TS_FLT } },
    { 10, { RESIZE_10, TS_FLT }, resize_from_10 }, { 0 },
};

const OpDef sdx_op_Resize = {
    .name = "Resize",
    .sig = "T,U?,f32?,i64?->T",
    .attrs = resize_attrs,
    .attrs_size = sizeof(ResizeAttrs),
    .vers = resize_vers,
    .flags = OP_F32_MATH,
    .infer = resize_infer,
    .cpu = { resize_prepare, resize_run },
};

static sdx_status upsample_from_9(Node *n, Err *err)
{
    TRY(resize_from_10(n, err));
    return sdx_upgrade_rename(n, "Resize", err);
}

static sdx_status upsample_from_7(Node *n, Err *err) { return sdx_upgrade_floats_to_input(n, "scales", 1, err); }

/* Version 1: images only, one factor each way. */
static sdx_status upsample_from_1(Node *n, Err *err)
{
    float scales[4] = { 1, 1, sdx_upgrade_float(n, "height_scale", 1), sdx_upgrade_float(n, "width_scale", 1) };
    sdx_node_drop_attr(n, "height_scale");
    sdx_node_drop_attr(n, "width_scale");
    if (!sdx_node_set_floats(n, "scales", scales, 4)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

static const OpVer upsample_vers[] = {
    { 10, { RESIZE_10 }, upsample_from_9 },
    { 9, { RESIZE_10 } },
    { 7, { RESIZE_10 }, upsample_from_7 },
    { 1, { TS_FLT | TS_I32 | TS_I64 | TS_BOOL }, upsample_from_1 },
    { 0 },
};

typedef struct UpsampleAttrs {
    Str mode;
} UpsampleAttrs;

static const AttrSpec upsample_attrs[] = { OP_STR(UpsampleAttrs, mode, "nearest"), OP_ATTR_END };

/* Exists at import only. */
const OpDef sdx_op_Upsample = {
    .name = "Upsample",
    .sig = "T,f32->T",
    .attrs = upsample_attrs,
    .attrs_size = sizeof(UpsampleAttrs),
    .vers = upsample_vers,
};
