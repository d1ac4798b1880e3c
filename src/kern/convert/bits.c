/* kern/convert/bits.c - elements of 4, 2 and 6 bits. Eight bytes of output at a time, by shifts and masks of one word. */
#include "kern/kern.h"

#include <string.h>

/* Little endian whatever the machine, so that element 0 is in the low byte. */
static inline uint64_t word_load(const uint8_t *p, size_t nbytes)
{
    uint64_t w = 0;
    for (size_t i = 0; i < nbytes; i++) w |= (uint64_t)p[i] << (8 * i);
    return w;
}
static inline void word_store(uint8_t *p, uint64_t w, size_t nbytes)
{
    for (size_t i = 0; i < nbytes; i++) p[i] = (uint8_t)(w >> (8 * i));
}

static inline uint64_t spread_4(uint64_t w)
{
    w = (w | w << 16) & UINT64_C(0x0000ffff0000ffff);
    w = (w | w << 8) & UINT64_C(0x00ff00ff00ff00ff);
    return (w | w << 4) & UINT64_C(0x0f0f0f0f0f0f0f0f);
}
static inline uint64_t spread_2(uint64_t w)
{
    w = (w | w << 24) & UINT64_C(0x000000ff000000ff);
    w = (w | w << 12) & UINT64_C(0x000f000f000f000f);
    return (w | w << 6) & UINT64_C(0x0303030303030303);
}
static inline uint64_t spread_6(uint64_t w)
{
    w = (w & 0xffffff) | (w & UINT64_C(0xffffff000000)) << 8;
    w = (w & UINT64_C(0x00000fff00000fff)) | (w & UINT64_C(0x00fff00000fff000)) << 4;
    return (w & UINT64_C(0x003f003f003f003f)) | (w & UINT64_C(0x0fc00fc00fc00fc0)) << 2;
}
/* Each byte of the word holds a small positive number; those with the sign bit set get the bits above it. */
static inline uint64_t extend_all(uint64_t w, unsigned bits)
{
    const uint64_t ones = UINT64_C(0x0101010101010101);
    const uint64_t negative = w >> (bits - 1) & ones;
    return w | negative * (0xffu & ~((1u << bits) - 1));
}

#define UNPACK(name, bits, spread, finish)                                                                             \
    static void name(uint8_t *y, const uint8_t *x, size_t n)                                                           \
    {                                                                                                                  \
        for (; n >= 8; n -= 8, x += bits, y += 8) {                                                                    \
            const uint64_t w = spread(word_load(x, bits));                                                             \
            word_store(y, finish, 8);                                                                                  \
        }                                                                                                              \
        const uint64_t w = spread(word_load(x, (n * bits + 7) / 8));                                                   \
        word_store(y, finish, n);                                                                                      \
    }
UNPACK(unpack_u4, 4, spread_4, w)
UNPACK(unpack_i4, 4, spread_4, extend_all(w, 4))
UNPACK(unpack_u2, 2, spread_2, w)
UNPACK(unpack_i2, 2, spread_2, extend_all(w, 2))
UNPACK(unpack_6, 6, spread_6, w)

static inline uint64_t gather_4(uint64_t w)
{
    w &= UINT64_C(0x0f0f0f0f0f0f0f0f);
    w = (w | w >> 4) & UINT64_C(0x00ff00ff00ff00ff);
    w = (w | w >> 8) & UINT64_C(0x0000ffff0000ffff);
    return (w | w >> 16) & UINT64_C(0xffffffff);
}
static inline uint64_t gather_2(uint64_t w)
{
    w &= UINT64_C(0x0303030303030303);
    w = (w | w >> 6) & UINT64_C(0x000f000f000f000f);
    w = (w | w >> 12) & UINT64_C(0x000000ff000000ff);
    return (w | w >> 24) & 0xffff;
}
static inline uint64_t gather_6(uint64_t w)
{
    w &= UINT64_C(0x3f3f3f3f3f3f3f3f);
    w = (w & UINT64_C(0x003f003f003f003f)) | (w & UINT64_C(0x3f003f003f003f00)) >> 2;
    w = (w & UINT64_C(0x00000fff00000fff)) | (w & UINT64_C(0x0fff00000fff0000)) >> 4;
    return (w & 0xffffff) | (w >> 8 & UINT64_C(0xffffff000000));
}

#define PACK(name, bits, gather)                                                                                       \
    static void name(uint8_t *y, const uint8_t *x, size_t n)                                                           \
    {                                                                                                                  \
        for (; n >= 8; n -= 8, x += 8, y += bits) word_store(y, gather(word_load(x, 8)), bits);                        \
        word_store(y, gather(word_load(x, n)), (n * bits + 7) / 8);                                                    \
    }
PACK(pack_4, 4, gather_4)
PACK(pack_2, 2, gather_2)
PACK(pack_6, 6, gather_6)

void sdx_kern_init_pack_c(Kern *k);
void sdx_kern_init_pack_c(Kern *k)
{
    k->unpack_u4 = unpack_u4;
    k->unpack_i4 = unpack_i4;
    k->unpack_u2 = unpack_u2;
    k->unpack_i2 = unpack_i2;
    k->unpack_6 = unpack_6;
    k->pack_4 = pack_4;
    k->pack_2 = pack_2;
    k->pack_6 = pack_6;
}
