/* tests/unit/schema_test.c - every operator definition against the official schemas
 *
 * tests/data/onnx_schemas.tsv is a dump by tools/dump_schemas.py, which explains its lines. For each operator of ours
 * that the dump knows: the published versions, and of the newest form arity, element types and attributes with their
 * defaults. In older versions the element types of those inputs that still have their name. */
#include "ops/ops.h"
#include "tests/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 9, MAX_PORTS = 24, MAX_ATTRS = 40 };

typedef struct Port {
    const char *name, *option;
    DTypeSet types;
    bool has_forms; /* allows sequences and the like */
} Port;

typedef struct SchemaAttr {
    const char *name, *type, *dflt;
    bool required;
} SchemaAttr;

typedef struct Schema {
    const char *domain, *name;
    int since;
    bool deprecated;
    Port in[MAX_PORTS], out[MAX_PORTS];
    SchemaAttr attrs[MAX_ATTRS];
    int n_in, n_out, n_attrs;
} Schema;

static Schema *schemas;
static int n_schemas;
static char *schema_text;

static void port_read(Port *p, char *const *f)
{
    char *end;
    *p = (Port){ .name = f[1], .option = f[2], .types = (DTypeSet)strtoul(f[3], &end, 16) };
    p->has_forms = *end == '+';
}

static bool schemas_load(void)
{
    FILE *file = fopen(SDX_TEST_DATA "/onnx_schemas.tsv", "rb");
    if (!CHECK(file != NULL)) return false;
    schema_text = calloc(1, 1 << 20);
    schemas = calloc(1000, sizeof *schemas);
    size_t n = fread(schema_text, 1, (1 << 20) - 1, file);
    fclose(file);
    if (!CHECK(n > 0)) return false;
    Schema *s = NULL;
    for (char *line = strchr(schema_text, '\n') + 1, *next; *line && n_schemas < 1000; line = next) {
        char *f[MAX_FIELDS] = { line };
        next = strchr(line, '\n');
        *next++ = '\0';
        for (int i = 1; i < MAX_FIELDS && f[i - 1]; i++) {
            f[i] = strchr(f[i - 1], '\t');
            if (f[i]) *f[i]++ = '\0';
        }
        switch (line[0]) {
        case 'V':
            s = &schemas[n_schemas++];
            *s = (Schema){ .domain = f[1], .name = f[2], .since = atoi(f[3]), .deprecated = f[4][0] == '1' };
            break;
        case 'I': port_read(&s->in[s->n_in++], f); break;
        case 'O': port_read(&s->out[s->n_out++], f); break;
        case 'A':
            s->attrs[s->n_attrs++] = (SchemaAttr){
                .name = f[1], .type = f[2], .required = f[3][0] == '1', .dflt = f[4] ? f[4] : ""
            };
            break;
        }
    }
    return true;
}

/* One item of a signature: the text of its type and its suffix. */
typedef struct Item {
    char type[32];
    char suffix;
} Item;

static const char *items_read(const char *s, Item *items, int *n)
{
    for (*n = 0; *s && *s != '-'; s += *s == ',') {
        Item *it = &items[(*n)++];
        size_t len = 0;
        int depth = 0;
        for (; *s && !(depth == 0 && (*s == ',' || *s == '-')); s++) {
            depth += (*s == '(') - (*s == ')');
            if (len + 1 < sizeof it->type) it->type[len++] = *s;
        }
        it->suffix = len && strchr("?*+~", it->type[len - 1]) ? it->type[--len] : '\0';
        it->type[len] = '\0';
    }
    return s;
}

/* The variable 0..3 of an item, or -1. */
static int item_var(const Item *it)
{
    return strlen(it->type) == 1 && it->type[0] >= 'T' && it->type[0] <= 'W' ? it->type[0] - 'T' : -1;
}

static void ports_check(const OpDef *def, const OpVer *ver, const Item *items, int n, const Port *ports, int n_ports,
                        const char *side)
{
    if (!CHECK_INT(n, n_ports)) return;
    for (int i = 0; i < n; i++) {
        const Port *p = &ports[i];
        sdx_harness_note("%s-%d %s %d `%s`, signature %s", def->name, ver->since, side, i, p->name, def->sig);
        char want = !strcmp(p->option, "optional")    ? '?'
                    : !strcmp(p->option, "variadic")  ? '+'
                    : !strcmp(p->option, "variadic~") ? '~'
                                                      : '\0';
        /* Nothing but a graph's body reads most outputs, so they may all be left out; only inputs are strict. */
        if (!strcmp(side, "input")) CHECK(items[i].suffix == want || (items[i].suffix == '*' && want == '+'));
        int var = item_var(&items[i]);
        if (var >= 0 && !p->has_forms && ver->types[var] != p->types) {
            sdx_harness_note("%s-%d %s %d `%s`: types %x, official %x", def->name, ver->since, side, i, p->name,
                             (unsigned)ver->types[var], (unsigned)p->types);
            CHECK(ver->types[var] == p->types);
        }
    }
}

static void attrs_check(const OpDef *def, const Schema *s, bool retired)
{
    static const char *const types[] = { [ATTR_FLOAT] = "FLOAT",
                                         [ATTR_INT] = "INT",
                                         [ATTR_STRING] = "STRING",
                                         [ATTR_TENSOR] = "TENSOR",
                                         [ATTR_GRAPH] = "GRAPH",
                                         [ATTR_FLOATS] = "FLOATS",
                                         [ATTR_INTS] = "INTS",
                                         [ATTR_STRINGS] = "STRINGS",
                                         [ATTR_TENSORS] = "TENSORS",
                                         [ATTR_GRAPHS] = "GRAPHS",
                                         [ATTR_SPARSE] = "SPARSE_TENSOR",
                                         [ATTR_TYPE] = "TYPE_PROTO" };
    for (int i = 0; i < s->n_attrs; i++) {
        const SchemaAttr *want = &s->attrs[i];
        const AttrSpec *got = def->attrs;
        while (got && got->name && strcmp(got->name, want->name) != 0) got++;
        sdx_harness_note("%s-%d attribute %s %s, default `%s`", def->name, s->since, want->type, want->name,
                         want->dflt);
        if (!CHECK(got != NULL && got->name != NULL)) continue;
        CHECK((size_t)got->type < sizeof types / sizeof *types && types[got->type] &&
              !strcmp(types[got->type], want->type));
        bool by_infer = want->required && got->type == ATTR_INTS; /* an empty list is refused there */
        if (!by_infer) CHECK_INT(got->required, want->required);
        if (!*want->dflt) continue;
        if (got->type == ATTR_INT) CHECK_INT(got->i, strtoll(want->dflt, NULL, 10));
        if (got->type == ATTR_FLOAT) CHECK(got->f == strtof(want->dflt, NULL));
        if (got->type == ATTR_STRING) CHECK_STR(got->s, want->dflt);
    }
    /* A deprecated operator may share its successor's struct, with attributes it never had. */
    for (const AttrSpec *got = def->attrs; got && got->name && !retired; got++) {
        int i = 0;
        while (i < s->n_attrs && strcmp(got->name, s->attrs[i].name) != 0) i++;
        sdx_harness_note("%s-%d: attribute %s is not in the schema", def->name, s->since, got->name);
        CHECK(i < s->n_attrs);
    }
}

/* Inputs of an older version that kept their names. */
static void old_types_check(const OpDef *def, const OpVer *ver, const Schema *old, const Schema *newest,
                            const Item *items, int n)
{
    for (int i = 0; i < old->n_in; i++)
        for (int k = 0; k < newest->n_in && k < n; k++) {
            int var = item_var(&items[k]);
            if (strcmp(old->in[i].name, newest->in[k].name) != 0 || var < 0 || old->in[i].has_forms) continue;
            if (ver->types[var] == old->in[i].types) continue;
            sdx_harness_note("%s-%d input `%s`: types %x, official %x", def->name, ver->since, old->in[i].name,
                             (unsigned)ver->types[var], (unsigned)old->in[i].types);
            CHECK(ver->types[var] == old->in[i].types);
        }
}

static void op_check(const OpDef *def)
{
    const char *domain = def->domain ? def->domain : "ai.onnx";
    Item in[MAX_PORTS], out[MAX_PORTS];
    int n_in, n_out, first = 0;
    while (first < n_schemas && (strcmp(schemas[first].domain, domain) || strcmp(schemas[first].name, def->name)))
        first++;
    if (first == n_schemas) return; /* not of the standard */
    const char *rest = items_read(def->sig, in, &n_in);
    items_read(rest[0] ? rest + 2 : rest, out, &n_out);

    int newest = first;
    while (schemas[newest].deprecated && newest + 1 < n_schemas && !strcmp(schemas[newest + 1].name, def->name))
        newest++;
    for (int i = first; i < n_schemas && !strcmp(schemas[i].name, def->name) && !strcmp(schemas[i].domain, domain);
         i++) {
        const OpVer *ver = def->vers;
        while (ver->since && ver->since != schemas[i].since) ver++;
        sdx_harness_note("%s-%d has no row", def->name, schemas[i].since);
        if (schemas[i].deprecated || !CHECK(ver->since != 0)) continue;
        if (i == newest) {
            ports_check(def, ver, in, n_in, schemas[i].in, schemas[i].n_in, "input");
            sdx_harness_note("%s-%d outputs, signature %s", def->name, ver->since, def->sig);
            ports_check(def, ver, out, n_out, schemas[i].out, schemas[i].n_out, "output");
            attrs_check(def, &schemas[i], newest != first);
        } else {
            old_types_check(def, ver, &schemas[i], &schemas[newest], in, n_in);
        }
    }
    for (const OpVer *ver = def->vers; ver->since; ver++) {
        int i = first;
        while (i < n_schemas && !strcmp(schemas[i].name, def->name) && schemas[i].since != ver->since) i++;
        sdx_harness_note("%s-%d was never published", def->name, ver->since);
        CHECK(i < n_schemas && !strcmp(schemas[i].name, def->name));
    }
}

static void definitions_match_the_standard(void)
{
    int n;
    const OpDef *const *ops = sdx_op_list(&n);
    if (schemas_load())
        for (int i = 0; i < n; i++) op_check(ops[i]);
    free(schemas);
    free(schema_text);
}

SUITE(schema_test) { RUN(definitions_match_the_standard); }
