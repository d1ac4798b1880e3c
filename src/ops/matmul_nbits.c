/* ops/matmul_nbits.c - com.microsoft MatMulNBits, MatMulBnb4: Y = A W^T + bias, W stored in 2, 4 or 8 bits
 *
 * MatMulNBits: row n of W is ceil(K / block_size) blocks, elements packed low bits first, each block with a scale and a
 * zero point: w = (q - zero) * scale. Zero points are absent (the middle of the range), packed like the elements, row by
 * row in whole bytes, or numbers of A's type. With g_idx element k has the scale and zero point of group g_idx[k].
 * MatMulBnb4: two elements a byte, the first in the high half; w = level[q] * absmax, blocks running through all of W.
 *
 * W stays packed: a task brings some rows to float, in the cache, and multiplies all of A by them. For a few rows of A
 * the packed elements are multiplied as they are read; where accuracy_level is 4, which allows it, by those rows of A
 * rounded to 8 bits, block by block. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/rowsprod.h"

typedef struct NBitsAttrs {
    int64_t K, N, block_size, bits, accuracy_level, weight_prepacked;
    int64_t quant_type, training_mode, transB;
} NBitsAttrs;

static const AttrSpec nbits_attrs[] = { OP_INT_REQ(NBitsAttrs, K),
                                        OP_INT_REQ(NBitsAttrs, N),
                                        OP_INT_REQ(NBitsAttrs, block_size),
                                        OP_INT(NBitsAttrs, bits, 4),
                                        OP_INT(NBitsAttrs, accuracy_level, 0),
                                        OP_INT(NBitsAttrs, weight_prepacked, 0),
                                        OP_ATTR_END };
static const AttrSpec bnb4_attrs[] = { OP_INT_REQ(NBitsAttrs, K),
                                       OP_INT_REQ(NBitsAttrs, N),
                                       OP_INT_REQ(NBitsAttrs, block_size),
                                       OP_INT_REQ(NBitsAttrs, quant_type),
                                       OP_INT(NBitsAttrs, training_mode, 0),
                                       OP_INT(NBitsAttrs, transB, 1),
                                       OP_ATTR_END };

enum { IN_A, IN_B, IN_SCALES, IN_ZERO, IN_GROUP, IN_BIAS, MOST = 1 << 30 };

/* Input i is known to hold a number of elements other than want. */
static sdx_status count_check(Infer *c, int i, int64_t want, const char *what)
{
    const Shape *s = infer_shape(c, i);
    int64_t count = 1;
    for (int k = 0; s && k < s->rank; k++) {
        if (!sdx_dim_is_const(s->dims[k]) || s->dims[k] > INT64_MAX / 2 / (count ? count : 1)) return SDX_OK;
        count *= s->dims[k];
    }
    if (!s || count == want) return SDX_OK;
    return sdx_infer_fail(c, "%s has %lld elements; it needs %lld", what, (long long)count, (long long)want);
}

static int64_t div_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

static sdx_status shape_infer(Infer *c)
{
    const NBitsAttrs *at = c->args;
    if (at->K < 1 || at->N < 1 || at->K > MOST || at->N > MOST)
        return sdx_infer_fail(c, "K is %lld and N is %lld", (long long)at->K, (long long)at->N);
    TRY(infer_rank_between(c, IN_A, 1, SDX_MAX_RANK, "A"));
    const Shape *a = infer_shape(c, IN_A);
    if (!a) return SDX_OK;
    if (dim_differs(a->dims[a->rank - 1], at->K))
        return sdx_infer_fail(c, "A has %lld columns; K is %lld", (long long)a->dims[a->rank - 1], (long long)at->K);
    Shape y = *a;
    y.dims[y.rank - 1] = at->N;
    infer_out_shape(c, 0, &y);
    return SDX_OK;
}

static sdx_status nbits_infer(Infer *c)
{
    const NBitsAttrs *at = c->args;
    if (at->bits != 2 && at->bits != 4 && at->bits != 8)
        return sdx_infer_fail(c, "bits is %lld; it may be 2, 4 or 8", (long long)at->bits);
    if (at->block_size < 16 || at->block_size > MOST || at->block_size % 8)
        return sdx_infer_fail(c, "block_size is %lld; it must be a multiple of 8, 16 or more",
                              (long long)at->block_size);
    if (at->weight_prepacked)
        return sdx_infer_fail(c, "weight_prepacked is %lld: the weights have the layout of one device",
                              (long long)at->weight_prepacked);
    TRY(shape_infer(c));
    int64_t blocks = div_up(at->K, at->block_size);
    TRY(count_check(c, IN_B, at->N * blocks * (at->block_size * at->bits / 8), "B"));
    TRY(count_check(c, IN_SCALES, at->N * blocks, "scales"));
    if (infer_has(c, IN_ZERO)) {
        bool packed = c->in[IN_ZERO]->elem == DT_UINT8;
        TRY(count_check(c, IN_ZERO, at->N * (packed ? div_up(blocks * at->bits, 8) : blocks), "zero_points"));
    }
    TRY(infer_is_vector(c, IN_BIAS, at->N, "bias"));
    const Shape *g = infer_shape(c, IN_GROUP);
    if (g && (g->rank != 1 || (sdx_dim_is_const(g->dims[0]) && g->dims[0] < at->K)))
        return sdx_infer_fail(c, "g_idx must be a vector of at least K elements");
    return SDX_OK;
}

static sdx_status bnb4_infer(Infer *c)
{
    const NBitsAttrs *at = c->args;
    if (at->quant_type != 0 && at->quant_type != 1)
        return sdx_infer_fail(c, "quant_type is %lld; it may be 0 (FP4) or 1 (NF4)", (long long)at->quant_type);
    if (at->block_size < 16 || at->block_size > MOST)
        return sdx_infer_fail(c, "block_size is %lld; it must be 16 or more", (long long)at->block_size);
    if (!at->transB) return sdx_infer_fail(c, "transB is 0; only stored rows of output features are supported");
    TRY(shape_infer(c));
    TRY(count_check(c, IN_B, div_up(at->N * at->K, 2), "B"));
    return count_check(c, IN_SCALES, div_up(at->N * at->K, at->block_size), "absmax");
}

typedef struct NBits {
    const NBitsAttrs *at;
    int64_t blocks, blob; /* of a row; bytes of a block */
    const uint8_t *b, *zero;
    const float *scales, *zero_float, *levels;
    const int32_t *group;
    const Kern *kern;
} NBits;

/* -- rows of W ----------------------------------------------------------------------------------------------------- */

static void unpack(uint8_t *q, const uint8_t *from, int64_t n, int64_t bits)
{
    if (bits == 4)
        for (int64_t i = 0; i < n / 2; i++) {
            q[2 * i] = from[i] & 15;
            q[2 * i + 1] = from[i] >> 4;
        }
    else if (bits == 2)
        for (int64_t i = 0; i < n; i++) q[i] = (from[i / 4] >> (i % 4 * 2)) & 3;
    else
        memcpy(q, from, (size_t)n);
}

static int32_t zero_of(const NBits *w, int64_t row, int64_t block)
{
    int64_t bits = w->at->bits, at = block * bits;
    if (!w->zero) return 1 << (bits - 1);
    return (w->zero[row * div_up(w->blocks * bits, 8) + at / 8] >> (at % 8)) & ((1 << bits) - 1);
}

static void row_by_groups(const NBits *w, int64_t row, const uint8_t *q, int64_t from, int64_t n, float *y)
{
    for (int64_t i = 0; i < n; i++) {
        int64_t g = row * w->blocks + w->group[from + i];
        float zero = w->zero_float ? w->zero_float[g] : (float)zero_of(w, row, w->group[from + i]);
        y[i] = ((float)q[i] - zero) * w->scales[g];
    }
}

/* Row `row` as K floats. */
static void nbits_row(const NBits *w, int64_t row, float *y)
{
    enum { PIECE = 512 };
    uint8_t q[PIECE];
    int64_t size = w->at->block_size;
    for (int64_t block = 0; block < w->blocks; block++) {
        int64_t flat = row * w->blocks + block;
        for (int64_t at = 0; at < size; at += PIECE) {
            int64_t from = block * size + at, n = size - at < PIECE ? size - at : PIECE;
            unpack(q, w->b + flat * w->blob + at * w->at->bits / 8, n, w->at->bits);
            if (n > w->at->K - from) n = w->at->K - from;
            if (n <= 0) return;
            float scale = w->scales[flat];
            if (w->group)
                row_by_groups(w, row, q, from, n, y + from);
            else if (w->zero_float)
                for (int64_t i = 0; i < n; i++) y[from + i] = ((float)q[i] - w->zero_float[flat]) * scale;
            else
                w->kern->dequantize_f32[SDX_Q_u8](y + from, q, (size_t)n, scale, zero_of(w, row, block));
        }
    }
}

static void bnb4_row(const NBits *w, int64_t row, float *y)
{
    int64_t k = w->at->K, at = row * k;
    for (int64_t i = 0; i < k; i++, at++)
        y[i] = w->levels[(w->b[at / 2] >> (at % 2 ? 0 : 4)) & 15] * w->scales[at / w->at->block_size];
}

static const float *nbits_rows(const void *weights, int64_t first, int64_t n, float *room)
{
    const NBits *w = weights;
    for (int64_t i = 0; i < n; i++) {
        if (w->levels)
            bnb4_row(w, first + i, room + i * w->at->K);
        else
            nbits_row(w, first + i, room + i * w->at->K);
    }
    return room;
}

/* -- products ------------------------------------------------------------------------------------------------------ */

enum { FEW_ROWS = 8 };

typedef struct NBitsState {
    RowsPlan plan;
    const Kern *kern;
    int64_t m, width; /* width: elements of a row of A with its last block filled up; 0: no quick way */
    size_t at_a;      /* in scratch: the rows of A in the order that the kernel reads */
    bool rounded;     /* A to 8 bits; scratch then holds its scales, sums and integers, see few_rounded */
} NBitsState;

static sdx_status nbits_prepare(Prepare *p)
{
    const NBitsAttrs *at = p->args;
    const Tensor *a = &p->in[IN_A]->t;
    NBitsState *st = sdx_arena_new(p->arena, NBitsState);
    TRY_MEM(st, p->err);
    p->state = st;
    st->kern = p->kern;
    st->m = sdx_dims_product(a->dims, 0, a->rank - 1);
    bool bnb4 = p->node->def->attrs == bnb4_attrs;
    bool plain_zero = p->n_in <= IN_ZERO || !p->in[IN_ZERO] || p->in[IN_ZERO]->t.dtype == DT_UINT8;
    bool in_order = p->n_in <= IN_GROUP || !p->in[IN_GROUP];
    if (!bnb4 && plain_zero && in_order && st->m <= FEW_ROWS && at->bits >= 4 && at->block_size * at->bits % 128 == 0) {
        size_t nbytes;
        st->width = div_up(at->K, at->block_size) * at->block_size;
        st->at_a = sdx_round_up(p->scratch, SDX_ALIGN);
        st->rounded = at->accuracy_level == 4 && at->bits == 4 && p->may_round;
        if (sdx_mul_size(&nbytes, (size_t)(st->m * st->width), sizeof(float)) &&
            sdx_add_size(&p->scratch, st->at_a, nbytes))
            return SDX_OK;
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "scratch does not fit the address space");
    }
    return sdx_rows_plan(p, at->K, &st->plan);
}

/* Row of A, filled up with zeros; for 4 bits the elements of even and odd place apart. */
static void order_row(const NBitsState *st, const NBitsAttrs *at, const float *from, float *to)
{
    int64_t half = st->width / 2;
    memset(to, 0, (size_t)st->width * sizeof *to);
    for (int64_t i = 0; i < at->K; i++) to[at->bits == 4 ? i / 2 + i % 2 * half : i] = from[i];
}

typedef struct FewJob {
    const NBitsState *st;
    const NBits *w;
    const float *a, *bias;
    float *y;
    void *scratch;
} FewJob;

static void few_range(void *arg, int64_t from, int64_t to, int worker)
{
    const FewJob *j = arg;
    const NBits *w = j->w;
    int64_t zero_row = div_up(w->blocks * w->at->bits, 8);
    for (int64_t n = from; n < to; n++)
        for (int64_t row = 0; row < j->st->m; row++) {
            DotBlocks d = { .q = w->b + n * w->blocks * w->blob,
                            .scale = w->scales + n * w->blocks,
                            .zero = w->zero ? w->zero + n * zero_row : NULL,
                            .a = j->a + row * j->st->width,
                            .blocks = (size_t)w->blocks,
                            .bytes = (size_t)w->blob,
                            .bits = (unsigned)w->at->bits };
            j->y[row * w->at->N + n] = w->kern->dot_blocks_f32(&d) + (j->bias ? j->bias[n] : 0);
        }
}

/* A rounded row: integers for the kernel, and by block their scale and, times it, their sum. */
typedef struct Rounded {
    float *scale, *sum; /* sum: of blocks 0, 2, 4 ..., then 1, 3, 5 ... */
    int8_t *a;
} Rounded;

static Rounded rounded_at(const NBitsState *st, void *scratch, int64_t blocks, int64_t row)
{
    float *floats = (float *)((char *)scratch + st->at_a);
    Rounded x = { .scale = floats + row * 2 * blocks, .sum = floats + row * 2 * blocks + blocks };
    x.a = (int8_t *)(floats + st->m * 2 * blocks) + row * st->width;
    return x;
}

static void round_row(const NBits *w, const float *from, Rounded x)
{
    int64_t size = w->at->block_size, k = w->at->K;
    memset(x.a, 0, (size_t)(w->blocks * size));
    for (int64_t b = 0; b < w->blocks; b++) {
        int64_t n = k - b * size < size ? k - b * size : size, sum = 0;
        float most = 0;
        bool finite = true;
        for (int64_t i = 0; i < n; i++) {
            most = fmaxf(most, fabsf(from[b * size + i]));
            finite &= fabsf(from[b * size + i]) <= FLT_MAX;
        }
        float inverse = finite && most > 0 ? 127 / most : 0;
        if (!(inverse <= FLT_MAX)) inverse = 0; /* of subnormal numbers */
        for (int64_t i = 0; i < n && inverse > 0; i++) {
            int8_t v = (int8_t)rintf(from[b * size + i] * inverse);
            sum += v;
            x.a[b * size + i / 32 * 32 + i % 32 / 2 + i % 2 * 16] = v;
        }
        x.scale[b] = !finite ? NAN : inverse > 0 ? most / 127 : 0;
        x.sum[b / 2 + b % 2 * ((w->blocks + 1) / 2)] = x.scale[b] * (float)sum;
    }
}

static void rounded_range(void *arg, int64_t from, int64_t to, int worker)
{
    const FewJob *j = arg;
    const NBits *w = j->w;
    int64_t zero_row = div_up(w->blocks * w->at->bits, 8);
    for (int64_t n = from; n < to; n++) {
        const float *scale = w->scales + n * w->blocks;
        for (int64_t row = 0; row < j->st->m; row++) {
            Rounded x = rounded_at(j->st, j->scratch, w->blocks, row);
            DotNibbles d = { .q = w->b + n * w->blocks * w->blob,
                             .scale = scale,
                             .a = x.a,
                             .a_scale = x.scale,
                             .blocks = (size_t)w->blocks,
                             .bytes = (size_t)w->blob };
            float zeros = w->kern->dot_zeros_f32(scale, w->zero ? w->zero + n * zero_row : NULL, x.sum, d.blocks);
            j->y[row * w->at->N + n] = w->kern->dot_nibbles_i8(&d) - zeros + (j->bias ? j->bias[n] : 0);
        }
    }
}

static void few_rows(Run *r, const NBits *w, const float *bias, float *y)
{
    const NBitsState *st = r->state;
    const float *a = r->in[IN_A]->t.data;
    FewJob j = { .st = st, .w = w, .a = (float *)((char *)r->scratch + st->at_a), .bias = bias, .y = y };
    j.scratch = r->scratch;
    for (int64_t row = 0; row < st->m; row++)
        if (st->rounded)
            round_row(w, a + row * w->at->K, rounded_at(st, r->scratch, w->blocks, row));
        else
            order_row(st, w->at, a + row * w->at->K, (float *)j.a + row * st->width);
    sdx_run_range(r, w->at->N, grain_for(st->width * st->m / 8), st->rounded ? rounded_range : few_range, &j);
}

static const void *data_of(const Run *r, int i) { return i < r->n_in && r->in[i] ? r->in[i]->t.data : NULL; }

static sdx_status product_run(Run *r, const NBits *w)
{
    const NBitsState *st = r->state;
    const Tensor *a = &r->in[IN_A]->t;
    int64_t dims[SDX_MAX_RANK];
    void *y;
    memcpy(dims, a->dims, sizeof dims);
    dims[a->rank - 1] = w->at->N;
    TRY(sdx_run_output(r, 0, DT_FLOAT, a->rank, dims, &y));
    const float *bias = w->levels ? NULL : data_of(r, IN_BIAS);
    if (st->width) {
        few_rows(r, w, bias, y);
        return SDX_OK;
    }
    RowsProduct q = {
        .m = st->m, .n = w->at->N, .k = w->at->K, .a = a->data, .bias = bias, .y = y, .rows = nbits_rows, .weights = w
    };
    sdx_rows_product(r, &st->plan, &q);
    return SDX_OK;
}

static sdx_status nbits_run(Run *r)
{
    const NBitsAttrs *at = r->args;
    const NBitsState *st = r->state;
    NBits w = { .at = at,
                .blocks = div_up(at->K, at->block_size),
                .blob = at->block_size * at->bits / 8,
                .b = r->in[IN_B]->t.data,
                .scales = r->in[IN_SCALES]->t.data,
                .group = data_of(r, IN_GROUP),
                .kern = st->kern };
    if (data_of(r, IN_ZERO) && r->in[IN_ZERO]->t.dtype == DT_UINT8)
        w.zero = data_of(r, IN_ZERO);
    else
        w.zero_float = data_of(r, IN_ZERO);
    for (int64_t i = 0; w.group && i < at->K; i++)
        if (w.group[i] < 0 || w.group[i] >= w.blocks)
            return sdx_run_fail(r, "g_idx[%lld] is %d; there are %lld groups", (long long)i, (int)w.group[i],
                                (long long)w.blocks);
    return product_run(r, &w);
}

static sdx_status bnb4_run(Run *r)
{
    static const float fp4[16] = { 0, 5.208333333e-03f,  0.66666667f,  1,  0.33333333f,  0.5f,  0.16666667f,  0.25f,
                                   0, -5.208333333e-03f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f };
    static const float nf4[16] = { -1,
                                   -0.6961928009986877f,
                                   -0.5250730514526367f,
                                   -0.39491748809814453f,
                                   -0.28444138169288635f,
                                   -0.18477343022823334f,
                                   -0.09105003625154495f,
                                   0,
                                   0.07958029955625534f,
                                   0.16093020141124725f,
                                   0.24611230194568634f,
                                   0.33791524171829224f,
                                   0.44070982933044434f,
                                   0.5626170039176941f,
                                   0.7229568362236023f,
                                   1 };
    const NBitsAttrs *at = r->args;
    return product_run(r, &(NBits){ .at = at,
                                    .b = r->in[IN_B]->t.data,
                                    .scales = r->in[IN_SCALES]->t.data,
                                    .levels = at->quant_type ? nf4 : fp4 });
}

#define REALS (TS_F32 | TS_F16 | TS_BF16)
static const OpVer nbits_vers[] = { { 1, { REALS, REALS | TS_U8 } }, { 0 } };

const OpDef sdx_op_ms_MatMulNBits = {
    .name = "MatMulNBits",
    .domain = "com.microsoft",
    .sig = "T,u8,T,U?,i32?,T?->T",
    .attrs = nbits_attrs,
    .attrs_size = sizeof(NBitsAttrs),
    .vers = nbits_vers,
    .flags = OP_F32_MATH,
    .infer = nbits_infer,
    .cpu = { nbits_prepare, nbits_run },
};

const OpDef sdx_op_ms_MatMulBnb4 = {
    .name = "MatMulBnb4",
    .domain = "com.microsoft",
    .sig = "T,u8,T->T",
    .attrs = bnb4_attrs,
    .attrs_size = sizeof(NBitsAttrs),
    .vers = nbits_vers,
    .flags = OP_F32_MATH,
    .infer = bnb4_infer,
    .cpu = { nbits_prepare, bnb4_run },
};
