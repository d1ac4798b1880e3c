/* ops/tokens.c - com.microsoft NGramRepeatBlock, BifurcationDetector, MurmurHash3, DynamicTimeWarping: small steps
 * around text models */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"

/* -- NGramRepeatBlock ---------------------------------------------------------------------------------------------- */

/* Scores of the tokens that would complete an n-gram which the row of ids holds already become -inf. */
typedef struct NGramAttrs {
    int64_t ngram_size;
} NGramAttrs;

static const AttrSpec ngram_attrs[] = { OP_INT_REQ(NGramAttrs, ngram_size), OP_ATTR_END };

static sdx_status ngram_infer(Infer *c)
{
    const NGramAttrs *a = c->args;
    if (a->ngram_size < 1) return sdx_infer_fail(c, "ngram_size is %lld", (long long)a->ngram_size);
    TRY(infer_rank_between(c, 0, 2, 2, "input_ids"));
    TRY(infer_rank_between(c, 1, 2, 2, "scores"));
    const Shape *ids = infer_shape(c, 0), *scores = infer_shape(c, 1);
    if (ids && scores && dim_differs(ids->dims[0], scores->dims[0]))
        return sdx_infer_fail(c, "%lld rows of ids, %lld of scores", (long long)ids->dims[0],
                              (long long)scores->dims[0]);
    if (scores) infer_out_shape(c, 0, scores);
    return SDX_OK;
}

static sdx_status ngram_run(Run *r)
{
    const NGramAttrs *a = r->args;
    const Tensor *ids = &r->in[0]->t, *scores = &r->in[1]->t;
    int64_t n = ids->dims[1], vocab = scores->dims[1], head = a->ngram_size - 1;
    void *out;
    TRY(run_output_like(r, 0, scores, &out));
    float *y = out;
    size_t nbytes = (size_t)sdx_tensor_count(scores) * sizeof *y;
    if (nbytes) memcpy(y, scores->data, nbytes);
    for (int64_t row = 0; row < ids->dims[0] && head < n; row++) {
        const int64_t *id = (const int64_t *)ids->data + row * n, *last = id + n - head;
        for (int64_t i = 0; i + head < n; i++) {
            if (head && memcmp(id + i, last, (size_t)head * sizeof *id) != 0) continue;
            int64_t token = id[i + head];
            if (token < 0 || token >= vocab)
                return sdx_run_fail(r, "token %lld is outside [0, %lld)", (long long)token, (long long)vocab);
            y[row * vocab + token] = -INFINITY;
        }
    }
    return SDX_OK;
}

static const OpVer any_vers[] = { { 1, { 0 } }, { 0 } };

const OpDef sdx_op_ms_NGramRepeatBlock = {
    .name = "NGramRepeatBlock",
    .domain = "com.microsoft",
    .sig = "i64,f32->f32",
    .attrs = ngram_attrs,
    .attrs_size = sizeof(NGramAttrs),
    .vers = any_vers,
    .infer = ngram_infer,
    .cpu = { NULL, ngram_run },
};

/* -- BifurcationDetector ------------------------------------------------------------------------------------------- */

/* tokens = cur_tokens and those of pred_tokens up to the first that differs from src_tokens, read from
 * prev_suffix_match_idx on. suffix_match_idx: where in src_tokens the last n of them end, for the least n at which there
 * is one such place; -1 when there is none. */
typedef struct BifurcationAttrs {
    int64_t max_ngram_size, min_ngram_size;
} BifurcationAttrs;

static const AttrSpec bifurcation_attrs[] = { OP_INT(BifurcationAttrs, max_ngram_size, 3),
                                              OP_INT(BifurcationAttrs, min_ngram_size, 1), OP_ATTR_END };

static sdx_status bifurcation_infer(Infer *c)
{
    const BifurcationAttrs *a = c->args;
    if (a->min_ngram_size < 1 || a->max_ngram_size < a->min_ngram_size)
        return sdx_infer_fail(c, "n-grams of %lld to %lld", (long long)a->min_ngram_size, (long long)a->max_ngram_size);
    TRY(infer_rank_between(c, 0, 1, 1, "src_tokens"));
    TRY(infer_rank_between(c, 1, 1, 1, "cur_tokens"));
    TRY(infer_rank_between(c, 3, 1, 1, "pred_tokens"));
    infer_out_rank(c, 0, 1);
    infer_out_rank(c, 1, 0);
    return SDX_OK;
}

/* Where in s[from, n) the w words of t begin; -1: nowhere. */
static int64_t find_words(const int64_t *s, int64_t from, int64_t n, const int64_t *t, int64_t w)
{
    for (int64_t i = from; i + w <= n; i++)
        if (memcmp(s + i, t, (size_t)w * sizeof *t) == 0) return i;
    return -1;
}

static sdx_status bifurcation_run(Run *r)
{
    const BifurcationAttrs *a = r->args;
    const Tensor *src = &r->in[0]->t, *cur = &r->in[1]->t, *pred = r->n_in > 3 && r->in[3] ? &r->in[3]->t : NULL;
    int64_t n = src->dims[0], taken = 0, start = 0, match = -1;
    if (sdx_tensor_count(&r->in[2]->t)) start = sdx_tensor_get_int(&r->in[2]->t, 0);
    const int64_t *s = src->data, *p = pred ? pred->data : NULL;
    if (start < 0 || start > n)
        return sdx_run_fail(r, "prev_suffix_match_idx is %lld of %lld tokens", (long long)start, (long long)n);
    if (pred) {
        if (pred->dims[0] != n - start + 1)
            return sdx_run_fail(r, "%lld predicted tokens; %lld are needed", (long long)pred->dims[0],
                                (long long)(n - start + 1));
        while (taken < n - start && p[taken] == s[start + taken]) taken++;
        taken++;
    }
    int64_t total = cur->dims[0] + taken;
    void *out, *index;
    TRY(sdx_run_output(r, 0, DT_INT64, 1, &total, &out));
    int64_t *y = out;
    if (cur->dims[0]) memcpy(y, cur->data, (size_t)cur->dims[0] * sizeof *y);
    if (taken) memcpy(y + cur->dims[0], p, (size_t)taken * sizeof *y);
    for (int64_t w = a->min_ngram_size; w <= a->max_ngram_size && w <= total; w++) {
        int64_t first = find_words(s, 0, n, y + total - w, w);
        if (first < 0) break;
        if (first + w < n && find_words(s, first + 1, n, y + total - w, w) >= 0) continue;
        match = first + w;
        break;
    }
    TRY(sdx_run_output(r, 1, DT_INT64, 0, NULL, &index));
    *(int64_t *)index = match;
    return SDX_OK;
}

const OpDef sdx_op_ms_BifurcationDetector = {
    .name = "BifurcationDetector",
    .domain = "com.microsoft",
    .sig = "i64,i64,i64,i64?->i64,i64",
    .attrs = bifurcation_attrs,
    .attrs_size = sizeof(BifurcationAttrs),
    .vers = any_vers,
    .flags = OP_DATA_SHAPE,
    .infer = bifurcation_infer,
    .cpu = { NULL, bifurcation_run },
};

/* -- MurmurHash3 --------------------------------------------------------------------------------------------------- */

typedef struct HashAttrs {
    int64_t positive, seed;
} HashAttrs;

static const AttrSpec hash_attrs[] = { OP_INT(HashAttrs, positive, 1), OP_INT(HashAttrs, seed, 0), OP_ATTR_END };

static sdx_status hash_infer(Infer *c)
{
    c->out[0].elem = ((const HashAttrs *)c->args)->positive ? DT_UINT32 : DT_INT32;
    return sdx_infer_same_shape(c);
}

static uint32_t rotate(uint32_t v, int by) { return v << by | v >> (32 - by); }

static uint32_t hash_word(uint32_t k) { return rotate(k * 0xcc9e2d51u, 15) * 0x1b873593u; }

/* MurmurHash3 of Austin Appleby, its 32-bit form. Words are little-endian. */
static uint32_t hash_bytes(const uint8_t *p, size_t n, uint32_t h)
{
    size_t i = 0;
    uint32_t tail = 0;
    for (; i + 4 <= n; i += 4) {
        uint32_t k = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 | (uint32_t)p[i + 3] << 24;
        h = rotate(h ^ hash_word(k), 13) * 5 + 0xe6546b64u;
    }
    for (size_t k = n - i; k--;) tail = tail << 8 | p[i + k];
    if (n % 4) h ^= hash_word(tail);
    h ^= (uint32_t)n;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static sdx_status hash_run(Run *r)
{
    const HashAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t n = sdx_tensor_count(x);
    size_t size = sdx_dtype_size(x->dtype);
    void *y;
    TRY(sdx_run_output(r, 0, a->positive ? DT_UINT32 : DT_INT32, x->rank, x->dims, &y));
    for (int64_t i = 0; i < n; i++) {
        const Str *s = (const Str *)x->data + i;
        bool text = x->dtype == DT_STRING;
        ((uint32_t *)y)[i] = hash_bytes(text ? (const void *)s->p : (const char *)x->data + (size_t)i * size,
                                        text ? s->n : size, (uint32_t)a->seed);
    }
    return SDX_OK;
}

static const OpVer hash_vers[] = {
    { 1, { TS_U32 | TS_I32 | TS_U64 | TS_I64 | TS_F32 | TS_F64 | TS_STR, TS_U32 | TS_I32 } },
    { 0 },
};

const OpDef sdx_op_ms_MurmurHash3 = {
    .name = "MurmurHash3",
    .domain = "com.microsoft",
    .sig = "T->U",
    .attrs = hash_attrs,
    .attrs_size = sizeof(HashAttrs),
    .vers = hash_vers,
    .infer = hash_infer,
    .cpu = { NULL, hash_run },
};

/* -- DynamicTimeWarping -------------------------------------------------------------------------------------------- */

/* The path through a matrix of costs from its first to its last element, by steps down, right or both, whose sum is
 * least: rows of the path, then columns. */
static sdx_status warp_infer(Infer *c)
{
    TRY(infer_rank_between(c, 0, 2, 3, "input"));
    const Shape *x = infer_shape(c, 0);
    if (x && x->rank == 3 && dim_differs(x->dims[0], 1))
        return sdx_infer_fail(c, "input has %lld matrices; it may have 1", (long long)x->dims[0]);
    infer_out_rank(c, 0, 2)[0] = 2;
    return SDX_OK;
}

static sdx_status warp_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int64_t rows = x->dims[x->rank - 2], cols = x->dims[x->rank - 1], n = 0;
    size_t row_bytes, path_bytes, trace_bytes;
    if (!rows || !cols) return sdx_run_fail(r, "the matrix of costs is empty");
    if (rows > INT32_MAX || cols > INT32_MAX || !sdx_mul_size(&row_bytes, (size_t)cols, 2 * sizeof(float)) ||
        !sdx_mul_size(&path_bytes, (size_t)(rows + cols), 2 * sizeof(int32_t)) ||
        !sdx_mul_size(&trace_bytes, (size_t)rows, (size_t)cols))
        return sdx_run_fail(r, "the matrix of costs is too large");
    float *above = sdx_run_heap(r, row_bytes);
    int32_t *path = sdx_run_heap(r, path_bytes);
    uint8_t *trace = sdx_run_heap(r, trace_bytes); /* 0 both, 1 down, 2 right */
    if (!above || !path || !trace) return sdx_fail(r->err, SDX_OUT_OF_MEMORY, "out of memory");
    float *here = above + cols;
    for (int64_t j = 0; j < cols; j++) above[j] = INFINITY;
    for (int64_t i = 0; i < rows; i++) {
        const float *cost = (const float *)x->data + i * cols;
        for (int64_t j = 0; j < cols; j++) {
            float both = j ? above[j - 1] : i ? INFINITY : 0, down = above[j], right = j ? here[j - 1] : INFINITY;
            int step = both < down && both < right ? 0 : down < both && down < right ? 1 : 2;
            here[j] = cost[j] + (step == 0 ? both : step == 1 ? down : right);
            trace[i * cols + j] = (uint8_t)(i == 0 && j ? 2 : j == 0 && i ? 1 : step);
        }
        float *swap = above;
        above = here;
        here = swap;
        TRY(sdx_run_poll(r));
    }
    for (int64_t i = rows - 1, j = cols - 1; i >= 0 && j >= 0; n++) {
        int step = trace[i * cols + j];
        path[2 * n] = (int32_t)i;
        path[2 * n + 1] = (int32_t)j;
        i -= step != 2;
        j -= step != 1;
    }
    void *y;
    TRY(sdx_run_output(r, 0, DT_INT32, 2, (int64_t[]){ 2, n }, &y));
    for (int64_t k = 0; k < n; k++)
        for (int part = 0; part < 2; part++) ((int32_t *)y)[part * n + k] = path[2 * (n - 1 - k) + part];
    return SDX_OK;
}

const OpDef sdx_op_ms_DynamicTimeWarping = {
    .name = "DynamicTimeWarping",
    .domain = "com.microsoft",
    .sig = "f32->i32",
    .vers = any_vers,
    .flags = OP_DATA_SHAPE,
    .infer = warp_infer,
    .cpu = { NULL, warp_run },
};
