/* Which provider has which node. There is one of each. */
#include <string.h>

#include "ort/entries.h"

struct OrtEpAssignedNode {
    const char *name, *domain, *op_type; /* the session's */
};

struct OrtEpAssignedSubgraph {
    const OrtEpAssignedNode *const *nodes;
    size_t n_nodes;
};

typedef struct Collect {
    OrtEpAssignedNode *nodes;
    size_t n;
} Collect;

static void collect(void *user, const Node *n, const char *ep, const char *reason)
{
    Collect *c = user;
    (void)ep, (void)reason;
    if (c->nodes) c->nodes[c->n] = (OrtEpAssignedNode){ n->name, n->domain, n->op_type };
    c->n++;
}

static OrtStatus *placement_make(OrtSession *s)
{
    Collect c = { NULL, 0 };
    sdx_ses_each_node(s->ses, collect, &c);
    size_t n = c.n, one = sizeof(OrtEpAssignedSubgraph) + sizeof(void *);
    char *p = sdx_alloc(&sdx_alloc_default, one + n * (sizeof *c.nodes + sizeof(void *)));
    if (!p) return sdx_ort_no_memory();
    OrtEpAssignedSubgraph *sub = (void *)p;
    const OrtEpAssignedSubgraph **list = (void *)(p + sizeof *sub);
    const OrtEpAssignedNode **nodes = (void *)(p + one);
    c = (Collect){ (void *)(nodes + n), 0 };
    sdx_ses_each_node(s->ses, collect, &c);
    for (size_t i = 0; i < n; i++) nodes[i] = &c.nodes[i];
    *sub = (OrtEpAssignedSubgraph){ nodes, n };
    *list = sub;
    s->placement = sub;
    return NULL;
}

/* The lists belong to the session. Not for several threads at once. */
OrtStatus *sdx_ort_Session_GetEpGraphAssignmentInfo(const OrtSession *s, const OrtEpAssignedSubgraph *const **out,
                                                    size_t *n)
{
    if (!s || !out || !n) return sdx_ort_null("session or an out");
    if (!s->records_placement)
        return sdx_ort_fail(ORT_FAIL, "Session configuration entry \"session.record_ep_graph_assignment_info\" must be "
                                      "set to \"1\" to retrieve EP graph assignment information.");
    OrtStatus *st = s->placement ? NULL : placement_make((OrtSession *)s);
    if (st) return st;
    *out = (const OrtEpAssignedSubgraph *const *)(const void *)(s->placement + 1);
    *n = 1;
    return NULL;
}

OrtStatus *sdx_ort_EpAssignedSubgraph_GetEpName(const OrtEpAssignedSubgraph *g, const char **out)
{
    return g && out ? *out = ORT_CPU_PROVIDER, NULL : sdx_ort_null("subgraph or out");
}

OrtStatus *sdx_ort_EpAssignedSubgraph_GetNodes(const OrtEpAssignedSubgraph *g, const OrtEpAssignedNode *const **out,
                                               size_t *n)
{
    if (!g || !out || !n) return sdx_ort_null("subgraph or an out");
    *out = g->nodes;
    *n = g->n_nodes;
    return NULL;
}

OrtStatus *sdx_ort_EpAssignedNode_GetName(const OrtEpAssignedNode *n, const char **out)
{
    return n && out ? *out = n->name, NULL : sdx_ort_null("node or out");
}

OrtStatus *sdx_ort_EpAssignedNode_GetDomain(const OrtEpAssignedNode *n, const char **out)
{
    return n && out ? *out = n->domain, NULL : sdx_ort_null("node or out");
}

OrtStatus *sdx_ort_EpAssignedNode_GetOperatorType(const OrtEpAssignedNode *n, const char **out)
{
    return n && out ? *out = n->op_type, NULL : sdx_ort_null("node or out");
}
