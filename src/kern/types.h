/* kern/types.h - names of the element types of kernels, for tables indexed by type: SDX_K_f32, ... */
#ifndef SDX_KERN_TYPES_H
#define SDX_KERN_TYPES_H

enum {
#define KTYPE(name, type) SDX_K_##name,
#include "kern/types.def"
#undef KTYPE
    SDX_K_COUNT
};

#endif
