/* Offsets in the slab: greedy by size, best fit. The largest stores choose first, each the tightest gap that is free for
 * as long as it is in use. */
#include <stdlib.h>

#include "base/size.h"
#include "ep/cpu/cpu_ep.h"

static int larger_first(const void *a, const void *b)
{
    const Store *x = *(Store *const *)a, *y = *(Store *const *)b;
    if (x->nbytes != y->nbytes) return x->nbytes < y->nbytes ? 1 : -1;
    return x < y ? -1 : x > y;
}

/* placed: n stores by offset. The best offset for s, whose size is rounded. */
static size_t best_gap(Store *const *placed, int n, const Store *s)
{
    size_t at = 0, best = SIZE_MAX, best_gap = SIZE_MAX; /* `at`: end of what overlaps so far */
    for (int i = 0; i < n; i++) {
        const Store *p = placed[i];
        if (p->last < s->first || p->first > s->last) continue;
        if (p->offset > at && p->offset - at >= s->nbytes && p->offset - at < best_gap) {
            best = at;
            best_gap = p->offset - at;
        }
        if (p->offset + p->nbytes > at) at = p->offset + p->nbytes;
    }
    return best != SIZE_MAX ? best : at;
}

sdx_status sdx_place(Store *stores, int n, Arena *tmp, size_t *nbytes, Err *err)
{
    Store **order = sdx_arena_array(tmp, Store *, n), **placed = sdx_arena_array(tmp, Store *, n);
    TRY_MEM(order && placed ? order : NULL, err);
    int n_order = 0, n_placed = 0;
    size_t total = 0;
    for (int i = 0; i < n; i++) {
        Store *s = &stores[i];
        if (s->kind != STORE_SLAB) continue;
        if (s->nbytes > SIZE_MAX / 4 || !sdx_add_size(&total, total, sdx_round_up(s->nbytes, SDX_ALIGN)) ||
            total > SIZE_MAX / 2)
            return sdx_fail(err, SDX_LIMIT_BYTES, "the sizes of the intermediate tensors overflow");
        s->nbytes = sdx_round_up(s->nbytes, SDX_ALIGN);
        order[n_order++] = s;
    }
    qsort(order, (size_t)n_order, sizeof *order, larger_first);
    *nbytes = 0;
    for (int i = 0; i < n_order; i++) {
        Store *s = order[i];
        s->offset = best_gap(placed, n_placed, s);
        int at = n_placed++;
        for (; at > 0 && placed[at - 1]->offset > s->offset; at--) placed[at] = placed[at - 1];
        placed[at] = s;
        if (s->offset + s->nbytes > *nbytes) *nbytes = s->offset + s->nbytes;
    }
    return SDX_OK;
}
