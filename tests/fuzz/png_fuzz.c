/* tests/fuzz/png_fuzz.c - pictures for the command line */
#include "cli/png.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    Image image;
    if (sdx_png_read(&image, data, nbytes) == NULL) {
        if ((int64_t)image.width * image.height < 10000) free(sdx_image_resize(&image, 3, 5));
        sdx_image_free(&image);
    }
    return 0;
}
