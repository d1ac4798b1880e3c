#include <string.h>

#include "graph/graph.h"

sdx_status sdx_value_align(Value *v, Err *err)
{
    if (!(v->flags & VALUE_UNALIGNED)) return SDX_OK;
    Model *m = v->graph->model;
    Tensor *t = sdx_arena_new(&m->arena, Tensor);
    TRY_MEM(t, err);
    *t = *v->constant;
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) return sdx_fail(err, SDX_INTERNAL, "constant `%s` has no size", v->name);
    t->data = sdx_model_tensor_data(m, t);
    TRY_MEM(t->data, err);
    memcpy(t->data, v->constant->data, nbytes);
    v->constant = t;
    v->flags &= ~(unsigned)VALUE_UNALIGNED;
    return SDX_OK;
}
