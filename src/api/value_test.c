/* Values of the public API: sparse tensors, and weights that callers give. */
#include "sardonyx/sardonyx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* y = x + w, w = {10, 20}, as a file at path: written in the textual form, then as ONNX's. */
static void write_model(const char *path)
{
    char source_path[] = "value_test_XXXXXX.onnxtxt";
    sdx_source source = SDX_SOURCE_INIT;
    sdx_session_options o;
    sdx_error err = { 0 };
    static const char text[] = "<ir_version: 8, opset_import: [\"\" : 17]> g (float[2] x) => (float[2] y) "
                               "<float[2] w = {10, 20}> { y = Add(x, w) }";
    int fd = mkstemps(source_path, (int)strlen(".onnxtxt"));
    CHECK(fd >= 0 && write(fd, text, sizeof text - 1) == (ssize_t)(sizeof text - 1));
    close(fd);
    sdx_session_options_init(&o);
    o.level = SDX_LEVEL_NONE;
    source.path = source_path;
    CHECK(sdx_model_optimize(&source, &o, path, NULL, &err) == SDX_OK);
    remove(source_path);
}

static void weights_are_given(void)
{
    char path[64];
    float x[] = { 1, 2 }, w[] = { 5, 6 };
    sdx_value *in = wrap(SDX_FLOAT, 2, x, sizeof x), *weight = wrap(SDX_FLOAT, 2, w, sizeof w), *y = NULL;
    sdx_initializer given[] = { { "w", weight } };
    sdx_session_options o;
    sdx_session *s = NULL;
    sdx_error err = { 0 };
    snprintf(path, sizeof path, "value_test_%ld.onnx", (long)getpid());
    write_model(path);
    sdx_session_options_init(&o);
    o.initializers = given;
    o.n_initializers = 1;
    const char *names[] = { "x", "y" };
    if (CHECK(sdx_session_open(path, &o, &s, &err) == SDX_OK) &&
        CHECK(sdx_session_run(s, names, (const sdx_value *const *)&in, 1, names + 1, &y, 1, NULL, &err) == SDX_OK))
        CHECK(((float *)sdx_value_data(y))[0] == 6 && ((float *)sdx_value_data(y))[1] == 8);
    sdx_value_release(y);
    sdx_session_release(s);
    given[0].name = "v";
    s = NULL;
    CHECK(sdx_session_open(path, &o, &s, &err) == SDX_INVALID_ARGUMENT);
    CHECK_HAS(err.text, "no initializer `v`");
    sdx_value_release(in);
    sdx_value_release(weight);
    remove(path);
}

SUITE(value_test)
{
    RUN(weights_are_given);
    RUN(sparse_tensors_are_made_and_taken_apart);
}
