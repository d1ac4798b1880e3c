/* sdx test - run ONNX test folders: <case>/model.onnx with test_data_set_<k>/{input,output}_<i>.pb, or a data.json that
 * names a model kept in a folder `light` further up. Each case runs in a process of its own, so a crash costs one case. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/compare.h"
#include "cli/report.h"
#include "cli/rules.h"

static const Option test_options[] = {
    { "filter", 'f', "PATTERN", "only cases whose name matches (shell pattern, or a part of the name)" },
    { "jobs", 'j', "N", "cases at once; default: processors" },
    { "rules", 0, "FILE", "rules for cases: skips with reasons, tolerances, properties" },
    { "ratchet", 0, "FILE", "names that must pass; more passes are fine, fewer are not" },
    { "update-ratchet", 0, NULL, "rewrite the ratchet file with what passes now" },
    { "junit", 0, "FILE", "write a JUnit report" },
    { "tap", 0, NULL, "print TAP lines" },
    { "verbose", 'v', NULL, "print every case, not only failures" },
    { "timeout", 0, "SECONDS", "per case; default 120" },
    { "rtol", 0, "X", "relative tolerance; default 1e-3, or the case's own" },
    { "atol", 0, "X", "absolute tolerance; default 1e-7, or the case's own" },
    { NULL, 0, NULL, NULL },
};

/* -- finding cases ------------------------------------------------------------------------------------------------- */

typedef struct CaseList {
    TestCase *v;
    size_t n, cap;
} CaseList;

static bool path_exists(const char *dir, const char *name)
{
    char *path = cli_printf("%s/%s", dir, name);
    bool ok = access(path, R_OK) == 0;
    free(path);
    return ok;
}

static void add_case(CaseList *list, const char *dir, const char *name)
{
    if (list->n == list->cap) list->v = cli_realloc(list->v, (list->cap = list->cap * 2 + 64) * sizeof *list->v);
    list->v[list->n++] = (TestCase){ .dir = cli_printf("%s", dir), .name = cli_printf("%s", name) };
}

static void find_cases(CaseList *list, const char *dir, const char *name, int depth)
{
    if (path_exists(dir, "model.onnx") || path_exists(dir, "data.json")) {
        add_case(list, dir, name);
        return;
    }
    DIR *d = depth < 8 ? opendir(dir) : NULL;
    if (!d) return;
    for (struct dirent *e; (e = readdir(d));) {
        if (e->d_name[0] == '.') continue;
        char *path = cli_printf("%s/%s", dir, e->d_name),
             *sub = cli_printf("%s%s%s", name, *name ? "/" : "", e->d_name);
        struct stat st;
        if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) find_cases(list, path, sub, depth + 1);
        free(sub);
        free(path);
    }
    closedir(d);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const TestCase *)a)->name, ((const TestCase *)b)->name);
}

/* -- one case, in its own process ---------------------------------------------------------------------------------- */

typedef struct CaseRun {
    const TestCase *c;
    const sdx_session_options *options;
    Tolerance tol;
    int64_t timeout_ns;
    char *data; /* data.json, or NULL */
    sdx_session *session;
    Difference diff;
    sdx_error err;
} CaseRun;

/* The text after "key": in a flat JSON object. */
static const char *json_field(const char *json, const char *key)
{
    char *quoted = cli_printf("\"%s\"", key);
    const char *at = json ? strstr(json, quoted) : NULL;
    if (at) at += strlen(quoted);
    free(quoted);
    while (at && (*at == ':' || isspace((unsigned char)*at))) at++;
    return at;
}

static void read_case_data(CaseRun *r, const Args *a)
{
    size_t n;
    char *path = cli_printf("%s/data.json", r->c->dir);
    if (access(path, R_OK) == 0) r->data = cli_read_file(path, &n, &r->err);
    free(path);
    const char *rtol = json_field(r->data, "rtol"), *atol = json_field(r->data, "atol");
    if (rtol) r->tol.rtol = strtod(rtol, NULL);
    if (atol) r->tol.atol = strtod(atol, NULL);
    r->tol.rtol = args_double(a, "rtol", r->tol.rtol);
    r->tol.atol = args_double(a, "atol", r->tol.atol);
}

/* model.onnx, or the file that data.json names by url, kept in a folder `light` on the way up. */
static char *model_path(const CaseRun *r)
{
    if (path_exists(r->c->dir, "model.onnx")) return cli_printf("%s/model.onnx", r->c->dir);
    const char *url = json_field(r->data, "url"), *end = url ? strchr(url + 1, '"') : NULL;
    if (!end) return NULL;
    while (end > url && end[-1] != '/' && end[-1] != '"') end--;
    int len = (int)strcspn(end, "\"");
    for (int up = 1; up <= 3; up++) {
        char *path = cli_printf("%s/%.*slight/%.*s", r->c->dir, 3 * up, "../../../", len, end);
        if (access(path, R_OK) == 0) return path;
        free(path);
    }
    return NULL;
}

#define MAX_PORTS 512

typedef struct Feeds {
    const char *in_names[MAX_PORTS], *out_names[MAX_PORTS];
    sdx_value *in[MAX_PORTS], *out[MAX_PORTS], *want[MAX_PORTS];
    size_t n_in, n_out, n_want;
} Feeds;

static void feeds_clear(Feeds *f)
{
    for (size_t i = 0; i < f->n_in; i++) sdx_value_release(f->in[i]);
    for (size_t i = 0; i < f->n_out; i++) sdx_value_release(f->out[i]);
    for (size_t i = 0; i < f->n_want; i++) sdx_value_release(f->want[i]);
    memset(f, 0, sizeof *f);
}

static sdx_status read_pb(CaseRun *r, const char *path, const sdx_type *type, sdx_value **out)
{
    size_t n;
    void *bytes = cli_read_file(path, &n, &r->err);
    if (!bytes) return SDX_IO;
    sdx_status st = sdx_value_parse(bytes, n, type, out, &r->err);
    free(bytes);
    if (st != SDX_OK) {
        char text[sizeof r->err.text];
        memcpy(text, r->err.text, sizeof text);
        cli_error_set(&r->err, st, "%s: %.900s", path, text);
    }
    return st;
}

/* The bits of uint16 as the bfloat16 that the model means. */
static sdx_status as_bfloat16(CaseRun *r, const sdx_type *type, sdx_value **v)
{
    sdx_value *out;
    if (sdx_type_dtype(type) != SDX_BFLOAT16 || sdx_value_dtype(*v) != SDX_UINT16) return SDX_OK;
    sdx_status st = sdx_tensor_create(SDX_BFLOAT16, sdx_value_dims(*v), sdx_value_rank(*v), &out, &r->err);
    if (st != SDX_OK) return st;
    memcpy(sdx_value_data(out), sdx_value_data(*v), sdx_value_nbytes(*v));
    sdx_value_release(*v);
    *v = out;
    return SDX_OK;
}

/* One element as many, where the model declares a shape. */
static sdx_status repeated(CaseRun *r, const sdx_type *type, sdx_value **v)
{
    int64_t dims[16];
    int rank = sdx_type_rank(type);
    sdx_value *out;
    if (sdx_value_count(*v) != 1 || rank < 0 || rank > 16) return SDX_OK;
    for (int i = 0; i < rank; i++)
        if ((dims[i] = sdx_type_dim(type, i)) < 0) return SDX_OK;
    sdx_status st = sdx_tensor_create(sdx_value_dtype(*v), dims, rank, &out, &r->err);
    if (st != SDX_OK) return st;
    size_t size = sdx_value_nbytes(*v);
    for (int64_t i = 0; i < sdx_value_count(out); i++)
        memcpy((char *)sdx_value_data(out) + (size_t)i * size, sdx_value_data(*v), size);
    sdx_value_release(*v);
    *v = out;
    return SDX_OK;
}

/* What rules say about how files hold tensors. */
static sdx_status restore(CaseRun *r, const sdx_type *type, sdx_value **v)
{
    sdx_status st = r->c->bfloat16_bits ? as_bfloat16(r, type, v) : SDX_OK;
    return st == SDX_OK && r->c->repeat ? repeated(r, type, v) : st;
}

/* graph.input as the file lists it: old models list weights there too, which sessions do not show as inputs. */
static sdx_status read_inputs(CaseRun *r, const char *dir, Feeds *f)
{
    size_t n = sdx_session_input_count(r->session);
    for (size_t i = 0; i < n && f->n_in < MAX_PORTS; i++) {
        char *path = cli_printf("%s/input_%zu.pb", dir, i);
        bool there = access(path, R_OK) == 0;
        const sdx_type *type = sdx_session_input_type(r->session, i);
        sdx_status st = there ? read_pb(r, path, type, &f->in[f->n_in]) : SDX_OK;
        free(path);
        if (st == SDX_OK && there) st = restore(r, type, &f->in[f->n_in]);
        if (st != SDX_OK) return st;
        if (there) f->in_names[f->n_in++] = sdx_session_input_name(r->session, i);
    }
    return SDX_OK;
}

static sdx_status read_outputs(CaseRun *r, const char *dir, Feeds *f)
{
    bool corrected = false;
    f->n_out = sdx_session_output_count(r->session);
    if (f->n_out > MAX_PORTS) f->n_out = MAX_PORTS;
    for (size_t i = 0; i < f->n_out; i++) {
        f->out_names[i] = sdx_session_output_name(r->session, i);
        const sdx_type *type = sdx_session_output_type(r->session, i);
        char *name = cli_printf("output_%zu.pb", i);
        bool better = r->c->corrected && path_exists(r->c->corrected, name);
        char *path = cli_printf("%s/%s", better ? r->c->corrected : dir, name);
        sdx_status st = read_pb(r, path, type, &f->want[i]);
        free(path);
        free(name);
        if (st == SDX_OK) st = restore(r, type, &f->want[i]);
        if (st != SDX_OK) return st;
        corrected |= better;
        f->n_want++;
    }
    if (corrected || !r->c->corrected) return SDX_OK;
    cli_error_set(&r->err, SDX_IO, "%s holds no corrected output", r->c->corrected);
    return SDX_IO;
}

static bool run_and_compare(CaseRun *r, Feeds *f)
{
    sdx_run_options ro = SDX_RUN_OPTIONS_INIT;
    ro.timeout_ns = r->timeout_ns;
    sdx_status st = sdx_session_run(r->session, f->in_names, (const sdx_value *const *)f->in, f->n_in, f->out_names,
                                    f->out, f->n_out, &ro, &r->err);
    if (st != SDX_OK) return false;
    for (size_t i = 0; i < f->n_want; i++) {
        if (compare_values(f->out[i], f->want[i], &r->tol, &r->diff)) continue;
        cli_error_set(&r->err, SDX_RUN_FAILED, "output \"%s\": %.480s", f->out_names[i], r->diff.text);
        return false;
    }
    return true;
}

static bool run_data_sets(CaseRun *r)
{
    bool ok = true;
    for (int k = 0; ok; k++) {
        char *dir = cli_printf("%s/test_data_set_%d", r->c->dir, k);
        Feeds f = { .n_in = 0 };
        bool there = access(dir, R_OK) == 0;
        if (!there && k == 0) cli_error_set(&r->err, SDX_IO, "no test_data_set_0");
        ok = there && read_inputs(r, dir, &f) == SDX_OK && read_outputs(r, dir, &f) == SDX_OK && run_and_compare(r, &f);
        feeds_clear(&f);
        free(dir);
        if (!there) return k > 0;
    }
    return ok;
}

/* The light CNNs: one float input filled with i / n, symbolic sizes 1; expected output beside the model. */
static bool run_light(CaseRun *r, const char *model)
{
    Feeds f = { .n_in = 0 };
    int64_t dims[16];
    const sdx_type *t = sdx_session_input_type(r->session, 0);
    int rank = t ? sdx_type_rank(t) : 0;
    for (int i = 0; i < rank && i < 16; i++) dims[i] = sdx_type_dim(t, i) < 0 ? 1 : sdx_type_dim(t, i);
    bool ok = t && sdx_tensor_create(SDX_FLOAT, dims, rank, &f.in[0], &r->err) == SDX_OK;
    char *want = cli_printf("%.*s_output_0.pb", (int)strlen(model) - 5, model);
    if (ok) {
        float *x = sdx_value_data(f.in[0]);
        int64_t n = sdx_value_count(f.in[0]);
        for (int64_t i = 0; i < n; i++) x[i] = (float)((double)i / (double)n);
        f.in_names[f.n_in++] = sdx_session_input_name(r->session, 0);
        f.out_names[f.n_out++] = sdx_session_output_name(r->session, 0);
        ok = read_pb(r, want, NULL, &f.want[0]) == SDX_OK;
        f.n_want = ok;
    }
    ok = ok && run_and_compare(r, &f);
    free(want);
    feeds_clear(&f);
    return ok;
}

static bool run_case(CaseRun *r, const Args *a)
{
    read_case_data(r, a);
    char *model = model_path(r);
    if (!model) {
        cli_error_set(&r->err, SDX_IO, "no model.onnx, and data.json names none that is here");
        return false;
    }
    bool ok = sdx_session_open(model, r->options, &r->session, &r->err) == SDX_OK;
    if (ok) ok = path_exists(r->c->dir, "test_data_set_0") ? run_data_sets(r) : run_light(r, model);
    sdx_session_release(r->session);
    free(model);
    free(r->data);
    return ok;
}

static int64_t case_ns(const Args *a) { return args_int(a, "timeout", 120, 1) * 1000000000; }

/* What a child sends back. */
typedef struct Verdict {
    int32_t ok, code;
    double max_abs, max_rel, seconds;
    char text[1016];
} Verdict;

static void child_main(const TestCase *c, const sdx_session_options *o, const Args *a, int fd)
{
    CaseRun r = { .c = c, .options = o, .tol = c->tol };
    r.timeout_ns = case_ns(a) / 10 * 9; /* before the child is ended for being late */
    Verdict v = { 0 };
    int64_t start = cli_now_ns();
    v.ok = run_case(&r, a);
    v.seconds = (double)(cli_now_ns() - start) * 1e-9;
    v.code = r.err.code;
    v.max_abs = r.diff.max_abs;
    v.max_rel = r.diff.max_rel;
    memcpy(v.text, r.err.text, sizeof v.text);
    if (write(fd, &v, sizeof v) != (ssize_t)sizeof v) _exit(EXIT_INTERNAL);
    fflush(stdout);
    exit(EXIT_OK); /* leak checkers report at exit */
}

/* -- the pool of children ------------------------------------------------------------------------------------------ */

typedef struct Child {
    pid_t pid;
    int fd;
    size_t index;
    int64_t deadline_ns;
} Child;

static bool child_start(Child *c, CaseList *list, size_t index, const sdx_session_options *o, const Args *a)
{
    int fds[2];
    if (pipe(fds) != 0) return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        close(fds[0]);
        child_main(&list->v[index], o, a, fds[1]);
    }
    close(fds[1]);
    if (pid < 0) close(fds[0]);
    *c = (Child){ pid, fds[0], index, cli_now_ns() + case_ns(a) };
    return pid > 0;
}

static void child_finish(Child *c, TestCase *t)
{
    Verdict v;
    int status = 0;
    struct pollfd news = { c->fd, POLLIN, 0 };
    bool late = cli_now_ns() >= c->deadline_ns && poll(&news, 1, 0) == 0;
    if (late) kill(c->pid, SIGKILL);
    bool told = read(c->fd, &v, sizeof v) == (ssize_t)sizeof v;
    close(c->fd);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) {}
    bool clean = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    t->result = told && clean && v.ok ? CASE_PASSED : CASE_FAILED;
    t->max_abs = told ? v.max_abs : 0;
    t->max_rel = told ? v.max_rel : 0;
    t->seconds = told ? v.seconds : 0;
    t->crashed = !late && !clean;
    if (late)
        t->text = cli_printf("timeout");
    else if (WIFSIGNALED(status))
        t->text = cli_printf("CRASH: signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (!clean)
        t->text = cli_printf("CRASH: exit status %d", WEXITSTATUS(status));
    else
        t->text = cli_printf("%s%s%s", v.ok ? "" : sdx_status_name((sdx_status)v.code), v.ok ? "" : ": ", v.text);
    c->pid = 0;
}

/* Waits until some child has news or is late, and takes it in. */
static void wait_for_one(Child *children, int jobs, CaseList *list)
{
    struct pollfd fds[64];
    for (int i = 0; i < jobs; i++) fds[i] = (struct pollfd){ children[i].pid ? children[i].fd : -1, POLLIN, 0 };
    poll(fds, (nfds_t)jobs, 200);
    for (int i = 0; i < jobs; i++) {
        if (!children[i].pid) continue;
        if ((fds[i].revents & (POLLIN | POLLHUP)) || cli_now_ns() >= children[i].deadline_ns)
            child_finish(&children[i], &list->v[children[i].index]);
    }
}

static void run_all(CaseList *list, const sdx_session_options *o, const Args *a)
{
    Child children[64] = { { 0 } };
    int jobs = (int)args_int(a, "jobs", sysconf(_SC_NPROCESSORS_ONLN), 1);
    if (jobs > 64) jobs = 64;
    bool progress = cli_is_terminal(stderr);
    size_t next = 0, done = 0;
    while (done < list->n) {
        for (int i = 0; i < jobs && next < list->n; i++) {
            if (children[i].pid) continue;
            while (next < list->n && list->v[next].result == CASE_SKIPPED) next++;
            if (next == list->n || !child_start(&children[i], list, next, o, a)) break;
            next++;
        }
        bool any = false;
        for (int i = 0; i < jobs; i++) any |= children[i].pid != 0;
        if (!any) break;
        wait_for_one(children, jobs, list);
        done = 0;
        for (size_t i = 0; i < list->n; i++) done += list->v[i].result != CASE_PENDING;
        if (progress) fprintf(stderr, "\r%zu/%zu", done, list->n);
    }
    if (progress) fprintf(stderr, "\r            \r");
}

/* -- the command --------------------------------------------------------------------------------------------------- */

static bool name_matches(const char *pattern, const char *name)
{
    return !pattern || fnmatch(pattern, name, 0) == 0 || strstr(name, pattern);
}

static void keep_matching(CaseList *list, const char *pattern)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->n; i++)
        if (name_matches(pattern, list->v[i].name)) list->v[kept++] = list->v[i];
    list->n = kept;
}

static int test_run(const Args *a)
{
    sdx_session_options o;
    CaseList list = { 0 };
    int code = cli_options(a, &o);
    if (code != EXIT_OK) return code;
    if (!args_value(a, "threads")) o.threads = 1;
    for (int i = 0; i < a->n_words; i++) find_cases(&list, a->words[i], "", 0);
    if (list.n) qsort(list.v, list.n, sizeof *list.v, by_name);
    keep_matching(&list, args_value(a, "filter"));
    if (!list.n) return cli_fail(EXIT_USAGE, "no test cases found");
    for (size_t i = 0; i < list.n; i++) list.v[i].tol = (Tolerance){ .rtol = 1e-3, .atol = 1e-7 };
    if (args_value(a, "rules") && !rules_apply(args_value(a, "rules"), list.v, list.n)) return EXIT_USAGE;
    run_all(&list, &o, a);
    return report_cases(a, list.v, list.n);
}

static const Option *const test_tables[] = { test_options, cli_session_options, cli_json_option, NULL };

const Command cli_test = {
    .name = "test",
    .usage = "DIR... [options]",
    .help = "Runs ONNX test folders and compares the results.",
    .options = test_tables,
    .min_words = 1,
    .max_words = -1,
    .run = test_run,
};
