#include "tensor/tensor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "tensor/element.h"

int64_t sdx_dims_product(const int64_t *dims, int from, int to)
{
    int64_t n = 1;
    for (int i = from; i < to; i++) n *= dims[i];
    return n;
}

bool sdx_shape_count(const int64_t *dims, int rank, int64_t *count)
{
    /* Zero dims make the count 0, but the others must still not overflow: strides are products of them. */
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return false;
        if (dims[i] == 0)
            empty = true;
        else if (!sdx_mul_i64(&n, n, dims[i]))
            return false;
    }
    *count = empty ? 0 : n;
    return true;
}

bool sdx_tensor_nbytes(const Tensor *t, size_t *nbytes)
{
    int64_t n;
    return sdx_shape_count(t->dims, t->rank, &n) && sdx_dtype_nbytes(t->dtype, n, nbytes);
}

bool sdx_tensor_is_aligned(const Tensor *t)
{
    size_t size = sdx_dtype_size(t->dtype), align = size > 8 ? 8 : size ? size : 1;
    return (uintptr_t)t->data % align == 0;
}

bool sdx_dims_equal(const int64_t *a, int a_rank, const int64_t *b, int b_rank)
{
    return a_rank == b_rank && (a_rank == 0 || memcmp(a, b, (size_t)a_rank * sizeof *a) == 0);
}

char *sdx_dims_text(char *buf, size_t size, const int64_t *dims, int rank)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < rank && at < size; i++) {
        int n = snprintf(buf + at, size - at, "%s%" PRId64, i ? "," : "[", dims[i]);
        at += n > 0 ? (size_t)n : 0;
    }
    if (at < size) snprintf(buf + at, size - at, rank ? "]" : "[]");
    return buf;
}

int64_t sdx_tensor_get_int(const Tensor *t, int64_t i)
{
    const void *p = t->data;
    switch (t->dtype) {
    case DT_INT64: return ((const int64_t *)p)[i];
    case DT_INT32: return ((const int32_t *)p)[i];
    case DT_INT16: return ((const int16_t *)p)[i];
    case DT_INT8: return ((const int8_t *)p)[i];
    case DT_UINT64: return (int64_t)((const uint64_t *)p)[i];
    case DT_UINT32: return ((const uint32_t *)p)[i];
    case DT_UINT16: return ((const uint16_t *)p)[i];
    case DT_BOOL:
    case DT_UINT8: return ((const uint8_t *)p)[i];
    case DT_UINT4:
    case DT_INT4:
    case DT_UINT2:
    case DT_INT2: return sdx_element_get_packed(t->dtype, p, i);
    default: return sdx_double_to_i64(sdx_tensor_get_double(t, i));
    }
}

double sdx_tensor_get_double(const Tensor *t, int64_t i)
{
    const void *p = t->data;
    switch (t->dtype) {
    case DT_FLOAT:
    case DT_COMPLEX64: return ((const float *)p)[t->dtype == DT_FLOAT ? i : 2 * i];
    case DT_DOUBLE:
    case DT_COMPLEX128: return ((const double *)p)[t->dtype == DT_DOUBLE ? i : 2 * i];
    case DT_UINT64: return (double)((const uint64_t *)p)[i];
    default: break;
    }
    if (sdx_dtype_class(t->dtype) != 'S') return (double)sdx_tensor_get_int(t, i);
    return sdx_element_to_float(t->dtype, sdx_element_bits(t->dtype, p, i));
}

void sdx_tensor_set_double(Tensor *t, int64_t i, double v)
{
    void *p = t->data;
    switch (t->dtype) {
    case DT_FLOAT: ((float *)p)[i] = (float)v; return;
    case DT_DOUBLE: ((double *)p)[i] = v; return;
    case DT_COMPLEX64: ((float *)p)[2 * i] = (float)v, ((float *)p)[2 * i + 1] = 0; return;
    case DT_COMPLEX128: ((double *)p)[2 * i] = v, ((double *)p)[2 * i + 1] = 0; return;
    case DT_STRING:
    case DT_NONE:
    case DT_COUNT: return;
    default: break;
    }
    if (sdx_dtype_class(t->dtype) == 'S') {
        sdx_element_set_bits(t->dtype, p, i, sdx_element_from_float(t->dtype, (float)v));
        return;
    }
    if (t->dtype == DT_UINT64) {
        ((uint64_t *)p)[i] = v < 0x1p63 ? (uint64_t)sdx_double_to_i64(v) : v < 0x1p64 ? (uint64_t)v : UINT64_MAX;
        return;
    }
    sdx_element_set_bits(t->dtype, p, i, t->dtype == DT_BOOL ? v != 0 : (uint64_t)sdx_double_to_i64(v));
}
