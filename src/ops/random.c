/* ops/random.c - RandomNormal, RandomUniform, their Like forms, Bernoulli, Multinomial
 *
 * ONNX leaves the numbers to the implementation. Here a seed gives those that NumPy's legacy generator gives for it, the
 * same ones in every run and for any number of threads; without a seed every run differs. */
#include <math.h>

#include "ops/cast.h"
#include "ops/mt19937.h"
#include "ops/shapes.h"

typedef struct RandomAttrs {
    IntList shape;
    int64_t dtype;
    float mean, scale, low, high, seed;
    int64_t sample_size;
} RandomAttrs;

#define RANDOM_SEED OP_FLOAT(RandomAttrs, seed, NAN)
#define RANDOM_NORMAL OP_FLOAT(RandomAttrs, mean, 0), OP_FLOAT(RandomAttrs, scale, 1), RANDOM_SEED
#define RANDOM_UNIFORM OP_FLOAT(RandomAttrs, low, 0), OP_FLOAT(RandomAttrs, high, 1), RANDOM_SEED

static void random_start(Mt19937 *g, const RandomAttrs *a)
{
    uint32_t seed;
    if (isnan(a->seed))
        seed = sdx_mt_fresh_seed();
    else if (a->seed >= 0 && a->seed < 0x1p32f)
        seed = (uint32_t)a->seed;
    else
        memcpy(&seed, &a->seed, sizeof seed);
    sdx_mt_seed(g, seed);
}

/* dtype, or when it is absent the type of input 0, which has to be one of set. */
static sdx_status random_type(Infer *c, DTypeSet set)
{
    int64_t d = ((const RandomAttrs *)c->args)->dtype;
    if (d == OP_INT_ABSENT && c->n_in) d = c->in[0]->elem;
    if (d == DT_NONE) return SDX_OK;
    DType type = d > 0 && d < DT_COUNT ? (DType)d : DT_NONE;
    if (!sdx_dtype_in(type, set))
        return sdx_infer_fail(c, "the output cannot have type %s (%lld)", sdx_dtype_name(type), (long long)d);
    c->out[0].elem = type;
    return SDX_OK;
}

static sdx_status like_infer(Infer *c)
{
    TRY(sdx_infer_same_shape(c));
    return random_type(c, TS_FLTB);
}

static sdx_status random_infer(Infer *c)
{
    const RandomAttrs *a = c->args;
    if (a->shape.n > SDX_MAX_RANK)
        return sdx_infer_fail(c, "the shape has %lld dimensions; the limit is %d", (long long)a->shape.n, SDX_MAX_RANK);
    Shape *y = shape_out(c, 0, (int)a->shape.n);
    for (int k = 0; k < y->rank; k++) {
        if (a->shape.v[k] < 0) return sdx_infer_fail(c, "dimension %d is %lld", k, (long long)a->shape.v[k]);
        y->dims[k] = a->shape.v[k];
    }
    return random_type(c, TS_FLTB);
}

/* Type and shape of output 0 come from the node and the plan. */
static sdx_status random_output(Run *r, Tensor *y)
{
    const RandomAttrs *a = r->args;
    bool like = r->n_in > 0;
    *y = (Tensor){ .dtype = (DType)a->dtype };
    if (a->dtype == OP_INT_ABSENT && like) y->dtype = r->in[0]->t.dtype;
    y->rank = like ? r->in[0]->t.rank : (int)a->shape.n;
    const int64_t *dims = like ? r->in[0]->t.dims : a->shape.v;
    if (y->rank) memcpy(y->dims, dims, (size_t)y->rank * sizeof *dims);
    return sdx_run_output(r, 0, y->dtype, y->rank, y->dims, &y->data);
}

enum { BLOCK = 64 }; /* even: normals come in pairs */

/* Marsaglia's polar method; the second of a pair is given first. */
static void normal_pair(Mt19937 *g, double *v)
{
    double x, y, s;
    do {
        x = 2 * sdx_mt_double(g) - 1;
        y = 2 * sdx_mt_double(g) - 1;
        s = x * x + y * y;
    } while (s >= 1 || s == 0);
    double f = sqrt(-2 * log(s) / s);
    v[0] = f * y;
    v[1] = f * x;
}

static sdx_status normal_run(Run *r)
{
    const RandomAttrs *a = r->args;
    Tensor y;
    Mt19937 g;
    double v[BLOCK];
    TRY(random_output(r, &y));
    random_start(&g, a);
    int64_t n = sdx_tensor_count(&y);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t k = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < k; i += 2) normal_pair(&g, v + i);
        for (int64_t i = 0; i < k; i++) v[i] = (double)a->mean + (double)a->scale * v[i];
        sdx_cast_block(y.dtype, y.data, at, DT_DOUBLE, v, 0, k);
    }
    return SDX_OK;
}

static sdx_status uniform_run(Run *r)
{
    const RandomAttrs *a = r->args;
    Tensor y;
    Mt19937 g;
    double v[BLOCK], low = (double)a->low, width = (double)a->high - low;
    TRY(random_output(r, &y));
    random_start(&g, a);
    int64_t n = sdx_tensor_count(&y);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t k = n - at < BLOCK ? n - at : BLOCK;
        for (int64_t i = 0; i < k; i++) v[i] = low + width * sdx_mt_double(&g);
        sdx_cast_block(y.dtype, y.data, at, DT_DOUBLE, v, 0, k);
    }
    return SDX_OK;
}

#define RANDOM_OP(Name, signature, attr_table, versions, infer_fn, run_fn)                                             \
    const OpDef sdx_op_##Name = {                                                                                      \
        .name = #Name,                                                                                                 \
        .sig = signature,                                                                                              \
        .attrs = attr_table,                                                                                           \
        .attrs_size = sizeof(RandomAttrs),                                                                             \
        .vers = versions,                                                                                              \
        .flags = OP_RANDOM,                                                                                            \
        .infer = infer_fn,                                                                                             \
        .cpu = { NULL, run_fn },                                                                                       \
    };

#define RANDOM_SHAPE                                                                                                   \
    {                                                                                                                  \
        .name = "shape", .type = ATTR_INTS, .offset = offsetof(RandomAttrs, shape), .required = true                   \
    }
#define RANDOM_DTYPE(dflt) OP_INT(RandomAttrs, dtype, dflt)

static const OpVer random_vers[] = { { 22, { TS_FLTB } }, { 1, { TS_FLT } }, { 0 } };
static const OpVer like_vers[] = { { 22, { TS_BASIC | TS_BF16, TS_FLTB } }, { 1, { TS_BASIC, TS_FLT } }, { 0 } };

static const AttrSpec normal_attrs[] = { RANDOM_SHAPE, RANDOM_DTYPE(DT_FLOAT), RANDOM_NORMAL, OP_ATTR_END };
static const AttrSpec normal_like_attrs[] = { RANDOM_DTYPE(OP_INT_ABSENT), RANDOM_NORMAL, OP_ATTR_END };
static const AttrSpec uniform_attrs[] = { RANDOM_SHAPE, RANDOM_DTYPE(DT_FLOAT), RANDOM_UNIFORM, OP_ATTR_END };
static const AttrSpec uniform_like_attrs[] = { RANDOM_DTYPE(OP_INT_ABSENT), RANDOM_UNIFORM, OP_ATTR_END };

RANDOM_OP(RandomNormal, "->T", normal_attrs, random_vers, random_infer, normal_run)
RANDOM_OP(RandomNormalLike, "T->U", normal_like_attrs, like_vers, like_infer, normal_run)
RANDOM_OP(RandomUniform, "->T", uniform_attrs, random_vers, random_infer, uniform_run)
RANDOM_OP(RandomUniformLike, "T->U", uniform_like_attrs, like_vers, like_infer, uniform_run)

/* -- Bernoulli: 1 with the probability that the input gives ---------------------------------------------------------- */

static sdx_status bernoulli_infer(Infer *c)
{
    TRY(sdx_infer_same_shape(c));
    return random_type(c, TS_NUMB | TS_BOOL);
}

static sdx_status bernoulli_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    Tensor y;
    Mt19937 g;
    double v[BLOCK];
    TRY(random_output(r, &y));
    random_start(&g, r->args);
    int64_t n = sdx_tensor_count(x);
    for (int64_t at = 0; at < n; at += BLOCK) {
        int64_t k = n - at < BLOCK ? n - at : BLOCK;
        sdx_cast_block(DT_DOUBLE, v, 0, x->dtype, x->data, at, k);
        for (int64_t i = 0; i < k; i++) v[i] = sdx_mt_double(&g) < v[i];
        sdx_cast_block(y.dtype, y.data, at, DT_DOUBLE, v, 0, k);
    }
    return SDX_OK;
}

static const OpVer bernoulli_vers[] = { { 22, { TS_FLTB, TS_NUMB | TS_BOOL } },
                                        { 15, { TS_FLT, TS_NUMB | TS_BOOL } },
                                        { 0 } };
static const AttrSpec bernoulli_attrs[] = { RANDOM_DTYPE(OP_INT_ABSENT), RANDOM_SEED, OP_ATTR_END };
RANDOM_OP(Bernoulli, "T->U", bernoulli_attrs, bernoulli_vers, bernoulli_infer, bernoulli_run)

/* -- Multinomial: classes drawn by the logarithms of their weights ---------------------------------------------------- */

static sdx_status multinomial_infer(Infer *c)
{
    const RandomAttrs *a = c->args;
    const Shape *x = shape_of(c, 0);
    if (a->sample_size < 1) return sdx_infer_fail(c, "sample_size is %lld", (long long)a->sample_size);
    if (x && x->rank != 2) return sdx_infer_fail(c, "the input has rank %d; it must be 2", (int)x->rank);
    Shape *y = shape_out(c, 0, 2);
    if (x) y->dims[0] = x->dims[0];
    y->dims[1] = a->sample_size;
    return random_type(c, TS_IDX);
}

/* First class whose running sum exceeds u. */
static int64_t class_at(const double *sums, int64_t n, double u)
{
    int64_t lo = 0, hi = n - 1;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        if (sums[mid] > u)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static sdx_status multinomial_run(Run *r)
{
    const RandomAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t rows = x->dims[0], classes = x->dims[1];
    Tensor y = { .dtype = (DType)a->dtype, .rank = 2, .dims = { rows, a->sample_size } };
    TRY(sdx_run_output(r, 0, y.dtype, y.rank, y.dims, &y.data));
    if (rows == 0) return SDX_OK;
    if (classes == 0) return sdx_run_fail(r, "there are no classes");
    size_t nbytes;
    double *sums = sdx_dtype_nbytes(DT_DOUBLE, classes, &nbytes) ? sdx_run_heap(r, nbytes) : NULL;
    TRY_MEM(sums, r->err);
    Mt19937 g;
    random_start(&g, a);
    for (int64_t row = 0; row < rows; row++) {
        double max = -INFINITY, sum = 0;
        sdx_cast_block(DT_DOUBLE, sums, 0, x->dtype, x->data, row * classes, classes);
        for (int64_t k = 0; k < classes; k++) max = sums[k] > max ? sums[k] : max;
        for (int64_t k = 0; k < classes; k++) sums[k] = sum += max == -INFINITY ? 1 : exp(sums[k] - max);
        for (int64_t i = 0; i < a->sample_size; i++) {
            int64_t k = class_at(sums, classes, sum * sdx_mt_double(&g));
            sdx_cast_block(y.dtype, y.data, row * a->sample_size + i, DT_INT64, &k, 0, 1);
        }
    }
    return SDX_OK;
}

static const AttrSpec multinomial_attrs[] = { RANDOM_DTYPE(DT_INT32), OP_INT(RandomAttrs, sample_size, 1), RANDOM_SEED,
                                              OP_ATTR_END };
static const OpVer multinomial_vers[] = { { 22, { TS_FLTB, TS_IDX } }, { 7, { TS_FLT, TS_IDX } }, { 0 } };
RANDOM_OP(Multinomial, "T->U", multinomial_attrs, multinomial_vers, multinomial_infer, multinomial_run)
