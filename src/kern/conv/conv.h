/* kern/conv/conv.h - convolution in f32, any rank up to 3, channels last.
 *
 *     y[n, o, c'] = epilogue(sum over taps t and channels c of x[n, o*stride - pad + t*dilation, c] * w[c', c, t])
 *
 * with x = 0 outside its bounds. As with products (kern/gemm/gemm.h): plan once, then compute chunks on
 * any thread. Weights are always packed. The sum runs over taps, then channels of the group, in one
 * chain of multiply-adds, so its bits do not depend on chunks, batch or threads.
 *
 * Method: the product of kern/gemm with rows of A taken from the image (Dukhan, "The Indirect
 * Convolution Algorithm", 2019): for one row of output pixels, the row of A that belongs to the next
 * pixel starts `stride` pixels later, and every row of the kernel is one contiguous piece of it. Where
 * padding is in the way, the image rows that a chunk needs are first copied to a padded strip; that copy
 * also turns channels-first images round.
 */
#ifndef SDX_KERN_CONV_CONV_H
#define SDX_KERN_CONV_CONV_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/gemm/gemm.h"

/* One spatial axis. pad counts zeros before the first element; negative: elements to skip. What follows
 * the last element needs no number: it is whatever `out` asks for. */
typedef struct ConvDim {
    size_t in, out, kernel, stride, dilation;
    ptrdiff_t pad;
} ConvDim;

/* An axis that is not there. */
#define SDX_CONV_NO_DIM ((ConvDim){ 1, 1, 1, 1, 1, 0 })

/* In elements: from one image to the next, one step in depth, height, width, one channel. */
typedef struct ConvStrides {
    size_t n, d, h, w, c;
} ConvStrides;

typedef struct ConvPlan {
    size_t batch, groups, c_in, c_out; /* channels of all groups together */
    ConvDim dim[3];                    /* depth, height, width */
    ConvStrides x;                     /* c = 1: channels last; else w = 1: channels first */
    ConvStrides y;                     /* c = 1 */
    bool may_transform;                /* f32: rounding may differ from that of the direct sum (Winograd) */

    size_t chunks, scratch; /* as in GemmPlan */

    /* See kern/conv/conv_walk.h. */
    unsigned method;
    GemmPlan gemm;                  /* where every pixel is a row of a product */
    unsigned nr, kc, group;         /* of the tile kernel */
    size_t elem, x_size;            /* bytes of an element of a strip, of the image */
    size_t rows, panels;            /* of a chunk: rows of output pixels, panels of output channels */
    size_t strip_h, strip_w, pixel; /* the strip: rows and pixels in each plane, elements of a pixel */
    size_t piece, seglen, nseg;     /* pieces of a row of A: elements of one, lanes of one, how many */
    size_t lda;                     /* from one row of A to the next */
    size_t slice_segs, slice_len;   /* a slice of k: whole pieces, or lanes of one */
} ConvPlan;

typedef struct ConvF32 {
    const float *x, *w; /* w: packed */
    float *y;
    Epilogue epi; /* bias per output channel; rows of `add` are output pixels in order, n first */
} ConvF32;

/* Floats that the weights of a plan, whose upper part is set, take when packed; false if the number does
 * not fit size_t. */
bool sdx_conv_f32_weights_size(const Kern *kern, const ConvPlan *p, size_t *nfloats);

/* Packs ONNX weights [c_out][c_in/groups][kernel...]. flush: subnormals become zero. The result fits every
 * plan that agrees in sdx_conv_f32_form, channels, groups and kernel. */
void sdx_conv_f32_weights(const Kern *kern, const ConvPlan *p, const float *w, bool flush, float *packed);

/* The name of the form of packed weights that a plan wants, for keys of shared weights. */
const char *sdx_conv_f32_form(const Kern *kern, const ConvPlan *p);

/* The same for plans without may_transform and weights in any arrangement: */
bool sdx_conv_f32_pack_size(const Kern *kern, size_t groups, size_t c_in, size_t c_out, size_t taps, size_t *nfloats);

/* For group g, output o and input c of the group, tap (a, b, e) of the packed
 * kernel, count[0..2] taps each way, is at w[g*w_g + o*w_o + c*w_c + a*step[0] + b*step[1] + e*step[2]]. */
typedef struct ConvWeights {
    const float *w;
    size_t w_g, w_o, w_c;
    size_t count[3];
    ptrdiff_t step[3];
} ConvWeights;
void sdx_conv_f32_pack_any(const Kern *kern, const ConvWeights *w, size_t groups, size_t c_in, size_t c_out, bool flush,
                           float *packed);

/* Fills the lower part of a plan whose upper part is set. */
void sdx_conv_f32_plan(const Kern *kern, ConvPlan *p);

/* Computes chunk i of [0, p->chunks). */
void sdx_conv_f32_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t i, void *scratch);

#endif
