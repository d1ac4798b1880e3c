#include "kern/conv/conv_walk.h"

#include <stdint.h>

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

bool sdx_conv_is_depthwise(size_t groups, size_t c_in, size_t c_out)
{
    return groups == c_in && groups == c_out && groups > 1;
}

bool sdx_conv_is_spread(size_t groups, size_t c_in, size_t c_out)
{
    return groups > 1 && c_in / groups <= 6 && c_out / groups <= 6;
}

bool sdx_conv_is_product(const ConvPlan *p)
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

/* ---- planning ---------------------------------------------------------------------------------- */

static size_t dim_span(const ConvDim *d) { return (d->kernel - 1) * d->dilation + 1; }

/* Does any output look outside the input? */
static bool dim_is_padded(const ConvDim *d)
{
    return d->pad > 0 || (ptrdiff_t)((d->out - 1) * d->stride + dim_span(d)) - d->pad > (ptrdiff_t)d->in;
}

/* Image rows in a strip for `rows` output rows. */
static size_t walk_strip_rows(const ConvPlan *p, size_t rows)
{
    return (rows - 1) * p->dim[H].stride + dim_span(&p->dim[H]);
}

/* Elements copied for a chunk of `rows` output rows. The last piece of a strip is read to a lane's end. */
static size_t walk_copied(const ConvPlan *p, size_t rows)
{
    if (p->method == CONV_GATHER) return rows * p->dim[W].out * p->lda;
    if (p->method == CONV_STRIP) return p->dim[D].kernel * walk_strip_rows(p, rows) * p->strip_w * p->pixel + p->group;
    return 0;
}

/* Relative costs, in multiply-adds: an element copied to a strip, a weight read from beyond the second
 * level cache, a chunk. */
enum { COST_COPY = 30, COST_WEIGHT = 8, COST_CHUNK = 20000 };

/* Rows and panels of a chunk: few copies, weights read seldom, but chunks enough to share out. */
static void walk_cut(ConvPlan *p)
{
    size_t oh = p->dim[H].out, ow = p->dim[W].out, panels = div_up(p->c_out / p->groups, p->nr);
    size_t cache = sdx_cpu()->l2 / 2;
    double others = (double)p->batch * (double)p->groups * (double)p->dim[D].out, best = -1;
    double weights = (double)(p->nseg * p->seglen) * (double)(panels * p->nr), macs = (double)oh * (double)ow * weights;
    for (size_t cr = 1; cr <= oh; cr += 1 + cr / 4) {
        size_t rows = div_up(oh, cr);
        if (walk_copied(p, rows) * p->elem > cache && cr + 1 + cr / 4 <= oh) continue;
        for (size_t cp = 1; cp <= panels; cp += 1 + cp / 4) {
            size_t nb = div_up(panels, cp);
            double r = (double)div_up(oh, rows), n = (double)div_up(panels, nb);
            double cost = r * n * ((double)walk_copied(p, rows) * COST_COPY + COST_CHUNK) +
                          0.5 * macs / (r * n * others);
            if (weights * 4 > (double)cache) cost += r * weights * COST_WEIGHT;
            if (best >= 0 && cost >= best) continue;
            best = cost;
            p->rows = rows;
            p->panels = nb;
        }
    }
}

/* Slices of k of about kc lanes: several whole pieces, or equal parts of one. */
static void walk_slice(ConvPlan *p)
{
    p->slice_segs = 0;
    p->slice_len = p->seglen;
    if (p->seglen > p->kc + p->kc / 2) {
        p->slice_len = div_up(p->seglen, (p->seglen + p->kc / 2) / p->kc);
    } else {
        size_t slices = max_size(1, (p->nseg * p->seglen + p->kc / 2) / p->kc);
        p->slice_segs = max_size(1, div_up(p->nseg, slices));
    }
}

static size_t walk_part_lanes(const ConvPlan *p)
{
    bool sliced = p->slice_segs ? p->slice_segs < p->nseg : p->nseg > 1 || p->slice_len < p->seglen;
    return sliced ? p->rows * p->dim[W].out * p->panels * p->nr : 0;
}

void sdx_conv_plan_walk(ConvPlan *p, bool may_stay)
{
    const ConvDim *d = p->dim;
    size_t cg = p->c_in / p->groups, taps = d[D].kernel * d[H].kernel * d[W].kernel;
    bool padded = dim_is_padded(&d[D]) || dim_is_padded(&d[H]) || dim_is_padded(&d[W]);
    /* In place, a piece is a row of the kernel only where pixels touch. Else it is a single tap, which may
     * be too short to pay; packed weights of groups want the usual pieces anyway. */
    bool torn = d[W].kernel > 1 && p->x.w != cg && (cg < 64 || p->group > 1);
    bool whole_rows = d[W].dilation == 1;
    bool even = (whole_rows ? d[W].kernel * cg : cg) % p->group == 0;
    if (d[W].out < 6 && d[H].out > 1 && taps > 1)
        p->method = CONV_GATHER;
    else if (p->x.c == 1 && !padded && !torn && may_stay && even)
        p->method = CONV_IN_PLACE;
    else
        p->method = CONV_STRIP;

    p->strip_w = (d[W].out - 1) * d[W].stride + dim_span(&d[W]);
    p->pixel = p->method == CONV_IN_PLACE ? p->x.w : cg;
    whole_rows = whole_rows && (p->method != CONV_IN_PLACE || p->pixel == cg || d[W].kernel == 1);
    p->piece = whole_rows ? d[W].kernel * cg : cg;
    p->seglen = div_up(p->piece, p->group);
    p->nseg = whole_rows ? d[D].kernel * d[H].kernel : taps;
    p->lda = d[W].stride * p->pixel;
    if (p->method == CONV_GATHER) {
        p->seglen *= p->nseg;
        p->nseg = 1;
        p->lda = sdx_gemm_copy_stride(p->seglen) * 4 / p->elem;
    }
    walk_slice(p);
    walk_cut(p);
    p->strip_h = walk_strip_rows(p, p->rows);
    p->chunks = p->batch * p->groups * d[D].out * div_up(d[H].out, p->rows) *
                div_up(div_up(p->c_out / p->groups, p->nr), p->panels);
    p->scratch = p->nseg * sizeof(ptrdiff_t) + 64 + walk_copied(p, p->rows) * p->elem + walk_part_lanes(p) * 4;
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Pixels [w, w+n) of an image row to dst, padding outside [0, in); row NULL: all padding. */
static void walk_load(const ConvWalk *walk, const uint8_t *row, ptrdiff_t w, size_t n, uint8_t *dst)
{
    const ConvPlan *p = walk->plan;
    size_t cg = p->c_in / p->groups, pixel = cg * p->elem;
    ptrdiff_t lo = w < 0 ? 0 : w, hi = w + (ptrdiff_t)n;
    if (hi > (ptrdiff_t)p->dim[W].in) hi = (ptrdiff_t)p->dim[W].in;
    if (!row || lo >= hi) {
        walk->zero(walk, n * cg, dst);
        return;
    }
    size_t before = (size_t)(lo - w), count = (size_t)(hi - lo);
    if (before) walk->zero(walk, before * cg, dst);
    walk->load(walk, row, (size_t)lo, count, dst + before * pixel);
    if (before + count < n) walk->zero(walk, (n - before - count) * cg, dst + (before + count) * pixel);
}

/* Image row h of plane d of the group at x, NULL outside. */
static const uint8_t *walk_row(const ConvPlan *p, const uint8_t *x, ptrdiff_t d, ptrdiff_t h)
{
    if (d < 0 || d >= (ptrdiff_t)p->dim[D].in || h < 0 || h >= (ptrdiff_t)p->dim[H].in) return NULL;
    return x + ((size_t)d * p->x.d + (size_t)h * p->x.h) * p->x_size;
}

static void walk_fill_strip(const ConvWalk *walk, const uint8_t *x, ptrdiff_t d, ptrdiff_t h, size_t rows,
                            uint8_t *strip)
{
    const ConvPlan *p = walk->plan;
    size_t pitch = p->strip_w * p->pixel * p->elem;
    for (size_t z = 0; z < p->dim[D].kernel; z++)
        for (size_t i = 0; i < walk_strip_rows(p, rows); i++)
            walk_load(walk, walk_row(p, x, d + (ptrdiff_t)(z * p->dim[D].dilation), h + (ptrdiff_t)i), -p->dim[W].pad,
                      p->strip_w, strip + (z * p->strip_h + i) * pitch);
}

static void walk_gather(const ConvWalk *walk, const uint8_t *x, ptrdiff_t d, ptrdiff_t h, size_t rows, uint8_t *strip)
{
    const ConvPlan *p = walk->plan;
    const ConvDim *dim = p->dim;
    bool whole_rows = dim[W].dilation == 1;
    size_t piece = div_up(p->piece, p->group) * 4, pixels = whole_rows ? dim[W].kernel : 1;
    for (size_t r = 0; r < rows; r++)
        for (size_t o = 0; o < dim[W].out; o++, strip += p->lda * p->elem) {
            uint8_t *to = strip;
            ptrdiff_t w = (ptrdiff_t)(o * dim[W].stride) - dim[W].pad;
            for (size_t z = 0; z < dim[D].kernel; z++)
                for (size_t y = 0; y < dim[H].kernel; y++) {
                    const uint8_t *row = walk_row(p, x, d + (ptrdiff_t)(z * dim[D].dilation),
                                                  h + (ptrdiff_t)(r * dim[H].stride + y * dim[H].dilation));
                    for (size_t i = 0; i < dim[W].kernel; i += pixels, to += piece) {
                        walk_load(walk, row, w + (ptrdiff_t)(i * dim[W].dilation), pixels, to);
                        for (size_t j = p->piece * p->elem; j < piece; j++) to[j] = 0;
                    }
                }
        }
}

/* Where each piece of a row of A begins, in bytes from the first tap of the first pixel. */
static void walk_segments(const ConvPlan *p, ptrdiff_t *seg)
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
                *seg++ = (ptrdiff_t)((z * step_d + y * step_h + i * dim[W].dilation * p->pixel) * p->elem);
}

/* The part of the result that a chunk computes. */
typedef struct Place {
    size_t image, group, od, oh, rows, panel, npanel;
} Place;

/* Chunks count rows first, so that neighbours share weights, then panels, depth, groups, images. */
static Place walk_place(const ConvPlan *p, size_t i)
{
    size_t panels = div_up(p->c_out / p->groups, p->nr);
    size_t row_cuts = div_up(p->dim[H].out, p->rows), panel_cuts = div_up(panels, p->panels);
    Place at;
    at.oh = i % row_cuts * p->rows;
    i /= row_cuts;
    at.panel = i % panel_cuts * p->panels;
    i /= panel_cuts;
    at.od = i % p->dim[D].out;
    i /= p->dim[D].out;
    at.group = i % p->groups;
    at.image = i / p->groups;
    at.rows = min_size(p->rows, p->dim[H].out - at.oh);
    at.npanel = min_size(p->panels, panels - at.panel);
    return at;
}

/* One slice of k: every panel, every row of pixels. b: its first lane in a panel; a_row: bytes of A from a
 * row of pixels to the next. t has the slice. */
static void walk_slice_tiles(const ConvWalk *walk, const Place *at, const uint8_t *a, size_t a_row, size_t b,
                             void *part, ConvTile *t)
{
    const ConvPlan *p = walk->plan;
    const ConvDim *dim = p->dim;
    size_t nr = p->nr, n_out = p->c_out / p->groups, panels = div_up(n_out, nr), k = t->b_panel / nr, ow = dim[W].out;
    /* Rows that follow each other evenly are one call; else one call for each row of pixels. */
    bool even = at->rows == 1 || (a_row == ow * t->lda && p->y.h == ow * p->y.w);
    size_t calls = even ? 1 : at->rows;
    t->rows = even ? at->rows * ow : ow;
    t->blocks = t->b_panel * panels * 4 > sdx_cpu()->l2 / 2 ? calls : 0;
    for (size_t q = 0; q < at->npanel; q += t->npanel) {
        size_t panel = at->panel + q;
        t->npanel = even ? at->npanel : 1;
        t->cols = min_size(t->npanel * nr, n_out - panel * nr);
        t->b = (at->group * panels + panel) * k * nr + b * nr;
        t->channel = at->group * n_out + panel * nr;
        t->cached = q > 0;
        for (size_t r = 0; r < calls; r++) {
            t->a = a + r * a_row;
            t->block = r;
            t->part = part ? (uint8_t *)part + (q * at->rows + r) * ow * nr * 4 : NULL;
            t->y = at->image * p->y.n + at->od * p->y.d + (at->oh + r) * p->y.h + t->channel;
            t->pixel = ((at->image * dim[D].out + at->od) * dim[H].out + at->oh + r) * ow;
            walk->tile(walk, t);
        }
    }
}

void sdx_conv_walk(const ConvWalk *walk, size_t chunk, void *scratch)
{
    const ConvPlan *p = walk->plan;
    const ConvDim *dim = p->dim;
    Place at = walk_place(p, chunk);

    /* Partial sums are whole cache lines, so the strip begins with one; pointers must be aligned too. */
    ptrdiff_t *seg = scratch;
    uint8_t *part = (uint8_t *)scratch + div_up(p->nseg * sizeof *seg, 64) * 64;
    uint8_t *strip = part + walk_part_lanes(p) * 4;
    walk_segments(p, seg);

    const uint8_t *x = walk->x + (at.image * p->x.n + at.group * (p->c_in / p->groups) * p->x.c) * p->x_size,
                  *a = strip;
    ptrdiff_t d0 = (ptrdiff_t)(at.od * dim[D].stride) - dim[D].pad,
              h0 = (ptrdiff_t)(at.oh * dim[H].stride) - dim[H].pad;
    size_t a_row = dim[H].stride * p->strip_w * p->pixel * p->elem;
    if (p->method == CONV_STRIP) {
        walk_fill_strip(walk, x, d0, h0, at.rows, strip);
    } else if (p->method == CONV_GATHER) {
        walk_gather(walk, x, d0, h0, at.rows, strip);
        a_row = dim[W].out * p->lda * p->elem;
    } else {
        a = x + ((size_t)d0 * p->x.d + (size_t)h0 * p->x.h + (size_t)-dim[W].pad * p->x.w) * p->elem;
        a_row = dim[H].stride * p->x.h * p->elem;
    }

    size_t parts = p->slice_segs ? 1 : div_up(p->seglen, p->slice_len), step = p->slice_segs ? p->slice_segs : 1;
    ConvTile t = { .lda = p->lda * p->elem, .b_panel = p->nseg * p->seglen * p->nr };
    for (size_t s = 0; s < p->nseg; s += step)
        for (size_t i = 0; i < parts; i++) {
            size_t from = i * p->slice_len;
            t.nseg = min_size(step, p->nseg - s);
            t.seg = seg + s;
            t.seglen = p->slice_segs ? p->seglen : min_size(p->slice_len, p->seglen - from);
            t.first = s == 0 && i == 0;
            t.last = s + step >= p->nseg && i + 1 == parts;
            walk_slice_tiles(walk, &at, a + from * 4, a_row, s * p->seglen + from, walk_part_lanes(p) ? part : NULL,
                             &t);
        }
}
