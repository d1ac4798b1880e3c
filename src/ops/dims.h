/* ops/dims.h - shape arithmetic for infer callbacks: sizes that may be numbers or symbols. */
#ifndef SDX_OPS_DIMS_H
#define SDX_OPS_DIMS_H

#include "ops/ops.h"

/* Shape of input i, or NULL when it is absent or its rank is not known. */
static inline const Shape *infer_shape(const Infer *c, int i)
{
    if (i >= c->n_in || !c->in[i] || c->in[i]->shape.rank < 0) return NULL;
    return &c->in[i]->shape;
}

static inline bool infer_has(const Infer *c, int i) { return i < c->n_in && c->in[i]; }

/* Output o has this rank, its sizes not known yet. Does nothing when the output is not asked for. */
static inline Dim *infer_out_rank(Infer *c, int o, int rank)
{
    if (o >= c->n_out) return c->unasked;
    Shape *s = &c->out[o].shape;
    s->rank = rank;
    for (int k = 0; k < rank; k++) s->dims[k] = SDX_DIM_UNKNOWN;
    return s->dims;
}

static inline void infer_out_shape(Infer *c, int o, const Shape *s)
{
    if (o < c->n_out) c->out[o].shape = *s;
}

static inline bool dim_differs(Dim a, Dim b) { return sdx_dim_is_const(a) && sdx_dim_is_const(b) && a != b; }
/* Of two sizes that have to agree, the one that says more. */
static inline Dim dim_prefer(Dim a, Dim b)
{
    if (sdx_dim_is_const(a)) return a;
    return sdx_dim_is_const(b) || a == SDX_DIM_UNKNOWN ? b : a;
}

/* d * mul + add */
static inline DimVal infer_linear(const Infer *c, DimVal d, int64_t mul, int64_t add)
{
    if (mul != 1) d = sdx_dimval_mul(c->syms, d, sdx_dimval_num(mul));
    return add ? sdx_dimval_add(c->syms, d, sdx_dimval_num(add)) : d;
}

static inline Dim infer_mul(const Infer *c, Dim a, Dim b)
{
    return sdx_dim_of(sdx_dimval_mul(c->syms, sdx_dimval_of(a), sdx_dimval_of(b)));
}

/* The single number that input i is known to hold. */
static inline bool infer_int(const Infer *c, int i, int64_t *out)
{
    DimVec v;
    if (!sdx_infer_ints(c, i, &v) || v.n < 1 || !v.v[0].known) return false;
    *out = v.v[0].v;
    return true;
}

/* Fails when the rank of input i is known and outside [lo, hi]. */
static inline sdx_status infer_rank_between(const Infer *c, int i, int lo, int hi, const char *what)
{
    const Shape *s = infer_shape(c, i);
    if (!s || (s->rank >= lo && s->rank <= hi)) return SDX_OK;
    if (lo == hi) return sdx_infer_fail(c, "%s has rank %d; it must be %d", what, (int)s->rank, lo);
    if (s->rank < lo) return sdx_infer_fail(c, "%s has rank %d; it must be at least %d", what, (int)s->rank, lo);
    return sdx_infer_fail(c, "%s has rank %d; at most %d is supported", what, (int)s->rank, hi);
}

/* Fails when input i, present, is known not to be a vector of `want` elements. */
static inline sdx_status infer_is_vector(const Infer *c, int i, Dim want, const char *what)
{
    const Shape *s = infer_shape(c, i);
    if (!s) return SDX_OK;
    if (s->rank != 1) return sdx_infer_fail(c, "%s has rank %d; it must be 1", what, (int)s->rank);
    if (dim_differs(s->dims[0], want))
        return sdx_infer_fail(c, "%s has %lld elements; it needs %lld", what, (long long)s->dims[0], (long long)want);
    return SDX_OK;
}

#endif
