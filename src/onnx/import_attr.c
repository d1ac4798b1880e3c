/* Attributes of nodes, and the references that function bodies make to attributes of their calls. */
#include <string.h>

#include "onnx/import.h"

static const PAttr *find_attr(PAttr *const *attrs, int n, Str name)
{
    for (int i = 0; i < n; i++)
        if (attrs[i]->name.n == name.n && (!name.n || memcmp(attrs[i]->name.p, name.p, name.n) == 0)) return attrs[i];
    return NULL;
}

/* Item `[i]` of a list attribute that a body refers to: NULL when the list is shorter. */
static const PAttr *attr_item(Import *im, const PAttr *list, Str ref, const char *bracket)
{
    int64_t i = bracket[1] - '0';
    PAttr *one = sdx_arena_new(im->scratch, PAttr);
    if (!one || i < 0 || i >= (list->n_floats > list->n_ints ? list->n_floats : list->n_ints)) return NULL;
    bool is_float = list->n_floats > i;
    *one = (PAttr){ .name = ref, .type = is_float ? ATTR_FLOAT : ATTR_INT };
    if (is_float)
        one->f = list->floats[i];
    else
        one->i = list->ints[i];
    return one;
}

/* What p stands for: itself, or what the call of the function gives, or the function's default. *s becomes the scope
 * where that is written. NULL: the call leaves it out. */
static const PAttr *attr_target(Import *im, const PAttr *p, Scope **s)
{
    while (p && p->ref.n && (*s)->call) {
        const Call *c = (*s)->call;
        Str ref = p->ref;
        const char *bracket = c->fn->builtin ? memchr(ref.p, '[', ref.n) : NULL;
        if (bracket) ref.n = (size_t)(bracket - ref.p);
        const PAttr *given = find_attr(c->site->attrs.v, c->site->attrs.n, ref);
        if (!given) return find_attr(c->fn->attrs.v, c->fn->attrs.n, ref);
        *s = c->site_scope;
        p = given;
        if (bracket) {
            given = attr_target(im, p, s);
            return given ? attr_item(im, given, ref, bracket) : NULL;
        }
    }
    return p;
}

const PAttr *sdx_import_attr(Import *im, Scope *s, const PNode *p, const char *name)
{
    return attr_target(im, find_attr(p->attrs.v, p->attrs.n, (Str){ name, strlen(name) }), &s);
}

/* By the field that is set: files of IR 1 have no type. */
static AttrType guess_type(const PAttr *p)
{
    if (p->has_f) return ATTR_FLOAT;
    if (p->has_i) return ATTR_INT;
    if (p->has_s) return ATTR_STRING;
    if (p->t) return ATTR_TENSOR;
    if (p->g) return ATTR_GRAPH;
    if (p->floats) return ATTR_FLOATS;
    if (p->ints) return ATTR_INTS;
    if (p->strings.n) return ATTR_STRINGS;
    if (p->tensors.n) return ATTR_TENSORS;
    if (p->graphs.n) return ATTR_GRAPHS;
    if (p->sparse) return ATTR_SPARSE;
    if (p->sparses.n) return ATTR_SPARSES;
    if (p->tp) return ATTR_TYPE;
    if (p->types.n) return ATTR_TYPES;
    return ATTR_UNDEFINED;
}

static sdx_status tensor_list(Import *im, const PAttr *p, Attr *a, Err *err)
{
    Tensor *list = sdx_arena_array(&im->model->arena, Tensor, p->tensors.n);
    TRY_ARENA(list, &im->model->arena, err);
    for (int i = 0; i < p->tensors.n; i++) {
        const Tensor *t;
        TRY(sdx_proto_tensor_aligned(&im->tensors, p->tensors.v[i], &t, err));
        list[i] = *t;
    }
    a->t = list;
    a->n = p->tensors.n;
    return SDX_OK;
}

static sdx_status sparse_list(Import *im, const PAttr *p, Attr *a, Err *err)
{
    Sparse *list = sdx_arena_array(&im->model->arena, Sparse, p->sparses.n);
    TRY_ARENA(list, &im->model->arena, err);
    for (int i = 0; i < p->sparses.n; i++) {
        const Sparse *s;
        TRY(sdx_proto_sparse(&im->tensors, p->sparses.v[i], &s, err));
        list[i] = *s;
    }
    a->sparse = list;
    a->n = p->sparses.n;
    return SDX_OK;
}

static sdx_status type_list(Import *im, PType *const *types, int n, Attr *a, Err *err)
{
    Type *list = sdx_arena_array(&im->model->arena, Type, n);
    TRY_ARENA(list, &im->model->arena, err);
    for (int i = 0; i < n; i++) TRY(sdx_import_type(im, types[i], &list[i], err));
    a->types = list;
    a->n = n;
    return SDX_OK;
}

static sdx_status graph_list(Import *im, Scope *s, Node *owner, const PAttr *p, Attr *a, Err *err)
{
    Graph **list = sdx_arena_array(&im->model->arena, Graph *, p->graphs.n);
    TRY_ARENA(list, &im->model->arena, err);
    for (int i = 0; i < p->graphs.n; i++) TRY(sdx_import_subgraph(im, s, owner, p->graphs.v[i], &list[i], err));
    a->graphs = list;
    a->n = p->graphs.n;
    return SDX_OK;
}

/* The value of p as a->type says. A scalar that is not there is 0 or empty: proto3 writers leave those out. */
static sdx_status attr_value(Import *im, Scope *s, Node *owner, const PAttr *p, Attr *a, Err *err)
{
    a->n = 1;
    switch (a->type) {
    case ATTR_FLOAT: a->f = p->f; return SDX_OK;
    case ATTR_INT: a->i = p->i; return SDX_OK;
    case ATTR_STRING: a->s = p->has_s ? p->s : (Str){ "", 0 }; return SDX_OK;
    case ATTR_TENSOR:
        if (p->t) return sdx_proto_tensor_aligned(&im->tensors, p->t, &a->t, err);
        break;
    case ATTR_GRAPH:
        if (p->g) return sdx_import_subgraph(im, s, owner, p->g, &a->g, err);
        break;
    case ATTR_FLOATS:
        a->floats = p->floats;
        a->n = p->n_floats;
        return SDX_OK;
    case ATTR_INTS:
        a->ints = p->ints;
        a->n = p->n_ints;
        return SDX_OK;
    case ATTR_STRINGS:
        a->strings = p->strings.v;
        a->n = p->strings.n;
        return SDX_OK;
    case ATTR_TENSORS: return tensor_list(im, p, a, err);
    case ATTR_GRAPHS: return graph_list(im, s, owner, p, a, err);
    case ATTR_SPARSE:
        if (p->sparse) return sdx_proto_sparse(&im->tensors, p->sparse, &a->sparse, err);
        break;
    case ATTR_SPARSES: return sparse_list(im, p, a, err);
    case ATTR_TYPE:
        if (p->tp) return type_list(im, (PType *[]){ p->tp }, 1, a, err);
        break;
    case ATTR_TYPES: return type_list(im, p->types.v, p->types.n, a, err);
    case ATTR_UNDEFINED: break;
    }
    return sdx_fail(err, SDX_INVALID_MODEL, "it has no value");
}

static const AttrSpec *find_spec(const OpDef *def, Str name)
{
    for (const AttrSpec *spec = def ? def->attrs : NULL; spec && spec->name; spec++)
        if (sdx_str_is(name, spec->name)) return spec;
    return NULL;
}

static sdx_status attr_make(Import *im, Scope *s, Node *owner, const PAttr *p, const AttrSpec *spec, Attr *a, Err *err)
{
    if (p->ref.n)
        return sdx_fail(err, SDX_INVALID_MODEL, "it refers to `%.*s`, but stands in no function", STR_ARG(p->ref));
    a->type = p->type ? (AttrType)p->type : guess_type(p);
    if (a->type == ATTR_UNDEFINED && spec) a->type = spec->type;
    if (a->type > ATTR_TYPES || a->type < 0)
        return sdx_fail(err, SDX_INVALID_MODEL, "its type %d is unknown", (int)p->type);
    return attr_value(im, s, owner, p, a, err);
}

sdx_status sdx_import_attrs(Import *im, Scope *s, Node *owner, const PNode *p, const OpDef *def, Attr **out, int *n,
                            Err *err)
{
    *n = 0;
    if (p->attrs.n > SDX_MAX_ATTRS) return sdx_fail(err, SDX_INVALID_MODEL, "it has %d attributes", p->attrs.n);
    *out = sdx_arena_array(&im->model->arena, Attr, p->attrs.n);
    TRY_ARENA(*out, &im->model->arena, err);
    for (int i = 0; i < p->attrs.n; i++) {
        Str name = p->attrs.v[i]->name;
        Scope *from = s;
        const PAttr *target = attr_target(im, p->attrs.v[i], &from);
        if (!target) continue;
        if (find_attr(p->attrs.v, i, name))
            return sdx_fail(err, SDX_INVALID_MODEL, "attribute `%.*s` is given twice", STR_ARG(name));
        const AttrSpec *spec = find_spec(def, name);
        Attr *a = &(*out)[*n];
        a->name = spec ? spec->name : NULL;
        if (!spec) TRY(sdx_import_name(&im->model->arena, name, &a->name, err));
        sdx_status status = attr_make(im, from, owner, target, spec, a, err);
        if (status != SDX_OK) {
            sdx_err_prefix(err, "attribute `%.*s`", STR_ARG(name));
            return status;
        }
        ++*n;
    }
    return SDX_OK;
}
