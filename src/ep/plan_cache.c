#include "ep/plan_cache.h"

#include <string.h>

#include "base/size.h"

/* -- keys: one word of kind, type and rank, the dims, and the content where it counts ------------------------------- */

static int64_t head_word(const Datum *d)
{
    return d->kind == DATUM_TENSOR ? (int64_t)d->kind | (int64_t)d->t.dtype << 8 | (int64_t)d->t.rank << 16
                                   : (int64_t)d->kind;
}

/* Bytes of content in the key, 0 for none. Strings determine no shapes. */
static size_t content_nbytes(const PlanCache *c, int i, const Datum *d)
{
    size_t n;
    if (!c->by_content[i] || d->kind != DATUM_TENSOR || d->t.dtype == DT_STRING || !d->t.data) return 0;
    return sdx_tensor_nbytes(&d->t, &n) ? n : 0;
}

static bool key_matches(const PlanCache *c, const PlanEntry *e, const Datum *const *in)
{
    const int64_t *w = e->words;
    for (int i = 0; i < c->n_in; i++) {
        const Datum *d = in[i];
        if (*w++ != head_word(d)) return false;
        if (d->kind != DATUM_TENSOR) continue;
        for (int k = 0; k < d->t.rank; k++)
            if (*w++ != d->t.dims[k]) return false;
        if (!c->by_content[i]) continue;
        size_t n = content_nbytes(c, i, d);
        if (n && memcmp(w, d->t.data, n) != 0) return false;
        w += (n + 7) / 8;
    }
    return true;
}

/* Words of the key; writes them when out is not NULL, zeroed by the caller. */
static size_t key_write(const PlanCache *c, const Datum *const *in, int64_t *out)
{
    size_t at = 0;
    for (int i = 0; i < c->n_in; i++) {
        const Datum *d = in[i];
        if (out) out[at] = head_word(d);
        at++;
        if (d->kind != DATUM_TENSOR) continue;
        if (out) memcpy(out + at, d->t.dims, (size_t)d->t.rank * sizeof *out);
        at += (size_t)d->t.rank;
        size_t n = content_nbytes(c, i, d);
        if (out && n) memcpy(out + at, d->t.data, n);
        at += (n + 7) / 8;
    }
    return at;
}

/* -- the list ------------------------------------------------------------------------------------------------------- */

void sdx_plan_cache_init(PlanCache *c, const Alloc *a, int max, int n_in, const bool *by_content,
                         void (*drop)(void *plan))
{
    *c = (PlanCache){ .max = max, .n_in = n_in, .by_content = by_content, .alloc = a, .drop = drop };
    sdx_lock_init(&c->lock, NULL);
}

static void entries_unpin(PlanCache *c, PlanEntry *e)
{
    for (PlanEntry *next; e; e = next) {
        next = e->next;
        sdx_plan_cache_unpin(c, e);
    }
}

void sdx_plan_cache_fini(PlanCache *c)
{
    entries_unpin(c, c->first);
    sdx_lock_fini(&c->lock);
}

void sdx_plan_cache_unpin(PlanCache *c, PlanEntry *e)
{
    if (__atomic_sub_fetch(&e->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    c->drop(e->plan);
    sdx_free(c->alloc, e);
}

PlanEntry *sdx_plan_cache_get(PlanCache *c, const Datum *const *in)
{
    sdx_lock(&c->lock);
    PlanEntry **at = &c->first, *e = *at;
    while (e && !key_matches(c, e, in)) e = *(at = &e->next);
    if (e) {
        __atomic_add_fetch(&e->refs, 1, __ATOMIC_RELAXED);
        if (e != c->first) {
            *at = e->next;
            e->next = c->first;
            c->first = e;
        }
    }
    sdx_unlock(&c->lock);
    return e;
}

PlanEntry *sdx_plan_cache_put(PlanCache *c, const Datum *const *in, void *plan, size_t nbytes)
{
    size_t n = key_write(c, in, NULL), total;
    if (!sdx_mul_size(&total, n, sizeof(int64_t)) || !sdx_add_size(&total, total, sizeof(PlanEntry))) return NULL;
    PlanEntry *e = sdx_alloc_zero(c->alloc, total), *evicted = NULL;
    if (!e) return NULL;
    *e = (PlanEntry){ .plan = plan, .nbytes = nbytes, .refs = 2 };
    key_write(c, in, e->words);
    sdx_lock(&c->lock);
    e->next = c->first;
    c->first = e;
    if (c->n < c->max) {
        c->n++;
    } else {
        PlanEntry **last = &c->first;
        while ((*last)->next) last = &(*last)->next;
        evicted = *last;
        *last = NULL;
    }
    sdx_unlock(&c->lock);
    entries_unpin(c, evicted);
    return e;
}

void sdx_plan_cache_trim(PlanCache *c)
{
    PlanEntry *idle = NULL;
    sdx_lock(&c->lock);
    for (PlanEntry **at = &c->first; *at;) {
        PlanEntry *e = *at;
        if (__atomic_load_n(&e->refs, __ATOMIC_ACQUIRE) == 1) {
            *at = e->next;
            e->next = idle;
            idle = e;
            c->n--;
        } else {
            at = &e->next;
        }
    }
    sdx_unlock(&c->lock);
    entries_unpin(c, idle);
}
