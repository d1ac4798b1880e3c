/* kern/quant/quantize.h - linear quantisation of floats, element by element.
 *
 *   q = clamp(round(x / scale) + zero, lo, hi)   half to even; NaN gives lo
 *   x = (q - zero) * scale                       the difference wraps for i32
 *
 * lo and hi lie in q's type, -65536 <= zero <= 65535, and bound elements of 4 or 2 bits, which are then packed by
 * kern/convert. The _each forms take a scale and a zero (NULL: 0) for every element: one row of a tensor whose last
 * axis is quantised by channel. scale > 0; a division, as the standard defines it, not a multiplication. */
#ifndef SDX_KERN_QUANT_QUANTIZE_H
#define SDX_KERN_QUANT_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

/* The quantised types, by which the arrays below are indexed; SDX_Q_i32 is dequantised only. */
enum { SDX_Q_u8, SDX_Q_i8, SDX_Q_u16, SDX_Q_i16, SDX_Q_i32, SDX_Q_COUNT };

typedef void QuantizeF32(void *q, const float *x, size_t n, float scale, int32_t zero, int32_t lo, int32_t hi);
typedef void QuantizeEachF32(void *q, const float *x, size_t n, const float *scale, const int32_t *zero, int32_t lo,
                             int32_t hi);
typedef void DequantizeF32(float *x, const void *q, size_t n, float scale, int32_t zero);
typedef void DequantizeEachF32(float *x, const void *q, size_t n, const float *scale, const int32_t *zero);

/* range[0] = min(0, x), range[1] = max(0, x): what dynamic quantisation needs. NaNs are passed over. */
typedef void RangeF32(float range[2], const float *x, size_t n);

/* A row of integers in blocks, against floats: sum of a * (q - zero) * scale. */
typedef struct DotBlocks {
    const uint8_t *q;     /* bits 4: two elements a byte, the first in the low half; bits 8: one */
    const float *scale;   /* of each block */
    const uint8_t *zero;  /* of each block, packed like q; NULL: the middle of the range */
    const float *a;       /* bits 4: elements 0, 2, 4 ... of all blocks here, 1, 3, 5 ... at a + blocks * bytes */
    size_t blocks, bytes; /* of q in a block: a multiple of 16 */
    unsigned bits;
} DotBlocks;

typedef float DotBlocksF32(const DotBlocks *d);

/* A row of 4-bit integers in blocks, against 8-bit ones: sum of scale * a_scale * (sum of q * a). Integers in parts of
 * a block, floats from there on. */
typedef struct DotNibbles {
    const uint8_t *q;     /* two elements a byte, the first in the low half */
    const float *scale;   /* of each block */
    const int8_t *a;      /* for each 16 bytes of q: elements 0, 2, 4 ..., then 1, 3, 5 ... */
    const float *a_scale; /* of each block */
    size_t blocks, bytes; /* of q in a block: a multiple of 16 */
} DotNibbles;

typedef float DotNibblesI8(const DotNibbles *d);

/* Sum of scale * zero * sums by block; zero as in DotBlocks for 4 bits. sums: of blocks 0, 2, 4 ..., then 1, 3, 5 ... */
typedef float DotZerosF32(const float *scale, const uint8_t *zero, const float *sums, size_t blocks);

#endif
