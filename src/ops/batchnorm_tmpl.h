/* ops/batchnorm_tmpl.h - loops of batchnorm.c for one type T. */

static void FN(stats_range)(void *arg, int64_t from, int64_t to, int worker)
{
    const BatchNormJob *j = arg;
    double count = (double)j->items * (double)j->spatial;
    for (int64_t c = from; c < to; c++) {
        double mean = 0, var = 0;
        for (int64_t n = 0; n < j->items; n++) {
            const T *x = (const T *)j->x + (n * j->channels + c) * j->spatial;
            for (int64_t i = 0; i < j->spatial; i++) mean += (double)x[i];
        }
        mean /= count;
        for (int64_t n = 0; n < j->items; n++) {
            const T *x = (const T *)j->x + (n * j->channels + c) * j->spatial;
            for (int64_t i = 0; i < j->spatial; i++) var += ((double)x[i] - mean) * ((double)x[i] - mean);
        }
        j->out_mean[c] = mean;
        j->out_var[c] = var / count;
    }
}

#ifdef WITH_SCALE
static void FN(scale_range)(void *arg, int64_t from, int64_t to, int worker)
{
    const BatchNormJob *j = arg;
    for (int64_t u = from; u < to; u++) {
        int64_t c = u % j->channels;
        T mean = (T)j->mean[c], inv = (T)j->inv[c], bias = (T)j->bias[c];
        const T *x = (const T *)j->x + u * j->spatial;
        T *y = (T *)j->y + u * j->spatial;
        for (int64_t i = 0; i < j->spatial; i++) y[i] = (x[i] - mean) * inv + bias;
    }
}
#endif

#undef T
#undef FN
#undef WITH_SCALE
