/* Models in the textual form, as text_read.c reads them. */
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx/export.h"

#define SHOWN 1000 /* elements; larger constants are cut to {...}, and such a text cannot be read */

typedef struct Printer {
    const Model *m;
    void (*write)(void *user, const char *text, size_t n);
    void *user;
    int indent;
    Err *err;
} Printer;

static void put(const Printer *p, const char *text) { p->write(p->user, text, strlen(text)); }

static void putf(const Printer *p, const char *fmt, ...) SDX_PRINTF(2, 3);
static void putf(const Printer *p, const char *fmt, ...)
{
    char text[128];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    put(p, text);
}

static void put_line(const Printer *p) { putf(p, "\n%*s", 2 * p->indent, ""); }

static void put_quoted(const Printer *p, const char *s, size_t n)
{
    put(p, "\"");
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n')
            put(p, "\\n");
        else if (s[i] == '"' || s[i] == '\\')
            putf(p, "\\%c", s[i]);
        else
            p->write(p->user, &s[i], 1);
    }
    put(p, "\"");
}

static bool is_plain(const char *s)
{
    if (!*s || (*s >= '0' && *s <= '9')) return false;
    for (; *s; s++)
        if (!((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') || (*s >= '0' && *s <= '9') || *s == '_'))
            return false;
    return true;
}

static void put_name(const Printer *p, const char *s)
{
    if (is_plain(s))
        put(p, s);
    else
        put_quoted(p, s, strlen(s));
}

/* Digits enough to read the same number again. A float attribute must not look like an integer. */
static void put_float(const Printer *p, double v, int digits, bool whole_needs_point)
{
    char text[64];
    if (isnan(v)) {
        put(p, "nan");
        return;
    }
    snprintf(text, sizeof text, "%.*g", digits, v);
    char *dot = strchr(text, *localeconv()->decimal_point);
    if (dot) *dot = '.';
    put(p, text);
    if (whole_needs_point && !strpbrk(text, ".ein")) put(p, ".0");
}

/* -- types and constants ------------------------------------------------------------------------------------------- */

static void put_tensor_type(const Printer *p, const Type *t)
{
    put(p, sdx_dtype_name(t->elem));
    if (t->shape.rank == 0) return;
    put(p, "[");
    for (int i = 0; i < t->shape.rank; i++) {
        Dim d = t->shape.dims[i];
        const char *name = sdx_dim_is_const(d) || d == SDX_DIM_UNKNOWN ? NULL : sdx_dim_name(p->m->syms, d);
        if (i) put(p, ",");
        if (sdx_dim_is_const(d))
            putf(p, "%lld", (long long)d);
        else if (name)
            put_name(p, name);
        else
            put(p, "?");
    }
    put(p, "]");
}

/* A type that is not known all through cannot be written. */
static bool is_written(const Type *t)
{
    switch (t->kind) {
    case TYPE_TENSOR:
    case TYPE_SPARSE: return t->elem != DT_NONE;
    case TYPE_MAP: return t->elem != DT_NONE && t->of && is_written(t->of);
    case TYPE_SEQUENCE:
    case TYPE_OPTIONAL: return t->of && is_written(t->of);
    default: return false;
    }
}

static void put_type(const Printer *p, const Type *t)
{
    switch (t->kind) {
    case TYPE_TENSOR: put_tensor_type(p, t); return;
    case TYPE_SPARSE:
        put(p, "sparse_tensor(");
        put_tensor_type(p, t);
        break;
    case TYPE_MAP:
        putf(p, "map(%s, ", sdx_dtype_name(t->elem));
        put_type(p, t->of);
        break;
    default:
        put(p, t->kind == TYPE_SEQUENCE ? "seq(" : "optional(");
        put_type(p, t->of);
        break;
    }
    put(p, ")");
}

static void put_element(const Printer *p, const Tensor *t, int64_t i)
{
    switch (sdx_dtype_class(t->dtype)) {
    case 'T': put_quoted(p, ((Str *)t->data)[i].p, ((Str *)t->data)[i].n); return;
    case 'F':
    case 'S': put_float(p, sdx_tensor_get_double(t, i), t->dtype == DT_DOUBLE ? 17 : 9, false); return;
    default: break;
    }
    if (t->dtype == DT_UINT64)
        putf(p, "%llu", (unsigned long long)((uint64_t *)t->data)[i]);
    else
        putf(p, "%lld", (long long)sdx_tensor_get_int(t, i));
}

static void put_elements(const Printer *p, const Tensor *t)
{
    Tensor flat = *t;
    int64_t n = sdx_tensor_count(t);
    if (t->dtype == DT_COMPLEX64 || t->dtype == DT_COMPLEX128) {
        flat.dtype = t->dtype == DT_COMPLEX64 ? DT_FLOAT : DT_DOUBLE;
        n *= 2;
    }
    if (n > SHOWN || !sdx_tensor_is_aligned(t)) { /* misaligned ones are larger still */
        put(p, " {...}");
        return;
    }
    put(p, " {");
    for (int64_t i = 0; i < n; i++) {
        if (i) put(p, ", ");
        put_element(p, &flat, i);
    }
    put(p, "}");
}

static void put_tensor(const Printer *p, const Tensor *t)
{
    Type type = { .kind = TYPE_TENSOR, .elem = t->dtype, .shape.rank = t->rank };
    for (int i = 0; i < t->rank; i++) type.shape.dims[i] = t->dims[i];
    put_type(p, &type);
    put_elements(p, t);
}

static void put_value(const Printer *p, const Value *v, const Type *type)
{
    if (is_written(type)) {
        put_type(p, type);
        put(p, " ");
    }
    put_name(p, v->name);
}

/* -- nodes --------------------------------------------------------------------------------------------------------- */

static sdx_status put_graph(Printer *p, const Graph *g);

static sdx_status put_type_attr(Printer *p, const Attr *a, const Type *t)
{
    if (!is_written(t))
        return sdx_fail(p->err, SDX_UNSUPPORTED, "attribute %s: a type that is not known has no textual form", a->name);
    put_type(p, t);
    return SDX_OK;
}

static sdx_status put_item(Printer *p, const Attr *a, int64_t i)
{
    switch (a->type) {
    case ATTR_FLOATS: put_float(p, (double)a->floats[i], 9, true); return SDX_OK;
    case ATTR_INTS: putf(p, "%lld", (long long)a->ints[i]); return SDX_OK;
    case ATTR_STRINGS: put_quoted(p, a->strings[i].p, a->strings[i].n); return SDX_OK;
    case ATTR_TENSORS: put_tensor(p, &a->t[i]); return SDX_OK;
    case ATTR_TYPES: return put_type_attr(p, a, &a->types[i]);
    default: return put_graph(p, a->graphs[i]);
    }
}

static const char *list_type(AttrType t)
{
    static const char *const names[] = {
        [ATTR_FLOATS] = "floats",   [ATTR_INTS] = "ints",     [ATTR_STRINGS] = "strings",
        [ATTR_TENSORS] = "tensors", [ATTR_GRAPHS] = "graphs", [ATTR_TYPES] = "type_protos"
    };
    return (size_t)t < sizeof names / sizeof *names ? names[t] : NULL;
}

static sdx_status put_attr(Printer *p, const Attr *a)
{
    put_name(p, a->name);
    if (list_type(a->type)) {
        putf(p, ": %s = [", list_type(a->type));
        for (int64_t i = 0; i < a->n; i++) {
            if (i) put(p, ", ");
            TRY(put_item(p, a, i));
        }
        put(p, "]");
        return SDX_OK;
    }
    put(p, " = ");
    switch (a->type) {
    case ATTR_FLOAT: put_float(p, (double)a->f, 9, true); return SDX_OK;
    case ATTR_INT: putf(p, "%lld", (long long)a->i); return SDX_OK;
    case ATTR_STRING: put_quoted(p, a->s.p, a->s.n); return SDX_OK;
    case ATTR_TENSOR: put_tensor(p, a->t); return SDX_OK;
    case ATTR_TYPE: return put_type_attr(p, a, a->types);
    case ATTR_GRAPH: return put_graph(p, a->g);
    default: return sdx_fail(p->err, SDX_UNSUPPORTED, "attribute %s: sparse tensors have no textual form", a->name);
    }
}

static void put_names(const Printer *p, Value *const *v, int n)
{
    for (int i = 0; i < n; i++) {
        if (i) put(p, ", ");
        put_name(p, v[i] ? v[i]->name : "");
    }
}

static sdx_status put_node(Printer *p, const Node *n)
{
    put_line(p);
    if (*n->name) {
        put(p, "[");
        put_name(p, n->name);
        put(p, "] ");
    }
    put_names(p, n->out, n->n_out);
    put(p, " = ");
    if (*n->domain) {
        put(p, n->domain);
        put(p, ".");
    }
    put(p, n->op_type);
    for (int i = 0; i < n->n_attrs; i++) {
        put(p, i ? ", " : " <");
        TRY(put_attr(p, &n->attrs[i]));
    }
    put(p, n->n_attrs ? "> (" : " (");
    put_names(p, n->in, n->n_in);
    put(p, ")");
    return SDX_OK;
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

static void put_initializers(Printer *p, const Graph *g)
{
    bool any = false;
    for (int i = 0; i < p->m->n_values; i++) {
        const Value *v = p->m->values[i];
        if (!v || v->graph != g || v->producer || !v->constant || v->flags & VALUE_GRAPH_INPUT) continue;
        if (!v->n_uses && !(v->flags & VALUE_GRAPH_OUTPUT)) continue;
        put(p, any ? "," : " <");
        any = true;
        put_line(p);
        put_value(p, v, &v->type);
        put(p, " =");
        put_elements(p, v->constant);
    }
    if (any) put(p, ">");
}

static sdx_status put_graph(Printer *p, const Graph *g)
{
    put_name(p, *g->name ? g->name : "graph");
    put(p, " (");
    for (int i = 0; i < g->n_inputs; i++) {
        const Value *v = g->inputs[i];
        if (i) put(p, ", ");
        put_value(p, v, &v->type);
        if (!v->constant) continue;
        put(p, " =");
        put_elements(p, v->constant);
    }
    put(p, ") => (");
    for (int i = 0; i < g->n_outputs; i++) {
        const Value *v = g->outputs[i];
        if (i) put(p, ", ");
        put_value(p, v, v->declared ? v->declared : &v->type);
    }
    put(p, ")");
    p->indent++;
    put_initializers(p, g);
    p->indent--;
    put_line(p);
    put(p, "{");
    p->indent++;
    for (const Node *n = g->first; n; n = n->next) TRY(put_node(p, n));
    p->indent--;
    put_line(p);
    put(p, "}");
    return SDX_OK;
}

static void put_field(const Printer *p, const char *key, const char *value)
{
    if (!value || !*value) return;
    putf(p, ",\n  %s: ", key);
    put_quoted(p, value, strlen(value));
}

static void put_header(const Printer *p, const Opsets *opsets)
{
    const Model *m = p->m;
    int64_t ir = sdx_ir_of_opset(opsets->v[0].version);
    putf(p, "<\n  ir_version: %lld,\n  opset_import: [", (long long)(ir > m->ir_version ? ir : m->ir_version));
    for (int i = 0; i < opsets->n; i++) {
        if (i) put(p, ", ");
        put_quoted(p, opsets->v[i].domain, strlen(opsets->v[i].domain));
        putf(p, " : %lld", (long long)opsets->v[i].version);
    }
    put(p, "]");
    put_field(p, "producer_name", m->producer_name);
    put_field(p, "producer_version", m->producer_version);
    put_field(p, "domain", m->domain);
    if (m->model_version) putf(p, ",\n  model_version: %lld", (long long)m->model_version);
    put_field(p, "doc_string", m->doc_string);
    for (int i = 0; i < m->n_metadata; i++) {
        put(p, i ? ", " : ",\n  metadata_props: [");
        put_quoted(p, m->metadata[i].key, strlen(m->metadata[i].key));
        put(p, " : ");
        put_quoted(p, m->metadata[i].value, strlen(m->metadata[i].value));
    }
    put(p, m->n_metadata ? "]\n>\n" : "\n>\n");
}

sdx_status sdx_onnx_print(const Model *m, void (*write)(void *user, const char *text, size_t n), void *user, Err *err)
{
    Printer p = { .m = m, .write = write, .user = user, .err = err };
    Arena scratch;
    Opsets opsets;
    sdx_arena_init(&scratch, m->alloc, 0);
    sdx_status status = sdx_export_opsets(m, &scratch, &opsets, err);
    if (status == SDX_OK) put_header(&p, &opsets);
    sdx_arena_fini(&scratch);
    TRY(status);
    TRY(put_graph(&p, m->graph));
    put(&p, "\n");
    return SDX_OK;
}
