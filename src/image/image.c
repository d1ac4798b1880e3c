#include "image/image.h"

#include <string.h>

#include "base/module.h"
#include "base/size.h"
#include "image/codec.h"
#include "image/reader.h"

const char sdx_image_too_large[] = "a picture of more than 100 million pixels";
const char sdx_image_no_memory[] = "out of memory";
enum { MAX_PIXELS = 100000000 };

const char *sdx_image_room(Image *image, uint32_t width, uint32_t height, int channels)
{
    if (width == 0 || height == 0) return "a picture without pixels";
    if ((uint64_t)width * height > MAX_PIXELS) return sdx_image_too_large;
    image->width = (int)width;
    image->height = (int)height;
    image->channels = channels;
    image->pixels = sdx_alloc_zero(image->alloc, (size_t)width * height * (size_t)channels);
    return image->pixels ? NULL : sdx_image_no_memory;
}

void sdx_image_free(Image *image)
{
    if (image->pixels) sdx_free(image->alloc, image->pixels);
    *image = (Image){ 0 };
}

/* -- formats --------------------------------------------------------------------------------------------------------- */

typedef struct Format {
    const char *start; /* how a file begins; '?' is any byte */
    size_t n;
    ImageReader *reader; /* NULL: the codec */
    CodecFormat codec;
} Format;

static const char no_codec[] =
    "no reader for JPEG, WebP, TIFF and JPEG 2000: they need libsardonyx_image beside libsardonyx, "
    "built where libjpeg, libwebp, libtiff and libopenjp2 are (./dev setup installs them)";

static const Format formats[] = {
    { "BM", 2, sdx_bmp_read },
    { "\x89PNG\r\n\x1a\n", 8, sdx_png_read },
    { "P1", 2, sdx_pnm_read },
    { "P2", 2, sdx_pnm_read },
    { "P3", 2, sdx_pnm_read },
    { "P4", 2, sdx_pnm_read },
    { "P5", 2, sdx_pnm_read },
    { "P6", 2, sdx_pnm_read },
    { "\xff\xd8\xff", 3, NULL, CODEC_JPEG },
    { "RIFF????WEBP", 12, NULL, CODEC_WEBP },
    { "II*\0", 4, NULL, CODEC_TIFF },
    { "MM\0*", 4, NULL, CODEC_TIFF },
    { "II+\0", 4, NULL, CODEC_TIFF },
    { "MM\0+", 4, NULL, CODEC_TIFF },
    { "\0\0\0\x0cjP  \r\n\x87\n", 12, NULL, CODEC_JPEG2000 },
    { "\xff\x4f\xff\x51", 4, NULL, CODEC_JPEG2000 },
};

static const Format *format_of(const uint8_t *bytes, size_t nbytes)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        size_t k = 0;
        while (k < formats[i].n && k < nbytes &&
               (formats[i].start[k] == '?' || (uint8_t)formats[i].start[k] == bytes[k]))
            k++;
        if (k == formats[i].n) return &formats[i];
    }
    return NULL;
}

static const char *codec_room(void *user, uint32_t width, uint32_t height, int channels, uint8_t **pixels)
{
    Image *image = user;
    const char *why = image->pixels ? "a picture of two sizes" : sdx_image_room(image, width, height, channels);
    *pixels = image->pixels;
    return why;
}

/* Found once; looked for again while it is not there. */
static CodecDecode *codec_find(CodecFormat f)
{
    static const Codecs *found; /* atomic */
    const Codecs *codecs = __atomic_load_n(&found, __ATOMIC_ACQUIRE);
    if (!codecs) {
        CodecsGet *get = (CodecsGet *)sdx_module_symbol(CODEC_LIBRARY, CODEC_SYMBOL);
        codecs = get ? get() : NULL;
        if (!codecs || codecs->version != CODEC_VERSION) return NULL;
        __atomic_store_n(&found, codecs, __ATOMIC_RELEASE);
    }
    return codecs->decode[f];
}

ImageStatus sdx_image_read(Image *image, const void *bytes, size_t nbytes, const Alloc *alloc, const char **why)
{
    const Format *f = format_of(bytes, nbytes);
    *image = (Image){ .alloc = alloc ? alloc : &sdx_alloc_default };
    *why = "not a picture of a known format";
    if (!f) return IMAGE_DAMAGED;
    if (f->reader) {
        *why = f->reader(image, bytes, nbytes);
    } else {
        CodecDecode *decode = codec_find(f->codec);
        *why = no_codec;
        if (!decode) return IMAGE_NO_READER;
        *why = decode(bytes, nbytes, codec_room, image);
    }
    if (!*why) return IMAGE_OK;
    sdx_image_free(image);
    return *why == sdx_image_too_large   ? IMAGE_TOO_LARGE
           : *why == sdx_image_no_memory ? IMAGE_NO_MEMORY
                                         : IMAGE_DAMAGED;
}
