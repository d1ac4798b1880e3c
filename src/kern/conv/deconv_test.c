#include "kern/conv/deconv.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

static float *random_floats(size_t n, uint32_t seed)
{
    float *x = malloc((n + 1) * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (float)(int32_t)seed * 0x1p-31f;
    }
    return x;
}

static bool run_case(const Kern *kern, Deconv *d)
{
    const ConvDim *m = d->dim;
    size_t in = m[0].in * m[1].in * m[2].in, out = m[0].out * m[1].out * m[2].out;
    size_t taps = m[0].kernel * m[1].kernel * m[2].kernel, cg = d->c_in / d->groups, n = d->c_out / d->groups;
    size_t ldy = d->c_out + 1;
    d->x = (ConvStrides){ in * d->c_in, m[1].in * m[2].in * d->c_in, m[2].in * d->c_in, d->c_in, 1 };
    d->y = (ConvStrides){ out * ldy, m[1].out * m[2].out * ldy, m[2].out * ldy, ldy, 1 };
    float *x = random_floats(d->batch * in * d->c_in, 1), *w = random_floats(d->c_in * n * taps, 2);
    float *bias = random_floats(d->c_out, 3), *y = malloc((d->batch * out * ldy + 1) * sizeof *y);
    for (size_t i = 0; i < d->batch * out * ldy; i++) y[i] = 1234;
    size_t total = d->batch * out * d->c_out, nfloats;
    double *want = malloc((total + 1) * sizeof *want), *mag = malloc((total + 1) * sizeof *mag);
    for (size_t i = 0; i < total; i++) want[i] = bias[i % d->c_out], mag[i] = fabs(want[i]);

    for (size_t b = 0; b < d->batch; b++)
        for (size_t p = 0; p < in; p++)
            for (size_t t = 0; t < taps; t++) {
                size_t i[3] = { p / m[2].in / m[1].in, p / m[2].in % m[1].in, p % m[2].in }, o = 0;
                size_t k[3] = { t / m[2].kernel / m[1].kernel, t / m[2].kernel % m[1].kernel, t % m[2].kernel };
                bool inside = true;
                for (int a = 0; a < 3; a++) {
                    ptrdiff_t at = (ptrdiff_t)(i[a] * m[a].stride + k[a] * m[a].dilation) - m[a].pad;
                    inside = inside && at >= 0 && at < (ptrdiff_t)m[a].out;
                    o = o * m[a].out + (size_t)at;
                }
                for (size_t c = 0; inside && c < d->c_in; c++)
                    for (size_t q = 0; q < n; q++) {
                        size_t at = (b * out + o) * d->c_out + c / cg * n + q;
                        double v = (double)x[(b * in + p) * d->c_in + c] * w[(c * n + q) * taps + t];
                        want[at] += v;
                        mag[at] += fabs(v);
                    }
            }

    CHECK(sdx_deconv_f32_pack_size(kern, d, &nfloats));
    float *packed = malloc((nfloats + 1) * sizeof *packed);
    sdx_deconv_f32_pack(kern, d, w, false, packed);
    for (size_t i = 0; i < sdx_deconv_phases(d); i++) {
        ConvPlan p;
        size_t w_offset, y_offset;
        sdx_deconv_f32_phase(kern, d, i, &p, &w_offset, &y_offset);
        ConvF32 g = { x, packed + w_offset, y + y_offset, { .alpha = 1, .beta = 1, .bias = bias } };
        void *scratch = aligned_alloc(64, (p.scratch + 127) / 64 * 64);
        for (size_t c = 0; c < p.chunks; c++) sdx_conv_f32_chunk(kern, &p, &g, c, scratch);
        free(scratch);
    }

    bool ok = true;
    for (size_t i = 0; i < d->batch * out * ldy && ok; i++) {
        size_t at = i / ldy * d->c_out + i % ldy;
        if (i % ldy == d->c_out)
            ok = y[i] == 1234;
        else
            ok = fabs(y[i] - want[at]) <= FLT_EPSILON * 1.2 * ((double)(cg * taps) + 4) * mag[at];
        if (!ok)
            sdx_harness_note("%s: batch %zu groups %zu %zu->%zu in %zux%zux%zu stride %zu %zu %zu element %zu got %.9g "
                             "want %.9g",
                             kern->name, d->batch, d->groups, d->c_in, d->c_out, m[0].in, m[1].in, m[2].in, m[0].stride,
                             m[1].stride, m[2].stride, i, y[i], want[at]);
    }
    free(x), free(w), free(bias), free(y), free(want), free(mag), free(packed);
    return ok;
}

static void many_shapes(void)
{
    const Kern *kern;
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        if ((kern = sdx_kern_at(level)) == NULL) continue;
        uint32_t state = 9;
#define PICK(n) ((state = state * 1664525u + 1013904223u) >> 8) % (n)
        for (int i = 0; i < 300; i++) {
            Deconv d = { .batch = 1 + PICK(2) };
            d.groups = PICK(3) ? 1 : 1 + PICK(20);
            bool depthwise = PICK(4) == 0;
            d.c_in = d.groups * (depthwise ? 1 : 1 + PICK(12));
            d.c_out = d.groups * (depthwise ? 1 : 1 + PICK(36));
            unsigned rank = 1 + PICK(3);
            for (unsigned j = 0; j < 3; j++) {
                d.dim[j] = SDX_CONV_NO_DIM;
                if (j < 3 - rank) continue;
                size_t in = 1 + PICK(j == 2 ? 12 : 5), k = 1 + PICK(5), s = 1 + PICK(4), dil = 1 + PICK(3);
                size_t before = PICK(3) ? 0 : PICK(k), full = (in - 1) * s + (k - 1) * dil + 1 + PICK(s),
                       after = PICK(2);
                size_t out = full > before + after ? full - before - after : 0;
                d.dim[j] = (ConvDim){ in, out, k, s, dil, (ptrdiff_t)before };
            }
            if (!CHECK(run_case(kern, &d))) return;
        }
    }
    sdx_harness_note(NULL);
}

SUITE(deconv_test) { RUN(many_shapes); }
