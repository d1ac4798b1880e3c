#include "ort/ort.h"

/* The ABI numbers the newest types in the order it got them, not as ONNX does. */
static const struct {
    int code;
    DType dtype;
} odd[] = { { 24, DT_UINT2 }, { 25, DT_INT2 }, { 26, DT_FLOAT8E8M0 } };
enum { SAME_BELOW = 24, N_ODD = sizeof odd / sizeof *odd };

DType sdx_ort_dtype(int code)
{
    if (code > 0 && code < SAME_BELOW) return (DType)code;
    for (int i = 0; i < N_ODD; i++)
        if (odd[i].code == code) return odd[i].dtype;
    return DT_NONE;
}

int sdx_ort_dtype_code(DType d)
{
    if ((int)d < SAME_BELOW) return (int)d;
    for (int i = 0; i < N_ODD; i++)
        if (odd[i].dtype == d) return odd[i].code;
    return 0;
}
