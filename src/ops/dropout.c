/* Dropout: the identity in inference; in training each element is dropped with probability `ratio` and the others are
 * scaled by 1 / (1 - ratio). */
#include "ops/cast.h"
#include "ops/mt19937.h"
#include "ops/shapes.h"
#include "ops/upgrade.h"

typedef struct DropoutAttrs {
    int64_t seed;
} DropoutAttrs;
static const AttrSpec dropout_attrs[] = { OP_INT(DropoutAttrs, seed, OP_INT_ABSENT), OP_ATTR_END };

static sdx_status dropout_infer(Infer *c)
{
    TRY(sdx_infer_same_shape(c));
    if (c->n_out > 1) c->out[1].shape = c->out[0].shape;
    return SDX_OK;
}

/* ratio and training_mode, as they come. */
static sdx_status dropout_inputs(const Run *r, double *ratio, bool *training)
{
    *ratio = 0.5;
    *training = false;
    for (int i = 1; i < 3; i++) {
        if (!DATUM_HAS(r, i)) continue;
        const Tensor *t = &r->in[i]->t;
        if (sdx_tensor_count(t) != 1) return sdx_run_fail(r, "%s is not a scalar", i == 1 ? "ratio" : "training_mode");
        if (i == 1)
            *ratio = sdx_tensor_get_double(t, 0);
        else
            *training = sdx_tensor_get_int(t, 0) != 0;
    }
    if (!(*ratio >= 0 && *ratio < 1) && *training) return sdx_run_fail(r, "ratio %g is outside [0, 1)", *ratio);
    return SDX_OK;
}

static void dropout_train(const Tensor *x, void *y, uint8_t *mask, double ratio, uint32_t seed)
{
    Mt19937 g;
    sdx_mt_seed(&g, seed);
    int64_t n = sdx_tensor_count(x);
    double v[64], scale = 1 / (1 - ratio);
    for (int64_t at = 0; at < n; at += 64) {
        int64_t k = n - at < 64 ? n - at : 64;
        sdx_cast_block(DT_DOUBLE, v, 0, x->dtype, x->data, at, k);
        for (int64_t i = 0; i < k; i++) {
            bool keep = sdx_mt_double(&g) >= ratio;
            v[i] = keep ? v[i] * scale : 0;
            if (mask) mask[at + i] = keep;
        }
        sdx_cast_block(x->dtype, y, at, DT_DOUBLE, v, 0, k);
    }
}

static sdx_status dropout_run(Run *r)
{
    const DropoutAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t n = sdx_tensor_count(x);
    double ratio;
    bool training;
    void *y, *mask = NULL;
    size_t nbytes;
    TRY(dropout_inputs(r, &ratio, &training));
    TRY(sdx_run_output(r, 0, x->dtype, x->rank, x->dims, &y));
    if (r->n_out > 1 && r->out[1]) TRY(sdx_run_output(r, 1, DT_BOOL, x->rank, x->dims, &mask));
    if (training && ratio > 0) {
        dropout_train(x, y, mask, ratio, a->seed == OP_INT_ABSENT ? sdx_mt_fresh_seed() : (uint32_t)a->seed);
        return SDX_OK;
    }
    if (mask && n) memset(mask, 1, (size_t)n);
    if (sdx_tensor_nbytes(x, &nbytes) && nbytes && y != x->data) memcpy(y, x->data, nbytes);
    return SDX_OK;
}

/* ratio became an input in 12. */
static sdx_status dropout_from_10(Node *n, Err *err) { return sdx_upgrade_float_to_input(n, "ratio", 1, err); }

/* Before 10 the mask had the type of the data. */
static sdx_status dropout_from_7(Node *n, Err *err)
{
    if (n->n_out < 2 || !n->out[1]) return SDX_OK;
    TRY(sdx_upgrade_needs(n, 1, err));
    return sdx_upgrade_after(n, 1, "CastLike", (Value *[]){ NULL, n->in[0] }, 2, err) ? SDX_OK : SDX_OUT_OF_MEMORY;
}

/* is_test went with the training form of the operator; what is left is inference. */
static sdx_status dropout_from_6(Node *n, Err *err)
{
    sdx_node_drop_attr(n, "is_test");
    return SDX_OK;
}

static const OpVer dropout_vers[] = { { 22, { TS_FLTB | TS_F8, TS_FLTB | TS_F8 } },
                                      { 13, { TS_FLTB, TS_FLT } },
                                      { 12, { TS_FLT, TS_FLT } },
                                      { 10, { TS_FLT, TS_FLT }, dropout_from_10 },
                                      { 7, { TS_FLT, TS_FLT }, dropout_from_7 },
                                      { 6, { TS_FLT, TS_FLT }, dropout_from_6 },
                                      { 1, { TS_FLT, TS_FLT } },
                                      { 0 } };

const OpDef sdx_op_Dropout = {
    .name = "Dropout",
    .sig = "T,U?,bool?->T,bool?",
    .attrs = dropout_attrs,
    .attrs_size = sizeof(DropoutAttrs),
    .vers = dropout_vers,
    .flags = OP_INPLACE | OP_RANDOM,
    .infer = dropout_infer,
    .cpu = { NULL, dropout_run },
};
