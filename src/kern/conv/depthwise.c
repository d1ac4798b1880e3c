#include "kern/conv/depthwise.h"

#include "kern/conv/conv.h"

enum { D, H, W };

/* Multiply-adds that make a chunk worth handing out: some ten microseconds. */
enum { DEPTHWISE_CHUNK = 1 << 19 };

static size_t div_up(size_t a, size_t b) { return (a + b - 1) / b; }
static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }
static size_t max_size(size_t a, size_t b) { return a > b ? a : b; }

/* Floats of the channels-last copy of the image rows of a chunk, in whole cache lines; none when the
 * image is that already. */
static size_t depthwise_copied(const ConvPlan *p)
{
    return p->x.c == 1 ? 0 : div_up(p->dim[D].kernel * p->strip_h * p->dim[W].in * p->c_in, 16) * 16;
}

void sdx_depthwise_f32_plan(const Kern *kern, ConvPlan *p)
{
    const ConvDim *d = p->dim;
    size_t taps = d[D].kernel * d[H].kernel * d[W].kernel;
    size_t rows = max_size(1, DEPTHWISE_CHUNK / max_size(1, d[W].out * p->c_out * taps));
    /* Rows at the seam of two chunks are read twice. */
    rows = min_size(max_size(rows, d[H].kernel), d[H].out);
    p->rows = div_up(d[H].out, div_up(d[H].out, rows));
    p->strip_h = (p->rows - 1) * d[H].stride + (d[H].kernel - 1) * d[H].dilation + 1;
    p->lda = p->x.c == 1 ? p->x.w : p->c_in;
    p->chunks = p->batch * d[D].out * div_up(d[H].out, p->rows);
    p->scratch = depthwise_copied(p) * sizeof(float) + p->rows * d[D].kernel * d[H].kernel * sizeof(float *);
    (void)kern;
}

void sdx_depthwise_f32_chunk(const Kern *kern, const ConvPlan *p, const ConvF32 *g, size_t chunk, void *scratch)
{
    const ConvDim *d = p->dim;
    size_t row_cuts = div_up(d[H].out, p->rows);
    size_t oh = chunk % row_cuts * p->rows, od = chunk / row_cuts % d[D].out, image = chunk / row_cuts / d[D].out;
    size_t rows = min_size(p->rows, d[H].out - oh), lines = d[D].kernel * d[H].kernel;
    const float *x = g->x + image * p->x.n;
    const float **table = scratch; /* first: the lines copied after it need less alignment */
    float *copy = (float *)(table + p->rows * d[D].kernel * d[H].kernel);
    ptrdiff_t h0 = (ptrdiff_t)(oh * d[H].stride) - d[H].pad;

    for (size_t z = 0; z < d[D].kernel; z++) {
        ptrdiff_t id = (ptrdiff_t)(od * d[D].stride + z * d[D].dilation) - d[D].pad;
        bool inside = id >= 0 && id < (ptrdiff_t)d[D].in;
        float *plane = copy + z * p->strip_h * d[W].in * p->c_in;
        for (size_t i = 0; p->x.c != 1 && inside && i < p->strip_h; i++) {
            ptrdiff_t ih = h0 + (ptrdiff_t)i;
            if (ih < 0 || ih >= (ptrdiff_t)d[H].in) continue;
            kern->transpose_32(plane + i * d[W].in * p->c_in, p->c_in, x + (size_t)id * p->x.d + (size_t)ih * p->x.h,
                               p->x.c, p->c_in, d[W].in);
        }
        for (size_t r = 0; r < rows; r++)
            for (size_t y = 0; y < d[H].kernel; y++) {
                size_t i = r * d[H].stride + y * d[H].dilation;
                ptrdiff_t ih = h0 + (ptrdiff_t)i;
                const float *line = NULL;
                if (inside && ih >= 0 && ih < (ptrdiff_t)d[H].in)
                    line = p->x.c != 1 ? plane + i * d[W].in * p->c_in : x + (size_t)id * p->x.d + (size_t)ih * p->x.h;
                table[r * lines + z * d[H].kernel + y] = line;
            }
    }

    Epilogue epi = g->epi;
    if (epi.add) epi.add += ((image * d[D].out + od) * d[H].out + oh) * d[W].out * epi.ldadd;
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
        .ldx = p->lda,
        .ldy = p->y.w,
        .ldrow = p->y.h,
        .channels = p->c_in,
        .y = g->y + image * p->y.n + od * p->y.d + oh * p->y.h,
        .epi = &epi,
    };
    kern->depthwise_f32(&work);
}
