/* The forward graph of one Gradient node, on the way back through it. */
#ifndef SDX_TRAIN_TAPE_H
#define SDX_TRAIN_TAPE_H

#include "train/vjp.h"

struct Tape {
    Model *m;
    Node *at; /* the Gradient node: new nodes come before it */
    Arena tmp;
    Err err; /* the first failure */
    int64_t max_nodes;
    int n_values;    /* of the model when the way back begins: later ones are not of the forward graph */
    bool *active;    /* by value id: depends on a differentiated tensor through float tensors */
    Value **adjoint; /* by value id; NULL: none yet */
};

/* One more share of v's adjoint. */
void sdx_tape_add(Tape *t, Value *v, Value *d);

#endif
