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

#include "kern/gemm/gemm.h"
#include "tests/bench/peak.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
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

static float *floats(size_t n)
{
    float *x = aligned((n + 64) * sizeof *x);
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
    free(raw), free(packed), free(a), free(b.g.c), free(b.scratch);
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
    bench_gemm(128, 64, 128, SDX_MAT_COLS);
    bench_gemm(128, 128, 64, SDX_MAT_ROWS);
    bench_gemm(1500, 64, 1500, SDX_MAT_COLS);
    bench_gemm(512, 512, 512, SDX_MAT_ROWS);
    return 0;
}
