/* Casting blocks of elements between any two types but strings (and complex to anything else). */
#ifndef SDX_OPS_CAST_H
#define SDX_OPS_CAST_H

#include "tensor/tensor.h"

typedef enum CastRound { CAST_UP, CAST_DOWN, CAST_NEAREST } CastRound;

/* What Cast's attributes say about targets of at most 8 bits. */
typedef struct CastMode {
    bool no_saturate; /* float8: out of range becomes infinity or NaN */
    CastRound e8m0;   /* float8e8m0: away from zero, toward zero, nearest with ties up */
} CastMode;

/* n elements from src[si..] to dst[di..], as ONNX's Cast does; docs/numerics.md says what it leaves open. For packed
 * targets di is a multiple of 8, or the call is alone on the tensor. */
void sdx_cast_block(DType to, void *dst, int64_t di, DType from, const void *src, int64_t si, int64_t n);
void sdx_cast_block_mode(DType to, void *dst, int64_t di, DType from, const void *src, int64_t si, int64_t n,
                         CastMode m);

/* float8e8m0 from float; NaN 0xff. Infinity and overflow: 0xfe, or NaN with no_saturate. */
uint8_t sdx_cast_e8m0(float v, CastMode m);
/* Storage float of at most 8 bits, to nearest even, with Cast's rules for what is out of range. */
uint8_t sdx_cast_f8(DType to, float v, bool no_saturate);

#endif
