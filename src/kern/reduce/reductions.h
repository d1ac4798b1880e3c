/* kern/reduce/reductions.h - reductions of the middle one of three axes.
 *
 * x is [outer][n][inner] with `ld` elements from row to row (ld >= inner) and n * ld from block to block;
 * y is [outer][inner], contiguous, and does not overlap x.
 *
 * The order of a sum depends on n and on whether ld is 1, on nothing else, and is the same on every
 * instruction set; so columns, like blocks, may be shared out between calls.
 *   ld == 1: 64 partial sums over blocks of 4096 elements, folded by halves; blocks added pairwise.
 *   ld > 1:  each column by blocks of about sqrt(n) rows, one after the other. */
#ifndef SDX_KERN_REDUCE_REDUCTIONS_H
#define SDX_KERN_REDUCE_REDUCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
#define REDUCE(name, types, empty) SDX_REDUCE_##name,
#include "kern/reduce/reductions.def"
#undef REDUCE
    SDX_REDUCE_COUNT
};

typedef void Reduce(void *y, const void *x, size_t outer, size_t n, size_t inner, size_t ld);

/* The index along n of the largest (smallest) element, the first or the last of equals; a NaN counts as the
 * largest (smallest). 0 < n < 2^31. */
typedef void ArgReduce(int64_t *y, const void *x, size_t outer, size_t n, size_t inner, size_t ld, bool last);

const char *sdx_reduce_name(unsigned reduction);

#endif
