#include "ops/generate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/dims.h"

enum { IN_IDS, IN_MAX_LENGTH, DECODER_IN = 3 }; /* input_ids, position_ids, attention_mask, then past */

int64_t sdx_gen_int(const Run *r, int i, int64_t dflt)
{
    bool given = i >= 0 && i < r->n_in && r->in[i] && sdx_tensor_count(&r->in[i]->t);
    return given ? sdx_tensor_get_int(&r->in[i]->t, 0) : dflt;
}

float sdx_gen_float(const Run *r, int i, float dflt)
{
    bool given = i >= 0 && i < r->n_in && r->in[i] && sdx_tensor_count(&r->in[i]->t);
    return given ? (float)sdx_tensor_get_double(&r->in[i]->t, 0) : dflt;
}

/* -- inference ----------------------------------------------------------------------------------------------------- */

static sdx_status decoder_infer(Infer *c, Graph *g, const char *name)
{
    if (g->n_inputs < DECODER_IN || g->n_outputs != 1 + g->n_inputs - DECODER_IN)
        return sdx_infer_fail(
            c,
            "its %s takes %d inputs and gives %d outputs; input_ids, position_ids, attention_mask and "
            "past are supported, logits and present",
            name, g->n_inputs, g->n_outputs);
    Type *types = sdx_arena_array(c->arena, Type, g->n_inputs + g->n_outputs);
    const Type **in = sdx_arena_array(c->arena, const Type *, g->n_inputs);
    TRY_MEM(types && in ? types : NULL, c->err);
    for (int i = 0; i < g->n_inputs; i++) {
        const Type *said = &g->inputs[i]->type;
        types[i] = (Type){ .kind = TYPE_TENSOR, .elem = DT_INT32, .shape.rank = 2 };
        if (i >= DECODER_IN) {
            types[i] = *said;
            if (said->kind != TYPE_TENSOR || said->shape.rank != 5 || !sdx_dim_is_const(said->shape.dims[2]) ||
                !sdx_dim_is_const(said->shape.dims[4]) || (said->elem != DT_FLOAT && said->elem != DT_FLOAT16))
                return sdx_infer_fail(
                    c,
                    "past input %d of its %s must be float or float16, [2, batch, heads, length, size] "
                    "with heads and size known",
                    i - DECODER_IN, name);
        }
        for (int k = 0; k < types[i].shape.rank; k++)
            if (i < DECODER_IN || k == 1 || k == 3) types[i].shape.dims[k] = SDX_DIM_UNKNOWN;
        in[i] = &types[i];
    }
    return sdx_infer_graph(c, g, in, g->n_inputs, types + g->n_inputs, g->n_outputs);
}

sdx_status sdx_gen_infer(Infer *c, int batch_axes)
{
    const GenAttrs *a = c->args;
    if (a->model_type != 0 || a->encoder)
        return sdx_infer_fail(c, "model_type is %lld; only decoders alone (0) are supported", (long long)a->model_type);
    TRY(decoder_infer(c, a->decoder, "decoder"));
    if (a->init_decoder) TRY(decoder_infer(c, a->init_decoder, "init_decoder"));
    TRY(infer_rank_between(c, IN_IDS, 2, 2, "input_ids"));
    const Shape *ids = infer_shape(c, IN_IDS);
    Dim *y = infer_out_rank(c, 0, 1 + batch_axes);
    int64_t max_length;
    if (ids) y[0] = ids->dims[0];
    if (infer_int(c, IN_MAX_LENGTH, &max_length) && max_length > 0) y[batch_axes] = max_length;
    return SDX_OK;
}

/* -- the loop's state ---------------------------------------------------------------------------------------------- */

static sdx_status gen_room(Gen *g, size_t count, size_t size, void *out)
{
    size_t nbytes;
    void *p = sdx_mul_size(&nbytes, count, size) ? sdx_run_heap(g->r, nbytes) : NULL;
    if (!p) return sdx_fail(g->r->err, SDX_OUT_OF_MEMORY, "out of memory");
    memcpy(out, &p, sizeof p);
    return SDX_OK;
}

/* Tokens, mask and places of the prompts, once for each beam. Places count what is no padding, whatever the mask says. */
static void gen_prompt(Gen *g, const int32_t *ids, const int32_t *given)
{
    for (int64_t row = 0; row < g->rows; row++) {
        const int32_t *from = ids + row / g->beams * g->prompt, *mask = given ? given + (from - ids) : NULL;
        g->position[row] = 0;
        for (int64_t i = 0; i < g->prompt; i++) {
            bool kept = from[i] != g->a->pad_token_id;
            g->ids[row * g->max_length + i] = from[i];
            g->mask[row * g->max_length + i] = mask ? mask[i] : kept;
            g->position[row] += kept;
        }
    }
}

static sdx_status gen_past(Gen *g)
{
    const Graph *d = g->a->decoder;
    g->n_past = d->n_inputs - DECODER_IN;
    g->past = sdx_alloc_zero(sdx_run_alloc(g->r), (size_t)(g->n_past + 1) * sizeof *g->past);
    if (!g->past) return sdx_fail(g->r->err, SDX_OUT_OF_MEMORY, "out of memory");
    for (int i = 0; i < g->n_past; i++) {
        const Type *t = &d->inputs[DECODER_IN + i]->type;
        int64_t dims[5] = { 2, g->rows, t->shape.dims[2], 0, t->shape.dims[4] };
        TRY(sdx_datum_tensor(&g->past[i], sdx_run_alloc(g->r), t->elem, 5, dims, g->r->err));
    }
    return SDX_OK;
}

sdx_status sdx_gen_start(Run *r, const GenRoles *ro, int64_t beams, Gen *g)
{
    const Tensor *ids = &r->in[IN_IDS]->t;
    *g = (Gen){ .r = r, .a = r->args, .ro = ro, .beams = beams, .prompt = ids->dims[1], .length = ids->dims[1] };
    size_t rows, cells, feed;
    g->max_length = sdx_gen_int(r, IN_MAX_LENGTH, 0);
    g->min_length = sdx_gen_int(r, ro->min_length, 0);
    g->penalty = sdx_gen_float(r, ro->repetition_penalty, 1);
    if (g->max_length <= g->prompt || g->max_length > 1 << 20)
        return sdx_run_fail(r, "max_length is %lld, the prompt has %lld tokens", (long long)g->max_length,
                            (long long)g->prompt);
    if (!(g->penalty > 0)) return sdx_run_fail(r, "repetition_penalty is %g", (double)g->penalty);
    if (!g->prompt || !ids->dims[0]) return sdx_run_fail(r, "there is no prompt");
    if (!sdx_mul_size(&rows, (size_t)ids->dims[0], (size_t)beams) ||
        !sdx_mul_size(&cells, rows, (size_t)g->max_length) || !sdx_mul_size(&feed, cells, 3))
        return sdx_run_fail(r, "the sequences do not fit the address space");
    g->rows = (int64_t)rows;
    const Datum *mask = ro->attention_mask < r->n_in ? r->in[ro->attention_mask] : NULL;
    if (mask && !sdx_dims_equal(mask->t.dims, mask->t.rank, ids->dims, ids->rank))
        return sdx_run_fail(r, "attention_mask does not have the shape of input_ids");
    TRY(gen_room(g, cells, sizeof *g->ids, &g->ids));
    TRY(gen_room(g, cells, sizeof *g->mask, &g->mask));
    TRY(gen_room(g, feed, sizeof *g->feed, &g->feed));
    TRY(gen_room(g, rows, sizeof *g->position, &g->position));
    gen_prompt(g, ids->data, mask ? mask->t.data : NULL);
    return gen_past(g);
}

void sdx_gen_end(Gen *g)
{
    for (int i = 0; g->past && i < g->n_past; i++) sdx_datum_clear(&g->past[i]);
    sdx_free(sdx_run_alloc(g->r), g->past);
}

/* The logits of each row's last token. */
static sdx_status gen_scores(Gen *g, const Datum *logits, int64_t fed)
{
    const Tensor *t = &logits->t;
    if (logits->kind != DATUM_TENSOR || t->rank != 3 || t->dims[0] != g->rows || t->dims[1] != fed || !t->dims[2])
        return sdx_run_fail(g->r, "the decoder's logits must be [%lld, %lld, vocabulary]", (long long)g->rows,
                            (long long)fed);
    int64_t all = t->dims[2], said = g->a->vocab_size, n = said > 0 && said < all ? said : all;
    if (!g->scores) {
        g->vocab = n;
        TRY(gen_room(g, (size_t)(g->rows * n), sizeof *g->scores, &g->scores));
    }
    if (n != g->vocab) return sdx_run_fail(g->r, "the decoder's vocabulary changed to %lld", (long long)n);
    for (int64_t row = 0; row < g->rows; row++)
        for (int64_t i = 0; i < n; i++)
            g->scores[row * n + i] = (float)sdx_tensor_get_double(t, ((row + 1) * fed - 1) * all + i);
    return SDX_OK;
}

sdx_status sdx_gen_step(Gen *g)
{
    bool first = g->length == g->prompt;
    Graph *body = first && g->a->init_decoder ? g->a->init_decoder : g->a->decoder;
    int64_t fed = first ? g->prompt : 1, n_in = DECODER_IN + g->n_past, n_out = 1 + g->n_past;
    int32_t *ids = g->feed, *places = ids + g->rows * fed, *mask = places + g->rows * fed;
    for (int64_t row = 0; row < g->rows; row++) {
        int32_t place = 0;
        for (int64_t i = 0; i < fed; i++) {
            int64_t at = row * g->max_length + g->length - fed + i;
            ids[row * fed + i] = g->ids[at];
            places[row * fed + i] = first ? (g->ids[at] != g->a->pad_token_id ? place++ : 0) : g->position[row]++;
        }
        memcpy(mask + row * g->length, g->mask + row * g->max_length, (size_t)g->length * sizeof *mask);
    }
    Datum feed[DECODER_IN], *out;
    const Datum **in;
    for (int i = 0; i < DECODER_IN; i++)
        feed[i] = (Datum){ .kind = DATUM_TENSOR,
                           .t = { .dtype = DT_INT32,
                                  .rank = 2,
                                  .dims = { g->rows, i == 2 ? g->length : fed },
                                  .data = i == 0   ? ids
                                          : i == 1 ? places
                                                   : mask } };
    TRY(sdx_run_trip(g->r));
    char *room = sdx_alloc_zero(sdx_run_alloc(g->r), (size_t)n_out * sizeof *out + (size_t)n_in * sizeof *in);
    TRY_MEM(room, g->r->err);
    out = (Datum *)room;
    in = (const Datum **)(out + n_out);
    for (int i = 0; i < n_in; i++) in[i] = i < DECODER_IN ? &feed[i] : &g->past[i - DECODER_IN];
    sdx_status st = sdx_run_graph(g->r, body, in, (int)n_in, out, (int)n_out);
    if (st == SDX_OK) st = gen_scores(g, &out[0], fed);
    sdx_datum_clear(&out[0]);
    for (int i = 0; i < g->n_past; i++) {
        sdx_datum_clear(&g->past[i]);
        g->past[i] = out[1 + i];
    }
    sdx_free(sdx_run_alloc(g->r), room);
    return st;
}

/* -- scores -------------------------------------------------------------------------------------------------------- */

static void penalise(const Gen *g, const int32_t *ids, float *s)
{
    for (int64_t i = 0; i < g->length; i++) {
        bool seen = ids[i] < 0 || ids[i] >= g->vocab;
        for (int64_t k = 0; k < i && !seen; k++) seen = ids[k] == ids[i];
        if (!seen) s[ids[i]] *= s[ids[i]] < 0 ? g->penalty : 1 / g->penalty;
    }
}

/* Tokens that would complete an n-gram which is there already. */
static void forbid_repeats(const Gen *g, const int32_t *ids, float *s)
{
    int64_t head = g->a->no_repeat_ngram_size - 1;
    for (int64_t i = 0; i + head < g->length; i++) {
        int32_t token = ids[i + head];
        bool repeats = !head || !memcmp(ids + i, ids + g->length - head, (size_t)head * sizeof *ids);
        if (repeats && token >= 0 && token < g->vocab) s[token] = -FLT_MAX;
    }
}

/* The mask of a row: one for all, or one for each prompt. NULL: none. */
static sdx_status mask_row(const Gen *g, int i, int64_t row, const int32_t **out)
{
    *out = NULL;
    if (i < 0 || i >= g->r->n_in || !g->r->in[i]) return SDX_OK;
    const Tensor *t = &g->r->in[i]->t;
    int64_t prompts = g->rows / g->beams, count = sdx_tensor_count(t);
    if (count != g->vocab && count != prompts * g->vocab)
        return sdx_run_fail(g->r, "input %d has %lld values; the vocabulary has %lld", i, (long long)count,
                            (long long)g->vocab);
    *out = (const int32_t *)t->data + (count == g->vocab ? 0 : row / g->beams * g->vocab);
    return SDX_OK;
}

sdx_status sdx_gen_process(Gen *g)
{
    for (int64_t row = 0; row < g->rows; row++) {
        float *s = g->scores + row * g->vocab;
        const int32_t *ids = g->ids + row * g->max_length, *mask, *prefix, *present;
        TRY(mask_row(g, g->ro->vocab_mask, row, &mask));
        TRY(mask_row(g, g->ro->prefix_mask, row, &prefix));
        TRY(mask_row(g, g->ro->presence_mask, row, &present));
        if (g->penalty != 1) penalise(g, ids, s);
        if (g->a->no_repeat_ngram_size > 0 && g->length >= g->a->no_repeat_ngram_size) forbid_repeats(g, ids, s);
        if (g->length > g->prompt) prefix = NULL;
        for (int64_t i = 0; i < g->vocab; i++)
            if ((mask && !mask[i]) || (prefix && !prefix[i])) s[i] = -FLT_MAX;
        int64_t eos = g->a->eos_token_id;
        if (g->length < g->min_length && eos >= 0 && eos < g->vocab) s[eos] = -FLT_MAX;
        if (g->a->temperature > 0 && g->a->temperature != 1)
            for (int64_t i = 0; i < g->vocab; i++) s[i] /= g->a->temperature;
        for (int64_t i = 0; present && i < g->vocab; i++) s[i] -= (float)present[i] * g->a->presence_penalty;
    }
    return SDX_OK;
}

/* -- going on ------------------------------------------------------------------------------------------------------ */

/* Rows of x, `n` bytes each and `rows` to a block, in the order of from. */
static void rows_pick(char *x, char *room, int64_t blocks, int64_t rows, size_t n, const int64_t *from)
{
    size_t block = (size_t)rows * n;
    for (int64_t b = 0; block && b < blocks; b++, x += block) {
        memcpy(room, x, block);
        for (int64_t i = 0; i < rows; i++) memcpy(x + (size_t)i * n, room + (size_t)from[i] * n, n);
    }
}

static sdx_status rows_reorder(Gen *g, const int64_t *from)
{
    bool moves = false;
    for (int64_t i = 0; i < g->rows; i++) moves |= from[i] != i;
    if (!moves) return SDX_OK;
    size_t most = (size_t)(g->rows * g->max_length) * sizeof *g->ids;
    for (int i = 0; i < g->n_past; i++) {
        size_t nbytes;
        Datum copy = { .kind = DATUM_NONE };
        const Tensor *t = &g->past[i].t;
        if (g->past[i].kind != DATUM_TENSOR || t->rank != 5 || t->dims[1] != g->rows || !sdx_tensor_nbytes(t, &nbytes))
            return sdx_run_fail(g->r, "present output %d of the decoder is not [2, %lld, heads, length, size]", i,
                                (long long)g->rows);
        TRY(sdx_datum_copy(&copy, t, sdx_run_alloc(g->r), g->r->err)); /* nobody else sees the copy */
        sdx_datum_clear(&g->past[i]);
        g->past[i] = copy;
        if (nbytes / 2 > most) most = nbytes / 2;
    }
    char *room = sdx_alloc(sdx_run_alloc(g->r), most);
    TRY_MEM(room, g->r->err);
    rows_pick((char *)g->ids, room, 1, g->rows, (size_t)g->max_length * sizeof *g->ids, from);
    rows_pick((char *)g->mask, room, 1, g->rows, (size_t)g->max_length * sizeof *g->mask, from);
    rows_pick((char *)g->position, room, 1, g->rows, sizeof *g->position, from);
    for (int i = 0; i < g->n_past; i++) {
        const Tensor *t = &g->past[i].t;
        size_t row = (size_t)sdx_dims_product(t->dims, 2, 5) * sdx_dtype_size(t->dtype);
        rows_pick(t->data, room, t->dims[0], g->rows, row, from);
    }
    sdx_free(sdx_run_alloc(g->r), room);
    return SDX_OK;
}

sdx_status sdx_gen_append(Gen *g, const int32_t *token, const int64_t *from)
{
    if (from) TRY(rows_reorder(g, from));
    for (int64_t row = 0; row < g->rows; row++) {
        g->ids[row * g->max_length + g->length] = token[row];
        g->mask[row * g->max_length + g->length] = 1;
    }
    g->length++;
    return SDX_OK;
}
