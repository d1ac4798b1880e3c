#include "base/recycle.h"

#include "base/lock.h"
#include "base/size.h"

/* Before each block, in one SDX_ALIGN so that the block stays aligned. */
typedef struct Kept {
    size_t total; /* with this head */
    struct Kept *next;
} Kept;

struct Recycler {
    Alloc alloc;
    const Alloc *base;
    Lock lock;
    Kept *kept; /* latest first */
    size_t kept_nbytes, used, most;
    int64_t refs; /* blocks in use, and one for the owner */
    bool owned;
};

/* Moves the oldest kept blocks to *out until at most `room` bytes are kept. */
static void evict(Recycler *r, size_t room, Kept **out)
{
    Kept **at = &r->kept;
    for (size_t sum = 0; *at; at = &(*at)->next)
        if ((sum += (*at)->total) > room) break;
    Kept *gone = *at;
    *at = NULL;
    for (Kept *k = gone; k; k = k->next) r->kept_nbytes -= k->total;
    *out = gone;
}

static void give_back(const Alloc *base, Kept *k)
{
    for (Kept *next; k; k = next) {
        next = k->next;
        sdx_free(base, k);
    }
}

/* Called with the lock held, and frees it. */
static void unref_unlock(Recycler *r)
{
    bool last = --r->refs == 0;
    sdx_unlock(&r->lock);
    if (!last) return;
    sdx_lock_fini(&r->lock);
    sdx_free(r->base, r);
}

/* A kept block of at least `total` bytes, of which it may waste an eighth. */
static Kept *take_kept(Recycler *r, size_t total)
{
    for (Kept **at = &r->kept, *k; (k = *at); at = &k->next) {
        if (k->total < total || k->total - total > total / 8) continue;
        *at = k->next;
        r->kept_nbytes -= k->total;
        return k;
    }
    return NULL;
}

static void *recycler_alloc(void *user, size_t nbytes, size_t align)
{
    Recycler *r = user;
    size_t total;
    if (align > SDX_ALIGN || !sdx_add_size(&total, nbytes, SDX_ALIGN)) return NULL;
    Kept *gone = NULL;
    sdx_lock(&r->lock);
    size_t used = r->used;
    Kept *k = take_kept(r, total);
    if (k) total = k->total;
    if (!sdx_add_size(&used, used, total)) used = SIZE_MAX;
    if (!k) evict(r, r->most > used ? r->most - used : 0, &gone);
    sdx_unlock(&r->lock);
    give_back(r->base, gone);
    if (!k && (k = sdx_alloc(r->base, total))) k->total = total;
    if (!k) return NULL;
    sdx_lock(&r->lock);
    r->refs++;
    r->used += total;
    if (r->most < r->used) r->most = r->used;
    sdx_unlock(&r->lock);
    return (char *)k + SDX_ALIGN;
}

static void recycler_free(void *user, void *p)
{
    Recycler *r = user;
    if (!p) return;
    Kept *k = (Kept *)(void *)((char *)p - SDX_ALIGN);
    sdx_lock(&r->lock);
    r->used -= k->total;
    if (r->owned) {
        r->kept_nbytes += k->total;
        k->next = r->kept;
        r->kept = k;
        k = NULL;
    }
    const Alloc *base = r->base;
    unref_unlock(r);
    if (k) sdx_free(base, k);
}

Recycler *sdx_recycler_create(const Alloc *base)
{
    Recycler *r = sdx_alloc_zero(base, sizeof *r);
    if (!r) return NULL;
    *r = (Recycler){ .alloc = { recycler_alloc, recycler_free, r }, .base = base, .refs = 1, .owned = true };
    sdx_lock_init(&r->lock, NULL);
    return r;
}

void sdx_recycler_trim(Recycler *r)
{
    if (!r) return;
    Kept *gone;
    sdx_lock(&r->lock);
    evict(r, 0, &gone);
    r->most = r->used;
    sdx_unlock(&r->lock);
    give_back(r->base, gone);
}

void sdx_recycler_release(Recycler *r)
{
    if (!r) return;
    const Alloc *base = r->base;
    Kept *gone;
    sdx_lock(&r->lock);
    r->owned = false;
    evict(r, 0, &gone);
    unref_unlock(r);
    give_back(base, gone);
}

const Alloc *sdx_recycler_alloc(Recycler *r) { return &r->alloc; }
