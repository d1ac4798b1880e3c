/* tests/shapes - inferred shapes against those that runs produce
 *
 *     shapes [-v] DIR...
 *
 * Every case below the folders (model.onnx and test_data_set_0, as ONNX lays them out) is inferred four times: with the
 * sizes of its inputs as the file gives them or a symbol for each, and with the lists among its inputs (the second and
 * later ones, of rank 1 at most) as they are or as constants. What the file says of other values is forgotten. Then it
 * runs as written, and what each node gives must have the type, rank and sizes inferred. -v also lists, by operator, how
 * many sizes inference left open where the inputs' sizes were given and the lists constant. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "session/session.h"

enum { MAX_PORTS = 512, MAX_OPS = 512 };

typedef struct OpCount {
    const char *op;
    long told, open;
} OpCount;

static OpCount ops[MAX_OPS];
static int n_ops;
static long n_values, n_sizes, n_runs, n_not_run, n_wrong;
static bool verbose;

/* One run of one case. */
typedef struct Check {
    const char *path;
    bool symbolic, frozen;
    const Session *ses;
    int file[MAX_PORTS]; /* of an input, its number in the file */
    Datum in[MAX_PORTS];
    const Datum *ptr[MAX_PORTS];
    const char *in_names[MAX_PORTS], *out_names[MAX_PORTS];
    int n_in;
} Check;

static OpCount *count_of(const char *op)
{
    int i = 0;
    while (i < n_ops && strcmp(ops[i].op, op) != 0) i++;
    if (i == n_ops && n_ops < MAX_OPS - 1) ops[n_ops++].op = op;
    return &ops[i < MAX_OPS ? i : MAX_OPS - 1];
}

/* "x17_2" is size 2 of input 17. */
static int64_t symbol(void *user, const char *name)
{
    const Check *c = user;
    int input, axis;
    if (sscanf(name, "x%d_%d", &input, &axis) != 2 || input >= c->n_in || axis >= c->in[input].t.rank) return -1;
    return c->in[input].t.dims[axis];
}

static const char *way(const Check *c)
{
    static const char *const ways[] = { "as written", "symbolic", "lists constant", "symbolic, lists constant" };
    return ways[2 * c->frozen + c->symbolic];
}

static void wrong(const Check *c, const Node *n, int o, const Type *want, const Tensor *got, const char *what)
{
    char type[256], text[256], dims[256] = "";
    for (int i = 0; i < got->rank; i++)
        snprintf(dims + strlen(dims), sizeof dims - strlen(dims), "%s%lld", i ? "," : "", (long long)got->dims[i]);
    n_wrong++;
    printf("%s, %s: %s, output %d: inferred %s, got %s[%s]: %s\n", c->path, way(c), sdx_node_text(n, text, sizeof text),
           o, sdx_type_text(sdx_ses_model(c->ses)->syms, want, type, sizeof type), sdx_dtype_name(got->dtype), dims,
           what);
}

static void check_value(const Check *c, const Node *n, int o, const Datum *d)
{
    const Type *t = &n->out[o]->type;
    const Tensor *got = &d->t;
    OpCount *count = count_of(n->op_type);
    if (d->kind != DATUM_TENSOR || t->kind != TYPE_TENSOR) return;
    n_values++;
    if (t->elem != DT_NONE && t->elem != got->dtype) wrong(c, n, o, t, got, "element type");
    if (t->shape.rank == SDX_RANK_UNKNOWN) {
        if (!c->symbolic && c->frozen) count->open++;
        return;
    }
    if (t->shape.rank != got->rank) {
        wrong(c, n, o, t, got, "rank");
        return;
    }
    for (int i = 0; i < got->rank; i++) {
        int64_t want = sdx_dim_eval(sdx_ses_model(c->ses)->syms, t->shape.dims[i], symbol, (void *)c);
        n_sizes += want >= 0;
        if (!c->symbolic && c->frozen) *(want < 0 ? &count->open : &count->told) += 1;
        if (want < 0 || want == got->dims[i]) continue;
        wrong(c, n, o, t, got, "size");
        return;
    }
}

static void check_node(void *user, const Node *n, int64_t start_ns, int64_t end_ns, const Datum *const *in, int n_in,
                       Datum *const *out, int n_out)
{
    for (int o = 0; o < n_out; o++)
        if (n->out[o] && out[o]) check_value(user, n, o, out[o]);
}

/* -- cases --------------------------------------------------------------------------------------------------------- */

static void *read_file(const char *path, size_t *n)
{
    FILE *f = fopen(path, "rb");
    char *bytes = NULL;
    struct stat st;
    if (f && fstat(fileno(f), &st) == 0 && (bytes = malloc((size_t)st.st_size + 1)))
        *n = fread(bytes, 1, (size_t)st.st_size, f);
    if (f) fclose(f);
    return bytes;
}

static bool read_input(Datum *d, const char *dir, int file, const Type *t)
{
    char path[4096];
    size_t nbytes = 0;
    snprintf(path, sizeof path, "%s/test_data_set_0/input_%d.pb", dir, file);
    void *bytes = read_file(path, &nbytes);
    *d = (Datum){ 0 };
    if (!bytes) return false;
    sdx_status st = sdx_onnx_read_datum(&sdx_alloc_default, bytes, nbytes, t, d, NULL);
    free(bytes);
    return st == SDX_OK;
}

/* Input v becomes a constant if it is a list of numbers. */
static bool freeze(Model *m, Value *v, const char *dir, int file)
{
    Datum d;
    size_t nbytes;
    if (v->type.kind != TYPE_TENSOR || v->type.shape.rank < 0 || v->type.shape.rank > 1 || v->type.elem == DT_STRING)
        return false;
    bool is_list = read_input(&d, dir, file, &v->type) && d.kind == DATUM_TENSOR && d.t.dtype == v->type.elem &&
                   sdx_tensor_nbytes(&d.t, &nbytes);
    Tensor *t = is_list ? sdx_arena_new(&m->arena, Tensor) : NULL;
    if (t) {
        *t = d.t;
        t->data = sdx_model_tensor_data(m, t);
        if (t->data && nbytes) memcpy(t->data, d.t.data, nbytes);
        v->constant = t;
        v->flags = (v->flags & ~(unsigned)VALUE_GRAPH_INPUT) | VALUE_INITIALIZER;
        for (int k = 0; k < t->rank; k++) v->type.shape.dims[k] = t->dims[k];
    }
    sdx_datum_clear(&d);
    return t != NULL;
}

/* Values of nodes lose what the file says of them; inputs become constants or get symbols, as c asks. */
static void prepare(Check *c, Model *m, const char *dir)
{
    Graph *g = m->graph;
    int kept = 0;
    for (int i = 0; i < g->n_outputs; i++)
        if (g->outputs[i]->producer) g->outputs[i]->type.shape.rank = SDX_RANK_UNKNOWN;
    for (int i = 0, file = 0; i < g->n_inputs && kept < MAX_PORTS; i++) {
        Value *v = g->inputs[i];
        bool is_default = v->constant != NULL;
        if (c->frozen && file && !is_default && freeze(m, v, dir, file)) {
            file++;
            continue;
        }
        for (int k = 0; c->symbolic && !is_default && v->type.kind == TYPE_TENSOR && k < v->type.shape.rank; k++) {
            char name[32];
            int len = snprintf(name, sizeof name, "x%d_%d", kept, k);
            v->type.shape.dims[k] = sdx_dim_named(m->syms, name, (size_t)len);
        }
        if (!is_default) c->file[c->n_in++] = file++;
        g->inputs[kept++] = v;
    }
    g->n_inputs = kept;
}

static bool read_inputs(Check *c, const char *dir)
{
    for (int i = 0; i < c->n_in; i++) {
        const Value *v = sdx_ses_input(c->ses, i);
        c->in_names[i] = v->name;
        c->ptr[i] = &c->in[i];
        if (!read_input(&c->in[i], dir, c->file[i], &v->type)) return false;
    }
    return c->n_in == sdx_ses_n_inputs(c->ses);
}

static bool case_run(Check *c, const char *dir)
{
    static Datum out[MAX_PORTS];
    int n_out = sdx_ses_n_outputs(c->ses);
    if (!read_inputs(c, dir) || n_out > MAX_PORTS) return false;
    for (int i = 0; i < n_out; i++) {
        c->out_names[i] = sdx_ses_output(c->ses, i)->name;
        out[i] = (Datum){ 0 };
    }
    RunTrace trace = { check_node, c };
    RunOptions ro = { .trace = &trace };
    Err err = { 0 };
    sdx_status st = sdx_ses_run_names((Session *)c->ses, c->in_names, c->ptr, c->n_in, c->out_names, out, n_out, &ro,
                                      &err);
    if (st != SDX_OK && verbose) printf("%s, %s: %s\n", dir, way(c), err.text);
    for (int i = 0; i < n_out; i++) { /* views run no step of their own */
        const Value *v = sdx_ses_output(c->ses, i);
        if (st == SDX_OK && v->producer) check_value(c, v->producer, v->producer_index, &out[i]);
        sdx_datum_clear(&out[i]);
    }
    return st == SDX_OK;
}

static void case_check(const char *dir, bool symbolic, bool frozen)
{
    static Check c;
    char path[4096];
    Model *m = NULL;
    Session *s = NULL;
    SessionOptions o;
    Err err = { 0 };
    ImportOptions import = { .load = LOAD_COPY };
    c = (Check){ .path = dir, .symbolic = symbolic, .frozen = frozen };
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    sdx_ses_options_init(&o);
    o.level = OPT_NONE;
    o.threads = 1;
    sdx_status st = sdx_onnx_import_path(&sdx_alloc_default, path, &import, &m, &err);
    if (st == SDX_OK) {
        prepare(&c, m, dir);
        st = sdx_ses_open(&m, &o, &s, &err);
    }
    if (st != SDX_OK && verbose) printf("%s, %s: %s\n", dir, way(&c), err.text);
    c.ses = s;
    if (st == SDX_OK && case_run(&c, dir))
        n_runs++;
    else
        n_not_run++;
    for (int i = 0; i < c.n_in; i++) sdx_datum_clear(&c.in[i]);
    sdx_ses_close(s);
}

static void folder_check(const char *dir, int depth)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/model.onnx", dir);
    if (access(path, R_OK) == 0) {
        for (int way = 0; way < 4; way++) case_check(dir, way & 1, way & 2);
        return;
    }
    struct dirent **list;
    int n = depth < 8 ? scandir(dir, &list, NULL, alphasort) : 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", dir, list[i]->d_name);
        if (list[i]->d_name[0] != '.' && stat(path, &st) == 0 && S_ISDIR(st.st_mode)) folder_check(path, depth + 1);
        free(list[i]);
    }
    if (n > 0) free(list);
}

int main(int argc, char **argv)
{
    int first = 1;
    verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
    for (int i = first + verbose; i < argc; i++) folder_check(argv[i], 0);
    for (int i = 0; i < n_ops && verbose; i++)
        if (ops[i].open) printf("%-28s %6ld sizes told, %6ld open\n", ops[i].op, ops[i].told, ops[i].open);
    printf("shapes: %ld sizes of %ld values in %ld runs; %ld values are not as inferred; %ld runs failed\n", n_sizes,
           n_values, n_runs, n_wrong, n_not_run);
    return n_wrong != 0;
}
