/* tests/soak/soak.c - what must hold over time: nothing grows, nothing spins, trim gives back, bits do not depend on
 * the number of threads. Uses the native C API and the demo's model only. */
#include "tests/harness.h"

#include <sardonyx/sardonyx.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { SIDE = 28, MAX_BATCH = 64 };

static float pixels[MAX_BATCH * SIDE * SIDE];
static const char *const in_name[] = { "image" }, *const out_name[] = { "probabilities" };

static sdx_session *open_session(int threads)
{
    sdx_session_options o;
    sdx_error err = { 0 };
    sdx_session *s = NULL;
    sdx_session_options_init(&o);
    o.threads = threads;
    if (!CHECK(sdx_session_open(SDX_TEST_DATA "/../../demo/digits.onnx", &o, &s, &err) == SDX_OK))
        fprintf(stderr, "%s\n", err.text);
    return s;
}

/* Runs `batch` pictures; the result goes to probabilities [batch][10] when not NULL. */
static bool run(sdx_session *s, int batch, float *probabilities)
{
    int64_t shape[] = { batch, 1, SIDE, SIDE };
    sdx_error err = { 0 };
    sdx_value *x = NULL, *y = NULL;
    bool ok = sdx_tensor_wrap(SDX_FLOAT, shape, 4, pixels, sizeof(float) * SIDE * SIDE * (size_t)batch, NULL, NULL, &x,
                              &err) == SDX_OK &&
              sdx_session_run(s, in_name, (const sdx_value *const *)&x, 1, out_name, &y, 1, NULL, &err) == SDX_OK;
    if (!CHECK(ok)) fprintf(stderr, "%s\n", err.text);
    if (ok && probabilities) memcpy(probabilities, sdx_value_data(y), sdx_value_nbytes(y));
    sdx_value_release(x);
    sdx_value_release(y);
    return ok;
}

static long resident_kib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL) return 0;
    if (fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

static double cpu_ms(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e3 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e3;
}

/* Sanitizers keep freed memory and threads of their own: sizes and times say nothing under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static void thousand_sessions_leave_nothing(void)
{
    long settled = 0;
    for (int i = 0; i < 1000; i++) {
        sdx_session *s = open_session(2);
        if (s == NULL || !run(s, 1, NULL)) return;
        sdx_session_release(s);
        if (i == 200) settled = resident_kib();
    }
    long grown = resident_kib() - settled;
    sdx_harness_note("grew by %ld KiB in 800 cycles", grown);
    if (!SANITIZED) CHECK(grown < 256);
}

static void threads_rest_after_a_run(void)
{
    sdx_session *s = open_session(4);
    if (s == NULL) return;
    for (int i = 0; i < 20; i++) run(s, MAX_BATCH, NULL);
    usleep(50 * 1000);
    double before = cpu_ms();
    usleep(500 * 1000);
    double used = cpu_ms() - before;
    sdx_harness_note("%.2f ms of CPU time in 500 ms of rest", used);
    if (!SANITIZED) CHECK(used < 2);
    sdx_session_release(s);
}

static void trim_gives_back_and_running_goes_on(void)
{
    float before[10], after[10];
    sdx_session *s = open_session(1);
    if (s == NULL) return;
    run(s, 1, before);
    for (int batch = 1; batch <= MAX_BATCH; batch++) run(s, batch, NULL);
    long full = resident_kib();
    sdx_session_trim(s);
    sdx_harness_note("%ld KiB resident before, %ld after", full, resident_kib());
    if (!SANITIZED) CHECK(resident_kib() <= full);
    run(s, 1, after);
    CHECK_BYTES(after, before, sizeof before);
    sdx_session_release(s);
}

static void bits_do_not_depend_on_threads_or_batch(void)
{
    static const int threads[] = { 1, 2, 3, 8 };
    static float want[MAX_BATCH * 10], got[MAX_BATCH * 10];
    for (size_t k = 0; k < sizeof threads / sizeof *threads; k++) {
        sdx_session *s = open_session(threads[k]);
        if (s == NULL) return;
        sdx_harness_note("%d threads", threads[k]);
        if (run(s, MAX_BATCH, k ? got : want) && k) CHECK_BYTES(got, want, sizeof want);
        run(s, 7, got); /* the first seven pictures by themselves */
        CHECK_BYTES(got, want, 7 * 10 * sizeof *want);
        sdx_session_release(s);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) sdx_harness_filter(argv[1]);
    srand(1);
    for (size_t i = 0; i < sizeof pixels / sizeof *pixels; i++) pixels[i] = (float)rand() / (float)RAND_MAX;
    RUN(thousand_sessions_leave_nothing);
    RUN(threads_rest_after_a_run);
    RUN(trim_gives_back_and_running_goes_on);
    RUN(bits_do_not_depend_on_threads_or_batch);
    return sdx_harness_finish();
}
