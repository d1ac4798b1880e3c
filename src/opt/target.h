/* Reshape with a constant target. */
#ifndef SDX_OPT_TARGET_H
#define SDX_OPT_TARGET_H

#include "opt/opt.h"

/* A target that makes x have this shape, whatever the symbols stand for, zero included: numbers, 0 for a dim that x has
 * at the same place, and -1 for one other, when all the rest are numbers. */
bool sdx_reshape_target(const Value *x, const Shape *shape, int64_t *target);
/* y = Reshape(x, target) in the place of n's output. */
sdx_status sdx_replace_by_reshape(Opt *o, Node *n, Value *x, const int64_t *target, int rank);

#endif
