/* codecs/jpeg2000.c - JPEG 2000, by OpenJPEG: files (JP2) and bare codestreams */
#include "codecs/codecs.h"

#include <string.h>

#include <openjpeg.h>

typedef struct File {
    const uint8_t *bytes;
    size_t n, at;
} File;

static OPJ_SIZE_T file_read(void *out, OPJ_SIZE_T n, void *user)
{
    File *f = user;
    size_t take = n < f->n - f->at ? n : f->n - f->at;
    memcpy(out, f->bytes + f->at, take);
    f->at += take;
    return take ? take : (OPJ_SIZE_T)-1;
}
static OPJ_OFF_T file_skip(OPJ_OFF_T n, void *user)
{
    File *f = user;
    if (n < 0) return -1;
    size_t left = f->n - f->at, take = (uint64_t)n < left ? (size_t)n : left;
    f->at += take;
    return take || n == 0 ? (OPJ_OFF_T)take : -1;
}
static OPJ_BOOL file_seek(OPJ_OFF_T at, void *user)
{
    File *f = user;
    if (at < 0 || (uint64_t)at > f->n) return OPJ_FALSE;
    f->at = (size_t)at;
    return OPJ_TRUE;
}

/* A component's sample for a pixel of the whole picture, 0..255. */
static int sample(const opj_image_comp_t *c, uint32_t x, uint32_t y)
{
    uint32_t cx = x / c->dx, cy = y / c->dy;
    if (cx >= c->w) cx = c->w - 1;
    if (cy >= c->h) cy = c->h - 1;
    int64_t v = c->data[(size_t)cy * c->w + cx], most = ((int64_t)1 << c->prec) - 1;
    if (c->sgnd) v += (int64_t)1 << (c->prec - 1);
    v = v < 0 ? 0 : v > most ? most : v;
    return (int)(c->prec > 8 ? v >> (c->prec - 8) : v * 255 / most);
}

static uint8_t clamp(double v) { return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v + 0.5); }

static const char *pixels_copy(const opj_image_t *image, CodecRoom *room, void *user)
{
    int channels = image->numcomps < 3 ? 1 : 3;
    uint8_t *out;
    for (int k = 0; k < channels; k++) {
        const opj_image_comp_t *c = image->comps + k;
        if (!c->data || !c->dx || !c->dy || !c->w || !c->h || c->prec < 1 || c->prec > 31) return "a damaged JPEG 2000";
    }
    uint32_t width = image->x1 - image->x0, height = image->y1 - image->y0;
    const char *why = room(user, width, height, channels, &out);
    if (why) return why;
    for (uint32_t y = 0; y < height; y++)
        for (uint32_t x = 0; x < width; x++, out += channels) {
            int v[3] = { 0 };
            for (int k = 0; k < channels; k++) v[k] = sample(image->comps + k, x, y);
            if (channels == 3 && image->color_space == OPJ_CLRSPC_SYCC) { /* ITU-T T.871 */
                out[0] = clamp(v[0] + 1.402 * (v[2] - 128));
                out[1] = clamp(v[0] - 0.344136286 * (v[1] - 128) - 0.714136286 * (v[2] - 128));
                out[2] = clamp(v[0] + 1.772 * (v[1] - 128));
            } else {
                for (int k = 0; k < channels; k++) out[k] = (uint8_t)v[k];
            }
        }
    return NULL;
}

/* What a file claims has to be reasonable before anything is made of that size. */
static const char *sizes_check(const opj_image_t *image)
{
    if (image->numcomps < 1 || image->numcomps > 4) return "a JPEG 2000 with more than 4 components";
    if (image->x1 <= image->x0 || image->y1 <= image->y0) return "a damaged JPEG 2000";
    if ((uint64_t)(image->x1 - image->x0) * (image->y1 - image->y0) > 100000000)
        return "a JPEG 2000 of unreasonable size";
    return NULL;
}

static const char *codec_run(opj_codec_t *codec, opj_stream_t *stream, CodecRoom *room, void *user)
{
    opj_dparameters_t params;
    opj_image_t *image = NULL;
    opj_set_default_decoder_parameters(&params);
    const char *why = "a damaged JPEG 2000";
    if (opj_setup_decoder(codec, &params) && opj_read_header(stream, codec, &image)) {
        why = sizes_check(image);
        if (!why && !(opj_decode(codec, stream, image) && opj_end_decompress(codec, stream)))
            why = "a damaged JPEG 2000";
        if (!why) why = pixels_copy(image, room, user);
    }
    if (image) opj_image_destroy(image);
    return why;
}

const char *sdx_jpeg2000_decode(const uint8_t *bytes, size_t nbytes, CodecRoom *room, void *user)
{
    File file = { bytes, nbytes, 0 };
    opj_stream_t *stream = opj_stream_default_create(OPJ_TRUE);
    opj_codec_t *codec = opj_create_decompress(bytes[0] == 0xff ? OPJ_CODEC_J2K : OPJ_CODEC_JP2);
    const char *why = "a JPEG 2000 for which memory does not suffice";
    if (stream && codec) {
        opj_stream_set_user_data(stream, &file, NULL);
        opj_stream_set_user_data_length(stream, nbytes);
        opj_stream_set_read_function(stream, file_read);
        opj_stream_set_skip_function(stream, file_skip);
        opj_stream_set_seek_function(stream, file_seek);
        why = codec_run(codec, stream, room, user);
    }
    if (codec) opj_destroy_codec(codec);
    if (stream) opj_stream_destroy(stream);
    return why;
}
