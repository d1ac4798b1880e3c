/* ops/deformconv.c - DeformConv, two spatial axes
 *
 * A convolution whose taps are moved by offsets, read between elements (bilinear, zeros outside) and scaled by a mask.
 * The samples of one output position are gathered once and serve all its output channels; sums are formed in double. */
#include <math.h>

#include "base/size.h"
#include "ops/dims.h"
#include "ops/window.h"

typedef struct DeformAttrs {
    WindowAttrs win;
    int64_t group, offset_group;
} DeformAttrs;
static const AttrSpec deform_attrs[] = { OP_INTS(WindowAttrs, kernel_shape),
                                         OP_INTS(WindowAttrs, strides),
                                         OP_INTS(WindowAttrs, pads),
                                         OP_WINDOW_DILATIONS,
                                         OP_INT(DeformAttrs, group, 1),
                                         OP_INT(DeformAttrs, offset_group, 1),
                                         OP_ATTR_END };

static sdx_status deform_infer(Infer *c)
{
    const DeformAttrs *a = c->args;
    for (int i = 0; i < 3; i++) TRY(infer_rank_between(c, i, 4, 4, i == 0 ? "X" : i == 1 ? "W" : "offset"));
    const Shape *x = infer_shape(c, 0), *w = infer_shape(c, 1);
    if (a->group < 1 || a->offset_group < 1) return sdx_infer_fail(c, "group and offset_group have to be positive");
    Dim *y = infer_out_rank(c, 0, 4);
    if (x) y[0] = x->dims[0];
    if (w) y[1] = w->dims[0];
    if (w && infer_has(c, 3)) TRY(infer_is_vector(c, 3, w->dims[0], "B"));
    return x && w ? sdx_window_infer(c, &a->win, 2, x->dims + 2, w->dims + 2, y + 2) : SDX_OK;
}

typedef struct DeformPlan {
    Window win;
    int64_t channels, taps, columns; /* columns: channels * taps */
} DeformPlan;

static bool dims_are(const Tensor *t, int64_t n, int64_t c, int64_t h, int64_t w)
{
    return sdx_dims_equal(t->dims, t->rank, (int64_t[]){ n, c, h, w }, 4);
}

static sdx_status deform_prepare(Prepare *p)
{
    const DeformAttrs *a = p->args;
    const Tensor *x = &p->in[0]->t, *w = &p->in[1]->t;
    DeformPlan *d = sdx_arena_new(p->arena, DeformPlan);
    TRY_MEM(d, p->err);
    sdx_window_make(&d->win, &a->win, 2, x->dims + 2, w->dims + 2);
    const WinAxis *ax = d->win.ax;
    int64_t c = x->dims[1], taps = w->dims[2] * w->dims[3], moved;
    if (c % a->group || w->dims[0] % a->group || c % a->offset_group || w->dims[1] != c / a->group)
        return sdx_prepare_fail(p, SDX_INVALID_MODEL,
                                "%lld channels, W of %lld x %lld, group %lld and offset_group %lld "
                                "do not fit",
                                (long long)c, (long long)w->dims[0], (long long)w->dims[1], (long long)a->group,
                                (long long)a->offset_group);
    bool fits = sdx_mul_i64(&moved, a->offset_group, taps) && moved <= INT32_MAX &&
                dims_are(&p->in[2]->t, x->dims[0], 2 * moved, ax[0].out, ax[1].out);
    if (p->n_in > 4 && p->in[4]) fits = fits && dims_are(&p->in[4]->t, x->dims[0], moved, ax[0].out, ax[1].out);
    if (!fits) return sdx_prepare_fail(p, SDX_INVALID_MODEL, "offset or mask does not have the shape of the taps");
    size_t per_thread;
    if (!sdx_mul_i64(&d->columns, c, taps) || !sdx_dtype_nbytes(DT_DOUBLE, d->columns, &per_thread) ||
        !sdx_mul_size(&p->scratch, per_thread, (size_t)p->threads))
        return sdx_prepare_fail(p, SDX_INVALID_MODEL, "the window is too large");
    d->channels = c;
    d->taps = taps;
    p->state = d;
    return SDX_OK;
}

static double deform_at(const Tensor *x, int64_t plane, int64_t h, int64_t w, int64_t i, int64_t j)
{
    return i < 0 || j < 0 || i >= h || j >= w ? 0 : sdx_tensor_get_double(x, plane * h * w + i * w + j);
}

static double deform_sample(const Tensor *x, int64_t plane, int64_t h, int64_t w, double i, double j)
{
    if (!(i > -1 && j > -1 && i < (double)h && j < (double)w)) return 0;
    int64_t i0 = (int64_t)floor(i), j0 = (int64_t)floor(j);
    double di = i - (double)i0, dj = j - (double)j0;
    return (1 - di) * ((1 - dj) * deform_at(x, plane, h, w, i0, j0) + dj * deform_at(x, plane, h, w, i0, j0 + 1)) +
           di * ((1 - dj) * deform_at(x, plane, h, w, i0 + 1, j0) + dj * deform_at(x, plane, h, w, i0 + 1, j0 + 1));
}

typedef struct DeformJob {
    const DeformAttrs *a;
    const DeformPlan *d;
    const Tensor *x, *w, *offset, *bias, *mask;
    Tensor y;
    double *scratch;
} DeformJob;

/* The samples of position at (n, row, column): channels x taps. */
static void deform_gather(const DeformJob *j, int64_t n, int64_t row, int64_t col, double *out)
{
    const WinAxis *ax = j->d->win.ax;
    int64_t area = ax[0].out * ax[1].out, at = row * ax[1].out + col, taps = j->d->taps;
    int64_t per_group = j->d->channels / j->a->offset_group;
    for (int64_t c = 0; c < j->d->channels; c++)
        for (int64_t t = 0; t < taps; t++) {
            int64_t moved = (n * j->a->offset_group + c / per_group) * taps + t;
            double i = (double)(row * ax[0].stride - ax[0].pad0 + t / ax[1].kernel * ax[0].dilation);
            double k = (double)(col * ax[1].stride - ax[1].pad0 + t % ax[1].kernel * ax[1].dilation);
            i += sdx_tensor_get_double(j->offset, 2 * moved * area + at);
            k += sdx_tensor_get_double(j->offset, (2 * moved + 1) * area + at);
            double v = deform_sample(j->x, n * j->d->channels + c, ax[0].in, ax[1].in, i, k);
            *out++ = j->mask ? v * sdx_tensor_get_double(j->mask, moved * area + at) : v;
        }
}

static void deform_range(void *arg, int64_t from, int64_t to, int worker)
{
    DeformJob *j = arg;
    const WinAxis *ax = j->d->win.ax;
    int64_t area = ax[0].out * ax[1].out, outs = j->w->dims[0], n_sum = j->d->columns / j->a->group;
    double *col = j->scratch + worker * j->d->columns;
    for (int64_t u = from; u < to; u++) {
        int64_t n = u / area, at = u % area;
        deform_gather(j, n, at / ax[1].out, at % ax[1].out, col);
        for (int64_t o = 0; o < outs; o++) {
            const double *part = col + o / (outs / j->a->group) * n_sum;
            double sum = j->bias ? sdx_tensor_get_double(j->bias, o) : 0;
            for (int64_t k = 0; k < n_sum; k++) sum += part[k] * sdx_tensor_get_double(j->w, o * n_sum + k);
            sdx_tensor_set_double(&j->y, (n * outs + o) * area + at, sum);
        }
    }
}

static sdx_status deform_run(Run *r)
{
    const DeformPlan *d = r->state;
    const Tensor *x = &r->in[0]->t, *w = &r->in[1]->t;
    DeformJob j = { .a = r->args, .d = d, .x = x, .w = w, .offset = &r->in[2]->t, .scratch = r->scratch };
    if (r->n_in > 3 && r->in[3]) j.bias = &r->in[3]->t;
    if (r->n_in > 4 && r->in[4]) j.mask = &r->in[4]->t;
    j.y = (Tensor){ x->dtype, 4, { x->dims[0], w->dims[0], d->win.ax[0].out, d->win.ax[1].out }, NULL };
    TRY(sdx_run_output(r, 0, j.y.dtype, 4, j.y.dims, &j.y.data));
    int64_t n = x->dims[0] * d->win.ax[0].out * d->win.ax[1].out;
    if (w->dims[0]) sdx_run_range(r, n, 16, deform_range, &j);
    return SDX_OK;
}

static const OpVer deform_vers[] = { { 22, { TS_FLTB } }, { 19, { TS_FLT } }, { 0 } };

const OpDef sdx_op_DeformConv = {
    .name = "DeformConv",
    .sig = "T,T,T,T?,T?->T",
    .attrs = deform_attrs,
    .attrs_size = sizeof(DeformAttrs),
    .vers = deform_vers,
    .infer = deform_infer,
    .cpu = { deform_prepare, deform_run },
};
