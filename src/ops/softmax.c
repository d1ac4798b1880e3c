/* ops/softmax.c - Softmax, LogSoftmax, Hardmax
 *
 * Softmax(x)[i] = exp(x[i] - max x) / sum_j exp(x[j] - max x) along `axis`; LogSoftmax is its logarithm, computed as
 * x - max - log(sum); Hardmax is 1 at the first maximum, 0 elsewhere.
 * Before opset 13 the input was viewed as 2-D, split at `axis`. */
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/upgrade.h"

#include <math.h>
#include <string.h>

typedef struct SoftmaxAttrs {
    int64_t axis;
} SoftmaxAttrs;

static const AttrSpec softmax_attrs[] = { OP_INT(SoftmaxAttrs, axis, -1), OP_ATTR_END };

enum { KIND_SOFT, KIND_LOG, KIND_HARD };

typedef struct SoftmaxJob {
    const void *x;
    void *y;
    Axis3 v;
    SoftmaxF32 *fn;
} SoftmaxJob;

#define COLS 64 /* columns worked on together when the axis is not the last */

#define T float
#define FN(name) name##_f32
#include "ops/softmax_tmpl.h"
#define T double
#define FN(name) name##_f64
#define EXP exp
#include "ops/softmax_tmpl.h"

static void kernel_f32(void *arg, int64_t from, int64_t to, int worker)
{
    const SoftmaxJob *j = arg;
    const float *x = j->x;
    float *y = j->y;
    int64_t n = j->v.n, inner = j->v.inner, blocks = (inner + COLS - 1) / COLS;
    if (inner == 1) {
        j->fn(y + from * n, x + from * n, (size_t)(to - from), (size_t)n, 1, 1);
        return;
    }
    for (int64_t u = from; u < to; u++) {
        int64_t first = u % blocks * COLS, cols = inner - first < COLS ? inner - first : COLS;
        int64_t at = u / blocks * n * inner + first;
        j->fn(y + at, x + at, 1, (size_t)n, (size_t)cols, (size_t)inner);
    }
}

static sdx_status softmax_infer(Infer *c)
{
    const SoftmaxAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    int axis;
    if (x && x->rank) TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    return sdx_infer_same_shape(c);
}

static sdx_status softmax_run(Run *r, int kind)
{
    const SoftmaxAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int axis = (int)(a->axis < 0 ? a->axis + x->rank : a->axis);
    void *y;
    TRY(run_output_like(r, 0, x, &y));
    SoftmaxJob j = { .x = x->data, .y = y, .v = { 1, 1, 1 } };
    if (x->rank) j.v = axis3_of(x, axis);
    if (j.v.outer * j.v.n * j.v.inner == 0) return SDX_OK;
    bool f64 = x->dtype == DT_DOUBLE;
    static const RangeFn fns[2][3] = { { kernel_f32, kernel_f32, hard_f32 }, { soft_f64, log_f64, hard_f64 } };
    const Kern *k = r->state;
    j.fn = kind == KIND_LOG ? k->logsoftmax_f32 : k->softmax_f32;
    int64_t blocks = (j.v.inner + COLS - 1) / COLS;
    sdx_run_range(r, j.v.outer * blocks, grain_for(2 * j.v.n * (j.v.inner < COLS ? j.v.inner : COLS)), fns[f64][kind],
                  &j);
    return SDX_OK;
}

static sdx_status run_soft(Run *r) { return softmax_run(r, KIND_SOFT); }
static sdx_status run_log(Run *r) { return softmax_run(r, KIND_LOG); }
static sdx_status run_hard(Run *r) { return softmax_run(r, KIND_HARD); }

/* y = Softmax(x), seen as 2-D  =>  y = Reshape(Softmax(Flatten(x)), Shape(x)); over the last axis nothing changes. */
static sdx_status softmax_from_11(Node *n, Err *err)
{
    int64_t axis = sdx_upgrade_int(n, "axis", 1);
    TRY(sdx_upgrade_needs(n, 1, err));
    Value *x = n->in[0];
    int rank = x->type.kind == TYPE_TENSOR ? x->type.shape.rank : SDX_RANK_UNKNOWN;
    if (axis == -1 || (rank > 0 && axis == rank - 1)) {
        if (!sdx_node_set_int(n, "axis", -1)) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
        return SDX_OK;
    }
    Attr flat = { .name = "axis", .type = ATTR_INT, .n = 1, .i = axis };
    Value *matrix = sdx_upgrade_before_with(n, "Flatten", &flat, 1, &x, 1, err);
    Value *shape = matrix ? sdx_upgrade_before(n, "Shape", &x, 1, err) : NULL;
    if (!shape) return err ? (sdx_status)err->code : SDX_OUT_OF_MEMORY;
    if (!sdx_node_set_input(n, 0, matrix) || !sdx_node_set_int(n, "axis", -1))
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    Value *in[2] = { NULL, shape };
    return sdx_upgrade_after(n, 0, "Reshape", in, 2, err) ? SDX_OK : (err ? (sdx_status)err->code : SDX_OUT_OF_MEMORY);
}

static const OpVer softmax_vers[] = {
    { 13, { TS_FLTB } },
    { 11, { TS_FLT }, softmax_from_11 },
    { 1, { TS_FLT } },
    { 0 },
};

#define SOFTMAX_OP(Name, fn)                                                                                           \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = "T->T",                                                                                                 \
        .attrs = softmax_attrs,                                                                                        \
        .attrs_size = sizeof(SoftmaxAttrs),                                                                            \
        .vers = softmax_vers,                                                                                          \
        .flags = OP_INPLACE | OP_F32_MATH,                                                                             \
        .infer = softmax_infer,                                                                                        \
        .cpu = { prepare_kern, fn },                                                                                   \
    };
SOFTMAX_OP(Softmax, run_soft)
SOFTMAX_OP(LogSoftmax, run_log)
SOFTMAX_OP(Hardmax, run_hard)
