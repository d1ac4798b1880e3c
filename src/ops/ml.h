/* ops/ml.h - what the operators of ai.onnx.ml share. */
#ifndef SDX_OPS_ML_H
#define SDX_OPS_ML_H

#include "ops/ops.h"

#define TS_ML (TS_F32 | TS_F64 | TS_I32 | TS_I64)

enum { POST_NONE, POST_SOFTMAX, POST_LOGISTIC, POST_SOFTMAX_ZERO, POST_PROBIT, POST_BAD };
int sdx_ml_post(Str name);
/* n scores in place. SOFTMAX_ZERO leaves scores that are 0 at 0. */
void sdx_ml_post_apply(int post, double *z, int64_t n);

/* Row and column counts of an input that is [N, F], or [F] for a single row. */
static inline int64_t ml_rows(const Tensor *x) { return x->rank == 2 ? x->dims[0] : 1; }
static inline int64_t ml_cols(const Tensor *x) { return x->rank ? x->dims[x->rank - 1] : 1; }
/* Element i as double; x is one of TS_ML. */
static inline double ml_get(const Tensor *x, int64_t i)
{
    switch (x->dtype) {
    case DT_FLOAT: return (double)((const float *)x->data)[i];
    case DT_DOUBLE: return ((const double *)x->data)[i];
    case DT_INT32: return (double)((const int32_t *)x->data)[i];
    default: return (double)((const int64_t *)x->data)[i];
    }
}

/* Output o is [rows of input 0, cols]; input 0 must have rank 1 or 2. */
sdx_status sdx_ml_infer_rows(Infer *c, int o, Dim cols);

/* The labels of a classifier: one of the two lists. */
typedef struct MlLabels {
    IntList ints;
    StrList strings;
} MlLabels;
static inline int64_t ml_labels_n(const MlLabels *l) { return l->strings.n ? l->strings.n : l->ints.n; }
/* Output 0 is [rows] of labels, output 1 [rows, n] of scores. */
sdx_status sdx_ml_infer_classes(Infer *c, const MlLabels *l, int64_t n);
/* Makes output 0 (NULL data: not asked for). */
sdx_status sdx_ml_label_output(Run *r, const MlLabels *l, int64_t rows, void **data);
static inline void ml_set_label(const MlLabels *l, void *data, int64_t row, int64_t label)
{
    if (!data) return;
    if (l->strings.n)
        ((Str *)data)[row] = l->strings.v[label];
    else
        ((int64_t *)data)[row] = l->ints.v[label];
}

#endif
