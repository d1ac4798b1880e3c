/* Operators that are written in others: bodies.def holds the texts. A call is replaced at import, like one of a
 * model-local function, so nothing behind the import knows of these operators. */
#include <stdlib.h>
#include <string.h>

#include "onnx/import.h"
#include "onnx/text.h"

/* Rows of four strings; an empty domain is ai.onnx, an empty name ends. One array, so that it needs no relocation. */
#define BODY(domain, name, when, text) domain "\0" name "\0" when "\0" text "\0"
static const char bodies[] =
#include "onnx/bodies.def"
    "\0\0\0"; /* four empty strings, the last by itself */
#undef BODY

typedef struct Body {
    const char *domain, *name, *when, *text;
} Body;

/* The row at `at`; returns where the next one is. NULL: there are no more. */
static const char *body_at(const char *at, Body *b)
{
    const char **part[] = { &b->domain, &b->name, &b->when, &b->text };
    for (int i = 0; i < 4; i++) {
        *part[i] = at;
        at += strlen(at) + 1;
    }
    return *b->name ? at : NULL;
}

bool sdx_body_next(const char **at, const char **domain, const char **name)
{
    Body b;
    const char *next = *at ? *at : bodies;
    do {
        if (!(next = body_at(next, &b))) return false;
    } while (*b.text == '!');
    *at = next;
    *domain = b.domain;
    *name = b.name;
    return true;
}

/* -- when a row holds ---------------------------------------------------------------------------------------------- */

static sdx_status input_at(const Scope *s, const PNode *p, int64_t i, Value **out, Err *err)
{
    *out = NULL;
    return i < p->inputs.n && p->inputs.v[i].n ? sdx_import_find(s, p->inputs.v[i], out, err) : SDX_OK;
}

/* The rank as far as import can know it; -1: it cannot. */
static int known_rank(const Value *v)
{
    if (!v) return -1;
    if (v->constant) return v->constant->rank;
    return v->type.kind == TYPE_TENSOR && v->type.shape.rank != SDX_RANK_UNKNOWN ? v->type.shape.rank : -1;
}

static bool attr_holds(const PAttr *a, char op, Str want)
{
    if (op == '#') return a && (a->n_ints > a->n_floats ? a->n_ints : a->n_floats) == strtol(want.p, NULL, 10);
    if (op == '<') return a && a->i < strtol(want.p, NULL, 10);
    if (!a) return !want.n;
    if (a->type == ATTR_STRING || a->has_s) return a->s.n == want.n && (!want.n || !memcmp(a->s.p, want.p, want.n));
    char *end;
    return want.n && strtol(want.p, &end, 10) == a->i && end == want.p + want.n;
}

static sdx_status term_holds(Import *im, Scope *s, const PNode *p, Str term, bool *holds, Err *err)
{
    Value *v;
    char name[32];
    if (*term.p == '+' || *term.p == '-') {
        TRY(input_at(s, p, strtol(term.p + 1, NULL, 10), &v, err));
        *holds = (v != NULL) == (*term.p == '+');
        return SDX_OK;
    }
    if (*term.p >= '0' && *term.p <= '9') {
        char *colon;
        TRY(input_at(s, p, strtol(term.p, &colon, 10), &v, err));
        *holds = known_rank(v) == strtol(colon + 1, NULL, 10);
        return SDX_OK;
    }
    size_t n = strcspn(term.p, "=<#");
    memcpy(name, term.p, n); /* our own texts: short */
    name[n] = 0;
    *holds = attr_holds(sdx_import_attr(im, s, p, name), term.p[n], (Str){ term.p + n + 1, term.n - n - 1 });
    return SDX_OK;
}

static sdx_status body_holds(Import *im, Scope *s, const PNode *p, const char *when, bool *holds, Err *err)
{
    *holds = true;
    while (*when && *holds) {
        size_t n = strcspn(when, " ");
        TRY(term_holds(im, s, p, (Str){ when, n }, holds, err));
        when += n;
        when += *when == ' ';
    }
    return SDX_OK;
}

/* -- reading ------------------------------------------------------------------------------------------------------- */

static sdx_status read_text(Import *im, const Body *b, PFunction **out, Err *err)
{
    bool made;
    void **slot = sdx_names_add(&im->bodies, im->scratch, (Str){ b->text, strlen(b->text) }, &made);
    TRY_ARENA(slot, im->scratch, err);
    if (made) {
        Proto proto = { .scratch = im->scratch, .kept = &im->model->arena };
        Text t;
        PFunction *fn = sdx_arena_new(im->scratch, PFunction);
        TRY_ARENA(fn, im->scratch, err);
        fn->name = (Str){ b->name, strlen(b->name) };
        fn->domain = (Str){ b->domain, strlen(b->domain) };
        fn->builtin = true;
        sdx_text_init(&t, im->model, &proto, b->text, strlen(b->text), err);
        TRY(sdx_text_function(&t, fn));
        *slot = fn;
    }
    *out = *slot;
    return SDX_OK;
}

static bool in_body(const Scope *s) { return s->call && s->call->fn->builtin; }

sdx_status sdx_import_body(Import *im, Scope *s, const PNode *p, PFunction **out, Err *err)
{
    bool seen = false, piece = sdx_str_is(p->domain, "body");
    Str domain = sdx_str_is(p->domain, "ai.onnx") ? (Str){ "", 0 } : p->domain;
    Body b;
    *out = NULL;
    if (piece && !in_body(s)) return SDX_OK;
    for (const char *at = bodies; (at = body_at(at, &b));) {
        if (!sdx_str_is(p->op_type, b.name) || !sdx_str_is(domain, b.domain)) continue;
        bool holds;
        seen = true;
        TRY(body_holds(im, s, p, b.when, &holds, err));
        if (holds && *b.text == '!')
            return sdx_fail(err, SDX_UNSUPPORTED, "operator %s of domain %s cannot run: %s", b.name, b.domain,
                            b.text + 1);
        if (holds) return read_text(im, &b, out, err);
    }
    if (!seen) return SDX_OK;
    /* A piece is called with what the operator around it was given. */
    if (piece) p = s->call->site;
    return sdx_fail(err, SDX_INVALID_MODEL, "no form of %.*s has such attributes and inputs", STR_ARG(p->op_type));
}

/* -- calling ------------------------------------------------------------------------------------------------------- */

static sdx_status drop_outputs(Scope *s, const PNode *p, Err *err)
{
    const PFunction *fn = s->call->fn;
    for (int i = 0; i < p->outputs.n; i++) {
        Str name = p->outputs.v[i];
        void **slot = sdx_names_find(&s->values, name);
        for (int k = 0; k < fn->outputs.n && k < s->call->site->outputs.n; k++)
            if (s->call->site->outputs.v[k].n && fn->outputs.v[k].n == name.n &&
                !memcmp(fn->outputs.v[k].p, name.p, name.n))
                return sdx_fail(err, SDX_INVALID_MODEL, "output %d needs an input that the call leaves out", k);
        if (slot && *slot) sdx_value_remove(*slot);
        if (slot) *slot = NULL;
    }
    return SDX_OK;
}

sdx_status sdx_import_optional(Scope *s, const PNode *p, bool *done, Err *err)
{
    Value *x, *y, *to;
    *done = false;
    if (!p->overload.n || !in_body(s)) return SDX_OK;
    TRY(input_at(s, p, 0, &x, err));
    TRY(input_at(s, p, 1, &y, err));
    bool with = sdx_str_is(p->overload, "with");
    if (x && (y || (with && p->inputs.n < 2))) return SDX_OK;
    *done = true;
    if (with || !x) return drop_outputs(s, p, err);
    TRY(sdx_import_find(s, p->outputs.v[0], &to, err));
    return sdx_import_identity(s->graph, x, to, err);
}

static bool is_wanted(const Scope *body, const Value *v)
{
    const PNode *site = body->call->site;
    for (int i = 0; i < site->outputs.n; i++) {
        Value *want = NULL;
        if (site->outputs.v[i].n &&
            sdx_import_find(body->call->site_scope, site->outputs.v[i], &want, NULL) == SDX_OK && want == v)
            return true;
    }
    return false;
}

void sdx_import_prune(const Scope *body, Node *last)
{
    for (Node *n = body->graph->last, *prev; n && n != last; n = prev) {
        bool used = false;
        prev = n->prev;
        for (int i = 0; i < n->n_out; i++)
            used |= n->out[i] &&
                    (n->out[i]->n_uses || n->out[i]->flags & VALUE_GRAPH_OUTPUT || is_wanted(body, n->out[i]));
        if (!used) sdx_node_remove(n);
    }
}
