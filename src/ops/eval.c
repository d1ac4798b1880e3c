#include "ops/eval.h"

#include <string.h>

#include "ops/infer.h"

sdx_status sdx_datum_type(const Datum *d, const Type *declared, Arena *arena, Type *out, Err *err)
{
    Type *of;
    *out = (Type){ .kind = TYPE_UNKNOWN, .shape.rank = SDX_RANK_UNKNOWN };
    switch (d->kind) {
    case DATUM_NONE:
        if (declared) *out = *declared;
        out->shape.rank = SDX_RANK_UNKNOWN;
        return SDX_OK;
    case DATUM_TENSOR:
        out->kind = TYPE_TENSOR;
        out->elem = d->t.dtype;
        out->shape.rank = d->t.rank;
        if (d->t.rank) memcpy(out->shape.dims, d->t.dims, (size_t)d->t.rank * sizeof *d->t.dims);
        break;
    case DATUM_SPARSE:
        out->kind = TYPE_SPARSE;
        out->elem = d->sparse->values.t.dtype;
        out->shape.rank = d->sparse->rank;
        memcpy(out->shape.dims, d->sparse->dims, sizeof d->sparse->dims);
        break;
    case DATUM_SEQUENCE:
        out->kind = TYPE_SEQUENCE;
        TRY_MEM(of = sdx_arena_new(arena, Type), err);
        if (d->seq->n) {
            TRY(sdx_datum_type(&d->seq->items[0], NULL, arena, of, err));
            of->shape.rank = SDX_RANK_UNKNOWN; /* of the first; others may differ */
        } else {
            *of = (Type){ .kind = TYPE_TENSOR, .elem = d->seq->elem, .shape.rank = SDX_RANK_UNKNOWN };
            const Type *seq = declared && declared->kind == TYPE_OPTIONAL ? declared->of : declared;
            if (seq && seq->kind == TYPE_SEQUENCE && seq->of) *of = *seq->of;
        }
        out->of = of;
        break;
    case DATUM_MAP:
        out->kind = TYPE_MAP;
        out->elem = d->map->keys.t.dtype;
        TRY_MEM(of = sdx_arena_new(arena, Type), err);
        TRY(sdx_datum_type(&d->map->values, NULL, arena, of, err));
        of->shape.rank = 0;
        out->of = of;
        break;
    }
    /* A full optional stays an optional. */
    if (declared && declared->kind == TYPE_OPTIONAL) {
        TRY_MEM(of = sdx_arena_new(arena, Type), err);
        *of = *out;
        *out = (Type){ .kind = TYPE_OPTIONAL, .of = of, .shape.rank = SDX_RANK_UNKNOWN };
    }
    return SDX_OK;
}

static const Tensor *host_content(const InferHost *h, const Infer *c, int i)
{
    const Datum *const *in = h->user;
    const Datum *d = in[i];
    return d && d->kind == DATUM_TENSOR && (d->t.data || sdx_tensor_count(&d->t) == 0) ? &d->t : NULL;
}

static bool type_is_exact(const Type *t)
{
    if (t->kind != TYPE_TENSOR || t->elem == DT_NONE || t->shape.rank == SDX_RANK_UNKNOWN) return false;
    for (int i = 0; i < t->shape.rank; i++)
        if (t->shape.dims[i] < 0) return false;
    return true;
}

sdx_status sdx_eval_outputs(const Node *n, const Datum *const *in, Datum *const *out, const Alloc *a, Arena *arena,
                            Err *err)
{
    Type *types = sdx_arena_array(arena, Type, n->n_in + n->n_out);
    const Type **in_types = sdx_arena_array(arena, const Type *, n->n_in);
    TRY_MEM(types && in_types ? types : NULL, err);
    for (int i = 0; i < n->n_in; i++) {
        if (!in[i]) continue;
        TRY(sdx_datum_type(in[i], n->in[i] ? &n->in[i]->type : NULL, arena, &types[i], err));
        in_types[i] = &types[i];
    }
    InferHost host = { .tensor = host_content, .user = (void *)in };
    Type *out_types = types + n->n_in;
    TRY(sdx_infer_node(&host, n, NULL, arena, in_types, out_types, NULL, err));
    /* A view of dynamic memory shares it; it needs none of its own. */
    if (n->def->flags & (OP_VIEW | OP_DATA_SHAPE)) return SDX_OK;
    for (int o = 0; o < n->n_out; o++)
        if (out[o] && out[o]->kind == DATUM_NONE && type_is_exact(&out_types[o]))
            TRY(sdx_datum_tensor(out[o], a, out_types[o].elem, out_types[o].shape.rank, out_types[o].shape.dims, err));
    return SDX_OK;
}

static sdx_status eval_in(RunEnv *env, const RunTools *tools, const Node *n, const Datum *const *in, Datum *out,
                          Arena *work, Err *err)
{
    bool *in_const = sdx_arena_array(work, bool, n->n_in);
    Datum **out_p = sdx_arena_array(work, Datum *, n->n_out);
    TRY_MEM(in_const && out_p ? work : NULL, err);
    for (int i = 0; i < n->n_in; i++) in_const[i] = true;
    for (int o = 0; o < n->n_out; o++) out_p[o] = n->out[o] ? &out[o] : NULL;
    TRY(sdx_eval_outputs(n, in, out_p, sdx_heap_alloc(env->root->heap), work, err));
    TRY(sdx_run_once(env, tools, n, in, n->n_in, in_const, out_p, n->n_out, work, err));
    return SDX_OK;
}

/* Strings made while running lie in the run's memory. */
static sdx_status own_strings(Datum *d, const Alloc *a, Err *err)
{
    if (d->kind != DATUM_TENSOR || d->t.dtype != DT_STRING) return SDX_OK;
    Datum copy;
    TRY(sdx_datum_copy(&copy, &d->t, a, err));
    sdx_datum_clear(d);
    *d = copy;
    return SDX_OK;
}

sdx_status sdx_eval_node(const RunTools *tools, const Node *n, const Datum *const *in, Datum *out, const Alloc *a,
                         Err *err)
{
    for (int o = 0; o < n->n_out; o++) out[o] = (Datum){ .kind = DATUM_NONE };
    if (!n->def || !n->def->cpu.run || (n->def->flags & OP_CONTROL))
        return sdx_fail(err, SDX_UNSUPPORTED, "%s cannot be evaluated by itself", n->op_type);
    RunRoot root = { .heap = sdx_heap_create(a), .trips_left = INT64_MAX };
    TRY_MEM(root.heap, err);
    RunEnv env = { .root = &root };
    RunTools once = *tools;
    once.packs = NULL; /* a packed copy for one use is not worth keeping */
    Arena work;
    sdx_arena_init(&work, a, 0);
    sdx_arena_init(&root.strings, a, 0);
    sdx_status st = eval_in(&env, &once, n, in, out, &work, err);
    for (int o = 0; o < n->n_out && st == SDX_OK; o++) st = own_strings(&out[o], a, err);
    for (int o = 0; o < n->n_out && st != SDX_OK; o++) sdx_datum_clear(&out[o]);
    sdx_arena_fini(&root.strings);
    sdx_arena_fini(&work);
    sdx_heap_release(root.heap);
    return st;
}
