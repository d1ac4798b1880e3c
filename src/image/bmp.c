/* image/bmp.c - reads BMP pictures: 1, 4, 8 bits with a palette; 16, 24 and 32 bits, with masks or without. What is
 * compressed by run lengths is refused. */
#include "image/reader.h"

#include <string.h>

static uint32_t le16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t le32(const uint8_t *p) { return le16(p) | le16(p + 2) << 16; }

typedef struct Bmp {
    uint32_t width, height, bits, colours;
    bool from_top;
    uint32_t mask[3];       /* red, green, blue of 16 and 32 bits */
    const uint8_t *palette; /* blue, green, red, and nothing when entry is 4 */
    size_t entry;
    const uint8_t *rows;
} Bmp;

static const char *header_read(Bmp *b, const uint8_t *p, size_t n)
{
    static const uint32_t masks_16[] = { 0x7c00, 0x3e0, 0x1f }, masks_32[] = { 0xff0000, 0xff00, 0xff };
    if (n < 26) return "a truncated BMP";
    uint32_t rows = le32(p + 10), size = le32(p + 14), compression = 0;
    const uint8_t *h = p + 14;
    if (size == 12) {
        *b = (Bmp){ .width = le16(h + 4), .height = le16(h + 6), .bits = le16(h + 10), .entry = 3 };
    } else {
        if (size < 40 || size > 1024 || n - 14 < size) return "a BMP of an unknown kind";
        int32_t height = (int32_t)le32(h + 8);
        if (height == INT32_MIN) return "a BMP of an unknown kind";
        *b = (Bmp){ .width = le32(h + 4),
                    .height = (uint32_t)(height < 0 ? -height : height),
                    .from_top = height < 0,
                    .bits = le16(h + 14),
                    .colours = le32(h + 32),
                    .entry = 4 };
        compression = le32(h + 16);
    }
    if (compression == 1 || compression == 2) return "a BMP compressed by run lengths, which is not supported";
    if (compression != 0 && compression != 3) return "a BMP of an unknown kind";
    memcpy(b->mask, b->bits == 16 ? masks_16 : masks_32, sizeof b->mask);
    size_t at = 14 + size;
    if (compression == 3) {
        if (n < 14 + 40 + 12) return "a truncated BMP";
        for (int c = 0; c < 3; c++) b->mask[c] = le32(h + 40 + 4 * c);
        if (size == 40) at += 12;
    }
    bool indexed = b->bits == 1 || b->bits == 4 || b->bits == 8;
    if (!indexed && b->bits != 16 && b->bits != 24 && b->bits != 32) return "a BMP of an unknown depth";
    if (indexed) {
        if (b->colours == 0 || b->colours > 1u << b->bits) b->colours = 1u << b->bits;
        if (n < at || n - at < b->colours * b->entry) return "a truncated BMP";
        b->palette = p + at;
    }
    if (rows > n) return "a truncated BMP";
    b->rows = p + rows;
    return NULL;
}

/* The bits of a mask, as 0..255. */
static uint8_t masked(uint32_t pixel, uint32_t mask)
{
    if (mask == 0) return 0;
    uint32_t low = (uint32_t)__builtin_ctz(mask), most = mask >> low;
    return (uint8_t)((uint64_t)(pixel >> low & most) * 255 / most);
}

static const char *pixel_read(const Bmp *b, const uint8_t *row, uint32_t x, uint8_t *out)
{
    const uint8_t *p = row;
    if (b->palette) {
        uint32_t bit = x * b->bits, index = row[bit / 8] >> (8 - b->bits - bit % 8) & ((1u << b->bits) - 1);
        if (index >= b->colours) return "a colour outside the palette";
        p = b->palette + index * b->entry;
    } else if (b->bits == 24) {
        p = row + 3 * (size_t)x;
    } else {
        uint32_t v = b->bits == 16 ? le16(row + 2 * (size_t)x) : le32(row + 4 * (size_t)x);
        for (int c = 0; c < 3; c++) out[c] = masked(v, b->mask[c]);
        return NULL;
    }
    out[0] = p[2];
    out[1] = p[1];
    out[2] = p[0];
    return NULL;
}

const char *sdx_bmp_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    Bmp b;
    const char *why = header_read(&b, bytes, nbytes);
    if (why) return why;
    uint64_t stride = ((uint64_t)b.width * b.bits + 31) / 32 * 4, have = (uint64_t)(bytes + nbytes - b.rows);
    if (stride && have / stride < b.height) return "a truncated BMP";
    if ((why = sdx_image_room(image, b.width, b.height, 3))) return why;
    for (uint32_t y = 0; y < b.height; y++) {
        const uint8_t *row = b.rows + (b.from_top ? y : b.height - 1 - y) * stride;
        uint8_t *out = image->pixels + (size_t)y * b.width * 3;
        for (uint32_t x = 0; x < b.width; x++)
            if ((why = pixel_read(&b, row, x, out + (size_t)x * 3))) return why;
    }
    return NULL;
}
