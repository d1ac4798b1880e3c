/* Elementwise operators over broadcast inputs: the loop around the kernels.
 *
 * Dimensions of one pattern are merged; what is left runs as strips along the innermost one, in which every input is a
 * vector or a single element. Inputs whose stored type is not the one the kernel computes in are cast strip by strip,
 * in the cache, and so is the output: storage floats are rounded once. Chunks of the output go over the pool. */
#ifndef SDX_OPS_ELEMENTWISE_H
#define SDX_OPS_ELEMENTWISE_H

#include "ops/ops.h"

#define EW_MAX_KERNEL_IN 3

/* y[i] = f(x[0][i], x[1][i], ...): n results. Bit k of `single`: x[k] is one element. y may be one of the vectors. */
typedef void (*EwFn)(void *y, const void *const *x, unsigned single, int64_t n, const void *args);

typedef struct EwSpec {
    EwFn fn;
    const void *args;
    DType in[EW_MAX_KERNEL_IN]; /* what the kernel reads; with fold all are in[0] */
    DType out;                  /* what it writes */
    int n_in;                   /* leading inputs of the node that take part; 0: all */
    bool fold;                  /* any number of inputs, two at a time: y = f(f(x0, x1), x2) ... */
    EwFn finish;                /* fold: y = finish(y) at the end; may be NULL */
} EwSpec;

/* The type that float storage is computed in: FLOAT for class S, d itself otherwise. */
DType sdx_ew_compute(DType d);
/* Sets p->state. The shapes of the inputs must broadcast. */
sdx_status sdx_ew_prepare(Prepare *p, const EwSpec *spec);
sdx_status sdx_ew_run(Run *r);
/* The same with other args than the spec's. */
sdx_status sdx_ew_run_args(Run *r, const void *args);
/* An EwFn for a kernel of two inputs; args points to the Map2 pointer. */
void sdx_ew_map2(void *y, const void *const *x, unsigned single, int64_t n, const void *args);
/* A table index for kernels: SDX_K_f32 and so on; -1 for types they do not compute in. bool counts as u8. */
int sdx_ew_ktype(DType d);

/* Splits n elements of a contiguous job into chunks that are multiples of a cache line. */
enum { SDX_EW_GRAIN = 32768 };

/* dims of all inputs broadcast together, NumPy's rule; false when they do not. */
bool sdx_broadcast_dims(const Datum *const *in, int n_in, int *rank, int64_t *dims);

#endif
