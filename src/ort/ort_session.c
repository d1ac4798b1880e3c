#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ort/entries.h"

static void engine_options(const OrtSessionOptions *o, SessionOptions *out)
{
    sdx_ses_options_init(out);
    if (!o) return;
    out->level = o->level;
    out->threads = o->shares_threads ? sdx_ort_shared_threads() : o->threads;
    out->dims = o->dims;
    out->n_dims = o->n_dims;
    const char *flush = sdx_ort_config_get(o->config, o->n_config, "session.set_denormal_as_zero");
    if (flush && strcmp(flush, "0") == 0) out->keep_subnormals = true;
}

/* The model as portable rewrites leave it, written for who wants to look at it. */
static sdx_status write_optimized(const char *path, const char *model_path, const SessionOptions *so, Err *err)
{
    ImportOptions io = { .load = LOAD_MAP };
    OptOptions oo = { .level = so->level, .fold_max_nbytes = (size_t)1 << 20, .kern = sdx_kern_best() };
    Model *m = NULL;
    TRY(sdx_onnx_import_path(&sdx_alloc_default, model_path, &io, &m, err));
    sdx_status st = sdx_opt_run(m, &oo, err);
    if (st == SDX_OK) st = sdx_onnx_export(m, path, NULL, err);
    sdx_model_destroy(m);
    return st;
}

static sdx_status session_open(Model **m, const SessionOptions *so, const OrtSessionOptions *o, OrtSession **out,
                               Err *err)
{
    OrtSession *s = sdx_alloc_zero(&sdx_alloc_default, sizeof *s);
    if (!s) {
        sdx_model_destroy(*m);
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    sdx_status st = sdx_ses_open(m, so, &s->ses, err);
    if (st == SDX_OK && o && o->profile_prefix) {
        s->profile = sdx_ort_profile_create(o->profile_prefix);
        if (!s->profile) st = sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    if (st == SDX_OK)
        *out = s;
    else
        sdx_ort_ReleaseSession(s);
    return st;
}

OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !path || !out) return sdx_ort_null("env, path or out");
    SessionOptions so;
    ImportOptions io = { .load = LOAD_MAP };
    Model *m = NULL;
    Err err = { 0 };
    engine_options(o, &so);
    sdx_status st = sdx_onnx_import_path(&sdx_alloc_default, path, &io, &m, &err);
    if (st == SDX_OK) st = session_open(&m, &so, o, out, &err);
    if (st == SDX_OK && o && o->optimized_path) {
        st = write_optimized(o->optimized_path, path, &so, &err);
        if (st != SDX_OK) sdx_ort_ReleaseSession(*out);
    }
    return sdx_ort_status(st, &err);
}

OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !data || !out) return sdx_ort_null("env, data or out");
    SessionOptions so;
    ImportOptions io = { .load = LOAD_COPY }; /* the caller may free its bytes */
    Source src;
    Model *m = NULL;
    Err err = { 0 };
    engine_options(o, &so);
    if (o && o->optimized_path)
        return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "an optimized model is written for models opened by path only");
    sdx_source_memory(&src, &sdx_alloc_default, data, nbytes);
    sdx_status st = sdx_onnx_import(&sdx_alloc_default, &src, &io, &m, &err);
    sdx_source_fini(&src);
    if (st == SDX_OK) st = session_open(&m, &so, o, out, &err);
    return sdx_ort_status(st, &err);
}

void sdx_ort_ReleaseSession(OrtSession *s)
{
    if (!s) return;
    if (s->profile && !s->profile_ended) sdx_ort_profile_write(s->profile);
    sdx_ses_close(s->ses);
    sdx_ort_profile_destroy(s->profile);
    sdx_free(&sdx_alloc_default, s);
}

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

/* -- running ------------------------------------------------------------------------------------------------------- */

#define RUN_MAX 1024 /* names in one call */
#define RUN_SMALL 16

typedef struct Call {
    const Datum **in;
    Datum *out;
    OrtValue **fresh; /* made before the run, so that nothing can fail after it */
    const Datum *small_in[RUN_SMALL];
    Datum small_out[RUN_SMALL];
    OrtValue *small_fresh[RUN_SMALL];
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

OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out)
{
    if (!s || (n_in && (!in_names || !in)) || !out_names || !out) return sdx_ort_null("session, names or values");
    if (ro && __atomic_load_n(&ro->cancel, __ATOMIC_RELAXED))
        return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    if (n_in > RUN_MAX || n_out > RUN_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "more than %d inputs or outputs", RUN_MAX);
    for (size_t i = 0; i < n_in; i++)
        if (!in[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "NULL input supplied for input %s", in_names[i]);
    Call c;
    Err err;
    sdx_err_clear(&err);
    if (!call_init(&c, n_in, n_out)) return sdx_ort_no_memory();
    sdx_status st = call_fill(&c, in, n_in, out, n_out) ? SDX_OK : sdx_fail(&err, SDX_OUT_OF_MEMORY, "out of memory");
    if (st == SDX_OK) st = call_run(s, ro, &c, in_names, n_in, out_names, n_out, &err);
    if (st == SDX_OK) {
        st = check_strings(&c, out_names, n_out, out, &err);
        for (size_t i = 0; st != SDX_OK && i < n_out; i++)
            if (!out[i] || !is_buffer(out[i])) sdx_datum_clear(&c.out[i]);
    }
    call_finish(&c, st == SDX_OK, n_out, out);
    sdx_free(&sdx_alloc_default, c.block);
    if (st == SDX_CANCELLED) return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    return sdx_ort_status(st, &err);
}
