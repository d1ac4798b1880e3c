/* Plans by the shapes they were made for: a small LRU.
 *
 * The key is kind, type and shape of every input, and the content of those that determine shapes. A plan in use is
 * pinned; one that was evicted meanwhile goes with its last user. */
#ifndef SDX_EP_PLAN_CACHE_H
#define SDX_EP_PLAN_CACHE_H

#include "base/lock.h"
#include "tensor/tensor.h"

typedef struct PlanEntry {
    void *plan;
    size_t nbytes;          /* what the plan's maker said a run takes */
    struct PlanEntry *next; /* least recently used last */
    int refs;               /* atomic: users, and one of the cache */
    int64_t words[];        /* the key */
} PlanEntry;

typedef struct PlanCache {
    Lock lock;
    PlanEntry *first;
    int n, max;
    int n_in;
    const bool *by_content; /* n_in of them: content belongs to the key. Borrowed */
    const Alloc *alloc;
    void (*drop)(void *plan);
} PlanCache;

void sdx_plan_cache_init(PlanCache *c, const Alloc *a, int max, int n_in, const bool *by_content,
                         void (*drop)(void *plan));
void sdx_plan_cache_fini(PlanCache *c); /* nothing is in use any more */

/* The plan for these inputs, pinned, or NULL. */
PlanEntry *sdx_plan_cache_get(PlanCache *c, const Datum *const *in);
/* Takes a new plan and pins it. Should another thread have put one for the same key first, both live until evicted.
 * NULL: out of memory, the plan is still the caller's. */
PlanEntry *sdx_plan_cache_put(PlanCache *c, const Datum *const *in, void *plan, size_t nbytes);
void sdx_plan_cache_unpin(PlanCache *c, PlanEntry *e);
/* Drops every plan that nobody uses. */
void sdx_plan_cache_trim(PlanCache *c);

#endif
