/* kern/attn/attn.h - softmax(scale * Q K^T + bias) V, the core that every attention operator calls.
 *
 * Work is cut into units: a block of queries of one head, or, where each head has one query, the heads that share keys.
 * A unit makes its scores in scratch, a row for each query, and the products are those of kern/gemm. The caller fills in
 * an Attn and plans it once for the largest sizes it will ask for; then units run in any order on any thread.
 *
 * Element type T is float (sdx_attn_f32) or double (sdx_attn_f64); all strides count elements.
 *
 * Which keys query i of batch b sees: with p = offset[b] + i its place among the keys, those below valid[b], not beyond
 * p when causal, within [p - left, p + right], and not hidden by a bias. Hidden keys are left out: their scores may be
 * anything. A query that sees no key gives zeros. Accuracy: SUM(1) of both products, and softmax's (kern/softmax). The
 * bits of a row depend on its own operands alone. */
#ifndef SDX_KERN_ATTN_ATTN_H
#define SDX_KERN_ATTN_ATTN_H

#include "kern/kern.h"

/* Row i of head h of batch b starts at b*batch + h*head + i*row; its elements lie together. */
typedef struct AttnMat {
    const void *p;
    int64_t batch, head, row;
} AttnMat;

/* Added to the score of (b, h, i, j). */
typedef struct AttnBias {
    const void *p; /* NULL: none */
    bool is_bool;  /* bytes: 0 hides the key, anything else adds nothing */
    int64_t batch, head, row, col;
    int64_t heads; /* head h stands at h % heads; 0: all heads have a place */
    int64_t keys;  /* keys from here on are hidden */
} AttnBias;

/* What AttnOut.qk receives. */
enum { ATTN_QK_RAW, ATTN_QK_CAPPED, ATTN_QK_BIASED, ATTN_QK_SOFTMAX };

/* A precision to round to after each step. */
enum { ATTN_NO_ROUND, ATTN_ROUND_F16, ATTN_ROUND_BF16, ATTN_ROUND_F32, ATTN_ROUND_F64 };

typedef struct Attn {
    const Kern *kern;
    int64_t batches, heads, kv_heads; /* query head h uses key head h / (heads / kv_heads) */
    int64_t rows, keys;               /* queries, and keys */
    int64_t size, v_size;             /* elements of a query or key, and of a value */
    AttnMat q, k, v, y;               /* y is written */
    const float *packed;              /* keys and values, by sdx_attn_pack; NULL: not used */
    double scale;
    double softcap;        /* score = softcap * tanh(score / softcap) before biases; 0: none */
    bool causal;           /* see the head of this file */
    int64_t left, right;   /* -1: no bound */
    const int64_t *offset; /* [batches]; NULL: 0. Each at least -rows. */
    const int64_t *valid;  /* [batches], each in [0, keys]; NULL: all of them */
    AttnBias bias[2];
    const float *sink; /* [heads]: the score of one more key, whose value is zero. NULL: none */
    void *qk;          /* [batches][heads][rows][keys], or NULL */
    int qk_what;
    double qk_hidden;   /* what BIASED says of hidden keys */
    const void *scores; /* the same: what to go on with in the place of Q K^T, q and k being ignored; NULL: none */
    bool is_softmax;    /* scores are probabilities already */
    /* The type that scaled operands and scores are rounded to after each step, when it is narrower than T; then q and k
     * are each scaled by sqrt(scale). The same for probabilities. */
    int round, round_p;
    int soft; /* precision of the softmax; ATTN_NO_ROUND: that of T */
} Attn;

typedef struct AttnPlan {
    int64_t block, blocks; /* rows of a unit; units of a head */
    int64_t units;
    size_t ld_q, ld_s;                    /* rows of the scratch for queries and for scores */
    size_t at_s, at_k, at_extra, at_gemm; /* bytes into scratch */
    size_t scratch;                       /* bytes that a running unit needs, aligned to 64 */
    /* Where several units use the same keys, these are packed once, beforehand: floats for each key head. 0: units pack
     * what they use. */
    size_t packed_k, packed_v;
    size_t packed; /* floats of all */
} AttnPlan;

/* Looks at the sizes (batches to v_size) and round alone. false: scratch does not fit size_t. A smaller number of keys
 * may be used with the plan later. */
bool sdx_attn_plan(const Attn *a, size_t esize, AttnPlan *p);

/* Packs keys (even i) or values (odd i) of one head, for i below 2 * batches * kv_heads, to `packed`, 64-aligned. All are
 * packed before a unit runs with a->packed. Only when p->packed is not 0. */
void sdx_attn_pack(const Attn *a, const AttnPlan *p, int64_t i, float *packed);

void sdx_attn_f32(const Attn *a, const AttnPlan *p, int64_t unit, void *scratch);
void sdx_attn_f64(const Attn *a, const AttnPlan *p, int64_t unit, void *scratch);

#endif
