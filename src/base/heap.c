#include "base/heap.h"

#include "base/size.h"

struct Heap {
    Alloc alloc;
    const Alloc *base;
    size_t limit;
    size_t used;  /* atomic */
    int64_t refs; /* atomic: blocks, and one for the owner */
    bool refused; /* atomic */
};

/* Before each block: its size, in one SDX_ALIGN so that the block stays aligned. */
typedef struct BlockHead {
    size_t total;
} BlockHead;

static void heap_unref(Heap *h)
{
    if (__atomic_sub_fetch(&h->refs, 1, __ATOMIC_ACQ_REL) == 0) sdx_free(h->base, h);
}

bool sdx_heap_charge(Heap *h, size_t nbytes)
{
    if (!h->limit) return true;
    size_t used = __atomic_add_fetch(&h->used, nbytes, __ATOMIC_RELAXED);
    if (used <= h->limit && used >= nbytes) return true;
    sdx_heap_uncharge(h, nbytes);
    __atomic_store_n(&h->refused, true, __ATOMIC_RELAXED);
    return false;
}

void sdx_heap_uncharge(Heap *h, size_t nbytes)
{
    if (h->limit) __atomic_sub_fetch(&h->used, nbytes, __ATOMIC_RELAXED);
}

static void *heap_alloc(void *user, size_t nbytes, size_t align)
{
    Heap *h = user;
    size_t total;
    if (align > SDX_ALIGN || !sdx_add_size(&total, nbytes, SDX_ALIGN)) return NULL;
    if (!sdx_heap_charge(h, total)) return NULL;
    BlockHead *b = sdx_alloc(h->base, total);
    if (!b) {
        sdx_heap_uncharge(h, total);
        return NULL;
    }
    b->total = total;
    __atomic_add_fetch(&h->refs, 1, __ATOMIC_RELAXED);
    return (char *)b + SDX_ALIGN;
}

static void heap_free(void *user, void *p)
{
    Heap *h = user;
    if (!p) return;
    BlockHead *b = (BlockHead *)((char *)p - SDX_ALIGN);
    sdx_heap_uncharge(h, b->total);
    sdx_free(h->base, b);
    heap_unref(h);
}

Heap *sdx_heap_create(const Alloc *base)
{
    Heap *h = sdx_alloc_zero(base, sizeof *h);
    if (!h) return NULL;
    *h = (Heap){ .alloc = { heap_alloc, heap_free, h }, .base = base, .refs = 1 };
    return h;
}

void sdx_heap_release(Heap *h)
{
    if (h) heap_unref(h);
}

const Alloc *sdx_heap_alloc(Heap *h) { return &h->alloc; }

void sdx_heap_limit(Heap *h, size_t limit)
{
    h->limit = limit;
    h->refused = false;
}

size_t sdx_heap_used(const Heap *h) { return __atomic_load_n(&h->used, __ATOMIC_RELAXED); }
bool sdx_heap_refused(const Heap *h) { return __atomic_load_n(&h->refused, __ATOMIC_RELAXED); }
bool sdx_heap_is_empty(const Heap *h) { return __atomic_load_n(&h->refs, __ATOMIC_ACQUIRE) == 1; }
