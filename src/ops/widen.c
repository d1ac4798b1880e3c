/* Running operators that compute in f32 on storage floats, and operators that move bytes on types below one byte.
 *
 * Around such a node the inputs are converted to scratch (constants once, in prepare), the operator sees float or uint8
 * tensors of the same shapes, and its outputs are converted back, once. */
#include <string.h>

#include "base/size.h"
#include "ops/ops.h"
#include "ops/storage.h"

typedef struct Slot {
    DType outer, inner; /* equal: passed through */
    size_t offset;      /* of the converted elements in scratch; SIZE_MAX: none (constant or made at run time) */
    const void *constant;
} Slot;

/* State of every node whose operator asks for conversion. */
typedef struct Widen {
    bool active;
    void *state;
    size_t stand; /* offset in scratch of the stand-ins for inputs and outputs */
    Slot *in, *out;
} Widen;

enum { GRAIN = 32768 };

static DType inner_type(const OpDef *def, DType d)
{
    if ((def->flags & OP_F32_MATH) && sdx_is_storage_float(d)) return DT_FLOAT;
    if ((def->flags & OP_BYTE_MOVER) && sdx_is_packed(d)) return DT_UINT8;
    return d;
}

typedef struct Convert {
    DType outer;
    void *inner;
    void *data;
    bool is_float, inward;
} Convert;

static void convert_range(void *arg, int64_t from, int64_t to, int worker)
{
    const Convert *c = arg;
    int64_t n = to - from;
    if (c->is_float && c->inward)
        sdx_storage_widen(c->outer, c->data, from, (float *)c->inner + from, n);
    else if (c->is_float)
        sdx_storage_narrow(c->outer, c->data, from, (const float *)c->inner + from, n);
    else if (c->inward)
        sdx_storage_unpack(c->outer, c->data, from, (uint8_t *)c->inner + from, n);
    else
        sdx_storage_pack(c->outer, c->data, from, (const uint8_t *)c->inner + from, n);
}

static void convert(const Run *r, const Slot *s, void *data, void *inner, int64_t n, bool inward)
{
    Convert c = { s->outer, inner, data, s->inner == DT_FLOAT, inward };
    if (r)
        sdx_run_range(r, n, GRAIN, convert_range, &c);
    else
        convert_range(&c, 0, n, 0);
}

static sdx_status reserve(Prepare *p, size_t *total, const Tensor *t, size_t *offset)
{
    size_t nbytes;
    *offset = sdx_round_up(*total, SDX_ALIGN);
    if (!sdx_tensor_nbytes(t, &nbytes) || !sdx_add_size(total, *offset, nbytes))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch size overflows");
    return SDX_OK;
}

static sdx_status widen_constant(Prepare *p, Slot *s, const Tensor *outer, Tensor *inner)
{
    size_t nbytes;
    if (!sdx_tensor_nbytes(inner, &nbytes)) return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "constant too large");
    inner->data = sdx_arena_alloc(p->arena, nbytes, SDX_ALIGN);
    TRY_MEM(inner->data, p->err);
    convert(NULL, s, outer->data, inner->data, sdx_tensor_count(inner), true);
    s->constant = inner->data;
    return SDX_OK;
}

/* Slots and stand-ins for n datums; *any tells whether one of them is converted. */
static Slot *slots_make(Prepare *p, const Datum *const *d, int n, Datum **stand, bool *any)
{
    Slot *s = sdx_arena_array(p->arena, Slot, n);
    *stand = sdx_arena_array(p->arena, Datum, n);
    for (int i = 0; s && *stand && i < n; i++) {
        s[i].offset = SIZE_MAX;
        if (!d[i]) continue;
        (*stand)[i] = *d[i];
        if (d[i]->kind != DATUM_TENSOR) continue;
        s[i].outer = d[i]->t.dtype;
        s[i].inner = inner_type(p->node->def, s[i].outer);
        *any |= s[i].inner != s[i].outer;
    }
    return *stand ? s : NULL;
}

sdx_status sdx_op_prepare(Prepare *p)
{
    const OpDef *def = p->node->def;
    if (!def->cpu.run) return sdx_prepare_fail(p, SDX_UNSUPPORTED, "the operator has no CPU implementation");
    if (!(def->flags & (OP_F32_MATH | OP_BYTE_MOVER))) return def->cpu.prepare ? def->cpu.prepare(p) : SDX_OK;

    Widen *w = sdx_arena_new(p->arena, Widen);
    TRY_MEM(w, p->err);
    Datum *in, *out;
    w->in = slots_make(p, p->in, p->n_in, &in, &w->active);
    w->out = slots_make(p, (const Datum *const *)p->out, p->n_out, &out, &w->active);
    TRY_MEM(w->in && w->out ? w : NULL, p->err);
    if (!w->active) {
        TRY(def->cpu.prepare ? def->cpu.prepare(p) : SDX_OK);
        w->state = p->state;
        p->state = w;
        return SDX_OK;
    }

    Prepare inner = *p;
    const Datum **in_p = sdx_arena_array(p->arena, const Datum *, p->n_in);
    Datum **out_p = sdx_arena_array(p->arena, Datum *, p->n_out);
    TRY_MEM(in_p && out_p ? w : NULL, p->err);
    for (int i = 0; i < p->n_in; i++) {
        Slot *s = &w->in[i];
        if (!p->in[i]) continue;
        in_p[i] = &in[i];
        if (s->inner == s->outer) continue;
        in[i].t.dtype = s->inner;
        in[i].t.data = NULL;
        if (p->in_const[i] && p->in[i]->t.data) TRY(widen_constant(p, s, &p->in[i]->t, &in[i].t));
    }
    for (int o = 0; o < p->n_out; o++) {
        if (!p->out[o]) continue;
        out_p[o] = &out[o];
        out[o].t.dtype = w->out[o].inner;
    }
    inner.in = in_p;
    inner.out = out_p;
    inner.state = NULL;
    inner.scratch = 0;
    TRY(def->cpu.prepare ? def->cpu.prepare(&inner) : SDX_OK);

    size_t total = inner.scratch;
    for (int i = 0; i < p->n_in; i++)
        if (w->in[i].inner != w->in[i].outer && !w->in[i].constant) TRY(reserve(p, &total, &in[i].t, &w->in[i].offset));
    for (int o = 0; o < p->n_out; o++)
        if (w->out[o].inner != w->out[o].outer) TRY(reserve(p, &total, &out[o].t, &w->out[o].offset));
    Tensor stand = { .dtype = DT_UINT8, .rank = 1 };
    stand.dims[0] = (int64_t)(p->n_in + p->n_out) * (int64_t)(sizeof(Datum) + sizeof(Datum *));
    TRY(reserve(p, &total, &stand, &w->stand));
    w->state = inner.state;
    p->state = w;
    p->scratch = total;
    return SDX_OK;
}

/* Type of output o as the graph has it, for outputs whose tensor is made by the operator. */
static DType output_type(const Run *r, int o)
{
    const Value *v = o < r->node->n_out ? r->node->out[o] : NULL;
    return v ? v->type.elem : DT_NONE;
}

static sdx_status widen_run(Run *r, const Widen *w, Datum *in, Datum *out, const Datum **in_p, Datum **out_p)
{
    Run inner = *r;
    char *scratch = r->scratch;
    for (int i = 0; i < r->n_in; i++) {
        const Slot *s = &w->in[i];
        in_p[i] = r->in[i];
        if (!r->in[i] || s->inner == s->outer) continue;
        in[i] = *r->in[i];
        in[i].t.dtype = s->inner;
        in_p[i] = &in[i];
        if (s->constant) {
            in[i].t.data = (void *)s->constant;
        } else {
            in[i].t.data = scratch + s->offset;
            convert(r, s, r->in[i]->t.data, in[i].t.data, sdx_tensor_count(&in[i].t), true);
        }
    }
    for (int o = 0; o < r->n_out; o++) {
        const Slot *s = &w->out[o];
        out_p[o] = r->out[o];
        if (!r->out[o]) continue;
        if (r->out[o]->kind == DATUM_TENSOR && s->inner != s->outer) {
            out[o] = (Datum){ .kind = DATUM_TENSOR, .t = r->out[o]->t };
            out[o].t.dtype = s->inner;
            out[o].t.data = scratch + s->offset;
            out_p[o] = &out[o];
        } else if (r->out[o]->kind == DATUM_NONE && inner_type(r->node->def, output_type(r, o)) != output_type(r, o)) {
            out[o] = (Datum){ .kind = DATUM_NONE };
            out_p[o] = &out[o];
        }
    }
    inner.in = in_p;
    inner.out = out_p;
    inner.state = w->state;
    TRY(r->node->def->cpu.run(&inner));
    for (int o = 0; o < r->n_out; o++) {
        if (!r->out[o] || out_p[o] == r->out[o] || out[o].kind != DATUM_TENSOR) continue;
        Slot s = w->out[o];
        void *data = r->out[o]->t.data;
        if (r->out[o]->kind == DATUM_NONE) {
            s = (Slot){ .outer = output_type(r, o), .inner = out[o].t.dtype };
            TRY(sdx_run_output(r, o, s.outer, out[o].t.rank, out[o].t.dims, &data));
        }
        convert(r, &s, data, out[o].t.data, sdx_tensor_count(&out[o].t), false);
    }
    return SDX_OK;
}

sdx_status sdx_op_run(Run *r)
{
    const OpDef *def = r->node->def;
    if (!(def->flags & (OP_F32_MATH | OP_BYTE_MOVER))) return def->cpu.run(r);
    const Widen *w = r->state;
    if (!w->active) {
        Run inner = *r;
        inner.state = w->state;
        return def->cpu.run(&inner);
    }
    int n = r->n_in + r->n_out;
    Datum *stand = (Datum *)((char *)r->scratch + w->stand);
    const Datum **in_p = (const Datum **)(stand + n);
    Datum **out_p = (Datum **)(in_p + r->n_in);
    memset(stand, 0, (size_t)n * sizeof *stand);
    sdx_status st = widen_run(r, w, stand, stand + r->n_in, in_p, out_p);
    for (int o = 0; o < r->n_out; o++)
        if (out_p[o] && out_p[o] != r->out[o]) sdx_datum_clear(out_p[o]); /* owns what it made, not scratch */
    return st;
}
