/* ops/pool.h - what the forms of pooling share. */
#ifndef SDX_OPS_POOL_H
#define SDX_OPS_POOL_H

#include "ops/window.h"

typedef struct PoolAttrs {
    WindowAttrs win; /* first: the window's own table of attributes counts on it */
    int64_t storage_order, count_include_pad, p;
} PoolAttrs;

typedef struct PoolState {
    Window w;
    int64_t planes, in_size, out_size;  /* elements of one plane */
    int64_t rows;                       /* output rows of a plane */
    const Span *span;                   /* per tap of the last axis */
    const int32_t *count[SDX_MAX_RANK]; /* cells that count, per axis and output */
    int out_rank;
    int64_t out_dims[SDX_MAX_RANK];
} PoolState;

/* The pools' shape rule; args begin with PoolAttrs. */
sdx_status sdx_pool_infer(Infer *c);

/* Fills what depends on the n spatial sizes: w, in_size, out_size, rows, span, count. */
sdx_status sdx_pool_geometry(Prepare *p, const PoolAttrs *a, int n, const int64_t *spatial, PoolState *st);

#endif
