/* The CPU provider's own rewrites, on the nodes it claimed: layout first, then what follows a product in one pass.
 *
 * They make operators of the internal domain "sdx" (ops/nhwc.h), which nobody else sees. */
#ifndef SDX_EP_CPU_REWRITES_H
#define SDX_EP_CPU_REWRITES_H

#include "opt/opt.h"

/* EpApi.rewrite for nodes of provider `index`. */
sdx_status sdx_cpu_rewrite(Model *m, int index, const OptOptions *opt, Err *err);
/* The rewrites, for reports. */
const Pass *sdx_cpu_passes(int *n);

sdx_status sdx_pass_qdq_conv(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_qdq_add(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_qdq_maxpool(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_qdq_weights(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_nhwc_conv(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_nhwc_pool(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_nhwc_sink(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_fuse_act(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_fuse_add(Opt *o, Node *n, bool *changed);
sdx_status sdx_pass_fuse_matmul(Opt *o, Node *n, bool *changed);

/* -- what the layout rewrites share -------------------------------------------------------------------------------- */

/* v with channels last, when v is the transpose of such a value: [N, s..., C] -> [N, C, s...]. NULL otherwise. */
Value *sdx_nhwc_source(const Value *v);
/* Inserts the transpose of v to channels last (or back to channels second) before a node. */
sdx_status sdx_nhwc_turn(Opt *o, Node *before, Value *v, bool to_last, Value **out);
/* n's output 0 becomes the channels-second transpose of y. */
sdx_status sdx_nhwc_replace(Opt *o, Node *n, Value *y);
/* Axis of a tensor with channels second, in its channels-last form. axis in [0, rank). */
static inline int64_t nhwc_axis(int64_t axis, int rank) { return axis == 0 ? 0 : axis == 1 ? rank - 1 : axis - 1; }

#endif
