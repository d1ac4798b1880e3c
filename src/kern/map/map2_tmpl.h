/* kern/map/map2_tmpl.h - the two-input maps of one element type, by the compiler's own vectoriser.
 *
 * Define T, FN(name), T_FLOAT, T_SIGNED, and for integers UT: the unsigned type of T's size, at least
 * as wide as int so that its arithmetic wraps (u32 for narrow types). Included once per type. */

/* In place is no obstacle: each element is read before it is written. */
#ifdef __clang__
#define EACH
#else
#define EACH _Pragma("GCC ivdep")
#endif

#define LOOP(name, OUT, expr)                                                                                          \
    static void FN(name)(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)                            \
    {                                                                                                                  \
        if (mode) {                                                                                                    \
            sdx_map2_spread(FN(name), sizeof(T), sizeof(OUT), y_, a_, b_, n, mode);                                    \
            return;                                                                                                    \
        }                                                                                                              \
        OUT *y = y_;                                                                                                   \
        const T *pa = a_, *pb = b_;                                                                                    \
        EACH for (size_t i = 0; i < n; i++)                                                                            \
        {                                                                                                              \
            const T a = pa[i], b = pb[i];                                                                              \
            y[i] = (OUT)(expr);                                                                                        \
        }                                                                                                              \
    }

LOOP(eq, uint8_t, a == b)
LOOP(lt, uint8_t, a < b)
LOOP(le, uint8_t, a <= b)
LOOP(gt, uint8_t, a > b)
LOOP(ge, uint8_t, a >= b)

#if T_FLOAT

LOOP(add, T, a + b)
LOOP(sub, T, a - b)
LOOP(mul, T, a *b)
LOOP(div, T, a / b)
LOOP(max, T, a > b || a != a ? a : b)
LOOP(min, T, a < b || a != a ? a : b)
LOOP(prelu, T, a < 0 ? a * b : a)
LOOP(pow, T, pow(a, b))
LOOP(fmod, T, fmod(a, b))
static T FN(mod1)(T a, T b)
{
    T r = fmod(a, b);
    if (r == 0) return copysign(0, b);
    return (r < 0) != (b < 0) ? r + b : r;
}
LOOP(mod, T, FN(mod1)(a, b))

#else

static T FN(div1)(T a, T b)
{
#if T_SIGNED
    if (b == -1) return (T)(0 - (UT)a);
#endif
    return b ? (T)(a / b) : 0;
}
static T FN(fmod1)(T a, T b)
{
#if T_SIGNED
    if (b == -1) return 0;
#endif
    return b ? (T)(a % b) : 0;
}
static T FN(mod1)(T a, T b)
{
    T r = FN(fmod1)(a, b);
#if T_SIGNED
    if (r != 0 && (r < 0) != (b < 0)) return (T)(r + b);
#endif
    return r;
}
/* A negative count is as good as too large a one: only the sign is left. */
static T FN(shr1)(T a, T b)
{
    if ((UT)b < sizeof(T) * 8) return (T)(a >> b);
#if T_SIGNED
    return a < 0 ? -1 : 0;
#else
    return 0;
#endif
}
static T FN(pow1)(T a, T b)
{
#if T_SIGNED
    if (b < 0) return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
#endif
    UT y = 1, x = (UT)a;
    for (; b; b = (T)(b >> 1), x *= x)
        if (b & 1) y *= x;
    return (T)y;
}

LOOP(add, T, (UT)a + (UT)b)
LOOP(sub, T, (UT)a - (UT)b)
LOOP(mul, T, (UT)a *(UT)b)
LOOP(max, T, a > b ? a : b)
LOOP(min, T, a < b ? a : b)
#if T_SIGNED
LOOP(prelu, T, a < 0 ? (T)((UT)a * (UT)b) : a)
#else
LOOP(prelu, T, ((void)b, a))
#endif
LOOP(div, T, FN(div1)(a, b))
LOOP(fmod, T, FN(fmod1)(a, b))
LOOP(mod, T, FN(mod1)(a, b))
LOOP(pow, T, FN(pow1)(a, b))
LOOP(band, T, a &b)
LOOP(bor, T, a | b)
LOOP(bxor, T, a ^ b)
LOOP(shl, T, (UT)b < sizeof(T) * 8 ? (UT)a << (b & (T)(sizeof(T) * 8 - 1)) : 0)
LOOP(shr, T, FN(shr1)(a, b))

#endif

#undef LOOP
#undef EACH
#undef T
#undef FN
#undef UT
#undef T_FLOAT
#undef T_SIGNED
