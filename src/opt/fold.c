/* opt/fold.c      y = op(constants)   =>   y is a constant
 *                 y = Shape(x), x of known shape, and what is computed from it   =>   the same
 *
 * Skipped when y is an output of the main graph, when the operator is random or runs nested graphs, when the result is
 * above a limit and four times larger than its inputs, or larger at all and above 64 MB, and for DequantizeLinear:
 * quantised weights stay quantised. */
#include "opt/match.h"
#include "ops/run.h"

static bool is_foldable(const Node *n)
{
    const OpDef *def = n->def;
    if (!def || !def->cpu.run || (def->flags & (OP_RANDOM | OP_CONTROL))) return false;
    return sdx_op_find(def->domain, def->name) ==
           def; /* not custom: foreign code runs when the caller runs the model */
}

/* Result i of a run becomes a tensor of the model. */
static sdx_status result_keep(Model *m, const Datum *d, Tensor *out, Err *err)
{
    size_t nbytes;
    *out = d->t;
    if (!sdx_tensor_nbytes(&d->t, &nbytes)) return sdx_fail(err, SDX_INTERNAL, "a folded tensor has no size");
    out->data = sdx_model_block_data(m, &d->t);
    TRY_MEM(out->data, err);
    if (nbytes) memcpy(out->data, d->t.data, nbytes);
    if (out->dtype != DT_STRING) return SDX_OK;
    Str *s = out->data;
    for (int64_t i = 0, count = sdx_tensor_count(out); i < count; i++) {
        s[i].p = sdx_arena_strndup(&m->arena, s[i].p, s[i].n);
        TRY_MEM(s[i].p, err);
    }
    return SDX_OK;
}

enum { FOLD_IO = 16, WIDE_MAX = 64 << 20 };

typedef struct Fold {
    Datum in[FOLD_IO], out[FOLD_IO];
    const Datum *in_ptr[FOLD_IO];
    Datum *out_ptr[FOLD_IO];
    bool in_const[FOLD_IO], placed[FOLD_IO];
    size_t in_nbytes;
} Fold;

static bool inputs_bind(Fold *f, const Node *n, Err *err)
{
    for (int i = 0; i < n->n_in; i++) {
        Value *v = n->in[i];
        size_t nbytes;
        if (!v) continue;
        if (!sdx_value_is_const(v) || !sdx_tensor_nbytes(v->constant, &nbytes)) return false;
        if (sdx_value_align(v, err) != SDX_OK) return false;
        f->in[i] = (Datum){ .kind = DATUM_TENSOR, .t = *v->constant };
        f->in_ptr[i] = &f->in[i];
        f->in_const[i] = true;
        f->in_nbytes += nbytes;
    }
    return true;
}

/* Outputs of known shape get their place in the model; false when one is above the limit. */
static bool outputs_bind(Fold *f, const Node *n, size_t limit, Model *m)
{
    for (int i = 0; i < n->n_out; i++) {
        const Value *v = n->out[i];
        if (!v) continue;
        f->out_ptr[i] = &f->out[i];
        if (v->type.kind != TYPE_TENSOR || v->type.elem == DT_NONE || v->type.elem == DT_STRING) continue;
        if (!sdx_shape_is_numbers(&v->type.shape)) continue;
        Tensor t = { .dtype = v->type.elem, .rank = v->type.shape.rank };
        size_t nbytes;
        memcpy(t.dims, v->type.shape.dims, (size_t)t.rank * sizeof *t.dims);
        if (!sdx_tensor_nbytes(&t, &nbytes) || nbytes > limit) return false;
        if (!(t.data = sdx_model_block_data(m, &t))) return false;
        f->out[i] = (Datum){ .kind = DATUM_TENSOR, .t = t };
        f->placed[i] = true;
    }
    return true;
}

static bool outputs_fit(const Fold *f, const Node *n, size_t limit)
{
    size_t nbytes;
    for (int i = 0; i < n->n_out; i++) {
        if (!f->out_ptr[i]) continue;
        if (f->out[i].kind != DATUM_TENSOR || !sdx_tensor_nbytes(&f->out[i].t, &nbytes) || nbytes > limit) return false;
    }
    return true;
}

sdx_status sdx_fold_node(Model *m, const Node *n, const OptOptions *opt, Tensor *out, bool *done, Err *err)
{
    Fold f = { .in_nbytes = 0 };
    *done = false;
    if (!is_foldable(n) || n->n_in > FOLD_IO || n->n_out > FOLD_IO || !inputs_bind(&f, n, err))
        return err ? (sdx_status)err->code : SDX_OK;
    size_t limit = opt->fold_max_nbytes ? opt->fold_max_nbytes : SDX_FOLD_MAX_NBYTES;
    size_t widened = f.in_nbytes < WIDE_MAX / 4 ? 4 * f.in_nbytes : f.in_nbytes; /* weights of 8 bits to float */
    if (limit < widened) limit = widened;

    Heap *heap = sdx_heap_create(m->alloc);
    TRY_MEM(heap, err);
    const Alloc *alloc = sdx_heap_alloc(heap);
    RunRoot root = { .heap = heap, .trips_left = INT64_MAX };
    RunEnv env = { .root = &root };
    RunTools tools = { .kern = opt->kern ? opt->kern : sdx_kern_best() };
    Arena plan;
    sdx_arena_init(&root.strings, alloc, 0);
    sdx_arena_init(&plan, m->alloc, 0);
    bool ok = outputs_bind(&f, n, limit, m) &&
              sdx_run_once(&env, &tools, n, f.in_ptr, n->n_in, f.in_const, f.out_ptr, n->n_out, &plan, NULL) ==
                  SDX_OK &&
              outputs_fit(&f, n, limit);
    sdx_status st = SDX_OK;
    for (int i = 0; i < n->n_out; i++) {
        if (f.placed[i])
            out[i] = f.out[i].t;
        else if (ok && st == SDX_OK && f.out_ptr[i])
            st = result_keep(m, &f.out[i], &out[i], err);
        if (f.placed[i] && !ok) sdx_model_block_drop(m, f.out[i].t.data);
        sdx_datum_clear(&f.out[i]);
    }
    sdx_arena_fini(&plan);
    sdx_arena_fini(&root.strings);
    sdx_heap_release(heap);
    *done = ok && st == SDX_OK;
    return st;
}

/* -- the pass ------------------------------------------------------------------------------------------------------ */

/* Readers of v read a constant of t, whose elements are the model's. */
static sdx_status replace_by_constant(Opt *o, Value *v, const Tensor *t)
{
    Value *c = sdx_value_constant(v->graph, v->name, t);
    TRY_MEM(c, sdx_opt_err(o));
    return sdx_opt_replace(o, v, c);
}

/* The tensor of a Constant node, where it lies: it may be a large weight in the file. */
static sdx_status constant_take(Opt *o, Node *n, const Tensor *t)
{
    Value *c = sdx_value_constant(n->graph, n->out[0]->name, t);
    TRY_MEM(c, sdx_opt_err(o));
    if (!sdx_tensor_is_aligned(t)) c->flags |= VALUE_UNALIGNED;
    return sdx_opt_replace(o, n->out[0], c);
}

/* An integer tensor all of whose content inference found. */
static bool known_tensor(const Value *v, Tensor *t, int64_t *data)
{
    if (!v->known.v || v->type.kind != TYPE_TENSOR || !sdx_shape_is_numbers(&v->type.shape)) return false;
    if (v->type.elem != DT_INT64 && v->type.elem != DT_INT32) return false;
    *t = (Tensor){ .dtype = v->type.elem, .rank = v->type.shape.rank, .data = data };
    memcpy(t->dims, v->type.shape.dims, (size_t)t->rank * sizeof *t->dims);
    int64_t count; /* of the shape, which a file may declare as it likes */
    int n = sdx_known_ints(v, data, SDX_DIMVEC_MAX);
    if (n < 0 || !sdx_shape_count(t->dims, t->rank, &count) || n != count) return false;
    if (t->dtype != DT_INT32) return true;
    int32_t *narrow = t->data;
    for (int i = 0; i < n; i++) {
        if (data[i] != (int32_t)data[i]) return false;
        narrow[i] = (int32_t)data[i];
    }
    return true;
}

static bool inputs_are_const(const Node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (n->in[i] && !sdx_value_is_const(n->in[i])) return false;
    return true;
}

static bool outputs_can_go(const Node *n)
{
    for (int i = 0; i < n->n_out; i++)
        if (n->out[i] && !n->graph->parent && (n->out[i]->flags & VALUE_GRAPH_OUTPUT)) return false;
    return true;
}

sdx_status sdx_pass_fold(Opt *o, Node *n, bool *changed)
{
    Model *m = sdx_opt_model(o);
    int64_t data[SDX_DIMVEC_MAX];
    Tensor t, out[FOLD_IO];
    char text[200];
    if (!outputs_can_go(n)) return SDX_OK;
    if (n->n_out == 1 && n->out[0]->known.v && known_tensor(n->out[0], &t, data)) {
        Value *c;
        TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
        TRY(sdx_opt_constant(o, n->graph, n->out[0]->name, &t, &c));
        *changed = true;
        return sdx_opt_replace(o, n->out[0], c);
    }
    const Attr *value = node_is(n, "Constant") ? sdx_node_attr(n, "value") : NULL;
    if (value && value->type == ATTR_TENSOR) {
        *changed = true;
        return constant_take(o, n, value->t);
    }
    if (!inputs_are_const(n) || node_is(n, "DequantizeLinear")) return SDX_OK;
    TRY(sdx_fold_node(m, n, sdx_opt_options(o), out, changed, sdx_opt_err(o)));
    if (!*changed) return SDX_OK;
    TRY(sdx_opt_note(o, "%s", sdx_node_text(n, text, sizeof text)));
    for (int i = 0, n_out = n->n_out; i < n_out && n->graph; i++) {
        if (!n->out[i]) continue;
        if (n->out[i]->n_uses || (n->out[i]->flags & VALUE_GRAPH_OUTPUT))
            TRY(replace_by_constant(o, n->out[i], &out[i]));
        else
            sdx_model_block_drop(m, out[i].data);
    }
    return SDX_OK;
}
