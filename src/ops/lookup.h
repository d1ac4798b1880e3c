/* ops/lookup.h - which of n keys is this? A hash table over keys that stay where they are: integers, floats or strings.
 * Floats are equal when == says so, and NaN equals NaN. */
#ifndef SDX_OPS_LOOKUP_H
#define SDX_OPS_LOOKUP_H

#include "tensor/tensor.h"

typedef struct Lookup {
    DType dtype; /* TS_INT, TS_F32, TS_F64 or TS_STR */
    const char *keys;
    size_t size; /* of a key */
    uint64_t mask;
    uint32_t *slots; /* position + 1; 0: free */
} Lookup;

/* Keys need not be aligned. Of equal keys the first counts, or the last. false: out of memory. */
bool sdx_lookup_make(Lookup *l, Arena *arena, DType dtype, const void *keys, int64_t n, bool last);
/* Position of the key that equals *key, of the same type; -1: none. */
int64_t sdx_lookup_find(const Lookup *l, const void *key);

#endif
