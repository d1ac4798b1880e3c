/* kern/conv/deconv.h - transposed convolution in f32, channels last.
 *
 *     y[o] = epilogue(sum over i and taps t with i*stride + t*dilation - pad = o of x[i] * w[t])
 *
 * Outputs whose positions agree modulo the stride use the same taps and form a phase: an ordinary
 * convolution with stride 1 and a part of the kernel, whose results are written `stride` apart. So the
 * caller makes one ConvPlan for each phase and runs the chunks of all of them.
 */
#ifndef SDX_KERN_CONV_DECONV_H
#define SDX_KERN_CONV_DECONV_H

#include "kern/conv/conv.h"

typedef struct Deconv {
    size_t batch, groups, c_in, c_out;
    ConvDim dim[3]; /* depth, height, width; pad: elements cut off the beginning of the result */
    ConvStrides x, y;
} Deconv;

/* How many phases; 0 when the result is empty. At most the product of the strides. */
size_t sdx_deconv_phases(const Deconv *d);

/* Floats that the packed weights of all phases take; false if the number does not fit size_t. */
bool sdx_deconv_f32_pack_size(const Kern *kern, const Deconv *d, size_t *nfloats);

/* Packs ONNX weights [c_in][c_out/groups][taps]. */
void sdx_deconv_f32_pack(const Kern *kern, const Deconv *d, const float *w, bool flush, float *packed);

/* Plans phase i. Its weights begin at packed + *w_offset, its first result at y + *y_offset. An epilogue
 * with `add` is not possible when there are several phases. */
void sdx_deconv_f32_phase(const Kern *kern, const Deconv *d, size_t i, ConvPlan *p, size_t *w_offset, size_t *y_offset);

#endif
