/* jpeg.h - reads JPEG pictures by libjpeg, where the build found it */
#ifndef SDX_CLI_JPEG_H
#define SDX_CLI_JPEG_H

#include "cli/png.h"

/* RGB. NULL, or what is wrong. */
const char *sdx_jpeg_read(Image *image, const uint8_t *bytes, size_t nbytes);

#endif
