/* Memory: the allocator that a host may supply, arenas over it, and reference-counted buffers.
 *
 * Nothing in the library calls malloc but sdx_alloc_default. Arena memory comes zeroed and lives until sdx_arena_fini. */
#ifndef SDX_BASE_ALLOC_H
#define SDX_BASE_ALLOC_H

#include "base/status.h"

#define SDX_ALIGN 64 /* of every block that kernels touch: one cache line, one AVX-512 vector */

/* alloc returns nbytes aligned to align (a power of two) or NULL; free takes what alloc returned, or NULL. */
typedef struct Alloc {
    void *(*alloc)(void *user, size_t nbytes, size_t align);
    void (*free)(void *user, void *p);
    void *user;
} Alloc;

extern const Alloc sdx_alloc_default;

static inline void *sdx_alloc(const Alloc *a, size_t nbytes) { return a->alloc(a->user, nbytes, SDX_ALIGN); }
void *sdx_alloc_zero(const Alloc *a, size_t nbytes);
static inline void sdx_free(const Alloc *a, void *p) { a->free(a->user, p); }

typedef struct ArenaBlock ArenaBlock;

typedef struct Arena {
    const Alloc *alloc;
    ArenaBlock *last;
    size_t used;  /* bytes handed out */
    size_t held;  /* bytes taken from alloc */
    size_t limit; /* ceiling of held; 0 = none */
} Arena;

void sdx_arena_init(Arena *a, const Alloc *alloc, size_t limit);
void sdx_arena_fini(Arena *a); /* frees everything; the arena may be used again after sdx_arena_init */

/* Zeroed memory, or NULL at the limit or when the allocator refuses. nbytes 0 gives a valid pointer. */
void *sdx_arena_alloc(Arena *a, size_t nbytes, size_t align);
void *sdx_arena_array_(Arena *a, size_t count, size_t size, size_t align);
char *sdx_arena_strndup(Arena *a, const char *s, size_t n); /* adds a terminating NUL */
char *sdx_arena_printf(Arena *a, const char *fmt, ...) SDX_PRINTF(2, 3);

#define sdx_arena_new(arena, T) ((T *)sdx_arena_alloc((arena), sizeof(T), _Alignof(T)))
#define sdx_arena_array(arena, T, count) ((T *)sdx_arena_array_((arena), (size_t)(count), sizeof(T), _Alignof(T)))

/* Makes room for one more element in an arena-held array {v, n, cap}: doubles cap, leaving the old copy to the
 * arena. Evaluates to false when memory is short. */
#define sdx_arena_grow(arena, v, n, cap)                                                                               \
    ((n) < (cap) || sdx_arena_grow_((arena), (void **)&(v), (size_t)(n), &(cap), sizeof *(v)))
bool sdx_arena_grow_(Arena *a, void **v, size_t n, int *cap, size_t size);

/* A reference-counted block. data is SDX_ALIGN aligned and not zeroed. */
typedef struct Buf {
    int refs; /* atomic */
    const Alloc *alloc;
    void *data;
    size_t nbytes;
    void (*drop)(void *user, void *data); /* for memory of others: called at the last release; may be NULL */
    void *user;
} Buf;

Buf *sdx_buf_create(const Alloc *a, size_t nbytes);
Buf *sdx_buf_wrap(const Alloc *a, void *data, size_t nbytes, void (*drop)(void *user, void *data), void *user);
Buf *sdx_buf_retain(Buf *b);  /* NULL is allowed */
void sdx_buf_release(Buf *b); /* NULL is allowed */

#endif
