/* Open addressing, doubling at two thirds; old tables stay with the arena. */
#include <string.h>

#include "onnx/import.h"

typedef struct NameSlot {
    Str name;
    uint64_t hash; /* 0: free */
    void *to;
} NameSlot;

static uint64_t name_hash(Str s)
{
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t i = 0; i < s.n; i++) h = (h ^ (uint8_t)s.p[i]) * 0x100000001b3u;
    h ^= h >> 29;
    return h ? h : 1;
}

/* The slot of the name, or the free one where it goes. */
static NameSlot *names_slot(const Names *t, Str name, uint64_t hash)
{
    for (size_t i = (size_t)hash;; i++) {
        NameSlot *s = &t->slots[i & (t->cap - 1)];
        if (!s->hash) return s;
        if (s->hash == hash && s->name.n == name.n && (!name.n || !memcmp(s->name.p, name.p, name.n))) return s;
    }
}

static bool names_grow(Names *t, Arena *a)
{
    Names more = { .n = t->n, .cap = t->cap ? t->cap * 2 : 16 };
    more.slots = sdx_arena_array(a, NameSlot, more.cap);
    if (!more.slots) return false;
    for (size_t i = 0; i < t->cap; i++)
        if (t->slots[i].hash) *names_slot(&more, t->slots[i].name, t->slots[i].hash) = t->slots[i];
    *t = more;
    return true;
}

void **sdx_names_add(Names *t, Arena *a, Str name, bool *made)
{
    if (t->n * 3 >= t->cap * 2 && !names_grow(t, a)) return NULL;
    uint64_t hash = name_hash(name);
    NameSlot *s = names_slot(t, name, hash);
    *made = !s->hash;
    if (*made) {
        *s = (NameSlot){ .name = name, .hash = hash };
        t->n++;
    }
    return &s->to;
}

void **sdx_names_find(const Names *t, Str name)
{
    if (!t->cap) return NULL;
    NameSlot *s = names_slot(t, name, name_hash(name));
    return s->hash ? &s->to : NULL;
}
