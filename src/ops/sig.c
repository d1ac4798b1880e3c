/* Signatures: OpDef.sig against the types of a node's values. The language is described in ops.h. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "ops/ops.h"

enum { N_VARS = 4, MAX_WRAPS = 2 };

/* What stands where a type does: a variable, one element type, or anything. */
typedef struct SigLeaf {
    int var;    /* 0..3, or -1 */
    DType type; /* DT_NONE with var -1: any */
} SigLeaf;

typedef struct SigItem {
    TypeKind wraps[MAX_WRAPS]; /* seq and opt, outermost first */
    int n_wraps;
    bool is_map;
    SigLeaf leaf, value; /* value: of maps */
    char suffix;         /* 0 ? * + ~ */
} SigItem;

static const struct {
    const char *name;
    DType type;
} short_names[] = {
    { "f32", DT_FLOAT },         { "f64", DT_DOUBLE },        { "f16", DT_FLOAT16 },
    { "bf16", DT_BFLOAT16 },     { "i8", DT_INT8 },           { "i16", DT_INT16 },
    { "i32", DT_INT32 },         { "i64", DT_INT64 },         { "u8", DT_UINT8 },
    { "u16", DT_UINT16 },        { "u32", DT_UINT32 },        { "u64", DT_UINT64 },
    { "bool", DT_BOOL },         { "str", DT_STRING },        { "c64", DT_COMPLEX64 },
    { "c128", DT_COMPLEX128 },   { "f8e8m0", DT_FLOAT8E8M0 }, { "f8e4m3fn", DT_FLOAT8E4M3FN },
    { "f8e5m2", DT_FLOAT8E5M2 },
};

/* -- reading ------------------------------------------------------------------------------------------------------- */

static bool is_word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9'); }

static const char *leaf_read(const char *s, SigLeaf *leaf)
{
    size_t n = 0;
    while (is_word(s[n])) n++;
    *leaf = (SigLeaf){ .var = -1, .type = DT_NONE };
    if (n == 1 && *s >= 'T' && *s <= 'W') {
        leaf->var = *s - 'T';
        return s + 1;
    }
    for (size_t i = 0; i < sizeof short_names / sizeof *short_names; i++)
        if (strlen(short_names[i].name) == n && !memcmp(s, short_names[i].name, n)) leaf->type = short_names[i].type;
    assert(leaf->type != DT_NONE || (n == 3 && !memcmp(s, "any", 3)));
    return s + n;
}

/* One item; s then stands at ',' '-' or the end. */
static const char *item_read(const char *s, SigItem *item)
{
    *item = (SigItem){ .suffix = '\0' };
    for (; !strncmp(s, "seq(", 4) || !strncmp(s, "opt(", 4); s += 4) {
        assert(item->n_wraps < MAX_WRAPS);
        item->wraps[item->n_wraps++] = *s == 's' ? TYPE_SEQUENCE : TYPE_OPTIONAL;
    }
    item->is_map = !strncmp(s, "map(", 4);
    s = leaf_read(item->is_map ? s + 4 : s, &item->leaf);
    if (item->is_map) {
        assert(*s == ',');
        s = leaf_read(s + 1, &item->value);
    }
    while (*s == ')') s++;
    if (*s && *s != ',' && *s != '-') item->suffix = *s++;
    assert(!*s || *s == ',' || *s == '-');
    return s;
}

static bool is_repeated(const SigItem *it) { return it->suffix == '*' || it->suffix == '+' || it->suffix == '~'; }

/* -- checking ------------------------------------------------------------------------------------------------------ */

typedef struct Binding {
    const Node *n;
    const OpVer *ver;
    DType vars[N_VARS];
    Err *err;
} Binding;

static sdx_status bind_fail(const Binding *b, int i, const char *what)
{
    char text[256];
    return sdx_fail(b->err, SDX_INVALID_MODEL, "%s: input %d %s", sdx_node_text(b->n, text, sizeof text), i, what);
}

static sdx_status bind_elem(Binding *b, const SigLeaf *leaf, DType elem, bool rebind, int i)
{
    char what[160];
    if (elem == DT_NONE || (leaf->var < 0 && (leaf->type == DT_NONE || leaf->type == elem))) return SDX_OK;
    if (leaf->var < 0) {
        snprintf(what, sizeof what, "has elements of type %s, not %s", sdx_dtype_name(elem),
                 sdx_dtype_name(leaf->type));
        return bind_fail(b, i, what);
    }
    if (b->ver && !sdx_dtype_in(elem, b->ver->types[leaf->var])) {
        snprintf(what, sizeof what, "has elements of type %s, which version %d of the operator does not take",
                 sdx_dtype_name(elem), b->ver->since);
        return bind_fail(b, i, what);
    }
    DType *var = &b->vars[leaf->var];
    if (*var != DT_NONE && *var != elem && !rebind) {
        snprintf(what, sizeof what, "has elements of type %s, an earlier input of the same kind %s",
                 sdx_dtype_name(elem), sdx_dtype_name(*var));
        return bind_fail(b, i, what);
    }
    *var = elem;
    return SDX_OK;
}

static const char *kind_name(TypeKind k)
{
    static const char *const names[] = {
        "unknown", "tensor", "sparse tensor", "sequence", "map", "optional", "opaque"
    };
    return names[k];
}

static sdx_status bind_kind(const Binding *b, TypeKind have, TypeKind want, int i)
{
    char what[64];
    if (have == want || have == TYPE_UNKNOWN) return SDX_OK;
    snprintf(what, sizeof what, "is a %s, not a %s", kind_name(have), kind_name(want));
    return bind_fail(b, i, what);
}

static sdx_status bind_input(Binding *b, const SigItem *it, const Type *t, int i)
{
    for (int w = 0; t && w < it->n_wraps; w++) {
        TRY(bind_kind(b, t->kind, it->wraps[w], i));
        t = t->of;
    }
    if (!t || t->kind == TYPE_UNKNOWN) return SDX_OK;
    if (it->is_map) {
        TRY(bind_kind(b, t->kind, TYPE_MAP, i));
        TRY(bind_elem(b, &it->leaf, t->elem, false, i));
        return t->of ? bind_elem(b, &it->value, t->of->elem, false, i) : SDX_OK;
    }
    if (it->leaf.var < 0 && it->leaf.type == DT_NONE) return SDX_OK;
    TRY(bind_kind(b, t->kind, TYPE_TENSOR, i));
    return bind_elem(b, &it->leaf, t->elem, it->suffix == '~', i);
}

/* -- outputs ------------------------------------------------------------------------------------------------------- */

#define TENSOR_OF(name)                                                                                                \
    {                                                                                                                  \
        .kind = TYPE_TENSOR, .elem = DT_##name, .shape = {.rank = SDX_RANK_UNKNOWN }                                   \
    }
static const Type tensor_of[DT_COUNT] = {
    [DT_NONE] = { .kind = TYPE_TENSOR, .shape = { .rank = SDX_RANK_UNKNOWN } },
#define DTYPE(name, code, bits, text, cls) [DT_##name] = TENSOR_OF(name),
#include "tensor/dtype.def"
#undef DTYPE
};

#define SEQUENCE_OF(name)                                                                                              \
    {                                                                                                                  \
        .kind = TYPE_SEQUENCE, .of = &tensor_of[DT_##name], .shape = {.rank = SDX_RANK_UNKNOWN }                       \
    }
static const Type sequence_of[DT_COUNT] = {
    [DT_NONE] = { .kind = TYPE_SEQUENCE, .of = &tensor_of[DT_NONE], .shape = { .rank = SDX_RANK_UNKNOWN } },
#define DTYPE(name, code, bits, text, cls) [DT_##name] = SEQUENCE_OF(name),
#include "tensor/dtype.def"
#undef DTYPE
};

static Type bind_output(const Binding *b, const SigItem *it)
{
    Type t = { .kind = TYPE_UNKNOWN, .shape = { .rank = SDX_RANK_UNKNOWN } };
    DType elem = it->leaf.var >= 0 ? b->vars[it->leaf.var] : it->leaf.type;
    if (it->is_map) {
        DType value = it->value.var >= 0 ? b->vars[it->value.var] : it->value.type;
        const Type *of = &tensor_of[value];
        t.kind = TYPE_MAP;
        t.elem = elem;
        t.of = of;
    } else if (it->leaf.var < 0 && it->leaf.type == DT_NONE) {
        return t;
    } else if (it->n_wraps == 0) {
        return tensor_of[elem];
    } else {
        t.kind = it->wraps[0];
        t.of = it->n_wraps == 2 ? &sequence_of[elem] : &tensor_of[elem];
    }
    if (it->is_map && it->n_wraps) t = (Type){ .kind = it->wraps[0] }; /* seq(map): infer knows more */
    return t;
}

sdx_status sdx_op_check_inputs(const Node *n, Err *err)
{
    char text[256];
    const char *s = n->def->sig;
    int i = 0;
    while (*s && *s != '-') {
        SigItem it;
        s = item_read(s, &it);
        if (*s == ',') s++;
        int first = i;
        bool may_lack = it.suffix == '?' || it.suffix == '*' || it.suffix == '~';
        for (; i < n->n_in && (i == first || is_repeated(&it)); i++)
            if (!n->in[i] && !may_lack)
                return sdx_fail(err, SDX_INVALID_MODEL, "%s: input %d is missing", sdx_node_text(n, text, sizeof text),
                                i);
        if (i == first && !may_lack)
            return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d inputs, too few for %s",
                            sdx_node_text(n, text, sizeof text), n->n_in, n->def->sig);
    }
    if (i == n->n_in) return SDX_OK;
    return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d inputs, too many for %s", sdx_node_text(n, text, sizeof text),
                    n->n_in, n->def->sig);
}

sdx_status sdx_op_bind(const Node *n, const OpVer *ver, const Type *const *in, Type *out, Err *err)
{
    Binding b = { .n = n, .ver = ver ? ver : n->def->vers, .err = err };
    char text[256];
    const char *s = n->def->sig;
    int i = 0;
    while (*s && *s != '-') {
        SigItem it;
        s = item_read(s, &it);
        if (*s == ',') s++;
        int first = i;
        for (; i < n->n_in && (i == first || is_repeated(&it)); i++) {
            bool may_lack = it.suffix == '?' || it.suffix == '*';
            if (n->in[i])
                TRY(bind_input(&b, &it, in[i], i));
            else if (!may_lack)
                return bind_fail(&b, i, "is missing");
        }
        if (i == first && it.suffix != '?' && it.suffix != '*' && it.suffix != '~')
            return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d inputs, too few for %s",
                            sdx_node_text(n, text, sizeof text), n->n_in, n->def->sig);
    }
    if (i < n->n_in)
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d inputs, too many for %s",
                        sdx_node_text(n, text, sizeof text), n->n_in, n->def->sig);
    assert(s[0] == '-' && s[1] == '>');
    s += 2;
    int o = 0;
    while (*s) {
        SigItem it;
        s = item_read(s, &it);
        if (*s == ',') s++;
        int first = o;
        for (; o < n->n_out && (o == first || is_repeated(&it)); o++) out[o] = bind_output(&b, &it);
    }
    if (o < n->n_out)
        return sdx_fail(err, SDX_INVALID_MODEL, "%s: has %d outputs, too many for %s",
                        sdx_node_text(n, text, sizeof text), n->n_out, n->def->sig);
    return SDX_OK;
}
