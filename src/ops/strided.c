#include "ops/strided.h"

enum { GRAIN_BYTES = 1 << 16 }; /* units may be short rows */

static void move_make(const Move *m, MoveNd *nd)
{
    *nd = (MoveNd){ .rank = (unsigned)m->rank };
    while ((size_t)1 << nd->log2 < m->size) nd->log2++;
    for (int k = 0; k < m->rank; k++) {
        nd->n[k] = (size_t)m->dims[k];
        nd->sx[k] = (ptrdiff_t)m->from[k];
        nd->sy[k] = (ptrdiff_t)m->to[k];
    }
    sdx_move_nd_prepare(nd);
}

sdx_status sdx_move_prepare(Prepare *p)
{
    p->state = (void *)p->kern;
    return SDX_OK;
}

typedef struct MoveJob {
    MoveNd nd;
    const Kern *kern;
    void *dst;
    const void *src;
} MoveJob;

static void move_units(void *arg, int64_t from, int64_t to, int worker)
{
    const MoveJob *j = arg;
    sdx_move_nd_run(j->kern, &j->nd, j->dst, j->src, (size_t)from, (size_t)(to - from));
}

void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src)
{
    MoveJob j = { .kern = r->state, .dst = dst, .src = src };
    move_make(m, &j.nd);
    if (!j.nd.units) return;
    size_t nbytes = m->size; /* of everything: the copy is in memory */
    for (int k = 0; k < m->rank; k++) nbytes *= (size_t)m->dims[k];
    int64_t grain = (int64_t)(GRAIN_BYTES / (nbytes / j.nd.units + 1)) + 1;
    sdx_run_range(r, (int64_t)j.nd.units, grain, move_units, &j);
}

bool sdx_move_is_run(const Move *m)
{
    MoveNd nd;
    move_make(m, &nd);
    return nd.rank == 0 || (nd.rank == 1 && nd.sx[0] == 1 && nd.sy[0] == 1);
}
