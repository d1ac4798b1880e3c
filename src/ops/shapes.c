#include "ops/shapes.h"

bool sdx_dimvec_numbers(const DimVec *v, int64_t *out, int max, int *n)
{
    if (v->n > max) return false;
    for (int i = 0; i < v->n; i++) {
        if (!v->v[i].known) return false;
        out[i] = v->v[i].v;
    }
    *n = v->n;
    return true;
}

bool sdx_infer_numbers(const Infer *c, int i, int64_t *out, int max, int *n)
{
    DimVec v;
    return INFER_HAS(c, i) && sdx_infer_ints(c, i, &v) && sdx_dimvec_numbers(&v, out, max, n);
}

sdx_status sdx_infer_pass_ints(Infer *c)
{
    DimVec v;
    return INFER_HAS(c, 0) && sdx_infer_ints(c, 0, &v) ? sdx_infer_set_ints(c, 0, v.v, v.n) : SDX_OK;
}

DimVal sdx_infer_product(const Infer *c, const Shape *s, int from, int to)
{
    DimVal n = sdx_dimval_num(1);
    for (int k = from; k < to; k++) n = sdx_dimval_mul(c->syms, n, sdx_dimval_of(s->dims[k]));
    return n;
}

int sdx_tensor_ints(const Tensor *t, int64_t *out, int max)
{
    int64_t n = sdx_tensor_count(t);
    if (n > max) return -1;
    for (int64_t i = 0; i < n; i++) out[i] = sdx_tensor_get_int(t, i);
    return (int)n;
}
