/* What of a model runs and how, and what this build has operators for. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "onnx/import.h"

/* -- models -------------------------------------------------------------------------------------------------------- */

/* A node of the file, and where to find what became of it: ids outlive the node and value that they were of. */
typedef struct Seen {
    sdx_node_coverage c;
    const char *label; /* as errors call it */
    int node_id, value_id;
} Seen;

typedef struct Survey {
    Arena arena;
    Seen *v;
    int n, cap;
    bool short_of_memory;
} Survey;

static const char *copy_str(Arena *a, Str s) { return sdx_arena_strndup(a, s.p ? s.p : "", s.n); }

static const char *label_of(Arena *a, const ImportedNode *n)
{
    char text[256];
    if (n->node) {
        sdx_node_text(n->node, text, sizeof text);
        return sdx_arena_printf(a, "%s", text);
    }
    Str name = n->name;
    if (!name.n && n->output) name = (Str){ n->output->name, strlen(n->output->name) };
    return sdx_arena_printf(a, "node `%.*s` (", (int)name.n, name.p ? name.p : "");
}

static void survey_node(void *user, const ImportedNode *n)
{
    Survey *s = user;
    Arena *a = &s->arena;
    if (!sdx_arena_grow(a, s->v, s->n, s->cap)) {
        s->short_of_memory = true;
        return;
    }
    Seen seen = { .node_id = n->node ? n->node->id : -1, .value_id = n->output ? n->output->id : -1 };
    const char *name = n->node && *n->node->name ? n->node->name : copy_str(a, n->name);
    seen.c = (sdx_node_coverage){ .name = sdx_arena_printf(a, "%s", name ? name : ""),
                                  .op_type = copy_str(a, n->op_type),
                                  .domain = n->domain.n ? copy_str(a, n->domain) : "ai.onnx",
                                  .output = n->output ? sdx_arena_printf(a, "%s", n->output->name) : "",
                                  .since_version = n->since_version,
                                  .how = n->missing   ? SDX_RUNS_NOT
                                         : n->is_call ? SDX_RUNS_BODY
                                                      : SDX_RUNS_NATIVE,
                                  .text = n->missing ? sdx_arena_printf(a, "%s", n->missing) : "" };
    seen.label = label_of(a, n);
    s->short_of_memory |= !seen.c.name || !seen.c.op_type || !seen.c.domain || !seen.c.output || !seen.c.text ||
                          !seen.label;
    if (!s->short_of_memory) s->v[s->n++] = seen;
}

/* The rewrite that names the node, by its name or output. */
static const char *rewrite_of(const Model *m, const Seen *s)
{
    const char *quoted[2] = { s->c.name, s->c.output };
    for (const Rewrite *r = m->rewrites; r; r = r->next)
        for (int k = 0; k < 2; k++) {
            char text[256];
            if (!*quoted[k]) continue;
            snprintf(text, sizeof text, "`%s`", quoted[k]);
            if (strstr(r->detail, text)) return r->pass;
        }
    return NULL;
}

static void became(Survey *s, const Model *m, Seen *seen, const char *what)
{
    const char *pass = rewrite_of(m, seen);
    seen->c.how = SDX_RUNS_REWRITTEN;
    if (!what) what = pass ? "taken over" : "merged into another, or not needed";
    seen->c.text = sdx_arena_printf(&s->arena, "%s%s%s", what, pass ? " by " : "", pass ? pass : "");
    s->short_of_memory |= !seen->c.text;
}

static void became_operator(Survey *s, const Model *m, Seen *seen, const Node *n)
{
    char what[128];
    const char *domain = *n->domain ? n->domain : "ai.onnx";
    bool same = strcmp(n->op_type, seen->c.op_type) == 0 && strcmp(domain, seen->c.domain) == 0;
    if (same) return;
    snprintf(what, sizeof what, "as %s%s%s", n->domain, *n->domain ? "." : "", n->op_type);
    became(s, m, seen, what);
}

typedef struct NodeTable {
    const Node **by_id;
    int n;
} NodeTable;

static sdx_status table_add(Graph *g, void *user, Err *err)
{
    (void)err;
    NodeTable *t = user;
    for (const Node *n = g->first; n; n = n->next)
        if (n->id < t->n) t->by_id[n->id] = n;
    return SDX_OK;
}

/* Compares the file's nodes with those that a session runs. */
static sdx_status survey_match(Survey *s, Session *ses, Err *err)
{
    const Model *m = sdx_ses_model(ses);
    NodeTable t = { .n = m->next_node_id };
    TRY_MEM(t.by_id = sdx_arena_array(&s->arena, const Node *, t.n), err);
    TRY(sdx_model_each_graph((Model *)m, table_add, &t, err));
    for (int i = 0; i < s->n; i++) {
        Seen *seen = &s->v[i];
        if (seen->c.how == SDX_RUNS_BODY) continue;
        const Node *n = seen->node_id >= 0 && seen->node_id < t.n ? t.by_id[seen->node_id] : NULL;
        const Value *v = seen->value_id >= 0 && seen->value_id < m->n_values ? m->values[seen->value_id] : NULL;
        if (!n && v) n = v->producer;
        if (n)
            became_operator(s, m, seen, n);
        else if (v && v->constant)
            became(s, m, seen, "computed at load");
        else
            became(s, m, seen, NULL);
    }
    return s->short_of_memory ? sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory") : SDX_OK;
}

/* The node that the error is about cannot run. */
static void survey_blame(Survey *s, const Err *err)
{
    for (int i = 0; i < s->n; i++) {
        Seen *seen = &s->v[i];
        if (seen->c.how == SDX_RUNS_NOT || !strstr(err->text, seen->label)) continue;
        const char *text = sdx_arena_printf(&s->arena, "%s", err->text);
        seen->c.how = SDX_RUNS_NOT;
        seen->c.text = text ? text : "";
        return;
    }
}

sdx_status sdx_model_coverage(const sdx_source *source, const sdx_session_options *options,
                              void (*fn)(void *user, const sdx_node_coverage *node), void *user, sdx_error *error)
{
    Err own = { 0 };
    sdx_session holder = { 0 };
    SessionOptions o;
    Model *m = NULL;
    Session *ses = NULL;
    Survey s = { .n = 0 };
    const ImportSurvey survey = { survey_node, &s };
    sdx_arena_init(&holder.arena, &sdx_alloc_default, 0);
    sdx_arena_init(&s.arena, &sdx_alloc_default, 0);
    sdx_status st = sdx_api_options(&holder, options, &o, &own);
    if (st == SDX_OK) st = sdx_api_import(&sdx_alloc_default, source, options, &o, &survey, &holder.bytes, &m, &own);
    if (st == SDX_OK) st = sdx_ses_open(&m, &o, &ses, &own);
    if (st == SDX_OK)
        st = survey_match(&s, ses, &own);
    else if (st != SDX_OUT_OF_MEMORY)
        survey_blame(&s, &own);
    for (int i = 0; i < s.n; i++) fn(user, &s.v[i].c);
    if (st != SDX_OK) sdx_fail(api_err(error), st, "%s", own.text);
    sdx_ses_close(ses);
    sdx_buf_release(holder.bytes);
    sdx_pool_release(holder.pool);
    sdx_arena_fini(&holder.arena);
    sdx_arena_fini(&s.arena);
    return st;
}

/* -- operators ----------------------------------------------------------------------------------------------------- */

static size_t put(char *text, size_t size, size_t at, const char *a, const char *b)
{
    int len = at < size ? snprintf(text + at, size - at, "%s%s", a, b) : 0;
    return at + (len > 0 ? (size_t)len : 0);
}

/* "T: float,double; U: int64". */
static void types_text(const OpVer *ver, char *text, size_t size)
{
    static const char *const names[] = { "T", "U", "V", "W" };
    size_t at = 0;
    text[0] = '\0';
    for (int var = 0; var < 4; var++) {
        if (!ver->types[var]) continue;
        at = put(text, size, at, at ? "; " : "", names[var]);
        const char *separator = ": ";
        for (int d = 1; d < DT_COUNT; d++) {
            if (!sdx_dtype_in((DType)d, ver->types[var])) continue;
            at = put(text, size, at, separator, sdx_dtype_name((DType)d));
            separator = ",";
        }
    }
}

/* Operators that are written in others, each once. */
static void each_body(void (*fn)(void *user, const sdx_operator_info *op), void *user)
{
    const char *at = NULL, *domain, *name, *last = "";
    while (sdx_body_next(&at, &domain, &name)) {
        if (!strcmp(domain, "body") || !strcmp(name, last)) continue;
        last = name;
        sdx_operator_info info = { *domain ? domain : "ai.onnx", name, 1, "", "", SDX_RUNS_BODY };
        fn(user, &info);
    }
}

void sdx_each_operator_version(void (*fn)(void *user, const sdx_operator_info *op), void *user)
{
    int n;
    const OpDef *const *ops = sdx_op_list(&n);
    for (int i = 0; i < n; i++) {
        const OpDef *def = ops[i];
        if (def->domain && strcmp(def->domain, "sdx") == 0) continue; /* not for files */
        bool runs = def->cpu.run || def->flags & OP_VIEW;
        for (const OpVer *ver = def->vers; ver && ver->since; ver++) {
            char types[1024];
            types_text(ver, types, sizeof types);
            sdx_operator_info info = {
                def->domain ? def->domain : "ai.onnx",      def->name, ver->since, def->sig, types,
                runs ? SDX_RUNS_NATIVE : SDX_RUNS_REWRITTEN
            };
            fn(user, &info);
        }
    }
    each_body(fn, user);
}
