#include "ep/cpu/rewrites.h"

#include "opt/passes.h"

/* Phase 0 recognises integer arithmetic, which needs the graph as written; phase 1 turns convolutions and lets the
 * transposes around them meet; phase 2 fuses into what has settled. */
static const Pass passes[] = {
    { .name = "qdq_conv",
      .level = OPT_DEFAULT,
      .phase = 0,
      .roots = "QuantizeLinear QLinearConv",
      .visit = sdx_pass_qdq_conv,
      .text = "convolves in integers between dequantising and quantising" },
    { .name = "qdq_add",
      .level = OPT_DEFAULT,
      .phase = 0,
      .roots = "QuantizeLinear",
      .visit = sdx_pass_qdq_add,
      .text = "adds quantised tensors without storing floats" },
    { .name = "qdq_maxpool",
      .level = OPT_DEFAULT,
      .phase = 0,
      .roots = "QuantizeLinear",
      .visit = sdx_pass_qdq_maxpool,
      .text = "takes maxima of integers as they are" },
    { .name = "qdq_weights",
      .level = OPT_DEFAULT,
      .phase = 1,
      .roots = "DequantizeLinear",
      .visit = sdx_pass_qdq_weights,
      .text = "dequantises weights once when no integer operator takes them" },
    { .name = "nhwc_conv",
      .level = OPT_DEFAULT,
      .phase = 1,
      .roots = "Conv",
      .visit = sdx_pass_nhwc_conv,
      .text = "convolves with channels last" },
    { .name = "nhwc_pool",
      .level = OPT_DEFAULT,
      .phase = 1,
      .visit = sdx_pass_nhwc_pool,
      .roots = "MaxPool AveragePool GlobalAveragePool GlobalMaxPool",
      .text = "pools what has channels last already" },
    { .name = "nhwc_sink",
      .level = OPT_DEFAULT,
      .phase = 1,
      .visit = sdx_pass_nhwc_sink,
      .text = "moves the transposes of channels behind nodes that work in any layout" },
    { .name = "transposes",
      .level = OPT_DEFAULT,
      .phase = 1,
      .roots = "Transpose",
      .visit = sdx_pass_transposes,
      .text = "merges transposes, and makes views of those that move nothing" },
    { .name = "noop",
      .level = OPT_DEFAULT,
      .phase = 1,
      .visit = sdx_pass_noop,
      .text = "removes nodes that return their input" },
    { .name = "views",
      .level = OPT_DEFAULT,
      .phase = 1,
      .roots = "Reshape Squeeze Unsqueeze Flatten",
      .visit = sdx_pass_views,
      .text = "merges chains of views" },
    { .name = "fuse_matmul",
      .level = OPT_DEFAULT,
      .phase = 2,
      .roots = "MatMul Gemm",
      .visit = sdx_pass_fuse_matmul,
      .text = "multiplies by constant matrices in a form that can take what follows" },
    { .name = "fuse_add",
      .level = OPT_DEFAULT,
      .phase = 2,
      .roots = "Add",
      .visit = sdx_pass_fuse_add,
      .text = "adds a bias or residual while the product is in registers" },
    { .name = "fuse_act",
      .level = OPT_DEFAULT,
      .phase = 2,
      .visit = sdx_pass_fuse_act,
      .roots = "Relu Clip LeakyRelu HardSigmoid HardSwish Sigmoid Swish Tanh Gelu",
      .text = "applies an activation while the product is in registers" },
};
enum { N_PASSES = sizeof passes / sizeof *passes };

const Pass *sdx_cpu_passes(int *n)
{
    *n = N_PASSES;
    return passes;
}

sdx_status sdx_cpu_rewrite(Model *m, int index, const OptOptions *opt, Err *err)
{
    return sdx_opt_run_passes(m, passes, N_PASSES, index, opt, err);
}
