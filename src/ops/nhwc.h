/* ops/nhwc.h - internal operators (domain "sdx") on tensors with channels last: [N, spatial..., C], and other internal forms.
 *
 * The CPU provider's layout pass makes them; each is the operator of the same name with its input and output
 * transposed, which is also how it is lowered back to ONNX. */
#ifndef SDX_OPS_NHWC_H
#define SDX_OPS_NHWC_H

#include "ops/ops.h"

/* Runs a shape rule that is written for channels first on c, whose input 0 has channels last (unless x_first) and whose
 * output 0 gets channels last. */
sdx_status sdx_nhwc_infer(Infer *c, bool x_first, sdx_status (*infer)(Infer *c));

#endif
