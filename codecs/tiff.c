/* codecs/tiff.c - TIFF, by libtiff: the first picture of the file */
#include "codecs/codecs.h"

#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

typedef struct File {
    const uint8_t *bytes;
    uint64_t n, at;
} File;

static tmsize_t file_read(thandle_t h, void *out, tmsize_t n)
{
    File *f = h;
    uint64_t left = f->at < f->n ? f->n - f->at : 0, take = n < 0 ? 0 : (uint64_t)n < left ? (uint64_t)n : left;
    memcpy(out, f->bytes + (take ? f->at : 0), (size_t)take);
    f->at += take;
    return (tmsize_t)take;
}
static tmsize_t file_write(thandle_t h, void *in, tmsize_t n) { return (void)h, (void)in, (void)n, -1; }
static toff_t file_seek(thandle_t h, toff_t offset, int whence)
{
    File *f = h;
    return f->at = offset + (whence == SEEK_CUR ? f->at : whence == SEEK_END ? f->n : 0);
}
static int file_close(thandle_t h) { return (void)h, 0; }
static toff_t file_size(thandle_t h) { return ((File *)h)->n; }
static int quiet(TIFF *t, void *user, const char *module, const char *fmt, va_list ap)
{
    return (void)t, (void)user, (void)module, (void)fmt, (void)ap, 1;
}

static const char *pixels_read(TIFF *t, CodecRoom *room, void *user)
{
    uint32_t width = 0, height = 0;
    uint8_t *pixels;
    char message[1024];
    if (!TIFFGetField(t, TIFFTAG_IMAGEWIDTH, &width) || !TIFFGetField(t, TIFFTAG_IMAGELENGTH, &height))
        return "a damaged TIFF";
    if (!TIFFRGBAImageOK(t, message)) return "a TIFF of a kind that is not supported";
    const char *why = room(user, width, height, 3, &pixels);
    if (why) return why;
    size_t n = (size_t)width * height;
    uint32_t *raster = malloc(n * sizeof *raster);
    if (!raster) return "a TIFF for which memory does not suffice";
    if (!TIFFReadRGBAImageOriented(t, width, height, raster, ORIENTATION_TOPLEFT, 1)) why = "a damaged TIFF";
    for (size_t i = 0; !why && i < n; i++) {
        *pixels++ = (uint8_t)TIFFGetR(raster[i]);
        *pixels++ = (uint8_t)TIFFGetG(raster[i]);
        *pixels++ = (uint8_t)TIFFGetB(raster[i]);
    }
    free(raster);
    return why;
}

const char *sdx_tiff_decode(const uint8_t *bytes, size_t nbytes, CodecRoom *room, void *user)
{
    File file = { bytes, nbytes, 0 };
    TIFFOpenOptions *o = TIFFOpenOptionsAlloc();
    if (!o) return "a TIFF for which memory does not suffice";
    TIFFOpenOptionsSetMaxSingleMemAlloc(o, (tmsize_t)1 << 30);
    TIFFOpenOptionsSetErrorHandlerExtR(o, quiet, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(o, quiet, NULL);
    TIFF *t = TIFFClientOpenExt("picture", "rm", &file, file_read, file_write, file_seek, file_close, file_size, NULL,
                                NULL, o);
    TIFFOpenOptionsFree(o);
    if (!t) return "a damaged TIFF";
    const char *why = pixels_read(t, room, user);
    TIFFClose(t);
    return why;
}
