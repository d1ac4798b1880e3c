/* kern/reduce/reduce_tmpl.h - the reductions of one element type other than f32.
 *
 * Define T; A, what sums are formed in: double, or the unsigned type of T's size, so that they wrap;
 * MEAN_T, int64_t or uint64_t by sign; T_LEAST and T_MOST, the identities of max and min; FN(name); T_FLOAT; T_SUMS, whether to make more
 * than max and min. Included once per type.
 *
 * Columns are taken STRIP at a time, and a row is STRIP columns that are added up at the end. */

#define STRIP 16
#define ROLLED _Pragma("GCC unroll 1")
#define FOLD(name, ACC, empty, step, merge, finish)                                                                    \
    __attribute__((noinline)) static void FN(name##_strip)(ACC * acc, const T *x, size_t rows, size_t w, size_t ld)    \
    {                                                                                                                  \
        for (; rows; rows--, x += ld)                                                                                  \
            for (size_t j = 0; j < w; j++) {                                                                           \
                const ACC a = acc[j];                                                                                  \
                const T v = x[j];                                                                                      \
                acc[j] = step;                                                                                         \
            }                                                                                                          \
    }                                                                                                                  \
    static void FN(name)(void *y_, const void *x_, size_t outer, size_t n, size_t inner, size_t ld)                    \
    {                                                                                                                  \
        T *y = y_;                                                                                                     \
        const T *x = x_;                                                                                               \
        for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)                                                    \
            for (size_t c = 0; c < inner; c += STRIP) {                                                                \
                ACC acc[STRIP];                                                                                        \
                size_t w = inner - c < STRIP ? inner - c : STRIP;                                                      \
                ROLLED for (int j = 0; j < STRIP; j++) acc[j] = empty;                                                 \
                if (ld == 1) {                                                                                         \
                    FN(name##_strip)(acc, x, n / STRIP, STRIP, STRIP);                                                 \
                    FN(name##_strip)(acc, x + n / STRIP * STRIP, 1, n % STRIP, 0);                                     \
                    ROLLED for (int j = STRIP - 1; j > 0; j--)                                                         \
                    {                                                                                                  \
                        const ACC a = acc[j / 2], v = acc[j];                                                          \
                        acc[j / 2] = merge;                                                                            \
                    }                                                                                                  \
                } else if (w == STRIP) {                                                                               \
                    FN(name##_strip)(acc, x + c, n, STRIP, ld);                                                        \
                } else {                                                                                               \
                    FN(name##_strip)(acc, x + c, n, w, ld);                                                            \
                }                                                                                                      \
                for (size_t j = 0; j < w; j++) {                                                                       \
                    const ACC a = acc[j];                                                                              \
                    y[c + j] = (T)(finish);                                                                            \
                }                                                                                                      \
            }                                                                                                          \
    }

FOLD(max, T, T_LEAST, v > a || v != v ? v : a, v > a || v != v ? v : a, a)
FOLD(min, T, T_MOST, v < a || v != v ? v : a, v < a || v != v ? v : a, a)

#if T_SUMS
FOLD(sum, A, 0, a + (A)v, a + v, a)
FOLD(prod, A, 1, a *(A)v, a *v, a)
FOLD(sumsq, A, 0, a + (A)v * (A)v, a + v, a)
#if T_FLOAT
FOLD(sumabs, A, 0, a + fabs(v), a + v, a)
FOLD(mean, A, 0, a + v, a + v, a / (double)n)
#else
FOLD(sumabs, A, 0, a + (v > 0 ? (A)v : 0 - (A)v), a + v, a)
FOLD(mean, uint64_t, 0, a + (uint64_t)(MEAN_T)v, a + v, n ? (MEAN_T)a / (MEAN_T)n : 0)
#endif
#endif

#define ARG(name, beats)                                                                                               \
    static void FN(name)(int64_t * y, const void *x_, size_t outer, size_t n, size_t inner, size_t ld, bool last)      \
    {                                                                                                                  \
        const T *x = x_;                                                                                               \
        for (size_t o = 0; o < outer; o++, y += inner, x += n * ld)                                                    \
            for (size_t j = 0; j < inner; j++) {                                                                       \
                T best = x[j];                                                                                         \
                int64_t at = 0;                                                                                        \
                for (size_t i = 1; i < n; i++) {                                                                       \
                    const T v = x[i * ld + j];                                                                         \
                    const bool win = v beats best || (v != v && best == best);                                         \
                    if (win || (last && (v == best || (v != v && best != best)))) best = v, at = (int64_t)i;           \
                }                                                                                                      \
                y[j] = at;                                                                                             \
            }                                                                                                          \
    }
ARG(argmax, >)
ARG(argmin, <)

#undef FOLD
#undef STRIP
#undef ROLLED
#undef ARG
#undef T
#undef A
#undef MEAN_T
#undef T_LEAST
#undef T_MOST
#undef T_FLOAT
#undef T_SUMS
#undef FN
