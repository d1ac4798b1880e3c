/* cli/picture.h - pictures as floats of a given size */
#ifndef SDX_CLI_PICTURE_H
#define SDX_CLI_PICTURE_H

#include "image/image.h"

/* Channel c of pixel (x, y) for RGB readers: grey gives its one value for each, alpha is laid over white. 0..255. */
float sdx_image_get(const Image *image, int x, int y, int c);
/* The picture resized to width x height, as RGB floats 0..255 [height][width][3]: each output pixel is the mean of the
 * area it covers, or bilinear where the picture grows. NULL when out of memory; freed with free. */
float *sdx_image_resize(const Image *image, int width, int height);

#endif
