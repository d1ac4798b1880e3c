/* Bulk conversion of storage types: floats that are computed in f32 (class S of dtype.def), and types below one byte.
 *
 * All take the tensor's data and a first element. Writers of types below one byte own whole bytes only: when threads
 * share a tensor, the first element of each range is a multiple of 8. */
#ifndef SDX_OPS_STORAGE_H
#define SDX_OPS_STORAGE_H

#include "tensor/tensor.h"

static inline bool sdx_is_storage_float(DType d) { return sdx_dtype_class(d) == 'S'; }
static inline bool sdx_is_packed(DType d) { return sdx_dtype_bits(d) < 8; }

/* Exact. */
void sdx_storage_widen(DType d, const void *data, int64_t from, float *dst, int64_t n);
/* Round to nearest even; float16 and bfloat16 overflow to infinity, smaller types saturate. */
void sdx_storage_narrow(DType d, void *data, int64_t to, const float *src, int64_t n);

/* Raw bits, one element a byte. */
void sdx_storage_unpack(DType d, const void *data, int64_t from, uint8_t *dst, int64_t n);
void sdx_storage_pack(DType d, void *data, int64_t to, const uint8_t *src, int64_t n);

#endif
