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

typedef struct Attend {
    Attn a; /* sizes and options; pointers are set by each run, in a copy */
    AttnPlan plan;
    DType dtype; /* of the arithmetic */
    size_t at;   /* of the workers' scratch */
    bool flush;
} Attend;

/* s->a and s->dtype are set: plans, and reserves what the workers need. */
sdx_status sdx_attend_plan(Prepare *p, Attend *s);

/* -- run ----------------------------------------------------------------------------------------------------------- */

/* Heads of [batch, rows, heads, size] when flat, of [batch, heads, rows, size] when not. */
static inline AttnMat attn_mat(const void *p, bool flat, int64_t heads, int64_t rows, int64_t size)
{
    return flat ? (AttnMat){ p, rows * heads * size, size, heads * size }
                : (AttnMat){ p, heads * rows * size, rows * size, size };
}

/* dst [batch, heads, past + fresh, size] = `past` rows of before ([batch, heads, past, size]), then those of m.
 * before may be NULL when past is 0. */
typedef struct KvAppend {
    void *dst;
    const void *before;
    AttnMat m;
    int64_t batches, heads, past, fresh, size;
    size_t esize;
} KvAppend;
void sdx_kv_append(const Run *r, const KvAppend *k);

/* Computes all units of a. */
void sdx_attend_run(const Run *r, const Attend *s, const Attn *a);

#endif
