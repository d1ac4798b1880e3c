/* ReverseSequence: per batch, the first `len` steps in reverse. */
#include <inttypes.h>

#include "ops/shapes.h"
#include "ops/typesets.h"

typedef struct ReverseAttrs {
    int64_t batch_axis, time_axis;
} ReverseAttrs;
static const AttrSpec reverse_attrs[] = { OP_INT(ReverseAttrs, batch_axis, 1), OP_INT(ReverseAttrs, time_axis, 0),
                                          OP_ATTR_END };

static sdx_status reverse_infer(Infer *c)
{
    const ReverseAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (!((a->batch_axis == 0 && a->time_axis == 1) || (a->batch_axis == 1 && a->time_axis == 0)))
        return sdx_infer_fail(c, "batch_axis and time_axis are not 0 and 1");
    if (x && x->rank < 2) return sdx_infer_fail(c, "the input has rank %d; it must be at least 2", (int)x->rank);
    return sdx_infer_same_shape(c);
}

static sdx_status reverse_run(Run *r)
{
    const ReverseAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *lens = &r->in[1]->t;
    void *data;
    if (x->rank < 2 || a->batch_axis < 0 || a->batch_axis > 1 || lens->rank != 1 ||
        lens->dims[0] != x->dims[a->batch_axis])
        return sdx_run_fail(r, "sequence_lens is not of shape [batch]");
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, x->dims, &data));
    size_t block = (size_t)sdx_dims_product(x->dims, 2, x->rank) * sdx_dtype_size(x->dtype);
    int64_t batch = x->dims[a->batch_axis], steps = x->dims[1 - a->batch_axis];
    int64_t b_stride = a->batch_axis == 0 ? steps : 1, t_stride = a->batch_axis == 0 ? 1 : batch;
    for (int64_t b = 0; b < batch && block; b++) {
        int64_t len = sdx_tensor_get_int(lens, b);
        if (len < 0 || len > steps)
            return sdx_run_fail(r, "sequence_lens[%" PRId64 "] = %" PRId64 " is outside [0, %" PRId64 "]", b, len,
                                steps);
        for (int64_t t = 0; t < steps; t++) {
            int64_t from = t < len ? len - 1 - t : t;
            memcpy((char *)data + (size_t)(b * b_stride + t * t_stride) * block,
                   (const char *)x->data + (size_t)(b * b_stride + from * t_stride) * block, block);
        }
    }
    return SDX_OK;
}

static const OpVer reverse_vers[] = { { 28, { TS_ALL_13 } }, { 10, { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_ReverseSequence = {
    .name = "ReverseSequence",
    .sig = "T,i64->T",
    .attrs = reverse_attrs,
    .attrs_size = sizeof(ReverseAttrs),
    .vers = reverse_vers,
    .infer = reverse_infer,
    .cpu = { NULL, reverse_run },
};
