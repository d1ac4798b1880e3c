/* image/png.c - reads every kind of PNG picture (ISO/IEC 15948); one-colour transparency is ignored */
#include "image/reader.h"

#include <stdlib.h>
#include <string.h>

#include "image/inflate.h"

typedef struct Png {
    uint32_t width, height;
    int depth, colour, interlace;
    int channels;            /* of the samples in the file */
    uint8_t palette[256][4]; /* RGBA */
    int npalette;
    bool has_alpha; /* of the palette */
} Png;

/* One pass of a picture: every dx-th column from x0, every dy-th row from y0. */
typedef struct Pass {
    uint8_t x0, y0, dx, dy;
} Pass;
static const Pass whole[] = { { 0, 0, 1, 1 } };
static const Pass adam7[] = { { 0, 0, 8, 8 }, { 4, 0, 8, 8 }, { 0, 4, 4, 8 }, { 2, 0, 4, 4 },
                              { 0, 2, 2, 4 }, { 1, 0, 2, 2 }, { 0, 1, 1, 2 } };

static uint32_t be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static size_t pass_size(uint32_t n, unsigned first, unsigned step)
{
    return n <= first ? 0 : (n - first + step - 1) / step;
}

static size_t row_bytes(const Png *p, size_t width) { return (width * (size_t)(p->channels * p->depth) + 7) / 8; }

/* Undoes a row's filter (section 9): a is the byte to the left, b above, c above left. */
static bool row_unfilter(int filter, uint8_t *row, const uint8_t *above, size_t n, size_t bpp)
{
    for (size_t i = 0; i < n; i++) {
        int a = i >= bpp ? row[i - bpp] : 0, b = above ? above[i] : 0, c = above && i >= bpp ? above[i - bpp] : 0;
        int add = 0;
        switch (filter) {
        case 0: return true;
        case 1: add = a; break;
        case 2: add = b; break;
        case 3: add = (a + b) / 2; break;
        case 4: {
            int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
            add = pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
            break;
        }
        default: return false;
        }
        row[i] = (uint8_t)(row[i] + add);
    }
    return true;
}

/* Sample i of a row, 8 bits: the high byte of 16, the value itself (not scaled) below 8. */
static int row_sample(const Png *p, const uint8_t *row, size_t i)
{
    if (p->depth == 8) return row[i];
    if (p->depth == 16) return row[2 * i];
    size_t bit = i * (size_t)p->depth;
    return row[bit / 8] >> (8 - p->depth - (int)(bit % 8)) & ((1 << p->depth) - 1);
}

static const char *rows_read(const Png *p, Image *image, uint8_t *data, size_t ndata)
{
    const Pass *pass = p->interlace ? adam7 : whole;
    size_t npass = p->interlace ? 7 : 1, at = 0, bpp = (size_t)(p->channels * p->depth + 7) / 8;
    int scale = p->depth < 8 && p->colour != 3 ? 255 / ((1 << p->depth) - 1) : 1;
    for (size_t k = 0; k < npass; k++, pass++) {
        size_t w = pass_size(p->width, pass->x0, pass->dx), h = pass_size(p->height, pass->y0, pass->dy),
               n = row_bytes(p, w);
        const uint8_t *above = NULL;
        if (w == 0) continue;
        for (size_t y = 0; y < h; y++, at += n + 1) {
            if (ndata - at < n + 1) return "too little pixel data";
            uint8_t *row = data + at + 1;
            if (!row_unfilter(data[at], row, above, n, bpp)) return "an unknown row filter";
            above = row;
            uint8_t *line = image->pixels + (pass->y0 + y * pass->dy) * p->width * (size_t)image->channels;
            for (size_t x = 0; x < w; x++) {
                uint8_t *out = line + (pass->x0 + x * pass->dx) * (size_t)image->channels;
                if (p->colour == 3) {
                    int index = row_sample(p, row, x);
                    if (index >= p->npalette) return "a colour outside the palette";
                    memcpy(out, p->palette[index], (size_t)image->channels);
                } else {
                    for (int c = 0; c < p->channels; c++)
                        out[c] = (uint8_t)(row_sample(p, row, x * (size_t)p->channels + (size_t)c) * scale);
                }
            }
        }
    }
    return NULL;
}

static const char *header_read(Png *p, const uint8_t *d)
{
    static const int8_t channels[7] = { 1, -1, 3, 1, 2, -1, 4 };
    *p = (Png){ .width = be32(d), .height = be32(d + 4), .depth = d[8], .colour = d[9], .interlace = d[12] };
    if (p->colour > 6 || channels[p->colour] < 0 || d[10] != 0 || d[11] != 0 || p->interlace > 1)
        return "an unknown kind of PNG";
    bool small = p->depth == 1 || p->depth == 2 || p->depth == 4;
    if (!(p->depth == 8 || (p->depth == 16 && p->colour != 3) || (small && (p->colour == 0 || p->colour == 3))))
        return "an unknown depth";
    p->channels = channels[p->colour];
    return NULL;
}

/* Walks the chunks: fills in p and gathers the compressed data into *z. */
static const char *chunks_read(Png *p, uint8_t *z, size_t *nz, const uint8_t *bytes, size_t nbytes)
{
    bool seen = false;
    for (size_t at = 8; nbytes - at >= 12;) {
        size_t n = be32(bytes + at);
        const uint8_t *type = bytes + at + 4, *d = bytes + at + 8;
        if (n > nbytes - at - 12) return "truncated";
        at += n + 12;
        if (!seen) {
            if (memcmp(type, "IHDR", 4) != 0 || n != 13) return "no header";
            const char *why = header_read(p, d);
            if (why != NULL) return why;
            seen = true;
        } else if (memcmp(type, "PLTE", 4) == 0) {
            if (n % 3 != 0 || n > 768) return "a bad palette";
            p->npalette = (int)(n / 3);
            for (int i = 0; i < p->npalette; i++) {
                memcpy(p->palette[i], d + 3 * i, 3);
                p->palette[i][3] = 255;
            }
        } else if (memcmp(type, "tRNS", 4) == 0 && p->colour == 3) {
            if (n > (size_t)p->npalette) return "a bad palette";
            p->has_alpha = true;
            for (size_t i = 0; i < n; i++) p->palette[i][3] = d[i];
        } else if (memcmp(type, "IDAT", 4) == 0) {
            memcpy(z + *nz, d, n);
            *nz += n;
        } else if (memcmp(type, "IEND", 4) == 0) {
            return NULL;
        }
    }
    return "truncated";
}

const char *sdx_png_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    Png p = { 0 };
    const char *why = NULL;
    uint8_t *z = sdx_alloc(image->alloc, nbytes), *data = NULL;
    size_t nz = 0, ndata = 0, got = 0;
    if (z == NULL) return sdx_image_no_memory;
    why = chunks_read(&p, z, &nz, bytes, nbytes);
    if (why == NULL && nz < 2) why = "no pixel data";
    if (why == NULL) {
        const Pass *pass = p.interlace ? adam7 : whole;
        for (int k = 0; k < (p.interlace ? 7 : 1); k++)
            ndata += (row_bytes(&p, pass_size(p.width, pass[k].x0, pass[k].dx)) + 1) *
                     pass_size(p.height, pass[k].y0, pass[k].dy);
        /* DEFLATE expands at most 1032 times: sizes that no data stands behind take no memory. */
        if (ndata / 1032 > nz) why = "the pixel data is too short for the size";
    }
    if (why == NULL) why = sdx_image_room(image, p.width, p.height, p.colour == 3 ? (p.has_alpha ? 4 : 3) : p.channels);
    if (why == NULL && !(data = sdx_alloc(image->alloc, ndata))) why = sdx_image_no_memory;
    if (why == NULL)
        why = sdx_inflate(data, ndata, &got, z + 2, nz - 2); /* past zlib's two bytes; its checksum is ignored */
    if (why == NULL) why = rows_read(&p, image, data, got);
    sdx_free(image->alloc, z);
    if (data) sdx_free(image->alloc, data);
    return why;
}
