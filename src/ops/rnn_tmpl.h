/* ops/rnn_tmpl.h - one direction of a recurrent operator for one type T. */

/* y[m, n] = a[m, k] * b', b: n rows of k (plus bias, one per column). which: 0 input, 1 recurrent, 2 after the reset. */
static void FN(rnn_mul)(const Run *r, const RnnPass *q, int which, bool last, const T *a, T *y, const T *bias)
{
    const RnnState *st = q->st;
#ifdef IS_F32
    const Product *p = which == 0 ? (last ? &st->x_last : &st->x) : which == 1 ? &st->r : &st->r_reset;
    int64_t step = which == 0 ? st->x_step : which == 1 ? st->r_step : st->reset_step;
    const float *b = which == 0 ? q->w
                                : (const float *)q->rw + (which == 2 && !p->packed ? 2 * st->hidden * st->hidden : 0);
    Epilogue epi = SDX_EPILOGUE_NONE;
    epi.bias = bias;
    Product at = *p;
    if (at.packed) at.packed += q->dir * step;
    sdx_product_run(r, &at, a, at.packed ? NULL : b + q->dir * step, y, &epi);
#else
    bool split = st->kind == RNN_GRU && !st->linear_before_reset;
    int64_t h = st->hidden, m = which == 0 ? (last ? st->last_block : st->block) * st->batch : st->batch;
    int64_t n = which == 2 ? h : which == 1 && split ? 2 * h : st->gates * h, k = which == 0 ? st->in : h;
    const T *b = which == 0 ? (const T *)q->w + q->dir * st->x_step
                            : (const T *)q->rw + q->dir * st->r_step + (which == 2 ? 2 * h * h : 0);
    for (int64_t i = 0; i < m; i++)
        for (int64_t j = 0; j < n; j++) {
            T sum = bias ? bias[j] : 0;
            for (int64_t l = 0; l < k; l++) sum += a[i * k + l] * b[j * k + l];
            y[i * n + j] = sum;
        }
#endif
}

/* The inputs of `steps` steps from s0, in the order that the rows take them. */
static void FN(rnn_gather)(const RnnPass *q, int64_t s0, int64_t steps, T *xs)
{
    const RnnState *st = q->st;
    for (int64_t s = 0; s < steps; s++)
        for (int64_t b = 0; b < st->batch; b++, xs += st->in) {
            if (s0 + s >= rnn_len(q, b))
                memset(xs, 0, (size_t)st->in * sizeof *xs);
            else
                memcpy(xs, (const T *)q->x + rnn_x_row(st, rnn_time(q, b, s0 + s), b) * st->in,
                       (size_t)st->in * sizeof *xs);
        }
}

static void FN(lstm_cell)(const RnnPass *q, const T *xw, T *g, T *h, T *c)
{
    const RnnState *st = q->st;
    int64_t n = st->hidden;
    const RnnAct *act = &st->act[q->dir * 3];
    const T *peep = q->peep ? (const T *)q->peep + q->dir * 3 * n : NULL;
    for (int64_t i = 0; i < 4 * n; i++) g[i] += xw[i];
    if (peep)
        for (int64_t i = 0; i < n; i++) {
            g[i] += peep[i] * c[i];
            g[2 * n + i] += peep[2 * n + i] * c[i];
        }
    if (peep)
        ACT(st->kern, &act[0], st->clip, g, n);
    else
        ACT(st->kern, &act[0], st->clip, g, 2 * n);
    if (st->input_forget)
        for (int64_t i = 0; i < n; i++) g[2 * n + i] = 1 - g[i];
    else
        ACT(st->kern, &act[0], st->clip, g + 2 * n, n);
    ACT(st->kern, &act[1], st->clip, g + 3 * n, n);
    for (int64_t i = 0; i < n; i++) h[i] = c[i] = g[2 * n + i] * c[i] + g[i] * g[3 * n + i];
    if (peep) {
        for (int64_t i = 0; i < n; i++) g[n + i] += peep[n + i] * c[i];
        ACT(st->kern, &act[0], st->clip, g + n, n);
    }
    ACT(st->kern, &act[2], 0, h, n);
    for (int64_t i = 0; i < n; i++) h[i] *= g[n + i];
}

/* z and r from their sums; then the candidate's input of the recurrent product (r o h), in place of r. */
static void FN(gru_gates)(const RnnPass *q, const T *xw, T *g, const T *h)
{
    const RnnState *st = q->st;
    int64_t n = st->hidden;
    for (int64_t i = 0; i < 2 * n; i++) g[i] += xw[i];
    ACT(st->kern, &st->act[q->dir * 3], st->clip, g, 2 * n);
    if (!st->linear_before_reset)
        for (int64_t i = 0; i < n; i++) g[n + i] *= h[i];
}

/* candidate: recurrent sums; becomes the candidate itself. */
static void FN(gru_cell)(const RnnPass *q, const T *xw, const T *z, T *candidate, T *h)
{
    const RnnState *st = q->st;
    int64_t n = st->hidden;
    for (int64_t i = 0; i < n; i++) candidate[i] += xw[2 * n + i];
    ACT(st->kern, &st->act[q->dir * 3 + 1], st->clip, candidate, n);
    for (int64_t i = 0; i < n; i++) h[i] = (1 - z[i]) * candidate[i] + z[i] * h[i];
}

/* One step of all rows: hr holds the recurrent sums, h and c the state. Rows past their end keep theirs. */
static void FN(rnn_step)(const Run *r, const RnnPass *q, int64_t s, const T *xw, T *hr, T *tmp, T *h, T *c)
{
    const RnnState *st = q->st;
    int64_t n = st->hidden, gh = st->gates * n;
    if (st->kind == RNN_GRU && !st->linear_before_reset) {
        T *reset = tmp, *candidate = tmp + st->batch * n; /* rows of n each */
        for (int64_t b = 0; b < st->batch; b++) {
            FN(gru_gates)(q, xw + b * gh, hr + b * 2 * n, h + b * n);
            memcpy(reset + b * n, hr + b * 2 * n + n, (size_t)n * sizeof *reset);
        }
        FN(rnn_mul)(r, q, 2, false, reset, candidate, NULL);
        for (int64_t b = 0; b < st->batch; b++)
            if (s < rnn_len(q, b)) FN(gru_cell)(q, xw + b * gh, hr + b * 2 * n, candidate + b * n, h + b * n);
        return;
    }
    for (int64_t b = 0; b < st->batch; b++) {
        if (s >= rnn_len(q, b)) continue;
        T *g = hr + b * gh, *hb = h + b * n;
        const T *x = xw + b * gh;
        if (st->kind == RNN_LSTM) {
            FN(lstm_cell)(q, x, g, hb, c + b * n);
        } else if (st->kind == RNN_GRU) {
            FN(gru_gates)(q, x, g, hb);
            const T *rb = q->bias ? (const T *)q->bias + q->dir * 2 * gh + gh + 2 * n : NULL;
            for (int64_t i = 0; i < n; i++) g[2 * n + i] = g[n + i] * (g[2 * n + i] + (rb ? rb[i] : 0));
            FN(gru_cell)(q, x, g, g + 2 * n, hb);
        } else {
            for (int64_t i = 0; i < n; i++) hb[i] = g[i] + x[i];
            ACT(st->kern, &st->act[q->dir * 3], st->clip, hb, n);
        }
    }
}

static sdx_status FN(rnn_pass)(Run *r, const RnnPass *q)
{
    const RnnState *st = q->st;
    char *scratch = r->scratch;
    int64_t n = st->hidden, gh = st->gates * n, rows = st->batch;
    T *y = q->y, *y_h = q->y_h, *y_c = q->y_c;
    if (st->steps == 0) { /* no scratch was asked for: the state passes through */
        for (int64_t b = 0; b < rows; b++) {
            int64_t at = rnn_h_row(q, b) * n;
            for (int64_t i = 0; i < n; i++) {
                if (y_h) y_h[at + i] = q->h0 ? ((const T *)q->h0)[at + i] : 0;
                if (y_c) y_c[at + i] = q->c0 ? ((const T *)q->c0)[at + i] : 0;
            }
        }
        return SDX_OK;
    }
    T *xs = (T *)(scratch + st->at_xs), *xw = (T *)(scratch + st->at_xw), *hr = (T *)(scratch + st->at_hr);
    T *tmp = (T *)(scratch + st->at_tmp), *h = (T *)(scratch + st->at_h), *c = (T *)(scratch + st->at_c);
    T *bias = (T *)(scratch + st->at_bias);
    for (int64_t b = 0; b < rows; b++) {
        int64_t at = rnn_h_row(q, b) * n;
        for (int64_t i = 0; i < n; i++) {
            h[b * n + i] = q->h0 ? ((const T *)q->h0)[at + i] : 0;
            c[b * n + i] = q->c0 ? ((const T *)q->c0)[at + i] : 0;
        }
    }
    if (q->bias) {
        const T *wb = (const T *)q->bias + q->dir * 2 * gh, *rb = wb + gh;
        for (int64_t i = 0; i < gh; i++) {
            bool apart = st->kind == RNN_GRU && st->linear_before_reset && i >= 2 * n;
            bias[i] = wb[i] + (apart ? 0 : rb[i]);
        }
    }
    for (int64_t s0 = 0; s0 < st->steps; s0 += st->block) {
        bool last = st->steps - s0 <= st->block && st->last_block != st->block;
        int64_t steps = last ? st->last_block : st->block;
        TRY(sdx_run_poll(r));
        FN(rnn_gather)(q, s0, steps, xs);
        FN(rnn_mul)(r, q, 0, last, xs, xw, q->bias ? bias : NULL);
        for (int64_t s = s0; s < s0 + steps; s++) {
            FN(rnn_mul)(r, q, 1, false, h, hr, NULL);
            FpEnv caller = sdx_fpenv_save();
            if (st->flush) sdx_fpenv_flush(true);
            FN(rnn_step)(r, q, s, xw + (s - s0) * rows * gh, hr, tmp, h, c);
            sdx_fpenv_restore(caller);
            for (int64_t b = 0; y && b < rows; b++) {
                bool live = s < rnn_len(q, b);
                T *row = y + rnn_y_row(q, live ? rnn_time(q, b, s) : s, b) * n;
                if (live)
                    memcpy(row, h + b * n, (size_t)n * sizeof *row);
                else
                    memset(row, 0, (size_t)n * sizeof *row);
            }
        }
    }
    for (int64_t b = 0; b < rows; b++) {
        int64_t at = rnn_h_row(q, b) * n;
        if (y_h) memcpy(y_h + at, h + b * n, (size_t)n * sizeof *y_h);
        if (y_c) memcpy(y_c + at, c + b * n, (size_t)n * sizeof *y_c);
    }
    return SDX_OK;
}

#undef T
#undef FN
#undef ACT
#undef IS_F32
