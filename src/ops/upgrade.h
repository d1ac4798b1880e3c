/* Steps that upgrade functions share (OpVer.upgrade in ops.h): what many operators went through alike.
 *
 * An upgrade function rewrites one node from the form of its row into the form of the row above. It runs at import, in
 * topological order, when element types may be unknown still and ranks mostly are; so these helpers build a form that
 * is right for every rank and type (Shape, Reshape, CastLike) where they cannot know, and inference folds it.
 * Attributes such as consumed_inputs are gone before the first call. */
#ifndef SDX_OPS_UPGRADE_H
#define SDX_OPS_UPGRADE_H

#include "ops/ops.h"

/* INVALID_MODEL unless the first `count` inputs are there. */
sdx_status sdx_upgrade_needs(const Node *n, int count, Err *err);

/* -- attributes ---------------------------------------------------------------------------------------------------- */

/* The attribute's value, or dflt when it is absent or of another type. */
int64_t sdx_upgrade_int(const Node *n, const char *attr, int64_t dflt);
float sdx_upgrade_float(const Node *n, const char *attr, float dflt);

/* Sets attr when it is absent: for defaults that changed. */
sdx_status sdx_upgrade_default_int(Node *n, const char *attr, int64_t v, Err *err);
sdx_status sdx_upgrade_default_float(Node *n, const char *attr, float v, Err *err);

/* Moves an attribute to input `index`, growing the list with absent inputs; an absent attribute or a present input
 * changes nothing. All drop the attribute.
 * ints: INTS (or a single INT) -> int64[n].  int: INT (or INTS of one) -> int64 scalar.
 * float: FLOAT -> scalar with the element type of input 0.  floats: FLOATS -> float[n]. */
sdx_status sdx_upgrade_ints_to_input(Node *n, const char *attr, int index, Err *err);
sdx_status sdx_upgrade_int_to_input(Node *n, const char *attr, int index, Err *err);
sdx_status sdx_upgrade_float_to_input(Node *n, const char *attr, int index, Err *err);
sdx_status sdx_upgrade_floats_to_input(Node *n, const char *attr, int index, Err *err);

/* -- whole upgrades ------------------------------------------------------------------------------------------------ */

/* Before opset 7: `broadcast` = 1 expands input 1 to the shape of input 0, its first dim standing at `axis` of input 0
 * (absent or -1: aligned at the end, which is what NumPy does). Drops both attributes. */
sdx_status sdx_upgrade_broadcast(Node *n, Err *err);

/* The newest form takes floats only: integers become doubles before it, and the result is truncated. */
sdx_status sdx_upgrade_by_double(Node *n, Err *err);

/* The operator was replaced by another one of the same signature: renames the node. The walk over versions ends here, so
 * the function leaves the node in the newest form of the other operator. */
sdx_status sdx_upgrade_rename(Node *n, const char *op_type, Err *err);

/* -- building blocks ----------------------------------------------------------------------------------------------- */

/* New constants in n's graph. NULL: out of memory (told). */
Value *sdx_upgrade_const(Node *n, const Tensor *t, Err *err);                      /* copies the elements */
Value *sdx_upgrade_const_ints(Node *n, const int64_t *v, int64_t count, Err *err); /* int64[count] */
Value *sdx_upgrade_const_int(Node *n, int64_t v, Err *err);                        /* int64 scalar */
Value *sdx_upgrade_const_floats(Node *n, const float *v, int64_t count, Err *err); /* float[count] */
/* A scalar with the element type of `like`: a constant when that is known, else CastLike of a float constant. */
Value *sdx_upgrade_const_like(Node *n, float v, Value *like, Err *err);

/* A new node of the default domain before n, with one output; returns it. NULL: failed (told). */
Value *sdx_upgrade_before(Node *n, const char *op_type, Value *const *in, int n_in, Err *err);
/* The same with attributes: attrs is copied to the node before its arguments are parsed. */
Value *sdx_upgrade_before_with(Node *n, const char *op_type, const Attr *attrs, int n_attrs, Value *const *in, int n_in,
                               Err *err);

/* Puts a new node after n, which takes over n's output o. fresh: what n gives now; in: its inputs, where NULL entry 0
 * stands for fresh. Readers of the old output read the new node's. */
Node *sdx_upgrade_after(Node *n, int o, const char *op_type, Value *const *in, int n_in, Err *err);

#endif
