/* The textual form to proto.h structs: models, functions, graphs, nodes, attributes.
 *
 * Beyond the published syntax a text may be one graph, or only nodes: then names that no node gives are inputs of
 * unknown type, and values that no node reads are the outputs. */
#include <string.h>

#include "onnx/import.h"
#include "onnx/text.h"

#define MAX_DEPTH 64

static sdx_status read_graph(Text *t, PGraph **out);

/* A name of a list. An empty pair of quotes is an absent value. */
static sdx_status add_name(Text *t, Str *slot)
{
    TRY_ARENA(slot, t->proto->scratch, t->err);
    return sdx_text_name(t, slot);
}

/* -- attributes ---------------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    AttrType type;
} attr_types[] = {
    { "float", ATTR_FLOAT },     { "int", ATTR_INT },       { "string", ATTR_STRING },   { "tensor", ATTR_TENSOR },
    { "graph", ATTR_GRAPH },     { "floats", ATTR_FLOATS }, { "ints", ATTR_INTS },       { "strings", ATTR_STRINGS },
    { "tensors", ATTR_TENSORS }, { "graphs", ATTR_GRAPHS }, { "type_proto", ATTR_TYPE }, { "type_protos", ATTR_TYPES },
};

static sdx_status read_attr_type(Text *t, AttrType *out)
{
    for (size_t i = 0; i < sizeof attr_types / sizeof *attr_types; i++)
        if (sdx_text_at_word(t, attr_types[i].name)) {
            *out = attr_types[i].type;
            sdx_text_advance(t);
            return SDX_OK;
        }
    return sdx_text_fail(t, "an attribute type is missing");
}

/* One value; the field it sets says its type. */
static sdx_status read_single(Text *t, PAttr *a, AttrType *type)
{
    PType *of;
    double f;
    if (t->next.kind == TOKEN_STRING) {
        *type = ATTR_STRING;
        a->has_s = true;
        return sdx_text_string(t, &a->s);
    }
    if (t->next.kind == TOKEN_INT) {
        *type = ATTR_INT;
        return sdx_text_int(t, &a->i);
    }
    if (sdx_text_is_number(t)) {
        *type = ATTR_FLOAT;
        TRY(sdx_text_float(t, &f));
        a->f = (float)f;
        return SDX_OK;
    }
    if (!sdx_text_at_type(t)) {
        *type = ATTR_GRAPH;
        return read_graph(t, &a->g);
    }
    TRY(sdx_text_type(t, &of));
    Str name = { "", 0 };
    if (t->next.kind == TOKEN_NAME) TRY(sdx_text_name(t, &name));
    sdx_text_take(t, "=");
    *type = sdx_text_at(t, "{") ? ATTR_TENSOR : ATTR_TYPE;
    if (*type == ATTR_TENSOR) return sdx_text_tensor(t, of, name, &a->t);
    a->tp = of;
    return SDX_OK;
}

static AttrType list_of(AttrType one)
{
    return one == ATTR_TYPE ? ATTR_TYPES : (AttrType)(one + (ATTR_FLOATS - ATTR_FLOAT));
}

/* Numbers are gathered in scratch and then copied to what is kept. */
typedef struct Gathered {
    PLIST(int64_t) ints;
    PLIST(float) floats;
} Gathered;

static sdx_status add_item(Text *t, PAttr *a, Gathered *g, AttrType *type)
{
    Arena *s = t->proto->scratch;
    PAttr one = { 0 };
    AttrType kind;
    TRY(read_single(t, &one, &kind));
    bool widens = (kind == ATTR_INT && *type == ATTR_FLOAT) || (kind == ATTR_FLOAT && *type == ATTR_INT);
    if (*type != ATTR_UNDEFINED && kind != *type && !widens)
        return sdx_text_fail(t, "a list holds values of two types");
    if (*type != ATTR_FLOAT || kind != ATTR_INT) *type = kind;
    bool ok = true;
    if (kind == ATTR_INT || kind == ATTR_FLOAT) {
        int64_t *i = PLIST_ADD(s, g->ints);
        float *f = PLIST_ADD(s, g->floats);
        ok = i && f;
        if (ok) *i = one.i;
        if (ok) *f = kind == ATTR_INT ? (float)one.i : one.f;
    } else if (kind == ATTR_STRING) {
        Str *v = PLIST_ADD(t->proto->kept, a->strings);
        if ((ok = v != NULL)) *v = one.s;
    } else if (kind == ATTR_TENSOR) {
        PTensor **v = PLIST_ADD(s, a->tensors);
        if ((ok = v != NULL)) *v = one.t;
    } else if (kind == ATTR_GRAPH) {
        PGraph **v = PLIST_ADD(s, a->graphs);
        if ((ok = v != NULL)) *v = one.g;
    } else {
        PType **v = PLIST_ADD(s, a->types);
        if ((ok = v != NULL)) *v = one.tp;
    }
    TRY_ARENA(ok, s, t->err);
    return SDX_OK;
}

static sdx_status read_list(Text *t, PAttr *a, AttrType *type)
{
    Gathered g = { 0 };
    AttrType one = ATTR_UNDEFINED;
    TRY(sdx_text_expect(t, "["));
    while (!sdx_text_at(t, "]")) {
        TRY(add_item(t, a, &g, &one));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, "]"));
    *type = one == ATTR_UNDEFINED ? ATTR_UNDEFINED : list_of(one);
    a->floats = sdx_arena_array(t->proto->kept, float, g.floats.n);
    a->ints = sdx_arena_array(t->proto->kept, int64_t, g.ints.n);
    TRY_ARENA(a->floats && a->ints, t->proto->kept, t->err);
    for (int i = 0; i < g.ints.n; i++) {
        a->floats[i] = g.floats.v[i];
        a->ints[i] = g.ints.v[i];
    }
    a->n_floats = a->n_ints = g.ints.n;
    return SDX_OK;
}

/* Whole numbers may stand for floats where the type is written. */
static sdx_status attr_settle(Text *t, PAttr *a, AttrType found, AttrType said)
{
    a->type = found;
    if (said == ATTR_UNDEFINED || said == found) return SDX_OK;
    a->type = said;
    if (found == ATTR_UNDEFINED && (said == ATTR_TYPES || (said >= ATTR_FLOATS && said <= ATTR_GRAPHS))) return SDX_OK;
    if (said == ATTR_FLOAT && found == ATTR_INT)
        a->f = (float)a->i;
    else if (said != ATTR_FLOATS || found != ATTR_INTS)
        return sdx_text_fail(t, "the value is not of the type written");
    return SDX_OK;
}

/* name, name = value, name : type = value, @name. value_needed false: the first form is allowed (parameters of functions). */
static sdx_status read_attr(Text *t, PAttr *a, bool value_needed)
{
    AttrType said = ATTR_UNDEFINED, found;
    if (sdx_text_take(t, "@")) { /* the function's own, under the same name */
        TRY(sdx_text_name(t, &a->ref));
        a->name = a->ref;
        return SDX_OK;
    }
    TRY(sdx_text_name(t, &a->name));
    if (sdx_text_take(t, ":")) TRY(read_attr_type(t, &said));
    if (!value_needed && !sdx_text_at(t, "=")) return SDX_OK;
    TRY(sdx_text_expect(t, "="));
    if (sdx_text_take(t, "@")) {
        a->type = said;
        return sdx_text_name(t, &a->ref);
    }
    TRY(sdx_text_at(t, "[") ? read_list(t, a, &found) : read_single(t, a, &found));
    return attr_settle(t, a, found, said);
}

static sdx_status read_attrs(Text *t, PNode *n)
{
    Arena *s = t->proto->scratch;
    TRY(sdx_text_expect(t, "<"));
    while (!sdx_text_at(t, ">")) {
        PAttr **a = PLIST_ADD(s, n->attrs);
        if (a) *a = sdx_arena_new(s, PAttr);
        TRY_ARENA(a && *a, s, t->err);
        TRY(read_attr(t, *a, true));
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, ">");
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */

/* domain.name:overload; the last part is the operator, all before it the domain. */
static sdx_status read_op(Text *t, PNode *n)
{
    const char *from = t->next.at;
    Str part;
    TRY(sdx_text_name(t, &n->op_type));
    while (sdx_text_at(t, ".")) {
        n->domain = (Str){ from, (size_t)(t->next.at - from) };
        sdx_text_advance(t);
        TRY(sdx_text_name(t, &part));
        n->op_type = part;
    }
    if (sdx_text_take(t, ":")) return sdx_text_name(t, &n->overload);
    return SDX_OK;
}

static sdx_status read_node(Text *t, PNode *n)
{
    if (sdx_text_take(t, "[")) {
        TRY(sdx_text_name(t, &n->name));
        TRY(sdx_text_expect(t, "]"));
    }
    while (!sdx_text_at(t, "=")) {
        TRY(add_name(t, PLIST_ADD(t->proto->scratch, n->outputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, "="));
    TRY(read_op(t, n));
    if (sdx_text_at(t, "<")) TRY(read_attrs(t, n));
    TRY(sdx_text_expect(t, "("));
    while (!sdx_text_at(t, ")")) {
        TRY(add_name(t, PLIST_ADD(t->proto->scratch, n->inputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, ")"));
    return sdx_text_at(t, "<") ? read_attrs(t, n) : SDX_OK;
}

/* Up to a closing brace or the end of the text. */
static sdx_status read_nodes(Text *t, PNode ***v, int *n)
{
    PLIST(PNode *) list = { 0 };
    while (t->next.kind != TOKEN_END && !sdx_text_at(t, "}")) {
        PNode **slot = PLIST_ADD(t->proto->scratch, list);
        if (slot) *slot = sdx_arena_new(t->proto->scratch, PNode);
        TRY_ARENA(slot && *slot, t->proto->scratch, t->err);
        TRY(read_node(t, *slot));
    }
    *v = list.v;
    *n = list.n;
    return SDX_OK;
}

static sdx_status read_body(Text *t, PNode ***v, int *n)
{
    TRY(sdx_text_expect(t, "{"));
    TRY(read_nodes(t, v, n));
    return sdx_text_expect(t, "}");
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

/* [type] name [= constant]: constants go to the initializers as well. */
static sdx_status read_value(Text *t, PGraph *g, PValueInfo *v, bool *constant)
{
    *constant = false;
    if (sdx_text_at_type(t)) TRY(sdx_text_type(t, &v->type));
    TRY(sdx_text_name(t, &v->name));
    if (!sdx_text_take(t, "=")) return SDX_OK;
    PTensor **slot = PLIST_ADD(t->proto->scratch, g->initializers);
    TRY_ARENA(slot, t->proto->scratch, t->err);
    *constant = true;
    if (!v->type) return sdx_text_fail(t, "a constant needs a type");
    return sdx_text_tensor(t, v->type, v->name, slot);
}

static sdx_status add_value(Text *t, PGraph *g, PValueInfo *slot)
{
    bool constant;
    TRY_ARENA(slot, t->proto->scratch, t->err);
    return read_value(t, g, slot, &constant);
}

/* What stands between the lists and the body: initializers, and types of inner values. */
static sdx_status read_inner_values(Text *t, PGraph *g)
{
    while (!sdx_text_at(t, ">")) {
        PValueInfo v = { 0 };
        bool constant;
        TRY(read_value(t, g, &v, &constant));
        if (!constant) {
            PValueInfo *slot = PLIST_ADD(t->proto->scratch, g->values);
            TRY_ARENA(slot, t->proto->scratch, t->err);
            *slot = v;
        }
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, ">");
}

static sdx_status read_graph_parts(Text *t, PGraph *g)
{
    TRY(sdx_text_name(t, &g->name));
    TRY(sdx_text_expect(t, "("));
    while (!sdx_text_at(t, ")")) {
        TRY(add_value(t, g, PLIST_ADD(t->proto->scratch, g->inputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, ")"));
    TRY(sdx_text_expect(t, "=>"));
    TRY(sdx_text_expect(t, "("));
    while (!sdx_text_at(t, ")")) {
        TRY(add_value(t, g, PLIST_ADD(t->proto->scratch, g->outputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, ")"));
    if (sdx_text_take(t, "<")) TRY(read_inner_values(t, g));
    return read_body(t, &g->nodes.v, &g->nodes.n);
}

static sdx_status read_graph(Text *t, PGraph **out)
{
    if (++t->depth > MAX_DEPTH) return sdx_text_fail(t, "graphs are nested too deep");
    *out = sdx_arena_new(t->proto->scratch, PGraph);
    TRY_ARENA(*out, t->proto->scratch, t->err);
    TRY(read_graph_parts(t, *out));
    t->depth--;
    return SDX_OK;
}

/* -- models -------------------------------------------------------------------------------------------------------- */

static sdx_status read_opsets(Text *t, POpsets *list)
{
    TRY(sdx_text_expect(t, "["));
    while (!sdx_text_at(t, "]")) {
        POpset *o = PLIST_ADD(t->proto->scratch, *list);
        TRY_ARENA(o, t->proto->scratch, t->err);
        TRY(sdx_text_string(t, &o->domain));
        TRY(sdx_text_expect(t, ":"));
        TRY(sdx_text_int(t, &o->version));
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, "]");
}

static sdx_status read_metadata(Text *t, PModel *m)
{
    TRY(sdx_text_expect(t, "["));
    while (!sdx_text_at(t, "]")) {
        PEntry *e = PLIST_ADD(t->proto->scratch, m->metadata);
        TRY_ARENA(e, t->proto->scratch, t->err);
        TRY(sdx_text_string(t, &e->key));
        TRY(sdx_text_expect(t, ":"));
        TRY(sdx_text_string(t, &e->value));
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, "]");
}

static sdx_status read_model_field(Text *t, Str key, PModel *m)
{
    if (sdx_str_is(key, "ir_version")) return sdx_text_int(t, &m->ir_version);
    if (sdx_str_is(key, "model_version")) return sdx_text_int(t, &m->model_version);
    if (sdx_str_is(key, "opset_import")) return read_opsets(t, &m->opsets);
    if (sdx_str_is(key, "metadata_props")) return read_metadata(t, m);
    if (sdx_str_is(key, "producer_name")) return sdx_text_string(t, &m->producer_name);
    if (sdx_str_is(key, "producer_version")) return sdx_text_string(t, &m->producer_version);
    if (sdx_str_is(key, "domain")) return sdx_text_string(t, &m->domain);
    if (sdx_str_is(key, "doc_string")) return sdx_text_string(t, &m->doc);
    return sdx_text_fail(t, "a field of the model is unknown");
}

static sdx_status read_function_field(Text *t, Str key, PFunction *fn)
{
    Str ignored;
    if (sdx_str_is(key, "opset_import")) return read_opsets(t, &fn->opsets);
    if (sdx_str_is(key, "domain")) return sdx_text_string(t, &fn->domain);
    if (sdx_str_is(key, "overload")) return sdx_text_string(t, &fn->overload);
    if (sdx_str_is(key, "doc_string")) return sdx_text_string(t, &ignored);
    return sdx_text_fail(t, "a field of the function is unknown");
}

/* < key: value, ... > of a model, or of a function when fn is not NULL. */
static sdx_status read_header(Text *t, PModel *m, PFunction *fn)
{
    Str key;
    TRY(sdx_text_expect(t, "<"));
    while (!sdx_text_at(t, ">")) {
        TRY(sdx_text_name(t, &key));
        TRY(sdx_text_expect(t, ":"));
        TRY(fn ? read_function_field(t, key, fn) : read_model_field(t, key, m));
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, ">");
}

static sdx_status read_parameters(Text *t, PFunction *fn)
{
    Arena *s = t->proto->scratch;
    while (!sdx_text_at(t, ">")) {
        PAttr *a = sdx_arena_new(s, PAttr);
        TRY_ARENA(a, s, t->err);
        TRY(read_attr(t, a, false));
        if (a->type) {
            PAttr **slot = PLIST_ADD(s, fn->attrs);
            TRY_ARENA(slot, s, t->err);
            *slot = a;
        } else {
            Str *slot = PLIST_ADD(s, fn->attr_names);
            TRY_ARENA(slot, s, t->err);
            *slot = a->name;
        }
        if (!sdx_text_take(t, ",")) break;
    }
    return sdx_text_expect(t, ">");
}

sdx_status sdx_text_function(Text *t, PFunction *fn)
{
    PGraph types = { 0 };
    if (sdx_text_take(t, "<")) TRY(read_parameters(t, fn));
    TRY(sdx_text_expect(t, "("));
    while (!sdx_text_at(t, ")")) {
        TRY(add_name(t, PLIST_ADD(t->proto->scratch, fn->inputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, ")"));
    TRY(sdx_text_expect(t, "=>"));
    TRY(sdx_text_expect(t, "("));
    while (!sdx_text_at(t, ")")) {
        TRY(add_name(t, PLIST_ADD(t->proto->scratch, fn->outputs)));
        if (!sdx_text_take(t, ",")) break;
    }
    TRY(sdx_text_expect(t, ")"));
    if (sdx_text_take(t, "<")) TRY(read_inner_values(t, &types));
    return read_body(t, &fn->nodes.v, &fn->nodes.n);
}

static sdx_status read_function(Text *t, PFunction *fn)
{
    TRY(read_header(t, NULL, fn));
    TRY(sdx_text_name(t, &fn->name));
    return sdx_text_function(t, fn);
}

/* Only nodes: free names become inputs, in order of use; what nobody reads becomes outputs. */
static sdx_status close_graph(Text *t, PGraph *g)
{
    Arena *s = t->proto->scratch;
    Names made = { 0 }, read = { 0 };
    bool fresh;
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->outputs.n; k++)
            TRY_ARENA(sdx_names_add(&made, s, g->nodes.v[i]->outputs.v[k], &fresh), s, t->err);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->inputs.n; k++) {
            Str name = g->nodes.v[i]->inputs.v[k];
            TRY_ARENA(sdx_names_add(&read, s, name, &fresh), s, t->err);
            if (!fresh || !name.n || sdx_names_find(&made, name)) continue;
            PValueInfo *in = PLIST_ADD(s, g->inputs);
            TRY_ARENA(in, s, t->err);
            in->name = name;
        }
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.v[i]->outputs.n; k++) {
            Str name = g->nodes.v[i]->outputs.v[k];
            if (!name.n || sdx_names_find(&read, name)) continue;
            PValueInfo *out = PLIST_ADD(s, g->outputs);
            TRY_ARENA(out, s, t->err);
            out->name = name;
        }
    return SDX_OK;
}

/* A graph begins with a name and a parenthesis; a node with outputs, or a label in brackets. */
static bool begins_graph(const Text *t)
{
    Text ahead = *t;
    if (t->next.kind != TOKEN_NAME && t->next.kind != TOKEN_STRING) return false;
    sdx_text_advance(&ahead);
    return sdx_text_at(&ahead, "(");
}

static sdx_status read_model(Text *t, PModel *m)
{
    m->ir_version = 10; /* of texts that do not say: initializers need not be inputs */
    if (sdx_text_at(t, "<")) TRY(read_header(t, m, NULL));
    if (begins_graph(t)) {
        TRY(read_graph(t, &m->graph));
    } else {
        m->graph = sdx_arena_new(t->proto->scratch, PGraph);
        TRY_ARENA(m->graph, t->proto->scratch, t->err);
        m->graph->name = (Str){ "text", 4 };
        TRY(read_nodes(t, &m->graph->nodes.v, &m->graph->nodes.n));
        TRY(close_graph(t, m->graph));
    }
    while (sdx_text_at(t, "<")) {
        PFunction **fn = PLIST_ADD(t->proto->scratch, m->functions);
        if (fn) *fn = sdx_arena_new(t->proto->scratch, PFunction);
        TRY_ARENA(fn && *fn, t->proto->scratch, t->err);
        TRY(read_function(t, *fn));
    }
    return t->next.kind == TOKEN_END ? SDX_OK : sdx_text_fail(t, "the text goes on where it should end,");
}

sdx_status sdx_onnx_import_text(const Alloc *a, const char *text, size_t n, const ImportOptions *opt, Model **out,
                                Err *err)
{
    Model *m;
    Arena scratch;
    size_t limit = opt ? opt->max_bytes : 0;
    *out = NULL;
    TRY(sdx_model_create(a, limit, &m, err));
    sdx_arena_init(&scratch, a, limit);
    Proto proto = { .scratch = &scratch, .kept = &m->arena };
    PModel model = { 0 };
    Text t;
    sdx_text_init(&t, m, &proto, text, n, err);
    sdx_status status = read_model(&t, &model);
    if (status == SDX_OK) status = sdx_import_model(m, &scratch, &model, opt, err);
    sdx_arena_fini(&scratch);
    if (status == SDX_OK)
        *out = m;
    else
        sdx_model_destroy(m);
    return status;
}
