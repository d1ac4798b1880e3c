/* ops/ml_label.c - LabelEncoder, CategoryMapper: one value for another, by table */
#include <string.h>

#include "ops/dims.h"
#include "ops/lookup.h"
#include "ops/ml.h"
#include "ops/upgrade.h"

typedef struct Column {
    DType dtype; /* DT_NONE: not given */
    int64_t n;
    const void *v;
} Column;

typedef struct LabelState {
    Lookup keys;
    Column values;
    const void *dflt;
} LabelState;

static sdx_status label_run(Run *r)
{
    const LabelState *s = r->state;
    const Tensor *x = &r->in[0]->t;
    void *y;
    TRY(sdx_run_output(r, 0, s->values.dtype, x->rank, x->dims, &y));
    size_t from = sdx_dtype_size(x->dtype), to = sdx_dtype_size(s->values.dtype);
    int64_t n = sdx_tensor_count(x);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sdx_lookup_find(&s->keys, (const char *)x->data + (size_t)i * from);
        memcpy((char *)y + (size_t)i * to, at < 0 ? s->dflt : (const char *)s->values.v + (size_t)at * to, to);
    }
    return SDX_OK;
}

static sdx_status label_state(Prepare *p, Column keys, Column values, const void *dflt, bool last)
{
    LabelState *s = sdx_arena_new(p->arena, LabelState);
    TRY_MEM(s, p->err);
    if (!sdx_lookup_make(&s->keys, p->arena, keys.dtype, keys.v, keys.n, last))
        return sdx_fail(p->err, SDX_OUT_OF_MEMORY, "out of memory");
    s->values = values;
    s->dflt = dflt;
    p->state = s;
    return SDX_OK;
}

/* -- LabelEncoder -------------------------------------------------------------------------------------------------- */

typedef struct LabelAttrs {
    Str default_string;
    int64_t default_int64;
    float default_float;
    const Tensor *default_tensor, *keys_tensor, *values_tensor;
    StrList keys_strings, values_strings;
    IntList keys_int64s, values_int64s;
    FloatList keys_floats, values_floats;
} LabelAttrs;
static const AttrSpec label_attrs[] = { OP_STR(LabelAttrs, default_string, "_Unused"),
                                        OP_INT(LabelAttrs, default_int64, -1),
                                        OP_FLOAT(LabelAttrs, default_float, -0.f),
                                        OP_TENSOR(LabelAttrs, default_tensor),
                                        OP_TENSOR(LabelAttrs, keys_tensor),
                                        OP_TENSOR(LabelAttrs, values_tensor),
                                        OP_STRS(LabelAttrs, keys_strings),
                                        OP_STRS(LabelAttrs, values_strings),
                                        OP_INTS(LabelAttrs, keys_int64s),
                                        OP_INTS(LabelAttrs, values_int64s),
                                        OP_FLOATS(LabelAttrs, keys_floats),
                                        OP_FLOATS(LabelAttrs, values_floats),
                                        OP_ATTR_END };

/* Keys (of the type) or values; an upgraded version 1 has two columns that are each the keys of the other. */
static Column pick(DType want, DType avoid, const Tensor *t, const StrList *s, const IntList *i, const FloatList *f)
{
    const Column all[] = { { t ? t->dtype : DT_NONE, t ? sdx_tensor_count(t) : 0, t ? t->data : NULL },
                           { s->n ? DT_STRING : DT_NONE, s->n, s->v },
                           { i->n ? DT_INT64 : DT_NONE, i->n, i->v },
                           { f->n ? DT_FLOAT : DT_NONE, f->n, f->v } };
    Column found = { .dtype = DT_NONE };
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        if (all[k].dtype == DT_NONE || (want && all[k].dtype != want)) continue;
        if (found.dtype == DT_NONE || found.dtype == avoid) found = all[k];
    }
    return found;
}
static Column label_keys(const LabelAttrs *a, DType of)
{
    return pick(of, DT_NONE, a->keys_tensor, &a->keys_strings, &a->keys_int64s, &a->keys_floats);
}
static Column label_values(const LabelAttrs *a, DType from)
{
    return pick(DT_NONE, from, a->values_tensor, &a->values_strings, &a->values_int64s, &a->values_floats);
}

#define TS_LABEL (TS_I16 | TS_I32 | TS_I64 | TS_F32 | TS_F64 | TS_STR)

static sdx_status label_infer(Infer *c)
{
    const LabelAttrs *a = c->args;
    TRY(sdx_infer_same_shape(c));
    DType from = c->in[0]->elem;
    if (from == DT_NONE) return SDX_OK;
    Column keys = label_keys(a, from), values = label_values(a, from);
    if (keys.dtype == DT_NONE) return sdx_infer_fail(c, "there are no keys of type %s", sdx_dtype_name(from));
    if (values.dtype == DT_NONE) return sdx_infer_fail(c, "there are no values");
    if (keys.n != values.n)
        return sdx_infer_fail(c, "there are %lld keys and %lld values", (long long)keys.n, (long long)values.n);
    if (!sdx_dtype_in(values.dtype, TS_LABEL))
        return sdx_infer_fail(c, "values of type %s are not taken", sdx_dtype_name(values.dtype));
    if (a->default_tensor && (a->default_tensor->dtype != values.dtype || sdx_tensor_count(a->default_tensor) != 1))
        return sdx_infer_fail(c, "default_tensor is not one element of type %s", sdx_dtype_name(values.dtype));
    c->out[0].elem = values.dtype;
    return SDX_OK;
}

/* The default value of a type, in the attributes or a constant. */
static const void *label_default(const LabelAttrs *a, DType d)
{
    static const int32_t minus_one = -1;
    static const int16_t minus_one_16 = -1;
    static const double zero = -0.0;
    if (a->default_tensor) return a->default_tensor->data;
    switch (d) {
    case DT_STRING: return &a->default_string;
    case DT_INT64: return &a->default_int64;
    case DT_FLOAT: return &a->default_float;
    case DT_INT32: return &minus_one;
    case DT_INT16: return &minus_one_16;
    default: return &zero;
    }
}

static sdx_status label_prepare(Prepare *p)
{
    const LabelAttrs *a = p->args;
    DType from = p->in[0]->t.dtype;
    Column values = label_values(a, from);
    return label_state(p, label_keys(a, from), values, label_default(a, values.dtype), false);
}

/* classes_strings went both ways between names and positions, and the last of equal names counted: the keys stand in
 * reverse. */
static sdx_status label_from_1(Node *n, Err *err)
{
    const Attr *a = sdx_node_attr(n, "classes_strings");
    char text[256];
    if (!a || a->type != ATTR_STRINGS || a->n < 1)
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: classes_strings is missing or empty",
                        sdx_node_text(n, text, sizeof text));
    Arena *arena = &n->graph->model->arena;
    int64_t *ints = sdx_arena_array(arena, int64_t, a->n);
    Str *strings = sdx_arena_array(arena, Str, a->n);
    bool ok = ints && strings;
    for (int64_t i = 0; ok && i < a->n; i++) {
        ints[i] = a->n - 1 - i;
        strings[i] = a->strings[ints[i]];
    }
    const Attr made[] = { { .name = "keys_strings", .type = ATTR_STRINGS, .n = a->n, .strings = strings },
                          { .name = "values_strings", .type = ATTR_STRINGS, .n = a->n, .strings = strings },
                          { .name = "keys_int64s", .type = ATTR_INTS, .n = a->n, .ints = ints },
                          { .name = "values_int64s", .type = ATTR_INTS, .n = a->n, .ints = ints } };
    for (int i = 0; ok && i < 4; i++) ok = sdx_node_set_attr(n, &made[i]);
    if (!ok) return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
    sdx_node_drop_attr(n, "classes_strings");
    return SDX_OK;
}

static const OpVer label_vers[] = {
    { 4, { TS_LABEL, TS_LABEL } },
    { 2, { TS_I64 | TS_F32 | TS_STR, TS_I64 | TS_F32 | TS_STR } },
    { 1, { TS_I64 | TS_STR, TS_I64 | TS_STR }, label_from_1 },
    { 0 },
};

const OpDef sdx_op_ml_LabelEncoder = {
    .name = "LabelEncoder",
    .domain = "ai.onnx.ml",
    .sig = "T->U",
    .attrs = label_attrs,
    .attrs_size = sizeof(LabelAttrs),
    .vers = label_vers,
    .infer = label_infer,
    .cpu = { label_prepare, label_run },
};

/* -- CategoryMapper ------------------------------------------------------------------------------------------------ */

typedef struct CategoryAttrs {
    StrList cats_strings;
    IntList cats_int64s;
    Str default_string;
    int64_t default_int64;
} CategoryAttrs;
static const AttrSpec category_attrs[] = { OP_STRS(CategoryAttrs, cats_strings), OP_INTS(CategoryAttrs, cats_int64s),
                                           OP_STR(CategoryAttrs, default_string, "_Unused"),
                                           OP_INT(CategoryAttrs, default_int64, -1), OP_ATTR_END };

static sdx_status category_infer(Infer *c)
{
    const CategoryAttrs *a = c->args;
    if (a->cats_strings.n != a->cats_int64s.n)
        return sdx_infer_fail(c, "cats_strings has %lld values, cats_int64s %lld", (long long)a->cats_strings.n,
                              (long long)a->cats_int64s.n);
    TRY(sdx_infer_same_shape(c));
    if (c->in[0]->elem != DT_NONE) c->out[0].elem = c->in[0]->elem == DT_STRING ? DT_INT64 : DT_STRING;
    return SDX_OK;
}

static sdx_status category_prepare(Prepare *p)
{
    const CategoryAttrs *a = p->args;
    Column strings = { DT_STRING, a->cats_strings.n, a->cats_strings.v };
    Column ints = { DT_INT64, a->cats_int64s.n, a->cats_int64s.v };
    bool to_int = p->in[0]->t.dtype == DT_STRING;
    const void *dflt = to_int ? (const void *)&a->default_int64 : &a->default_string;
    return label_state(p, to_int ? strings : ints, to_int ? ints : strings, dflt, true);
}

static const OpVer category_vers[] = { { 1, { TS_I64 | TS_STR, TS_I64 | TS_STR } }, { 0 } };

const OpDef sdx_op_ml_CategoryMapper = {
    .name = "CategoryMapper",
    .domain = "ai.onnx.ml",
    .sig = "T->U",
    .attrs = category_attrs,
    .attrs_size = sizeof(CategoryAttrs),
    .vers = category_vers,
    .infer = category_infer,
    .cpu = { category_prepare, label_run },
};
