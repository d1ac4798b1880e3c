/* image/bmp.c - reads BMP pictures: 1, 4, 8 bits with a palette, also as run lengths; 16, 24 and 32 bits, with masks or
 * without */
#include "image/reader.h"

#include <string.h>

static uint32_t le16(const uint8_t *p) { return p[0] | (uint32_t)p[1] << 8; }
static uint32_t le32(const uint8_t *p) { return le16(p) | le16(p + 2) << 16; }

typedef struct Bmp {
    uint32_t width, height, bits, colours;
    bool from_top, runs;
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
    b->runs = (compression == 1 && b->bits == 8) || (compression == 2 && b->bits == 4);
    if (compression != 0 && compression != 3 && !b->runs) return "a BMP of an unknown kind";
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

/* Pixel x of row y, counted from the first row of the file, takes a colour of the palette. */
static const char *index_put(const Bmp *b, Image *image, uint32_t x, uint32_t y, uint32_t index)
{
    if (x >= b->width || y >= b->height) return NULL;
    if (index >= b->colours) return "a colour outside the palette";
    const uint8_t *p = b->palette + index * b->entry;
    uint8_t *out = image->pixels + ((size_t)(b->from_top ? y : b->height - 1 - y) * b->width + x) * 3;
    for (int c = 0; c < 3; c++) out[c] = p[2 - c];
    return NULL;
}

/* Pairs of a count and what is repeated; a count of 0 begins a new line, the end, a jump, or pixels one by one. What no
 * pair gives has the first colour. A file that ends early ends the picture. */
static const char *runs_read(const Bmp *b, Image *image, const uint8_t *end)
{
    const char *why = NULL;
    uint32_t x = 0, y = 0, nibble = b->bits == 4;
    for (uint32_t k = 0; k < b->height && !why; k++)
        for (uint32_t i = 0; i < b->width && !why; i++) why = index_put(b, image, i, k, 0);
    for (const uint8_t *p = b->rows; !why && end - p >= 2 && y < b->height;) {
        uint32_t n = p[0], v = p[1];
        p += 2;
        if (n == 0 && v == 1) break;
        if (n == 0 && v == 0) {
            x = 0;
            y++;
        } else if (n == 0 && v == 2) {
            if (end - p < 2) break;
            x += p[0];
            y += p[1];
            p += 2;
        } else {
            uint32_t count = n ? n : v, nbytes = n ? 0 : (count + nibble) >> nibble;
            if ((size_t)(end - p) < nbytes) break;
            for (uint32_t i = 0; i < count && !why; i++, x++) {
                uint32_t byte = n ? v : p[i >> nibble];
                why = index_put(b, image, x, y, nibble ? byte >> (i % 2 ? 0 : 4) & 15 : byte);
            }
            p += nbytes + (nbytes & 1 && end - p > nbytes);
        }
    }
    return why;
}

const char *sdx_bmp_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    Bmp b;
    const char *why = header_read(&b, bytes, nbytes);
    if (why) return why;
    uint64_t stride = ((uint64_t)b.width * b.bits + 31) / 32 * 4, have = (uint64_t)(bytes + nbytes - b.rows);
    /* Sizes that no data stands behind take no memory. A pair of bytes makes at most 255 pixels, or ends a line, whose
     * rest then is free: so many pixels a byte leave room for pictures that are all but empty. */
    enum { PIXELS_PER_BYTE = 4096 };
    if (b.runs ? have / 2 < b.height || (uint64_t)b.width * b.height / PIXELS_PER_BYTE > have
               : stride && have / stride < b.height)
        return "a truncated BMP";
    if ((why = sdx_image_room(image, b.width, b.height, 3))) return why;
    if (b.runs) return runs_read(&b, image, bytes + nbytes);
    for (uint32_t y = 0; y < b.height; y++) {
        const uint8_t *row = b.rows + (b.from_top ? y : b.height - 1 - y) * stride;
        uint8_t *out = image->pixels + (size_t)y * b.width * 3;
        for (uint32_t x = 0; x < b.width; x++)
            if ((why = pixel_read(&b, row, x, out + (size_t)x * 3))) return why;
    }
    return NULL;
}
