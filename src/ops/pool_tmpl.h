/* ops/pool_tmpl.h - pools of planes [from, to) for one type T. */

static void FN(maxpool)(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    for (int64_t u = from * st->rows; u < to * st->rows; u++) {
        const T *x = (const T *)j->x + u / st->rows * st->in_size;
        T *y = (T *)j->y + u * last->out;
        int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
        for (int64_t i = 0; i < last->out; i++) y[i] = (T)LOWEST;
        if (!window_row(w, u % st->rows, o, lo, hi)) continue;
        memcpy(t, lo, sizeof t);
        do {
            int64_t row = window_offset(w, o, t) - last->pad0;
            for (int64_t k = 0; k < last->kernel; k++) {
                int64_t at = row + k * last->dilation;
                for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) {
                    T a = x[at + i * last->stride];
                    y[i] = a > y[i] || IS_NAN(a) ? a : y[i];
                }
            }
        } while (window_next(w, t, lo, hi));
    }
}

static void FN(maxpool_indices)(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    for (int64_t u = from * st->rows; u < to * st->rows; u++) {
        int64_t plane = u / st->rows;
        const T *x = (const T *)j->x + plane * st->in_size;
        T *y = (T *)j->y + u * last->out;
        int64_t *index = j->indices + u * last->out;
        int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
        for (int64_t i = 0; i < last->out; i++) {
            y[i] = (T)LOWEST;
            index[i] = -1;
        }
        if (!window_row(w, u % st->rows, o, lo, hi)) continue;
        memcpy(t, lo, sizeof t);
        do {
            int64_t row = window_offset(w, o, t) - last->pad0;
            for (int64_t k = 0; k < last->kernel; k++) {
                for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) {
                    int64_t at = row + k * last->dilation + i * last->stride;
                    T a = x[at];
                    /* Without branches: which tap wins cannot be foretold. */
                    bool wins = (index[i] < 0) | (a > y[i]) | (IS_NAN(a) & !IS_NAN(y[i]));
                    y[i] = wins ? a : y[i];
                    index[i] = wins ? at : index[i];
                }
            }
        } while (window_next(w, t, lo, hi));
        for (int64_t i = 0; i < last->out; i++)
            if (index[i] >= 0)
                index[i] = plane * st->in_size + (j->a->storage_order ? pool_column_major(w, index[i]) : index[i]);
    }
}

#ifdef WITH_SUMS
static void FN(avgpool)(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    for (int64_t u = from * st->rows; u < to * st->rows; u++) {
        const T *x = (const T *)j->x + u / st->rows * st->in_size;
        T *y = (T *)j->y + u * last->out;
        int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
        for (int64_t i = 0; i < last->out; i++) y[i] = 0;
        if (window_row(w, u % st->rows, o, lo, hi)) {
            memcpy(t, lo, sizeof t);
            do {
                int64_t row = window_offset(w, o, t) - last->pad0;
                for (int64_t k = 0; k < last->kernel; k++) {
                    int64_t at = row + k * last->dilation;
                    for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) y[i] += x[at + i * last->stride];
                }
            } while (window_next(w, t, lo, hi));
        }
        int64_t outer = 1;
        for (int k = 0; k < w->n - 1; k++) outer *= st->count[k][o[k]];
        for (int64_t i = 0; i < last->out; i++) {
            int64_t cells = outer * st->count[w->n - 1][i];
            y[i] = cells ? y[i] / (T)cells : 0;
        }
    }
}

static void FN(lppool)(void *arg, int64_t from, int64_t to, int worker)
{
    const PoolJob *j = arg;
    const PoolState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    double p = (double)j->a->p;
    for (int64_t u = from * st->rows; u < to * st->rows; u++) {
        const T *x = (const T *)j->x + u / st->rows * st->in_size;
        T *y = (T *)j->y + u * last->out;
        int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
        for (int64_t i = 0; i < last->out; i++) y[i] = 0;
        if (!window_row(w, u % st->rows, o, lo, hi)) continue;
        memcpy(t, lo, sizeof t);
        do {
            int64_t row = window_offset(w, o, t) - last->pad0;
            for (int64_t k = 0; k < last->kernel; k++) {
                int64_t at = row + k * last->dilation;
                for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) {
                    T a = x[at + i * last->stride];
                    y[i] += j->a->p == 2 ? a * a : j->a->p == 1 ? (a < 0 ? -a : a) : (T)pow(fabs((double)a), p);
                }
            }
        } while (window_next(w, t, lo, hi));
        for (int64_t i = 0; i < last->out; i++)
            y[i] = j->a->p == 2 ? (T)sqrt((double)y[i]) : j->a->p == 1 ? y[i] : (T)pow((double)y[i], 1 / p);
    }
}
#endif

#undef T
#undef FN
#undef LOWEST
#undef IS_NAN
#undef WITH_SUMS
