#include <string.h>

#include "ort/entries.h"

static OrtStatus *fill_tensor(const SymTab *syms, const Type *t, OrtTensorTypeAndShapeInfo *out)
{
    const Shape *s = &t->shape;
    size_t need = 1;
    *out = (OrtTensorTypeAndShapeInfo){ .dtype = t->elem, .rank = s->rank < 0 ? 0 : s->rank };
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

OrtStatus *sdx_ort_type_info(const SymTab *syms, const Type *t, OrtTypeInfo **out)
{
    OrtTypeInfo *info = sdx_alloc_zero(&sdx_alloc_default, sizeof *info);
    if (!info) return sdx_ort_no_memory();
    info->kind = t->kind;
    if (t->kind == TYPE_TENSOR) {
        OrtStatus *st = fill_tensor(syms, t, &info->tensor);
        if (st) {
            sdx_free(&sdx_alloc_default, info);
            return st;
        }
    }
    *out = info;
    return NULL;
}

void sdx_ort_ReleaseTypeInfo(OrtTypeInfo *t)
{
    if (t) sdx_free(&sdx_alloc_default, t->tensor.names);
    sdx_free(&sdx_alloc_default, t);
}

void sdx_ort_ReleaseTensorTypeAndShapeInfo(OrtTensorTypeAndShapeInfo *t)
{
    if (t) sdx_free(&sdx_alloc_default, t->names);
    sdx_free(&sdx_alloc_default, t);
}

OrtStatus *sdx_ort_CastTypeInfoToTensorInfo(const OrtTypeInfo *t, const OrtTensorTypeAndShapeInfo **out)
{
    *out = t->kind == TYPE_TENSOR ? &t->tensor : NULL;
    return NULL;
}

OrtStatus *sdx_ort_GetTensorElementType(const OrtTensorTypeAndShapeInfo *t, int *out)
{
    *out = (int)t->dtype;
    return NULL;
}

OrtStatus *sdx_ort_GetDimensionsCount(const OrtTensorTypeAndShapeInfo *t, size_t *out)
{
    *out = (size_t)t->rank;
    return NULL;
}

OrtStatus *sdx_ort_GetDimensions(const OrtTensorTypeAndShapeInfo *t, int64_t *dims, size_t n)
{
    for (size_t i = 0; i < n && i < (size_t)t->rank; i++) dims[i] = t->dims[i];
    return NULL;
}

OrtStatus *sdx_ort_GetSymbolicDimensions(const OrtTensorTypeAndShapeInfo *t, const char **symbols, size_t n)
{
    for (size_t i = 0; i < n && i < (size_t)t->rank; i++) symbols[i] = t->symbols[i] ? t->symbols[i] : "";
    return NULL;
}
