/* Bindings: a run whose names are resolved once. */
#include <string.h>

#include "api/api.h"

typedef struct BoundPort {
    const char *name;
    sdx_value *value; /* retained: the feed, or the tensor to write into; NULL for an output made anew */
    bool wanted;
} BoundPort;

struct sdx_binding {
    sdx_session *session;
    Arena arena;
    BoundPort *in; /* inputs, then overridable initializers */
    BoundPort *out;
    size_t n_in, n_out;
    RunSpec *spec; /* for the present choice; NULL after a change */
    const char **in_names, **out_names;
    const sdx_value **feeds;
    sdx_value **results; /* of the last run, by position in the spec */
    size_t *out_index;   /* spec position -> out */
    size_t n_feeds, n_results;
};

static void binding_drop_results(sdx_binding *b)
{
    for (size_t i = 0; i < b->n_results; i++) {
        sdx_value_release(b->results[i]);
        b->results[i] = NULL;
    }
}

/* The choice of names changed. */
static void binding_unresolve(sdx_binding *b)
{
    binding_drop_results(b);
    b->n_results = b->n_feeds = 0;
    sdx_ses_spec_drop(b->spec);
    b->spec = NULL;
}

static sdx_status binding_fill(sdx_binding *b, Err *err)
{
    sdx_session *s = b->session;
    b->n_in = s->n_inputs + s->n_overridable;
    b->n_out = s->n_outputs;
    b->in = sdx_arena_array(&b->arena, BoundPort, b->n_in);
    b->out = sdx_arena_array(&b->arena, BoundPort, b->n_out);
    b->in_names = sdx_arena_array(&b->arena, const char *, b->n_in);
    b->out_names = sdx_arena_array(&b->arena, const char *, b->n_out);
    b->feeds = sdx_arena_array(&b->arena, const sdx_value *, b->n_in);
    b->results = sdx_arena_array(&b->arena, sdx_value *, b->n_out);
    b->out_index = sdx_arena_array(&b->arena, size_t, b->n_out);
    bool ok = b->in && b->out && b->in_names && b->out_names && b->feeds && b->results && b->out_index;
    if (!ok) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    for (size_t i = 0; i < s->n_inputs; i++) b->in[i].name = s->inputs[i].name;
    for (size_t i = 0; i < s->n_overridable; i++) b->in[s->n_inputs + i].name = s->overridable[i].name;
    for (size_t i = 0; i < b->n_out; i++) b->out[i].name = s->outputs[i].name;
    return SDX_OK;
}

sdx_status sdx_binding_create(sdx_session *s, sdx_binding **out, sdx_error *error)
{
    Err *err = api_err(error);
    if (!s) return sdx_fail(err, SDX_INVALID_ARGUMENT, "the session is NULL");
    sdx_binding *b = sdx_alloc_zero(&sdx_alloc_default, sizeof *b);
    TRY_MEM(b, err);
    sdx_arena_init(&b->arena, &sdx_alloc_default, 0);
    sdx_session_retain(s);
    b->session = s;
    sdx_status st = binding_fill(b, err);
    if (st == SDX_OK)
        *out = b;
    else
        sdx_binding_release(b);
    return st;
}

void sdx_binding_release(sdx_binding *b)
{
    if (!b) return;
    binding_unresolve(b);
    for (size_t i = 0; b->in && i < b->n_in; i++) sdx_value_release(b->in[i].value);
    for (size_t i = 0; b->out && i < b->n_out; i++) sdx_value_release(b->out[i].value);
    sdx_session_release(b->session);
    sdx_arena_fini(&b->arena);
    sdx_free(&sdx_alloc_default, b);
}

static sdx_status find_port(BoundPort *ports, size_t n, const char *what, const char *name, BoundPort **out, Err *err)
{
    for (size_t i = 0; name && i < n; i++)
        if (strcmp(ports[i].name, name) == 0) {
            *out = &ports[i];
            return SDX_OK;
        }
    return sdx_fail(err, SDX_INVALID_ARGUMENT, "the model has no %s \"%s\"", what, name ? name : "(null)");
}

static void port_set(BoundPort *p, sdx_value *v)
{
    sdx_value_retain(v);
    sdx_value_release(p->value);
    p->value = v;
}

sdx_status sdx_binding_set_input(sdx_binding *b, const char *name, sdx_value *v, sdx_error *error)
{
    BoundPort *p;
    TRY(find_port(b->in, b->n_in, "input", name, &p, api_err(error)));
    if ((p->value == NULL) != (v == NULL)) binding_unresolve(b);
    port_set(p, v);
    return SDX_OK;
}

sdx_status sdx_binding_set_output(sdx_binding *b, const char *name, sdx_value *v, sdx_error *error)
{
    BoundPort *p;
    TRY(find_port(b->out, b->n_out, "output", name, &p, api_err(error)));
    if (!p->wanted) binding_unresolve(b);
    p->wanted = true;
    port_set(p, v);
    return SDX_OK;
}

static sdx_status binding_resolve(sdx_binding *b, Err *err)
{
    bool any = false;
    for (size_t i = 0; i < b->n_out; i++) any |= b->out[i].wanted;
    size_t n_in = 0, n_out = 0;
    for (size_t i = 0; i < b->n_in; i++)
        if (b->in[i].value) b->in_names[n_in++] = b->in[i].name;
    for (size_t i = 0; i < b->n_out; i++) {
        if (any && !b->out[i].wanted) continue;
        b->out_index[n_out] = i;
        b->out_names[n_out++] = b->out[i].name;
    }
    TRY(sdx_ses_spec(b->session->ses, b->in_names, (int)n_in, b->out_names, (int)n_out, &b->spec, err));
    b->n_feeds = n_in;
    b->n_results = n_out;
    return SDX_OK;
}

sdx_status sdx_binding_run(sdx_binding *b, const sdx_run_options *options, sdx_error *error)
{
    Err *err = api_err(error);
    if (!b->spec) TRY(binding_resolve(b, err));
    size_t k = 0;
    for (size_t i = 0; i < b->n_in; i++)
        if (b->in[i].value) b->feeds[k++] = b->in[i].value;
    for (size_t i = 0; i < b->n_results; i++) {
        sdx_value *bound = b->out[b->out_index[i]].value;
        sdx_value_retain(bound);
        sdx_value_release(b->results[i]);
        b->results[i] = bound;
    }
    return sdx_api_run(b->session, b->spec, b->in_names, b->feeds, b->n_feeds, b->out_names, b->results, b->n_results,
                       options, err);
}

sdx_value *sdx_binding_output(const sdx_binding *b, const char *name)
{
    for (size_t i = 0; name && i < b->n_results; i++)
        if (strcmp(b->out_names[i], name) == 0) return b->results[i];
    return NULL;
}
