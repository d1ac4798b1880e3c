#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ort/custom_op.h"

/* -- opening ------------------------------------------------------------------------------------------------------- */

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

/* Where a model comes from, and what the options say to the import. */
typedef struct Origin {
    const char *path; /* NULL: data */
    const void *data;
    size_t nbytes;
    const OrtSessionOptions *o; /* may be NULL */
    const OpDef *const *custom;
    GivenInit *given; /* o->n_inits of them */
    bool parsed;
} Origin;

/* A file of external data: the caller's bytes, or beside the model. */
static sdx_status external_open(void *user, const char *location, Source *out, Err *err)
{
    const Origin *from = user;
    for (int i = 0; i < from->o->n_files; i++) {
        const OrtFile *f = &from->o->files[i];
        if (strcmp(f->name, location) != 0) continue;
        sdx_source_memory(out, &sdx_alloc_default, f->data, f->nbytes);
        return SDX_OK;
    }
    char dir[SDX_PATH_MAX], real[SDX_PATH_MAX];
    const char *dirs[] = { dir, real };
    if (!from->path || !sdx_path_dir(from->path, dir) || !sdx_path_real_dir(from->path, real))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: no bytes were given for this file", location);
    return sdx_source_under(out, &sdx_alloc_default, dirs, 2, location, err);
}

static sdx_status import(Origin *from, Model **out, Err *err)
{
    const OrtSessionOptions *o = from->o;
    const ExternalOpener opener = { external_open, from };
    ImportOptions io = { .load = from->path ? LOAD_MAP : LOAD_COPY, /* the caller may free its bytes */
                         .custom_ops = from->custom,
                         .external = o && o->n_files ? &opener : NULL,
                         .given = from->given,
                         .n_given = o ? o->n_inits : 0,
                         .parsed = &from->parsed };
    if (from->path) return sdx_onnx_import_path(&sdx_alloc_default, from->path, &io, out, err);
    if (o) io.dir = sdx_ort_config_get(o->config, o->n_config, "session.model_external_initializers_file_folder_path");
    Source src;
    sdx_source_memory(&src, &sdx_alloc_default, from->data, from->nbytes);
    sdx_status st = sdx_onnx_import(&sdx_alloc_default, &src, &io, out, err);
    sdx_source_fini(&src);
    return st;
}

/* The model as portable rewrites leave it, written for who wants to look at it. */
static sdx_status write_optimized(Origin *from, const SessionOptions *so, Err *err)
{
    const OrtSessionOptions *o = from->o;
    OptOptions oo = { .level = so->level, .fold_max_nbytes = (size_t)1 << 20, .kern = sdx_kern_best() };
    const char *min = sdx_ort_config_get(o->config, o->n_config,
                                         "session.optimized_model_external_initializers_min_size_in_bytes");
    ExportOptions eo = {
        .external_location = sdx_ort_config_get(o->config, o->n_config,
                                                "session.optimized_model_external_initializers_file_name"),
        .external_min = min ? (size_t)strtoull(min, NULL, 10) : 1024,
    };
    Model *m = NULL;
    TRY(import(from, &m, err));
    sdx_status st = sdx_opt_run(m, &oo, err);
    if (st == SDX_OK) st = sdx_onnx_export(m, o->optimized_path, &eo, err);
    sdx_model_destroy(m);
    return st;
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

static sdx_status own_inits(Model *m, const Origin *from, Err *err)
{
    for (int i = 0; from->o && i < from->o->n_inits; i++) {
        const OrtInit *init = &from->o->inits[i];
        if (!from->given[i].used && init->is_external)
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "External initializer: %s not found in model", init->name);
        if (init->d.buf) TRY(sdx_model_own(m, sdx_buf_retain(init->d.buf), err));
    }
    return SDX_OK;
}

/* custom goes to the model or away, whatever happens. */
static sdx_status session_open(Origin *from, CustomOps *custom, OrtSession *s, Err *err)
{
    SessionOptions so;
    Model *m = NULL;
    engine_options(from->o, &so);
    sdx_status st = import(from, &m, err);
    if (st != SDX_OK) {
        sdx_custom_destroy(custom);
        return st;
    }
    st = sdx_custom_give(custom, m, err);
    if (st == SDX_OK) st = own_inits(m, from, err);
    if (st == SDX_OK) st = keep_dims(m, from->o, &so, err);
    if (st == SDX_OK)
        st = sdx_ses_open(&m, &so, &s->ses, err);
    else
        sdx_model_destroy(m);
    sdx_free(&sdx_alloc_default, (void *)so.dims);
    if (st == SDX_OK && from->o && from->o->optimized_path) st = write_optimized(from, &so, err);
    return st;
}

/* The codes and words that clients know for a model that cannot be had. */
static OrtStatus *open_failure(const Origin *from, sdx_status st, const Err *err)
{
    const char *what = from->path ? "Load model from " : "Load model", *path = from->path ? from->path : "";
    if (st == SDX_NOT_FOUND || st == SDX_IO)
        return sdx_ort_fail(ORT_NO_SUCHFILE, "%s%s failed. File doesn't exist or cannot be read: %s", what, path,
                            err->text);
    if (st == SDX_INVALID_MODEL && !from->parsed)
        return sdx_ort_fail(ORT_INVALID_PROTOBUF,
                            "%s%s failed:Protobuf parsing failed. Failed to load model because protobuf parsing "
                            "failed: %s",
                            what, path, err->text);
    if (st == SDX_INVALID_MODEL)
        return sdx_ort_fail(ORT_INVALID_GRAPH, "%s%s failed:This is an invalid model. Error: %s", what, path,
                            err->text);
    return sdx_ort_status(st, err);
}

static OrtStatus *session_fill(Origin *from, OrtSession *s)
{
    const OrtSessionOptions *o = from->o;
    CustomOps *custom;
    Err err = { 0 };
    OrtStatus *fail = sdx_custom_build(o, &custom);
    if (fail) return fail;
    from->custom = sdx_custom_defs(custom);
    sdx_status st = session_open(from, custom, s, &err);
    if (st != SDX_OK) return open_failure(from, st, &err);
    for (int i = 0; i < sdx_ses_n_inputs(s->ses); i++) {
        const Type *t = &sdx_ses_input(s->ses, i)->type;
        s->takes_scalars |= t->kind == TYPE_TENSOR && t->shape.rank == 0;
    }
    if (custom) {
        s->custom = custom;
        fail = sdx_custom_open(custom, (Model *)sdx_ses_model(s->ses));
        if (fail) return fail;
    }
    if (o && o->profile_prefix) {
        s->profile = sdx_ort_profile_create(o->profile_prefix);
        if (!s->profile) return sdx_ort_no_memory();
    }
    return NULL;
}

static OrtStatus *session_create(Origin *from, OrtSession **out)
{
    const OrtSessionOptions *o = from->o;
    if (o && __atomic_load_n(&o->cancels_load, __ATOMIC_RELAXED))
        return sdx_ort_fail(ORT_MODEL_LOAD_CANCELED, "Session initialization canceled due to user request.");
    OrtSession *s = sdx_alloc_zero(&sdx_alloc_default, sizeof *s);
    if (!s) return sdx_ort_no_memory();
    sdx_ort_log_session(&s->log, o);
    sdx_ort_log(&s->log, 1, "Initializing session: %s", from->path ? from->path : "a model in memory");
    int n = o ? o->n_inits : 0;
    from->given = n ? sdx_alloc(&sdx_alloc_default, (size_t)n * sizeof *from->given) : NULL;
    OrtStatus *st = n && !from->given ? sdx_ort_no_memory() : NULL;
    for (int i = 0; !st && i < n; i++) from->given[i] = (GivenInit){ o->inits[i].name, o->inits[i].d.t, false };
    if (!st) st = session_fill(from, s);
    sdx_free(&sdx_alloc_default, from->given);
    if (st) {
        sdx_ort_ReleaseSession(s);
        return st;
    }
    sdx_ort_log(&s->log, 1, "Session successfully initialized.");
    *out = s;
    return NULL;
}

OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !path || !out) return sdx_ort_null("env, path or out");
    return session_create(&(Origin){ .path = path, .o = o }, out);
}

OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !data || !out) return sdx_ort_null("env, data or out");
    if (!nbytes) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No graph was found in the protobuf.");
    return session_create(&(Origin){ .data = data, .nbytes = nbytes, .o = o }, out);
}

/* Packed weights are shared between the sessions of one model file anyway; a container has nothing to hold. */
OrtStatus *sdx_ort_CreatePrepackedWeightsContainer(OrtPrepackedWeightsContainer **out)
{
    if (!out) return sdx_ort_null("out");
    *out = sdx_alloc_zero(&sdx_alloc_default, 1);
    return *out ? NULL : sdx_ort_no_memory();
}

void sdx_ort_ReleasePrepackedWeightsContainer(OrtPrepackedWeightsContainer *c) { sdx_free(&sdx_alloc_default, c); }

OrtStatus *sdx_ort_CreateSessionWithPrepackedWeightsContainer(const OrtEnv *env, const char *path,
                                                              const OrtSessionOptions *o,
                                                              OrtPrepackedWeightsContainer *c, OrtSession **out)
{
    return c ? sdx_ort_CreateSession(env, path, o, out) : sdx_ort_null("the container");
}

OrtStatus *sdx_ort_CreateSessionFromArrayWithPrepackedWeightsContainer(const OrtEnv *env, const void *data,
                                                                       size_t nbytes, const OrtSessionOptions *o,
                                                                       OrtPrepackedWeightsContainer *c,
                                                                       OrtSession **out)
{
    return c ? sdx_ort_CreateSessionFromArray(env, data, nbytes, o, out) : sdx_ort_null("the container");
}

void sdx_ort_ReleaseSession(OrtSession *s)
{
    if (!s) return;
    sdx_ort_async_finish(s);
    if (s->profile && !s->profile_ended) sdx_ort_profile_write(s->profile);
    sdx_custom_close(s->custom);
    sdx_ses_close(s->ses);
    sdx_ort_profile_destroy(s->profile);
    sdx_free(&sdx_alloc_default, s);
}

/* -- what a session says of itself --------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_SessionGetInputCount(const OrtSession *s, size_t *out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    *out = (size_t)sdx_ses_n_inputs(s->ses);
    return NULL;
}

OrtStatus *sdx_ort_SessionGetOutputCount(const OrtSession *s, size_t *out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    *out = (size_t)sdx_ses_n_outputs(s->ses);
    return NULL;
}

static OrtStatus *check_index(size_t i, int n)
{
    bool ok = i < (size_t)n;
    return ok ? NULL : sdx_ort_fail(ORT_INVALID_ARGUMENT, "index %zu is outside [0, %d)", i, n);
}

OrtStatus *sdx_ort_SessionGetInputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_inputs(s->ses));
    return st ? st : sdx_ort_type_info(sdx_ses_model(s->ses)->syms, &sdx_ses_input(s->ses, (int)i)->type, out);
}

OrtStatus *sdx_ort_SessionGetOutputTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_outputs(s->ses));
    return st ? st : sdx_ort_type_info(sdx_ses_model(s->ses)->syms, &sdx_ses_output(s->ses, (int)i)->type, out);
}

OrtStatus *sdx_ort_SessionGetOverridableInitializerCount(const OrtSession *s, size_t *out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    *out = (size_t)sdx_ses_n_overridable(s->ses);
    return NULL;
}

OrtStatus *sdx_ort_SessionGetOverridableInitializerTypeInfo(const OrtSession *s, size_t i, OrtTypeInfo **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_overridable(s->ses));
    return st ? st : sdx_ort_type_info(sdx_ses_model(s->ses)->syms, &sdx_ses_overridable(s->ses, (int)i)->type, out);
}

OrtStatus *sdx_ort_SessionGetOverridableInitializerName(const OrtSession *s, size_t i, OrtAllocator *a, char **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_overridable(s->ses));
    return st ? st : sdx_ort_give_text(a, sdx_ses_overridable(s->ses, (int)i)->name, out);
}

OrtStatus *sdx_ort_SessionGetInputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_inputs(s->ses));
    return st ? st : sdx_ort_give_text(a, sdx_ses_input(s->ses, (int)i)->name, out);
}

OrtStatus *sdx_ort_SessionGetOutputName(const OrtSession *s, size_t i, OrtAllocator *a, char **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtStatus *st = check_index(i, sdx_ses_n_outputs(s->ses));
    return st ? st : sdx_ort_give_text(a, sdx_ses_output(s->ses, (int)i)->name, out);
}

OrtStatus *sdx_ort_SessionEndProfiling(OrtSession *s, OrtAllocator *a, char **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    if (!s->profile) return sdx_ort_fail(ORT_FAIL, "profiling is not enabled for this session");
    const char *path = sdx_ort_profile_write(s->profile);
    if (!path) return sdx_ort_fail(ORT_FAIL, "the profile cannot be written");
    s->profile_ended = true;
    return sdx_ort_give_text(a, path, out);
}

OrtStatus *sdx_ort_SessionGetProfilingStartTimeNs(const OrtSession *s, uint64_t *out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    *out = s->profile ? sdx_ort_profile_start(s->profile) : 0;
    return NULL;
}

static const Value *find_value(const OrtSession *s, const char *name)
{
    for (int i = 0; i < sdx_ses_n_inputs(s->ses); i++)
        if (strcmp(sdx_ses_input(s->ses, i)->name, name) == 0) return sdx_ses_input(s->ses, i);
    for (int i = 0; i < sdx_ses_n_overridable(s->ses); i++)
        if (strcmp(sdx_ses_overridable(s->ses, i)->name, name) == 0) return sdx_ses_overridable(s->ses, i);
    return NULL;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

#define RUN_MAX 1024 /* names in one call */
#define RUN_SMALL 16
#define RUN_SCALARS 4

typedef struct Call {
    const Datum **in;
    Datum *out;
    OrtValue **fresh; /* made before the run, so that nothing can fail after it */
    const Datum *small_in[RUN_SMALL];
    Datum small_out[RUN_SMALL];
    OrtValue *small_fresh[RUN_SMALL];
    Datum scalars[RUN_SCALARS];
    void *block;
} Call;

static bool call_init(Call *c, size_t n_in, size_t n_out)
{
    c->in = c->small_in;
    c->out = c->small_out;
    c->fresh = c->small_fresh;
    c->block = NULL;
    if (n_in <= RUN_SMALL && n_out <= RUN_SMALL) return true;
    char *p = c->block = sdx_alloc(&sdx_alloc_default,
                                   n_out * (sizeof *c->out + sizeof *c->fresh) + n_in * sizeof *c->in);
    if (!p) return false;
    c->out = (Datum *)p;
    c->fresh = (OrtValue **)(p + n_out * sizeof *c->out);
    c->in = (const Datum **)(c->fresh + n_out);
    return true;
}

/* Whether a run can write to the value's memory. Other values given for outputs get new content. */
static bool is_buffer(const OrtValue *v) { return v->d.kind == DATUM_TENSOR && v->d.t.dtype != DT_STRING; }

static bool call_fill(Call *c, const OrtValue *const *in, size_t n_in, OrtValue *const *out, size_t n_out)
{
    bool ok = true;
    for (size_t i = 0; i < n_in; i++) c->in[i] = &in[i]->d;
    for (size_t i = 0; i < n_out; i++) {
        c->fresh[i] = out[i] || !ok ? NULL : sdx_alloc(&sdx_alloc_default, sizeof **c->fresh);
        ok = ok && (out[i] || c->fresh[i]);
        c->out[i] = out[i] && is_buffer(out[i]) ? out[i]->d : (Datum){ .kind = DATUM_NONE };
        c->out[i].buf = NULL; /* a bound tensor's memory stays the value's own */
    }
    return ok;
}

/* Where a model takes a scalar, clients feed one element of any rank. */
static void take_scalars(const OrtSession *s, Call *c, const char *const *names, size_t n_in)
{
    int n = 0;
    for (size_t i = 0; i < n_in && n < RUN_SCALARS; i++) {
        const Datum *d = c->in[i];
        if (d->kind != DATUM_TENSOR || d->t.rank == 0 || sdx_tensor_count(&d->t) != 1) continue;
        const Value *v = find_value(s, names[i]);
        if (!v || v->type.kind != TYPE_TENSOR || v->type.shape.rank != 0) continue;
        c->scalars[n] = *d;
        c->scalars[n].t.rank = 0;
        c->in[i] = &c->scalars[n++];
    }
}

/* Hands the results over, or drops what was made for them. */
static void call_finish(Call *c, bool ok, size_t n_out, OrtValue **out)
{
    for (size_t i = 0; i < n_out; i++) {
        if (ok && c->fresh[i]) {
            c->fresh[i]->d = c->out[i];
            out[i] = c->fresh[i];
        } else if (ok && !is_buffer(out[i])) {
            sdx_datum_clear(&out[i]->d);
            out[i]->d = c->out[i];
        } else {
            sdx_free(&sdx_alloc_default, c->fresh[i]);
        }
    }
}

/* A tensor of strings that the caller made says which shape is expected. */
static sdx_status check_strings(const Call *c, const char *const *names, size_t n_out, OrtValue *const *out, Err *err)
{
    for (size_t i = 0; i < n_out; i++) {
        const Datum *got = &c->out[i], *want = out[i] ? &out[i]->d : got;
        if (want->kind != DATUM_TENSOR || want->t.dtype != DT_STRING) continue;
        if (got->kind != DATUM_TENSOR || got->t.dtype != DT_STRING ||
            !sdx_dims_equal(got->t.dims, got->t.rank, want->t.dims, want->t.rank))
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "output `%s` is no tensor of strings of the shape given",
                            names[i]);
    }
    return SDX_OK;
}

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static sdx_status call_run(OrtSession *s, const OrtRunOptions *ro, Call *c, const char *const *in_names, size_t n_in,
                           const char *const *out_names, size_t n_out, Err *err)
{
    RunOptions o = { .limits = { .cancel = ro ? &ro->cancel : NULL } };
    if (!s->profile)
        return sdx_ses_run_names(s->ses, in_names, c->in, (int)n_in, out_names, c->out, (int)n_out, ro ? &o : NULL,
                                 err);
    o.trace = sdx_ort_profile_trace(s->profile);
    int64_t start = now_ns();
    sdx_status st = sdx_ses_run_names(s->ses, in_names, c->in, (int)n_in, out_names, c->out, (int)n_out, &o, err);
    sdx_ort_profile_run(s->profile, start, now_ns());
    return st;
}

/* What clients look for in the text, then ours. */
static OrtStatus *run_complaint(const OrtSession *s, const char *const *in_names, const OrtValue *const *in,
                                size_t n_in, const char *const *out_names, size_t n_out, const Err *err)
{
    const char *ours = err->text;
    for (size_t i = 0; i < n_in; i++) {
        const Value *v = find_value(s, in_names[i]);
        if (!v) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid input name: %s: %s", in_names[i], ours);
        if (v->type.kind != TYPE_TENSOR || in[i]->d.kind != DATUM_TENSOR) continue;
        const Tensor *t = &in[i]->d.t;
        if (v->type.elem != DT_NONE && t->dtype != v->type.elem)
            return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                                "Unexpected input data type. Actual: (tensor(%s)) , expected: (tensor(%s)): %s",
                                sdx_dtype_name(t->dtype), sdx_dtype_name(v->type.elem), ours);
        if (v->type.shape.rank == SDX_RANK_UNKNOWN) continue;
        if (v->type.shape.rank != t->rank)
            return sdx_ort_fail(
                ORT_INVALID_ARGUMENT,
                "Invalid rank for input: %s Got: %d Expected: %d Please fix either the inputs/outputs or "
                "the model. %s",
                v->name, t->rank, v->type.shape.rank, ours);
        for (int k = 0; k < t->rank; k++)
            if (sdx_dim_is_const(v->type.shape.dims[k]) && v->type.shape.dims[k] != t->dims[k])
                return sdx_ort_fail(
                    ORT_INVALID_ARGUMENT,
                    "Got invalid dimensions for input: %s for the following indices index: %d Got: %lld "
                    "Expected: %lld Please fix either the inputs/outputs or the model. %s",
                    v->name, k, (long long)t->dims[k], (long long)v->type.shape.dims[k], ours);
    }
    for (size_t o = 0; o < n_out; o++) {
        bool known = false;
        for (int i = 0; i < sdx_ses_n_outputs(s->ses) && !known; i++)
            known = strcmp(sdx_ses_output(s->ses, i)->name, out_names[o]) == 0;
        if (!known) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid output name: %s: %s", out_names[o], ours);
    }
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s", ours);
}

OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out)
{
    if (!s || (n_in && (!in_names || !in)) || !out_names || !out) return sdx_ort_null("session, names or values");
    if (ro && __atomic_load_n(&ro->cancel, __ATOMIC_RELAXED))
        return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    if (n_in > RUN_MAX || n_out > RUN_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "more than %d inputs or outputs", RUN_MAX);
    for (size_t i = 0; i < n_out; i++)
        if (!out_names[i] || !*out_names[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output name cannot be empty");
    for (size_t i = 0; i < n_in; i++) {
        if (!in_names[i] || !*in_names[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "input name cannot be empty");
        if (!in[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "NULL input supplied for input %s", in_names[i]);
    }
    Call c;
    Err err;
    sdx_err_clear(&err);
    if (!call_init(&c, n_in, n_out)) return sdx_ort_no_memory();
    sdx_status st = call_fill(&c, in, n_in, out, n_out) ? SDX_OK : sdx_fail(&err, SDX_OUT_OF_MEMORY, "out of memory");
    if (st == SDX_OK && s->takes_scalars) take_scalars(s, &c, in_names, n_in);
    if (st == SDX_OK) st = call_run(s, ro, &c, in_names, n_in, out_names, n_out, &err);
    if (st == SDX_OK) {
        st = check_strings(&c, out_names, n_out, out, &err);
        for (size_t i = 0; st != SDX_OK && i < n_out; i++)
            if (!out[i] || !is_buffer(out[i])) sdx_datum_clear(&c.out[i]);
    }
    call_finish(&c, st == SDX_OK, n_out, out);
    sdx_free(&sdx_alloc_default, c.block);
    if (st == SDX_CANCELLED) return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    if (st == SDX_INVALID_ARGUMENT) return run_complaint(s, in_names, in, n_in, out_names, n_out, &err);
    return sdx_ort_status(st, &err);
}
