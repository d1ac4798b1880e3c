/* tests/fuzz/value_fuzz.c - serialised tensors: what parses also prints, and the print parses to as many bytes */
#include <sardonyx/sardonyx.h>
#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    sdx_value *v = NULL, *again = NULL;
    sdx_error err = { 0 };
    void *bytes = NULL;
    size_t n = 0;
    if (sdx_value_parse(data, nbytes, NULL, &v, &err) != SDX_OK) {
        if (err.text[0] == '\0' || err.code == SDX_INTERNAL) abort();
        return 0;
    }
    for (int64_t i = 0; i < sdx_value_count(v) && i < 1000; i++) (void)sdx_value_get(v, i);
    if (sdx_value_serialize(v, "v", &bytes, &n, NULL) == SDX_OK) {
        if (sdx_value_parse(bytes, n, NULL, &again, NULL) != SDX_OK) abort();
        if (sdx_value_count(again) != sdx_value_count(v) || sdx_value_nbytes(again) != sdx_value_nbytes(v)) abort();
        sdx_value_release(again);
        sdx_bytes_free(bytes);
    }
    sdx_value_release(v);
    return 0;
}
