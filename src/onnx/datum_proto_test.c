#include <string.h>

#include "onnx/onnx.h"
#include "onnx/wire_out.h"
#include "tests/harness.h"

static const Alloc *const alloc = &sdx_alloc_default;
static Arena arena;

static Buf *finish(WireOut *o)
{
    Buf *b = NULL;
    CHECK_INT(sdx_out_join(o, alloc, &b, NULL), SDX_OK);
    sdx_arena_fini(&arena);
    return b;
}

static WireOut start(void)
{
    sdx_arena_init(&arena, alloc, 0);
    return sdx_out(&arena);
}

/* Reads, and also every truncation of the bytes, which may fail but not misbehave. */
static sdx_status read_all(Buf *b, const Type *type, Datum *out, Err *err)
{
    for (size_t n = 0; n < b->nbytes; n++) {
        char *cut = sdx_alloc(alloc, n + 1);
        memcpy(cut, b->data, n);
        Datum d;
        if (sdx_onnx_read_datum(alloc, cut, n, type, &d, NULL) == SDX_OK) sdx_datum_clear(&d);
        sdx_free(alloc, cut);
    }
    sdx_status status = sdx_onnx_read_datum(alloc, b->data, b->nbytes, type, out, err);
    sdx_buf_release(b);
    return status;
}

static void reads_typed_fields_in_all_their_forms(void)
{
    /* int32_data of a float16[5]: one packed block, then two alone, then another block */
    static const uint8_t block1[] = { 0x80, 0x78, 1 }, block2[] = { 5, 6 };
    WireOut o = start();
    sdx_out_bytes(&o, 5, block2, 2);
    sdx_out_int(&o, 5, 0x7c00);
    sdx_out_bytes(&o, 5, block1, 3);
    sdx_out_int(&o, 2, DT_FLOAT16);
    sdx_out_int(&o, 1, 5);
    Datum d;
    Err err = { 0 };
    static const uint16_t want[] = { 0x3c00, 1, 0x7c00, 5, 6 };
    if (!CHECK_INT(read_all(finish(&o), NULL, &d, &err), SDX_OK)) return;
    CHECK_BYTES(d.t.data, want, sizeof want);
    sdx_datum_clear(&d);

    /* negative int8 take ten bytes each; bool is 0 or 1 whatever was written */
    o = start();
    sdx_out_int(&o, 5, 7);
    sdx_out_int(&o, 5, -3);
    sdx_out_int(&o, 2, DT_INT8);
    sdx_out_int(&o, 1, 2);
    CHECK_INT(read_all(finish(&o), NULL, &d, &err), SDX_OK);
    CHECK_BYTES(d.t.data, "\xfd\x07", 2);
    sdx_datum_clear(&d);
    o = start();
    sdx_out_bytes(&o, 9, "\0\5", 2);
    sdx_out_int(&o, 2, DT_BOOL);
    sdx_out_int(&o, 1, 2);
    CHECK_INT(read_all(finish(&o), NULL, &d, &err), SDX_OK);
    CHECK_BYTES(d.t.data, "\0\1", 2);
    sdx_datum_clear(&d);

    /* float6: one element an entry in the field, a bit stream in memory */
    o = start();
    for (int i = 4; i >= 0; i--) sdx_out_int(&o, 5, i * 9);
    sdx_out_int(&o, 2, DT_FLOAT6E2M3);
    sdx_out_int(&o, 1, 5);
    CHECK_INT(read_all(finish(&o), NULL, &d, &err), SDX_OK);
    static const uint8_t stream[] = { 0 | (9 & 3) << 6, 9 >> 2 | (18 & 15) << 4, 18 >> 4 | 27 << 2, 36 };
    CHECK_BYTES(d.t.data, stream, 4);
    sdx_datum_clear(&d);

    /* many numbers, so that decoding in parts is met; a uint64 above INT64_MAX */
    uint8_t many[1000];
    size_t at = 0;
    for (unsigned i = 0; i < 300; i++) {
        if (i >= 128) many[at++] = (uint8_t)(i | 128);
        many[at++] = (uint8_t)(i >= 128 ? i >> 7 : i);
    }
    o = start();
    sdx_out_int(&o, 11, -1);
    sdx_out_bytes(&o, 11, many, at);
    sdx_out_int(&o, 2, DT_UINT64);
    sdx_out_int(&o, 1, 301);
    CHECK_INT(read_all(finish(&o), NULL, &d, &err), SDX_OK);
    for (uint64_t i = 0; i < 300; i++) CHECK_INT(((uint64_t *)d.t.data)[i], i);
    CHECK(((uint64_t *)d.t.data)[300] == UINT64_MAX);
    sdx_datum_clear(&d);
}

static void tells_what_is_wrong(void)
{
    static const struct {
        int dtype;
        int64_t dims[2];
        const char *raw, *text;
        sdx_status status;
    } cases[] = {
        { DT_FLOAT,
          { 2, 2 },
          "12345678",
          "tensor `x`: raw_data holds 8 bytes, but float[2,2] takes 16",
          SDX_INVALID_MODEL },
        { DT_INT64, { 2, 2 }, "", "int64_data holds 0 entries, but int64[2,2] takes 4", SDX_INVALID_MODEL },
        { DT_STRING, { 1, 1 }, "a", "strings cannot be in raw_data", SDX_INVALID_MODEL },
        { DT_FLOAT, { -1, 2 }, "12345678", "shape [-1,2] has a negative dim", SDX_INVALID_MODEL },
        { DT_FLOAT, { INT64_MAX, 4 }, "12345678", "too many elements", SDX_INVALID_MODEL },
        { 0, { 1, 1 }, "1", "element type 0 is not defined", SDX_INVALID_MODEL },
        { 29, { 1, 1 }, "1", "element type 29 is not defined", SDX_INVALID_MODEL },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        WireOut o = start();
        sdx_out_bytes(&o, 9, cases[i].raw, strlen(cases[i].raw));
        sdx_out_string(&o, 8, "x");
        sdx_out_int(&o, 2, cases[i].dtype);
        sdx_out_int(&o, 1, cases[i].dims[1]);
        sdx_out_int(&o, 1, cases[i].dims[0]);
        Datum d;
        Err err = { 0 };
        sdx_harness_note("case %zu", i);
        CHECK_INT(read_all(finish(&o), NULL, &d, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].text);
    }
    sdx_harness_note(NULL);
    Datum d;
    Err err = { 0 };
    CHECK_INT(sdx_onnx_read_datum(alloc, "\x0a\x05\x01", 3, NULL, &d, &err), SDX_INVALID_MODEL);
    CHECK_STR(err.text, "byte 0: field 1 of TensorProto: the length is larger than what is left");
    sdx_err_clear(&err);
    CHECK_INT(sdx_onnx_read_datum(alloc, "\x10\xff", 2, NULL, &d, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "byte 0: field 2 of TensorProto: the number is cut off");
    sdx_err_clear(&err);
    CHECK_INT(sdx_onnx_read_datum(alloc, "\x13\x08\x01\x14\x10\x07", 6, NULL, &d, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "int64"); /* a group is skipped, then data_type is read */
}

static Datum round_trip(const Datum *d, const Type *type)
{
    Buf *b = NULL;
    Datum back = { 0 };
    Err err = { 0 };
    CHECK_INT(sdx_onnx_write_datum(alloc, d, "v", &b, &err), SDX_OK);
    CHECK_INT(read_all(b, type, &back, &err), SDX_OK);
    CHECK_STR(err.text, "");
    return back;
}

static Datum string_tensor(int rank, int64_t n, Str *s)
{
    return (Datum){ .kind = DATUM_TENSOR, .t = { .dtype = DT_STRING, .rank = rank, .dims = { n }, .data = s } };
}

static void writes_what_it_reads(void)
{
    /* every type whose elements have bytes of their own or share them */
    uint8_t bytes[96];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i % 2);
    for (int d = 1; d < DT_COUNT; d++) {
        if (d == DT_STRING) continue;
        sdx_harness_note("%s", sdx_dtype_name((DType)d));
        Datum t = { .kind = DATUM_TENSOR, .t = { .dtype = (DType)d, .rank = 2, .dims = { 2, 3 }, .data = bytes } };
        Datum back = round_trip(&t, NULL);
        size_t nbytes = 0;
        CHECK(sdx_tensor_nbytes(&t.t, &nbytes));
        CHECK_INT(back.t.dtype, d);
        CHECK_INT(back.t.dims[1], 3);
        CHECK_BYTES(back.t.data, bytes, nbytes);
        sdx_datum_clear(&back);
    }
    sdx_harness_note(NULL);

    Str words[] = { { "one", 3 }, { "", 0 }, { "t\0o", 3 } };
    Datum s = string_tensor(1, 3, words);
    Datum back = round_trip(&s, NULL);
    CHECK_INT(((Str *)back.t.data)[1].n, 0);
    CHECK_BYTES(((Str *)back.t.data)[2].p, "t\0o", 3);
    sdx_datum_clear(&back);

    Datum list = { .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(alloc, DT_STRING) };
    CHECK_INT(sdx_seq_insert(list.seq, 0, &s, NULL), SDX_OK);
    CHECK_INT(sdx_seq_insert(list.seq, 1, &s, NULL), SDX_OK);
    Datum nested = { .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(alloc, DT_NONE) };
    CHECK_INT(sdx_seq_insert(nested.seq, 0, &list, NULL), SDX_OK);
    Type type = { .kind = TYPE_SEQUENCE };
    back = round_trip(&nested, &type);
    CHECK_INT(back.seq->n, 1);
    CHECK_INT(back.seq->items[0].seq->n, 2);
    CHECK_INT(back.seq->items[0].seq->elem, DT_STRING);
    sdx_datum_clear(&back);
    sdx_datum_clear(&list);
    sdx_datum_clear(&nested);

    float scores[] = { 0.25f, 0.75f, 1 };
    Datum map = { .kind = DATUM_MAP, .map = sdx_map_new(alloc) };
    CHECK_INT(sdx_datum_copy(&map.map->keys, &s.t, alloc, NULL), SDX_OK);
    Tensor values = { .dtype = DT_FLOAT, .rank = 1, .dims = { 3 }, .data = scores };
    CHECK_INT(sdx_datum_copy(&map.map->values, &values, alloc, NULL), SDX_OK);
    type.kind = TYPE_MAP;
    back = round_trip(&map, &type);
    CHECK_INT(back.map->keys.t.dims[0], 3);
    CHECK_FLOATS(back.map->values.t.data, scores, 3, 0);
    sdx_datum_clear(&back);
    sdx_datum_clear(&map);

    Datum none = { 0 };
    type.kind = TYPE_OPTIONAL;
    back = round_trip(&none, &type);
    CHECK_INT(back.kind, DATUM_NONE);
}

SUITE(datum_proto_test)
{
    RUN(reads_typed_fields_in_all_their_forms);
    RUN(tells_what_is_wrong);
    RUN(writes_what_it_reads);
}
