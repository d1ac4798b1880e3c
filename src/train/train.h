/* Training: derivatives of graphs, as graphs.
 *
 * A Gradient node says: the derivative of y with respect to xs, at these values. Its place is taken by ordinary nodes that
 * compute it, so that inference, rewriting, planning and running know nothing of it. The rules, one for each operator of
 * the forward graph, are listed in vjp.def. */
#ifndef SDX_TRAIN_TRAIN_H
#define SDX_TRAIN_TRAIN_H

#include "graph/graph.h"

#define SDX_MAX_GRADIENT_NODES (1 << 20) /* derivatives of derivatives multiply */

/* Replaces every Gradient node. Infers types before it when there is one. max_nodes: of the model, 0 = none.
 * INVALID_MODEL: the names do not fit; UNSUPPORTED: an operator on the way from xs to y has no rule. */
sdx_status sdx_gradients_expand(Model *m, int64_t max_nodes, Err *err);

#endif
