/* ops/rnn.h - what LSTM, GRU and RNN share: sizes, activations, and the walk over time (rnn.c).
 *
 * All three do, per direction and step, act(X[t] W' + H[t-1] R' + bias). The walk computes X W' + bias for a block of
 * steps at once and the recurrent product step by step, then calls the cell, which turns one row of sums into one row
 * of state. */
#ifndef SDX_OPS_RNN_H
#define SDX_OPS_RNN_H

#include "ops/product.h"

typedef struct RnnAttrs {
    FloatList activation_alpha, activation_beta;
    StrList activations;
    float clip;
    Str direction;
    int64_t hidden_size, layout, input_forget, linear_before_reset;
} RnnAttrs;

#define OP_RNN_ATTRS                                                                                                   \
    OP_FLOATS(RnnAttrs, activation_alpha), OP_FLOATS(RnnAttrs, activation_beta), OP_STRS(RnnAttrs, activations),       \
        OP_FLOAT(RnnAttrs, clip, 0), OP_STR(RnnAttrs, direction, "forward"), OP_INT(RnnAttrs, hidden_size, 0),         \
        OP_INT(RnnAttrs, layout, 0)

/* One activation: a map kernel with its parameters, or one of the few that have none. */
typedef struct RnnAct {
    int kind;
    double alpha, beta;
} RnnAct;

typedef struct RnnState {
    const Kern *kern;
    int kind; /* RNN_ */
    int gates, dirs;
    bool reverse_first, layout1, f64, flush;
    bool linear_before_reset, input_forget;
    int64_t steps, batch, in, hidden;
    int64_t block, last_block;          /* steps whose inputs are multiplied at once */
    RnnAct act[6];                      /* three a direction */
    double clip;                        /* 0: none */
    Product x, x_last, r;               /* f32; r: all gates, or those before the reset */
    Product r_reset;                    /* GRU without linear_before_reset: the candidate */
    int64_t x_step, r_step, reset_step; /* from one direction's weights to the next's, packed or not */
    /* in scratch, of the element type */
    size_t at_xs, at_xw, at_hr, at_tmp, at_h, at_c, at_bias;
} RnnState;

enum { RNN_PLAIN, RNN_GRU, RNN_LSTM };

sdx_status sdx_rnn_infer(Infer *c, int gates);
sdx_status sdx_rnn_prepare(Prepare *p, int kind);
sdx_status sdx_rnn_run(Run *r);

/* x[0..n) = act(x), after clipping to [-clip, clip]. */
void sdx_rnn_act_f32(const Kern *k, const RnnAct *a, double clip, float *x, int64_t n);
void sdx_rnn_act_f64(const Kern *k, const RnnAct *a, double clip, double *x, int64_t n);
/* The activations of one direction, defaults included. NULL, or what is wrong. */
const char *sdx_rnn_activations(const RnnAttrs *a, int kind, int dirs, RnnAct *out);
int sdx_rnn_dirs(Str direction); /* 1 or 2; 0: not a direction */

#endif
