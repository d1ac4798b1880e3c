/* Test data and other values in files: TensorProto, SequenceProto, MapProto, OptionalProto to and from a Datum. */
#include <string.h>

#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "onnx/wire_out.h"
#include "tensor/element.h"

/* DataType of SequenceProto and OptionalProto. */
enum { ELEM_NONE, ELEM_TENSOR, ELEM_SPARSE, ELEM_SEQUENCE, ELEM_MAP, ELEM_OPTIONAL };

typedef struct Reader {
    const Alloc *alloc;
    Proto proto;
} Reader;

static sdx_status read_sequence(Reader *r, Wire w, Datum *out, Err *err);
static sdx_status read_map(Reader *r, Wire w, Datum *out, Err *err);
static sdx_status read_optional(Reader *r, Wire w, Datum *out, Err *err);

static sdx_status tensor_datum(Reader *r, const PTensor *p, Datum *out, Err *err)
{
    Tensor t;
    TRY(sdx_proto_check(p, &t, err));
    if (t.dtype != DT_STRING) {
        TRY(sdx_datum_tensor(out, r->alloc, t.dtype, t.rank, t.dims, err));
        return sdx_proto_elements(p, &out->t, err);
    }
    t.data = sdx_arena_array(r->proto.scratch, Str, sdx_tensor_count(&t));
    TRY_ARENA(t.data, r->proto.scratch, err);
    TRY(sdx_proto_elements(p, &t, err));
    return sdx_datum_copy(out, &t, r->alloc, err);
}

static sdx_status read_tensor(Reader *r, Wire w, Datum *out, Err *err)
{
    PTensor p = { 0 };
    TRY(sdx_proto_read_tensor(&r->proto, w, &p, err));
    sdx_status status = tensor_datum(r, &p, out, err);
    if (status != SDX_OK) sdx_err_prefix(err, "tensor `%.*s`", STR_ARG(p.name));
    return status;
}

static sdx_status read_sparse(Reader *r, Wire w, Datum *out, Err *err)
{
    PSparse p = { 0 };
    TRY(sdx_proto_read_sparse(&r->proto, w, &p, err));
    if (!p.values || !p.indices) return sdx_fail(err, SDX_INVALID_MODEL, "a sparse tensor without values or indices");
    Sparse *s = sdx_alloc_zero(r->alloc, sizeof *s);
    TRY_MEM(s, err);
    *s = (Sparse){ .refs = 1, .alloc = r->alloc, .rank = p.rank };
    memcpy(s->dims, p.dims, sizeof s->dims);
    *out = (Datum){ .kind = DATUM_SPARSE, .sparse = s };
    TRY(tensor_datum(r, p.values, &s->values, err));
    TRY(tensor_datum(r, p.indices, &s->indices, err));
    return sdx_sparse_check(s, err);
}

/* The message of one element, of the kind that SequenceProto and OptionalProto name. */
static sdx_status read_kind(Reader *r, int kind, Wire *w, const WireField *f, Datum *out, Err *err)
{
    switch (kind) {
    case ELEM_TENSOR: return read_tensor(r, sdx_wire_message(w, f, "TensorProto"), out, err);
    case ELEM_SPARSE: return read_sparse(r, sdx_wire_message(w, f, "SparseTensorProto"), out, err);
    case ELEM_SEQUENCE: return read_sequence(r, sdx_wire_message(w, f, "SequenceProto"), out, err);
    case ELEM_MAP: return read_map(r, sdx_wire_message(w, f, "MapProto"), out, err);
    default: return read_optional(r, sdx_wire_message(w, f, "OptionalProto"), out, err);
    }
}

/* Fields 3 to 7 hold the elements by kind; all of them are taken, in order, so a wrong elem_type does no harm. */
static sdx_status read_sequence(Reader *r, Wire w, Datum *out, Err *err)
{
    Seq *seq = sdx_seq_new(r->alloc, DT_NONE);
    TRY_MEM(seq, err);
    *out = (Datum){ .kind = DATUM_SEQUENCE, .seq = seq };
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (f.number < 3 || f.number > 7) continue;
        Datum item = { 0 };
        sdx_status status = read_kind(r, (int)f.number - 2, &w, &f, &item, err);
        if (status == SDX_OK && !w.bad) status = sdx_seq_insert(seq, seq->n, &item, err);
        if (item.kind == DATUM_TENSOR && seq->n == 1) seq->elem = item.t.dtype;
        sdx_datum_clear(&item);
        if (status != SDX_OK) return status;
    }
    return sdx_wire_end(&w, err);
}

/* OptionalProto's fields 3 to 7, as above; none of them: no value. */
static sdx_status read_optional(Reader *r, Wire w, Datum *out, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (f.number < 3 || f.number > 7) continue;
        sdx_datum_clear(out);
        TRY(read_kind(r, (int)f.number - 2, &w, &f, out, err));
    }
    return sdx_wire_end(&w, err);
}

/* -- maps ---------------------------------------------------------------------------------------------------------- */

typedef struct MapParts {
    int32_t key_type;
    int64_t *ints;
    int64_t n_ints;
    PLIST(Str) strings;
} MapParts;

static sdx_status map_keys(Reader *r, const MapParts *m, Datum *out, Err *err)
{
    if (m->key_type == DT_STRING) {
        Tensor t = { .dtype = DT_STRING, .rank = 1, .dims = { m->strings.n }, .data = m->strings.v };
        return sdx_datum_copy(out, &t, r->alloc, err);
    }
    if (!sdx_dtype_is_valid(m->key_type) || !sdx_dtype_in((DType)m->key_type, TS_INT))
        return sdx_fail(err, SDX_INVALID_MODEL, "map keys of type %d", (int)m->key_type);
    TRY(sdx_datum_tensor(out, r->alloc, (DType)m->key_type, 1, &m->n_ints, err));
    for (int64_t i = 0; i < m->n_ints; i++) sdx_element_set_bits(out->t.dtype, out->t.data, i, (uint64_t)m->ints[i]);
    return SDX_OK;
}

/* Values of a map are one 1-D tensor where each is a scalar of one type, as classifiers write them. */
static sdx_status map_values(Reader *r, Datum *seq, Datum *out, Err *err)
{
    Seq *s = seq->seq;
    DType d = s->n && s->items[0].kind == DATUM_TENSOR ? s->items[0].t.dtype : DT_NONE;
    bool scalars = d != DT_NONE && sdx_dtype_size(d) > 0;
    for (int64_t i = 0; i < s->n; i++)
        scalars = scalars && s->items[i].kind == DATUM_TENSOR && s->items[i].t.dtype == d && s->items[i].t.rank == 0;
    if (!scalars) {
        *out = *seq;
        *seq = (Datum){ 0 };
        return SDX_OK;
    }
    Tensor all = { .dtype = d, .rank = 1, .dims = { s->n } };
    size_t size = sdx_dtype_size(d);
    all.data = sdx_arena_array_(r->proto.scratch, (size_t)s->n, size, _Alignof(max_align_t));
    TRY_ARENA(all.data, r->proto.scratch, err);
    for (int64_t i = 0; i < s->n; i++) memcpy((char *)all.data + (size_t)i * size, s->items[i].t.data, size);
    return sdx_datum_copy(out, &all, r->alloc, err);
}

static size_t count_keys(Wire w)
{
    size_t n = 0;
    for (WireField f; sdx_wire_next(&w, &f);)
        if (f.number == 3) n += sdx_wire_count(&w, &f, WIRE_VARINT);
    return n;
}

static sdx_status read_map_fields(Reader *r, Wire w, MapParts *m, Datum *values, Err *err)
{
    m->ints = sdx_arena_array(r->proto.scratch, int64_t, count_keys(w));
    TRY_ARENA(m->ints, r->proto.scratch, err);
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 2: m->key_type = (int32_t)sdx_wire_int(&w, &f); break;
        case 3: m->n_ints += (int64_t)sdx_wire_ints(&w, &f, m->ints + m->n_ints); break;
        case 4: {
            Str *key = PLIST_ADD(r->proto.scratch, m->strings);
            TRY_ARENA(key, r->proto.scratch, err);
            *key = sdx_wire_string(&w, &f);
            break;
        }
        case 5:
            sdx_datum_clear(values);
            TRY(read_sequence(r, sdx_wire_message(&w, &f, "SequenceProto"), values, err));
            break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status read_map(Reader *r, Wire w, Datum *out, Err *err)
{
    MapParts parts = { 0 };
    Map *map = sdx_map_new(r->alloc);
    TRY_MEM(map, err);
    *out = (Datum){ .kind = DATUM_MAP, .map = map };
    Datum values = { 0 };
    sdx_status status = read_map_fields(r, w, &parts, &values, err);
    if (status == SDX_OK && values.kind == DATUM_NONE) {
        Seq *none = sdx_seq_new(r->alloc, DT_NONE);
        if (none) values = (Datum){ .kind = DATUM_SEQUENCE, .seq = none };
        if (!none) status = sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    }
    int64_t n_keys = parts.key_type == DT_STRING ? parts.strings.n : parts.n_ints;
    if (status == SDX_OK && values.seq->n != n_keys)
        status = sdx_fail(err, SDX_INVALID_MODEL, "a map of %lld keys and %lld values", (long long)n_keys,
                          (long long)values.seq->n);
    if (status == SDX_OK) status = map_keys(r, &parts, &map->keys, err);
    if (status == SDX_OK) status = map_values(r, &values, &map->values, err);
    sdx_datum_clear(&values);
    return status;
}

sdx_status sdx_onnx_read_datum(const Alloc *a, const void *bytes, size_t n, const Type *type, Datum *out, Err *err)
{
    Arena scratch;
    sdx_arena_init(&scratch, a, 0);
    Reader r = { .alloc = a, .proto = { .scratch = &scratch, .kept = &scratch } };
    *out = (Datum){ 0 };
    sdx_status status;
    switch (type ? type->kind : TYPE_TENSOR) {
    case TYPE_SEQUENCE: status = read_sequence(&r, sdx_wire(bytes, n, "SequenceProto"), out, err); break;
    case TYPE_MAP: status = read_map(&r, sdx_wire(bytes, n, "MapProto"), out, err); break;
    case TYPE_OPTIONAL: status = read_optional(&r, sdx_wire(bytes, n, "OptionalProto"), out, err); break;
    case TYPE_SPARSE: status = read_sparse(&r, sdx_wire(bytes, n, "SparseTensorProto"), out, err); break;
    default: status = read_tensor(&r, sdx_wire(bytes, n, "TensorProto"), out, err); break;
    }
    if (status != SDX_OK) sdx_datum_clear(out);
    sdx_arena_fini(&scratch);
    return status;
}

/* -- writing ------------------------------------------------------------------------------------------------------- */

static int kind_code(const Datum *d)
{
    switch (d->kind) {
    case DATUM_TENSOR: return ELEM_TENSOR;
    case DATUM_SPARSE: return ELEM_SPARSE;
    case DATUM_SEQUENCE: return ELEM_SEQUENCE;
    case DATUM_MAP: return ELEM_MAP;
    case DATUM_NONE: break;
    }
    return ELEM_OPTIONAL;
}

static void write_datum(WireOut *o, const Datum *d, const char *name);

static void write_sequence(WireOut *o, const Seq *s, const char *name)
{
    int kind = s->n ? kind_code(&s->items[0]) : ELEM_TENSOR;
    for (int64_t i = s->n - 1; i >= 0; i--) {
        size_t mark = o->total;
        write_datum(o, &s->items[i], NULL);
        sdx_out_message(o, (uint32_t)kind_code(&s->items[i]) + 2, mark);
    }
    sdx_out_int(o, 2, kind);
    sdx_out_string(o, 1, name);
}

static void write_map_values(WireOut *o, const Datum *values)
{
    if (values->kind == DATUM_SEQUENCE) {
        write_sequence(o, values->seq, NULL);
        return;
    }
    const Tensor *all = &values->t;
    for (int64_t i = sdx_tensor_count(all) - 1; i >= 0; i--) {
        size_t mark = o->total;
        Tensor one = { .dtype = all->dtype, .data = (char *)all->data + (size_t)i * sdx_dtype_size(all->dtype) };
        sdx_out_tensor(o, &one);
        sdx_out_message(o, 3, mark);
    }
    sdx_out_int(o, 2, ELEM_TENSOR);
}

static void write_map(WireOut *o, const Map *m, const char *name)
{
    const Tensor *keys = &m->keys.t;
    size_t mark = o->total;
    write_map_values(o, &m->values);
    sdx_out_message(o, 5, mark);
    for (int64_t i = sdx_tensor_count(keys) - 1; i >= 0; i--) {
        const Str *s = keys->data;
        if (keys->dtype == DT_STRING)
            sdx_out_bytes(o, 4, s[i].p, s[i].n);
        else
            sdx_out_int(o, 3, sdx_tensor_get_int(keys, i));
    }
    sdx_out_int(o, 2, keys->dtype);
    sdx_out_string(o, 1, name);
}

static void write_datum(WireOut *o, const Datum *d, const char *name)
{
    size_t mark;
    switch (d->kind) {
    case DATUM_TENSOR:
        sdx_out_string(o, 8, name);
        sdx_out_tensor(o, &d->t);
        break;
    case DATUM_SEQUENCE: write_sequence(o, d->seq, name); break;
    case DATUM_MAP: write_map(o, d->map, name); break;
    case DATUM_SPARSE:
        for (int i = d->sparse->rank - 1; i >= 0; i--) sdx_out_int(o, 3, d->sparse->dims[i]);
        mark = o->total;
        write_datum(o, &d->sparse->indices, NULL);
        sdx_out_message(o, 2, mark);
        mark = o->total;
        write_datum(o, &d->sparse->values, name);
        sdx_out_message(o, 1, mark);
        break;
    case DATUM_NONE:
        sdx_out_int(o, 2, ELEM_NONE);
        sdx_out_string(o, 1, name);
        break;
    }
}

sdx_status sdx_onnx_write_datum(const Alloc *a, const Datum *d, const char *name, Buf **out, Err *err)
{
    Arena scratch;
    sdx_arena_init(&scratch, a, 0);
    WireOut o = sdx_out(&scratch);
    write_datum(&o, d, name);
    sdx_status status = sdx_out_join(&o, a, out, err);
    sdx_arena_fini(&scratch);
    return status;
}
