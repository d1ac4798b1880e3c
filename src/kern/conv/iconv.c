#include "kern/conv/iconv.h"

#include <stdint.h>
#include <string.h>

#include "kern/conv/conv_walk.h"
#include "kern/conv/depthwise.h"

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static size_t iconv_taps(const ConvPlan *p) { return p->dim[D].kernel * p->dim[H].kernel * p->dim[W].kernel; }

/* Depthwise kernels run in f32, on image and weights with their zero points taken off: sums of products of
 * 9-bit integers are exact there up to 256 taps. */
bool sdx_iconv_takes_zero(size_t groups, size_t c_in, size_t c_out, size_t taps)
{
    return sdx_conv_is_depthwise(groups, c_in, c_out) && taps <= 256;
}

static bool iconv_is_depthwise(const ConvPlan *p)
{
    return sdx_iconv_takes_zero(p->groups, p->c_in, p->c_out, iconv_taps(p));
}

/* ---- weights ----------------------------------------------------------------------------------- */

/* Taps whose pixels touch in a strip, and so share a piece. */
static size_t iconv_piece_taps(const ConvPlan *p) { return p->dim[W].dilation == 1 ? p->dim[W].kernel : 1; }

/* Lanes of a packed column. */
static size_t iconv_lanes(const Kern *kern, const ConvPlan *p)
{
    size_t n = iconv_piece_taps(p);
    return div_up(n * (p->c_in / p->groups), kern->igemm_group) * (iconv_taps(p) / n);
}

static size_t iconv_panels(const Kern *kern, const ConvPlan *p) { return div_up(p->c_out / p->groups, kern->igemm_nr); }

bool sdx_iconv_pack_size(const Kern *kern, const ConvPlan *p, size_t *nbytes)
{
    size_t lanes;
    if (iconv_is_depthwise(p))
        return !__builtin_mul_overflow(iconv_taps(p), p->c_in, nbytes) && !__builtin_mul_overflow(*nbytes, 4, nbytes);
    if (__builtin_mul_overflow(iconv_panels(kern, p) * kern->igemm_nr, p->groups, &lanes)) return false;
    return !__builtin_mul_overflow(lanes, iconv_lanes(kern, p) + 1, nbytes) &&
           !__builtin_mul_overflow(*nbytes, 4, nbytes);
}

/* Panels, then column sums for all of them. */
static int32_t *iconv_colsum(const Kern *kern, const ConvPlan *p, void *packed)
{
    return (int32_t *)packed + p->groups * iconv_panels(kern, p) * iconv_lanes(kern, p) * kern->igemm_nr;
}

void sdx_iconv_pack(const Kern *kern, const ConvPlan *p, const void *w, bool w_signed, const int32_t *zw, bool one_zw,
                    void *packed)
{
    const uint8_t *from = w;
    size_t taps = iconv_taps(p), cg = p->c_in / p->groups, n_out = p->c_out / p->groups;
    if (iconv_is_depthwise(p)) {
        float *to = packed;
        for (size_t t = 0; t < taps; t++)
            for (size_t c = 0; c < p->c_in; c++) {
                int32_t v = w_signed ? (int8_t)from[c * taps + t] : from[c * taps + t];
                *to++ = (float)(v - (zw ? zw[one_zw ? 0 : c] : 0));
            }
        return;
    }
    size_t nr = kern->igemm_nr, group = kern->igemm_group, lanes = iconv_lanes(kern, p), panels = iconv_panels(kern, p);
    size_t per_piece = iconv_piece_taps(p), piece_lanes = lanes / (taps / per_piece);
    bool wide = kern->igemm_form == SDX_IFORM_S16;
    int32_t *sums = iconv_colsum(kern, p, packed);
    memset(packed, 0, (p->groups * panels * (lanes + 1)) * nr * 4);
    for (size_t o = 0; o < p->c_out; o++) {
        size_t column = o % n_out, panel = o / n_out * panels + column / nr;
        int32_t sum = 0;
        for (size_t t = 0; t < taps; t++)
            for (size_t c = 0; c < cg; c++) {
                int8_t v = (int8_t)(from[(o * cg + c) * taps + t] ^ (w_signed ? 0 : 0x80));
                size_t k = t % per_piece * cg + c, lane = t / per_piece * piece_lanes + k / group;
                size_t at = ((panel * lanes + lane) * nr + column % nr) * group + k % group;
                if (wide)
                    ((int16_t *)packed)[at] = v;
                else
                    ((int8_t *)packed)[at] = v;
                sum += v;
            }
        sums[panel * nr + column % nr] = sum;
    }
}

void sdx_iconv_columns(const Kern *kern, const ConvPlan *p, const void *packed, bool x_signed, int32_t zx,
                       const int32_t *bias, int32_t *col)
{
    size_t n_out = p->c_out / p->groups, nr = kern->igemm_nr, panels = iconv_panels(kern, p);
    uint32_t zero = (uint32_t)(zx + sdx_igemm_shift(kern, x_signed));
    bool depthwise = iconv_is_depthwise(p);
    const int32_t *sums = depthwise ? NULL : iconv_colsum(kern, p, (void *)(uintptr_t)packed);
    for (size_t o = 0; o < p->c_out; o++) {
        uint32_t v = bias ? (uint32_t)bias[o] : 0;
        if (!depthwise) v -= zero * (uint32_t)sums[o / n_out * panels * nr + o % n_out];
        col[o] = (int32_t)v;
    }
}

/* ---- depthwise --------------------------------------------------------------------------------- */

static void depthwise_plan(const Kern *kern, ConvPlan *p)
{
    const ConvDim *d = p->dim;
    size_t row = max_size(1, d[W].out * p->c_out * iconv_taps(p));
    size_t rows = min_size(max_size((1u << 19) / row, d[H].kernel), d[H].out);
    (void)kern;
    p->rows = div_up(d[H].out, div_up(d[H].out, rows));
    p->strip_h = (p->rows - 1) * d[H].stride + (d[H].kernel - 1) * d[H].dilation + 1;
    p->chunks = p->batch * d[D].out * div_up(d[H].out, p->rows);
    p->scratch = p->rows * d[D].kernel * d[H].kernel * sizeof(float *) + 64 +
                 d[D].kernel * p->strip_h * d[W].in * p->c_in * sizeof(float) +
                 p->rows * d[W].out * p->c_out * sizeof(float);
}

/* One image row as f32 without its zero point, channels last. */
static void depthwise_load(const Kern *kern, const ConvPlan *p, const Iconv *g, const uint8_t *row, float *dst)
{
    size_t c_in = p->c_in, n = p->dim[W].in;
    if (p->x.c != 1) {
        for (size_t i = 0; i < n; i++)
            for (size_t c = 0; c < c_in; c++) {
                uint8_t v = row[i * p->x.w + c * p->x.c];
                dst[i * c_in + c] = (float)((g->x_signed ? (int8_t)v : v) - g->zx);
            }
        return;
    }
    if (p->x.w == c_in) c_in *= n, n = 1;
    for (size_t i = 0; i < n; i++)
        kern->dequantize_f32[g->x_signed ? SDX_Q_i8 : SDX_Q_u8](dst + i * c_in, row + i * p->x.w, c_in, 1, g->zx);
}

static void depthwise_chunk(const Kern *kern, const ConvPlan *p, const Iconv *g, size_t chunk, void *scratch)
{
    const ConvDim *d = p->dim;
    size_t row_cuts = div_up(d[H].out, p->rows), oh = chunk % row_cuts * p->rows;
    size_t od = chunk / row_cuts % d[D].out, image = chunk / row_cuts / d[D].out;
    size_t rows = min_size(p->rows, d[H].out - oh), lines = d[D].kernel * d[H].kernel, line = d[W].in * p->c_in;
    const float **table = scratch;
    float *strip = (float *)(void *)((char *)scratch + div_up(p->rows * lines * sizeof *table, 64) * 64);
    float *sums = strip + d[D].kernel * p->strip_h * line;
    ptrdiff_t h0 = (ptrdiff_t)(oh * d[H].stride) - d[H].pad;
    size_t strip_rows = (rows - 1) * d[H].stride + (d[H].kernel - 1) * d[H].dilation + 1;
    for (size_t z = 0; z < d[D].kernel; z++) {
        ptrdiff_t id = (ptrdiff_t)(od * d[D].stride + z * d[D].dilation) - d[D].pad;
        bool inside = id >= 0 && id < (ptrdiff_t)d[D].in;
        const uint8_t *plane = (const uint8_t *)g->x + image * p->x.n + (inside ? (size_t)id * p->x.d : 0);
        for (size_t i = 0; inside && i < strip_rows; i++) {
            ptrdiff_t ih = h0 + (ptrdiff_t)i;
            if (ih >= 0 && ih < (ptrdiff_t)d[H].in)
                depthwise_load(kern, p, g, plane + (size_t)ih * p->x.h, strip + (z * p->strip_h + i) * line);
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t y = 0; y < d[H].kernel; y++) {
                size_t i = r * d[H].stride + y * d[H].dilation;
                ptrdiff_t ih = h0 + (ptrdiff_t)i;
                table[r * lines + z * d[H].kernel + y] = inside && ih >= 0 && ih < (ptrdiff_t)d[H].in
                                                             ? strip + (z * p->strip_h + i) * line
                                                             : NULL;
            }
    }
    const Epilogue none = SDX_EPILOGUE_NONE;
    size_t out_row = d[W].out * p->c_out;
    Depthwise work = {
        .x = table,
        .rows = rows,
        .lines = lines,
        .w = g->w,
        .ldw = p->c_in,
        .kernel = d[W].kernel,
        .stride = d[W].stride,
        .dilation = d[W].dilation,
        .pad = d[W].pad,
        .in = d[W].in,
        .out = d[W].out,
        .ldx = p->c_in,
        .ldy = p->c_out,
        .ldrow = out_row,
        .channels = p->c_in,
        .y = sums,
        .epi = &none,
    };
    kern->depthwise_f32(&work);
    int32_t *whole = (int32_t *)(void *)sums;
    kern->igemm_whole(sums, rows * out_row);
    size_t size = g->out.kind <= SDX_IOUT_F32 ? 4 : 1, pixel = ((image * d[D].out + od) * d[H].out + oh) * d[W].out;
    IgemmOut out = g->out;
    if (out.epi.add) out.epi.add += pixel * out.epi.ldadd;
    for (size_t r = 0; r < rows; r++)
        kern->igemm_out(&out, whole + r * out_row, p->c_out,
                        (uint8_t *)g->y + (image * p->y.n + od * p->y.d + (oh + r) * p->y.h) * size, p->y.w,
                        r * d[W].out, 0, d[W].out, p->c_out);
}

/* ---- running ----------------------------------------------------------------------------------- */

void sdx_iconv_plan(const Kern *kern, ConvPlan *p, bool x_signed)
{
    const ConvDim *d = p->dim;
    p->chunks = p->scratch = 0;
    p->nr = kern->igemm_nr;
    p->kc = kern->igemm_kc;
    p->group = kern->igemm_group;
    p->elem = 4 / kern->igemm_group;
    p->x_size = 1;
    if (!p->batch || !p->c_out || !d[D].out || !d[H].out || !d[W].out) return;
    if (iconv_is_depthwise(p)) {
        p->method = CONV_DEPTHWISE;
        depthwise_plan(kern, p);
        return;
    }
    sdx_conv_plan_walk(p, p->elem == 1 && sdx_igemm_shift(kern, x_signed) == 0);
}

static void iconv_zero(const ConvWalk *walk, size_t n, uint8_t *dst)
{
    const Iconv *g = walk->arg;
    int32_t zero = g->zx + sdx_igemm_shift(walk->kern, g->x_signed);
    if (walk->plan->elem == 1) {
        memset(dst, (uint8_t)zero, n);
        return;
    }
    int16_t *to = (int16_t *)(void *)dst;
    for (size_t i = 0; i < n; i++) to[i] = (int16_t)zero;
}

static void iconv_load(const ConvWalk *walk, const uint8_t *row, size_t w, size_t n, uint8_t *dst)
{
    const ConvPlan *p = walk->plan;
    const Iconv *g = walk->arg;
    size_t cg = p->c_in / p->groups;
    row += w * p->x.w;
    if (p->x.c == 1 && p->x.w == cg) {
        sdx_igemm_convert(walk->kern, g->x_signed, row, n * cg, dst);
    } else if (p->x.c == 1) {
        for (size_t i = 0; i < n; i++)
            sdx_igemm_convert(walk->kern, g->x_signed, row + i * p->x.w, cg, dst + i * cg * p->elem);
    } else {
        int16_t *wide = (int16_t *)(void *)dst;
        uint8_t flip = sdx_igemm_shift(walk->kern, g->x_signed) ? 0x80 : 0;
        for (size_t c = 0; c < cg; c++, row += p->x.c)
            for (size_t i = 0; i < n; i++) {
                uint8_t v = row[i * p->x.w];
                if (p->elem == 1)
                    dst[i * cg + c] = v ^ flip;
                else
                    wide[i * cg + c] = g->x_signed ? (int8_t)v : v;
            }
    }
}

static void iconv_tile(const ConvWalk *walk, const ConvTile *c)
{
    const Iconv *g = walk->arg;
    IgemmOut out = g->out;
    if (out.col) out.col += c->channel;
    if (out.scale && !out.one_scale) out.scale += c->channel;
    if (out.epi.bias) out.epi.bias += c->channel;
    if (out.epi.add) out.epi.add += c->pixel * out.epi.ldadd + c->channel;
    IgemmTile t = {
        .a = c->a,
        .lda = c->lda,
        .seg = c->seg,
        .nseg = c->nseg,
        .seglen = c->seglen,
        .b = (const int32_t *)g->w + c->b,
        .b_panel = c->b_panel,
        .npanel = c->npanel,
        .part = c->part,
        .first = c->first,
        .last = c->last,
        .c = (uint8_t *)g->y + c->y * (out.kind <= SDX_IOUT_F32 ? 4 : 1),
        .ldc = walk->plan->y.w,
        .rows = c->rows,
        .cols = c->cols,
        .out = &out,
    };
    walk->kern->igemm_tile(&t);
}

void sdx_iconv_chunk(const Kern *kern, const ConvPlan *p, const Iconv *g, size_t chunk, void *scratch)
{
    if (p->method == CONV_DEPTHWISE) {
        depthwise_chunk(kern, p, g, chunk, scratch);
        return;
    }
    ConvWalk walk = { kern, p, g->x, iconv_load, iconv_zero, iconv_tile, g };
    sdx_conv_walk(&walk, chunk, scratch);
}
