/* kern/kern.h - the table of kernels.
 *
 * A Kern holds a function pointer for every kernel and the tile sizes that go with them, for one CPU
 * level. Each level starts as a copy of the one below and overwrites what it improves, so a caller
 * takes the table once, keeps the pointer and never tests features.
 *
 * Kernels do arithmetic on raw pointers: no tensors, no allocation, no threads. They count elements,
 * not bytes, and never read or write past what they were told.
 *
 * To add a family: its list of members in kern/<family>/<family>.def, one #include of it in
 * kern/kern.def, its argument types in a header included below, and its rows in kern/init.def.
 */
#ifndef SDX_KERN_KERN_H
#define SDX_KERN_KERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"
#include "kern/convert/convert.h"
#include "kern/conv/depthwise.h"
#include "kern/conv/winograd.h"
#include "kern/gemm/igemm_tile.h"
#include "kern/gemm/tile.h"
#include "kern/map/map1.h"
#include "kern/map/map2.h"
#include "kern/move/move.h"
#include "kern/norm/norm.h"
#include "kern/pool/taps.h"
#include "kern/quant/quantize.h"
#include "kern/reduce/reductions.h"
#include "kern/softmax/softmax.h"
#include "kern/types.h"

typedef struct Kern {
    unsigned level;   /* SDX_CPU_ */
    const char *name; /* of the level */
#define KERN_FN(ret, name, args) ret(*name) args;
#define KERN_PARAM(type, name) type name;
#include "kern/kern.def"
#undef KERN_FN
#undef KERN_PARAM
} Kern;

/* The table of a level, or NULL when this machine cannot run it. Lives as long as the process. */
const Kern *sdx_kern_at(unsigned level);

/* The table of sdx_cpu_level(). */
const Kern *sdx_kern_best(void);

#endif
