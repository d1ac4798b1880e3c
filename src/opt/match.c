#include "opt/match.h"

#include <math.h>

bool sdx_same_shape(const Shape *a, const Shape *b)
{
    if (a->rank == SDX_RANK_UNKNOWN || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i] || a->dims[i] == SDX_DIM_UNKNOWN) return false;
    return true;
}

bool sdx_same_type(const Type *a, const Type *b)
{
    return a->kind == TYPE_TENSOR && b->kind == TYPE_TENSOR && a->elem == b->elem && a->elem != DT_NONE &&
           sdx_same_shape(&a->shape, &b->shape);
}

bool sdx_shape_is_numbers(const Shape *s)
{
    for (int i = 0; i < s->rank; i++)
        if (!sdx_dim_is_const(s->dims[i])) return false;
    return s->rank != SDX_RANK_UNKNOWN;
}

static bool is_number(DType d)
{
    char c = sdx_dtype_class(d);
    return c == 'F' || c == 'S' || c == 'I' || c == 'U';
}

bool sdx_const_scalar(const Value *v, double *out)
{
    if (!v || !sdx_value_is_const(v) || !v->constant->data) return false;
    const Tensor *t = v->constant;
    if (!is_number(t->dtype) || sdx_tensor_count(t) != 1) return false;
    *out = sdx_tensor_get_double(t, 0);
    return true;
}

bool sdx_const_is(const Value *v, double want)
{
    double c;
    return sdx_const_scalar(v, &c) && fabs(c - want) <= 1e-6 * fabs(want);
}

int sdx_known_ints(const Value *v, int64_t *out, int max)
{
    if (!v) return -1;
    if (sdx_value_is_const(v)) {
        const Tensor *t = v->constant;
        int64_t n = sdx_tensor_count(t);
        if (n > max || (n && !t->data) || !strchr("IUB", sdx_dtype_class(t->dtype))) return -1;
        for (int64_t i = 0; i < n; i++) out[i] = sdx_tensor_get_int(t, i);
        return (int)n;
    }
    if (!v->known.v || v->known.n > max) return -1;
    for (int i = 0; i < v->known.n; i++) {
        if (!v->known.v[i].known) return -1;
        out[i] = v->known.v[i].v;
    }
    return v->known.n;
}

Node *sdx_split_pair(const Node *n, const char *op, bool alone, Value **other)
{
    if (n->n_in != 2 || !n->in[0] || !n->in[1]) return NULL;
    for (int i = 0; i < 2; i++) {
        Node *p = made_by(n->in[i], op);
        if (!p || (alone && !is_private(n->in[i]))) continue;
        *other = n->in[1 - i];
        return p;
    }
    return NULL;
}

bool sdx_split_scalar(const Node *n, double *c, Value **other, int *at)
{
    if (n->n_in != 2 || !n->in[0] || !n->in[1]) return false;
    for (int i = 0; i < 2; i++) {
        if (!sdx_const_scalar(n->in[i], c)) continue;
        *other = n->in[1 - i];
        *at = i;
        return true;
    }
    return false;
}

int sdx_reduce_axes(const Node *n, int64_t *out)
{
    int rank = node_in(n, 0) ? rank_of(n->in[0]) : SDX_RANK_UNKNOWN;
    if (rank == SDX_RANK_UNKNOWN) return -1;
    int count = node_in(n, 1) ? sdx_known_ints(n->in[1], out, SDX_MAX_RANK) : 0;
    if (count < 0) return -1;
    if (count == 0) {
        if (attr_int(n, "noop_with_empty_axes", 0)) return 0;
        for (int i = 0; i < rank; i++) out[i] = i;
        return rank;
    }
    for (int i = 0; i < count; i++) {
        if (out[i] < 0) out[i] += rank;
        if (out[i] < 0 || out[i] >= rank) return -1;
    }
    return count;
}

bool sdx_reduces_last(const Node *n)
{
    int64_t axes[SDX_MAX_RANK];
    return attr_int(n, "keepdims", 1) && sdx_reduce_axes(n, axes) == 1 && axes[0] == rank_of(n->in[0]) - 1;
}
