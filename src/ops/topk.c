/* ops/topk.c - TopK
 *
 * The k largest (or smallest) elements along an axis and where they were, in order. Equal elements keep the lower index
 * first; a NaN is larger than any number. A heap of the k best indices walks each line once. */
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

typedef struct TopKAttrs {
    int64_t axis, largest, sorted;
} TopKAttrs;

static const AttrSpec topk_attrs[] = { OP_INT(TopKAttrs, axis, -1), OP_INT(TopKAttrs, largest, 1),
                                       OP_INT(TopKAttrs, sorted, 1), OP_ATTR_END };

static sdx_status topk_infer(Infer *c)
{
    const TopKAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int axis;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    DimVec k;
    Dim size = SDX_DIM_UNKNOWN;
    if (sdx_infer_ints(c, 1, &k) && k.n == 1) {
        size = sdx_dim_of(k.v[0]);
        if (k.v[0].known && k.v[0].v < 0) return sdx_infer_fail(c, "k is %lld", (long long)k.v[0].v);
        if (sdx_dim_is_const(size) && sdx_dim_is_const(x->dims[axis]) && size > x->dims[axis])
            return sdx_infer_fail(c, "k is %lld; axis %d has %lld elements", (long long)size, axis,
                                  (long long)x->dims[axis]);
    }
    for (int o = 0; o < c->n_out; o++) {
        Dim *out = infer_out_rank(c, o, x->rank);
        memcpy(out, x->dims, (size_t)x->rank * sizeof *out);
        out[axis] = size;
    }
    return SDX_OK;
}

typedef struct TopKJob {
    const void *x;
    void *values;
    int64_t *indices, *heaps; /* heaps: k a worker */
    Axis3 v;
    int64_t k;
    bool smallest;
} TopKJob;

/* TOPK_TYPE(T, tag): lines [from, to), a line being (outer, inner). The heap's root is the worst of the best. */
#define TOPK_TYPE(T, tag)                                                                                              \
    /* Does element i come before element j in the result? */                                                          \
    static inline bool before_##tag(const T *x, int64_t step, bool smallest, int64_t i, int64_t j)                     \
    {                                                                                                                  \
        T a = x[i * step], b = x[j * step];                                                                            \
        bool nan_a = a != a, nan_b = b != b;                                                                           \
        if (nan_a != nan_b) return smallest ? nan_b : nan_a;                                                           \
        if (!nan_a && a != b) return smallest ? a < b : a > b;                                                         \
        return i < j;                                                                                                  \
    }                                                                                                                  \
    static void sift_##tag(const T *x, int64_t step, bool smallest, int64_t *heap, int64_t at, int64_t n)              \
    {                                                                                                                  \
        int64_t item = heap[at];                                                                                       \
        for (int64_t child; (child = 2 * at + 1) < n; at = child) {                                                    \
            if (child + 1 < n && before_##tag(x, step, smallest, heap[child], heap[child + 1])) child++;               \
            if (!before_##tag(x, step, smallest, item, heap[child])) break;                                            \
            heap[at] = heap[child];                                                                                    \
        }                                                                                                              \
        heap[at] = item;                                                                                               \
    }                                                                                                                  \
    static void topk_##tag(void *arg, int64_t from, int64_t to, int worker)                                            \
    {                                                                                                                  \
        const TopKJob *j = arg;                                                                                        \
        int64_t *heap = j->heaps + worker * j->k, step = j->v.inner, k = j->k;                                         \
        for (int64_t u = from; u < to; u++) {                                                                          \
            int64_t outer = u / step, inner = u % step;                                                                \
            const T *x = (const T *)j->x + outer * j->v.n * step + inner;                                              \
            T *values = j->values ? (T *)j->values + outer * k * step + inner : NULL;                                  \
            int64_t *indices = j->indices ? j->indices + outer * k * step + inner : NULL;                              \
            for (int64_t i = 0; i < k; i++) heap[i] = i;                                                               \
            for (int64_t i = k / 2 - 1; i >= 0; i--) sift_##tag(x, step, j->smallest, heap, i, k);                     \
            for (int64_t i = k; i < j->v.n; i++) {                                                                     \
                if (!before_##tag(x, step, j->smallest, i, heap[0])) continue;                                         \
                heap[0] = i;                                                                                           \
                sift_##tag(x, step, j->smallest, heap, 0, k);                                                          \
            }                                                                                                          \
            for (int64_t n = k - 1; n >= 0; n--) {                                                                     \
                int64_t worst = heap[0];                                                                               \
                if (values) values[n * step] = x[worst * step];                                                        \
                if (indices) indices[n * step] = worst;                                                                \
                heap[0] = heap[n];                                                                                     \
                sift_##tag(x, step, j->smallest, heap, 0, n);                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }
TOPK_TYPE(float, f32)
TOPK_TYPE(double, f64)
TOPK_TYPE(int8_t, i8)
TOPK_TYPE(int16_t, i16)
TOPK_TYPE(int32_t, i32)
TOPK_TYPE(int64_t, i64)
TOPK_TYPE(uint8_t, u8)
TOPK_TYPE(uint16_t, u16)
TOPK_TYPE(uint32_t, u32)
TOPK_TYPE(uint64_t, u64)

static RangeFn topk_fn(DType d)
{
    switch (d) {
    case DT_FLOAT: return topk_f32;
    case DT_DOUBLE: return topk_f64;
    case DT_INT8: return topk_i8;
    case DT_INT16: return topk_i16;
    case DT_INT32: return topk_i32;
    case DT_INT64: return topk_i64;
    case DT_UINT8: return topk_u8;
    case DT_UINT16: return topk_u16;
    case DT_UINT32: return topk_u32;
    case DT_UINT64: return topk_u64;
    default: return NULL;
    }
}

static sdx_status topk_run(Run *r)
{
    const TopKAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *kt = &r->in[1]->t;
    if (sdx_tensor_count(kt) != 1) return sdx_run_fail(r, "k has %lld elements", (long long)sdx_tensor_count(kt));
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis);
    int64_t k = sdx_tensor_get_int(kt, 0), dims[SDX_MAX_RANK];
    if (k < 0 || k > x->dims[axis])
        return sdx_run_fail(r, "k is %lld; axis %d has %lld elements", (long long)k, axis, (long long)x->dims[axis]);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = k;
    TopKJob j = { .x = x->data, .v = axis3_of(x, axis), .k = k, .smallest = !a->largest };
    if (r->out[0]) TRY(sdx_run_output(r, 0, x->dtype, x->rank, dims, &j.values));
    if (r->n_out > 1 && r->out[1]) {
        void *indices;
        TRY(sdx_run_output(r, 1, DT_INT64, x->rank, dims, &indices));
        j.indices = indices;
    }
    RangeFn fn = topk_fn(x->dtype);
    if (!fn) return sdx_run_fail(r, "type %s has no order", sdx_dtype_name(x->dtype));
    if (j.v.outer * k * j.v.inner == 0) return SDX_OK;
    size_t nbytes;
    if (!sdx_mul_size(&nbytes, (size_t)k, (size_t)sdx_pool_threads(r->pool) * sizeof(int64_t)))
        return sdx_run_fail(r, "k is too large");
    j.heaps = sdx_run_heap(r, nbytes);
    TRY_MEM(j.heaps, r->err);
    sdx_run_range(r, j.v.outer * j.v.inner, grain_for(4 * j.v.n), fn, &j);
    return SDX_OK;
}

static sdx_status topk_from_1(Node *n, Err *err)
{
    int64_t k = sdx_upgrade_int(n, "k", -1);
    if (!sdx_node_set_ints(n, "k", &k, 1)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    return sdx_upgrade_ints_to_input(n, "k", 1, err);
}

static const OpVer topk_vers[] = {
    { 24, { TS_NUMB } }, { 11, { TS_NUM } }, { 10, { TS_FLT } }, { 1, { TS_FLT }, topk_from_1 }, { 0 },
};

const OpDef sdx_op_TopK = {
    .name = "TopK",
    .sig = "T,i64->T,i64",
    .attrs = topk_attrs,
    .attrs_size = sizeof(TopKAttrs),
    .vers = topk_vers,
    .flags = OP_F32_MATH,
    .infer = topk_infer,
    .cpu = { NULL, topk_run },
};
