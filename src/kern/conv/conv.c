#include "kern/conv/conv.h"

#include <stdint.h>
#include <string.h>

#include "kern/conv/conv_walk.h"
#include "kern/conv/depthwise.h"
#include "kern/conv/winograd.h"

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

/* ---- weights ----------------------------------------------------------------------------------- */

bool sdx_conv_f32_pack_size(const Kern *kern, size_t groups, size_t c_in, size_t c_out, size_t taps, size_t *nfloats)
{
    size_t k, one;
    if (sdx_conv_is_spread(groups, c_in, c_out))
        return !__builtin_mul_overflow(taps, c_out, nfloats) &&
               !__builtin_mul_overflow(*nfloats, c_in / groups, nfloats) && *nfloats <= SIZE_MAX / sizeof(float);
    return !__builtin_mul_overflow(c_in / groups, taps, &k) && sdx_gemm_f32_pack_size(kern, k, c_out / groups, &one) &&
           !__builtin_mul_overflow(one, groups, nfloats) && *nfloats <= SIZE_MAX / sizeof(float);
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
static void conv_pack_panel(const Kern *kern, const ConvWeights *w, const float *src, size_t c_in, size_t n,
                            float *panel)
{
    size_t nr = kern->gemm_f32_nr, taps = weights_taps(w), total = c_in * taps;
    if (n < nr) memset(panel, 0, total * nr * sizeof *panel);
    if (w->step[2] == 1 && w->step[1] == (ptrdiff_t)w->count[2] &&
        w->step[0] == (ptrdiff_t)(w->count[1] * w->count[2]) && w->w_c == taps) {
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

void sdx_conv_f32_pack_any(const Kern *kern, const ConvWeights *w, size_t groups, size_t c_in, size_t c_out, bool flush,
                           float *packed)
{
    float *to = packed;
    size_t nr = kern->gemm_f32_nr, n = c_out / groups, cg = c_in / groups, panel = cg * weights_taps(w) * nr;
    if (sdx_conv_is_spread(groups, c_in, c_out)) {
        /* Lines are rows of the kernel, then channels of the group; a line has a weight for each output. */
        for (size_t line = 0; line < w->count[0] * w->count[1]; line++)
            for (size_t c = 0; c < cg; c++)
                for (size_t t = line * w->count[2]; t < (line + 1) * w->count[2]; t++)
                    for (size_t o = 0; o < c_out; o++)
                        *to++ = w->w[(ptrdiff_t)(o / n * w->w_g + o % n * w->w_o + c * w->w_c) + weights_tap(w, t)];
        if (flush) sdx_f32_flush(packed, (size_t)(to - packed));
    } else {
        for (size_t g = 0; g < groups; g++)
            for (size_t o = 0; o < n; o += nr, to += panel) {
                conv_pack_panel(kern, w, w->w + g * w->w_g + o * w->w_o, cg, min_size(nr, n - o), to);
                if (flush) sdx_f32_flush(to, panel);
            }
    }
}

static size_t conv_taps(const ConvPlan *p) { return p->dim[D].kernel * p->dim[H].kernel * p->dim[W].kernel; }
static bool conv_transforms(const Kern *kern, const ConvPlan *p)
{
    return p->may_transform && sdx_winograd_pays(kern, p);
}

const char *sdx_conv_f32_form(const Kern *kern, const ConvPlan *p)
{
    return conv_transforms(kern, p) ? "winograd43" : "direct";
}

bool sdx_conv_f32_weights_size(const Kern *kern, const ConvPlan *p, size_t *nfloats)
{
    if (conv_transforms(kern, p)) return sdx_winograd_pack_size(kern, p, nfloats);
    return sdx_conv_f32_pack_size(kern, p->groups, p->c_in, p->c_out, conv_taps(p), nfloats);
}

void sdx_conv_f32_weights(const Kern *kern, const ConvPlan *p, const float *w, bool flush, float *packed)
{
    if (conv_transforms(kern, p)) {
        sdx_winograd_pack(kern, p, w, flush, packed);
        return;
    }
    const ConvDim *d = p->dim;
    size_t row = p->c_in / p->groups * conv_taps(p);
    ConvWeights all = { w,
                        p->c_out / p->groups * row,
                        row,
                        conv_taps(p),
                        { d[D].kernel, d[H].kernel, d[W].kernel },
                        { (ptrdiff_t)(d[H].kernel * d[W].kernel), (ptrdiff_t)d[W].kernel, 1 } };
    sdx_conv_f32_pack_any(kern, &all, p->groups, p->c_in, p->c_out, flush, packed);
}

/* ---- running ----------------------------------------------------------------------------------- */

void sdx_conv_f32_plan(const Kern *kern, ConvPlan *p)
{
    const ConvDim *d = p->dim;
    p->chunks = p->scratch = 0;
    p->nr = kern->gemm_f32_nr;
    p->kc = kern->gemm_f32_kc;
    p->group = 1;
    p->elem = p->x_size = sizeof(float);
    if (!p->batch || !p->c_out || !d[D].out || !d[H].out || !d[W].out) return;
    if (sdx_conv_is_spread(p->groups, p->c_in, p->c_out)) {
        p->method = CONV_DEPTHWISE;
        sdx_depthwise_f32_plan(kern, p);
    } else if (conv_transforms(kern, p)) {
        p->method = CONV_WINOGRAD;
        sdx_winograd_plan(kern, p);
    } else if (sdx_conv_is_product(p)) {
        p->method = CONV_GEMM;
        p->gemm = (GemmPlan){ .m = p->batch * d[D].in * d[H].in * d[W].in,
                              .n = p->c_out,
                              .k = p->c_in,
                              .lda = p->x.w,
                              .ldc = p->y.w,
                              .b_form = SDX_MAT_PACKED };
        sdx_gemm_f32_plan(kern, &p->gemm);
        p->chunks = p->gemm.chunks;
        p->scratch = p->gemm.scratch;
    } else {
        sdx_conv_plan_walk(p, true);
    }
}

static void conv_zero(const ConvWalk *walk, size_t n, uint8_t *dst)
{
    (void)walk;
    memset(dst, 0, n * sizeof(float));
}

static void conv_load(const ConvWalk *walk, const uint8_t *row, size_t w, size_t n, uint8_t *dst)
{
    const ConvPlan *p = walk->plan;
    const float *from = (const float *)(const void *)row;
    float *to = (float *)(void *)dst;
    size_t cg = p->c_in / p->groups;
    if (p->x.c != 1)
        walk->kern->transpose_32(to, cg, from + w, p->x.c, cg, n);
    else if (p->x.w == cg)
        memcpy(to, from + w * cg, n * cg * sizeof *to);
    else
        for (size_t i = 0; i < n; i++) memcpy(to + i * cg, from + (w + i) * p->x.w, cg * sizeof *to);
}

static void conv_tile(const ConvWalk *walk, const ConvTile *c)
{
    const ConvF32 *g = walk->arg;
    Epilogue epi = g->epi;
    if (epi.bias) epi.bias += c->channel;
    if (epi.add) epi.add += c->pixel * epi.ldadd + c->channel;
    GemmTile t = {
        .a = (const float *)(const void *)c->a,
        .lda = c->lda / sizeof(float),
        .seg = c->seg,
        .nseg = c->nseg,
        .seglen = c->seglen,
        .b = g->w + c->b,
        .b_panel = c->b_panel,
        .npanel = c->npanel,
        .part = c->part,
        .first = c->first,
        .last = c->last,
        .c = g->y + c->y,
        .ldc = walk->plan->y.w,
        .rows = c->rows,
        .cols = c->cols,
        .epi = &epi,
        .cached = c->cached,
    };
    if (c->blocks) {
        /* The next panel's slice, shared out among the blocks of rows of all calls. */
        size_t each = (c->rows + walk->kern->gemm_f32_mr - 1) / walk->kern->gemm_f32_mr, nr = walk->plan->nr;
        t.b_step = (nr + each * c->blocks - 1) / (each * c->blocks);
        t.b_next = t.b + c->b_panel + c->block * each * c->nseg * c->seglen * t.b_step;
        if (each * c->blocks == 1) t.b_next = NULL;
    }
    walk->kern->gemm_f32_tile(&t);
}

void sdx_conv_f32_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t chunk, void *scratch)
{
    if (p->method == CONV_GEMM) {
        GemmF32 product = { g->x, g->w, g->y, g->epi };
        sdx_gemm_f32_chunk(kern, &p->gemm, &product, chunk, scratch);
    } else if (p->method == CONV_DEPTHWISE) {
        sdx_depthwise_f32_chunk(kern, p, g, chunk, scratch);
    } else if (p->method == CONV_WINOGRAD) {
        sdx_winograd_chunk(kern, p, g, chunk, scratch);
    } else {
        ConvWalk walk = { kern, p, (const uint8_t *)g->x, conv_load, conv_zero, conv_tile, g };
        sdx_conv_walk(&walk, chunk, scratch);
    }
}
