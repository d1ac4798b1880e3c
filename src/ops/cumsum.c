/* CumSum, CumProd. */
#include "ops/shapes.h"

typedef struct CumAttrs {
    int64_t exclusive, reverse;
} CumAttrs;
static const AttrSpec cum_attrs[] = { OP_INT(CumAttrs, exclusive, 0), OP_INT(CumAttrs, reverse, 0), OP_ATTR_END };

static sdx_status cum_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    int64_t axis;
    int n, at;
    if (x && sdx_infer_numbers(c, 1, &axis, 1, &n) && n == 1) TRY(sdx_infer_axis(c, axis, x->rank, &at));
    return sdx_infer_same_shape(c);
}

typedef struct ScanJob {
    DType dtype;
    bool product, exclusive, reverse;
    const char *x;
    char *y;
    int64_t n, inner; /* steps; elements between them */
} ScanJob;

/* Unsigned arithmetic wraps, and serves the signed types. */
#define T float
#define FN(name) name##_f32
#include "ops/scan_tmpl.h"
#define T double
#define FN(name) name##_f64
#include "ops/scan_tmpl.h"
#define T uint32_t
#define FN(name) name##_u32
#include "ops/scan_tmpl.h"
#define T uint64_t
#define FN(name) name##_u64
#include "ops/scan_tmpl.h"

/* Lines [from, to) of all outer x inner. */
static void cum_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ScanJob *j = arg;
    size_t size = sdx_dtype_size(j->dtype);
    while (from < to) {
        int64_t outer = from / j->inner, col = from % j->inner, lines = j->inner - col;
        if (lines > to - from) lines = to - from;
        size_t at = (size_t)(outer * j->n * j->inner + col) * size;
        const void *x = j->x + at;
        void *y = j->y + at;
        switch (j->dtype) {
        case DT_FLOAT: scan_f32(j, x, y, lines); break;
        case DT_DOUBLE: scan_f64(j, x, y, lines); break;
        case DT_INT32:
        case DT_UINT32: scan_u32(j, x, y, lines); break;
        default: scan_u64(j, x, y, lines); break;
        }
        from += lines;
    }
}

static sdx_status cum_run(Run *r, bool product)
{
    const CumAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *at = &r->in[1]->t;
    ScanJob j = {
        .dtype = x->dtype, .product = product, .exclusive = a->exclusive, .reverse = a->reverse, .x = x->data
    };
    int axis;
    void *y;
    if (sdx_tensor_count(at) != 1 || !axis_of(sdx_tensor_get_int(at, 0), x->rank, &axis))
        return sdx_run_fail(r, "axis is not one number within the rank, %d", (int)x->rank);
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, x->dims, &y));
    if (!sdx_tensor_count(x)) return SDX_OK;
    j.y = y;
    j.n = x->dims[axis];
    j.inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    sdx_run_range(r, sdx_dims_product(x->dims, 0, axis) * j.inner, 32768 / j.n + 1, cum_range, &j);
    return SDX_OK;
}

static sdx_status cumsum_run(Run *r) { return cum_run(r, false); }
static sdx_status cumprod_run(Run *r) { return cum_run(r, true); }

#define TS_CUM (TS_F32 | TS_F64 | TS_I32 | TS_I64 | TS_U32 | TS_U64)
static const OpVer cumsum_vers[] = { { 14, { TS_CUM | TS_F16 | TS_BF16, TS_IDX } }, { 11, { TS_CUM, TS_IDX } }, { 0 } };
static const OpVer cumprod_vers[] = { { 26, { TS_CUM | TS_F16 | TS_BF16, TS_IDX } }, { 0 } };

const OpDef sdx_op_CumSum = {
    .name = "CumSum",
    .sig = "T,U->T",
    .attrs = cum_attrs,
    .attrs_size = sizeof(CumAttrs),
    .vers = cumsum_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = cum_infer,
    .cpu = { NULL, cumsum_run },
};
const OpDef sdx_op_CumProd = {
    .name = "CumProd",
    .sig = "T,U->T",
    .attrs = cum_attrs,
    .attrs_size = sizeof(CumAttrs),
    .vers = cumprod_vers,
    .flags = OP_INPLACE | OP_F32_MATH,
    .infer = cum_infer,
    .cpu = { NULL, cumprod_run },
};
