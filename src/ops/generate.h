/* ops/generate.h - what GreedySearch, Sampling and BeamSearch of com.microsoft share: a decoder that is a nested graph,
 * called once for the prompt and then once for each token, and what happens to its scores before a token is chosen. */
#ifndef SDX_OPS_GENERATE_H
#define SDX_OPS_GENERATE_H

#include "ops/ops.h"

typedef struct GenAttrs {
    Graph *decoder, *encoder, *init_decoder;
    int64_t eos_token_id, pad_token_id, decoder_start_token_id, model_type, no_repeat_ngram_size, vocab_size;
    int64_t early_stopping, custom, min_tokens_to_keep;
    float temperature, top_p, presence_penalty, filter_value;
} GenAttrs;

#define OP_GEN_ATTRS                                                                                                   \
    OP_GRAPH_REQ(GenAttrs, decoder), OP_ATTR(GenAttrs, encoder, ATTR_GRAPH),                                           \
        OP_ATTR(GenAttrs, init_decoder, ATTR_GRAPH), OP_INT_REQ(GenAttrs, eos_token_id),                               \
        OP_INT_REQ(GenAttrs, pad_token_id), OP_INT(GenAttrs, decoder_start_token_id, -1),                              \
        OP_INT(GenAttrs, model_type, 0), OP_INT(GenAttrs, no_repeat_ngram_size, 0), OP_INT(GenAttrs, vocab_size, -1)

/* Inputs by role; -1: the operator has none. */
typedef struct GenRoles {
    int min_length, repetition_penalty, vocab_mask, prefix_mask, attention_mask, presence_mask;
} GenRoles;

/* Rows of tokens that grow. Row r belongs to prompt r / beams. */
typedef struct Gen {
    Run *r;
    const GenAttrs *a;
    const GenRoles *ro;
    int64_t rows, beams, prompt, length, max_length, min_length, vocab;
    int32_t *ids;      /* [rows, max_length] */
    int32_t *mask;     /* [rows, max_length] */
    int32_t *position; /* [rows]: of the next token */
    int32_t *feed;     /* room for the decoder's three inputs */
    float *scores;     /* [rows, vocab]: the decoder's last, made by gen_step */
    float penalty;
    int n_past;
    Datum *past; /* the decoder's own from the step before */
} Gen;

sdx_status sdx_gen_infer(Infer *c, int batch_axes);
sdx_status sdx_gen_start(Run *r, const GenRoles *ro, int64_t beams, Gen *g);
void sdx_gen_end(Gen *g);
/* Runs the decoder on what is new; g->scores hold its logits. */
sdx_status sdx_gen_step(Gen *g);
/* Penalties and masks, in the order that the operators have. */
sdx_status sdx_gen_process(Gen *g);
/* Every row goes on from row `from[i]` of before (NULL: from itself) with this token. */
sdx_status sdx_gen_append(Gen *g, const int32_t *token, const int64_t *from);
int64_t sdx_gen_int(const Run *r, int i, int64_t dflt);
float sdx_gen_float(const Run *r, int i, float dflt);

#endif
