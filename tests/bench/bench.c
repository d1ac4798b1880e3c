/* tests/bench - how fast are the kernels, as a share of what the machine can do?
 *
 *     bench               a short run, best of few: a smoke test under ctest
 *     bench 200 [part]    milliseconds for each line; only lines that contain `part`
 *
 * Peak is a loop of independent multiply-adds on registers, timed before every line; a line whose
 * peak moved was disturbed. SDX_CPU_LEVEL lowers the level.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kern/conv/conv.h"
#include "kern/conv/iconv.h"
#include "kern/gemm/gemm.h"
#include "kern/gemm/igemm.h"
#include "tests/bench/peak.h"

/* Processor time of this thread: kernels start no others, and a busy machine then disturbs less. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double budget = 0.002;
static const char *wanted;
static const Kern *kern;

typedef void Work(void *arg);

/* Best time of one call, seconds. */
static double best_time(Work *work, void *arg)
{
    double best = 1e9, end = now() + budget;
    work(arg);
    do {
        double start = now();
        work(arg);
        double s = now() - start;
        if (s < best) best = s;
    } while (now() < end);
    return best;
}

static void report(const char *what, double flops, double bytes, Work *work, void *arg)
{
    double peak = sdx_bench_peak_f32(kern->level), s = best_time(work, arg), rate = flops * 1e-9 / s;
    printf("%-44s %10.1f us %8.1f GF/s %6.1f %% of %.0f  %6.1f GB/s\n", what, s * 1e6, rate, 100 * rate / peak, peak,
           bytes * 1e-9 / s);
    fflush(stdout);
}

static void *aligned(size_t nbytes)
{
    void *p = aligned_alloc(2 << 20, (nbytes + (2 << 20)) >> 21 << 21);
    memset(p, 0, nbytes);
    return p;
}

/* Buffers start at different places in a page: when all start at the same, stores and loads that have
 * nothing to do with each other look alike to the processor. */
static float *floats(size_t n)
{
    static unsigned turn;
    float *x = aligned((n + 1024) * sizeof *x);
    x += turn++ * 5 % 16 * 64;
    for (size_t i = 0; i < n; i++) x[i] = (float)(rand() % 1000 - 500) * 1e-3f;
    return x;
}

typedef struct GemmBench {
    GemmPlan plan;
    GemmF32 g;
    void *scratch;
} GemmBench;

static void gemm_work(void *arg)
{
    GemmBench *b = arg;
    for (size_t i = 0; i < b->plan.chunks; i++) sdx_gemm_f32_chunk(kern, &b->plan, &b->g, i, b->scratch);
}

static void bench_gemm(size_t m, size_t k, size_t n, unsigned b_form)
{
    char what[64];
    snprintf(what, sizeof what, "gemm %zux%zux%zu%s", m, k, n,
             b_form == SDX_MAT_PACKED ? ""
             : b_form == SDX_MAT_ROWS ? " b rows"
                                      : " b cols");
    if (wanted && !strstr(what, wanted)) return;
    GemmBench b = {
        .plan = { .m = m, .n = n, .k = k, .lda = k, .ldb = b_form == SDX_MAT_COLS ? k : n, .ldc = n, .b_form = b_form },
        .g.epi = SDX_EPILOGUE_NONE
    };
    size_t nfloats;
    sdx_gemm_f32_pack_size(kern, k, n, &nfloats);
    float *raw = floats(k * n), *packed = aligned(nfloats * 4 + 64), *a = floats(m * k);
    sdx_gemm_f32_pack(kern, raw, n, SDX_MAT_ROWS, k, n, 0, nfloats / k / kern->gemm_f32_nr, true, packed);
    sdx_gemm_f32_plan(kern, &b.plan);
    b.g.a = a;
    b.g.b = b_form == SDX_MAT_PACKED ? packed : raw;
    b.g.c = floats(m * n);
    b.scratch = aligned(b.plan.scratch + 64);
    report(what, 2.0 * (double)m * (double)n * (double)k, 4.0 * (double)(k * n + m * k + m * n), gemm_work, &b);
}

typedef struct IgemmBench {
    IgemmPlan plan;
    const void *a, *packed;
    IgemmOut out;
    void *c, *scratch;
} IgemmBench;

static void igemm_work(void *arg)
{
    IgemmBench *b = arg;
    for (size_t i = 0; i < b->plan.chunks; i++)
        sdx_igemm_chunk(kern, &b->plan, b->a, b->packed, &b->out, b->c, i, b->scratch);
}

/* Rates are compared with four times the f32 peak, which is what 8-bit dot products reach. */
static void bench_igemm(size_t m, size_t k, size_t n, bool a_signed, unsigned kind)
{
    char what[64];
    snprintf(what, sizeof what, "igemm %zux%zux%zu %ss8 to %s", m, k, n, a_signed ? "s8" : "u8",
             kind == SDX_IOUT_I32   ? "s32"
             : kind == SDX_IOUT_F32 ? "f32"
                                    : "u8");
    if (wanted && !strstr(what, wanted)) return;
    IgemmBench b = { .plan = { .m = m, .n = n, .k = k, .lda = k, .ldc = n, .a_signed = a_signed } };
    size_t nbytes;
    sdx_igemm_pack_size(kern, k, n, &nbytes);
    void *packed = aligned(nbytes);
    int32_t *col = aligned(n * 4 + 256);
    float *scale = floats(n);
    sdx_igemm_pack(kern, floats(k * n / 4 + 1), true, n, SDX_MAT_ROWS, k, n, 0,
                   (n + kern->igemm_nr - 1) / kern->igemm_nr, packed);
    b.out = (IgemmOut){ .kind = kind, .col = col, .scale = scale, .epi = SDX_EPILOGUE_NONE, .hi = 255 };
    b.a = floats(m * k / 4 + 1);
    b.packed = packed;
    b.c = floats(m * n);
    sdx_igemm_plan(kern, &b.plan);
    b.scratch = aligned(b.plan.scratch + 64);
    report(what, 2.0 * (double)m * (double)n * (double)k, (double)(k * n + m * k + m * n), igemm_work, &b);
}

typedef struct ConvBench {
    ConvPlan plan;
    ConvF32 g;
    void *scratch;
} ConvBench;

static void conv_work(void *arg)
{
    ConvBench *b = arg;
    for (size_t i = 0; i < b->plan.chunks; i++) sdx_conv_f32_chunk(kern, &b->plan, &b->g, i, b->scratch);
}

/* Square images, "same" padding, ReLU. */
static void bench_conv(size_t in, size_t c_in, size_t c_out, size_t kernel, size_t stride, size_t groups, bool first,
                       bool transform)
{
    char what[80];
    snprintf(what, sizeof what, "conv %zux%zu/%zu %zux%zux%zu->%zu%s%s%s", kernel, kernel, stride, in, in, c_in, c_out,
             groups == c_in ? " depthwise"
             : groups > 1   ? " grouped"
                            : "",
             first ? " from NCHW" : "", transform ? " winograd" : "");
    if (wanted && !strstr(what, wanted)) return;
    size_t out = (in + stride - 1) / stride, taps = kernel * kernel, nfloats;
    ConvDim d = { in, out, kernel, stride, 1, (ptrdiff_t)(kernel / 2) };
    ConvBench b = { .plan = { .batch = 1,
                              .groups = groups,
                              .c_in = c_in,
                              .c_out = c_out,
                              .dim = { SDX_CONV_NO_DIM, d, d },
                              .x = { in * in * c_in, in * in * c_in, in * c_in, c_in, 1 },
                              .y = { out * out * c_out, out * out * c_out, out * c_out, c_out, 1 } } };
    b.plan.may_transform = transform;
    if (transform && !strcmp(sdx_conv_f32_form(kern, &b.plan), "direct")) return;
    if (first) b.plan.x = (ConvStrides){ in * in * c_in, in * in, in, 1, in * in };
    sdx_conv_f32_weights_size(kern, &b.plan, &nfloats);
    float *w = floats(c_out * c_in / groups * taps), *packed = aligned(nfloats * 4 + 64), *x = floats(in * in * c_in);
    float *y = floats(out * out * c_out), *bias = floats(c_out);
    sdx_conv_f32_weights(kern, &b.plan, w, true, packed);
    sdx_conv_f32_plan(kern, &b.plan);
    b.scratch = aligned(b.plan.scratch + 64);
    b.g = (ConvF32){ x, packed, y, { .alpha = 1, .bias = bias, .act = SDX_ACT_RELU } };
    double macs = (double)(out * out * taps) * (double)(c_in / groups * c_out);
    report(what, 2 * macs, 4.0 * (double)(in * in * c_in + out * out * c_out) + 4.0 * (double)nfloats, conv_work, &b);
}

typedef struct IconvBench {
    ConvPlan plan;
    Iconv g;
    void *scratch;
} IconvBench;

static void iconv_work(void *arg)
{
    IconvBench *b = arg;
    for (size_t i = 0; i < b->plan.chunks; i++) sdx_iconv_chunk(kern, &b->plan, &b->g, i, b->scratch);
}

/* Square images, "same" padding, u8 to u8. */
static void bench_iconv(size_t in, size_t c_in, size_t c_out, size_t kernel, size_t stride, size_t groups)
{
    char what[64];
    snprintf(what, sizeof what, "iconv %zux%zu/%zu %zux%zux%zu->%zu%s", kernel, kernel, stride, in, in, c_in, c_out,
             groups == c_in ? " depthwise" : "");
    if (wanted && !strstr(what, wanted)) return;
    size_t out = (in + stride - 1) / stride, taps = kernel * kernel, nbytes;
    ConvDim d = { in, out, kernel, stride, 1, (ptrdiff_t)(kernel / 2) };
    IconvBench b = { .plan = { .batch = 1,
                               .groups = groups,
                               .c_in = c_in,
                               .c_out = c_out,
                               .dim = { SDX_CONV_NO_DIM, d, d },
                               .x = { in * in * c_in, in * in * c_in, in * c_in, c_in, 1 },
                               .y = { out * out * c_out, out * out * c_out, out * c_out, c_out, 1 } } };
    sdx_iconv_pack_size(kern, &b.plan, &nbytes);
    void *packed = aligned(nbytes + 64);
    sdx_iconv_pack(kern, &b.plan, floats(c_out * c_in / groups * taps / 4 + 1), true, NULL, false, packed);
    sdx_iconv_plan(kern, &b.plan, false);
    b.scratch = aligned(b.plan.scratch + 64);
    b.g = (Iconv){
        floats(in * in * c_in / 4 + 1),
        packed,
        floats(out * out * c_out / 4 + 1),
        false,
        128,
        { .kind = SDX_IOUT_U8, .col = aligned(c_out * 4 + 64), .scale = floats(c_out), .zero = 3, .hi = 255 }
    };
    double macs = (double)(out * out * taps) * (double)(c_in / groups * c_out);
    report(what, 2 * macs, (double)(in * in * c_in + out * out * c_out) + (double)nbytes, iconv_work, &b);
}

int main(int argc, char **argv)
{
    if (argc > 1) budget = atof(argv[1]) * 1e-3;
    if (argc > 2) wanted = argv[2];
    kern = sdx_kern_best();
    printf("level %s, tile %ux%u\n", kern->name, kern->gemm_f32_mr, kern->gemm_f32_nr);
    static const size_t sizes[][3] = { { 1024, 1024, 1024 }, { 512, 512, 512 },  { 200, 200, 200 }, { 128, 768, 768 },
                                       { 128, 768, 3072 },   { 128, 3072, 768 }, { 384, 768, 768 }, { 32, 384, 1536 },
                                       { 128, 384, 384 },    { 8, 768, 3072 },   { 4, 768, 768 },   { 2, 768, 768 },
                                       { 1, 768, 768 },      { 1, 768, 3072 },   { 1, 4096, 4096 }, { 1500, 64, 1500 },
                                       { 3136, 64, 256 },    { 3136, 256, 64 },  { 784, 512, 128 }, { 196, 1024, 256 },
                                       { 196, 256, 1024 },   { 49, 2048, 512 },  { 12544, 16, 96 }, { 12544, 32, 16 },
                                       { 3136, 24, 144 },    { 3136, 144, 24 },  { 784, 32, 192 },  { 196, 576, 96 },
                                       { 49, 160, 960 },     { 49, 960, 160 } };
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        bench_gemm(sizes[i][0], sizes[i][1], sizes[i][2], SDX_MAT_PACKED);
    static const size_t convs[][6] = {
        { 224, 3, 64, 7, 2, 1 },     { 224, 3, 32, 3, 2, 1 },     { 640, 3, 16, 3, 2, 1 },
        { 112, 16, 16, 3, 1, 1 },    { 56, 64, 64, 3, 1, 1 },     { 28, 128, 128, 3, 1, 1 },
        { 14, 256, 256, 3, 1, 1 },   { 7, 512, 512, 3, 1, 1 },    { 56, 128, 128, 3, 2, 1 },
        { 28, 256, 256, 3, 2, 1 },   { 14, 512, 512, 3, 2, 1 },   { 56, 64, 256, 1, 1, 1 },
        { 56, 256, 512, 1, 2, 1 },   { 28, 512, 1024, 1, 2, 1 },  { 14, 1024, 2048, 1, 2, 1 },
        { 7, 2048, 512, 1, 1, 1 },   { 7, 512, 2048, 1, 1, 1 },   { 320, 16, 32, 3, 2, 1 },
        { 160, 16, 16, 3, 1, 1 },    { 160, 32, 64, 3, 2, 1 },    { 80, 32, 32, 3, 1, 1 },
        { 80, 64, 128, 3, 2, 1 },    { 40, 64, 64, 3, 1, 1 },     { 40, 128, 256, 3, 2, 1 },
        { 20, 128, 128, 3, 1, 1 },   { 80, 64, 80, 3, 1, 1 },     { 80, 80, 80, 3, 1, 1 },
        { 112, 32, 32, 3, 1, 32 },   { 112, 96, 96, 3, 2, 96 },   { 112, 96, 96, 3, 1, 96 },
        { 56, 144, 144, 3, 1, 144 }, { 28, 192, 192, 3, 1, 192 }, { 14, 384, 384, 3, 1, 384 },
        { 14, 576, 576, 3, 1, 576 }, { 7, 960, 960, 3, 1, 960 },  { 28, 240, 240, 5, 1, 240 },
        { 14, 32, 32, 3, 1, 32 },    { 14, 64, 64, 3, 1, 64 },    { 14, 560, 560, 3, 1, 560 },
        { 56, 128, 128, 3, 1, 32 },  { 56, 20, 20, 3, 1, 1 }
    };
    for (size_t i = 0; i < sizeof convs / sizeof convs[0]; i++)
        for (int transform = 0; transform < 2; transform++)
            bench_conv(convs[i][0], convs[i][1], convs[i][2], convs[i][3], convs[i][4], convs[i][5], convs[i][1] == 3,
                       transform);
    static const size_t isizes[][3] = {
        { 1024, 1024, 1024 }, { 128, 768, 768 }, { 128, 768, 3072 }, { 128, 3072, 768 },
        { 1, 768, 3072 },     { 3136, 64, 256 }, { 784, 512, 128 },  { 12544, 32, 16 }
    };
    for (size_t i = 0; i < sizeof isizes / sizeof isizes[0]; i++)
        bench_igemm(isizes[i][0], isizes[i][1], isizes[i][2], i & 1,
                    i % 3 == 0   ? SDX_IOUT_I32
                    : i % 3 == 1 ? SDX_IOUT_F32
                                 : SDX_IOUT_U8);
    static const size_t iconvs[][6] = { { 224, 3, 64, 7, 2, 1 },    { 56, 64, 64, 3, 1, 1 },
                                        { 28, 128, 128, 3, 1, 1 },  { 14, 256, 256, 3, 1, 1 },
                                        { 7, 512, 512, 3, 1, 1 },   { 56, 64, 256, 1, 1, 1 },
                                        { 14, 1024, 256, 1, 1, 1 }, { 112, 96, 96, 3, 2, 96 },
                                        { 14, 576, 576, 3, 1, 576 } };
    for (size_t i = 0; i < sizeof iconvs / sizeof iconvs[0]; i++)
        bench_iconv(iconvs[i][0], iconvs[i][1], iconvs[i][2], iconvs[i][3], iconvs[i][4], iconvs[i][5]);
    bench_gemm(128, 64, 128, SDX_MAT_COLS);
    bench_gemm(128, 128, 64, SDX_MAT_ROWS);
    bench_gemm(1500, 64, 1500, SDX_MAT_COLS);
    bench_gemm(512, 512, 512, SDX_MAT_ROWS);
    return 0;
}
