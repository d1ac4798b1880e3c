/* kern/attn/attn_body.h - kern/attn/attn.def in the vocabulary of kern/simd/. */
enum {
    DOT_LANES = 16,
    DOT_VECS = DOT_LANES / VW,
    DOT_KEYS = VW == 16 ? 8 : 4, /* at once: enough chains to hide the latency of multiply-adds */
    MIX_KEYS = 64,               /* values of so many keys stay in the first-level cache for the other queries */
};

/* Dots of one query with `keys` keys. */
V_INLINE void dot_keys(float *s, const float *q, const float *k, size_t ldk, size_t size, const int keys)
{
    vf32 acc[DOT_KEYS][DOT_VECS];
    V_UNROLL for (int j = 0; j < keys; j++) V_UNROLL for (int i = 0; i < DOT_VECS; i++) acc[j][i] = v_zero();
    size_t d = 0;
    for (; size - d >= DOT_LANES; d += DOT_LANES) V_UNROLL for (int i = 0; i < DOT_VECS; i++)
        {
            const vf32 x = v_load(q + d + i * VW);
            V_UNROLL for (int j = 0; j < keys; j++) acc[j][i] = v_fma(x, v_load(k + j * ldk + d + i * VW), acc[j][i]);
        }
    V_UNROLL for (int i = 0; i < DOT_VECS; i++, d += VW)
    {
        if (d >= size) break;
        const size_t w = size - d < VW ? size - d : VW;
        const vf32 x = v_load_upto(q + d, w);
        V_UNROLL for (int j = 0; j < keys; j++) acc[j][i] = v_fma(x, v_load_upto(k + j * ldk + d, w), acc[j][i]);
    }
    V_UNROLL for (int j = 0; j < keys; j++)
    {
        V_UNROLL for (int h = DOT_VECS / 2; h > 0; h /= 2) V_UNROLL for (int i = 0; i < h; i++)
            acc[j][i] = v_add(acc[j][i], acc[j][i + h]);
        s[j] = v_hsum(acc[j][0]);
    }
}

static void attn_scores_f32(float *s, size_t lds, const float *q, size_t ldq, size_t m, const float *k, size_t ldk,
                            size_t n, size_t size)
{
    size_t j = 0;
    for (; n - j >= DOT_KEYS; j += DOT_KEYS, k += DOT_KEYS * ldk)
        for (size_t r = 0; r < m; r++) dot_keys(s + r * lds + j, q + r * ldq, k, ldk, size, DOT_KEYS);
    for (; j < n; j++, k += ldk)
        for (size_t r = 0; r < m; r++) dot_keys(s + r * lds + j, q + r * ldq, k, ldk, size, 1);
}

/* vecs vectors of values, the last one w wide, of n keys. first: from zero, else on top of y. */
V_INLINE void mix_columns(float *y, const float *p, const float *v, size_t ldv, size_t n, bool first, size_t w,
                          const int vecs)
{
    vf32 acc[8];
    V_UNROLL for (int i = 0; i < vecs; i++) acc[i] = first ? v_zero() : v_load_upto(y + i * VW, i + 1 < vecs ? VW : w);
    for (size_t j = 0; j < n; j++, v += ldv) {
        const vf32 x = v_set(p[j]);
        V_UNROLL for (int i = 0; i < vecs; i++)
            acc[i] = v_fma(x, v_load_upto(v + i * VW, i + 1 < vecs ? VW : w), acc[i]);
    }
    V_UNROLL for (int i = 0; i < vecs; i++) v_store_upto(y + i * VW, acc[i], i + 1 < vecs ? VW : w);
}

static void mix_keys(float *y, const float *p, const float *v, size_t ldv, size_t n, size_t size, bool first)
{
    size_t d = 0;
    for (; size - d >= 8 * VW; d += 8 * VW) mix_columns(y + d, p, v + d, ldv, n, first, VW, 8);
    for (; size - d >= 4 * VW; d += 4 * VW) mix_columns(y + d, p, v + d, ldv, n, first, VW, 4);
    for (; d < size; d += VW) mix_columns(y + d, p, v + d, ldv, n, first, size - d < VW ? size - d : VW, 1);
}

static void attn_values_f32(float *y, size_t ldy, const float *p, size_t ldp, size_t m, const float *v, size_t ldv,
                            size_t n, size_t size)
{
    for (size_t j = 0; j == 0 || j < n; j += MIX_KEYS)
        for (size_t r = 0; r < m; r++)
            mix_keys(y + r * ldy, p + r * ldp + j, v + j * ldv, ldv, n - j < MIX_KEYS ? n - j : MIX_KEYS, size, j == 0);
}

void ISA(sdx_kern_init_attn)(Kern *k);
void ISA(sdx_kern_init_attn)(Kern *k)
{
    k->attn_scores_f32 = attn_scores_f32;
    k->attn_values_f32 = attn_values_f32;
}
