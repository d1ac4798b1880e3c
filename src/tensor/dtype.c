#include <string.h>

#include "base/size.h"
#include "tensor/tensor.h"

typedef struct DTypeRow {
    uint8_t bits;
    char cls;
    const char *name;
} DTypeRow;

#define CLASS_LETTER(c) #c[0]
static const DTypeRow rows[DT_COUNT] = {
#define DTYPE(name, code, bits, text, cls) [code] = { bits, CLASS_LETTER(cls), text },
#include "tensor/dtype.def"
#undef DTYPE
};

int sdx_dtype_bits(DType d) { return sdx_dtype_is_valid((int)d) ? rows[d].bits : 0; }

const char *sdx_dtype_name(DType d) { return sdx_dtype_is_valid((int)d) ? rows[d].name : "undefined"; }

char sdx_dtype_class(DType d) { return sdx_dtype_is_valid((int)d) ? rows[d].cls : '\0'; }

DType sdx_dtype_from_name(const char *s, size_t n)
{
    for (int d = 1; d < DT_COUNT; d++)
        if (strlen(rows[d].name) == n && memcmp(rows[d].name, s, n) == 0) return (DType)d;
    return DT_NONE;
}

bool sdx_dtype_nbytes(DType d, int64_t n, size_t *nbytes)
{
    size_t bits = (size_t)sdx_dtype_bits(d);
    if (n < 0 || !bits) return false;
    if (bits % 8 == 0) return sdx_mul_size(nbytes, (size_t)n, bits / 8);
    /* n * bits / 8 without forming n * bits: whole groups of 8 elements take `bits` bytes. */
    size_t whole;
    if (!sdx_mul_size(&whole, (size_t)n / 8, bits)) return false;
    return sdx_add_size(nbytes, whole, ((size_t)n % 8 * bits + 7) / 8);
}
