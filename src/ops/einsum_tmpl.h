/* ops/einsum_tmpl.h - the two loops of Einsum for one type T; sums run in ACC. */

static T FN(layout_sum)(const Layout *l, const T *x)
{
    if (l->n_sum == 0) return *x;
    ACC sum = 0;
    int64_t at[LABELS] = { 0 };
    int last = l->n_sum - 1;
    for (;;) {
        for (int64_t i = 0; i < l->sum[last]; i++) sum += (ACC)x[i * l->sum_stride[last]];
        int k = last - 1;
        for (; k >= 0; k--) {
            x += l->sum_stride[k];
            if (++at[k] < l->sum[k]) break;
            x -= l->sum_stride[k] * l->sum[k];
            at[k] = 0;
        }
        if (k < 0) return (T)sum;
    }
}

/* Elements [from, to) of the result. */
static void FN(layout)(void *arg, int64_t from, int64_t to, int worker)
{
    const LayoutJob *j = arg;
    const Layout *l = j->l;
    T *y = j->y;
    for (int k = 0; k < l->n_sum; k++)
        if (l->sum[k] == 0) {
            memset(y + from, 0, (size_t)(to - from) * sizeof *y);
            return;
        }
    int last = l->n_keep - 1;
    for (int64_t i = from; i < to;) {
        int64_t at = 0, rest = i, run = 1, step = 0;
        for (int k = last; k >= 0; k--) {
            int64_t o = rest % l->keep[k];
            if (k == last) {
                run = l->keep[k] - o;
                step = l->keep_stride[k];
            }
            at += o * l->keep_stride[k];
            rest /= l->keep[k];
        }
        if (run > to - i) run = to - i;
        const T *x = (const T *)j->x + at;
        if (l->n_sum == 0)
            for (int64_t o = 0; o < run; o++) y[i + o] = x[o * step];
        else
            for (int64_t o = 0; o < run; o++) y[i + o] = FN(layout_sum)(l, x + o * step);
        i += run;
    }
}

/* Rows [from, to) of the batched product. */
static void FN(join)(void *arg, int64_t from, int64_t to, int worker)
{
    const JoinJob *job = arg;
    const Join *j = job->j;
    for (int64_t u = from; u < to; u++) {
        const T *a = (const T *)job->a + u * j->k, *b = (const T *)job->b + u / j->m * j->k * j->n;
        T *y = (T *)job->y + u * j->n;
        for (int64_t c = 0; c < j->n; c++) y[c] = 0;
        for (int64_t k = 0; k < j->k; k++)
            for (int64_t c = 0; c < j->n; c++) y[c] = (T)((ACC)y[c] + (ACC)a[k] * (ACC)b[k * j->n + c]);
    }
}
#undef T
#undef ACC
#undef FN
