/* Pictures in memory, read from files of many formats.
 *
 * BMP, PNG and PNM (PBM, PGM, PPM) are read here. JPEG, WebP, TIFF and JPEG 2000 are read by the libraries that everybody
 * uses, through libsardonyx_image (codecs/), which is loaded when such a picture is met and need not be there. */
#ifndef SDX_IMAGE_IMAGE_H
#define SDX_IMAGE_IMAGE_H

#include <stddef.h>
#include <stdint.h>

struct Alloc;

/* 8 bits a channel, rows from the top, channels together. */
typedef struct Image {
    int width, height;
    int channels; /* 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha */
    uint8_t *pixels;
    const struct Alloc *alloc; /* owns pixels */
} Image;

typedef enum ImageStatus {
    IMAGE_OK,
    IMAGE_DAMAGED,   /* of no known format, or not as the format has it */
    IMAGE_NO_READER, /* what would read it is not there */
    IMAGE_TOO_LARGE, /* more than 100 million pixels */
    IMAGE_NO_MEMORY
} ImageStatus;

/* Reads the picture of whatever format. Palettes become RGB or RGBA, 16 bits become 8. alloc NULL: malloc. *why, not
 * NULL after a failure, says what is wrong. */
ImageStatus sdx_image_read(Image *image, const void *bytes, size_t nbytes, const struct Alloc *alloc, const char **why);
void sdx_image_free(Image *image);

/* The brightness of an RGB pixel, 0.299 R + 0.587 G + 0.114 B to the nearest, as JPEG weighs the colours. */
static inline uint8_t image_luma(const uint8_t *p)
{
    return (uint8_t)((19595u * p[0] + 38470u * p[1] + 7471u * p[2] + 32768u) >> 16);
}

#endif
