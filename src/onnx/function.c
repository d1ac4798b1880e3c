/* Model-local functions: found by (domain, name, overload) before any operator, and put in place of their calls. */
#include <stdio.h>
#include <string.h>

#include "onnx/import.h"

/* "domain\0name\0overload"; "ai.onnx" is "". */
static sdx_status function_key(Arena *a, Str domain, Str name, Str overload, Str *key, Err *err)
{
    if (sdx_str_is(domain, "ai.onnx")) domain.n = 0;
    size_t n = domain.n + name.n + overload.n + 2; /* parts of one file: cannot wrap */
    char *p = sdx_arena_alloc(a, n, 1);
    TRY_ARENA(p, a, err);
    *key = (Str){ p, n };
    if (domain.n) memcpy(p, domain.p, domain.n);
    if (name.n) memcpy(p + domain.n + 1, name.p, name.n);
    if (overload.n) memcpy(p + domain.n + name.n + 2, overload.p, overload.n);
    return SDX_OK;
}

sdx_status sdx_import_index_functions(Import *im, Err *err)
{
    for (int i = 0; i < im->proto->functions.n; i++) {
        PFunction *fn = im->proto->functions.v[i];
        Str key;
        bool made;
        if (fn->attrs.n > SDX_MAX_ATTRS)
            return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s has %d attributes", STR_ARG(fn->name), fn->attrs.n);
        TRY(function_key(im->scratch, fn->domain, fn->name, fn->overload, &key, err));
        void **slot = sdx_names_add(&im->functions, im->scratch, key, &made);
        TRY_ARENA(slot, im->scratch, err);
        if (!made)
            return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s.%.*s is defined twice", STR_ARG(fn->domain),
                            STR_ARG(fn->name));
        *slot = fn;
    }
    return SDX_OK;
}

sdx_status sdx_import_function(const Import *im, const PNode *p, PFunction **out, Err *err)
{
    Str key;
    *out = NULL;
    if (!im->functions.n) return SDX_OK;
    TRY(function_key(im->scratch, p->domain, p->op_type, p->overload, &key, err));
    void **slot = sdx_names_find(&im->functions, key);
    if (slot) *out = *slot;
    return SDX_OK;
}

static sdx_status check_call(Import *im, const Scope *s, const PNode *p, const PFunction *fn, Err *err)
{
    for (const Scope *at = s; at->call; at = at->call->site_scope)
        if (at->call->fn == fn)
            return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s calls itself", STR_ARG(fn->name));
    if (++im->n_calls > SDX_MAX_CALLS)
        return sdx_fail(err, SDX_LIMIT_NODES, "functions are called more than %lld times", SDX_MAX_CALLS);
    if (p->inputs.n > fn->inputs.n || p->outputs.n > fn->outputs.n)
        return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s has %d inputs and %d outputs, the call %d and %d",
                        STR_ARG(fn->name), fn->inputs.n, fn->outputs.n, p->inputs.n, p->outputs.n);
    return SDX_OK;
}

/* The formal inputs name what the call passes; those it leaves out are absent. */
static sdx_status bind_inputs(Import *im, Scope *body, const PNode *p, Err *err)
{
    const PFunction *fn = body->call->fn;
    for (int i = 0; i < fn->inputs.n; i++) {
        bool made;
        void **slot = sdx_names_add(&body->values, im->scratch, fn->inputs.v[i], &made);
        TRY_ARENA(slot, im->scratch, err);
        if (!made)
            return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s has two inputs `%.*s`", STR_ARG(fn->name),
                            STR_ARG(fn->inputs.v[i]));
        Value *v = NULL;
        if (i < p->inputs.n && p->inputs.v[i].n) TRY(sdx_import_find(body->call->site_scope, p->inputs.v[i], &v, err));
        *slot = v;
    }
    return SDX_OK;
}

/* The caller's value of output i; NULL when it does not want it. */
static sdx_status wanted(const Scope *site, const PNode *p, int i, Value **out, Err *err)
{
    *out = NULL;
    return i < p->outputs.n && p->outputs.v[i].n ? sdx_import_find(site, p->outputs.v[i], out, err) : SDX_OK;
}

/* Formal outputs get the caller's values, so that the body's nodes produce those. */
static sdx_status formal_outputs(Import *im, const Scope *body, const PNode *p, Names *formal, Err *err)
{
    const PFunction *fn = body->call->fn;
    for (int i = 0; i < fn->outputs.n; i++) {
        Value *v;
        bool made;
        TRY(wanted(body->call->site_scope, p, i, &v, err));
        if (!v) continue;
        void **slot = sdx_names_add(formal, im->scratch, fn->outputs.v[i], &made);
        TRY_ARENA(slot, im->scratch, err);
        if (made) *slot = v;
    }
    return SDX_OK;
}

/* Outputs that the body's nodes do not produce under that name: inputs passed through, and names listed twice. */
static sdx_status pass_through(const Scope *body, const PNode *p, Err *err)
{
    const PFunction *fn = body->call->fn;
    for (int i = 0; i < fn->outputs.n; i++) {
        Value *want, *have;
        TRY(wanted(body->call->site_scope, p, i, &want, err));
        if (!want) continue;
        TRY(sdx_import_find(body, fn->outputs.v[i], &have, err));
        if (!have)
            return sdx_fail(err, SDX_INVALID_MODEL, "function %.*s gives back input `%.*s`, which the call leaves out",
                            STR_ARG(fn->name), STR_ARG(fn->outputs.v[i]));
        if (have != want) TRY(sdx_import_identity(body->graph, have, want, err));
    }
    return SDX_OK;
}

static const char *call_prefix(Import *im, const Scope *s, const PNode *p)
{
    Str name = p->name.n ? p->name : p->op_type;
    return sdx_arena_printf(im->scratch, "%s%.*s/", s->prefix, STR_ARG(name));
}

static sdx_status call_body(Import *im, Scope *s, const PNode *p, PFunction *fn, Err *err)
{
    Call call = { .fn = fn, .site = p, .site_scope = s };
    Scope body = { .graph = s->graph, .opsets = &fn->opsets, .call = &call };
    Names formal = { 0 };
    Node *last = s->graph->last;
    TRY(check_call(im, s, p, fn, err));
    body.prefix = call_prefix(im, s, p);
    TRY_ARENA(body.prefix, im->scratch, err);
    TRY(bind_inputs(im, &body, p, err));
    TRY(formal_outputs(im, &body, p, &formal, err));
    TRY(sdx_import_declare(im, &body, fn->nodes.v, fn->nodes.n, &formal, err));
    TRY(sdx_import_nodes(im, &body, fn->nodes.v, fn->nodes.n, err));
    TRY(pass_through(&body, p, err));
    if (fn->builtin) sdx_import_prune(&body, last);
    return SDX_OK;
}

sdx_status sdx_import_call(Import *im, Scope *s, const PNode *p, PFunction *fn, Err *err)
{
    if (++im->depth > SDX_MAX_IMPORT_DEPTH)
        return sdx_fail(err, SDX_INVALID_MODEL, "functions and graphs are nested more than %d deep",
                        SDX_MAX_IMPORT_DEPTH);
    TRY(call_body(im, s, p, fn, err));
    im->depth--;
    return SDX_OK;
}
