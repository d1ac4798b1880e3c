/* ops/gatherblock.c - com.microsoft GatherBlockQuantized: Gather of quantised elements, then (q - zero) * scale
 *
 * Blocks of block_size elements along quantize_axis have a scale each, and a zero point. uint8 data of 2 or 4 bits is
 * packed along the last axis, low bits first, and so are its zero points, row by row in whole bytes. Without zero points
 * uint8 stands for the middle of its range, other types for 0. An index out of range gives zeros, as the operator's
 * description says. */
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/shapes.h"

typedef struct BlockAttrs {
    int64_t bits, block_size, gather_axis, quantize_axis;
} BlockAttrs;

static const AttrSpec block_attrs[] = { OP_INT(BlockAttrs, bits, 4), OP_INT(BlockAttrs, block_size, 128),
                                        OP_INT(BlockAttrs, gather_axis, 0), OP_INT(BlockAttrs, quantize_axis, 1),
                                        OP_ATTR_END };

/* Elements in one stored element. */
static int64_t per_element(const BlockAttrs *a, DType d) { return d == DT_UINT8 ? 8 / a->bits : 1; }

static sdx_status block_infer(Infer *c)
{
    const BlockAttrs *a = c->args;
    if (a->bits != 2 && a->bits != 4 && a->bits != 8)
        return sdx_infer_fail(c, "bits is %lld; it may be 2, 4 or 8", (long long)a->bits);
    if (a->block_size < 1) return sdx_infer_fail(c, "block_size is %lld", (long long)a->block_size);
    const Shape *x = infer_shape(c, 0), *indices = infer_shape(c, 1), *scales = infer_shape(c, 2);
    if (!x) return SDX_OK;
    int gather, quantize;
    Shape logical = *x, y = { 0 };
    TRY(infer_rank_between(c, 0, 1, SDX_MAX_RANK, "data"));
    TRY(sdx_infer_axis(c, a->gather_axis, x->rank, &gather));
    TRY(sdx_infer_axis(c, a->quantize_axis, x->rank, &quantize));
    int64_t pack = per_element(a, c->in[0]->elem);
    Dim *last = &logical.dims[x->rank - 1];
    *last = infer_mul(c, *last, pack);
    if (pack > 1 && gather == x->rank - 1)
        return sdx_infer_fail(c, "packed data cannot be gathered along its last axis");
    for (int k = 0; scales && k < x->rank; k++) {
        if (scales->rank != x->rank)
            return sdx_infer_fail(c, "scales have rank %d, data %d", (int)scales->rank, (int)x->rank);
        Dim want = logical.dims[k];
        if (k == quantize && sdx_dim_is_const(want)) want = want / a->block_size + (want % a->block_size != 0);
        if ((k != quantize || sdx_dim_is_const(want)) && dim_differs(scales->dims[k], want))
            return sdx_infer_fail(c, "scales have size %lld on axis %d; they need %lld", (long long)scales->dims[k], k,
                                  (long long)want);
    }
    if (!indices) return SDX_OK;
    if (x->rank - 1 + indices->rank > SDX_MAX_RANK) return sdx_infer_fail(c, "the output's rank is too large");
    for (int k = 0; k < gather; k++) y.dims[y.rank++] = logical.dims[k];
    for (int k = 0; k < indices->rank; k++) y.dims[y.rank++] = indices->dims[k];
    for (int k = gather + 1; k < x->rank; k++) y.dims[y.rank++] = logical.dims[k];
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

typedef struct BlockJob {
    const BlockAttrs *a;
    const Tensor *data, *scales, *zero;
    Tensor y;
    const int64_t *index;
    int rank, quantize;
    int64_t dims[SDX_MAX_RANK]; /* of the data, in elements */
    Axis3 at;                   /* around gather_axis */
    int64_t n_index;
} BlockJob;

/* Element i of `bits` bits of rows of n, each in whole bytes. */
static int64_t packed_at(const uint8_t *p, int64_t i, int64_t n, int64_t bits)
{
    int64_t at = i % n * bits;
    return (p[i / n * ((n * bits + 7) / 8) + at / 8] >> (at % 8)) & ((1 << bits) - 1);
}

static double block_element(const BlockJob *j, int64_t flat)
{
    int64_t rest = flat, scale = 0, step = 1, bits = j->a->bits;
    for (int k = j->rank - 1; k >= 0; k--) {
        int64_t place = rest % j->dims[k];
        rest /= j->dims[k];
        scale += (k == j->quantize ? place / j->a->block_size : place) * step;
        step *= j->scales->dims[k];
    }
    double q, zero = 0;
    if (j->data->dtype != DT_UINT8) {
        q = sdx_tensor_get_double(j->data, flat);
        if (j->zero) zero = sdx_tensor_get_double(j->zero, scale);
    } else {
        q = (double)packed_at(j->data->data, flat, j->dims[j->rank - 1], bits);
        zero = j->zero ? (double)packed_at(j->zero->data, scale, j->scales->dims[j->rank - 1], bits)
                       : (double)(1 << (bits - 1));
    }
    return (q - zero) * sdx_tensor_get_double(j->scales, scale);
}

static void block_range(void *arg, int64_t from, int64_t to, int worker)
{
    const BlockJob *j = arg;
    Tensor y = j->y;
    for (int64_t u = from; u < to; u++) {
        int64_t index = j->index[u % j->n_index], first = (u / j->n_index * j->at.n + index) * j->at.inner;
        for (int64_t i = 0; i < j->at.inner; i++)
            sdx_tensor_set_double(&y, u * j->at.inner + i, index < 0 ? 0 : block_element(j, first + i));
    }
}

static sdx_status block_run(Run *r)
{
    const BlockAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *indices = &r->in[1]->t;
    BlockJob j = { .a = a, .data = x, .scales = &r->in[2]->t, .rank = x->rank, .y = { .dtype = r->in[2]->t.dtype } };
    if (r->n_in > 3 && r->in[3]) j.zero = &r->in[3]->t;
    Tensor logical = *x;
    logical.dims[x->rank - 1] *= per_element(a, x->dtype);
    memcpy(j.dims, logical.dims, sizeof j.dims);
    int gather = (int)(a->gather_axis < 0 ? a->gather_axis + x->rank : a->gather_axis), rank = 0;
    j.quantize = (int)(a->quantize_axis < 0 ? a->quantize_axis + x->rank : a->quantize_axis);
    j.at = axis3_of(&logical, gather);
    j.n_index = sdx_tensor_count(indices);
    if (j.zero) {
        int64_t last = j.scales->dims[x->rank - 1], rows = sdx_dims_product(j.scales->dims, 0, x->rank - 1);
        int64_t want = x->dtype == DT_UINT8 ? rows * ((last * a->bits + 7) / 8) : rows * last;
        if (sdx_tensor_count(j.zero) != want)
            return sdx_run_fail(r, "there are %lld zero points; the scales ask for %lld",
                                (long long)sdx_tensor_count(j.zero), (long long)want);
    }
    int64_t dims[SDX_MAX_RANK], *index = sdx_run_heap(r, (size_t)j.n_index * sizeof *index);
    if (j.n_index && !index) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    for (int64_t i = 0; i < j.n_index; i++) {
        int64_t v = sdx_tensor_get_int(indices, i);
        index[i] = v < 0 ? v + j.at.n : v;
        if (index[i] >= j.at.n) index[i] = -1;
    }
    j.index = index;
    for (int k = 0; k < gather; k++) dims[rank++] = logical.dims[k];
    for (int k = 0; k < indices->rank; k++) dims[rank++] = indices->dims[k];
    for (int k = gather + 1; k < x->rank; k++) dims[rank++] = logical.dims[k];
    TRY(sdx_run_output(r, 0, j.y.dtype, rank, dims, &j.y.data));
    if (j.n_index) sdx_run_range(r, j.at.outer * j.n_index, grain_for(16 * j.at.inner), block_range, &j);
    return SDX_OK;
}

static const OpVer block_vers[] = {
    { 1, { TS_U8 | TS_INT4 | TS_F8 | TS_F4, TS_IDX, TS_F32 | TS_F16 | TS_BF16 } },
    { 0 },
};

const OpDef sdx_op_ms_GatherBlockQuantized = {
    .name = "GatherBlockQuantized",
    .domain = "com.microsoft",
    .sig = "T,U,V,T?->V",
    .attrs = block_attrs,
    .attrs_size = sizeof(BlockAttrs),
    .vers = block_vers,
    .infer = block_infer,
    .cpu = { NULL, block_run },
};
