/* ops/ml_map.c - ZipMap, CastMap, DictVectorizer: between tensors and maps */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/dims.h"
#include "ops/lookup.h"
#include "ops/ml.h"
#include "ops/shapes.h"

/* -- ZipMap: rows of scores -> maps from label to score ------------------------------------------------------------- */

typedef struct ZipAttrs {
    IntList classlabels_int64s;
    StrList classlabels_strings;
} ZipAttrs;
static const AttrSpec zip_attrs[] = { OP_INTS(ZipAttrs, classlabels_int64s), OP_STRS(ZipAttrs, classlabels_strings),
                                      OP_ATTR_END };

static Tensor zip_labels(const ZipAttrs *a)
{
    if (a->classlabels_strings.n)
        return (Tensor){ DT_STRING, 1, { a->classlabels_strings.n }, (void *)a->classlabels_strings.v };
    return (Tensor){ DT_INT64, 1, { a->classlabels_int64s.n }, (void *)a->classlabels_int64s.v };
}

static sdx_status zip_infer(Infer *c)
{
    const ZipAttrs *a = c->args;
    if ((a->classlabels_int64s.n > 0) == (a->classlabels_strings.n > 0))
        return sdx_infer_fail(c, "one of classlabels_int64s and classlabels_strings has to be given");
    TRY(infer_rank_between(c, 0, 1, 2, "the input"));
    const Tensor labels = zip_labels(a);
    const Shape *x = infer_shape(c, 0);
    if (x && dim_differs(x->dims[x->rank - 1], labels.dims[0]))
        return sdx_infer_fail(c, "there are %lld labels for %lld columns", (long long)labels.dims[0],
                              (long long)x->dims[x->rank - 1]);
    Type *map = sdx_arena_new(c->arena, Type), *value = sdx_arena_new(c->arena, Type);
    TRY_MEM(map && value, c->err);
    *value = (Type){ .kind = TYPE_TENSOR, .elem = DT_FLOAT };
    *map = (Type){ .kind = TYPE_MAP, .elem = labels.dtype, .shape = { .rank = SDX_RANK_UNKNOWN }, .of = value };
    c->out[0].kind = TYPE_SEQUENCE;
    c->out[0].of = map;
    return SDX_OK;
}

/* Adds the map of one row; keys and scores are shared, the row being a part of the buffer of scores. */
static sdx_status zip_row(Run *r, Seq *s, const Datum *keys, const Datum *scores, int64_t row)
{
    Map *map = sdx_map_new(sdx_run_alloc(r));
    TRY_MEM(map, r->err);
    Datum d = { .kind = DATUM_MAP, .map = map }, part = *scores;
    int64_t n = keys->t.dims[0];
    part.t = (Tensor){ DT_FLOAT, 1, { n }, (float *)scores->t.data + row * n };
    sdx_status st = sdx_datum_share(&map->keys, keys, map->alloc, r->err);
    if (st == SDX_OK) st = sdx_datum_share(&map->values, &part, map->alloc, r->err);
    if (st == SDX_OK) st = sdx_seq_insert(s, s->n, &d, r->err);
    sdx_datum_clear(&d);
    return st;
}

static sdx_status zip_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, labels = zip_labels(r->args);
    const Alloc *alloc = sdx_run_alloc(r);
    if (ml_cols(x) != labels.dims[0])
        return sdx_run_fail(r, "there are %lld labels for %lld columns", (long long)labels.dims[0],
                            (long long)ml_cols(x));
    Datum keys = { .kind = DATUM_NONE }, scores = { .kind = DATUM_NONE }, out = { .kind = DATUM_SEQUENCE };
    out.seq = sdx_seq_new(alloc, DT_NONE);
    TRY_MEM(out.seq, r->err);
    sdx_status st = sdx_datum_copy(&keys, &labels, alloc, r->err);
    if (st == SDX_OK) st = sdx_datum_copy(&scores, x, alloc, r->err);
    for (int64_t i = 0; st == SDX_OK && i < ml_rows(x); i++) st = zip_row(r, out.seq, &keys, &scores, i);
    if (st == SDX_OK) st = sdx_run_forward(r, 0, &out);
    sdx_datum_clear(&keys);
    sdx_datum_clear(&scores);
    sdx_datum_clear(&out);
    return st;
}

static const OpVer zip_vers[] = { { 1, { TS_F32 } }, { 0 } };

const OpDef sdx_op_ml_ZipMap = {
    .name = "ZipMap",
    .domain = "ai.onnx.ml",
    .sig = "T->any",
    .attrs = zip_attrs,
    .attrs_size = sizeof(ZipAttrs),
    .vers = zip_vers,
    .infer = zip_infer,
    .cpu = { NULL, zip_run },
};

/* The map in input 0: its keys are of type `key`, its values scalars. */
static sdx_status map_in(const Run *r, DType key, const Tensor **keys, const Tensor **values)
{
    if (r->in[0]->kind != DATUM_MAP) return sdx_run_fail(r, "the input is not a map");
    const Map *m = r->in[0]->map;
    if (m->keys.kind != DATUM_TENSOR || m->keys.t.dtype != key)
        return sdx_run_fail(r, "the map's keys are not of type %s", sdx_dtype_name(key));
    *keys = &m->keys.t;
    *values = &m->values.t;
    bool empty = sdx_tensor_count(*keys) == 0;
    if (!empty && (m->values.kind != DATUM_TENSOR || sdx_tensor_count(*values) != sdx_tensor_count(*keys)))
        return sdx_run_fail(r, "the map's values are not scalars of one type");
    return SDX_OK;
}

/* -- CastMap: a map with integer keys -> a row, by key order or by key ----------------------------------------------- */

typedef struct CastMapAttrs {
    Str cast_to, map_form;
    int64_t max_map;
} CastMapAttrs;
static const AttrSpec castmap_attrs[] = { OP_STR(CastMapAttrs, cast_to, "TO_FLOAT"),
                                          OP_STR(CastMapAttrs, map_form, "DENSE"), OP_INT(CastMapAttrs, max_map, 1),
                                          OP_ATTR_END };

static DType castmap_type(const CastMapAttrs *a)
{
    if (str_is(a->cast_to, "TO_FLOAT")) return DT_FLOAT;
    if (str_is(a->cast_to, "TO_STRING")) return DT_STRING;
    return str_is(a->cast_to, "TO_INT64") ? DT_INT64 : DT_NONE;
}

static sdx_status castmap_infer(Infer *c)
{
    const CastMapAttrs *a = c->args;
    bool sparse = str_is(a->map_form, "SPARSE");
    if (!sparse && !str_is(a->map_form, "DENSE")) return sdx_infer_fail(c, "map_form is not DENSE or SPARSE");
    if (castmap_type(a) == DT_NONE) return sdx_infer_fail(c, "cast_to is not TO_FLOAT, TO_STRING or TO_INT64");
    if (sparse && a->max_map < 1) return sdx_infer_fail(c, "max_map is %lld", (long long)a->max_map);
    c->out[0] = (Type){ .kind = TYPE_TENSOR, .elem = castmap_type(a) };
    Dim *y = infer_out_rank(c, 0, 2);
    y[0] = 1;
    if (sparse) y[1] = a->max_map;
    return SDX_OK;
}

/* Value `from` of the map becomes element `to` of the row, as C's conversions have it ("%f" for text). */
static sdx_status castmap_element(Run *r, const Tensor *values, int64_t from, DType type, void *y, int64_t to)
{
    char buf[64];
    bool is_text = values->dtype == DT_STRING;
    Str s = is_text ? ((const Str *)values->data)[from] : (Str){ NULL, 0 };
    double v = is_text ? 0 : (double)((const float *)values->data)[from];
    if (type == DT_STRING && !is_text) {
        int n = snprintf(buf, sizeof buf, "%f", v);
        char *p = sdx_run_heap(r, (size_t)n);
        TRY_MEM(p, r->err);
        memcpy(p, buf, (size_t)n);
        s = (Str){ p, (size_t)n };
    } else if (type != DT_STRING && is_text) {
        char *end = buf;
        long long whole = 0;
        if (s.n && s.n < sizeof buf) {
            memcpy(buf, s.p, s.n);
            buf[s.n] = '\0';
            errno = 0;
            if (type == DT_INT64)
                whole = strtoll(buf, &end, 10);
            else
                v = (double)strtof(buf, &end);
        }
        if (end == buf || errno == ERANGE)
            return sdx_run_fail(r, "'%.*s' is not a number", (int)(s.n < 40 ? s.n : 40), s.n ? s.p : "");
        if (type == DT_INT64) {
            ((int64_t *)y)[to] = whole;
            return SDX_OK;
        }
    }
    if (type == DT_STRING)
        ((Str *)y)[to] = s;
    else if (type == DT_FLOAT)
        ((float *)y)[to] = (float)v;
    else
        ((int64_t *)y)[to] = v >= -0x1p63 && v < 0x1p63 ? (int64_t)v : INT64_MIN;
    return SDX_OK;
}

typedef struct KeyAt {
    int64_t key, at;
} KeyAt;
static int by_key(const void *a, const void *b)
{
    int64_t x = ((const KeyAt *)a)->key, y = ((const KeyAt *)b)->key;
    return (x > y) - (x < y);
}

static sdx_status castmap_dense(Run *r, DType type, const Tensor *keys, const Tensor *values)
{
    int64_t n = sdx_tensor_count(keys);
    void *y;
    TRY(sdx_run_output(r, 0, type, 2, (int64_t[]){ 1, n }, &y));
    KeyAt *order = sdx_run_heap(r, (size_t)(n ? n : 1) * sizeof *order); /* the keys are in memory: no overflow */
    TRY_MEM(order, r->err);
    for (int64_t i = 0; i < n; i++) order[i] = (KeyAt){ ((const int64_t *)keys->data)[i], i };
    qsort(order, (size_t)n, sizeof *order, by_key);
    for (int64_t i = 0; i < n; i++) TRY(castmap_element(r, values, order[i].at, type, y, i));
    return SDX_OK;
}

static sdx_status castmap_run(Run *r)
{
    const CastMapAttrs *a = r->args;
    DType type = castmap_type(a);
    const Tensor *keys, *values;
    TRY(map_in(r, DT_INT64, &keys, &values));
    int64_t n = sdx_tensor_count(keys);
    if (n && !sdx_dtype_in(values->dtype, TS_F32 | TS_STR))
        return sdx_run_fail(r, "map values of type %s are not taken", sdx_dtype_name(values->dtype));
    if (!str_is(a->map_form, "SPARSE")) return castmap_dense(r, type, keys, values);
    void *y;
    TRY(sdx_run_output(r, 0, type, 2, (int64_t[]){ 1, a->max_map }, &y));
    memset(y, 0, (size_t)a->max_map * sdx_dtype_size(type));
    if (type == DT_STRING)
        for (int64_t i = 0; i < a->max_map; i++) ((Str *)y)[i] = (Str){ "0.f", 3 };
    for (int64_t i = 0; i < n; i++) {
        int64_t key = ((const int64_t *)keys->data)[i];
        if (key >= 0 && key < a->max_map) TRY(castmap_element(r, values, i, type, y, key));
    }
    return SDX_OK;
}

static const OpVer castmap_vers[] = { { 1, { TS_I64, TS_F32 | TS_STR } }, { 0 } };

const OpDef sdx_op_ml_CastMap = {
    .name = "CastMap",
    .domain = "ai.onnx.ml",
    .sig = "map(T,U)->any",
    .attrs = castmap_attrs,
    .attrs_size = sizeof(CastMapAttrs),
    .vers = castmap_vers,
    .infer = castmap_infer,
    .cpu = { NULL, castmap_run },
};

/* -- DictVectorizer: a map -> a row with a column for each word of a vocabulary --------------------------------------- */

typedef struct DictAttrs {
    IntList int64_vocabulary;
    StrList string_vocabulary;
} DictAttrs;
static const AttrSpec dict_attrs[] = { OP_INTS(DictAttrs, int64_vocabulary), OP_STRS(DictAttrs, string_vocabulary),
                                       OP_ATTR_END };

static Tensor dict_words(const DictAttrs *a)
{
    if (a->string_vocabulary.n)
        return (Tensor){ DT_STRING, 1, { a->string_vocabulary.n }, (void *)a->string_vocabulary.v };
    return (Tensor){ DT_INT64, 1, { a->int64_vocabulary.n }, (void *)a->int64_vocabulary.v };
}

static sdx_status dict_infer(Infer *c)
{
    const DictAttrs *a = c->args;
    if ((a->int64_vocabulary.n > 0) == (a->string_vocabulary.n > 0))
        return sdx_infer_fail(c, "one of int64_vocabulary and string_vocabulary has to be given");
    const Tensor words = dict_words(a);
    if (c->in[0]->kind == TYPE_MAP && c->in[0]->elem != DT_NONE && c->in[0]->elem != words.dtype)
        return sdx_infer_fail(c, "the map's keys are of type %s, the vocabulary %s", sdx_dtype_name(c->in[0]->elem),
                              sdx_dtype_name(words.dtype));
    Dim *y = infer_out_rank(c, 0, 2);
    y[0] = 1;
    y[1] = words.dims[0];
    return SDX_OK;
}

static sdx_status dict_prepare(Prepare *p)
{
    const Tensor words = dict_words(p->args);
    Lookup *l = sdx_arena_new(p->arena, Lookup);
    TRY_MEM(l, p->err);
    if (!sdx_lookup_make(l, p->arena, words.dtype, words.data, words.dims[0], false))
        return sdx_fail(p->err, SDX_OUT_OF_MEMORY, "out of memory");
    p->state = l;
    return SDX_OK;
}

static sdx_status dict_run(Run *r)
{
    const Lookup *l = r->state;
    const Tensor *keys, *values;
    TRY(map_in(r, l->dtype, &keys, &values));
    int64_t n = sdx_tensor_count(keys), width = dict_words(r->args).dims[0];
    DType type = n ? values->dtype : r->node->out[0]->type.elem;
    void *y;
    TRY(sdx_run_output(r, 0, type, 2, (int64_t[]){ 1, width }, &y));
    size_t size = sdx_dtype_size(type);
    memset(y, 0, (size_t)width * size);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = sdx_lookup_find(l, (const char *)keys->data + (size_t)i * l->size);
        if (at >= 0) memcpy((char *)y + (size_t)at * size, (const char *)values->data + (size_t)i * size, size);
    }
    return SDX_OK;
}

static const OpVer dict_vers[] = { { 1, { TS_I64 | TS_STR, TS_I64 | TS_F32 | TS_F64 | TS_STR } }, { 0 } };

const OpDef sdx_op_ml_DictVectorizer = {
    .name = "DictVectorizer",
    .domain = "ai.onnx.ml",
    .sig = "map(T,U)->U",
    .attrs = dict_attrs,
    .attrs_size = sizeof(DictAttrs),
    .vers = dict_vers,
    .infer = dict_infer,
    .cpu = { dict_prepare, dict_run },
};
