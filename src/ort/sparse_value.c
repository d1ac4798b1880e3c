/* Sparse values: COO, CSR and blocks. Values and indices are copied, or stay in the caller's memory. */
#include <string.h>

#include "ort/entries.h"

enum { FORMAT_NONE = 0, FORMAT_COO = 1, FORMAT_CSR = 2, FORMAT_BLOCKS = 4 };
enum { COO_INDICES, CSR_INNER, CSR_OUTER, BLOCK_INDICES };

void sdx_ort_form_free(OrtSparseForm *f)
{
    if (f) sdx_datum_clear(&f->outer);
    sdx_free(&sdx_alloc_default, f);
}

static OrtStatus *no_sparse(void)
{
    return sdx_ort_fail(ORT_FAIL, "the ORT format Value is not a constructed sparse tensor");
}

static int format_of(const OrtValue *v) { return v->form ? v->form->format : FORMAT_COO; }

/* -- making -------------------------------------------------------------------------------------------------------- */

static OrtStatus *shape(const int64_t *dims, size_t rank, Tensor *t)
{
    if (rank && !dims) return sdx_ort_null("a shape");
    if (rank > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", rank, SDX_MAX_RANK);
    t->rank = (int32_t)rank;
    if (rank) memcpy(t->dims, dims, rank * sizeof *dims);
    size_t nbytes;
    if (sdx_tensor_nbytes(t, &nbytes)) return NULL;
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "a shape has a negative size, or is too large");
}

static OrtStatus *sparse_new(const int64_t *dims, size_t rank, int type, OrtValue **out)
{
    Tensor dense = { .dtype = sdx_ort_dtype(type) };
    if (!out) return sdx_ort_null("out");
    if (dense.dtype == DT_NONE) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "tensor type %d is not supported", type);
    OrtStatus *st = shape(dims, rank, &dense);
    if (st) return st;
    Datum d = { .kind = DATUM_SPARSE, .sparse = sdx_sparse_new(&sdx_alloc_default) };
    OrtSparseForm *form = sdx_alloc_zero(&sdx_alloc_default, sizeof *form);
    if (!d.sparse || !form) {
        sdx_datum_clear(&d);
        sdx_ort_form_free(form);
        return sdx_ort_no_memory();
    }
    d.sparse->rank = dense.rank;
    memcpy(d.sparse->dims, dense.dims, sizeof dense.dims);
    d.sparse->values = (Datum){ .kind = DATUM_TENSOR, .t = { .dtype = dense.dtype, .rank = 1 } };
    st = sdx_ort_value_new(&d, out);
    if (st) {
        sdx_datum_clear(&d);
        sdx_ort_form_free(form);
    } else {
        (*out)->form = form;
    }
    return st;
}

/* Its memory is ours in any case. */
OrtStatus *sdx_ort_CreateSparseTensorAsOrtValue(OrtAllocator *a, const int64_t *dims, size_t rank, int type,
                                                OrtValue **out)
{
    return a ? sparse_new(dims, rank, type, out) : sdx_ort_null("allocator");
}

OrtStatus *sdx_ort_CreateSparseTensorWithValuesAsOrtValue(const OrtMemoryInfo *info, void *data, const int64_t *dims,
                                                          size_t rank, const int64_t *values_dims, size_t values_rank,
                                                          int type, OrtValue **out)
{
    if (!info || !data) return sdx_ort_null("memory info or data");
    if (sdx_ort_dtype(type) == DT_STRING)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "Can not use strings in pre-allocated memory. Use CreateSparseTensorAsOrtValue");
    OrtStatus *st = sparse_new(dims, rank, type, out);
    if (st) return st;
    Tensor *t = &(*out)->d.sparse->values.t;
    st = shape(values_dims, values_rank, t);
    if (st) {
        sdx_ort_ReleaseValue(*out);
        return st;
    }
    t->data = data;
    return NULL;
}

/* -- filling ------------------------------------------------------------------------------------------------------- */

static OrtStatus *check(const OrtValue *v, bool fills)
{
    if (!v) return sdx_ort_null("value");
    if (v->d.kind != DATUM_SPARSE || !v->form) return no_sparse();
    if (v->form->format != FORMAT_NONE)
        return sdx_ort_fail(ORT_FAIL, "the sparse tensor has its format already, %d", v->form->format);
    if (!fills && !v->d.sparse->values.t.data && sdx_tensor_count(&v->d.sparse->values.t))
        return sdx_ort_fail(ORT_FAIL, "the sparse tensor has no values yet");
    return NULL;
}

/* A list of indices: the caller's, or a copy of them. */
static OrtStatus *indices(Datum *d, DType type, int rank, const int64_t *dims, const void *data, bool copies)
{
    Tensor t = { .dtype = type, .data = (void *)data };
    OrtStatus *st = shape(dims, (size_t)rank, &t);
    if (st) return st;
    if (!data && sdx_tensor_count(&t)) return sdx_ort_null("indices");
    Err err = { 0 };
    if (copies) return sdx_ort_status(sdx_datum_copy(d, &t, &sdx_alloc_default, &err), &err);
    *d = (Datum){ .kind = DATUM_TENSOR, .t = t };
    return NULL;
}

/* Strings come as an array of texts. */
static OrtStatus *fill_values(OrtValue *v, const int64_t *dims, size_t rank, const void *data)
{
    Datum *d = &v->d.sparse->values;
    Tensor t = { .dtype = d->t.dtype, .data = (void *)data };
    OrtStatus *st = shape(dims, rank, &t);
    if (st) return st;
    int64_t n = sdx_tensor_count(&t);
    Err err = { 0 };
    Str *list = NULL;
    if (n && !data) return sdx_ort_null("values");
    if (t.dtype == DT_STRING) {
        const char *const *texts = data;
        list = sdx_alloc(&sdx_alloc_default, (size_t)(n + 1) * sizeof *list);
        if (!list) return sdx_ort_no_memory();
        for (int64_t i = 0; i < n; i++) list[i] = (Str){ texts[i] ? texts[i] : "", texts[i] ? strlen(texts[i]) : 0 };
        t.data = list;
    }
    Datum copy;
    sdx_status code = sdx_datum_copy(&copy, &t, &sdx_alloc_default, &err);
    sdx_free(&sdx_alloc_default, list);
    if (code != SDX_OK) return sdx_ort_status(code, &err);
    sdx_datum_clear(d);
    *d = copy;
    return NULL;
}

/* n: numbers in the list, one or (rank 2) two for each value. */
static OrtStatus *set_coo(OrtValue *v, const int64_t *data, size_t n, bool copies)
{
    int64_t nnz = sdx_tensor_count(&v->d.sparse->values.t);
    bool linear = n == (size_t)nnz, pairs = v->d.sparse->rank == 2 && n == (size_t)nnz * 2;
    if (!linear && !pairs)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%zu indices for %lld values of rank %d", n, (long long)nnz,
                            v->d.sparse->rank);
    OrtStatus *st = indices(&v->d.sparse->indices, DT_INT64, linear ? 1 : 2, (int64_t[]){ nnz, 2 }, data, copies);
    if (!st) v->form->format = FORMAT_COO;
    return st;
}

static OrtStatus *set_csr(OrtValue *v, const int64_t *inner, size_t n_inner, const int64_t *outer, size_t n_outer,
                          bool copies)
{
    const Sparse *s = v->d.sparse;
    if (s->rank != 2) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "CSR is for matrices, not for rank %d", s->rank);
    int64_t nnz = sdx_tensor_count(&s->values.t), rows = s->dims[0];
    if (n_inner != (size_t)nnz || (n_outer != (size_t)rows + 1 && (nnz || n_outer)))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "%zu inner and %zu outer indices for %lld values in %lld rows",
                            n_inner, n_outer, (long long)nnz, (long long)rows);
    int64_t dims[] = { (int64_t)n_inner, (int64_t)n_outer };
    OrtStatus *st = indices(&v->d.sparse->indices, DT_INT64, 1, dims, inner, copies);
    if (!st) st = indices(&v->form->outer, DT_INT64, 1, dims + 1, outer, copies);
    if (!st) v->form->format = FORMAT_CSR;
    return st;
}

static OrtStatus *set_blocks(OrtValue *v, const int64_t *dims, size_t rank, const int32_t *data, bool copies)
{
    if (rank != 2 || !dims || dims[0] != 2)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "indices of blocks have the shape [2, blocks]");
    OrtStatus *st = indices(&v->d.sparse->indices, DT_INT32, (int)rank, dims, data, copies);
    if (!st) v->form->format = FORMAT_BLOCKS;
    return st;
}

OrtStatus *sdx_ort_FillSparseTensorCoo(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                       const void *values, const int64_t *data, size_t n)
{
    OrtStatus *st = info ? check(v, true) : sdx_ort_null("memory info");
    if (!st) st = fill_values(v, dims, rank, values);
    return st ? st : set_coo(v, data, n, true);
}

OrtStatus *sdx_ort_FillSparseTensorCsr(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                       const void *values, const int64_t *inner, size_t n_inner, const int64_t *outer,
                                       size_t n_outer)
{
    OrtStatus *st = info ? check(v, true) : sdx_ort_null("memory info");
    if (!st) st = fill_values(v, dims, rank, values);
    return st ? st : set_csr(v, inner, n_inner, outer, n_outer, true);
}

OrtStatus *sdx_ort_FillSparseTensorBlockSparse(OrtValue *v, const OrtMemoryInfo *info, const int64_t *dims, size_t rank,
                                               const void *values, const int64_t *index_dims, size_t index_rank,
                                               const int32_t *data)
{
    OrtStatus *st = info ? check(v, true) : sdx_ort_null("memory info");
    if (!st) st = fill_values(v, dims, rank, values);
    return st ? st : set_blocks(v, index_dims, index_rank, data, true);
}

OrtStatus *sdx_ort_UseCooIndices(OrtValue *v, int64_t *data, size_t n)
{
    OrtStatus *st = check(v, false);
    return st ? st : set_coo(v, data, n, false);
}

OrtStatus *sdx_ort_UseCsrIndices(OrtValue *v, int64_t *inner, size_t n_inner, int64_t *outer, size_t n_outer)
{
    OrtStatus *st = check(v, false);
    return st ? st : set_csr(v, inner, n_inner, outer, n_outer, false);
}

OrtStatus *sdx_ort_UseBlockSparseIndices(OrtValue *v, const int64_t *dims, size_t rank, int32_t *data)
{
    OrtStatus *st = check(v, false);
    return st ? st : set_blocks(v, dims, rank, data, false);
}

/* -- reading ------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_IsSparseTensor(const OrtValue *v, int *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    *out = v->d.kind == DATUM_SPARSE;
    return NULL;
}

OrtStatus *sdx_ort_GetSparseTensorFormat(const OrtValue *v, int *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_SPARSE) return no_sparse();
    *out = format_of(v);
    return NULL;
}

OrtStatus *sdx_ort_GetSparseTensorValuesTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    return v->d.kind == DATUM_SPARSE ? sdx_ort_shape_of(&v->d.sparse->values.t, out) : no_sparse();
}

OrtStatus *sdx_ort_GetSparseTensorValues(const OrtValue *v, const void **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_SPARSE) return no_sparse();
    if (v->d.sparse->values.t.dtype == DT_STRING)
        return sdx_ort_fail(ORT_FAIL, "Use GetStringTensor*() API to retrieve strings");
    *out = v->d.sparse->values.t.data;
    return NULL;
}

static OrtStatus *find_indices(const OrtValue *v, int which, const Tensor **out)
{
    static const int formats[] = { FORMAT_COO, FORMAT_CSR, FORMAT_CSR, FORMAT_BLOCKS };
    if (!v) return sdx_ort_null("value");
    if (v->d.kind != DATUM_SPARSE) return no_sparse();
    if (which < COO_INDICES || which > BLOCK_INDICES)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Unsupported indices_format passed: %d", which);
    if (format_of(v) != formats[which])
        return sdx_ort_fail(ORT_FAIL, "the sparse tensor has format %d, and no indices of kind %d", format_of(v),
                            which);
    *out = which == CSR_OUTER ? &v->form->outer.t : &v->d.sparse->indices.t;
    return NULL;
}

OrtStatus *sdx_ort_GetSparseTensorIndicesTypeShape(const OrtValue *v, int which, OrtTensorTypeAndShapeInfo **out)
{
    const Tensor *t;
    if (!out) return sdx_ort_null("out");
    OrtStatus *st = find_indices(v, which, &t);
    return st ? st : sdx_ort_shape_of(t, out);
}

OrtStatus *sdx_ort_GetSparseTensorIndices(const OrtValue *v, int which, size_t *n, const void **out)
{
    const Tensor *t;
    if (!n || !out) return sdx_ort_null("an out");
    OrtStatus *st = find_indices(v, which, &t);
    if (st) return st;
    *n = (size_t)sdx_tensor_count(t);
    *out = t->data;
    return NULL;
}
