/* One node evaluated by itself: constant folding, and plans that compute shapes. */
#ifndef SDX_OPS_EVAL_H
#define SDX_OPS_EVAL_H

#include "ops/run.h"

/* The exact type of what flows along an edge at run time; `of` points into arena for sequences and maps. declared (may
 * be NULL) tells what the datum cannot: the kind of an empty optional, the elements of an empty sequence. */
sdx_status sdx_datum_type(const Datum *d, const Type *declared, Arena *arena, Type *out, Err *err);

/* Infers n from the contents of in (n->n_in, NULL for absent) and runs it. out: n->n_out data, owned on success, strings
 * with their bytes. UNSUPPORTED when the node runs nested graphs or has no CPU code. */
sdx_status sdx_eval_node(const RunTools *tools, const Node *n, const Datum *const *in, Datum *out, const Alloc *a,
                         Err *err);

/* For executors: infers n and fills out[i] (those not NULL, on entry DATUM_NONE or a tensor with its memory): tensors
 * whose shape inference tells get memory from a, others are left for the node to make. */
sdx_status sdx_eval_outputs(const Node *n, const Datum *const *in, Datum *const *out, const Alloc *a, Arena *arena,
                            Err *err);

#endif
