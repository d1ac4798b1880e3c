/* sdx profile - time by node: a table, and a trace for chrome://tracing or Perfetto. */
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/feeds.h"
#include "cli/json.h"

static const Option profile_options[] = {
    { "runs", 'n', "N", "timed runs after one warm-up; default 10" },
    { "trace", 0, "FILE", "write the last run as a Chrome trace" },
    { "by-op", 0, NULL, "sum by operator instead of node" },
    { "top", 'k', "N", "rows shown; default 30" },
    { NULL, 0, NULL, NULL },
};

typedef struct Row {
    char *name, *op;
    int64_t ns, count;
} Row;

typedef struct Profile {
    Row *rows; /* in order of first appearance */
    size_t n, cap;
    bool by_op;
    FILE *trace; /* open during the last run */
    bool first_event;
    int64_t origin_ns, total_ns;
} Profile;

static Row *profile_row(Profile *p, const char *name, const char *op)
{
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->rows[i].op, op) == 0 && (p->by_op || strcmp(p->rows[i].name, name) == 0)) return &p->rows[i];
    if (p->n == p->cap) p->rows = cli_realloc(p->rows, (p->cap = p->cap * 2 + 64) * sizeof *p->rows);
    p->rows[p->n] = (Row){ cli_printf("%s", p->by_op ? "" : name), cli_printf("%s", op), 0, 0 };
    return &p->rows[p->n++];
}

static void put_trace(Profile *p, const sdx_node_event *e)
{
    fprintf(p->trace, "%s{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f,\"cat\":\"node\",\"name\":\"",
            p->first_event ? "" : ",\n", (double)(e->start_ns - p->origin_ns) / 1e3,
            (double)(e->end_ns - e->start_ns) / 1e3);
    for (const char *s = e->name; *s; s++)
        if (*s == '"' || *s == '\\')
            fprintf(p->trace, "\\%c", *s);
        else if ((unsigned char)*s >= 0x20)
            fputc(*s, p->trace);
    fprintf(p->trace, "\",\"args\":{\"op\":\"%s\"}}", e->op_type);
    p->first_event = false;
}

static void on_node(void *user, const sdx_node_event *e)
{
    Profile *p = user;
    Row *r = profile_row(p, e->name, e->op_type);
    r->ns += e->end_ns - e->start_ns;
    r->count++;
    if (p->trace) put_trace(p, e);
}

static int by_time(const void *a, const void *b)
{
    int64_t x = ((const Row *)a)->ns, y = ((const Row *)b)->ns;
    return x < y ? 1 : x > y ? -1 : 0;
}

static void print_profile(const Args *a, Profile *p, int64_t runs)
{
    size_t top = (size_t)args_int(a, "top", 30, 1);
    double total = (double)p->total_ns / (double)runs;
    printf("%12s %6s %8s  %-22s %s\n", "us/run", "share", "calls", "operator", p->by_op ? "" : "node");
    for (size_t i = 0; i < p->n && i < top; i++) {
        Row *r = &p->rows[i];
        double ns = (double)r->ns / (double)runs;
        printf("%12.2f %5.1f%% %8lld  %-22s %s\n", ns / 1e3, 100 * ns / total, (long long)(r->count / runs), r->op,
               r->name);
    }
    printf("%12.2f us a run with profiling, mean of %lld\n", total / 1e3, (long long)runs);
}

static void json_profile(Profile *p, int64_t runs)
{
    Json j;
    json_open(&j, stdout, "profile");
    json_int(&j, "runs", runs);
    json_number(&j, "run_us", (double)p->total_ns / (double)runs / 1e3);
    json_array(&j, "rows");
    for (size_t i = 0; i < p->n; i++) {
        json_object(&j, NULL);
        json_string(&j, "op_type", p->rows[i].op);
        json_string(&j, "name", p->rows[i].name);
        json_int(&j, "calls", p->rows[i].count / runs);
        json_number(&j, "us", (double)p->rows[i].ns / (double)runs / 1e3);
        json_end(&j, '}');
    }
    json_end(&j, ']');
    json_close(&j);
}

static sdx_status run_profiled(sdx_session *s, const FeedSet *f, Profile *p, sdx_error *err)
{
    size_t n = sdx_session_output_count(s);
    const char **names = cli_alloc(n * sizeof *names);
    sdx_value **out = cli_alloc(n * sizeof *out);
    sdx_run_options ro = SDX_RUN_OPTIONS_INIT;
    for (size_t i = 0; i < n; i++) names[i] = sdx_session_output_name(s, i), out[i] = NULL;
    if (p) ro.on_node = on_node, ro.user = p;
    int64_t start = cli_now_ns();
    if (p) p->origin_ns = start;
    sdx_status st = sdx_session_run(s, f->names, (const sdx_value *const *)f->values, f->n, names, out, n, &ro, err);
    if (p) p->total_ns += cli_now_ns() - start;
    for (size_t i = 0; i < n; i++) sdx_value_release(out[i]);
    free(out);
    free(names);
    return st;
}

static int profile_session(const Args *a, sdx_session *s)
{
    FeedSet f;
    sdx_error err = { 0 };
    int64_t runs = args_int(a, "runs", 10, 1);
    Profile p = { .by_op = args_flag(a, "by-op"), .first_event = true };
    int code = feeds_make(a, s, &f);
    if (code != EXIT_OK) return code;
    sdx_status st = run_profiled(s, &f, NULL, &err);
    for (int64_t i = 0; i < runs && st == SDX_OK; i++) {
        const char *path = i + 1 == runs ? args_value(a, "trace") : NULL;
        if (path && !(p.trace = fopen(path, "w"))) code = cli_fail(EXIT_USAGE, "%s: cannot be written", path);
        if (p.trace) fputs("[\n", p.trace);
        st = run_profiled(s, &f, &p, &err);
        if (p.trace) fputs("\n]\n", p.trace), fclose(p.trace);
    }
    feeds_free(&f);
    if (st != SDX_OK) return cli_error(a->words[0], st, &err);
    if (p.n) qsort(p.rows, p.n, sizeof *p.rows, by_time);
    if (args_flag(a, "json"))
        json_profile(&p, runs);
    else
        print_profile(a, &p, runs);
    return code;
}

static int profile_run(const Args *a)
{
    sdx_session *s;
    int code = cli_open(a, &s);
    if (code != EXIT_OK) return code;
    code = profile_session(a, s);
    sdx_session_release(s);
    return code;
}

static const Option *const profile_tables[] = { profile_options, cli_feed_options, cli_session_options, cli_json_option,
                                                NULL };

const Command cli_profile = {
    .name = "profile",
    .usage = "MODEL [--runs N] [--trace FILE]",
    .help = "Measures the time of each node.",
    .options = profile_tables,
    .min_words = 1,
    .max_words = 1,
    .run = profile_run,
};
