#include "cli/jpeg.h"

#ifdef SDX_HAVE_JPEG

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <jpeglib.h>

typedef struct Failure {
    struct jpeg_error_mgr base;
    jmp_buf back;
} Failure;

static void jpeg_fail(j_common_ptr c) { longjmp(((Failure *)c->err)->back, 1); }
static void jpeg_quiet(j_common_ptr c) { (void)c; }

#define MAX_PIXELS 100000000

const char *sdx_jpeg_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    struct jpeg_decompress_struct d;
    Failure failure;
    uint8_t *volatile pixels = NULL;
    d.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = jpeg_fail;
    failure.base.output_message = jpeg_quiet;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&d);
        free(pixels);
        return "not a JPEG file, or a damaged one";
    }
    jpeg_create_decompress(&d);
    jpeg_mem_src(&d, bytes, nbytes);
    jpeg_read_header(&d, TRUE);
    d.out_color_space = JCS_RGB;
    if ((uint64_t)d.image_width * d.image_height > MAX_PIXELS) jpeg_fail((j_common_ptr)&d);
    jpeg_start_decompress(&d);
    size_t stride = (size_t)d.output_width * 3;
    if (!(pixels = malloc(stride * d.output_height))) jpeg_fail((j_common_ptr)&d);
    while (d.output_scanline < d.output_height) {
        JSAMPROW row = pixels + stride * d.output_scanline;
        jpeg_read_scanlines(&d, &row, 1);
    }
    *image = (Image){ .width = (int)d.output_width, .height = (int)d.output_height, .channels = 3, .pixels = pixels };
    jpeg_finish_decompress(&d);
    jpeg_destroy_decompress(&d);
    return NULL;
}

#else

const char *sdx_jpeg_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    (void)image, (void)bytes, (void)nbytes;
    return "this build has no JPEG reader: libjpeg was not found when it was made";
}

#endif
