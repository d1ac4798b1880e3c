#include "kern/conv/conv.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kern/conv/depthwise.h"

enum {
    CONV_GEMM,      /* 1x1, stride 1: a product over all pixels */
    CONV_IN_PLACE,  /* no padding: rows of A straight from the image */
    CONV_STRIP,     /* rows of A from a padded copy of the image rows that a chunk needs */
    CONV_GATHER,    /* every row of A copied whole: for images narrower than a tile */
    CONV_DEPTHWISE,
};

enum { D, H, W }; /* ConvPlan.dim */

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* ---- weights ----------------------------------------------------------------------------------- */

static bool conv_is_depthwise(size_t groups, size_t c_in, size_t c_out)
{
    return groups == c_in && groups == c_out && groups > 1;
}

bool sdx_conv_f32_pack_size(const Kern *kern, size_t groups, size_t c_in, size_t c_out, size_t taps, size_t *nfloats)
{
    size_t k, one;
    if (conv_is_depthwise(groups, c_in, c_out)) return !__builtin_mul_overflow(taps, c_in, nfloats);
    return !__builtin_mul_overflow(c_in / groups, taps, &k) &&
           sdx_gemm_f32_pack_size(kern, k, c_out / groups, &one) && !__builtin_mul_overflow(one, groups, nfloats) &&
           *nfloats <= SIZE_MAX / sizeof(float);
}

static size_t weights_taps(const ConvWeights *w) { return w->count[0] * w->count[1] * w->count[2]; }

/* Offset of tap t, counted in the order of packing. */
static ptrdiff_t weights_tap(const ConvWeights *w, size_t t)
{
    ptrdiff_t c = (ptrdiff_t)(t % w->count[2]), b = (ptrdiff_t)(t / w->count[2] % w->count[1]);
    ptrdiff_t a = (ptrdiff_t)(t / w->count[2] / w->count[1]);
    return a * w->step[0] + b * w->step[1] + c * w->step[2];
}

/* One panel: row (tap, c), column o. */
static void conv_pack_panel(const Kern *kern, const ConvWeights *w, const float *src, size_t c_in, size_t n, float *panel)
{
    size_t nr = kern->gemm_f32_nr, taps = weights_taps(w), total = c_in * taps;
    if (n < nr) memset(panel, 0, total * nr * sizeof *panel);
    if (w->count[0] * w->count[1] == 1 && w->step[2] == 1 && w->w_c == taps) {
        /* ONNX's order: an output's weights are one run, (c, tap). Transpose blocks of it, then move rows. */
        enum { BLOCK = 4096 }; /* floats */
        float block[BLOCK];
        size_t rows = BLOCK / nr;
        for (size_t i = 0; i < total; i += rows) {
            size_t m = min_size(rows, total - i);
            kern->transpose_32(block, nr, src + i, w->w_o, n, m);
            for (size_t j = 0; j < m; j++) {
                size_t c = (i + j) / taps, t = (i + j) % taps;
                memcpy(panel + (t * c_in + c) * nr, block + j * nr, n * sizeof *panel);
            }
        }
        return;
    }
    for (size_t t = 0; t < taps; t++) {
        const float *tap = src + weights_tap(w, t);
        for (size_t c = 0; c < c_in; c++)
            for (size_t o = 0; o < n; o++) panel[(t * c_in + c) * nr + o] = tap[o * w->w_o + c * w->w_c];
    }
}

static void conv_flush(float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) x[i] = fabsf(x[i]) < FLT_MIN ? 0 : x[i];
}

void sdx_conv_f32_pack_any(const Kern *kern, const ConvWeights *w, size_t groups, size_t c_in, size_t c_out, bool flush,
                           float *packed)
{
    float *to = packed;
    if (conv_is_depthwise(groups, c_in, c_out)) {
        for (size_t t = 0; t < weights_taps(w); t++)
            for (size_t g = 0; g < groups; g++) *to++ = w->w[(ptrdiff_t)(g * w->w_g) + weights_tap(w, t)];
    } else {
        size_t nr = kern->gemm_f32_nr, n = c_out / groups, cg = c_in / groups;
        for (size_t g = 0; g < groups; g++)
            for (size_t o = 0; o < n; o += nr, to += cg * weights_taps(w) * nr)
                conv_pack_panel(kern, w, w->w + g * w->w_g + o * w->w_o, cg, min_size(nr, n - o), to);
    }
    if (flush) conv_flush(packed, (size_t)(to - packed));
}

void sdx_conv_f32_pack(const Kern *kern, const float *w, size_t groups, size_t c_in, size_t c_out, size_t taps,
                       bool flush, float *packed)
{
    size_t row = c_in / groups * taps;
    ConvWeights all = { w, c_out / groups * row, row, taps, { 1, 1, taps }, { 0, 0, 1 } };
    sdx_conv_f32_pack_any(kern, &all, groups, c_in, c_out, flush, packed);
}

/* ---- planning ---------------------------------------------------------------------------------- */

static size_t dim_span(const ConvDim *d) { return (d->kernel - 1) * d->dilation + 1; }

/* Does any output look outside the input? */
static bool dim_is_padded(const ConvDim *d)
{
    return d->pad > 0 || (ptrdiff_t)((d->out - 1) * d->stride + dim_span(d)) - d->pad > (ptrdiff_t)d->in;
}

static bool conv_is_product(const ConvPlan *p)
{
    const ConvDim *d = p->dim;
    for (int i = D; i <= W; i++)
        if (d[i].kernel != 1 || d[i].stride != 1 || d[i].pad != 0 || d[i].in != d[i].out) return false;
    const ConvStrides *s[2] = { &p->x, &p->y };
    for (int i = 0; i < 2; i++) {
        if (s[i]->c != 1) return false;
        if (d[H].in > 1 && s[i]->h != d[W].in * s[i]->w) return false;
        if (d[D].in > 1 && s[i]->d != d[H].in * d[W].in * s[i]->w) return false;
        if (p->batch > 1 && s[i]->n != d[D].in * d[H].in * d[W].in * s[i]->w) return false;
    }
    return p->groups == 1;
}

/* Relative costs, in multiply-adds: an element copied to a strip, a weight read from beyond the second
 * level cache. */
enum { COST_COPY = 30, COST_WEIGHT = 8, COST_CHUNK = 3 << 20 };

/* Image rows in a strip for `rows` output rows. */
static size_t conv_strip_rows(const ConvPlan *p, size_t rows)
{
    return (rows - 1) * p->dim[H].stride + dim_span(&p->dim[H]);
}

static size_t conv_copied(const ConvPlan *p, size_t rows)
{
    if (p->method == CONV_GATHER) return rows * p->dim[W].out * p->lda;
    if (p->method == CONV_STRIP) return p->dim[D].kernel * conv_strip_rows(p, rows) * p->strip_w * p->pixel;
    return 0;
}

/* Rows and panels of a chunk: few copies, weights read seldom, but chunks enough to share out. */
static void conv_cut(const Kern *kern, ConvPlan *p, size_t k)
{
    size_t oh = p->dim[H].out, ow = p->dim[W].out, panels = div_up(p->c_out / p->groups, kern->gemm_f32_nr);
    size_t cache = sdx_cpu()->l2 / 2 / sizeof(float);
    double others = (double)p->batch * (double)p->groups * (double)p->dim[D].out, best = -1;
    double macs = (double)oh * (double)ow * (double)k * (double)panels * kern->gemm_f32_nr;
    bool far = (double)k * (double)panels * kern->gemm_f32_nr > (double)cache;
    for (size_t cr = 1; cr <= oh; cr += 1 + cr / 4) {
        size_t rows = div_up(oh, cr);
        if (cr < oh && conv_copied(p, rows) > cache && cr + 1 + cr / 4 <= oh) continue;
        for (size_t cp = 1; cp <= panels; cp += 1 + cp / 4) {
            size_t nb = div_up(panels, cp);
            double r = (double)div_up(oh, rows), n = (double)div_up(panels, nb);
            double cost = r * n * ((double)conv_copied(p, rows) * COST_COPY + 20000) + 0.5 * macs / (r * n * others);
            if (far) cost += r * (double)k * (double)panels * kern->gemm_f32_nr * COST_WEIGHT;
            if (best >= 0 && cost >= best) continue;
            best = cost;
            p->rows = rows;
            p->panels = nb;
        }
    }
}

/* Slices of k of about gemm_f32_kc: several whole segments, or equal pieces of one. */
static void conv_slice(const Kern *kern, ConvPlan *p)
{
    size_t kc = kern->gemm_f32_kc;
    p->slice_segs = 0;
    p->slice_len = p->seglen;
    if (p->seglen > kc + kc / 2) {
        p->slice_len = div_up(p->seglen, (p->seglen + kc / 2) / kc);
    } else {
        size_t slices = max_size(1, (p->nseg * p->seglen + kc / 2) / kc);
        p->slice_segs = max_size(1, div_up(p->nseg, slices));
    }
}

void sdx_conv_f32_plan(const Kern *kern, ConvPlan *p)
{
    const ConvDim *d = p->dim;
    size_t cg = p->c_in / p->groups, taps = d[D].kernel * d[H].kernel * d[W].kernel, k = cg * taps;
    size_t nr = kern->gemm_f32_nr;
    p->chunks = p->scratch = 0;
    p->seglen = p->nseg = p->lda = 0;
    if (!p->batch || !p->c_out || !d[D].out || !d[H].out || !d[W].out) return;

    if (conv_is_depthwise(p->groups, p->c_in, p->c_out)) {
        p->method = CONV_DEPTHWISE;
        sdx_depthwise_f32_plan(kern, p);
        return;
    }
    if (conv_is_product(p)) {
        p->method = CONV_GEMM;
        p->gemm = (GemmPlan){ .m = p->batch * d[D].in * d[H].in * d[W].in, .n = p->c_out, .k = p->c_in,
                              .lda = p->x.w, .ldc = p->y.w, .b_form = SDX_MAT_PACKED };
        sdx_gemm_f32_plan(kern, &p->gemm);
        p->chunks = p->gemm.chunks;
        p->scratch = p->gemm.scratch;
        return;
    }

    bool padded = dim_is_padded(&d[D]) || dim_is_padded(&d[H]) || dim_is_padded(&d[W]);
    bool short_pieces = taps > 1 && d[W].kernel > 1 && p->x.w != cg && cg < 64;
    if (d[W].out < 6 && d[H].out > 1 && taps > 1) p->method = CONV_GATHER;
    else if (p->x.c == 1 && !padded && !short_pieces) p->method = CONV_IN_PLACE;
    else p->method = CONV_STRIP;

    p->strip_w = (d[W].out - 1) * d[W].stride + dim_span(&d[W]);
    p->pixel = p->method == CONV_IN_PLACE ? p->x.w : cg;
    if (p->method == CONV_GATHER) {
        p->seglen = k;
        p->nseg = 1;
        p->lda = sdx_gemm_copy_stride(k);
    } else {
        bool rows_whole = d[W].dilation == 1 && p->pixel == cg;
        p->seglen = rows_whole ? d[W].kernel * cg : cg;
        p->nseg = rows_whole ? d[D].kernel * d[H].kernel : taps;
        p->lda = d[W].stride * p->pixel;
    }
    conv_slice(kern, p);
    conv_cut(kern, p, k);
    p->strip_h = conv_strip_rows(p, p->rows);
    p->chunks = p->batch * p->groups * d[D].out * div_up(d[H].out, p->rows) * div_up(div_up(p->c_out / p->groups, nr), p->panels);
    p->scratch = p->nseg * sizeof(ptrdiff_t) + 64 + conv_copied(p, p->rows) * sizeof(float) +
                 p->rows * d[W].out * p->panels * nr * sizeof(float);
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Pixels [w, w+n) of an image row to dst, zeros outside [0, in); row NULL: all zeros. */
static void conv_load(const Kern *kern, const ConvPlan *p, const float *row, ptrdiff_t w, size_t n, float *dst)
{
    size_t cg = p->c_in / p->groups;
    ptrdiff_t lo = w < 0 ? 0 : w, hi = w + (ptrdiff_t)n;
    if (hi > (ptrdiff_t)p->dim[W].in) hi = (ptrdiff_t)p->dim[W].in;
    if (!row || lo >= hi) {
        memset(dst, 0, n * cg * sizeof *dst);
        return;
    }
    size_t before = (size_t)(lo - w), count = (size_t)(hi - lo);
    memset(dst, 0, before * cg * sizeof *dst);
    float *to = dst + before * cg;
    if (p->x.c != 1) kern->transpose_32(to, cg, row + lo, p->x.c, cg, count);
    else if (p->x.w == cg) memcpy(to, row + (size_t)lo * cg, count * cg * sizeof *to);
    else
        for (size_t i = 0; i < count; i++) memcpy(to + i * cg, row + ((size_t)lo + i) * p->x.w, cg * sizeof *to);
    memset(to + count * cg, 0, (n - before - count) * cg * sizeof *to);
}

/* Image row h of plane d of the group at x, NULL outside. */
static const float *conv_row(const ConvPlan *p, const float *x, ptrdiff_t d, ptrdiff_t h)
{
    if (d < 0 || d >= (ptrdiff_t)p->dim[D].in || h < 0 || h >= (ptrdiff_t)p->dim[H].in) return NULL;
    return x + (size_t)d * p->x.d + (size_t)h * p->x.h;
}

static void conv_fill_strip(const Kern *kern, const ConvPlan *p, const float *x, ptrdiff_t d, ptrdiff_t h,
                            size_t rows, float *strip)
{
    size_t pitch = p->strip_w * p->pixel;
    for (size_t z = 0; z < p->dim[D].kernel; z++)
        for (size_t i = 0; i < conv_strip_rows(p, rows); i++)
            conv_load(kern, p, conv_row(p, x, d + (ptrdiff_t)(z * p->dim[D].dilation), h + (ptrdiff_t)i),
                      -p->dim[W].pad, p->strip_w, strip + (z * p->strip_h + i) * pitch);
}

static void conv_gather(const Kern *kern, const ConvPlan *p, const float *x, ptrdiff_t d, ptrdiff_t h, size_t rows,
                        float *strip)
{
    const ConvDim *dim = p->dim;
    size_t cg = p->c_in / p->groups;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < dim[W].out; o++, strip += p->lda) {
            float *to = strip;
            ptrdiff_t w = (ptrdiff_t)(o * dim[W].stride) - dim[W].pad;
            for (size_t z = 0; z < dim[D].kernel; z++)
                for (size_t y = 0; y < dim[H].kernel; y++) {
                    const float *row = conv_row(p, x, d + (ptrdiff_t)(z * dim[D].dilation),
                                                h + (ptrdiff_t)(r * dim[H].stride + y * dim[H].dilation));
                    if (dim[W].dilation == 1) {
                        conv_load(kern, p, row, w, dim[W].kernel, to);
                        to += dim[W].kernel * cg;
                        continue;
                    }
                    for (size_t i = 0; i < dim[W].kernel; i++, to += cg)
                        conv_load(kern, p, row, w + (ptrdiff_t)(i * dim[W].dilation), 1, to);
                }
        }
}

/* Where each piece of a row of A begins, from the first tap of the first pixel. */
static void conv_segments(const ConvPlan *p, ptrdiff_t *seg)
{
    const ConvDim *dim = p->dim;
    bool strip = p->method == CONV_STRIP;
    size_t pitch = p->strip_w * p->pixel;
    size_t step_d = strip ? p->strip_h * pitch : dim[D].dilation * p->x.d;
    size_t step_h = dim[H].dilation * (strip ? pitch : p->x.h);
    size_t across = p->nseg == dim[D].kernel * dim[H].kernel ? 1 : dim[W].kernel;
    if (p->method == CONV_GATHER) {
        *seg = 0;
        return;
    }
    for (size_t z = 0; z < dim[D].kernel; z++)
        for (size_t y = 0; y < dim[H].kernel; y++)
            for (size_t i = 0; i < across; i++)
                *seg++ = (ptrdiff_t)(z * step_d + y * step_h + i * dim[W].dilation * p->pixel);
}

void sdx_conv_f32_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t chunk, void *scratch)
{
    if (p->method == CONV_GEMM) {
        GemmF32 product = { g->x, g->w, g->y, g->epi };
        sdx_gemm_f32_chunk(kern, &p->gemm, &product, chunk, scratch);
        return;
    }
    if (p->method == CONV_DEPTHWISE) {
        sdx_depthwise_f32_chunk(kern, p, g, chunk, scratch);
        return;
    }

    /* Chunks count rows first, so that neighbours share weights, then panels, depth, groups, images. */
    const ConvDim *dim = p->dim;
    size_t nr = kern->gemm_f32_nr, cg = p->c_in / p->groups, n_out = p->c_out / p->groups, panels = div_up(n_out, nr);
    size_t ow = dim[W].out, k = p->nseg * p->seglen;
    size_t row_cuts = div_up(dim[H].out, p->rows), panel_cuts = div_up(panels, p->panels), i = chunk;
    size_t oh = i % row_cuts * p->rows;
    i /= row_cuts;
    size_t panel = i % panel_cuts * p->panels;
    i /= panel_cuts;
    size_t od = i % dim[D].out;
    i /= dim[D].out;
    size_t group = i % p->groups, image = i / p->groups;
    size_t rows = min_size(p->rows, dim[H].out - oh), npanel = min_size(p->panels, panels - panel);
    size_t cols = min_size(npanel * nr, n_out - panel * nr), channel = group * n_out + panel * nr;

    /* 64-byte aligned: panels of partial sums, then the strip; the list of segments at the end. */
    float *part = scratch;
    float *strip = part + p->rows * ow * p->panels * nr;
    ptrdiff_t *seg = (ptrdiff_t *)(void *)(strip + div_up(conv_copied(p, p->rows), 16) * 16);
    conv_segments(p, seg);

    const float *x = g->x + image * p->x.n + group * cg * p->x.c;
    ptrdiff_t d0 = (ptrdiff_t)(od * dim[D].stride) - dim[D].pad, h0 = (ptrdiff_t)(oh * dim[H].stride) - dim[H].pad;
    const float *a = strip;
    size_t a_row = dim[H].stride * p->strip_w * p->pixel; /* from one row of output pixels to the next */
    if (p->method == CONV_STRIP) {
        conv_fill_strip(kern, p, x, d0, h0, rows, strip);
    } else if (p->method == CONV_GATHER) {
        conv_gather(kern, p, x, d0, h0, rows, strip);
        a_row = ow * p->lda;
    } else {
        a = x + (size_t)d0 * p->x.d + (size_t)h0 * p->x.h + (size_t)-dim[W].pad * p->x.w;
        a_row = dim[H].stride * p->x.h;
    }

    /* Rows that follow each other evenly are one call; else one call for each row of pixels. */
    bool even = rows == 1 || (a_row == ow * p->lda && p->y.h == ow * p->y.w);
    size_t calls = even ? 1 : rows, each = even ? rows * ow : ow;
    Epilogue epi = g->epi;
    size_t first_pixel = ((image * dim[D].out + od) * dim[H].out + oh) * ow;
    float *y = g->y + image * p->y.n + od * p->y.d + oh * p->y.h + channel;
    GemmTile t = { .lda = p->lda, .ldc = p->y.w, .rows = each, .epi = &epi };
    const float *w = g->w + (group * panels + panel) * k * nr;
    bool together = calls == 1; /* all panels in one call */

    size_t pieces = p->slice_segs ? 1 : div_up(p->seglen, p->slice_len);
    size_t step = p->slice_segs ? p->slice_segs : 1;
    for (size_t s = 0; s < p->nseg || s == 0; s += step)
        for (size_t piece = 0; piece < pieces; piece++) {
            size_t at = piece * p->slice_len;
            t.nseg = min_size(step, p->nseg - s);
            t.seg = seg + s;
            t.seglen = p->slice_segs ? p->seglen : min_size(p->slice_len, p->seglen - at);
            t.first = s == 0 && piece == 0;
            t.last = s + step >= p->nseg && piece + 1 == pieces;
            t.b_panel = k * nr;
            for (size_t q = 0; q < npanel; q += t.npanel) {
                t.npanel = together ? npanel : 1;
                t.cols = together ? cols : min_size(nr, cols - q * nr);
                t.b = w + (q * k + s * p->seglen + at) * nr;
                t.cached = q > 0;
                for (size_t r = 0; r < calls; r++) {
                    t.a = a + r * a_row + at;
                    t.part = part + (q * rows + r) * ow * nr;
                    t.c = y + r * p->y.h + q * nr;
                    if (g->epi.bias) epi.bias = g->epi.bias + channel + q * nr;
                    if (g->epi.add) epi.add = g->epi.add + (first_pixel + r * ow) * g->epi.ldadd + channel + q * nr;
                    kern->gemm_f32_tile(&t);
                }
            }
        }
}
