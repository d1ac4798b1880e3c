/* Shape and type inference: the drivers around OpDef.infer.
 *
 * sdx_model_infer runs at load over a whole model, with symbols for what is not a number. sdx_infer_node serves plans,
 * where sizes are numbers or unknown until run, and contents are known when they are constant for the plan. */
#ifndef SDX_OPS_INFER_H
#define SDX_OPS_INFER_H

#include "ops/ops.h"

/* Answers for contents while one node is inferred. Any callback may be NULL: it then answers "not known", except that
 * ints falls back to tensor, and graph to the types that the nested graph got at load, symbols being unknown. */
typedef struct InferHost {
    /* Content of input i; *out may hold unknown elements. */
    bool (*ints)(const struct InferHost *h, const Infer *c, int i, DimVec *out);
    const Tensor *(*tensor)(const struct InferHost *h, const Infer *c, int i);
    sdx_status (*graph)(const struct InferHost *h, const Infer *c, Graph *body, const Type *const *in, int n_in,
                        Type *out, int n_out);
    void *user;
} InferHost;

/* Checks the types of in against the signature and the node's attributes, and gives the types of the outputs: out has
 * n->n_out entries, as in has n->n_in (NULL: absent). out_known, n->n_out entries or NULL, receives known contents. An
 * unknown dim is SDX_DIM_UNKNOWN. syms is NULL in plans. What the results point to lives in arena. */
sdx_status sdx_infer_node(const InferHost *host, const Node *n, SymTab *syms, Arena *arena, const Type *const *in,
                          Type *out, DimVec *out_known, Err *err);

/* Infers types, shapes and known contents of every value, in order, nested graphs included; marks shape-determining
 * inputs. Unknown dims get fresh symbols. What the file says about inner values is not believed; what it says about
 * outputs is kept in Value.declared. */
sdx_status sdx_model_infer(Model *m, Err *err);
/* The same for one node that is new or whose inputs changed; the types of its outputs are replaced. */
sdx_status sdx_model_infer_node(Model *m, Node *n, Err *err);
/* After inference: every rank is known, and every size is a number or made of the file's own symbols. Inferring a
 * rewritten graph again cannot tell more. */
bool sdx_model_is_known(const Model *m);

#endif
