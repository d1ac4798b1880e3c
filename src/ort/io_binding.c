/* Bindings: inputs and outputs of a session, set once and run many times. */
#include <string.h>

#include "ort/entries.h"

typedef struct Bound {
    char *name;
    OrtValue *value; /* NULL: the run makes it */
    bool is_made;    /* by the last run, not given */
} Bound;

typedef struct BoundList {
    Bound *v;
    size_t n, cap;
} BoundList;

struct OrtIoBinding {
    OrtSession *session;
    BoundList in, out;
};

static void bound_clear(Bound *b)
{
    sdx_free(&sdx_alloc_default, b->name);
    sdx_ort_ReleaseValue(b->value);
}

static void list_clear(BoundList *l)
{
    for (size_t i = 0; i < l->n; i++) bound_clear(&l->v[i]);
    sdx_free(&sdx_alloc_default, l->v);
    *l = (BoundList){ 0 };
}

static bool list_grow(BoundList *l)
{
    if (l->n < l->cap) return true;
    size_t cap = l->cap ? l->cap * 2 : 8;
    Bound *grown = sdx_alloc(&sdx_alloc_default, cap * sizeof *grown);
    if (!grown) return false;
    if (l->n) memcpy(grown, l->v, l->n * sizeof *grown);
    sdx_free(&sdx_alloc_default, l->v);
    l->v = grown;
    l->cap = cap;
    return true;
}

/* Binds, or binds anew, a name to a value that shares v's content (NULL: to nothing yet). */
static OrtStatus *bind(BoundList *l, const char *name, const OrtValue *v)
{
    Bound fresh = { NULL, NULL, false };
    size_t i = 0, size = strlen(name) + 1;
    while (i < l->n && strcmp(l->v[i].name, name) != 0) i++;
    if (i == l->n && !list_grow(l)) return sdx_ort_no_memory();
    OrtStatus *st = v ? sdx_ort_value_alias(&v->d, &fresh.value) : NULL;
    if (st) return st;
    fresh.name = sdx_alloc(&sdx_alloc_default, size);
    if (!fresh.name) {
        bound_clear(&fresh);
        return sdx_ort_no_memory();
    }
    memcpy(fresh.name, name, size);
    if (i < l->n)
        bound_clear(&l->v[i]);
    else
        l->n++;
    l->v[i] = fresh;
    return NULL;
}

OrtStatus *sdx_ort_CreateIoBinding(OrtSession *s, OrtIoBinding **out)
{
    if (!s || !out) return sdx_ort_null("session or out");
    OrtIoBinding *b = sdx_alloc_zero(&sdx_alloc_default, sizeof *b);
    if (!b) return sdx_ort_no_memory();
    b->session = s;
    *out = b;
    return NULL;
}

void sdx_ort_ReleaseIoBinding(OrtIoBinding *b)
{
    if (!b) return;
    list_clear(&b->in);
    list_clear(&b->out);
    sdx_free(&sdx_alloc_default, b);
}

void sdx_ort_ClearBoundInputs(OrtIoBinding *b)
{
    if (b) list_clear(&b->in);
}

void sdx_ort_ClearBoundOutputs(OrtIoBinding *b)
{
    if (b) list_clear(&b->out);
}

/* All memory is the host's: there is nothing to wait for. */
OrtStatus *sdx_ort_SynchronizeBoundInputs(OrtIoBinding *b) { return b ? NULL : sdx_ort_null("binding"); }
OrtStatus *sdx_ort_SynchronizeBoundOutputs(OrtIoBinding *b) { return b ? NULL : sdx_ort_null("binding"); }

OrtStatus *sdx_ort_BindInput(OrtIoBinding *b, const char *name, const OrtValue *v)
{
    if (!b || !name || !v) return sdx_ort_null("binding, name or value");
    Session *s = b->session->ses;
    for (int i = 0; i < sdx_ses_n_inputs(s); i++)
        if (strcmp(sdx_ses_input(s, i)->name, name) == 0) return bind(&b->in, name, v);
    for (int i = 0; i < sdx_ses_n_overridable(s); i++)
        if (strcmp(sdx_ses_overridable(s, i)->name, name) == 0) return bind(&b->in, name, v);
    return sdx_ort_fail(ORT_FAIL, "Failed to find input name in the mapping: %s: Unknown input name", name);
}

/* A name that the model has not is told by the run. */
OrtStatus *sdx_ort_BindOutput(OrtIoBinding *b, const char *name, const OrtValue *v)
{
    return b && name && v ? bind(&b->out, name, v) : sdx_ort_null("binding, name or value");
}

OrtStatus *sdx_ort_BindOutputToDevice(OrtIoBinding *b, const char *name, const OrtMemoryInfo *info)
{
    if (!b || !name || !info) return sdx_ort_null("binding, name or memory info");
    int device;
    sdx_ort_MemoryInfoGetDeviceType(info, &device);
    if (device) return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "outputs lie in host memory, not in %s", info->name);
    return bind(&b->out, name, NULL);
}

static void *list_array(size_t n) { return sdx_alloc(&sdx_alloc_default, (n ? n : 1) * sizeof(void *)); }

OrtStatus *sdx_ort_RunWithBinding(OrtSession *s, const OrtRunOptions *ro, const OrtIoBinding *b)
{
    if (!s || !b) return sdx_ort_null("session or binding");
    if (s != b->session) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "the binding belongs to another session");
    const char **in_names = list_array(b->in.n), **out_names = list_array(b->out.n);
    const OrtValue **in = list_array(b->in.n);
    OrtValue **out = list_array(b->out.n);
    OrtStatus *st = in_names && out_names && in && out ? NULL : sdx_ort_no_memory();
    for (size_t i = 0; !st && i < b->in.n; i++) in_names[i] = b->in.v[i].name, in[i] = b->in.v[i].value;
    for (size_t i = 0; !st && i < b->out.n; i++) {
        out_names[i] = b->out.v[i].name;
        out[i] = b->out.v[i].is_made ? NULL : b->out.v[i].value;
    }
    if (!st) {
        st = sdx_ort_Run(s, ro, in_names, in, b->in.n, out_names, b->out.n, out);
        for (size_t i = 0; !st && i < b->out.n; i++) {
            Bound *o = &b->out.v[i];
            if (out[i] == o->value) continue;
            sdx_ort_ReleaseValue(o->value);
            o->value = out[i];
            o->is_made = true;
        }
    }
    sdx_free(&sdx_alloc_default, in_names);
    sdx_free(&sdx_alloc_default, out_names);
    sdx_free(&sdx_alloc_default, in);
    sdx_free(&sdx_alloc_default, out);
    return st;
}

/* Names lie one after the other, not terminated. */
OrtStatus *sdx_ort_GetBoundOutputNames(const OrtIoBinding *b, OrtAllocator *a, char **out, size_t **lengths, size_t *n)
{
    size_t total = 0, at = 0;
    if (!b || !a || !out || !lengths || !n) return sdx_ort_null("binding, allocator or an out");
    *out = NULL;
    *lengths = NULL;
    *n = b->out.n;
    if (!*n) return NULL;
    for (size_t i = 0; i < *n; i++) total += strlen(b->out.v[i].name);
    char *text = a->Alloc(a, total ? total : 1);
    size_t *lens = a->Alloc(a, *n * sizeof *lens);
    if (!text || !lens) {
        a->Free(a, text);
        a->Free(a, lens);
        return sdx_ort_no_memory();
    }
    for (size_t i = 0; i < *n; i++) {
        lens[i] = strlen(b->out.v[i].name);
        memcpy(text + at, b->out.v[i].name, lens[i]);
        at += lens[i];
    }
    *out = text;
    *lengths = lens;
    return NULL;
}

/* The caller releases each value and frees the array. */
OrtStatus *sdx_ort_GetBoundOutputValues(const OrtIoBinding *b, OrtAllocator *a, OrtValue ***out, size_t *n)
{
    if (!b || !a || !out || !n) return sdx_ort_null("binding, allocator or an out");
    *out = NULL;
    *n = b->out.n;
    if (!*n) return NULL;
    OrtValue **list = a->Alloc(a, *n * sizeof *list);
    if (!list) return sdx_ort_no_memory();
    for (size_t i = 0; i < *n; i++) {
        const OrtValue *v = b->out.v[i].value;
        OrtStatus *st = v ? sdx_ort_value_alias(&v->d, &list[i])
                          : sdx_ort_fail(ORT_INVALID_ARGUMENT, "output %s has no value before a run", b->out.v[i].name);
        if (!st) continue;
        while (i-- > 0) sdx_ort_ReleaseValue(list[i]);
        a->Free(a, list);
        return st;
    }
    *out = list;
    return NULL;
}
