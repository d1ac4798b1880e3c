/* Sequences of tensors: making, reading, changing, joining and splitting them. */
#include <inttypes.h>

#include "ops/index.h"
#include "ops/strided.h"
#include "ops/shapes.h"
#include "ops/typesets.h"

/* The type of a sequence's elements as a tensor type, NULL unknown. */
static const Type *element_type(const Type *seq) { return seq && seq->kind == TYPE_SEQUENCE ? seq->of : NULL; }

/* What is known of a shape that must cover both: equal sizes stay. */
static Shape shape_meet(const Shape *a, const Shape *b)
{
    Shape y = *a;
    if (a->rank != b->rank) return (Shape){ .rank = SDX_RANK_UNKNOWN };
    for (int k = 0; k < y.rank; k++)
        if (a->dims[k] != b->dims[k]) y.dims[k] = SDX_DIM_UNKNOWN;
    return y;
}

/* Output 0 is a sequence of tensors of this type. */
static sdx_status sequence_out(Infer *c, DType elem, const Shape *shape)
{
    Type *of = sdx_arena_new(c->arena, Type);
    TRY_MEM(of, c->err);
    *of = (Type){ .kind = TYPE_TENSOR, .elem = elem, .shape = { .rank = SDX_RANK_UNKNOWN } };
    if (shape) of->shape = *shape;
    c->out[0].kind = TYPE_SEQUENCE;
    c->out[0].of = of;
    return SDX_OK;
}

/* Position input i of r, counted from the end when negative, in [0, last]; `last` when absent. */
static sdx_status position_of(Run *r, int i, int64_t n, int64_t last, int64_t *out)
{
    if (!DATUM_HAS(r, i)) {
        *out = last;
        return SDX_OK;
    }
    const Tensor *t = &r->in[i]->t;
    if (sdx_tensor_count(t) != 1) return sdx_run_fail(r, "position is not a scalar");
    int64_t at = sdx_tensor_get_int(t, 0);
    if (at < -n || at > last)
        return sdx_run_fail(r, "position %" PRId64 " is outside [-%" PRId64 ", %" PRId64 "]", at, n, last);
    *out = at < 0 ? at + n : at;
    return SDX_OK;
}

static sdx_status need_sequence(Run *r)
{
    return r->in[0]->kind == DATUM_SEQUENCE ? SDX_OK : sdx_run_fail(r, "the input is not a sequence");
}

/* Output 0 = a sequence of its own with the items of src, if any. */
static sdx_status sequence_copy(Run *r, const Seq *src, DType elem)
{
    Seq *s = sdx_seq_new(sdx_run_alloc(r), src ? src->elem : elem);
    TRY_MEM(s, r->err);
    Datum d = { .kind = DATUM_SEQUENCE, .seq = s };
    sdx_status st = SDX_OK;
    for (int64_t i = 0; src && st == SDX_OK && i < src->n; i++) st = sdx_seq_insert(s, i, &src->items[i], r->err);
    if (st == SDX_OK) st = sdx_run_forward(r, 0, &d);
    sdx_datum_clear(&d);
    return st;
}

/* The sequence that this node made in output 0: nobody else has it yet. */
static Seq *made(const Run *r) { return r->out[0]->seq; }

/* -- SequenceEmpty, SequenceConstruct, SequenceLength, SequenceAt -------------------------------------------------- */

typedef struct EmptyAttrs {
    int64_t dtype;
} EmptyAttrs;
static const AttrSpec empty_attrs[] = { OP_INT(EmptyAttrs, dtype, DT_FLOAT), OP_ATTR_END };

static sdx_status empty_infer(Infer *c)
{
    int64_t d = ((const EmptyAttrs *)c->args)->dtype;
    if (d <= 0 || d >= DT_COUNT) return sdx_infer_fail(c, "dtype %" PRId64 " is not a type", d);
    return sequence_out(c, (DType)d, NULL);
}
static sdx_status empty_run(Run *r) { return sequence_copy(r, NULL, (DType)((const EmptyAttrs *)r->args)->dtype); }

static sdx_status construct_infer(Infer *c)
{
    Shape s = { .rank = SDX_RANK_UNKNOWN };
    DType elem = DT_NONE;
    for (int i = 0; i < c->n_in; i++) {
        if (c->in[i]->elem) elem = c->in[i]->elem;
        s = i ? shape_meet(&s, &c->in[i]->shape) : c->in[i]->shape;
    }
    return sequence_out(c, elem, &s);
}

static sdx_status construct_run(Run *r)
{
    TRY(sequence_copy(r, NULL, r->in[0]->t.dtype));
    for (int i = 0; i < r->n_in; i++) TRY(sdx_seq_insert(made(r), i, r->in[i], r->err));
    return SDX_OK;
}

static sdx_status length_infer(Infer *c)
{
    shape_out(c, 0, 0);
    return SDX_OK;
}

static sdx_status length_run(Run *r)
{
    void *y;
    TRY(need_sequence(r));
    TRY(sdx_run_output(r, 0, DT_INT64, 0, NULL, &y));
    *(int64_t *)y = r->in[0]->seq->n;
    return SDX_OK;
}

static sdx_status at_infer(Infer *c)
{
    const Type *of = element_type(c->in[0]);
    if (of) c->out[0] = *of;
    return SDX_OK;
}

static sdx_status at_run(Run *r)
{
    int64_t at;
    TRY(need_sequence(r));
    const Seq *s = r->in[0]->seq;
    TRY(position_of(r, 1, s->n, s->n - 1, &at));
    if (s->n == 0) return sdx_run_fail(r, "the sequence is empty");
    return sdx_run_forward(r, 0, &s->items[at]);
}

/* -- SequenceInsert, SequenceErase --------------------------------------------------------------------------------- */

static sdx_status insert_infer(Infer *c)
{
    const Type *of = element_type(c->in[0]);
    Shape s = of ? shape_meet(&of->shape, &c->in[1]->shape) : (Shape){ .rank = SDX_RANK_UNKNOWN };
    return sequence_out(c, c->in[1]->elem ? c->in[1]->elem : of ? of->elem : DT_NONE, &s);
}

static sdx_status insert_run(Run *r)
{
    int64_t at;
    TRY(need_sequence(r));
    const Seq *s = r->in[0]->seq;
    if (s->n && s->items[0].kind == DATUM_TENSOR && s->items[0].t.dtype != r->in[1]->t.dtype)
        return sdx_run_fail(r, "a %s tensor does not go into a sequence of %s", sdx_dtype_name(r->in[1]->t.dtype),
                            sdx_dtype_name(s->items[0].t.dtype));
    TRY(position_of(r, 2, s->n, s->n, &at));
    TRY(sequence_copy(r, s, DT_NONE));
    return sdx_seq_insert(made(r), at, r->in[1], r->err);
}

static sdx_status erase_infer(Infer *c)
{
    c->out[0] = *c->in[0];
    return SDX_OK;
}

static sdx_status erase_run(Run *r)
{
    int64_t at;
    TRY(need_sequence(r));
    const Seq *s = r->in[0]->seq;
    if (s->n == 0) return sdx_run_fail(r, "the sequence is empty");
    TRY(position_of(r, 1, s->n, s->n - 1, &at));
    TRY(sequence_copy(r, NULL, s->elem));
    for (int64_t i = 0; i < s->n; i++)
        if (i != at) TRY(sdx_seq_insert(made(r), i < at ? i : i - 1, &s->items[i], r->err));
    return SDX_OK;
}

/* -- ConcatFromSequence -------------------------------------------------------------------------------------------- */

typedef struct JoinAttrs {
    int64_t axis, new_axis;
} JoinAttrs;
static const AttrSpec join_attrs[] = { OP_INT_REQ(JoinAttrs, axis), OP_INT(JoinAttrs, new_axis, 0), OP_ATTR_END };

static sdx_status join_infer(Infer *c)
{
    const JoinAttrs *a = c->args;
    const Type *of = element_type(c->in[0]);
    int axis;
    if (!of) return SDX_OK;
    c->out[0].elem = of->elem;
    if (of->shape.rank == SDX_RANK_UNKNOWN) return SDX_OK;
    int rank = of->shape.rank + (a->new_axis != 0);
    if (rank > SDX_MAX_RANK) return sdx_infer_fail(c, "the output's rank is beyond %d", SDX_MAX_RANK);
    TRY(sdx_infer_axis(c, a->axis, rank, &axis));
    Shape *y = shape_out(c, 0, rank);
    for (int k = 0, from = 0; k < rank; k++) {
        if (a->new_axis && k == axis) continue;
        if (k != axis) y->dims[k] = of->shape.dims[from];
        from++;
    }
    return SDX_OK;
}

static sdx_status join_run(Run *r)
{
    const JoinAttrs *a = r->args;
    TRY(need_sequence(r));
    const Seq *s = r->in[0]->seq;
    if (s->n == 0) return sdx_run_fail(r, "the sequence is empty");
    const Tensor *x0 = &s->items[0].t;
    int axis, rank = x0->rank + (a->new_axis != 0);
    int64_t dims[SDX_MAX_RANK + 1], sum = 0;
    if (!axis_of(a->axis, rank, &axis)) return sdx_run_fail(r, "axis is outside the rank");
    for (int64_t i = 0; i < s->n; i++) {
        const Tensor *x = &s->items[i].t;
        bool fits = s->items[i].kind == DATUM_TENSOR && x->rank == x0->rank && x->dtype == x0->dtype;
        for (int k = 0; fits && k < x->rank; k++) fits = (!a->new_axis && k == axis) || x->dims[k] == x0->dims[k];
        if (!fits) return sdx_run_fail(r, "item %" PRId64 " does not have the shape and type of the first", i);
        sum += a->new_axis ? 1 : x->dims[axis]; /* each is in memory: no overflow */
    }
    for (int k = 0, from = 0; k < rank; k++) dims[k] = a->new_axis && k == axis ? sum : x0->dims[from++];
    dims[axis] = sum;
    void *y;
    TRY(sdx_run_output(r, 0, x0->dtype, rank, dims, &y));
    int64_t rows = sdx_dims_product(dims, 0, axis), inner = sdx_dims_product(dims, axis + 1, rank), at = 0;
    size_t size = sdx_dtype_size(x0->dtype);
    for (int64_t i = 0; i < s->n; i++) {
        int64_t n = (a->new_axis ? 1 : s->items[i].t.dims[axis]) * inner;
        if (n && rows) {
            Move m = { .rank = 2, .size = size, .dims = { rows, n }, .to = { sum * inner, 1 }, .from = { n, 1 } };
            sdx_move_run(r, &m, (char *)y + (size_t)at * size, s->items[i].t.data);
        }
        at += n;
    }
    return SDX_OK;
}

/* -- SplitToSequence ----------------------------------------------------------------------------------------------- */

typedef struct SplitSeqAttrs {
    int64_t axis, keepdims;
} SplitSeqAttrs;
static const AttrSpec splitseq_attrs[] = { OP_INT(SplitSeqAttrs, axis, 0), OP_INT(SplitSeqAttrs, keepdims, 1),
                                           OP_ATTR_END };

static sdx_status splitseq_infer(Infer *c)
{
    const SplitSeqAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    int axis;
    if (!x) return sequence_out(c, c->in[0]->elem, NULL);
    TRY(sdx_infer_axis(c, a->axis, x->rank, &axis));
    Shape s = *x;
    s.dims[axis] = INFER_HAS(c, 1) ? SDX_DIM_UNKNOWN : 1;
    if (!INFER_HAS(c, 1) && !a->keepdims) {
        for (int k = axis; k + 1 < s.rank; k++) s.dims[k] = s.dims[k + 1];
        s.rank--;
    }
    return sequence_out(c, c->in[0]->elem, &s);
}

/* Size of the next part, from `at` on: parts of 1, of one number, or of a list. Negative: nothing fits. */
static int64_t part_size(const Tensor *split, int64_t part, int64_t at, int64_t size)
{
    if (!split) return 1;
    if (split->rank == 0) {
        int64_t each = sdx_tensor_get_int(split, 0);
        return each < 1 ? -1 : each < size - at ? each : size - at;
    }
    return part < sdx_tensor_count(split) ? sdx_tensor_get_int(split, part) : -1;
}

static sdx_status splitseq_part(Run *r, const Tensor *x, int axis, bool drop, int64_t at, int64_t n, int64_t part)
{
    Datum item;
    int64_t dims[SDX_MAX_RANK];
    int rank = 0;
    for (int k = 0; k < x->rank; k++)
        if (k != axis || !drop) dims[rank++] = k == axis ? n : x->dims[k];
    TRY(sdx_datum_tensor(&item, sdx_run_alloc(r), x->dtype, rank, dims, r->err));
    int64_t rows = sdx_dims_product(x->dims, 0, axis), inner = sdx_dims_product(x->dims, axis + 1, x->rank);
    if (rows > 0 && n * inner > 0) {
        Move m = { .rank = 2,
                   .size = sdx_dtype_size(x->dtype),
                   .dims = { rows, n * inner },
                   .to = { n * inner, 1 },
                   .from = { x->dims[axis] * inner, 1 } };
        sdx_move_run(r, &m, item.t.data, (const char *)x->data + (size_t)(at * inner) * m.size);
    }
    sdx_status st = sdx_seq_insert(made(r), part, &item, r->err);
    sdx_datum_clear(&item);
    return st;
}

static sdx_status splitseq_run(Run *r)
{
    const SplitSeqAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t, *split = DATUM_HAS(r, 1) ? &r->in[1]->t : NULL;
    int axis;
    if (!axis_of(a->axis, x->rank, &axis)) return sdx_run_fail(r, "axis is outside the rank");
    int64_t size = x->dims[axis], at = 0, part = 0, parts = split && split->rank ? sdx_tensor_count(split) : INT64_MAX;
    TRY(sequence_copy(r, NULL, x->dtype));
    while (part < parts && (at < size || parts != INT64_MAX)) {
        int64_t n = part_size(split, part, at, size);
        if (n < 0 || n > size - at)
            return sdx_run_fail(r, "the sizes in split do not add up to the axis, %" PRId64, size);
        TRY(splitseq_part(r, x, axis, !split && !a->keepdims, at, n, part));
        at += n;
        part++;
    }
    if (at != size) return sdx_run_fail(r, "the sizes in split do not add up to the axis, %" PRId64, size);
    return SDX_OK;
}

/* -- definitions --------------------------------------------------------------------------------------------------- */

static const OpVer seq_vers[] = { { 11, { TS_ALL_1, TS_IDX } }, { 0 } };
static const OpVer splitseq_vers[] = { { 24, { TS_ALL_13, TS_IDX } }, { 11, { TS_ALL_1, TS_IDX } }, { 0 } };

const OpDef sdx_op_SequenceEmpty = {
    .name = "SequenceEmpty",
    .sig = "->seq(T)",
    .attrs = empty_attrs,
    .attrs_size = sizeof(EmptyAttrs),
    .vers = seq_vers,
    .infer = empty_infer,
    .cpu = { NULL, empty_run },
};
const OpDef sdx_op_SequenceConstruct = {
    .name = "SequenceConstruct",
    .sig = "T+->seq(T)",
    .vers = seq_vers,
    .infer = construct_infer,
    .cpu = { NULL, construct_run },
};
const OpDef sdx_op_SequenceLength = {
    .name = "SequenceLength",
    .sig = "seq(T)->i64",
    .vers = seq_vers,
    .infer = length_infer,
    .cpu = { NULL, length_run },
};
const OpDef sdx_op_SequenceAt = {
    .name = "SequenceAt",
    .sig = "seq(T),U->T",
    .vers = seq_vers,
    .flags = OP_DATA_SHAPE,
    .infer = at_infer,
    .cpu = { NULL, at_run },
};
const OpDef sdx_op_SequenceInsert = {
    .name = "SequenceInsert",
    .sig = "seq(T),T,U?->seq(T)",
    .vers = seq_vers,
    .infer = insert_infer,
    .cpu = { NULL, insert_run },
};
const OpDef sdx_op_SequenceErase = {
    .name = "SequenceErase",
    .sig = "seq(T),U?->seq(T)",
    .vers = seq_vers,
    .infer = erase_infer,
    .cpu = { NULL, erase_run },
};
const OpDef sdx_op_ConcatFromSequence = {
    .name = "ConcatFromSequence",
    .sig = "seq(T)->T",
    .attrs = join_attrs,
    .attrs_size = sizeof(JoinAttrs),
    .vers = seq_vers,
    .flags = OP_DATA_SHAPE,
    .infer = join_infer,
    .cpu = { sdx_move_prepare, join_run },
};
const OpDef sdx_op_SplitToSequence = {
    .name = "SplitToSequence",
    .sig = "T,U?->seq(T)",
    .attrs = splitseq_attrs,
    .attrs_size = sizeof(SplitSeqAttrs),
    .vers = splitseq_vers,
    .infer = splitseq_infer,
    .cpu = { sdx_move_prepare, splitseq_run },
};
