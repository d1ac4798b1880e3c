/* ops/ml_linear.c - LinearRegressor, LinearClassifier, SVMRegressor, SVMClassifier */
#include <math.h>
#include <string.h>

#include "base/size.h"
#include "ops/axis3.h"
#include "ops/dims.h"
#include "ops/ml.h"

typedef struct LinearAttrs {
    FloatList coefficients, intercepts;
    int64_t targets, multi_class;
    Str post_transform;
    IntList classlabels_ints;
    StrList classlabels_strings;
    /* support vector machines */
    FloatList kernel_params, prob_a, prob_b, rho, support_vectors;
    Str kernel_type;
    IntList vectors_per_class;
    int64_t n_supports, one_class;
} LinearAttrs;

#define POST OP_STR(LinearAttrs, post_transform, "NONE")
#define ML_OP(Name, signature, attr_table, versions, infer_fn, prepare_fn, run_fn)                                     \
    const OpDef sdx_op_ml_##Name = {                                                                                   \
        .name = #Name,                                                                                                 \
        .domain = "ai.onnx.ml",                                                                                        \
        .sig = signature,                                                                                              \
        .attrs = attr_table,                                                                                           \
        .attrs_size = sizeof(LinearAttrs),                                                                             \
        .vers = versions,                                                                                              \
        .infer = infer_fn,                                                                                             \
        .cpu = { prepare_fn, run_fn },                                                                                 \
    };
static const OpVer number_vers[] = { { 1, { TS_ML } }, { 0 } };
static const OpVer label_vers[] = { { 1, { TS_ML, TS_I64 | TS_STR } }, { 0 } };

static MlLabels labels_of(const LinearAttrs *a) { return (MlLabels){ a->classlabels_ints, a->classlabels_strings }; }

static sdx_status check_post(const Infer *c)
{
    const LinearAttrs *a = c->args;
    return sdx_ml_post(a->post_transform) == POST_BAD ? sdx_infer_fail(c, "post_transform is not known") : SDX_OK;
}

/* -- linear models: scores[k] = sum of coefficients[k] x + intercepts[k] ---------------------------------------------- */

static const AttrSpec regressor_attrs[] = { OP_FLOATS(LinearAttrs, coefficients), OP_FLOATS(LinearAttrs, intercepts),
                                            POST, OP_INT(LinearAttrs, targets, 1), OP_ATTR_END };
static const AttrSpec classifier_attrs[] = {
    { .name = "coefficients", .type = ATTR_FLOATS, .offset = offsetof(LinearAttrs, coefficients), .required = true },
    OP_FLOATS(LinearAttrs, intercepts),
    OP_INT(LinearAttrs, multi_class, 0),
    OP_INTS(LinearAttrs, classlabels_ints),
    OP_STRS(LinearAttrs, classlabels_strings),
    POST,
    OP_ATTR_END
};

/* n sets of coefficients for the features of the input. */
static sdx_status check_linear(const Infer *c, int64_t n)
{
    const LinearAttrs *a = c->args;
    const Shape *x = infer_shape(c, 0);
    TRY(check_post(c));
    if (a->intercepts.n && a->intercepts.n != n)
        return sdx_infer_fail(c, "%lld intercepts for %lld scores", (long long)a->intercepts.n, (long long)n);
    if (n < 1 || a->coefficients.n % n)
        return sdx_infer_fail(c, "%lld coefficients do not divide among %lld scores", (long long)a->coefficients.n,
                              (long long)n);
    if (x && x->rank && dim_differs(x->dims[x->rank - 1], a->coefficients.n / n))
        return sdx_infer_fail(c, "%lld coefficients for %lld features and %lld scores", (long long)a->coefficients.n,
                              (long long)x->dims[x->rank - 1], (long long)n);
    return SDX_OK;
}

static sdx_status regressor_infer(Infer *c)
{
    const LinearAttrs *a = c->args;
    TRY(check_linear(c, a->targets));
    return sdx_ml_infer_rows(c, 0, a->targets);
}

/* Sets of coefficients: one a class, or a single one that tells two classes apart. */
static int64_t linear_sets(const LinearAttrs *a, int64_t classes)
{
    if (a->intercepts.n) return a->intercepts.n;
    return classes > 0 ? classes : 1;
}

static sdx_status classifier_infer(Infer *c)
{
    const LinearAttrs *a = c->args;
    MlLabels l = labels_of(a);
    int64_t n = ml_labels_n(&l), sets = linear_sets(a, n);
    TRY(check_linear(c, sets));
    if (sets != n && !(sets == 1 && n == 2))
        return sdx_infer_fail(c, "%lld scores for %lld classes", (long long)sets, (long long)n);
    return sdx_ml_infer_classes(c, &l, n);
}

static void linear_scores(const LinearAttrs *a, const Tensor *x, int64_t row, int64_t cols, int64_t sets, double *z)
{
    for (int64_t k = 0; k < sets; k++) {
        double sum = a->intercepts.n ? (double)a->intercepts.v[k] : 0;
        for (int64_t i = 0; i < cols; i++) sum += ml_get(x, row * cols + i) * (double)a->coefficients.v[k * cols + i];
        z[k] = sum;
    }
}

static sdx_status scores_prepare(Prepare *p)
{
    const LinearAttrs *a = p->args;
    MlLabels l = labels_of(a);
    int64_t n = ml_labels_n(&l);
    if (n < 2) n = 2;
    if (a->targets > n) n = a->targets;
    if (a->intercepts.n > n) n = a->intercepts.n;
    if (!sdx_mul_size(&p->scratch, (size_t)n, sizeof(double)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "too many scores");
    return SDX_OK;
}

static sdx_status regressor_run(Run *r)
{
    const LinearAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t rows = ml_rows(x), cols = ml_cols(x), n = a->targets;
    int post = sdx_ml_post(a->post_transform);
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, 2, (int64_t[]){ rows, n }, &out));
    double *z = r->scratch;
    for (int64_t i = 0; i < rows; i++) {
        linear_scores(a, x, i, cols, n, z);
        sdx_ml_post_apply(post, z, n);
        for (int64_t k = 0; k < n; k++) ((float *)out)[i * n + k] = (float)z[k];
    }
    return SDX_OK;
}

/* Outputs of a classifier for one row: z has n scores, transformed already. */
typedef struct ClassOut {
    MlLabels names;
    void *labels;
    float *scores;
    int64_t n;
} ClassOut;

static sdx_status class_outputs(Run *r, const LinearAttrs *a, int64_t rows, int64_t n, ClassOut *o)
{
    *o = (ClassOut){ .names = labels_of(a), .n = n };
    TRY(sdx_ml_label_output(r, &o->names, rows, &o->labels));
    void *scores = NULL;
    if (r->n_out > 1 && r->out[1]) TRY(sdx_run_output(r, 1, DT_FLOAT, 2, (int64_t[]){ rows, n }, &scores));
    o->scores = scores;
    return SDX_OK;
}

static void class_store(const ClassOut *o, int64_t row, int64_t label, const double *z)
{
    ml_set_label(&o->names, o->labels, row, label);
    for (int64_t k = 0; o->scores && k < o->n; k++) o->scores[row * o->n + k] = (float)z[k];
}

static sdx_status classifier_run(Run *r)
{
    const LinearAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    MlLabels l = labels_of(a);
    int64_t rows = ml_rows(x), cols = ml_cols(x), n = ml_labels_n(&l), sets = linear_sets(a, n);
    int post = sdx_ml_post(a->post_transform);
    ClassOut out;
    TRY(class_outputs(r, a, rows, n, &out));
    double *z = r->scratch;
    for (int64_t i = 0; i < rows; i++) {
        int64_t label = 0;
        linear_scores(a, x, i, cols, sets, z);
        if (sets == 1 && n == 2) { /* the score s of the second class: the first gets what is left */
            label = z[0] > 0;
            z[1] = z[0];
            z[0] = post == POST_LOGISTIC ? -z[1] : 1 - z[1];
            if (post == POST_LOGISTIC || post == POST_PROBIT) sdx_ml_post_apply(post, z, n);
        } else {
            for (int64_t k = 1; k < n; k++)
                if (z[k] > z[label]) label = k;
            sdx_ml_post_apply(post, z, n);
        }
        class_store(&out, i, label, z);
    }
    return SDX_OK;
}

ML_OP(LinearRegressor, "T->f32", regressor_attrs, number_vers, regressor_infer, scores_prepare, regressor_run)
ML_OP(LinearClassifier, "T->U,f32", classifier_attrs, label_vers, classifier_infer, scores_prepare, classifier_run)

/* -- support vector machines ----------------------------------------------------------------------------------------- */

enum { KERNEL_LINEAR, KERNEL_POLY, KERNEL_RBF, KERNEL_SIGMOID, KERNEL_BAD };

#define SVM_COMMON                                                                                                     \
    OP_FLOATS(LinearAttrs, coefficients), OP_FLOATS(LinearAttrs, kernel_params),                                       \
        OP_STR(LinearAttrs, kernel_type, "LINEAR"), OP_FLOATS(LinearAttrs, rho),                                       \
        OP_FLOATS(LinearAttrs, support_vectors), POST
static const AttrSpec svr_attrs[] = { SVM_COMMON, OP_INT(LinearAttrs, n_supports, 0), OP_INT(LinearAttrs, one_class, 0),
                                      OP_ATTR_END };
static const AttrSpec svc_attrs[] = { SVM_COMMON,
                                      OP_FLOATS(LinearAttrs, prob_a),
                                      OP_FLOATS(LinearAttrs, prob_b),
                                      OP_INTS(LinearAttrs, vectors_per_class),
                                      OP_INTS(LinearAttrs, classlabels_ints),
                                      OP_STRS(LinearAttrs, classlabels_strings),
                                      OP_ATTR_END };

static int kernel_of(Str s)
{
    static const char *const names[] = { "LINEAR", "POLY", "RBF", "SIGMOID" };
    for (int i = 0; i < KERNEL_BAD; i++)
        if (s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return i;
    return KERNEL_BAD;
}

/* k(x, v): kernel_params are gamma, coef0, degree. */
static double svm_kernel(const LinearAttrs *a, int kernel, const double *x, const float *v, int64_t n)
{
    double gamma = a->kernel_params.n > 0 ? (double)a->kernel_params.v[0] : 0;
    double coef0 = a->kernel_params.n > 1 ? (double)a->kernel_params.v[1] : 0;
    double degree = a->kernel_params.n > 2 ? (double)a->kernel_params.v[2] : 0;
    double sum = 0;
    if (kernel == KERNEL_RBF) {
        for (int64_t i = 0; i < n; i++) sum += (x[i] - (double)v[i]) * (x[i] - (double)v[i]);
        return exp(-gamma * sum);
    }
    for (int64_t i = 0; i < n; i++) sum += x[i] * (double)v[i];
    if (kernel == KERNEL_LINEAR) return sum;
    sum = gamma * sum + coef0;
    return kernel == KERNEL_POLY ? pow(sum, degree) : tanh(sum);
}

static sdx_status svm_check(const Infer *c)
{
    const LinearAttrs *a = c->args;
    TRY(check_post(c));
    if (kernel_of(a->kernel_type) == KERNEL_BAD)
        return sdx_infer_fail(c, "kernel_type is not LINEAR, POLY, RBF or SIGMOID");
    if (a->rho.n < 1) return sdx_infer_fail(c, "rho is missing");
    return SDX_OK;
}

static sdx_status features_are(const Infer *c, int64_t n)
{
    const Shape *x = infer_shape(c, 0);
    if (x && x->rank && dim_differs(x->dims[x->rank - 1], n))
        return sdx_infer_fail(c, "the input has %lld features; the model was made for %lld",
                              (long long)x->dims[x->rank - 1], (long long)n);
    return SDX_OK;
}

static sdx_status svr_infer(Infer *c)
{
    const LinearAttrs *a = c->args;
    TRY(svm_check(c));
    if (a->n_supports < 0) return sdx_infer_fail(c, "n_supports is %lld", (long long)a->n_supports);
    if (a->n_supports > 0) {
        if (a->support_vectors.n % a->n_supports || a->coefficients.n < a->n_supports)
            return sdx_infer_fail(c, "%lld values of support vectors and %lld coefficients for %lld vectors",
                                  (long long)a->support_vectors.n, (long long)a->coefficients.n,
                                  (long long)a->n_supports);
        TRY(features_are(c, a->support_vectors.n / a->n_supports));
    } else {
        TRY(features_are(c, a->coefficients.n));
    }
    return sdx_ml_infer_rows(c, 0, 1);
}

static sdx_status svm_prepare(Prepare *p)
{
    const LinearAttrs *a = p->args;
    MlLabels l = labels_of(a);
    int64_t classes = ml_labels_n(&l), vectors = 0;
    for (int64_t i = 0; i < a->vectors_per_class.n; i++) vectors += a->vectors_per_class.v[i];
    /* a row, kernel values, decisions, votes, probabilities and two matrices to find them */
    int64_t cells = ml_cols(&p->in[0]->t) + vectors + 3 * classes * classes + 4 * classes + 8;
    if (!sdx_mul_size(&p->scratch, (size_t)cells, sizeof(double)))
        return sdx_prepare_fail(p, SDX_LIMIT_BYTES, "too many vectors");
    return SDX_OK;
}

static sdx_status svr_run(Run *r)
{
    const LinearAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    int64_t rows = ml_rows(x), cols = ml_cols(x);
    int kernel = kernel_of(a->kernel_type), post = sdx_ml_post(a->post_transform);
    void *out;
    TRY(sdx_run_output(r, 0, DT_FLOAT, 2, (int64_t[]){ rows, 1 }, &out));
    double *row = r->scratch;
    for (int64_t i = 0; i < rows; i++) {
        double sum = (double)a->rho.v[0];
        for (int64_t k = 0; k < cols; k++) row[k] = ml_get(x, i * cols + k);
        if (a->n_supports > 0)
            for (int64_t s = 0; s < a->n_supports; s++)
                sum += (double)a->coefficients.v[s] * svm_kernel(a, kernel, row, a->support_vectors.v + s * cols, cols);
        else
            sum += svm_kernel(a, KERNEL_LINEAR, row, a->coefficients.v, cols);
        if (a->one_class)
            sum = sum > 0 ? 1 : -1;
        else
            sdx_ml_post_apply(post, &sum, 1);
        ((float *)out)[i] = (float)sum;
    }
    return SDX_OK;
}
ML_OP(SVMRegressor, "T->f32", svr_attrs, number_vers, svr_infer, svm_prepare, svr_run)

/* Scores of an SVC: with vectors, one a pair of classes, or one a class where probabilities were fitted; without, one a
 * set of linear coefficients. */
static int64_t svc_scores(const LinearAttrs *a, int64_t classes)
{
    if (a->vectors_per_class.n == 0) return classes;
    if (a->prob_a.n) return classes;
    return classes * (classes - 1) / 2 > 1 ? classes * (classes - 1) / 2 : 2;
}

static sdx_status svc_infer(Infer *c)
{
    const LinearAttrs *a = c->args;
    MlLabels l = labels_of(a);
    int64_t n = ml_labels_n(&l), vectors = 0;
    TRY(svm_check(c));
    for (int64_t i = 0; i < a->vectors_per_class.n; i++) {
        if (a->vectors_per_class.v[i] < 0 || a->vectors_per_class.v[i] > INT32_MAX)
            return sdx_infer_fail(c, "vectors_per_class[%lld] is %lld", (long long)i,
                                  (long long)a->vectors_per_class.v[i]);
        vectors += a->vectors_per_class.v[i];
    }
    if (n < 1 || n > 65536) return sdx_infer_fail(c, "there are %lld class labels", (long long)n);
    if (vectors > 0) {
        int64_t pairs = n * (n - 1) / 2;
        if (a->vectors_per_class.n != n || a->support_vectors.n % vectors || a->coefficients.n != vectors * (n - 1) ||
            a->rho.n != pairs || (a->prob_a.n && (a->prob_a.n != pairs || a->prob_b.n != pairs)))
            return sdx_infer_fail(
                c, "support vectors, coefficients, rho or prob_a do not fit %lld vectors of %lld classes",
                (long long)vectors, (long long)n);
        TRY(features_are(c, a->support_vectors.n / vectors));
    } else {
        if (a->coefficients.n % n || a->vectors_per_class.n)
            return sdx_infer_fail(c, "%lld coefficients do not divide among %lld classes", (long long)a->coefficients.n,
                                  (long long)n);
        TRY(features_are(c, a->coefficients.n / n));
    }
    TRY(sdx_ml_infer_classes(c, &l, n));
    return c->n_out > 1 ? sdx_ml_infer_rows(c, 1, svc_scores(a, n)) : SDX_OK;
}

/* Pairwise probabilities r[i][j] to class probabilities p: Wu, Lin and Weng 2004, algorithm 2, as libsvm has it. */
static void couple(const double *r, int64_t n, double *p, double *q, double *qp)
{
    double eps = 0.005 / (double)n;
    for (int64_t t = 0; t < n; t++) {
        p[t] = 1 / (double)n;
        q[t * n + t] = 0;
        for (int64_t j = 0; j < n; j++) {
            if (j == t) continue;
            q[t * n + t] += r[j * n + t] * r[j * n + t];
            q[t * n + j] = -r[j * n + t] * r[t * n + j];
        }
    }
    for (int iter = 0; iter < 100 || iter < n; iter++) {
        double pqp = 0, worst = 0;
        for (int64_t t = 0; t < n; t++) {
            qp[t] = 0;
            for (int64_t j = 0; j < n; j++) qp[t] += q[t * n + j] * p[j];
            pqp += p[t] * qp[t];
        }
        for (int64_t t = 0; t < n; t++) worst = fmax(worst, fabs(qp[t] - pqp));
        if (worst < eps) return;
        for (int64_t t = 0; t < n; t++) {
            double diff = (pqp - qp[t]) / q[t * n + t];
            p[t] += diff;
            pqp = (pqp + diff * (diff * q[t * n + t] + 2 * qp[t])) / (1 + diff) / (1 + diff);
            for (int64_t j = 0; j < n; j++) {
                qp[j] = (qp[j] + diff * q[t * n + j]) / (1 + diff);
                p[j] /= 1 + diff;
            }
        }
    }
}

/* Decisions of all pairs of classes, votes, and with prob_a the probabilities, for one row. */
typedef struct SvcWork {
    double *row, *kernel, *decision, *vote, *prob, *r, *q, *qp;
} SvcWork;

static void svc_pairs(const LinearAttrs *a, int kernel, int64_t n, int64_t cols, int64_t vectors, const SvcWork *w)
{
    for (int64_t s = 0; s < vectors; s++)
        w->kernel[s] = svm_kernel(a, kernel, w->row, a->support_vectors.v + s * cols, cols);
    for (int64_t i = 0; i < n; i++) w->vote[i] = 0;
    int64_t pair = 0, start_i = 0;
    for (int64_t i = 0; i < n; i++) {
        int64_t n_i = a->vectors_per_class.v[i], start_j = start_i + n_i;
        for (int64_t j = i + 1; j < n; j++, pair++) {
            int64_t n_j = a->vectors_per_class.v[j];
            double sum = (double)a->rho.v[pair];
            const float *ci = a->coefficients.v + (j - 1) * vectors + start_i,
                        *cj = a->coefficients.v + i * vectors + start_j;
            for (int64_t s = 0; s < n_i; s++) sum += (double)ci[s] * w->kernel[start_i + s];
            for (int64_t s = 0; s < n_j; s++) sum += (double)cj[s] * w->kernel[start_j + s];
            w->decision[pair] = sum;
            w->vote[sum > 0 ? i : j] += 1;
            start_j += n_j;
        }
        start_i += n_i;
    }
    if (!a->prob_a.n) return;
    pair = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = i + 1; j < n; j++, pair++) {
            double f = w->decision[pair] * (double)a->prob_a.v[pair] + (double)a->prob_b.v[pair];
            double v = f >= 0 ? exp(-f) / (1 + exp(-f)) : 1 / (1 + exp(f));
            v = v < 1e-7 ? 1e-7 : v > 1 - 1e-7 ? 1 - 1e-7 : v;
            w->r[i * n + j] = v;
            w->r[j * n + i] = 1 - v;
        }
    if (n == 1)
        w->prob[0] = 1;
    else
        couple(w->r, n, w->prob, w->q, w->qp);
}

static int64_t best_of(const double *z, int64_t n)
{
    int64_t best = 0;
    for (int64_t i = 1; i < n; i++)
        if (z[i] > z[best]) best = i;
    return best;
}

static sdx_status svc_run(Run *r)
{
    const LinearAttrs *a = r->args;
    const Tensor *x = &r->in[0]->t;
    MlLabels l = labels_of(a);
    int64_t rows = ml_rows(x), cols = ml_cols(x), n = ml_labels_n(&l), vectors = 0, scores = svc_scores(a, n);
    for (int64_t i = 0; i < a->vectors_per_class.n; i++) vectors += a->vectors_per_class.v[i];
    int kernel = kernel_of(a->kernel_type), post = sdx_ml_post(a->post_transform);
    ClassOut out;
    TRY(class_outputs(r, a, rows, scores, &out));
    SvcWork w = { .row = r->scratch };
    w.kernel = w.row + cols;
    w.decision = w.kernel + vectors;
    w.vote = w.decision + n * n / 2 + 2;
    w.prob = w.vote + n;
    w.r = w.prob + n + 2;
    w.q = w.r + n * n;
    w.qp = w.q + n * n;
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t k = 0; k < cols; k++) w.row[k] = ml_get(x, i * cols + k);
        if (vectors == 0) {
            for (int64_t k = 0; k < n; k++)
                w.prob[k] = svm_kernel(a, KERNEL_LINEAR, w.row, a->coefficients.v + k * cols, cols) +
                            (double)a->rho.v[k < a->rho.n ? k : 0];
            int64_t label = best_of(w.prob, n);
            sdx_ml_post_apply(post, w.prob, n);
            class_store(&out, i, label, w.prob);
            continue;
        }
        svc_pairs(a, kernel, n, cols, vectors, &w);
        double *z = a->prob_a.n ? w.prob : w.decision;
        int64_t label = best_of(w.vote, n); /* fitted probabilities may disagree with the votes; these decide */
        if (!a->prob_a.n && n == 2) {       /* positive speaks for the first class; scores stand in class order */
            z[1] = z[0];
            z[0] = -z[1];
        }
        sdx_ml_post_apply(post, z, scores);
        class_store(&out, i, label, z);
    }
    return SDX_OK;
}
ML_OP(SVMClassifier, "T->U,f32", svc_attrs, label_vers, svc_infer, svm_prepare, svc_run)
