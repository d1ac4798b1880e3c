#include "base/alloc.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"

#ifdef SDX_SANITIZED
/* Blocks end where the sanitizer watches. */
static void *default_alloc(void *user, size_t nbytes, size_t align)
{
    if (nbytes > SIZE_MAX - align) return NULL;
    return aligned_alloc(align, sdx_round_up(nbytes ? nbytes : 1, align));
}

static void default_free(void *user, void *p) { free(p); }
#else
/* malloc's blocks moved up to the alignment, their start in the word before: glibc keeps aligned blocks out of its fast
 * lists, and the holes they leave fit no later one. */
static void *default_alloc(void *user, size_t nbytes, size_t align)
{
    if (align < _Alignof(max_align_t)) align = _Alignof(max_align_t);
    if (nbytes > SIZE_MAX - align) return NULL;
    void *start = malloc(nbytes + align);
    if (!start) return NULL;
    void **p = (void **)sdx_round_up((uintptr_t)start + sizeof(void *), align);
    p[-1] = start;
    return p;
}

static void default_free(void *user, void *p)
{
    if (p) free(((void **)p)[-1]);
}
#endif

const Alloc sdx_alloc_default = { default_alloc, default_free, NULL };

void *sdx_alloc_zero(const Alloc *a, size_t nbytes)
{
    void *p = sdx_alloc(a, nbytes);
    if (p) memset(p, 0, nbytes);
    return p;
}

struct ArenaBlock {
    ArenaBlock *prev;
    size_t used, size;
};

#define BLOCK_HEAD sdx_round_up(sizeof(ArenaBlock), SDX_ALIGN)
#define BLOCK_MIN ((size_t)4 << 10)
#define BLOCK_MAX ((size_t)256 << 10)

void sdx_arena_init(Arena *a, const Alloc *alloc, size_t limit) { *a = (Arena){ .alloc = alloc, .limit = limit }; }

void sdx_arena_fini(Arena *a)
{
    for (ArenaBlock *b = a->last, *prev; b; b = prev) {
        prev = b->prev;
        sdx_free(a->alloc, b);
    }
    a->last = NULL;
    a->used = a->held = 0;
}

static ArenaBlock *arena_add_block(Arena *a, size_t nbytes)
{
    /* Blocks grow with the arena, so that small models stay small and large ones need few calls. */
    size_t size = a->held < BLOCK_MIN ? BLOCK_MIN : a->held > BLOCK_MAX ? BLOCK_MAX : a->held;
    if (nbytes > SIZE_MAX - BLOCK_HEAD - SDX_ALIGN) return NULL;
    if (size < nbytes + BLOCK_HEAD + SDX_ALIGN) size = nbytes + BLOCK_HEAD + SDX_ALIGN;
    if (a->limit && (a->held > a->limit || size > a->limit - a->held)) return NULL;
    ArenaBlock *b = sdx_alloc_zero(a->alloc, size);
    if (!b) return NULL;
    *b = (ArenaBlock){ .prev = a->last, .used = BLOCK_HEAD, .size = size };
    a->last = b;
    a->held += size;
    return b;
}

void *sdx_arena_alloc(Arena *a, size_t nbytes, size_t align)
{
    ArenaBlock *b = a->last;
    size_t at = b ? sdx_round_up(b->used, align) : 0;
    if (!b || at > b->size || nbytes > b->size - at) {
        if (!(b = arena_add_block(a, nbytes))) return NULL;
        at = sdx_round_up(b->used, align);
    }
    b->used = at + nbytes;
    a->used += nbytes;
    return (char *)b + at;
}

void *sdx_arena_array_(Arena *a, size_t count, size_t size, size_t align)
{
    size_t nbytes;
    return sdx_mul_size(&nbytes, count, size) ? sdx_arena_alloc(a, nbytes, align) : NULL;
}

char *sdx_arena_strndup(Arena *a, const char *s, size_t n)
{
    if (n == SIZE_MAX) return NULL;
    char *p = sdx_arena_alloc(a, n + 1, 1);
    if (p && n) memcpy(p, s, n);
    return p;
}

char *sdx_arena_printf(Arena *a, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *p = n < 0 ? NULL : sdx_arena_alloc(a, (size_t)n + 1, 1);
    if (p) vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

bool sdx_arena_grow_(Arena *a, void **v, size_t n, int *cap, size_t size)
{
    if (*cap > INT32_MAX / 2) return false;
    int grown = *cap ? *cap * 2 : 4;
    void *p = sdx_arena_array_(a, (size_t)grown, size, _Alignof(max_align_t));
    if (!p) return false;
    if (n) memcpy(p, *v, n * size);
    *v = p;
    *cap = grown;
    return true;
}

Buf *sdx_buf_wrap(const Alloc *a, void *data, size_t nbytes, void (*drop)(void *user, void *data), void *user)
{
    Buf *b = a->alloc(a->user, sizeof *b, _Alignof(max_align_t));
    if (b) *b = (Buf){ .refs = 1, .alloc = a, .data = data, .nbytes = nbytes, .drop = drop, .user = user };
    return b;
}

Buf *sdx_buf_create(const Alloc *a, size_t nbytes)
{
    size_t head = sdx_round_up(sizeof(Buf), SDX_ALIGN), total;
    if (!sdx_add_size(&total, head, nbytes)) return NULL;
    Buf *b = sdx_alloc(a, total);
    if (b) *b = (Buf){ .refs = 1, .alloc = a, .data = (char *)b + head, .nbytes = nbytes };
    return b;
}

Buf *sdx_buf_retain(Buf *b)
{
    if (b) __atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

void sdx_buf_release(Buf *b)
{
    if (!b || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL) != 0) return;
    if (b->drop) b->drop(b->user, b->data);
    sdx_free(b->alloc, b);
}
