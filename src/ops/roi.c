/* ops/roi.c - RoiAlign, MaxRoiPool: fixed-size pieces of an image, one for each region. */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

typedef struct RoiAttrs {
    Str coordinate_transformation_mode, mode;
    int64_t output_height, output_width, sampling_ratio;
    float spatial_scale;
    IntList pooled_shape;
} RoiAttrs;

static bool str_is(Str s, const char *name) { return s.n == strlen(name) && !memcmp(s.p, name, s.n); }

/* -- RoiAlign ------------------------------------------------------------------------------------------------------ */

/* Each cell of the output averages bilinear samples on a regular grid inside its part of the region (or takes the
 * largest weighted neighbour, which is what mode max means). half_pixel shifts regions by -0.5. */
static const AttrSpec roialign_attrs[] = { OP_STR(RoiAttrs, coordinate_transformation_mode, "half_pixel"),
                                           OP_STR(RoiAttrs, mode, "avg"),
                                           OP_INT(RoiAttrs, output_height, 1),
                                           OP_INT(RoiAttrs, output_width, 1),
                                           OP_INT(RoiAttrs, sampling_ratio, 0),
                                           OP_FLOAT(RoiAttrs, spatial_scale, 1),
                                           OP_ATTR_END };

static sdx_status roialign_infer(Infer *c)
{
    const RoiAttrs *a = c->args;
    if (!str_is(a->coordinate_transformation_mode, "half_pixel") &&
        !str_is(a->coordinate_transformation_mode, "output_half_pixel"))
        return sdx_infer_fail(c, "coordinate_transformation_mode is not half_pixel or output_half_pixel");
    if (!str_is(a->mode, "avg") && !str_is(a->mode, "max")) return sdx_infer_fail(c, "mode is not avg or max");
    if (a->output_height < 1 || a->output_width < 1 || a->output_height > INT32_MAX || a->output_width > INT32_MAX)
        return sdx_infer_fail(c, "the output size is %lld x %lld; it must be positive", (long long)a->output_height,
                              (long long)a->output_width);
    if (a->sampling_ratio < 0) return sdx_infer_fail(c, "sampling_ratio is %lld", (long long)a->sampling_ratio);
    TRY(infer_rank_between(c, 0, 4, 4, "X"));
    TRY(infer_rank_between(c, 1, 2, 2, "rois"));
    TRY(infer_rank_between(c, 2, 1, 1, "batch_indices"));
    const Shape *x = infer_shape(c, 0), *rois = infer_shape(c, 1), *batch = infer_shape(c, 2);
    if (rois && dim_differs(rois->dims[1], 4))
        return sdx_infer_fail(c, "rois have %lld coordinates; they need 4", (long long)rois->dims[1]);
    if (rois && batch && dim_differs(rois->dims[0], batch->dims[0]))
        return sdx_infer_fail(c, "%lld rois against %lld batch_indices", (long long)rois->dims[0],
                              (long long)batch->dims[0]);
    Dim *y = infer_out_rank(c, 0, 4);
    y[0] = dim_prefer(rois ? rois->dims[0] : SDX_DIM_UNKNOWN, batch ? batch->dims[0] : SDX_DIM_UNKNOWN);
    y[1] = x ? x->dims[1] : SDX_DIM_UNKNOWN;
    y[2] = a->output_height;
    y[3] = a->output_width;
    return SDX_OK;
}

/* A sample: four neighbours and their weights; weight 0 where the point lies outside. */
typedef struct Sample {
    int64_t at[4];
    double w[4];
} Sample;

static Sample roi_sample(double y, double x, int64_t h, int64_t w)
{
    Sample s = { { 0 }, { 0 } };
    if (!(y >= -1 && y <= (double)h && x >= -1 && x <= (double)w)) return s;
    y = y < 0 ? 0 : y;
    x = x < 0 ? 0 : x;
    int64_t y0 = (int64_t)y, x0 = (int64_t)x, y1 = y0 + 1, x1 = x0 + 1;
    if (y0 >= h - 1) y0 = y1 = h - 1, y = (double)y0;
    if (x0 >= w - 1) x0 = x1 = w - 1, x = (double)x0;
    double ly = y - (double)y0, lx = x - (double)x0;
    return (Sample){ { y0 * w + x0, y0 * w + x1, y1 * w + x0, y1 * w + x1 },
                     { (1 - ly) * (1 - lx), (1 - ly) * lx, ly * (1 - lx), ly * lx } };
}

#define ROI_GRID_LIMIT 1e8 /* samples of one cell */

typedef struct RoiJob {
    const RoiAttrs *a;
    const Tensor *x, *rois, *batch;
    Tensor y;
    bool half_pixel, max;
} RoiJob;

/* All channels of one region. */
static void roialign_one(const RoiJob *j, int64_t roi)
{
    const RoiAttrs *a = j->a;
    int64_t channels = j->x->dims[1], h = j->x->dims[2], w = j->x->dims[3], oh = a->output_height, ow = a->output_width;
    double shift = j->half_pixel ? 0.5 : 0, scale = (double)a->spatial_scale, c[4];
    for (int k = 0; k < 4; k++) c[k] = sdx_tensor_get_double(j->rois, roi * 4 + k) * scale - shift;
    double width = c[2] - c[0], height = c[3] - c[1];
    if (!j->half_pixel) {
        width = width < 1 ? 1 : width;
        height = height < 1 ? 1 : height;
    }
    double bin_h = height / (double)oh, bin_w = width / (double)ow;
    double gh = a->sampling_ratio > 0 ? (double)a->sampling_ratio : ceil(bin_h);
    double gw = a->sampling_ratio > 0 ? (double)a->sampling_ratio : ceil(bin_w);
    int64_t ny = gh > 0 ? (int64_t)gh : 0, nx = gw > 0 ? (int64_t)gw : 0;
    double count = ny * nx > 1 ? (double)(ny * nx) : 1;
    int64_t item = sdx_tensor_get_int(j->batch, roi);
    bool f64 = j->x->dtype == DT_DOUBLE;
    for (int64_t ch = 0; ch < channels; ch++)
        for (int64_t py = 0; py < oh; py++)
            for (int64_t px = 0; px < ow; px++) {
                double result = 0;
                bool first = true;
                for (int64_t iy = 0; iy < ny; iy++)
                    for (int64_t ix = 0; ix < nx; ix++) {
                        double y = c[1] + (double)py * bin_h + ((double)iy + 0.5) * bin_h / gh;
                        double x = c[0] + (double)px * bin_w + ((double)ix + 0.5) * bin_w / gw;
                        Sample s = roi_sample(y, x, h, w);
                        double best = -INFINITY, sum = 0;
                        for (int k = 0; k < 4; k++) {
                            int64_t at = (item * channels + ch) * h * w + s.at[k];
                            double v = f64 ? ((const double *)j->x->data)[at] : (double)((const float *)j->x->data)[at];
                            v *= s.w[k];
                            sum += v;
                            best = v > best ? v : best;
                        }
                        if (!j->max)
                            result += sum;
                        else
                            result = first || best > result ? best : result;
                        first = false;
                    }
                if (!j->max) result /= count;
                int64_t at = ((roi * channels + ch) * oh + py) * ow + px;
                if (f64)
                    ((double *)j->y.data)[at] = result;
                else
                    ((float *)j->y.data)[at] = (float)result;
            }
}

static void roialign_range(void *arg, int64_t from, int64_t to, int worker)
{
    for (int64_t i = from; i < to; i++) roialign_one(arg, i);
}

static sdx_status roialign_run(Run *r)
{
    const RoiAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    RoiJob j = { .a = a,
                 .x = x,
                 .rois = &r->in[1]->t,
                 .batch = &r->in[2]->t,
                 .y = { .dtype = x->dtype },
                 .half_pixel = str_is(a->coordinate_transformation_mode, "half_pixel"),
                 .max = str_is(a->mode, "max") };
    int64_t n = j.rois->dims[0], dims[4] = { n, x->dims[1], a->output_height, a->output_width };
    TRY(sdx_run_output(r, 0, x->dtype, 4, dims, &j.y.data));
    if (sdx_dims_product(dims, 0, 4) == 0) return SDX_OK;
    if (x->dims[2] * x->dims[3] == 0) return sdx_run_fail(r, "the image is empty");
    for (int64_t i = 0; i < n; i++) {
        int64_t item = sdx_tensor_get_int(j.batch, i);
        if (item < 0 || item >= x->dims[0])
            return sdx_run_fail(r, "batch_indices[%lld] is %lld; it must lie in [0, %lld)", (long long)i,
                                (long long)item, (long long)x->dims[0]);
        double area = 1;
        for (int k = 0; k < 2; k++) {
            double size = fabs(sdx_tensor_get_double(j.rois, i * 4 + 2 + k) - sdx_tensor_get_double(j.rois, i * 4 + k));
            area *= size * fabs((double)a->spatial_scale) + 1;
        }
        double samples = (double)a->sampling_ratio;
        samples = samples > 0 ? samples * samples : area / ((double)a->output_height * (double)a->output_width) + 1;
        if (!(samples < ROI_GRID_LIMIT)) return sdx_run_fail(r, "region %lld is too large or not finite", (long long)i);
    }
    sdx_run_range(r, n, 1, roialign_range, &j);
    return SDX_OK;
}

static sdx_status roialign_from_10(Node *n, Err *err)
{
    if (!sdx_node_set_string(n, "coordinate_transformation_mode", "output_half_pixel"))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return SDX_OK;
}

static const OpVer roialign_vers[] = {
    { 22, { TS_FLTB, TS_I64 } },
    { 16, { TS_FLT, TS_I64 } },
    { 10, { TS_FLT, TS_I64 }, roialign_from_10 },
    { 0 },
};

const OpDef sdx_op_RoiAlign = {
    .name = "RoiAlign",
    .sig = "T,T,U->T",
    .attrs = roialign_attrs,
    .attrs_size = sizeof(RoiAttrs),
    .vers = roialign_vers,
    .flags = OP_F32_MATH,
    .infer = roialign_infer,
    .cpu = { NULL, roialign_run },
};

/* -- MaxRoiPool ---------------------------------------------------------------------------------------------------- */

/* rois are (item, x1, y1, x2, y2) with both ends inside; their corners round to whole pixels, and cells are the whole
 * pixels that their share of the region touches. Empty cells give 0. */
static const AttrSpec maxroipool_attrs[] = {
    { .name = "pooled_shape", .type = ATTR_INTS, .offset = offsetof(RoiAttrs, pooled_shape), .required = true },
    OP_FLOAT(RoiAttrs, spatial_scale, 1),
    OP_ATTR_END
};

static sdx_status maxroipool_infer(Infer *c)
{
    const RoiAttrs *a = c->args;
    if (a->pooled_shape.n != 2 || a->pooled_shape.v[0] < 1 || a->pooled_shape.v[1] < 1)
        return sdx_infer_fail(c, "pooled_shape must be two positive sizes");
    TRY(infer_rank_between(c, 0, 4, 4, "X"));
    TRY(infer_rank_between(c, 1, 2, 2, "rois"));
    const Shape *x = infer_shape(c, 0), *rois = infer_shape(c, 1);
    if (rois && dim_differs(rois->dims[1], 5))
        return sdx_infer_fail(c, "rois have %lld values; they need 5", (long long)rois->dims[1]);
    Dim *y = infer_out_rank(c, 0, 4);
    y[0] = rois ? rois->dims[0] : SDX_DIM_UNKNOWN;
    y[1] = x ? x->dims[1] : SDX_DIM_UNKNOWN;
    y[2] = a->pooled_shape.v[0];
    y[3] = a->pooled_shape.v[1];
    return SDX_OK;
}

/* NaN is 0. */
static int64_t roi_clamp(double v, int64_t n) { return !(v > 0) ? 0 : v > (double)n ? n : (int64_t)v; }

static sdx_status maxroipool_run(Run *r)
{
    const RoiAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *rois = &r->in[1]->t;
    int64_t n = rois->dims[0], channels = x->dims[1], h = x->dims[2], w = x->dims[3];
    int64_t dims[4] = { n, channels, a->pooled_shape.v[0], a->pooled_shape.v[1] };
    Tensor y = { .dtype = x->dtype };
    TRY(sdx_run_output(r, 0, x->dtype, 4, dims, &y.data));
    for (int64_t i = 0; i < n; i++) {
        double v[5];
        for (int k = 0; k < 5; k++) v[k] = sdx_tensor_get_double(rois, i * 5 + k);
        if (!(v[0] >= 0 && v[0] < (double)x->dims[0]))
            return sdx_run_fail(r, "region %lld is of item %g; X has %lld", (long long)i, v[0], (long long)x->dims[0]);
        for (int k = 1; k < 5; k++) v[k] = round(v[k] * (double)a->spatial_scale);
        double bin_h = fmax(v[4] - v[2] + 1, 1) / (double)dims[2], bin_w = fmax(v[3] - v[1] + 1, 1) / (double)dims[3];
        for (int64_t c = 0; c < channels; c++)
            for (int64_t p = 0; p < dims[2] * dims[3]; p++) {
                double py = (double)(p / dims[3]), px = (double)(p % dims[3]), best = 0;
                int64_t y0 = roi_clamp(floor(py * bin_h) + v[2], h), y1 = roi_clamp(ceil((py + 1) * bin_h) + v[2], h);
                int64_t x0 = roi_clamp(floor(px * bin_w) + v[1], w), x1 = roi_clamp(ceil((px + 1) * bin_w) + v[1], w);
                bool any = false;
                for (int64_t iy = y0; iy < y1; iy++)
                    for (int64_t ix = x0; ix < x1; ix++) {
                        double e = sdx_tensor_get_double(x, (((int64_t)v[0] * channels + c) * h + iy) * w + ix);
                        if (!any || e > best) best = e;
                        any = true;
                    }
                sdx_tensor_set_double(&y, (i * channels + c) * dims[2] * dims[3] + p, best);
            }
    }
    return SDX_OK;
}

static const OpVer maxroipool_vers[] = { { 22, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };

const OpDef sdx_op_MaxRoiPool = {
    .name = "MaxRoiPool",
    .sig = "T,T->T",
    .attrs = maxroipool_attrs,
    .attrs_size = sizeof(RoiAttrs),
    .vers = maxroipool_vers,
    .flags = OP_F32_MATH,
    .infer = maxroipool_infer,
    .cpu = { NULL, maxroipool_run },
};
