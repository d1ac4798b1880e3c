/* kern/attn/attn_tmpl.h - one unit of attention, for one type T. */

/* The keys that row i of batch b may see, before biases: [lo, hi). */
static void FN(visible)(const Attn *a, int64_t b, int64_t i, int64_t *lo, int64_t *hi)
{
    int64_t at = (a->offset ? a->offset[b] : 0) + i;
    *lo = 0;
    *hi = a->valid ? a->valid[b] : a->keys;
    for (int n = 0; n < 2; n++)
        if (a->bias[n].p) *hi = min_i64(*hi, a->bias[n].keys);
    if (a->causal) *hi = min_i64(*hi, at + 1);
    if (a->right >= 0 && a->right < *hi) *hi = min_i64(*hi, at + a->right + 1);
    if (a->left >= 0 && a->left <= a->keys + a->rows) *lo = max_i64(*lo, at - a->left);
    *hi = max_i64(*hi, 0);
    *lo = min_i64(*lo, *hi);
}

/* Biases of keys [lo, hi) of one row: where they lie, if there is one and it is dense, or summed into extra. */
static const T *FN(bias_row)(const Attn *a, int64_t b, int64_t h, int64_t i, int64_t lo, int64_t hi, T *extra)
{
    bool begun = false;
    for (int n = 0; n < 2; n++) {
        const AttnBias *s = &a->bias[n];
        if (!s->p) continue;
        int64_t at = b * s->batch + (s->heads ? h % s->heads : h) * s->head + i * s->row + lo * s->col;
        if (!s->is_bool && s->col == 1 && !begun && (n == 1 || !a->bias[1].p)) return (const T *)s->p + at;
        for (int64_t j = 0; j < hi - lo; j++) {
            T v = s->is_bool ? ((const uint8_t *)s->p)[at + j * s->col] ? 0 : -(T)INFINITY
                             : ((const T *)s->p)[at + j * s->col];
            extra[j] = begun ? extra[j] + v : v;
        }
        begun = true;
    }
    return begun ? extra : NULL;
}

static void FN(round_to)(const Attn *a, T *x, size_t n)
{
    if (a->round) FN(round)(a->kern, a->round, x, n);
}

/* Scores of a row to capped scores. */
static void FN(cap)(const Attn *a, T *s, size_t n)
{
    T cap = (T)a->softcap;
    a->kern->map2[TYPE][SDX_MAP2_div](s, s, &cap, n, SDX_B_ONE);
    FN(round_to)(a, s, n);
    a->kern->MAP1[SDX_MAP1_tanh](s, s, n, NULL);
    FN(round_to)(a, s, n);
    a->kern->map2[TYPE][SDX_MAP2_mul](s, s, &cap, n, SDX_B_ONE);
    FN(round_to)(a, s, n);
}

/* Scores of a row, of keys [j0, j1) at s, to probabilities of the same keys. qk: the row of a->qk, or NULL. */
static void FN(row)(const Attn *a, int64_t b, int64_t h, int64_t i, int64_t j0, int64_t j1, T *s, T *extra, T *qk)
{
    const Kern *k = a->kern;
    int64_t lo, hi;
    FN(visible)(a, b, i, &lo, &hi);
    if (lo == hi) lo = hi = j0;
    size_t n = (size_t)(hi - lo);
    FN(round_to)(a, s, (size_t)(j1 - j0));
    if (qk && a->qk_what == ATTN_QK_RAW) memcpy(qk, s, (size_t)a->keys * sizeof *s);
    if (a->softcap != 0) FN(cap)(a, s, (size_t)(j1 - j0));
    if (qk && a->qk_what == ATTN_QK_CAPPED) memcpy(qk, s, (size_t)a->keys * sizeof *s);

    T *x = s + (lo - j0), max = -(T)INFINITY;
    const T *bias = n ? FN(bias_row)(a, b, h, i, lo, hi, extra) : NULL;
    if (bias) {
        k->map2[TYPE][SDX_MAP2_add](x, x, bias, n, 0);
        FN(round_to)(a, x, n);
    }
    if (n) k->reduce[TYPE][SDX_REDUCE_max](&max, x, 1, n, 1, 1);
    if (max != max && bias) { /* what a bias hides may be NaN or infinite */
        for (size_t j = 0; j < n; j++) x[j] = bias[j] == -(T)INFINITY ? -(T)INFINITY : x[j];
        k->reduce[TYPE][SDX_REDUCE_max](&max, x, 1, n, 1, 1);
    }
    for (int64_t j = 0; qk && a->qk_what == ATTN_QK_BIASED && j < a->keys; j++)
        qk[j] = j < lo || j >= hi ? (T)a->qk_hidden : s[j];
    if (max == -(T)INFINITY) {
        lo = hi; /* nothing is seen */
    } else if (a->sink) {
        x[n] = (T)a->sink[h];
        max = x[n] > max ? x[n] : max;
        FN(softmax)(a, x, n + 1, max, extra);
    } else {
        FN(softmax)(a, x, n, max, extra);
    }
    if (a->round_p) FN(round)(k, a->round_p, x, n);
    for (int64_t j = j0; j < lo; j++) s[j - j0] = 0;
    for (int64_t j = max_i64(hi, j0); j < j1; j++) s[j - j0] = 0;
    if (qk && a->qk_what == ATTN_QK_SOFTMAX) memcpy(qk, s, (size_t)a->keys * sizeof *s);
}

/* n rows of x, scaled, to y. */
static void FN(scale_rows)(const Attn *a, T scale, const T *x, int64_t ldx, T *y, size_t ldy, size_t n)
{
    for (size_t r = 0; r < n && a->size; r++) {
        a->kern->map2[TYPE][SDX_MAP2_mul](y + r * ldy, x + (int64_t)r * ldx, &scale, (size_t)a->size, SDX_B_ONE);
        FN(round_to)(a, y + r * ldy, (size_t)a->size);
    }
}

static const T *FN(mat_at)(const AttnMat *m, int64_t b, int64_t h, int64_t i)
{
    return (const T *)m->p + b * m->batch + h * m->head + i * m->row;
}

/* Scores of m rows of one unit against keys [j0, j1), to the scores in scratch. */
static void FN(multiply)(const Attn *a, const AttnPlan *p, int64_t b, int64_t head, int64_t row, int64_t kv, int64_t m,
                         int64_t j0, int64_t j1, void *scratch)
{
    char *bytes = scratch;
    T *q = scratch, *s = (T *)(void *)(bytes + p->at_s), *k_scaled = (T *)(void *)(bytes + p->at_k);
    bool by_head = a->rows == 1;
    T scale = (T)(a->round ? sqrt(a->scale) : a->scale);
    FN(round_to)(a, &scale, 1);
    const T *k = FN(mat_at)(&a->k, b, kv, j0), *from = FN(mat_at)(&a->q, b, head, row);
    int64_t ldk = a->k.row, ldq = by_head ? a->q.head : a->q.row;
    if (FN(is_plain)(a)) scale = 1;      /* it comes with the softmax */
    if (scale != 1 || ldq % 1024 == 0) { /* such rows collide in the cache */
        FN(scale_rows)(a, scale, from, ldq, q, p->ld_q, (size_t)m);
        from = q;
        ldq = (int64_t)p->ld_q;
    }
    if (a->round) {
        FN(scale_rows)(a, scale, k, ldk, k_scaled, (size_t)a->size, (size_t)(j1 - j0));
        k = k_scaled;
        ldk = a->size;
    }
    FN(scores)
    (a, p, b, kv, (size_t)m, (size_t)j0, (size_t)(j1 - j0), from, (size_t)ldq, k, (size_t)ldk, s, bytes + p->at_gemm);
}

void FN(sdx_attn)(const Attn *a, const AttnPlan *p, int64_t unit, void *scratch)
{
    bool by_head = a->rows == 1; /* rows of the unit are heads, not queries */
    int64_t group = a->heads / a->kv_heads, rows = by_head ? group : a->rows, heads = by_head ? a->kv_heads : a->heads;
    int64_t first = unit % p->blocks * p->block, m = min_i64(p->block, rows - first);
    int64_t b = unit / p->blocks / heads, h = unit / p->blocks % heads, kv = by_head ? h : h / group;
    int64_t head = by_head ? h * group + first : h, row = by_head ? 0 : first;
    if (m <= 0) return;

    char *bytes = scratch;
    T *s = (T *)(void *)(bytes + p->at_s), *extra = (T *)(void *)(bytes + p->at_extra);

    /* Keys that some row of the block sees. */
    int64_t j0 = a->keys, j1 = 0;
    for (int64_t r = 0; r < m; r++) {
        int64_t lo, hi;
        FN(visible)(a, b, by_head ? 0 : row + r, &lo, &hi);
        if (lo < hi) j0 = min_i64(j0, lo), j1 = max_i64(j1, hi);
    }
    if (a->qk) j0 = 0, j1 = a->keys;
    if (j0 >= j1) j0 = j1 = 0;
    if (a->packed) j0 -= j0 % (int64_t)a->kern->gemm_f32_nr;

    bool plain = FN(is_plain)(a);
    if (!a->scores) FN(multiply)(a, p, b, head, row, kv, m, j0, j1, scratch);
    if (plain) FN(rows)(a, b, head, row, (size_t)m, j0, j1, s, p->ld_s);
    for (int64_t r = 0; r < m && !plain; r++) {
        int64_t hr = by_head ? head + r : head, i = by_head ? 0 : row + r;
        int64_t at = ((b * a->heads + hr) * a->rows + i) * a->keys;
        T *qk = a->qk ? (T *)a->qk + at : NULL, *x = s + (size_t)r * p->ld_s;
        if (a->scores && j0 < j1) memcpy(x, (const T *)a->scores + at + j0, (size_t)(j1 - j0) * sizeof *x);
        if (!a->is_softmax) FN(row)(a, b, hr, i, j0, j1, x, extra, qk);
    }
    T *y = (T *)FN(mat_at)(&a->y, b, head, row);
    FN(values)
    (a, p, b, kv, (size_t)m, (size_t)j0, (size_t)(j1 - j0), s, FN(mat_at)(&a->v, b, kv, j0), (size_t)a->v.row, y,
     (size_t)(by_head ? a->y.head : a->y.row), bytes + p->at_gemm);
}

#undef T
#undef FN
#undef TYPE
#undef MAP1
