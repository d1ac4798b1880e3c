/* ops/image_decoder.c - ImageDecoder: the bytes of a picture's file become its pixels */
#include "image/image.h"
#include "ops/run.h"
#include "ops/shapes.h"

typedef struct DecoderAttrs {
    Str pixel_format;
} DecoderAttrs;
static const AttrSpec decoder_attrs[] = { OP_STR(DecoderAttrs, pixel_format, "RGB"), OP_ATTR_END };

static sdx_status decoder_infer(Infer *c)
{
    Str format = ((const DecoderAttrs *)c->args)->pixel_format;
    const Shape *x = shape_of(c, 0);
    bool grey = str_is(format, "Grayscale");
    if (!grey && !str_is(format, "RGB") && !str_is(format, "BGR"))
        return sdx_infer_fail(c, "pixel_format is none of RGB, BGR and Grayscale");
    if (x && x->rank != 1) return sdx_infer_fail(c, "the file has rank %d; it must be 1", (int)x->rank);
    shape_out(c, 0, 3)->dims[2] = grey ? 1 : 3;
    return SDX_OK;
}

/* Grey comes from the colours as rounded, as in Pillow. */
static void pixel_convert(uint8_t *y, const uint8_t *x, int channels, Str format)
{
    bool is_grey = channels < 3;
    if (str_is(format, "Grayscale")) {
        y[0] = is_grey ? x[0] : image_luma(x);
        return;
    }
    bool bgr = str_is(format, "BGR");
    for (int c = 0; c < 3; c++) y[c] = x[is_grey ? 0 : bgr ? 2 - c : c];
}

/* A file that is damaged, or no picture, gives no pixels: so the standard has it. What could be read elsewhere is an
 * error. Alpha is dropped. */
static sdx_status decoder_run(Run *r)
{
    const DecoderAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    Image image;
    const char *why;
    void *y;
    if (x->rank != 1) return sdx_run_fail(r, "the file has rank %d; it must be 1", (int)x->rank);
    ImageStatus st = sdx_image_read(&image, x->data, (size_t)x->dims[0], sdx_run_alloc(r), &why);
    if (st == IMAGE_NO_MEMORY) return sdx_root_no_memory(r->env->root, r->err);
    if (st == IMAGE_NO_READER || st == IMAGE_TOO_LARGE) return sdx_run_fail(r, "%s", why);
    int64_t dims[3] = { st == IMAGE_OK ? image.height : 0, st == IMAGE_OK ? image.width : 0,
                        str_is(a->pixel_format, "Grayscale") ? 1 : 3 };
    sdx_status made = sdx_run_output(r, 0, DT_UINT8, 3, dims, &y);
    for (int64_t i = 0; made == SDX_OK && i < dims[0] * dims[1]; i++)
        pixel_convert((uint8_t *)y + i * dims[2], image.pixels + i * image.channels, image.channels, a->pixel_format);
    sdx_image_free(&image);
    return made;
}

static const OpVer decoder_vers[] = { { 20, { 0 } }, { 0 } };

const OpDef sdx_op_ImageDecoder = {
    .name = "ImageDecoder",
    .sig = "u8->u8",
    .attrs = decoder_attrs,
    .attrs_size = sizeof(DecoderAttrs),
    .vers = decoder_vers,
    .flags = OP_DATA_SHAPE,
    .infer = decoder_infer,
    .cpu = { NULL, decoder_run },
};
