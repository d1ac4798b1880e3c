/* kern/convert/convert.h - storage floats to and from f32, and elements below a byte to and from bytes.
 *
 * y does not overlap x. */
#ifndef SDX_KERN_CONVERT_CONVERT_H
#define SDX_KERN_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define FORMAT(name, code, m, e, bias, specials) SDX_FORMAT_##name,
#include "kern/convert/formats.def"
#undef FORMAT
    SDX_FORMAT_COUNT
};

/* Exact. */
typedef void WidenF32(float *y, const void *x, size_t n);
/* To nearest, half to even. f16 and bf16 overflow to infinity. The others, if they saturate, to the largest finite
 * value; if not, to what they have: infinity, else NaN (the FINITE ones always saturate, and make NaN -0).
 * f8e8m0 rounds away from zero; with saturation 0 gives 0x00 and infinity 0xfe, without they give 0xff. */
typedef void NarrowF32(void *y, const float *x, size_t n, bool saturate);

/* n elements of 4, 2 or 6 bits, the first at the low end of x[0], to a byte each; sign-extended if the name says i. */
typedef void UnpackBits(uint8_t *y, const uint8_t *x, size_t n);
/* The low bits of n bytes; unused bits of the last byte of y become 0. */
typedef void PackBits(uint8_t *y, const uint8_t *x, size_t n);

const char *sdx_format_name(unsigned format);

#endif
