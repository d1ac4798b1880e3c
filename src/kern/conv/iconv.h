/* kern/conv/iconv.h - convolution of 8-bit integers, channels last.
 *
 *     sum = sum over taps and channels of (x - zx) * (w - zw) + bias, padding being x = zx
 *
 * exactly, modulo 2^32, then to int32, f32 or 8 bits, as in kern/gemm/igemm.h. A ConvPlan as for f32, with
 * strides in bytes of 8-bit elements; results are elements of the output's type. Weights whose zero point
 * is not that of symmetric int8 (0 for int8, 128 for uint8) need a depthwise convolution: elsewhere the
 * caller must find another way.
 */
#ifndef SDX_KERN_CONV_ICONV_H
#define SDX_KERN_CONV_ICONV_H

#include "kern/conv/conv.h"
#include "kern/gemm/igemm.h"

/* Can weights of c_out channels, each of `taps` numbers, have any zero point? A group's input channels: c_in / groups. */
bool sdx_iconv_takes_zero(size_t groups, size_t c_in, size_t c_out, size_t taps);

/* Bytes of the packed weights, column sums included, for a plan whose upper part is set; false if the
 * number does not fit size_t. */
bool sdx_iconv_pack_size(const Kern *kern, const ConvPlan *p, size_t *nbytes);

/* Packs ONNX weights [c_out][c_in/groups][kernel...] for a plan whose upper part is set. zw: zero points of
 * the weights, one per output channel or, with one_zw, a single one; NULL for 0. Only a depthwise
 * convolution looks at them. */
void sdx_iconv_pack(const Kern *kern, const ConvPlan *p, const void *w, bool w_signed, const int32_t *zw, bool one_zw,
                    void *packed);

/* col[c] for IgemmOut, c < c_out: bias (or NULL) and the corrections for zx and for the operands' forms. */
void sdx_iconv_columns(const Kern *kern, const ConvPlan *p, const void *packed, bool x_signed, int32_t zx,
                       const int32_t *bias, int32_t *col);

/* Fills the lower part of a plan. */
void sdx_iconv_plan(const Kern *kern, ConvPlan *p, bool x_signed);

typedef struct Iconv {
    const void *x, *w; /* w: packed */
    void *y;
    bool x_signed;
    int32_t zx;
    IgemmOut out; /* arrays per output channel; b_zero and row_sum NULL; rows of epi.add as for f32 */
} Iconv;

/* Computes chunk i of [0, p->chunks). */
void sdx_iconv_chunk(const Kern *kern, const ConvPlan *p, const Iconv *g, size_t i, void *scratch);

#endif
