#include "ops/strided.h"

enum { GRAIN_BYTES = 1 << 16 }; /* units may be short rows */

void sdx_strided_make(Strided *s, const Move *m)
{
    *s = (Strided){ .nd = { .rank = (unsigned)m->rank } };
    while ((size_t)1 << s->nd.log2 < m->size) s->nd.log2++;
    size_t nbytes = m->size; /* of everything: the copy is in memory */
    for (int k = 0; k < m->rank; k++) {
        s->nd.n[k] = (size_t)m->dims[k];
        s->nd.sx[k] = (ptrdiff_t)m->from[k];
        s->nd.sy[k] = (ptrdiff_t)m->to[k];
        nbytes *= (size_t)m->dims[k];
    }
    sdx_move_nd_prepare(&s->nd);
    if (s->nd.units) s->grain = (int64_t)(GRAIN_BYTES / (nbytes / s->nd.units + 1)) + 1;
}

typedef struct StridedJob {
    const MoveNd *nd;
    const Kern *kern;
    void *dst;
    const void *src;
} StridedJob;

static void strided_units(void *arg, int64_t from, int64_t to, int worker)
{
    const StridedJob *j = arg;
    sdx_move_nd_run(j->kern, j->nd, j->dst, j->src, (size_t)from, (size_t)(to - from));
}

void sdx_strided_run(const Run *r, const Kern *k, const Strided *s, void *dst, const void *src)
{
    StridedJob j = { &s->nd, k, dst, src };
    sdx_run_range(r, (int64_t)s->nd.units, s->grain, strided_units, &j);
}

bool sdx_strided_is_run(const Strided *s)
{
    const MoveNd *nd = &s->nd;
    return nd->rank == 0 || (nd->rank == 1 && nd->sx[0] == 1 && nd->sy[0] == 1);
}

sdx_status sdx_move_prepare(Prepare *p)
{
    p->state = (void *)p->kern;
    return SDX_OK;
}

void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src)
{
    Strided s;
    sdx_strided_make(&s, m);
    sdx_strided_run(r, r->state, &s, dst, src);
}
