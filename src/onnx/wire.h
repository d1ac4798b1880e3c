/* Protobuf's wire format: a cursor over the fields of one message.
 *
 *     Wire w = sdx_wire(...);
 *     for (WireField f; sdx_wire_next(&w, &f);)
 *         switch (f.number) { case 1: ... sdx_wire_string(&w, &f) ... }
 *     return sdx_wire_end(&w, err);
 *
 * A mistake in the bytes ends the loop and is told by sdx_wire_end, with the message's name and the offset in the file.
 * Getters return 0 or an empty span then. Nothing is copied; spans point into the message. */
#ifndef SDX_ONNX_WIRE_H
#define SDX_ONNX_WIRE_H

#include "tensor/tensor.h"

#define SDX_WIRE_DEPTH 128 /* messages inside messages; a subgraph takes three levels */

typedef struct Wire {
    const uint8_t *p, *end;
    const uint8_t *base; /* where offsets in error texts count from */
    const char *name;    /* of the message */
    int depth;
    const char *bad; /* what is wrong; NULL: nothing */
    const uint8_t *bad_at;
    uint32_t bad_field; /* 0: the message itself */
} Wire;

typedef enum WireType { WIRE_VARINT = 0, WIRE_8 = 1, WIRE_BYTES = 2, WIRE_4 = 5 } WireType;

typedef struct WireField {
    uint32_t number;
    WireType type;
    uint64_t v; /* VARINT, 8, 4: the bits */
    Str bytes;  /* BYTES */
} WireField;

static inline Wire sdx_wire(const void *p, size_t n, const char *name)
{
    return (Wire){ .p = p, .end = (const uint8_t *)p + n, .base = p, .name = name };
}

/* The next field; unknown ones come too, groups are skipped. false at the end and after a mistake. */
bool sdx_wire_next(Wire *w, WireField *f);
sdx_status sdx_wire_end(const Wire *w, Err *err);

/* Records a mistake at field f. what is a static text. */
void sdx_wire_bad(Wire *w, const WireField *f, const char *what);

/* The value of f as the kind of field the schema says; a mistake is recorded when the wire type does not fit. */
int64_t sdx_wire_int(Wire *w, const WireField *f);
float sdx_wire_float(Wire *w, const WireField *f);
Str sdx_wire_string(Wire *w, const WireField *f);
/* The message in f. It shares the offsets of w; too deep nesting is a mistake of w and gives an empty message. */
Wire sdx_wire_message(Wire *w, const WireField *f, const char *name);

/* Repeated numbers, packed or one a field: how many f holds, and their values to dst. */
size_t sdx_wire_count(Wire *w, const WireField *f, WireType elem);
size_t sdx_wire_ints(Wire *w, const WireField *f, int64_t *dst);
/* elem WIRE_4 or WIRE_8: copies the bits. */
size_t sdx_wire_fixed(Wire *w, const WireField *f, WireType elem, void *dst);

/* Lists of numbers or strings that are not packed come as runs of one key. Steps over the fields that follow f at once
 * with its key, up to max, and returns how many. dst: gets int64_t, 4 or 8 bytes, or Str each, by wire type; NULL:
 * nothing. Ends before a mistake, which sdx_wire_next then tells. */
size_t sdx_wire_run(Wire *w, const WireField *f, void *dst, size_t max);

#endif
