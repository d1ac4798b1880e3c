/* ops/geometry.c - AffineGrid, CenterCropPad, Det */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"

/* -- AffineGrid ---------------------------------------------------------------------------------------------------- */

/* grid[n, .., :] = theta[n] * (coordinates of the position, last axis first, 1), coordinates running over [-1, 1]:
 * through the centres of the pixels, or of the outermost ones when align_corners is set. */
typedef struct AffineAttrs {
    int64_t align_corners;
} AffineAttrs;

static const AttrSpec affine_attrs[] = { OP_INT(AffineAttrs, align_corners, 0), OP_ATTR_END };

static sdx_status affine_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 3, 3, "theta"));
    TRY(infer_rank_between(c, 1, 1, 1, "size"));
    const Shape *theta = infer_shape(c, 0), *size = infer_shape(c, 1);
    int n = 0;
    if (size && sdx_dim_is_const(size->dims[0])) n = (int)size->dims[0] - 2;
    if (n == 0 && theta && sdx_dim_is_const(theta->dims[1])) n = (int)theta->dims[1];
    if (n == 0) return SDX_OK;
    if (n != 2 && n != 3) return sdx_infer_fail(c, "size has %d values; it needs 4 or 5", n + 2);
    if (theta && (dim_differs(theta->dims[1], n) || dim_differs(theta->dims[2], n + 1)))
        return sdx_infer_fail(c, "theta has matrices of %lld x %lld; they must be %d x %d", (long long)theta->dims[1],
                              (long long)theta->dims[2], n, n + 1);
    DimVec v;
    Dim *y = infer_out_rank(c, 0, n + 2);
    if (theta) y[0] = theta->dims[0];
    y[n + 1] = n;
    if (!sdx_infer_ints(c, 1, &v) || v.n != n + 2) return SDX_OK;
    y[0] = dim_prefer(y[0], sdx_dim_of(v.v[0]));
    for (int k = 0; k < n; k++) y[1 + k] = sdx_dim_of(v.v[2 + k]);
    return SDX_OK;
}

static double affine_coordinate(int64_t i, int64_t n, bool corners)
{
    if (!corners) return (2 * (double)i + 1) / (double)n - 1;
    return n == 1 ? 0 : 2 * (double)i / (double)(n - 1) - 1;
}

static sdx_status affine_run(Run *r)
{
    const AffineAttrs *a = r->args;
    const Tensor *theta = &r->in[0]->t, *size = &r->in[1]->t;
    int64_t n = sdx_tensor_count(size) - 2, dims[5], place[3] = { 0 };
    if (n != 2 && n != 3) return sdx_run_fail(r, "size has %lld values; it needs 4 or 5", (long long)n + 2);
    if (theta->dims[1] != n || theta->dims[2] != n + 1 || sdx_tensor_get_int(size, 0) != theta->dims[0])
        return sdx_run_fail(r, "theta does not fit size: %lld matrices of %lld x %lld", (long long)theta->dims[0],
                            (long long)theta->dims[1], (long long)theta->dims[2]);
    dims[0] = theta->dims[0];
    for (int k = 0; k < n; k++) dims[1 + k] = sdx_tensor_get_int(size, 2 + k);
    dims[1 + n] = n;
    Tensor y = { .dtype = theta->dtype };
    TRY(sdx_run_output(r, 0, theta->dtype, (int)n + 2, dims, &y.data));
    int64_t points = sdx_dims_product(dims, 1, (int)n + 1);
    for (int64_t i = 0; i < dims[0] * points; i++) {
        int64_t rest = i % points;
        double at[4];
        for (int64_t k = n - 1; k >= 0; k--) {
            place[k] = rest % dims[1 + k];
            rest /= dims[1 + k];
            at[n - 1 - k] = affine_coordinate(place[k], dims[1 + k], a->align_corners != 0);
        }
        at[n] = 1;
        for (int64_t row = 0; row < n; row++) {
            double sum = 0;
            for (int64_t k = 0; k <= n; k++)
                sum += sdx_tensor_get_double(theta, (i / points * n + row) * (n + 1) + k) * at[k];
            sdx_tensor_set_double(&y, i * n + row, sum);
        }
    }
    return SDX_OK;
}

static const OpVer affine_vers[] = { { 20, { TS_FLTB, TS_I64 } }, { 0 } };

const OpDef sdx_op_AffineGrid = {
    .name = "AffineGrid",
    .sig = "T,U->T",
    .attrs = affine_attrs,
    .attrs_size = sizeof(AffineAttrs),
    .vers = affine_vers,
    .flags = OP_F32_MATH,
    .infer = affine_infer,
    .cpu = { NULL, affine_run },
};

/* -- CenterCropPad ------------------------------------------------------------------------------------------------- */

/* Each axis is cut or padded with zeros to its new size, the same at both ends; an odd element goes to the end. */
typedef struct CropPadAttrs {
    IntList axes;
} CropPadAttrs;

static const AttrSpec croppad_attrs[] = { OP_INTS(CropPadAttrs, axes), OP_ATTR_END };

static sdx_status croppad_infer(Infer *c)
{
    const CropPadAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int n = a->axes.v ? (int)a->axes.n : x->rank;
    if (n > x->rank) return sdx_infer_fail(c, "%d axes for an input of rank %d", n, (int)x->rank);
    TRY(infer_is_vector(c, 1, n, "shape"));
    Dim *y = infer_out_rank(c, 0, x->rank);
    memcpy(y, x->dims, (size_t)x->rank * sizeof *y);
    DimVec v;
    bool known = sdx_infer_ints(c, 1, &v) && v.n == n;
    for (int i = 0; i < n; i++) {
        int axis = i;
        if (a->axes.v) TRY(sdx_infer_axis(c, a->axes.v[i], x->rank, &axis));
        if (known && v.v[i].known && v.v[i].v < 0)
            return sdx_infer_fail(c, "shape[%d] is %lld", i, (long long)v.v[i].v);
        y[axis] = known ? sdx_dim_of(v.v[i]) : SDX_DIM_UNKNOWN;
    }
    return SDX_OK;
}

static sdx_status croppad_run(Run *r)
{
    const CropPadAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *shape = &r->in[1]->t;
    int64_t n = a->axes.v ? a->axes.n : x->rank, dims[SDX_MAX_RANK], skip[SDX_MAX_RANK] = { 0 },
            at[SDX_MAX_RANK] = { 0 };
    if (sdx_tensor_count(shape) != n)
        return sdx_run_fail(r, "shape has %lld values for %lld axes", (long long)sdx_tensor_count(shape), (long long)n);
    memcpy(dims, x->dims, sizeof dims);
    for (int i = 0; i < n; i++) {
        int64_t axis = a->axes.v ? a->axes.v[i] : i;
        dims[axis < 0 ? axis + x->rank : axis] = sdx_tensor_get_int(shape, i);
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &y));
    size_t es = sdx_dtype_size(x->dtype);
    int64_t count = sdx_dims_product(dims, 0, x->rank), run = 1, rows = count;
    memset(y, 0, (size_t)count * es);
    if (count == 0 || sdx_tensor_count(x) == 0) return SDX_OK;
    /* skip: elements left out at the start; negative: zeros put there. */
    for (int k = 0; k < x->rank; k++)
        skip[k] = x->dims[k] > dims[k] ? (x->dims[k] - dims[k]) / 2 : -((dims[k] - x->dims[k]) / 2);
    if (x->rank) {
        run = dims[x->rank - 1];
        rows = count / run;
    }
    int64_t lo = 0, hi = run;
    if (x->rank) {
        int64_t s = skip[x->rank - 1], in = x->dims[x->rank - 1];
        lo = s < 0 ? -s : 0;
        hi = in - s < run ? in - s : run;
    }
    for (int64_t row = 0; row < rows; row++) {
        int64_t from = 0;
        bool inside = true;
        for (int k = 0; k < x->rank - 1; k++) {
            int64_t i = at[k] + skip[k];
            inside &= i >= 0 && i < x->dims[k];
            from = from * x->dims[k] + i;
        }
        if (inside && hi > lo) {
            if (x->rank) from = from * x->dims[x->rank - 1] + lo + skip[x->rank - 1];
            memcpy((char *)y + (size_t)(row * run + lo) * es, (const char *)x->data + (size_t)from * es,
                   (size_t)(hi - lo) * es);
        }
        for (int k = x->rank - 2; k >= 0; k--) {
            if (++at[k] < dims[k]) break;
            at[k] = 0;
        }
    }
    return SDX_OK;
}

static const OpVer croppad_vers[] = { { 18, { TS_NUMB | TS_BOOL | TS_STR | TS_CPX, TS_IDX } }, { 0 } };

const OpDef sdx_op_CenterCropPad = {
    .name = "CenterCropPad",
    .sig = "T,U->T",
    .attrs = croppad_attrs,
    .attrs_size = sizeof(CropPadAttrs),
    .vers = croppad_vers,
    .infer = croppad_infer,
    .cpu = { NULL, croppad_run },
};

/* -- Det ----------------------------------------------------------------------------------------------------------- */

/* Of square matrices in the last two axes: elimination in double with row exchanges. */
static sdx_status det_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 2, SDX_MAX_RANK, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    if (dim_differs(x->dims[x->rank - 1], x->dims[x->rank - 2]))
        return sdx_infer_fail(c, "matrices of %lld x %lld are not square", (long long)x->dims[x->rank - 2],
                              (long long)x->dims[x->rank - 1]);
    Dim *y = infer_out_rank(c, 0, x->rank - 2);
    for (int k = 0; k < x->rank - 2; k++) y[k] = x->dims[k];
    return SDX_OK;
}

static sdx_status det_prepare(Prepare *p)
{
    const Tensor *x = &p->in[0]->t;
    size_t n = (size_t)x->dims[x->rank - 1];
    if (!sdx_mul_size(&p->scratch, n, n * sizeof(double)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    return SDX_OK;
}

static double det_eliminate(double *m, int64_t n)
{
    double det = 1;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(m[i * n + k]) > fabs(m[pivot * n + k])) pivot = i;
        if (m[pivot * n + k] == 0) return 0;
        if (pivot != k) {
            det = -det;
            for (int64_t j = k; j < n; j++) {
                double t = m[k * n + j];
                m[k * n + j] = m[pivot * n + j];
                m[pivot * n + j] = t;
            }
        }
        det *= m[k * n + k];
        for (int64_t i = k + 1; i < n; i++) {
            double f = m[i * n + k] / m[k * n + k];
            for (int64_t j = k + 1; j < n; j++) m[i * n + j] -= f * m[k * n + j];
        }
    }
    return det;
}

static sdx_status det_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t n = x->dims[x->rank - 1], count = sdx_dims_product(x->dims, 0, x->rank - 2);
    Tensor y = { .dtype = x->dtype };
    TRY(sdx_run_output(r, 0, x->dtype, x->rank - 2, x->dims, &y.data));
    double *m = r->scratch;
    for (int64_t i = 0; i < count; i++) {
        for (int64_t k = 0; k < n * n; k++) m[k] = sdx_tensor_get_double(x, i * n * n + k);
        sdx_tensor_set_double(&y, i, det_eliminate(m, n));
        TRY(sdx_run_poll(r));
    }
    return SDX_OK;
}

static const OpVer det_vers[] = { { 22, { TS_FLTB } }, { 11, { TS_FLT } }, { 0 } };

const OpDef sdx_op_Det = {
    .name = "Det",
    .sig = "T->T",
    .vers = det_vers,
    .flags = OP_F32_MATH,
    .infer = det_infer,
    .cpu = { det_prepare, det_run },
};
