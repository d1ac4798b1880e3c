#include "kern/conv/deconv.h"

#include <stdint.h>

/* The taps of one phase along one axis: `count` of them, the q-th is first + q*step. */
typedef struct Phase {
    ConvDim dim;
    size_t first, count;
    ptrdiff_t step;
} Phase;

static size_t min_size(size_t a, size_t b) { return a < b ? a : b; }

static size_t gcd(size_t a, size_t b)
{
    while (b) {
        size_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* Outputs r, r + stride, ... With g = gcd(dilation, stride), the taps that reach them are every
 * (stride/g)-th from t0 on, and the input index falls by dilation/g from one to the next; so the last tap
 * comes first in the phase's kernel. */
static Phase deconv_axis(const ConvDim *d, size_t r)
{
    size_t g = gcd(d->dilation, d->stride), every = d->stride / g, fall = d->dilation / g, t0 = 0;
    ptrdiff_t at = (ptrdiff_t)r + d->pad, stride = (ptrdiff_t)d->stride;
    while (t0 < every && t0 < d->kernel && (at - (ptrdiff_t)(t0 * d->dilation)) % stride != 0) t0++;
    size_t count = t0 < every && t0 < d->kernel ? (d->kernel - t0 - 1) / every + 1 : 0;
    size_t out = (d->out - r + d->stride - 1) / d->stride;
    if (count == 0) return (Phase){ .dim = { out, out, 1, 1, 1, 0 } };
    ptrdiff_t base = (at - (ptrdiff_t)(t0 * d->dilation)) / stride;
    return (Phase){
        .dim = { d->in, out, count, 1, fall, (ptrdiff_t)((count - 1) * fall) - base },
        .first = t0 + (count - 1) * every,
        .count = count,
        .step = -(ptrdiff_t)every,
    };
}

static size_t deconv_axis_phases(const ConvDim *d) { return min_size(d->stride, d->out); }

size_t sdx_deconv_phases(const Deconv *d)
{
    return deconv_axis_phases(&d->dim[0]) * deconv_axis_phases(&d->dim[1]) * deconv_axis_phases(&d->dim[2]);
}

/* The three axes of phase i, and what each lets through; false if no tap reaches it. */
static bool deconv_phase(const Deconv *d, size_t i, Phase axis[3], size_t r[3])
{
    for (int k = 2; k >= 0; k--) {
        size_t n = deconv_axis_phases(&d->dim[k]);
        r[k] = i % n;
        i /= n;
        axis[k] = deconv_axis(&d->dim[k], r[k]);
    }
    return axis[0].count && axis[1].count && axis[2].count;
}

/* Floats of the packed weights of one phase. */
static bool deconv_phase_size(const Kern *kern, const Deconv *d, size_t i, size_t *nfloats)
{
    Phase axis[3];
    size_t r[3];
    *nfloats = 0;
    if (!deconv_phase(d, i, axis, r)) return true;
    return sdx_conv_f32_pack_size(kern, d->groups, d->c_in, d->c_out, axis[0].count * axis[1].count * axis[2].count,
                                  nfloats);
}

bool sdx_deconv_f32_pack_size(const Kern *kern, const Deconv *d, size_t *nfloats)
{
    *nfloats = 0;
    for (size_t i = 0; i < sdx_deconv_phases(d); i++) {
        size_t one;
        if (!deconv_phase_size(kern, d, i, &one) || __builtin_add_overflow(*nfloats, one, nfloats)) return false;
    }
    return *nfloats <= SIZE_MAX / sizeof(float);
}

void sdx_deconv_f32_pack(const Kern *kern, const Deconv *d, const float *w, bool flush, float *packed)
{
    size_t taps = d->dim[0].kernel * d->dim[1].kernel * d->dim[2].kernel, n = d->c_out / d->groups;
    size_t step[3] = { d->dim[1].kernel * d->dim[2].kernel, d->dim[2].kernel, 1 };
    for (size_t i = 0; i < sdx_deconv_phases(d); i++) {
        Phase axis[3];
        size_t r[3], one;
        if (!deconv_phase(d, i, axis, r)) continue;
        ConvWeights part = { w, d->c_in / d->groups * n * taps, taps, n * taps, { 0, 0, 0 }, { 0, 0, 0 } };
        for (int k = 0; k < 3; k++) {
            part.w += axis[k].first * step[k];
            part.count[k] = axis[k].count;
            part.step[k] = axis[k].step * (ptrdiff_t)step[k];
        }
        sdx_conv_f32_pack_any(kern, &part, d->groups, d->c_in, d->c_out, flush, packed);
        deconv_phase_size(kern, d, i, &one);
        packed += one;
    }
}

void sdx_deconv_f32_phase(const Kern *kern, const Deconv *d, size_t i, ConvPlan *p, size_t *w_offset, size_t *y_offset)
{
    Phase axis[3];
    size_t r[3], one;
    *w_offset = 0;
    for (size_t j = 0; j < i; j++) {
        deconv_phase_size(kern, d, j, &one);
        *w_offset += one;
    }
    bool reached = deconv_phase(d, i, axis, r);
    *p = (ConvPlan){ .batch = d->batch, .groups = d->groups, .c_in = d->c_in, .c_out = d->c_out, .x = d->x, .y = d->y };
    if (!reached) {
        /* Nothing but bias and activation: a convolution without input channels. */
        p->groups = 1;
        p->c_in = 0;
        p->x.c = 1;
        for (int k = 0; k < 3; k++) axis[k].dim = (ConvDim){ axis[k].dim.out, axis[k].dim.out, 1, 1, 1, 0 };
    }
    for (int k = 0; k < 3; k++) p->dim[k] = axis[k].dim;
    *y_offset = r[0] * d->y.d + r[1] * d->y.h + r[2] * d->y.w;
    p->y.d *= d->dim[0].stride;
    p->y.h *= d->dim[1].stride;
    p->y.w *= d->dim[2].stride;
    sdx_conv_f32_plan(kern, p);
}
