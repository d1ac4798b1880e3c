/* Values of the public API: a counted reference around a Datum. */
#include <string.h>

#include "api/api.h"
#include "base/size.h"
#include "onnx/proto.h"

sdx_value *sdx_api_value(const Alloc *a, const Datum *d)
{
    sdx_value *v = a->alloc(a->user, sizeof *v, _Alignof(max_align_t));
    if (v) *v = (sdx_value){ .refs = 1, .alloc = a, .d = *d };
    return v;
}

/* Hands d over to a new value, or drops it. */
static sdx_status value_give(Datum *d, sdx_value **out, Err *err)
{
    sdx_value *v = sdx_api_value(&sdx_alloc_default, d);
    if (!v) sdx_datum_clear(d);
    TRY_MEM(v, err);
    *out = v;
    return SDX_OK;
}

static sdx_status value_share(const Datum *d, sdx_value **out, Err *err)
{
    Datum shared;
    TRY(sdx_datum_share(&shared, d, &sdx_alloc_default, err));
    return value_give(&shared, out, err);
}

void sdx_value_retain(sdx_value *v)
{
    if (v) __atomic_fetch_add(&v->refs, 1, __ATOMIC_RELAXED);
}

void sdx_value_release(sdx_value *v)
{
    if (!v || __atomic_sub_fetch(&v->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    sdx_datum_clear(&v->d);
    sdx_free(v->alloc, v);
}

sdx_kind sdx_value_kind(const sdx_value *v) { return (sdx_kind)v->d.kind; }

static sdx_status check_shape(sdx_dtype dtype, const int64_t *dims, int rank, Tensor *t, size_t *nbytes, Err *err)
{
    if (!sdx_dtype_is_valid((int)dtype))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "element type %d does not exist", (int)dtype);
    if (rank < 0 || rank > SDX_MAX_RANK)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "rank %d is outside [0, %d]", rank, SDX_MAX_RANK);
    if (rank && !dims) return sdx_fail(err, SDX_INVALID_ARGUMENT, "dims is NULL at rank %d", rank);
    *t = (Tensor){ .dtype = (DType)dtype, .rank = rank };
    if (rank) memcpy(t->dims, dims, (size_t)rank * sizeof *dims);
    if (sdx_tensor_nbytes(t, nbytes)) return SDX_OK;
    char text[256];
    return sdx_fail(err, SDX_INVALID_ARGUMENT, "shape %s of %s: a size is negative or the product too large",
                    sdx_dims_text(text, sizeof text, t->dims, rank), sdx_dtype_name(t->dtype));
}

sdx_status sdx_tensor_wrap(sdx_dtype dtype, const int64_t *dims, int rank, void *data, size_t nbytes,
                           void (*drop)(void *user, void *data), void *user, sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    Tensor t;
    size_t need;
    TRY(check_shape(dtype, dims, rank, &t, &need, err));
    if (dtype == SDX_STRING)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "string tensors are made with sdx_tensor_create_strings");
    if (need > nbytes)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "the shape needs %zu bytes, the memory has %zu", need, nbytes);
    if (need && !data) return sdx_fail(err, SDX_INVALID_ARGUMENT, "data is NULL, the shape needs %zu bytes", need);
    size_t align = sdx_dtype_size(t.dtype);
    if (sdx_dtype_class(t.dtype) == 'C') align /= 2; /* pairs of floats */
    if (align && (uintptr_t)data % align)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "data is not aligned to the %zu bytes of an element", align);
    t.data = data;
    Buf *b = sdx_buf_wrap(&sdx_alloc_default, data, need, drop, user);
    TRY_MEM(b, err);
    Datum d = { .kind = DATUM_TENSOR, .t = t, .buf = b };
    sdx_value *v = sdx_api_value(&sdx_alloc_default, &d);
    if (!v) {
        b->drop = NULL; /* the caller keeps the memory of a failed call */
        sdx_buf_release(b);
    }
    TRY_MEM(v, err);
    *out = v;
    return SDX_OK;
}

sdx_status sdx_tensor_create(sdx_dtype dtype, const int64_t *dims, int rank, sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    Tensor t;
    size_t nbytes;
    Datum d;
    TRY(check_shape(dtype, dims, rank, &t, &nbytes, err));
    TRY(sdx_datum_tensor(&d, &sdx_alloc_default, t.dtype, rank, dims, err));
    memset(d.t.data, 0, nbytes);
    return value_give(&d, out, err);
}

sdx_status sdx_tensor_create_strings(const int64_t *dims, int rank, const char *const *strings, const size_t *lengths,
                                     sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    Tensor t;
    size_t nbytes;
    TRY(check_shape(SDX_STRING, dims, rank, &t, &nbytes, err));
    int64_t n = sdx_tensor_count(&t);
    if (n && !strings) return sdx_fail(err, SDX_INVALID_ARGUMENT, "strings is NULL");
    Str *list = sdx_alloc(&sdx_alloc_default, nbytes);
    TRY_MEM(list, err);
    sdx_status st = SDX_OK;
    for (int64_t i = 0; i < n && st == SDX_OK; i++) {
        if (!strings[i] && !(lengths && lengths[i] == 0))
            st = sdx_fail(err, SDX_INVALID_ARGUMENT, "string %lld is NULL", (long long)i);
        else
            list[i] = (Str){ strings[i], lengths ? lengths[i] : strlen(strings[i]) };
    }
    t.data = list;
    Datum d;
    if (st == SDX_OK) st = sdx_datum_copy(&d, &t, &sdx_alloc_default, err);
    sdx_free(&sdx_alloc_default, list);
    return st == SDX_OK ? value_give(&d, out, err) : st;
}

static const Tensor *value_tensor(const sdx_value *v) { return v && v->d.kind == DATUM_TENSOR ? &v->d.t : NULL; }

sdx_dtype sdx_value_dtype(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    return t ? (sdx_dtype)t->dtype : SDX_UNDEFINED;
}

int sdx_value_rank(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    return t ? t->rank : v && v->d.kind == DATUM_SPARSE ? v->d.sparse->rank : 0;
}

const int64_t *sdx_value_dims(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    return t ? t->dims : v && v->d.kind == DATUM_SPARSE ? v->d.sparse->dims : NULL;
}

int64_t sdx_value_count(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    return t ? sdx_tensor_count(t) : 0;
}

size_t sdx_value_nbytes(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    size_t nbytes;
    return t && t->dtype != DT_STRING && sdx_tensor_nbytes(t, &nbytes) ? nbytes : 0;
}

void *sdx_value_data(const sdx_value *v)
{
    const Tensor *t = value_tensor(v);
    return t && t->dtype != DT_STRING ? t->data : NULL;
}

sdx_status sdx_value_string(const sdx_value *v, int64_t i, const char **text, size_t *length, sdx_error *error)
{
    const Tensor *t = value_tensor(v);
    if (!t || t->dtype != DT_STRING)
        return sdx_fail(api_err(error), SDX_INVALID_ARGUMENT, "the value is no string tensor");
    if (i < 0 || i >= sdx_tensor_count(t))
        return sdx_fail(api_err(error), SDX_INVALID_ARGUMENT, "element %lld is outside [0, %lld)", (long long)i,
                        (long long)sdx_tensor_count(t));
    const Str *s = (const Str *)t->data + i;
    *text = s->n ? s->p : "";
    *length = s->n;
    return SDX_OK;
}

double sdx_value_get(const sdx_value *v, int64_t i)
{
    const Tensor *t = value_tensor(v);
    bool ok = t && t->dtype != DT_STRING && i >= 0 && i < sdx_tensor_count(t);
    return ok ? sdx_tensor_get_double(t, i) : 0;
}

void sdx_value_set(sdx_value *v, int64_t i, double x)
{
    const Tensor *t = value_tensor(v);
    if (t && t->dtype != DT_STRING && i >= 0 && i < sdx_tensor_count(t)) sdx_tensor_set_double(&v->d.t, i, x);
}

sdx_status sdx_sequence_create(sdx_dtype elem, sdx_value **out, sdx_error *error)
{
    if (elem != SDX_UNDEFINED && !sdx_dtype_is_valid((int)elem))
        return sdx_fail(api_err(error), SDX_INVALID_ARGUMENT, "element type %d does not exist", (int)elem);
    Datum d = { .kind = DATUM_SEQUENCE, .seq = sdx_seq_new(&sdx_alloc_default, (DType)elem) };
    TRY_MEM(d.seq, api_err(error));
    return value_give(&d, out, api_err(error));
}

static sdx_status need_sequence(const sdx_value *seq, Err *err)
{
    bool ok = seq && seq->d.kind == DATUM_SEQUENCE;
    return ok ? SDX_OK : sdx_fail(err, SDX_INVALID_ARGUMENT, "the value is no sequence");
}

sdx_status sdx_sequence_append(sdx_value *seq, const sdx_value *item, sdx_error *error)
{
    Err *err = api_err(error);
    TRY(need_sequence(seq, err));
    if (!item) return sdx_fail(err, SDX_INVALID_ARGUMENT, "item is NULL");
    DType want = seq->d.seq->elem;
    if (item->d.kind == DATUM_TENSOR && want != DT_NONE && item->d.t.dtype != want)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "a sequence of %s takes no %s", sdx_dtype_name(want),
                        sdx_dtype_name(item->d.t.dtype));
    TRY(sdx_seq_own(&seq->d, err));
    return sdx_seq_insert(seq->d.seq, seq->d.seq->n, &item->d, err);
}

int64_t sdx_sequence_count(const sdx_value *seq) { return seq && seq->d.kind == DATUM_SEQUENCE ? seq->d.seq->n : 0; }

sdx_dtype sdx_sequence_dtype(const sdx_value *seq)
{
    return seq && seq->d.kind == DATUM_SEQUENCE ? (sdx_dtype)seq->d.seq->elem : SDX_UNDEFINED;
}

sdx_status sdx_sequence_get(const sdx_value *seq, int64_t i, sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    TRY(need_sequence(seq, err));
    if (i < 0 || i >= seq->d.seq->n)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "element %lld is outside [0, %lld)", (long long)i,
                        (long long)seq->d.seq->n);
    return value_share(&seq->d.seq->items[i], out, err);
}

static sdx_status check_map_parts(const sdx_value *keys, const sdx_value *values, Err *err)
{
    const Tensor *k = value_tensor(keys), *t = value_tensor(values);
    if (!k || k->rank != 1 || !sdx_dtype_in(k->dtype, TS_INT | TS_STR))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "keys must be a 1-D tensor of integers or strings");
    if (!(t && t->rank == 1) && !(values && values->d.kind == DATUM_SEQUENCE))
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "values must be a 1-D tensor or a sequence");
    int64_t n = t ? t->dims[0] : values->d.seq->n;
    if (n != k->dims[0])
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%lld keys, but %lld values", (long long)k->dims[0], (long long)n);
    return SDX_OK;
}

sdx_status sdx_map_create(const sdx_value *keys, const sdx_value *values, sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    TRY(check_map_parts(keys, values, err));
    Datum d = { .kind = DATUM_MAP, .map = sdx_map_new(&sdx_alloc_default) };
    TRY_MEM(d.map, err);
    sdx_status st = sdx_datum_share(&d.map->keys, &keys->d, &sdx_alloc_default, err);
    if (st == SDX_OK) st = sdx_datum_share(&d.map->values, &values->d, &sdx_alloc_default, err);
    if (st == SDX_OK) return value_give(&d, out, err);
    sdx_datum_clear(&d);
    return st;
}

static sdx_status need_map(const sdx_value *map, Err *err)
{
    bool ok = map && map->d.kind == DATUM_MAP;
    return ok ? SDX_OK : sdx_fail(err, SDX_INVALID_ARGUMENT, "the value is no map");
}

sdx_status sdx_map_keys(const sdx_value *map, sdx_value **out, sdx_error *error)
{
    TRY(need_map(map, api_err(error)));
    return value_share(&map->d.map->keys, out, api_err(error));
}

sdx_status sdx_map_values(const sdx_value *map, sdx_value **out, sdx_error *error)
{
    TRY(need_map(map, api_err(error)));
    return value_share(&map->d.map->values, out, api_err(error));
}

sdx_status sdx_sparse_create(const int64_t *dims, int rank, const sdx_value *values, const sdx_value *indices,
                             sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    Tensor t;
    size_t nbytes;
    const Tensor *v = value_tensor(values), *i = value_tensor(indices);
    if (!v || !i || v->dtype == DT_STRING)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "values and indices must be tensors, of numbers");
    TRY(check_shape((sdx_dtype)v->dtype, dims, rank, &t, &nbytes, err));
    Datum d = { .kind = DATUM_SPARSE, .sparse = sdx_sparse_new(&sdx_alloc_default) };
    TRY_MEM(d.sparse, err);
    d.sparse->rank = rank;
    memcpy(d.sparse->dims, t.dims, sizeof t.dims);
    sdx_status st = sdx_datum_share(&d.sparse->values, &values->d, &sdx_alloc_default, err);
    if (st == SDX_OK) st = sdx_datum_share(&d.sparse->indices, &indices->d, &sdx_alloc_default, err);
    Err bad = { 0 };
    if (st == SDX_OK && sdx_sparse_check(d.sparse, &bad) != SDX_OK)
        st = sdx_fail(err, SDX_INVALID_ARGUMENT, "sparse tensor: %s", bad.text);
    if (st == SDX_OK) return value_give(&d, out, err);
    sdx_datum_clear(&d);
    return st;
}

static sdx_status need_sparse(const sdx_value *sparse, Err *err)
{
    bool ok = sparse && sparse->d.kind == DATUM_SPARSE;
    return ok ? SDX_OK : sdx_fail(err, SDX_INVALID_ARGUMENT, "the value is no sparse tensor");
}

sdx_status sdx_sparse_values(const sdx_value *sparse, sdx_value **out, sdx_error *error)
{
    TRY(need_sparse(sparse, api_err(error)));
    return value_share(&sparse->d.sparse->values, out, api_err(error));
}

sdx_status sdx_sparse_indices(const sdx_value *sparse, sdx_value **out, sdx_error *error)
{
    TRY(need_sparse(sparse, api_err(error)));
    return value_share(&sparse->d.sparse->indices, out, api_err(error));
}

sdx_status sdx_none_create(sdx_value **out, sdx_error *error)
{
    Datum d = { .kind = DATUM_NONE };
    return value_give(&d, out, api_err(error));
}

sdx_status sdx_value_parse(const void *bytes, size_t nbytes, const sdx_type *type, sdx_value **out, sdx_error *error)
{
    Err *err = api_err(error);
    Datum d;
    if (nbytes && !bytes) return sdx_fail(err, SDX_INVALID_ARGUMENT, "bytes is NULL");
    TRY(sdx_onnx_read_datum(&sdx_alloc_default, bytes, nbytes, type ? &type->type : NULL, &d, err));
    return value_give(&d, out, err);
}

sdx_status sdx_value_serialize(const sdx_value *v, const char *name, void **bytes, size_t *nbytes, sdx_error *error)
{
    Err *err = api_err(error);
    Buf *b;
    if (!v) return sdx_fail(err, SDX_INVALID_ARGUMENT, "the value is NULL");
    TRY(sdx_onnx_write_datum(&sdx_alloc_default, &v->d, name ? name : "", &b, err));
    void *copy = sdx_alloc(&sdx_alloc_default, b->nbytes);
    if (copy) {
        memcpy(copy, b->data, b->nbytes);
        *nbytes = b->nbytes;
        *bytes = copy;
    }
    sdx_buf_release(b);
    TRY_MEM(copy, err);
    return SDX_OK;
}

void sdx_bytes_free(void *bytes) { sdx_free(&sdx_alloc_default, bytes); }
