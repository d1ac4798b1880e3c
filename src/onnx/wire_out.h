/* Writing protobuf: back to front, so that the length of a message is known when its key is written.
 *
 * Fields and list items are therefore written in reverse:
 *
 *     size_t mark = o.total;
 *     sdx_out_string(&o, 2, version); sdx_out_string(&o, 1, domain);
 *     sdx_out_message(&o, 8, mark);
 *
 * Large contents are borrowed, not copied; they must live until the pieces are written. Failure of memory is kept in
 * `failed` and checked once, at the end. */
#ifndef SDX_ONNX_WIRE_OUT_H
#define SDX_ONNX_WIRE_OUT_H

#include "tensor/tensor.h"

typedef struct WirePiece {
    struct WirePiece *next; /* what follows in the file */
    const char *p;
    size_t n;
} WirePiece;

typedef struct WireOut {
    Arena *arena;
    WirePiece *first;
    char *block, *low; /* free space is [block, low) when first is an own piece */
    size_t total;
    bool failed;
} WireOut;

static inline WireOut sdx_out(Arena *arena) { return (WireOut){ .arena = arena }; }

void sdx_out_raw(WireOut *o, const void *p, size_t n); /* bytes without a key, copied */
void sdx_out_varint(WireOut *o, uint64_t v);           /* without a key */
void sdx_out_int(WireOut *o, uint32_t field, int64_t v);
void sdx_out_float(WireOut *o, uint32_t field, float v);
void sdx_out_bytes(WireOut *o, uint32_t field, const void *p, size_t n);
void sdx_out_borrow(WireOut *o, uint32_t field, const void *p, size_t n);
void sdx_out_string(WireOut *o, uint32_t field, const char *s); /* nothing for NULL and "" */
/* Turns all that was written since o->total was mark into field `field`. */
void sdx_out_message(WireOut *o, uint32_t field, size_t mark);

/* All pieces in one buffer. */
sdx_status sdx_out_join(const WireOut *o, const Alloc *a, Buf **out, Err *err);

/* TensorProto fields but its name, elements borrowed (strings: copied). */
void sdx_out_tensor(WireOut *o, const Tensor *t);

#endif
