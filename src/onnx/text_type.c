/* Types and tensor constants of the textual form. */
#include <string.h>

#include "base/size.h"
#include "onnx/text.h"
#include "tensor/element.h"

#define MAX_DEPTH 64

static DType next_dtype(const Text *t)
{
    return t->next.kind == TOKEN_NAME ? sdx_dtype_from_name(t->next.text.p, t->next.text.n) : DT_NONE;
}

static TypeKind next_wrap(const Text *t)
{
    if (sdx_text_at_word(t, "seq")) return TYPE_SEQUENCE;
    if (sdx_text_at_word(t, "optional")) return TYPE_OPTIONAL;
    if (sdx_text_at_word(t, "map")) return TYPE_MAP;
    if (sdx_text_at_word(t, "sparse_tensor")) return TYPE_SPARSE;
    return TYPE_UNKNOWN;
}

bool sdx_text_at_type(const Text *t) { return next_dtype(t) != DT_NONE || next_wrap(t) != TYPE_UNKNOWN; }

/* float: a scalar. float[]: unknown rank. float[N, 3, ?]. */
static sdx_status read_tensor_type(Text *t, PType *type)
{
    type->kind = TYPE_TENSOR;
    type->elem = next_dtype(t);
    if (!type->elem) return sdx_text_fail(t, "an element type is missing");
    sdx_text_advance(t);
    type->has_shape = true;
    if (!sdx_text_take(t, "[")) return SDX_OK;
    if (sdx_text_take(t, "]")) {
        type->has_shape = false;
        return SDX_OK;
    }
    do {
        PDim *d = PLIST_ADD(t->proto->scratch, type->dims);
        TRY_ARENA(d, t->proto->scratch, t->err);
        if (sdx_text_take(t, "?")) continue;
        d->has_value = t->next.kind == TOKEN_INT;
        if (d->has_value)
            TRY(sdx_text_int(t, &d->value));
        else
            TRY(sdx_text_name(t, &d->param));
    } while (sdx_text_take(t, ","));
    return sdx_text_expect(t, "]");
}

static sdx_status read_wrapped_type(Text *t, PType *type)
{
    type->kind = next_wrap(t);
    sdx_text_advance(t);
    TRY(sdx_text_expect(t, "("));
    if (type->kind == TYPE_SPARSE) {
        TRY(read_tensor_type(t, type));
        type->kind = TYPE_SPARSE;
        return sdx_text_expect(t, ")");
    }
    if (type->kind == TYPE_MAP) {
        type->elem = next_dtype(t);
        if (!type->elem) return sdx_text_fail(t, "a key type is missing");
        sdx_text_advance(t);
        TRY(sdx_text_expect(t, ","));
    }
    TRY(sdx_text_type(t, &type->of));
    return sdx_text_expect(t, ")");
}

sdx_status sdx_text_type(Text *t, PType **out)
{
    PType *type = *out = sdx_arena_new(t->proto->scratch, PType);
    TRY_ARENA(type, t->proto->scratch, t->err);
    if (next_wrap(t) == TYPE_UNKNOWN) return read_tensor_type(t, type);
    if (++t->depth > MAX_DEPTH) return sdx_text_fail(t, "types are nested too deep");
    TRY(read_wrapped_type(t, type));
    t->depth--;
    return SDX_OK;
}

/* -- constants ----------------------------------------------------------------------------------------------------- */

static sdx_status read_element(Text *t, DType d, void *data, int64_t i)
{
    char class = sdx_dtype_class(d);
    double v;
    int64_t n;
    if (class == 'T') return sdx_text_string(t, &((Str *)data)[i]);
    if (class == 'B' && (sdx_text_at_word(t, "true") || sdx_text_at_word(t, "false"))) {
        ((uint8_t *)data)[i] = sdx_text_at_word(t, "true");
        sdx_text_advance(t);
        return SDX_OK;
    }
    if (class == 'I' || class == 'U' || class == 'B') {
        TRY(sdx_text_int(t, &n));
        sdx_element_set_bits(d, data, i, class == 'B' ? n != 0 : (uint64_t)n);
        return SDX_OK;
    }
    TRY(sdx_text_float(t, &v));
    if (d == DT_DOUBLE)
        ((double *)data)[i] = v;
    else if (d == DT_FLOAT)
        ((float *)data)[i] = (float)v;
    else
        sdx_element_set_bits(d, data, i, sdx_element_from_float(d, (float)v));
    return SDX_OK;
}

/* Numbers are real and imaginary parts in turn for complex types. */
static DType part_type(DType d) { return d == DT_COMPLEX64 ? DT_FLOAT : d == DT_COMPLEX128 ? DT_DOUBLE : d; }

/* How many elements come, from here to the closing brace: needed before memory is asked for. */
static int64_t count_elements(const Text *t)
{
    Text ahead = *t;
    int64_t n = sdx_text_at(&ahead, "}") ? 0 : 1;
    for (; !sdx_text_at(&ahead, "}") && ahead.next.kind != TOKEN_END && ahead.next.kind != TOKEN_BAD;
         sdx_text_advance(&ahead))
        n += sdx_text_at(&ahead, ",");
    return n;
}

static sdx_status read_elements(Text *t, Tensor *to)
{
    DType part = part_type(to->dtype);
    int64_t want = sdx_tensor_count(to) * (part == to->dtype ? 1 : 2);
    TRY(sdx_text_expect(t, "{"));
    if (count_elements(t) != want) return sdx_text_fail(t, "the number of elements does not fit the shape");
    to->data = sdx_model_tensor_data(t->model, to);
    TRY_ARENA(to->data, &t->model->arena, t->err);
    size_t nbytes;
    if (sdx_tensor_nbytes(to, &nbytes) && nbytes) memset(to->data, 0, nbytes); /* padding bits */
    for (int64_t i = 0; i < want; i++) {
        if (i) TRY(sdx_text_expect(t, ","));
        TRY(read_element(t, part, to->data, i));
    }
    return sdx_text_expect(t, "}");
}

sdx_status sdx_text_tensor(Text *t, const PType *type, Str name, PTensor **out)
{
    PTensor *p = *out = sdx_arena_new(t->proto->scratch, PTensor);
    Tensor *made = sdx_arena_new(&t->model->arena, Tensor);
    TRY_ARENA(p && made, t->proto->scratch, t->err);
    if (type->kind != TYPE_TENSOR) return sdx_text_fail(t, "only tensors can be written as constants");
    if (!type->has_shape || type->dims.n > SDX_MAX_RANK) return sdx_text_fail(t, "a constant needs a shape of numbers");
    *made = (Tensor){ .dtype = (DType)type->elem, .rank = type->dims.n };
    for (int i = 0; i < type->dims.n; i++) {
        made->dims[i] = type->dims.v[i].value;
        if (!type->dims.v[i].has_value) return sdx_text_fail(t, "a constant needs a shape of numbers");
    }
    int64_t count;
    if (!sdx_shape_count(made->dims, made->rank, &count) || count > INT64_MAX / 2)
        return sdx_text_fail(t, "a shape has a negative or too large dim");
    *p = (PTensor){ .name = name, .dtype = made->dtype, .made = made };
    return read_elements(t, made);
}
