/* kern/map/map1.h - one-input maps: y[i] = f(x[i]).
 *
 * y may be x itself, but must not overlap it otherwise. `p` may be NULL for maps that use no parameter
 * (column two of kern/map/map1.def). */
#ifndef SDX_KERN_MAP_MAP1_H
#define SDX_KERN_MAP_MAP1_H

#include <stddef.h>
#include <stdint.h>

enum {
#define MAP1(name, params, error, lo, hi) SDX_MAP1_##name,
#include "kern/map/map1.def"
#undef MAP1
    SDX_MAP1_COUNT
};

typedef struct MapParam {
    double alpha, beta;
} MapParam;

typedef void Map1F32(float *y, const float *x, size_t n, const MapParam *p);
typedef void Map1F64(double *y, const double *x, size_t n, const MapParam *p);

/* What kern/map/map1.def calls `name`, "exp" say, or NULL outside the list. */
const char *sdx_map1_name(unsigned map1);

#endif
