#include "onnx/wire.h"

#include <string.h>

static void wire_fail(Wire *w, const uint8_t *at, uint32_t field, const char *what)
{
    if (w->bad) return;
    w->bad = what;
    w->bad_at = at;
    w->bad_field = field;
    w->p = w->end;
}

void sdx_wire_bad(Wire *w, const WireField *f, const char *what)
{
    const uint8_t *at = f->type == WIRE_BYTES ? (const uint8_t *)f->bytes.p : w->p;
    wire_fail(w, at, f->number, what);
}

sdx_status sdx_wire_end(const Wire *w, Err *err)
{
    if (!w->bad) return SDX_OK;
    unsigned long long at = (unsigned long long)(w->bad_at - w->base);
    if (w->bad_field)
        return sdx_fail(err, SDX_INVALID_MODEL, "byte %llu: field %u of %s: %s", at, (unsigned)w->bad_field, w->name,
                        w->bad);
    return sdx_fail(err, SDX_INVALID_MODEL, "byte %llu: %s: %s", at, w->name, w->bad);
}

/* Up to ten bytes of seven bits; false when they do not end in [p, end). Bits beyond 64 are lost, as everywhere. */
static inline bool varint(const uint8_t **p, const uint8_t *end, uint64_t *out)
{
    uint64_t v = 0;
    const uint8_t *q = *p;
    if (q < end && *q < 128) {
        *out = *q;
        *p = q + 1;
        return true;
    }
    for (int shift = 0; shift < 64; shift += 7) {
        if (q == end) return false;
        uint8_t byte = *q++;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) {
            *p = q;
            *out = v;
            return true;
        }
    }
    return false;
}

static uint64_t little_endian(const uint8_t *p, int n)
{
    uint64_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

/* Reads the value of a field whose key was read. Wire types 3 and 4 do not come here. */
static bool wire_value(Wire *w, const uint8_t *at, WireField *f)
{
    size_t left = (size_t)(w->end - w->p);
    uint64_t n;
    switch ((int)f->type) {
    case WIRE_VARINT:
        if (varint(&w->p, w->end, &f->v)) return true;
        wire_fail(w, at, f->number, left < 10 ? "the number is cut off" : "the number has more than ten bytes");
        return false;
    case WIRE_8:
    case WIRE_4:
        n = f->type == WIRE_8 ? 8 : 4;
        if (left < n) {
            wire_fail(w, at, f->number, "the number is cut off");
            return false;
        }
        f->v = little_endian(w->p, (int)n);
        w->p += n;
        return true;
    case WIRE_BYTES:
        if (!varint(&w->p, w->end, &n)) {
            wire_fail(w, at, f->number, "the length is cut off");
            return false;
        }
        left = (size_t)(w->end - w->p);
        if (n > left) {
            wire_fail(w, at, f->number, "the length is larger than what is left");
            return false;
        }
        f->bytes = (Str){ (const char *)w->p, (size_t)n };
        w->p += n;
        return true;
    }
    wire_fail(w, at, f->number, "unknown wire type");
    return false;
}

/* Skips to the end of a group; groups inside it count in `open`, so no recursion is needed. */
static bool skip_group(Wire *w, const uint8_t *at, uint32_t number)
{
    for (uint64_t open = 1, key; open;) {
        WireField f = { 0 };
        if (!varint(&w->p, w->end, &key)) {
            wire_fail(w, at, number, "the group does not end");
            return false;
        }
        f.number = (uint32_t)(key >> 3);
        f.type = (WireType)(key & 7);
        if ((key & 7) == 3)
            open++;
        else if ((key & 7) == 4)
            open--;
        else if (!wire_value(w, at, &f))
            return false;
    }
    return true;
}

bool sdx_wire_next(Wire *w, WireField *f)
{
    while (w->p < w->end) {
        const uint8_t *at = w->p;
        uint64_t key;
        if (!varint(&w->p, w->end, &key) || key >> 32) {
            wire_fail(w, at, 0, "a field key is cut off or too large");
            return false;
        }
        *f = (WireField){ .number = (uint32_t)(key >> 3), .type = (WireType)(key & 7) };
        if (f->number == 0) {
            wire_fail(w, at, 0, "field number 0");
            return false;
        }
        if ((key & 7) == 4) {
            wire_fail(w, at, f->number, "a group ends that did not begin");
            return false;
        }
        if ((key & 7) != 3) return wire_value(w, at, f);
        if (!skip_group(w, at, f->number)) return false;
    }
    return false;
}

int64_t sdx_wire_int(Wire *w, const WireField *f)
{
    if (f->type == WIRE_VARINT) return (int64_t)f->v;
    sdx_wire_bad(w, f, "should be an integer");
    return 0;
}

float sdx_wire_float(Wire *w, const WireField *f)
{
    float v = 0;
    uint32_t bits = (uint32_t)f->v;
    if (f->type == WIRE_4)
        memcpy(&v, &bits, sizeof v);
    else
        sdx_wire_bad(w, f, "should be a float");
    return v;
}

Str sdx_wire_string(Wire *w, const WireField *f)
{
    if (f->type == WIRE_BYTES) return f->bytes;
    sdx_wire_bad(w, f, "should be a string");
    return (Str){ "", 0 };
}

Wire sdx_wire_message(Wire *w, const WireField *f, const char *name)
{
    Wire m = { .base = w->base, .name = name, .depth = w->depth + 1 };
    if (f->type != WIRE_BYTES)
        sdx_wire_bad(w, f, "should be a message");
    else if (m.depth > SDX_WIRE_DEPTH)
        sdx_wire_bad(w, f, "messages are nested too deep");
    else {
        m.p = (const uint8_t *)f->bytes.p;
        m.end = m.p + f->bytes.n;
    }
    return m;
}

size_t sdx_wire_count(Wire *w, const WireField *f, WireType elem)
{
    if (f->type == elem) return 1;
    if (f->type != WIRE_BYTES) {
        sdx_wire_bad(w, f, "should be a list of numbers");
        return 0;
    }
    size_t n = 0;
    if (elem == WIRE_VARINT) {
        for (size_t i = 0; i < f->bytes.n; i++) n += !(f->bytes.p[i] & 0x80);
        if (f->bytes.n && f->bytes.p[f->bytes.n - 1] & 0x80) sdx_wire_bad(w, f, "the last number is cut off");
        return n;
    }
    size_t size = elem == WIRE_4 ? 4 : 8;
    if (f->bytes.n % size) sdx_wire_bad(w, f, "the last number is cut off");
    return f->bytes.n / size;
}

size_t sdx_wire_ints(Wire *w, const WireField *f, int64_t *dst)
{
    if (f->type == WIRE_VARINT) {
        *dst = (int64_t)f->v;
        return 1;
    }
    if (f->type != WIRE_BYTES) {
        sdx_wire_bad(w, f, "should be a list of numbers");
        return 0;
    }
    const uint8_t *p = (const uint8_t *)f->bytes.p, *end = p + f->bytes.n;
    size_t n = 0;
    while (p < end) {
        uint64_t v;
        if (!varint(&p, end, &v)) {
            sdx_wire_bad(w, f, "a number has more than ten bytes");
            break;
        }
        dst[n++] = (int64_t)v;
    }
    return n;
}

size_t sdx_wire_fixed(Wire *w, const WireField *f, WireType elem, void *dst)
{
    size_t size = elem == WIRE_4 ? 4 : 8, n = sdx_wire_count(w, f, elem);
    uint8_t *to = dst;
    if (f->type != WIRE_BYTES) {
        uint32_t low = (uint32_t)f->v;
        if (n) memcpy(to, elem == WIRE_4 ? (const void *)&low : (const void *)&f->v, size);
        return n;
    }
    if (n) memcpy(to, f->bytes.p, n * size);
    return n;
}

/* The value at *p as sdx_wire_run stores it; false when it is cut off. */
static inline bool run_value(const uint8_t **p, const uint8_t *end, WireType type, size_t at, void *dst)
{
    uint64_t v;
    size_t size = type == WIRE_4 ? 4 : 8;
    switch (type) {
    case WIRE_VARINT:
        if (!varint(p, end, &v)) return false;
        if (dst) ((int64_t *)dst)[at] = (int64_t)v;
        return true;
    case WIRE_4:
    case WIRE_8:
        if ((size_t)(end - *p) < size) return false;
        if (dst) memcpy((char *)dst + at * size, *p, size);
        *p += size;
        return true;
    case WIRE_BYTES:
        if (!varint(p, end, &v) || v > (uint64_t)(end - *p)) return false;
        if (dst) ((Str *)dst)[at] = (Str){ (const char *)*p, (size_t)v };
        *p += v;
        return true;
    }
    return false;
}

size_t sdx_wire_run(Wire *w, const WireField *f, void *dst, size_t max)
{
    uint32_t key = f->number << 3 | f->type;
    size_t n = 0;
    if (key > 127) return 0;
    for (const uint8_t *p = w->p; n < max && p < w->end && *p == key; n++) {
        p++;
        if (!run_value(&p, w->end, f->type, n, dst)) break;
        w->p = p;
    }
    return n;
}
