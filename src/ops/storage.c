#include "ops/storage.h"

#include <string.h>

#include "kern/kern.h"
#include "tensor/element.h"

/* Every level of Kern gives the same bits, so the best one serves all sessions. */
static const uint8_t formats[DT_COUNT] = {
#define NAMED(dtype, format) [dtype] = SDX_FORMAT_##format + 1
    NAMED(DT_FLOAT16, f16),           NAMED(DT_BFLOAT16, bf16),
    NAMED(DT_FLOAT8E4M3FN, f8e4m3fn), NAMED(DT_FLOAT8E4M3FNUZ, f8e4m3fnuz),
    NAMED(DT_FLOAT8E5M2, f8e5m2),     NAMED(DT_FLOAT8E5M2FNUZ, f8e5m2fnuz),
    NAMED(DT_FLOAT8E8M0, f8e8m0),     NAMED(DT_FLOAT4E2M1, f4e2m1),
    NAMED(DT_FLOAT6E2M3, f6e2m3),     NAMED(DT_FLOAT6E3M2, f6e3m2),
#undef NAMED
};

enum { BLOCK = 512 }; /* elements below one byte; a multiple of 8 */

void sdx_storage_widen(DType d, const void *data, int64_t from, float *dst, int64_t n)
{
    WidenF32 *widen = sdx_kern_best()->widen_f32[formats[d] - 1];
    if (!sdx_is_packed(d)) {
        widen(dst, (const char *)data + (size_t)from * sdx_dtype_size(d), (size_t)n);
        return;
    }
    uint8_t codes[BLOCK];
    for (int64_t done = 0, m; done < n; done += m) {
        m = n - done < BLOCK ? n - done : BLOCK;
        sdx_storage_unpack(d, data, from + done, codes, m);
        widen(dst + done, codes, (size_t)m);
    }
}

void sdx_storage_narrow(DType d, void *data, int64_t to, const float *src, int64_t n)
{
    NarrowF32 *narrow = sdx_kern_best()->narrow_f32[formats[d] - 1];
    if (!sdx_is_packed(d)) {
        narrow((char *)data + (size_t)to * sdx_dtype_size(d), src, (size_t)n, true);
        return;
    }
    uint8_t codes[BLOCK];
    for (int64_t done = 0, m; done < n; done += m) {
        m = n - done < BLOCK ? n - done : BLOCK;
        narrow(codes, src + done, (size_t)m, true);
        sdx_storage_pack(d, data, to + done, codes, m);
    }
}

/* Elements until i begins a byte, at most n. */
static int64_t unaligned(int64_t i, int64_t n)
{
    int64_t head = (8 - i % 8) % 8;
    return head < n ? head : n;
}

static uint8_t *byte_of(DType d, const void *data, int64_t i) { return (uint8_t *)data + i * sdx_dtype_bits(d) / 8; }

void sdx_storage_unpack(DType d, const void *data, int64_t from, uint8_t *dst, int64_t n)
{
    const Kern *k = sdx_kern_best();
    int64_t head = unaligned(from, n);
    for (int64_t i = 0; i < head; i++) dst[i] = (uint8_t)sdx_element_bits(d, data, from + i);
    UnpackBits *unpack = sdx_dtype_bits(d) == 4 ? k->unpack_u4 : sdx_dtype_bits(d) == 2 ? k->unpack_u2 : k->unpack_6;
    unpack(dst + head, byte_of(d, data, from + head), (size_t)(n - head));
}

/* The last elements may share a byte with others: one by one, like the first. */
void sdx_storage_pack(DType d, void *data, int64_t to, const uint8_t *src, int64_t n)
{
    const Kern *k = sdx_kern_best();
    int64_t head = unaligned(to, n), whole = (n - head) / 8 * 8;
    PackBits *pack = sdx_dtype_bits(d) == 4 ? k->pack_4 : sdx_dtype_bits(d) == 2 ? k->pack_2 : k->pack_6;
    for (int64_t i = 0; i < head; i++) sdx_element_set_bits(d, data, to + i, src[i]);
    pack(byte_of(d, data, to + head), src + head, (size_t)whole);
    for (int64_t i = head + whole; i < n; i++) sdx_element_set_bits(d, data, to + i, src[i]);
}
