#include "cli/media.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/picture.h"

static sdx_status bad(sdx_error *err, const char *what)
{
    cli_error_set(err, SDX_INVALID_ARGUMENT, "%s", what);
    return SDX_INVALID_ARGUMENT;
}

typedef struct Layout {
    int64_t height, width, channels;
    bool channels_last;
} Layout;

static bool is_channels(int64_t n) { return n == 1 || n == 3 || n == 4; }

/* Where height, width and channels stand; sizes of 1 for symbolic ones become the picture's own. */
static bool find_layout(const int64_t *dims, int rank, const Image *image, Layout *l)
{
    if (rank != 3 && rank != 4) return false;
    const int64_t *d = dims + rank - 3;
    if (rank == 4 && dims[0] != 1) return false;
    l->channels_last = !is_channels(d[0]) || (is_channels(d[2]) && d[2] != 1 && d[0] == 1);
    l->channels = d[l->channels_last ? 2 : 0];
    l->height = d[l->channels_last ? 0 : 1];
    l->width = d[l->channels_last ? 1 : 2];
    if (!is_channels(l->channels)) return false;
    if (l->height <= 1) l->height = image->height;
    if (l->width <= 1) l->width = image->width;
    return l->height > 0 && l->width > 0 && l->height <= 1 << 15 && l->width <= 1 << 15;
}

/* Channel c of an RGB pixel: grey is the usual luma, a fourth channel is opaque. */
static double channel_of(const float *rgb, int64_t channels, int64_t c)
{
    if (channels == 1) return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
    return c < 3 ? rgb[c] : 255;
}

static sdx_status image_value(const Image *image, const Layout *l, sdx_dtype dtype, int rank, double mean, double std,
                              sdx_value **out, sdx_error *err)
{
    bool is_float = dtype == SDX_FLOAT || dtype == SDX_DOUBLE || dtype == SDX_FLOAT16 || dtype == SDX_BFLOAT16;
    int64_t dims[4] = { 1, l->channels, l->height, l->width };
    if (l->channels_last) dims[1] = l->height, dims[2] = l->width, dims[3] = l->channels;
    float *rgb = sdx_image_resize(image, (int)l->width, (int)l->height);
    if (!rgb) return bad(err, "out of memory for the picture");
    sdx_value *v;
    sdx_status st = sdx_tensor_create(dtype, dims + 4 - rank, rank, &v, err);
    for (int64_t y = 0; st == SDX_OK && y < l->height; y++)
        for (int64_t x = 0; x < l->width; x++)
            for (int64_t c = 0; c < l->channels; c++) {
                double p = channel_of(rgb + (y * l->width + x) * 3, l->channels, c);
                int64_t at = l->channels_last ? (y * l->width + x) * l->channels + c
                                              : (c * l->height + y) * l->width + x;
                sdx_value_set(v, at, is_float ? (p / 255 - mean) / std : nearbyint(p));
            }
    free(rgb);
    if (st == SDX_OK) *out = v;
    return st;
}

sdx_status media_image(const void *bytes, size_t n, sdx_dtype dtype, const int64_t *dims, int rank, double mean,
                       double std, sdx_value **out, sdx_error *err)
{
    Image image = { 0 };
    Layout l;
    const char *wrong;
    if (sdx_image_read(&image, bytes, n, NULL, &wrong) != IMAGE_OK) return bad(err, wrong);
    sdx_status st = find_layout(dims, rank, &image, &l) ? SDX_OK : bad(err, "the input is not shaped like one picture");
    if (st == SDX_OK) st = image_value(&image, &l, dtype, rank, mean, std, out, err);
    sdx_image_free(&image);
    return st;
}

/* -- sound --------------------------------------------------------------------------------------------------------- */

static uint32_t le(const uint8_t *p, int n)
{
    uint32_t v = 0;
    for (int i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

typedef struct Wav {
    uint32_t format, channels, bits;
    const uint8_t *data;
    size_t nbytes;
} Wav;

static const char *wav_read(Wav *w, const uint8_t *p, size_t n)
{
    *w = (Wav){ 0 };
    if (n < 12 || memcmp(p, "RIFF", 4) != 0 || memcmp(p + 8, "WAVE", 4) != 0) return "not a WAV file";
    for (size_t at = 12; at + 8 <= n;) {
        size_t size = le(p + at + 4, 4), room = n - at - 8;
        const uint8_t *body = p + at + 8;
        if (size > room) size = room; /* streams leave the last size open */
        if (memcmp(p + at, "fmt ", 4) == 0 && size >= 16) {
            w->format = le(body, 2);
            w->channels = le(body + 2, 2);
            w->bits = le(body + 14, 2);
            if (w->format == 0xfffe && size >= 26) w->format = le(body + 24, 2);
        }
        if (memcmp(p + at, "data", 4) == 0) w->data = body, w->nbytes = size;
        at += 8 + size + (size & 1);
    }
    bool pcm = w->format == 1 && (w->bits == 8 || w->bits == 16 || w->bits == 24 || w->bits == 32);
    if (!w->data || !w->channels || w->channels > 64) return "the WAV file has no sound";
    return pcm || (w->format == 3 && w->bits == 32) ? NULL : "the WAV file is compressed";
}

static double wav_sample(const Wav *w, const uint8_t *p)
{
    uint32_t v = le(p, (int)w->bits / 8);
    float f;
    if (w->format == 3) return memcpy(&f, &v, 4), f;
    if (w->bits == 8) return ((double)v - 128) / 128;
    int shift = 32 - (int)w->bits;
    return (double)((int32_t)(v << shift) >> shift) / (double)((int64_t)1 << (w->bits - 1));
}

sdx_status media_wav(const void *bytes, size_t n, sdx_dtype dtype, int rank, sdx_value **out, sdx_error *err)
{
    Wav w;
    const char *wrong = wav_read(&w, bytes, n);
    if (wrong) return bad(err, wrong);
    size_t frame = w.bits / 8 * w.channels;
    int64_t dims[2] = { 1, (int64_t)(w.nbytes / frame) };
    bool flat = rank != 2;
    sdx_value *v;
    sdx_status st = sdx_tensor_create(dtype == SDX_UNDEFINED ? SDX_FLOAT : dtype, dims + flat, flat ? 1 : 2, &v, err);
    if (st != SDX_OK) return st;
    for (int64_t i = 0; i < dims[1]; i++) {
        double sum = 0;
        for (uint32_t c = 0; c < w.channels; c++) sum += wav_sample(&w, w.data + (size_t)i * frame + c * (w.bits / 8));
        sdx_value_set(v, i, sum / w.channels);
    }
    *out = v;
    return SDX_OK;
}
