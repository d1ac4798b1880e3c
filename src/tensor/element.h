/* Single elements of any type: bits in and out of packed storage, and storage floats to and from float.
 *
 * For borders, tests and rare types; kernels convert in bulk (kern/convert). Casting rules: docs/numerics.md. */
#ifndef SDX_TENSOR_ELEMENT_H
#define SDX_TENSOR_ELEMENT_H

#include "tensor/tensor.h"

/* Raw bits of element i, low bits of the result; types up to 64 bits. */
uint64_t sdx_element_bits(DType d, const void *data, int64_t i);
/* Stores the low bits. */
void sdx_element_set_bits(DType d, void *data, int64_t i, uint64_t bits);
/* Integer element of a type below 8 bits, sign extended. */
int64_t sdx_element_get_packed(DType d, const void *data, int64_t i);

/* Storage floats (class S). from: round to nearest even, saturating, as Cast with saturate = 1. */
float sdx_element_to_float(DType d, uint64_t bits);
uint64_t sdx_element_from_float(DType d, float v);

/* Truncates toward zero; NaN gives 0; out of range clamps. */
int64_t sdx_double_to_i64(double v);

#endif
