/* ONNX Runtime's own file format (.ort) to the same messages that the protobuf reader gives.
 *
 * A FlatBuffer with the identifier "ORTM": a session with a model, whose graph is what ONNX Runtime's rewrites left.
 * Numbers of fields are those of its published schema. Nodes carry the version of their operator; the opsets of the file
 * say the same. */
#include <string.h>

#include "onnx/flat.h"
#include "onnx/import.h"
#include "onnx/ort_format.h"

typedef struct OrtReader {
    Flat f;
    Arena *scratch, *kept;
    int64_t n_nodes, max_nodes; /* 0: no limit */
    size_t budget; /* tables that may still be read: parts of a file may refer to one another again and again */
    int depth;
    Err *err;
} OrtReader;

static sdx_status damaged(OrtReader *r, const char *what)
{
    return sdx_fail(r->err, SDX_INVALID_MODEL, "the ORT format file is damaged: %s", what);
}

static sdx_status check(OrtReader *r, const char *what)
{
    if (r->f.bad || !r->budget) return damaged(r, what);
    r->budget--;
    return SDX_OK;
}

/* -- types --------------------------------------------------------------------------------------------------------- */

static sdx_status read_dims(OrtReader *r, FlatTable shape, PType *out)
{
    enum { DIM_VALUE = 1, DIM_PARAM = 2 };
    FlatVec dims = flat_vec(shape, 0, 4);
    for (size_t i = 0; i < dims.n; i++) {
        FlatTable v = flat_sub(flat_table_of(dims, i), 0);
        TRY(check(r, "a dimension"));
        PDim *d = PLIST_ADD(r->scratch, out->dims);
        TRY_ARENA(d, r->scratch, r->err);
        int kind = flat_u8(v, 0, 0);
        *d = (PDim){ .has_value = kind == DIM_VALUE };
        if (kind == DIM_VALUE) d->value = flat_i64(v, 1, 0);
        if (kind == DIM_PARAM) d->param = flat_str(v, 2);
    }
    return SDX_OK;
}

static sdx_status read_type(OrtReader *r, FlatTable info, PType **out)
{
    enum { TENSOR = 1, SEQUENCE = 2, MAP = 3, TYPE_DEPTH = 16 };
    PType *t = sdx_arena_new(r->scratch, PType);
    TRY_ARENA(t, r->scratch, r->err);
    *out = t;
    int kind = flat_u8(info, 1, 0);
    FlatTable v = flat_sub(info, 2);
    TRY(check(r, "a type"));
    if (++r->depth > TYPE_DEPTH + SDX_MAX_GRAPH_DEPTH) return damaged(r, "types are nested too deep");
    if (kind == TENSOR) {
        FlatTable shape = flat_sub(v, 1);
        t->kind = TYPE_TENSOR;
        t->elem = flat_i32(v, 0, 0);
        t->has_shape = shape.at != 0;
        TRY(read_dims(r, shape, t));
    } else if (kind == SEQUENCE) {
        t->kind = TYPE_SEQUENCE;
        TRY(read_type(r, flat_sub(v, 0), &t->of));
    } else if (kind == MAP) {
        t->kind = TYPE_MAP;
        t->elem = flat_i32(v, 0, 0);
        TRY(read_type(r, flat_sub(v, 1), &t->of));
    }
    r->depth--;
    return SDX_OK;
}

/* -- tensors ------------------------------------------------------------------------------------------------------- */

static sdx_status read_strings(OrtReader *r, FlatVec texts, PTensor *p)
{
    Tensor *t = sdx_arena_new(r->kept, Tensor);
    Str *list = sdx_arena_array(r->kept, Str, texts.n + 1);
    int64_t count;
    TRY_ARENA(t && list, r->kept, r->err);
    *t = (Tensor){ .dtype = DT_STRING, .rank = p->rank, .data = list };
    memcpy(t->dims, p->dims, sizeof t->dims);
    if (!sdx_shape_count(t->dims, t->rank, &count) || (uint64_t)count != texts.n)
        return damaged(r, "a tensor of strings has another number of them than its shape says");
    for (size_t i = 0; i < texts.n; i++) list[i] = flat_str_of(texts, i);
    p->made = t;
    return SDX_OK;
}

static sdx_status read_tensor(OrtReader *r, FlatTable t, PTensor **out)
{
    PTensor *p = sdx_arena_new(r->scratch, PTensor);
    TRY_ARENA(p, r->scratch, r->err);
    *out = p;
    FlatVec dims = flat_vec(t, 2, 8);
    TRY(check(r, "a tensor"));
    if (dims.n > SDX_MAX_RANK)
        return sdx_fail(r->err, SDX_UNSUPPORTED, "a tensor of rank %zu; the largest is %d", dims.n, SDX_MAX_RANK);
    p->name = flat_str(t, 0);
    p->dtype = flat_i32(t, 3, 0);
    p->rank = (int32_t)dims.n;
    if (dims.n) memcpy(p->dims, r->f.p + dims.at, dims.n * sizeof *p->dims);
    if (flat_i64(t, 6, -1) >= 0)
        return sdx_fail(r->err, SDX_UNSUPPORTED, "tensor `%.*s` has its elements in another file", STR_ARG(p->name));
    if (p->dtype == DT_STRING) return read_strings(r, flat_vec(t, 5, 4), p);
    p->raw = flat_bytes(flat_vec(t, 4, 1));
    p->has_raw = true;
    return SDX_OK;
}

static sdx_status read_sparse(OrtReader *r, FlatTable t, PSparse **out)
{
    PSparse *p = sdx_arena_new(r->scratch, PSparse);
    TRY_ARENA(p, r->scratch, r->err);
    *out = p;
    FlatVec dims = flat_vec(t, 2, 8);
    TRY(check(r, "a sparse tensor"));
    if (dims.n > SDX_MAX_RANK) return damaged(r, "the rank of a sparse tensor");
    p->rank = (int32_t)dims.n;
    if (dims.n) memcpy(p->dims, r->f.p + dims.at, dims.n * sizeof *p->dims);
    TRY(read_tensor(r, flat_sub(t, 0), &p->values));
    return read_tensor(r, flat_sub(t, 1), &p->indices);
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */

static sdx_status read_graph(OrtReader *r, FlatTable g, PGraph **out);

/* Lists of numbers are copied to where they are aligned. */
static sdx_status read_numbers(OrtReader *r, FlatVec v, size_t size, void **out, int64_t *n)
{
    *out = sdx_arena_array_(r->kept, v.n + 1, size, size);
    TRY_ARENA(*out, r->kept, r->err);
    if (v.n) memcpy(*out, r->f.p + v.at, v.n * size);
    *n = (int64_t)v.n;
    return SDX_OK;
}

static sdx_status read_attr(OrtReader *r, FlatTable t, PAttr *a)
{
    a->name = flat_str(t, 0);
    a->type = flat_i32(t, 2, 0);
    TRY(check(r, "an attribute"));
    switch (a->type) {
    case ATTR_FLOAT: a->f = flat_f32(t, 3, 0), a->has_f = true; break;
    case ATTR_INT: a->i = flat_i64(t, 4, 0), a->has_i = true; break;
    case ATTR_STRING: a->s = flat_str(t, 5), a->has_s = true; break;
    case ATTR_TENSOR: return read_tensor(r, flat_sub(t, 6), &a->t);
    case ATTR_GRAPH: return read_graph(r, flat_sub(t, 7), &a->g);
    case ATTR_FLOATS: return read_numbers(r, flat_vec(t, 8, 4), 4, (void **)&a->floats, &a->n_floats);
    case ATTR_INTS: return read_numbers(r, flat_vec(t, 9, 8), 8, (void **)&a->ints, &a->n_ints);
    case ATTR_STRINGS: {
        FlatVec v = flat_vec(t, 10, 4);
        for (size_t i = 0; i < v.n; i++) {
            Str *s = PLIST_ADD(r->kept, a->strings);
            TRY_ARENA(s, r->kept, r->err);
            *s = flat_str_of(v, i);
        }
        break;
    }
    case ATTR_TENSORS: {
        FlatVec v = flat_vec(t, 11, 4);
        for (size_t i = 0; i < v.n; i++) {
            PTensor **p = PLIST_ADD(r->scratch, a->tensors);
            TRY_ARENA(p, r->scratch, r->err);
            TRY(read_tensor(r, flat_table_of(v, i), p));
        }
        break;
    }
    case ATTR_GRAPHS: {
        FlatVec v = flat_vec(t, 12, 4);
        for (size_t i = 0; i < v.n; i++) {
            PGraph **p = PLIST_ADD(r->scratch, a->graphs);
            TRY_ARENA(p, r->scratch, r->err);
            TRY(read_graph(r, flat_table_of(v, i), p));
        }
        break;
    }
    default: return sdx_fail(r->err, SDX_UNSUPPORTED, "attribute `%.*s` has type %d", STR_ARG(a->name), (int)a->type);
    }
    return SDX_OK;
}

static sdx_status read_node(OrtReader *r, FlatTable t, PNode *n)
{
    FlatVec in = flat_vec(t, 8, 4), out = flat_vec(t, 9, 4), attrs = flat_vec(t, 10, 4);
    TRY(check(r, "a node"));
    if (r->max_nodes && ++r->n_nodes > r->max_nodes)
        return sdx_fail(r->err, SDX_LIMIT_NODES, "the model has more than %lld nodes", (long long)r->max_nodes);
    n->name = flat_str(t, 0);
    n->domain = flat_str(t, 2);
    n->op_type = flat_str(t, 5);
    for (size_t i = 0; i < in.n + out.n; i++) {
        Str *s = i < in.n ? PLIST_ADD(r->scratch, n->inputs) : PLIST_ADD(r->scratch, n->outputs);
        TRY_ARENA(s, r->scratch, r->err);
        *s = i < in.n ? flat_str_of(in, i) : flat_str_of(out, i - in.n);
    }
    for (size_t i = 0; i < attrs.n; i++) {
        PAttr **slot = PLIST_ADD(r->scratch, n->attrs), *a = sdx_arena_new(r->scratch, PAttr);
        TRY_ARENA(slot && a, r->scratch, r->err);
        *slot = a;
        TRY(read_attr(r, flat_table_of(attrs, i), a));
    }
    return check(r, "a node");
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

static sdx_status read_values(OrtReader *r, FlatTable g, PGraph *out)
{
    FlatVec args = flat_vec(g, 1, 4), in = flat_vec(g, 5, 4), outs = flat_vec(g, 6, 4);
    Names types = { .n = 0 };
    bool made;
    for (size_t i = 0; i < args.n; i++) {
        FlatTable v = flat_table_of(args, i), info = flat_sub(v, 2);
        PValueInfo *p = PLIST_ADD(r->scratch, out->values);
        TRY_ARENA(p, r->scratch, r->err);
        *p = (PValueInfo){ .name = flat_str(v, 0) };
        TRY(check(r, "a value"));
        if (info.at) TRY(read_type(r, info, &p->type));
        void **slot = sdx_names_add(&types, r->scratch, p->name, &made);
        TRY_ARENA(slot, r->scratch, r->err);
        *slot = p->type;
    }
    for (size_t i = 0; i < in.n + outs.n; i++) {
        PValueInfo *p = i < in.n ? PLIST_ADD(r->scratch, out->inputs) : PLIST_ADD(r->scratch, out->outputs);
        TRY_ARENA(p, r->scratch, r->err);
        *p = (PValueInfo){ .name = i < in.n ? flat_str_of(in, i) : flat_str_of(outs, i - in.n) };
        void **type = sdx_names_find(&types, p->name);
        if (type) p->type = *type;
    }
    return check(r, "inputs and outputs");
}

static sdx_status read_graph(OrtReader *r, FlatTable g, PGraph **out)
{
    PGraph *p = sdx_arena_new(r->scratch, PGraph);
    TRY_ARENA(p, r->scratch, r->err);
    *out = p;
    FlatVec inits = flat_vec(g, 0, 4), nodes = flat_vec(g, 2, 4), sparse = flat_vec(g, 7, 4);
    TRY(check(r, "a graph"));
    if (!g.at) return damaged(r, "a graph is missing");
    if (++r->depth > SDX_MAX_GRAPH_DEPTH) return damaged(r, "graphs are nested too deep");
    for (size_t i = 0; i < inits.n; i++) {
        PTensor **t = PLIST_ADD(r->scratch, p->initializers);
        TRY_ARENA(t, r->scratch, r->err);
        TRY(read_tensor(r, flat_table_of(inits, i), t));
    }
    for (size_t i = 0; i < sparse.n; i++) {
        PSparse **t = PLIST_ADD(r->scratch, p->sparse_initializers);
        TRY_ARENA(t, r->scratch, r->err);
        TRY(read_sparse(r, flat_table_of(sparse, i), t));
    }
    TRY(read_values(r, g, p));
    for (size_t i = 0; i < nodes.n; i++) {
        PNode **slot = PLIST_ADD(r->scratch, p->nodes), *n = sdx_arena_new(r->scratch, PNode);
        TRY_ARENA(slot && n, r->scratch, r->err);
        *slot = n;
        TRY(read_node(r, flat_table_of(nodes, i), n));
    }
    r->depth--;
    return SDX_OK;
}

/* -- the model ----------------------------------------------------------------------------------------------------- */

bool sdx_is_ort_format(const void *bytes, size_t n)
{
    return n >= 8 && memcmp((const char *)bytes + 4, "ORTM", 4) == 0;
}

sdx_status sdx_ort_format_model(Proto *p, const void *bytes, size_t n, PModel *out, Err *err)
{
    OrtReader r = { .f = { .p = bytes, .n = n },
                    .scratch = p->scratch,
                    .kept = p->kept,
                    .max_nodes = p->max_nodes,
                    .budget = n,
                    .err = err };
    FlatTable m = flat_sub(flat_root(&r.f), 1);
    FlatVec opsets = flat_vec(m, 1, 4), props = flat_vec(m, 9, 4);
    TRY(check(&r, "its head"));
    out->ir_version = flat_i64(m, 0, 0);
    out->producer_name = flat_str(m, 2);
    out->producer_version = flat_str(m, 3);
    out->domain = flat_str(m, 4);
    out->model_version = flat_i64(m, 5, 0);
    out->doc = flat_str(m, 6);
    for (size_t i = 0; i < opsets.n; i++) {
        FlatTable t = flat_table_of(opsets, i);
        POpset *o = PLIST_ADD(p->scratch, out->opsets);
        TRY_ARENA(o, p->scratch, err);
        *o = (POpset){ flat_str(t, 0), flat_i64(t, 1, 0) };
    }
    for (size_t i = 0; i < props.n; i++) {
        FlatTable t = flat_table_of(props, i);
        PEntry *e = PLIST_ADD(p->scratch, out->metadata);
        TRY_ARENA(e, p->scratch, err);
        *e = (PEntry){ flat_str(t, 0), flat_str(t, 1) };
    }
    TRY(read_graph(&r, flat_sub(m, 7), &out->graph));
    out->graph->doc = flat_str(m, 8);
    out->graph->name = (Str){ "graph", 5 }; /* the format has no name for it */
    return check(&r, "its end");
}
