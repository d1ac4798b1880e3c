#include "session/session.h"

#include <string.h>

#include "ops/infer.h"
#include "ops/pack.h"
#include "session/session_parts.h"
#include "train/train.h"

enum { PLAN_CACHE_DEFAULT = 16, FOLD_MAX_NBYTES = 1 << 20 };

void sdx_ses_options_init(SessionOptions *o)
{
    *o = (SessionOptions){ .alloc = &sdx_alloc_default, .level = OPT_DEFAULT };
}

/* -- opening -------------------------------------------------------------------------------------------------------- */

/* Every size of this name becomes the number. */
static sdx_status dim_override(Model *m, const DimOverride *d, Err *err)
{
    bool found = false;
    if (d->size < 0)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "dimension `%s`: size %lld is negative", d->name,
                        (long long)d->size);
    for (int i = 0; i < m->graph->n_inputs; i++) {
        Shape *s = &m->graph->inputs[i]->type.shape;
        for (int k = 0; k < s->rank; k++) {
            const char *name = sdx_dim_name(m->syms, s->dims[k]);
            if (!name || strcmp(name, d->name) != 0) continue;
            s->dims[k] = d->size;
            found = true;
        }
    }
    return found ? SDX_OK : sdx_fail(err, SDX_INVALID_ARGUMENT, "no input has a dimension named `%s`", d->name);
}

static sdx_status list_inputs(Session *s, Err *err)
{
    const Graph *g = s->model->graph;
    s->inputs = sdx_arena_array(&s->arena, Value *, g->n_inputs);
    s->overridable = sdx_arena_array(&s->arena, Value *, s->model->n_values);
    TRY_MEM(s->inputs && s->overridable ? s : NULL, err);
    for (int i = 0; i < g->n_inputs; i++)
        if (!g->inputs[i]->constant) s->inputs[s->n_inputs++] = g->inputs[i];
    for (int i = 0; i < s->model->n_values; i++) {
        Value *v = s->model->values[i];
        if (v && v->graph == g && v->constant && (v->flags & VALUE_OVERRIDABLE)) s->overridable[s->n_overridable++] = v;
    }
    s->defaults = sdx_arena_array(&s->arena, Datum, s->n_overridable);
    TRY_MEM(s->defaults, err);
    for (int i = 0; i < s->n_overridable; i++) {
        TRY(sdx_value_align(s->overridable[i], err));
        s->defaults[i] = (Datum){ .kind = DATUM_TENSOR, .t = *s->overridable[i]->constant };
    }
    return SDX_OK;
}

static const EpApi *find_provider(const SessionOptions *o, const char *name)
{
    for (int i = 0; o->extra && o->extra[i]; i++)
        if (!strcmp(o->extra[i]->name, name)) return o->extra[i];
    return sdx_ep_find(name);
}

/* Devices are a strict list: what was asked for, or an error. */
static sdx_status list_providers(Session *s, const SessionOptions *o, Err *err)
{
    static const char *const only_cpu[] = { "cpu", NULL };
    const char *const *names = o->providers ? o->providers : only_cpu;
    int n = 0;
    while (names[n]) n++;
    s->providers = sdx_arena_array(&s->arena, Provider, n);
    TRY_MEM(s->providers, err);
    for (int i = 0; i < n; i++) {
        const EpApi *api = find_provider(o, names[i]);
        if (!api) return sdx_fail(err, SDX_INVALID_ARGUMENT, "provider `%s` is not in this build", names[i]);
        s->providers[s->n_providers++].api = api;
    }
    return n ? SDX_OK : sdx_fail(err, SDX_INVALID_ARGUMENT, "the list of providers is empty");
}

/* Names of the providers' rewrites: they may be switched off as the portable ones are. */
static sdx_status list_rewrites(Session *s, const char *const **out, Err *err)
{
    int total = 0, n;
    for (int i = 0; i < s->n_providers; i++)
        if (s->providers[i].api->rewrites) s->providers[i].api->rewrites(&n), total += n;
    const char **names = sdx_arena_array(&s->arena, const char *, total + 1);
    TRY_MEM(names, err);
    *out = names;
    for (int i = 0; i < s->n_providers; i++) {
        if (!s->providers[i].api->rewrites) continue;
        const Pass *passes = s->providers[i].api->rewrites(&n);
        for (int k = 0; k < n; k++) *names++ = passes[k].name;
    }
    return SDX_OK;
}

static sdx_status compile_parts(Session *s, Err *err)
{
    for (int i = 0; i < s->n_parts; i++) {
        Part *p = &s->parts[i];
        void *ep = NULL;
        for (int k = 0; k < s->n_providers; k++)
            if (s->providers[k].api == p->api) ep = s->providers[k].ep;
        TRY(p->api->compile(ep, &p->part, &p->prog, err));
        sdx_plan_cache_init(&p->plans, s->alloc, s->plan_cache, p->part.n_inputs, p->by_content, p->api->drop_plan);
        p->has_plans = true;
    }
    return SDX_OK;
}

static sdx_status open_fill(Session *s, const SessionOptions *o, Err *err)
{
    const Kern *kern = o->kern ? o->kern : sdx_kern_best();
    if (o->max_nodes && s->model->next_node_id > o->max_nodes)
        return sdx_fail(err, SDX_LIMIT_NODES, "the model has more nodes than the limit, %lld", (long long)o->max_nodes);
    if (o->pool)
        s->pool = sdx_pool_retain(o->pool);
    else if (o->threads != 1)
        TRY(sdx_pool_shared(o->threads, &s->pool, err));
    for (int i = 0; i < o->n_dims; i++) TRY(dim_override(s->model, &o->dims[i], err));
    OptOptions opt = { .level = o->level, .disabled = o->disabled, .fold_max_nbytes = FOLD_MAX_NBYTES, .kern = kern };
    TRY(list_providers(s, o, err));
    TRY(list_rewrites(s, &opt.others, err));
    TRY(sdx_gradients_expand(s->model, o->max_nodes, err));
    TRY(sdx_opt_run(s->model, &opt, err));
    TRY(list_inputs(s, err));
    TRY(sdx_packs_create(s->alloc, s->model->owners, s->model->n_owners, &s->packs, err));
    if (s->alloc == &sdx_alloc_default) s->results = sdx_recycler_create(s->alloc);
    EpConfig cfg = { .alloc = s->alloc,
                     .results = s->results,
                     .kern = kern,
                     .opt = opt,
                     .pool = s->pool,
                     .packs = s->packs,
                     .flush_subnormals = o->level >= OPT_DEFAULT && !o->keep_subnormals,
                     .may_round = o->level >= OPT_DEFAULT };
    TRY(sdx_ses_claim(s, &cfg, err));
    TRY(sdx_ses_split(s, err));
    return compile_parts(s, err);
}

sdx_status sdx_ses_open(Model **model, const SessionOptions *o, Session **out, Err *err)
{
    SessionOptions defaults;
    *out = NULL;
    if (!o) {
        sdx_ses_options_init(&defaults);
        o = &defaults;
    }
    const Alloc *a = o->alloc ? o->alloc : &sdx_alloc_default;
    Session *s = sdx_alloc_zero(a, sizeof *s);
    if (!s) {
        sdx_model_destroy(*model);
        *model = NULL;
        return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    s->refs = 1;
    s->alloc = a;
    s->model = *model;
    *model = NULL;
    s->max_bytes = o->max_bytes;
    s->plan_cache = o->plan_cache > 0 ? o->plan_cache : PLAN_CACHE_DEFAULT;
    sdx_arena_init(&s->arena, a, 0);
    sdx_status st = open_fill(s, o, err);
    if (st != SDX_OK)
        sdx_ses_close(s);
    else
        *out = s;
    return st;
}

void sdx_ses_retain(Session *s) { __atomic_fetch_add(&s->refs, 1, __ATOMIC_RELAXED); }

void sdx_ses_close(Session *s)
{
    if (!s || __atomic_sub_fetch(&s->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    for (int i = 0; i < s->n_parts; i++) {
        Part *p = &s->parts[i];
        if (p->has_plans) sdx_plan_cache_fini(&p->plans);
        if (p->prog) p->api->drop(p->prog);
    }
    for (int i = 0; i < s->n_providers; i++)
        if (s->providers[i].ep) s->providers[i].api->close(s->providers[i].ep);
    sdx_packs_destroy(s->packs);
    sdx_model_destroy(s->model);
    sdx_arena_fini(&s->arena);
    sdx_pool_release(s->pool);
    sdx_recycler_release(s->results);
    sdx_free(s->alloc, s);
}

void sdx_ses_trim(Session *s)
{
    for (int i = 0; i < s->n_parts; i++) {
        sdx_plan_cache_trim(&s->parts[i].plans);
        if (s->parts[i].api->trim) s->parts[i].api->trim(s->parts[i].prog);
    }
    sdx_recycler_trim(s->results);
}

/* -- what is inside ------------------------------------------------------------------------------------------------- */

const Model *sdx_ses_model(const Session *s) { return s->model; }
int sdx_ses_n_inputs(const Session *s) { return s->n_inputs; }
int sdx_ses_n_outputs(const Session *s) { return s->model->graph->n_outputs; }
int sdx_ses_n_overridable(const Session *s) { return s->n_overridable; }
const Value *sdx_ses_input(const Session *s, int i) { return s->inputs[i]; }
const Value *sdx_ses_output(const Session *s, int i) { return s->model->graph->outputs[i]; }
const Value *sdx_ses_overridable(const Session *s, int i) { return s->overridable[i]; }

void sdx_ses_each_node(const Session *s, void (*fn)(void *user, const Node *n, const char *ep, const char *reason),
                       void *user)
{
    for (const Node *n = s->model->graph->first; n; n = n->next) {
        const char *reason = NULL;
        for (int i = 0; i < n->ep && !reason; i++)
            if (n->id < s->providers[i].claims.n) reason = s->providers[i].claims.reason[n->id];
        fn(user, n, s->providers[n->ep].api->name, reason);
    }
}
