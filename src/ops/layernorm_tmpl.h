/* ops/layernorm_tmpl.h - rows of LayerNormalization and RMSNormalization for one type T. */

static T FN(norm_sum)(const T *x, int64_t n, T centre, bool square)
{
    double total = 0;
    for (int64_t at = 0; at < n; at += 1024) {
        int64_t end = n - at < 1024 ? n : at + 1024, i = at;
        T part[8] = { 0 };
        for (; i + 8 <= end; i += 8)
            for (int l = 0; l < 8; l++) {
                T v = x[i + l] - centre;
                part[l] += square ? v * v : v;
            }
        for (; i < end; i++) {
            T v = x[i] - centre;
            part[0] += square ? v * v : v;
        }
        total += (double)(((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7])));
    }
    return (T)(total / (double)n);
}

static void FN(norm_range)(void *arg, int64_t from, int64_t to, int worker)
{
    const NormJob *j = arg;
    const T *scale = j->scale->data, *bias = j->bias ? j->bias->data : NULL;
    bool plain = j->scale->plain && (!bias || j->bias->plain);
    for (int64_t r = from; r < to; r++) {
        const T *x = (const T *)j->x + r * j->cols;
        T *y = (T *)j->y + r * j->cols;
        T mean = j->rms ? 0 : FN(norm_sum)(x, j->cols, 0, false);
        T inv = 1 / SQRT(FN(norm_sum)(x, j->cols, mean, true) + (T)j->epsilon);
        if (j->mean) ((float *)j->mean)[r] = (float)mean;
        if (j->inv) ((float *)j->inv)[r] = (float)inv;
        if (plain && bias) {
            for (int64_t i = 0; i < j->cols; i++) y[i] = (x[i] - mean) * inv * scale[i] + bias[i];
        } else if (plain) {
            for (int64_t i = 0; i < j->cols; i++) y[i] = (x[i] - mean) * inv * scale[i];
        } else {
            for (int64_t i = 0; i < j->cols; i++) {
                int64_t flat = r * j->cols + i;
                T v = (x[i] - mean) * inv * scale[spread_at(j->scale, flat)];
                y[i] = bias ? v + bias[spread_at(j->bias, flat)] : v;
            }
        }
    }
}

#undef T
#undef FN
#undef SQRT
