/* sdx run - run a model once and show or save what comes out. */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/feeds.h"
#include "cli/json.h"
#include "cli/npy.h"

static const Option run_options[] = {
    { "output", 'o', "DIR", "write each output to DIR/NAME.npy" },
    { "top", 'k', "N", "print the N largest elements of each output instead of statistics" },
    { "labels", 0, "FILE", "names for --top, one a line" },
    { NULL, 0, NULL, NULL },
};

typedef struct Stats {
    double min, max, mean;
    int64_t n, nan, argmax;
} Stats;

static Stats value_stats(const sdx_value *v)
{
    Stats s = { .min = INFINITY, .max = -INFINITY };
    double sum = 0;
    for (int64_t i = 0; i < sdx_value_count(v); i++) {
        double x = sdx_value_get(v, i);
        if (isnan(x)) {
            s.nan++;
            continue;
        }
        if (x > s.max) s.argmax = i;
        s.max = fmax(s.max, x);
        s.min = fmin(s.min, x);
        sum += x;
        s.n++;
    }
    s.mean = s.n ? sum / (double)s.n : 0;
    return s;
}

static char *shape_text(const sdx_value *v)
{
    char text[512] = "";
    for (int i = 0; i < sdx_value_rank(v); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i ? "," : "",
                 (long long)sdx_value_dims(v)[i]);
    return cli_printf("%s[%s]", sdx_dtype_text(sdx_value_dtype(v)), text);
}

static void print_elements(const sdx_value *v)
{
    int64_t n = sdx_value_count(v), shown = n < 8 ? n : 8;
    for (int64_t i = 0; i < shown; i++) {
        const char *text;
        size_t len;
        if (sdx_value_string(v, i, &text, &len, NULL) == SDX_OK)
            printf(" \"%.*s\"", (int)len, text);
        else
            printf(" %.6g", sdx_value_get(v, i));
    }
    printf(n > shown ? " ...\n" : "\n");
}

static const char **read_labels(const char *path, size_t *n)
{
    sdx_error err = { 0 };
    size_t nbytes;
    *n = 0;
    char *text = path ? cli_read_file(path, &nbytes, &err) : NULL, *save;
    if (path && !text) cli_fail(0, "%s", err.text);
    const char **labels = NULL;
    for (char *line = text ? strtok_r(text, "\n", &save) : NULL; line; line = strtok_r(NULL, "\n", &save)) {
        labels = cli_realloc(labels, (*n + 1) * sizeof *labels);
        labels[(*n)++] = line;
    }
    return labels;
}

static void print_top(const sdx_value *v, int64_t k, const char **labels, size_t n_labels)
{
    int64_t n = sdx_value_count(v);
    bool *taken = calloc((size_t)n + 1, 1);
    for (int64_t round = 0; taken && round < k && round < n; round++) {
        int64_t best = -1;
        for (int64_t i = 0; i < n; i++)
            if (!taken[i] && (best < 0 || sdx_value_get(v, i) > sdx_value_get(v, best))) best = i;
        taken[best] = true;
        printf("    %8.5f  %lld%s%s\n", sdx_value_get(v, best), (long long)best, (size_t)best < n_labels ? "  " : "",
               (size_t)best < n_labels ? labels[best] : "");
    }
    free(taken);
}

static void print_value(const Args *a, const char *name, const sdx_value *v)
{
    int64_t k = args_int(a, "top", 0, 0);
    if (sdx_value_kind(v) == SDX_SEQUENCE) {
        printf("%s: sequence of %lld\n", name, (long long)sdx_sequence_count(v));
        for (int64_t i = 0; i < sdx_sequence_count(v) && i < 8; i++) {
            sdx_value *item;
            if (sdx_sequence_get(v, i, &item, NULL) != SDX_OK) continue;
            char *label = cli_printf("  [%lld]", (long long)i);
            print_value(a, label, item);
            free(label);
            sdx_value_release(item);
        }
        return;
    }
    if (sdx_value_kind(v) == SDX_MAP) {
        sdx_value *keys = NULL, *values = NULL;
        printf("%s: map\n", name);
        if (sdx_map_keys(v, &keys, NULL) == SDX_OK) print_value(a, "  keys", keys);
        if (sdx_map_values(v, &values, NULL) == SDX_OK) print_value(a, "  values", values);
        sdx_value_release(keys);
        sdx_value_release(values);
        return;
    }
    if (sdx_value_kind(v) != SDX_TENSOR) {
        printf("%s: nothing\n", name);
        return;
    }
    char *shape = shape_text(v);
    printf("%s: %s", name, shape);
    free(shape);
    if (sdx_value_dtype(v) != SDX_STRING && sdx_value_count(v) > 8) {
        Stats s = value_stats(v);
        printf("  min %.6g  max %.6g (at %lld)  mean %.6g%s\n   ", s.min, s.max, (long long)s.argmax, s.mean,
               s.nan ? "  has NaN" : "");
    }
    if (k) {
        size_t n_labels;
        const char **labels = read_labels(args_value(a, "labels"), &n_labels);
        printf("\n");
        print_top(v, k, labels, n_labels);
        free(labels);
    } else {
        print_elements(v);
    }
}

static void json_value(Json *j, const char *name, const sdx_value *v)
{
    char *shape = sdx_value_kind(v) == SDX_TENSOR ? shape_text(v) : cli_printf("-");
    json_object(j, NULL);
    json_string(j, "name", name);
    json_string(j, "type", shape);
    if (sdx_value_kind(v) == SDX_TENSOR && sdx_value_dtype(v) != SDX_STRING) {
        Stats s = value_stats(v);
        json_number(j, "min", s.min);
        json_number(j, "max", s.max);
        json_number(j, "mean", s.mean);
        json_int(j, "argmax", s.argmax);
        json_int(j, "nan", s.nan);
    }
    json_end(j, '}');
    free(shape);
}

/* Characters unfit for a file name become '_'. */
static char *output_path(const char *dir, const char *name)
{
    char *path = cli_printf("%s/%s.npy", dir, name);
    for (char *p = path + strlen(dir) + 1; *p; p++)
        if (*p == '/' || *p == '\\' || *p == ':' || *p == '"' || *p == '*' || *p == '?' || *p == '<' || *p == '>' ||
            *p == '|' || iscntrl((unsigned char)*p))
            *p = '_';
    return path;
}

static int write_outputs(const char *dir, const char *const *names, sdx_value *const *values, size_t n)
{
    mkdir(dir, 0777);
    for (size_t i = 0; i < n; i++) {
        sdx_error err = { 0 };
        if (sdx_value_kind(values[i]) != SDX_TENSOR) {
            cli_fail(0, "output \"%s\" is no tensor and is not written", names[i]);
            continue;
        }
        char *path = output_path(dir, names[i]);
        sdx_status st = npy_write(path, values[i], &err);
        free(path);
        if (st != SDX_OK) return cli_error("write", st, &err);
    }
    return EXIT_OK;
}

static int run_once(const Args *a, sdx_session *s)
{
    FeedSet f;
    sdx_error err = { 0 };
    int code = feeds_make(a, s, &f);
    if (code != EXIT_OK) return code;
    size_t n = sdx_session_output_count(s);
    const char **names = cli_alloc(n * sizeof *names);
    sdx_value **out = cli_alloc(n * sizeof *out);
    for (size_t i = 0; i < n; i++) names[i] = sdx_session_output_name(s, i), out[i] = NULL;
    int64_t start = cli_now_ns();
    sdx_status st = sdx_session_run(s, f.names, (const sdx_value *const *)f.values, f.n, names, out, n, NULL, &err);
    double ms = (double)(cli_now_ns() - start) * 1e-6;
    if (st != SDX_OK) {
        code = cli_error(a->words[0], st, &err);
    } else if (args_flag(a, "json")) {
        Json j;
        json_open(&j, stdout, "run");
        json_number(&j, "first_run_ms", ms);
        json_array(&j, "outputs");
        for (size_t i = 0; i < n; i++) json_value(&j, names[i], out[i]);
        json_end(&j, ']');
        json_close(&j);
    } else {
        for (size_t i = 0; i < n; i++) print_value(a, names[i], out[i]);
        fprintf(stderr, "first run: %.3f ms\n", ms);
    }
    if (st == SDX_OK && args_value(a, "output")) code = write_outputs(args_value(a, "output"), names, out, n);
    for (size_t i = 0; i < n; i++) sdx_value_release(out[i]);
    free(out);
    free(names);
    feeds_free(&f);
    return code;
}

static int run_run(const Args *a)
{
    sdx_session *s;
    int code = cli_open(a, &s);
    if (code != EXIT_OK) return code;
    code = run_once(a, s);
    sdx_session_release(s);
    return code;
}

static const Option *const run_tables[] = { run_options, cli_feed_options, cli_session_options, cli_json_option, NULL };

const Command cli_run = {
    .name = "run",
    .usage = "MODEL [--input NAME=FILE]... [-o DIR] [options]",
    .help = "Runs a model once; inputs that no file feeds are made up.",
    .options = run_tables,
    .min_words = 1,
    .max_words = 1,
    .run = run_run,
};
