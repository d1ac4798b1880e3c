#include "onnx/wire.h"

#include <string.h>

#include "onnx/wire_out.h"
#include "tests/harness.h"

static Wire over(const char *bytes, size_t n) { return sdx_wire(bytes, n, "Thing"); }

static void reads_every_wire_type(void)
{
    /* 1: varint 300, 2: "ab", 3: float 1.5, a group of field 4 with a group inside, 5: eight bytes */
    static const char bytes[] = "\x08\xac\x02\x12\x02"
                                "ab\x1d\0\0\xc0\x3f\x23\x08\x01\x2b\x10\x01\x2c\x24\x29\1\0\0\0\0\0\0\0";
    Wire w = over(bytes, sizeof bytes - 1);
    WireField f;
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(f.number, 1);
    CHECK_INT(sdx_wire_int(&w, &f), 300);
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_string(&w, &f).n, 2);
    CHECK(sdx_wire_next(&w, &f));
    CHECK(sdx_wire_float(&w, &f) == 1.5f);
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(f.number, 5);
    CHECK_INT(f.v, 1);
    CHECK(!sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_end(&w, NULL), SDX_OK);
}

static void negative_numbers_take_ten_bytes(void)
{
    static const char bytes[] = "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
    Wire w = over(bytes, 11);
    WireField f;
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_int(&w, &f), -1);
}

static void tells_mistakes(void)
{
    static const struct {
        const char *bytes;
        size_t n;
        const char *text;
    } cases[] = {
        { "\x08", 1, "byte 0: field 1 of Thing: the number is cut off" },
        { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12,
          "byte 0: field 1 of Thing: the number has more than ten bytes" },
        { "\x08\1\x12\5ab", 6, "byte 2: field 2 of Thing: the length is larger than what is left" },
        { "\x12", 1, "byte 0: field 2 of Thing: the length is cut off" },
        { "\x1d\0\0", 3, "byte 0: field 3 of Thing: the number is cut off" },
        { "\x00\1", 2, "byte 0: Thing: field number 0" },
        { "\x0f\1", 2, "byte 0: field 1 of Thing: unknown wire type" },
        { "\x0c", 1, "byte 0: field 1 of Thing: a group ends that did not begin" },
        { "\x0b\x08\1", 3, "byte 0: field 1 of Thing: the group does not end" },
        { "\xff\xff\xff\xff\x7f\1", 6, "byte 0: Thing: a field key is cut off or too large" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Wire w = over(cases[i].bytes, cases[i].n);
        Err err = { 0 };
        for (WireField f; sdx_wire_next(&w, &f);) {}
        sdx_harness_note("case %zu", i);
        CHECK_INT(sdx_wire_end(&w, &err), SDX_INVALID_MODEL);
        CHECK_STR(err.text, cases[i].text);
    }
    sdx_harness_note(NULL);
}

/* A field of the wrong wire type is a mistake of the message, and gives nothing. */
static void wants_the_right_wire_type(void)
{
    Wire w = over("\x08\1\x12\1a", 5);
    WireField f;
    Err err = { 0 };
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_string(&w, &f).n, 0);
    CHECK(!sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_end(&w, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "field 1 of Thing: should be a string");
}

static void bounds_nesting(void)
{
    Wire w = over("\x0a\0", 2);
    WireField f;
    Err err = { 0 };
    CHECK(sdx_wire_next(&w, &f));
    w.depth = SDX_WIRE_DEPTH;
    Wire inner = sdx_wire_message(&w, &f, "Inner");
    CHECK(!sdx_wire_next(&inner, &f));
    CHECK_INT(sdx_wire_end(&w, &err), SDX_INVALID_MODEL);
    CHECK_HAS(err.text, "nested too deep");
}

/* Ints one a field, as proto2 writers put them, then a cut one. */
static void steps_over_runs(void)
{
    static const char bytes[] = "\x40\1\x40\xac\x02\x40\3\x48\1\x40\4\x40\x80";
    Wire w = over(bytes, sizeof bytes - 1);
    WireField f;
    int64_t v[8];
    CHECK(sdx_wire_next(&w, &f));
    Wire ahead = w;
    CHECK_INT(sdx_wire_run(&ahead, &f, NULL, SIZE_MAX), 2);
    CHECK_INT(sdx_wire_run(&w, &f, v, SIZE_MAX), 2);
    CHECK_INT(v[0], 300);
    CHECK_INT(v[1], 3);
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(f.number, 9);
    CHECK(sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_run(&w, &f, v, SIZE_MAX), 0);
    CHECK(!sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_end(&w, NULL), SDX_INVALID_MODEL);
}

/* Long enough to need many blocks, a borrowed piece in the middle. */
static void writes_back_to_front(void)
{
    static char large[10000];
    Arena arena;
    Buf *b;
    memset(large, 'x', sizeof large);
    sdx_arena_init(&arena, &sdx_alloc_default, 0);
    WireOut o = sdx_out(&arena);
    for (int i = 2999; i >= 0; i--) sdx_out_int(&o, 2, i);
    size_t mark = o.total;
    sdx_out_borrow(&o, 7, large, sizeof large);
    sdx_out_float(&o, 3, 0.5f);
    sdx_out_message(&o, 1, mark);
    if (!CHECK_INT(sdx_out_join(&o, &sdx_alloc_default, &b, NULL), SDX_OK)) return;
    CHECK_INT(b->nbytes, o.total);
    Wire w = sdx_wire(b->data, b->nbytes, "Thing");
    WireField f;
    CHECK(sdx_wire_next(&w, &f));
    Wire inner = sdx_wire_message(&w, &f, "Inner");
    WireField g;
    CHECK(sdx_wire_next(&inner, &g) && sdx_wire_float(&inner, &g) == 0.5f);
    CHECK(sdx_wire_next(&inner, &g));
    CHECK_BYTES(sdx_wire_string(&inner, &g).p, large, sizeof large);
    CHECK(!sdx_wire_next(&inner, &g));
    for (int i = 0; i < 3000 && CHECK(sdx_wire_next(&w, &f)); i++) CHECK_INT(sdx_wire_int(&w, &f), i);
    CHECK(!sdx_wire_next(&w, &f));
    CHECK_INT(sdx_wire_end(&w, NULL), SDX_OK);
    sdx_buf_release(b);
    sdx_arena_fini(&arena);
}

SUITE(wire_test)
{
    RUN(reads_every_wire_type);
    RUN(negative_numbers_take_ten_bytes);
    RUN(tells_mistakes);
    RUN(wants_the_right_wire_type);
    RUN(bounds_nesting);
    RUN(steps_over_runs);
    RUN(writes_back_to_front);
}
