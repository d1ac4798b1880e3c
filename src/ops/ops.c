#include "ops/ops.h"

#include <pthread.h>
#include <string.h>

static const OpDef *const list[] = {
#define OP(id) &sdx_op_##id,
#include "ops/ops.def"
#undef OP
};
enum { LIST_LEN = sizeof list / sizeof *list, SLOTS = 2048 };

/* Open addressing, filled once; at most a third full. */
static uint16_t slots[SLOTS]; /* index in list + 1, 0 is free */
static pthread_once_t slots_once = PTHREAD_ONCE_INIT;

static const char *domain_key(const char *domain) { return !domain || !strcmp(domain, "ai.onnx") ? "" : domain; }

static uint32_t slot_hash(const char *domain, const char *name)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const char *s = name; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    for (const char *s = domain; *s; s++) h = (h ^ (uint8_t)*s) * 16777619u;
    return h;
}

static void slots_fill(void)
{
    _Static_assert(LIST_LEN * 3 < SLOTS, "grow SLOTS");
    for (int i = 0; i < LIST_LEN; i++) {
        uint32_t h = slot_hash(domain_key(list[i]->domain), list[i]->name);
        while (slots[h % SLOTS]) h++;
        slots[h % SLOTS] = (uint16_t)(i + 1);
    }
}

const OpDef *sdx_op_find(const char *domain, const char *name)
{
    pthread_once(&slots_once, slots_fill);
    domain = domain_key(domain);
    for (uint32_t h = slot_hash(domain, name); slots[h % SLOTS]; h++) {
        const OpDef *def = list[slots[h % SLOTS] - 1];
        if (!strcmp(def->name, name) && !strcmp(domain_key(def->domain), domain)) return def;
    }
    return NULL;
}

const OpDef *const *sdx_op_list(int *n)
{
    *n = LIST_LEN;
    return list;
}

Node *sdx_node_make(Graph *g, Node *before, const char *domain, const char *op, Value *const *in, int n_in,
                    Value *const *out, int n_out, Err *err)
{
    const OpDef *def = sdx_op_find(domain, op);
    if (!def) {
        sdx_fail(err, SDX_INTERNAL, "operator %s.%s is not known", domain, op);
        return NULL;
    }
    Node *n = sdx_node_create(g, before, def, NULL, in, n_in, out, n_out);
    if (!n) {
        sdx_fail(err, SDX_OUT_OF_MEMORY, "out of memory");
        return NULL;
    }
    n->op_type = def->name;
    n->domain = domain_key(def->domain);
    for (const AttrSpec *a = def->attrs; a && a->name; a++)
        if (a->required) return n;
    return sdx_node_parse(n, err) == SDX_OK ? n : NULL;
}
