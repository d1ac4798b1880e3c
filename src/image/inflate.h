/* image/inflate.h - the DEFLATE decoder (RFC 1951), for PNG and npz files */
#ifndef SDX_IMAGE_INFLATE_H
#define SDX_IMAGE_INFLATE_H

#include <stddef.h>
#include <stdint.h>

/* Decodes the raw stream src[0..nsrc) into dst, which has room for cap bytes. Returns NULL and sets *ndst to the
 * bytes written, or says what is wrong with the stream; more output than cap is an error. */
const char *sdx_inflate(uint8_t *dst, size_t cap, size_t *ndst, const uint8_t *src, size_t nsrc);

#endif
