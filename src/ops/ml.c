#include "ops/ml.h"

#include <math.h>
#include <string.h>

#include "ops/dims.h"

int sdx_ml_post(Str s)
{
    static const char *const names[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT" };
    for (int i = 0; i < POST_BAD; i++)
        if (s.n == strlen(names[i]) && !memcmp(s.p, names[i], s.n)) return i;
    return POST_BAD;
}

/* Inverse of erf on (-1, 1): a first guess (Winitzki 2008), then Newton steps with the library's erf. */
static double erf_inverse(double x)
{
    if (x <= -1 || x >= 1) return x == 1 ? INFINITY : x == -1 ? -INFINITY : NAN;
    const double pi = 3.14159265358979323846, a = 0.147;
    double l = log1p(-x * x), b = 2 / (pi * a) + l / 2;
    double y = copysign(sqrt(sqrt(b * b - l / a) - b), x);
    for (int i = 0; i < 3; i++) y -= (erf(y) - x) * sqrt(pi) / 2 * exp(y * y);
    return y;
}

void sdx_ml_post_apply(int post, double *z, int64_t n)
{
    if (post == POST_LOGISTIC)
        for (int64_t i = 0; i < n; i++) z[i] = 1 / (1 + exp(-z[i]));
    if (post == POST_PROBIT)
        for (int64_t i = 0; i < n; i++) z[i] = 1.41421356237309504880 * erf_inverse(2 * z[i] - 1);
    if (post != POST_SOFTMAX && post != POST_SOFTMAX_ZERO) return;
    double max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = z[i] > max ? z[i] : max;
    for (int64_t i = 0; i < n; i++) {
        if (post == POST_SOFTMAX_ZERO && fabs(z[i]) < 1e-7) {
            z[i] = 0;
            continue;
        }
        z[i] = exp(z[i] - max);
        sum += z[i];
    }
    for (int64_t i = 0; i < n && sum != 0; i++) z[i] /= sum;
}

sdx_status sdx_ml_infer_rows(Infer *c, int o, Dim cols)
{
    TRY(infer_rank_between(c, 0, 1, 2, "the input"));
    const Shape *x = infer_shape(c, 0);
    Dim *y = infer_out_rank(c, o, 2);
    if (x) y[0] = x->rank == 2 ? x->dims[0] : 1;
    y[1] = cols;
    return SDX_OK;
}

sdx_status sdx_ml_infer_classes(Infer *c, const MlLabels *l, int64_t n)
{
    if (l->ints.n && l->strings.n) return sdx_infer_fail(c, "labels are given both as integers and as strings");
    if (n < 1) return sdx_infer_fail(c, "there are no class labels");
    TRY(infer_rank_between(c, 0, 1, 2, "the input"));
    const Shape *x = infer_shape(c, 0);
    if (c->n_out > 0) {
        c->out[0].elem = l->strings.n ? DT_STRING : DT_INT64;
        Dim *y = infer_out_rank(c, 0, 1);
        if (x) y[0] = x->rank == 2 ? x->dims[0] : 1;
    }
    return c->n_out > 1 ? sdx_ml_infer_rows(c, 1, n) : SDX_OK;
}

sdx_status sdx_ml_label_output(Run *r, const MlLabels *l, int64_t rows, void **data)
{
    *data = NULL;
    if (!r->out[0]) return SDX_OK;
    return sdx_run_output(r, 0, l->strings.n ? DT_STRING : DT_INT64, 1, &rows, data);
}
