/* The callbacks of passes.def. */
#ifndef SDX_OPT_PASSES_H
#define SDX_OPT_PASSES_H

#include "opt/opt.h"

#define PASS(name, level, phase, roots, text) sdx_status sdx_pass_##name(Opt *o, Node *n, bool *changed);
#define SWEEP(name, level, phase, text) sdx_status sdx_sweep_##name(Opt *o, Graph *g, bool *changed);
#include "opt/passes.def"
#undef PASS
#undef SWEEP

#endif
