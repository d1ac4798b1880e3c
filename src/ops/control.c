/* If and Loop, and what operators with nested graphs share. */
#include "ops/control.h"

#include <string.h>

#include "base/size.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* -- shared --------------------------------------------------------------------------------------------------------- */

Type sdx_type_merge(const Type *a, const Type *b)
{
    Type t = *a;
    if (a->kind != b->kind) return (Type){ .kind = TYPE_UNKNOWN, .shape.rank = SDX_RANK_UNKNOWN };
    if (a->elem != b->elem) t.elem = DT_NONE;
    if (a->of != b->of) t.of = a->of ? a->of : b->of;
    if (a->shape.rank != b->shape.rank) t.shape.rank = SDX_RANK_UNKNOWN;
    for (int i = 0; i < t.shape.rank; i++)
        if (a->shape.dims[i] != b->shape.dims[i]) t.shape.dims[i] = SDX_DIM_UNKNOWN;
    return t;
}

static void bits_copy(char *dst, size_t to, const char *src, size_t from, size_t n)
{
    for (size_t i = 0; i < n; i++, to++, from++) {
        unsigned bit = (unsigned char)src[from / 8] >> from % 8 & 1;
        dst[to / 8] = (char)(((unsigned char)dst[to / 8] & ~(1u << to % 8)) | bit << to % 8);
    }
}

void sdx_slice_copy(DType dtype, void *whole, int64_t outer, int64_t n, int64_t inner, int64_t at, void *slice,
                    bool outward)
{
    size_t bits = (size_t)sdx_dtype_bits(dtype), run = (size_t)inner * bits;
    for (int64_t o = 0; o < outer; o++) {
        size_t there = (size_t)(o * n + at) * run, here = (size_t)o * run;
        if (run % 8 == 0 && outward)
            memcpy((char *)slice + here / 8, (char *)whole + there / 8, run / 8);
        else if (run % 8 == 0)
            memcpy((char *)whole + there / 8, (char *)slice + here / 8, run / 8);
        else if (outward)
            bits_copy(slice, here, whole, there, run);
        else
            bits_copy(whole, there, slice, here, run);
    }
}

sdx_status sdx_run_give(Run *r, int o, Datum *d)
{
    if (r->out[o] && r->out[o]->kind == DATUM_NONE && d->kind != DATUM_NONE) {
        *r->out[o] = *d;
        *d = (Datum){ .kind = DATUM_NONE };
        return SDX_OK;
    }
    sdx_status st = SDX_OK;
    if (r->out[o] && d->kind != DATUM_NONE) st = sdx_run_forward(r, o, d);
    sdx_datum_clear(d);
    return st;
}

static size_t row_bits(const Tensor *t, int from)
{
    return (size_t)sdx_dims_product(t->dims, from, t->rank) * (size_t)sdx_dtype_bits(t->dtype);
}

Datum sdx_stack_slot(const Stack *s)
{
    Datum d = { .kind = DATUM_NONE };
    if (s->n == 0 || s->n == s->cap) return d;
    size_t bits = row_bits(&s->rows.t, 1);
    if (bits == 0 || bits % 8) return d;
    d.kind = DATUM_TENSOR;
    d.t = s->rows.t;
    d.t.rank--;
    memmove(d.t.dims, d.t.dims + 1, (size_t)d.t.rank * sizeof *d.t.dims);
    d.t.data = (char *)s->rows.t.data + (size_t)s->n * (bits / 8);
    return d;
}

static sdx_status stack_grow(Run *r, Stack *s, const Tensor *row)
{
    int64_t dims[SDX_MAX_RANK], cap = s->cap ? s->cap * 2 : s->expect ? s->expect : 4;
    if (row->rank == SDX_MAX_RANK) return sdx_run_fail(r, "stacked rows would have more than %d axes", SDX_MAX_RANK);
    dims[0] = cap;
    memcpy(dims + 1, row->dims, (size_t)row->rank * sizeof *dims);
    Datum grown;
    TRY(sdx_datum_tensor(&grown, sdx_run_alloc(r), row->dtype, row->rank + 1, dims, r->err));
    size_t old = (row_bits(&grown.t, 1) * (size_t)s->n + 7) / 8;
    if (old) memcpy(grown.t.data, s->rows.t.data, old);
    sdx_datum_clear(&s->rows);
    s->rows = grown;
    s->cap = cap;
    return SDX_OK;
}

sdx_status sdx_strings_keep(Run *r, const Tensor *t, int64_t from, int64_t n)
{
    Str *s = (Str *)t->data + from;
    size_t total = 0;
    for (int64_t i = 0; i < n; i++) total += s[i].n; /* all in memory: cannot wrap */
    char *bytes = total ? sdx_run_heap(r, total) : NULL;
    if (total) TRY_MEM(bytes, r->err);
    for (int64_t i = 0; i < n; i++) {
        if (!s[i].n) continue;
        memcpy(bytes, s[i].p, s[i].n);
        s[i].p = bytes;
        bytes += s[i].n;
    }
    return SDX_OK;
}

sdx_status sdx_stack_push(Run *r, Stack *s, const Datum *row, int output)
{
    if (row->kind != DATUM_TENSOR)
        return sdx_run_fail(r, "output %d of its body is to be stacked but is no tensor", output);
    const Tensor *t = &s->rows.t;
    if (s->n && (t->dtype != row->t.dtype || !sdx_dims_equal(t->dims + 1, t->rank - 1, row->t.dims, row->t.rank))) {
        char first[160], now[160];
        return sdx_run_fail(
            r, "output %d of its body was %s in the first trip and is %s in trip %lld; it cannot be stacked", output,
            sdx_dims_text(first, sizeof first, t->dims + 1, t->rank - 1),
            sdx_dims_text(now, sizeof now, row->t.dims, row->t.rank), (long long)s->n);
    }
    if (s->n == s->cap) TRY(stack_grow(r, s, &row->t));
    size_t bits = row_bits(&row->t, 0);
    char *to = (char *)s->rows.t.data + (size_t)s->n * bits / 8;
    if (bits && row->t.data != to)
        sdx_slice_copy(row->t.dtype, s->rows.t.data, 1, s->cap, sdx_tensor_count(&row->t), s->n, row->t.data, false);
    int64_t n = sdx_tensor_count(&row->t);
    if (row->t.dtype == DT_STRING)
        TRY(sdx_strings_keep(r, &s->rows.t, s->n * n, n)); /* the row takes its bytes along */
    s->n++;
    return SDX_OK;
}

sdx_status sdx_stack_finish(Run *r, Stack *s, const Value *body_output, int o)
{
    sdx_status st = SDX_OK;
    if (s->n == 0 && r->out[o]) {
        /* No trip told the shape: what is declared, with nothing where it leaves a size open. */
        const Type *t = &body_output->type;
        int64_t dims[SDX_MAX_RANK] = { 0 };
        int rank = t->shape.rank < 0 ? 0 : t->shape.rank;
        for (int i = 0; i < rank && i + 1 < SDX_MAX_RANK; i++)
            dims[i + 1] = t->shape.dims[i] >= 0 ? t->shape.dims[i] : 0;
        if (r->out[o]->kind == DATUM_TENSOR)
            st = sdx_run_output(r, o, t->elem, r->out[o]->t.rank, r->out[o]->t.dims, NULL);
        else
            st = sdx_run_output(r, o, t->elem, rank + 1, dims, NULL);
    } else if (r->out[o]) {
        s->rows.t.dims[0] = s->n;
        st = sdx_run_give(r, o, &s->rows);
    }
    sdx_datum_clear(&s->rows);
    return st;
}

/* -- If ------------------------------------------------------------------------------------------------------------- */

typedef struct IfAttrs {
    Graph *then_branch, *else_branch;
} IfAttrs;

static const AttrSpec if_attrs[] = { OP_GRAPH_REQ(IfAttrs, then_branch), OP_GRAPH_REQ(IfAttrs, else_branch),
                                     OP_ATTR_END };

static sdx_status if_infer(Infer *c)
{
    const IfAttrs *a = c->args;
    if (a->then_branch->n_outputs != c->n_out || a->else_branch->n_outputs != c->n_out)
        return sdx_infer_fail(c, "its branches give %d and %d outputs, the node has %d", a->then_branch->n_outputs,
                              a->else_branch->n_outputs, c->n_out);
    Type *other = sdx_arena_array(c->arena, Type, c->n_out);
    TRY_MEM(other, c->err);
    TRY(sdx_infer_graph(c, a->then_branch, NULL, 0, c->out, c->n_out));
    TRY(sdx_infer_graph(c, a->else_branch, NULL, 0, other, c->n_out));
    const Tensor *cond = sdx_infer_const(c, 0);
    for (int o = 0; o < c->n_out; o++) {
        if (!cond || sdx_tensor_count(cond) != 1)
            c->out[o] = sdx_type_merge(&c->out[o], &other[o]);
        else if (!sdx_tensor_get_int(cond, 0))
            c->out[o] = other[o];
    }
    return SDX_OK;
}

static sdx_status if_run(Run *r)
{
    const IfAttrs *a = r->args;
    const Tensor *cond = &r->in[0]->t;
    if (sdx_tensor_count(cond) != 1)
        return sdx_run_fail(r, "cond has %lld elements; it must have one", (long long)sdx_tensor_count(cond));
    Graph *body = *(const bool *)cond->data ? a->then_branch : a->else_branch;
    enum { FEW = 8 };
    Datum few[FEW], *out = few;
    if (r->n_out > FEW) TRY_MEM(out = sdx_alloc(sdx_run_alloc(r), (size_t)r->n_out * sizeof *out), r->err);
    for (int o = 0; o < r->n_out; o++) {
        out[o] = (Datum){ .kind = DATUM_NONE };
        /* Made where it belongs when that is known. */
        if (r->out[o] && r->out[o]->kind == DATUM_TENSOR) out[o] = (Datum){ .kind = DATUM_TENSOR, .t = r->out[o]->t };
    }
    sdx_status st = sdx_run_graph(r, body, NULL, 0, out, r->n_out);
    for (int o = 0; o < r->n_out; o++) {
        if (st == SDX_OK)
            st = sdx_run_give(r, o, &out[o]);
        else
            sdx_datum_clear(&out[o]);
    }
    if (out != few) sdx_free(sdx_run_alloc(r), out);
    return st;
}

/* Sequences and optionals, allowed since 13 and 16, have no bit of their own: `any` takes them. */
#define VERS_CONTROL                                                                                                   \
    VERS_ALL_21_25, { .since = 19, .types = { TS_ALL_19 } }, { .since = 16, .types = { TS_ALL_13 } },                  \
        { .since = 13, .types = { TS_ALL_1 } }, { .since = 11, .types = { TS_ALL_1 } },                                \
        { .since = 1, .types = { TS_ALL_1 } },                                                                         \
    {                                                                                                                  \
        0                                                                                                              \
    }

static const OpVer if_vers[] = { VERS_CONTROL };

const OpDef sdx_op_If = {
    .name = "If",
    .sig = "bool->any~",
    .attrs = if_attrs,
    .attrs_size = sizeof(IfAttrs),
    .vers = if_vers,
    .flags = OP_CONTROL,
    .infer = if_infer,
    .cpu = { NULL, if_run },
};

/* -- Loop ----------------------------------------------------------------------------------------------------------- */

typedef struct LoopAttrs {
    Graph *body;
} LoopAttrs;

static const AttrSpec loop_attrs[] = { OP_GRAPH_REQ(LoopAttrs, body), OP_ATTR_END };

/* The body takes the trip number, the condition and what is carried; it gives the condition, what is carried and a row
 * of each stacked output. */
static int loop_carried(int n_in) { return n_in > 2 ? n_in - 2 : 0; }

static sdx_status loop_infer(Infer *c)
{
    const LoopAttrs *a = c->args;
    int carried = loop_carried(c->n_in), n_body = c->n_out + 1;
    if (a->body->n_inputs != carried + 2 || a->body->n_outputs != n_body || c->n_out < carried)
        return sdx_infer_fail(c, "its body takes %d inputs and gives %d outputs; it must take %d and give %d",
                              a->body->n_inputs, a->body->n_outputs, carried + 2, n_body);
    Type *types = sdx_arena_array(c->arena, Type, carried + 2 + n_body), *out = types + carried + 2;
    const Type **in = sdx_arena_array(c->arena, const Type *, carried + 2);
    TRY_MEM(types && in ? types : NULL, c->err);
    types[0] = (Type){ .kind = TYPE_TENSOR, .elem = DT_INT64 };
    types[1] = (Type){ .kind = TYPE_TENSOR, .elem = DT_BOOL };
    for (int i = 0; i < carried + 2; i++) {
        if (i >= 2 && !c->in[i]) return sdx_infer_fail(c, "carried input %d is missing", i);
        if (i >= 2) types[i] = *c->in[i];
        in[i] = &types[i];
    }
    /* Carried shapes may change from trip to trip: widened until the body gives back what it takes. Each round forgets a
     * size, a rank or a type for good; three are enough for nearly all, and a last one forgets all that moved. */
    bool stable = false;
    for (int round = 0; !stable; round++) {
        TRY(sdx_infer_graph(c, a->body, in, carried + 2, out, n_body));
        stable = true;
        for (int i = 0; i < carried; i++) {
            Type merged = sdx_type_merge(&types[2 + i], &out[1 + i]);
            bool same = merged.kind == types[2 + i].kind && merged.elem == types[2 + i].elem &&
                        merged.shape.rank == types[2 + i].shape.rank;
            for (int k = 0; same && k < merged.shape.rank; k++)
                same = merged.shape.dims[k] == types[2 + i].shape.dims[k];
            if (!same && round >= 2) merged.shape.rank = SDX_RANK_UNKNOWN;
            if (!same && round >= 3)
                merged = (Type){
                    .kind = merged.kind, .elem = merged.elem, .of = merged.of, .shape.rank = SDX_RANK_UNKNOWN
                };
            if (!same && round < 4) stable = false;
            types[2 + i] = merged;
        }
    }
    for (int o = 0; o < c->n_out; o++) {
        c->out[o] = o < carried ? types[2 + o] : out[1 + o];
        if (o < carried) continue;
        Shape *s = &c->out[o].shape;
        if (s->rank == SDX_RANK_UNKNOWN) continue;
        if (s->rank == SDX_MAX_RANK) return sdx_infer_fail(c, "stacked output %d has too many axes", o);
        memmove(s->dims + 1, s->dims, (size_t)s->rank * sizeof *s->dims);
        s->dims[0] = SDX_DIM_UNKNOWN;
        s->rank++;
    }
    return SDX_OK;
}

typedef struct Loop {
    int carried, stacked;
    const Datum **in; /* of the body */
    Datum *out;
    Datum *now;   /* carried values, owned once a trip made them */
    Datum *spare; /* what they were a trip before: memory for the next one */
    Stack *stacks;
} Loop;

static sdx_status loop_alloc(Run *r, Loop *l)
{
    l->carried = loop_carried(r->n_in);
    l->stacked = r->n_out - l->carried;
    size_t n = (size_t)l->carried, s = (size_t)l->stacked;
    size_t nbytes = (n + 2) * sizeof *l->in + (3 * n + s + 1) * sizeof(Datum) + s * sizeof(Stack);
    char *p = sdx_alloc_zero(sdx_run_alloc(r), nbytes);
    TRY_MEM(p, r->err);
    l->stacks = (Stack *)p; /* first in the block */
    l->now = (Datum *)(l->stacks + s);
    l->spare = l->now + n;
    l->out = l->spare + n;
    l->in = (const Datum **)(l->out + n + s + 1);
    return SDX_OK;
}

/* A buffer nobody else sees may hold the next trip's result. */
static Datum spare_slot(const Datum *spare)
{
    Datum d = { .kind = DATUM_NONE };
    if (spare->kind == DATUM_TENSOR && spare->buf && spare->t.dtype != DT_STRING &&
        __atomic_load_n(&spare->buf->refs, __ATOMIC_ACQUIRE) == 1)
        d = (Datum){ .kind = DATUM_TENSOR, .t = spare->t };
    return d;
}

/* After a trip: the new value of carried k is in out, made in the spare buffer or elsewhere. */
static void carry(Loop *l, int k, Datum *out)
{
    Datum old = l->now[k];
    if (out->kind == DATUM_TENSOR && !out->buf && out->t.data && out->t.data == l->spare[k].t.data) {
        l->now[k] = l->spare[k];
        l->spare[k] = old;
    } else {
        sdx_datum_clear(&l->spare[k]);
        l->spare[k] = old;
        l->now[k] = *out;
    }
    *out = (Datum){ .kind = DATUM_NONE };
    l->in[2 + k] = &l->now[k];
}

static sdx_status loop_trip(Run *r, Loop *l, Graph *body, bool *go)
{
    for (int k = 0; k < l->carried; k++) l->out[1 + k] = spare_slot(&l->spare[k]);
    for (int k = 0; k < l->stacked; k++) l->out[1 + l->carried + k] = sdx_stack_slot(&l->stacks[k]);
    int n_out = 1 + l->carried + l->stacked;
    l->out[0] = (Datum){ .kind = DATUM_NONE };
    sdx_status st = sdx_run_trip(r);
    if (st == SDX_OK) st = sdx_run_graph(r, body, l->in, l->carried + 2, l->out, n_out);
    if (st != SDX_OK) {
        for (int o = 0; o < n_out; o++) l->out[o] = (Datum){ .kind = DATUM_NONE }; /* slots only: nothing was made */
        return st;
    }
    if (l->out[0].kind != DATUM_TENSOR || l->out[0].t.dtype != DT_BOOL || sdx_tensor_count(&l->out[0].t) != 1)
        st = sdx_run_fail(r, "the condition that its body gives is not one bool");
    else
        *go = *(const bool *)l->out[0].t.data;
    sdx_datum_clear(&l->out[0]);
    for (int k = 0; k < l->carried; k++) carry(l, k, &l->out[1 + k]);
    for (int k = 0; k < l->stacked; k++) {
        Datum *row = &l->out[1 + l->carried + k];
        if (st == SDX_OK) st = sdx_stack_push(r, &l->stacks[k], row, 1 + l->carried + k);
        sdx_datum_clear(row);
    }
    return st;
}

static sdx_status loop_trips(Run *r, Loop *l)
{
    const LoopAttrs *a = r->args;
    int64_t max = INT64_MAX, trip = 0;
    bool go = true;
    for (int i = 0; i < 2; i++) {
        if (!DATUM_HAS(r, i)) continue;
        if (sdx_tensor_count(&r->in[i]->t) != 1)
            return sdx_run_fail(r, "%s has %lld elements; it must have one", i ? "cond" : "M",
                                (long long)sdx_tensor_count(&r->in[i]->t));
        if (i == 0)
            max = *(const int64_t *)r->in[0]->t.data;
        else
            go = *(const bool *)r->in[1]->t.data;
    }
    for (int k = 0; k < l->stacked && max < (1 << 16) && max > 0; k++) l->stacks[k].expect = max;
    Datum at = { .kind = DATUM_TENSOR, .t = { .dtype = DT_INT64, .data = &trip } };
    Datum cond = { .kind = DATUM_TENSOR, .t = { .dtype = DT_BOOL, .data = &go } };
    l->in[0] = &at;
    l->in[1] = &cond;
    for (int k = 0; k < l->carried; k++) l->in[2 + k] = r->in[2 + k];
    for (; trip < max && go; trip++) TRY(loop_trip(r, l, a->body, &go));
    for (int k = 0; k < l->carried; k++) {
        if (trip)
            TRY(sdx_run_give(r, k, &l->now[k]));
        else if (r->out[k])
            TRY(sdx_run_forward(r, k, r->in[2 + k]));
    }
    for (int k = 0; k < l->stacked; k++)
        TRY(sdx_stack_finish(r, &l->stacks[k], a->body->outputs[1 + l->carried + k], l->carried + k));
    return SDX_OK;
}

static sdx_status loop_run(Run *r)
{
    Loop l = { .carried = 0 };
    TRY(loop_alloc(r, &l));
    sdx_status st = loop_trips(r, &l);
    for (int k = 0; k < l.carried; k++) {
        sdx_datum_clear(&l.now[k]);
        sdx_datum_clear(&l.spare[k]);
    }
    for (int k = 0; k < l.stacked; k++) sdx_datum_clear(&l.stacks[k].rows);
    sdx_free(sdx_run_alloc(r), l.stacks);
    return st;
}

static const OpVer loop_vers[] = { VERS_CONTROL };

const OpDef sdx_op_Loop = {
    .name = "Loop",
    .sig = "i64?,bool?,any~->any~",
    .attrs = loop_attrs,
    .attrs_size = sizeof(LoopAttrs),
    .vers = loop_vers,
    .flags = OP_CONTROL,
    .infer = loop_infer,
    .cpu = { NULL, loop_run },
};
