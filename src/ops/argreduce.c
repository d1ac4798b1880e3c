/* ops/argreduce.c - ArgMax, ArgMin
 *
 * The first (select_last_index: the last) place of the extreme value along an axis. A NaN is more extreme than any
 * number, as in numpy. */
#include "ops/axis3.h"
#include "ops/dims.h"

#include <string.h>

typedef struct ArgAttrs {
    int64_t axis, keepdims, select_last_index;
} ArgAttrs;

static const AttrSpec arg_attrs[] = {
    OP_INT(ArgAttrs, axis, 0),
    OP_INT(ArgAttrs, keepdims, 1),
    OP_INT(ArgAttrs, select_last_index, 0),
    OP_ATTR_END
};

typedef struct ArgJob {
    const void *x;
    int64_t *y;
    Axis3 v;
    bool min, last;
    int64_t block;
    void (*rows)(const struct ArgJob *j, int64_t outer, int64_t first, int64_t cols);
} ArgJob;

#define ARG_WIDTH 128

#define ARG_TYPE(T, tag)                                                                                               \
    static void arg_rows_##tag(const ArgJob *j, int64_t outer, int64_t first, int64_t cols)                            \
    {                                                                                                                  \
        const T *x = (const T *)j->x + outer * j->v.n * j->v.inner + first;                                            \
        int64_t *y = j->y + outer * j->v.inner + first;                                                                \
        T best[ARG_WIDTH];                                                                                             \
        for (int64_t i = 0; i < cols; i++) {                                                                           \
            best[i] = x[i];                                                                                            \
            y[i] = 0;                                                                                                  \
        }                                                                                                              \
        for (int64_t k = 1; k < j->v.n; k++) {                                                                         \
            x += j->v.inner;                                                                                           \
            for (int64_t i = 0; i < cols; i++) {                                                                       \
                T a = best[i], b = x[i];                                                                               \
                bool nan_a = a != a, nan_b = b != b;                                                                   \
                bool better = nan_a ? false : nan_b || (j->min ? b < a : b > a);                                       \
                bool same = j->last && ((nan_a && nan_b) || b == a);                                                   \
                if (better || same) {                                                                                  \
                    best[i] = b;                                                                                       \
                    y[i] = k;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
ARG_TYPE(float, f32)
ARG_TYPE(double, f64)
ARG_TYPE(int8_t, i8)
ARG_TYPE(int16_t, i16)
ARG_TYPE(int32_t, i32)
ARG_TYPE(int64_t, i64)
ARG_TYPE(uint8_t, u8)
ARG_TYPE(uint16_t, u16)
ARG_TYPE(uint32_t, u32)
ARG_TYPE(uint64_t, u64)

static void arg_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ArgJob *j = arg;
    int64_t blocks = (j->v.inner + ARG_WIDTH - 1) / ARG_WIDTH;
    for (int64_t u = from; u < to; u++) {
        int64_t first = u % blocks * ARG_WIDTH, left = j->v.inner - first;
        j->rows(j, u / blocks, first, left < ARG_WIDTH ? left : ARG_WIDTH);
    }
}

static sdx_status arg_infer(Infer *c)
{
    const ArgAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    int axis;
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    Dim *out = infer_out_rank(c, 0, a->keepdims ? x->rank : x->rank - 1);
    for (int k = 0, o = 0; k < x->rank; k++) {
        if (k != axis) out[o++] = x->dims[k];
        else if (a->keepdims) out[o++] = 1;
    }
    return SDX_OK;
}

static sdx_status arg_run(Run *r, bool min)
{
    const ArgAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis), rank = 0;
    int64_t dims[SDX_MAX_RANK];
    for (int k = 0; k < x->rank; k++) {
        if (k != axis) dims[rank++] = x->dims[k];
        else if (a->keepdims) dims[rank++] = 1;
    }
    void *y;
    TRY(sdx_run_output(r, 0, DT_INT64, rank, dims, &y));
    ArgJob j = { .x = x->data, .y = y, .v = axis3_of(x, axis), .min = min, .last = a->select_last_index != 0 };
    if (j.v.outer * j.v.inner == 0) return SDX_OK;
    if (j.v.n == 0) return sdx_run_fail(r, "axis %d has size 0: there is no element to choose", axis);
    switch (x->dtype) {
    case DT_FLOAT: j.rows = arg_rows_f32; break;
    case DT_DOUBLE: j.rows = arg_rows_f64; break;
    case DT_INT8: j.rows = arg_rows_i8; break;
    case DT_INT16: j.rows = arg_rows_i16; break;
    case DT_INT32: j.rows = arg_rows_i32; break;
    case DT_INT64: j.rows = arg_rows_i64; break;
    case DT_UINT8: j.rows = arg_rows_u8; break;
    case DT_UINT16: j.rows = arg_rows_u16; break;
    case DT_UINT32: j.rows = arg_rows_u32; break;
    case DT_UINT64: j.rows = arg_rows_u64; break;
    default: return sdx_run_fail(r, "type %s has no order", sdx_dtype_name(x->dtype));
    }
    int64_t width = j.v.inner < ARG_WIDTH ? j.v.inner : ARG_WIDTH, blocks = (j.v.inner + ARG_WIDTH - 1) / ARG_WIDTH;
    sdx_run_range(r, j.v.outer * blocks, grain_for(j.v.n * width), arg_range, &j);
    return SDX_OK;
}

static sdx_status argmax_run(Run *r) { return arg_run(r, false); }
static sdx_status argmin_run(Run *r) { return arg_run(r, true); }

static const OpVer arg_vers[] = {
    { 13, { TS_NUMB } }, { 12, { TS_NUM } }, { 11, { TS_NUM } }, { 1, { TS_NUM } }, { 0 },
};

const OpDef sdx_op_ArgMax = {
    .name = "ArgMax", .sig = "T->i64", .attrs = arg_attrs, .attrs_size = sizeof(ArgAttrs), .vers = arg_vers,
    .flags = OP_F32_MATH, .infer = arg_infer, .cpu = { NULL, argmax_run },
};
const OpDef sdx_op_ArgMin = {
    .name = "ArgMin", .sig = "T->i64", .attrs = arg_attrs, .attrs_size = sizeof(ArgAttrs), .vers = arg_vers,
    .flags = OP_F32_MATH, .infer = arg_infer, .cpu = { NULL, argmin_run },
};
