/* Elements of tensors: where a file keeps them, and what has to be decoded. */
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "tensor/element.h"

/* Misaligned elements up to this size are copied to an aligned place at import (see sdx_value_align). */
#define COPY_MAX ((size_t)16 << 10)

/* -- typed fields -------------------------------------------------------------------------------------------------- */

/* The field of TensorProto that holds elements of the type when raw_data does not. */
static uint32_t typed_field(DType d)
{
    switch (d) {
    case DT_FLOAT:
    case DT_COMPLEX64: return 4;
    case DT_STRING: return 6;
    case DT_INT64: return 7;
    case DT_DOUBLE:
    case DT_COMPLEX128: return 10;
    case DT_UINT32:
    case DT_UINT64: return 11;
    default: return 5;
    }
}

static const char *typed_field_name(uint32_t field)
{
    switch (field) {
    case 4: return "float_data";
    case 6: return "string_data";
    case 7: return "int64_data";
    case 10: return "double_data";
    case 11: return "uint64_data";
    default: return "int32_data";
    }
}

static WireType typed_wire(uint32_t field)
{
    return field == 4 ? WIRE_4 : field == 10 ? WIRE_8 : field == 6 ? WIRE_BYTES : WIRE_VARINT;
}

/* How many entries of its typed field a tensor of count elements has. */
static size_t typed_entries(DType d, int64_t count, size_t nbytes)
{
    int bits = sdx_dtype_bits(d);
    if (d == DT_COMPLEX64 || d == DT_COMPLEX128) return (size_t)count * 2;
    return bits == 2 || bits == 4 ? nbytes : (size_t)count;
}

/* Sum over the parts of the message; *block is the only packed block when there is just one. */
static sdx_status count_typed(const PTensor *p, uint32_t field, size_t *count, Str *block, Err *err)
{
    WireType elem = typed_wire(field);
    int n_blocks = 0;
    *count = 0;
    for (int i = 0; i < p->messages.n; i++) {
        Wire w = sdx_wire(p->messages.v[i].p, p->messages.v[i].n, "TensorProto");
        for (WireField f; sdx_wire_next(&w, &f);) {
            if (f.number != field) continue;
            *count += elem == WIRE_BYTES ? 1 : sdx_wire_count(&w, &f, elem);
            n_blocks += f.type == WIRE_BYTES ? 1 : 2;
            *block = f.bytes;
        }
        TRY(sdx_wire_end(&w, err));
    }
    if (n_blocks != 1) *block = (Str){ 0 };
    return SDX_OK;
}

/* One entry of int32_data, int64_data or uint64_data: the low bits, as the wire extends signs. */
static void put_ints(DType d, void *dst, size_t at, const int64_t *v, size_t n)
{
    int bits = sdx_dtype_bits(d);
    uint8_t *to = dst;
    for (size_t i = 0; i < n; i++) {
        uint64_t x = d == DT_BOOL ? v[i] != 0 : (uint64_t)v[i];
        if (bits == 6)
            sdx_element_set_bits(d, dst, (int64_t)(at + i), x);
        else if (bits <= 8)
            to[at + i] = (uint8_t)x;
        else if (bits == 16)
            ((uint16_t *)dst)[at + i] = (uint16_t)x;
        else if (bits == 32)
            ((uint32_t *)dst)[at + i] = (uint32_t)x;
        else
            ((uint64_t *)dst)[at + i] = x;
    }
}

/* A packed block of varints, a few at a time: no second copy of large lists. */
static void decode_ints(Wire *w, const WireField *f, DType d, void *dst, size_t *at)
{
    int64_t some[64];
    if (f->type == WIRE_VARINT) {
        some[0] = (int64_t)f->v;
        put_ints(d, dst, (*at)++, some, 1);
        return;
    }
    WireField part = *f;
    const char *end = f->bytes.p + f->bytes.n;
    while (part.bytes.p < end && !w->bad) {
        /* at most 64 numbers, ending where a number ends */
        const char *q = part.bytes.p;
        for (size_t n = 0; q < end && n < 64; q++) n += !(*q & 0x80);
        part.bytes.n = (size_t)(q - part.bytes.p);
        size_t n = sdx_wire_ints(w, &part, some);
        put_ints(d, dst, *at, some, n);
        *at += n;
        part.bytes.p = q;
    }
}

static sdx_status decode_typed(const PTensor *p, DType d, uint32_t field, void *dst, Err *err)
{
    WireType elem = typed_wire(field);
    size_t at = 0;
    for (int i = 0; i < p->messages.n; i++) {
        Wire w = sdx_wire(p->messages.v[i].p, p->messages.v[i].n, "TensorProto");
        for (WireField f; sdx_wire_next(&w, &f);) {
            if (f.number != field) continue;
            if (elem == WIRE_BYTES)
                ((Str *)dst)[at++] = sdx_wire_string(&w, &f);
            else if (elem == WIRE_VARINT)
                decode_ints(&w, &f, d, dst, &at);
            else
                at += sdx_wire_fixed(&w, &f, elem, (char *)dst + at * (elem == WIRE_4 ? 4 : 8));
        }
        TRY(sdx_wire_end(&w, err));
    }
    return SDX_OK;
}

/* -- checks -------------------------------------------------------------------------------------------------------- */

/* Type, shape and size of p; t gets everything but data. */
static sdx_status tensor_header(const PTensor *p, Tensor *t, int64_t *count, size_t *nbytes, Err *err)
{
    char dims[128];
    if (!sdx_dtype_is_valid(p->dtype))
        return sdx_fail(err, SDX_INVALID_MODEL, "element type %d is not defined", (int)p->dtype);
    if (p->has_segment) return sdx_fail(err, SDX_UNSUPPORTED, "it is stored in segments");
    *t = (Tensor){ .dtype = (DType)p->dtype, .rank = p->rank };
    memcpy(t->dims, p->dims, sizeof t->dims);
    if (!sdx_shape_count(t->dims, t->rank, count) || !sdx_tensor_nbytes(t, nbytes))
        return sdx_fail(err, SDX_INVALID_MODEL, "shape %s has a negative dim or too many elements",
                        sdx_dims_text(dims, sizeof dims, t->dims, t->rank));
    return SDX_OK;
}

static sdx_status wrong_size(const Tensor *t, const char *where, size_t got, const char *unit, size_t want, Err *err)
{
    char dims[128];
    return sdx_fail(err, SDX_INVALID_MODEL, "%s holds %zu %s, but %s%s takes %zu", where, got, unit,
                    sdx_dtype_name(t->dtype), sdx_dims_text(dims, sizeof dims, t->dims, t->rank), want);
}

/* Writes the elements to t->data: a copy of `bytes`, or decoded from the typed field when there are none. */
static sdx_status fill(const PTensor *p, const Tensor *t, Str bytes, size_t nbytes, Err *err)
{
    if (!bytes.p) {
        if (sdx_dtype_bits(t->dtype) == 6) memset(t->data, 0, nbytes); /* written bit by bit, padding stays 0 */
        return decode_typed(p, t->dtype, typed_field(t->dtype), t->data, err);
    }
    memcpy(t->data, bytes.p, nbytes);
    if (t->dtype == DT_BOOL)
        for (size_t i = 0; i < nbytes; i++) ((uint8_t *)t->data)[i] = bytes.p[i] != 0;
    return SDX_OK;
}

/* Elements that lie in the message as they are in memory: raw_data, or one block of floats. bytes->p NULL: none do. */
static sdx_status elements_in_place(const PTensor *p, const Tensor *t, int64_t count, size_t nbytes, Str *bytes,
                                    Err *err)
{
    *bytes = (Str){ 0 };
    if (p->has_raw && p->raw.n) {
        if (t->dtype == DT_STRING) return sdx_fail(err, SDX_INVALID_MODEL, "strings cannot be in raw_data");
        if (p->raw.n != nbytes) return wrong_size(t, "raw_data", p->raw.n, "bytes", nbytes, err);
        *bytes = p->raw;
        return SDX_OK;
    }
    uint32_t field = typed_field(t->dtype);
    size_t got = 0, want = typed_entries(t->dtype, count, nbytes);
    Str block = { 0 };
    TRY(count_typed(p, field, &got, &block, err));
    if (got != want) return wrong_size(t, typed_field_name(field), got, "entries", want, err);
    if (field == 4 || field == 10) *bytes = block;
    return SDX_OK;
}

sdx_status sdx_proto_check(const PTensor *p, Tensor *t, Err *err)
{
    int64_t count;
    size_t nbytes;
    Str bytes;
    TRY(tensor_header(p, t, &count, &nbytes, err));
    if (p->external) return sdx_fail(err, SDX_UNSUPPORTED, "its elements are in another file");
    return count ? elements_in_place(p, t, count, nbytes, &bytes, err) : SDX_OK;
}

sdx_status sdx_proto_elements(const PTensor *p, const Tensor *t, Err *err)
{
    int64_t count = sdx_tensor_count(t);
    size_t nbytes;
    Str bytes;
    if (!count) return SDX_OK;
    if (!sdx_tensor_nbytes(t, &nbytes)) return sdx_fail(err, SDX_INTERNAL, "an unchecked tensor");
    TRY(elements_in_place(p, t, count, nbytes, &bytes, err));
    return fill(p, t, bytes, nbytes, err);
}

/* -- external data ------------------------------------------------------------------------------------------------- */

struct ExternalFile {
    ExternalFile *next;
    const char *location;
    Source source;
    const Buf *whole; /* mapped once; the model owns it. NULL: read range by range */
};

static sdx_status external_open(TensorReader *r, const char *location, ExternalFile **out, Err *err)
{
    for (ExternalFile *f = r->files; f; f = f->next)
        if (strcmp(f->location, location) == 0) {
            *out = f;
            return SDX_OK;
        }
    ExternalFile *f = sdx_arena_new(&r->model->arena, ExternalFile);
    TRY_ARENA(f, &r->model->arena, err);
    f->location = location;
    f->source.fd = -1;
    const char *dirs[] = { r->dir, r->real_dir };
    if (r->opener)
        TRY(r->opener->open(r->opener->user, location, &f->source, err));
    else if (r->dir)
        TRY(sdx_source_under(&f->source, r->alloc, dirs, 2, location, err));
    else
        return sdx_fail(err, SDX_INVALID_ARGUMENT, "%s: a model without a folder cannot have data in other files",
                        location);
    f->next = r->files;
    r->files = f;
    *out = f;
    if (r->load == LOAD_MAP && (f->source.fd >= 0 || f->source.memory)) {
        Buf *b;
        TRY(sdx_source_bytes(&f->source, 0, f->source.size, LOAD_MAP, &b, err));
        TRY(sdx_model_own(r->model, b, err));
        f->whole = b;
    }
    return SDX_OK;
}

static sdx_status decimal(Str s, const char *key, uint64_t *out, Err *err)
{
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        unsigned digit = (unsigned char)s.p[i] - (unsigned)'0';
        if (digit > 9 || v > (UINT64_MAX - digit) / 10)
            return sdx_fail(err, SDX_INVALID_MODEL, "external_data: %s `%.*s` is no number", key, STR_ARG(s));
        v = v * 10 + digit;
    }
    if (!s.n) return sdx_fail(err, SDX_INVALID_MODEL, "external_data: %s is empty", key);
    *out = v;
    return SDX_OK;
}

/* Keys: location, offset, length; checksum is informative and basepath some writers' own. */
static sdx_status external_bytes(TensorReader *r, const PTensor *p, const Tensor *t, size_t nbytes, Str *bytes,
                                 Err *err)
{
    Str location = { 0 };
    uint64_t offset = 0, length = nbytes;
    if (t->dtype == DT_STRING) return sdx_fail(err, SDX_INVALID_MODEL, "strings cannot be external");
    for (int i = 0; i < p->external_data.n; i++) {
        const PEntry *e = &p->external_data.v[i];
        if (sdx_str_is(e->key, "location")) location = e->value;
        if (sdx_str_is(e->key, "offset")) TRY(decimal(e->value, "offset", &offset, err));
        if (sdx_str_is(e->key, "length")) TRY(decimal(e->value, "length", &length, err));
    }
    if (!location.n) return sdx_fail(err, SDX_INVALID_MODEL, "external_data has no location");
    if (memchr(location.p, 0, location.n)) return sdx_fail(err, SDX_INVALID_MODEL, "its location holds a zero byte");
    if (sdx_str_is(location, "*/_ORT_MEM_ADDR_/*"))
        return sdx_fail(err, SDX_INVALID_MODEL, "its elements are in the memory of the process that wrote the file");
    const char *name = sdx_arena_strndup(&r->model->arena, location.p, location.n);
    TRY_ARENA(name, &r->model->arena, err);
    if (length != nbytes) return wrong_size(t, name, (size_t)length, "bytes", nbytes, err);
    ExternalFile *f = NULL;
    TRY(external_open(r, name, &f, err));
    if (offset > f->source.size || length > f->source.size - offset)
        return sdx_fail(err, SDX_INVALID_MODEL, "bytes %llu to %llu lie outside the %llu bytes of %s",
                        (unsigned long long)offset, (unsigned long long)(offset + length),
                        (unsigned long long)f->source.size, name);
    if (f->whole) {
        *bytes = (Str){ (const char *)f->whole->data + offset, nbytes };
        return SDX_OK;
    }
    Buf *b;
    TRY(sdx_source_bytes(&f->source, offset, length, r->load, &b, err));
    TRY(sdx_model_own(r->model, b, err));
    *bytes = (Str){ b->data, nbytes };
    return SDX_OK;
}

void sdx_tensors_fini(TensorReader *r)
{
    for (ExternalFile *f = r->files; f; f = f->next) sdx_source_fini(&f->source);
    r->files = NULL;
}

/* -- tensors ------------------------------------------------------------------------------------------------------- */

static bool holds_bools(Str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        if ((uint8_t)bytes.p[i] > 1) return false;
    return true;
}

static sdx_status tensor_fill(TensorReader *r, const PTensor *p, Tensor *t, Err *err)
{
    int64_t count;
    size_t nbytes;
    Str bytes = { 0 };
    TRY(tensor_header(p, t, &count, &nbytes, err));
    if (p->external)
        TRY(external_bytes(r, p, t, nbytes, &bytes, err));
    else if (count)
        TRY(elements_in_place(p, t, count, nbytes, &bytes, err));
    if (!count) return SDX_OK;
    if (bytes.p && (t->dtype != DT_BOOL || holds_bools(bytes))) {
        t->data = (void *)bytes.p;
        if (sdx_tensor_is_aligned(t) || nbytes > COPY_MAX) return SDX_OK;
    }
    t->data = sdx_model_tensor_data(r->model, t);
    TRY_ARENA(t->data, &r->model->arena, err);
    return fill(p, t, bytes, nbytes, err);
}

sdx_status sdx_proto_tensor(TensorReader *r, PTensor *p, const Tensor **out, Err *err)
{
    if (!p->made) {
        Tensor *t = sdx_arena_new(&r->model->arena, Tensor);
        TRY_ARENA(t, &r->model->arena, err);
        sdx_status status = tensor_fill(r, p, t, err);
        if (status != SDX_OK) {
            sdx_err_prefix(err, "tensor `%.*s`", STR_ARG(p->name));
            return status;
        }
        p->made = t;
    }
    *out = p->made;
    return SDX_OK;
}

sdx_status sdx_proto_tensor_aligned(TensorReader *r, PTensor *p, const Tensor **out, Err *err)
{
    TRY(sdx_proto_tensor(r, p, out, err));
    if (sdx_tensor_is_aligned(*out)) return SDX_OK;
    Tensor *t = sdx_arena_new(&r->model->arena, Tensor);
    TRY_ARENA(t, &r->model->arena, err);
    *t = **out;
    t->data = sdx_model_tensor_data(r->model, t);
    TRY_ARENA(t->data, &r->model->arena, err);
    size_t nbytes;
    if (!sdx_tensor_nbytes(t, &nbytes)) return sdx_fail(err, SDX_INTERNAL, "a tensor lost its size");
    memcpy(t->data, (*out)->data, nbytes);
    *out = p->made = t;
    return SDX_OK;
}

/* -- sparse tensors ------------------------------------------------------------------------------------------------ */

/* Sparse tensors that stand for more than this, and for more than 1024 times their own bytes, are refused: a few bytes
 * of a file must not become gigabytes of memory. */
#define DENSE_MAX ((size_t)256 << 20)

sdx_status sdx_sparse_check(const Sparse *s, Err *err)
{
    const Tensor *v = &s->values.t, *ix = &s->indices.t;
    int64_t count, nnz = v->rank == 1 ? v->dims[0] : -1;
    char dims[128];
    if (nnz < 0) return sdx_fail(err, SDX_INVALID_MODEL, "values have rank %d, not 1", (int)v->rank);
    if (!sdx_shape_count(s->dims, s->rank, &count))
        return sdx_fail(err, SDX_INVALID_MODEL, "shape %s has a negative dim or too many elements",
                        sdx_dims_text(dims, sizeof dims, s->dims, s->rank));
    bool linear = ix->rank == 1, coords = ix->rank == 2 && ix->dims[1] == s->rank;
    if (ix->dtype != DT_INT64 || !(linear || coords) || ix->dims[0] != nnz)
        return sdx_fail(err, SDX_INVALID_MODEL, "indices are %s%s for %lld values of rank %d",
                        sdx_dtype_name(ix->dtype), sdx_dims_text(dims, sizeof dims, ix->dims, ix->rank), (long long)nnz,
                        (int)s->rank);
    const int64_t *i = ix->data;
    int width = linear ? 1 : s->rank;
    for (int64_t k = 0; k < nnz; k++)
        for (int d = 0; d < width; d++, i++)
            if (*i < 0 || *i >= (linear ? count : s->dims[d]))
                return sdx_fail(err, SDX_INVALID_MODEL, "index %lld of value %lld is outside shape %s", (long long)*i,
                                (long long)k, sdx_dims_text(dims, sizeof dims, s->dims, s->rank));
    return SDX_OK;
}

static sdx_status sparse_fill(TensorReader *r, PSparse *p, Sparse *s, Err *err)
{
    if (!p->values || !p->indices) return sdx_fail(err, SDX_INVALID_MODEL, "it has no values or no indices");
    const Tensor *values, *indices;
    TRY(sdx_proto_tensor_aligned(r, p->values, &values, err));
    TRY(sdx_proto_tensor_aligned(r, p->indices, &indices, err));
    *s = (Sparse){ .refs = 1, .alloc = r->alloc, .rank = p->rank };
    memcpy(s->dims, p->dims, sizeof s->dims);
    s->values = (Datum){ .kind = DATUM_TENSOR, .t = *values };
    s->indices = (Datum){ .kind = DATUM_TENSOR, .t = *indices };
    return sdx_sparse_check(s, err);
}

sdx_status sdx_proto_sparse(TensorReader *r, PSparse *p, const Sparse **out, Err *err)
{
    if (!p->made) {
        Sparse *s = sdx_arena_new(&r->model->arena, Sparse);
        TRY_ARENA(s, &r->model->arena, err);
        sdx_status status = sparse_fill(r, p, s, err);
        if (status != SDX_OK) {
            Str name = p->values ? p->values->name : (Str){ 0 };
            sdx_err_prefix(err, "sparse tensor `%.*s`", STR_ARG(name));
            return status;
        }
        p->made = s;
    }
    *out = p->made;
    return SDX_OK;
}

static int64_t sparse_position(const Sparse *s, int64_t k)
{
    const int64_t *ix = s->indices.t.data;
    if (s->indices.t.rank == 1) return ix[k];
    int64_t at = 0;
    for (int d = 0; d < s->rank; d++) at = at * s->dims[d] + ix[k * s->rank + d];
    return at;
}

sdx_status sdx_proto_densify(TensorReader *r, PSparse *p, const Tensor **out, Err *err)
{
    const Sparse *s;
    TRY(sdx_proto_sparse(r, p, &s, err));
    Str name = p->values->name;
    Tensor *t = sdx_arena_new(&r->model->arena, Tensor);
    TRY_ARENA(t, &r->model->arena, err);
    *t = (Tensor){ .dtype = s->values.t.dtype, .rank = s->rank };
    memcpy(t->dims, s->dims, sizeof t->dims);
    size_t nbytes, own, size = sdx_dtype_size(t->dtype);
    if (!sdx_tensor_nbytes(t, &nbytes) || !sdx_tensor_nbytes(&s->values.t, &own) ||
        (nbytes > DENSE_MAX && nbytes / 1024 > own))
        return sdx_fail(err, SDX_LIMIT_BYTES, "sparse tensor `%.*s`: too large for how little it holds", STR_ARG(name));
    if (!size)
        return sdx_fail(err, SDX_UNSUPPORTED, "sparse tensor `%.*s`: elements of type %s", STR_ARG(name),
                        sdx_dtype_name(t->dtype));
    if (nbytes) {
        t->data = sdx_model_tensor_data(r->model, t);
        TRY_ARENA(t->data, &r->model->arena, err);
        memset(t->data, 0, nbytes);
        if (t->dtype == DT_STRING)
            for (size_t i = 0; i < nbytes / size; i++) ((Str *)t->data)[i].p = "";
    }
    for (int64_t k = 0; k < s->values.t.dims[0]; k++)
        memcpy((char *)t->data + (size_t)sparse_position(s, k) * size,
               (const char *)s->values.t.data + (size_t)k * size, size);
    *out = t;
    return SDX_OK;
}
