/* The worked example of an execution provider: Add and Relu on float tensors of equal shape, nothing else. */
#ifndef SDX_TESTS_TOY_EP_TOY_H
#define SDX_TESTS_TOY_EP_TOY_H

#include "ep/ep.h"

extern const EpApi toy_ep;
extern int toy_runs; /* parts run so far */

#endif
