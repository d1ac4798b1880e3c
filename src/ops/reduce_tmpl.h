/* ops/reduce_tmpl.h - one reduction NAME for one type T: element -> MAP -> JOIN in PART within a run, in TOTAL between
 * runs -> FINISH. WITH_AUX: MAP and FINISH take a second value, one per result. EXTRA: other FINISHes of the same sum. */
#define RED_JOIN2(a, b, c) a##_##b##_##c
#define RED_JOIN(a, b, c) RED_JOIN2(a, b, c)
#define FN(what) RED_JOIN(what, NAME, TAG)
#define RED_TYPE2(a, b) a##_total_##b
#define RED_TYPE(a, b) RED_TYPE2(a, b)

typedef TOTAL RED_TYPE(NAME, TAG);

static void FN(init)(void *accv, int64_t n)
{
    TOTAL *acc = accv;
    for (int64_t i = 0; i < n; i++) acc[i] = START;
}

static void FN(fold)(void *accv, const void *xv, int64_t n, const void *auxv)
{
    const T *x = xv;
    TOTAL total = *(TOTAL *)accv;
#ifdef WITH_AUX
    T m = *(const T *)auxv;
    if (isinf((double)m)) m = 0;
#define VALUE(v) MAP(v, m)
#else
#define VALUE(v) MAP(v)
#endif
    while (n > 0) {
        int64_t len = n < RUN ? n : RUN, i = 0;
        PART part[LANES];
        for (int l = 0; l < LANES; l++) part[l] = START;
        for (; i + LANES <= len; i += LANES)
            for (int l = 0; l < LANES; l++) part[l] = JOIN(part[l], VALUE(x[i + l]));
        for (int l = 0; i < len; i++, l++) part[l] = JOIN(part[l], VALUE(x[i]));
        for (int half = LANES / 2; half; half /= 2)
            for (int l = 0; l < half; l++) part[l] = JOIN(part[l], part[l + half]);
        total = JOIN(total, part[0]);
        x += len;
        n -= len;
    }
#undef VALUE
    *(TOTAL *)accv = total;
}

static void FN(rows)(void *accv, const void *xv, int64_t rows, int64_t stride, int64_t width, const void *auxv)
{
    TOTAL *acc = accv;
    const T *x = xv;
#ifdef WITH_AUX
    const T *m = auxv;
#define VALUE(v, i) MAP(v, isinf((double)m[i]) ? 0 : m[i])
#else
#define VALUE(v, i) MAP(v)
#endif
    PART part[REDUCE_WIDTH];
    for (int64_t r = 0; r < rows;) {
        int64_t end = rows - r < RUN / 8 ? rows : r + RUN / 8;
        for (int64_t i = 0; i < width; i++) part[i] = START;
        for (; r < end; r++, x += stride)
            for (int64_t i = 0; i < width; i++) part[i] = JOIN(part[i], VALUE(x[i], i));
        for (int64_t i = 0; i < width; i++) acc[i] = JOIN(acc[i], part[i]);
    }
#undef VALUE
}

static void FN(finish)(void *yv, const void *accv, int64_t n, int64_t count, const void *auxv)
{
    T *y = yv;
    const TOTAL *acc = accv;
#ifdef WITH_AUX
    const T *m = auxv;
    for (int64_t i = 0; i < n; i++) y[i] = FINISH(acc[i], isinf((double)m[i]) ? 0 : m[i]);
#else
    for (int64_t i = 0; i < n; i++) y[i] = FINISH(acc[i], count);
#endif
}

#ifdef EXTRA
static void RED_JOIN(finish, EXTRA, TAG)(void *yv, const void *accv, int64_t n, int64_t count, const void *auxv)
{
    T *y = yv;
    const TOTAL *acc = accv;
    for (int64_t i = 0; i < n; i++) y[i] = FINISH_EXTRA(acc[i], count);
}
#endif
#ifdef EXTRA2
static void RED_JOIN(finish, EXTRA2, TAG)(void *yv, const void *accv, int64_t n, int64_t count, const void *auxv)
{
    T *y = yv;
    const TOTAL *acc = accv;
    for (int64_t i = 0; i < n; i++) y[i] = FINISH_EXTRA2(acc[i], count);
}
#endif

#undef FN
#undef RED_JOIN
#undef RED_JOIN2
#undef RED_TYPE
#undef RED_TYPE2
#undef NAME
#undef PART
#undef TOTAL
#undef START
#undef MAP
#undef JOIN
#undef FINISH
#undef WITH_AUX
#undef EXTRA
#undef FINISH_EXTRA
#undef EXTRA2
#undef FINISH_EXTRA2
