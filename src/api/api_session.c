/* Sessions of the public API: opening, and what a model says about itself. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "api/api.h"

/* -- sources ------------------------------------------------------------------------------------------------------- */

static sdx_status import_source(const Alloc *a, Source *src, const ImportOptions *io, Model **out, Err *err)
{
    sdx_status st = sdx_onnx_import(a, src, io, out, err);
    sdx_source_fini(src);
    return st;
}

static sdx_status import_memory(const Alloc *a, const sdx_source *source, ImportOptions *io, Buf **kept, Model **out,
                                Err *err)
{
    Source src;
    const void *data = source->data;
    if (source->copy) {
        TRY_MEM(*kept = sdx_buf_create(a, source->nbytes), err);
        memcpy((*kept)->data, source->data, source->nbytes);
        data = (*kept)->data;
    }
    sdx_source_memory(&src, a, data, source->nbytes);
    io->load = LOAD_MAP; /* of the copy, or borrowed */
    sdx_status st = import_source(a, &src, io, out, err);
    if (st != SDX_OK) {
        sdx_buf_release(*kept);
        *kept = NULL;
    }
    return st;
}

/* Where external data may lie: memory, then folders. */
typedef struct Files {
    const sdx_session_options *options;
    const sdx_source *source;
    const Alloc *alloc;
} Files;

static sdx_status files_open(void *user, const char *location, Source *out, Err *err)
{
    const Files *f = user;
    for (size_t i = 0; i < f->options->n_files; i++) {
        const sdx_file *file = &f->options->files[i];
        if (!file->name || strcmp(file->name, location) != 0) continue;
        sdx_source_memory(out, f->alloc, file->data, file->nbytes);
        return SDX_OK;
    }
    char dir[SDX_PATH_MAX], real[SDX_PATH_MAX];
    const char *dirs[] = { dir, real }, *given[] = { f->source->external_dir };
    if (given[0]) return sdx_source_under(out, f->alloc, given, 1, location, err);
    if (!f->source->path || !sdx_path_dir(f->source->path, dir) || !sdx_path_real_dir(f->source->path, real))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: no bytes were given for this file", location);
    return sdx_source_under(out, f->alloc, dirs, 2, location, err);
}

sdx_status sdx_api_import(const Alloc *a, const sdx_source *source, const sdx_session_options *options,
                          const SessionOptions *o, const ImportSurvey *survey, Buf **kept, Model **out, Err *err)
{
    if (!source || source->struct_size != sizeof *source)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "source is NULL or its struct_size is not %zu", sizeof *source);
    int ways = (source->path != NULL) + (source->data != NULL) + (source->fd >= 0) + (source->read != NULL);
    if (ways != 1)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "source: exactly one of path, data, fd and read is needed, not %d",
                        ways);
    ImportOptions io = { .load = source->copy ? LOAD_COPY : LOAD_MAP,
                         .dir = source->external_dir,
                         .max_nodes = o->max_nodes,
                         .custom_ops = o->custom_ops,
                         .given = o->given,
                         .n_given = o->n_given,
                         .survey = survey };
    Files files = { options, source, a };
    const ExternalOpener opener = { files_open, &files };
    if (options && options->n_files) io.external = &opener;
    Source src;
    if (source->path) return sdx_onnx_import_path(a, source->path, &io, out, err);
    if (source->data) return import_memory(a, source, &io, kept, out, err);
    if (source->read)
        sdx_source_callback(&src, a, source->read, source->user, source->nbytes);
    else
        TRY(sdx_source_fd(&src, a, source->fd, err));
    return import_source(a, &src, &io, out, err);
}

/* -- facts --------------------------------------------------------------------------------------------------------- */

static sdx_status session_add_info(sdx_session *s, const char *key, const char *value, Err *err)
{
    if (!value || !*value) return SDX_OK;
    TRY_MEM(value, err);
    s->info[s->n_info++] = (MetaProp){ key, value };
    return SDX_OK;
}

static const char *opset_text(Arena *a, const Model *m)
{
    const char *text = "";
    for (int i = 0; text && i < m->n_opsets; i++) {
        const char *domain = m->opsets[i].domain;
        text = sdx_arena_printf(a, "%s%s%s %" PRId64, text, *text ? ", " : "", *domain ? domain : "ai.onnx",
                                m->opsets[i].version);
    }
    return text;
}

#define INFO_KEYS 9

static sdx_status session_describe(sdx_session *s, Err *err)
{
    const Model *m = sdx_ses_model(s->ses);
    TRY_MEM(s->info = sdx_arena_array(&s->arena, MetaProp, INFO_KEYS), err);
    TRY(session_add_info(s, "producer_name", m->producer_name, err));
    TRY(session_add_info(s, "producer_version", m->producer_version, err));
    TRY(session_add_info(s, "domain", m->domain, err));
    TRY(session_add_info(s, "description", m->doc_string, err));
    TRY(session_add_info(s, "graph_name", m->graph->name, err));
    TRY(session_add_info(s, "graph_description", m->graph_doc, err));
    TRY(session_add_info(s, "model_version", sdx_arena_printf(&s->arena, "%" PRId64, m->model_version), err));
    TRY(session_add_info(s, "ir_version", sdx_arena_printf(&s->arena, "%" PRId64, m->ir_version), err));
    return session_add_info(s, "opset", opset_text(&s->arena, m), err);
}

static sdx_status session_ports(sdx_session *s, int n, const Value *(*get)(const Session *, int), Port **ports,
                                size_t *count, Err *err)
{
    TRY_MEM(*ports = sdx_arena_array(&s->arena, Port, n), err);
    for (int i = 0; i < n; i++) {
        const Value *v = get(s->ses, i);
        (*ports)[i] = (Port){ v->name, sdx_api_type(&s->arena, sdx_ses_model(s->ses)->syms, &v->type) };
        TRY_MEM((*ports)[i].type, err);
    }
    *count = (size_t)n;
    return SDX_OK;
}

/* -- life ---------------------------------------------------------------------------------------------------------- */

static void session_free(sdx_session *s)
{
    sdx_ses_close(s->ses);
    sdx_buf_release(s->bytes);
    sdx_pool_release(s->pool);
    sdx_arena_fini(&s->arena);
    sdx_free(&sdx_alloc_default, s);
}

static void session_log(const sdx_session *s, const sdx_session_options *o)
{
    if (!o || !o->log) return;
    for (const Rewrite *r = sdx_ses_model(s->ses)->rewrites; r; r = r->next) {
        char line[1024];
        snprintf(line, sizeof line, "rewrite %s: %s", r->pass, r->detail);
        o->log(o->log_user, SDX_LOG_VERBOSE, line);
    }
}

/* The model keeps the memory of weights that were given. */
static sdx_status own_given(Model *m, const sdx_session_options *options, const SessionOptions *o, Err *err)
{
    for (int i = 0; i < o->n_given; i++) {
        Buf *b = options->initializers[i].value->d.buf;
        if (!o->given[i].used)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "the model has no initializer `%s`", o->given[i].name);
        if (b) TRY(sdx_model_own(m, sdx_buf_retain(b), err));
    }
    return SDX_OK;
}

static sdx_status session_fill(sdx_session *s, const sdx_source *source, const sdx_session_options *options, Err *err)
{
    SessionOptions o;
    Model *m = NULL;
    TRY(sdx_api_options(s, options, &o, err));
    TRY(sdx_api_import(o.alloc ? o.alloc : &sdx_alloc_default, source, options, &o, NULL, &s->bytes, &m, err));
    sdx_status st = own_given(m, options, &o, err);
    if (st != SDX_OK) sdx_model_destroy(m);
    TRY(st);
    TRY(sdx_ses_open(&m, &o, &s->ses, err));
    TRY(session_ports(s, sdx_ses_n_inputs(s->ses), sdx_ses_input, &s->inputs, &s->n_inputs, err));
    TRY(session_ports(s, sdx_ses_n_outputs(s->ses), sdx_ses_output, &s->outputs, &s->n_outputs, err));
    TRY(session_ports(s, sdx_ses_n_overridable(s->ses), sdx_ses_overridable, &s->overridable, &s->n_overridable, err));
    return session_describe(s, err);
}

sdx_status sdx_session_create(const sdx_source *source, const sdx_session_options *options, sdx_session **out,
                              sdx_error *error)
{
    Err *err = api_err(error);
    sdx_session *s = sdx_alloc_zero(&sdx_alloc_default, sizeof *s);
    TRY_MEM(s, err);
    s->refs = 1;
    sdx_arena_init(&s->arena, &sdx_alloc_default, 0);
    sdx_status st = session_fill(s, source, options, err);
    if (st != SDX_OK) {
        session_free(s);
        return st;
    }
    session_log(s, options);
    *out = s;
    return SDX_OK;
}

sdx_status sdx_session_open(const char *path, const sdx_session_options *options, sdx_session **out, sdx_error *err)
{
    sdx_source source = SDX_SOURCE_INIT;
    source.path = path;
    return sdx_session_create(&source, options, out, err);
}

sdx_status sdx_session_open_bytes(const void *data, size_t nbytes, const sdx_session_options *options,
                                  sdx_session **out, sdx_error *err)
{
    sdx_source source = SDX_SOURCE_INIT;
    source.data = data;
    source.nbytes = nbytes;
    return sdx_session_create(&source, options, out, err);
}

void sdx_session_retain(sdx_session *s)
{
    if (s) __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED);
}

void sdx_session_release(sdx_session *s)
{
    if (s && __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) == 0) session_free(s);
}

/* -- getters ------------------------------------------------------------------------------------------------------- */

#define PORT_GETTERS(kind, list)                                                                                       \
    size_t sdx_session_##kind##_count(const sdx_session *s) { return s->n_##list; }                                    \
    const char *sdx_session_##kind##_name(const sdx_session *s, size_t i)                                              \
    {                                                                                                                  \
        return i < s->n_##list ? s->list[i].name : NULL;                                                               \
    }                                                                                                                  \
    const sdx_type *sdx_session_##kind##_type(const sdx_session *s, size_t i)                                          \
    {                                                                                                                  \
        return i < s->n_##list ? s->list[i].type : NULL;                                                               \
    }
PORT_GETTERS(input, inputs)
PORT_GETTERS(output, outputs)
PORT_GETTERS(overridable, overridable)

const char *sdx_session_model_info(const sdx_session *s, const char *name)
{
    for (size_t i = 0; name && i < s->n_info; i++)
        if (strcmp(s->info[i].key, name) == 0) return s->info[i].value;
    return NULL;
}

size_t sdx_session_metadata_count(const sdx_session *s) { return (size_t)sdx_ses_model(s->ses)->n_metadata; }

const char *sdx_session_metadata_key(const sdx_session *s, size_t i)
{
    return i < sdx_session_metadata_count(s) ? sdx_ses_model(s->ses)->metadata[i].key : NULL;
}

const char *sdx_session_metadata_value(const sdx_session *s, size_t i)
{
    return i < sdx_session_metadata_count(s) ? sdx_ses_model(s->ses)->metadata[i].value : NULL;
}

void sdx_session_trim(sdx_session *s) { sdx_ses_trim(s->ses); }
