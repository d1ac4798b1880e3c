/* Graph rewrites: passes.def lists them in order; each is a file beside this one. */
#ifndef SDX_OPT_OPT_H
#define SDX_OPT_OPT_H

#include "ops/ops.h"

typedef enum OptLevel { OPT_NONE, OPT_EXACT, OPT_DEFAULT, OPT_FAST } OptLevel;

typedef struct OptOptions {
    OptLevel level;
    const char *const *disabled; /* names of rewrites that stay off; NULL-terminated; may be NULL */
    size_t fold_max_nbytes;      /* results of folding above this are not kept unless smaller than their inputs */
    const Kern *kern;
} OptOptions;

typedef struct Opt Opt; /* one optimisation run, handed to passes */

typedef struct Pass {
    const char *name;
    const char *text;   /* one line, for `sdx explain --list` */
    OptLevel level;     /* lowest level at which it runs */
    /* Tries to rewrite around n; *changed when it did. Called for each node, again after changes nearby. */
    sdx_status (*visit)(Opt *o, Node *n, bool *changed);
} Pass;

const Pass *sdx_opt_passes(int *n);

/* Runs the portable passes of the level on all graphs; infers before and as needed; records model->rewrites. Unknown
 * names in `disabled` are INVALID_ARGUMENT. */
sdx_status sdx_opt_run(Model *m, const OptOptions *opt, Err *err);

/* The same driver over another list: for providers' own rewrites on the nodes they claimed (node->ep == ep). */
sdx_status sdx_opt_run_passes(Model *m, const Pass *passes, int n_passes, int ep, const OptOptions *opt, Err *err);

/* For passes: records the rewrite in the model's list. Formats the detail. */
sdx_status sdx_opt_note(Opt *o, const char *fmt, ...) SDX_PRINTF(2, 3);
Err *sdx_opt_err(Opt *o);
const OptOptions *sdx_opt_options(const Opt *o);
Model *sdx_opt_model(Opt *o);

/* Evaluates a node whose inputs are all constant with its CPU kernels; outputs in the model's memory. */
sdx_status sdx_fold_node(Model *m, const Node *n, const Kern *kern, Tensor *out, bool *done, Err *err);

#endif
