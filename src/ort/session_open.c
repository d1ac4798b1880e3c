/* Opening sessions: from options of the ABI to a model that is ready to run. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/futex.h"
#include "onnx/ort_format.h"
#include "ort/custom_op.h"

static bool is_on(const OrtSessionOptions *o, const char *key)
{
    const char *value = o ? sdx_ort_config_get(o->config, o->n_config, key) : NULL;
    return value && strcmp(value, "1") == 0;
}

static void engine_options(const OrtSessionOptions *o, SessionOptions *out)
{
    sdx_ses_options_init(out);
    if (!o) return;
    out->level = o->level;
    out->threads = o->shares_threads ? sdx_ort_shared_threads() : o->threads;
    const char *flush = sdx_ort_config_get(o->config, o->n_config, "session.set_denormal_as_zero");
    if (flush && strcmp(flush, "0") == 0) out->keep_subnormals = true;
    if (is_on(o, "session.use_env_allocators") && sdx_ort_env_allocator()) out->alloc = sdx_ort_env_allocator();
}

/* One opening in progress: where the model comes from, and what is said to the import. */
typedef struct Origin {
    OrtOrigin from;
    const OpDef *const *custom;
    GivenInit *given;
    int n_given;
    Pool *pool; /* NULL: the engine's */
    bool parsed;
} Origin;

/* A file of external data: the caller's bytes, or beside the model. */
static sdx_status external_open(void *user, const char *location, Source *out, Err *err)
{
    const OrtOrigin *from = user;
    for (int i = 0; from->o && i < from->o->n_files; i++) {
        const OrtFile *f = &from->o->files[i];
        if (strcmp(f->name, location) != 0) continue;
        sdx_source_memory(out, &sdx_alloc_default, f->data, f->nbytes);
        return SDX_OK;
    }
    char dir[SDX_PATH_MAX], real[SDX_PATH_MAX];
    const char *dirs[] = { dir, real };
    const char *beside = from->path ? from->path : from->beside;
    if (!beside || !sdx_path_dir(beside, dir) || !sdx_path_real_dir(beside, real))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: no bytes were given for this file", location);
    return sdx_source_under(out, &sdx_alloc_default, dirs, 2, location, err);
}

static sdx_status import(Origin *in, Model **out, Err *err)
{
    const OrtOrigin *from = &in->from;
    const OrtSessionOptions *o = from->o;
    const ExternalOpener opener = { external_open, (void *)from };
    /* The caller may free its bytes, unless it says that it keeps them. */
    bool stays = !from->path && is_on(o, "session.use_ort_model_bytes_directly") &&
                 sdx_is_ort_format(from->data, from->nbytes);
    ImportOptions io = { .load = from->path || stays ? LOAD_MAP : LOAD_COPY,
                         .custom_ops = in->custom,
                         .external = (o && o->n_files) || from->beside ? &opener : NULL,
                         .given = in->given,
                         .n_given = in->n_given,
                         .parsed = &in->parsed };
    if (from->path) return sdx_onnx_import_path(&sdx_alloc_default, from->path, &io, out, err);
    if (o) io.dir = sdx_ort_config_get(o->config, o->n_config, "session.model_external_initializers_file_folder_path");
    Source src;
    sdx_source_memory(&src, &sdx_alloc_default, from->data, from->nbytes);
    sdx_status st = sdx_onnx_import(&sdx_alloc_default, &src, &io, out, err);
    sdx_source_fini(&src);
    return st;
}

/* The model as portable rewrites leave it: to a file, or without a path to bytes. */
static sdx_status rewrite(Origin *in, OptLevel level, const char *path, const ExportOptions *eo, Buf **bytes, Err *err)
{
    OptOptions oo = { .level = level, .fold_max_nbytes = (size_t)1 << 20, .kern = sdx_kern_best() };
    Model *m = NULL;
    TRY(import(in, &m, err));
    sdx_status st = sdx_opt_run(m, &oo, err);
    if (st == SDX_OK) st = path ? sdx_onnx_export(m, path, eo, err) : sdx_onnx_export_bytes(m, bytes, err);
    sdx_model_destroy(m);
    return st;
}

/* For who wants to look at it. */
static sdx_status write_optimized(Origin *in, const SessionOptions *so, Err *err)
{
    const OrtSessionOptions *o = in->from.o;
    const char *min = sdx_ort_config_get(o->config, o->n_config,
                                         "session.optimized_model_external_initializers_min_size_in_bytes");
    ExportOptions eo = {
        .external_location = sdx_ort_config_get(o->config, o->n_config,
                                                "session.optimized_model_external_initializers_file_name"),
        .external_min = min ? (size_t)strtoull(min, NULL, 10) : 1024,
    };
    return rewrite(in, so->level, o->optimized_path, &eo, NULL, err);
}

/* Sizes for names that the model has; others are ignored. */
static sdx_status keep_dims(const Model *m, const OrtSessionOptions *o, SessionOptions *so, Err *err)
{
    const Graph *g = m->graph;
    if (!o || !o->n_dims) return SDX_OK;
    DimOverride *dims = sdx_alloc(&sdx_alloc_default, (size_t)o->n_dims * sizeof *dims);
    TRY_MEM(dims, err);
    so->dims = dims;
    for (int d = 0; d < o->n_dims; d++) {
        bool found = false;
        for (int i = 0; i < g->n_inputs && !found; i++)
            for (int k = 0; k < g->inputs[i]->type.shape.rank && !found; k++) {
                const char *name = sdx_dim_name(m->syms, g->inputs[i]->type.shape.dims[k]);
                found = name && strcmp(name, o->dims[d].name) == 0;
            }
        if (found) dims[so->n_dims++] = o->dims[d];
    }
    return SDX_OK;
}

static sdx_status own_inits(Model *m, const Origin *in, Err *err)
{
    const OrtOrigin *from = &in->from;
    int n = from->o ? from->o->n_inits : 0;
    for (int i = 0; i < in->n_given; i++) {
        const OrtInit *init = i < n ? &from->o->inits[i] : &from->more[i - n];
        if (!in->given[i].used && init->is_external)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "External initializer: %s not found in model", init->name);
        if (init->d.buf) TRY(sdx_model_own(m, sdx_buf_retain(init->d.buf), err));
    }
    return SDX_OK;
}

/* custom goes to the model or away, whatever happens. */
static sdx_status session_open(Origin *in, CustomOps *custom, OrtSession *s, Err *err)
{
    const OrtSessionOptions *o = in->from.o;
    SessionOptions so;
    Model *m = NULL;
    engine_options(o, &so);
    so.pool = in->pool;
    sdx_status st = import(in, &m, err);
    if (st != SDX_OK) {
        sdx_custom_destroy(custom);
        return st;
    }
    st = sdx_custom_give(custom, m, err);
    if (st == SDX_OK) st = own_inits(m, in, err);
    if (st == SDX_OK) st = keep_dims(m, o, &so, err);
    if (st == SDX_OK)
        st = sdx_ses_open(&m, &so, &s->ses, err);
    else
        sdx_model_destroy(m);
    sdx_free(&sdx_alloc_default, (void *)so.dims);
    if (st == SDX_OK && o && o->optimized_path) st = write_optimized(in, &so, err);
    return st;
}

/* An operator that nobody knows. Where the model is at fault it is another code than where a library is missing. */
static OrtStatus *unknown_operator(const char *text)
{
    if (strstr(text, "(not imported)"))
        return sdx_ort_fail(ORT_INVALID_GRAPH, "This is an invalid model. Error No opset import for domain: %s", text);
    if (strstr(text, "of domain ai.onnx "))
        return sdx_ort_fail(ORT_INVALID_GRAPH, "This is an invalid model. Error No Op registered: %s", text);
    return sdx_ort_fail(ORT_FAIL, "Fatal error: it is not a registered function/op: %s", text);
}

/* The codes and words that clients know for a model that cannot be had. */
static OrtStatus *open_failure(const Origin *in, sdx_status st, const Err *err)
{
    const char *path = in->from.path, *what = path ? "Load model from " : "Load model";
    if (!path) path = "";
    struct stat info;
    if (st == SDX_IO && in->from.path && stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "The model path is a directory: model packages are not supported. %s",
                            err->text);
    if (st == SDX_NOT_FOUND || st == SDX_IO)
        return sdx_ort_fail(ORT_NO_SUCHFILE, "%s%s failed. File doesn't exist or cannot be read: %s", what, path,
                            err->text);
    if (st == SDX_UNSUPPORTED && strstr(err->text, " is not known")) return unknown_operator(err->text);
    if (st == SDX_INVALID_MODEL && !in->parsed)
        return sdx_ort_fail(ORT_INVALID_PROTOBUF,
                            "%s%s failed:Protobuf parsing failed. Failed to load model because protobuf parsing "
                            "failed: %s",
                            what, path, err->text);
    if (st == SDX_INVALID_MODEL)
        return sdx_ort_fail(ORT_INVALID_GRAPH, "%s%s failed:This is an invalid model. Error: %s", what, path,
                            err->text);
    return sdx_ort_status(st, err);
}

/* Options that contradict one another, or the environment. */
static OrtStatus *check_options(const OrtSessionOptions *o)
{
    if (!o) return NULL;
    if (o->shares_threads && !sdx_ort_shares_threads())
        return sdx_ort_fail(ORT_FAIL, "When the session is not configured to use per session threadpools, the env must "
                                      "be created with the the CreateEnvWithGlobalThreadPools API.");
    const char *format = sdx_ort_config_get(o->config, o->n_config, "session.save_model_format");
    size_t n = o->optimized_path ? strlen(o->optimized_path) : 0;
    if (n && (format ? strcmp(format, "ORT") == 0 : n > 4 && strcmp(o->optimized_path + n - 4, ".ort") == 0))
        return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "optimized models are written as ONNX, not in the ORT format: %s",
                            o->optimized_path);
    return NULL;
}

static OrtStatus *session_fill(Origin *in, OrtSession *s)
{
    const OrtSessionOptions *o = in->from.o;
    CustomOps *custom;
    Err err = { 0 };
    if (o && o->profile_prefix) {
        s->profile = sdx_ort_profile_create(o->profile_prefix);
        if (!s->profile) return sdx_ort_no_memory();
    }
    OrtStatus *fail = check_options(o);
    if (!fail && o && !o->shares_threads)
        fail = sdx_ort_thread_pool(&o->threads_by,
                                   sdx_ort_config_get(o->config, o->n_config, "session.intra_op_thread_affinities"),
                                   o->threads, &in->pool);
    if (!fail) fail = sdx_custom_build(o, &custom);
    if (fail) return fail;
    if (!in->pool && o && o->shares_threads) in->pool = sdx_pool_retain(sdx_ort_shared_pool());
    in->custom = sdx_custom_defs(custom);
    sdx_status st = session_open(in, custom, s, &err);
    if (st != SDX_OK) return open_failure(in, st, &err);
    if (is_on(o, "session.disable_cpu_ep_fallback") && sdx_ses_model(s->ses)->graph->n_nodes)
        return sdx_ort_fail(ORT_FAIL, "This session contains graph nodes that are assigned to the default CPU EP, but "
                                      "fallback to CPU EP has been explicitly disabled by the user.");
    for (int i = 0; i < sdx_ses_n_inputs(s->ses); i++) {
        const Type *t = &sdx_ses_input(s->ses, i)->type;
        s->takes_scalars |= t->kind == TYPE_TENSOR && t->shape.rank == 0;
    }
    if (custom) {
        s->custom = custom;
        fail = sdx_custom_open(custom, (Model *)sdx_ses_model(s->ses));
        if (fail) return fail;
    }
    if (s->profile) {
        int64_t ready = sdx_now_ns(), start = (int64_t)sdx_ort_profile_start(s->profile);
        sdx_ort_profile_event(s->profile, in->from.path ? "model_loading_uri" : "model_loading_array", start, ready);
        sdx_ort_profile_event(s->profile, "session_initialization", start, ready);
    }
    return NULL;
}

/* What the options and the origin give for initializers. */
static OrtStatus *take_given(Origin *in)
{
    const OrtOrigin *from = &in->from;
    int n = from->o ? from->o->n_inits : 0;
    if (!n && !from->n_more) return NULL;
    in->given = sdx_alloc(&sdx_alloc_default, (size_t)(n + from->n_more) * sizeof *in->given);
    if (!in->given) return sdx_ort_no_memory();
    for (in->n_given = 0; in->n_given < n + from->n_more; in->n_given++) {
        const OrtInit *init = in->n_given < n ? &from->o->inits[in->n_given] : &from->more[in->n_given - n];
        in->given[in->n_given] = (GivenInit){ init->name, init->d.t, false };
    }
    return NULL;
}

OrtStatus *sdx_ort_rewrite(const OrtOrigin *from, OptLevel level, const char *path, const ExportOptions *eo,
                           Buf **bytes)
{
    Origin in = { .from = *from };
    CustomOps *custom = NULL;
    Err err = { 0 };
    OrtStatus *fail = take_given(&in);
    if (!fail) fail = sdx_custom_build(from->o, &custom);
    if (!fail) {
        in.custom = sdx_custom_defs(custom);
        sdx_status st = rewrite(&in, level, path, eo, bytes, &err);
        if (st != SDX_OK) fail = open_failure(&in, st, &err);
    }
    sdx_custom_destroy(custom);
    sdx_free(&sdx_alloc_default, in.given);
    return fail;
}

OrtStatus *sdx_ort_open(const OrtOrigin *from, OrtSession **out)
{
    const OrtSessionOptions *o = from->o;
    Origin in = { .from = *from };
    if (o && __atomic_load_n(&o->cancels_load, __ATOMIC_RELAXED))
        return sdx_ort_fail(ORT_MODEL_LOAD_CANCELED, "Session initialization canceled due to user request.");
    OrtSession *s = sdx_alloc_zero(&sdx_alloc_default, sizeof *s);
    if (!s) return sdx_ort_no_memory();
    sdx_ort_log_session(&s->log, o);
    s->records_placement = is_on(o, "session.record_ep_graph_assignment_info");
    sdx_ort_log(&s->log, 1, "Initializing session: %s", from->path ? from->path : "a model in memory");
    OrtStatus *st = take_given(&in);
    if (!st) st = session_fill(&in, s);
    sdx_pool_release(in.pool); /* the session holds it */
    sdx_free(&sdx_alloc_default, in.given);
    if (st) {
        s->profile_ended = true; /* no file of what did not come to be */
        sdx_ort_ReleaseSession(s);
        return st;
    }
    sdx_ort_log(&s->log, 1, "Session successfully initialized.");
    *out = s;
    return NULL;
}
