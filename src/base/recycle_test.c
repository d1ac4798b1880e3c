#include "base/recycle.h"

#include "tests/harness.h"

typedef struct Counted {
    Alloc alloc;
    int calls, live;
} Counted;

static void *counted_alloc(void *user, size_t nbytes, size_t align)
{
    Counted *c = user;
    c->calls++, c->live++;
    return sdx_alloc_default.alloc(NULL, nbytes, align);
}

static void counted_free(void *user, void *p)
{
    Counted *c = user;
    if (p) c->live--;
    sdx_alloc_default.free(NULL, p);
}

#define BIG SDX_RECYCLE_MIN

static void a_block_given_back_is_used_again(void)
{
    Counted c = { .alloc = { counted_alloc, counted_free, &c } };
    Recycler *r = sdx_recycler_create(&c.alloc);
    if (!CHECK(r != NULL)) return;
    const Alloc *a = sdx_recycler_alloc(r);
    void *p = sdx_alloc(a, BIG);
    CHECK((uintptr_t)p % SDX_ALIGN == 0);
    sdx_free(a, p);
    sdx_free(a, NULL);
    int before = c.calls;
    void *q = sdx_alloc(a, BIG - 100);
    CHECK(q == p && c.calls == before);
    sdx_free(a, q);
    CHECK(sdx_alloc(a, SIZE_MAX - 8) == NULL);
    sdx_recycler_release(r);
    CHECK_INT(c.live, 0);
}

/* Kept and used together stay below what was once in use. */
static void what_is_kept_makes_room(void)
{
    Counted c = { .alloc = { counted_alloc, counted_free, &c } };
    Recycler *r = sdx_recycler_create(&c.alloc);
    if (!CHECK(r != NULL)) return;
    const Alloc *a = sdx_recycler_alloc(r);
    sdx_free(a, sdx_alloc(a, BIG));
    CHECK_INT(c.live, 2);
    void *p = sdx_alloc(a, 4 * BIG);
    CHECK_INT(c.live, 2); /* the small one went */
    sdx_free(a, p);
    sdx_recycler_trim(r);
    CHECK_INT(c.live, 1);
    sdx_recycler_release(r);
    CHECK_INT(c.live, 0);
}

static void blocks_outlive_the_owner(void)
{
    Counted c = { .alloc = { counted_alloc, counted_free, &c } };
    Recycler *r = sdx_recycler_create(&c.alloc);
    if (!CHECK(r != NULL)) return;
    const Alloc *a = sdx_recycler_alloc(r);
    char *p = sdx_alloc(a, BIG), *q = sdx_alloc(a, BIG);
    sdx_free(a, q);
    sdx_recycler_release(r);
    CHECK_INT(c.live, 2);
    p[BIG - 1] = 1;
    sdx_free(a, p);
    CHECK_INT(c.live, 0);
}

SUITE(recycle_test)
{
    RUN(a_block_given_back_is_used_again);
    RUN(what_is_kept_makes_room);
    RUN(blocks_outlive_the_owner);
}
