/* ops/attend.h - what attention operators share around the core of kern/attn. */
#ifndef SDX_OPS_ATTEND_H
#define SDX_OPS_ATTEND_H

#include "kern/attn/attn.h"
#include "ops/ops.h"

/* -- inference ----------------------------------------------------------------------------------------------------- */

/* Fails when input i, present, is known not to have this shape; want may hold sizes that are not known. */
sdx_status sdx_infer_shape_is(const Infer *c, int i, const char *what, int rank, const Dim *want);
/* Fails when heads do not divide the width: *size = width / heads. */
sdx_status sdx_infer_head_size(const Infer *c, const char *what, Dim width, int64_t heads, Dim *size);
Dim sdx_infer_add(const Infer *c, Dim a, Dim b);

/* -- plan ---------------------------------------------------------------------------------------------------------- */

/* Adds room for count elements, at least 0, to p->scratch, aligned to SDX_ALIGN. */
sdx_status sdx_scratch_add(Prepare *p, int64_t count, size_t esize, size_t *at);

/* Room for output o of count elements where nobody asks for it; *at is for sdx_output_or_scratch. */
sdx_status sdx_output_room(Prepare *p, int o, int64_t count, size_t esize, size_t *at);
sdx_status sdx_output_or_scratch(Run *r, int o, DType dtype, int rank, const int64_t *dims, size_t at, void **data);

typedef struct Attend {
    Attn a; /* sizes and options; pointers are set by each run, in a copy */
    AttnPlan plan;
    DType dtype;   /* of the arithmetic */
    size_t at;     /* of the workers' scratch, behind which packed keys and values lie, or */
    char *scratch; /* when not NULL: that scratch */
    bool flush;
} Attend;

/* An Infer over the tensors of p, for functions that serve both. Its out is NULL. */
sdx_status sdx_prepare_infer(const Prepare *p, Infer *c);

/* Bytes of that scratch for a planned s. */
bool sdx_attend_scratch(const Attend *s, int threads, size_t *nbytes);
/* s->a and s->dtype are set: plans, and reserves what the workers need. */
sdx_status sdx_attend_plan(Prepare *p, Attend *s);

/* -- run ----------------------------------------------------------------------------------------------------------- */

/* Heads of [batch, rows, heads, size] when flat, of [batch, heads, rows, size] when not. */
static inline AttnMat attn_mat(const void *p, bool flat, int64_t heads, int64_t rows, int64_t size)
{
    return flat ? (AttnMat){ p, rows * heads * size, size, heads * size }
                : (AttnMat){ p, heads * rows * size, rows * size, size };
}

/* A cache of keys or values, dst [batch, heads, capacity, size]: `past` rows of before, where each head has before_rows,
 * then `fresh` rows of m, each plus the bias of its head ([heads, size]; NULL: none); what lies beyond
 * is zero, or as in before when that is a `buffer` of the same capacity. dst may be before. */
typedef struct KvAppend {
    void *dst;
    const void *before; /* NULL: past rows are set by others, or there are none */
    AttnMat m;
    int64_t batches, heads, capacity, before_rows, past, fresh, size;
    const int64_t *pasts, *freshs; /* of each batch, in the place of past and fresh; NULL: alike. They fit capacity. */
    const float *bias;             /* dst is float */
    bool buffer;
    size_t esize;
} KvAppend;
void sdx_kv_append(const Run *r, const KvAppend *k);

/* Computes all units of a. */
void sdx_attend_run(const Run *r, const Attend *s, const Attn *a);

#endif
