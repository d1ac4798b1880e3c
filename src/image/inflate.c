/* image/inflate.c - the DEFLATE decoder (RFC 1951)
 *
 * Codes are decoded bit by bit from the canonical ordering: first code and count of each length decide whether the
 * bits read so far are a symbol. Slower than tables and short; a picture takes milliseconds. */
#include "image/inflate.h"

#include <stdbool.h>
#include <string.h>

enum { MAX_BITS = 15, MAX_SYMBOLS = 288 };

typedef struct Bits {
    const uint8_t *src;
    size_t n, at;
    uint32_t hold; /* bits not yet taken, lowest first */
    int nhold;
    bool ended; /* more was asked for than there is; zeros were given */
} Bits;

typedef struct Code {
    uint16_t count[MAX_BITS + 1]; /* symbols of each length */
    uint16_t symbol[MAX_SYMBOLS]; /* in the order of their codes */
} Code;

static uint32_t bits_take(Bits *b, int n)
{
    while (b->nhold < n) {
        if (b->at == b->n) b->ended = true;
        b->hold |= (b->at < b->n ? (uint32_t)b->src[b->at++] : 0u) << b->nhold;
        b->nhold += 8;
    }
    uint32_t v = b->hold & ((1u << n) - 1);
    b->hold >>= n;
    b->nhold -= n;
    return v;
}

/* False when the lengths name more codes than there are. Fewer are allowed: one distance code, or none. */
static bool code_build(Code *c, const uint8_t *lengths, int n)
{
    int left = 1;
    uint16_t next[MAX_BITS + 1];
    memset(c->count, 0, sizeof c->count);
    for (int i = 0; i < n; i++) c->count[lengths[i]]++;
    c->count[0] = 0;
    next[1] = 0;
    for (int len = 1; len <= MAX_BITS; len++) {
        left = left * 2 - c->count[len];
        if (left < 0) return false;
        if (len < MAX_BITS) next[len + 1] = (uint16_t)(next[len] + c->count[len]);
    }
    for (int i = 0; i < n; i++)
        if (lengths[i] != 0) c->symbol[next[lengths[i]]++] = (uint16_t)i;
    return true;
}

/* -1 when the bits are no code. */
static int code_read(const Code *c, Bits *b)
{
    int code = 0, first = 0, index = 0;
    for (int len = 1; len <= MAX_BITS; len++) {
        code |= (int)bits_take(b, 1);
        int count = c->count[len];
        if (code - count < first) return c->symbol[index + (code - first)];
        index += count;
        first = (first + count) << 1;
        code <<= 1;
    }
    return -1;
}

/* The codes of a dynamic block, which come compressed themselves (3.2.7). */
static const char *codes_read(Bits *b, Code *literal, Code *distance)
{
    static const uint8_t order[19] = { 16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15 };
    uint8_t lengths[320] = { 0 };
    Code meta;
    int nliteral = (int)bits_take(b, 5) + 257, ndistance = (int)bits_take(b, 5) + 1, nmeta = (int)bits_take(b, 4) + 4;
    if (nliteral > 286 || ndistance > 30) return "too many codes";
    for (int i = 0; i < nmeta; i++) lengths[order[i]] = (uint8_t)bits_take(b, 3);
    if (!code_build(&meta, lengths, 19)) return "bad code lengths";

    memset(lengths, 0, sizeof lengths);
    for (int i = 0; i < nliteral + ndistance;) {
        int s = code_read(&meta, b), repeat = 1;
        uint8_t value = (uint8_t)s;
        if (s < 0 || b->ended) return "bad code lengths";
        if (s == 16) {
            if (i == 0) return "bad code lengths";
            value = lengths[i - 1];
            repeat = 3 + (int)bits_take(b, 2);
        } else if (s > 16) {
            value = 0;
            repeat = s == 17 ? 3 + (int)bits_take(b, 3) : 11 + (int)bits_take(b, 7);
        }
        if (i + repeat > nliteral + ndistance) return "bad code lengths";
        while (repeat-- > 0) lengths[i++] = value;
    }
    if (lengths[256] == 0) return "a block without an end";
    if (!code_build(literal, lengths, nliteral) || !code_build(distance, lengths + nliteral, ndistance))
        return "bad code lengths";
    return NULL;
}

static void codes_fixed(Code *literal, Code *distance)
{
    uint8_t lengths[MAX_SYMBOLS];
    for (int i = 0; i < MAX_SYMBOLS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    code_build(literal, lengths, MAX_SYMBOLS);
    memset(lengths, 5, 30);
    code_build(distance, lengths, 30);
}

const char *sdx_inflate(uint8_t *dst, size_t cap, size_t *ndst, const uint8_t *src, size_t nsrc)
{
    static const uint16_t length_base[29] = { 3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                              31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258 };
    static const uint8_t length_bits[29] = { 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                             2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0 };
    static const uint16_t distance_base[30] = { 1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                                33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                                1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577 };
    Bits b = { .src = src, .n = nsrc };
    Code literal, distance;
    size_t at = 0;
    bool last = false;

    while (!last) {
        last = bits_take(&b, 1);
        uint32_t kind = bits_take(&b, 2);
        if (kind == 0) {
            b.nhold = 0; /* a stored block starts at a byte; what is held is less than one */
            b.hold = 0;
            if (b.n - b.at < 4) return "truncated";
            size_t n = b.src[b.at] | (size_t)b.src[b.at + 1] << 8,
                   check = b.src[b.at + 2] | (size_t)b.src[b.at + 3] << 8;
            b.at += 4;
            if (n != (check ^ 0xffff)) return "a stored block with a wrong length";
            if (n > b.n - b.at) return "truncated";
            if (n > cap - at) return "more data than expected";
            memcpy(dst + at, b.src + b.at, n);
            at += n;
            b.at += n;
            continue;
        }
        if (kind == 3) return "an unknown kind of block";
        if (kind == 1) {
            codes_fixed(&literal, &distance);
        } else {
            const char *why = codes_read(&b, &literal, &distance);
            if (why != NULL) return why;
        }
        for (;;) {
            int s = code_read(&literal, &b);
            if (b.ended) return "truncated";
            if (s == 256) break;
            if (s < 0 || s > 285) return "bad data";
            if (s < 256) {
                if (at == cap) return "more data than expected";
                dst[at++] = (uint8_t)s;
                continue;
            }
            size_t n = length_base[s - 257] + bits_take(&b, length_bits[s - 257]);
            int d = code_read(&distance, &b);
            if (d < 0 || d > 29) return "bad data";
            size_t back = distance_base[d] + bits_take(&b, d < 2 ? 0 : d / 2 - 1);
            if (b.ended) return "truncated";
            if (back > at) return "bad data";
            if (n > cap - at) return "more data than expected";
            for (; n > 0; n--, at++) dst[at] = dst[at - back];
        }
    }
    if (b.ended) return "truncated";
    *ndst = at;
    return NULL;
}
