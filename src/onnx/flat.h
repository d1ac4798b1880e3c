/* Reading FlatBuffers: tables, vectors and strings in bytes that nobody has checked.
 *
 * Every offset is checked where it is followed. A mistake sets `bad` and gives something empty, so that readers need to
 * ask once, at the end. Absent fields give their default. */
#ifndef SDX_ONNX_FLAT_H
#define SDX_ONNX_FLAT_H

#include <string.h>

#include "tensor/tensor.h"

typedef struct Flat {
    const uint8_t *p;
    size_t n;
    bool bad;
} Flat;

typedef struct FlatTable {
    Flat *f;
    size_t at;     /* 0: no table */
    size_t fields; /* where the offsets of fields are */
    int n_fields;
} FlatTable;

typedef struct FlatVec {
    Flat *f;
    size_t at; /* of the first element */
    size_t n;
} FlatVec;

static inline bool flat_has(Flat *f, size_t at, size_t n)
{
    if (at <= f->n && n <= f->n - at) return true;
    f->bad = true;
    return false;
}

/* Little-endian, as the hosts are. */
static inline uint32_t flat_u32_at(Flat *f, size_t at)
{
    uint32_t v = 0;
    if (flat_has(f, at, sizeof v)) memcpy(&v, f->p + at, sizeof v);
    return v;
}

static inline uint16_t flat_u16_at(Flat *f, size_t at)
{
    uint16_t v = 0;
    if (flat_has(f, at, sizeof v)) memcpy(&v, f->p + at, sizeof v);
    return v;
}

/* What the offset at `at` leads to: always forward. */
static inline size_t flat_follow(Flat *f, size_t at)
{
    size_t to = flat_u32_at(f, at);
    if (f->bad || !to || to > f->n - at) return f->bad = true, 0;
    return at + to;
}

static inline FlatTable flat_table(Flat *f, size_t at)
{
    FlatTable t = { .f = f };
    int32_t back = (int32_t)flat_u32_at(f, at);
    int64_t vtable = (int64_t)at - back;
    if (f->bad || vtable < 0 || !flat_has(f, (size_t)vtable, 4)) return f->bad = true, t;
    size_t size = flat_u16_at(f, (size_t)vtable);
    if (size < 4 || !flat_has(f, (size_t)vtable, size)) return f->bad = true, t;
    t.at = at;
    t.fields = (size_t)vtable + 4;
    t.n_fields = (int)((size - 4) / 2);
    return t;
}

static inline FlatTable flat_root(Flat *f) { return flat_table(f, flat_follow(f, 0)); }

/* Where field i of n bytes lies; 0: it is absent. */
static inline size_t flat_field(FlatTable t, int i, size_t n)
{
    if (!t.at || i >= t.n_fields) return 0;
    size_t offset = flat_u16_at(t.f, t.fields + 2 * (size_t)i);
    return offset && flat_has(t.f, t.at + offset, n) ? t.at + offset : 0;
}

static inline int64_t flat_i64(FlatTable t, int i, int64_t absent)
{
    size_t at = flat_field(t, i, sizeof absent);
    if (at) memcpy(&absent, t.f->p + at, sizeof absent);
    return absent;
}

static inline int32_t flat_i32(FlatTable t, int i, int32_t absent)
{
    size_t at = flat_field(t, i, sizeof absent);
    if (at) memcpy(&absent, t.f->p + at, sizeof absent);
    return absent;
}

static inline float flat_f32(FlatTable t, int i, float absent)
{
    size_t at = flat_field(t, i, sizeof absent);
    if (at) memcpy(&absent, t.f->p + at, sizeof absent);
    return absent;
}

static inline int flat_u8(FlatTable t, int i, int absent)
{
    size_t at = flat_field(t, i, 1);
    return at ? t.f->p[at] : absent;
}

/* Elements of `size` bytes; none when the field is absent. */
static inline FlatVec flat_vec_at(Flat *f, size_t at, size_t size)
{
    FlatVec v = { .f = f };
    size_t n = flat_u32_at(f, at);
    if (f->bad || n > (f->n - at - 4) / size) return f->bad = true, v;
    v.at = at + 4;
    v.n = n;
    return v;
}

static inline FlatVec flat_vec(FlatTable t, int i, size_t size)
{
    size_t at = flat_field(t, i, 4);
    size_t to = at ? flat_follow(t.f, at) : 0;
    return to ? flat_vec_at(t.f, to, size) : (FlatVec){ .f = t.f };
}

static inline Str flat_bytes(FlatVec v) { return (Str){ v.n ? (const char *)v.f->p + v.at : "", v.n }; }
static inline Str flat_str(FlatTable t, int i) { return flat_bytes(flat_vec(t, i, 1)); }

static inline FlatTable flat_sub(FlatTable t, int i)
{
    size_t at = flat_field(t, i, 4);
    size_t to = at ? flat_follow(t.f, at) : 0;
    return to ? flat_table(t.f, to) : (FlatTable){ .f = t.f };
}

/* Element k of a vector of tables or strings; k < v.n. */
static inline FlatTable flat_table_of(FlatVec v, size_t k)
{
    size_t to = flat_follow(v.f, v.at + 4 * k);
    return to ? flat_table(v.f, to) : (FlatTable){ .f = v.f };
}

static inline Str flat_str_of(FlatVec v, size_t k)
{
    size_t to = flat_follow(v.f, v.at + 4 * k);
    return to ? flat_bytes(flat_vec_at(v.f, to, 1)) : (Str){ "", 0 };
}

#endif
