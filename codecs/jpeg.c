/* codecs/jpeg.c - JPEG, by libjpeg. Its defaults, the slow integer transform and smooth chroma, are what ONNX asks for. */
#include "codecs/codecs.h"

#include <setjmp.h>
#include <stdio.h>

#include <jpeglib.h>

typedef struct Failure {
    struct jpeg_error_mgr base;
    jmp_buf back;
} Failure;

static void jpeg_fail(j_common_ptr c) { longjmp(((Failure *)c->err)->back, 1); }
static void jpeg_quiet(j_common_ptr c) { (void)c; }

/* A progressive file may repeat its scans without end, each as costly as a whole picture. */
enum { MAX_SCANS = 500 };
static void jpeg_watch(j_common_ptr c)
{
    if (((j_decompress_ptr)c)->input_scan_number > MAX_SCANS) jpeg_fail(c);
}

/* CMYK in place: Adobe stores it inverted. */
static void rgb_from_cmyk(uint8_t *out, const uint8_t *in, size_t n, int inverted)
{
    for (size_t i = 0; i < n; i++, in += 4)
        for (int c = 0; c < 3; c++)
            *out++ = (uint8_t)((inverted ? in[c] * in[3] : (255 - in[c]) * (255 - in[3])) / 255);
}

static const char *pixels_read(j_decompress_ptr d, CodecRoom *room, void *user)
{
    int channels = d->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    int cmyk = d->jpeg_color_space == JCS_CMYK || d->jpeg_color_space == JCS_YCCK;
    uint8_t *pixels;
    d->out_color_space = channels == 1 ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
    const char *why = room(user, d->image_width, d->image_height, channels, &pixels);
    if (why) return why;
    jpeg_start_decompress(d);
    JSAMPARRAY line = d->mem->alloc_sarray((j_common_ptr)d, JPOOL_IMAGE, d->output_width * 4, 1);
    size_t stride = (size_t)d->output_width * (size_t)channels;
    while (d->output_scanline < d->output_height) {
        uint8_t *out = pixels + stride * d->output_scanline;
        JSAMPROW row = cmyk ? line[0] : out;
        if (jpeg_read_scanlines(d, &row, 1) != 1) break;
        if (cmyk) rgb_from_cmyk(out, row, d->output_width, d->saw_Adobe_marker);
    }
    jpeg_finish_decompress(d);
    return NULL;
}

const char *sdx_jpeg_decode(const uint8_t *bytes, size_t nbytes, CodecRoom *room, void *user)
{
    struct jpeg_decompress_struct d;
    struct jpeg_progress_mgr watch = { .progress_monitor = jpeg_watch };
    Failure failure;
    d.err = jpeg_std_error(&failure.base);
    failure.base.error_exit = jpeg_fail;
    failure.base.output_message = jpeg_quiet;
    if (setjmp(failure.back)) {
        jpeg_destroy_decompress(&d);
        return "a damaged JPEG";
    }
    jpeg_create_decompress(&d);
    d.progress = &watch;
    jpeg_mem_src(&d, bytes, nbytes);
    jpeg_read_header(&d, TRUE);
    const char *why = pixels_read(&d, room, user);
    jpeg_destroy_decompress(&d);
    return why;
}
