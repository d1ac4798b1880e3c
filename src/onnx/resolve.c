/* Which operator a node means, and how it gets from the version of the file to the newest form. The only code that
 * compares opset numbers. */
#include <stdio.h>
#include <string.h>

#include "onnx/import.h"

/* Attributes without meaning that old files carry: dropped before anything else looks at the node. */
static const struct {
    const char *attr;
    int before; /* since_version of the row that no longer knows it; 0: every version */
} dead_attrs[] = {
    { "consumed_inputs", 0 }, /* hint for work in place, until opset 6 */
};

static bool is_default_domain(Str d) { return !d.n || sdx_str_is(d, "ai.onnx"); }

int64_t sdx_import_opset(const POpsets *opsets, Str domain)
{
    bool standard = is_default_domain(domain);
    for (int i = opsets->n; i-- > 0;) {
        Str d = opsets->v[i].domain;
        bool same = standard ? is_default_domain(d) : d.n == domain.n && memcmp(d.p, domain.p, d.n) == 0;
        if (same) return opsets->v[i].version;
    }
    return INT64_MAX;
}

/* The row that an import of `opset` means: the highest that is not above it. The oldest row stands in for files that use
 * an operator before its first opset: it can mean nothing else. NULL: def has no rows. */
static const OpVer *op_row(const OpDef *def, int64_t opset)
{
    const OpVer *ver = def->vers;
    if (!ver || !ver->since) return NULL;
    while (ver->since > opset && ver[1].since) ver++;
    return ver;
}

static const OpDef *custom_op(const ImportOptions *opt, const char *domain, const char *name)
{
    for (const OpDef *const *d = opt ? opt->custom_ops : NULL; d && *d; d++)
        if (!strcmp((*d)->domain ? (*d)->domain : "", domain) && !strcmp((*d)->name, name)) return *d;
    return NULL;
}

sdx_status sdx_import_operator(Import *im, const Scope *s, const PNode *p, const OpDef **def, const OpVer **ver,
                               Err *err)
{
    const char *domain, *name;
    TRY(sdx_import_name(im->scratch, is_default_domain(p->domain) ? (Str){ "", 0 } : p->domain, &domain, err));
    TRY(sdx_import_name(im->scratch, p->op_type, &name, err));
    int64_t opset = sdx_import_opset(s->opsets, p->domain);
    *def = custom_op(im->opt, domain, name);
    bool internal = strcmp(domain, "sdx") == 0; /* forms that rewrites make; files have no right to them */
    if (!*def && !internal) *def = sdx_op_find(domain, name);
    *ver = *def ? op_row(*def, opset) : NULL;
    return SDX_OK;
}

sdx_status sdx_import_unknown(const Scope *s, const PNode *p, Err *err)
{
    int64_t opset = sdx_import_opset(s->opsets, p->domain);
    char version[32] = "not imported";
    if (opset != INT64_MAX) snprintf(version, sizeof version, "opset %lld", (long long)opset);
    Str domain = is_default_domain(p->domain) ? (Str){ "ai.onnx", 7 } : p->domain;
    return sdx_fail(err, SDX_UNSUPPORTED, "operator %.*s of domain %.*s (%s) is not known", STR_ARG(p->op_type),
                    STR_ARG(domain), version);
}

/* -- upgrades ------------------------------------------------------------------------------------------------------ */

static void drop_dead_attrs(Node *n, int since)
{
    for (size_t i = 0; i < sizeof dead_attrs / sizeof *dead_attrs; i++)
        if (!dead_attrs[i].before || since < dead_attrs[i].before) sdx_node_drop_attr(n, dead_attrs[i].attr);
}

/* Element types of the outputs, so that upgrades of later nodes know them. Best effort: inference checks. */
static sdx_status bind_outputs(Node *n, Arena *scratch, Err *err)
{
    const Type **in = sdx_arena_array(scratch, const Type *, n->n_in);
    Type *out = sdx_arena_array(scratch, Type, n->n_out);
    if (!in || !out) return sdx_proto_no_memory(scratch, err);
    for (int i = 0; i < n->n_in; i++) in[i] = n->in[i] ? &n->in[i]->type : NULL;
    if (sdx_op_bind(n, NULL, in, out, NULL) != SDX_OK) return SDX_OK;
    for (int i = 0; i < n->n_out; i++) {
        Value *v = n->out[i];
        bool known = v && (v->type.kind != TYPE_UNKNOWN || v->constant);
        if (v && !known && out[i].kind == TYPE_TENSOR && out[i].elem != DT_NONE) v->type = out[i];
    }
    return SDX_OK;
}

/* The walk: from the row of the file's version up to the first, each with its own step. An upgrade that turns the node
 * into another operator leaves it in that one's newest form. */
static sdx_status node_upgrade(Node *n, Err *err)
{
    const OpDef *def = n->def;
    const OpVer *ver = def->vers;
    while (ver && ver->since > n->origin->since_version) ver++;
    for (; ver && n->def == def; ver--) {
        if (ver->upgrade) TRY(ver->upgrade(n, err));
        if (ver == def->vers) break;
    }
    return SDX_OK;
}

static sdx_status graph_upgrade(Graph *g, void *user, Err *err)
{
    Arena *scratch = user;
    for (Node *n = g->first, *next; n; n = next) {
        next = n->next; /* nodes that an upgrade puts after n are new already */
        if (!n->origin) continue;
        char text[256];
        sdx_node_text(n, text, sizeof text);
        drop_dead_attrs(n, n->origin->since_version);
        sdx_status status = node_upgrade(n, err);
        if (status != SDX_OK) {
            sdx_err_prefix(err, "%s, from version %d to the newest", text, n->origin->since_version);
            return status;
        }
        TRY(sdx_node_parse(n, err));
        TRY(sdx_op_check_inputs(n, err));
        TRY(bind_outputs(n, scratch, err));
    }
    return SDX_OK;
}

sdx_status sdx_import_upgrade(Model *m, Err *err)
{
    Arena scratch;
    sdx_arena_init(&scratch, m->alloc, 0);
    sdx_status status = sdx_model_each_graph(m, graph_upgrade, &scratch, err);
    sdx_arena_fini(&scratch);
    return status;
}
