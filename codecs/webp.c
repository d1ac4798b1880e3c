/* codecs/webp.c - WebP, by libwebp; of animations, none */
#include "codecs/codecs.h"

#include <webp/decode.h>

const char *sdx_webp_decode(const uint8_t *bytes, size_t nbytes, CodecRoom *room, void *user)
{
    WebPBitstreamFeatures f;
    uint8_t *pixels;
    if (WebPGetFeatures(bytes, nbytes, &f) != VP8_STATUS_OK) return "a damaged WebP";
    if (f.has_animation) return "an animated WebP, which is not supported";
    const char *why = room(user, (uint32_t)f.width, (uint32_t)f.height, 3, &pixels);
    if (why) return why;
    size_t stride = (size_t)f.width * 3;
    return WebPDecodeRGBInto(bytes, nbytes, pixels, stride * (size_t)f.height, (int)stride) ? NULL : "a damaged WebP";
}
