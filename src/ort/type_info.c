#include <string.h>

#include "ort/entries.h"

OrtStatus *sdx_ort_shape_info(const SymTab *syms, const Type *t, OrtTensorTypeAndShapeInfo *out)
{
    const Shape *s = &t->shape;
    size_t need = 1;
    *out = (OrtTensorTypeAndShapeInfo){ .dtype = t->elem,
                                        .rank = s->rank < 0 ? 0 : s->rank,
                                        .has_no_shape = s->rank < 0 };
    for (int i = 0; i < out->rank; i++) {
        const char *name = sdx_dim_is_const(s->dims[i]) ? NULL : sdx_dim_name(syms, s->dims[i]);
        need += name ? strlen(name) + 1 : 0;
    }
    char *p = out->names = sdx_alloc(&sdx_alloc_default, need);
    if (!p) return sdx_ort_no_memory();
    *p++ = '\0'; /* the empty name */
    for (int i = 0; i < out->rank; i++) {
        bool known = sdx_dim_is_const(s->dims[i]);
        const char *name = known ? NULL : sdx_dim_name(syms, s->dims[i]);
        out->dims[i] = known ? s->dims[i] : -1;
        out->symbols[i] = name ? p : out->names;
        if (name) p = strcpy(p, name) + strlen(name) + 1;
    }
    return NULL;
}

static OrtTypeInfo *info_new(TypeKind kind)
{
    OrtTypeInfo *info = sdx_alloc_zero(&sdx_alloc_default, sizeof *info);
    if (!info) return NULL;
    info->refs = 1;
    info->kind = kind;
    return info;
}

/* Types nest no deeper than the importer lets them. */
OrtStatus *sdx_ort_type_info(const SymTab *syms, const Type *t, OrtTypeInfo **out)
{
    OrtTypeInfo *info = info_new(t->kind);
    OrtStatus *st = NULL;
    if (!info) return sdx_ort_no_memory();
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) st = sdx_ort_shape_info(syms, t, &info->tensor);
    if (t->kind == TYPE_MAP) info->tensor.dtype = t->elem;
    if (!st && t->of) st = sdx_ort_type_info(syms, t->of, &info->of);
    if (st)
        sdx_ort_ReleaseTypeInfo(info);
    else
        *out = info;
    return st;
}

void sdx_ort_ReleaseTypeInfo(OrtTypeInfo *t)
{
    if (!t || __atomic_sub_fetch(&t->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    sdx_ort_ReleaseTypeInfo(t->of);
    sdx_free(&sdx_alloc_default, t->tensor.names);
    sdx_free(&sdx_alloc_default, t);
}

void sdx_ort_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *t)
{
    if (t) sdx_free(&sdx_alloc_default, t->names);
    sdx_free(&sdx_alloc_default, t);
}

/* -- of values ----------------------------------------------------------------------------------------------------- */

static void of_tensor(const Tensor *t, OrtTensorTypeAndShapeInfo *out)
{
    *out = (OrtTensorTypeAndShapeInfo){ .dtype = t->dtype, .rank = t->rank };
    memcpy(out->dims, t->dims, sizeof out->dims);
}

/* The shape that it stands for. */
static void of_sparse(const Sparse *s, OrtTensorTypeAndShapeInfo *out)
{
    *out = (OrtTensorTypeAndShapeInfo){ .dtype = s->values.t.dtype, .rank = s->rank };
    memcpy(out->dims, s->dims, sizeof out->dims);
}

static OrtStatus *of_datum(const Datum *d, OrtTypeInfo **out)
{
    static const TypeKind kinds[] = { [DATUM_NONE] = TYPE_OPTIONAL,
                                      [DATUM_TENSOR] = TYPE_TENSOR,
                                      [DATUM_SEQUENCE] = TYPE_SEQUENCE,
                                      [DATUM_MAP] = TYPE_MAP,
                                      [DATUM_SPARSE] = TYPE_SPARSE };
    OrtTypeInfo *info = info_new(kinds[d->kind]);
    OrtStatus *st = NULL;
    if (!info) return sdx_ort_no_memory();
    if (d->kind == DATUM_TENSOR) of_tensor(&d->t, &info->tensor);
    if (d->kind == DATUM_SPARSE) of_sparse(d->sparse, &info->tensor);
    if (d->kind == DATUM_SEQUENCE && d->seq->n) {
        st = of_datum(&d->seq->items[0], &info->of);
    } else if (d->kind == DATUM_SEQUENCE) {
        info->of = info_new(TYPE_TENSOR);
        if (info->of) info->of->tensor.dtype = d->seq->elem;
    }
    if (d->kind == DATUM_MAP) {
        info->tensor.dtype = d->map->keys.t.dtype;
        st = of_datum(&d->map->values, &info->of);
    }
    if (st)
        sdx_ort_ReleaseTypeInfo(info);
    else
        *out = info;
    return st;
}

OrtStatus *sdx_ort_GetTypeInfo(const OrtValue *v, OrtTypeInfo **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    return of_datum(&v->d, out);
}

OrtStatus *sdx_ort_GetTensorTypeAndShape(const OrtValue *v, OrtTensorTypeAndShapeInfo **out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    if (v->d.kind != DATUM_TENSOR && v->d.kind != DATUM_SPARSE)
        return sdx_ort_fail(ORT_FAIL, "Argument is not a tensor or sparse tensor");
    OrtTensorTypeAndShapeInfo *info = sdx_alloc(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    if (v->d.kind == DATUM_TENSOR)
        of_tensor(&v->d.t, info);
    else
        of_sparse(v->d.sparse, info);
    *out = info;
    return NULL;
}

OrtStatus *sdx_ort_shape_of(const Tensor *t, OrtTensorTypeAndShapeInfo **out)
{
    OrtTensorTypeAndShapeInfo *info = sdx_alloc(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    of_tensor(t, info);
    *out = info;
    return NULL;
}

/* ONNXType: unknown 0, tensor 1, sequence 2, map 3, opaque 4, sparse tensor 5, optional 6. */
static int abi_kind(TypeKind k)
{
    static const int codes[] = { [TYPE_UNKNOWN] = 0, [TYPE_TENSOR] = 1,   [TYPE_SPARSE] = 5, [TYPE_SEQUENCE] = 2,
                                 [TYPE_MAP] = 3,     [TYPE_OPTIONAL] = 6, [TYPE_OPAQUE] = 4 };
    return codes[k];
}

OrtStatus *sdx_ort_GetOnnxTypeFromTypeInfo(const OrtTypeInfo *t, int *out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = abi_kind(t->kind);
    return NULL;
}

OrtStatus *sdx_ort_GetValueType(const OrtValue *v, int *out)
{
    if (!v || !out) return sdx_ort_null("value or out");
    OrtTypeInfo *info;
    OrtStatus *st = of_datum(&v->d, &info);
    if (st) return st;
    *out = v->d.kind == DATUM_NONE ? 0 : abi_kind(info->kind);
    sdx_ort_ReleaseTypeInfo(info);
    return NULL;
}

/* -- parts --------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_CastTypeInfoToTensorInfo(const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE ? &t->tensor : NULL;
    return NULL;
}

OrtStatus *sdx_ort_CastTypeInfoToMapTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = t->kind == TYPE_MAP ? t : NULL;
    return NULL;
}

OrtStatus *sdx_ort_CastTypeInfoToSequenceTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = t->kind == TYPE_SEQUENCE ? t : NULL;
    return NULL;
}

OrtStatus *sdx_ort_CastTypeInfoToOptionalTypeInfo(const OrtTypeInfo *t, const OrtTypeInfo **out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = t->kind == TYPE_OPTIONAL ? t : NULL;
    return NULL;
}

/* A reference of the caller's. */
static OrtStatus *content(const OrtTypeInfo *t, OrtTypeInfo **out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    if (!t->of) return sdx_ort_fail(ORT_FAIL, "the type of the content is not known");
    __atomic_fetch_add(&t->of->refs, 1, __ATOMIC_RELAXED);
    *out = t->of;
    return NULL;
}

OrtStatus *sdx_ort_GetMapValueType(const OrtTypeInfo *t, OrtTypeInfo **out) { return content(t, out); }
OrtStatus *sdx_ort_GetSequenceElementType(const OrtTypeInfo *t, OrtTypeInfo **out) { return content(t, out); }
OrtStatus *sdx_ort_GetOptionalContainedTypeInfo(const OrtTypeInfo *t, OrtTypeInfo **out) { return content(t, out); }

OrtStatus *sdx_ort_GetMapKeyType(const OrtTypeInfo *t, int *out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = sdx_ort_dtype_code(t->tensor.dtype);
    return NULL;
}

OrtStatus *sdx_ort_GetDenotationFromTypeInfo(const OrtTypeInfo *t, const char **out, size_t *len)
{
    if (!t || !out || !len) return sdx_ort_null("type info or an out");
    /* denotations are not kept */
    *out = "";
    *len = 0;
    return NULL;
}

/* -- shapes -------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_CreateTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo **out)
{
    if (!out) return sdx_ort_null("out");
    *out = sdx_alloc_zero(&sdx_alloc_default, sizeof **out);
    return *out ? NULL : sdx_ort_no_memory();
}

OrtStatus *sdx_ort_SetTensorElementType(OrtTensorTypeAndShapeInfo *t, int type)
{
    if (!t) return sdx_ort_null("type info");
    DType d = sdx_ort_dtype(type);
    if (d == DT_NONE && type) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "element type %d is unknown", type);
    t->dtype = d;
    return NULL;
}

OrtStatus *sdx_ort_SetDimensions(OrtTensorTypeAndShapeInfo *t, const int64_t *dims, size_t n)
{
    if (!t || (n && !dims)) return sdx_ort_null("type info or dimensions");
    if (n > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", n, SDX_MAX_RANK);
    if (n) memcpy(t->dims, dims, n * sizeof *dims);
    t->rank = (int)n;
    t->has_no_shape = false;
    return NULL;
}

/* -1 when a size is not known. */
OrtStatus *sdx_ort_GetTensorShapeElementCount(const OrtTensorTypeAndShapeInfo *t, size_t *out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    int64_t n;
    for (int i = 0; i < t->rank; i++)
        if (t->dims[i] < 0) return *out = (size_t)-1, NULL;
    if (!sdx_shape_count(t->dims, t->rank, &n)) return sdx_ort_fail(ORT_FAIL, "the number of elements overflows");
    *out = (size_t)n;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorElementType(const OrtTensorTypeAndShapeInfo *t, int *out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = sdx_ort_dtype_code(t->dtype);
    return NULL;
}

OrtStatus *sdx_ort_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *t, size_t *out)
{
    if (!t || !out) return sdx_ort_null("type info or out");
    *out = (size_t)t->rank;
    return NULL;
}

OrtStatus *sdx_ort_GetDimensions(const OrtTensorTypeAndShapeInfo *t, int64_t *dims, size_t n)
{
    if (!t || (n && !dims)) return sdx_ort_null("type info or dimensions");
    for (size_t i = 0; i < n && i < (size_t)t->rank; i++) dims[i] = t->dims[i];
    return NULL;
}

OrtStatus *sdx_ort_GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n)
{
    if (!t || (n && !symbols)) return sdx_ort_null("type info or symbols");
    for (size_t i = 0; i < n && i < (size_t)t->rank; i++) symbols[i] = t->symbols[i] ? t->symbols[i] : "";
    return NULL;
}

/* NULL and "": none. */
OrtStatus *sdx_ort_SetSymbolicDimensions(OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n)
{
    size_t need = 1;
    if (!t || (n && !symbols)) return sdx_ort_null("type info or symbols");
    if (n > SDX_MAX_RANK) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "rank %zu is above %d", n, SDX_MAX_RANK);
    for (size_t i = 0; i < n; i++) need += symbols[i] ? strlen(symbols[i]) + 1 : 0;
    char *names = sdx_alloc(&sdx_alloc_default, need), *p = names;
    if (!p) return sdx_ort_no_memory();
    *p++ = '\0';
    for (size_t i = 0; i < n; i++) {
        const char *name = symbols[i];
        t->symbols[i] = name ? p : names;
        if (name) p = strcpy(p, name) + strlen(name) + 1;
    }
    for (size_t i = n; i < SDX_MAX_RANK; i++) t->symbols[i] = NULL;
    sdx_free(&sdx_alloc_default, t->names);
    t->names = names;
    return NULL;
}

bool sdx_ort_TensorTypeAndShape_HasShape(const OrtTensorTypeAndShapeInfo *t) { return t && !t->has_no_shape; }

/* Casts borrow: what they give is not released. */
void sdx_ort_ReleaseMapTypeInfo(OrtTypeInfo *t) { (void)t; }
void sdx_ort_ReleaseSequenceTypeInfo(OrtTypeInfo *t) { (void)t; }

/* The dimensions belong to the value. */
OrtStatus *sdx_ort_GetTensorElementTypeAndShapeDataReference(const OrtValue *v, int *type, const int64_t **dims,
                                                             size_t *rank)
{
    if (!v || !type || !dims || !rank) return sdx_ort_null("value or an out");
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Input `value` must contain a tensor");
    *type = sdx_ort_dtype_code(v->d.t.dtype);
    *rank = (size_t)v->d.t.rank;
    *dims = *rank ? v->d.t.dims : NULL;
    return NULL;
}
