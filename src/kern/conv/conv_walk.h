/* kern/conv/conv_walk.h - what convolutions of any type share: how the work is cut, and the walk over a
 * chunk that turns it into calls of a tile kernel. Internal to kern/conv/.
 *
 * Sizes are in elements of the strip unless they say bytes or lanes. A lane is the 4 bytes that a tile
 * kernel multiplies at a time: one float, or a group of small integers; a piece of a row of A that ends
 * inside a lane is read to the lane's end, where the packed weights are zero.
 */
#ifndef SDX_KERN_CONV_CONV_WALK_H
#define SDX_KERN_CONV_CONV_WALK_H

#include "kern/conv/conv.h"

enum {
    CONV_GEMM,     /* 1x1, stride 1: a product over all pixels */
    CONV_IN_PLACE, /* no padding: rows of A straight from the image */
    CONV_STRIP,    /* rows of A from a padded copy of the image rows that a chunk needs */
    CONV_GATHER,   /* every row of A copied whole: for images narrower than a tile */
    CONV_DEPTHWISE,
    CONV_WINOGRAD,
};

enum { D, H, W }; /* ConvPlan.dim */

/* One call of a tile kernel. */
typedef struct ConvTile {
    const uint8_t *a;
    size_t lda;           /* bytes */
    const ptrdiff_t *seg; /* bytes */
    size_t nseg, seglen;  /* lanes */
    size_t b, b_panel;    /* lanes, from the beginning of the packed weights */
    size_t npanel;
    size_t blocks,
        block; /* where weights are too many to stay cached: how many calls use this panel, which one is it */
    void *part;
    bool first, last, cached;
    size_t y, pixel, channel; /* first element of the result; its pixel, counted over the batch; its channel */
    size_t rows, cols;
} ConvTile;

typedef struct ConvWalk ConvWalk;
struct ConvWalk {
    const Kern *kern;
    const ConvPlan *plan;
    const uint8_t *x; /* the image */
    /* Pixels [w, w+n) of an image row, in the form of the strip, to dst. All exist. */
    void (*load)(const ConvWalk *walk, const uint8_t *row, size_t w, size_t n, uint8_t *dst);
    void (*zero)(const ConvWalk *walk, size_t n, uint8_t *dst); /* n elements of padding */
    void (*tile)(const ConvWalk *walk, const ConvTile *t);
    const void *arg;
};

bool sdx_conv_is_depthwise(size_t groups, size_t c_in, size_t c_out);

/* Do f32 convolutions of this kind use the depthwise kernel: one channel a group, or a few? */
bool sdx_conv_is_spread(size_t groups, size_t c_in, size_t c_out);

/* Is it a product, with every pixel a row? */
bool sdx_conv_is_product(const ConvPlan *p);

/* Fills a plan whose upper part and nr, kc, group, elem are set. may_stay: the image has the strip's form. */
void sdx_conv_plan_walk(ConvPlan *p, bool may_stay);

void sdx_conv_walk(const ConvWalk *walk, size_t chunk, void *scratch);

#endif
