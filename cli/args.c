/* Arguments, messages and the other small things that commands share. */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"

int cli_parse(const Command *c, int argc, char **argv, Args *a);
void cli_help(const Command *c, FILE *f);

const Option cli_session_options[] = {
    { "level", 'l', "LEVEL", "rewriting: none, exact, default, fast" },
    { "threads", 't', "N", "threads, the caller included; 0: what the machine grants" },
    { "dim", 0, "SYMBOL=N", "fix a symbolic size at load" },
    { "disable", 0, "REWRITE", "leave one rewrite out, by name" },
    { "provider", 0, "NAME", "execution provider; repeat in order of preference" },
    { "cpu-level", 0, "NAME", "use no more of the CPU than this level (sdx sys lists them)" },
    { "max-bytes", 0, "N", "ceiling of a run's working memory" },
    { "keep-subnormals", 0, NULL, "never flush subnormal numbers" },
    { NULL, 0, NULL, NULL },
};

const Option cli_json_option[] = {
    { "json", 0, NULL, "print one JSON document" },
    { NULL, 0, NULL, NULL },
};

static const char *running = "sdx"; /* the command, for messages */

void cli_help(const Command *c, FILE *f)
{
    fprintf(f, "usage: sdx %s %s\n\n%s\n", c->name, c->usage, c->help);
    for (const Option *const *table = c->options; *table; table++)
        for (const Option *o = *table; o->name; o++) {
            char text[64];
            snprintf(text, sizeof text, "--%s%s%s", o->name, o->value ? " " : "", o->value ? o->value : "");
            fprintf(f, "  %c%c %-26s %s\n", o->letter ? '-' : ' ', o->letter ? o->letter : ' ', text, o->help);
        }
}

static const Option *find_option(const Command *c, const char *name, size_t n)
{
    for (const Option *const *table = c->options; *table; table++)
        for (const Option *o = *table; o->name; o++)
            if ((strlen(o->name) == n && memcmp(o->name, name, n) == 0) || (n == 1 && o->letter == *name)) return o;
    return NULL;
}

/* -1: go on; else the exit code. */
int cli_parse(const Command *c, int argc, char **argv, Args *a)
{
    *a = (Args){ .command = c };
    running = c->name;
    a->words = cli_alloc((size_t)argc * sizeof *a->words);
    a->set = cli_alloc((size_t)argc * sizeof *a->set);
    bool only_words = false;
    for (int i = 0; i < argc; i++) {
        const char *s = argv[i];
        if (only_words || s[0] != '-' || !s[1]) {
            a->words[a->n_words++] = s;
            continue;
        }
        if (strcmp(s, "--") == 0) {
            only_words = true;
            continue;
        }
        const char *name = s + 1 + (s[1] == '-'), *equals = s[1] == '-' ? strchr(name, '=') : NULL;
        if (strcmp(name, "help") == 0 || strcmp(s, "-h") == 0) {
            cli_help(c, stdout);
            return EXIT_OK;
        }
        const Option *o = find_option(c, name, equals ? (size_t)(equals - name) : strlen(name));
        if (!o) return cli_fail(EXIT_USAGE, "no option \"%s\"; --help lists them", s);
        const char *value = equals ? equals + 1 : NULL;
        if (!o->value && value) return cli_fail(EXIT_USAGE, "option --%s takes no value", o->name);
        if (o->value && !value) {
            if (i + 1 >= argc) return cli_fail(EXIT_USAGE, "option --%s needs %s", o->name, o->value);
            value = argv[++i];
        }
        a->set[a->n_set++] = (struct ArgSet){ o, value };
    }
    if (a->n_words < c->min_words || (c->max_words >= 0 && a->n_words > c->max_words)) {
        cli_help(c, stderr);
        return EXIT_USAGE;
    }
    return -1;
}

const char *args_nth(const Args *a, const char *name, int i)
{
    for (int k = 0; k < a->n_set; k++)
        if (strcmp(a->set[k].option->name, name) == 0 && i-- == 0) return a->set[k].value;
    return NULL;
}

const char *args_value(const Args *a, const char *name)
{
    const char *value = NULL;
    for (int k = 0; k < a->n_set; k++)
        if (strcmp(a->set[k].option->name, name) == 0) value = a->set[k].value;
    return value;
}

bool args_flag(const Args *a, const char *name)
{
    for (int k = 0; k < a->n_set; k++)
        if (strcmp(a->set[k].option->name, name) == 0) return true;
    return false;
}

int64_t args_int(const Args *a, const char *name, int64_t fallback, int64_t min)
{
    const char *text = args_value(a, name);
    if (!text) return fallback;
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    if (end == text || *end || errno || v < min)
        exit(cli_fail(EXIT_USAGE, "--%s: \"%s\" is no number >= %lld", name, text, (long long)min));
    return v;
}

double args_double(const Args *a, const char *name, double fallback)
{
    const char *text = args_value(a, name);
    if (!text) return fallback;
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end) exit(cli_fail(EXIT_USAGE, "--%s: \"%s\" is no number", name, text));
    return v;
}

size_t args_split(const char *text, char sep, bool last, const char **value)
{
    const char *at = last ? strrchr(text, sep) : strchr(text, sep);
    if (!at) return 0;
    *value = at + 1;
    return (size_t)(at - text);
}

int cli_fail(int code, const char *fmt, ...)
{
    va_list args;
    fprintf(stderr, "sdx %s: ", running);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    return code;
}

int cli_exit_code(sdx_status st)
{
    switch (st) {
    case SDX_OK: return EXIT_OK;
    case SDX_UNSUPPORTED: return EXIT_UNSUPPORTED;
    case SDX_INTERNAL:
    case SDX_OUT_OF_MEMORY: return EXIT_INTERNAL;
    default: return EXIT_USAGE;
    }
}

int cli_error(const char *what, sdx_status st, const sdx_error *err)
{
    return cli_fail(cli_exit_code(st), "%s: %s: %s", what, sdx_status_name(st), err->text);
}

void cli_error_set(sdx_error *err, sdx_status st, const char *fmt, ...)
{
    va_list args;
    err->code = (int32_t)st;
    va_start(args, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, args);
    va_end(args);
}

void *cli_alloc(size_t n) { return cli_realloc(NULL, n); }

void *cli_realloc(void *p, size_t n)
{
    p = realloc(p, n ? n : 1);
    if (!p) exit(cli_fail(EXIT_INTERNAL, "out of memory"));
    return p;
}

char *cli_printf(const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *s = cli_alloc((size_t)n + 1);
    vsnprintf(s, (size_t)n + 1, fmt, again);
    va_end(again);
    return s;
}

/* Values of a repeated option as a NULL-terminated list; NULL when there are none. */
static const char **option_list(const Args *a, const char *name)
{
    int n = 0;
    while (args_nth(a, name, n)) n++;
    if (!n) return NULL;
    const char **list = cli_alloc((size_t)(n + 1) * sizeof *list);
    for (int i = 0; i < n; i++) list[i] = args_nth(a, name, i);
    list[n] = NULL;
    return list;
}

static int option_dims(const Args *a, sdx_session_options *o)
{
    int n = 0;
    while (args_nth(a, "dim", n)) n++;
    sdx_dim *dims = cli_alloc((size_t)n * sizeof *dims);
    for (int i = 0; i < n; i++) {
        const char *text = args_nth(a, "dim", i), *value;
        size_t len = args_split(text, '=', true, &value);
        char *end;
        long long size = len ? strtoll(value, &end, 10) : -1;
        if (!len || end == value || *end || size < 0)
            return cli_fail(EXIT_USAGE, "--dim %s: SYMBOL=N is needed, N >= 0", text);
        dims[i] = (sdx_dim){ cli_printf("%.*s", (int)len, text), size };
    }
    o->dims = dims;
    o->n_dims = (size_t)n;
    return EXIT_OK;
}

int cli_options(const Args *a, sdx_session_options *o)
{
    static const char *const plain[][2] = {
        { "level", "level" },
        { "threads", "threads" },
        { "cpu-level", "cpu_level" },
        { "max-bytes", "max_bytes" },
    };
    sdx_error err = { 0 };
    sdx_session_options_init(o);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        const char *value = args_value(a, plain[i][0]);
        if (value && sdx_session_options_set(o, plain[i][1], value, &err) != SDX_OK)
            return cli_fail(EXIT_USAGE, "--%s: %s", plain[i][0], err.text);
    }
    o->keep_subnormals = args_flag(a, "keep-subnormals");
    o->disabled = option_list(a, "disable");
    o->providers = option_list(a, "provider");
    return option_dims(a, o);
}

int cli_open(const Args *a, sdx_session **s)
{
    sdx_session_options o;
    sdx_error err = { 0 };
    int code = cli_options(a, &o);
    if (code != EXIT_OK) return code;
    sdx_status st = sdx_session_open(a->words[0], &o, s, &err);
    return st == SDX_OK ? EXIT_OK : cli_error(a->words[0], st, &err);
}

bool cli_is_terminal(FILE *f) { return isatty(fileno(f)) == 1; }

int64_t cli_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void *cli_read_file(const char *path, size_t *nbytes, sdx_error *err)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        cli_error_set(err, SDX_IO, "%s: %s", path, strerror(errno));
        return NULL;
    }
    size_t n = 0, cap = 1 << 16, got;
    char *p = cli_alloc(cap);
    while ((got = fread(p + n, 1, cap - n - 1, f)) > 0) {
        n += got;
        if (cap - n < 2) p = cli_realloc(p, cap *= 2);
    }
    bool ok = !ferror(f);
    fclose(f);
    if (!ok) {
        cli_error_set(err, SDX_IO, "%s: cannot be read", path);
        free(p);
        return NULL;
    }
    p[n] = '\0';
    *nbytes = n;
    return p;
}

bool cli_write_file(const char *path, const void *data, size_t nbytes, sdx_error *err)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && (!nbytes || fwrite(data, 1, nbytes, f) == nbytes);
    if (f && fclose(f) != 0) ok = false;
    if (!ok) cli_error_set(err, SDX_IO, "%s: %s", path, strerror(errno));
    return ok;
}
