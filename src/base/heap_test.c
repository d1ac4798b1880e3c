#include "base/heap.h"

#include "tests/harness.h"

static void the_ceiling_holds(void)
{
    Heap *h = sdx_heap_create(&sdx_alloc_default);
    if (!CHECK(h != NULL)) return;
    const Alloc *a = sdx_heap_alloc(h);
    sdx_heap_limit(h, 4096);
    void *p = sdx_alloc(a, 2000), *q = sdx_alloc(a, 4000);
    CHECK(p && !q && sdx_heap_refused(h));
    CHECK((uintptr_t)p % SDX_ALIGN == 0);
    sdx_free(a, p);
    CHECK_INT(sdx_heap_used(h), 0);
    sdx_heap_limit(h, 4096);
    CHECK(!sdx_heap_refused(h));
    q = sdx_alloc(a, 4000);
    CHECK(q && !sdx_heap_is_empty(h));
    CHECK(sdx_alloc(a, SIZE_MAX - 8) == NULL);
    sdx_free(a, q);
    sdx_free(a, NULL);
    CHECK(sdx_heap_is_empty(h));
    sdx_heap_release(h);
}

/* A result keeps the heap that it came from. */
static void blocks_outlive_the_owner(void)
{
    Heap *h = sdx_heap_create(&sdx_alloc_default);
    if (!CHECK(h != NULL)) return;
    Buf *b = sdx_buf_create(sdx_heap_alloc(h), 100);
    sdx_heap_release(h);
    CHECK(b != NULL);
    if (b) ((char *)b->data)[99] = 1;
    sdx_buf_release(b);
}

SUITE(heap_test)
{
    RUN(the_ceiling_holds);
    RUN(blocks_outlive_the_owner);
}
