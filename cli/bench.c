/* sdx bench - latency and start-up, alone or against another library, each side in fresh processes, one at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/feeds.h"
#include "cli/json.h"
#include "cli/ort_client.h"

static const Option bench_options[] = {
    { "against", 0, "LIBRARY", "also time a library with ONNX Runtime's C ABI, in pairs: A B, B A, A B, ..." },
    { "rounds", 'r', "N", "fresh processes per side; default 5" },
    { "seconds", 0, "X", "timed section of each process; default 1" },
    { NULL, 0, NULL, NULL },
};

#define MAX_SAMPLES 20000
#define MAX_ROUNDS 99

/* What one process measured; times in milliseconds. */
typedef struct Round {
    double session, first, min, p50, p90, p99, cpu_per_wall, peak_mib;
    int64_t runs;
    int32_t ok, status;
    char text[512], version[64];
} Round;

typedef struct Side {
    const char *label, *library; /* library NULL: our own API */
    Round rounds[MAX_ROUNDS];
    int n;
} Side;

/* Either engine, ready to run. */
typedef struct Engine {
    sdx_session *session;
    sdx_binding *binding;
    OrtClient *client;
} Engine;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double sorted_at(const double *v, size_t n, double q) { return v[(size_t)(q * (double)(n - 1) + 0.5)]; }

static double ms_since(int64_t start) { return (double)(cli_now_ns() - start) * 1e-6; }

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + 1e-6 * (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static sdx_status engine_open(Engine *e, const Side *side, const Args *a, const sdx_session_options *o, FeedSet *f,
                              sdx_error *err)
{
    if (side->library) {
        e->client = ort_client_open(side->library, a->words[0], o->threads, f, err);
        return e->client ? SDX_OK : SDX_RUN_FAILED;
    }
    sdx_status st = sdx_session_open(a->words[0], o, &e->session, err);
    if (st == SDX_OK) st = sdx_binding_create(e->session, &e->binding, err);
    for (size_t i = 0; st == SDX_OK && i < f->n; i++)
        st = sdx_binding_set_input(e->binding, f->names[i], f->values[i], err);
    return st;
}

static sdx_status engine_run(Engine *e, sdx_error *err)
{
    if (e->client) return ort_client_run(e->client, err) ? SDX_OK : SDX_RUN_FAILED;
    return sdx_binding_run(e->binding, NULL, err);
}

static sdx_status time_runs(Engine *e, double seconds, Round *r, sdx_error *err)
{
    static double samples[MAX_SAMPLES];
    size_t n = 0;
    sdx_status st = SDX_OK;
    for (int64_t start = cli_now_ns(); st == SDX_OK && ms_since(start) < 100;) st = engine_run(e, err); /* warm up */
    int64_t start = cli_now_ns();
    double cpu = cpu_seconds();
    while (st == SDX_OK && n < MAX_SAMPLES && (n < 3 || ms_since(start) < seconds * 1e3)) {
        int64_t t = cli_now_ns();
        st = engine_run(e, err);
        samples[n++] = ms_since(t);
    }
    r->cpu_per_wall = (cpu_seconds() - cpu) * 1e3 / ms_since(start);
    qsort(samples, n, sizeof *samples, by_value);
    r->runs = (int64_t)n;
    r->min = samples[0];
    r->p50 = sorted_at(samples, n, 0.5);
    r->p90 = sorted_at(samples, n, 0.9);
    r->p99 = sorted_at(samples, n, 0.99);
    return st;
}

static void measure(const Side *side, const Args *a, const sdx_session_options *o, FeedSet *f, Round *r)
{
    Engine e = { 0 };
    sdx_error err = { 0 };
    int64_t start = cli_now_ns();
    sdx_status st = engine_open(&e, side, a, o, f, &err);
    r->session = ms_since(start);
    start = cli_now_ns();
    if (st == SDX_OK) st = engine_run(&e, &err);
    r->first = ms_since(start);
    if (st == SDX_OK) st = time_runs(&e, args_double(a, "seconds", 1), r, &err);
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    r->peak_mib = (double)u.ru_maxrss / 1024;
    r->ok = st == SDX_OK;
    r->status = (int32_t)st;
    snprintf(r->text, sizeof r->text, "%.500s", err.text);
    snprintf(r->version, sizeof r->version, "%.60s", e.client ? ort_client_version(e.client) : sdx_version());
}

static bool run_child(Side *side, const Args *a, const sdx_session_options *o, FeedSet *f)
{
    int fds[2];
    Round r = { .text = "the process crashed" };
    if (pipe(fds) != 0) return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        measure(side, a, o, f, &r);
        _exit(write(fds[1], &r, sizeof r) == (ssize_t)sizeof r ? 0 : 1);
    }
    close(fds[1]);
    bool told = pid > 0 && read(fds[0], &r, sizeof r) == (ssize_t)sizeof r;
    close(fds[0]);
    if (pid > 0) waitpid(pid, NULL, 0);
    side->rounds[side->n++] = r;
    return told && r.ok;
}

static double median_of(const Side *s, size_t offset)
{
    double v[MAX_ROUNDS];
    for (int i = 0; i < s->n; i++) memcpy(&v[i], (const char *)&s->rounds[i] + offset, sizeof v[i]);
    qsort(v, (size_t)s->n, sizeof *v, by_value);
    return s->n % 2 ? v[s->n / 2] : (v[s->n / 2 - 1] + v[s->n / 2]) / 2;
}
#define MEDIAN(side, field) median_of((side), offsetof(Round, field))

static double paired_ratio(const Side *a, const Side *b, double *low, double *high)
{
    double v[MAX_ROUNDS];
    int n = a->n < b->n ? a->n : b->n;
    for (int i = 0; i < n; i++) v[i] = b->rounds[i].p50 / a->rounds[i].p50;
    qsort(v, (size_t)n, sizeof *v, by_value);
    *low = v[0];
    *high = v[n - 1];
    return sorted_at(v, (size_t)n, 0.5);
}

static void print_side(const Side *s)
{
    printf("%-10s %9.4f %9.4f %9.4f %9.4f %9.2f %9.2f %8.1f %8.2f  %s\n", s->label, MEDIAN(s, min), MEDIAN(s, p50),
           MEDIAN(s, p90), MEDIAN(s, p99), MEDIAN(s, session), MEDIAN(s, first), MEDIAN(s, peak_mib),
           MEDIAN(s, cpu_per_wall), s->rounds[0].version);
}

static void json_side(Json *j, const Side *s)
{
    json_object(j, NULL);
    json_string(j, "label", s->label);
    json_string(j, "version", s->rounds[0].version);
    json_number(j, "min_ms", MEDIAN(s, min));
    json_number(j, "p50_ms", MEDIAN(s, p50));
    json_number(j, "p90_ms", MEDIAN(s, p90));
    json_number(j, "p99_ms", MEDIAN(s, p99));
    json_number(j, "session_ms", MEDIAN(s, session));
    json_number(j, "first_run_ms", MEDIAN(s, first));
    json_number(j, "peak_mib", MEDIAN(s, peak_mib));
    json_number(j, "cpu_per_wall", MEDIAN(s, cpu_per_wall));
    json_end(j, '}');
}

static void report(const Args *a, const Side *sides, int n)
{
    double low = 0, high = 0, ratio = n > 1 ? paired_ratio(&sides[0], &sides[1], &low, &high) : 0;
    if (args_flag(a, "json")) {
        Json j;
        json_open(&j, stdout, "bench");
        json_array(&j, "sides");
        for (int i = 0; i < n; i++) json_side(&j, &sides[i]);
        json_end(&j, ']');
        if (n > 1)
            json_number(&j, "speedup", ratio), json_number(&j, "speedup_low", low),
                json_number(&j, "speedup_high", high);
        json_close(&j);
        return;
    }
    printf("%-10s %9s %9s %9s %9s %9s %9s %8s %8s\n", "ms", "min", "p50", "p90", "p99", "session", "first", "peakMiB",
           "cpu/wall");
    for (int i = 0; i < n; i++) print_side(&sides[i]);
    if (n > 1) printf("speed relative to the other: %.3f  (rounds %.3f - %.3f)\n", ratio, low, high);
}

/* Inputs are made before the processes start; the session that tells their types is gone by then. */
static int make_feeds(const Args *a, const sdx_session_options *o, FeedSet *f)
{
    sdx_session_options plain = *o;
    sdx_session *s;
    sdx_error err = { 0 };
    plain.level = SDX_LEVEL_NONE;
    plain.threads = 1;
    sdx_status st = sdx_session_open(a->words[0], &plain, &s, &err);
    if (st != SDX_OK) return cli_error(a->words[0], st, &err);
    int code = feeds_make(a, s, f);
    for (size_t i = 0; code == EXIT_OK && i < f->n; i++) f->names[i] = cli_printf("%s", f->names[i]);
    sdx_session_release(s);
    return code;
}

static int bench_run(const Args *a)
{
    static Side sides[2];
    FeedSet f;
    sdx_session_options o;
    int64_t rounds = args_int(a, "rounds", 5, 1);
    int code = cli_options(a, &o);
    if (code == EXIT_OK && rounds > MAX_ROUNDS) code = cli_fail(EXIT_USAGE, "--rounds: at most %d", MAX_ROUNDS);
    if (!args_value(a, "threads")) o.threads = 1;
    if (code == EXIT_OK) code = make_feeds(a, &o, &f);
    if (code != EXIT_OK) return code;
    sides[0].label = "sardonyx";
    sides[1].label = "other";
    sides[1].library = args_value(a, "against");
    int n = sides[1].library ? 2 : 1;
    bool progress = cli_is_terminal(stderr);
    for (int64_t r = 0; r < rounds; r++) {
        for (int k = 0; k < n; k++) {
            Side *side = &sides[r % 2 ? n - 1 - k : k];
            if (progress) fprintf(stderr, "\rround %lld of %lld", (long long)r + 1, (long long)rounds);
            if (run_child(side, a, &o, &f)) continue;
            const Round *bad = &side->rounds[side->n - 1];
            return cli_fail(cli_exit_code((sdx_status)bad->status) ? cli_exit_code((sdx_status)bad->status)
                                                                   : EXIT_INTERNAL,
                            "%s: %s", side->label, bad->text);
        }
    }
    if (progress) fprintf(stderr, "\r                    \r");
    report(a, sides, n);
    return EXIT_OK;
}

static const Option *const bench_tables[] = { bench_options, cli_feed_options, cli_session_options, cli_json_option,
                                              NULL };

const Command cli_bench = {
    .name = "bench",
    .usage = "MODEL [--against LIBRARY] [options]",
    .help = "Measures start-up and latency; one thread unless --threads says otherwise.",
    .options = bench_tables,
    .min_words = 1,
    .max_words = 1,
    .run = bench_run,
};
