#include "kern/conv/iconv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

static uint8_t *random_bytes(size_t n, uint32_t seed)
{
    uint8_t *x = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (uint8_t)(seed >> 24);
    }
    return x;
}

typedef struct Case {
    size_t batch, groups, c_in, c_out;
    ConvDim dim[3];
    bool channels_first, wide_x, x_signed, w_signed;
    unsigned kind;
} Case;

static bool run_case(const Kern *kern, const Case *t)
{
    const ConvDim *d = t->dim;
    size_t taps = d[0].kernel * d[1].kernel * d[2].kernel, cg = t->c_in / t->groups, n = t->c_out / t->groups;
    size_t in = d[0].in * d[1].in * d[2].in, out = d[0].out * d[1].out * d[2].out;
    size_t ldx = t->c_in + (t->wide_x ? 3 : 0), ldy = t->c_out + 1, size = t->kind <= SDX_IOUT_F32 ? 4 : 1, nbytes;
    uint8_t *x = random_bytes(t->batch * in * ldx, 1), *w = random_bytes(t->c_out * cg * taps, 2);
    uint8_t *y = malloc(t->batch * out * ldy * size + 1);
    int32_t *bias = malloc(t->c_out * 4), *col = malloc(t->c_out * 4), zw = t->w_signed ? 0 : 128;
    int32_t zx = t->x_signed ? -5 : 131;
    float *scale = malloc(t->c_out * 4);
    for (size_t c = 0; c < t->c_out; c++) bias[c] = (int32_t)c * 777 - 9999, scale[c] = 2e-4f * (float)(1 + c % 5);
    memset(y, 0x55, t->batch * out * ldy * size);

    ConvPlan p = { .batch = t->batch, .groups = t->groups, .c_in = t->c_in, .c_out = t->c_out };
    memcpy(p.dim, d, sizeof p.dim);
    if (t->channels_first)
        p.x = (ConvStrides){ t->c_in * in, d[1].in * d[2].in, d[2].in, 1, in };
    else
        p.x = (ConvStrides){ in * ldx, d[1].in * d[2].in * ldx, d[2].in * ldx, ldx, 1 };
    p.y = (ConvStrides){ out * ldy, d[1].out * d[2].out * ldy, d[2].out * ldy, ldy, 1 };
    CHECK(sdx_iconv_pack_size(kern, &p, &nbytes));
    void *packed = aligned_alloc(64, nbytes / 64 * 64 + 64);
    sdx_iconv_pack(kern, &p, w, t->w_signed, &zw, true, packed);
    sdx_iconv_columns(kern, &p, packed, t->x_signed, zx, bias, col);
    sdx_iconv_plan(kern, &p, t->x_signed);
    Iconv g = { x,
                packed,
                y,
                t->x_signed,
                zx,
                { .kind = t->kind,
                  .col = col,
                  .scale = scale,
                  .epi = SDX_EPILOGUE_NONE,
                  .zero = t->kind == SDX_IOUT_U8 ? 7 : -4,
                  .lo = t->kind == SDX_IOUT_U8 ? 0 : -128,
                  .hi = t->kind == SDX_IOUT_U8 ? 255 : 127 } };
    void *scratch = aligned_alloc(64, p.scratch / 64 * 64 + 64);
    for (size_t i = p.chunks; i-- > 0;) sdx_iconv_chunk(kern, &p, &g, i, scratch);

    bool ok = true;
    for (size_t b = 0; b < t->batch; b++)
        for (size_t pix = 0; pix < out; pix++)
            for (size_t c = 0; c < ldy; c++) {
                const uint8_t *at = y + ((b * out + pix) * ldy + c) * size;
                if (c >= t->c_out) {
                    for (size_t q = 0; q < size; q++) ok = ok && at[q] == 0x55;
                    continue;
                }
                size_t o[3] = { pix / d[2].out / d[1].out, pix / d[2].out % d[1].out, pix % d[2].out };
                uint32_t sum = (uint32_t)bias[c];
                for (size_t tap = 0; tap < taps; tap++) {
                    size_t k[3] = { tap / d[2].kernel / d[1].kernel, tap / d[2].kernel % d[1].kernel,
                                    tap % d[2].kernel };
                    size_t s = 0;
                    bool inside = true;
                    for (int i = 0; i < 3; i++) {
                        ptrdiff_t v = (ptrdiff_t)(o[i] * d[i].stride + k[i] * d[i].dilation) - d[i].pad;
                        inside = inside && v >= 0 && v < (ptrdiff_t)d[i].in;
                        s = s * d[i].in + (size_t)v;
                    }
                    for (size_t q = 0; inside && q < cg; q++) {
                        size_t ch = c / n * cg + q;
                        uint8_t xv = t->channels_first ? x[(b * t->c_in + ch) * in + s] : x[(b * in + s) * ldx + ch];
                        uint8_t wv = w[(c * cg + q) * taps + tap];
                        sum += (uint32_t)(((t->x_signed ? (int8_t)xv : xv) - zx) *
                                          ((t->w_signed ? (int8_t)wv : wv) - zw));
                    }
                }
                int32_t v = (int32_t)sum, got32;
                float f = (float)v * scale[c], gotf;
                memcpy(&got32, at, size);
                memcpy(&gotf, at, size);
                double got, want;
                switch (t->kind) {
                case SDX_IOUT_I32: got = got32, want = v; break;
                case SDX_IOUT_F32: got = gotf, want = f; break;
                case SDX_IOUT_U8: got = *at, want = fmin(fmax(rint(f) + 7, 0), 255); break;
                default: got = (int8_t)*at, want = fmin(fmax(rint(f) - 4, -128), 127); break;
                }
                if (got != want && ok) {
                    sdx_harness_note(
                        "%s method %u: batch %zu groups %zu %zu->%zu in %zux%zux%zu kernel %zux%zux%zu kind %u "
                        "pixel %zu channel %zu got %.9g want %.9g",
                        kern->name, p.method, t->batch, t->groups, t->c_in, t->c_out, d[0].in, d[1].in, d[2].in,
                        d[0].kernel, d[1].kernel, d[2].kernel, t->kind, pix, c, got, want);
                    ok = false;
                }
            }
    free(x), free(w), free(y), free(bias), free(col), free(scale), free(packed), free(scratch);
    return ok;
}

static void many_shapes_are_exact(void)
{
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        const Kern *kern = sdx_kern_at(level);
        if (!kern) continue;
        uint32_t state = 3;
#define PICK(n) ((state = state * 1664525u + 1013904223u) >> 8) % (n)
        for (int i = 0; i < 500; i++) {
            Case t = { .batch = 1 + PICK(2) };
            bool depthwise = PICK(4) == 0;
            t.groups = depthwise ? 1 + PICK(70) : 1 + PICK(4);
            t.c_in = t.groups * (depthwise ? 1 : 1 + PICK(20));
            t.c_out = t.groups * (depthwise ? 1 : 1 + PICK(40));
            unsigned rank = 1 + PICK(3);
            for (unsigned j = 0; j < 3; j++) {
                t.dim[j] = SDX_CONV_NO_DIM;
                if (j < 3 - rank) continue;
                size_t k = 1 + PICK(4), s = 1 + PICK(3), dil = 1 + PICK(2), in = 1 + PICK(j == 2 ? 24 : 9);
                ptrdiff_t before = (ptrdiff_t)(PICK(4)) - 1, after = PICK(3);
                ptrdiff_t room = (ptrdiff_t)in + before + after - (ptrdiff_t)((k - 1) * dil + 1);
                t.dim[j] = (ConvDim){ in, room < 0 ? 0 : (size_t)room / s + 1, k, s, dil, before };
            }
            t.channels_first = PICK(4) == 0;
            t.wide_x = !t.channels_first && PICK(3) == 0;
            t.x_signed = PICK(2);
            t.w_signed = PICK(2);
            t.kind = PICK(4);
            if (!CHECK(run_case(kern, &t))) return;
        }
    }
    sdx_harness_note(NULL);
}

SUITE(iconv_test) { RUN(many_shapes_are_exact); }
