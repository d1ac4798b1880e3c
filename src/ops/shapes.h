/* Shape arithmetic shared by operators that move or reshape elements. */
#ifndef SDX_OPS_SHAPES_H
#define SDX_OPS_SHAPES_H

#include <string.h>

#include "ops/ops.h"

#define INFER_HAS(c, i) ((i) < (c)->n_in && (c)->in[i])
#define DATUM_HAS(c, i) ((i) < (c)->n_in && (c)->in[i] && (c)->in[i]->kind != DATUM_NONE)

static inline bool str_is(Str s, const char *literal) { return s.n == strlen(literal) && !memcmp(s.p, literal, s.n); }

/* Shape of input i, or NULL when it is absent or its rank unknown. */
static inline const Shape *shape_of(const Infer *c, int i)
{
    return INFER_HAS(c, i) && c->in[i]->shape.rank != SDX_RANK_UNKNOWN ? &c->in[i]->shape : NULL;
}

/* Output o gets this rank with sizes unknown; a shape to fill. */
static inline Shape *shape_out(Infer *c, int o, int rank)
{
    Shape *s = &c->out[o].shape;
    s->rank = rank;
    for (int k = 0; k < rank; k++) s->dims[k] = SDX_DIM_UNKNOWN;
    return s;
}

/* All of a vector's elements as numbers; false when one is not known. n is at most max. */
bool sdx_dimvec_numbers(const DimVec *v, int64_t *out, int max, int *n);
/* Content of input i as numbers: false when absent or not known. */
bool sdx_infer_numbers(const Infer *c, int i, int64_t *out, int max, int *n);
/* Output 0 holds the same integers in the same order as input 0, if they are known. */
sdx_status sdx_infer_pass_ints(Infer *c);
/* Number of elements of s from dimension `from` up to `to`. */
DimVal sdx_infer_product(const Infer *c, const Shape *s, int from, int to);

/* Elements of an integer tensor of at most max elements into out; -1 when there are more. */
int sdx_tensor_ints(const Tensor *t, int64_t *out, int max);
/* Axis in [-rank, rank) made positive; false outside. */
static inline bool axis_of(int64_t axis, int rank, int *out)
{
    if (axis < -rank || axis >= rank) return false;
    *out = (int)(axis < 0 ? axis + rank : axis);
    return true;
}

/* The run of an operator whose output has the elements of input 0 in order, in shape dims. */
sdx_status sdx_view_run(Run *r, int rank, const int64_t *dims);

#endif
