/* kern/conv/depthwise.h - convolution where every channel has a kernel of its own, f32, channels last.
 * Used through kern/conv/conv.h.
 *
 * Groups of a few channels run here as well: an image row then becomes one line for each input channel of
 * the groups, in which every output channel finds its group's value at its own place. */
#ifndef SDX_KERN_CONV_DEPTHWISE_H
#define SDX_KERN_CONV_DEPTHWISE_H

#include <stddef.h>

#include "kern/gemm/epilogue.h"

struct ConvPlan;
struct ConvF32;
struct Kern;

/* A block of output pixels, `rows` by `out`, for `channels` channels. Output row r uses the image rows
 * x[r*lines + i], i < lines, each at its pixel 0; NULL is a row of zeros. */
typedef struct Depthwise {
    const float *const *x;
    size_t rows, lines;
    const float *w; /* weight of line i, tap j at w + (i*kernel + j)*ldw */
    size_t ldw;
    size_t kernel, stride, dilation; /* along a row */
    ptrdiff_t pad;
    size_t in, out;         /* pixels of a row */
    size_t ldx, ldy, ldrow; /* floats: x pixel to pixel; y pixel to pixel, row to row */
    size_t channels;
    float *y;
    const Epilogue *epi; /* bias and add already point to the first pixel and channel; out pixels a row */
} Depthwise;

void sdx_depthwise_f32_plan(const struct Kern *kern, struct ConvPlan *p);
void sdx_depthwise_f32_chunk(const struct Kern *kern, const struct ConvPlan *p, const struct ConvF32 *g, size_t chunk,
                             void *scratch);

#endif
