/* ops/tfidf.c - TfIdfVectorizer: counts of the n-grams of a pool
 *
 * The pool's items are numbered, and the n-grams are followed item by item: the table of depth d knows the n-grams of at
 * least d items by the state that d - 1 items led to and their d-th item. A state is the first n-gram with that prefix;
 * the pool is ordered by length, so it is one of exactly d items wherever there is one. */
#include <inttypes.h>

#include "ops/dims.h"
#include "ops/lookup.h"
#include "ops/shapes.h"

typedef struct TfidfAttrs {
    int64_t max_gram_length, max_skip_count, min_gram_length;
    Str mode;
    IntList ngram_counts, ngram_indexes, pool_int64s;
    StrList pool_strings;
    FloatList weights;
} TfidfAttrs;

#define TFIDF_INTS(field)                                                                                              \
    {                                                                                                                  \
        .name = #field, .type = ATTR_INTS, .offset = offsetof(TfidfAttrs, field), .required = true                     \
    }
static const AttrSpec tfidf_attrs[] = { OP_INT_REQ(TfidfAttrs, max_gram_length),
                                        OP_INT_REQ(TfidfAttrs, max_skip_count),
                                        OP_INT_REQ(TfidfAttrs, min_gram_length),
                                        OP_STR_REQ(TfidfAttrs, mode),
                                        TFIDF_INTS(ngram_counts),
                                        TFIDF_INTS(ngram_indexes),
                                        OP_INTS(TfidfAttrs, pool_int64s),
                                        OP_STRS(TfidfAttrs, pool_strings),
                                        OP_FLOATS(TfidfAttrs, weights),
                                        OP_ATTR_END };

static int64_t pool_size(const TfidfAttrs *a) { return a->pool_strings.n ? a->pool_strings.n : a->pool_int64s.n; }
/* Where the n-grams of g items begin in the pool; g may be one beyond the last. */
static int64_t grams_begin(const TfidfAttrs *a, int64_t g)
{
    return g <= a->ngram_counts.n ? a->ngram_counts.v[g - 1] : pool_size(a);
}

static int64_t tfidf_width(const TfidfAttrs *a)
{
    int64_t max = -1;
    for (int64_t i = 0; i < a->ngram_indexes.n; i++) max = a->ngram_indexes.v[i] > max ? a->ngram_indexes.v[i] : max;
    return max + 1;
}

static sdx_status tfidf_check(const Infer *c, const TfidfAttrs *a)
{
    int64_t grams = 0;
    if (!str_is(a->mode, "TF") && !str_is(a->mode, "IDF") && !str_is(a->mode, "TFIDF"))
        return sdx_infer_fail(c, "mode is not TF, IDF or TFIDF");
    if ((a->pool_strings.n > 0) == (a->pool_int64s.n > 0))
        return sdx_infer_fail(c, "one of pool_strings and pool_int64s has to be given");
    if (a->min_gram_length < 1 || a->max_gram_length < a->min_gram_length || a->max_gram_length > a->ngram_counts.n)
        return sdx_infer_fail(c, "gram lengths %" PRId64 " to %" PRId64 " do not lie in [1, %" PRId64 "]",
                              a->min_gram_length, a->max_gram_length, a->ngram_counts.n);
    if (a->max_skip_count < 0) return sdx_infer_fail(c, "max_skip_count is %" PRId64, a->max_skip_count);
    if (a->ngram_counts.v[0] != 0) return sdx_infer_fail(c, "ngram_counts does not begin with 0");
    for (int64_t g = 1; g <= a->ngram_counts.n; g++) {
        int64_t from = grams_begin(a, g), to = grams_begin(a, g + 1);
        if (from < 0 || to < from || to > pool_size(a) || (to - from) % g)
            return sdx_infer_fail(
                c, "ngram_counts gives [%" PRId64 ", %" PRId64 ") of %" PRId64 " items to grams of %" PRId64, from, to,
                pool_size(a), g);
        grams += (to - from) / g;
    }
    if (grams != a->ngram_indexes.n || (a->weights.n && a->weights.n != grams))
        return sdx_infer_fail(c, "%" PRId64 " ngram_indexes and %" PRId64 " weights for %" PRId64 " grams",
                              a->ngram_indexes.n, a->weights.n, grams);
    for (int64_t i = 0; i < grams; i++)
        if (a->ngram_indexes.v[i] < 0 || a->ngram_indexes.v[i] > INT32_MAX)
            return sdx_infer_fail(c, "ngram_indexes[%" PRId64 "] is %" PRId64, i, a->ngram_indexes.v[i]);
    return SDX_OK;
}

static sdx_status tfidf_infer(Infer *c)
{
    const TfidfAttrs *a = c->args;
    TRY(tfidf_check(c, a));
    DType elem = c->in[0]->elem;
    if (elem != DT_NONE && (elem == DT_STRING) != (a->pool_strings.n > 0))
        return sdx_infer_fail(c, "the pool is not of the input's type");
    TRY(infer_rank_between(c, 0, 1, 2, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    Dim *y = infer_out_rank(c, 0, x->rank);
    y[0] = x->dims[0];
    y[x->rank - 1] = tfidf_width(a);
    return SDX_OK;
}

typedef struct Depth {
    Lookup next;   /* state << 32 | item -> state */
    int64_t first; /* n-gram that state 0 is */
    int64_t n;     /* states below this are n-grams of just so many items */
} Depth;

typedef struct TfidfState {
    Lookup items;
    Depth *depths; /* [max_gram_length] */
    int64_t width;
    float *weights; /* by column; NULL: 1 */
} TfidfState;

static int64_t step_key(int64_t state, int64_t item) { return (int64_t)((uint64_t)state << 32 | (uint64_t)item); }

/* The tables, shortest first. at: where each n-gram stands in the pool; states: what its first items led to. */
static sdx_status tfidf_depths(Prepare *p, TfidfState *s, const int64_t *item, const int64_t *at, int64_t *states)
{
    const TfidfAttrs *a = p->args;
    int64_t grams = a->ngram_indexes.n, first = 0;
    for (int64_t d = 0; d < a->max_gram_length; d++) {
        Depth *t = &s->depths[d];
        int64_t *keys = sdx_arena_array(p->arena, int64_t, grams - first);
        TRY_MEM(keys, p->err);
        for (int64_t i = first; i < grams; i++) keys[i - first] = step_key(states[i], item[at[i] + d]);
        t->first = first;
        t->n = (grams_begin(a, d + 2) - grams_begin(a, d + 1)) / (d + 1);
        TRY_MEM(sdx_lookup_make(&t->next, p->arena, DT_INT64, keys, grams - first, false), p->err);
        for (int64_t i = first; i < grams; i++) states[i] = sdx_lookup_find(&t->next, &keys[i - first]);
        first += t->n;
    }
    return SDX_OK;
}

static sdx_status tfidf_prepare(Prepare *p)
{
    const TfidfAttrs *a = p->args;
    int64_t n = pool_size(a), grams = a->ngram_indexes.n, gram = 0;
    bool strings = a->pool_strings.n > 0;
    const char *pool = strings ? (const char *)a->pool_strings.v : (const char *)a->pool_int64s.v;
    TfidfState *s = sdx_arena_new(p->arena, TfidfState);
    int64_t *item = sdx_arena_array(p->arena, int64_t, n), *at = sdx_arena_array(p->arena, int64_t, grams);
    int64_t *states = sdx_arena_array(p->arena, int64_t, grams);
    TRY_MEM(s && item && at && states, p->err);
    s->depths = sdx_arena_array(p->arena, Depth, a->max_gram_length);
    s->width = tfidf_width(a);
    TRY_MEM(s->depths, p->err);
    TRY_MEM(sdx_lookup_make(&s->items, p->arena, strings ? DT_STRING : DT_INT64, pool, n, false), p->err);
    for (int64_t i = 0; i < n; i++) item[i] = sdx_lookup_find(&s->items, pool + (size_t)i * s->items.size);
    for (int64_t g = 1; g <= a->ngram_counts.n; g++)
        for (int64_t i = grams_begin(a, g); i < grams_begin(a, g + 1); i += g) at[gram++] = i;
    if (a->weights.n) {
        s->weights = sdx_arena_array(p->arena, float, s->width);
        TRY_MEM(s->weights, p->err);
        for (int64_t i = 0; i < grams; i++) s->weights[a->ngram_indexes.v[i]] = a->weights.v[i];
    }
    p->state = s;
    return tfidf_depths(p, s, item, at, states);
}

typedef struct TfidfJob {
    const TfidfAttrs *a;
    const TfidfState *s;
    const Tensor *x;
    float *y;
    int64_t *items;
    int64_t cols;
} TfidfJob;

static void count_grams(const TfidfJob *j, const int64_t *items, float *y)
{
    const TfidfAttrs *a = j->a;
    int64_t skips = a->max_gram_length == 1 ? 0 : a->max_skip_count;
    for (int64_t step = 1; step <= skips + 1 && (step == 1 || step < j->cols); step++)
        for (int64_t from = 0; from < j->cols; from++) {
            int64_t state = 0, at = from;
            for (int64_t d = 0; d < a->max_gram_length && at < j->cols && items[at] >= 0; d++, at += step) {
                const Depth *t = &j->s->depths[d];
                int64_t key = step_key(state, items[at]);
                state = sdx_lookup_find(&t->next, &key);
                if (state < 0) break;
                /* single items are not affected by skipping: they count once */
                if (state < t->n && d + 1 >= a->min_gram_length && (step == 1 || d > 0))
                    y[a->ngram_indexes.v[t->first + state]]++;
            }
        }
}

static void tfidf_range(void *arg, int64_t from, int64_t to, int worker)
{
    const TfidfJob *j = arg;
    const TfidfAttrs *a = j->a;
    for (int64_t row = from; row < to; row++) {
        int64_t *items = j->items + row * j->cols;
        float *y = j->y + row * j->s->width;
        for (int64_t i = 0; i < j->cols; i++) {
            bool is_string = j->x->dtype == DT_STRING;
            int64_t k = row * j->cols + i, wide = is_string ? 0 : sdx_tensor_get_int(j->x, k);
            const void *key = is_string ? (const void *)((const Str *)j->x->data + k) : &wide;
            items[i] = sdx_lookup_find(&j->s->items, key);
        }
        memset(y, 0, (size_t)j->s->width * sizeof *y);
        count_grams(j, items, y);
        if (str_is(a->mode, "TF")) continue;
        bool idf = str_is(a->mode, "IDF");
        for (int64_t i = 0; i < j->s->width; i++) {
            float count = idf && y[i] > 0 ? 1 : y[i];
            y[i] = count * (j->s->weights ? j->s->weights[i] : 1);
        }
    }
}

static sdx_status tfidf_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    const TfidfState *s = r->state;
    int64_t cols = x->dims[x->rank - 1], rows = x->rank == 2 ? x->dims[0] : 1;
    void *y;
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank, (int64_t[]){ x->rank == 2 ? rows : s->width, s->width }, &y));
    size_t nbytes;
    int64_t *items = sdx_dtype_nbytes(DT_INT64, sdx_tensor_count(x), &nbytes) ? sdx_run_heap(r, nbytes) : NULL;
    TRY_MEM(items, r->err);
    TfidfJob j = { .a = r->args, .s = s, .x = x, .y = y, .items = items, .cols = cols };
    sdx_run_range(r, rows, 1 + 4096 / (cols + 1), tfidf_range, &j);
    return SDX_OK;
}

static const OpVer tfidf_vers[] = { { 9, { TS_I32 | TS_I64 | TS_STR } }, { 0 } };

const OpDef sdx_op_TfIdfVectorizer = {
    .name = "TfIdfVectorizer",
    .sig = "T->f32",
    .attrs = tfidf_attrs,
    .attrs_size = sizeof(TfidfAttrs),
    .vers = tfidf_vers,
    .infer = tfidf_infer,
    .cpu = { tfidf_prepare, tfidf_run },
};
