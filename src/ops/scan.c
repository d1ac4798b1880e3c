/* Scan and SequenceMap: nested graphs over slices and over elements.
 *
 * Scan-8 had a batch axis before everything; it lives on as the internal ScanBatch, which runs the newer form once for
 * each item of the batch. */
#include <string.h>

#include "base/size.h"
#include "ops/control.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* -- Scan ----------------------------------------------------------------------------------------------------------- */

typedef struct ScanAttrs {
    Graph *body;
    int64_t num_scan_inputs;
    IntList scan_input_axes, scan_input_directions, scan_output_axes, scan_output_directions;
} ScanAttrs;

static const AttrSpec scan_attrs[] = { OP_GRAPH_REQ(ScanAttrs, body),
                                       OP_INT_REQ(ScanAttrs, num_scan_inputs),
                                       OP_INTS(ScanAttrs, scan_input_axes),
                                       OP_INTS(ScanAttrs, scan_input_directions),
                                       OP_INTS(ScanAttrs, scan_output_axes),
                                       OP_INTS(ScanAttrs, scan_output_directions),
                                       OP_ATTR_END };

static int64_t list_at(const IntList *l, int i) { return i < l->n ? l->v[i] : 0; }

/* Numbers of states, scanned inputs and stacked outputs. */
typedef struct ScanSizes {
    int states, scans, stacks;
} ScanSizes;

static bool scan_sizes(const Graph *body, int64_t num_scan, int n_in, int n_out, ScanSizes *z)
{
    if (num_scan < 1 || num_scan > n_in) return false;
    z->scans = (int)num_scan;
    z->states = n_in - z->scans;
    z->stacks = n_out - z->states;
    return z->stacks >= 0 && body->n_inputs == n_in && body->n_outputs == n_out;
}

static sdx_status scan_sizes_wrong(const Infer *c, const Graph *body, int64_t num_scan, int n_in)
{
    return sdx_infer_fail(
        c, "%d inputs, %lld of them scanned, and %d outputs do not fit its body, which takes %d and gives %d", n_in,
        (long long)num_scan, c->n_out, body->n_inputs, body->n_outputs);
}

static void shape_insert(Shape *s, int axis, Dim d)
{
    memmove(s->dims + axis + 1, s->dims + axis, (size_t)(s->rank - axis) * sizeof *s->dims);
    s->dims[axis] = d;
    s->rank++;
}

static Dim shape_remove(Shape *s, int axis)
{
    Dim d = s->dims[axis];
    s->rank--;
    memmove(s->dims + axis, s->dims + axis + 1, (size_t)(s->rank - axis) * sizeof *s->dims);
    return d;
}

/* Types of the body's inputs (types, in->n_in of them) and the number of trips. skip: leading axes of scanned inputs
 * before the axis that the attribute counts. */
static sdx_status scan_infer_body(Infer *c, Graph *body, const ScanSizes *z, const IntList *axes, int first,
                                  Type *types, Type *out, Dim *trips)
{
    int n = z->states + z->scans;
    const Type **in = sdx_arena_array(c->arena, const Type *, n);
    TRY_MEM(in, c->err);
    *trips = SDX_DIM_UNKNOWN;
    for (int i = 0; i < n; i++) {
        if (!c->in[first + i]) return sdx_infer_fail(c, "input %d is missing", first + i);
        types[i] = *c->in[first + i];
        in[i] = &types[i];
        Shape *s = &types[i].shape;
        if (s->rank == SDX_RANK_UNKNOWN) continue;
        int axis = 0;
        if (first && s->rank > 0) shape_remove(s, 0); /* the batch */
        if (i < z->states) continue;
        TRY(sdx_infer_axis(c, list_at(axes, i - z->states), s->rank, &axis));
        Dim d = shape_remove(s, axis);
        if (sdx_dim_is_const(d) && sdx_dim_is_const(*trips) && d != *trips)
            return sdx_infer_fail(c, "scanned inputs have %lld and %lld elements along their axes", (long long)*trips,
                                  (long long)d);
        if (!sdx_dim_is_const(*trips)) *trips = d;
    }
    TRY(sdx_infer_graph(c, body, in, n, out, c->n_out));
    /* States keep their shape from trip to trip. */
    for (int i = 0; i < z->states; i++) {
        Type merged = sdx_type_merge(&types[i], &out[i]);
        bool moved = merged.shape.rank != types[i].shape.rank;
        for (int k = 0; !moved && k < merged.shape.rank; k++) moved = merged.shape.dims[k] != types[i].shape.dims[k];
        if (!moved) continue;
        types[i] = merged;
        types[i].shape.rank = SDX_RANK_UNKNOWN;
        TRY(sdx_infer_graph(c, body, in, n, out, c->n_out));
    }
    return SDX_OK;
}

static sdx_status scan_infer(Infer *c)
{
    const ScanAttrs *a = c->args;
    ScanSizes z;
    Dim trips;
    if (!scan_sizes(a->body, a->num_scan_inputs, c->n_in, c->n_out, &z))
        return scan_sizes_wrong(c, a->body, a->num_scan_inputs, c->n_in);
    Type *types = sdx_arena_array(c->arena, Type, c->n_in), *out = sdx_arena_array(c->arena, Type, c->n_out);
    TRY_MEM(types && out ? types : NULL, c->err);
    TRY(scan_infer_body(c, a->body, &z, &a->scan_input_axes, 0, types, out, &trips));
    for (int o = 0; o < c->n_out; o++) {
        c->out[o] = o < z.states ? sdx_type_merge(&types[o], &out[o]) : out[o];
        Shape *s = &c->out[o].shape;
        if (o < z.states || s->rank == SDX_RANK_UNKNOWN) continue;
        int axis;
        if (s->rank == SDX_MAX_RANK) return sdx_infer_fail(c, "output %d has too many axes", o);
        TRY(sdx_infer_axis(c, list_at(&a->scan_output_axes, o - z.states), s->rank + 1, &axis));
        shape_insert(s, axis, trips);
    }
    return SDX_OK;
}

/* One scanned input of one run: its elements as outer x n x inner around the axis. */
typedef struct Lane {
    Tensor whole;
    int64_t outer, n, inner;
    bool reverse;
    Datum slice; /* of this trip; borrows from the tensor or owns a copy */
} Lane;

static sdx_status lane_init(Run *r, Lane *l, const Tensor *t, int64_t axis, bool reverse)
{
    int k;
    if (!axis_of(axis, t->rank, &k))
        return sdx_run_fail(r, "axis %lld of a scanned input of rank %d", (long long)axis, t->rank);
    *l = (Lane){ .whole = *t,
                 .outer = sdx_dims_product(t->dims, 0, k),
                 .n = t->dims[k],
                 .inner = sdx_dims_product(t->dims, k + 1, t->rank),
                 .reverse = reverse };
    Tensor slice = *t;
    slice.rank--;
    memmove(slice.dims + k, slice.dims + k + 1, (size_t)(slice.rank - k) * sizeof *slice.dims);
    l->slice = (Datum){ .kind = DATUM_TENSOR, .t = slice };
    if (l->outer == 1 && (size_t)l->inner * (size_t)sdx_dtype_bits(t->dtype) % 8 == 0) return SDX_OK;
    return sdx_datum_tensor(&l->slice, sdx_run_alloc(r), slice.dtype, slice.rank, slice.dims, r->err);
}

static void lane_at(Lane *l, int64_t trip)
{
    int64_t at = l->reverse ? l->n - 1 - trip : trip;
    if (!l->slice.buf)
        l->slice.t.data = (char *)l->whole.data + (size_t)(at * l->inner) * (size_t)sdx_dtype_bits(l->whole.dtype) / 8;
    else
        sdx_slice_copy(l->whole.dtype, l->whole.data, l->outer, l->n, l->inner, at, l->slice.t.data, true);
}

typedef struct Scan {
    ScanSizes z;
    const Datum **in; /* of the body */
    Datum *out;
    Datum *now; /* states, once a trip made them */
    Lane *lanes;
    Stack *stacks;
} Scan;

static sdx_status scan_alloc(Run *r, Scan *s, int n_in, int n_out)
{
    size_t states = (size_t)s->z.states, scans = (size_t)s->z.scans, stacks = (size_t)s->z.stacks;
    size_t nbytes = scans * sizeof(Lane) + stacks * sizeof(Stack) + (states + (size_t)n_out) * sizeof(Datum) +
                    (size_t)n_in * sizeof(Datum *);
    char *p = sdx_alloc_zero(sdx_run_alloc(r), nbytes);
    TRY_MEM(p, r->err);
    s->lanes = (Lane *)p; /* first in the block */
    s->stacks = (Stack *)(s->lanes + scans);
    s->now = (Datum *)(s->stacks + stacks);
    s->out = s->now + states;
    s->in = (const Datum **)(s->out + n_out);
    return SDX_OK;
}

static sdx_status scan_trip(Run *r, Scan *s, Graph *body, int64_t trip)
{
    int n_in = s->z.states + s->z.scans, n_out = s->z.states + s->z.stacks;
    for (int k = 0; k < s->z.scans; k++) {
        lane_at(&s->lanes[k], trip);
        s->in[s->z.states + k] = &s->lanes[k].slice;
    }
    for (int o = 0; o < n_out; o++)
        s->out[o] = o < s->z.states ? (Datum){ .kind = DATUM_NONE } : sdx_stack_slot(&s->stacks[o - s->z.states]);
    sdx_status st = sdx_run_trip(r);
    if (st == SDX_OK) st = sdx_run_graph(r, body, s->in, n_in, s->out, n_out);
    if (st != SDX_OK) return st;
    for (int o = 0; o < n_out; o++) {
        if (o < s->z.states) {
            sdx_datum_clear(&s->now[o]);
            s->now[o] = s->out[o];
            s->in[o] = &s->now[o];
        } else {
            if (st == SDX_OK) st = sdx_stack_push(r, &s->stacks[o - s->z.states], &s->out[o], o);
            sdx_datum_clear(&s->out[o]);
        }
    }
    return st;
}

static void scan_clear(Run *r, Scan *s)
{
    for (int i = 0; i < s->z.states; i++) sdx_datum_clear(&s->now[i]);
    for (int i = 0; i < s->z.scans; i++) sdx_datum_clear(&s->lanes[i].slice);
    for (int i = 0; i < s->z.stacks; i++) sdx_datum_clear(&s->stacks[i].rows);
    sdx_free(sdx_run_alloc(r), s->lanes);
}

/* All trips; s->in holds the initial states. */
static sdx_status scan_trips(Run *r, Scan *s, Graph *body, int64_t trips)
{
    for (int k = 0; k < s->z.stacks; k++) s->stacks[k].expect = trips;
    for (int64_t t = 0; t < trips; t++) TRY(scan_trip(r, s, body, t));
    return SDX_OK;
}

/* The rows of a stack along another axis, or last row first. */
static sdx_status stack_turn(Run *r, Stack *s, int o, int64_t axis, bool reverse)
{
    const Tensor *t = &s->rows.t;
    Tensor y = *t;
    int k;
    if (!axis_of(axis, t->rank, &k))
        return sdx_run_fail(r, "axis %lld of stacked output %d of rank %d", (long long)axis, o, t->rank);
    memmove(y.dims, y.dims + 1, (size_t)k * sizeof *y.dims);
    y.dims[k] = s->n;
    void *data;
    TRY(sdx_run_output(r, o, y.dtype, y.rank, y.dims, &data));
    int64_t outer = sdx_dims_product(y.dims, 0, k), inner = sdx_dims_product(y.dims, k + 1, y.rank);
    size_t bits = (size_t)(outer * inner) * (size_t)sdx_dtype_bits(y.dtype);
    Datum row = { .kind = DATUM_NONE };
    int64_t dims[1] = { outer * inner };
    if (bits % 8) TRY(sdx_datum_tensor(&row, sdx_run_alloc(r), y.dtype, 1, dims, r->err));
    for (int64_t i = 0; i < s->n; i++) {
        void *from = (char *)t->data + (size_t)i * bits / 8;
        if (bits % 8) {
            sdx_slice_copy(y.dtype, t->data, 1, s->n, outer * inner, i, row.t.data, true);
            from = row.t.data;
        }
        sdx_slice_copy(y.dtype, data, outer, s->n, inner, reverse ? s->n - 1 - i : i, from, false);
    }
    sdx_datum_clear(&row);
    sdx_datum_clear(&s->rows);
    return SDX_OK;
}

static sdx_status scan_outputs(Run *r, Scan *s, const ScanAttrs *a)
{
    for (int k = 0; k < s->z.states; k++) {
        if (s->now[k].kind != DATUM_NONE)
            TRY(sdx_run_give(r, k, &s->now[k]));
        else if (r->out[k])
            TRY(sdx_run_forward(r, k, r->in[k]));
    }
    for (int k = 0; k < s->z.stacks; k++) {
        int o = s->z.states + k;
        int64_t axis = list_at(&a->scan_output_axes, k);
        bool reverse = list_at(&a->scan_output_directions, k) != 0;
        if (!r->out[o]) continue;
        if (s->stacks[k].n && (axis || reverse))
            TRY(stack_turn(r, &s->stacks[k], o, axis, reverse));
        else
            TRY(sdx_stack_finish(r, &s->stacks[k], a->body->outputs[o], o));
    }
    return SDX_OK;
}

static sdx_status scan_begin(Run *r, Scan *s, const ScanAttrs *a)
{
    for (int k = 0; k < s->z.states; k++) s->in[k] = r->in[k];
    for (int k = 0; k < s->z.scans; k++) {
        TRY(lane_init(r, &s->lanes[k], &r->in[s->z.states + k]->t, list_at(&a->scan_input_axes, k),
                      list_at(&a->scan_input_directions, k) != 0));
        if (s->lanes[k].n != s->lanes[0].n)
            return sdx_run_fail(r, "scanned inputs have %lld and %lld elements along their axes",
                                (long long)s->lanes[0].n, (long long)s->lanes[k].n);
    }
    return SDX_OK;
}

static sdx_status scan_run(Run *r)
{
    const ScanAttrs *a = r->args;
    Scan s = { .lanes = NULL };
    if (!scan_sizes(a->body, a->num_scan_inputs, r->n_in, r->n_out, &s.z))
        return sdx_run_fail(r, "its body does not fit");
    TRY(scan_alloc(r, &s, r->n_in, r->n_out));
    sdx_status st = scan_begin(r, &s, a);
    if (st == SDX_OK) st = scan_trips(r, &s, a->body, s.lanes[0].n);
    if (st == SDX_OK) st = scan_outputs(r, &s, a);
    scan_clear(r, &s);
    return st;
}

static sdx_status scan_from_8(Node *n, Err *err)
{
    const OpDef *def = sdx_op_find("sdx", "ScanBatch");
    if (!def) return sdx_fail(err, SDX_UNSUPPORTED, "operator ScanBatch, which replaces Scan-8, is missing");
    n->op_type = def->name;
    n->domain = def->domain;
    n->def = def;
    return SDX_OK;
}

static const OpVer scan_vers[] = { VERS_ALL_21_25,
                                   { .since = 19, .types = { TS_ALL_19 } },
                                   { .since = 16, .types = { TS_ALL_13 } },
                                   { .since = 11, .types = { TS_ALL_1 } },
                                   { .since = 9, .types = { TS_ALL_1 } },
                                   { .since = 8, .types = { TS_ALL_1 }, .upgrade = scan_from_8 },
                                   { 0 } };

const OpDef sdx_op_Scan = {
    .name = "Scan",
    .sig = "T~->T~",
    .attrs = scan_attrs,
    .attrs_size = sizeof(ScanAttrs),
    .vers = scan_vers,
    .flags = OP_CONTROL,
    .infer = scan_infer,
    .cpu = { NULL, scan_run },
};

/* -- ScanBatch: Scan-8 ---------------------------------------------------------------------------------------------- */

typedef struct BatchAttrs {
    Graph *body;
    int64_t num_scan_inputs;
    IntList directions;
} BatchAttrs;

static const AttrSpec batch_attrs[] = { OP_GRAPH_REQ(BatchAttrs, body), OP_INT_REQ(BatchAttrs, num_scan_inputs),
                                        OP_INTS(BatchAttrs, directions), OP_ATTR_END };

static sdx_status batch_infer(Infer *c)
{
    const BatchAttrs *a = c->args;
    static const IntList first_axis = { 0 };
    ScanSizes z;
    Dim trips, batch = SDX_DIM_UNKNOWN;
    if (!scan_sizes(a->body, a->num_scan_inputs, c->n_in - 1, c->n_out, &z))
        return scan_sizes_wrong(c, a->body, a->num_scan_inputs, c->n_in - 1);
    Type *types = sdx_arena_array(c->arena, Type, c->n_in), *out = sdx_arena_array(c->arena, Type, c->n_out);
    TRY_MEM(types && out ? types : NULL, c->err);
    for (int i = 1; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->shape.rank > 0) batch = c->in[i]->shape.dims[0];
    TRY(scan_infer_body(c, a->body, &z, &first_axis, 1, types, out, &trips));
    for (int o = 0; o < c->n_out; o++) {
        c->out[o] = o < z.states ? sdx_type_merge(&types[o], &out[o]) : out[o];
        Shape *s = &c->out[o].shape;
        if (s->rank == SDX_RANK_UNKNOWN) continue;
        if (s->rank + 2 > SDX_MAX_RANK) return sdx_infer_fail(c, "output %d has too many axes", o);
        if (o >= z.states) shape_insert(s, 0, trips);
        shape_insert(s, 0, batch);
    }
    return SDX_OK;
}

/* Item b of a batch: a borrowed tensor of one axis less. */
static sdx_status batch_item(Run *r, const Tensor *t, int64_t b, Tensor *item)
{
    if (t->rank < 1 || b >= t->dims[0]) return sdx_run_fail(r, "inputs differ in the size of their batch");
    *item = *t;
    item->rank--;
    memmove(item->dims, item->dims + 1, (size_t)item->rank * sizeof *item->dims);
    item->data = (char *)t->data + (size_t)(b * sdx_tensor_count(item)) * sdx_dtype_size(t->dtype);
    return SDX_OK;
}

/* Puts a result at item b of output o, made at the first item; shorter sequences leave zeros behind. */
static sdx_status batch_put(Run *r, int o, const Tensor *t, int64_t batch, int64_t b, int64_t max_trips, bool stacked)
{
    int64_t dims[SDX_MAX_RANK];
    void *y;
    size_t nbytes, item;
    if (t->rank + 1 > SDX_MAX_RANK) return sdx_run_fail(r, "output %d has too many axes", o);
    dims[0] = batch;
    memcpy(dims + 1, t->dims, (size_t)t->rank * sizeof *dims);
    if (stacked) dims[1] = max_trips;
    TRY(sdx_run_output(r, o, t->dtype, t->rank + 1, dims, &y));
    if (!sdx_tensor_nbytes(t, &nbytes)) return sdx_run_fail(r, "output %d is too large", o);
    item = (size_t)sdx_dims_product(dims, 1, t->rank + 1) * sdx_dtype_size(t->dtype);
    memset((char *)y + (size_t)b * item, 0, item);
    if (nbytes) memcpy((char *)y + (size_t)b * item, t->data, nbytes);
    int64_t n = sdx_dims_product(dims, 1, t->rank + 1);
    return t->dtype == DT_STRING ? sdx_strings_keep(r, &r->out[o]->t, b * n, n) : SDX_OK;
}

static sdx_status batch_one(Run *r, Scan *s, const BatchAttrs *a, int64_t batch, int64_t b, int64_t trips, Datum *items)
{
    int64_t max_trips = r->in[1 + s->z.states]->t.dims[1];
    for (int k = 0; k < s->z.states; k++) {
        items[k] = (Datum){ .kind = DATUM_TENSOR };
        TRY(batch_item(r, &r->in[1 + k]->t, b, &items[k].t));
        s->in[k] = &items[k];
    }
    for (int k = 0; k < s->z.scans; k++) {
        Tensor t;
        TRY(batch_item(r, &r->in[1 + s->z.states + k]->t, b, &t));
        TRY(lane_init(r, &s->lanes[k], &t, 0, false));
        if (list_at(&a->directions, k)) { /* of this item's own length */
            s->lanes[k].n = trips;
            s->lanes[k].reverse = true;
        }
    }
    TRY(scan_trips(r, s, a->body, trips));
    for (int k = 0; k < s->z.states; k++)
        if (r->out[k]) TRY(batch_put(r, k, &s->in[k]->t, batch, b, 0, false));
    for (int k = 0; k < s->z.stacks; k++) {
        int o = s->z.states + k;
        if (!r->out[o]) continue;
        if (!s->stacks[k].n) return sdx_run_fail(r, "item %lld of the batch has an empty sequence", (long long)b);
        s->stacks[k].rows.t.dims[0] = s->stacks[k].n;
        TRY(batch_put(r, o, &s->stacks[k].rows.t, batch, b, max_trips, true));
    }
    return SDX_OK;
}

static sdx_status batch_run(Run *r)
{
    const BatchAttrs *a = r->args;
    Scan s = { .lanes = NULL };
    if (!scan_sizes(a->body, a->num_scan_inputs, r->n_in - 1, r->n_out, &s.z))
        return sdx_run_fail(r, "its body does not fit");
    const Tensor *first = &r->in[1 + s.z.states]->t;
    if (first->rank < 2)
        return sdx_run_fail(r, "scanned inputs have rank %d; batch and sequence take two axes", first->rank);
    int64_t batch = first->dims[0], max_trips = first->dims[1];
    for (int i = 1; i < r->n_in; i++)
        if (!sdx_dtype_size(r->in[i]->t.dtype)) return sdx_run_fail(r, "elements smaller than a byte");
    for (int64_t b = 0; b < batch; b++) {
        int64_t trips = max_trips;
        if (DATUM_HAS(r, 0)) {
            if (sdx_tensor_count(&r->in[0]->t) != batch)
                return sdx_run_fail(r, "sequence_lens has another size than the batch");
            trips = ((const int64_t *)r->in[0]->t.data)[b];
            if (trips < 0 || trips > max_trips)
                return sdx_run_fail(r, "sequence_lens[%lld] = %lld is outside [0, %lld]", (long long)b,
                                    (long long)trips, (long long)max_trips);
        }
        TRY(scan_alloc(r, &s, r->n_in - 1, r->n_out));
        Datum *items = sdx_alloc(sdx_run_alloc(r), (size_t)s.z.states * sizeof *items);
        sdx_status st = items ? batch_one(r, &s, a, batch, b, trips, items) : SDX_OUT_OF_MEMORY;
        sdx_free(sdx_run_alloc(r), items);
        scan_clear(r, &s);
        TRY(st);
    }
    if (batch) return SDX_OK;
    for (int o = 0; o < r->n_out; o++) {
        const Tensor *x = o < s.z.states ? &r->in[1 + o]->t : NULL;
        int64_t dims[2] = { 0, max_trips };
        if (!r->out[o]) continue;
        if (x)
            TRY(sdx_run_output(r, o, x->dtype, x->rank, x->dims, NULL));
        else
            TRY(sdx_run_output(r, o, a->body->outputs[o]->type.elem, 2, dims, NULL));
    }
    return SDX_OK;
}

static const OpVer batch_vers[] = { { .since = 1, .types = { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_sdx_ScanBatch = {
    .name = "ScanBatch",
    .domain = "sdx",
    .sig = "i64?,T~->T~",
    .attrs = batch_attrs,
    .attrs_size = sizeof(BatchAttrs),
    .vers = batch_vers,
    .flags = OP_CONTROL,
    .infer = batch_infer,
    .cpu = { NULL, batch_run },
};

/* -- SequenceMap ---------------------------------------------------------------------------------------------------- */

typedef struct MapAttrs {
    Graph *body;
} MapAttrs;

static const AttrSpec map_attrs[] = { OP_GRAPH_REQ(MapAttrs, body), OP_ATTR_END };

static sdx_status map_infer(Infer *c)
{
    const MapAttrs *a = c->args;
    if (a->body->n_inputs != c->n_in || a->body->n_outputs != c->n_out)
        return sdx_infer_fail(c, "%d inputs and %d outputs do not fit its body, which takes %d and gives %d", c->n_in,
                              c->n_out, a->body->n_inputs, a->body->n_outputs);
    static const Type unknown = { .shape.rank = SDX_RANK_UNKNOWN };
    const Type **in = sdx_arena_array(c->arena, const Type *, c->n_in);
    Type *out = sdx_arena_array(c->arena, Type, c->n_out);
    TRY_MEM(in && out ? in : NULL, c->err);
    for (int i = 0; i < c->n_in; i++) {
        if (!c->in[i]) return sdx_infer_fail(c, "input %d is missing", i);
        in[i] = c->in[i]->kind == TYPE_SEQUENCE ? c->in[i]->of ? c->in[i]->of : &unknown : c->in[i];
    }
    TRY(sdx_infer_graph(c, a->body, in, c->n_in, out, c->n_out));
    for (int o = 0; o < c->n_out; o++)
        c->out[o] = (Type){ .kind = TYPE_SEQUENCE, .of = &out[o], .shape.rank = SDX_RANK_UNKNOWN };
    return SDX_OK;
}

static sdx_status map_trip(Run *r, const MapAttrs *a, int64_t at, const Datum **in, Datum *out, Datum *seqs)
{
    for (int i = 0; i < r->n_in; i++) {
        in[i] = r->in[i];
        if (in[i]->kind != DATUM_SEQUENCE) continue;
        if (at >= in[i]->seq->n)
            return sdx_run_fail(r, "input sequence %d has %lld elements, the first has %lld", i,
                                (long long)in[i]->seq->n, (long long)r->in[0]->seq->n);
        in[i] = &in[i]->seq->items[at];
    }
    for (int o = 0; o < r->n_out; o++) out[o] = (Datum){ .kind = DATUM_NONE };
    TRY(sdx_run_trip(r));
    TRY(sdx_run_graph(r, a->body, in, r->n_in, out, r->n_out));
    sdx_status st = SDX_OK;
    for (int o = 0; o < r->n_out; o++) {
        if (st == SDX_OK) st = sdx_seq_insert(seqs[o].seq, at, &out[o], r->err);
        sdx_datum_clear(&out[o]);
    }
    return st;
}

static sdx_status map_all(Run *r, const Datum **in, Datum *out, Datum *seqs)
{
    const MapAttrs *a = r->args;
    if (r->in[0]->kind != DATUM_SEQUENCE) return sdx_run_fail(r, "the first input is no sequence");
    for (int o = 0; o < r->n_out; o++) {
        Seq *seq = sdx_seq_new(sdx_run_alloc(r), a->body->outputs[o]->type.elem);
        TRY_MEM(seq, r->err);
        seqs[o] = (Datum){ .kind = DATUM_SEQUENCE, .seq = seq };
    }
    for (int64_t t = 0; t < r->in[0]->seq->n; t++) TRY(map_trip(r, a, t, in, out, seqs));
    for (int o = 0; o < r->n_out; o++) TRY(sdx_run_give(r, o, &seqs[o]));
    return SDX_OK;
}

static sdx_status map_run(Run *r)
{
    Datum *out = sdx_alloc_zero(sdx_run_alloc(r),
                                2 * (size_t)r->n_out * sizeof *out + (size_t)r->n_in * sizeof(Datum *));
    TRY_MEM(out, r->err);
    Datum *seqs = out + r->n_out;
    sdx_status st = map_all(r, (const Datum **)(seqs + r->n_out), out, seqs);
    for (int o = 0; o < r->n_out; o++) sdx_datum_clear(&seqs[o]);
    sdx_free(sdx_run_alloc(r), out);
    return st;
}

static const OpVer map_vers[] = { { .since = 17, .types = { TS_ALL_1 } }, { 0 } };

const OpDef sdx_op_SequenceMap = {
    .name = "SequenceMap",
    .sig = "seq(T),any~->seq(U)~",
    .attrs = map_attrs,
    .attrs_size = sizeof(MapAttrs),
    .vers = map_vers,
    .flags = OP_CONTROL,
    .infer = map_infer,
    .cpu = { NULL, map_run },
};
