/* Public types, errors and names. */
#include <string.h>

#include "api/api.h"

_Static_assert((int)SDX_OPAQUE == 6, "kinds below are mapped by hand");

const char *sdx_version(void) { return "0.1.0"; }

void sdx_error_clear(sdx_error *err) { sdx_err_clear(api_err(err)); }

const char *sdx_status_name(sdx_status code) { return sdx_status_text(code); }

const char *sdx_dtype_text(sdx_dtype d) { return sdx_dtype_name((DType)d); }

int sdx_dtype_nbits(sdx_dtype d) { return d == SDX_STRING ? 0 : sdx_dtype_bits((DType)d); }

sdx_type *sdx_api_type(Arena *a, const SymTab *syms, const Type *t)
{
    char text[2048];
    sdx_type *out = sdx_arena_new(a, sdx_type);
    if (!out) return NULL;
    sdx_type_text(syms, t, text, sizeof text);
    *out = (sdx_type){ .type = *t, .syms = syms, .text = sdx_arena_strndup(a, text, strlen(text)) };
    if (t->of) out->of = sdx_api_type(a, syms, t->of);
    return out->text && (out->of || !t->of) ? out : NULL;
}

sdx_kind sdx_type_kind(const sdx_type *t)
{
    switch (t->type.kind) {
    case TYPE_UNKNOWN: return SDX_NONE;
    case TYPE_TENSOR: return SDX_TENSOR;
    case TYPE_SPARSE: return SDX_SPARSE_TENSOR;
    case TYPE_SEQUENCE: return SDX_SEQUENCE;
    case TYPE_MAP: return SDX_MAP;
    case TYPE_OPTIONAL: return SDX_OPTIONAL;
    case TYPE_OPAQUE: return SDX_OPAQUE;
    }
    return SDX_NONE;
}

sdx_dtype sdx_type_dtype(const sdx_type *t) { return (sdx_dtype)t->type.elem; }

static bool type_has_shape(const sdx_type *t) { return t->type.kind == TYPE_TENSOR || t->type.kind == TYPE_SPARSE; }

int sdx_type_rank(const sdx_type *t) { return type_has_shape(t) ? t->type.shape.rank : -1; }

int64_t sdx_type_dim(const sdx_type *t, int i)
{
    Dim d = i >= 0 && i < sdx_type_rank(t) ? t->type.shape.dims[i] : -1;
    return sdx_dim_is_const(d) ? d : -1;
}

const char *sdx_type_dim_symbol(const sdx_type *t, int i)
{
    if (i < 0 || i >= sdx_type_rank(t) || sdx_dim_is_const(t->type.shape.dims[i])) return "";
    const char *name = sdx_dim_name(t->syms, t->type.shape.dims[i]);
    return name ? name : "";
}

const sdx_type *sdx_type_of(const sdx_type *t) { return t->of; }

const char *sdx_type_string(const sdx_type *t) { return t->text; }
