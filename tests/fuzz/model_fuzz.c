/* tests/fuzz/model_fuzz.c - a model file from memory: read, import, infer, optimise, plan, run, all on a budget
 *
 * Whatever the bytes are, each call ends in success or in an error with a text. The first byte is not the model's: it
 * chooses the optimisation level and how the inputs are filled. */
#include <sardonyx/sardonyx.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

enum { MAX_INPUTS = 8, MAX_RANK = 8, MAX_ELEMENTS = 4096 };

/* A tensor of the declared type with unknown sizes set to `size`; NULL when it is too large or of another kind. */
static sdx_value *make_input(const sdx_type *t, int64_t size, int fill)
{
    int64_t dims[MAX_RANK], count = 1;
    int rank = sdx_type_rank(t) < 0 ? 1 : sdx_type_rank(t);
    sdx_value *v = NULL;
    if (sdx_type_kind(t) != SDX_TENSOR || rank > MAX_RANK) return NULL;
    for (int i = 0; i < rank; i++) {
        dims[i] = sdx_type_rank(t) < 0 || sdx_type_dim(t, i) < 0 ? size : sdx_type_dim(t, i);
        if (dims[i] < 0 || dims[i] > MAX_ELEMENTS || (count *= dims[i]) > MAX_ELEMENTS) return NULL;
    }
    if (sdx_tensor_create(sdx_type_dtype(t), dims, rank, &v, NULL) != SDX_OK) return NULL;
    if (sdx_type_dtype(t) != SDX_STRING)
        for (int64_t i = 0; i < count; i++)
            sdx_value_set(v, i, fill == 0 ? (double)(i % 7) - 3 : fill == 1 ? 1e30 * (double)i : 0.0 / (double)(i & 1));
    return v;
}

static void run_model(sdx_session *s, int64_t size, int fill)
{
    const char *names[MAX_INPUTS], *out_name = sdx_session_output_name(s, 0);
    sdx_value *in[MAX_INPUTS] = { NULL }, *out = NULL;
    sdx_run_options o = SDX_RUN_OPTIONS_INIT;
    sdx_error err = { 0 };
    size_t n = sdx_session_input_count(s), made = 0;
    o.timeout_ns = 2000000000;
    o.max_bytes = 64u << 20;
    o.max_trips = 1000;
    if (n > MAX_INPUTS || out_name == NULL) return;
    for (; made < n; made++) {
        names[made] = sdx_session_input_name(s, made);
        in[made] = make_input(sdx_session_input_type(s, made), size, fill);
        if (in[made] == NULL) break;
    }
    if (made == n) {
        sdx_status st = sdx_session_run(s, names, (const sdx_value *const *)in, n, &out_name, &out, 1, &o, &err);
        if ((st == SDX_OK) == (out == NULL)) abort();
        if (st != SDX_OK && (err.code != (int32_t)st || err.text[0] == '\0')) abort();
        if (st == SDX_INTERNAL) abort();
        sdx_value_release(out);
    }
    for (size_t i = 0; i < made; i++) sdx_value_release(in[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    sdx_session_options o;
    sdx_session *s = NULL;
    sdx_error err = { 0 };
    if (nbytes < 1) return 0;
    sdx_session_options_init(&o);
    o.threads = 1;
    o.level = (sdx_level)(data[0] & 3);
    o.max_bytes = 64u << 20;
    o.max_nodes = 10000;
    sdx_status st = sdx_session_open_bytes(data + 1, nbytes - 1, &o, &s, &err);
    if ((st == SDX_OK) == (s == NULL)) abort();
    if (st != SDX_OK && (err.code != (int32_t)st || err.text[0] == '\0')) abort();
    if (st == SDX_INTERNAL) abort();
    if (s != NULL) {
        run_model(s, 1 + (data[0] >> 2 & 3), data[0] >> 4 & 1);
        run_model(s, data[0] >> 5 & 3, 2); /* other shapes in the same session, NaN among the values */
    }
    sdx_session_release(s);
    return 0;
}
