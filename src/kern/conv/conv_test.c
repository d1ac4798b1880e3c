#include "kern/conv/conv.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
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

typedef struct Case {
    size_t batch, groups, c_in, c_out;
    ConvDim dim[3];
    bool channels_first, wide_x, wide_y; /* wide: pixels are further apart than their channels need */
    unsigned act;
    bool bias, add, may_transform;
} Case;

static ConvDim dim(size_t in, size_t kernel, size_t stride, size_t dilation, ptrdiff_t before, ptrdiff_t after)
{
    ptrdiff_t span = (ptrdiff_t)((kernel - 1) * dilation + 1), room = (ptrdiff_t)in + before + after - span;
    return (ConvDim){ in, room < 0 ? 0 : (size_t)room / stride + 1, kernel, stride, dilation, before };
}

static size_t pixels_in(const ConvDim *d) { return d[0].in * d[1].in * d[2].in; }
static size_t pixels_out(const ConvDim *d) { return d[0].out * d[1].out * d[2].out; }

/* The x that tap (z, y, i) of output pixel (a, b, c) looks at, or SIZE_MAX. */
static size_t source(const ConvDim *d, const size_t o[3], const size_t k[3])
{
    size_t at = 0;
    for (int i = 0; i < 3; i++) {
        ptrdiff_t x = (ptrdiff_t)(o[i] * d[i].stride + k[i] * d[i].dilation) - d[i].pad;
        if (x < 0 || x >= (ptrdiff_t)d[i].in) return SIZE_MAX;
        at = at * d[i].in + (size_t)x;
    }
    return at;
}

static bool run_case(const Kern *kern, const Case *t, float *result)
{
    const ConvDim *d = t->dim;
    size_t taps = d[0].kernel * d[1].kernel * d[2].kernel, cg = t->c_in / t->groups, n = t->c_out / t->groups;
    size_t in = pixels_in(d), out = pixels_out(d), ldx = t->c_in + (t->wide_x ? 3 : 0),
           ldy = t->c_out + (t->wide_y ? 5 : 0);
    float *x = random_floats(t->batch * in * ldx, 1), *w = random_floats(t->c_out * cg * taps, 2);
    float *bias = random_floats(t->c_out, 3), *add = random_floats(t->batch * out * (t->c_out + 1), 4);
    float *y = malloc((t->batch * out * ldy + 1) * sizeof *y);
    for (size_t i = 0; i < t->batch * out * ldy; i++) y[i] = 1234;

    ConvPlan p = {
        .batch = t->batch, .groups = t->groups, .c_in = t->c_in, .c_out = t->c_out, .may_transform = t->may_transform
    };
    memcpy(p.dim, d, sizeof p.dim);
    if (t->channels_first)
        p.x = (ConvStrides){ t->c_in * in, d[1].in * d[2].in, d[2].in, 1, in };
    else
        p.x = (ConvStrides){ in * ldx, d[1].in * d[2].in * ldx, d[2].in * ldx, ldx, 1 };
    p.y = (ConvStrides){ out * ldy, d[1].out * d[2].out * ldy, d[2].out * ldy, ldy, 1 };
    size_t nfloats;
    CHECK(sdx_conv_f32_weights_size(kern, &p, &nfloats));
    float *packed = malloc((nfloats + 1) * sizeof *packed);
    sdx_conv_f32_weights(kern, &p, w, false, packed);
    bool transformed = strcmp(sdx_conv_f32_form(kern, &p), "direct") != 0;
    sdx_conv_f32_plan(kern, &p);
    ConvF32 g = { x, packed, y, { .alpha = 1, .beta = 0.5f, .act = t->act, .p0 = -0.2f, .p1 = 0.7f } };
    if (t->bias) g.epi.bias = bias;
    if (t->add) g.epi.add = add, g.epi.ldadd = t->c_out + 1;
    void *scratch = aligned_alloc(64, (p.scratch + 127) / 64 * 64);
    for (size_t i = p.chunks; i-- > 0;) sdx_conv_f32_chunk(kern, &p, &g, i, scratch);

    bool ok = true;
    size_t o[3], k[3];
    for (size_t b = 0; b < t->batch; b++)
        for (size_t pix = 0; pix < out; pix++)
            for (size_t c = 0; c < ldy; c++) {
                float got = y[(b * out + pix) * ldy + c];
                if (c >= t->c_out) {
                    ok = ok && got == 1234;
                    continue;
                }
                o[2] = pix % d[2].out, o[1] = pix / d[2].out % d[1].out, o[0] = pix / d[2].out / d[1].out;
                double want = t->bias ? bias[c] : 0, mag = fabs(want);
                for (size_t tap = 0; tap < taps; tap++) {
                    k[2] = tap % d[2].kernel, k[1] = tap / d[2].kernel % d[1].kernel,
                    k[0] = tap / d[2].kernel / d[1].kernel;
                    size_t s = source(d, o, k);
                    if (s == SIZE_MAX) continue;
                    for (size_t q = 0; q < cg; q++) {
                        size_t ch = c / n * cg + q;
                        double v = t->channels_first ? x[(b * t->c_in + ch) * in + s] : x[(b * in + s) * ldx + ch];
                        double term = v * w[(c * cg + q) * taps + tap];
                        want += term;
                        mag += fabs(term);
                    }
                }
                if (t->add) want += 0.5 * add[(b * out + pix) * (t->c_out + 1) + c], mag += 0.5;
                if (t->act == SDX_ACT_RELU) want = fmax(want, 0);
                if (t->act == SDX_ACT_CLIP) want = fmin(fmax(want, -0.2f), 0.7f);
                if (t->act == SDX_ACT_SILU) want = want / (1 + exp(-want));
                /* Winograd's transforms amplify: allow 16 times the bound of a sum of c_in terms. */
                double terms = transformed ? 16 * (double)cg : (double)(cg * taps);
                double tol = FLT_EPSILON * (1.2 * (terms + 4) * mag + 8);
                if (!(fabs(got - want) <= tol) && ok) {
                    sdx_harness_note("%s method %u: batch %zu groups %zu %zu->%zu in %zux%zux%zu kernel %zux%zux%zu "
                                     "pixel %zu channel %zu got %.9g want %.9g",
                                     kern->name, p.method, t->batch, t->groups, t->c_in, t->c_out, d[0].in, d[1].in,
                                     d[2].in, d[0].kernel, d[1].kernel, d[2].kernel, b * out + pix, c, got, want);
                    ok = false;
                }
            }
    if (result) memcpy(result, y, out * ldy * sizeof *y);
    free(x), free(w), free(bias), free(add), free(y), free(packed), free(scratch);
    return ok;
}

#define EACH_LEVEL(kern)                                                                                               \
    const Kern *kern;                                                                                                  \
    for (unsigned level_ = 0; level_ < SDX_CPU_LEVELS; level_++)                                                       \
        if ((kern = sdx_kern_at(level_)) != NULL)

static void usual_layers(void)
{
    static const Case cases[] = {
        { 1,
          1,
          3,
          20,
          { { 1, 1, 1, 1, 1, 0 }, { 17, 9, 3, 2, 1, 1 }, { 19, 10, 3, 2, 1, 1 } },
          true,
          false,
          false,
          SDX_ACT_RELU,
          true,
          false },
        { 1,
          1,
          3,
          64,
          { { 1, 1, 1, 1, 1, 0 }, { 33, 17, 7, 2, 1, 3 }, { 30, 15, 7, 2, 1, 3 } },
          true,
          false,
          false,
          SDX_ACT_RELU,
          true,
          false },
        { 2,
          1,
          64,
          70,
          { { 1, 1, 1, 1, 1, 0 }, { 14, 14, 3, 1, 1, 1 }, { 14, 14, 3, 1, 1, 1 } },
          false,
          false,
          true,
          SDX_ACT_SILU,
          true,
          true },
        { 1,
          1,
          96,
          33,
          { { 1, 1, 1, 1, 1, 0 }, { 7, 7, 3, 1, 1, 1 }, { 7, 7, 3, 1, 1, 1 } },
          false,
          true,
          true,
          SDX_ACT_CLIP,
          true,
          true },
        { 3,
          1,
          40,
          50,
          { { 1, 1, 1, 1, 1, 0 }, { 9, 9, 1, 1, 1, 0 }, { 5, 5, 1, 1, 1, 0 } },
          false,
          true,
          true,
          SDX_ACT_NONE,
          true,
          true },
        { 2,
          1,
          40,
          50,
          { { 1, 1, 1, 1, 1, 0 }, { 9, 5, 1, 2, 1, 0 }, { 9, 5, 1, 2, 1, 0 } },
          false,
          false,
          false,
          SDX_ACT_NONE,
          false,
          true },
        { 1,
          1,
          300,
          40,
          { { 1, 1, 1, 1, 1, 0 }, { 8, 8, 3, 1, 1, 1 }, { 8, 8, 3, 1, 1, 1 } },
          false,
          false,
          false,
          SDX_ACT_RELU,
          true,
          false },
        { 1,
          1,
          1300,
          24,
          { { 1, 1, 1, 1, 1, 0 }, { 3, 3, 3, 1, 1, 1 }, { 8, 8, 1, 1, 1, 0 } },
          false,
          false,
          false,
          SDX_ACT_RELU,
          true,
          false },
        { 2,
          4,
          24,
          20,
          { { 1, 1, 1, 1, 1, 0 }, { 11, 11, 3, 1, 1, 1 }, { 13, 13, 3, 1, 1, 1 } },
          false,
          false,
          true,
          SDX_ACT_RELU,
          true,
          true },
        { 1,
          2,
          24,
          20,
          { { 1, 1, 1, 1, 1, 0 }, { 11, 9, 3, 1, 1, 0 }, { 13, 11, 3, 1, 1, 0 } },
          true,
          false,
          false,
          SDX_ACT_RELU,
          true,
          true },
    };
    EACH_LEVEL(kern)
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        if (!CHECK(run_case(kern, &cases[i], NULL))) return;
    sdx_harness_note(NULL);
}

/* Small shapes of every kind, drawn by a fixed sequence. */
static void many_shapes(void)
{
    EACH_LEVEL(kern)
    {
        uint32_t state = 5;
#define PICK(n) ((state = state * 1664525u + 1013904223u) >> 8) % (n)
        for (int i = 0; i < 500; i++) {
            Case t = { .batch = 1 + PICK(2) };
            bool depthwise = PICK(4) == 0;
            t.groups = depthwise ? 1 + PICK(70) : 1 + (PICK(3) == 0 ? PICK(4) : 0);
            t.c_in = t.groups * (depthwise ? 1 : 1 + PICK(20));
            t.c_out = t.groups * (depthwise ? 1 + (PICK(8) == 0) : 1 + PICK(40));
            unsigned rank = 1 + PICK(3);
            for (unsigned j = 0; j < 3; j++) {
                t.dim[j] = SDX_CONV_NO_DIM;
                if (j < 3 - rank) continue;
                size_t k = 1 + PICK(4), s = 1 + PICK(3), dil = 1 + (PICK(3) == 0), in = 1 + PICK(j == 2 ? 24 : 9);
                ptrdiff_t before = PICK(3) ? 0 : (ptrdiff_t)(PICK(4)) - 1,
                          after = PICK(3) ? before : (ptrdiff_t)(PICK(3));
                t.dim[j] = dim(in, k, s, dil, before, after);
            }
            t.channels_first = PICK(4) == 0;
            t.wide_x = !t.channels_first && PICK(3) == 0;
            t.wide_y = PICK(3) == 0;
            t.act = (unsigned[]){ SDX_ACT_NONE, SDX_ACT_RELU, SDX_ACT_CLIP, SDX_ACT_SILU }[PICK(4)];
            t.bias = PICK(2);
            t.add = PICK(3) == 0;
            if (!CHECK(run_case(kern, &t, NULL))) return;
        }
    }
    sdx_harness_note(NULL);
}

static void winograd_layers(void)
{
    static const size_t sizes[][5] = { { 56, 56, 64, 64, 1 }, { 14, 14, 64, 96, 1 }, { 23, 9, 32, 40, 1 },
                                       { 20, 31, 33, 50, 0 }, { 17, 18, 16, 16, 1 }, { 40, 12, 20, 17, 2 } };
    EACH_LEVEL(kern)
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned act = 0; act < 3; act++) {
            ptrdiff_t pad = (ptrdiff_t)sizes[i][4];
            Case t = { .batch = 1 + (i == 2),
                       .groups = 1,
                       .c_in = sizes[i][2],
                       .c_out = sizes[i][3],
                       .dim = { SDX_CONV_NO_DIM, dim(sizes[i][0], 3, 1, 1, pad, pad),
                                dim(sizes[i][1], 3, 1, 1, pad, pad) },
                       .wide_x = i & 1,
                       .wide_y = i & 1,
                       .bias = act > 0,
                       .add = act > 1,
                       .may_transform = true,
                       .act = (unsigned[]){ SDX_ACT_NONE, SDX_ACT_SILU, SDX_ACT_CLIP }[act] };
            if (!CHECK(run_case(kern, &t, NULL))) return;
        }
    sdx_harness_note(NULL);
}

/* The first image of a batch has the bits it has alone. */
static void bits_do_not_depend_on_batch(void)
{
    static float one[14 * 14 * 40], of_three[14 * 14 * 40];
    EACH_LEVEL(kern)
    for (int depthwise = 0; depthwise < 2; depthwise++) {
        Case t = { 1, depthwise ? 40 : 1, 40, 40, { SDX_CONV_NO_DIM, { 14, 14, 3, 1, 1, 1 }, { 14, 14, 3, 1, 1, 1 } } };
        CHECK(run_case(kern, &t, one));
        t.batch = 3;
        CHECK(run_case(kern, &t, of_three));
        CHECK_BYTES(of_three, one, sizeof one);
    }
}

SUITE(conv_test)
{
    RUN(usual_layers);
    RUN(many_shapes);
    RUN(winograd_layers);
    RUN(bits_do_not_depend_on_batch);
}
