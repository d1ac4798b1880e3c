/* Operators whose output sizes depend on values: NonZero, Compress, Unique. */
#include <inttypes.h>

#include "base/size.h"
#include "ops/index.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* n int64 on the run's heap. */
static int64_t *heap_ints(Run *r, int64_t n)
{
    size_t nbytes;
    return n >= 0 && sdx_mul_size(&nbytes, (size_t)n, sizeof(int64_t)) ? sdx_run_heap(r, nbytes) : NULL;
}

/* -- NonZero ------------------------------------------------------------------------------------------------------- */

static sdx_status nonzero_infer(Infer *c)
{
    const Shape *x = shape_of(c, 0);
    Shape *y = shape_out(c, 0, 2);
    if (x) y->dims[0] = x->rank;
    return SDX_OK;
}

static bool is_nonzero(const Tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DT_STRING: return ((const Str *)x->data)[i].n != 0;
    case DT_COMPLEX64: return ((const float *)x->data)[2 * i] != 0 || ((const float *)x->data)[2 * i + 1] != 0;
    case DT_COMPLEX128: return ((const double *)x->data)[2 * i] != 0 || ((const double *)x->data)[2 * i + 1] != 0;
    case DT_FLOAT: return ((const float *)x->data)[i] != 0;
    case DT_BOOL: return ((const uint8_t *)x->data)[i] != 0;
    case DT_INT64: return ((const int64_t *)x->data)[i] != 0;
    default: return sdx_tensor_get_double(x, i) != 0;
    }
}

static sdx_status nonzero_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t n = sdx_tensor_count(x), found = 0;
    for (int64_t i = 0; i < n; i++) found += is_nonzero(x, i);
    void *data;
    TRY(sdx_run_output(r, 0, DT_INT64, 2, (int64_t[]){ x->rank, found }, &data));
    int64_t *y = data, col = 0;
    for (int64_t i = 0; i < n && x->rank; i++) {
        if (!is_nonzero(x, i)) continue;
        int64_t rest = i;
        for (int k = x->rank - 1; k >= 0; k--) {
            y[k * found + col] = rest % x->dims[k];
            rest /= x->dims[k];
        }
        col++;
    }
    return SDX_OK;
}

static const OpVer nonzero_vers[] = { { 13, { TS_ALL_13 } }, { 9, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_NonZero = {
    .name = "NonZero",
    .sig = "T->i64",
    .vers = nonzero_vers,
    .flags = OP_DATA_SHAPE,
    .infer = nonzero_infer,
    .cpu = { NULL, nonzero_run },
};

/* -- Compress ------------------------------------------------------------------------------------------------------ */

typedef struct SelectAttrs {
    int64_t axis, sorted;
} SelectAttrs;
static const AttrSpec compress_attrs[] = { OP_INT(SelectAttrs, axis, OP_INT_ABSENT), OP_ATTR_END };

static sdx_status compress_infer(Infer *c)
{
    const SelectAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    int axis;
    if (a->axis == OP_INT_ABSENT) {
        shape_out(c, 0, 1);
    } else if (x) {
        TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
        c->out[0].shape = *x;
        c->out[0].shape.dims[axis] = SDX_DIM_UNKNOWN;
    }
    return SDX_OK;
}

static sdx_status compress_run(Run *r)
{
    const SelectAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *cond = &r->in[1]->t;
    const uint8_t *keep = cond->data;
    int axis = 0, rank = 1;
    int64_t dims[SDX_MAX_RANK] = { sdx_tensor_count(x) }, size = dims[0], outer = 1, inner = 1, found = 0;
    void *data;
    if (a->axis != OP_INT_ABSENT) {
        if (!axis_of(a->axis, x->rank, &axis)) return sdx_run_fail(r, "axis is outside the rank");
        rank = x->rank;
        memcpy(dims, x->dims, sizeof dims);
        size = dims[axis];
        outer = sdx_dims_product(dims, 0, axis);
        inner = sdx_dims_product(dims, axis + 1, rank);
    }
    int64_t n = sdx_tensor_count(cond);
    for (int64_t i = 0; i < n; i++) {
        if (keep[i] && i >= size) return sdx_run_fail(r, "condition selects element %" PRId64 " of %" PRId64, i, size);
        found += keep[i] != 0;
    }
    dims[axis] = found;
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &data));
    size_t block = (size_t)inner * sdx_dtype_size(x->dtype);
    char *y = data;
    if (!block || !found) return SDX_OK;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t i = 0; i < n; i++)
            if (keep[i]) {
                memcpy(y, (const char *)x->data + (size_t)(o * size + i) * block, block);
                y += block;
            }
    return SDX_OK;
}

static const OpVer compress_vers[] = { { 28, { TS_ALL_13 } }, { 11, { TS_ALL_1 } }, { 9, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_Compress = {
    .name = "Compress",
    .sig = "T,bool->T",
    .attrs = compress_attrs,
    .attrs_size = sizeof(SelectAttrs),
    .vers = compress_vers,
    .flags = OP_DATA_SHAPE,
    .infer = compress_infer,
    .cpu = { NULL, compress_run },
};

/* -- Unique -------------------------------------------------------------------------------------------------------- */

static const AttrSpec unique_attrs[] = { OP_INT(SelectAttrs, axis, OP_INT_ABSENT), OP_INT(SelectAttrs, sorted, 1),
                                         OP_ATTR_END };

static sdx_status unique_infer(Infer *c)
{
    const SelectAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    int axis;
    if (a->axis == OP_INT_ABSENT) {
        shape_out(c, 0, 1);
    } else if (x) {
        TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
        c->out[0].shape = *x;
        c->out[0].shape.dims[axis] = SDX_DIM_UNKNOWN;
    }
    for (int o = 1; o < c->n_out; o++) shape_out(c, o, 1);
    return SDX_OK;
}

/* Items to compare: slice i is outer x inner elements, inner ones in line, `step` apart. */
typedef struct Items {
    const Tensor *x;
    int64_t n, outer, inner;
} Items;

/* Numbers in order, NaN last and equal to itself; strings by bytes; complex numbers by real part first. */
static int element_compare(const Tensor *x, int64_t i, int64_t j)
{
    if (x->dtype == DT_STRING) {
        const Str *a = (const Str *)x->data + i, *b = (const Str *)x->data + j;
        size_t n = a->n < b->n ? a->n : b->n;
        int c = n ? memcmp(a->p, b->p, n) : 0;
        return c ? c : (a->n > b->n) - (a->n < b->n);
    }
    if (x->dtype == DT_UINT64) {
        uint64_t a = ((const uint64_t *)x->data)[i], b = ((const uint64_t *)x->data)[j];
        return (a > b) - (a < b);
    }
    if (sdx_dtype_in(x->dtype, TS_INT | TS_BOOL)) {
        int64_t a = sdx_tensor_get_int(x, i), b = sdx_tensor_get_int(x, j);
        return (a > b) - (a < b);
    }
    double a = sdx_tensor_get_double(x, i), b = sdx_tensor_get_double(x, j);
    int c = (a > b) - (a < b);
    if (a != a || b != b) c = (a != a) - (b != b);
    if (c || !sdx_dtype_in(x->dtype, TS_CPX)) return c;
    bool wide = x->dtype == DT_COMPLEX128;
    a = wide ? ((const double *)x->data)[2 * i + 1] : ((const float *)x->data)[2 * i + 1];
    b = wide ? ((const double *)x->data)[2 * j + 1] : ((const float *)x->data)[2 * j + 1];
    return (a > b) - (a < b);
}

static int item_compare(const Items *s, int64_t i, int64_t j)
{
    for (int64_t o = 0; o < s->outer; o++)
        for (int64_t k = 0; k < s->inner; k++) {
            int c = element_compare(s->x, (o * s->n + i) * s->inner + k, (o * s->n + j) * s->inner + k);
            if (c) return c;
        }
    return 0;
}

/* Stable: equal items stay in their order. tmp has room for n. */
static void merge_sort(const Items *s, int64_t *v, int64_t *tmp, int64_t n)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t lo = 0; lo < n; lo += 2 * width) {
            int64_t mid = lo + width < n ? lo + width : n, hi = mid + width < n ? mid + width : n;
            int64_t i = lo, j = mid;
            for (int64_t k = lo; k < hi; k++) {
                bool left = i < mid && (j >= hi || item_compare(s, v[i], v[j]) <= 0);
                tmp[k] = left ? v[i++] : v[j++];
            }
        }
        memcpy(v, tmp, (size_t)n * sizeof *v);
    }
}

static sdx_status unique_vector(Run *r, int o, const int64_t *v, int64_t n)
{
    void *y;
    if (o >= r->n_out || !r->out[o]) return SDX_OK;
    TRY(sdx_run_output(r, o, DT_INT64, 1, &n, &y));
    if (n) memcpy(y, v, (size_t)n * sizeof *v);
    return SDX_OK;
}

/* Output 0: the items `first`, in that order, side by side along the axis. */
static sdx_status unique_items(Run *r, const Items *s, int axis, bool flat, const int64_t *first, int64_t n)
{
    const Tensor *x = s->x;
    int64_t dims[SDX_MAX_RANK];
    void *data;
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = n;
    TRY(sdx_run_output(r, 0, x->dtype, flat ? 1 : x->rank, dims, &data));
    size_t block = (size_t)s->inner * sdx_dtype_size(x->dtype);
    char *y = data;
    for (int64_t o = 0; o < s->outer && block; o++)
        for (int64_t i = 0; i < n; i++, y += block)
            memcpy(y, (const char *)x->data + (size_t)(o * s->n + first[i]) * block, block);
    return SDX_OK;
}

static sdx_status unique_run(Run *r)
{
    const SelectAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    bool flat = a->axis == OP_INT_ABSENT;
    int axis = 0;
    Items s = { .x = x, .n = sdx_tensor_count(x), .outer = 1, .inner = 1 };
    if (!flat) {
        if (!axis_of(a->axis, x->rank, &axis)) return sdx_run_fail(r, "axis is outside the rank");
        s.n = x->dims[axis];
        s.outer = sdx_dims_product(x->dims, 0, axis);
        s.inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    }
    int64_t n = s.n, groups = 0;
    int64_t *order = heap_ints(r, n), *group = heap_ints(r, n), *first = heap_ints(r, n), *count = heap_ints(r, n);
    TRY_MEM(order && group && first && count ? order : NULL, r->err);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    merge_sort(&s, order, group, n);
    /* Each group's first member, its size, and the group of each item. */
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || item_compare(&s, order[i - 1], order[i])) {
            first[groups] = order[i];
            count[groups++] = 0;
        }
        count[groups - 1]++;
        group[order[i]] = groups - 1;
    }
    if (!a->sorted) { /* by first occurrence: rename the groups in the order in which items meet them */
        int64_t *name = heap_ints(r, groups), *sizes = heap_ints(r, groups), next = 0;
        TRY_MEM(name && sizes ? name : NULL, r->err);
        for (int64_t g = 0; g < groups; g++) name[g] = -1;
        for (int64_t i = 0; i < n; i++) {
            int64_t g = group[i];
            if (name[g] < 0) {
                name[g] = next;
                sizes[next] = count[g];
                order[next++] = i;
            }
            group[i] = name[g];
        }
        first = order;
        count = sizes;
    }
    TRY(unique_items(r, &s, axis, flat, first, groups));
    TRY(unique_vector(r, 1, first, groups));
    TRY(unique_vector(r, 2, group, n));
    return unique_vector(r, 3, count, groups);
}

static const OpVer unique_vers[] = { { 28, { TS_ALL_13 } }, { 11, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_Unique = {
    .name = "Unique",
    .sig = "T->T,i64?,i64?,i64?",
    .attrs = unique_attrs,
    .attrs_size = sizeof(SelectAttrs),
    .vers = unique_vers,
    .flags = OP_DATA_SHAPE,
    .infer = unique_infer,
    .cpu = { NULL, unique_run },
};
