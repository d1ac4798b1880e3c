/* kern/map/map2.h - two-input maps: y[i] = f(a[i], b[i]), and maps of three.
 *
 * `mode` says which operand is a single element used for every i. y may be an operand of its own element
 * size that is not such a single one, but must not overlap it otherwise. */
#ifndef SDX_KERN_MAP_MAP2_H
#define SDX_KERN_MAP_MAP2_H

#include <stddef.h>
#include <stdint.h>

enum { SDX_A_ONE = 1, SDX_B_ONE = 2, SDX_C_ONE = 4 };

enum {
#define MAP2(name, types, result) SDX_MAP2_##name,
#include "kern/map/map2.def"
#undef MAP2
    SDX_MAP2_COUNT
};

typedef void Map2(void *y, const void *a, const void *b, size_t n, unsigned mode);

/* y = a * b + c, rounded once; mode may name b and c. */
typedef void MulAddF32(float *y, const float *a, const float *b, const float *c, size_t n, unsigned mode);

/* y = cond ? a : b, elements of one size; cond holds bytes, any nonzero one is true. mode may name a and b. */
typedef void WhereFn(void *y, const uint8_t *cond, const void *a, const void *b, size_t n, unsigned mode);

/* Runs f, which knows mode 0 only, on operands `in` bytes wide and results `out` bytes wide, by spreading
 * the single ones over a small block. */
void sdx_map2_spread(Map2 *f, size_t in, size_t out, void *y, const void *a, const void *b, size_t n, unsigned mode);

const char *sdx_map2_name(unsigned map);

#endif
