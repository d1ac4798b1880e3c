#include "ops/index.h"

#include <inttypes.h>

#include "base/size.h"

static int64_t *index_array(Run *r, int64_t n)
{
    size_t nbytes;
    return n >= 0 && sdx_mul_size(&nbytes, (size_t)n, sizeof(int64_t)) ? sdx_run_heap(r, nbytes) : NULL;
}

sdx_status sdx_run_indices(Run *r, const Tensor *t, int64_t size, int64_t **out)
{
    int64_t n = sdx_tensor_count(t), *v = index_array(r, n);
    TRY_MEM(v, r->err);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = t->dtype == DT_INT64   ? ((const int64_t *)t->data)[i]
                     : t->dtype == DT_INT32 ? ((const int32_t *)t->data)[i]
                                            : sdx_tensor_get_int(t, i);
        if (at < -size || at >= size)
            return sdx_run_fail(r, "index %" PRId64 " at position %" PRId64 " is outside [-%" PRId64 ", %" PRId64 ")",
                                at, i, size, size);
        v[i] = at < 0 ? at + size : at;
    }
    *out = v;
    return SDX_OK;
}

sdx_status sdx_run_positions(Run *r, const Tensor *t, const int64_t *dims, int depth, int64_t per_batch, int64_t **out)
{
    int64_t n = sdx_tensor_count(t) / depth, *v = index_array(r, n), whole = sdx_dims_product(dims, 0, depth);
    TRY_MEM(v, r->err);
    for (int64_t i = 0; i < n; i++) {
        int64_t offset = 0;
        for (int k = 0; k < depth; k++) {
            int64_t at = sdx_tensor_get_int(t, i * depth + k);
            if (at < -dims[k] || at >= dims[k])
                return sdx_run_fail(r,
                                    "index %" PRId64 " in position %" PRId64 " is outside [-%" PRId64 ", %" PRId64 ")",
                                    at, i, dims[k], dims[k]);
            offset = offset * dims[k] + (at < 0 ? at + dims[k] : at);
        }
        v[i] = offset + i / per_batch * whole;
    }
    *out = v;
    return SDX_OK;
}

void sdx_row_major(const int64_t *dims, int rank, int64_t *stride)
{
    int64_t step = 1;
    for (int k = rank - 1; k >= 0; k--) {
        stride[k] = step;
        step *= dims[k];
    }
}

void sdx_walk_begin(IndexWalk *w, int rank, const int64_t *dims, const int64_t *stride, int64_t from)
{
    *w = (IndexWalk){ .rank = rank, .dims = dims, .stride = stride };
    for (int k = rank - 1; k >= 0; k--) {
        w->at[k] = from % dims[k];
        from /= dims[k];
        w->offset += w->at[k] * stride[k];
    }
}
