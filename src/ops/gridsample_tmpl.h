/* ops/gridsample_tmpl.h - GridSample for a float type T: units are chunks of GRID_CHUNK points of one item. The weights
 * of a point serve all channels. */
static void FN(grid_floats)(void *arg, int64_t from, int64_t to, int worker)
{
    const GridJob *j = arg;
    int64_t chunks = (j->points + GRID_CHUNK - 1) / GRID_CHUNK;
    int combos = 1;
    for (int k = 0; k < j->n; k++) combos *= j->taps;
    for (int64_t u = from; u < to; u++) {
        int64_t item = u / chunks, first = u % chunks * GRID_CHUNK;
        int64_t count = j->points - first < GRID_CHUNK ? j->points - first : GRID_CHUNK;
        const T *planes = (const T *)j->x->data + item * j->channels * j->in_size;
        T *y = (T *)j->y.data + item * j->channels * j->points + first;
        for (int64_t p = 0; p < count; p++) {
            int64_t index[GRID_AXES][4];
            double weight[GRID_AXES][4];
            for (int k = 0; k < j->n; k++)
                grid_axis(j, k, sdx_tensor_get_double(j->grid, (item * j->points + first + p) * j->n + (j->n - 1 - k)),
                          index[k], weight[k]);
            for (int64_t c = 0; c < j->channels; c++) y[c * j->points + p] = 0;
            for (int i = 0; i < combos; i++) {
                int64_t at = 0;
                double w = 1;
                for (int k = 0, rest = i; k < j->n && at >= 0; k++, rest /= j->taps) {
                    int64_t tap = index[k][rest % j->taps];
                    at = tap < 0 ? -1 : at * j->x->dims[2 + k] + tap;
                    w *= weight[k][rest % j->taps];
                }
                if (at < 0) continue;
                for (int64_t c = 0; c < j->channels; c++) y[c * j->points + p] += (T)w * planes[c * j->in_size + at];
            }
        }
    }
}
#undef T
#undef FN
