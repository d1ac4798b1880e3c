/* Large blocks kept for their next use: results of one run, given back by the caller, hold those of the next.
 *
 * Fresh memory costs a page fault for every 4 KiB, which for large results is more than computing them. What is kept and
 * what is in use never exceed together the most that was in use at once. Blocks may outlive their owner. Safe from any
 * thread. */
#ifndef SDX_BASE_RECYCLE_H
#define SDX_BASE_RECYCLE_H

#include "base/alloc.h"

#define SDX_RECYCLE_MIN ((size_t)256 << 10) /* smaller blocks are cheap to get anew */

typedef struct Recycler Recycler;

Recycler *sdx_recycler_create(const Alloc *base);
void sdx_recycler_release(Recycler *r); /* gives back what is kept; NULL is allowed */
void sdx_recycler_trim(Recycler *r);    /* the same, and goes on; NULL is allowed */
/* For blocks of SDX_RECYCLE_MIN bytes and more. */
const Alloc *sdx_recycler_alloc(Recycler *r);

#endif
