#include "kern/conv/winograd.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kern/conv/conv.h"

enum { D, H, W };

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

static size_t wino_across(const ConvPlan *p) { return div_up(p->dim[W].out, WINO_OUT); }
static size_t wino_tiles(const ConvPlan *p) { return div_up(p->dim[H].out, WINO_OUT) * wino_across(p); }

/* ---- choice ------------------------------------------------------------------------------------ */

/* Relative costs, in multiply-adds: the transforms of a tile, for each channel; a weight that comes from
 * beyond the second-level cache. Fitted on Sapphire Rapids. */
enum { COST_INPUT = 260, COST_OUTPUT = 220, COST_WEIGHT = 12 };

bool sdx_winograd_pays(const Kern *kern, const ConvPlan *p)
{
    const ConvDim *d = p->dim;
    if (p->groups != 1 || p->x.c != 1 || d[D].in != 1 || d[D].out != 1 || d[D].kernel != 1) return false;
    for (int i = H; i <= W; i++)
        if (d[i].kernel != 3 || d[i].stride != 1 || d[i].dilation != 1) return false;
    if (p->c_in < 20 || p->c_out < 20 || p->c_in > 1024) return false;
    double c = (double)p->c_in, n = (double)(div_up(p->c_out, kern->gemm_f32_nr / 2) * (kern->gemm_f32_nr / 2));
    double pixels = (double)d[H].out * (double)d[W].out, tiles = (double)wino_tiles(p),
           near = (double)sdx_cpu()->l2 / 8;
    double direct = pixels * 9 * c * n + (9 * c * n > near ? 9 * c * n * COST_WEIGHT : 0);
    double fast = tiles * (WINO_POINTS * c * n + c * COST_INPUT + n * COST_OUTPUT) +
                  (WINO_POINTS * c * n > near ? WINO_POINTS * c * n * COST_WEIGHT : 0);
    return fast < 0.8 * direct;
}

/* ---- weights ----------------------------------------------------------------------------------- */

bool sdx_winograd_pack_size(const Kern *kern, const ConvPlan *p, size_t *nfloats)
{
    size_t one;
    return sdx_gemm_f32_pack_size(kern, p->c_in, p->c_out, &one) &&
           !__builtin_mul_overflow(one, WINO_POINTS, nfloats) && *nfloats <= SIZE_MAX / sizeof(float);
}

/* Output channels transformed side by side. */
enum { LANES = 16 };

/* G of a column: powers of the points over the products of their differences. */
static void wino_weight(const double *x0, const double *x1, const double *x2, double (*y)[LANES])
{
    for (int i = 0; i < LANES; i++) {
        double even = x0[i] + x2[i];
        y[0][i] = x0[i];
        y[1][i] = (even + x1[i]) / 3;
        y[2][i] = (even - x1[i]) / -3;
        y[3][i] = (x0[i] + x1[i] / 2 + x2[i] / 4) / -0.9375;
        y[4][i] = (x0[i] - 2 * x1[i] + 4 * x2[i]) / 15;
        y[5][i] = x2[i];
    }
}

/* The 3x3 kernels w, w + step, ... of n <= LANES outputs; element i of the result at to[i*ld]. */
static void wino_weights(const float *w, size_t step, size_t n, bool flush, float *to, size_t ld)
{
    double x[9][LANES] = { { 0 } }, rows[3][WINO_IN][LANES], all[WINO_IN][LANES];
    for (size_t o = 0; o < n; o++)
        for (int i = 0; i < 9; i++) x[i][o] = w[o * step + (size_t)i];
    for (int i = 0; i < 3; i++) wino_weight(x[3 * i], x[3 * i + 1], x[3 * i + 2], rows[i]);
    for (size_t j = 0; j < WINO_IN; j++) {
        wino_weight(rows[0][j], rows[1][j], rows[2][j], all);
        for (size_t i = 0; i < WINO_IN; i++) {
            float *y = to + (i * WINO_IN + j) * ld;
            for (int o = 0; o < LANES; o++) {
                float v = (float)all[i][o];
                y[o] = flush && fabsf(v) < FLT_MIN ? 0 : v;
            }
        }
    }
}

/* Panel after panel of output channels; in each the 36 matrices, c_in rows of nr. */
void sdx_winograd_pack(const Kern *kern, const ConvPlan *p, const float *w, bool flush, float *packed)
{
    size_t nr = kern->gemm_f32_nr, c_in = p->c_in, step = c_in * 9;
    for (size_t o = 0; o < div_up(p->c_out, nr) * nr; o += LANES)
        for (size_t c = 0; c < c_in; c++) {
            size_t n = o >= p->c_out ? 0 : min_size(LANES, p->c_out - o);
            wino_weights(w + (n ? o * step : 0) + c * 9, step, n, flush,
                         packed + (o / nr * WINO_POINTS * c_in + c) * nr + o % nr, c_in * nr);
        }
}

/* ---- running ----------------------------------------------------------------------------------- */

/* Distance between the 36 matrices of a block of tiles: not a multiple of a page, or their lines would
 * share a cache set. */
static size_t wino_plane(size_t tiles, size_t width) { return div_up(tiles * width, 1024) * 1024 + 16; }

void sdx_winograd_plan(const Kern *kern, ConvPlan *p)
{
    size_t nr = kern->gemm_f32_nr, tiles = wino_tiles(p), panels = div_up(p->c_out, nr);
    size_t l2 = sdx_cpu()->l2 / sizeof(float);
    /* The transformed tiles take half the second-level cache; a tile block is what the register tile likes. */
    size_t block = max_size(kern->gemm_f32_mr, l2 / 2 / WINO_POINTS / p->c_in);
    block = min_size(block, tiles);
    block = div_up(tiles, div_up(tiles, block));
    p->rows = block;
    /* Few blocks: share out the panels too, as long as each use of a transformed tile pays for making it. */
    size_t cuts = div_up(tiles, block), want = div_up(8, cuts);
    p->panels = max_size(div_up(panels, want), min_size(panels, 2));
    p->chunks = p->batch * cuts * div_up(panels, p->panels);
    p->scratch = WINO_POINTS * (wino_plane(block, p->c_in) + wino_plane(block, nr)) * sizeof(float);
}

void sdx_winograd_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t chunk, void *scratch)
{
    const ConvDim *d = p->dim;
    size_t nr = kern->gemm_f32_nr, tiles = wino_tiles(p), panels = div_up(p->c_out, nr), c_in = p->c_in;
    size_t cuts = div_up(tiles, p->rows), tile = chunk % cuts * p->rows, n = min_size(p->rows, tiles - tile);
    size_t panel_cuts = div_up(panels, p->panels), panel = chunk / cuts % panel_cuts * p->panels;
    size_t image = chunk / cuts / panel_cuts, last = min_size(panel + p->panels, panels);

    WinoInput in = {
        .x = g->x + image * p->x.n,
        .row = p->x.h,
        .pixel = p->x.w,
        .h = d[H].in,
        .w = d[W].in,
        .channels = c_in,
        .pad_h = d[H].pad,
        .pad_w = d[W].pad,
        .across = wino_across(p),
        .tile = tile,
        .tiles = n,
        .v = scratch,
        .ldv = wino_plane(p->rows, c_in),
    };
    kern->winograd_input(&in);

    float *m = in.v + WINO_POINTS * in.ldv;
    size_t ldm = wino_plane(p->rows, nr);
    const ptrdiff_t seg = 0;
    const Epilogue none = SDX_EPILOGUE_NONE;
    bool far = WINO_POINTS * c_in * p->c_out > sdx_cpu()->l2 / 8;
    for (; panel < last; panel++) {
        GemmTile t = { .lda = c_in,
                       .seg = &seg,
                       .nseg = 1,
                       .seglen = c_in,
                       .npanel = 1,
                       .first = true,
                       .last = true,
                       .ldc = nr,
                       .rows = n,
                       .cols = nr,
                       .epi = &none,
                       .cached = true,
                       .b_step = div_up(nr, div_up(n, kern->gemm_f32_mr)) };
        for (size_t i = 0; i < WINO_POINTS; i++) {
            t.a = in.v + i * in.ldv;
            t.b = g->w + (panel * WINO_POINTS + i) * c_in * nr;
            t.c = m + i * ldm;
            if (far) t.b_next = t.b + c_in * nr;
            kern->gemm_f32_tile(&t);
        }
        Epilogue epi = g->epi;
        if (epi.bias) epi.bias += panel * nr;
        if (epi.add) epi.add += image * d[H].out * d[W].out * epi.ldadd + panel * nr;
        WinoOutput out = {
            .m = m,
            .ldm = ldm,
            .pitch = nr,
            .y = g->y + image * p->y.n + panel * nr,
            .row = p->y.h,
            .pixel = p->y.w,
            .h = d[H].out,
            .w = d[W].out,
            .channels = min_size(nr, p->c_out - panel * nr),
            .across = in.across,
            .tile = tile,
            .tiles = n,
            .epi = &epi,
        };
        kern->winograd_output(&out);
    }
}
