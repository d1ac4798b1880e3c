#include "kern/conv/depthwise.h"

#include "kern/conv/conv_walk.h"

/* Multiply-adds that make a chunk worth handing out: some ten microseconds. */
enum { DEPTHWISE_CHUNK = 1 << 19 };

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Input channels of a group: so many lines for each row of the kernel. */
static size_t depthwise_per(const ConvPlan *p) { return p->c_in / p->groups; }

static bool depthwise_copies(const ConvPlan *p)
{
    return p->x.c != 1 || !sdx_conv_is_depthwise(p->groups, p->c_in, p->c_out);
}

/* Floats of an image row in the form the kernel reads: for each input channel of the groups, a row with one
 * value for every output channel. */
static size_t depthwise_line(const ConvPlan *p) { return p->dim[W].in * p->c_out; }

static size_t depthwise_copied(const ConvPlan *p)
{
    return depthwise_copies(p) ? p->dim[D].kernel * p->strip_h * depthwise_per(p) * depthwise_line(p) : 0;
}

static size_t depthwise_table(const ConvPlan *p)
{
    return div_up(p->rows * p->dim[D].kernel * p->dim[H].kernel * depthwise_per(p) * sizeof(float *), 64) * 64;
}

void sdx_depthwise_f32_plan(const Kern *kern, ConvPlan *p)
{
    const ConvDim *d = p->dim;
    size_t taps = d[D].kernel * d[H].kernel * d[W].kernel * depthwise_per(p);
    size_t rows = max_size(1, DEPTHWISE_CHUNK / max_size(1, d[W].out * p->c_out * taps));
    /* Rows at the seam of two chunks are read twice. */
    rows = min_size(max_size(rows, d[H].kernel), d[H].out);
    p->rows = div_up(d[H].out, div_up(d[H].out, rows));
    p->strip_h = (p->rows - 1) * d[H].stride + (d[H].kernel - 1) * d[H].dilation + 1;
    p->lda = depthwise_copies(p) ? p->c_out : p->x.w;
    p->chunks = p->batch * d[D].out * div_up(d[H].out, p->rows);
    p->scratch = depthwise_table(p) + depthwise_copied(p) * sizeof(float);
    (void)kern;
}

/* Each value of x to the n outputs of its group. A constant n makes stores of vectors. */
#define SPREAD(n)                                                                                                      \
    for (size_t g = 0; g < groups; g++, x += step, y += n) {                                                           \
        float v = *x;                                                                                                  \
        for (size_t j = 0; j < n; j++) y[j] = v;                                                                       \
    }
static void spread(const float *x, size_t step, size_t groups, size_t n, float *y)
{
    if (n == 1)
        SPREAD(1)
    else if (n == 2)
        SPREAD(2)
    else if (n == 4)
        SPREAD(4)
    else
        SPREAD(n)
}

/* One image row in the form the kernel reads. */
static void depthwise_copy_row(const Kern *kern, const ConvPlan *p, const float *x, float *to)
{
    size_t per = depthwise_per(p), n = p->c_out / p->groups, w = p->dim[W].in;
    if (per * n == 1) {
        kern->transpose_32(to, p->c_in, x, p->x.c, p->c_in, w);
        return;
    }
    for (size_t q = 0; q < per; q++)
        for (size_t i = 0; i < w; i++, to += p->c_out)
            spread(x + i * p->x.w + q * p->x.c, per * p->x.c, p->groups, n, to);
}

void sdx_depthwise_f32_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t chunk, void *scratch)
{
    const ConvDim *d = p->dim;
    size_t row_cuts = div_up(d[H].out, p->rows);
    size_t oh = chunk % row_cuts * p->rows, od = chunk / row_cuts % d[D].out, image = chunk / row_cuts / d[D].out;
    size_t rows = min_size(p->rows, d[H].out - oh), per = depthwise_per(p), lines = d[D].kernel * d[H].kernel * per;
    bool copies = depthwise_copies(p);
    const float *x = g->x + image * p->x.n;
    const float **table = scratch;
    float *copy = (float *)(void *)((char *)scratch + depthwise_table(p));
    size_t row_floats = per * depthwise_line(p);
    ptrdiff_t h0 = (ptrdiff_t)(oh * d[H].stride) - d[H].pad;

    for (size_t z = 0; z < d[D].kernel; z++) {
        ptrdiff_t id = (ptrdiff_t)(od * d[D].stride + z * d[D].dilation) - d[D].pad;
        bool inside = id >= 0 && id < (ptrdiff_t)d[D].in;
        float *plane = copy + z * p->strip_h * row_floats;
        for (size_t i = 0; copies && inside && i < p->strip_h; i++) {
            ptrdiff_t ih = h0 + (ptrdiff_t)i;
            if (ih < 0 || ih >= (ptrdiff_t)d[H].in) continue;
            depthwise_copy_row(kern, p, x + (size_t)id * p->x.d + (size_t)ih * p->x.h, plane + i * row_floats);
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t y = 0; y < d[H].kernel; y++) {
                size_t i = r * d[H].stride + y * d[H].dilation;
                ptrdiff_t ih = h0 + (ptrdiff_t)i;
                const float **line = table + r * lines + (z * d[H].kernel + y) * per;
                for (size_t q = 0; q < per; q++) {
                    line[q] = NULL;
                    if (!inside || ih < 0 || ih >= (ptrdiff_t)d[H].in) continue;
                    line[q] = copies ? plane + i * row_floats + q * depthwise_line(p)
                                     : x + (size_t)id * p->x.d + (size_t)ih * p->x.h;
                }
            }
    }

    Epilogue epi = g->epi;
    if (epi.add) epi.add += ((image * d[D].out + od) * d[H].out + oh) * d[W].out * epi.ldadd;
    Depthwise work = {
        .x = table,
        .rows = rows,
        .lines = lines,
        .w = g->w,
        .ldw = p->c_out,
        .kernel = d[W].kernel,
        .stride = d[W].stride,
        .dilation = d[W].dilation,
        .pad = d[W].pad,
        .in = d[W].in,
        .out = d[W].out,
        .ldx = p->lda,
        .ldy = p->y.w,
        .ldrow = p->y.h,
        .channels = p->c_out,
        .y = g->y + image * p->y.n + od * p->y.d + oh * p->y.h,
        .epi = &epi,
    };
    kern->depthwise_f32(&work);
}
