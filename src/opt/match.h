/* What passes ask of nodes and values. */
#ifndef SDX_OPT_MATCH_H
#define SDX_OPT_MATCH_H

#include <string.h>

#include "opt/passes.h"

/* An operator of ai.onnx. */
static inline bool node_is(const Node *n, const char *op) { return n && strcmp(n->op_type, op) == 0 && !*n->domain; }

/* Input i, NULL when absent. */
static inline Value *node_in(const Node *n, int i) { return i < n->n_in ? n->in[i] : NULL; }

/* The node that computes v when it is `op` and v is its first output, else NULL. */
static inline Node *made_by(const Value *v, const char *op)
{
    return v && v->producer && v->producer_index == 0 && node_is(v->producer, op) ? v->producer : NULL;
}

/* One reader and nobody else: v may change or go when that reader does. */
static inline bool is_private(const Value *v)
{
    return v->n_uses == 1 && !(v->flags & (VALUE_GRAPH_OUTPUT | VALUE_CAPTURED));
}

static inline int64_t attr_int(const Node *n, const char *name, int64_t dflt)
{
    const Attr *a = sdx_node_attr(n, name);
    return a && a->type == ATTR_INT ? a->i : dflt;
}

static inline float attr_float(const Node *n, const char *name, float dflt)
{
    const Attr *a = sdx_node_attr(n, name);
    return a && a->type == ATTR_FLOAT ? a->f : dflt;
}

/* Tensors of one element type and provably one shape. */
bool sdx_same_type(const Type *a, const Type *b);
bool sdx_same_shape(const Shape *a, const Shape *b);
bool sdx_shape_is_numbers(const Shape *s);
static inline int rank_of(const Value *v)
{
    return v->type.kind == TYPE_TENSOR ? v->type.shape.rank : SDX_RANK_UNKNOWN;
}

/* Constant numeric tensors. scalar: one element, any rank. floats: any numeric type, as doubles, at most max. */
bool sdx_const_scalar(const Value *v, double *out);
/* A constant scalar within 1e-6 of `want`, relatively (exporters round), exactly when want is 0. */
bool sdx_const_is(const Value *v, double want);
/* All n integers of a constant or of known content; -1 when not known or more than max. */
int sdx_known_ints(const Value *v, int64_t *out, int max);

/* For commutative n: the input that is made by `op` (private to n when `alone`), and the other one. */
Node *sdx_split_pair(const Node *n, const char *op, bool alone, Value **other);
/* For a two-input n: a constant scalar operand and the other one; false when there is none. i says where it stands. */
bool sdx_split_scalar(const Node *n, double *c, Value **other, int *i);

/* Normalised axes of a reduction (input 1; absent: all) over a known rank; -1 when not known. */
int sdx_reduce_axes(const Node *n, int64_t *out);
/* Does n reduce exactly the last axis, keeping it? */
bool sdx_reduces_last(const Node *n);

#endif
