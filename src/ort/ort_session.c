#include <stdlib.h>
#include <string.h>

#include "base/futex.h"
#include "ort/custom_op.h"

OrtStatus *sdx_ort_CreateSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !path || !out) return sdx_ort_null("env, path or out");
    return sdx_ort_open(&(OrtOrigin){ .path = path, .o = o }, out);
}

OrtStatus *sdx_ort_CreateSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                          const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !data || !out) return sdx_ort_null("env, data or out");
    if (!nbytes) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "No graph was found in the protobuf.");
    return sdx_ort_open(&(OrtOrigin){ .data = data, .nbytes = nbytes, .o = o }, out);
}

/* Packed weights are shared by all sessions that have the same weights; a container has nothing to hold. */
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
    sdx_ort_edit_free(s->edit);
    sdx_free(&sdx_alloc_default, s->placement);
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
    return ok ? NULL : sdx_ort_fail(ORT_FAIL, "index out of range: %zu is outside [0, %d)", i, n);
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
    if (!s->profile) return sdx_ort_give_text(a, "", out); /* nothing was profiled: no file */
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
        if (c->fresh[i]) c->fresh[i]->form = NULL;
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

static sdx_status call_run(OrtSession *s, const OrtRunOptions *ro, Call *c, const char *const *in_names, size_t n_in,
                           const char *const *out_names, size_t n_out, Err *err)
{
    RunOptions o = { .limits = { .cancel = ro ? &ro->cancel : NULL } };
    OrtProfile *own = ro && ro->profile_prefix ? sdx_ort_profile_create(ro->profile_prefix) : NULL;
    OrtProfile *profile = own ? own : s->profile;
    if (!profile)
        return sdx_ses_run_names(s->ses, in_names, c->in, (int)n_in, out_names, c->out, (int)n_out, ro ? &o : NULL,
                                 err);
    o.trace = sdx_ort_profile_trace(profile);
    int64_t start = sdx_now_ns();
    sdx_status st = sdx_ses_run_names(s->ses, in_names, c->in, (int)n_in, out_names, c->out, (int)n_out, &o, err);
    int64_t end = sdx_now_ns();
    sdx_ort_profile_event(profile, "SequentialExecutor::Execute", start, end);
    sdx_ort_profile_event(profile, "model_run", start, end);
    if (own) sdx_ort_profile_write(own);
    sdx_ort_profile_destroy(own);
    return st;
}

/* What clients look for in the text, then ours. */
static OrtStatus *run_complaint(const OrtSession *s, const char *const *in_names, const OrtValue *const *in,
                                size_t n_in, const char *const *out_names, OrtValue *const *out, size_t n_out,
                                const Err *err)
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
        const Value *v = NULL;
        for (int i = 0; i < sdx_ses_n_outputs(s->ses) && !v; i++)
            if (strcmp(sdx_ses_output(s->ses, i)->name, out_names[o]) == 0) v = sdx_ses_output(s->ses, i);
        if (!v) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Invalid output name: %s: %s", out_names[o], ours);
        if (out[o] && out[o]->d.kind == DATUM_TENSOR && v->type.kind == TYPE_TENSOR && v->type.elem != DT_NONE &&
            out[o]->d.t.dtype != v->type.elem)
            return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                                "Unexpected output data type. Actual: (tensor(%s)) , expected: (tensor(%s)): %s",
                                sdx_dtype_name(out[o]->d.t.dtype), sdx_dtype_name(v->type.elem), ours);
    }
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%s", ours);
}

static OrtStatus *run_values(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names,
                             const OrtValue *const *in, size_t n_in, const char *const *out_names, size_t n_out,
                             OrtValue **out)
{
    if (ro && __atomic_load_n(&ro->cancel, __ATOMIC_RELAXED))
        return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    if (!n_out) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "At least one output should be requested.");
    if (n_in > RUN_MAX || n_out > RUN_MAX)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "more than %d inputs or outputs", RUN_MAX);
    for (size_t i = 0; i < n_out; i++)
        if (!out_names[i] || !*out_names[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "output name cannot be empty");
    for (size_t i = 0; i < n_in; i++) {
        if (!in_names[i] || !*in_names[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "input name cannot be empty");
        if (in[i] && in[i]->form && in[i]->form->format != 1)
            return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "input %s: sparse inputs are taken in COO format", in_names[i]);
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
    if (ro && ro->n_config && sdx_ort_GetRunConfigEntry(ro, "memory.enable_memory_arena_shrinkage"))
        sdx_ses_trim(s->ses); /* there is one kind of memory, whichever the entry names */
    sdx_free(&sdx_alloc_default, c.block);
    if (st == SDX_CANCELLED) return sdx_ort_fail(ORT_FAIL, "Exiting due to terminate flag being set to true.");
    if (st == SDX_INVALID_ARGUMENT) return run_complaint(s, in_names, in, n_in, out_names, out, n_out, &err);
    return sdx_ort_status(st, &err);
}

/* The adapters' tensors come after the caller's inputs. */
static OrtStatus *run_adapted(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names,
                              const OrtValue *const *in, size_t n_in, const char *const *out_names, size_t n_out,
                              OrtValue **out)
{
    size_t more = sdx_ort_lora_count(ro);
    if (n_in > RUN_MAX || more > RUN_MAX) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "more than %d inputs", RUN_MAX);
    const char **names = sdx_alloc(&sdx_alloc_default, (n_in + more + 1) * sizeof(void *));
    const OrtValue **values = sdx_alloc(&sdx_alloc_default, (n_in + more + 1) * sizeof(void *));
    OrtStatus *st = names && values ? NULL : sdx_ort_no_memory();
    if (!st) {
        for (size_t i = 0; i < n_in; i++) names[i] = in_names[i], values[i] = in[i];
        sdx_ort_lora_fill(ro, names + n_in, values + n_in);
        st = run_values(s, ro, names, values, n_in + more, out_names, n_out, out);
    }
    sdx_free(&sdx_alloc_default, names);
    sdx_free(&sdx_alloc_default, values);
    return st;
}

OrtStatus *sdx_ort_Run(OrtSession *s, const OrtRunOptions *ro, const char *const *in_names, const OrtValue *const *in,
                       size_t n_in, const char *const *out_names, size_t n_out, OrtValue **out)
{
    if (!s || (n_in && (!in_names || !in)) || !out_names || !out) return sdx_ort_null("session, names or values");
    if (ro && ro->n_adapters) return run_adapted(s, ro, in_names, in, n_in, out_names, n_out, out);
    return run_values(s, ro, in_names, in, n_in, out_names, n_out, out);
}

/* Nothing is captured to be replayed. */
OrtStatus *sdx_ort_SessionReleaseCapturedGraph(OrtSession *s, int id)
{
    return s ? (void)id, NULL : sdx_ort_null("session");
}
