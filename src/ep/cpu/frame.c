/* Running: frames, and the loop over their steps. */
#include <string.h>

#include "base/futex.h"
#include "base/size.h"
#include "ep/cpu/cpu_ep.h"
#include "ops/eval.h"

enum { MAX_DEPTH = 64 }; /* of nested graphs at run time */

static sdx_status frame_graph(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out);

/* -- life of a frame ------------------------------------------------------------------------------------------------ */

/* The block's parts, in order, all aligned. */
typedef struct Layout {
    size_t slots, outs, runs, ptrs, slab, total;
} Layout;

static bool frame_layout(const Plan *p, Layout *l)
{
    size_t at = sdx_round_up(sizeof(Frame), SDX_ALIGN);
    l->slots = at;
    l->outs = l->slots + sdx_round_up((size_t)p->prog->n_slots * sizeof(Datum), SDX_ALIGN);
    l->runs = l->outs + sdx_round_up((size_t)p->prog->n_out * sizeof(Datum), SDX_ALIGN);
    l->ptrs = l->runs + sdx_round_up((size_t)p->n_steps * sizeof(Run), SDX_ALIGN);
    l->slab = l->ptrs + sdx_round_up(p->n_ptrs * sizeof(void *), SDX_ALIGN);
    return sdx_add_size(&l->total, l->slab, p->slab_nbytes);
}

static const Datum *frame_in(Frame *f, int s)
{
    if (s < 0) return NULL;
    return f->plan->slots[s].kind == SLOT_CONST ? &f->plan->slots[s].d : &f->slots[s];
}

static void frame_bind_step(Frame *f, const Step *s, Run *r, void ***ptrs)
{
    const RunTools *tools = &f->plan->prog->ep->tools;
    const ProgNode *pn = s->pn;
    const Datum **in = (const Datum **)*ptrs;
    Datum **out = (Datum **)(in + pn->n_in + pn->n_hidden);
    for (int i = 0; i < pn->n_in + pn->n_hidden; i++) in[i] = frame_in(f, pn->in[i]);
    for (int o = 0; o < pn->n_out; o++) out[o] = pn->out[o] < 0 ? NULL : &f->slots[pn->out[o]];
    *ptrs = (void **)(out + pn->n_out);
    *r = (Run){ .node = pn->node,
                .args = pn->node->args,
                .state = s->state,
                .n_in = pn->n_in,
                .n_out = pn->n_out,
                .in = in,
                .out = out,
                .scratch = s->has_scratch ? f->slab + s->scratch : sdx_no_scratch,
                .pool = tools->pool,
                .env = &f->env,
                .err = &f->err };
}

static Frame *frame_create(Plan *p)
{
    Layout l;
    if (!frame_layout(p, &l)) return NULL;
    char *block = sdx_alloc(p->prog->ep->cfg.alloc, l.total);
    if (!block) return NULL;
    memset(block, 0, l.slab);
    Frame *f = (Frame *)block;
    f->plan = p;
    f->env = (RunEnv){ .root = &f->own_root, .graph = frame_graph, .frame = f };
    f->slots = (Datum *)(block + l.slots);
    f->outs = (Datum *)(block + l.outs);
    f->runs = (Run *)(block + l.runs);
    f->slab = block + l.slab;
    for (int s = 0; s < p->prog->n_slots; s++) {
        if (p->slots[s].kind != SLOT_STATIC) continue;
        f->slots[s] = p->slots[s].d;
        if (p->slots[s].store == 0) f->slots[s].t.data = f->slab + p->slots[s].offset;
    }
    void **ptrs = (void **)(block + l.ptrs);
    for (int i = 0; i < p->n_steps; i++) frame_bind_step(f, &p->steps[i], &f->runs[i], &ptrs);
    return f;
}

void sdx_frame_destroy(Frame *f)
{
    sdx_heap_release(f->own_root.heap);
    sdx_free(f->plan->prog->ep->cfg.alloc, f);
}

static Frame *frame_take(Plan *p)
{
    sdx_lock(&p->lock);
    Frame *f = p->frames;
    if (f) p->frames = f->next;
    sdx_unlock(&p->lock);
    return f ? f : frame_create(p);
}

static void frame_give(Frame *f)
{
    Plan *p = f->plan;
    sdx_lock(&p->lock);
    f->next = p->frames;
    p->frames = f;
    sdx_unlock(&p->lock);
}

/* -- results -------------------------------------------------------------------------------------------------------- */

static bool is_bound(const Datum *d) { return d->kind == DATUM_TENSOR && d->t.data; }

static bool fits(const Datum *bound, const Tensor *t)
{
    return bound->t.dtype == t->dtype && sdx_dims_equal(bound->t.dims, bound->t.rank, t->dims, t->rank);
}

static sdx_status bound_misfit(const Frame *f, int o, const Datum *bound, const Tensor *t)
{
    char want[160], got[160];
    return sdx_fail((Err *)&f->err, SDX_INVALID_ARGUMENT, "output `%s` is %s%s; the buffer bound to it is for %s%s",
                    f->plan->prog->slots[f->plan->prog->outputs[o]].value->name, sdx_dtype_name(t->dtype),
                    sdx_dims_text(want, sizeof want, t->dims, t->rank), sdx_dtype_name(bound->t.dtype),
                    sdx_dims_text(got, sizeof got, bound->t.dims, bound->t.rank));
}

/* A bound buffer that shares bytes with an input would change it under the nodes that read it. */
static bool overlaps_input(const Frame *f, const EpIo *io, const Datum *bound)
{
    size_t n, m;
    uintptr_t a = (uintptr_t)bound->t.data;
    if (!sdx_tensor_nbytes(&bound->t, &n)) return true;
    for (int i = 0; i < f->plan->prog->n_in; i++) {
        const Tensor *t = &io->in[i]->t;
        uintptr_t b = (uintptr_t)t->data;
        if (io->in[i]->kind == DATUM_TENSOR && sdx_tensor_nbytes(t, &m) && a < b + m && b < a + n) return true;
    }
    return false;
}

/* What output o is made from, when it is a tensor of known shape. */
static const Datum *out_source(Frame *f, const EpIo *io, const PlanOut *out)
{
    return out->kind == OUT_INPUT ? io->in[out->input] : frame_in(f, out->slot);
}

/* Where a result t of the whole run is allocated. */
static const Alloc *result_alloc(const EpConfig *cfg, const Tensor *t)
{
    size_t nbytes;
    bool large = cfg->results && sdx_tensor_nbytes(t, &nbytes) && nbytes >= SDX_RECYCLE_MIN;
    return large ? sdx_recycler_alloc(cfg->results) : cfg->alloc;
}

/* Memory of the outputs whose shape is known, before the first step. */
static sdx_status outs_begin(Frame *f, const EpIo *io, const Alloc *a, bool nested)
{
    const Plan *p = f->plan;
    for (int o = 0; o < p->prog->n_out; o++) {
        const PlanOut *out = &p->outs[o];
        if (out->kind == OUT_DYNAMIC || (nested && out->kind == OUT_INPUT)) continue;
        const Datum *src = out_source(f, io, out), *bound = &io->out[o];
        if (src->kind != DATUM_TENSOR) continue;
        bool is_string = src->t.dtype == DT_STRING;
        if (is_bound(bound) && (is_string || !fits(bound, &src->t))) {
            if (!nested) return bound_misfit(f, o, bound, &src->t);
        } else if (is_bound(bound) && !overlaps_input(f, io, bound)) {
            f->outs[o] = (Datum){ .kind = DATUM_TENSOR, .t = bound->t };
            continue;
        }
        if (is_string) continue; /* copied with its bytes at the end */
        const Alloc *from = nested ? a : result_alloc(&p->prog->ep->cfg, &src->t);
        TRY(sdx_datum_tensor(&f->outs[o], from, src->t.dtype, src->t.rank, src->t.dims, &f->err));
    }
    for (int i = 0; i < p->n_out_patches; i++) {
        const Patch *patch = &p->out_patches[i];
        f->slots[patch->slot].t.data = (char *)f->outs[patch->index].t.data + patch->offset;
    }
    return SDX_OK;
}

/* Strings made while running lie in the run's memory; what leaves gets bytes of its own. */
static sdx_status export_datum(Datum *dst, const Datum *src, const Alloc *a, Err *err)
{
    if (src->kind == DATUM_TENSOR && src->t.dtype == DT_STRING) return sdx_datum_copy(dst, &src->t, a, err);
    bool has_strings = src->kind == DATUM_SEQUENCE && src->seq->n && src->seq->items[0].kind == DATUM_TENSOR &&
                       src->seq->items[0].t.dtype == DT_STRING;
    if (!has_strings) return sdx_datum_share(dst, src, a, err);
    *dst = (Datum){ .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(a, DT_STRING) };
    if (!dst->seq) *dst = (Datum){ .kind = DATUM_NONE };
    TRY_MEM(dst->kind == DATUM_SEQUENCE ? dst : NULL, err);
    sdx_status st = SDX_OK;
    for (int64_t i = 0; i < src->seq->n && st == SDX_OK; i++) {
        Datum item = { .kind = DATUM_NONE };
        st = export_datum(&item, &src->seq->items[i], a, err);
        if (st == SDX_OK) st = sdx_seq_insert(dst->seq, i, &item, err);
        sdx_datum_clear(&item);
    }
    if (st != SDX_OK) sdx_datum_clear(dst);
    return st;
}

static sdx_status out_copy(Datum *dst, const Tensor *src)
{
    size_t n;
    if (sdx_tensor_nbytes(src, &n) && n) memcpy(dst->t.data, src->data, n);
    return SDX_OK;
}

/* Everything that was not made in its place. */
static sdx_status outs_finish(Frame *f, const EpIo *io, const Alloc *a, bool nested)
{
    const Plan *p = f->plan;
    for (int o = 0; o < p->prog->n_out; o++) {
        const PlanOut *out = &p->outs[o];
        if (out->kind == OUT_STORE) continue;
        const Datum *src = out_source(f, io, out), *bound = &io->out[o];
        if (f->outs[o].kind == DATUM_TENSOR) {
            TRY(out_copy(&f->outs[o], &src->t));
            continue;
        }
        bool copy = is_bound(bound) && src->kind == DATUM_TENSOR && src->t.dtype != DT_STRING && fits(bound, &src->t);
        if (copy && !(nested && src->buf)) {
            f->outs[o] = (Datum){ .kind = DATUM_TENSOR, .t = bound->t };
            TRY(out_copy(&f->outs[o], &src->t));
        } else if (is_bound(bound) && !nested) {
            if (src->kind == DATUM_TENSOR) return bound_misfit(f, o, bound, &src->t);
            return sdx_fail(&f->err, SDX_INVALID_ARGUMENT, "output `%s` is no tensor: no buffer can be bound to it",
                            p->prog->slots[out->slot].value->name);
        } else {
            TRY(nested ? sdx_datum_share(&f->outs[o], src, a, &f->err) : export_datum(&f->outs[o], src, a, &f->err));
        }
    }
    return SDX_OK;
}

/* Hands results over. A bound buffer that was not used (it overlaps an input, or a nested graph's result did not fit) is
 * filled when it fits. */
static void outs_move(Frame *f, const EpIo *io, bool nested)
{
    for (int o = 0; o < f->plan->prog->n_out; o++) {
        Datum *got = &f->outs[o], *to = &io->out[o];
        if (!nested && is_bound(to) && got->kind == DATUM_TENSOR) {
            if (got->t.data != to->t.data) out_copy(to, &got->t);
            if (got->buf) sdx_datum_clear(got);
        } else {
            *to = *got;
        }
        got->kind = DATUM_NONE;
        got->buf = NULL;
    }
}

/* -- steps ---------------------------------------------------------------------------------------------------------- */

/* A node that had to wait: inferred from what its inputs turned out to be, prepared and run. */
sdx_status sdx_step_dynamic(Run *r)
{
    Frame *f = r->env->frame;
    const Plan *p = f->plan;
    const ProgNode *pn = f->at->pn;
    RunRoot *root = f->env.root;
    Arena *work = &f->work;
    bool *in_const = sdx_arena_array(work, bool, pn->n_in);
    if (!in_const) return sdx_root_no_memory(root, r->err);
    for (int i = 0; i < pn->n_in; i++) in_const[i] = pn->in[i] >= 0 && p->slots[pn->in[i]].kind == SLOT_CONST;
    if (!(pn->node->def->flags & OP_CONTROL))
        TRY(sdx_eval_outputs(pn->node, r->in, r->out, sdx_heap_alloc(root->heap), work, r->err));
    return sdx_run_once(&f->env, &p->prog->ep->tools, pn->node, r->in, pn->n_in, in_const, r->out, pn->n_out, work,
                        r->err);
}

static void drop_slots(Frame *f, const int *slots, int n)
{
    for (int i = 0; i < n; i++) sdx_datum_clear(&f->slots[slots[i]]);
}

/* Nothing can interrupt or watch this run. */
static sdx_status steps_fast(Frame *f)
{
    const Step *s = f->plan->steps, *end = s + f->plan->n_steps;
    for (Run *r = f->runs; s < end; s++, r++) {
        f->at = s;
        TRY(s->fn(r));
        if (s->n_drops) drop_slots(f, s->drops, s->n_drops);
    }
    return SDX_OK;
}

static sdx_status steps_watched(Frame *f)
{
    const Step *s = f->plan->steps, *end = s + f->plan->n_steps;
    for (Run *r = f->runs; s < end; s++, r++) {
        f->at = s;
        TRY(sdx_root_poll(f->env.root, &f->err));
        int64_t from = f->trace ? sdx_now_ns() : 0;
        TRY(s->fn(r));
        if (f->trace) f->trace->node(f->trace->user, r->node, from, sdx_now_ns(), r->in, r->n_in, r->out, r->n_out);
        if (s->n_drops) drop_slots(f, s->drops, s->n_drops);
    }
    return sdx_root_poll(f->env.root, &f->err);
}

static sdx_status frame_steps(Frame *f, const EpIo *io, bool nested)
{
    const Plan *p = f->plan;
    const RunRoot *root = f->env.root;
    const Alloc *a = nested ? sdx_heap_alloc(root->heap) : p->prog->ep->cfg.alloc;
    for (int i = 0; i < p->n_in_patches; i++) {
        const Patch *patch = &p->in_patches[i];
        const Datum *in = io->in[patch->index];
        f->slots[patch->slot].t.data = (char *)in->t.data + patch->offset;
        /* Within a run inputs may be shared; the caller's own memory is copied when it has to live on. */
        if (nested) f->slots[patch->slot].buf = in->buf;
    }
    for (int i = 0; i < p->n_dyn_inputs; i++) f->slots[p->dyn_inputs[i]] = *io->in[p->dyn_inputs[i]];
    TRY(outs_begin(f, io, a, nested));
    TRY(root->cancel || root->deadline_ns || f->trace ? steps_watched(f) : steps_fast(f));
    return outs_finish(f, io, a, nested);
}

static void frame_reset(Frame *f)
{
    drop_slots(f, f->plan->dyn_slots, f->plan->n_dyn_slots);
    for (int i = 0; i < f->plan->n_dyn_inputs; i++) f->slots[f->plan->dyn_inputs[i]] = (Datum){ .kind = DATUM_NONE };
    if (f->work.last) sdx_arena_fini(&f->work);
}

/* Runs the frame; on failure clears what was made of the outputs. */
static sdx_status frame_run(Frame *f, const EpIo *io, bool nested)
{
    sdx_status st = frame_steps(f, io, nested);
    if (st == SDX_OK)
        outs_move(f, io, nested);
    else
        for (int o = 0; o < f->plan->prog->n_out; o++) sdx_datum_clear(&f->outs[o]);
    frame_reset(f);
    return st;
}

/* -- nested graphs -------------------------------------------------------------------------------------------------- */

static sdx_status nested_plan(Prog *prog, const Datum *const *in, PlanEntry **entry, Err *err)
{
    *entry = sdx_plan_cache_get(&prog->plans, in);
    if (*entry) return SDX_OK;
    Plan *plan;
    TRY(sdx_cpu_plan(prog, in, &plan, err));
    *entry = sdx_plan_cache_put(&prog->plans, in, plan, plan->slab_nbytes);
    if (*entry) return SDX_OK;
    sdx_cpu_plan_drop(plan);
    return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

static sdx_status nested_run(Frame *outer, Plan *plan, const EpIo *io, Err *err)
{
    RunRoot *root = outer->env.root;
    if (!sdx_heap_charge(root->heap, plan->slab_nbytes)) return sdx_root_no_memory(root, err);
    Frame *f = frame_take(plan);
    sdx_status st = SDX_OUT_OF_MEMORY;
    if (f) {
        f->env.root = root;
        f->trace = outer->trace;
        f->err.code = SDX_OK;
        sdx_arena_init(&f->work, sdx_heap_alloc(root->heap), 0);
        st = frame_run(f, io, true);
        if (st != SDX_OK && err && err->code == SDX_OK) *err = f->err;
        frame_give(f);
    }
    sdx_heap_uncharge(root->heap, plan->slab_nbytes);
    return f ? st : sdx_root_no_memory(root, err);
}

static sdx_status frame_graph(Run *r, Graph *body, const Datum *const *in, int n_in, Datum *out, int n_out)
{
    static const Datum none = { .kind = DATUM_NONE };
    Frame *f = r->env->frame;
    const ProgNode *pn = f->at->pn;
    const SubProg *sub = pn->subs;
    while (sub < pn->subs + pn->n_subs && sub->body != body) sub++;
    if (sub == pn->subs + pn->n_subs || n_in != sub->prog->n_formal || n_out != sub->prog->n_out)
        return sdx_run_fail(r, "its nested graph takes %d inputs and gives %d outputs, not %d and %d", body->n_inputs,
                            body->n_outputs, n_in, n_out);
    if (f->env.root->depth >= MAX_DEPTH) return sdx_run_fail(r, "graphs are nested deeper than %d", MAX_DEPTH);

    enum { FEW = 16 };
    const Datum *few[FEW], **all = few;
    int n = sub->prog->n_in;
    if (n > FEW && !(all = sdx_arena_array(&f->work, const Datum *, n))) return sdx_root_no_memory(f->env.root, r->err);
    for (int i = 0; i < n; i++) {
        all[i] = i < n_in ? in[i] : r->in[pn->n_in + sub->captured[i - n_in]];
        if (!all[i]) all[i] = &none;
    }
    PlanEntry *entry;
    TRY(nested_plan(sub->prog, all, &entry, r->err));
    f->env.root->depth++;
    EpIo io = { .in = all, .out = out };
    const Step *at = f->at;
    sdx_status st = nested_run(f, entry->plan, &io, r->err);
    f->at = at;
    f->env.root->depth--;
    sdx_plan_cache_unpin(&sub->prog->plans, entry);
    return st;
}

/* -- a run ---------------------------------------------------------------------------------------------------------- */

static sdx_status root_begin(Frame *f, const RunLimits *limits)
{
    RunRoot *root = &f->own_root;
    Heap *heap = root->heap;
    if (!heap && !(heap = sdx_heap_create(f->plan->prog->ep->cfg.alloc))) return SDX_OUT_OF_MEMORY;
    *root = (RunRoot){ .heap = heap, .trips_left = INT64_MAX };
    if (limits) {
        root->cancel = limits->cancel;
        root->deadline_ns = limits->deadline_ns;
        if (limits->max_trips) root->trips_left = root->max_trips = limits->max_trips;
    }
    sdx_heap_limit(heap, limits ? limits->max_bytes : 0);
    sdx_arena_init(&root->strings, sdx_heap_alloc(heap), 0);
    sdx_arena_init(&f->work, sdx_heap_alloc(heap), 0);
    return SDX_OK;
}

/* A heap that results live on in is theirs; the next run gets another. */
static void root_end(Frame *f)
{
    RunRoot *root = &f->own_root;
    if (root->strings.last) sdx_arena_fini(&root->strings);
    if (sdx_heap_is_empty(root->heap)) return;
    sdx_heap_release(root->heap);
    root->heap = NULL;
}

sdx_status sdx_cpu_run(void *plan, const EpIo *io, Err *err)
{
    Plan *p = plan;
    Pool *pool = p->prog->ep->tools.pool;
    const RunLimits *limits = io->limits;
    if (limits && limits->max_bytes && p->slab_nbytes > limits->max_bytes)
        return sdx_fail(err, SDX_LIMIT_BYTES, "a run with these shapes needs %zu bytes, the limit is %zu",
                        p->slab_nbytes, limits->max_bytes);
    Frame *f = frame_take(p);
    TRY_MEM(f, err);
    f->trace = io->trace;
    f->err.code = SDX_OK;
    sdx_status st = root_begin(f, limits);
    if (st != SDX_OK) {
        frame_give(f);
        return sdx_fail(err, st, "out of memory");
    }
    sdx_heap_charge(f->own_root.heap, p->slab_nbytes);
    sdx_pool_enter(pool);
    st = frame_run(f, io, false);
    sdx_pool_leave(pool);
    sdx_heap_uncharge(f->own_root.heap, p->slab_nbytes);
    if (st == SDX_OUT_OF_MEMORY && sdx_heap_refused(f->own_root.heap)) {
        sdx_err_clear(&f->err); /* nodes that allocate cannot tell the ceiling from the allocator */
        st = sdx_root_no_memory(&f->own_root, &f->err);
    }
    if (st != SDX_OK && err && err->code == SDX_OK) *err = f->err;
    root_end(f);
    frame_give(f);
    return st;
}
