/* Values of the public API: sparse tensors. */
#include "sardonyx/sardonyx.h"

#include "tests/harness.h"

static sdx_value *wrap(sdx_dtype dtype, int64_t n, void *data, size_t nbytes)
{
    sdx_value *v = NULL;
    sdx_error err = { 0 };
    sdx_tensor_wrap(dtype, &n, 1, data, nbytes, NULL, NULL, &v, &err);
    return v;
}

static void sparse_tensors_are_made_and_taken_apart(void)
{
    float x[] = { 5, 7 };
    int64_t at[] = { 1, 5 }, dims[] = { 2, 3 };
    sdx_value *values = wrap(SDX_FLOAT, 2, x, sizeof x), *indices = wrap(SDX_INT64, 2, at, sizeof at), *s = NULL;
    sdx_error err = { 0 };
    CHECK(sdx_sparse_create(dims, 2, values, indices, &s, &err) == SDX_OK);
    CHECK(sdx_value_kind(s) == SDX_SPARSE_TENSOR);
    CHECK(sdx_value_rank(s) == 2 && sdx_value_dims(s)[1] == 3);
    sdx_value *back = NULL, *where = NULL;
    CHECK(sdx_sparse_values(s, &back, &err) == SDX_OK);
    CHECK(sdx_sparse_indices(s, &where, &err) == SDX_OK);
    CHECK(((float *)sdx_value_data(back))[1] == 7 && ((int64_t *)sdx_value_data(where))[1] == 5);
    sdx_value_release(back);
    sdx_value_release(where);
    sdx_value_release(s);
    at[1] = 6; /* outside [2,3] */
    s = NULL;
    CHECK(sdx_sparse_create(dims, 2, values, indices, &s, &err) == SDX_INVALID_ARGUMENT);
    CHECK(s == NULL);
    sdx_error_clear(&err);
    CHECK(sdx_sparse_values(values, &back, &err) == SDX_INVALID_ARGUMENT);
    sdx_value_release(values);
    sdx_value_release(indices);
}

SUITE(value_test) { RUN(sparse_tensors_are_made_and_taken_apart); }
