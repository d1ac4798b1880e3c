#include "kern/kern.h"

#define ISA_C
#include "kern/isa_begin.h"
#include "kern/simd/c.h"
#include "kern/convert/convert_body.h"
#include "kern/isa_end.h"

const char *sdx_format_name(unsigned format)
{
    static const char *const names[] = {
#define FORMAT(name, code, m, e, bias, specials) #name,
#include "kern/convert/formats.def"
#undef FORMAT
    };
    return format < SDX_FORMAT_COUNT ? names[format] : NULL;
}
