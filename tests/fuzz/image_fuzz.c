/* tests/fuzz/image_fuzz.c - pictures of every format that is read without other libraries, and resizing them */
#include "cli/picture.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t nbytes)
{
    Image image;
    const char *why;
    if (sdx_image_read(&image, data, nbytes, NULL, &why) == IMAGE_OK) {
        if ((int64_t)image.width * image.height < 10000) free(sdx_image_resize(&image, 3, 5));
        sdx_image_free(&image);
    }
    return 0;
}
