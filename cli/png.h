/* cli/png.h - reads PNG pictures */
#ifndef SDX_CLI_PNG_H
#define SDX_CLI_PNG_H

#include <stddef.h>
#include <stdint.h>

/* 8 bits a channel, rows from the top, channels together. */
typedef struct Image {
    int width, height;
    int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
    uint8_t *pixels;
} Image;

/* Reads every kind of PNG; palettes become RGB or RGBA, 16 bits become 8, one-colour transparency is ignored. Returns
 * NULL, or says what is wrong with the file. Pictures of more than 100 million pixels are refused. */
const char *sdx_png_read(Image *image, const uint8_t *bytes, size_t nbytes);
void sdx_image_free(Image *image);

/* Channel c of pixel (x, y) for RGB readers: grey gives its one value for each, alpha is laid over white. 0..255. */
float sdx_image_get(const Image *image, int x, int y, int c);
/* The picture resized to width x height, as RGB floats 0..255 [height][width][3]: each output pixel is the mean of the
 * area it covers, or bilinear where the picture grows. NULL when out of memory; freed with free. */
float *sdx_image_resize(const Image *image, int width, int height);

#endif
