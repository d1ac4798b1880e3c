/* Graphs of the file to graphs of the IR. */
#include <stdio.h>
#include <string.h>

#include "onnx/import.h"

#define IR_INITIALIZERS_ARE_INPUTS 3 /* up to this IR version every initializer is listed as an input too */

sdx_status sdx_import_name(Arena *a, Str s, const char **out, Err *err)
{
    if (s.n && memchr(s.p, 0, s.n))
        return sdx_fail(err, SDX_INVALID_MODEL, "name `%.*s...` holds a zero byte", STR_ARG(s));
    *out = sdx_arena_strndup(a, s.p, s.n);
    TRY_ARENA(*out, a, err);
    return SDX_OK;
}

char *sdx_pnode_text(const PNode *p, char *buf, size_t size)
{
    Str name = p->name.n || !p->outputs.n ? p->name : p->outputs.v[0];
    bool plain = !p->domain.n || sdx_str_is(p->domain, "ai.onnx");
    snprintf(buf, size, "node `%.*s` (%.*s%s%.*s)", STR_ARG(name), plain ? 0 : STR_ARG(p->domain), plain ? "" : ".",
             STR_ARG(p->op_type));
    return buf;
}

/* -- types --------------------------------------------------------------------------------------------------------- */

static sdx_status shape_make(Import *im, const PType *p, Shape *out, Err *err)
{
    out->rank = SDX_RANK_UNKNOWN;
    if (!p->has_shape) return SDX_OK;
    if (p->dims.n > SDX_MAX_RANK)
        return sdx_fail(err, SDX_UNSUPPORTED, "a type of rank %d; the largest is %d", p->dims.n, SDX_MAX_RANK);
    for (int i = 0; i < p->dims.n; i++) {
        const PDim *d = &p->dims.v[i];
        if (d->has_value && d->value >= 0)
            out->dims[i] = d->value;
        else if (d->param.n)
            out->dims[i] = sdx_dim_named(im->model->syms, d->param.p, d->param.n);
        else
            out->dims[i] = SDX_DIM_UNKNOWN;
    }
    out->rank = p->dims.n;
    return SDX_OK;
}

sdx_status sdx_import_type(Import *im, const PType *p, Type *out, Err *err)
{
    *out = (Type){ .kind = p->kind, .shape.rank = SDX_RANK_UNKNOWN };
    if (p->kind == TYPE_TENSOR || p->kind == TYPE_SPARSE || p->kind == TYPE_MAP) {
        if (p->elem && !sdx_dtype_is_valid(p->elem))
            return sdx_fail(err, SDX_INVALID_MODEL, "element type %d is not defined", (int)p->elem);
        out->elem = (DType)p->elem;
    }
    if (p->kind == TYPE_TENSOR || p->kind == TYPE_SPARSE) return shape_make(im, p, &out->shape, err);
    if (!p->of) return SDX_OK;
    Type *of = sdx_arena_new(&im->model->arena, Type);
    TRY_ARENA(of, &im->model->arena, err);
    out->of = of;
    return sdx_import_type(im, p->of, of, err);
}

static sdx_status value_type(Import *im, Value *v, const PValueInfo *info, Err *err)
{
    if (!info->type) return SDX_OK;
    sdx_status status = sdx_import_type(im, info->type, &v->type, err);
    if (status != SDX_OK) sdx_err_prefix(err, "value `%s`", v->name);
    return status;
}

/* -- values -------------------------------------------------------------------------------------------------------- */

static void **scope_find(const Scope *s, Str name)
{
    void **slot = NULL;
    for (; s && !slot; s = s->outer) slot = sdx_names_find(&s->values, name);
    return slot;
}

sdx_status sdx_import_find(const Scope *s, Str name, Value **out, Err *err)
{
    void **slot = scope_find(s, name);
    *out = slot ? *slot : NULL;
    return slot ? SDX_OK : sdx_fail(err, SDX_INVALID_MODEL, "`%.*s` is not defined", STR_ARG(name));
}

/* A new value under the name, or `given` one. */
static sdx_status scope_define(Import *im, Scope *s, Str name, Value *given, Value **out, Err *err)
{
    bool made;
    void **slot = sdx_names_add(&s->values, im->scratch, name, &made);
    TRY_ARENA(slot, im->scratch, err);
    if (!made) return sdx_fail(err, SDX_INVALID_MODEL, "`%.*s` is defined twice", STR_ARG(name));
    *slot = *out = given;
    if (given) return SDX_OK;
    const char *text;
    TRY(sdx_import_name(im->scratch, name, &text, err));
    if (*s->prefix) text = sdx_arena_printf(im->scratch, "%s%s", s->prefix, text);
    TRY_ARENA(text, im->scratch, err);
    *slot = *out = sdx_value_create(s->graph, text);
    TRY_ARENA(*out, &im->model->arena, err);
    return SDX_OK;
}

static void value_set_constant(Value *v, const Tensor *t)
{
    v->constant = t;
    v->flags |= VALUE_INITIALIZER;
    if (!sdx_tensor_is_aligned(t)) v->flags |= VALUE_UNALIGNED;
    v->type = (Type){ .kind = TYPE_TENSOR, .elem = t->dtype, .shape.rank = t->rank };
    for (int i = 0; i < t->rank; i++) v->type.shape.dims[i] = t->dims[i];
}

static bool same_tensor(const Tensor *a, const Tensor *b)
{
    size_t nbytes;
    if (a->dtype != b->dtype || !sdx_dims_equal(a->dims, a->rank, b->dims, b->rank)) return false;
    if (a->dtype == DT_STRING || !sdx_tensor_nbytes(a, &nbytes)) return false;
    return !nbytes || memcmp(a->data, b->data, nbytes) == 0;
}

/* The same content twice does no harm, and occurs in merged files. */
static sdx_status add_constant(Import *im, Scope *s, Str name, const Tensor *t, Err *err)
{
    if (!name.n) return sdx_fail(err, SDX_INVALID_MODEL, "an initializer has no name");
    void **slot = sdx_names_find(&s->values, name);
    if (slot && same_tensor(((Value *)*slot)->constant, t)) return SDX_OK;
    Value *v;
    TRY(scope_define(im, s, name, NULL, &v, err));
    value_set_constant(v, t);
    return SDX_OK;
}

/* What the host has for an initializer; *out NULL: nothing. */
static sdx_status given_tensor(Import *im, const Scope *s, const PTensor *p, const Tensor **out, Err *err)
{
    *out = NULL;
    for (int i = 0; i < im->opt->n_given && !s->graph->parent; i++) {
        GivenInit *g = &im->opt->given[i];
        if (!sdx_str_is(p->name, g->name)) continue;
        if (p->dtype != (int32_t)g->t.dtype || !sdx_dims_equal(p->dims, p->rank, g->t.dims, g->t.rank)) {
            char want[160], got[160];
            return sdx_fail(err, SDX_INVALID_ARGUMENT, "the content given for initializer `%s` is %s%s, not %s%s",
                            g->name, sdx_dtype_name(g->t.dtype), sdx_dims_text(got, sizeof got, g->t.dims, g->t.rank),
                            sdx_dtype_name((DType)p->dtype), sdx_dims_text(want, sizeof want, p->dims, p->rank));
        }
        g->used = true;
        *out = &g->t;
    }
    return SDX_OK;
}

static sdx_status add_initializers(Import *im, Scope *s, const PGraph *p, Err *err)
{
    const Tensor *t;
    for (int i = 0; i < p->initializers.n; i++) {
        TRY(given_tensor(im, s, p->initializers.v[i], &t, err));
        if (t) {
            Tensor *kept = sdx_arena_new(&im->model->arena, Tensor);
            TRY_ARENA(kept, &im->model->arena, err);
            *kept = *t;
            t = kept;
        } else {
            TRY(sdx_proto_tensor(&im->tensors, p->initializers.v[i], &t, err));
        }
        TRY(add_constant(im, s, p->initializers.v[i]->name, t, err));
    }
    for (int i = 0; i < p->sparse_initializers.n; i++) {
        TRY(sdx_proto_densify(&im->tensors, p->sparse_initializers.v[i], &t, err));
        TRY(add_constant(im, s, p->sparse_initializers.v[i]->values->name, t, err));
    }
    return SDX_OK;
}

/* An input with the name of an initializer is that constant in old files, and a default that callers may override
 * in newer ones. */
static sdx_status add_inputs(Import *im, Scope *s, const PGraph *p, Err *err)
{
    for (int i = 0; i < p->inputs.n; i++) {
        const PValueInfo *info = &p->inputs.v[i];
        if (!info->name.n)
            return sdx_fail(err, SDX_INVALID_MODEL, "input %d of graph `%.*s` has no name", i, STR_ARG(p->name));
        void **slot = sdx_names_find(&s->values, info->name);
        Value *v = slot ? *slot : NULL;
        if (v && v->constant && !(v->flags & VALUE_GRAPH_INPUT)) {
            if (im->proto->ir_version <= IR_INITIALIZERS_ARE_INPUTS) continue;
            v->flags |= VALUE_OVERRIDABLE;
        } else {
            TRY(scope_define(im, s, info->name, NULL, &v, err));
        }
        TRY(value_type(im, v, info, err));
        TRY(sdx_graph_add_input(s->graph, v, err));
    }
    return SDX_OK;
}

/* What the file says of inner values: hints. */
static sdx_status add_hints(Import *im, Scope *s, const PGraph *p, Err *err)
{
    for (int i = 0; i < p->values.n; i++) {
        void **slot = sdx_names_find(&s->values, p->values.v[i].name);
        Value *v = slot ? *slot : NULL;
        if (v && !v->constant && !(v->flags & VALUE_GRAPH_INPUT)) TRY(value_type(im, v, &p->values.v[i], err));
    }
    return SDX_OK;
}

sdx_status sdx_import_identity(Graph *g, Value *from, Value *to, Err *err)
{
    Node *n = sdx_node_make(g, NULL, "", "Identity", &from, 1, &to, 1, err);
    return n ? SDX_OK : SDX_OUT_OF_MEMORY;
}

static sdx_status add_outputs(Import *im, Scope *s, const PGraph *p, Err *err)
{
    for (int i = 0; i < p->outputs.n; i++) {
        const PValueInfo *info = &p->outputs.v[i];
        Value *v;
        TRY(sdx_import_find(s, info->name, &v, err));
        if (!v)
            return sdx_fail(err, SDX_INVALID_MODEL, "`%.*s` is an input that the call leaves out", STR_ARG(info->name));
        if (v->graph != s->graph) { /* a nested graph gives a value of a graph around it */
            Value *outer = v;
            v = sdx_value_create(s->graph, NULL);
            TRY_ARENA(v, &im->model->arena, err);
            TRY(sdx_import_identity(s->graph, outer, v, err));
        }
        if (!s->graph->parent && v->flags & VALUE_GRAPH_OUTPUT)
            return sdx_fail(err, SDX_INVALID_MODEL, "`%s` is listed twice", v->name);
        if (!v->constant && !(v->flags & VALUE_GRAPH_INPUT)) TRY(value_type(im, v, info, err));
        TRY(sdx_graph_add_output(s->graph, v, err));
    }
    return SDX_OK;
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */

sdx_status sdx_import_declare(Import *im, Scope *s, PNode *const *nodes, int n, const Names *formal, Err *err)
{
    char text[256];
    for (int i = 0; i < n; i++)
        for (int k = 0; k < nodes[i]->outputs.n; k++) {
            Str name = nodes[i]->outputs.v[k];
            if (!name.n) continue;
            void **given = formal ? sdx_names_find(formal, name) : NULL;
            Value *v;
            sdx_status status = scope_define(im, s, name, given ? *given : NULL, &v, err);
            if (status != SDX_OK) {
                sdx_err_prefix(err, "%s: output %d", sdx_pnode_text(nodes[i], text, sizeof text), k);
                return status;
            }
        }
    return SDX_OK;
}

/* The tensor of a Constant node; NULL when its value has to be found otherwise. */
static sdx_status constant_tensor(Import *im, Scope *s, const PNode *p, const Tensor **out, Err *err)
{
    const PAttr *a;
    *out = NULL;
    if ((a = sdx_import_attr(im, s, p, "value")) && a->t) return sdx_proto_tensor(&im->tensors, a->t, out, err);
    if ((a = sdx_import_attr(im, s, p, "sparse_value")) && a->sparse)
        return sdx_proto_densify(&im->tensors, a->sparse, out, err);
    Tensor t = { .rank = 0 };
    if ((a = sdx_import_attr(im, s, p, "value_int")))
        t = (Tensor){ .dtype = DT_INT64, .data = (void *)&a->i };
    else if ((a = sdx_import_attr(im, s, p, "value_float")))
        t = (Tensor){ .dtype = DT_FLOAT, .data = (void *)&a->f };
    else if ((a = sdx_import_attr(im, s, p, "value_string")))
        t = (Tensor){ .dtype = DT_STRING, .data = (void *)&a->s };
    else if ((a = sdx_import_attr(im, s, p, "value_ints")))
        t = (Tensor){ .dtype = DT_INT64, .rank = 1, .dims = { a->n_ints }, .data = a->ints };
    else if ((a = sdx_import_attr(im, s, p, "value_floats")))
        t = (Tensor){ .dtype = DT_FLOAT, .rank = 1, .dims = { a->n_floats }, .data = a->floats };
    else if ((a = sdx_import_attr(im, s, p, "value_strings")))
        t = (Tensor){ .dtype = DT_STRING, .rank = 1, .dims = { a->strings.n }, .data = a->strings.v };
    else
        return SDX_OK;
    Tensor *kept = sdx_arena_new(&im->model->arena, Tensor);
    void *data = sdx_model_tensor_data(im->model, &t);
    TRY_ARENA(kept && data, &im->model->arena, err);
    size_t nbytes = (size_t)sdx_tensor_count(&t) * sdx_dtype_size(t.dtype); /* as large as the attribute */
    if (nbytes) memcpy(data, t.data, nbytes);
    t.data = data;
    *kept = t;
    *out = kept;
    return SDX_OK;
}

/* Constant nodes become constants here, so that upgrades see them. *done false: p is something else. */
static sdx_status add_constant_node(Import *im, Scope *s, const PNode *p, bool *done, Err *err)
{
    const Tensor *t;
    Value *v;
    *done = false;
    bool standard = !p->domain.n || sdx_str_is(p->domain, "ai.onnx");
    if (!standard || !sdx_str_is(p->op_type, "Constant") || p->outputs.n != 1 || !p->outputs.v[0].n) return SDX_OK;
    TRY(constant_tensor(im, s, p, &t, err));
    if (!t) return SDX_OK;
    TRY(sdx_import_find(s, p->outputs.v[0], &v, err));
    value_set_constant(v, t);
    *done = true;
    return SDX_OK;
}

static sdx_status find_values(Import *im, const Scope *s, const Str *names, int n, const char *what, Value ***out,
                              Err *err)
{
    *out = sdx_arena_array(im->scratch, Value *, n);
    TRY_ARENA(*out, im->scratch, err);
    for (int i = 0; i < n; i++) {
        if (!names[i].n) continue;
        sdx_status status = sdx_import_find(s, names[i], &(*out)[i], err);
        if (status == SDX_OK) continue;
        sdx_err_prefix(err, "%s %d", what, i);
        return status;
    }
    return SDX_OK;
}

static sdx_status set_origin(Model *m, Node *n, const OpVer *ver, Err *err)
{
    NodeOrigin *o = sdx_arena_new(&m->arena, NodeOrigin);
    Attr *attrs = sdx_arena_array(&m->arena, Attr, n->n_attrs);
    TRY_ARENA(o && attrs, &m->arena, err);
    for (int i = 0; i < n->n_attrs; i++) attrs[i] = n->attrs[i];
    *o = (NodeOrigin){ .op_type = n->op_type,
                       .domain = n->domain,
                       .since_version = ver ? ver->since : 1,
                       .attrs = attrs,
                       .n_attrs = n->n_attrs };
    n->origin = o;
    return SDX_OK;
}

/* Gradient names tensors in its attributes; here they become inputs, after those it has (ops/gradient_op.c). */
static sdx_status add_named_inputs(Import *im, const Scope *s, Node *n, Err *err)
{
    static const char *const lists[] = { "xs", "zs", "y" };
    int n_in = n->n_in, n_names = 0, total = n->n_in;
    for (int i = 0; i < 3; i++) {
        const Attr *a = sdx_node_attr(n, lists[i]);
        bool names = a && a->type == (i < 2 ? ATTR_STRINGS : ATTR_STRING);
        if (a && !names) return sdx_fail(err, SDX_INVALID_MODEL, "attribute %s does not hold names", lists[i]);
        total += names ? (int)a->n : 0;
    }
    Value **in = sdx_arena_array(im->scratch, Value *, total);
    TRY_ARENA(in, im->scratch, err);
    for (int i = 0; i < n_in; i++) in[i] = n->in[i];
    for (int i = 0; i < 3; i++) {
        const Attr *a = sdx_node_attr(n, lists[i]);
        if (i == 2 && n_names != n_in)
            return sdx_fail(err, SDX_INVALID_MODEL, "has %d inputs, but xs and zs hold %d names", n_in, n_names);
        for (int64_t k = 0; a && k < a->n; k++) {
            Str name = i < 2 ? a->strings[k] : a->s;
            sdx_status status = sdx_import_find(s, name, &in[n_in + n_names++], err);
            if (status == SDX_OK) continue;
            sdx_err_prefix(err, "attribute %s", lists[i]);
            return status;
        }
    }
    bool set = sdx_node_set_inputs(n, in, n_in + n_names);
    TRY_ARENA(set, &im->model->arena, err);
    return SDX_OK;
}

/* Tells the survey, if there is one. What stands in our own bodies is no node of the file. */
static sdx_status survey_node(Import *im, const Scope *s, const PNode *p, ImportedNode seen, Err *err)
{
    const ImportSurvey *survey = im->opt->survey;
    Value *v = NULL;
    if (!survey || (s->call && s->call->fn->builtin)) return SDX_OK;
    if (p->outputs.n && p->outputs.v[0].n) TRY(sdx_import_find(s, p->outputs.v[0], &v, err));
    seen.name = p->name;
    seen.op_type = p->op_type;
    seen.domain = p->domain;
    seen.output = v;
    survey->node(survey->user, &seen);
    return SDX_OK;
}

/* A survey goes on behind a node that cannot run, for the reason in own; the import fails in the end. */
static sdx_status add_unsupported(Import *im, const Scope *s, const PNode *p, const Err *own, Err *err)
{
    char text[256];
    sdx_status status = (sdx_status)own->code;
    if (status != SDX_UNSUPPORTED || !im->opt->survey) return sdx_fail(err, status, "%s", own->text);
    TRY(survey_node(im, s, p, (ImportedNode){ .missing = own->text }, err));
    if (im->missing.code == SDX_OK)
        sdx_fail(&im->missing, status, "%s: %s", sdx_pnode_text(p, text, sizeof text), own->text);
    return SDX_OK;
}

static sdx_status add_call(Import *im, Scope *s, const PNode *p, PFunction *fn, Err *err)
{
    TRY(survey_node(im, s, p, (ImportedNode){ .is_call = true }, err));
    return sdx_import_call(im, s, p, fn, err);
}

static sdx_status add_operator(Import *im, Scope *s, const PNode *p, const OpDef *def, const OpVer *ver, Err *err)
{
    Model *m = im->model;
    const char *name;
    Value **in, **out;
    if (im->opt && im->opt->max_nodes && m->next_node_id >= im->opt->max_nodes)
        return sdx_fail(err, SDX_LIMIT_NODES, "the model has more than %lld nodes", (long long)im->opt->max_nodes);
    TRY(find_values(im, s, p->inputs.v, p->inputs.n, "input", &in, err));
    TRY(find_values(im, s, p->outputs.v, p->outputs.n, "output", &out, err));
    TRY(sdx_import_name(im->scratch, p->name, &name, err));
    if (*s->prefix) name = sdx_arena_printf(im->scratch, "%s%s", s->prefix, name);
    Node *n = name ? sdx_node_create(s->graph, NULL, def, name, in, p->inputs.n, out, p->outputs.n) : NULL;
    TRY_ARENA(n, &m->arena, err);
    n->op_type = def->name;
    n->domain = def->domain ? def->domain : "";
    TRY(survey_node(im, s, p, (ImportedNode){ .node = n, .since_version = ver ? ver->since : 1 }, err));
    TRY(sdx_import_attrs(im, s, n, p, def, &n->attrs, &n->n_attrs, err));
    if (def == &sdx_op_training_Gradient) TRY(add_named_inputs(im, s, n, err));
    return set_origin(m, n, ver, err);
}

static sdx_status add_node(Import *im, Scope *s, const PNode *p, Err *err)
{
    bool done;
    PFunction *fn;
    const OpDef *def;
    const OpVer *ver;
    Err own = { 0 };
    TRY(sdx_import_optional(s, p, &done, err));
    if (done) return SDX_OK;
    TRY(add_constant_node(im, s, p, &done, err));
    if (done) return survey_node(im, s, p, (ImportedNode){ .since_version = 1 }, err);
    TRY(sdx_import_function(im, p, &fn, err));
    if (fn) return add_call(im, s, p, fn, err);
    TRY(sdx_import_operator(im, s, p, &def, &ver, err));
    if (def) return add_operator(im, s, p, def, ver, err);
    sdx_status status = sdx_import_body(im, s, p, &fn, &own);
    if (status == SDX_OK && !fn) status = sdx_import_unknown(s, p, &own);
    return status == SDX_OK ? add_call(im, s, p, fn, err) : add_unsupported(im, s, p, &own, err);
}

sdx_status sdx_import_nodes(Import *im, Scope *s, PNode *const *nodes, int n, Err *err)
{
    char text[256];
    for (int i = 0; i < n; i++) {
        sdx_status status = add_node(im, s, nodes[i], err);
        if (status == SDX_OK) continue;
        sdx_err_prefix(err, "%s", sdx_pnode_text(nodes[i], text, sizeof text));
        return status;
    }
    return SDX_OK;
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

static sdx_status graph_fill(Import *im, Scope *s, const PGraph *p, Err *err)
{
    TRY(add_initializers(im, s, p, err));
    TRY(add_inputs(im, s, p, err));
    TRY(sdx_import_declare(im, s, p->nodes.v, p->nodes.n, NULL, err));
    TRY(add_hints(im, s, p, err));
    TRY(sdx_import_nodes(im, s, p->nodes.v, p->nodes.n, err));
    sdx_status status = add_outputs(im, s, p, err);
    if (status != SDX_OK) sdx_err_prefix(err, "output of graph `%.*s`", STR_ARG(p->name));
    return status;
}

static sdx_status graph_create(Import *im, Graph *parent, Node *owner, const PGraph *p, Graph **out, Err *err)
{
    const char *name;
    TRY(sdx_import_name(im->scratch, p->name, &name, err));
    if (parent && parent->depth >= SDX_MAX_GRAPH_DEPTH)
        return sdx_fail(err, SDX_INVALID_MODEL, "graphs are nested more than %d deep", SDX_MAX_GRAPH_DEPTH);
    *out = sdx_graph_create(im->model, parent, owner, name);
    TRY_ARENA(*out, &im->model->arena, err);
    return SDX_OK;
}

sdx_status sdx_import_subgraph(Import *im, Scope *s, Node *owner, const PGraph *p, Graph **out, Err *err)
{
    if (++im->depth > SDX_MAX_IMPORT_DEPTH)
        return sdx_fail(err, SDX_INVALID_MODEL, "functions and graphs are nested more than %d deep",
                        SDX_MAX_IMPORT_DEPTH);
    TRY(graph_create(im, owner->graph, owner, p, out, err));
    Scope inner = { .outer = s, .graph = *out, .opsets = s->opsets, .call = s->call, .prefix = s->prefix };
    TRY(graph_fill(im, &inner, p, err));
    im->depth--;
    return SDX_OK;
}

/* -- models -------------------------------------------------------------------------------------------------------- */

static sdx_status model_opsets(Import *im, Err *err)
{
    Model *m = im->model;
    POpsets *p = &im->proto->opsets;
    if (!p->n && im->proto->ir_version < 3) { /* before opset_import there was one version */
        POpset *one = PLIST_ADD(im->scratch, *p);
        TRY_ARENA(one, im->scratch, err);
        *one = (POpset){ .domain = { "", 0 }, .version = 1 };
    }
    m->opsets = sdx_arena_array(&m->arena, OpsetImport, p->n);
    TRY_ARENA(m->opsets, &m->arena, err);
    for (int i = 0; i < p->n; i++, m->n_opsets++) {
        m->opsets[i].version = p->v[i].version;
        TRY(sdx_import_name(&m->arena, p->v[i].domain, &m->opsets[i].domain, err));
    }
    return SDX_OK;
}

static sdx_status kept_text(Import *im, Str s, const char **out, Err *err)
{
    *out = sdx_arena_strndup(&im->model->arena, s.p, s.n); /* texts for people end at a zero byte */
    TRY_ARENA(*out, &im->model->arena, err);
    return SDX_OK;
}

static sdx_status model_metadata(Import *im, Err *err)
{
    Model *m = im->model;
    const PModel *p = im->proto;
    m->ir_version = p->ir_version;
    m->model_version = p->model_version;
    TRY(kept_text(im, p->producer_name, &m->producer_name, err));
    TRY(kept_text(im, p->producer_version, &m->producer_version, err));
    TRY(kept_text(im, p->domain, &m->domain, err));
    TRY(kept_text(im, p->doc, &m->doc_string, err));
    TRY(kept_text(im, p->graph->doc, &m->graph_doc, err));
    m->metadata = sdx_arena_array(&m->arena, MetaProp, p->metadata.n);
    TRY_ARENA(m->metadata, &m->arena, err);
    for (int i = 0; i < p->metadata.n; i++, m->n_metadata++) {
        TRY(kept_text(im, p->metadata.v[i].key, &m->metadata[i].key, err));
        TRY(kept_text(im, p->metadata.v[i].value, &m->metadata[i].value, err));
    }
    return SDX_OK;
}

sdx_status sdx_import_model(Model *m, Arena *scratch, PModel *proto, const ImportOptions *opt, Err *err)
{
    static const ImportOptions defaults = { 0 };
    if (!opt) opt = &defaults;
    Import im = { .model = m, .scratch = scratch, .opt = opt, .proto = proto };
    im.tensors = (TensorReader){ .model = m,
                                 .alloc = m->alloc,
                                 .load = opt->load,
                                 .dir = opt->dir,
                                 .real_dir = opt->real_dir,
                                 .opener = opt->external };
    TRY(model_metadata(&im, err));
    TRY(model_opsets(&im, err));
    TRY(sdx_import_index_functions(&im, err));
    Scope main = { .opsets = &proto->opsets, .prefix = "" };
    TRY(graph_create(&im, NULL, NULL, proto->graph, &main.graph, err));
    sdx_status status = graph_fill(&im, &main, proto->graph, err);
    sdx_tensors_fini(&im.tensors);
    if (status != SDX_OK) return status;
    if (im.missing.code != SDX_OK) return sdx_fail(err, (sdx_status)im.missing.code, "%s", im.missing.text);
    TRY(sdx_model_sort(m, err));
    TRY(sdx_import_upgrade(m, err));
    return sdx_model_verify(m, err);
}
