/* Domains of custom operators, libraries of them, and what sessions make of both. */
#include "base/guard.h"
#include "ort/entries_custom.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* -- what an operator says of itself ------------------------------------------------------------------------------- */

enum { HAS_OPTIONAL = 8, HAS_VARIADIC = 14, HAS_KERNEL_V2 = 16, HAS_VERSIONS = 18 };

static CustomArg arg_of(const OrtCustomOp *op, size_t i, int type, int (*kind)(const OrtCustomOp *, size_t),
                        int (*min)(const OrtCustomOp *), int (*same)(const OrtCustomOp *))
{
    CustomArg a = { .dtype = sdx_ort_dtype(type), .kind = CUSTOM_REQUIRED };
    if (op->version >= HAS_OPTIONAL && kind) a.kind = kind(op, i);
    if (a.kind != CUSTOM_VARIADIC) return a;
    a.min = op->version >= HAS_VARIADIC && min ? min(op) : 1;
    a.is_mixed = op->version >= HAS_VARIADIC && same && !same(op);
    return a;
}

CustomArg sdx_custom_input(const OrtCustomOp *op, size_t i)
{
    size_t n = op->GetInputTypeCount(op);
    if (i >= n) i = n - 1; /* of a variadic last one */
    return arg_of(op, i, op->GetInputType(op, i), op->version >= HAS_OPTIONAL ? op->GetInputCharacteristic : NULL,
                  op->version >= HAS_VARIADIC ? op->GetVariadicInputMinArity : NULL,
                  op->version >= HAS_VARIADIC ? op->GetVariadicInputHomogeneity : NULL);
}

CustomArg sdx_custom_output(const OrtCustomOp *op, size_t i)
{
    size_t n = op->GetOutputTypeCount(op);
    if (i >= n) i = n - 1;
    return arg_of(op, i, op->GetOutputType(op, i), op->version >= HAS_OPTIONAL ? op->GetOutputCharacteristic : NULL,
                  op->version >= HAS_VARIADIC ? op->GetVariadicOutputMinArity : NULL,
                  op->version >= HAS_VARIADIC ? op->GetVariadicOutputHomogeneity : NULL);
}

/* Whether op is there in the version of the domain that the model imports. */
static bool has_version(const OrtCustomOp *op, const Node *n)
{
    const Model *m = n->graph->model;
    if (op->version < HAS_VERSIONS || !op->GetStartVersion || !op->GetEndVersion) return true;
    for (int i = 0; i < m->n_opsets; i++)
        if (strcmp(m->opsets[i].domain, n->domain) == 0)
            return (uint32_t)op->GetStartVersion(op) <= m->opsets[i].version &&
                   m->opsets[i].version <= (uint32_t)op->GetEndVersion(op); /* clients give UINT32_MAX for none */
    return true;
}

const OrtCustomOp *sdx_custom_pick(const Node *node, const DType *in, int n_in)
{
    const CustomDef *d = node->def->user;
    for (int k = 0; k < d->n; k++) {
        const OrtCustomOp *op = d->ops[k];
        if (!has_version(op, node)) continue;
        size_t n = op->GetInputTypeCount(op);
        bool takes = n_in == 0 || n > 0;
        if (takes && (size_t)n_in > n) takes = sdx_custom_input(op, n - 1).kind == CUSTOM_VARIADIC;
        for (int i = 0; takes && i < n_in; i++) {
            DType want = sdx_custom_input(op, (size_t)i).dtype;
            takes = want == DT_NONE || in[i] == DT_NONE || want == in[i];
        }
        if (takes) return op;
    }
    return NULL;
}

/* An output of any type has that of the first input that may be of any. */
DType sdx_custom_output_type(const OrtCustomOp *op, const DType *in, int n_in, int o)
{
    if (!op->GetOutputTypeCount(op)) return DT_NONE;
    DType d = sdx_custom_output(op, (size_t)o).dtype;
    for (int i = 0; d == DT_NONE && i < n_in; i++)
        if (sdx_custom_input(op, (size_t)i).dtype == DT_NONE) d = in[i];
    return d;
}

/* -- definitions --------------------------------------------------------------------------------------------------- */

/* Types that signatures have a word for; others are checked when a kernel is picked. */
static const char *sig_type(DType d)
{
    static const char *const words[DT_COUNT] = {
        [DT_FLOAT] = "f32", [DT_DOUBLE] = "f64", [DT_FLOAT16] = "f16",   [DT_BFLOAT16] = "bf16",
        [DT_INT8] = "i8",   [DT_INT16] = "i16",  [DT_INT32] = "i32",     [DT_INT64] = "i64",
        [DT_UINT8] = "u8",  [DT_UINT16] = "u16", [DT_UINT32] = "u32",    [DT_UINT64] = "u64",
        [DT_BOOL] = "bool", [DT_STRING] = "str", [DT_COMPLEX64] = "c64", [DT_COMPLEX128] = "c128",
    };
    return words[d] ? words[d] : "any";
}

/* "f32,any?,str+": where the operators of d differ, anything. */
static bool sig_side(const CustomDef *d, bool out, char *text, size_t size)
{
    size_t at = 0, n = 0;
    for (int k = 0; k < d->n; k++) {
        size_t have = out ? d->ops[k]->GetOutputTypeCount(d->ops[k]) : d->ops[k]->GetInputTypeCount(d->ops[k]);
        if (have > n) n = have;
    }
    for (size_t i = 0; i < n; i++) {
        CustomArg a = { .kind = -1 };
        for (int k = 0; k < d->n; k++) {
            const OrtCustomOp *op = d->ops[k];
            size_t have = out ? op->GetOutputTypeCount(op) : op->GetInputTypeCount(op);
            CustomArg b = { .kind = CUSTOM_OPTIONAL };
            if (i < have) b = out ? sdx_custom_output(op, i) : sdx_custom_input(op, i);
            if (a.kind < 0) {
                a = b;
            } else {
                if (a.dtype != b.dtype) a.dtype = DT_NONE;
                if (b.kind > a.kind) a.kind = b.kind;
            }
        }
        bool mixed = a.is_mixed || d->n > 1;
        const char *suffix = a.kind == CUSTOM_OPTIONAL                ? "?"
                             : a.kind == CUSTOM_VARIADIC && mixed     ? "~"
                             : a.kind == CUSTOM_VARIADIC && a.min > 0 ? "+"
                             : a.kind == CUSTOM_VARIADIC              ? "*"
                                                                      : "";
        int got = snprintf(text + at, size - at, "%s%s%s", i ? "," : "", sig_type(a.dtype), suffix);
        if (got < 0 || (size_t)got >= size - at) return false;
        at += (size_t)got;
    }
    return true;
}

static OrtStatus *def_finish(CustomOps *c, CustomDef *d)
{
    enum { SIDE_MAX = 2048 };
    char in[SIDE_MAX] = "", out[SIDE_MAX] = "";
    if (!sig_side(d, false, in, sizeof in) || !sig_side(d, true, out, sizeof out))
        return sdx_ort_fail(ORT_INVALID_GRAPH, "custom operator %s has too many inputs or outputs", d->def.name);
    d->def.sig = sdx_arena_printf(&c->arena, "%s->%s", in, out);
    d->def.flags = OP_RANDOM | OP_ANY_ATTRS; /* a kernel may keep state: never folded or merged */
    d->def.infer = sdx_custom_infer;
    d->def.cpu.run = sdx_custom_run;
    d->def.user = d;
    d->owner = c;
    return d->def.sig ? NULL : sdx_ort_no_memory();
}

static OrtStatus *def_add(CustomOps *c, const char *domain, const OrtCustomOp *op)
{
    const char *name = op->GetName(op);
    const char *provider = op->GetExecutionProviderType ? op->GetExecutionProviderType(op) : NULL;
    if (provider && strcmp(provider, ORT_CPU_PROVIDER) != 0) return NULL; /* for a device that is not here */
    int i = 0;
    while (i < c->n_defs && (strcmp(c->defs[i]->def.name, name) != 0 || strcmp(c->defs[i]->def.domain, domain) != 0))
        i++;
    if (i == c->n_defs) {
        CustomDef *d = sdx_arena_new(&c->arena, CustomDef);
        char *own_name = sdx_arena_strndup(&c->arena, name, strlen(name));
        char *own_domain = sdx_arena_strndup(&c->arena, domain, strlen(domain));
        if (!d || !own_name || !own_domain) return sdx_ort_no_memory();
        if (!sdx_arena_grow(&c->arena, c->defs, c->n_defs, c->cap_defs)) return sdx_ort_no_memory();
        d->def.name = own_name;
        d->def.domain = own_domain;
        c->defs[c->n_defs++] = d;
    }
    CustomDef *d = c->defs[i];
    if (!sdx_arena_grow(&c->arena, d->ops, d->n, d->cap)) return sdx_ort_no_memory();
    d->ops[d->n++] = op;
    return NULL;
}

OrtStatus *sdx_custom_build(const OrtSessionOptions *o, CustomOps **out)
{
    *out = NULL;
    if (!o || !o->n_domains) return NULL;
    CustomOps *c = sdx_alloc_zero(&sdx_alloc_default, sizeof *c);
    if (!c) return sdx_ort_no_memory();
    sdx_arena_init(&c->arena, &sdx_alloc_default, 0);
    sdx_ort_log_session(&c->log, o);
    OrtStatus *st = sdx_ort_GetSessionOptionsConfigEntries(o, &c->config);
    for (int i = 0; !st && i < o->n_domains; i++)
        for (int k = 0; !st && k < o->domains[i]->n; k++) st = def_add(c, o->domains[i]->name, o->domains[i]->ops[k]);
    for (int i = 0; !st && i < c->n_defs; i++) st = def_finish(c, c->defs[i]);
    if (!st && !sdx_arena_grow(&c->arena, c->defs, c->n_defs, c->cap_defs)) st = sdx_ort_no_memory();
    if (st)
        sdx_custom_destroy(c);
    else
        c->defs[c->n_defs] = NULL, *out = c;
    return st;
}

const OpDef *const *sdx_custom_defs(const CustomOps *c)
{
    return c ? (const OpDef *const *)(const void *)c->defs : NULL;
}

void sdx_custom_destroy(CustomOps *c)
{
    if (!c) return;
    sdx_custom_close(c);
    sdx_ort_ReleaseKeyValuePairs(c->config);
    sdx_arena_fini(&c->arena);
    sdx_free(&sdx_alloc_default, c);
}

static void drop(void *user, void *data)
{
    (void)data;
    sdx_custom_destroy(user);
}

sdx_status sdx_custom_give(CustomOps *c, Model *m, Err *err)
{
    if (!c) return SDX_OK;
    Buf *b = sdx_buf_wrap(&sdx_alloc_default, c, sizeof *c, drop, c);
    if (b) return sdx_model_own(m, b, err);
    sdx_custom_destroy(c);
    return sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
}

/* -- kernels ------------------------------------------------------------------------------------------------------- */

typedef struct Guarded {
    OrtStatus *(*fn)(void *arg);
    void *arg;
    OrtStatus *st;
} Guarded;

static void guarded(void *arg)
{
    Guarded *g = arg;
    g->st = g->fn(g->arg);
}

OrtStatus *sdx_custom_guard(OrtStatus *(*fn)(void *arg), void *arg)
{
    char text[1024];
    Guarded g = { fn, arg, NULL };
    if (sdx_guard_call(guarded, &g, text, sizeof text)) return g.st;
    return sdx_ort_fail(ORT_RUNTIME_EXCEPTION, "an exception came out of a custom operator: %s", text);
}

typedef struct Opening {
    CustomOps *c;
    OrtStatus *st;
} Opening;

static OrtStatus *call_create(void *arg)
{
    OrtKernelInfo *info = arg;
    const OrtCustomOp *op = info->op;
    if (op->version >= HAS_KERNEL_V2 && op->CreateKernelV2)
        return op->CreateKernelV2(op, sdx_ort_api(), info, &info->kernel);
    info->kernel = op->CreateKernel(op, sdx_ort_api(), info);
    return NULL;
}

static OrtStatus *kernel_make(CustomOps *c, const Node *n, OrtKernelInfo **out)
{
    DType *types = sdx_arena_array(&c->arena, DType, n->n_in);
    OrtKernelInfo *info = sdx_arena_new(&c->arena, OrtKernelInfo);
    if (!types || !info) return sdx_ort_no_memory();
    info->constants = sdx_arena_array(&c->arena, OrtValue *, n->n_in);
    if (!info->constants) return sdx_ort_no_memory();
    for (int i = 0; i < n->n_in; i++) {
        Value *v = n->in[i];
        Err err = { 0 };
        if (!v) continue;
        types[i] = v->type.elem;
        if (!sdx_value_is_const(v)) continue;
        sdx_status code = sdx_value_align(v, &err);
        if (code != SDX_OK) return sdx_ort_status(code, &err);
        if (!(info->constants[i] = sdx_arena_new(&c->arena, OrtValue))) return sdx_ort_no_memory();
        info->constants[i]->d = (Datum){ .kind = DATUM_TENSOR, .t = *v->constant };
    }
    info->owner = c;
    info->node = n;
    info->op = sdx_custom_pick(n, types, n->n_in);
    if (!info->op)
        return sdx_ort_fail(ORT_INVALID_GRAPH, "node `%s` (%s.%s): no variant of this operator takes these types",
                            n->name, n->domain, n->op_type);
    *out = info;
    return sdx_custom_guard(call_create, info);
}

static sdx_status open_graph(Graph *g, void *user, Err *err)
{
    Opening *o = user;
    for (const Node *n = g->first; n && !o->st; n = n->next)
        if (n->def && n->def->cpu.run == sdx_custom_run && n->id < o->c->n_kernels)
            o->st = kernel_make(o->c, n, &o->c->kernels[n->id]);
    return o->st ? sdx_fail(err, SDX_RUN_FAILED, "a kernel failed") : SDX_OK;
}

OrtStatus *sdx_custom_open(CustomOps *c, Model *m)
{
    Opening o = { c, NULL };
    Err err = { 0 };
    c->kernels = sdx_arena_array(&c->arena, OrtKernelInfo *, m->next_node_id);
    if (!c->kernels) return sdx_ort_no_memory();
    c->n_kernels = m->next_node_id;
    sdx_status st = sdx_model_each_graph(m, open_graph, &o, &err);
    return o.st ? o.st : sdx_ort_status(st, &err);
}

void sdx_custom_close(CustomOps *c)
{
    if (!c) return;
    for (int i = 0; i < c->n_kernels; i++)
        if (c->kernels[i] && c->kernels[i]->kernel) c->kernels[i]->op->KernelDestroy(c->kernels[i]->kernel);
    c->n_kernels = 0;
}

/* -- domains ------------------------------------------------------------------------------------------------------- */

OrtStatus *sdx_ort_CreateCustomOpDomain(const char *name, OrtCustomOpDomain **out)
{
    if (!name || !out) return sdx_ort_null("domain or out");
    size_t n = strlen(name) + 1;
    OrtCustomOpDomain *d = sdx_alloc_zero(&sdx_alloc_default, sizeof *d + n);
    if (!d) return sdx_ort_no_memory();
    d->name = memcpy(d + 1, name, n);
    *out = d;
    return NULL;
}

void sdx_ort_ReleaseCustomOpDomain(OrtCustomOpDomain *d)
{
    if (d) sdx_free(&sdx_alloc_default, d->ops);
    sdx_free(&sdx_alloc_default, d);
}

OrtStatus *sdx_ort_CustomOpDomain_Add(OrtCustomOpDomain *d, const OrtCustomOp *op)
{
    if (!d || !op) return sdx_ort_null("domain or operator");
    if (op->version > ORT_API_VERSION + 1)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "Unsupported version '%u' in custom op '%s'", (unsigned)op->version,
                            op->GetName ? op->GetName(op) : "");
    if (d->n == d->cap) {
        int cap = d->cap ? d->cap * 2 : 16;
        const OrtCustomOp **grown = sdx_alloc(&sdx_alloc_default, (size_t)cap * sizeof *grown);
        if (!grown) return sdx_ort_no_memory();
        if (d->n) memcpy(grown, d->ops, (size_t)d->n * sizeof *grown);
        sdx_free(&sdx_alloc_default, d->ops);
        d->ops = grown;
        d->cap = cap;
    }
    d->ops[d->n++] = op;
    return NULL;
}

OrtStatus *sdx_ort_domain_add(OrtSessionOptions *o, const OrtCustomOpDomain *d)
{
    if (!sdx_arena_grow(&o->arena, o->domains, o->n_domains, o->cap_domains)) return sdx_ort_no_memory();
    o->domains[o->n_domains++] = d;
    return NULL;
}

/* The domain must outlive the sessions. */
OrtStatus *sdx_ort_AddCustomOpDomain(OrtSessionOptions *o, OrtCustomOpDomain *d)
{
    return o && d ? sdx_ort_domain_add(o, d) : sdx_ort_null("options or domain");
}

/* -- libraries ----------------------------------------------------------------------------------------------------- */

typedef OrtStatus *(*RegisterFn)(OrtSessionOptions *o, const void *api_base);

typedef struct Registering {
    RegisterFn fn;
    OrtSessionOptions *o;
} Registering;

static OrtStatus *call_register(void *arg)
{
    const Registering *r = arg;
    return r->fn(r->o, sdx_ort_api_base());
}

/* POSIX has it that a symbol's address may be a function's; C has no such cast. */
static RegisterFn function(void *p)
{
    RegisterFn fn;
    memcpy(&fn, &p, sizeof fn);
    return fn;
}

OrtStatus *sdx_ort_RegisterCustomOpsLibrary(OrtSessionOptions *o, const char *path, void **handle)
{
    if (!o || !path || !handle) return sdx_ort_null("options, path or handle");
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!lib) return sdx_ort_fail(ORT_FAIL, "Failed to load library %s with error: %s", path, dlerror());
    void *symbol = dlsym(lib, "RegisterCustomOps");
    OrtStatus *st = symbol ? sdx_custom_guard(call_register, &(Registering){ function(symbol), o })
                           : sdx_ort_fail(ORT_FAIL, "Failed to get symbol RegisterCustomOps with error: %s", dlerror());
    if (st)
        dlclose(lib);
    else
        *handle = lib;
    return st;
}

/* The library stays loaded: its code is needed as long as sessions live, and a second registration finds it there. */
OrtStatus *sdx_ort_RegisterCustomOpsLibrary_V2(OrtSessionOptions *o, const char *path)
{
    void *lib;
    return sdx_ort_RegisterCustomOpsLibrary(o, path, &lib);
}

OrtStatus *sdx_ort_RegisterCustomOpsUsingFunction(OrtSessionOptions *o, const char *name)
{
    if (!o || !name) return sdx_ort_null("options or function name");
    if (!*name) return sdx_ort_fail(ORT_FAIL, "Failed to get symbol: the function name is empty");
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (!symbol) return sdx_ort_fail(ORT_FAIL, "Failed to get symbol %s with error: %s", name, dlerror());
    return sdx_custom_guard(call_register, &(Registering){ function(symbol), o });
}

OrtStatus *sdx_ort_EnableOrtCustomOps(OrtSessionOptions *o)
{
    if (!o) return sdx_ort_null("options");
    return sdx_ort_fail(ORT_FAIL, "EnableOrtCustomOps: Custom operators in onnxruntime-extensions are not enabled");
}
