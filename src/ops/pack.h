/* Packed weights: made once, shared by plans and sessions.
 *
 * A PackCache is one session's hold on the process-wide table. Entries are found by key, type, shape and content: the
 * content is compared byte for byte with that of a session that holds the entry, so nothing is hashed at load and a
 * collision cannot give wrong weights. An entry goes with the last session that uses it. */
#ifndef SDX_OPS_PACK_H
#define SDX_OPS_PACK_H

#include "ops/ops.h"

/* owners: of the constants that will be packed; borrowed. File mappings among them give back pages once packed. */
sdx_status sdx_packs_create(const Alloc *a, Buf *const *owners, int n_owners, PackCache **out, Err *err);
/* Before the constants that were packed go away. NULL is allowed. */
void sdx_packs_destroy(PackCache *c);
/* Bytes of packed copies that this session uses. */
size_t sdx_packs_nbytes(const PackCache *c);

#endif
