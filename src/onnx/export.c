/* The IR to ONNX files: newest operator forms, the lowest opsets that have them. */
#include <stdio.h>
#include <string.h>

#include "onnx/export.h"
#include "onnx/wire_out.h"

typedef struct ExternalTensor {
    struct ExternalTensor *next; /* in the order of the file */
    const char *data;
    size_t nbytes;
    uint64_t offset;
} ExternalTensor;

typedef struct Export {
    const Model *m;
    WireOut out;
    const ExportOptions *opt;
    ExternalTensor *external, **external_end;
    uint64_t external_size;
    int64_t ir_version;
    Err *err;
} Export;

/* Offsets of external tensors: whole pages, so that each can be mapped by itself. */
#define EXTERNAL_ALIGN 4096

/* -- versions ------------------------------------------------------------------------------------------------------ */

static void need_ir(Export *x, int64_t ir)
{
    if (x->ir_version < ir) x->ir_version = ir;
}

static void write_opsets(Export *x, const Opsets *list)
{
    need_ir(x, sdx_ir_of_opset(list->v[0].version));
    for (int i = list->n - 1; i >= 0; i--) {
        size_t mark = x->out.total;
        sdx_out_int(&x->out, 2, list->v[i].version);
        sdx_out_string(&x->out, 1, list->v[i].domain);
        sdx_out_message(&x->out, 8, mark);
    }
}

/* -- types --------------------------------------------------------------------------------------------------------- */

static void write_shape(Export *x, const Shape *s)
{
    WireOut *o = &x->out;
    size_t mark = o->total;
    for (int i = s->rank - 1; i >= 0; i--) {
        size_t dim = o->total;
        if (sdx_dim_is_const(s->dims[i]))
            sdx_out_int(o, 1, s->dims[i]);
        else
            sdx_out_string(o, 2, s->dims[i] == SDX_DIM_UNKNOWN ? NULL : sdx_dim_name(x->m->syms, s->dims[i]));
        sdx_out_message(o, 1, dim);
    }
    sdx_out_message(o, 2, mark);
}

static void write_type(Export *x, const Type *t)
{
    static const uint32_t fields[] = { [TYPE_TENSOR] = 1, [TYPE_SEQUENCE] = 4, [TYPE_MAP] = 5,
                                       [TYPE_OPAQUE] = 7, [TYPE_SPARSE] = 8,   [TYPE_OPTIONAL] = 9 };
    WireOut *o = &x->out;
    size_t mark = o->total, inner;
    if (t->kind == TYPE_UNKNOWN) return;
    need_ir(x, sdx_ir_of_type(t->elem));
    switch (t->kind) {
    case TYPE_TENSOR:
    case TYPE_SPARSE:
        if (t->shape.rank >= 0) write_shape(x, &t->shape);
        sdx_out_int(o, 1, t->elem);
        break;
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL:
    case TYPE_MAP:
        inner = o->total;
        if (t->of) write_type(x, t->of);
        sdx_out_message(o, t->kind == TYPE_MAP ? 2 : 1, inner);
        if (t->kind == TYPE_MAP) sdx_out_int(o, 1, t->elem);
        break;
    default: break;
    }
    sdx_out_message(o, fields[t->kind], mark);
}

static void write_value(Export *x, uint32_t field, const Value *v, const Type *type)
{
    size_t mark = x->out.total;
    if (type->kind != TYPE_UNKNOWN) {
        size_t inner = x->out.total;
        write_type(x, type);
        sdx_out_message(&x->out, 2, inner);
    }
    sdx_out_string(&x->out, 1, v->name);
    sdx_out_message(&x->out, field, mark);
}

/* -- tensors ------------------------------------------------------------------------------------------------------- */

static void write_entry(WireOut *o, uint32_t field, const char *key, const char *value)
{
    size_t mark = o->total;
    sdx_out_string(o, 2, value);
    sdx_out_string(o, 1, key);
    sdx_out_message(o, field, mark);
}

/* true: t goes to the other file, and the message says where. */
static bool write_external(Export *x, const Tensor *t)
{
    size_t nbytes;
    char text[32];
    WireOut *o = &x->out;
    if (!x->opt || !x->opt->external_location || t->dtype == DT_STRING || !t->data) return false;
    if (!sdx_tensor_nbytes(t, &nbytes) || nbytes < x->opt->external_min || !nbytes) return false;
    ExternalTensor *e = sdx_arena_new(o->arena, ExternalTensor);
    if (!e) {
        o->failed = true;
        return true;
    }
    uint64_t at = (x->external_size + EXTERNAL_ALIGN - 1) / EXTERNAL_ALIGN * EXTERNAL_ALIGN;
    *e = (ExternalTensor){ .data = t->data, .nbytes = nbytes, .offset = at };
    x->external_size = at + nbytes;
    *x->external_end = e;
    x->external_end = &e->next;
    sdx_out_int(o, 14, 1);
    snprintf(text, sizeof text, "%zu", nbytes);
    write_entry(o, 13, "length", text);
    snprintf(text, sizeof text, "%llu", (unsigned long long)at);
    write_entry(o, 13, "offset", text);
    write_entry(o, 13, "location", x->opt->external_location);
    sdx_out_int(o, 2, t->dtype);
    for (int d = t->rank - 1; d >= 0; d--) sdx_out_int(o, 1, t->dims[d]);
    return true;
}

static void write_tensor(Export *x, uint32_t field, const char *name, const Tensor *t, bool may_go_out)
{
    size_t mark = x->out.total;
    need_ir(x, sdx_ir_of_type(t->dtype));
    sdx_out_string(&x->out, 8, name);
    if (!may_go_out || !write_external(x, t)) sdx_out_tensor(&x->out, t);
    sdx_out_message(&x->out, field, mark);
}

static void write_sparse(Export *x, uint32_t field, const Sparse *s)
{
    size_t mark = x->out.total;
    for (int d = s->rank - 1; d >= 0; d--) sdx_out_int(&x->out, 3, s->dims[d]);
    write_tensor(x, 2, NULL, &s->indices.t, false);
    write_tensor(x, 1, NULL, &s->values.t, false);
    sdx_out_message(&x->out, field, mark);
}

/* -- nodes and graphs ---------------------------------------------------------------------------------------------- */

static sdx_status write_graph(Export *x, uint32_t field, const Graph *g);

static sdx_status write_attr_value(Export *x, const Attr *a)
{
    WireOut *o = &x->out;
    size_t mark = o->total;
    switch (a->type) {
    case ATTR_FLOAT: sdx_out_float(o, 2, a->f); break;
    case ATTR_INT: sdx_out_int(o, 3, a->i); break;
    case ATTR_STRING: sdx_out_bytes(o, 4, a->s.p, a->s.n); break;
    case ATTR_TENSOR: write_tensor(x, 5, NULL, a->t, false); break;
    case ATTR_GRAPH: return write_graph(x, 6, a->g);
    case ATTR_SPARSE: write_sparse(x, 22, a->sparse); break;
    case ATTR_TYPE:
        write_type(x, a->types);
        sdx_out_message(o, 14, mark);
        break;
    default:
        for (int64_t i = a->n - 1; i >= 0; i--) {
            mark = o->total;
            if (a->type == ATTR_FLOATS) sdx_out_float(o, 7, a->floats[i]);
            if (a->type == ATTR_INTS) sdx_out_int(o, 8, a->ints[i]);
            if (a->type == ATTR_STRINGS) sdx_out_bytes(o, 9, a->strings[i].p, a->strings[i].n);
            if (a->type == ATTR_TENSORS) write_tensor(x, 10, NULL, &a->t[i], false);
            if (a->type == ATTR_GRAPHS) TRY(write_graph(x, 11, a->graphs[i]));
            if (a->type == ATTR_SPARSES) write_sparse(x, 23, &a->sparse[i]);
            if (a->type != ATTR_TYPES) continue;
            write_type(x, &a->types[i]);
            sdx_out_message(o, 15, mark);
        }
    }
    return SDX_OK;
}

static sdx_status write_attr(Export *x, const Attr *a)
{
    size_t mark = x->out.total;
    sdx_out_int(&x->out, 20, a->type);
    TRY(write_attr_value(x, a));
    sdx_out_string(&x->out, 1, a->name);
    sdx_out_message(&x->out, 5, mark);
    return SDX_OK;
}

/* A name means the innermost value that has it. */
static sdx_status check_visible(const Node *n, const Value *v, Err *err)
{
    char text[256];
    for (const Graph *g = n->graph; g && g != v->graph; g = g->parent)
        if (sdx_graph_find(g, v->name))
            return sdx_fail(err, SDX_UNSUPPORTED, "%s reads `%s`, whose name a value of graph `%s` hides",
                            sdx_node_text(n, text, sizeof text), v->name, g->name);
    return SDX_OK;
}

static sdx_status write_node(Export *x, const Node *n)
{
    WireOut *o = &x->out;
    size_t mark = o->total;
    sdx_out_string(o, 7, n->domain);
    for (int i = n->n_attrs - 1; i >= 0; i--) TRY(write_attr(x, &n->attrs[i]));
    sdx_out_string(o, 4, n->op_type);
    sdx_out_string(o, 3, n->name);
    for (int i = n->n_out - 1; i >= 0; i--) {
        const char *name = n->out[i] ? n->out[i]->name : "";
        sdx_out_bytes(o, 2, name, strlen(name));
    }
    for (int i = n->n_in - 1; i >= 0; i--) {
        const char *name = n->in[i] ? n->in[i]->name : "";
        if (n->in[i]) TRY(check_visible(n, n->in[i], x->err));
        sdx_out_bytes(o, 1, name, strlen(name));
    }
    sdx_out_message(o, 1, mark);
    return SDX_OK;
}

static void write_initializers(Export *x, const Graph *g)
{
    for (int i = x->m->n_values - 1; i >= 0; i--) {
        const Value *v = x->m->values[i];
        if (!v || v->graph != g || v->producer || !v->constant) continue;
        bool wanted = v->n_uses || v->flags & (VALUE_GRAPH_OUTPUT | VALUE_GRAPH_INPUT);
        if (wanted) write_tensor(x, 5, v->name, v->constant, true);
    }
}

static sdx_status write_graph(Export *x, uint32_t field, const Graph *g)
{
    size_t mark = x->out.total;
    for (int i = g->n_outputs - 1; i >= 0; i--) {
        const Value *v = g->outputs[i];
        write_value(x, 12, v, v->declared ? v->declared : &v->type);
    }
    for (int i = g->n_inputs - 1; i >= 0; i--) write_value(x, 11, g->inputs[i], &g->inputs[i]->type);
    if (!g->parent) sdx_out_string(&x->out, 10, x->m->graph_doc);
    write_initializers(x, g);
    sdx_out_string(&x->out, 2, *g->name ? g->name : "graph");
    for (const Node *n = g->last; n; n = n->prev) TRY(write_node(x, n));
    sdx_out_message(&x->out, field, mark);
    return SDX_OK;
}

static sdx_status write_model(Export *x)
{
    const Model *m = x->m;
    WireOut *o = &x->out;
    Opsets opsets;
    TRY(sdx_export_opsets(m, o->arena, &opsets, x->err));
    for (int i = m->n_metadata - 1; i >= 0; i--) write_entry(o, 14, m->metadata[i].key, m->metadata[i].value);
    write_opsets(x, &opsets);
    TRY(write_graph(x, 7, m->graph));
    sdx_out_string(o, 6, m->doc_string);
    if (m->model_version) sdx_out_int(o, 5, m->model_version);
    sdx_out_string(o, 4, m->domain);
    sdx_out_string(o, 3, m->producer_version);
    sdx_out_string(o, 2, m->producer_name);
    sdx_out_int(o, 1, x->ir_version);
    return o->failed ? sdx_fail(x->err, SDX_OUT_OF_MEMORY, "out of memory") : SDX_OK;
}

/* -- files --------------------------------------------------------------------------------------------------------- */

static sdx_status file_fail(const char *path, Err *err) { return sdx_fail(err, SDX_IO, "%s: cannot write", path); }

/* Files are written beside their place and renamed: the model may be mapped from the very path. */
static sdx_status write_file(const char *path, sdx_status (*fill)(const Export *x, FILE *f), const Export *x, Err *err)
{
    char part[SDX_PATH_MAX];
    int n = snprintf(part, sizeof part, "%s.part", path);
    FILE *f = n > 0 && (size_t)n < sizeof part ? fopen(part, "wb") : NULL;
    if (!f) return file_fail(path, err);
    sdx_status status = fill(x, f);
    if (fclose(f) != 0) status = SDX_IO;
    if (status == SDX_OK && rename(part, path) != 0) status = SDX_IO;
    if (status == SDX_OK) return SDX_OK;
    remove(part);
    return file_fail(path, err);
}

static sdx_status fill_model(const Export *x, FILE *f)
{
    for (const WirePiece *p = x->out.first; p; p = p->next)
        if (fwrite(p->p, 1, p->n, f) != p->n) return SDX_IO;
    return SDX_OK;
}

static sdx_status fill_external(const Export *x, FILE *f)
{
    static const char zeros[EXTERNAL_ALIGN];
    uint64_t at = 0;
    for (const ExternalTensor *e = x->external; e; e = e->next) {
        size_t gap = (size_t)(e->offset - at);
        if (fwrite(zeros, 1, gap, f) != gap || fwrite(e->data, 1, e->nbytes, f) != e->nbytes) return SDX_IO;
        at = e->offset + e->nbytes;
    }
    return SDX_OK;
}

static void export_init(Export *x, const Model *m, Arena *scratch, const ExportOptions *opt, Err *err)
{
    sdx_arena_init(scratch, m->alloc, 0);
    *x = (Export){ .m = m, .out = sdx_out(scratch), .opt = opt, .ir_version = 4, .err = err };
    x->external_end = &x->external;
}

static sdx_status write_external_file(const Export *x, const char *path)
{
    char dir[SDX_PATH_MAX], file[SDX_PATH_MAX];
    const char *location = x->opt->external_location;
    if (strchr(location, '/') || strchr(location, '\\') || !strcmp(location, "..") || !*location)
        return sdx_fail(x->err, SDX_INVALID_ARGUMENT, "%s: external data goes to a file beside the model", location);
    int n = sdx_path_dir(path, dir) ? snprintf(file, sizeof file, "%s/%s", dir, location) : -1;
    if (n < 0 || (size_t)n >= sizeof file) return file_fail(location, x->err);
    return write_file(file, fill_external, x, x->err);
}

sdx_status sdx_onnx_export(const Model *m, const char *path, const ExportOptions *opt, Err *err)
{
    Arena scratch;
    Export x;
    export_init(&x, m, &scratch, opt, err);
    sdx_status status = write_model(&x);
    if (status == SDX_OK && x.external) status = write_external_file(&x, path);
    if (status == SDX_OK) status = write_file(path, fill_model, &x, err);
    sdx_arena_fini(&scratch);
    return status;
}

sdx_status sdx_onnx_export_bytes(const Model *m, Buf **out, Err *err)
{
    Arena scratch;
    Export x;
    *out = NULL;
    export_init(&x, m, &scratch, NULL, err);
    sdx_status status = write_model(&x);
    if (status == SDX_OK) status = sdx_out_join(&x.out, m->alloc, out, err);
    sdx_arena_fini(&scratch);
    return status;
}
