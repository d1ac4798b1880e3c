/* image/pnm.c - reads PBM, PGM and PPM pictures, as text and as bytes */
#include "image/reader.h"

typedef struct Pnm {
    const uint8_t *p, *end;
} Pnm;

static bool is_space(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* White space and comments, then a number; false when there is none, or one of more than 9 digits. */
static bool number_read(Pnm *s, uint32_t *v)
{
    for (; s->p < s->end && (is_space(*s->p) || *s->p == '#'); s->p++)
        if (*s->p == '#')
            while (s->p + 1 < s->end && *s->p != '\n') s->p++;
    const uint8_t *from = s->p;
    for (*v = 0; s->p < s->end && *s->p >= '0' && *s->p <= '9' && s->p - from < 9; s->p++) *v = *v * 10 + (*s->p - '0');
    return s->p > from;
}

/* A sample of the text forms; bits need no space between them. */
static bool text_sample(Pnm *s, bool bits, uint32_t *v)
{
    if (!bits) return number_read(s, v);
    while (s->p < s->end && is_space(*s->p)) s->p++;
    if (s->p == s->end || (*s->p != '0' && *s->p != '1')) return false;
    *v = *s->p++ - '0';
    return true;
}

const char *sdx_pnm_read(Image *image, const uint8_t *bytes, size_t nbytes)
{
    Pnm s = { bytes + 2, bytes + nbytes };
    int kind = bytes[1] - '0', channels = kind % 3 == 0 ? 3 : 1;
    bool text = kind < 4, bits = kind % 3 == 1;
    uint32_t width, height, most = 1;
    if (!number_read(&s, &width) || !number_read(&s, &height) || (!bits && !number_read(&s, &most)))
        return "a PNM without its sizes";
    if (most == 0 || most > 65535) return "a PNM of an unknown depth";
    if (s.p == s.end || !is_space(*s.p++)) return "a truncated PNM";
    uint64_t line = bits ? ((uint64_t)width + 7) / 8 : (uint64_t)width * (uint64_t)channels * (most > 255 ? 2 : 1);
    uint64_t least = text ? (uint64_t)width * (uint64_t)channels : line, have = (uint64_t)(s.end - s.p);
    if (least && have / least < height) return "a truncated PNM";
    const char *why = sdx_image_room(image, width, height, channels);
    if (why) return why;
    uint32_t samples = width * (uint32_t)channels;
    uint8_t *out = image->pixels;
    for (uint32_t y = 0; y < height; y++) {
        const uint8_t *row = s.p + (text ? 0 : y * line);
        for (uint32_t x = 0; x < samples; x++) {
            uint32_t v;
            if (text) {
                if (!text_sample(&s, bits, &v)) return "a truncated PNM";
            } else if (bits) {
                v = row[x / 8] >> (7 - x % 8) & 1;
            } else {
                v = most > 255 ? (uint32_t)row[2 * x] << 8 | row[2 * x + 1] : row[x];
            }
            if (v > most) v = most;
            if (bits) v = 1 - v;                               /* 1 is black */
            *out++ = (uint8_t)((v * 510 + most) / (2 * most)); /* to the nearest */
        }
    }
    return NULL;
}
