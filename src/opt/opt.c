/* The driver: a queue of nodes, each visited by the passes that start from its operator, until nothing changes. */
#include "opt/opt.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/infer.h"

enum { MAX_PASSES = 64, ROOT_SLOTS = 512, LAST_PHASE = 2 /* of passes.def */ };

typedef struct Root {
    const OpDef *def;
    uint64_t passes;
} Root;

struct Opt {
    Model *m;
    const OptOptions *opt;
    Err *err;
    const Pass *passes;
    int n_passes, ep;
    const Pass *running;
    Arena tmp;
    /* Which passes start from an operator: open addressing by def; any_root start from all. */
    Root roots[ROOT_SLOTS];
    uint64_t any_root, in_phase;
    /* The queue: a ring of nodes; queued is by node id. */
    Node **queue;
    int head, n_queue, cap_queue;
    bool *queued;
    int cap_queued;
    int64_t changes, max_changes;
    bool trace;
};

/* -- the queue ----------------------------------------------------------------------------------------------------- */

static sdx_status queue_reserve(Opt *o, int id)
{
    if (id >= o->cap_queued) {
        int cap = o->cap_queued ? o->cap_queued : 256;
        while (cap <= id) cap *= 2;
        bool *queued = sdx_arena_array(&o->tmp, bool, cap);
        TRY_MEM(queued, o->err);
        if (o->cap_queued) memcpy(queued, o->queued, (size_t)o->cap_queued * sizeof *queued);
        o->queued = queued;
        o->cap_queued = cap;
    }
    if (o->n_queue == o->cap_queue) {
        int cap = o->cap_queue ? 2 * o->cap_queue : 256;
        Node **queue = sdx_arena_array(&o->tmp, Node *, cap);
        TRY_MEM(queue, o->err);
        for (int i = 0; i < o->n_queue; i++) queue[i] = o->queue[(o->head + i) & (o->cap_queue - 1)];
        o->queue = queue;
        o->cap_queue = cap;
        o->head = 0;
    }
    return SDX_OK;
}

sdx_status sdx_opt_touch(Opt *o, Node *n)
{
    if (!n || !n->graph || (o->ep >= 0 && n->ep != o->ep)) return SDX_OK;
    if (n->id < o->cap_queued && o->queued[n->id]) return SDX_OK;
    TRY(queue_reserve(o, n->id));
    o->queued[n->id] = true;
    o->queue[(o->head + o->n_queue++) & (o->cap_queue - 1)] = n;
    return SDX_OK;
}

static Node *queue_pop(Opt *o)
{
    Node *n = o->queue[o->head];
    o->head = (o->head + 1) & (o->cap_queue - 1);
    o->n_queue--;
    o->queued[n->id] = false;
    return n;
}

static sdx_status queue_graph(Graph *g, void *user, Err *err)
{
    (void)err;
    for (Node *n = g->first; n; n = n->next) TRY(sdx_opt_touch(user, n));
    return SDX_OK;
}

static sdx_status touch_readers(Opt *o, const Value *v)
{
    for (int i = 0; i < v->n_uses; i++) TRY(sdx_opt_touch(o, v->uses[i].node));
    return SDX_OK;
}

/* -- editing ------------------------------------------------------------------------------------------------------- */

Err *sdx_opt_err(Opt *o) { return o->err; }
const OptOptions *sdx_opt_options(const Opt *o) { return o->opt; }
Model *sdx_opt_model(Opt *o) { return o->m; }

sdx_status sdx_opt_note(Opt *o, const char *fmt, ...)
{
    char text[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    Rewrite *r = sdx_arena_new(&o->m->arena, Rewrite);
    TRY_MEM(r, o->err);
    r->pass = o->running ? o->running->name : "";
    r->detail = sdx_arena_strndup(&o->m->arena, text, strlen(text));
    TRY_MEM(r->detail, o->err);
    *o->m->rewrites_end = r;
    o->m->rewrites_end = &r->next;
    return SDX_OK;
}

Node *sdx_opt_node(Opt *o, Node *before, const char *domain, const char *op, Value *const *in, int n_in)
{
    Value *out = sdx_value_create(before->graph, NULL);
    if (!out) {
        sdx_fail(o->err, SDX_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    Node *n = sdx_node_make(before->graph, before, domain, op, in, n_in, &out, 1, o->err);
    if (!n) return NULL;
    n->ep = o->ep;
    n->name = before->name;
    return n;
}

sdx_status sdx_opt_finish(Opt *o, Node *n)
{
    TRY(sdx_node_parse(n, o->err));
    TRY(sdx_model_infer_node(o->m, n, o->err));
    TRY(sdx_opt_touch(o, n));
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i]) TRY(touch_readers(o, n->out[i]));
    return SDX_OK;
}

sdx_status sdx_opt_apply(Opt *o, Node *before, const char *op, Value *const *in, int n_in, Value **out)
{
    Node *n = sdx_opt_node(o, before, "", op, in, n_in);
    if (!n) return (sdx_status)o->err->code;
    *out = n->out[0];
    return sdx_opt_finish(o, n);
}

sdx_status sdx_opt_constant(Opt *o, Graph *g, const char *name, const Tensor *t, Value **out)
{
    Tensor copy = *t;
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) return sdx_fail(o->err, SDX_INTERNAL, "constant without a size");
    copy.data = sdx_model_block_data(o->m, t);
    TRY_MEM(copy.data, o->err);
    if (nbytes) memcpy(copy.data, t->data, nbytes);
    *out = sdx_value_constant(g, name, &copy);
    TRY_MEM(*out, o->err);
    return SDX_OK;
}

static bool is_dead(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && (n->out[i]->n_uses || (n->out[i]->flags & VALUE_GRAPH_OUTPUT))) return false;
    return true;
}

/* A constant that nobody reads any more goes at once: it may be large. */
static void constant_drop(const Model *m, Value *v)
{
    const unsigned kept = VALUE_GRAPH_INPUT | VALUE_GRAPH_OUTPUT | VALUE_OVERRIDABLE;
    if (!v || m->values[v->id] != v || !v->constant || v->producer || v->n_uses || (v->flags & kept)) return;
    sdx_value_remove(v);
}

/* Removes n when nobody needs it; what it alone needed will be looked at. */
static sdx_status sweep_up(Opt *o, Node *n)
{
    Value *small[8], **in = small;
    if (!n || !n->graph || !is_dead(n)) return SDX_OK;
    for (int i = 0; i < n->n_in; i++) {
        if (!n->in[i]) continue;
        TRY(sdx_opt_touch(o, n->in[i]->producer));
        TRY(touch_readers(o, n->in[i])); /* they may be alone with it now */
    }
    int n_in = n->n_in;
    if (n_in > 8) TRY_MEM(in = sdx_arena_array(&o->tmp, Value *, n_in), o->err);
    for (int i = 0; i < n_in; i++) in[i] = n->in[i];
    sdx_node_remove(n);
    for (int i = 0; i < n_in; i++) constant_drop(o->m, in[i]);
    return SDX_OK;
}

/* What both know of the shape: they are equal. */
static void type_merge(Type *to, const Type *from)
{
    if (to->kind != TYPE_TENSOR || from->kind != TYPE_TENSOR) return;
    if (to->shape.rank == SDX_RANK_UNKNOWN) to->shape = from->shape;
    if (to->shape.rank != from->shape.rank) return;
    for (int i = 0; i < to->shape.rank; i++)
        if (!sdx_dim_is_const(to->shape.dims[i]) && sdx_dim_is_const(from->shape.dims[i]))
            to->shape.dims[i] = from->shape.dims[i];
}

sdx_status sdx_opt_replace(Opt *o, Value *from, Value *to)
{
    Node *producer = from->producer;
    type_merge(&to->type, &from->type);
    if (!to->known.v) to->known = from->known;
    if (!sdx_value_can_replace(from, to)) return sdx_fail(o->err, SDX_INTERNAL, "`%s` cannot be replaced", from->name);
    bool replaced = sdx_value_replace(from, to);
    TRY_MEM(replaced, o->err);
    if (from->declared && !to->declared) to->declared = from->declared;
    TRY(touch_readers(o, to));
    TRY(sdx_opt_touch(o, to->producer));
    return sweep_up(o, producer);
}

sdx_status sdx_opt_supersede(Opt *o, Node *old, Node *n)
{
    char text[200];
    TRY(sdx_opt_finish(o, n));
    TRY(sdx_opt_note(o, "%s", sdx_node_text(old, text, sizeof text)));
    return sdx_opt_replace(o, old->out[0], n->out[0]);
}

sdx_status sdx_opt_set_input(Opt *o, Node *n, int i, Value *v)
{
    Value *old = i < n->n_in ? n->in[i] : NULL;
    bool done = sdx_node_set_input(n, i, v);
    TRY_MEM(done, o->err);
    if (!old) return SDX_OK;
    TRY(touch_readers(o, old));
    return sweep_up(o, old->producer);
}

/* -- which passes visit which nodes -------------------------------------------------------------------------------- */

static Root *root_slot(Opt *o, const OpDef *def)
{
    size_t i = ((size_t)(uintptr_t)def >> 4) * 0x9e3779b1u % ROOT_SLOTS;
    while (o->roots[i].def && o->roots[i].def != def) i = (i + 1) % ROOT_SLOTS;
    return &o->roots[i];
}

static bool name_in(const char *const *list, const char *name)
{
    for (; list && *list; list++)
        if (strcmp(*list, name) == 0) return true;
    return false;
}

/* "Mul com.microsoft:Gelu": operators that this build lacks are passed over. */
static void roots_add(Opt *o, const char *roots, uint64_t bit)
{
    char word[128];
    int used = 0;
    for (const char *p = roots; *p;) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        char *colon = strchr(word, ':');
        if (colon) *colon = '\0';
        const OpDef *def = colon ? sdx_op_find(word, colon + 1) : sdx_op_find("", word);
        if (def && used++ < ROOT_SLOTS / 2) {
            Root *r = root_slot(o, def);
            r->def = def;
            r->passes |= bit;
        }
        p += n;
        p += strspn(p, " ");
    }
}

static sdx_status passes_select(Opt *o)
{
    if (o->n_passes > MAX_PASSES) return sdx_fail(o->err, SDX_INTERNAL, "more than %d passes", MAX_PASSES);
    for (int i = 0; i < o->n_passes; i++) {
        const Pass *p = &o->passes[i];
        if (p->level > o->opt->level || name_in(o->opt->disabled, p->name) || !p->visit) continue;
        if (p->roots)
            roots_add(o, p->roots, (uint64_t)1 << i);
        else
            o->any_root |= (uint64_t)1 << i;
    }
    return SDX_OK;
}

/* -- running ------------------------------------------------------------------------------------------------------- */

static sdx_status verify(Opt *o, bool small_only)
{
#ifndef NDEBUG
    if (small_only && o->m->next_node_id > 256) return SDX_OK;
    sdx_status st = sdx_model_verify(o->m, o->err);
    if (st != SDX_OK && o->running) sdx_err_prefix(o->err, "after rewrite %s", o->running->name);
    return st;
#else
    (void)o;
    (void)small_only;
    return SDX_OK;
#endif
}

static sdx_status node_visit(Opt *o, Node *n)
{
    if (!n->graph) return SDX_OK;
    TRY(sweep_up(o, n));
    uint64_t todo = n->def && n->graph ? (o->any_root | root_slot(o, n->def)->passes) & o->in_phase : 0;
    while (todo && n->graph) {
        int i = __builtin_ctzll(todo);
        bool changed = false;
        todo &= todo - 1;
        o->running = &o->passes[i];
        TRY(o->running->visit(o, n, &changed));
        if (!changed) continue;
        TRY(verify(o, true));
        if (++o->changes > o->max_changes)
            return sdx_fail(o->err, SDX_INTERNAL, "rewrites do not end; the last one is %s", o->running->name);
        return sdx_opt_touch(o, n);
    }
    return SDX_OK;
}

typedef struct SweepRun {
    Opt *o;
    const Pass *pass;
} SweepRun;

static sdx_status sweep_graph(Graph *g, void *user, Err *err)
{
    SweepRun *s = user;
    bool changed = false;
    (void)err;
    return s->pass->sweep(s->o, g, &changed);
}

static sdx_status phase_run(Opt *o, int phase)
{
    o->in_phase = 0;
    for (int i = 0; i < o->n_passes; i++) {
        const Pass *p = &o->passes[i];
        if (p->phase <= phase) o->in_phase |= (uint64_t)1 << i;
        if (!p->sweep || p->phase > phase || p->level > o->opt->level || name_in(o->opt->disabled, p->name)) continue;
        o->running = p;
        TRY(sdx_model_each_graph(o->m, sweep_graph, &(SweepRun){ o, p }, o->err));
        TRY(verify(o, false));
    }
    TRY(sdx_model_each_graph(o->m, queue_graph, o, o->err));
    while (o->n_queue) TRY(node_visit(o, queue_pop(o)));
    o->running = NULL;
    return verify(o, false);
}

/* Constants that rewrites left without readers. */
static void constants_sweep(Opt *o)
{
    for (int i = 0; i < o->m->n_values; i++) constant_drop(o->m, o->m->values[i]);
}

static void trace_write(void *user, const char *text, size_t n)
{
    (void)user;
    fwrite(text, 1, n, stderr);
}

static void trace(const Opt *o, const char *when)
{
    if (!o->trace) return;
    fprintf(stderr, "-- graph %s\n", when);
    sdx_graph_print(o->m->graph, trace_write, NULL);
}

sdx_status sdx_opt_run_passes(Model *m, const Pass *passes, int n_passes, int ep, const OptOptions *opt, Err *err)
{
    if (opt->level == OPT_NONE || !m->graph) return SDX_OK;
    Err local = { 0 };
    Opt *o = sdx_alloc_zero(m->alloc, sizeof *o);
    TRY_MEM(o, err);
    const char *tracing = getenv("SDX_TRACE");
    *o = (Opt){ .m = m, .opt = opt, .err = err ? err : &local, .passes = passes, .n_passes = n_passes, .ep = ep };
    o->max_changes = 64 * (int64_t)m->next_node_id + 1000;
    o->trace = tracing && strstr(tracing, "opt");
    sdx_arena_init(&o->tmp, m->alloc, 0);
    trace(o, "before rewrites");
    sdx_status st = passes_select(o);
    if (st == SDX_OK) st = phase_run(o, 0);
    if (st == SDX_OK && ep < 0 && o->changes && !sdx_model_is_known(m)) st = sdx_model_infer(m, o->err);
    for (int phase = 0; phase <= LAST_PHASE && st == SDX_OK; phase++) st = phase_run(o, phase);
    constants_sweep(o);
    if (st == SDX_OK) trace(o, "after rewrites");
    sdx_arena_fini(&o->tmp);
    sdx_free(m->alloc, o);
    return st;
}

sdx_status sdx_opt_run(Model *m, const OptOptions *opt, Err *err)
{
    int n;
    const Pass *passes = sdx_opt_passes(&n);
    for (const char *const *name = opt->disabled; name && *name; name++) {
        bool known = name_in(opt->others, *name);
        for (int i = 0; i < n && !known; i++) known = strcmp(passes[i].name, *name) == 0;
        if (!known) return sdx_fail(err, SDX_INVALID_ARGUMENT, "there is no rewrite named `%s`", *name);
    }
    TRY(sdx_model_infer(m, err));
    return sdx_opt_run_passes(m, passes, n, -1, opt, err);
}
