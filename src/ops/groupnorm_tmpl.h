/* ops/groupnorm_tmpl.h - loops of groupnorm.c for one type T. */

#ifdef WITH_GROUPS
static void FN(group_range)(void *arg, int64_t from, int64_t to, int worker)
{
    const GroupNormJob *j = arg;
    int64_t n = j->per_group * j->spatial;
    for (int64_t u = from; u < to; u++) {
        const T *x = (const T *)j->x + u * n;
        T *y = (T *)j->y + u * n;
        double mean = 0, var = 0;
        for (int64_t at = 0; at < n; at += 1024) {
            int64_t end = n - at < 1024 ? n : at + 1024;
            T part[8] = { 0 };
            int64_t i = at;
            for (; i + 8 <= end; i += 8)
                for (int l = 0; l < 8; l++) part[l] += x[i + l];
            for (; i < end; i++) part[0] += x[i];
            for (int l = 0; l < 8; l++) mean += part[l];
        }
        mean /= (double)n;
        T centre = (T)mean;
        for (int64_t at = 0; at < n; at += 1024) {
            int64_t end = n - at < 1024 ? n : at + 1024;
            T part[8] = { 0 };
            int64_t i = at;
            for (; i + 8 <= end; i += 8)
                for (int l = 0; l < 8; l++) {
                    T v = x[i + l] - centre;
                    part[l] += v * v;
                }
            for (; i < end; i++) part[0] += (x[i] - centre) * (x[i] - centre);
            for (int l = 0; l < 8; l++) var += part[l];
        }
        T inv = 1 / SQRT((T)(var / (double)n) + (T)j->epsilon);
        int64_t c = u % j->groups * j->per_group;
        for (int64_t k = 0; k < j->per_group; k++, c++) {
            T scale = ((const T *)j->scale)[c] * inv, bias = ((const T *)j->bias)[c];
            const T *xc = x + k * j->spatial;
            T *yc = y + k * j->spatial;
            for (int64_t i = 0; i < j->spatial; i++) yc[i] = (xc[i] - centre) * scale + bias;
        }
    }
}
#endif

static void FN(lp_range)(void *arg, int64_t from, int64_t to, int worker)
{
    const LpJob *j = arg;
    int64_t blocks = (j->v.inner + LP_COLS - 1) / LP_COLS;
    for (int64_t u = from; u < to; u++) {
        int64_t first = u % blocks * LP_COLS, cols = j->v.inner - first < LP_COLS ? j->v.inner - first : LP_COLS;
        int64_t at = u / blocks * j->v.n * j->v.inner + first;
        const T *x = (const T *)j->x + at;
        T *y = (T *)j->y + at;
        double norm[LP_COLS] = { 0 };
        for (int64_t i = 0; i < j->v.n; i++)
            for (int64_t c = 0; c < cols; c++) {
                double v = x[i * j->v.inner + c];
                norm[c] += j->p == 1 ? fabs(v) : v * v;
            }
        for (int64_t c = 0; c < cols; c++) norm[c] = j->p == 1 ? norm[c] : sqrt(norm[c]);
        for (int64_t i = 0; i < j->v.n; i++)
            for (int64_t c = 0; c < cols; c++)
                y[i * j->v.inner + c] = norm[c] == 0 ? 0 : (T)((double)x[i * j->v.inner + c] / norm[c]);
    }
}

#undef T
#undef FN
#undef SQRT
#undef WITH_GROUPS
