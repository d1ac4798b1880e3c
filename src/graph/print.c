#include "graph/graph.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* -- types --------------------------------------------------------------------------------------------------------- */

static void text_add(char *buf, size_t size, const char *fmt, ...) SDX_PRINTF(3, 4);
static void text_add(char *buf, size_t size, const char *fmt, ...)
{
    size_t n = strlen(buf);
    if (n + 1 >= size) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(buf + n, size - n, fmt, args);
    va_end(args);
}

static void type_add(const SymTab *s, const Type *t, char *buf, size_t size, int depth)
{
    if (!t || t->kind == TYPE_UNKNOWN || depth > 16) {
        text_add(buf, size, "?");
        return;
    }
    switch (t->kind) {
    case TYPE_SPARSE: text_add(buf, size, "sparse_"); /* fallthrough */
    case TYPE_TENSOR:
        text_add(buf, size, "%s", t->elem ? sdx_dtype_name(t->elem) : "?");
        if (t->shape.rank == 0) return;
        text_add(buf, size, "[");
        for (int i = 0; i < t->shape.rank; i++) {
            char dim[128];
            text_add(buf, size, "%s%s", i ? "," : "", sdx_dim_text(s, t->shape.dims[i], dim, sizeof dim));
        }
        text_add(buf, size, "]");
        return;
    case TYPE_MAP: text_add(buf, size, "map(%s,", t->elem ? sdx_dtype_name(t->elem) : "?"); break;
    case TYPE_SEQUENCE: text_add(buf, size, "seq("); break;
    case TYPE_OPTIONAL: text_add(buf, size, "optional("); break;
    default: text_add(buf, size, "opaque"); return;
    }
    type_add(s, t->of, buf, size, depth + 1);
    text_add(buf, size, ")");
}

char *sdx_type_text(const SymTab *s, const Type *t, char *buf, size_t size)
{
    if (!size) return buf;
    buf[0] = '\0';
    type_add(s, t, buf, size, 0);
    return buf;
}

/* -- graphs -------------------------------------------------------------------------------------------------------- */

typedef struct Printer {
    void (*write)(void *user, const char *text, size_t n);
    void *user;
    const SymTab *syms;
    int indent;
} Printer;

static void put(const Printer *p, const char *fmt, ...) SDX_PRINTF(2, 3);
static void put(const Printer *p, const char *fmt, ...)
{
    char text[512];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (n > 0) p->write(p->user, text, (size_t)n < sizeof text ? (size_t)n : sizeof text - 1);
}

static void put_line(const Printer *p) { put(p, "\n%*s", 2 * p->indent, ""); }

static void put_str(const Printer *p, Str s)
{
    put(p, "\"");
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\')
            put(p, "\\%c", c);
        else if (c < ' ')
            put(p, "\\x%02x", c);
        else
            put(p, "%c", c);
    }
    put(p, "\"");
}

static void put_value(const Printer *p, const Value *v)
{
    char type[256];
    put(p, "%s %s", sdx_type_text(p->syms, &v->type, type, sizeof type), v->name);
}

#define SHOWN 8 /* elements of a constant or list */

static void put_tensor(const Printer *p, const Tensor *t)
{
    char class = sdx_dtype_class(t->dtype);
    int64_t n = sdx_tensor_count(t);
    put(p, "{");
    for (int64_t i = 0; i < n && i < SHOWN && t->data && class != 'T' && class != 'C'; i++) {
        if (class == 'F' || class == 'S')
            put(p, "%s%.9g", i ? ", " : "", sdx_tensor_get_double(t, i));
        else
            put(p, "%s%lld", i ? ", " : "", (long long)sdx_tensor_get_int(t, i));
    }
    put(p, "%s}", n > SHOWN ? ", ..." : "");
}

static void put_graph(Printer *p, const Graph *g);

static void put_attr(Printer *p, const Attr *a)
{
    put(p, "%s = ", a->name);
    if (a->ref) {
        put(p, "@%s", a->ref);
        return;
    }
    switch (a->type) {
    case ATTR_FLOAT: put(p, "%.9g", (double)a->f); break;
    case ATTR_INT: put(p, "%lld", (long long)a->i); break;
    case ATTR_STRING: put_str(p, a->s); break;
    case ATTR_TENSOR:
        put(p, "%s ", sdx_dtype_name(a->t->dtype));
        put_tensor(p, a->t);
        break;
    case ATTR_GRAPH: put_graph(p, a->g); break;
    case ATTR_FLOATS:
    case ATTR_INTS:
    case ATTR_STRINGS:
        put(p, "[");
        for (int64_t i = 0; i < a->n; i++) {
            if (i) put(p, ", ");
            if (a->type == ATTR_FLOATS)
                put(p, "%.9g", (double)a->floats[i]);
            else if (a->type == ATTR_INTS)
                put(p, "%lld", (long long)a->ints[i]);
            else
                put_str(p, a->strings[i]);
        }
        put(p, "]");
        break;
    default: put(p, "..."); break;
    }
}

static void put_list(const Printer *p, Value *const *v, int n)
{
    for (int i = 0; i < n; i++) put(p, "%s%s", i ? ", " : "", v[i] ? v[i]->name : "\"\"");
}

static void put_node(Printer *p, const Node *n)
{
    put_list(p, n->out, n->n_out);
    put(p, " = %s%s%s ", n->domain, *n->domain ? "." : "", n->op_type);
    if (n->n_attrs) {
        put(p, "<");
        for (int i = 0; i < n->n_attrs; i++) {
            if (i) put(p, ", ");
            put_attr(p, &n->attrs[i]);
        }
        put(p, "> ");
    }
    put(p, "(");
    put_list(p, n->in, n->n_in);
    put(p, ")");
}

static void put_values(const Printer *p, Value *const *v, int n)
{
    put(p, "(");
    for (int i = 0; i < n; i++) {
        if (i) put(p, ", ");
        put_value(p, v[i]);
    }
    put(p, ")");
}

static void put_graph(Printer *p, const Graph *g)
{
    const Model *m = g->model;
    bool any = false;
    put(p, "%s ", *g->name ? g->name : "graph");
    put_values(p, g->inputs, g->n_inputs);
    put(p, " => ");
    put_values(p, g->outputs, g->n_outputs);
    p->indent++;
    for (int i = 0; i < m->n_values; i++) {
        const Value *v = m->values[i];
        if (!v || v->graph != g || v->producer || !v->constant) continue;
        put(p, any ? "," : " <");
        any = true;
        put_line(p);
        put_value(p, v);
        put(p, " = ");
        put_tensor(p, v->constant);
    }
    if (any) put(p, ">");
    p->indent--;
    put_line(p);
    put(p, "{");
    p->indent++;
    for (const Node *n = g->first; n; n = n->next) {
        put_line(p);
        put_node(p, n);
    }
    p->indent--;
    put_line(p);
    put(p, "}");
}

void sdx_graph_print(const Graph *g, void (*write)(void *user, const char *text, size_t n), void *user)
{
    Printer p = { .write = write, .user = user, .syms = g->model->syms };
    put_graph(&p, g);
    put(&p, "\n");
}
