/* Attributes of operators: of nodes, and made by callers. */
#include <string.h>

#include "ort/entries_custom.h"

/* OrtOpAttrType, in the ABI's order. */
enum {
    OP_ATTR_UNDEFINED,
    OP_ATTR_INT,
    OP_ATTR_INTS,
    OP_ATTR_FLOAT,
    OP_ATTR_FLOATS,
    OP_ATTR_STRING,
    OP_ATTR_STRINGS,
    OP_ATTR_GRAPH,
    OP_ATTR_TENSOR
};

static int abi_type(AttrType t)
{
    static const int codes[] = {
        [ATTR_INT] = OP_ATTR_INT,       [ATTR_INTS] = OP_ATTR_INTS,     [ATTR_FLOAT] = OP_ATTR_FLOAT,
        [ATTR_FLOATS] = OP_ATTR_FLOATS, [ATTR_STRING] = OP_ATTR_STRING, [ATTR_STRINGS] = OP_ATTR_STRINGS,
        [ATTR_GRAPH] = OP_ATTR_GRAPH,   [ATTR_TENSOR] = OP_ATTR_TENSOR, [ATTR_TYPES] = OP_ATTR_UNDEFINED
    };
    return (size_t)t < sizeof codes / sizeof *codes ? codes[t] : OP_ATTR_UNDEFINED;
}

/* An attribute of the caller's, with all that it points to. */
typedef struct MadeAttr {
    OrtOpAttr attr;
    Arena arena;
} MadeAttr;

static bool attr_fill(MadeAttr *m, const void *data, size_t n, int type)
{
    Attr *a = &m->attr;
    void *list = NULL;
    size_t elem = type == OP_ATTR_FLOATS ? sizeof(float) : sizeof(int64_t);
    a->n = (int64_t)n;
    if (type == OP_ATTR_INTS || type == OP_ATTR_FLOATS) {
        list = sdx_arena_array_(&m->arena, n, elem, elem);
        if (!list) return false;
        if (n) memcpy(list, data, n * elem);
    }
    switch (type) {
    case OP_ATTR_INT: a->type = ATTR_INT, a->n = 1, memcpy(&a->i, data, sizeof a->i); break;
    case OP_ATTR_FLOAT: a->type = ATTR_FLOAT, a->n = 1, memcpy(&a->f, data, sizeof a->f); break;
    case OP_ATTR_INTS: a->type = ATTR_INTS, a->ints = list; break;
    case OP_ATTR_FLOATS: a->type = ATTR_FLOATS, a->floats = list; break;
    case OP_ATTR_STRING: {
        char *s = sdx_arena_strndup(&m->arena, data, strlen(data));
        if (!s) return false;
        a->type = ATTR_STRING, a->n = 1, a->s = (Str){ s, strlen(s) };
        break;
    }
    default: {
        Str *v = sdx_arena_array(&m->arena, Str, n);
        const char *const *from = data;
        if (!v) return false;
        for (size_t i = 0; i < n; i++) {
            v[i] = (Str){ sdx_arena_strndup(&m->arena, from[i], strlen(from[i])), strlen(from[i]) };
            if (!v[i].p) return false;
        }
        a->type = ATTR_STRINGS, a->strings = v;
    }
    }
    return true;
}

/* n: elements of lists. A single string ends at its zero byte. */
OrtStatus *sdx_ort_CreateOpAttr(const char *name, const void *data, int n, int type, OrtOpAttr **out)
{
    if (!name || !out || (!data && n)) return sdx_ort_null("name, data or out");
    if (type < OP_ATTR_INT || type > OP_ATTR_STRINGS)
        return sdx_ort_fail(ORT_NOT_IMPLEMENTED, "CreateOpAttr: attributes of type %d are not supported", type);
    bool is_list = type == OP_ATTR_INTS || type == OP_ATTR_FLOATS || type == OP_ATTR_STRINGS;
    if (n < 0 || (!is_list && !data)) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "attribute %s has no data", name);
    MadeAttr *m = sdx_alloc_zero(&sdx_alloc_default, sizeof *m);
    if (!m) return sdx_ort_no_memory();
    sdx_arena_init(&m->arena, &sdx_alloc_default, 0);
    m->attr.name = sdx_arena_strndup(&m->arena, name, strlen(name));
    if (!m->attr.name || !attr_fill(m, data, (size_t)n, type)) {
        sdx_ort_ReleaseOpAttr(&m->attr);
        return sdx_ort_no_memory();
    }
    *out = &m->attr;
    return NULL;
}

void sdx_ort_ReleaseOpAttr(OrtOpAttr *a)
{
    if (!a) return;
    MadeAttr *m = (MadeAttr *)(void *)a; /* its first member */
    sdx_arena_fini(&m->arena);
    sdx_free(&sdx_alloc_default, m);
}

OrtStatus *sdx_ort_OpAttr_GetType(const OrtOpAttr *a, int *out)
{
    if (!a || !out) return sdx_ort_null("attribute or out");
    *out = abi_type(a->type);
    return NULL;
}

OrtStatus *sdx_ort_OpAttr_GetName(const OrtOpAttr *a, const char **out)
{
    return a && out ? *out = a->name, NULL : sdx_ort_null("attribute or out");
}

OrtStatus *sdx_ort_OpAttr_GetTensorAttributeAsOrtValue(const OrtOpAttr *a, OrtValue **out)
{
    OrtAllocator *al;
    if (!a || !out) return sdx_ort_null("attribute or out");
    if (a->type != ATTR_TENSOR) return sdx_ort_fail(ORT_INVALID_ARGUMENT, "attribute %s is no tensor", a->name);
    OrtStatus *st = sdx_ort_GetAllocatorWithDefaultOptions(&al);
    return st ? st : sdx_ort_value_copy(a->t, al, out);
}

/* nbytes: what data has room for; *out: what is needed. Texts of a list follow one another, each with its zero byte; a
 * single one comes without. */
OrtStatus *sdx_ort_ReadOpAttr(const OrtOpAttr *a, int type, void *data, size_t nbytes, size_t *out)
{
    if (!a || !out) return sdx_ort_null("attribute or out");
    if (abi_type(a->type) != type || type == OP_ATTR_UNDEFINED || type >= OP_ATTR_GRAPH)
        return sdx_ort_fail(ORT_INVALID_ARGUMENT, "attribute %s is of another type than %d", a->name, type);
    const void *from = NULL;
    size_t need = 0;
    switch (a->type) {
    case ATTR_INT: from = &a->i, need = sizeof a->i; break;
    case ATTR_FLOAT: from = &a->f, need = sizeof a->f; break;
    case ATTR_INTS: from = a->ints, need = (size_t)a->n * sizeof *a->ints; break;
    case ATTR_FLOATS: from = a->floats, need = (size_t)a->n * sizeof *a->floats; break;
    case ATTR_STRING: from = a->s.p, need = a->s.n; break;
    default:
        for (int64_t i = 0; i < a->n; i++) need += a->strings[i].n + 1;
    }
    *out = need;
    if (nbytes < need || (need && !data))
        return sdx_ort_fail(ORT_INVALID_ARGUMENT,
                            "Size of data not large enough to hold attribute %s: %zu bytes needed", a->name, need);
    char *to = data;
    if (from && need) memcpy(to, from, need);
    for (int64_t i = 0; a->type == ATTR_STRINGS && i < a->n; i++) {
        if (a->strings[i].n) memcpy(to, a->strings[i].p, a->strings[i].n);
        to += a->strings[i].n;
        *to++ = '\0';
    }
    return NULL;
}
