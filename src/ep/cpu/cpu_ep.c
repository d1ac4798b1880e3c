/* The CPU provider's door. */
#include "ep/cpu/cpu_ep.h"
#include "ep/cpu/rewrites.h"

static sdx_status cpu_open(const EpConfig *cfg, void **ep, Err *err)
{
    CpuEp *e = sdx_alloc_zero(cfg->alloc, sizeof *e);
    TRY_MEM(e, err);
    e->cfg = *cfg;
    e->tools = (RunTools){ .kern = cfg->kern,
                           .pool = cfg->pool,
                           .packs = cfg->packs,
                           .flush_subnormals = cfg->flush_subnormals,
                           .may_round = cfg->may_round };
    *ep = e;
    return SDX_OK;
}

static void cpu_close(void *ep)
{
    CpuEp *e = ep;
    sdx_free(e->cfg.alloc, e);
}

/* The first node of n and its nested graphs that has no code; NULL when all can run. */
static const Node *find_missing(const Node *n)
{
    if (!n->def || !n->def->cpu.run) return n;
    for (int i = 0; i < n->n_attrs; i++) {
        const Attr *a = &n->attrs[i];
        int64_t count = a->type == ATTR_GRAPHS ? a->n : a->type == ATTR_GRAPH && a->g;
        for (int64_t k = 0; k < count; k++)
            for (const Node *m = (a->type == ATTR_GRAPHS ? a->graphs[k] : a->g)->first; m; m = m->next) {
                const Node *missing = find_missing(m);
                if (missing) return missing;
            }
    }
    return NULL;
}

/* Takes whatever it has code for, nested graphs with their node. */
static sdx_status cpu_claim(void *ep, const Graph *g, Claims *c, Err *err)
{
    for (const Node *n = g->first; n; n = n->next) {
        char text[256];
        const Node *missing = find_missing(n);
        c->taken[n->id] = !missing;
        if (!missing) continue;
        c->reason[n->id] = missing == n ? "the operator has no CPU implementation"
                                        : sdx_arena_printf(c->arena, "nested %s has no CPU implementation",
                                                           sdx_node_text(missing, text, sizeof text));
        TRY_MEM(c->reason[n->id], err);
    }
    return SDX_OK;
}

static sdx_status cpu_rewrite(void *ep, Model *m, int index, Err *err)
{
    return sdx_cpu_rewrite(m, index, &((CpuEp *)ep)->cfg.opt, err);
}

static sdx_status cpu_compile(void *ep, const EpPart *part, void **prog, Err *err)
{
    Prog *p;
    TRY(sdx_prog_compile(ep, part, &p, err));
    *prog = p;
    return SDX_OK;
}

static void cpu_drop(void *prog) { sdx_prog_destroy(prog); }

static sdx_status cpu_plan(void *prog, const Datum *const *in, void **plan, size_t *slab_nbytes, Err *err)
{
    Plan *p;
    TRY(sdx_cpu_plan(prog, in, &p, err));
    *plan = p;
    *slab_nbytes = p->slab_nbytes;
    return SDX_OK;
}

static void prog_trim(Prog *p)
{
    for (int i = 0; i < p->n_nodes; i++)
        for (int k = 0; k < p->nodes[i].n_subs; k++) {
            sdx_plan_cache_trim(&p->nodes[i].subs[k].prog->plans);
            prog_trim(p->nodes[i].subs[k].prog);
        }
}

static void cpu_trim(void *prog) { prog_trim(prog); }

const EpApi sdx_ep_cpu = {
    .name = "cpu",
    .open = cpu_open,
    .close = cpu_close,
    .claim = cpu_claim,
    .rewrite = cpu_rewrite,
    .rewrites = sdx_cpu_passes,
    .compile = cpu_compile,
    .drop = cpu_drop,
    .plan = cpu_plan,
    .drop_plan = sdx_cpu_plan_drop,
    .run = sdx_cpu_run,
    .trim = cpu_trim,
};
