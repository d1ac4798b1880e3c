/* ops/group_query.c - com.microsoft GroupQueryAttention and SparseAttention
 *
 * Causal attention with a cache of keys and values [batch, kv_heads, capacity, size], several query heads sharing a key
 * head. Row b of the batch has total[b] keys in all, `fresh` of them new; so its first new row is at place
 * total[b] - fresh, but at 0 in a first prompt, whose padding lies at the right and gives results that mean nothing. The
 * capacity is that of the past, or the longest total when that is more. Before use, queries and new keys are normalised
 * (root mean square of each head) and rotated, if asked. A cache may hold integers: int8, or 4 bits and an offset of 8 in
 * uint8, low half first, with a scale for all or for each channel of a head; new rows are rounded before they are used.
 * A sliding cache keeps at its beginning the last rows alone, at least a window of them (resident).
 *
 * SparseAttention sees of the causal keys those in the blocks of its layout, one for every heads' number modulo the
 * number of layouts, in compressed rows. */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/attend.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/rotary.h"
#include "ops/shapes.h"

/* Inputs by role; -1: there is none. */
typedef struct GroupRoles {
    int past_k, past_v, lengths, total, cos, sin, ids, add, sink, k_scale, v_scale, q_norm, k_norm, fresh;
    int rows, columns; /* SparseAttention: its layouts */
    bool is_sparse;
} GroupRoles;

static const GroupRoles group_roles = { 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, -1, -1, false };
static const GroupRoles sparse_roles = { .past_k = 3,
                                         .past_v = 4,
                                         .rows = 5,
                                         .columns = 6,
                                         .total = 7,
                                         .lengths = 8,
                                         .cos = 9,
                                         .sin = 10,
                                         .ids = -1,
                                         .add = -1,
                                         .sink = -1,
                                         .k_scale = -1,
                                         .v_scale = -1,
                                         .q_norm = -1,
                                         .k_norm = -1,
                                         .fresh = -1,
                                         .is_sparse = true };

typedef struct GroupAttrs {
    int64_t num_heads, kv_num_heads, causal, do_rotary, kv_cache_bit_width, local_window_size, qk_output,
        rotary_interleaved, sliding_window_cache, smooth_softmax, sparse_block_size;
    float scale, softcap, qk_norm_epsilon, q_norm_epsilon, k_norm_epsilon;
    Str k_quant_type, v_quant_type;
} GroupAttrs;

/* -- inference ----------------------------------------------------------------------------------------------------- */

typedef struct GroupSizes {
    bool packed; /* keys and values follow the queries in one input */
    Dim batch, rows, past, size;
    Dim width;   /* of a row of the cache */
    DType cache; /* DT_FLOAT, DT_INT8, or DT_UINT8 for 4 bits */
} GroupSizes;

static bool has(const Infer *c, int i) { return i >= 0 && infer_has(c, i); }

static sdx_status attrs_check(const Infer *c, const GroupRoles *ro)
{
    const GroupAttrs *a = c->args;
    if (a->num_heads < 1 || a->kv_num_heads < 1 || a->num_heads > INT32_MAX || a->num_heads % a->kv_num_heads)
        return sdx_infer_fail(c, "%lld query heads are no multiple of %lld key heads", (long long)a->num_heads,
                              (long long)a->kv_num_heads);
    if (ro->is_sparse)
        return a->sparse_block_size > 0 && a->sparse_block_size <= INT32_MAX
                   ? SDX_OK
                   : sdx_infer_fail(c, "sparse_block_size is %lld", (long long)a->sparse_block_size);
    if (a->sliding_window_cache && (a->local_window_size < 1 || !has(c, ro->past_k) || has(c, ro->add) || a->qk_output))
        return sdx_infer_fail(c, "sliding_window_cache needs a local_window_size and a past, and takes neither "
                                 "attention_bias nor qk_output");
    if (a->local_window_size < -1 || (a->local_window_size >= 0 && !a->causal))
        return sdx_infer_fail(c, "local_window_size is %lld with causal %lld", (long long)a->local_window_size,
                              (long long)a->causal);
    if (a->qk_output < 0 || a->qk_output > 2)
        return sdx_infer_fail(c, "qk_output is %lld; it must be 0, 1 or 2", (long long)a->qk_output);
    if (has(c, ro->q_norm) != has(c, ro->k_norm))
        return sdx_infer_fail(c, "q_norm_weight and k_norm_weight go together");
    return SDX_OK;
}

static bool is_quant_type(Str s) { return str_is(s, "PER_TENSOR") || str_is(s, "PER_CHANNEL"); }

/* The type and width of the cache's rows, and what has to come with it. */
static sdx_status cache_sizes(const Infer *c, const GroupRoles *ro, GroupSizes *z)
{
    const GroupAttrs *a = c->args;
    DType d = has(c, ro->past_k) ? c->in[ro->past_k]->elem : DT_FLOAT;
    z->cache = d == DT_INT8 || d == DT_UINT8 ? d : DT_FLOAT;
    z->width = z->size;
    if (ro->is_sparse) return SDX_OK;
    bool integers = z->cache != DT_FLOAT, k = is_quant_type(a->k_quant_type), v = is_quant_type(a->v_quant_type);
    if (k != integers || v != integers)
        return sdx_infer_fail(c, "k_quant_type %.*s and v_quant_type %.*s do not go with a past of type %s",
                              (int)a->k_quant_type.n, a->k_quant_type.p, (int)a->v_quant_type.n, a->v_quant_type.p,
                              sdx_dtype_name(d));
    if (!integers) return SDX_OK;
    if (a->sliding_window_cache) return sdx_infer_fail(c, "a sliding cache of integers is not supported");
    if (!has(c, ro->k_scale) || !has(c, ro->v_scale))
        return sdx_infer_fail(c, "a cache of integers needs k_scale and v_scale");
    int64_t bits = z->cache == DT_INT8 ? 8 : 4;
    if (a->kv_cache_bit_width && a->kv_cache_bit_width != bits)
        return sdx_infer_fail(c, "kv_cache_bit_width is %lld for a past of type %s", (long long)a->kv_cache_bit_width,
                              sdx_dtype_name(d));
    return bits == 4 ? sdx_infer_head_size(c, "a head of the cache", z->size, 2, &z->width) : SDX_OK;
}

static sdx_status group_sizes(const Infer *c, const GroupRoles *ro, GroupSizes *z)
{
    const GroupAttrs *a = c->args;
    *z = (GroupSizes){ !has(c, 1),      SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN,
                       SDX_DIM_UNKNOWN, SDX_DIM_UNKNOWN, DT_FLOAT };
    TRY(attrs_check(c, ro));
    TRY(infer_rank_between(c, 0, 3, 3, "the query"));
    if (has(c, 1) != has(c, 2)) return sdx_infer_fail(c, "key and value go together");
    const Shape *q = infer_shape(c, 0), *pk = infer_shape(c, ro->past_k);
    if (q) {
        int64_t heads = a->num_heads + (z->packed ? 2 * a->kv_num_heads : 0);
        z->batch = q->dims[0];
        z->rows = q->dims[1];
        TRY(sdx_infer_head_size(c, "the query", q->dims[2], heads, &z->size));
    }
    Dim want[3] = { z->batch, z->rows, infer_mul(c, z->size, a->kv_num_heads) };
    TRY(sdx_infer_shape_is(c, 1, "the key", 3, want));
    TRY(sdx_infer_shape_is(c, 2, "the value", 3, want));
    if (has(c, ro->past_k) != has(c, ro->past_v)) return sdx_infer_fail(c, "past_key and past_value go together");
    z->past = !has(c, ro->past_k) ? 0 : pk && pk->rank == 4 ? pk->dims[2] : SDX_DIM_UNKNOWN;
    TRY(cache_sizes(c, ro, z));
    Dim cache[4] = { z->batch, a->kv_num_heads, z->past, z->width };
    TRY(sdx_infer_shape_is(c, ro->past_k, "past_key", 4, cache));
    TRY(sdx_infer_shape_is(c, ro->past_v, "past_value", 4, cache));
    const Shape *s = infer_shape(c, ro->lengths);
    if (s && s->rank == 2) /* [batch, 1] occurs */
        TRY(sdx_infer_shape_is(c, ro->lengths, "the lengths", 2, (Dim[]){ z->batch, 1 }));
    else
        TRY(infer_is_vector(c, ro->lengths, z->batch, "the lengths"));
    return SDX_OK;
}

static sdx_status tables_check(const Infer *c, const GroupRoles *ro, const GroupSizes *z)
{
    const GroupAttrs *a = c->args;
    if (a->do_rotary && !(has(c, ro->cos) && has(c, ro->sin)))
        return sdx_infer_fail(c, "do_rotary needs cos_cache and sin_cache");
    TRY(infer_rank_between(c, ro->cos, 2, 2, "cos_cache"));
    const Shape *cos = has(c, ro->cos) ? infer_shape(c, ro->cos) : NULL,
                *add = ro->add < 0 ? NULL : infer_shape(c, ro->add);
    if (cos && sdx_dim_is_const(cos->dims[1]) && sdx_dim_is_const(z->size) && cos->dims[1] > z->size / 2)
        return sdx_infer_fail(c, "cos_cache is %lld wide, half a head has %lld elements", (long long)cos->dims[1],
                              (long long)(z->size / 2));
    if (cos) TRY(sdx_infer_shape_is(c, ro->sin, "sin_cache", 2, (Dim[]){ SDX_DIM_UNKNOWN, cos->dims[1] }));
    if (ro->is_sparse) {
        TRY(infer_rank_between(c, ro->rows, 2, 2, "block_row_indices"));
        return infer_rank_between(c, ro->columns, 2, 2, "block_col_indices");
    }
    TRY(sdx_infer_shape_is(c, ro->ids, "position_ids", 2, (Dim[]){ z->batch, z->rows }));
    TRY(infer_is_vector(c, ro->sink, a->num_heads, "head_sink"));
    TRY(infer_is_vector(c, ro->q_norm, z->size, "q_norm_weight"));
    TRY(infer_is_vector(c, ro->k_norm, z->size, "k_norm_weight"));
    TRY(infer_is_vector(c, ro->fresh, z->batch, "query_seqlens"));
    if (add && (add->rank != 4 || (dim_differs(add->dims[0], z->batch) && add->dims[0] != 1) ||
                (dim_differs(add->dims[1], a->num_heads) && add->dims[1] != 1) || dim_differs(add->dims[2], z->rows)))
        return sdx_infer_fail(c, "attention_bias has to have the shape [1 or batch, 1 or num_heads, rows, keys]");
    return SDX_OK;
}

static sdx_status group_infer(Infer *c, const GroupRoles *ro)
{
    const GroupAttrs *a = c->args;
    GroupSizes z;
    DimVec total;
    TRY(group_sizes(c, ro, &z));
    TRY(tables_check(c, ro, &z));
    Dim *y = infer_out_rank(c, 0, 3);
    y[0] = z.batch, y[1] = z.rows, y[2] = infer_mul(c, z.size, a->num_heads);
    Dim keys = z.past, longest = SDX_DIM_UNKNOWN;
    if (!ro->is_sparse) {
        DimVal v = sdx_infer_ints(c, ro->total, &total) && total.n == 1 ? total.v[0] : sdx_dimval_unknown();
        longest = sdx_dim_of(v);
        keys = a->sliding_window_cache ? z.past : sdx_dim_of(sdx_dimval_max(c->syms, v, sdx_dimval_of(z.past)));
    }
    for (int o = 1; o <= 3; o++) {
        Dim *p = infer_out_rank(c, o, 4);
        p[0] = z.batch, p[1] = o == 3 ? a->num_heads : a->kv_num_heads, p[2] = o == 3 ? z.rows : keys;
        p[3] = o == 3 ? longest : z.width;
    }
    for (int o = 1; o <= 2 && o < c->n_out; o++) c->out[o].elem = c->in[has(c, ro->past_k) ? ro->past_k : 0]->elem;
    return SDX_OK;
}

/* -- run ----------------------------------------------------------------------------------------------------------- */

typedef struct GroupState {
    const GroupRoles *ro;
    GroupSizes z;
    const Kern *kern;
    bool flush;
} GroupState;

static sdx_status group_prepare(Prepare *p, const GroupRoles *ro)
{
    GroupState *st = sdx_arena_new(p->arena, GroupState);
    Infer c;
    TRY_MEM(st, p->err);
    TRY(sdx_prepare_infer(p, &c));
    TRY(group_sizes(&c, ro, &st->z));
    st->ro = ro;
    st->kern = p->kern;
    st->flush = p->flush_subnormals;
    p->state = st;
    return SDX_OK;
}

/* Everything that one run knows. Lengths come with it, so its memory is taken from the run's heap. */
typedef struct GroupRun {
    Run *r;
    const GroupRoles *ro;
    const GroupAttrs *a;
    GroupSizes z;
    int64_t total, capacity; /* the longest row of the batch; rows of the cache */
    int64_t room;            /* rows of the floats that are worked on: more than those of a sliding cache */
    bool first;              /* prompt */
    Attend s;
    void *block;
    int64_t *past, *fresh, *valid, *gone; /* of each row of the batch; gone: keys that slid out before this run */
    float *q, *k, *v, *sink;
    void *present[2]; /* outputs; NULL: nobody asks */
    uint8_t *seen;    /* SparseAttention: [batch, layouts, rows, total] */
    AttnMat qm, km, vm;
} GroupRun;

static const Tensor *input(const GroupRun *g, int i) { return i >= 0 && DATUM_HAS(g->r, i) ? &g->r->in[i]->t : NULL; }
static const void *data_of(const GroupRun *g, int i) { return input(g, i) ? input(g, i)->data : NULL; }

static sdx_status group_total(GroupRun *g)
{
    const Tensor *t = input(g, g->ro->total);
    g->total = sdx_tensor_count(t) == 1 ? sdx_tensor_get_int(t, 0) : -1;
    if (g->total < 0) return sdx_run_fail(g->r, "total_sequence_length is not one number from 0 up");
    bool slides = g->a->sliding_window_cache != 0;
    if (slides && g->z.past < g->a->local_window_size)
        return sdx_run_fail(g->r, "the sliding cache has %lld rows, the window %lld", (long long)g->z.past,
                            (long long)g->a->local_window_size);
    /* Before memory is taken: no row of the batch can be longer than this. */
    if (!slides && !input(g, g->ro->fresh) && g->total > g->z.past + g->z.rows)
        return sdx_run_fail(g->r, "total_sequence_length is %lld; there are %lld past rows and %lld new ones",
                            (long long)g->total, (long long)g->z.past, (long long)g->z.rows);
    g->first = g->total == g->z.rows;
    g->capacity = g->ro->is_sparse || slides || g->z.past > g->total ? g->z.past : g->total;
    if (!sdx_add_i64(&g->room, g->capacity, slides ? g->z.rows : 0))
        return sdx_run_fail(g->r, "the cache does not fit the address space");
    return SDX_OK;
}

/* Of `all` keys, how many a sliding cache holds: it drops `capacity - window + 1` at once. */
static int64_t resident(const GroupRun *g, int64_t all)
{
    int64_t most = g->z.past, drop = most - g->a->local_window_size + 1;
    return all <= most ? all : all - (all - most + drop - 1) / drop * drop;
}

/* Rows of each batch: how many were there, how many are new, how many there are. */
static sdx_status group_lengths(GroupRun *g)
{
    const int32_t *lengths = data_of(g, g->ro->lengths), *fresh = data_of(g, g->ro->fresh);
    for (int64_t b = 0; b < g->z.batch; b++) {
        int64_t all = (int64_t)lengths[b] + (g->ro->is_sparse ? 0 : 1);
        int64_t n = g->first && !fresh && all < g->z.rows ? all : g->z.rows;
        if (fresh) n = fresh[b];
        bool fits = all >= 1 && all <= g->total && n >= 0 && n <= all && n <= g->z.rows;
        if (!g->a->sliding_window_cache) fits = fits && all <= g->capacity && all - n <= g->z.past;
        if (!fits)
            return sdx_run_fail(g->r,
                                "row %lld of the batch has %lld keys, %lld of them new; there are %lld rows, %lld past "
                                "ones, and total_sequence_length is %lld",
                                (long long)b, (long long)all, (long long)n, (long long)g->z.rows, (long long)g->z.past,
                                (long long)g->total);
        g->past[b] = g->a->sliding_window_cache ? resident(g, all - n) : all - n;
        g->fresh[b] = n;
        g->valid[b] = g->past[b] + n;
        g->gone[b] = all - g->valid[b];
    }
    return SDX_OK;
}

/* The place that new row i of batch b is rotated to. */
static int64_t place_of(const GroupRun *g, int64_t b, int64_t i)
{
    const int64_t *ids = data_of(g, g->ro->ids);
    if (!ids) return g->gone[b] + g->past[b] + i;
    return g->first ? ids[0] + i : ids[b * g->z.rows + i];
}

static sdx_status places_check(const GroupRun *g)
{
    int64_t most = input(g, g->ro->cos)->dims[0];
    for (int64_t b = 0; b < g->z.batch; b++)
        for (int64_t i = 0; i < g->fresh[b]; i++) {
            int64_t at = place_of(g, b, i);
            if (at < 0 || at >= most)
                return sdx_run_fail(g->r, "row %lld of batch %lld is at place %lld; the caches have %lld", (long long)i,
                                    (long long)b, (long long)at, (long long)most);
        }
    return SDX_OK;
}

typedef struct TurnJob {
    const GroupRun *g;
    float *x; /* [batch, heads, capacity, size] */
    int64_t heads, capacity;
    bool is_key; /* new rows follow the past */
    const float *norm;
    float epsilon;
} TurnJob;

/* Normalises and rotates the new rows of one head. */
static void turn_range(void *arg, int64_t from, int64_t to, int worker)
{
    const TurnJob *j = arg;
    const GroupRun *g = j->g;
    int64_t size = g->z.size, half = g->a->do_rotary ? input(g, g->ro->cos)->dims[1] : 0;
    const float *cos = data_of(g, g->ro->cos), *sin = data_of(g, g->ro->sin);
    for (int64_t u = from; u < to; u++) {
        int64_t b = u / j->heads;
        float *x = j->x + (u * j->capacity + (j->is_key ? g->past[b] : 0)) * size;
        for (int64_t i = 0; i < g->fresh[b]; i++, x += size) {
            if (j->norm) {
                float sum = 0;
                for (int64_t d = 0; d < size; d++) sum += x[d] * x[d];
                float scale = 1 / sqrtf(sum / (float)size + j->epsilon);
                for (int64_t d = 0; d < size; d++) x[d] *= scale * j->norm[d];
            }
            int64_t at = half ? place_of(g, b, i) * half : 0;
            if (half) sdx_rotate_head(x, x, cos + at, sin + at, half, size, g->a->rotary_interleaved != 0);
        }
    }
}

static void turn(const GroupRun *g, float *x, int64_t heads, int64_t capacity, bool is_key)
{
    float own = is_key ? g->a->k_norm_epsilon : g->a->q_norm_epsilon;
    TurnJob j = { g,
                  x,
                  heads,
                  capacity,
                  is_key,
                  data_of(g, is_key ? g->ro->k_norm : g->ro->q_norm),
                  own == own ? own : g->a->qk_norm_epsilon };
    if (!j.norm && !g->a->do_rotary) return;
    sdx_run_range(g->r, g->z.batch * heads, grain_for(g->z.rows * g->z.size * 4), turn_range, &j);
}

/* Which keys the layouts of SparseAttention let each row see. */
static sdx_status layouts_expand(GroupRun *g)
{
    const Tensor *rows = input(g, g->ro->rows), *columns = input(g, g->ro->columns);
    int64_t layouts = rows->dims[0], blocks = rows->dims[1] - 1, most = columns->dims[1],
            size = g->a->sparse_block_size;
    for (int64_t b = 0; b < g->z.batch; b++)
        for (int64_t l = 0; l < layouts; l++)
            for (int64_t i = 0; i < g->fresh[b]; i++) {
                uint8_t *seen = g->seen + ((b * layouts + l) * g->z.rows + i) * g->total;
                int64_t block = (g->past[b] + i) / size, from, to;
                if (block >= blocks)
                    return sdx_run_fail(g->r, "row %lld lies in block %lld; the layouts have %lld", (long long)i,
                                        (long long)block, (long long)blocks);
                from = ((const int32_t *)rows->data)[l * rows->dims[1] + block];
                to = ((const int32_t *)rows->data)[l * rows->dims[1] + block + 1];
                if (from < 0 || to > most)
                    return sdx_run_fail(g->r, "block_row_indices holds [%lld, %lld) of %lld columns", (long long)from,
                                        (long long)to, (long long)most);
                for (int64_t k = from; k < to; k++) {
                    int64_t column = ((const int32_t *)columns->data)[l * most + k], at = column * size;
                    if (column < 0 || column >= blocks)
                        return sdx_run_fail(g->r, "block_col_indices holds %lld of %lld blocks", (long long)column,
                                            (long long)blocks);
                    for (int64_t j = at; j < at + size && j < g->total; j++) seen[j] = 1;
                }
            }
    return SDX_OK;
}

/* Takes all memory that the run needs, in one block. */
static sdx_status group_memory(GroupRun *g)
{
    const GroupSizes *z = &g->z;
    Run *r = g->r;
    int64_t heads = g->a->num_heads, kv = g->a->kv_num_heads, layouts = 0, n;
    if (g->ro->is_sparse) {
        layouts = input(g, g->ro->rows)->dims[0];
        if (layouts < 1 || heads % layouts || input(g, g->ro->columns)->dims[0] != layouts)
            return sdx_run_fail(r, "%lld layouts do not go with %lld heads", (long long)layouts, (long long)heads);
    }
    int64_t cache[4] = { z->batch, kv, g->capacity, z->width };
    for (int o = 1; o <= 2; o++)
        if (r->n_out > o && r->out[o]) TRY(sdx_run_output(r, o, z->cache, 4, cache, &g->present[o - 1]));
    bool apart = z->cache != DT_FLOAT || g->room != g->capacity; /* from the outputs */
    float *k = apart ? NULL : g->present[0], *v = apart ? NULL : g->present[1];
    cache[2] = g->room;
    cache[3] = z->size;
    if (!sdx_shape_count(cache, 4, &n)) return sdx_run_fail(r, "the cache does not fit the address space");

    enum { PIECES = 7 };
    size_t at[PIECES], total = 0, attend;
    if (!sdx_attend_scratch(&g->s, sdx_pool_threads(r->pool), &attend))
        return sdx_run_fail(r, "its working memory does not fit the address space");
    const size_t count[PIECES][2] = {
        { (size_t)z->batch, 4 * sizeof(int64_t) },
        { (size_t)(z->batch * heads * z->rows * z->size), sizeof(float) },
        { k ? 0 : (size_t)n, sizeof(float) },
        { v ? 0 : (size_t)n, sizeof(float) },
        { (size_t)heads, sizeof(float) },
        { (size_t)(layouts * z->batch * z->rows), (size_t)g->total },
        { attend, 1 },
    };
    for (int i = 0; i < PIECES; i++) {
        size_t nbytes;
        at[i] = sdx_round_up(total, SDX_ALIGN);
        if (!sdx_mul_size(&nbytes, count[i][0], count[i][1]) || !sdx_add_size(&total, at[i], nbytes) ||
            total > SIZE_MAX / 2)
            return sdx_run_fail(r, "its working memory does not fit the address space");
    }
    char *p = g->block = sdx_alloc(sdx_run_alloc(r), total);
    TRY_MEM(p, r->err);
    g->past = (int64_t *)(void *)p;
    g->fresh = g->past + z->batch;
    g->valid = g->fresh + z->batch;
    g->gone = g->valid + z->batch;
    g->q = (float *)(void *)(p + at[1]);
    g->k = k ? k : (float *)(void *)(p + at[2]);
    g->v = v ? v : (float *)(void *)(p + at[3]);
    g->sink = (float *)(void *)(p + at[4]);
    g->seen = (uint8_t *)p + at[5];
    memset(g->seen, 0, count[5][0] * count[5][1]);
    g->s.scratch = p + at[6];
    return SDX_OK;
}

/* New rows of the queries, or of keys or values behind their past. */
static void gather(const GroupRun *g, AttnMat m, int64_t heads, int64_t capacity, int in_past, float *dst)
{
    bool cache = in_past >= 0;
    KvAppend k = { .dst = dst,
                   .before = cache && g->z.cache == DT_FLOAT ? data_of(g, in_past) : NULL,
                   .m = m,
                   .batches = g->z.batch,
                   .heads = heads,
                   .capacity = capacity,
                   .before_rows = g->z.past,
                   .pasts = cache ? g->past : NULL,
                   .fresh = g->z.rows,
                   .freshs = cache ? g->fresh : NULL,
                   .size = g->z.size,
                   .buffer = cache && g->ro->is_sparse,
                   .esize = sizeof(float) };
    sdx_kv_append(g->r, &k);
}

/* -- caches of integers -------------------------------------------------------------------------------------------- */

typedef struct CodesJob {
    const GroupRun *g;
    const uint8_t *past;
    uint8_t *out;       /* NULL: nobody asks */
    float *x;           /* [batch, kv_heads, capacity, size] */
    const float *scale; /* one, or [kv_heads, size] */
    bool one_scale;
} CodesJob;

static int64_t code_at(const uint8_t *row, int64_t d, bool four)
{
    return four ? (int64_t)(row[d / 2] >> d % 2 * 4 & 15) - 8 : (int64_t)(int8_t)row[d];
}

/* Codes of one row of floats, which become what the codes stand for. */
static void row_round(float *x, uint8_t *row, const float *scale, bool one_scale, int64_t size, bool four)
{
    for (int64_t d = 0; d < size; d++) {
        float s = scale[one_scale ? 0 : d], lo = four ? -8 : -128, hi = four ? 7 : 127, q = rintf(x[d] / s);
        q = q > lo ? q < hi ? q : hi : lo; /* NaN becomes the lowest */
        x[d] = q * s;
        if (!row) continue;
        unsigned code = (unsigned)((int)q + (four ? 8 : 0)) & (four ? 15 : 255);
        row[four ? d / 2 : d] = (uint8_t)(four && d % 2 ? row[d / 2] | code << 4 : code);
    }
}

static void past_range(void *arg, int64_t from, int64_t to, int worker)
{
    const CodesJob *j = arg;
    const GroupRun *g = j->g;
    int64_t size = g->z.size, width = g->z.width, heads = g->a->kv_num_heads;
    for (int64_t u = from; u < to; u++) {
        const float *scale = j->scale + (j->one_scale ? 0 : u % heads * size);
        for (int64_t i = 0; i < g->past[u / heads]; i++)
            for (int64_t d = 0; d < size; d++)
                j->x[(u * g->room + i) * size + d] = (float)code_at(j->past + (u * g->z.past + i) * width, d,
                                                                    width != size) *
                                                     scale[j->one_scale ? 0 : d];
    }
}

static void present_range(void *arg, int64_t from, int64_t to, int worker)
{
    const CodesJob *j = arg;
    const GroupRun *g = j->g;
    int64_t size = g->z.size, width = g->z.width, heads = g->a->kv_num_heads;
    for (int64_t u = from; u < to; u++) {
        const float *scale = j->scale + (j->one_scale ? 0 : u % heads * size);
        int64_t past = g->past[u / heads], fresh = g->fresh[u / heads];
        uint8_t *out = j->out ? j->out + u * g->capacity * width : NULL;
        for (int64_t i = past; i < past + fresh; i++)
            row_round(j->x + (u * g->room + i) * size, out ? out + i * width : NULL, scale, j->one_scale, size,
                      width != size);
        if (!out || j->out == j->past) continue;
        if (past) memcpy(out, j->past + u * g->z.past * width, (size_t)(past * width));
        memset(out + (past + fresh) * width, 0, (size_t)((g->capacity - past - fresh) * width));
    }
}

static sdx_status codes_job(const GroupRun *g, bool is_value, CodesJob *j)
{
    const Tensor *scale = input(g, is_value ? g->ro->v_scale : g->ro->k_scale);
    int64_t n = sdx_tensor_count(scale), channels = g->a->kv_num_heads * g->z.size;
    j->one_scale = str_is(is_value ? g->a->v_quant_type : g->a->k_quant_type, "PER_TENSOR");
    if (n != (j->one_scale ? 1 : channels))
        return sdx_run_fail(g->r, "the scale of %s has %lld elements; it needs %lld", is_value ? "values" : "keys",
                            (long long)n, j->one_scale ? 1LL : (long long)channels);
    j->g = g;
    j->past = data_of(g, is_value ? g->ro->past_v : g->ro->past_k);
    j->out = g->present[is_value];
    j->x = is_value ? g->v : g->k;
    j->scale = scale->data;
    return SDX_OK;
}

/* -- one run ------------------------------------------------------------------------------------------------------- */

/* The last rows of one head to the sliding cache. */
static void slide_range(void *arg, int64_t from, int64_t to, int worker)
{
    const GroupRun *g = arg;
    int64_t heads = g->a->kv_num_heads, each = g->capacity * g->z.size;
    for (int64_t u = from; u < to; u++) {
        int64_t b = u / heads, all = g->gone[b] + g->valid[b], n = resident(g, all) * g->z.size;
        for (int i = 0; i < 2; i++) {
            float *y = g->present[i] ? (float *)g->present[i] + u * each : NULL;
            const float *x = (i ? g->v : g->k) + (u * g->room + g->valid[b]) * g->z.size - n;
            if (y && n) memcpy(y, x, (size_t)n * sizeof *y);
            if (y && each > n) memset(y + n, 0, (size_t)(each - n) * sizeof *y);
        }
    }
}

static void find_operands(GroupRun *g)
{
    int64_t n = g->a->num_heads, kv = g->a->kv_num_heads, h = g->z.size, rows = g->z.rows;
    g->qm = attn_mat(data_of(g, 0), true, n, rows, h);
    if (!g->z.packed) {
        g->km = attn_mat(data_of(g, 1), true, kv, rows, h);
        g->vm = attn_mat(data_of(g, 2), true, kv, rows, h);
        return;
    }
    g->qm.row = (n + 2 * kv) * h;
    g->qm.batch = rows * g->qm.row;
    g->km = g->vm = g->qm;
    g->km.p = (const float *)g->qm.p + n * h;
    g->vm.p = (const float *)g->qm.p + (n + kv) * h;
}

static sdx_status group_biases(GroupRun *g, Attn *a)
{
    const Tensor *add = input(g, g->ro->add);
    if (add) {
        int64_t keys = add->dims[3];
        if (keys < g->total)
            return sdx_run_fail(g->r, "attention_bias is %lld wide; there are %lld keys", (long long)keys,
                                (long long)g->total);
        a->bias[0] = (AttnBias){ .p = add->data, .row = keys, .col = 1, .keys = g->total };
        if (add->dims[1] != 1) a->bias[0].head = g->z.rows * keys;
        if (add->dims[0] != 1) a->bias[0].batch = add->dims[1] * g->z.rows * keys;
    }
    if (g->ro->is_sparse) {
        TRY(layouts_expand(g));
        int64_t layouts = input(g, g->ro->rows)->dims[0];
        a->bias[0] = (AttnBias){ .p = g->seen, .is_bool = true, .row = g->total, .col = 1, .keys = g->total };
        a->bias[0].heads = layouts;
        a->bias[0].head = g->z.rows * g->total;
        a->bias[0].batch = layouts * a->bias[0].head;
    }
    if (!g->ro->is_sparse && (g->a->smooth_softmax == 1 || input(g, g->ro->sink))) {
        const float *sink = data_of(g, g->ro->sink);
        for (int64_t h = 0; h < a->heads; h++) g->sink[h] = sink ? sink[h] : 0;
        a->sink = g->sink;
    }
    return SDX_OK;
}

static sdx_status group_attend(GroupRun *g)
{
    Run *r = g->r;
    Attn *a = &g->s.a;
    const GroupSizes *z = &g->z;
    void *y = NULL;
    TRY(group_lengths(g));
    if (g->a->do_rotary) TRY(places_check(g));
    if (r->out[0])
        TRY(sdx_run_output(r, 0, DT_FLOAT, 3, (int64_t[]){ z->batch, z->rows, a->heads * z->size }, &y));
    else
        a->v_size = 0; /* nobody asks: the caches alone */
    if (!g->ro->is_sparse && r->n_out > 3 && r->out[3])
        TRY(sdx_run_output(r, 3, DT_FLOAT, 4, (int64_t[]){ z->batch, a->heads, z->rows, g->total }, &a->qk));
    find_operands(g);
    gather(g, g->qm, a->heads, z->rows, -1, g->q);
    gather(g, g->km, a->kv_heads, g->room, g->ro->past_k, g->k);
    gather(g, g->vm, a->kv_heads, g->room, g->ro->past_v, g->v);
    CodesJob codes[2];
    int64_t units = z->batch * a->kv_heads, grain = grain_for(g->capacity * z->size);
    for (int i = 0; i < 2 && z->cache != DT_FLOAT; i++) {
        TRY(codes_job(g, i == 1, &codes[i]));
        sdx_run_range(r, units, grain, past_range, &codes[i]);
    }
    turn(g, g->q, a->heads, z->rows, false);
    turn(g, g->k, a->kv_heads, g->room, true);
    for (int i = 0; i < 2 && z->cache != DT_FLOAT; i++) sdx_run_range(r, units, grain, present_range, &codes[i]);
    if (g->a->sliding_window_cache) sdx_run_range(r, units, grain, slide_range, g);
    a->q = attn_mat(g->q, false, a->heads, z->rows, z->size);
    a->k = attn_mat(g->k, false, a->kv_heads, g->room, z->size);
    a->v = attn_mat(g->v, false, a->kv_heads, g->room, z->size);
    a->y = attn_mat(y, true, a->heads, z->rows, z->size);
    a->offset = g->past;
    a->valid = g->valid;
    TRY(group_biases(g, a));
    sdx_attend_run(r, &g->s, a);
    return SDX_OK;
}

static sdx_status group_run(Run *r)
{
    const GroupState *st = r->state;
    GroupRun g = { .r = r, .ro = st->ro, .a = r->args, .z = st->z };
    TRY(group_total(&g));
    g.s = (Attend){ .dtype = DT_FLOAT, .flush = st->flush };
    g.s.a = (Attn){ .kern = st->kern,
                    .batches = g.z.batch,
                    .heads = g.a->num_heads,
                    .kv_heads = g.a->kv_num_heads,
                    .rows = g.z.rows,
                    .keys = g.a->sliding_window_cache ? g.room : g.total,
                    .size = g.z.size,
                    .v_size = g.z.size,
                    .scale = g.a->scale != 0 ? (double)g.a->scale
                             : g.z.size      ? 1 / sqrt((double)g.z.size)
                                             : 1,
                    .softcap = g.a->softcap > 0 ? (double)g.a->softcap : 0,
                    .causal = g.ro->is_sparse || g.a->causal != 0,
                    .left = g.ro->is_sparse || g.a->local_window_size < 1 ? -1 : g.a->local_window_size - 1,
                    .right = -1,
                    .qk_what = g.a->qk_output == 2 ? ATTN_QK_SOFTMAX : ATTN_QK_BIASED };
    if (!sdx_attn_plan(&g.s.a, sizeof(float), &g.s.plan))
        return sdx_run_fail(r, "%lld queries and %lld keys do not fit the address space", (long long)g.z.rows,
                            (long long)g.total);
    sdx_status status = group_memory(&g);
    if (status == SDX_OK) status = group_attend(&g);
    sdx_free(sdx_run_alloc(r), g.block);
    return status;
}

/* -- the operators ------------------------------------------------------------------------------------------------- */

static const AttrSpec group_attrs[] = {
    OP_INT_REQ(GroupAttrs, kv_num_heads),
    OP_INT_REQ(GroupAttrs, num_heads),
    OP_INT(GroupAttrs, causal, 1),
    OP_INT(GroupAttrs, do_rotary, 0),
    OP_STR(GroupAttrs, k_quant_type, "NONE"),
    OP_INT(GroupAttrs, kv_cache_bit_width, 0),
    OP_INT(GroupAttrs, local_window_size, -1),
    OP_FLOAT(GroupAttrs, q_norm_epsilon, NAN), /* absent */
    OP_FLOAT(GroupAttrs, k_norm_epsilon, NAN),
    OP_FLOAT(GroupAttrs, qk_norm_epsilon, 1e-6f),
    OP_INT(GroupAttrs, qk_output, 0),
    OP_INT(GroupAttrs, rotary_interleaved, 0),
    OP_FLOAT(GroupAttrs, scale, 0),
    OP_INT(GroupAttrs, sliding_window_cache, 0),
    OP_INT(GroupAttrs, smooth_softmax, 0),
    OP_FLOAT(GroupAttrs, softcap, 0),
    OP_STR(GroupAttrs, v_quant_type, "NONE"),
    OP_ATTR_END,
};
static const AttrSpec sparse_attrs[] = {
    OP_INT_REQ(GroupAttrs, kv_num_heads),
    OP_INT_REQ(GroupAttrs, num_heads),
    OP_INT_REQ(GroupAttrs, sparse_block_size),
    OP_INT(GroupAttrs, do_rotary, 0),
    OP_INT(GroupAttrs, rotary_interleaved, 0),
    OP_FLOAT(GroupAttrs, scale, 0),
    OP_ATTR_END,
};

#define TS_F32_16 (TS_F32 | TS_F16 | TS_BF16)
static const OpVer sparse_vers[] = { { 1, { TS_F32_16 } }, { 0 } };
static const OpVer group_vers[] = { { 1, { TS_F32_16, TS_F32_16 | TS_I8 | TS_U8 } }, { 0 } };

#define GROUP_OP(Name, prefix, signature)                                                                              \
    static sdx_status prefix##_op_infer(Infer *c) { return group_infer(c, &prefix##_roles); }                          \
    static sdx_status prefix##_op_prepare(Prepare *p) { return group_prepare(p, &prefix##_roles); }                    \
    const OpDef sdx_op_ms_##Name = {                                                                                   \
        .name = #Name,                                                                                                 \
        .domain = "com.microsoft",                                                                                     \
        .sig = signature,                                                                                              \
        .attrs = prefix##_attrs,                                                                                       \
        .attrs_size = sizeof(GroupAttrs),                                                                              \
        .vers = prefix##_vers,                                                                                         \
        .flags = OP_F32_MATH,                                                                                          \
        .infer = prefix##_op_infer,                                                                                    \
        .cpu = { prefix##_op_prepare, group_run },                                                                     \
    };
GROUP_OP(GroupQueryAttention, group, "T,T?,T?,U?,U?,i32,i32,T?,T?,i64?,T?,T?,f32?,f32?,T?,T?,i32?->T,U?,U?,T?")
GROUP_OP(SparseAttention, sparse, "T,T?,T?,T,T,i32,i32,i32,i32,T?,T?->T,T?,T?")
