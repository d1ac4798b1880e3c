/* Counted memory of one run, under a ceiling, over another allocator.
 *
 * Blocks may outlive the run (results that the caller keeps): the heap goes when its owner and the last block have let
 * go. Safe from any thread. */
#ifndef SDX_BASE_HEAP_H
#define SDX_BASE_HEAP_H

#include "base/alloc.h"

typedef struct Heap Heap;

Heap *sdx_heap_create(const Alloc *base);
void sdx_heap_release(Heap *h); /* NULL is allowed */
const Alloc *sdx_heap_alloc(Heap *h);

/* Ceiling of bytes in use, 0 for none: then nothing is counted. Set while no block is in use. Clears
 * sdx_heap_refused. */
void sdx_heap_limit(Heap *h, size_t limit);
/* Counts memory that lies elsewhere; false when the ceiling refuses. */
bool sdx_heap_charge(Heap *h, size_t nbytes);
void sdx_heap_uncharge(Heap *h, size_t nbytes);
size_t sdx_heap_used(const Heap *h);
/* Whether the ceiling, rather than the allocator below, refused a block since sdx_heap_limit. */
bool sdx_heap_refused(const Heap *h);
/* No block is in use: nobody but the owner knows this heap. */
bool sdx_heap_is_empty(const Heap *h);

#endif
