/* Binary files to proto.h structs. Field numbers are those of onnx.proto; each function is one message. */
#include "onnx/proto.h"

#include <string.h>

static sdx_status read_graph(Proto *p, Wire w, PGraph *g, Err *err);

sdx_status sdx_proto_no_memory(const Arena *a, Err *err)
{
    if (a->limit) return sdx_fail(err, SDX_LIMIT_BYTES, "the model needs more than %zu bytes", a->limit);
    return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

static sdx_status add_string(Proto *p, Str *slot, Wire *w, const WireField *f, Err *err)
{
    TRY_ARENA(slot, p->scratch, err);
    *slot = sdx_wire_string(w, f);
    return SDX_OK;
}

static sdx_status read_entry(Wire w, PEntry *e, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: e->key = sdx_wire_string(&w, &f); break;
        case 2: e->value = sdx_wire_string(&w, &f); break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status read_opset(Wire w, POpset *o, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: o->domain = sdx_wire_string(&w, &f); break;
        case 2: o->version = sdx_wire_int(&w, &f); break;
        }
    return sdx_wire_end(&w, err);
}

/* -- tensors ------------------------------------------------------------------------------------------------------- */

/* Adds what f holds to dims[*rank]. */
static sdx_status add_dims(Wire *w, const WireField *f, int64_t *dims, int32_t *rank, Err *err)
{
    size_t n = sdx_wire_count(w, f, WIRE_VARINT);
    if (n > (size_t)(SDX_MAX_RANK - *rank))
        return sdx_fail(err, SDX_UNSUPPORTED, "byte %llu: %s has more than %d dims",
                        (unsigned long long)((const uint8_t *)f->bytes.p - w->base), w->name, SDX_MAX_RANK);
    *rank += (int32_t)sdx_wire_ints(w, f, dims + *rank);
    return SDX_OK;
}

sdx_status sdx_proto_read_tensor(Proto *p, Wire w, PTensor *t, Err *err)
{
    Str *message = PLIST_ADD(p->scratch, t->messages);
    TRY_ARENA(message, p->scratch, err);
    *message = (Str){ (const char *)w.p, (size_t)(w.end - w.p) };
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: TRY(add_dims(&w, &f, t->dims, &t->rank, err)); break;
        case 2: t->dtype = (int32_t)sdx_wire_int(&w, &f); break;
        case 3: t->has_segment = true; break;
        case 8: t->name = sdx_wire_string(&w, &f); break;
        case 9:
            t->raw = sdx_wire_string(&w, &f);
            t->has_raw = true;
            break;
        case 13: {
            PEntry *e = PLIST_ADD(p->scratch, t->external_data);
            TRY_ARENA(e, p->scratch, err);
            TRY(read_entry(sdx_wire_message(&w, &f, "TensorProto.external_data"), e, err));
            break;
        }
        case 14: t->external = sdx_wire_int(&w, &f) == 1; break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status merge_tensor(Proto *p, Wire *w, const WireField *f, PTensor **t, Err *err)
{
    if (!*t) *t = sdx_arena_new(p->scratch, PTensor);
    TRY_ARENA(*t, p->scratch, err);
    return sdx_proto_read_tensor(p, sdx_wire_message(w, f, "TensorProto"), *t, err);
}

sdx_status sdx_proto_read_sparse(Proto *p, Wire w, PSparse *s, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: TRY(merge_tensor(p, &w, &f, &s->values, err)); break;
        case 2: TRY(merge_tensor(p, &w, &f, &s->indices, err)); break;
        case 3: TRY(add_dims(&w, &f, s->dims, &s->rank, err)); break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status merge_sparse(Proto *p, Wire *w, const WireField *f, PSparse **s, Err *err)
{
    if (!*s) *s = sdx_arena_new(p->scratch, PSparse);
    TRY_ARENA(*s, p->scratch, err);
    return sdx_proto_read_sparse(p, sdx_wire_message(w, f, "SparseTensorProto"), *s, err);
}

/* -- types --------------------------------------------------------------------------------------------------------- */

static sdx_status read_dim(Wire w, PDim *d, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: *d = (PDim){ .has_value = true, .value = sdx_wire_int(&w, &f) }; break;
        case 2: *d = (PDim){ .param = sdx_wire_string(&w, &f) }; break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status read_shape(Proto *p, Wire w, PType *t, Err *err)
{
    t->has_shape = true;
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (f.number != 1) continue;
        PDim *d = PLIST_ADD(p->scratch, t->dims);
        TRY_ARENA(d, p->scratch, err);
        TRY(read_dim(sdx_wire_message(&w, &f, "TensorShapeProto.Dimension"), d, err));
    }
    return sdx_wire_end(&w, err);
}

static sdx_status merge_type(Proto *p, Wire *w, const WireField *f, PType **t, Err *err)
{
    if (!*t) *t = sdx_arena_new(p->scratch, PType);
    TRY_ARENA(*t, p->scratch, err);
    return sdx_proto_read_type(p, sdx_wire_message(w, f, "TypeProto"), *t, err);
}

/* The message behind one member of TypeProto's oneof. */
static sdx_status read_type_member(Proto *p, Wire w, PType *t, Err *err)
{
    bool holds_type = t->kind == TYPE_SEQUENCE || t->kind == TYPE_OPTIONAL;
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (t->kind == TYPE_OPAQUE) continue;
        if (f.number == 1 && !holds_type) t->elem = (int32_t)sdx_wire_int(&w, &f);
        if (f.number == 1 && holds_type) TRY(merge_type(p, &w, &f, &t->of, err));
        if (f.number == 2 && t->kind == TYPE_MAP) TRY(merge_type(p, &w, &f, &t->of, err));
        if (f.number == 2 && (t->kind == TYPE_TENSOR || t->kind == TYPE_SPARSE))
            TRY(read_shape(p, sdx_wire_message(&w, &f, "TensorShapeProto"), t, err));
    }
    return sdx_wire_end(&w, err);
}

sdx_status sdx_proto_read_type(Proto *p, Wire w, PType *t, Err *err)
{
    static const struct {
        TypeKind kind;
        const char *name;
    } members[] = {
        [1] = { TYPE_TENSOR, "TypeProto.Tensor" },
        [4] = { TYPE_SEQUENCE, "TypeProto.Sequence" },
        [5] = { TYPE_MAP, "TypeProto.Map" },
        [7] = { TYPE_OPAQUE, "TypeProto.Opaque" },
        [8] = { TYPE_SPARSE, "TypeProto.SparseTensor" },
        [9] = { TYPE_OPTIONAL, "TypeProto.Optional" },
    };
    for (WireField f; sdx_wire_next(&w, &f);) {
        if (f.number >= sizeof members / sizeof *members || !members[f.number].name) continue;
        if (t->kind != members[f.number].kind) *t = (PType){ .kind = members[f.number].kind }; /* the last one wins */
        TRY(read_type_member(p, sdx_wire_message(&w, &f, members[f.number].name), t, err));
    }
    return sdx_wire_end(&w, err);
}

static sdx_status read_value_info(Proto *p, Wire w, PValueInfo *v, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: v->name = sdx_wire_string(&w, &f); break;
        case 2: TRY(merge_type(p, &w, &f, &v->type, err)); break;
        }
    return sdx_wire_end(&w, err);
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */

/* How many numbers (or strings: elem BYTES) field `number` of the message holds from f on. */
static size_t count_rest(Wire w, WireField f, WireType elem)
{
    size_t n = 0;
    uint32_t number = f.number;
    do {
        if (f.number != number) continue;
        n += elem == WIRE_BYTES ? 1 : sdx_wire_count(&w, &f, elem);
        if (f.type == elem) n += sdx_wire_run(&w, &f, NULL, SIZE_MAX);
    } while (sdx_wire_next(&w, &f));
    return n;
}

/* Strings of an attribute: the list has its full size at the first one. */
static sdx_status read_strings(Proto *p, Wire *w, const WireField *f, PAttr *a, Err *err)
{
    if (!a->strings.v) {
        size_t n = count_rest(*w, *f, WIRE_BYTES);
        if (n > INT32_MAX) return sdx_fail(err, SDX_UNSUPPORTED, "an attribute holds %zu strings", n);
        a->strings.v = sdx_arena_array(p->kept, Str, n);
        TRY_ARENA(a->strings.v, p->kept, err);
        a->strings.cap = (int)n;
    }
    a->strings.v[a->strings.n++] = sdx_wire_string(w, f);
    if (f->type == WIRE_BYTES)
        a->strings.n += (int)sdx_wire_run(w, f, a->strings.v + a->strings.n, (size_t)(a->strings.cap - a->strings.n));
    return SDX_OK;
}

static sdx_status merge_graph(Proto *p, Wire *w, const WireField *f, PGraph **g, Err *err)
{
    if (!*g) *g = sdx_arena_new(p->scratch, PGraph);
    TRY_ARENA(*g, p->scratch, err);
    return read_graph(p, sdx_wire_message(w, f, "GraphProto"), *g, err);
}

/* The list fields of an attribute. */
static sdx_status read_attr_list(Proto *p, Wire *w, const WireField *f, PAttr *a, Err *err)
{
    switch (f->number) {
    case 7:
        if (!a->floats) a->floats = sdx_arena_array(p->kept, float, count_rest(*w, *f, WIRE_4));
        TRY_ARENA(a->floats, p->kept, err);
        a->n_floats += (int64_t)sdx_wire_fixed(w, f, WIRE_4, a->floats + a->n_floats);
        if (f->type == WIRE_4) a->n_floats += (int64_t)sdx_wire_run(w, f, a->floats + a->n_floats, SIZE_MAX);
        return SDX_OK;
    case 8:
        if (!a->ints) a->ints = sdx_arena_array(p->kept, int64_t, count_rest(*w, *f, WIRE_VARINT));
        TRY_ARENA(a->ints, p->kept, err);
        a->n_ints += (int64_t)sdx_wire_ints(w, f, a->ints + a->n_ints);
        if (f->type == WIRE_VARINT) a->n_ints += (int64_t)sdx_wire_run(w, f, a->ints + a->n_ints, SIZE_MAX);
        return SDX_OK;
    case 9: return read_strings(p, w, f, a, err);
    case 10: {
        PTensor **t = PLIST_ADD(p->scratch, a->tensors);
        TRY_ARENA(t, p->scratch, err);
        return merge_tensor(p, w, f, t, err);
    }
    case 11: {
        PGraph **g = PLIST_ADD(p->scratch, a->graphs);
        TRY_ARENA(g, p->scratch, err);
        return merge_graph(p, w, f, g, err);
    }
    case 15: {
        PType **t = PLIST_ADD(p->scratch, a->types);
        TRY_ARENA(t, p->scratch, err);
        return merge_type(p, w, f, t, err);
    }
    case 23: {
        PSparse **s = PLIST_ADD(p->scratch, a->sparses);
        TRY_ARENA(s, p->scratch, err);
        return merge_sparse(p, w, f, s, err);
    }
    }
    return SDX_OK;
}

static sdx_status read_attr(Proto *p, Wire w, PAttr *a, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: a->name = sdx_wire_string(&w, &f); break;
        case 2:
            a->f = sdx_wire_float(&w, &f);
            a->has_f = true;
            break;
        case 3:
            a->i = sdx_wire_int(&w, &f);
            a->has_i = true;
            break;
        case 4:
            a->s = sdx_wire_string(&w, &f);
            a->has_s = true;
            break;
        case 5: TRY(merge_tensor(p, &w, &f, &a->t, err)); break;
        case 6: TRY(merge_graph(p, &w, &f, &a->g, err)); break;
        case 14: TRY(merge_type(p, &w, &f, &a->tp, err)); break;
        case 20: a->type = (int32_t)sdx_wire_int(&w, &f); break;
        case 21: a->ref = sdx_wire_string(&w, &f); break;
        case 22: TRY(merge_sparse(p, &w, &f, &a->sparse, err)); break;
        default: TRY(read_attr_list(p, &w, &f, a, err)); break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status add_attr(Proto *p, PAttr **slot, Wire w, Err *err)
{
    if (slot) *slot = sdx_arena_new(p->scratch, PAttr);
    TRY_ARENA(slot && *slot, p->scratch, err);
    return read_attr(p, w, *slot, err);
}

static sdx_status read_node(Proto *p, Wire w, PNode *n, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: TRY(add_string(p, PLIST_ADD(p->scratch, n->inputs), &w, &f, err)); break;
        case 2: TRY(add_string(p, PLIST_ADD(p->scratch, n->outputs), &w, &f, err)); break;
        case 3: n->name = sdx_wire_string(&w, &f); break;
        case 4: n->op_type = sdx_wire_string(&w, &f); break;
        case 5:
            TRY(add_attr(p, PLIST_ADD(p->scratch, n->attrs), sdx_wire_message(&w, &f, "AttributeProto"), err));
            break;
        case 7: n->domain = sdx_wire_string(&w, &f); break;
        case 8: n->overload = sdx_wire_string(&w, &f); break;
        }
    return sdx_wire_end(&w, err);
}

static sdx_status add_node(Proto *p, PNode **slot, Wire w, Err *err)
{
    if (p->max_nodes && ++p->n_nodes > p->max_nodes)
        return sdx_fail(err, SDX_LIMIT_NODES, "the model has more than %lld nodes", (long long)p->max_nodes);
    if (slot) *slot = sdx_arena_new(p->scratch, PNode);
    TRY_ARENA(slot && *slot, p->scratch, err);
    return read_node(p, w, *slot, err);
}

/* -- graphs and models --------------------------------------------------------------------------------------------- */

static sdx_status add_value_info(Proto *p, PValueInfo *slot, Wire w, Err *err)
{
    TRY_ARENA(slot, p->scratch, err);
    return read_value_info(p, w, slot, err);
}

static sdx_status read_graph(Proto *p, Wire w, PGraph *g, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: TRY(add_node(p, PLIST_ADD(p->scratch, g->nodes), sdx_wire_message(&w, &f, "NodeProto"), err)); break;
        case 2: g->name = sdx_wire_string(&w, &f); break;
        case 5: {
            PTensor **t = PLIST_ADD(p->scratch, g->initializers);
            TRY_ARENA(t, p->scratch, err);
            TRY(merge_tensor(p, &w, &f, t, err));
            break;
        }
        case 10: g->doc = sdx_wire_string(&w, &f); break;
        case 11:
            TRY(add_value_info(p, PLIST_ADD(p->scratch, g->inputs), sdx_wire_message(&w, &f, "ValueInfoProto"), err));
            break;
        case 12:
            TRY(add_value_info(p, PLIST_ADD(p->scratch, g->outputs), sdx_wire_message(&w, &f, "ValueInfoProto"), err));
            break;
        case 13:
            TRY(add_value_info(p, PLIST_ADD(p->scratch, g->values), sdx_wire_message(&w, &f, "ValueInfoProto"), err));
            break;
        case 15: {
            PSparse **s = PLIST_ADD(p->scratch, g->sparse_initializers);
            TRY_ARENA(s, p->scratch, err);
            TRY(merge_sparse(p, &w, &f, s, err));
            break;
        }
        }
    return sdx_wire_end(&w, err);
}

static sdx_status add_opset(Proto *p, POpsets *list, Wire w, Err *err)
{
    POpset *o = PLIST_ADD(p->scratch, *list);
    TRY_ARENA(o, p->scratch, err);
    return read_opset(w, o, err);
}

static sdx_status read_function(Proto *p, Wire w, PFunction *fn, Err *err)
{
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: fn->name = sdx_wire_string(&w, &f); break;
        case 4: TRY(add_string(p, PLIST_ADD(p->scratch, fn->inputs), &w, &f, err)); break;
        case 5: TRY(add_string(p, PLIST_ADD(p->scratch, fn->outputs), &w, &f, err)); break;
        case 6: TRY(add_string(p, PLIST_ADD(p->scratch, fn->attr_names), &w, &f, err)); break;
        case 7: TRY(add_node(p, PLIST_ADD(p->scratch, fn->nodes), sdx_wire_message(&w, &f, "NodeProto"), err)); break;
        case 9: TRY(add_opset(p, &fn->opsets, sdx_wire_message(&w, &f, "OperatorSetIdProto"), err)); break;
        case 10: fn->domain = sdx_wire_string(&w, &f); break;
        case 11:
            TRY(add_attr(p, PLIST_ADD(p->scratch, fn->attrs), sdx_wire_message(&w, &f, "AttributeProto"), err));
            break;
        case 12:
            TRY(add_value_info(p, PLIST_ADD(p->scratch, fn->values), sdx_wire_message(&w, &f, "ValueInfoProto"), err));
            break;
        case 13: fn->overload = sdx_wire_string(&w, &f); break;
        }
    return sdx_wire_end(&w, err);
}

sdx_status sdx_proto_model(Proto *p, const void *bytes, size_t n, PModel *m, Err *err)
{
    Wire w = sdx_wire(bytes, n, "ModelProto");
    for (WireField f; sdx_wire_next(&w, &f);) switch (f.number) {
        case 1: m->ir_version = sdx_wire_int(&w, &f); break;
        case 2: m->producer_name = sdx_wire_string(&w, &f); break;
        case 3: m->producer_version = sdx_wire_string(&w, &f); break;
        case 4: m->domain = sdx_wire_string(&w, &f); break;
        case 5: m->model_version = sdx_wire_int(&w, &f); break;
        case 6: m->doc = sdx_wire_string(&w, &f); break;
        case 7: TRY(merge_graph(p, &w, &f, &m->graph, err)); break;
        case 8: TRY(add_opset(p, &m->opsets, sdx_wire_message(&w, &f, "OperatorSetIdProto"), err)); break;
        case 14: {
            PEntry *e = PLIST_ADD(p->scratch, m->metadata);
            TRY_ARENA(e, p->scratch, err);
            TRY(read_entry(sdx_wire_message(&w, &f, "ModelProto.metadata_props"), e, err));
            break;
        }
        case 25: {
            PFunction **fn = PLIST_ADD(p->scratch, m->functions);
            if (fn) *fn = sdx_arena_new(p->scratch, PFunction);
            TRY_ARENA(fn && *fn, p->scratch, err);
            TRY(read_function(p, sdx_wire_message(&w, &f, "FunctionProto"), *fn, err));
            break;
        }
        }
    return sdx_wire_end(&w, err);
}
