#include <string.h>

#include "ort/entries.h"

/* Takes d when it succeeds. */
OrtStatus *sdx_ort_value_new(const Datum *d, OrtValue **out)
{
    OrtValue *v = sdx_alloc(&sdx_alloc_default, sizeof *v);
    if (!v) return sdx_ort_no_memory();
    *v = (OrtValue){ .d = *d };
    *out = v;
    return NULL;
}

OrtStatus *sdx_ort_CreateTensorWithDataAsOrtValue(const OrtMemoryInfo *info, void *data, size_t nbytes,
                                                  const int64_t *shape, size_t rank, int type, OrtValue **out)
{
    if (!info || !out || (rank && !shape)) return sdx_ort_null("memory info, shape or out");
    Tensor t = { .dtype = sdx_ort_dtype(type), .rank = (int32_t)rank, .data = data };
    size_t need;
    if (t.dtype == DT_NONE) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "tensor type %d is not supported", type);
    if (t.dtype == DT_STRING) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "strings cannot lie in a caller's buffer");
    if (rank > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", rank, SDX_MAX_RANK);
    if (rank) memcpy(t.dims, shape, rank * sizeof *shape);
    if (!sdx_tensor_nbytes(&t, &need))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "tried creating tensor with negative value in shape, or too large");
    if (need && !data) return sdx_ort_null("the data");
    if (need > nbytes)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "not enough space: expected %zu, got %zu", need, nbytes);
    return sdx_ort_value_new(&(Datum){ .kind = DATUM_TENSOR, .t = t }, out);
}

/* Memory of the caller's allocator, given back to it. */
static void give_back(void *user, void *data)
{
    OrtAllocator *a = user;
    a->Free(a, data);
}

/* Memory that the caller allocated, freed by its allocator. */
OrtStatus *sdx_ort_CreateTensorWithDataAndDeleterAsOrtValue(OrtAllocator *deleter, void *data, size_t nbytes,
                                                            const int64_t *shape, size_t rank, int type, OrtValue **out)
{
    if (!deleter) return sdx_ort_null("deleter");
    OrtStatus *st = sdx_ort_CreateTensorWithDataAsOrtValue(&sdx_ort_cpu_info, data, nbytes, shape, rank, type, out);
    if (st) return st;
    (*out)->d.buf = sdx_buf_wrap(&sdx_alloc_default, data, nbytes, give_back, deleter);
    if ((*out)->d.buf) return NULL;
    sdx_free(&sdx_alloc_default, *out);
    return sdx_ort_no_memory();
}

static OrtStatus *tensor_in(OrtAllocator *a, Datum *d)
{
    size_t nbytes;
    if (!sdx_tensor_nbytes(&d->t, &nbytes))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "tried creating tensor with negative value in shape, or too large");
    d->t.data = a->Alloc(a, nbytes ? nbytes : 1);
    if (!d->t.data) return sdx_ort_no_memory();
    d->buf = sdx_buf_wrap(&sdx_alloc_default, d->t.data, nbytes, give_back, a);
    if (d->buf) return NULL;
    a->Free(a, d->t.data);
    return sdx_ort_no_memory();
}

OrtStatus *sdx_ort_CreateTensorAsOrtValue(OrtAllocator *a, const int64_t *shape, size_t rank, int type, OrtValue **out)
{
    if (!a || !out || (rank && !shape)) return sdx_ort_null("allocator, shape or out");
    Datum d = { .kind = DATUM_TENSOR, .t = { .dtype = sdx_ort_dtype(type), .rank = (int32_t)rank } };
    if (d.t.dtype == DT_NONE) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "tensor type %d is not supported", type);
    if (rank > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", rank, SDX_MAX_RANK);
    OrtStatus *st;
    if (d.t.dtype == DT_STRING) { /* bytes of strings are ours in any case */
        Err err;
        sdx_err_clear(&err);
        st = sdx_ort_status(sdx_datum_tensor(&d, &sdx_alloc_default, DT_STRING, (int)rank, shape, &err), &err);
    } else {
        if (rank) memcpy(d.t.dims, shape, rank * sizeof *shape);
        st = tensor_in(a, &d);
    }
    if (st) return st;
    st = sdx_ort_value_new(&d, out);
    if (st) sdx_datum_clear(&d);
    return st;
}

OrtStatus *sdx_ort_value_copy(const Tensor *t, OrtAllocator *a, OrtValue **out)
{
    size_t nbytes;
    OrtStatus *st = sdx_ort_CreateTensorAsOrtValue(a, t->dims, (size_t)t->rank, sdx_ort_dtype_code(t->dtype), out);
    if (st) return st;
    Datum *d = &(*out)->d;
    if (t->dtype != DT_STRING) {
        if (sdx_tensor_nbytes(t, &nbytes) && nbytes) memcpy(d->t.data, t->data, nbytes);
        return NULL;
    }
    Err err = { 0 };
    sdx_datum_clear(d);
    sdx_status code = sdx_datum_copy(d, t, &sdx_alloc_default, &err);
    if (code != SDX_OK) sdx_free(&sdx_alloc_default, *out);
    return sdx_ort_status(code, &err);
}

OrtStatus *sdx_ort_value_alias(const Datum *d, OrtValue **out)
{
    Datum shared = *d;
    Err err;
    sdx_err_clear(&err);
    if (d->kind != DATUM_TENSOR || d->buf) {
        sdx_status code = sdx_datum_share(&shared, d, &sdx_alloc_default, &err);
        if (code != SDX_OK) return sdx_ort_status(code, &err);
    }
    OrtStatus *st = sdx_ort_value_new(&shared, out);
    if (st && (d->kind != DATUM_TENSOR || d->buf)) sdx_datum_clear(&shared);
    return st;
}

void sdx_ort_ReleaseValue(OrtValue *v)
{
    if (v) sdx_datum_clear(&v->d);
    if (v) sdx_ort_form_free(v->form);
    sdx_free(&sdx_alloc_default, v);
}

OrtStatus *sdx_ort_IsTensor(const OrtValue *v, int *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    *out = v->d.kind == DATUM_TENSOR;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorMutableData(OrtValue *v, void **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor");
    *out = v->d.t.data;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorData(const OrtValue *v, const void **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor");
    *out = v->d.t.data;
    return NULL;
}

OrtStatus *sdx_ort_HasValue(const OrtValue *v, int *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    *out = v->d.kind != DATUM_NONE;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorMemoryInfo(const OrtValue *v, const OrtMemoryInfo **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    *out = &sdx_ort_cpu_info;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorSizeInBytes(const OrtValue *v, size_t *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the value is no tensor");
    if (v->d.t.dtype == DT_STRING)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "String tensors are not supported by this API");
    return sdx_tensor_nbytes(&v->d.t, out) ? NULL : sdx_ort_fail(ORT_FAIL, "the size of the tensor overflows");
}

/* Between tensors of one type and size, all in host memory. */
OrtStatus *sdx_ort_CopyTensors(const OrtEnv *env, const OrtValue *const *from, OrtValue *const *to, void *stream,
                               size_t n)
{
    (void)stream;
    if (!env || !from || !to) return sdx_ort_null("env or tensors");
    for (size_t i = 0; i < n; i++) {
        size_t a, b;
        if (!from[i] || !to[i]) return sdx_ort_null("a tensor");
        OrtStatus *st = sdx_ort_GetTensorSizeInBytes(from[i], &a);
        if (!st) st = sdx_ort_GetTensorSizeInBytes(to[i], &b);
        if (st) return st;
        if (from[i]->d.t.dtype != to[i]->d.t.dtype || a != b)
            return sdx_ort_fail(ORT_INVALID_ARGUMENT, "tensors %zu differ in type or size", i);
        if (a) memmove(to[i]->d.t.data, from[i]->d.t.data, a);
    }
    return NULL;
}

/* No opaque types are registered. */
OrtStatus *sdx_ort_CreateOpaqueValue(const char *domain, const char *type, const void *data, size_t nbytes,
                                     OrtValue **out)
{
    if (!domain || !type || !data || !nbytes || !out) return sdx_ort_null("domain, type, data or out");
    return sdx_ort_fail(ORT_FAIL, "the opaque type %s of domain %s is not registered", type, domain);
}

OrtStatus *sdx_ort_GetOpaqueValue(const char *domain, const char *type, const OrtValue *v, void *data, size_t nbytes)
{
    if (!domain || !type || !v || !data || !nbytes) return sdx_ort_null("domain, type, value or data");
    return sdx_ort_fail(ORT_FAIL, "the opaque type %s of domain %s is not registered", type, domain);
}

/* The address of one element. */
OrtStatus *sdx_ort_TensorAt(OrtValue *v, const int64_t *at, size_t n, void **out)
{
    if (!v || !out || (n && !at)) return sdx_ort_null("value, location or out");
    const Tensor *t = &v->d.t;
    size_t size = v->d.kind == DATUM_TENSOR ? sdx_dtype_size(t->dtype) : 0;
    if (!size || t->dtype == DT_STRING)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "this API does not support strings, nor values without addresses");
    if (n != (size_t)t->rank)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "location dimensions do not match shape size: %zu, %d", n, t->rank);
    int64_t offset = 0;
    for (size_t i = 0; i < n; i++) {
        if (at[i] < 0 || at[i] >= t->dims[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "invalid location range");
        offset = offset * t->dims[i] + at[i];
    }
    *out = (char *)t->data + (size_t)offset * size;
    return NULL;
}

/* -- sequences and maps -------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_GetValueCount(const OrtValue *v, size_t *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_MAP && v->d.kind != DATUM_SEQUENCE)
        return sdx_ort_fail(ORT_FAIL, "Input is not of type sequence or map.");
    *out = v->d.kind == DATUM_MAP ? 2 : (size_t)v->d.seq->n;
    return NULL;
}

/* Of a map, 0 gives the keys and 1 the values. */
OrtStatus *sdx_ort_GetValue(const OrtValue *v, int i, OrtAllocator *a, OrtValue **out)
{
    (void)a;
    size_t n;
    OrtStatus *st = sdx_ort_GetValueCount(v, &n);
    if (st) return st;
    if (i < 0 || (size_t)i >= n) return sdx_ort_fail(ORT_FAIL, "index %d is outside [0, %zu)", i, n);
    if (v->d.kind == DATUM_SEQUENCE) return sdx_ort_value_alias(&v->d.seq->items[i], out);
    return sdx_ort_value_alias(i == 0 ? &v->d.map->keys : &v->d.map->values, out);
}

static sdx_status make_sequence(const OrtValue *const *in, size_t n, Datum *d, Err *err)
{
    bool tensors = in[0]->d.kind == DATUM_TENSOR;
    if (!tensors && in[0]->d.kind != DATUM_MAP)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "elements of a sequence must be tensors or maps");
    *d = (Datum){ .kind = DATUM_SEQUENCE,
                  .seq = sdx_seq_new(&sdx_alloc_default, tensors ? in[0]->d.t.dtype : DT_NONE) };
    TRY_MEM(d->seq, err);
    for (size_t i = 0; i < n; i++) {
        const Datum *item = &in[i]->d;
        if (item->kind != in[0]->d.kind || (tensors && item->t.dtype != in[0]->d.t.dtype))
            return sdx_fail(err, SDX_INVALID_ARGUMENT,
                            "Sequences must have tensors of the same data type, or maps: element %zu differs from the "
                            "first",
                            i);
        TRY(sdx_seq_insert(d->seq, (int64_t)i, item, err));
    }
    return SDX_OK;
}

static sdx_status make_map(const OrtValue *const *in, size_t n, Datum *d, Err *err)
{
    if (n != 2) return sdx_fail(err, SDX_INVALID_ARGUMENT, "For map type num_values MUST be 2, not %zu", n);
    const Datum *k = &in[0]->d, *v = &in[1]->d;
    if (k->kind != DATUM_TENSOR || v->kind != DATUM_TENSOR)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "keys and values of a map must be tensors");
    if (k->t.rank != 1 || v->t.rank != 1)
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "Either the key tensor or the value tensor has NumDimensions > 1");
    if (k->t.dims[0] != v->t.dims[0])
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "Key and value tensors have unequal number of elements.");
    if (k->t.dtype != DT_INT64 && k->t.dtype != DT_STRING)
        return sdx_fail(err, SDX_UNSUPPORTED, "keys of a map are int64 or string, not %s", sdx_dtype_name(k->t.dtype));
    *d = (Datum){ .kind = DATUM_MAP, .map = sdx_map_new(&sdx_alloc_default) };
    TRY_MEM(d->map, err);
    TRY(sdx_datum_share(&d->map->keys, k, &sdx_alloc_default, err));
    return sdx_datum_share(&d->map->values, v, &sdx_alloc_default, err);
}

OrtStatus *sdx_ort_CreateValue(const OrtValue *const *in, size_t n, int type, OrtValue **out)
{
    enum { SEQUENCE = 2, MAP = 3 };
    if (!in || !out) return sdx_ort_null("in or out");
    if (!n) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Number of values should be at least 1.");
    for (size_t i = 0; i < n; i++)
        if (!in[i]) return sdx_ort_null("a value");
    if (type != SEQUENCE && type != MAP)
        return sdx_ort_fail(ORT_FAIL, "Input is not of type sequence or map. It is %d", type);
    Datum d = { .kind = DATUM_NONE };
    Err err;
    sdx_err_clear(&err);
    sdx_status code = type == MAP ? make_map(in, n, &d, &err) : make_sequence(in, n, &d, &err);
    OrtStatus *st = code == SDX_INVALID_ARGUMENT ? sdx_ort_fail(ORT_FAIL, "%s", err.text) : sdx_ort_status(code, &err);
    if (!st) st = sdx_ort_value_new(&d, out);
    if (st) sdx_datum_clear(&d);
    return st;
}
