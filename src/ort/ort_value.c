#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *data, size_t nbytes,
                                                  const int64_t *shape, size_t rank, int type, OrtValue **out)
{
    (void)info;
    Tensor t = { .dtype = (DType)type, .rank = (int32_t)rank, .data = data };
    size_t need;
    if (!sdx_dtype_is_valid(type) || type == DT_STRING)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "element type %d cannot lie in a caller's buffer", type);
    if (rank > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", rank, SDX_MAX_RANK);
    if (rank) memcpy(t.dims, shape, rank * sizeof *shape);
    if (!sdx_tensor_nbytes(&t, &need))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "tried creating tensor with negative value in shape, or too large");
    if (need > nbytes)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "not enough space: expected %zu, got %zu", need, nbytes);
    OrtValue *v = sdx_alloc(&sdx_alloc_default, sizeof *v);
    if (!v) return sdx_ort_no_memory();
    v->d = (Datum){ .kind = DATUM_TENSOR, .t = t };
    *out = v;
    return NULL;
}

void sdx_ort_ReleaseValue(OrtValue *v)
{
    if (v) sdx_datum_clear(&v->d);
    sdx_free(&sdx_alloc_default, v);
}

OrtStatus *sdx_ort_IsTensor(const OrtValue *v, int *out)
{
    *out = v->d.kind == DATUM_TENSOR;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorMutableData(OrtValue *v, void **out)
{
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor");
    *out = v->d.t.data;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out)
{
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor");
    OrtTensorTypeAndShapeInfo *info = sdx_alloc_zero(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    info->dtype = v->d.t.dtype;
    info->rank = v->d.t.rank;
    memcpy(info->dims, v->d.t.dims, sizeof info->dims);
    *out = info;
    return NULL;
}
