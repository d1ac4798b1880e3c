/* Pad: constant, reflect, edge, wrap. Negative pads crop, before anything is added. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/typesets.h"
#include "ops/upgrade.h"

typedef struct PadAttrs {
    Str mode;
} PadAttrs;
static const AttrSpec pad_attrs[] = { OP_STR(PadAttrs, mode, "constant"), OP_ATTR_END };

static bool mode_known(Str m)
{
    return str_is(m, "constant") || str_is(m, "reflect") || str_is(m, "edge") || str_is(m, "wrap");
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status pad_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    DimVec pads;
    int64_t axes[SDX_MAX_RANK];
    int n = x ? x->rank : 0;
    if (!mode_known(((const PadAttrs *)c->args)->mode))
        return sdx_infer_fail(c, "mode is none of constant, reflect, edge, wrap");
    if (!x) return SDX_OK;
    Shape *y = shape_out(c, 0, x->rank);
    if (!sdx_infer_ints(c, 1, &pads)) return SDX_OK;
    for (int i = 0; i < n; i++) axes[i] = i;
    if (INFER_HAS(c, 3) && !sdx_infer_numbers(c, 3, axes, SDX_MAX_RANK, &n)) return SDX_OK;
    if (pads.n != 2 * n) return sdx_infer_fail(c, "%d pads for %d axes", (int)pads.n, n);
    *y = *x;
    for (int i = 0; i < n; i++) {
        int axis;
        TRY(sdx_infer_axis(c, axes[i], x->rank, &axis));
        DimVal d = sdx_dimval_add(c->syms, sdx_dimval_of(x->dims[axis]),
                                  sdx_dimval_add(c->syms, pads.v[i], pads.v[i + n]));
        if (d.known && d.v < 0) return sdx_infer_fail(c, "dimension %d becomes %" PRId64, axis, d.v);
        y->dims[axis] = sdx_dim_of(d);
    }
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

/* Source index for each index of an axis; -1: the constant. */
static int64_t pad_source(char mode, int64_t j, int64_t n)
{
    if (j >= 0 && j < n) return j;
    switch (mode) {
    case 'e': return j < 0 ? 0 : n - 1;
    case 'w': return (j % n + n) % n;
    case 'r': {
        if (n == 1) return 0;
        int64_t period = 2 * (n - 1), k = (j % period + period) % period;
        return k < n ? k : period - k;
    }
    default: return -1;
    }
}

static sdx_status axis_map(Run *r, char mode, int axis, int64_t d, int64_t before, int64_t after, int64_t *out_dim,
                           int64_t **map)
{
    int64_t crop = before < 0 ? -before : 0, crop_end = after < 0 ? -after : 0, n, y;
    if (!sdx_add_i64(&y, d, before) || !sdx_add_i64(&y, y, after) || y < 0 || crop > d || crop_end > d - crop)
        return sdx_run_fail(r, "pads %" PRId64 " and %" PRId64 " do not fit dimension %d of %" PRId64, before, after,
                            axis, d);
    n = d - crop - crop_end;
    if (n == 0 && y > 0 && mode != 'c') return sdx_run_fail(r, "dimension %d has no elements to pad with", axis);
    size_t nbytes;
    int64_t *m = sdx_mul_size(&nbytes, (size_t)y, sizeof *m) ? sdx_run_heap(r, nbytes) : NULL;
    TRY_MEM(m, r->err);
    for (int64_t i = 0; i < y; i++) {
        int64_t s = pad_source(mode, i - (before > 0 ? before : 0), n);
        m[i] = s < 0 ? -1 : s + crop;
    }
    *out_dim = y;
    *map = m;
    return SDX_OK;
}

/* Part of the last axis: n blocks from s on, or n blocks of the constant when s is -1. */
typedef struct PadRun {
    int64_t s, n;
} PadRun;

typedef struct PadJob {
    char *y;
    const char *x, *fill;                             /* one block of the constant, `block` bytes */
    size_t block;                                     /* bytes of the dimensions behind the last padded one */
    int rank;                                         /* up to the last padded one */
    int64_t dims[SDX_MAX_RANK], stride[SDX_MAX_RANK]; /* of the output; of the source, in blocks */
    int64_t *map[SDX_MAX_RANK];
    PadRun *runs; /* of the last axis */
    int64_t n_runs;
} PadJob;

static sdx_status find_runs(Run *r, PadJob *j)
{
    const int64_t *map = j->map[j->rank - 1];
    int64_t n = j->dims[j->rank - 1];
    size_t nbytes;
    j->runs = sdx_mul_size(&nbytes, (size_t)n, sizeof *j->runs) ? sdx_run_heap(r, nbytes) : NULL;
    TRY_MEM(j->runs, r->err);
    for (int64_t i = 0; i < n; i++) {
        PadRun *last = j->n_runs ? &j->runs[j->n_runs - 1] : NULL;
        if (last && (map[i] < 0 ? last->s < 0 : last->s >= 0 && map[i] == last->s + last->n))
            last->n++;
        else
            j->runs[j->n_runs++] = (PadRun){ map[i], 1 };
    }
    return SDX_OK;
}

static void put_constant(const PadJob *j, char *y, int64_t n)
{
    if (j->block == 4) {
        uint32_t v;
        memcpy(&v, j->fill, 4);
        for (int64_t i = 0; i < n; i++) memcpy(y + i * 4, &v, 4);
        return;
    }
    for (int64_t i = 0; i < n; i++) memcpy(y + (size_t)i * j->block, j->fill, j->block);
}

/* Rows [from, to): all dimensions but the last. */
static void pad_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const PadJob *j = arg;
    int last = j->rank - 1;
    int64_t n = j->dims[last];
    for (int64_t row = from; row < to; row++) {
        int64_t rest = row, base = 0;
        bool outside = false;
        for (int k = last - 1; k >= 0; k--) {
            int64_t s = j->map[k][rest % j->dims[k]];
            rest /= j->dims[k];
            outside |= s < 0;
            base += s * j->stride[k];
        }
        char *y = j->y + (size_t)(row * n) * j->block;
        if (outside) {
            put_constant(j, y, n);
            continue;
        }
        for (int64_t k = 0; k < j->n_runs; k++) {
            const PadRun *run = &j->runs[k];
            if (run->s < 0)
                put_constant(j, y, run->n);
            else
                memcpy(y, j->x + (size_t)(base + run->s) * j->block, (size_t)run->n * j->block);
            y += (size_t)run->n * j->block;
        }
    }
}

/* A block of copies of the constant_value input, or of zero. */
static sdx_status pad_fill(Run *r, DType dtype, size_t block, char **out)
{
    size_t size = sdx_dtype_size(dtype);
    char *fill = sdx_run_heap(r, block ? block : 1);
    TRY_MEM(fill, r->err);
    memset(fill, 0, block ? block : 1);
    if (DATUM_HAS(r, 2)) {
        const Tensor *v = &r->in[2]->t;
        if (sdx_tensor_count(v) != 1) return sdx_run_fail(r, "constant_value is not a scalar");
        for (size_t i = 0; i < block; i += size) memcpy(fill + i, v->data, size);
    }
    *out = fill;
    return SDX_OK;
}

static sdx_status pad_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    char mode = ((const PadAttrs *)r->args)->mode.p[0];
    int64_t pads[2 * SDX_MAX_RANK], axes[SDX_MAX_RANK], before[SDX_MAX_RANK] = { 0 }, after[SDX_MAX_RANK] = { 0 };
    int n = x->rank, n_pads = sdx_tensor_ints(&r->in[1]->t, pads, 2 * SDX_MAX_RANK);
    for (int i = 0; i < n; i++) axes[i] = i;
    if (DATUM_HAS(r, 3)) n = sdx_tensor_ints(&r->in[3]->t, axes, SDX_MAX_RANK);
    if (n < 0 || n_pads != 2 * n) return sdx_run_fail(r, "pads does not have two entries for each axis");
    for (int i = 0; i < n; i++) {
        int axis;
        if (!axis_of(axes[i], x->rank, &axis)) return sdx_run_fail(r, "axis %" PRId64 " is outside the rank", axes[i]);
        before[axis] = pads[i];
        after[axis] = pads[i + n];
    }
    PadJob j = { .x = x->data };
    int64_t dims[SDX_MAX_RANK];
    memcpy(dims, x->dims, sizeof dims);
    for (int k = 0; k < x->rank; k++)
        if (before[k] || after[k]) j.rank = k + 1;
    for (int k = 0; k < j.rank; k++) {
        TRY(axis_map(r, mode, k, x->dims[k], before[k], after[k], &dims[k], &j.map[k]));
        j.dims[k] = dims[k];
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &y));
    size_t nbytes;
    Tensor out = { .dtype = x->dtype, .rank = x->rank };
    memcpy(out.dims, dims, sizeof dims);
    if (!sdx_tensor_nbytes(&out, &nbytes) || !nbytes) return SDX_OK;
    if (j.rank == 0) {
        memcpy(y, x->data, nbytes);
        return SDX_OK;
    }
    char *fill = NULL;
    j.y = y;
    j.block = (size_t)sdx_dims_product(dims, j.rank, x->rank) * sdx_dtype_size(x->dtype);
    TRY(pad_fill(r, x->dtype, j.block, &fill));
    j.fill = fill;
    TRY(find_runs(r, &j));
    sdx_row_major(x->dims, j.rank, j.stride);
    int64_t rows = sdx_dims_product(dims, 0, j.rank - 1), row_bytes = (int64_t)(nbytes / (size_t)rows);
    sdx_run_range(r, rows, (1 << 17) / row_bytes + 1, pad_rows, &j);
    return SDX_OK;
}

static sdx_status pad_from_1(Node *n, Err *err)
{
    const Attr *a = sdx_node_attr(n, "paddings");
    if (!a || a->type != ATTR_INTS) return SDX_OK;
    TRY_MEM(sdx_node_set_ints(n, "pads", a->ints, a->n) ? n : NULL, err);
    sdx_node_drop_attr(n, "paddings");
    return SDX_OK;
}

/* Before 11 pads and the constant were attributes. */
static sdx_status pad_from_2(Node *n, Err *err)
{
    TRY(sdx_upgrade_ints_to_input(n, "pads", 1, err));
    return sdx_upgrade_float_to_input(n, "value", 2, err);
}

static const OpVer pad_vers[] = { { 25, { TS_ALL_25, TS_IDX } },
                                  { 24, { TS_ALL_24, TS_IDX } },
                                  { 23, { TS_ALL_23, TS_IDX } },
                                  { 21, { TS_ALL_21, TS_IDX } },
                                  { 19, { TS_ALL_13, TS_IDX } },
                                  { 18, { TS_ALL_13, TS_IDX } },
                                  { 13, { TS_ALL_13, TS_IDX } },
                                  { 11, { TS_NUM, TS_IDX } },
                                  { 2, { TS_FLT, TS_IDX }, pad_from_2 },
                                  { 1, { TS_FLT, TS_IDX }, pad_from_1 },
                                  { 0 } };

const OpDef sdx_op_Pad = {
    .name = "Pad",
    .sig = "T,i64,T?,U?->T",
    .attrs = pad_attrs,
    .attrs_size = sizeof(PadAttrs),
    .vers = pad_vers,
    .flags = OP_BYTE_MOVER,
    .infer = pad_infer,
    .cpu = { NULL, pad_run },
};
