/* Operators that make tensors from little: ConstantOfShape, Range, EyeLike, OneHot, Trilu. */
#include <inttypes.h>
#include <math.h>

#include "base/size.h"
#include "ops/cast.h"
#include "ops/elementwise.h"
#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "tensor/element.h"

/* n elements of `size` bytes at y become *v. */
static void fill(char *y, const void *v, size_t size, int64_t n)
{
    switch (size) {
    case 1: memset(y, *(const unsigned char *)v, (size_t)n); break;
    case 4: {
        uint32_t w;
        memcpy(&w, v, 4);
        for (int64_t i = 0; i < n; i++) ((uint32_t *)(void *)y)[i] = w;
        break;
    }
    default:
        for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * size, v, size);
    }
}

/* -- ConstantOfShape ----------------------------------------------------------------------------------------------- */

typedef struct FillAttrs {
    const Tensor *value;
} FillAttrs;
static const AttrSpec fill_attrs[] = { OP_TENSOR(FillAttrs, value), OP_ATTR_END };

static DType fill_type(const FillAttrs *a) { return a->value ? a->value->dtype : DT_FLOAT; }

static sdx_status fill_infer(Infer *c)
{
    const FillAttrs *a = c->args;
    const Shape *s = shape_of(c, 0);
    DimVec dims;
    if (a->value && sdx_tensor_count(a->value) != 1) return sdx_infer_fail(c, "value does not have one element");
    c->out[0].elem = fill_type(a);
    if (s && s->rank != 1) return sdx_infer_fail(c, "the shape has rank %d; it must be 1", (int)s->rank);
    if (!sdx_infer_ints(c, 0, &dims)) {
        if (s && sdx_dim_is_const(s->dims[0]) && s->dims[0] <= SDX_MAX_RANK) shape_out(c, 0, (int)s->dims[0]);
        return SDX_OK;
    }
    if (dims.n > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the shape has %d dimensions; the limit is %d", (int)dims.n, SDX_MAX_RANK);
    Shape *y = shape_out(c, 0, dims.n);
    for (int k = 0; k < dims.n; k++) {
        if (dims.v[k].known && dims.v[k].v < 0) return sdx_infer_fail(c, "dimension %d is %" PRId64, k, dims.v[k].v);
        y->dims[k] = sdx_dim_of(dims.v[k]);
    }
    if (!sdx_dtype_in(c->out[0].elem, TS_IDX | TS_BOOL) || y->rank > 1) return SDX_OK;
    int64_t n = y->rank ? y->dims[0] : 1;
    if (n < 0 || n > SDX_DIMVEC_MAX) return SDX_OK;
    DimVal *v = sdx_arena_array(c->arena, DimVal, n);
    TRY_MEM(v, c->err);
    for (int64_t i = 0; i < n; i++) v[i] = sdx_dimval_num(sdx_tensor_get_int(a->value, 0));
    return sdx_infer_set_ints(c, 0, v, (int)n);
}

static sdx_status fill_run(Run *r)
{
    const FillAttrs *a = r->args;
    int64_t dims[SDX_MAX_RANK];
    DType d = fill_type(a);
    Str empty = { 0 };
    static const float zero = 0;
    const void *v = !a->value ? &zero : d == DT_STRING && !a->value->data ? (const void *)&empty : a->value->data;
    int rank = sdx_tensor_ints(&r->in[0]->t, dims, SDX_MAX_RANK);
    void *y;
    if (rank < 0) return sdx_run_fail(r, "the shape has more than %d dimensions", SDX_MAX_RANK);
    TRY(sdx_run_output(r, 0, d, rank, dims, &y));
    int64_t n = sdx_dims_product(dims, 0, rank);
    if (sdx_dtype_bits(d) >= 8)
        fill(y, v, sdx_dtype_size(d), n);
    else
        for (int64_t i = 0; i < n; i++) sdx_element_set_bits(d, y, i, sdx_element_bits(d, v, 0));
    return SDX_OK;
}

#define TS_FILL_9 (TS_NUM | TS_BOOL)
#define TS_FILL_20 (TS_FILL_9 | TS_BF16 | TS_F8)
static const OpVer fill_vers[] = { { 25, { TS_FILL_20 | TS_INT4 | TS_F4 | TS_E8M0 | TS_INT2 } },
                                   { 24, { TS_FILL_20 | TS_INT4 | TS_F4 | TS_E8M0 } },
                                   { 23, { TS_FILL_20 | TS_INT4 | TS_F4 } },
                                   { 21, { TS_FILL_20 | TS_INT4 } },
                                   { 20, { TS_FILL_20 } },
                                   { 9, { TS_FILL_9 } },
                                   { 0 } };

const OpDef sdx_op_ConstantOfShape = {
    .name = "ConstantOfShape",
    .sig = "i64->T",
    .attrs = fill_attrs,
    .attrs_size = sizeof(FillAttrs),
    .vers = fill_vers,
    .infer = fill_infer,
    .cpu = { NULL, fill_run },
};

/* -- Range --------------------------------------------------------------------------------------------------------- */

typedef struct RangeAttrs {
    int64_t stash_type;
} RangeAttrs;
static const AttrSpec range_attrs[] = { OP_INT(RangeAttrs, stash_type, 1), OP_ATTR_END };

/* Number of elements of start, start + delta, ... before limit; false when delta is 0 or the number absurd. */
static bool range_count(double start, double limit, double delta, int64_t *n)
{
    double count = ceil((limit - start) / delta);
    if (!(delta != 0) || !(count < 0x1p62)) return false;
    *n = count > 0 ? (int64_t)count : 0;
    return true;
}

static bool range_count_int(int64_t start, int64_t limit, int64_t delta, int64_t *n)
{
    if (delta == 0) return false;
    *n = 0;
    if (delta > 0 ? start >= limit : start <= limit) return true;
    uint64_t span = delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
    uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
    uint64_t count = (span - 1) / step + 1;
    *n = (int64_t)count;
    return count < (uint64_t)1 << 62;
}

static sdx_status range_infer(Infer *c)
{
    Shape *y = shape_out(c, 0, 1);
    int64_t n;
    if (!sdx_dtype_in(c->in[0]->elem, TS_INT)) {
        const Tensor *t[3];
        for (int i = 0; i < 3; i++)
            if (!(t[i] = sdx_infer_const(c, i)) || sdx_tensor_count(t[i]) != 1) return SDX_OK;
        if (!range_count(sdx_tensor_get_double(t[0], 0), sdx_tensor_get_double(t[1], 0), sdx_tensor_get_double(t[2], 0),
                         &n))
            return sdx_infer_fail(c, "delta is 0, or the range too long");
        y->dims[0] = n;
        return SDX_OK;
    }
    DimVec v[3];
    for (int i = 0; i < 3; i++)
        if (!sdx_infer_ints(c, i, &v[i]) || v[i].n != 1) return SDX_OK;
    DimVal start = v[0].v[0], limit = v[1].v[0], delta = v[2].v[0];
    if (!start.known || !limit.known || !delta.known) {
        if (delta.known && delta.v == 1 && c->syms) {
            DimVal span = sdx_dimval_sub(c->syms, limit, start);
            bool is_size = start.known && start.v == 0 && !limit.known && limit.sym != SDX_DIM_UNKNOWN &&
                           sdx_dim_name(c->syms, limit.sym);
            y->dims[0] = sdx_dim_of(is_size ? limit : sdx_dimval_max(c->syms, sdx_dimval_num(0), span));
        }
        return SDX_OK;
    }
    if (!range_count_int(start.v, limit.v, delta.v, &n)) return sdx_infer_fail(c, "delta is 0, or the range too long");
    y->dims[0] = n;
    if (n > 64) return SDX_OK;
    DimVal known[64];
    for (int64_t i = 0; i < n; i++) known[i] = sdx_dimval_num(start.v + i * delta.v);
    return sdx_infer_set_ints(c, 0, known, (int)n);
}

static sdx_status range_run(Run *r)
{
    DType d = r->in[0]->t.dtype;
    double f[3];
    int64_t v[3], n;
    void *y;
    for (int i = 0; i < 3; i++) {
        const Tensor *t = &r->in[i]->t;
        if (sdx_tensor_count(t) != 1) return sdx_run_fail(r, "input %d is not a scalar", i);
        f[i] = sdx_tensor_get_double(t, 0);
        v[i] = sdx_dtype_in(d, TS_INT) ? sdx_tensor_get_int(t, 0) : 0;
    }
    bool whole = sdx_dtype_in(d, TS_INT);
    if (!(whole ? range_count_int(v[0], v[1], v[2], &n) : range_count(f[0], f[1], f[2], &n)))
        return sdx_run_fail(r, "delta is 0, or the range too long");
    TRY(sdx_run_output(r, 0, d, 1, &n, &y));
    for (int64_t i = 0; i < n; i++) {
        uint64_t at = (uint64_t)v[0] + (uint64_t)i * (uint64_t)v[2];
        switch (d) {
        case DT_FLOAT: ((float *)y)[i] = (float)f[0] + (float)i * (float)f[2]; break;
        case DT_DOUBLE: ((double *)y)[i] = f[0] + (double)i * f[2]; break;
        case DT_INT64: ((uint64_t *)y)[i] = at; break;
        case DT_INT32: ((uint32_t *)y)[i] = (uint32_t)at; break;
        case DT_INT16: ((uint16_t *)y)[i] = (uint16_t)at; break;
        default: {
            float sum = (float)f[0] + (float)i * (float)f[2];
            sdx_cast_block(d, y, i, DT_FLOAT, &sum, 0, 1);
        }
        }
    }
    return SDX_OK;
}

#define TS_RANGE (TS_F32 | TS_F64 | TS_I16 | TS_I32 | TS_I64)
static const OpVer range_vers[] = { { 27, { TS_RANGE | TS_F16 | TS_BF16 } }, { 11, { TS_RANGE } }, { 0 } };

const OpDef sdx_op_Range = {
    .name = "Range",
    .sig = "T,T,T->T",
    .attrs = range_attrs,
    .attrs_size = sizeof(RangeAttrs),
    .vers = range_vers,
    .infer = range_infer,
    .cpu = { NULL, range_run },
};

/* -- EyeLike ------------------------------------------------------------------------------------------------------- */

typedef struct EyeAttrs {
    int64_t dtype, k;
} EyeAttrs;
static const AttrSpec eye_attrs[] = { OP_INT(EyeAttrs, dtype, OP_INT_ABSENT), OP_INT(EyeAttrs, k, 0), OP_ATTR_END };

static sdx_status eye_infer(Infer *c)
{
    const EyeAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (x && x->rank != 2) return sdx_infer_fail(c, "the input has rank %d; it must be 2", (int)x->rank);
    if (a->dtype != OP_INT_ABSENT &&
        (a->dtype <= 0 || a->dtype >= DT_COUNT || !sdx_dtype_in((DType)a->dtype, TS_NUMB | TS_BOOL)))
        return sdx_infer_fail(c, "dtype %" PRId64 " is not a numeric type", a->dtype);
    c->out[0].elem = a->dtype != OP_INT_ABSENT ? (DType)a->dtype : c->in[0]->elem;
    return sdx_infer_same_shape(c);
}

static sdx_status eye_run(Run *r)
{
    const EyeAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    Tensor y = { .dtype = a->dtype != OP_INT_ABSENT ? (DType)a->dtype : x->dtype, .rank = 2 };
    size_t nbytes;
    if (x->rank != 2) return sdx_run_fail(r, "the input's rank is not 2");
    memcpy(y.dims, x->dims, sizeof y.dims);
    TRY(sdx_run_output(r, 0, y.dtype, 2, x->dims, &y.data));
    if (!sdx_tensor_nbytes(&y, &nbytes) || !nbytes) return SDX_OK;
    memset(y.data, 0, nbytes);
    for (int64_t i = 0; i < x->dims[0]; i++) {
        int64_t col;
        if (sdx_add_i64(&col, i, a->k) && col >= 0 && col < x->dims[1])
            sdx_tensor_set_double(&y, i * x->dims[1] + col, 1);
    }
    return SDX_OK;
}

#define TS_EYE (TS_NUM | TS_BOOL)
static const OpVer eye_vers[] = { { 22, { TS_EYE | TS_BF16, TS_EYE | TS_BF16 } }, { 9, { TS_EYE, TS_EYE } }, { 0 } };

const OpDef sdx_op_EyeLike = {
    .name = "EyeLike",
    .sig = "T->U",
    .attrs = eye_attrs,
    .attrs_size = sizeof(EyeAttrs),
    .vers = eye_vers,
    .infer = eye_infer,
    .cpu = { NULL, eye_run },
};

/* -- OneHot -------------------------------------------------------------------------------------------------------- */

typedef struct OneHotAttrs {
    int64_t axis;
} OneHotAttrs;
static const AttrSpec onehot_attrs[] = { OP_INT(OneHotAttrs, axis, -1), OP_ATTR_END };

static sdx_status onehot_infer(Infer *c)
{
    const Shape *idx = shape_of(c, 0);
    int axis;
    DimVec v;
    const Tensor *t;
    if (!idx) return SDX_OK;
    if (idx->rank == SDX_MAX_RANK) return sdx_infer_fail(c, "the output's rank is beyond %d", SDX_MAX_RANK);
    TRY(sdx_infer_axis(c, ((const OneHotAttrs *)c->args)->axis, idx->rank + 1, &axis));
    Dim depth = SDX_DIM_UNKNOWN;
    if (sdx_infer_ints(c, 1, &v) && v.n == 1)
        depth = sdx_dim_of(v.v[0]);
    else if ((t = sdx_infer_const(c, 1)) && sdx_tensor_count(t) == 1)
        depth = sdx_tensor_get_int(t, 0);
    if (depth < 0 && sdx_dim_is_const(depth)) return sdx_infer_fail(c, "depth is negative");
    Shape *y = shape_out(c, 0, idx->rank + 1);
    for (int k = 0, from = 0; k < y->rank; k++) y->dims[k] = k == axis ? depth : idx->dims[from++];
    return SDX_OK;
}

static sdx_status onehot_run(Run *r)
{
    const Tensor *idx = &r->in[0]->t, *values = &r->in[2]->t;
    int axis;
    int64_t dims[SDX_MAX_RANK + 1], depth;
    void *y;
    if (sdx_tensor_count(&r->in[1]->t) != 1 || (depth = sdx_tensor_get_int(&r->in[1]->t, 0)) < 0)
        return sdx_run_fail(r, "depth is not a single number of at least 0");
    if (sdx_tensor_count(values) != 2) return sdx_run_fail(r, "values does not have two elements");
    if (!axis_of(((const OneHotAttrs *)r->args)->axis, idx->rank + 1, &axis))
        return sdx_run_fail(r, "axis is outside the rank");
    for (int k = 0, from = 0; k <= idx->rank; k++) dims[k] = k == axis ? depth : idx->dims[from++];
    TRY(sdx_run_output(r, 0, values->dtype, idx->rank + 1, dims, &y));
    size_t size = sdx_dtype_size(values->dtype);
    int64_t n = sdx_tensor_count(idx), inner = sdx_dims_product(idx->dims, axis, idx->rank);
    if (!n || !depth) return SDX_OK;
    fill(y, values->data, size, n * depth);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sdx_tensor_get_int(idx, i);
        if (at < 0) at += depth;
        if (at < 0 || at >= depth) continue;
        int64_t pos = (i / inner * depth + at) * inner + i % inner;
        memcpy((char *)y + (size_t)pos * size, (const char *)values->data + size, size);
    }
    return SDX_OK;
}

static const OpVer onehot_vers[] = { { 28, { TS_NUM, TS_NUM, TS_ALL_13 } },
                                     { 11, { TS_NUM, TS_NUM, TS_ALL_1 } },
                                     { 9, { TS_NUM, TS_NUM, TS_ALL_1 } },
                                     { 0 } };

const OpDef sdx_op_OneHot = {
    .name = "OneHot",
    .sig = "T,U,V->V",
    .attrs = onehot_attrs,
    .attrs_size = sizeof(OneHotAttrs),
    .vers = onehot_vers,
    .infer = onehot_infer,
    .cpu = { NULL, onehot_run },
};

/* -- Trilu --------------------------------------------------------------------------------------------------------- */

typedef struct TriluAttrs {
    int64_t upper;
} TriluAttrs;
static const AttrSpec trilu_attrs[] = { OP_INT(TriluAttrs, upper, 1), OP_ATTR_END };

static sdx_status trilu_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    if (x && x->rank < 2) return sdx_infer_fail(c, "the input has rank %d; it must be at least 2", (int)x->rank);
    return sdx_infer_same_shape(c);
}

typedef struct TriluJob {
    char *y;
    const char *x;
    int64_t rows, cols, k;
    size_t size;
    bool upper;
} TriluJob;

static void trilu_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const TriluJob *j = arg;
    for (int64_t i = from; i < to; i++) {
        /* The first column of the diagonal's right side, clamped: what lies before it is the lower part. */
        int64_t row = i % j->rows, at;
        if (!sdx_add_i64(&at, row, j->k) || (!j->upper && !sdx_add_i64(&at, at, 1))) at = j->k > 0 ? j->cols : 0;
        at = at < 0 ? 0 : at > j->cols ? j->cols : at;
        size_t split = (size_t)at * j->size, all = (size_t)j->cols * j->size;
        char *y = j->y + (size_t)i * all;
        const char *x = j->x + (size_t)i * all;
        size_t keep = j->upper ? split : 0, end = j->upper ? all : split;
        if (y != x) memcpy(y + keep, x + keep, end - keep);
        memset(y + (j->upper ? 0 : split), 0, j->upper ? split : all - split);
    }
}

static sdx_status trilu_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    TriluJob j = { .x = x->data, .size = sdx_dtype_size(x->dtype), .upper = ((const TriluAttrs *)r->args)->upper };
    void *y;
    if (x->rank < 2) return sdx_run_fail(r, "the input's rank is below 2");
    if (DATUM_HAS(r, 1)) {
        if (sdx_tensor_count(&r->in[1]->t) != 1) return sdx_run_fail(r, "k is not a scalar");
        j.k = sdx_tensor_get_int(&r->in[1]->t, 0);
    }
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, x->dims, &y));
    if (!sdx_tensor_count(x)) return SDX_OK;
    j.y = y;
    j.rows = x->dims[x->rank - 2];
    j.cols = x->dims[x->rank - 1];
    sdx_run_range(r, sdx_dims_product(x->dims, 0, x->rank - 1), SDX_EW_GRAIN / j.cols + 1, trilu_rows, &j);
    return SDX_OK;
}

static const OpVer trilu_vers[] = { { 14, { TS_ALL_13 } }, { 0 } };

const OpDef sdx_op_Trilu = {
    .name = "Trilu",
    .sig = "T,i64?->T",
    .attrs = trilu_attrs,
    .attrs_size = sizeof(TriluAttrs),
    .vers = trilu_vers,
    .flags = OP_INPLACE,
    .infer = trilu_infer,
    .cpu = { NULL, trilu_run },
};
