#include "ops/lookup.h"

#include <string.h>

static uint64_t mix(uint64_t h)
{
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    return h ^ h >> 32;
}

/* One number for each class of equal keys; strings: a hash. */
static uint64_t key_code(const Lookup *l, const void *key)
{
    uint64_t code = 0;
    double d;
    float f;
    Str s;
    switch (l->dtype) {
    case DT_FLOAT:
        memcpy(&f, key, sizeof f);
        d = (double)f;
        break;
    case DT_DOUBLE: memcpy(&d, key, sizeof d); break;
    case DT_STRING:
        memcpy(&s, key, sizeof s);
        for (size_t i = 0; i < s.n; i++) code = (code ^ (uint8_t)s.p[i]) * 0x100000001b3u + 1;
        return code;
    default: memcpy(&code, key, l->size); return code;
    }
    if (d != d) return UINT64_MAX;
    d += 0; /* -0 becomes 0 */
    memcpy(&code, &d, sizeof code);
    return code;
}

static bool same_key(const Lookup *l, const void *a, const void *b)
{
    if (l->dtype != DT_STRING) return key_code(l, a) == key_code(l, b);
    Str x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x.n == y.n && (x.n == 0 || !memcmp(x.p, y.p, x.n));
}

/* The slot of the key, or the free one where it belongs. */
static uint32_t *slot_of(const Lookup *l, const void *key)
{
    uint64_t h = mix(key_code(l, key)) & l->mask;
    while (l->slots[h] && !same_key(l, key, l->keys + (size_t)(l->slots[h] - 1) * l->size)) h = (h + 1) & l->mask;
    return &l->slots[h];
}

bool sdx_lookup_make(Lookup *l, Arena *arena, DType dtype, const void *keys, int64_t n, bool last)
{
    if (n >= INT32_MAX) return false;
    uint64_t slots = 4;
    while (slots < (uint64_t)n * 2) slots *= 2;
    *l = (Lookup){ .dtype = dtype, .keys = keys, .size = sdx_dtype_size(dtype), .mask = slots - 1 };
    l->slots = sdx_arena_array(arena, uint32_t, slots);
    if (!l->slots) return false;
    for (int64_t i = 0; i < n; i++) {
        uint32_t *slot = slot_of(l, l->keys + (size_t)i * l->size);
        if (!*slot || last) *slot = (uint32_t)i + 1;
    }
    return true;
}

int64_t sdx_lookup_find(const Lookup *l, const void *key) { return (int64_t)*slot_of(l, key) - 1; }
