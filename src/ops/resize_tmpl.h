/* ops/resize_tmpl.h - one pass of a linear or cubic resize for one type T. */

/* The axis is the last one: whole rows. */
static void FN(pass_rows)(void *arg, int64_t from, int64_t to, int worker)
{
    const PassJob *j = arg;
    const ResizeAxis *ax = j->ax;
    for (int64_t u = from; u < to; u++) {
        const T *x = (const T *)j->x + u * ax->in;
        T *y = (T *)j->y + u * ax->out;
        for (int64_t o = 0; o < ax->out; o++) {
            const float *w = ax->weight + o * ax->taps;
            const int64_t *index = ax->index + o * ax->taps;
            if (w[0] != w[0]) {
                y[o] = (T)j->outside;
                continue;
            }
            T sum = 0;
            for (int t = 0; t < ax->taps; t++) sum += (T)w[t] * x[index[t]];
            y[o] = sum;
        }
    }
}

/* Units are (outer, output) pairs, each a run of `inner` elements. */
static void FN(pass_inner)(void *arg, int64_t from, int64_t to, int worker)
{
    const PassJob *j = arg;
    const ResizeAxis *ax = j->ax;
    for (int64_t u = from; u < to; u++) {
        int64_t o = u % ax->out;
        const float *w = ax->weight + o * ax->taps;
        const int64_t *index = ax->index + o * ax->taps;
        const T *x = (const T *)j->x + u / ax->out * ax->in * j->inner;
        T *y = (T *)j->y + u * j->inner;
        if (w[0] != w[0]) {
            for (int64_t i = 0; i < j->inner; i++) y[i] = (T)j->outside;
            continue;
        }
        for (int64_t i = 0; i < j->inner; i++) y[i] = (T)w[0] * x[index[0] * j->inner + i];
        for (int t = 1; t < ax->taps; t++) {
            const T *row = x + index[t] * j->inner;
            for (int64_t i = 0; i < j->inner; i++) y[i] += (T)w[t] * row[i];
        }
    }
}

#undef T
#undef FN
