/* ops/search.c - com.microsoft GreedySearch, Sampling, BeamSearch over a decoder without encoder
 *
 * Greedy: the best token each time. Sampling: a token drawn from softmax(scores / temperature) after all but the likeliest
 * ones, whose probabilities add up to top_p, are filtered out. Beams: the num_beams best sums of log-probabilities of a
 * prompt go on; a sequence that ends is kept with its sum divided by length ^ length_penalty, and the best are given. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/size.h"
#include "ops/dims.h"
#include "ops/generate.h"
#include "ops/mt19937.h"

static sdx_status heap(const Run *r, size_t count, size_t size, void *out)
{
    size_t nbytes;
    void *p = sdx_mul_size(&nbytes, count, size) ? sdx_run_heap((Run *)r, nbytes + !nbytes) : NULL;
    if (!p) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    memcpy(out, &p, sizeof p);
    return SDX_OK;
}

static void fill(int32_t *y, int64_t n, int64_t v)
{
    for (int64_t i = 0; i < n; i++) y[i] = (int32_t)v;
}

static int32_t best_of(const float *s, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (s[i] > s[best]) best = i;
    return (int32_t)best;
}

/* -- Sampling ------------------------------------------------------------------------------------------------------ */

typedef struct Scored {
    float score;
    int32_t token;
} Scored;

static int by_score(const void *a, const void *b)
{
    const Scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* Filters s, and draws from what stays. */
static int32_t draw(const GenAttrs *a, float *s, int64_t n, Scored *order, double at)
{
    double sum = 0, taken = 0;
    for (int64_t i = 0; i < n; i++) order[i] = (Scored){ s[i], (int32_t)i };
    qsort(order, (size_t)n, sizeof *order, by_score);
    for (int64_t i = 0; i < n; i++) sum += exp((double)(order[i].score - order[0].score));
    int64_t kept = 0;
    for (; kept < n; kept++) {
        if (kept > 0 && kept >= a->min_tokens_to_keep && a->top_p > 0 && taken / sum >= (double)a->top_p) break;
        taken += exp((double)(order[kept].score - order[0].score));
    }
    for (int64_t i = kept; i < n; i++) s[order[i].token] = a->filter_value;
    double left = at * taken;
    for (int64_t i = 0; i < kept; i++)
        if ((left -= exp((double)(order[i].score - order[0].score))) < 0) return order[i].token;
    return order[0].token;
}

/* -- GreedySearch, Sampling ---------------------------------------------------------------------------------------- */

static const AttrSpec greedy_attrs[] = { OP_GEN_ATTRS, OP_ATTR_END };
static const AttrSpec sampling_attrs[] = { OP_GEN_ATTRS,
                                           OP_INT(GenAttrs, custom, 0),
                                           OP_INT(GenAttrs, min_tokens_to_keep, 0),
                                           OP_FLOAT(GenAttrs, temperature, 1),
                                           OP_FLOAT(GenAttrs, top_p, 0),
                                           OP_FLOAT(GenAttrs, presence_penalty, 0),
                                           OP_FLOAT(GenAttrs, filter_value, -1e20f),
                                           OP_ATTR_END };
static const GenRoles greedy_roles = { 2, 3, 4, 5, 6, -1 };
static const GenRoles sampling_roles = { 2, 3, 4, 5, 6, 7 };
enum { IN_SEED = 8 };

static sdx_status greedy_infer(Infer *c) { return sdx_gen_infer(c, 1); }

/* random NULL: the best. */
static sdx_status greedy_loop(Gen *g, Mt19937 *random)
{
    int32_t *token;
    Scored *order = NULL;
    bool *ended, all = false;
    TRY(heap(g->r, (size_t)g->rows, sizeof *token, &token));
    TRY(heap(g->r, (size_t)g->rows, sizeof *ended, &ended));
    memset(ended, 0, (size_t)g->rows * sizeof *ended);
    while (g->length < g->max_length && !all) {
        TRY(sdx_gen_step(g));
        TRY(sdx_gen_process(g));
        all = true;
        for (int64_t row = 0; row < g->rows; row++) {
            float *s = g->scores + row * g->vocab;
            if (random && !order) TRY(heap(g->r, (size_t)g->vocab, sizeof *order, &order));
            token[row] = random ? draw(g->a, s, g->vocab, order, sdx_mt_double(random)) : best_of(s, g->vocab);
            ended[row] |= token[row] == g->a->eos_token_id;
            if (ended[row]) token[row] = (int32_t)g->a->pad_token_id; /* eos itself is not given */
            all &= ended[row];
        }
        if (g->r->n_out > 1 && g->r->out[1] && g->length == g->prompt) {
            void *y;
            TRY(sdx_run_output(g->r, 1, DT_FLOAT, 2, (int64_t[]){ g->rows, g->vocab }, &y));
            memcpy(y, g->scores, (size_t)(g->rows * g->vocab) * sizeof(float));
        }
        TRY(sdx_gen_append(g, token, NULL));
    }
    void *out;
    TRY(sdx_run_output(g->r, 0, DT_INT32, 2, (int64_t[]){ g->rows, g->max_length }, &out));
    for (int64_t row = 0; row < g->rows; row++) {
        int32_t *y = (int32_t *)out + row * g->max_length;
        memcpy(y, g->ids + row * g->max_length, (size_t)g->length * sizeof *y);
        fill(y + g->length, g->max_length - g->length, g->a->pad_token_id);
    }
    return SDX_OK;
}

static sdx_status greedy_run(Run *r)
{
    Gen g;
    sdx_status st = sdx_gen_start(r, &greedy_roles, 1, &g);
    if (st == SDX_OK) st = greedy_loop(&g, NULL);
    sdx_gen_end(&g);
    return st;
}

static sdx_status sampling_run(Run *r)
{
    Gen g;
    Mt19937 random;
    bool seeded = r->n_in > IN_SEED && r->in[IN_SEED];
    sdx_mt_seed(&random, seeded ? (uint32_t)sdx_gen_int(r, IN_SEED, 0) : sdx_mt_fresh_seed());
    sdx_status st = sdx_gen_start(r, &sampling_roles, 1, &g);
    if (st == SDX_OK) st = greedy_loop(&g, &random);
    sdx_gen_end(&g);
    return st;
}

static const OpVer search_vers[] = { { 1, { TS_F32 | TS_F16 } }, { 0 } };

const OpDef sdx_op_ms_GreedySearch = {
    .name = "GreedySearch",
    .domain = "com.microsoft",
    .sig = "i32,i32,i32?,T?,i32?,i32?,i32?->i32",
    .attrs = greedy_attrs,
    .attrs_size = sizeof(GenAttrs),
    .vers = search_vers,
    .flags = OP_CONTROL,
    .infer = greedy_infer,
    .cpu = { NULL, greedy_run },
};

const OpDef sdx_op_ms_Sampling = {
    .name = "Sampling",
    .domain = "com.microsoft",
    .sig = "i32,i32,i32?,T?,i32?,i32?,i32?,i32?,i32?->i32,f32?",
    .attrs = sampling_attrs,
    .attrs_size = sizeof(GenAttrs),
    .vers = search_vers,
    .flags = OP_CONTROL | OP_RANDOM,
    .infer = greedy_infer,
    .cpu = { NULL, sampling_run },
};

/* -- BeamSearch ---------------------------------------------------------------------------------------------------- */

static const AttrSpec beam_attrs[] = { OP_GEN_ATTRS, OP_INT(GenAttrs, early_stopping, 0), OP_ATTR_END };
static const GenRoles beam_roles = { 2, 6, 7, 8, 9, -1 };
enum { IN_BEAMS = 3, IN_RETURNED, IN_LENGTH_PENALTY, MOST_BEAMS = 1 << 10 };

static sdx_status beam_infer(Infer *c)
{
    int64_t n;
    TRY(sdx_gen_infer(c, 2));
    bool known = infer_int(c, IN_RETURNED, &n) && n > 0;
    if (known) c->out[0].shape.dims[1] = n;
    Dim *scores = infer_out_rank(c, 1, 2);
    scores[0] = c->out[0].shape.dims[0];
    if (known) scores[1] = n;
    infer_out_rank(c, 2, 4);
    return SDX_OK;
}

/* A sequence that ended, without its last token. */
typedef struct Kept {
    float score;
    int64_t length;
    int32_t *ids;
} Kept;

typedef struct Beams {
    Gen g;
    int64_t k, returned;
    float length_penalty;
    float *sum;     /* [rows] */
    Kept *kept;     /* k for each prompt, by falling score */
    int64_t *count; /* of them */
    bool *done;
    int32_t *token;
    int64_t *from;
} Beams;

static sdx_status beams_start(Run *r, Beams *b)
{
    b->k = sdx_gen_int(r, IN_BEAMS, 0);
    b->returned = sdx_gen_int(r, IN_RETURNED, 0);
    b->length_penalty = sdx_gen_float(r, IN_LENGTH_PENALTY, 1);
    if (b->k < 1 || b->k > MOST_BEAMS) return sdx_run_fail(r, "num_beams is %lld", (long long)b->k);
    if (b->returned < 1 || b->returned > b->k)
        return sdx_run_fail(r, "num_return_sequences is %lld of %lld beams", (long long)b->returned, (long long)b->k);
    TRY(sdx_gen_start(r, &beam_roles, b->k, &b->g));
    size_t rows = (size_t)b->g.rows, prompts = rows / (size_t)b->k;
    TRY(heap(r, rows, sizeof *b->sum, &b->sum));
    TRY(heap(r, rows, sizeof *b->kept, &b->kept));
    TRY(heap(r, prompts, sizeof *b->count, &b->count));
    TRY(heap(r, prompts, sizeof *b->done, &b->done));
    TRY(heap(r, rows, sizeof *b->token, &b->token));
    TRY(heap(r, rows, sizeof *b->from, &b->from));
    memset(b->count, 0, prompts * sizeof *b->count);
    memset(b->done, 0, prompts * sizeof *b->done);
    for (size_t i = 0; i < rows; i++) {
        int32_t *ids;
        TRY(heap(r, (size_t)b->g.max_length, sizeof *ids, &ids));
        b->kept[i] = (Kept){ .ids = ids };
        b->sum[i] = i % (size_t)b->k ? -1e9f : 0;
    }
    return SDX_OK;
}

static float by_length(const Beams *b, float sum, int64_t length)
{
    return sum / powf((float)length, b->length_penalty);
}

/* A sequence among the k best of its prompt. */
static void keep(Beams *b, int64_t prompt, int64_t row, float sum)
{
    Kept *list = b->kept + prompt * b->k;
    float score = by_length(b, sum, b->g.length);
    int64_t n = b->count[prompt], at = n;
    if (n == b->k && !(score > list[n - 1].score)) return;
    if (n == b->k)
        at--;
    else
        b->count[prompt]++;
    Kept one = list[at];
    for (; at > 0 && score > list[at - 1].score; at--) list[at] = list[at - 1];
    one.score = score;
    one.length = b->g.length;
    memcpy(one.ids, b->g.ids + row * b->g.max_length, (size_t)one.length * sizeof *one.ids);
    list[at] = one;
}

static void log_softmax(float *s, int64_t n)
{
    float most = s[best_of(s, n)];
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += exp((double)(s[i] - most));
    float all = most + (float)log(sum);
    for (int64_t i = 0; i < n; i++) s[i] -= all;
}

/* The 2k best continuations of a prompt, best first: beam * vocab + token. */
static int64_t candidates(const Beams *b, int64_t prompt, Scored *best)
{
    const Gen *g = &b->g;
    int64_t n = 0, most = 2 * b->k;
    for (int64_t i = 0; i < b->k * g->vocab; i++) {
        int64_t at;
        Scored one = { g->scores[prompt * b->k * g->vocab + i], (int32_t)i };
        if (n == most && !(one.score > best[n - 1].score)) continue;
        for (at = n < most ? n++ : n - 1; at > 0 && one.score > best[at - 1].score; at--) best[at] = best[at - 1];
        best[at] = one;
    }
    return n;
}

/* Chooses how the beams of a prompt go on. */
static void beams_choose(Beams *b, int64_t prompt, Scored *best)
{
    Gen *g = &b->g;
    int64_t first = prompt * b->k, next = 0, n = b->done[prompt] ? 0 : candidates(b, prompt, best);
    for (int64_t i = 0; i < n && next < b->k; i++) {
        int64_t row = first + best[i].token / g->vocab, token = best[i].token % g->vocab;
        if (token == g->a->eos_token_id) {
            if (i < b->k) keep(b, prompt, row, best[i].score);
            continue;
        }
        b->token[first + next] = (int32_t)token;
        b->from[first + next] = row;
        b->sum[first + next++] = best[i].score;
    }
    for (; next < b->k; next++) { /* of a prompt that is done, or a vocabulary too small */
        b->token[first + next] = (int32_t)g->a->pad_token_id;
        b->from[first + next] = first;
        b->sum[first + next] = b->done[prompt] ? 0 : -1e9f;
    }
    if (!n || b->count[prompt] < b->k) return;
    b->done[prompt] = g->a->early_stopping || b->kept[first + b->k - 1].score >= by_length(b, best[0].score, g->length);
}

static sdx_status beams_scores(const Beams *b, float **scores)
{
    const Gen *g = &b->g;
    void *y;
    *scores = NULL;
    if (g->r->n_out < 3 || !g->r->out[2]) return SDX_OK;
    int64_t dims[4] = { g->max_length - g->prompt, g->rows / b->k, b->k, g->vocab };
    TRY(sdx_run_output(g->r, 2, DT_FLOAT, 4, dims, &y));
    memset(y, 0, (size_t)sdx_dims_product(dims, 0, 4) * sizeof(float));
    *scores = y;
    return SDX_OK;
}

static sdx_status beams_loop(Beams *b)
{
    Gen *g = &b->g;
    Scored *best;
    float *scores = NULL;
    bool all = false;
    TRY(heap(g->r, 2 * (size_t)b->k, sizeof *best, &best));
    for (int64_t step = 0; g->length < g->max_length && !all; step++) {
        TRY(sdx_gen_step(g));
        for (int64_t row = 0; row < g->rows; row++) log_softmax(g->scores + row * g->vocab, g->vocab);
        TRY(sdx_gen_process(g));
        if (!step && b->k * g->vocab > INT32_MAX) return sdx_run_fail(g->r, "beams times vocabulary is too large");
        if (!step) TRY(beams_scores(b, &scores));
        int64_t n = g->rows * g->vocab;
        for (int64_t i = 0; i < n; i++) g->scores[i] += b->sum[i / g->vocab];
        if (scores) memcpy(scores + step * n, g->scores, (size_t)n * sizeof *scores);
        all = true;
        for (int64_t prompt = 0; prompt < g->rows / b->k; prompt++) {
            beams_choose(b, prompt, best);
            all &= b->done[prompt];
        }
        TRY(sdx_gen_append(g, b->token, b->from));
    }
    for (int64_t row = 0; row < g->rows; row++)
        if (!b->done[row / b->k]) keep(b, row / b->k, row, b->sum[row]);
    return SDX_OK;
}

static sdx_status beams_give(const Beams *b)
{
    const Gen *g = &b->g;
    int64_t prompts = g->rows / b->k;
    void *ids, *scores = NULL;
    TRY(sdx_run_output(g->r, 0, DT_INT32, 3, (int64_t[]){ prompts, b->returned, g->max_length }, &ids));
    if (g->r->n_out > 1 && g->r->out[1])
        TRY(sdx_run_output(g->r, 1, DT_FLOAT, 2, (int64_t[]){ prompts, b->returned }, &scores));
    for (int64_t i = 0; i < prompts * b->returned; i++) {
        const Kept *k = &b->kept[i / b->returned * b->k + i % b->returned];
        int32_t *y = (int32_t *)ids + i * g->max_length;
        bool is_there = i % b->returned < b->count[i / b->returned];
        fill(y, g->max_length, g->a->pad_token_id);
        if (is_there) memcpy(y, k->ids, (size_t)k->length * sizeof *y);
        if (scores) ((float *)scores)[i] = is_there ? k->score : -INFINITY;
    }
    return SDX_OK;
}

static sdx_status beam_run(Run *r)
{
    Beams b = { .g = { .r = r } };
    sdx_status st = beams_start(r, &b);
    if (st == SDX_OK) st = beams_loop(&b);
    if (st == SDX_OK) st = beams_give(&b);
    sdx_gen_end(&b.g);
    return st;
}

const OpDef sdx_op_ms_BeamSearch = {
    .name = "BeamSearch",
    .domain = "com.microsoft",
    .sig = "i32,i32,i32?,i32,i32,f32?,f32?,i32?,i32?,i32?,i32?,i32?->i32,f32?,f32?",
    .attrs = beam_attrs,
    .attrs_size = sizeof(GenAttrs),
    .vers = search_vers,
    .flags = OP_CONTROL,
    .infer = beam_infer,
    .cpu = { NULL, beam_run },
};
