/* ops/conv_plan.h - from tensors and attributes to the kernels' ConvPlan, channels last. */
#ifndef SDX_OPS_CONV_PLAN_H
#define SDX_OPS_CONV_PLAN_H

#include "kern/conv/conv.h"
#include "ops/conv_op.h"

typedef struct ConvGeometry {
    ConvPlan plan; /* its upper part */
    size_t taps;
    int out_rank;
    int64_t out_dims[5]; /* [N, spatial..., M] */
} ConvGeometry;

/* x is [N, spatial..., C], or [N, C, spatial...] with x_first; w is ONNX's. Rank 3 to 5, accepted by inference. */
void sdx_conv_geometry(const ConvAttrs *a, bool x_first, const Tensor *x, const Tensor *w, ConvGeometry *g);

static inline bool conv_is_empty(const ConvGeometry *g) { return sdx_dims_product(g->out_dims, 0, g->out_rank) == 0; }

#endif
