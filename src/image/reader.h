/* What the readers of formats share. */
#ifndef SDX_IMAGE_READER_H
#define SDX_IMAGE_READER_H

#include <stdbool.h>

#include "base/alloc.h"
#include "image/image.h"

/* Fills in image, whose alloc is set. NULL, or what is wrong. */
typedef const char *ImageReader(Image *image, const uint8_t *bytes, size_t nbytes);

ImageReader sdx_bmp_read, sdx_png_read, sdx_pnm_read;

/* Memory for the pixels of a picture of 1 to 4 channels. NULL, or why there is none: one of these two texts. */
const char *sdx_image_room(Image *image, uint32_t width, uint32_t height, int channels);
extern const char sdx_image_too_large[], sdx_image_no_memory[];

#endif
