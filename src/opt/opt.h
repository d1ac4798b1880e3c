/* Graph rewrites: passes.def lists them in order; each is a file beside this one.
 *
 * A rewrite promises: no valid model becomes an error, no type or shape of an output changes, and what it cannot prove
 * it leaves alone. At level `exact` results keep their bits; at `default` they may round differently. */
#ifndef SDX_OPT_OPT_H
#define SDX_OPT_OPT_H

#include "ops/ops.h"

typedef enum OptLevel { OPT_NONE, OPT_EXACT, OPT_DEFAULT, OPT_FAST } OptLevel;

typedef struct OptOptions {
    OptLevel level;
    const char *const *disabled; /* names of rewrites that stay off; NULL-terminated; may be NULL */
    const char *const *others;   /* names of rewrites outside passes.def that `disabled` may hold; may be NULL */
    size_t fold_max_nbytes;      /* results of folding above this are kept only in proportion to their inputs;
                                    0: SDX_FOLD_MAX_NBYTES */
    const Kern *kern;            /* NULL: the best for this machine */
} OptOptions;

#define SDX_FOLD_MAX_NBYTES ((size_t)1 << 20)

typedef struct Opt Opt; /* one optimisation run, handed to passes */

typedef struct Pass {
    const char *name;
    const char *text;  /* one line, for `sdx explain --list` */
    OptLevel level;    /* lowest level at which it runs */
    int phase;         /* first phase that it takes part in; see passes.def */
    const char *roots; /* operators it starts from, "Mul Add com.microsoft:Gelu"; NULL: all nodes */
    /* Tries to rewrite around n, the last node of its pattern; *changed when it did. Called for each node in order, and
     * again after changes nearby. Edits through the sdx_opt_ functions below. */
    sdx_status (*visit)(Opt *o, Node *n, bool *changed);
    /* Or: goes over a whole graph in order, at the beginning of each phase. */
    sdx_status (*sweep)(Opt *o, Graph *g, bool *changed);
} Pass;

const Pass *sdx_opt_passes(int *n);

/* Runs the portable passes of the level on all graphs; infers before and as needed; records model->rewrites. Unknown
 * names in `disabled` are INVALID_ARGUMENT. At level none it only infers. */
sdx_status sdx_opt_run(Model *m, const OptOptions *opt, Err *err);

/* The same driver over another list: for providers' own rewrites on the nodes they claimed (node->ep == ep; -1: all).
 * Types have been inferred. Names in `disabled` are not checked. */
sdx_status sdx_opt_run_passes(Model *m, const Pass *passes, int n_passes, int ep, const OptOptions *opt, Err *err);

/* -- for passes ---------------------------------------------------------------------------------------------------- */

/* Records the rewrite in the model's list, under the name of the running pass. Formats the detail. */
sdx_status sdx_opt_note(Opt *o, const char *fmt, ...) SDX_PRINTF(2, 3);
Err *sdx_opt_err(Opt *o);
const OptOptions *sdx_opt_options(const Opt *o);
Model *sdx_opt_model(Opt *o);

/* A new node before `before`, under its name, with one fresh output, attributes to be set; then sdx_opt_finish. NULL:
 * failed (told). */
Node *sdx_opt_node(Opt *o, Node *before, const char *domain, const char *op, Value *const *in, int n_in);
/* Parses the attributes of a node that is new or was edited, infers its outputs and has it visited. */
sdx_status sdx_opt_finish(Opt *o, Node *n);
/* sdx_opt_node and _finish for operators without attributes; gives the output. */
sdx_status sdx_opt_apply(Opt *o, Node *before, const char *op, Value *const *in, int n_in, Value **out);
/* A constant in g; t's elements are copied to the model. */
sdx_status sdx_opt_constant(Opt *o, Graph *g, const char *name, const Tensor *t, Value **out);
/* Every reader of `from` reads `to`; what is left without readers is removed. The caller has asked
 * sdx_value_can_replace. */
sdx_status sdx_opt_replace(Opt *o, Value *from, Value *to);
/* Finishes n and puts it in the place of old's only output that is read, with a note that names old. */
sdx_status sdx_opt_supersede(Opt *o, Node *old, Node *n);
/* Input i of n becomes v (NULL: absent). Finish n afterwards. */
sdx_status sdx_opt_set_input(Opt *o, Node *n, int i, Value *v);
/* n is to be visited (again). */
sdx_status sdx_opt_touch(Opt *o, Node *n);

/* Evaluates a node whose inputs are all constant with its CPU kernels; outputs (n->n_out) in the model's memory. Not
 * done when the operator cannot be folded, fails, or gives more than the options' limit: no error. */
sdx_status sdx_fold_node(Model *m, const Node *n, const OptOptions *opt, Tensor *out, bool *done, Err *err);

#endif
