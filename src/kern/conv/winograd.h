/* kern/conv/winograd.h - 3x3 convolution by Winograd's F(4,3), f32, channels last. Through kern/conv/conv.h.
 *
 *     y = A' [ (G w G') . (B' x B) ] A      for tiles of 4x4 outputs from 6x6 inputs
 *
 * 36 multiplications where the definition needs 144. Lavin & Gray, "Fast Algorithms for Convolutional
 * Neural Networks", 2016; interpolation points 0, 1, -1, 1/2, -2 and infinity, which round better than
 * the usual 0, +-1, +-2. The sum over channels of each of the 36 elements is a matrix product, so the
 * work is: transform some tiles, 36 products, transform back.
 *
 * Accuracy: the error is about three times that of the direct sum; weights are transformed in double.
 */
#ifndef SDX_KERN_CONV_WINOGRAD_H
#define SDX_KERN_CONV_WINOGRAD_H

#include <stdbool.h>
#include <stddef.h>

#include "kern/gemm/epilogue.h"

struct ConvPlan;
struct ConvF32;
struct Kern;

enum { WINO_OUT = 4, WINO_IN = 6, WINO_POINTS = WINO_IN * WINO_IN };

/* Tiles [tile, tile+tiles) of an image, counted along rows of tiles: B' x B of each, for all channels.
 * Element i of tile t, channel c goes to v[i*ldv + t*channels + c]. */
typedef struct WinoInput {
    const float *x;                    /* pixel (0, 0) */
    size_t row, pixel, h, w, channels; /* strides in floats; size */
    ptrdiff_t pad_h, pad_w;
    size_t across; /* tiles in a row */
    size_t tile, tiles;
    float *v;
    size_t ldv;
} WinoInput;

/* The way back: element i of tile t, channel c at m[i*ldm + t*pitch + c], c < channels <= pitch. */
typedef struct WinoOutput {
    const float *m;
    size_t ldm, pitch;
    float *y; /* pixel (0, 0) */
    size_t row, pixel, h, w, channels;
    size_t across, tile, tiles;
    const Epilogue *epi; /* bias and add already point to pixel (0, 0) and the first channel */
} WinoOutput;

/* Should a plan whose upper part is set go this way? By the shape of one image alone. */
bool sdx_winograd_pays(const struct Kern *kern, const struct ConvPlan *p);

bool sdx_winograd_pack_size(const struct Kern *kern, const struct ConvPlan *p, size_t *nfloats);
void sdx_winograd_pack(const struct Kern *kern, const struct ConvPlan *p, const float *w, bool flush, float *packed);
void sdx_winograd_plan(const struct Kern *kern, struct ConvPlan *p);
void sdx_winograd_chunk(const struct Kern *kern, const struct ConvPlan *p, const struct ConvF32 *g, size_t chunk,
                        void *scratch);

#endif
