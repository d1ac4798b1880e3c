/* ops/conv_tmpl.h - convolution row by row for one type T: output planes [from, to). */
static void FN(conv_direct)(void *arg, int64_t from, int64_t to, int worker)
{
    const ConvJob *j = arg;
    const ConvState *st = j->st;
    const Window *w = &st->w;
    const WinAxis *last = &w->ax[w->n - 1];
    FpEnv caller = sdx_fpenv_save();
    if (st->flush) sdx_fpenv_flush(true);
    for (int64_t u = from; u < to; u++) {
        int64_t m = u % (st->groups * st->out_ch);
        const T *x = (const T *)j->x + u / st->out_ch * st->in_ch * st->in_size;
        const T *weights = (const T *)j->w + m * st->k;
        T bias = j->bias ? ((const T *)j->bias)[m] : 0;
        for (int64_t row = 0; row < st->rows; row++) {
            T *y = (T *)j->y + (u * st->rows + row) * last->out;
            int64_t o[SDX_MAX_RANK], lo[SDX_MAX_RANK], hi[SDX_MAX_RANK], t[SDX_MAX_RANK];
            for (int64_t i = 0; i < last->out; i++) y[i] = bias;
            if (!window_row(w, row, o, lo, hi)) continue;
            for (int64_t c = 0; c < st->in_ch; c++) {
                memcpy(t, lo, sizeof t);
                do {
                    int64_t at_w = 0, base = c * st->in_size + window_offset(w, o, t) - last->pad0;
                    for (int k = 0; k < w->n - 1; k++) at_w = (at_w + t[k]) * w->ax[k + 1].kernel;
                    const T *taps = weights + c * st->taps + at_w;
                    for (int64_t k = 0; k < last->kernel; k++) {
                        int64_t at = base + k * last->dilation;
                        T v = taps[k];
                        if (last->stride == 1) {
                            const T *in = x + at + st->span[k].lo;
                            int64_t n = st->span[k].hi - st->span[k].lo;
                            T *out = y + st->span[k].lo;
                            for (int64_t i = 0; i < n; i++) out[i] += v * in[i];
                        } else {
                            for (int64_t i = st->span[k].lo; i < st->span[k].hi; i++)
                                y[i] += v * x[at + i * last->stride];
                        }
                    }
                } while (window_next(w, t, lo, hi));
            }
        }
    }
    sdx_fpenv_restore(caller);
}
#undef T
#undef FN
