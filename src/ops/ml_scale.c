/* ops/ml_scale.c - Scaler, Normalizer, Binarizer, Imputer, OneHotEncoder, FeatureVectorizer, ArrayFeatureExtractor */
#include <math.h>
#include <string.h>

#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/ml.h"

typedef struct ScaleAttrs {
    FloatList offset, scale, imputed_value_floats;
    Str norm;
    float threshold, replaced_value_float;
    IntList imputed_value_int64s, cats_int64s, inputdimensions;
    int64_t replaced_value_int64, zeros;
    StrList cats_strings;
} ScaleAttrs;

#define ML_OP(Name, signature, attr_table, versions, infer_fn, run_fn)                                                 \
    const OpDef sdx_op_ml_##Name = {                                                                                   \
        .name = #Name,                                                                                                 \
        .domain = "ai.onnx.ml",                                                                                        \
        .sig = signature,                                                                                              \
        .attrs = attr_table,                                                                                           \
        .attrs_size = sizeof(ScaleAttrs),                                                                              \
        .vers = versions,                                                                                              \
        .infer = infer_fn,                                                                                             \
        .cpu = { NULL, run_fn },                                                                                       \
    };
static const OpVer number_vers[] = { { 1, { TS_ML } }, { 0 } };

static sdx_status floats_infer(Infer *c) { return sdx_infer_same_shape(c); }

/* Row length of parameter lists: one value for all features, or one each. */
static sdx_status per_feature(const Infer *c, int64_t n, const char *what)
{
    const Shape *x = infer_shape(c, 0);
    if (!x || n <= 1) return SDX_OK;
    Dim cols = x->rank ? x->dims[x->rank - 1] : 1;
    if (dim_differs(cols, n))
        return sdx_infer_fail(c, "%s has %lld values; the input has %lld features", what, (long long)n,
                              (long long)cols);
    return SDX_OK;
}

/* -- Scaler: (x - offset) * scale ---------------------------------------------------------------------------------- */

static const AttrSpec scaler_attrs[] = { OP_FLOATS(ScaleAttrs, offset), OP_FLOATS(ScaleAttrs, scale), OP_ATTR_END };

static sdx_status scaler_infer(Infer *c)
{
    const ScaleAttrs *a = c->args;
    TRY(per_feature(c, a->offset.n, "offset"));
    TRY(per_feature(c, a->scale.n, "scale"));
    return floats_infer(c);
}

static float list_at(const FloatList *l, int64_t i, float dflt) { return l->n == 0 ? dflt : l->v[l->n == 1 ? 0 : i]; }

typedef struct ScaleJob {
    const ScaleAttrs *a;
    const Tensor *x;
    float *y;
    int64_t cols;
} ScaleJob;

static void scaler_range(void *arg, int64_t from, int64_t to, int worker)
{
    const ScaleJob *j = arg;
    for (int64_t i = from; i < to; i++) {
        int64_t f = i % j->cols;
        j->y[i] = (float)((ml_get(j->x, i) - (double)list_at(&j->a->offset, f, 0)) *
                          (double)list_at(&j->a->scale, f, 1));
    }
}

static sdx_status scaler_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    void *y;
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank, x->dims, &y));
    ScaleJob j = { .a = r->args, .x = x, .y = y, .cols = ml_cols(x) };
    sdx_run_range(r, sdx_tensor_count(x), 8192, scaler_range, &j);
    return SDX_OK;
}
ML_OP(Scaler, "T->f32", scaler_attrs, number_vers, scaler_infer, scaler_run)

/* -- Normalizer: rows divided by their maximum magnitude, L1 or L2 norm -------------------------------------------- */

static const AttrSpec normalizer_attrs[] = { OP_STR(ScaleAttrs, norm, "MAX"), OP_ATTR_END };
enum { NORM_MAX, NORM_L1, NORM_L2, NORM_BAD };

static int norm_of(Str s)
{
    static const char *const names[] = { "MAX", "L1", "L2" };
    for (int i = 0; i < NORM_BAD; i++)
        if (s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return i;
    return NORM_BAD;
}

static sdx_status normalizer_infer(Infer *c)
{
    if (norm_of(((const ScaleAttrs *)c->args)->norm) == NORM_BAD) return sdx_infer_fail(c, "norm is not MAX, L1 or L2");
    return floats_infer(c);
}

static sdx_status normalizer_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    int norm = norm_of(((const ScaleAttrs *)r->args)->norm);
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank, x->dims, &out));
    float *y = out;
    int64_t cols = ml_cols(x), rows = cols ? sdx_tensor_count(x) / cols : 0;
    for (int64_t i = 0; i < rows; i++) {
        double by = norm == NORM_MAX ? -INFINITY : 0;
        for (int64_t k = 0; k < cols; k++) {
            double v = ml_get(x, i * cols + k);
            if (norm == NORM_MAX)
                by = v > by ? v : by;
            else
                by += norm == NORM_L1 ? fabs(v) : v * v;
        }
        if (norm == NORM_L2) by = sqrt(by);
        for (int64_t k = 0; k < cols; k++) {
            double v = ml_get(x, i * cols + k);
            y[i * cols + k] = (float)(by != 0 ? v / by : v);
        }
    }
    return SDX_OK;
}
ML_OP(Normalizer, "T->f32", normalizer_attrs, number_vers, normalizer_infer, normalizer_run)

/* -- Binarizer: 1 above the threshold, else 0 ---------------------------------------------------------------------- */

static const AttrSpec binarizer_attrs[] = { OP_FLOAT(ScaleAttrs, threshold, 0), OP_ATTR_END };

static sdx_status binarizer_run(Run *r)
{
    const Tensor *x = &r->in[0]->t;
    double t = (double)((const ScaleAttrs *)r->args)->threshold;
    Tensor y = { .dtype = x->dtype };
    TRY(run_output_like(r, 0, x, &y.data));
    for (int64_t i = 0, n = sdx_tensor_count(x); i < n; i++) sdx_tensor_set_double(&y, i, ml_get(x, i) > t);
    return SDX_OK;
}
ML_OP(Binarizer, "T->T", binarizer_attrs, number_vers, floats_infer, binarizer_run)

/* -- Imputer: a value that stands for a missing one is replaced ---------------------------------------------------- */

static const AttrSpec imputer_attrs[] = { OP_FLOATS(ScaleAttrs, imputed_value_floats),
                                          OP_INTS(ScaleAttrs, imputed_value_int64s),
                                          OP_FLOAT(ScaleAttrs, replaced_value_float, 0),
                                          OP_INT(ScaleAttrs, replaced_value_int64, 0), OP_ATTR_END };

static bool is_integer_input(DType d) { return d == DT_INT32 || d == DT_INT64; }

static sdx_status imputer_infer(Infer *c)
{
    const ScaleAttrs *a = c->args;
    bool ints = is_integer_input(c->in[0]->elem);
    if ((ints ? a->imputed_value_int64s.n : a->imputed_value_floats.n) == 0)
        return sdx_infer_fail(c, "there are no imputed values of the input's type");
    TRY(per_feature(c, ints ? a->imputed_value_int64s.n : a->imputed_value_floats.n, "the list of imputed values"));
    return floats_infer(c);
}

static sdx_status imputer_run(Run *r)
{
    const ScaleAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    Tensor y = { .dtype = x->dtype };
    TRY(run_output_like(r, 0, x, &y.data));
    int64_t cols = ml_cols(x);
    double missing = (double)a->replaced_value_float;
    for (int64_t i = 0, n = sdx_tensor_count(x); i < n; i++) {
        if (is_integer_input(x->dtype)) {
            const IntList *l = &a->imputed_value_int64s;
            int64_t v = sdx_tensor_get_int(x, i);
            if (v == a->replaced_value_int64) v = l->v[l->n == 1 ? 0 : i % cols];
            if (x->dtype == DT_INT64)
                ((int64_t *)y.data)[i] = v;
            else
                ((int32_t *)y.data)[i] = (int32_t)v;
            continue;
        }
        double v = ml_get(x, i);
        if (v == missing || (v != v && missing != missing)) v = (double)list_at(&a->imputed_value_floats, i % cols, 0);
        sdx_tensor_set_double(&y, i, v);
    }
    return SDX_OK;
}
ML_OP(Imputer, "T->T", imputer_attrs, number_vers, imputer_infer, imputer_run)

/* -- OneHotEncoder: a new last axis, 1 at the category that the value is -------------------------------------------- */

static const AttrSpec onehot_attrs[] = { OP_INTS(ScaleAttrs, cats_int64s), OP_STRS(ScaleAttrs, cats_strings),
                                         OP_INT(ScaleAttrs, zeros, 1), OP_ATTR_END };

static sdx_status onehot_infer(Infer *c)
{
    const ScaleAttrs *a = c->args;
    bool strings = c->in[0]->elem == DT_STRING;
    int64_t n = strings ? a->cats_strings.n : a->cats_int64s.n;
    if (n == 0) return sdx_infer_fail(c, "there are no categories of the input's type");
    const Shape *x = infer_shape(c, 0);
    if (!x) return SDX_OK;
    if (x->rank == SDX_MAX_RANK) return sdx_infer_fail(c, "the result would have rank %d", SDX_MAX_RANK + 1);
    Dim *y = infer_out_rank(c, 0, x->rank + 1);
    memcpy(y, x->dims, (size_t)x->rank * sizeof *y);
    y[x->rank] = n;
    return SDX_OK;
}

static sdx_status onehot_run(Run *r)
{
    const ScaleAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    bool strings = x->dtype == DT_STRING;
    int64_t n = strings ? a->cats_strings.n : a->cats_int64s.n, dims[SDX_MAX_RANK], count = sdx_tensor_count(x);
    memcpy(dims, x->dims, sizeof dims);
    dims[x->rank] = n;
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, x->rank + 1, dims, &out));
    float *y = out;
    if (count) memset(y, 0, (size_t)(count * n) * sizeof *y);
    for (int64_t i = 0; i < count; i++) {
        int64_t k = 0;
        if (strings) {
            Str s = ((const Str *)x->data)[i];
            while (k < n && (s.n != a->cats_strings.v[k].n || memcmp(s.p, a->cats_strings.v[k].p, s.n))) k++;
        } else {
            double v = ml_get(x, i);
            bool whole = v == floor(v) && fabs(v) < 9.2e18;
            int64_t id = x->dtype == DT_INT64 ? ((const int64_t *)x->data)[i] : whole ? (int64_t)v : 0;
            while (k < n && !(whole && a->cats_int64s.v[k] == id)) k++;
        }
        if (k < n)
            y[i * n + k] = 1;
        else if (!a->zeros)
            return sdx_run_fail(r, "element %lld is in no category", (long long)i);
    }
    return SDX_OK;
}

static const OpVer onehot_vers[] = { { 1, { TS_ML | TS_STR } }, { 0 } };
ML_OP(OneHotEncoder, "T->f32", onehot_attrs, onehot_vers, onehot_infer, onehot_run)

/* -- FeatureVectorizer: inputs side by side, each cut or filled up with zeros to its size --------------------------- */

static const AttrSpec vectorizer_attrs[] = { OP_INTS(ScaleAttrs, inputdimensions), OP_ATTR_END };

static sdx_status vectorizer_infer(Infer *c)
{
    const ScaleAttrs *a = c->args;
    int64_t total = 0;
    if (a->inputdimensions.v && a->inputdimensions.n != c->n_in)
        return sdx_infer_fail(c, "inputdimensions has %lld values for %d inputs", (long long)a->inputdimensions.n,
                              c->n_in);
    for (int i = 0; i < c->n_in; i++) {
        TRY(infer_rank_between(c, i, 1, 2, "an input"));
        const Shape *x = infer_shape(c, i);
        int64_t n = a->inputdimensions.v                          ? a->inputdimensions.v[i]
                    : x && sdx_dim_is_const(x->dims[x->rank - 1]) ? x->dims[x->rank - 1]
                                                                  : -1;
        if (a->inputdimensions.v && (n < 0 || n > INT32_MAX))
            return sdx_infer_fail(c, "inputdimensions[%d] is %lld", i, (long long)n);
        total = n < 0 || total < 0 ? -1 : total + n;
    }
    return sdx_ml_infer_rows(c, 0, total < 0 ? SDX_DIM_UNKNOWN : total);
}

static sdx_status vectorizer_run(Run *r)
{
    const ScaleAttrs *a = r->args;
    int64_t rows = ml_rows(&r->in[0]->t), total = 0;
    for (int i = 0; i < r->n_in; i++) {
        if (ml_rows(&r->in[i]->t) != rows)
            return sdx_run_fail(r, "input %d has %lld rows; input 0 has %lld", i, (long long)ml_rows(&r->in[i]->t),
                                (long long)rows);
        total += a->inputdimensions.v ? a->inputdimensions.v[i] : ml_cols(&r->in[i]->t);
    }
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, 2, (int64_t[]){ rows, total }, &out));
    float *y = out;
    for (int64_t row = 0, at = 0; row < rows; row++)
        for (int i = 0; i < r->n_in; i++) {
            const Tensor *x = &r->in[i]->t;
            int64_t have = ml_cols(x), want = a->inputdimensions.v ? a->inputdimensions.v[i] : have;
            for (int64_t k = 0; k < want; k++) y[at++] = k < have ? (float)ml_get(x, row * have + k) : 0;
        }
    return SDX_OK;
}
ML_OP(FeatureVectorizer, "T+->f32", vectorizer_attrs, number_vers, vectorizer_infer, vectorizer_run)

/* -- ArrayFeatureExtractor: columns by index ------------------------------------------------------------------------ */

static const AttrSpec extractor_attrs[] = { OP_ATTR_END };

static sdx_status extractor_infer(Infer *c)
{
    const Shape *x = infer_shape(c, 0), *index = infer_shape(c, 1);
    if (!x) return SDX_OK;
    if (x->rank < 1) return sdx_infer_fail(c, "X is a scalar; it needs an axis to choose from");
    Dim n = 1;
    for (int k = 0; index && k < index->rank; k++) n = infer_mul(c, n, index->dims[k]);
    Dim *y = infer_out_rank(c, 0, x->rank == 1 ? 2 : x->rank);
    if (x->rank == 1)
        y[0] = 1;
    else
        memcpy(y, x->dims, (size_t)(x->rank - 1) * sizeof *y);
    y[x->rank == 1 ? 1 : x->rank - 1] = index ? n : SDX_DIM_UNKNOWN;
    return SDX_OK;
}

static sdx_status extractor_run(Run *r)
{
    const Tensor *x = &r->in[0]->t, *index = &r->in[1]->t;
    int64_t n = sdx_tensor_count(index), cols = ml_cols(x), rows = sdx_dims_product(x->dims, 0, x->rank - 1);
    int64_t dims[SDX_MAX_RANK] = { 1, n };
    int rank = x->rank == 1 ? 2 : x->rank;
    if (x->rank > 1) {
        memcpy(dims, x->dims, sizeof dims);
        dims[rank - 1] = n;
    }
    void *y;
    TRY(sdx_run_output(r, 0, x->dtype, rank, dims, &y));
    size_t es = sdx_dtype_size(x->dtype);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = ((const int64_t *)index->data)[k];
        if (at < 0 || at >= cols)
            return sdx_run_fail(r, "index %lld is %lld; it must lie in [0, %lld)", (long long)k, (long long)at,
                                (long long)cols);
        for (int64_t i = 0; i < rows; i++)
            memcpy((char *)y + (size_t)(i * n + k) * es, (const char *)x->data + (size_t)(i * cols + at) * es, es);
    }
    return SDX_OK;
}
ML_OP(ArrayFeatureExtractor, "T,i64->T", extractor_attrs, onehot_vers, extractor_infer, extractor_run)
