#include "kern/kern.h"

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/map/map1_body.h"
#include "kern/isa_end.h"

const char *sdx_map1_name(unsigned map)
{
    static const char *const names[] = {
#define MAP1(name, params, error, lo, hi) #name,
#include "kern/map/map1.def"
#undef MAP1
    };
    return map < SDX_MAP1_COUNT ? names[map] : NULL;
}
