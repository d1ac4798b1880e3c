/* What operators that run nested graphs share: merging types, slices of tensors, stacking of results. */
#ifndef SDX_OPS_CONTROL_H
#define SDX_OPS_CONTROL_H

#include "ops/ops.h"

/* A type that holds for values of either type. */
Type sdx_type_merge(const Type *a, const Type *b);

/* Copies a slice out of, or into, a tensor of `outer` x n x `inner` elements: those at position `at` of the middle
 * axis. The slice is dense. Works on elements of any width. */
void sdx_slice_copy(DType dtype, void *whole, int64_t outer, int64_t n, int64_t inner, int64_t at, void *slice,
                    bool outward);

/* A tensor that grows by one row at a time along a new first axis. */
typedef struct Stack {
    Datum rows; /* [cap, row shape...], once the first row is there */
    int64_t n, cap;
    int64_t expect; /* rows to come in all, 0 when not known */
} Stack;

/* Where the next row may be made in place: a borrowed tensor, or nothing. */
Datum sdx_stack_slot(const Stack *s);
/* Adds a row, made in the slot or elsewhere. Every row has the shape of the first. */
sdx_status sdx_stack_push(Run *r, Stack *s, const Datum *row, int output);
/* Strings [from, from + n) of t move to memory that lives as long as the run. */
sdx_status sdx_strings_keep(Run *r, const Tensor *t, int64_t from, int64_t n);
/* Output o is the rows (of type `elem` where there are none: of the value's declared rank), axis 0. Takes the rows. */
sdx_status sdx_stack_finish(Run *r, Stack *s, const Value *body_output, int o);

/* Hands an owned datum to output o. */
sdx_status sdx_run_give(Run *r, int o, Datum *d);

#endif
