/* From a node's generic attributes to its operator's typed struct. */
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"

static const char *const attr_type_names[] = {
    "undefined", "FLOAT",   "INT",    "STRING",        "TENSOR",         "GRAPH",      "FLOATS",      "INTS",
    "STRINGS",   "TENSORS", "GRAPHS", "SPARSE_TENSOR", "SPARSE_TENSORS", "TYPE_PROTO", "TYPE_PROTOS",
};

static const char *attr_type_name(AttrType t)
{
    return (unsigned)t < sizeof attr_type_names / sizeof *attr_type_names ? attr_type_names[t] : "unknown";
}

static sdx_status attr_fail(const Node *n, Err *err, const char *attr, const char *what)
{
    char text[256];
    return sdx_fail(err, SDX_INVALID_MODEL, "%s: attribute %s %s", sdx_node_text(n, text, sizeof text), attr, what);
}

static void attr_default(const AttrSpec *spec, char *args)
{
    void *field = args + spec->offset;
    switch (spec->type) {
    case ATTR_INT: *(int64_t *)field = spec->i; break;
    case ATTR_FLOAT: *(float *)field = spec->f; break;
    case ATTR_STRING:
        if (spec->s) *(Str *)field = (Str){ spec->s, strlen(spec->s) };
        break;
    default: break; /* arena memory is zero: absent */
    }
}

static void attr_store(const AttrSpec *spec, const Attr *a, char *args)
{
    void *field = args + spec->offset;
    switch (spec->type) {
    case ATTR_INT: *(int64_t *)field = a->i; break;
    case ATTR_FLOAT: *(float *)field = a->f; break;
    case ATTR_STRING: *(Str *)field = a->s; break;
    case ATTR_TENSOR: *(const Tensor **)field = a->t; break;
    case ATTR_GRAPH: *(Graph **)field = a->g; break;
    case ATTR_INTS: *(IntList *)field = (IntList){ a->n, a->ints }; break;
    case ATTR_FLOATS: *(FloatList *)field = (FloatList){ a->n, a->floats }; break;
    case ATTR_STRINGS: *(StrList *)field = (StrList){ a->n, a->strings }; break;
    case ATTR_SPARSE: *(const Sparse **)field = a->sparse; break;
    case ATTR_TYPE: *(const Type **)field = a->types; break;
    default: *(const Attr **)field = a; break;
    }
}

sdx_status sdx_node_parse(Node *n, Err *err)
{
    const OpDef *def = n->def;
    size_t size = def->attrs_size ? def->attrs_size : 1;
    char *args = sdx_arena_alloc(&n->graph->model->arena, size, _Alignof(max_align_t));
    TRY_MEM(args, err);
    const AttrSpec *end = def->attrs;
    for (; end && end->name; end++) attr_default(end, args);

    for (int i = 0; i < n->n_attrs && !(def->flags & OP_ANY_ATTRS); i++) {
        const Attr *a = &n->attrs[i];
        const AttrSpec *spec = def->attrs;
        while (spec && spec->name && strcmp(spec->name, a->name)) spec++;
        if (!spec || !spec->name) return attr_fail(n, err, a->name, "is not one of this operator");
        if (a->type != spec->type) {
            char what[96];
            snprintf(what, sizeof what, "is of type %s, not %s", attr_type_name(a->type), attr_type_name(spec->type));
            return attr_fail(n, err, a->name, what);
        }
        attr_store(spec, a, args);
    }
    for (const AttrSpec *spec = def->attrs; spec && spec->name; spec++)
        if (spec->required && !sdx_node_attr(n, spec->name)) return attr_fail(n, err, spec->name, "is required");
    n->args = args;
    return SDX_OK;
}
