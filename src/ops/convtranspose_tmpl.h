/* ops/convtranspose_tmpl.h - adds the products of `channels` output channels from `first` to their outputs. */
static void FN(convtranspose_add)(const ConvTransposeJob *j, int64_t plane, int64_t first, int64_t channels,
                                  const T *columns)
{
    const ConvTransposeState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    int64_t g = plane % st->groups;
    for (int64_t m = 0; m < channels; m++) {
        T *y = (T *)j->y + (plane * st->out_ch + first + m) * st->out_size;
        T bias = j->bias ? ((const T *)j->bias)[g * st->out_ch + first + m] : 0;
        for (int64_t i = 0; i < st->out_size; i++) y[i] = bias;
        for (int64_t row = 0; row < st->rows; row++) {
            int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
            if (!window_row(w, row, o, lo, hi)) continue;
            memcpy(t, lo, sizeof t);
            do {
                int64_t tap = 0, base = window_offset(w, o, t) - last->pad0;
                for (int k = 0; k < w->n - 1; k++) tap = (tap + t[k]) * w->ax[k + 1].kernel;
                for (int64_t k = 0; k < last->kernel; k++) {
                    const T *v = columns + (m * st->taps + tap + k) * st->in_size + row * last->out;
                    int64_t at = base + k * last->dilation;
                    for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++) y[at + i * last->stride] += v[i];
                }
            } while (window_next(w, t, lo, hi));
        }
    }
}
#undef T
#undef FN
