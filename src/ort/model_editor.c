/* The model editor: building graphs, and sessions of them. Parameters as the ABI has them in its sub-table. */
#include "ort/entries_model.h"

#include <stdio.h>
#include <string.h>

/* -- types --------------------------------------------------------------------------------------------------------- */

static OrtStatus *type_new(TypeKind kind, OrtTypeInfo **out)
{
    OrtTypeInfo *t = sdx_alloc_zero(&sdx_alloc_default, sizeof *t);
    if (!t) return sdx_ort_no_memory();
    t->refs = 1;
    t->kind = kind;
    *out = t;
    return NULL;
}

static OrtStatus *tensor_type(TypeKind kind, const OrtTensorTypeAndShapeInfo *shape, OrtTypeInfo **out)
{
    if (!shape || !out) return sdx_ort_null("tensor info or out");
    OrtStatus *st = type_new(kind, out);
    if (st) return st;
    OrtTensorTypeAndShapeInfo *t = &(*out)->tensor;
    const char *names = shape->names;
    *t = *shape;
    t->names = NULL;
    const char *symbols[SDX_MAX_RANK];
    for (int i = 0; i < shape->rank; i++) symbols[i] = names && shape->symbols[i] ? shape->symbols[i] : "";
    st = sdx_ort_SetSymbolicDimensions(t, symbols, (size_t)shape->rank);
    if (st) sdx_ort_ReleaseTypeInfo(*out);
    return st;
}

OrtStatus *sdx_edit_CreateTensorTypeInfo(const OrtTensorTypeAndShapeInfo *shape, OrtTypeInfo **out)
{
    return tensor_type(TYPE_TENSOR, shape, out);
}

OrtStatus *sdx_edit_CreateSparseTensorTypeInfo(const OrtTensorTypeAndShapeInfo *shape, OrtTypeInfo **out)
{
    return tensor_type(TYPE_SPARSE, shape, out);
}

/* Types are counted: the content may be released by its maker. */
static OrtStatus *type_of(TypeKind kind, const OrtTypeInfo *of, OrtTypeInfo **out)
{
    if (!of || !out) return sdx_ort_null("the content's type or out");
    OrtStatus *st = type_new(kind, out);
    if (st) return st;
    (*out)->of = (OrtTypeInfo *)of;
    __atomic_fetch_add(&(*out)->of->refs, 1, __ATOMIC_RELAXED);
    return NULL;
}

OrtStatus *sdx_edit_CreateMapTypeInfo(int key, const OrtTypeInfo *value, OrtTypeInfo **out)
{
    OrtStatus *st = type_of(TYPE_MAP, value, out);
    if (!st) (*out)->tensor.dtype = sdx_ort_dtype(key);
    return st;
}

OrtStatus *sdx_edit_CreateSequenceTypeInfo(const OrtTypeInfo *of, OrtTypeInfo **out)
{
    return type_of(TYPE_SEQUENCE, of, out);
}

OrtStatus *sdx_edit_CreateOptionalTypeInfo(const OrtTypeInfo *of, OrtTypeInfo **out)
{
    return type_of(TYPE_OPTIONAL, of, out);
}

/* -- values and nodes ---------------------------------------------------------------------------------------------- */

OrtStatus *sdx_edit_CreateValueInfo(const char *name, const OrtTypeInfo *type, OrtValueInfo **out)
{
    if (!name || !*name) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "name cannot be null or empty string");
    if (!type || !out) return sdx_ort_null("type or out");
    size_t n = strlen(name) + 1;
    OrtValueInfo *v = sdx_alloc(&sdx_alloc_default, sizeof *v + n);
    if (!v) return sdx_ort_no_memory();
    memcpy(v->name, name, n);
    v->type = (OrtTypeInfo *)type;
    __atomic_fetch_add(&v->type->refs, 1, __ATOMIC_RELAXED);
    *out = v;
    return NULL;
}

void sdx_ort_ReleaseValueInfo(OrtValueInfo *v)
{
    if (v) sdx_ort_ReleaseTypeInfo(v->type);
    sdx_free(&sdx_alloc_default, v);
}

OrtStatus *sdx_ort_GetValueInfoName(const OrtValueInfo *v, const char **out)
{
    return v && out ? *out = v->name, NULL : sdx_ort_null("value info or out");
}

OrtStatus *sdx_ort_GetValueInfoTypeInfo(const OrtValueInfo *v, const OrtTypeInfo **out)
{
    return v && out ? *out = v->type, NULL : sdx_ort_null("value info or out");
}

static const char **copy_names(Arena *a, const char *const *names, size_t n)
{
    const char **list = sdx_arena_array(a, const char *, n + 1);
    for (size_t i = 0; list && i < n; i++) {
        const char *name = names[i] ? names[i] : "";
        if (!(list[i] = sdx_arena_strndup(a, name, strlen(name)))) return NULL;
    }
    return list;
}

/* Takes the attributes when it succeeds. */
OrtStatus *sdx_edit_CreateNode(const char *op, const char *domain, const char *name, const char *const *in, size_t n_in,
                               const char *const *out_names, size_t n_out, OrtOpAttr **attrs, size_t n_attrs,
                               OrtNode **out)
{
    if (!op || !*op) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "operator_name cannot be null or empty string");
    if (!name || !out || (n_in && !in) || (n_out && !out_names) || (n_attrs && !attrs))
        return sdx_ort_null("a name, the attributes or out");
    OrtNode *n = sdx_alloc_zero(&sdx_alloc_default, sizeof *n);
    if (!n) return sdx_ort_no_memory();
    sdx_arena_init(&n->arena, &sdx_alloc_default, 0);
    n->op_type = sdx_arena_strndup(&n->arena, op, strlen(op));
    n->domain = domain ? sdx_arena_strndup(&n->arena, domain, strlen(domain)) : "";
    n->name = sdx_arena_strndup(&n->arena, name, strlen(name));
    n->in = copy_names(&n->arena, in, n_in);
    n->out = copy_names(&n->arena, out_names, n_out);
    n->attrs = sdx_arena_array(&n->arena, OrtOpAttr *, n_attrs + 1);
    if (!n->op_type || !n->domain || !n->name || !n->in || !n->out || !n->attrs) {
        sdx_ort_ReleaseNode(n);
        return sdx_ort_no_memory();
    }
    n->n_in = n_in;
    n->n_out = n_out;
    for (size_t i = 0; i < n_attrs; i++)
        if (attrs[i]) n->attrs[n->n_attrs++] = attrs[i];
    *out = n;
    return NULL;
}

void sdx_ort_ReleaseNode(OrtNode *n)
{
    if (!n) return;
    for (size_t i = 0; i < n->n_attrs; i++) sdx_ort_ReleaseOpAttr(n->attrs[i]);
    sdx_arena_fini(&n->arena);
    sdx_free(&sdx_alloc_default, n);
}

/* -- graphs and models --------------------------------------------------------------------------------------------- */

OrtStatus *sdx_edit_CreateGraph(OrtGraph **out)
{
    if (!out) return sdx_ort_null("out");
    OrtGraph *g = sdx_alloc_zero(&sdx_alloc_default, sizeof *g);
    if (!g) return sdx_ort_no_memory();
    sdx_arena_init(&g->arena, &sdx_alloc_default, 0);
    *out = g;
    return NULL;
}

static void values_release(OrtValueInfo **v, size_t n)
{
    for (size_t i = 0; i < n; i++) sdx_ort_ReleaseValueInfo(v[i]);
}

void sdx_ort_ReleaseGraph(OrtGraph *g)
{
    if (!g) return;
    values_release(g->inputs, g->n_inputs);
    values_release(g->outputs, g->n_outputs);
    for (int i = 0; i < g->n_nodes; i++) sdx_ort_ReleaseNode(g->nodes[i]);
    for (int i = 0; i < g->n_inits; i++) sdx_datum_clear(&g->inits[i].d);
    sdx_arena_fini(&g->arena);
    sdx_free(&sdx_alloc_default, g);
}

static OrtStatus *set_values(OrtGraph *g, OrtValueInfo **given, size_t n, OrtValueInfo ***list, size_t *have)
{
    if (!g || (n && !given)) return sdx_ort_null("graph or values");
    for (size_t i = 0; i < n; i++)
        if (!given[i]) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "inputs or outputs cannot contain null entries");
    OrtValueInfo **copy = sdx_arena_array(&g->arena, OrtValueInfo *, n + 1);
    if (!copy) return sdx_ort_no_memory();
    values_release(*list, *have);
    for (size_t i = 0; i < n; i++) copy[i] = given[i];
    *list = copy;
    *have = n;
    return NULL;
}

OrtStatus *sdx_edit_SetGraphInputs(OrtGraph *g, OrtValueInfo **inputs, size_t n)
{
    if (!g) return sdx_ort_null("graph");
    g->has_inputs = true;
    return set_values(g, inputs, n, &g->inputs, &g->n_inputs);
}

OrtStatus *sdx_edit_SetGraphOutputs(OrtGraph *g, OrtValueInfo **outputs, size_t n)
{
    if (!g) return sdx_ort_null("graph");
    g->has_outputs = true;
    return set_values(g, outputs, n, &g->outputs, &g->n_outputs);
}

/* Takes the value. Elements in memory of the caller's are copied unless it says that they stay. */
OrtStatus *sdx_edit_AddInitializerToGraph(OrtGraph *g, const char *name, OrtValue *v, bool is_external)
{
    if (!g || !name || !v) return sdx_ort_null("graph, name or value");
    if (v->d.kind != DATUM_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "initializer %s is no tensor", name);
    OrtInit init = { sdx_arena_strndup(&g->arena, name, strlen(name)), v->d, false };
    if (!init.name || !sdx_arena_grow(&g->arena, g->inits, g->n_inits, g->cap_inits)) return sdx_ort_no_memory();
    Err err = { 0 };
    if (!v->d.buf && !is_external) {
        sdx_status st = sdx_datum_copy(&init.d, &v->d.t, &sdx_alloc_default, &err);
        if (st != SDX_OK) return sdx_ort_status(st, &err);
    }
    g->inits[g->n_inits++] = init;
    sdx_free(&sdx_alloc_default, v);
    return NULL;
}

OrtStatus *sdx_edit_AddNodeToGraph(OrtGraph *g, OrtNode *n)
{
    if (!g || !n) return sdx_ort_null("graph or node");
    if (!sdx_arena_grow(&g->arena, g->nodes, g->n_nodes, g->cap_nodes)) return sdx_ort_no_memory();
    g->nodes[g->n_nodes++] = n;
    return NULL;
}

OrtStatus *sdx_edit_CreateModel(const char *const *domains, const int *versions, size_t n, OrtModel **out)
{
    if (!out || (n && (!domains || !versions))) return sdx_ort_null("domains, versions or out");
    OrtModel *m = sdx_alloc_zero(&sdx_alloc_default, sizeof *m);
    if (!m) return sdx_ort_no_memory();
    sdx_arena_init(&m->arena, &sdx_alloc_default, 0);
    m->opsets = sdx_arena_array(&m->arena, OpsetImport, n + 1);
    const char **names = copy_names(&m->arena, domains, n);
    if (!m->opsets || !names) {
        sdx_ort_ReleaseModel(m);
        return sdx_ort_no_memory();
    }
    for (; m->n_opsets < n; m->n_opsets++)
        m->opsets[m->n_opsets] = (OpsetImport){ names[m->n_opsets], versions[m->n_opsets] };
    *out = m;
    return NULL;
}

OrtStatus *sdx_edit_AddGraphToModel(OrtModel *m, OrtGraph *g)
{
    if (!m || !g) return sdx_ort_null("model or graph");
    sdx_ort_ReleaseGraph(m->graph);
    m->graph = g;
    return NULL;
}

void sdx_ort_ReleaseModel(OrtModel *m)
{
    if (!m) return;
    sdx_ort_ReleaseGraph(m->graph);
    sdx_arena_fini(&m->arena);
    sdx_free(&sdx_alloc_default, m);
}

/* -- sessions ------------------------------------------------------------------------------------------------------ */

static OrtStatus *model_bytes(const OrtModel *m, const Buf *base, Buf **out)
{
    Err err = { 0 };
    if (!m->graph) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the model has no graph");
    return sdx_ort_status(sdx_ort_model_write(m, base, out, &err), &err);
}

/* The model may be released after it. */
OrtStatus *sdx_edit_CreateSessionFromModel(const OrtEnv *env, const OrtModel *m, const OrtSessionOptions *o,
                                           OrtSession **out)
{
    Buf *bytes;
    if (!env || !m || !out) return sdx_ort_null("env, model or out");
    OrtStatus *st = model_bytes(m, NULL, &bytes);
    if (st) return st;
    st = sdx_ort_open(&(OrtOrigin){ .data = bytes->data,
                                    .nbytes = bytes->nbytes,
                                    .o = o,
                                    .more = m->graph->inits,
                                    .n_more = m->graph->n_inits },
                      out);
    sdx_buf_release(bytes);
    return st;
}

void sdx_ort_edit_free(OrtEdit *e)
{
    if (!e) return;
    sdx_buf_release(e->bytes);
    sdx_ort_ReleaseGraph(e->added);
    sdx_free(&sdx_alloc_default, e->path);
    sdx_free(&sdx_alloc_default, e);
}

/* Takes bytes and path. */
static OrtStatus *edit_open(Buf *bytes, char *path, const OrtSessionOptions *o, OrtSession **out)
{
    OrtEdit *e = sdx_alloc_zero(&sdx_alloc_default, sizeof *e);
    OrtStatus *st = NULL;
    if (e) {
        *e = (OrtEdit){ .bytes = bytes, .path = path };
        st = sdx_ort_open(&(OrtOrigin){ .data = bytes->data, .nbytes = bytes->nbytes, .beside = path, .o = o }, out);
    } else {
        sdx_buf_release(bytes);
        sdx_free(&sdx_alloc_default, path);
        st = sdx_ort_no_memory();
    }
    if (st)
        sdx_ort_edit_free(e);
    else
        (*out)->edit = e;
    return st;
}

OrtStatus *sdx_edit_CreateModelEditorSession(const OrtEnv *env, const char *path, const OrtSessionOptions *o,
                                             OrtSession **out)
{
    Source src;
    Buf *bytes = NULL;
    Err err = { 0 };
    if (!env || !path || !out) return sdx_ort_null("env, path or out");
    sdx_status code = sdx_source_path(&src, &sdx_alloc_default, path, &err);
    if (code == SDX_OK) {
        code = sdx_source_bytes(&src, 0, src.size, LOAD_COPY, &bytes, &err);
        sdx_source_fini(&src);
    }
    if (code != SDX_OK) return sdx_ort_status(code, &err);
    char *copy = sdx_alloc(&sdx_alloc_default, strlen(path) + 1);
    if (copy) return edit_open(bytes, strcpy(copy, path), o, out);
    sdx_buf_release(bytes);
    return sdx_ort_no_memory();
}

OrtStatus *sdx_edit_CreateModelEditorSessionFromArray(const OrtEnv *env, const void *data, size_t nbytes,
                                                      const OrtSessionOptions *o, OrtSession **out)
{
    if (!env || !data || !nbytes || !out) return sdx_ort_null("env, data or out");
    Buf *bytes = sdx_buf_create(&sdx_alloc_default, nbytes);
    if (!bytes) return sdx_ort_no_memory();
    memcpy(bytes->data, data, nbytes);
    return edit_open(bytes, NULL, o, out);
}

OrtStatus *sdx_edit_SessionGetOpsetForDomain(const OrtSession *s, const char *domain, int *out)
{
    if (!s || !domain || !out) return sdx_ort_null("session, domain or out");
    const Model *m = sdx_ses_model(s->ses);
    bool standard = !*domain || strcmp(domain, "ai.onnx") == 0;
    for (int i = 0; i < m->n_opsets; i++) {
        const char *d = m->opsets[i].domain;
        if (strcmp(d, domain) != 0 && !(standard && (!*d || strcmp(d, "ai.onnx") == 0))) continue;
        *out = (int)m->opsets[i].version;
        return NULL;
    }
    return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Domain not used by model: %s", domain);
}

/* Moves the initializers of g behind those of all that was added before. */
static OrtStatus *keep_inits(OrtEdit *e, OrtGraph *g)
{
    OrtStatus *st = e->added ? NULL : sdx_edit_CreateGraph(&e->added);
    for (int i = 0; !st && i < g->n_inits; i++) {
        OrtInit init = g->inits[i];
        OrtGraph *to = e->added;
        init.name = sdx_arena_strndup(&to->arena, init.name, strlen(init.name));
        if (!init.name || !sdx_arena_grow(&to->arena, to->inits, to->n_inits, to->cap_inits))
            return sdx_ort_no_memory();
        to->inits[to->n_inits++] = init;
        g->inits[i].d = (Datum){ .kind = DATUM_NONE };
    }
    return st;
}

/* Nodes and initializers are added; inputs and outputs take the place of the model's. */
OrtStatus *sdx_edit_ApplyModelToModelEditorSession(OrtSession *s, OrtModel *m)
{
    Buf *bytes;
    if (!s || !m) return sdx_ort_null("session or model");
    if (!s->edit) return sdx_ort_fail(ORT_FAIL, "the session is final, or was not made for editing");
    OrtStatus *st = model_bytes(m, s->edit->bytes, &bytes);
    if (!st) st = keep_inits(s->edit, m->graph);
    if (st) return st;
    sdx_buf_release(s->edit->bytes);
    s->edit->bytes = bytes;
    return NULL;
}

OrtStatus *sdx_edit_FinalizeModelEditorSession(OrtSession *s, const OrtSessionOptions *o,
                                               OrtPrepackedWeightsContainer *weights)
{
    (void)weights;
    if (!s) return sdx_ort_null("session");
    OrtEdit *e = s->edit;
    OrtSession *fresh, old;
    if (!e) return sdx_ort_fail(ORT_FAIL, "the session is final, or was not made for editing");
    OrtOrigin from = { .data = e->bytes->data, .nbytes = e->bytes->nbytes, .beside = e->path, .o = o };
    if (e->added) from.more = e->added->inits, from.n_more = e->added->n_inits;
    OrtStatus *st = sdx_ort_open(&from, &fresh);
    if (st) return st;
    old = *s;
    *s = *fresh;
    *fresh = old; /* with its edit */
    sdx_ort_ReleaseSession(fresh);
    return NULL;
}
