/* Specs and runs. */
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/size.h"
#include "session/session_parts.h"

/* -- specs ---------------------------------------------------------------------------------------------------------- */

/* Position of a name among n values, tried first at `at`, where callers that know the model put it. */
static int find_name(Value *const *v, int n, const char *name, int at)
{
    if (at < n && !strcmp(v[at]->name, name)) return at;
    for (int i = 0; i < n; i++)
        if (!strcmp(v[i]->name, name)) return i;
    return -1;
}

static sdx_status unknown_name(const char *what, const char *name, Value *const *v, int n, Err *err)
{
    char list[512] = "";
    for (int i = 0; i < n; i++) {
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s`%s`", i ? ", " : "", v[i]->name);
    }
    return sdx_fail(err, SDX_INVALID_ARGUMENT, "the model has no %s `%s`; it has %s", what, name, n ? list : "none");
}

static sdx_status missing_inputs(const Session *s, const RunSpec *spec, Err *err)
{
    char list[512] = "";
    int missing = 0;
    for (int w = 0; w < s->n_inputs; w++) {
        bool given = false;
        for (int i = 0; i < spec->n_in && !given; i++) given = spec->in[i] == w;
        if (given) continue;
        char type[192];
        size_t at = strlen(list);
        snprintf(list + at, sizeof list - at, "%s`%s` (%s)", missing++ ? ", " : "", s->wires[w]->name,
                 sdx_type_text(s->model->syms, &s->wires[w]->type, type, sizeof type));
    }
    return missing ? sdx_fail(err, SDX_INVALID_ARGUMENT, "missing inputs: %s", list) : SDX_OK;
}

/* The one part's inputs and outputs are the spec's, in order. */
static bool spec_is_whole(const Session *s, const RunSpec *spec)
{
    if (s->n_parts != 1) return false;
    const Part *p = &s->parts[0];
    if (p->part.n_inputs != spec->n_in || p->part.n_outputs != spec->n_out) return false;
    for (int i = 0; i < spec->n_in; i++)
        if (p->in_wires[i] != spec->in[i]) return false;
    for (int o = 0; o < spec->n_out; o++)
        if (p->out_wires[o] != s->output_wires[spec->out[o]]) return false;
    return true;
}

/* spec->in and spec->out have room. */
static sdx_status spec_fill(Session *s, const char *const *in_names, int n_in, const char *const *out_names, int n_out,
                            RunSpec *spec, Err *err)
{
    const Graph *g = s->model->graph;
    spec->session = s;
    spec->n_in = n_in;
    spec->n_out = n_out;
    int n_given = s->n_inputs + s->n_overridable;
    bool in_order = n_in == s->n_inputs;
    for (int i = 0; i < n_in; i++) {
        spec->in[i] = find_name(s->wires, n_given, in_names[i], i);
        if (spec->in[i] < 0) return unknown_name("input", in_names[i], s->wires, n_given, err);
        in_order &= spec->in[i] == i;
    }
    if (!in_order) {
        for (int i = 0; i < n_in; i++)
            for (int k = 0; k < i; k++)
                if (spec->in[i] == spec->in[k])
                    return sdx_fail(err, SDX_INVALID_ARGUMENT, "input `%s` is given twice", in_names[i]);
        TRY(missing_inputs(s, spec, err));
    }
    for (int o = 0; o < n_out; o++) {
        spec->out[o] = find_name(g->outputs, g->n_outputs, out_names[o], o);
        if (spec->out[o] < 0) return unknown_name("output", out_names[o], g->outputs, g->n_outputs, err);
    }
    spec->is_whole = spec_is_whole(s, spec);
    return SDX_OK;
}

sdx_status sdx_ses_spec(Session *s, const char *const *in_names, int n_in, const char *const *out_names, int n_out,
                        RunSpec **out, Err *err)
{
    *out = NULL;
    if (n_in < 0 || n_out < 0 || n_in > INT16_MAX || n_out > INT16_MAX)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%d inputs and %d outputs: out of range", n_in, n_out);
    RunSpec *spec = sdx_alloc(s->alloc, sizeof *spec + (size_t)(n_in + n_out) * sizeof(int));
    TRY_MEM(spec, err);
    *spec = (RunSpec){ .in = (int *)(spec + 1) };
    spec->out = spec->in + n_in;
    sdx_status st = spec_fill(s, in_names, n_in, out_names, n_out, spec, err);
    if (st != SDX_OK)
        sdx_free(s->alloc, spec);
    else
        *out = spec;
    return st;
}

void sdx_ses_spec_drop(RunSpec *spec)
{
    if (spec) sdx_free(spec->session->alloc, spec);
}

/* -- plans ---------------------------------------------------------------------------------------------------------- */

static sdx_status part_plan(const Session *s, Part *p, const Datum *const *in, PlanEntry **entry, Err *err)
{
    if ((*entry = sdx_plan_cache_get(&p->plans, in))) return SDX_OK;
    void *plan;
    size_t nbytes;
    TRY(p->api->plan(p->prog, in, &plan, &nbytes, err));
    if ((*entry = sdx_plan_cache_put(&p->plans, in, plan, nbytes))) return SDX_OK;
    p->api->drop_plan(plan);
    return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

/* -- runs ----------------------------------------------------------------------------------------------------------- */

/* Ceiling of the session and of the run: the lower one. NULL when nothing limits. */
static const RunLimits *run_limits(const Session *s, const RunOptions *o, RunLimits *buf)
{
    if (!o && !s->max_bytes) return NULL;
    *buf = o ? o->limits : (RunLimits){ 0 };
    if (s->max_bytes && (!buf->max_bytes || s->max_bytes < buf->max_bytes)) buf->max_bytes = s->max_bytes;
    return buf;
}

/* The usual case: everything in order goes straight to the only part. A cached plan also tells that inputs of these
 * types and shapes were checked before. */
static sdx_status run_whole(Session *s, const RunSpec *spec, const Datum *const *in, const EpIo *io, Err *err)
{
    Part *p = &s->parts[0];
    PlanEntry *entry = sdx_plan_cache_get(&p->plans, in);
    if (!entry) {
        TRY(sdx_ses_check(s, spec, in, err));
        TRY(part_plan(s, p, in, &entry, err));
    }
    sdx_status st = p->api->run(entry->plan, io, err);
    sdx_plan_cache_unpin(&p->plans, entry);
    return st;
}

/* Wires of a run that is not whole. */
typedef struct Wires {
    const Datum **at; /* by wire: the content, NULL before it is made */
    Datum *made;      /* by wire: results */
    const Datum **in; /* of the part in progress */
    Datum *out;
} Wires;

/* Which wanted output a wire is, the first; -1 for none. */
static int wanted_output(const Session *s, const RunSpec *spec, int wire)
{
    for (int o = 0; o < spec->n_out; o++)
        if (s->output_wires[spec->out[o]] == wire) return o;
    return -1;
}

static sdx_status run_part(Session *s, const RunSpec *spec, Part *p, Wires *w, const EpIo *whole, Err *err)
{
    for (int i = 0; i < p->part.n_inputs; i++) w->in[i] = w->at[p->in_wires[i]];
    for (int o = 0; o < p->part.n_outputs; o++) {
        int want = wanted_output(s, spec, p->out_wires[o]);
        w->out[o] = want >= 0 ? whole->out[want] : (Datum){ .kind = DATUM_NONE };
    }
    PlanEntry *entry;
    TRY(part_plan(s, p, w->in, &entry, err));
    EpIo io = { .in = w->in, .out = w->out, .limits = whole->limits, .trace = whole->trace };
    sdx_status st = p->api->run(entry->plan, &io, err);
    sdx_plan_cache_unpin(&p->plans, entry);
    for (int o = 0; o < p->part.n_outputs && st == SDX_OK; o++) {
        w->made[p->out_wires[o]] = w->out[o];
        w->at[p->out_wires[o]] = &w->made[p->out_wires[o]];
    }
    return st;
}

/* A result that no part makes (an input or a constant passed through), or that is wanted twice. */
static sdx_status give_copy(const Session *s, const Datum *src, Datum *out, const char *name, Err *err)
{
    if (out->kind != DATUM_TENSOR || !out->t.data)
        return src->kind == DATUM_TENSOR ? sdx_datum_copy(out, &src->t, s->alloc, err)
                                         : sdx_datum_share(out, src, s->alloc, err);
    size_t n;
    if (src->kind != DATUM_TENSOR || src->t.dtype == DT_STRING || src->t.dtype != out->t.dtype ||
        !sdx_dims_equal(src->t.dims, src->t.rank, out->t.dims, out->t.rank))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "output `%s` does not fit the buffer bound to it", name);
    if (sdx_tensor_nbytes(&src->t, &n) && n) memmove(out->t.data, src->t.data, n);
    return SDX_OK;
}

static sdx_status give_outputs(Session *s, const RunSpec *spec, Wires *w, Datum *out, Err *err)
{
    const Graph *g = s->model->graph;
    for (int o = 0; o < spec->n_out; o++) {
        int wire = s->output_wires[spec->out[o]];
        const Value *v = g->outputs[spec->out[o]];
        Datum constant = { .kind = DATUM_TENSOR };
        if (wire < 0) constant.t = *v->constant;
        if (wire >= 0 && w->at[wire] == &w->made[wire]) {
            out[o] = w->made[wire];
            w->made[wire] = (Datum){ .kind = DATUM_NONE };
            w->at[wire] = &out[o]; /* where a second wish for it finds it */
        } else {
            TRY(give_copy(s, wire < 0 ? &constant : w->at[wire], &out[o], v->name, err));
        }
    }
    return SDX_OK;
}

static sdx_status run_wired(Session *s, const RunSpec *spec, const Datum *const *in, const EpIo *io, Wires *w, Err *err)
{
    static const Datum none = { .kind = DATUM_NONE };
    for (int i = 0; i < s->n_inputs; i++) w->at[i] = &none;
    for (int i = 0; i < s->n_overridable; i++) w->at[s->n_inputs + i] = &s->defaults[i];
    for (int i = 0; i < spec->n_in; i++) w->at[spec->in[i]] = in[i];
    for (int i = 0; i < s->n_parts; i++) TRY(run_part(s, spec, &s->parts[i], w, io, err));
    return give_outputs(s, spec, w, io->out, err);
}

static sdx_status run_parts(Session *s, const RunSpec *spec, const Datum *const *in, const EpIo *io, Err *err)
{
    TRY(sdx_ses_check(s, spec, in, err));
    size_t n = (size_t)s->n_wires, n_bound = sdx_round_up((size_t)spec->n_out, SDX_ALIGN);
    size_t datums = sdx_round_up(2 * n * sizeof(Datum), SDX_ALIGN);
    char *block = sdx_alloc_zero(s->alloc, n_bound + datums + 2 * n * sizeof(Datum *) + 1);
    TRY_MEM(block, err);
    Wires w = { .made = (Datum *)(block + n_bound), .at = (const Datum **)(block + n_bound + datums) };
    w.out = w.made + n;
    w.in = w.at + n;
    bool *bound = (bool *)block;
    for (int o = 0; o < spec->n_out; o++) bound[o] = io->out[o].kind == DATUM_TENSOR && io->out[o].t.data;
    sdx_status st = run_wired(s, spec, in, io, &w, err);
    for (int i = 0; i < s->n_wires; i++) sdx_datum_clear(&w.made[i]); /* owns nothing where it was bound */
    for (int o = 0; o < spec->n_out && st != SDX_OK; o++)
        if (!bound[o]) sdx_datum_clear(&io->out[o]);
    sdx_free(s->alloc, block);
    return st;
}

sdx_status sdx_ses_run(Session *s, const RunSpec *spec, const Datum *const *in, Datum *out, const RunOptions *o,
                       Err *err)
{
    RunLimits limits;
    EpIo io = { .in = in, .out = out, .limits = run_limits(s, o, &limits), .trace = o ? o->trace : NULL };
    sdx_ses_retain(s);
    FpEnv caller = sdx_fpenv_save();
    sdx_fpenv_default();
    sdx_status st;
    if (!spec->is_whole) {
        st = run_parts(s, spec, in, &io, err);
    } else {
        bool complete = true;
        for (int i = 0; i < spec->n_in; i++) complete &= in[i] != NULL;
        st = complete ? run_whole(s, spec, in, &io, err) : sdx_ses_check(s, spec, in, err);
    }
    sdx_fpenv_restore(caller);
    sdx_ses_close(s);
    return st;
}

sdx_status sdx_ses_run_names(Session *s, const char *const *in_names, const Datum *const *in, int n_in,
                             const char *const *out_names, Datum *out, int n_out, const RunOptions *o, Err *err)
{
    enum { FEW = 32 };
    int few[FEW];
    if (n_in < 0 || n_out < 0 || n_in > FEW || n_out > FEW - n_in) {
        RunSpec *spec;
        TRY(sdx_ses_spec(s, in_names, n_in, out_names, n_out, &spec, err));
        sdx_status st = sdx_ses_run(s, spec, in, out, o, err);
        sdx_ses_spec_drop(spec);
        return st;
    }
    RunSpec spec = { .in = few, .out = few + n_in };
    TRY(spec_fill(s, in_names, n_in, out_names, n_out, &spec, err));
    return sdx_ses_run(s, &spec, in, out, o, err);
}

sdx_status sdx_ses_plan_nbytes(Session *s, const RunSpec *spec, const Datum *const *in, size_t *nbytes, Err *err)
{
    *nbytes = 0;
    TRY(sdx_ses_check(s, spec, in, err));
    if (s->n_parts == 0) return SDX_OK;
    if (s->n_parts > 1)
        return sdx_fail(err, SDX_UNSUPPORTED, "the graph runs in %d parts: memory is known part by part, while running",
                        s->n_parts);
    Part *p = &s->parts[0];
    const Datum **all = sdx_alloc(s->alloc, (size_t)(p->part.n_inputs + 1) * sizeof *all);
    TRY_MEM(all, err);
    for (int i = 0; i < p->part.n_inputs; i++) {
        int wire = p->in_wires[i];
        all[i] = wire >= s->n_inputs ? &s->defaults[wire - s->n_inputs] : NULL;
        for (int k = 0; k < spec->n_in; k++)
            if (spec->in[k] == wire) all[i] = in[k];
    }
    PlanEntry *entry;
    sdx_status st = part_plan(s, p, all, &entry, err);
    sdx_free(s->alloc, all);
    if (st != SDX_OK) return st;
    *nbytes = entry->nbytes;
    sdx_plan_cache_unpin(&p->plans, entry);
    return SDX_OK;
}
