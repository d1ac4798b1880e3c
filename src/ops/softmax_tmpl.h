/* ops/softmax_tmpl.h - the softmax family for one type T without kernels: COLS columns of one outer index at a time. */

#ifdef EXP
/* cols columns, each n long with this stride, side by side. */
static void FN(softmax_cols)(const T *x, T *y, int64_t n, int64_t stride, int64_t cols, bool logarithm)
{
    T max[COLS];
    double sum[COLS] = { 0 };
    for (int64_t c = 0; c < cols; c++) max[c] = x[c];
    for (int64_t i = 1; i < n; i++)
        for (int64_t c = 0; c < cols; c++) max[c] = x[i * stride + c] > max[c] ? x[i * stride + c] : max[c];
    if (logarithm) {
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < cols; c++) sum[c] += EXP(x[i * stride + c] - max[c]);
        for (int64_t c = 0; c < cols; c++) sum[c] = log(sum[c]);
        for (int64_t i = 0; i < n; i++)
            for (int64_t c = 0; c < cols; c++) y[i * stride + c] = x[i * stride + c] - max[c] - (T)sum[c];
        return;
    }
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < cols; c++) {
            T e = EXP(x[i * stride + c] - max[c]);
            y[i * stride + c] = e;
            sum[c] += e;
        }
    T scale[COLS];
    for (int64_t c = 0; c < cols; c++) scale[c] = (T)(1 / sum[c]);
    for (int64_t i = 0; i < n; i++)
        for (int64_t c = 0; c < cols; c++) y[i * stride + c] *= scale[c];
}

#endif

static void FN(hardmax_cols)(const T *x, T *y, int64_t n, int64_t stride, int64_t cols)
{
    for (int64_t c = 0; c < cols; c++) {
        int64_t best = 0;
        for (int64_t i = 1; i < n; i++) {
            T a = x[best * stride + c], b = x[i * stride + c];
            if (a == a && (b > a || b != b)) best = i;
        }
        for (int64_t i = 0; i < n; i++) y[i * stride + c] = i == best;
    }
}

static void FN(softmax_units)(const SoftmaxJob *j, int64_t from, int64_t to, int kind)
{
    int64_t blocks = (j->v.inner + COLS - 1) / COLS;
    for (int64_t u = from; u < to; u++) {
        int64_t first = u % blocks * COLS, cols = j->v.inner - first < COLS ? j->v.inner - first : COLS;
        int64_t at = u / blocks * j->v.n * j->v.inner + first;
        const T *x = (const T *)j->x + at;
        T *y = (T *)j->y + at;
        if (kind == KIND_HARD) FN(hardmax_cols)(x, y, j->v.n, j->v.inner, cols);
#ifdef EXP
        else
            FN(softmax_cols)(x, y, j->v.n, j->v.inner, cols, kind == KIND_LOG);
#endif
    }
}

#ifdef EXP
static void FN(soft)(void *arg, int64_t from, int64_t to, int worker) { FN(softmax_units)(arg, from, to, KIND_SOFT); }
static void FN(log)(void *arg, int64_t from, int64_t to, int worker) { FN(softmax_units)(arg, from, to, KIND_LOG); }
#endif
static void FN(hard)(void *arg, int64_t from, int64_t to, int worker) { FN(softmax_units)(arg, from, to, KIND_HARD); }

#undef T
#undef FN
#undef EXP
