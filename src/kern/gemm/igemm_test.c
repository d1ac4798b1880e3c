#include "kern/gemm/igemm.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/harness.h"

static uint8_t *random_bytes(size_t n, uint32_t seed, bool extreme)
{
    uint8_t *x = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        seed = seed * 1664525u + 1013904223u;
        x[i] = (uint8_t)(seed >> 24);
        if (extreme) x[i] = (uint8_t[]){ 0, 127, 128, 255 }[x[i] & 3];
    }
    return x;
}

static int value(const uint8_t *x, size_t i, bool is_signed) { return is_signed ? (int8_t)x[i] : x[i]; }

typedef struct Case {
    size_t m, n, k;
    bool a_signed, b_signed, b_cols, extreme, zero_points, bias;
    unsigned kind;
} Case;

static bool run_case(const Kern *kern, const Case *t)
{
    size_t m = t->m, n = t->n, k = t->k, lda = k + 1, ldb = (t->b_cols ? k : n) + 1, ldc = n + 3;
    size_t size = t->kind <= SDX_IOUT_F32 ? 4 : 1, nbytes;
    uint8_t *a = random_bytes(m * lda, 1, t->extreme), *b = random_bytes((t->b_cols ? n : k) * ldb, 2, t->extreme);
    uint8_t *c = malloc(m * ldc * size + 1);
    int32_t *bias = malloc((n + 1) * 4), *zb = malloc((n + 1) * 4), *col = malloc((n + 1) * 4),
            *bz = malloc((n + 1) * 4);
    float *scale = malloc((n + 1) * 4), *fbias = malloc((n + 1) * 4);
    int32_t za = !t->zero_points ? 0 : t->a_signed ? -7 : 200;
    for (size_t j = 0; j < n; j++) {
        bias[j] = (int32_t)(j * 1000) - 5000;
        zb[j] = t->zero_points ? (int32_t)(j % 5) - (t->b_signed ? 2 : 0) : 0;
        scale[j] = 1e-4f * (float)(1 + j % 7);
        fbias[j] = (float)j * 0.25f - 3;
    }
    memset(c, 0x55, m * ldc * size);
    CHECK(sdx_igemm_pack_size(kern, k, n, &nbytes));
    void *packed = aligned_alloc(64, (nbytes + 63) / 64 * 64 + 64);
    size_t panels = (n + kern->igemm_nr - 1) / kern->igemm_nr;
    sdx_igemm_pack(kern, b, t->b_signed, ldb, t->b_cols ? SDX_MAT_COLS : SDX_MAT_ROWS, k, n, 0, panels, packed);

    IgemmPlan p = { .m = m, .n = n, .k = k, .lda = lda, .ldc = ldc, .a_signed = t->a_signed };
    p.row_sums = sdx_igemm_columns(kern, sdx_igemm_colsum(kern, packed, k, n), k, n, t->a_signed, za, t->b_signed,
                                   t->zero_points ? zb : NULL, false, t->bias ? bias : NULL, col, bz);
    IgemmOut out = { .kind = t->kind,
                     .col = col,
                     .b_zero = bz,
                     .scale = scale,
                     .epi = { .alpha = 1, .bias = fbias },
                     .zero = t->kind == SDX_IOUT_U8 ? 10 : -3,
                     .lo = t->kind == SDX_IOUT_U8 ? 10 : -128,
                     .hi = t->kind == SDX_IOUT_U8 ? 255 : 127 };
    sdx_igemm_plan(kern, &p);
    void *scratch = aligned_alloc(64, (p.scratch + 127) / 64 * 64);
    for (size_t i = p.chunks; i-- > 0;) sdx_igemm_chunk(kern, &p, a, packed, &out, c, i, scratch);

    bool ok = true;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j < ldc; j++) {
            if (j >= n) {
                for (size_t q = 0; q < size; q++) ok = ok && c[(i * ldc + j) * size + q] == 0x55;
                continue;
            }
            uint32_t sum = t->bias ? (uint32_t)bias[j] : 0;
            for (size_t q = 0; q < k; q++)
                sum += (uint32_t)((value(a, i * lda + q, t->a_signed) - za) *
                                  (value(b, t->b_cols ? j * ldb + q : q * ldb + j, t->b_signed) -
                                   (t->zero_points ? zb[j] : 0)));
            int32_t v = (int32_t)sum, got32;
            float f = (float)v * scale[j], gotf;
            double got, want;
            memcpy(&got32, c + (i * ldc + j) * size, size);
            memcpy(&gotf, c + (i * ldc + j) * size, size);
            switch (t->kind) {
            case SDX_IOUT_I32: got = got32, want = v; break;
            case SDX_IOUT_F32: got = gotf, want = f + fbias[j]; break;
            case SDX_IOUT_U8: got = c[i * ldc + j], want = fmin(fmax(rint(f) + 10, 10), 255); break;
            default: got = (int8_t)c[i * ldc + j], want = fmin(fmax(rint(f) - 3, -128), 127); break;
            }
            if (got != want && ok) {
                sdx_harness_note("%s m %zu n %zu k %zu a %d b %d cols %d zero %d kind %u: [%zu,%zu] got %.9g want %.9g",
                                 kern->name, m, n, k, t->a_signed, t->b_signed, t->b_cols, t->zero_points, t->kind, i,
                                 j, got, want);
                ok = false;
            }
        }
    free(a), free(b), free(c), free(bias), free(zb), free(col), free(bz), free(scale), free(fbias), free(packed);
    free(scratch);
    return ok;
}

#define EACH_LEVEL(kern)                                                                                               \
    const Kern *kern;                                                                                                  \
    for (unsigned level_ = 0; level_ < SDX_CPU_LEVELS; level_++)                                                       \
        if ((kern = sdx_kern_at(level_)) != NULL)

static void every_mix_is_exact(void)
{
    static const size_t sizes[][3] = { { 0, 3, 4 },      { 1, 1, 0 },    { 1, 1, 1 },    { 1, 130, 36 }, { 2, 70, 33 },
                                       { 3, 17, 5 },     { 6, 16, 8 },   { 14, 32, 64 }, { 15, 33, 65 }, { 29, 47, 18 },
                                       { 70, 100, 130 }, { 16, 33, 64 }, { 20, 32, 68 }, { 39, 34, 72 } };
    EACH_LEVEL(kern)
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        for (unsigned bits = 0; bits < 64; bits++)
            for (unsigned kind = SDX_IOUT_I32; kind <= SDX_IOUT_U8; kind++) {
                Case t = { sizes[s][0],   sizes[s][1],   sizes[s][2],   bits & 1,      bits >> 1 & 1,
                           bits >> 2 & 1, bits >> 3 & 1, bits >> 4 & 1, bits >> 5 & 1, kind };
                if (!CHECK(run_case(kern, &t))) return;
            }
    sdx_harness_note(NULL);
}

static void long_sums_are_sliced(void)
{
    EACH_LEVEL(kern)
    for (unsigned bits = 0; bits < 4; bits++) {
        Case t = { 1 + 40 * (bits >> 1), 70, 9001, bits & 1, true, false, true, true, true, SDX_IOUT_I32 };
        if (!CHECK(run_case(kern, &t))) return;
    }
    sdx_harness_note(NULL);
}

SUITE(igemm_test)
{
    RUN(every_mix_is_exact);
    RUN(long_sums_are_sliced);
}
