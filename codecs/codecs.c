#include "codecs/codecs.h"

static const Codecs codecs = {
    .version = CODEC_VERSION,
#ifdef SDX_HAVE_JPEG
    .decode[CODEC_JPEG] = sdx_jpeg_decode,
#endif
#ifdef SDX_HAVE_WEBP
    .decode[CODEC_WEBP] = sdx_webp_decode,
#endif
#ifdef SDX_HAVE_TIFF
    .decode[CODEC_TIFF] = sdx_tiff_decode,
#endif
#ifdef SDX_HAVE_JPEG2000
    .decode[CODEC_JPEG2000] = sdx_jpeg2000_decode,
#endif
};

__attribute__((visibility("default"))) CodecsGet sdx_image_codecs;

const Codecs *sdx_image_codecs(void) { return &codecs; }
