/* codecs/codecs.h - libsardonyx_image: pictures through the libraries that everybody uses, for libsardonyx to load */
#ifndef SDX_CODECS_CODECS_H
#define SDX_CODECS_CODECS_H

#include "image/codec.h"

CodecDecode sdx_jpeg_decode, sdx_webp_decode, sdx_tiff_decode, sdx_jpeg2000_decode;

#endif
