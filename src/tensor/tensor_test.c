#include <math.h>
#include <string.h>

#include "tests/harness.h"
#include "tensor/element.h"

static void byte_sizes_of_packed_types(void)
{
    size_t n;
    CHECK(sdx_dtype_nbytes(DT_INT4, 3, &n) && n == 2);
    CHECK(sdx_dtype_nbytes(DT_UINT2, 5, &n) && n == 2);
    CHECK(sdx_dtype_nbytes(DT_FLOAT6E2M3, 4, &n) && n == 3);
    CHECK(sdx_dtype_nbytes(DT_FLOAT6E2M3, 5, &n) && n == 4);
    CHECK(sdx_dtype_nbytes(DT_COMPLEX128, 2, &n) && n == 32);
    CHECK(!sdx_dtype_nbytes(DT_DOUBLE, INT64_MAX, &n));
    CHECK(!sdx_dtype_nbytes(DT_NONE, 1, &n));
}

static void counts_are_checked(void)
{
    int64_t n, huge[3] = { INT64_MAX, 0, 3 }, negative[1] = { -1 }, fine[2] = { 0, 7 };
    CHECK(!sdx_shape_count(huge, 3, &n));
    CHECK(!sdx_shape_count(negative, 1, &n));
    CHECK(sdx_shape_count(fine, 2, &n) && n == 0);
    CHECK(sdx_shape_count(NULL, 0, &n) && n == 1);
}

/* Every bit pattern of the small float types survives the way to float and back. */
static void storage_floats_round_trip(void)
{
    static const DType types[] = { DT_FLOAT16,        DT_BFLOAT16,   DT_FLOAT8E4M3FN, DT_FLOAT8E4M3FNUZ, DT_FLOAT8E5M2,
                                   DT_FLOAT8E5M2FNUZ, DT_FLOAT4E2M1, DT_FLOAT6E2M3,   DT_FLOAT6E3M2 };
    for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
        DType d = types[k];
        for (uint64_t bits = 0; bits < (uint64_t)1 << sdx_dtype_bits(d); bits++) {
            float v = sdx_element_to_float(d, bits);
            uint64_t back = sdx_element_from_float(d, v);
            bool same = isnan(v) ? isnan(sdx_element_to_float(d, back)) : back == bits;
            /* Infinities of float8 saturate. */
            if (isinf(v) && sdx_dtype_bits(d) == 8) same = isfinite(sdx_element_to_float(d, back));
            sdx_harness_note("%s bits %llx", sdx_dtype_name(d), (unsigned long long)bits);
            CHECK(same);
        }
    }
    sdx_harness_note(NULL);
}

static void rounding_is_to_nearest_even(void)
{
    CHECK_INT(sdx_element_from_float(DT_FLOAT16, 65520.f), 0x7c00);
    CHECK_INT(sdx_element_from_float(DT_FLOAT16, 65519.f), 0x7bff);
    CHECK_INT(sdx_element_from_float(DT_BFLOAT16, 1.00390625f), 0x3f80);
    CHECK_INT(sdx_element_from_float(DT_BFLOAT16, 1.01171875f), 0x3f82);
    CHECK_INT(sdx_element_from_float(DT_FLOAT8E4M3FN, 1000.f), 0x7e);
    CHECK_INT(sdx_element_from_float(DT_FLOAT4E2M1, 2.5f), 4);
    CHECK_INT(sdx_element_from_float(DT_FLOAT8E8M0, 3.f), 129);
}

static void packed_integers_sign_extend(void)
{
    uint8_t four[2] = { 0x8f, 0x07 }, two[1] = { 0xe4 };
    CHECK_INT(sdx_element_get_packed(DT_INT4, four, 0), -1);
    CHECK_INT(sdx_element_get_packed(DT_INT4, four, 1), -8);
    CHECK_INT(sdx_element_get_packed(DT_UINT4, four, 1), 8);
    CHECK_INT(sdx_element_get_packed(DT_UINT2, two, 3), 3);
    CHECK_INT(sdx_element_get_packed(DT_INT2, two, 2), -2);
    sdx_element_set_bits(DT_INT4, four, 2, 0x9);
    CHECK_INT(four[1], 0x09);
}

static void sequences_copy_when_shared(void)
{
    Err err = { 0 };
    Datum item, a = { .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(&sdx_alloc_default, DT_FLOAT) }, b;
    CHECK(sdx_datum_tensor(&item, &sdx_alloc_default, DT_FLOAT, 0, NULL, &err) == SDX_OK);
    CHECK(sdx_seq_insert(a.seq, 0, &item, &err) == SDX_OK);
    CHECK(sdx_seq_insert(a.seq, 2, &item, NULL) == SDX_RUN_FAILED);
    CHECK(sdx_datum_share(&b, &a, &sdx_alloc_default, &err) == SDX_OK);
    CHECK(sdx_seq_own(&b, &err) == SDX_OK && b.seq != a.seq);
    CHECK(sdx_seq_insert(b.seq, 0, &item, &err) == SDX_OK);
    CHECK_INT(a.seq->n, 1);
    CHECK_INT(b.seq->n, 2);
    sdx_datum_clear(&a);
    sdx_datum_clear(&b);
    sdx_datum_clear(&item);
}

static void string_copies_own_their_bytes(void)
{
    Err err = { 0 };
    char text[] = "abc";
    Str s[2] = { { text, 3 }, { NULL, 0 } };
    Tensor t = { .dtype = DT_STRING, .rank = 1, .dims = { 2 }, .data = s };
    Datum d;
    CHECK(sdx_datum_copy(&d, &t, &sdx_alloc_default, &err) == SDX_OK);
    memset(text, 'x', 3);
    CHECK(((Str *)d.t.data)[0].n == 3 && memcmp(((Str *)d.t.data)[0].p, "abc", 3) == 0);
    sdx_datum_clear(&d);
}

SUITE(tensor_test)
{
    RUN(byte_sizes_of_packed_types);
    RUN(counts_are_checked);
    RUN(storage_floats_round_trip);
    RUN(rounding_is_to_nearest_even);
    RUN(packed_integers_sign_extend);
    RUN(sequences_copy_when_shared);
    RUN(string_copies_own_their_bytes);
}
