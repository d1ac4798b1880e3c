/* Models of the editor as ONNX files: the fields of ModelProto, written back to front. */
#include <string.h>

#include "onnx/wire.h"
#include "ort/entries_model.h"

enum { IR_VERSION = 10 }; /* fields and types used here are no newer */

static void write_type(WireOut *o, const OrtTypeInfo *t, bool may_guess);

/* A scalar in the editor is what its caller said nothing about: such inputs take any shape. */
static void write_tensor_type(WireOut *o, const OrtTensorTypeAndShapeInfo *t, bool may_guess)
{
    size_t mark = o->total;
    bool has_shape = !t->has_no_shape && !(may_guess && t->rank == 0);
    for (int i = t->rank - 1; has_shape && i >= 0; i--) {
        size_t dim = o->total;
        if (t->dims[i] >= 0)
            sdx_out_int(o, 1, t->dims[i]);
        else
            sdx_out_string(o, 2, t->symbols[i]);
        sdx_out_message(o, 1, dim);
    }
    if (has_shape) sdx_out_message(o, 2, mark);
    sdx_out_int(o, 1, t->dtype);
}

static void write_type(WireOut *o, const OrtTypeInfo *t, bool may_guess)
{
    static const uint32_t fields[] = { [TYPE_TENSOR] = 1, [TYPE_SEQUENCE] = 4, [TYPE_MAP] = 5,
                                       [TYPE_SPARSE] = 8, [TYPE_OPTIONAL] = 9, [TYPE_OPAQUE] = 7 };
    size_t mark = o->total;
    if (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE) {
        write_tensor_type(o, &t->tensor, may_guess);
    } else if (t->of) {
        size_t inner = o->total;
        write_type(o, t->of, false);
        sdx_out_message(o, t->kind == TYPE_MAP ? 2 : 1, inner);
        if (t->kind == TYPE_MAP) sdx_out_int(o, 1, t->tensor.dtype);
    }
    sdx_out_message(o, fields[t->kind], mark);
}

static void write_values(WireOut *o, uint32_t field, OrtValueInfo *const *v, size_t n)
{
    for (size_t i = n; i-- > 0;) {
        size_t mark = o->total, inner = o->total;
        if (v[i]->type->kind != TYPE_UNKNOWN) {
            write_type(o, v[i]->type, true);
            sdx_out_message(o, 2, inner);
        }
        sdx_out_string(o, 1, v[i]->name);
        sdx_out_message(o, field, mark);
    }
}

static void write_attr(WireOut *o, const Attr *a)
{
    size_t mark = o->total;
    sdx_out_int(o, 20, a->type);
    if (a->type == ATTR_FLOAT) sdx_out_float(o, 2, a->f);
    if (a->type == ATTR_INT) sdx_out_int(o, 3, a->i);
    if (a->type == ATTR_STRING) sdx_out_bytes(o, 4, a->s.p, a->s.n);
    if (a->type == ATTR_TENSOR) {
        size_t inner = o->total;
        sdx_out_tensor(o, a->t);
        sdx_out_message(o, 5, inner);
    }
    for (int64_t i = a->n - 1; i >= 0; i--) {
        if (a->type == ATTR_FLOATS) sdx_out_float(o, 7, a->floats[i]);
        if (a->type == ATTR_INTS) sdx_out_int(o, 8, a->ints[i]);
        if (a->type == ATTR_STRINGS) sdx_out_bytes(o, 9, a->strings[i].p, a->strings[i].n);
    }
    sdx_out_string(o, 1, a->name);
    sdx_out_message(o, 5, mark);
}

/* Names may be empty: they hold a place. */
static void write_names(WireOut *o, uint32_t field, const char *const *names, size_t n)
{
    for (size_t i = n; i-- > 0;) sdx_out_bytes(o, field, names[i], strlen(names[i]));
}

static void write_node(WireOut *o, const OrtNode *n)
{
    size_t mark = o->total;
    sdx_out_string(o, 7, n->domain);
    for (size_t i = n->n_attrs + n->n_borrowed; i-- > 0;) write_attr(o, n->attrs[i]);
    sdx_out_string(o, 4, n->op_type);
    sdx_out_string(o, 3, n->name);
    write_names(o, 2, n->out, n->n_out);
    write_names(o, 1, n->in, n->n_in);
    sdx_out_message(o, 1, mark);
}

/* Type and shape; the import has the elements from elsewhere. */
static void write_init(WireOut *o, const OrtInit *init)
{
    size_t mark = o->total;
    sdx_out_string(o, 8, init->name);
    sdx_out_int(o, 2, init->d.t.dtype);
    for (int i = init->d.t.rank - 1; i >= 0; i--) sdx_out_int(o, 1, init->d.t.dims[i]);
    sdx_out_message(o, 5, mark);
}

static void write_graph(WireOut *o, const OrtGraph *g)
{
    size_t mark = o->total;
    write_values(o, 12, g->outputs, g->n_outputs);
    write_values(o, 11, g->inputs, g->n_inputs);
    for (int i = g->n_inits - 1; i >= 0; i--) write_init(o, &g->inits[i]);
    sdx_out_string(o, 2, "graph");
    for (int i = g->n_nodes - 1; i >= 0; i--) write_node(o, g->nodes[i]);
    sdx_out_message(o, 7, mark);
}

static void write_field(WireOut *o, const WireField *f)
{
    if (f->type == WIRE_BYTES)
        sdx_out_borrow(o, f->number, f->bytes.p, f->bytes.n);
    else if (f->type == WIRE_VARINT)
        sdx_out_int(o, f->number, (int64_t)f->v);
    else {
        size_t n = f->type == WIRE_4 ? 4 : 8;
        sdx_out_raw(o, &f->v, n);
        sdx_out_varint(o, (uint64_t)f->number << 3 | f->type);
    }
}

/* The fields of a message but those in `drop` (0 ends it), in their order: read once for each place from the end. */
static sdx_status copy_fields(WireOut *o, Wire w, const uint32_t *drop, Err *err)
{
    WireField *list = NULL;
    int n = 0, cap = 0;
    for (WireField f; sdx_wire_next(&w, &f);) {
        const uint32_t *d = drop;
        while (*d && *d != f.number) d++;
        if (*d) continue;
        TRY_MEM(sdx_arena_grow(o->arena, list, n, cap), err);
        list[n++] = f;
    }
    TRY(sdx_wire_end(&w, err));
    while (n-- > 0) write_field(o, &list[n]);
    return SDX_OK;
}

/* The model in base without the inputs and outputs that m replaces, and without the opsets that m says anew. */
static sdx_status write_base(WireOut *o, const OrtModel *m, const Buf *base, Err *err)
{
    enum { GRAPH = 7, OPSET = 8, INPUT = 11, OUTPUT = 12 };
    static const uint32_t graph_field[] = { GRAPH, 0 };
    uint32_t drop[3] = { 0 };
    int n = 0;
    if (m->graph->has_inputs) drop[n++] = INPUT;
    if (m->graph->has_outputs) drop[n++] = OUTPUT;
    Wire w = sdx_wire(base->data, base->nbytes, "ModelProto");
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (f.number != GRAPH) continue;
        size_t mark = o->total;
        TRY(copy_fields(o, sdx_wire_message(&w, &f, "GraphProto"), drop, err));
        sdx_out_message(o, GRAPH, mark);
    }
    TRY(sdx_wire_end(&w, err));
    return copy_fields(o, sdx_wire(base->data, base->nbytes, "ModelProto"), graph_field, err);
}

sdx_status sdx_ort_model_write(const OrtModel *m, const Buf *base, Buf **out, Err *err)
{
    Arena arena;
    sdx_arena_init(&arena, &sdx_alloc_default, 0);
    WireOut o = sdx_out(&arena);
    for (size_t i = m->n_opsets; i-- > 0;) {
        size_t mark = o.total;
        sdx_out_int(&o, 2, m->opsets[i].version);
        sdx_out_string(&o, 1, m->opsets[i].domain);
        sdx_out_message(&o, 8, mark);
    }
    write_graph(&o, m->graph);
    sdx_status st = SDX_OK;
    if (base)
        st = write_base(&o, m, base, err);
    else
        sdx_out_int(&o, 1, IR_VERSION);
    if (st == SDX_OK) st = sdx_out_join(&o, &sdx_alloc_default, out, err);
    sdx_arena_fini(&arena);
    return st;
}
