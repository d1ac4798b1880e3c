#include "onnx/wire_out.h"

#include <string.h>

#include "base/size.h"

#define BLOCK ((size_t)4096)

/* Room for n bytes in front of what is written; NULL: out of memory. */
static char *out_room(WireOut *o, size_t n)
{
    if (o->failed) return NULL;
    if (!o->low || (size_t)(o->low - o->block) < n) {
        size_t size = n > BLOCK ? n : BLOCK;
        WirePiece *piece = sdx_arena_new(o->arena, WirePiece);
        char *block = sdx_arena_alloc(o->arena, size, 1);
        if (!piece || !block) {
            o->failed = true;
            return NULL;
        }
        *piece = (WirePiece){ .next = o->first, .p = block + size };
        o->first = piece;
        o->block = block;
        o->low = block + size;
    }
    o->low -= n;
    o->first->p = o->low;
    o->first->n += n;
    o->total += n;
    return o->low;
}

void sdx_out_raw(WireOut *o, const void *p, size_t n)
{
    char *to = n ? out_room(o, n) : NULL;
    if (to) memcpy(to, p, n);
}

void sdx_out_varint(WireOut *o, uint64_t v)
{
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)((v & 127) | (v > 127 ? 128 : 0));
        v >>= 7;
    } while (v);
    sdx_out_raw(o, bytes, n);
}

static void out_key(WireOut *o, uint32_t field, unsigned type) { sdx_out_varint(o, (uint64_t)field << 3 | type); }

void sdx_out_int(WireOut *o, uint32_t field, int64_t v)
{
    sdx_out_varint(o, (uint64_t)v);
    out_key(o, field, 0);
}

void sdx_out_float(WireOut *o, uint32_t field, float v)
{
    sdx_out_raw(o, &v, sizeof v);
    out_key(o, field, 5);
}

void sdx_out_bytes(WireOut *o, uint32_t field, const void *p, size_t n)
{
    sdx_out_raw(o, p, n);
    sdx_out_varint(o, n);
    out_key(o, field, 2);
}

void sdx_out_borrow(WireOut *o, uint32_t field, const void *p, size_t n)
{
    if (n < BLOCK) {
        sdx_out_bytes(o, field, p, n);
        return;
    }
    WirePiece *piece = o->failed ? NULL : sdx_arena_new(o->arena, WirePiece);
    if (!piece) {
        o->failed = true;
        return;
    }
    *piece = (WirePiece){ .next = o->first, .p = p, .n = n };
    o->first = piece;
    o->block = o->low = NULL;
    o->total += n;
    sdx_out_varint(o, n);
    out_key(o, field, 2);
}

void sdx_out_string(WireOut *o, uint32_t field, const char *s)
{
    if (s && *s) sdx_out_bytes(o, field, s, strlen(s));
}

void sdx_out_message(WireOut *o, uint32_t field, size_t mark)
{
    sdx_out_varint(o, o->total - mark);
    out_key(o, field, 2);
}

sdx_status sdx_out_join(const WireOut *o, const Alloc *a, Buf **out, Err *err)
{
    *out = o->failed ? NULL : sdx_buf_create(a, o->total);
    TRY_MEM(*out, err);
    char *to = (*out)->data;
    for (const WirePiece *p = o->first; p; p = p->next) {
        memcpy(to, p->p, p->n);
        to += p->n;
    }
    return SDX_OK;
}

void sdx_out_tensor(WireOut *o, const Tensor *t)
{
    int64_t count = sdx_tensor_count(t);
    size_t nbytes = 0;
    if (t->dtype == DT_STRING) {
        const Str *s = t->data;
        for (int64_t i = count - 1; i >= 0; i--) sdx_out_bytes(o, 6, s[i].p, s[i].n);
    } else if (sdx_tensor_nbytes(t, &nbytes)) {
        sdx_out_borrow(o, 9, t->data, nbytes);
    }
    sdx_out_int(o, 2, t->dtype);
    for (int d = t->rank - 1; d >= 0; d--) sdx_out_int(o, 1, t->dims[d]);
}
