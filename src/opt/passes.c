#include "opt/passes.h"

static const Pass passes[] = {
#define PASS(name_, level_, phase_, roots_, text_)                                                                     \
    { .name = #name_,                                                                                                  \
      .text = text_,                                                                                                   \
      .level = OPT_##level_,                                                                                           \
      .phase = phase_,                                                                                                 \
      .roots = roots_,                                                                                                 \
      .visit = sdx_pass_##name_ },
#define SWEEP(name_, level_, phase_, text_)                                                                            \
    { .name = #name_, .text = text_, .level = OPT_##level_, .phase = phase_, .sweep = sdx_sweep_##name_ },
#include "opt/passes.def"
#undef PASS
#undef SWEEP
};

const Pass *sdx_opt_passes(int *n)
{
    *n = sizeof passes / sizeof *passes;
    return passes;
}
