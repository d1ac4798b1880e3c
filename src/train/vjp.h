/* What the rules of vjp.def are written with.
 *
 * The derivative of a node y = f(x0, x1, ...) is a function from the adjoints of its outputs (dL/dy, of y's shape) to those
 * of its inputs: the vector-Jacobian product. A rule reads the node and its adjoints and gives each wanted input its share,
 * built from nodes of ai.onnx. Building never returns an error: after the first failure, which the tape keeps, everything
 * gives NULL and does nothing, so that rules read as formulas. */
#ifndef SDX_TRAIN_VJP_H
#define SDX_TRAIN_VJP_H

#include <string.h>

#include "ops/ops.h"

typedef struct Tape Tape; /* of one Gradient node; private to gradient.c and vjp.c, see tape.h */

typedef struct Vjp {
    Tape *tape;
    Node *n;    /* of the forward graph */
    Value **dy; /* adjoints of its outputs; NULL: nothing depends on this one. One at least is there */
} Vjp;

/* -- the node ------------------------------------------------------------------------------------------------------ */

static inline Value *in(const Vjp *g, int i) { return i < g->n->n_in ? g->n->in[i] : NULL; }
static inline Value *dy(const Vjp *g, int o) { return o < g->n->n_out ? g->dy[o] : NULL; }
/* Output o; a node that did not give it does so from here on. */
Value *sdx_vjp_out(Vjp *g, int o);
static inline Value *out(Vjp *g) { return sdx_vjp_out(g, 0); }
bool sdx_vjp_wants(const Vjp *g, int i); /* does L depend on a differentiated tensor through input i? */

int64_t sdx_vjp_int(const Vjp *g, const char *attr, int64_t dflt);
double sdx_vjp_float(const Vjp *g, const char *attr, float dflt);
bool sdx_vjp_word(const Vjp *g, const char *attr, const char *word); /* does a STRING attribute hold it? */
/* INTS attribute into v, n entries; absent: all dflt. */
void sdx_vjp_ints(Vjp *g, const char *attr, int64_t *v, int n, int64_t dflt);
/* The rank of v; 0 and failure when it is not known. */
int sdx_vjp_rank(Vjp *g, const Value *v);
/* An axis of a tensor of this rank, made positive; fails outside. */
int sdx_vjp_axis(Vjp *g, int64_t axis, int rank);
/* The size, or -1 when it is no number. */
static inline int64_t size_of(const Value *v, int axis)
{
    return v && axis < v->type.shape.rank && v->type.shape.dims[axis] >= 0 ? v->type.shape.dims[axis] : -1;
}
static inline bool has_elements(const Value *v) { return !(v->type.shape.rank == 1 && v->type.shape.dims[0] == 0); }

/* A list of n, all NULL, that lives as long as the tape; NULL: failed. */
Value **sdx_vjp_room(Vjp *g, int n);
const char *sdx_vjp_text(Vjp *g, const char *s, int n); /* a copy that lives as long as the model; NULL: failed */

/* "node `x` (Op): ..." */
void sdx_vjp_fail(Vjp *g, const char *fmt, ...) SDX_PRINTF(2, 3);

/* -- results ------------------------------------------------------------------------------------------------------- */

/* A share of input i's adjoint, of input i's shape. Does nothing when it is not wanted. */
void sdx_vjp_give(Vjp *g, int i, Value *d);
/* The same for an operator that broadcasts: d is summed over the axes along which input i was repeated. */
void sdx_vjp_give_sum(Vjp *g, int i, Value *d);

/* Instead of shares: the outputs once more, as nodes that were built after `before` (sdx_vjp_mark) and are differentiated in
 * their turn. y: g->n->n_out values, NULL where the adjoint is. */
Node *sdx_vjp_mark(const Vjp *g);
void sdx_vjp_through(Vjp *g, Node *before, Value *const *y);

/* -- building nodes ------------------------------------------------------------------------------------------------ */

/* Attributes of new nodes. */
#define VJP_INT(name_, v_)                                                                                             \
    (Attr) { .name = (name_), .type = ATTR_INT, .n = 1, .i = (v_) }
#define VJP_INTS(name_, v_, n_)                                                                                        \
    (Attr) { .name = (name_), .type = ATTR_INTS, .n = (n_), .ints = (v_) }
#define VJP_FLOAT(name_, v_)                                                                                           \
    (Attr) { .name = (name_), .type = ATTR_FLOAT, .n = 1, .f = (v_) }
#define VJP_STR(name_, v_)                                                                                             \
    (Attr)                                                                                                             \
    {                                                                                                                  \
        .name = (name_), .type = ATTR_STRING, .n = 1, .s = {(v_), sizeof(v_) - 1 }                                     \
    }

/* A node of ai.onnx with one output. b and c may be NULL. */
Value *sdx_vjp_op(Vjp *g, const char *op, Value *a, Value *b, Value *c);
/* With attributes; NULL among the inputs: absent. */
Value *sdx_vjp_with(Vjp *g, const char *op, Value *const *in, int n_in, const Attr *attrs, int n_attrs);
/* The same with n_out outputs; false after a failure. */
bool sdx_vjp_many(Vjp *g, const char *op, Value *const *in, int n_in, const Attr *attrs, int n_attrs, Value **out,
                  int n_out);
/* The node once more, with other inputs (n_in of them); its first output. */
Value *sdx_vjp_again(Vjp *g, Value *const *in, int n_in);

Value *sdx_vjp_num(Vjp *g, const Value *like, double v);  /* a scalar with like's element type */
Value *sdx_vjp_list(Vjp *g, const int64_t *v, int n);     /* int64[n] */
Value *sdx_vjp_int64(Vjp *g, int64_t v);                  /* a scalar */
Value *sdx_vjp_cast(Vjp *g, Value *v, DType to);          /* v itself when it has the type */
Value *sdx_vjp_shape(Vjp *g, Value *v, int from, int to); /* int64[]: sizes of axes from .. to; to -1: the rest */
Value *sdx_vjp_fill(Vjp *g, double v, DType elem, Value *shape); /* ConstantOfShape */
Value *sdx_vjp_fill_like(Vjp *g, double v, Value *like);
Value *sdx_vjp_reshape(Vjp *g, Value *v, Value *shape); /* a size 0 means 0 */
Value *sdx_vjp_reshape_like(Vjp *g, Value *v, Value *like);
Value *sdx_vjp_expand_like(Vjp *g, Value *v, Value *like);
/* op over these axes, which stay as 1 when keep. */
Value *sdx_vjp_reduce(Vjp *g, const char *op, Value *v, const int64_t *axes, int n, bool keep);
Value *sdx_vjp_unsqueeze(Vjp *g, Value *v, const int64_t *axes, int n);
Value *sdx_vjp_concat(Vjp *g, Value *const *in, int n, int64_t axis);
Value *sdx_vjp_total(Vjp *g, Value *v); /* the sum of all elements, a scalar */
/* The number of elements of a over that of b, or its inverse, as a scalar of a's type. */
Value *sdx_vjp_ratio(Vjp *g, Value *a, Value *b, bool inverse);
/* A vector of channels beside tensors of this rank: sizes 1 are appended, so that it lies along axis 1. */
Value *sdx_vjp_channels(Vjp *g, Value *v, int rank);
/* A tensor like x with d[k] added to element from[k], counted through all of x; 0 elsewhere. */
Value *sdx_vjp_scatter(Vjp *g, Value *x, Value *from, Value *d);

static inline Value *add(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Add", a, b, NULL); }
static inline Value *sub(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Sub", a, b, NULL); }
static inline Value *mul(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Mul", a, b, NULL); }
static inline Value *over(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Div", a, b, NULL); }
static inline Value *neg(Vjp *g, Value *a) { return sdx_vjp_op(g, "Neg", a, NULL, NULL); }
static inline Value *square(Vjp *g, Value *a) { return mul(g, a, a); }
static inline Value *where(Vjp *g, Value *c, Value *a, Value *b) { return sdx_vjp_op(g, "Where", c, a, b); }
static inline Value *greater(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Greater", a, b, NULL); }
static inline Value *less(Vjp *g, Value *a, Value *b) { return sdx_vjp_op(g, "Less", a, b, NULL); }
static inline Value *apply(Vjp *g, const char *op, Value *a) { return sdx_vjp_op(g, op, a, NULL, NULL); }
/* With numbers: a * c, a + c. */
static inline Value *scale(Vjp *g, Value *a, double c) { return mul(g, a, a ? sdx_vjp_num(g, a, c) : NULL); }
static inline Value *shift(Vjp *g, Value *a, double c) { return add(g, a, a ? sdx_vjp_num(g, a, c) : NULL); }
/* d where the condition holds, 0 elsewhere. */
static inline Value *only(Vjp *g, Value *c, Value *d) { return where(g, c, d, d ? sdx_vjp_num(g, d, 0) : NULL); }

/* -- the rules ----------------------------------------------------------------------------------------------------- */

#define VJP(op, fn) void sdx_back_##fn(Vjp *g);
#include "train/vjp.def"
#undef VJP

#endif
