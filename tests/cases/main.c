/* tests/cases - whole models with inputs and what has to come out, from tests/data/cases
 *
 *     == name
 *     # what it is about
 *     <opset_import: ["" : 17]> g (float[2] x) => (float[2] y) { y = Neg(x) }
 *     in: float[2] x {1, 2}
 *     out: float[2] y {-1, -2}
 *
 * A model in ONNX's textual form; then runs of one session, each with its inputs and outputs. `out 1e-3:` is how far
 * floats may be, as a share of 1 + |value|; without it 2e-6. `fails: text` stands for the outputs where opening the model
 * or running it must fail with a message that contains the text. Every case runs at every level, with one thread and
 * three, and by the portable kernels.
 *
 *     cases            all files
 *     cases PART       cases whose name contains PART */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>

#include "session/session.h"
#include "tests/harness.h"

enum { MAX_PORTS = 12 };

/* -- values ---------------------------------------------------------------------------------------------------------- */

typedef struct Port {
    char name[64];
    Model *m; /* holds the value as an initializer */
    const Tensor *t;
    double tolerance;
} Port;

/* "float[2] x {1, 2}" */
static bool port_read(Port *p, const char *text, double tolerance)
{
    static char model[1 << 16];
    const char *brace = strchr(text, '{');
    Err err = { 0 };
    *p = (Port){ .tolerance = tolerance };
    if (!CHECK(brace != NULL)) return false;
    const char *end = brace;
    while (end > text && end[-1] == ' ') end--;
    const char *name = end;
    while (name > text && name[-1] != ' ') name--;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name), name);
    snprintf(model, sizeof model, "< ir_version: 14, opset_import: [ \"\" : 28 ] > values () => () < %.*s = %s > { }",
             (int)(end - text), text, brace);
    sdx_onnx_import_text(&sdx_alloc_default, model, strlen(model), NULL, &p->m, &err);
    if (!CHECK_STR(err.text, "")) return false;
    Value *v = sdx_graph_find(p->m->graph, p->name);
    p->t = v ? v->constant : NULL;
    return CHECK(p->t != NULL);
}

static bool same_element(const Port *want, const Tensor *got, int64_t i)
{
    if (got->dtype == DT_STRING) {
        const Str *x = (const Str *)got->data + i, *y = (const Str *)want->t->data + i;
        return CHECK(x->n == y->n && (!x->n || !memcmp(x->p, y->p, x->n)));
    }
    if (sdx_dtype_in(got->dtype, TS_INT)) return CHECK_INT(sdx_tensor_get_int(got, i), sdx_tensor_get_int(want->t, i));
    double y = sdx_tensor_get_double(want->t, i);
    return CHECK_NEAR(sdx_tensor_get_double(got, i), y, want->tolerance * (1 + (isfinite(y) ? fabs(y) : 0)));
}

static void same_value(const Port *want, const Datum *got)
{
    char a[160], b[160];
    if (!CHECK_INT(got->kind, DATUM_TENSOR)) return;
    CHECK_STR(sdx_dtype_name(got->t.dtype), sdx_dtype_name(want->t->dtype));
    CHECK_STR(sdx_dims_text(a, sizeof a, got->t.dims, got->t.rank),
              sdx_dims_text(b, sizeof b, want->t->dims, want->t->rank));
    if (got->t.dtype != want->t->dtype || strcmp(a, b) != 0) return;
    int64_t n = sdx_tensor_count(want->t);
    for (int64_t i = 0; i < n && same_element(want, &got->t, i); i++) {}
}

/* -- cases ----------------------------------------------------------------------------------------------------------- */

typedef struct CaseRun {
    Port in[MAX_PORTS], out[MAX_PORTS];
    int n_in, n_out;
    const char *fails; /* NULL: it does not */
} CaseRun;

typedef struct Case {
    const char *name;
    char *model;
    CaseRun *runs;
    int n_runs;
} Case;

static sdx_status run_once(Session *s, const CaseRun *r, Datum *out, Err *err)
{
    const char *in_names[MAX_PORTS], *out_names[MAX_PORTS];
    const Datum *ptrs[MAX_PORTS];
    Datum in[MAX_PORTS];
    int n_out = r->n_out ? r->n_out : sdx_ses_n_outputs(s);
    for (int i = 0; i < r->n_in; i++) {
        in_names[i] = r->in[i].name;
        in[i] = (Datum){ .kind = DATUM_TENSOR, .t = *r->in[i].t };
        ptrs[i] = &in[i];
    }
    for (int i = 0; i < n_out; i++) out_names[i] = r->n_out ? r->out[i].name : sdx_ses_output(s, i)->name;
    return sdx_ses_run_names(s, in_names, ptrs, r->n_in, out_names, out, n_out, NULL, err);
}

static void case_run(const Case *c, const SessionOptions *o)
{
    Err err = { 0 };
    Model *m = NULL;
    Session *s = NULL;
    ImportOptions import = { .load = LOAD_COPY };
    if (sdx_onnx_import_text(&sdx_alloc_default, c->model, strlen(c->model), &import, &m, &err) == SDX_OK)
        sdx_ses_open(&m, o, &s, &err);
    if (!s && !(c->n_runs == 1 && c->runs[0].fails)) CHECK_STR(err.text, "");
    for (int k = 0; k < c->n_runs; k++) {
        const CaseRun *r = &c->runs[k];
        Datum out[MAX_PORTS] = { 0 };
        if (s) sdx_err_clear(&err);
        if (s) run_once(s, r, out, &err);
        if (r->fails)
            CHECK_HAS(err.text, r->fails);
        else if (s && CHECK_STR(err.text, ""))
            for (int i = 0; i < r->n_out; i++) same_value(&r->out[i], &out[i]);
        for (int i = 0; i < MAX_PORTS; i++) sdx_datum_clear(&out[i]);
    }
    if (s) sdx_ses_close(s);
}

static void case_run_everywhere(const Case *c)
{
    static const struct {
        const char *name;
        OptLevel level;
        int threads;
        bool portable;
    } ways[] = {
        { "level none", OPT_NONE, 1 },       { "level exact", OPT_EXACT, 1 },
        { "level default", OPT_DEFAULT, 1 }, { "three threads", OPT_DEFAULT, 3 },
        { "level fast", OPT_FAST, 1 },       { "portable kernels", OPT_DEFAULT, 1, true },
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        SessionOptions o;
        sdx_ses_options_init(&o);
        o.level = ways[i].level;
        o.threads = ways[i].threads;
        if (ways[i].portable) o.kern = sdx_kern_at(SDX_CPU_C);
        sdx_harness_note("%s, %s", c->name, ways[i].name);
        case_run(c, &o);
    }
    sdx_harness_note(NULL);
}

/* -- files ----------------------------------------------------------------------------------------------------------- */

static CaseRun *case_new_run(Case *c)
{
    c->runs = realloc(c->runs, (size_t)(c->n_runs + 1) * sizeof *c->runs);
    c->runs[c->n_runs] = (CaseRun){ .n_in = 0 };
    return &c->runs[c->n_runs++];
}

/* One line of a case: part of the model, or of a run. */
static void case_line(Case *c, char *line)
{
    CaseRun *r = c->n_runs ? &c->runs[c->n_runs - 1] : NULL;
    double tolerance = 2e-6;
    char *colon = strchr(line, ':');
    if (!strncmp(line, "in: ", 4)) {
        if (!r || r->n_out || r->fails) r = case_new_run(c);
        if (CHECK(r->n_in < MAX_PORTS)) port_read(&r->in[r->n_in++], line + 4, 0);
    } else if (!strncmp(line, "out", 3) && colon && (line[3] == ':' || line[3] == ' ')) {
        if (line[3] == ' ') tolerance = strtod(line + 4, NULL);
        if (!r) r = case_new_run(c);
        if (CHECK(r->n_out < MAX_PORTS)) port_read(&r->out[r->n_out++], colon + 2, tolerance);
    } else if (!strncmp(line, "fails: ", 7)) {
        if (!r || r->fails) r = case_new_run(c);
        r->fails = line + 7;
    } else if (!r) {
        strcat(strcat(c->model, line), "\n");
    } else {
        CHECK_STR(line, "a line of a run");
    }
}

static void case_finish(Case *c)
{
    if (!c->model) return;
    CHECK(c->n_runs > 0);
    case_run_everywhere(c);
    for (int k = 0; k < c->n_runs; k++) {
        for (int i = 0; i < c->runs[k].n_in; i++) sdx_model_destroy(c->runs[k].in[i].m);
        for (int i = 0; i < c->runs[k].n_out; i++) sdx_model_destroy(c->runs[k].out[i].m);
    }
    free(c->model);
    free(c->runs);
    *c = (Case){ 0 };
}

static char file_path[1024];
static const char *wanted;

static void file_run(void)
{
    FILE *f = fopen(file_path, "rb");
    if (!CHECK(f != NULL)) return;
    static char text[1 << 20];
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    if (!CHECK(n < sizeof text - 1)) return;
    text[n] = '\0';
    Case c = { 0 };
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n');
        if (!CHECK(next != NULL)) break;
        *next++ = '\0';
        if (!strncmp(line, "== ", 3)) {
            case_finish(&c);
            if (wanted && !strstr(line, wanted)) continue;
            c = (Case){ .name = line + 3, .model = calloc(1, n + 2) };
        } else if (c.model && *line && *line != '#') {
            case_line(&c, line);
        }
    }
    case_finish(&c);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

int main(int argc, char **argv)
{
    char *names[64];
    int n = 0;
    DIR *dir = opendir(SDX_TEST_DATA "/cases");
    if (!dir) return 1;
    for (struct dirent *e; n < 64 && (e = readdir(dir));)
        if (strstr(e->d_name, ".txt")) names[n++] = strdup(e->d_name);
    closedir(dir);
    qsort(names, (size_t)n, sizeof *names, by_name);
    wanted = argc > 1 ? argv[1] : NULL;
    for (int i = 0; i < n; i++) {
        snprintf(file_path, sizeof file_path, "%s/cases/%s", SDX_TEST_DATA, names[i]);
        sdx_harness_run(names[i], file_run);
        free(names[i]);
    }
    return n == 0 || sdx_harness_finish();
}
