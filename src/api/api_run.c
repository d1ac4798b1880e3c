/* Running: values in, values out. */
#include <string.h>
#include <time.h>

#include "api/api.h"

/* Small runs use the stack; larger ones one block. */
#define RUN_SMALL 16

typedef struct RunArrays {
    const Datum **in;
    Datum *out;
    sdx_value **fresh; /* made before the run, so that nothing can fail after it; NULL where the caller bound one */
    const Datum *small_in[RUN_SMALL];
    Datum small_out[RUN_SMALL];
    sdx_value *small_fresh[RUN_SMALL];
    void *block;
} RunArrays;

static sdx_status arrays_init(RunArrays *r, size_t n_in, size_t n_out, Err *err)
{
    r->in = r->small_in;
    r->out = r->small_out;
    r->fresh = r->small_fresh;
    r->block = NULL;
    if (n_in <= RUN_SMALL && n_out <= RUN_SMALL) return SDX_OK;
    if (n_in > INT32_MAX / 64 || n_out > INT32_MAX / 64)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "too many inputs or outputs");
    size_t in_bytes = n_in * sizeof *r->in, out_bytes = n_out * sizeof *r->out;
    char *p = r->block = sdx_alloc(&sdx_alloc_default, in_bytes + out_bytes + n_out * sizeof *r->fresh);
    TRY_MEM(p, err);
    r->out = (Datum *)p;
    r->in = (const Datum **)(p + out_bytes);
    r->fresh = (sdx_value **)(p + out_bytes + in_bytes);
    return SDX_OK;
}

static sdx_status arrays_fill(RunArrays *r, const sdx_value *const *inputs, size_t n_in, sdx_value *const *outputs,
                              size_t n_out, Err *err)
{
    for (size_t i = 0; i < n_out; i++) {
        r->fresh[i] = NULL;
        r->out[i] = outputs[i] ? outputs[i]->d : (Datum){ .kind = DATUM_NONE };
        r->out[i].buf = NULL; /* a bound tensor's memory stays the value's own */
    }
    for (size_t i = 0; i < n_in; i++) {
        if (!inputs[i]) return sdx_fail(err, SDX_INVALID_ARGUMENT, "input value %zu is NULL", i);
        r->in[i] = &inputs[i]->d;
    }
    for (size_t i = 0; i < n_out; i++) {
        Datum none = { .kind = DATUM_NONE };
        if (outputs[i]) {
            bool ok = outputs[i]->d.kind == DATUM_TENSOR && outputs[i]->d.t.dtype != DT_STRING;
            if (!ok)
                return sdx_fail(err, SDX_INVALID_ARGUMENT, "output value %zu: only tensors can be written into", i);
        } else {
            TRY_MEM(r->fresh[i] = sdx_api_value(&sdx_alloc_default, &none), err);
        }
    }
    return SDX_OK;
}

static void arrays_finish(RunArrays *r, sdx_value **outputs, size_t n_out, sdx_status st)
{
    for (size_t i = 0; i < n_out; i++) {
        if (!r->fresh[i]) continue;
        if (st == SDX_OK) {
            r->fresh[i]->d = r->out[i];
            outputs[i] = r->fresh[i];
        } else {
            sdx_value_release(r->fresh[i]);
        }
    }
    sdx_free(&sdx_alloc_default, r->block);
}

#define TRACE_MAX 64 /* values shown of one node; more are left out */

static size_t trace_values(sdx_value *values, const sdx_value **list, const Datum *const *d, int n)
{
    size_t count = n < TRACE_MAX ? (size_t)n : TRACE_MAX;
    for (size_t i = 0; i < count; i++) {
        list[i] = NULL;
        if (!d[i]) continue;
        values[i] = (sdx_value){ .refs = 1, .alloc = &sdx_alloc_default, .d = *d[i] };
        list[i] = &values[i];
    }
    return count;
}

static void trace_node(void *user, const Node *n, int64_t start_ns, int64_t end_ns, const Datum *const *in, int n_in,
                       Datum *const *out, int n_out)
{
    const sdx_run_options *o = user;
    sdx_value in_values[TRACE_MAX], out_values[TRACE_MAX];
    const sdx_value *in_list[TRACE_MAX], *out_list[TRACE_MAX];
    sdx_node_event e = { .name = n->name,
                         .op_type = n->op_type,
                         .domain = n->domain,
                         .start_ns = start_ns,
                         .end_ns = end_ns,
                         .inputs = in_list,
                         .n_inputs = trace_values(in_values, in_list, in, n_in),
                         .outputs = out_list,
                         .n_outputs = trace_values(out_values, out_list, (const Datum *const *)out, n_out) };
    o->on_node(o->user, &e);
}

sdx_status sdx_api_run_options(const sdx_run_options *o, RunOptions *out, RunTrace *trace, Err *err)
{
    if (o->struct_size != sizeof *o)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "run options: struct_size is %zu, this library's is %zu",
                        o->struct_size, sizeof *o);
    if (o->timeout_ns < 0 || o->max_trips < 0)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "run options: timeout_ns or max_trips is negative");
    *out = (RunOptions){ .limits = { .cancel = o->cancel, .max_bytes = o->max_bytes, .max_trips = o->max_trips } };
    if (o->timeout_ns) {
        struct timespec now;
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
        out->limits.deadline_ns = o->timeout_ns > INT64_MAX - ns ? INT64_MAX : ns + o->timeout_ns;
    }
    if (o->on_node) {
        *trace = (RunTrace){ trace_node, (void *)(uintptr_t)o };
        out->trace = trace;
    }
    return SDX_OK;
}

static sdx_status run_call(sdx_session *s, const RunSpec *spec, const char *const *in_names, RunArrays *r, size_t n_in,
                           const char *const *out_names, size_t n_out, const sdx_run_options *options, Err *err)
{
    RunOptions o;
    RunTrace trace;
    if (options) TRY(sdx_api_run_options(options, &o, &trace, err));
    const RunOptions *use = options ? &o : NULL;
    if (spec) return sdx_ses_run(s->ses, spec, r->in, r->out, use, err);
    return sdx_ses_run_names(s->ses, in_names, r->in, (int)n_in, out_names, r->out, (int)n_out, use, err);
}

sdx_status sdx_api_run(sdx_session *s, const RunSpec *spec, const char *const *in_names, const sdx_value *const *inputs,
                       size_t n_in, const char *const *out_names, sdx_value **outputs, size_t n_out,
                       const sdx_run_options *options, Err *err)
{
    RunArrays r;
    TRY(arrays_init(&r, n_in, n_out, err));
    sdx_session_retain(s); /* somebody may let go of it meanwhile */
    sdx_status st = arrays_fill(&r, inputs, n_in, outputs, n_out, err);
    if (st == SDX_OK) st = run_call(s, spec, in_names, &r, n_in, out_names, n_out, options, err);
    arrays_finish(&r, outputs, n_out, st);
    sdx_session_release(s);
    return st;
}

sdx_status sdx_session_run(sdx_session *s, const char *const *input_names, const sdx_value *const *inputs,
                           size_t n_inputs, const char *const *output_names, sdx_value **outputs, size_t n_outputs,
                           const sdx_run_options *options, sdx_error *error)
{
    Err *err = api_err(error);
    if (!s || (n_inputs && (!input_names || !inputs)) || (n_outputs && (!output_names || !outputs)))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "session, names or values are NULL");
    return sdx_api_run(s, NULL, input_names, inputs, n_inputs, output_names, outputs, n_outputs, options, err);
}
