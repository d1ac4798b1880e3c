/* image/codec.h - what libsardonyx and libsardonyx_image know of each other */
#ifndef SDX_IMAGE_CODEC_H
#define SDX_IMAGE_CODEC_H

#include <stddef.h>
#include <stdint.h>

#define CODEC_LIBRARY "libsardonyx_image.so.0"
#define CODEC_SYMBOL "sdx_image_codecs"
#define CODEC_VERSION 1 /* of what follows */

typedef enum CodecFormat { CODEC_JPEG, CODEC_WEBP, CODEC_TIFF, CODEC_JPEG2000, CODEC_FORMATS } CodecFormat;

/* Room for the pixels, 8 bits a channel: 1 grey, 3 RGB. NULL, or why there is none: the decoder returns that text. */
typedef const char *CodecRoom(void *user, uint32_t width, uint32_t height, int channels, uint8_t **pixels);
/* NULL, or a text that lasts: what is wrong with the picture. */
typedef const char *CodecDecode(const uint8_t *bytes, size_t nbytes, CodecRoom *room, void *user);

typedef struct Codecs {
    uint32_t version;
    CodecDecode *decode[CODEC_FORMATS]; /* NULL: built without that library */
} Codecs;

/* The one function that libsardonyx_image exports. */
typedef const Codecs *CodecsGet(void);

#endif
