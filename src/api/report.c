/* What the library can tell about sessions, models and the machine. */
#include <stdio.h>
#include <string.h>

#include "api/api.h"

sdx_status sdx_session_plan_bytes(sdx_session *s, const char *const *input_names, const sdx_value *const *inputs,
                                  size_t n_inputs, size_t *nbytes, sdx_error *error)
{
    Err *err = api_err(error);
    if (n_inputs > 4096) return sdx_fail(err, SDX_INVALID_ARGUMENT, "too many inputs");
    const char **names = sdx_alloc(&sdx_alloc_default, s->n_outputs * sizeof *names);
    const Datum **in = sdx_alloc(&sdx_alloc_default, n_inputs * sizeof *in);
    RunSpec *spec = NULL;
    sdx_status st = names && in ? SDX_OK : sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    for (size_t i = 0; st == SDX_OK && i < s->n_outputs; i++) names[i] = s->outputs[i].name;
    for (size_t i = 0; st == SDX_OK && i < n_inputs; i++) {
        if (inputs[i])
            in[i] = &inputs[i]->d;
        else
            st = sdx_fail(err, SDX_INVALID_ARGUMENT, "input value %zu is NULL", i);
    }
    if (st == SDX_OK) st = sdx_ses_spec(s->ses, input_names, (int)n_inputs, names, (int)s->n_outputs, &spec, err);
    if (st == SDX_OK) st = sdx_ses_plan_nbytes(s->ses, spec, in, nbytes, err);
    sdx_ses_spec_drop(spec);
    sdx_free(&sdx_alloc_default, in);
    sdx_free(&sdx_alloc_default, names);
    return st;
}

typedef struct NodeSink {
    void (*fn)(void *user, const sdx_node_info *node);
    void *user;
    const SymTab *syms;
} NodeSink;

static void join_names(char *buf, size_t size, Value *const *values, int n)
{
    size_t at = 0;
    buf[0] = '\0';
    for (int i = 0; i < n && at < size; i++) {
        int len = snprintf(buf + at, size - at, "%s%s", i ? "," : "", values[i] ? values[i]->name : "");
        at += len > 0 ? (size_t)len : 0;
    }
}

static void sink_node(void *user, const Node *n, const char *ep, const char *reason)
{
    const NodeSink *sink = user;
    char inputs[4096], outputs[1024], type[1024] = "";
    join_names(inputs, sizeof inputs, n->in, n->n_in);
    join_names(outputs, sizeof outputs, n->out, n->n_out);
    if (n->n_out && n->out[0]) sdx_type_text(sink->syms, &n->out[0]->type, type, sizeof type);
    sdx_node_info info = { n->name, n->op_type, n->domain, ep ? ep : "", reason ? reason : "", inputs, outputs, type };
    sink->fn(sink->user, &info);
}

void sdx_session_each_node(const sdx_session *s, void (*fn)(void *user, const sdx_node_info *node), void *user)
{
    NodeSink sink = { fn, user, sdx_ses_model(s->ses)->syms };
    sdx_ses_each_node(s->ses, sink_node, &sink);
}

typedef struct ValueSink {
    void (*fn)(void *user, const char *name, const char *type);
    void *user;
    const SymTab *syms;
} ValueSink;

static void sink_values(void *user, const Node *n, const char *ep, const char *reason)
{
    const ValueSink *sink = user;
    char type[1024];
    (void)ep, (void)reason;
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i])
            sink->fn(sink->user, n->out[i]->name, sdx_type_text(sink->syms, &n->out[i]->type, type, sizeof type));
}

void sdx_session_each_value(const sdx_session *s, void (*fn)(void *user, const char *name, const char *type),
                            void *user)
{
    ValueSink sink = { fn, user, sdx_ses_model(s->ses)->syms };
    sdx_ses_each_node(s->ses, sink_values, &sink);
}

void sdx_session_each_rewrite(const sdx_session *s, void (*fn)(void *user, const char *name, const char *detail),
                              void *user)
{
    for (const Rewrite *r = sdx_ses_model(s->ses)->rewrites; r; r = r->next) fn(user, r->pass, r->detail);
}

void sdx_each_rewrite(void (*fn)(void *user, const char *name, sdx_level level, const char *text), void *user)
{
    int n;
    const Pass *passes = sdx_opt_passes(&n);
    for (int i = 0; i < n; i++) fn(user, passes[i].name, (sdx_level)passes[i].level, passes[i].text);
}

void sdx_each_operator(void (*fn)(void *user, const char *domain, const char *name, const char *since_versions),
                       void *user)
{
    int n;
    const OpDef *const *ops = sdx_op_list(&n);
    for (int i = 0; i < n; i++) {
        if (!ops[i]->cpu.run && !(ops[i]->flags & OP_VIEW)) continue;
        char text[256];
        size_t at = 0;
        int rows = 0;
        while (ops[i]->vers[rows].since) rows++;
        for (int r = rows - 1; r >= 0 && at < sizeof text; r--) {
            int len = snprintf(text + at, sizeof text - at, "%s%d", at ? "," : "", ops[i]->vers[r].since);
            at += len > 0 ? (size_t)len : 0;
        }
        fn(user, ops[i]->domain ? ops[i]->domain : "ai.onnx", ops[i]->name, rows ? text : "");
    }
}

sdx_status sdx_model_optimize(const sdx_source *source, const sdx_session_options *options, const char *path,
                              const char *external, sdx_error *error)
{
    Err *err = api_err(error);
    sdx_session holder = { 0 };
    SessionOptions o;
    Model *m = NULL;
    sdx_arena_init(&holder.arena, &sdx_alloc_default, 0);
    sdx_status st = sdx_api_options(&holder, options, &o, err);
    if (st == SDX_OK) st = sdx_api_import(&sdx_alloc_default, source, options, &o, NULL, &holder.bytes, &m, err);
    if (st == SDX_OK) {
        OptOptions oo = { .level = o.level,
                          .disabled = o.disabled,
                          .fold_max_nbytes = (size_t)1 << 20,
                          .kern = o.kern ? o.kern : sdx_kern_best() };
        st = sdx_opt_run(m, &oo, err);
    }
    if (st == SDX_OK) {
        ExportOptions eo = { .external_location = external, .external_min = 1024 };
        st = sdx_onnx_export(m, path, &eo, err);
    }
    sdx_model_destroy(m);
    sdx_buf_release(holder.bytes);
    sdx_pool_release(holder.pool);
    sdx_arena_fini(&holder.arena);
    return st;
}

sdx_status sdx_model_print(const sdx_source *source, void (*write)(void *user, const char *text, size_t n), void *user,
                           sdx_error *error)
{
    SessionOptions o;
    Model *m = NULL;
    Buf *kept = NULL;
    sdx_ses_options_init(&o);
    sdx_status st = sdx_api_import(&sdx_alloc_default, source, NULL, &o, NULL, &kept, &m, api_err(error));
    if (st == SDX_OK) st = sdx_onnx_print(m, write, user, api_err(error));
    sdx_model_destroy(m);
    sdx_buf_release(kept);
    return st;
}

static void level_list(char *text, size_t size)
{
    text[0] = '\0';
    for (unsigned level = 0; level < SDX_CPU_LEVELS; level++) {
        if (!sdx_cpu_has(level)) continue;
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s", at ? "," : "", sdx_cpu_level_name(level));
    }
}

void sdx_system(sdx_system_info *info)
{
    const Cpu *cpu = sdx_cpu();
    if (info->struct_size != sizeof *info) return;
    info->cpu_level = sdx_kern_best()->name;
    level_list(info->cpu_levels, sizeof info->cpu_levels);
    info->default_threads = sdx_pool_default_threads();
    info->l1d_bytes = cpu->l1d;
    info->l2_bytes = cpu->l2;
    info->l3_bytes = cpu->l3;
}
