/* kern/gemm/epilogue.h - what happens to a sum before it is stored.
 *
 *     y = act(alpha * sum + bias + beta * add)            add_last = false
 *     y = act(alpha * sum + bias) + beta * add            add_last = true
 *
 * Products and convolutions share it. It is applied to a tile of results while the tile is in
 * registers, so it costs no pass over memory.
 */
#ifndef SDX_KERN_GEMM_EPILOGUE_H
#define SDX_KERN_GEMM_EPILOGUE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SDX_ACT_NONE,
    SDX_ACT_RELU,
    SDX_ACT_CLIP,        /* p0 = lower, p1 = upper bound */
    SDX_ACT_LEAKY,       /* p0 = slope below zero */
    SDX_ACT_HARDSIGMOID, /* clip(p0*x + p1, 0, 1) */
    SDX_ACT_HARDSWISH,
    SDX_ACT_SIGMOID,
    SDX_ACT_SILU,
    SDX_ACT_TANH,
    SDX_ACT_GELU_ERF,
    SDX_ACT_GELU_TANH,
    SDX_ACTS
};

typedef struct Epilogue {
    float alpha;
    const float *bias; /* one per column, or per row; NULL: none */
    bool bias_by_row;
    const float *add; /* row r at add + r*ldadd, ldadd 0 repeats one row; NULL: none. May be the result. */
    size_t ldadd;
    float beta;
    bool add_last;
    unsigned act; /* SDX_ACT_ */
    float p0, p1;
} Epilogue;

/* Nothing but the sum. */
#define SDX_EPILOGUE_NONE ((Epilogue){ .alpha = 1, .beta = 1 })

#endif
