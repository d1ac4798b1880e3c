/* kern/map/map2_body.h - the two-input maps of floats, multiply-add, and select by size. */
#include "kern/map/act_body.h"
#include "kern/map/pow_body.h"

/* A loop over i of vectors a and b, which are loaded (LOAD) or hold one element everywhere (ONE). */
#define MAP2_LOAD_full(p) v_load(p + i)
#define MAP2_LOAD_tail(p) v_load_n(p + i, n - i)
#define MAP2_ONE_full(p) one_##p
#define MAP2_ONE_tail(p) one_##p
#define MAP2_LOOP(A, B, FULL, TAIL)                                                                                    \
    {                                                                                                                  \
        size_t i = 0;                                                                                                  \
        for (; n - i >= VW; i += VW) {                                                                                 \
            const vf32 a = MAP2_##A##_full(pa), b = MAP2_##B##_full(pb);                                               \
            FULL;                                                                                                      \
        }                                                                                                              \
        if (i < n) {                                                                                                   \
            const vf32 a = MAP2_##A##_tail(pa), b = MAP2_##B##_tail(pb);                                               \
            TAIL;                                                                                                      \
        }                                                                                                              \
    }
#define MAP2_LOOPS(name, OUT, FULL, TAIL)                                                                              \
    static void ISA(map2_##name)(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)                    \
    {                                                                                                                  \
        if (n == 0) return;                                                                                            \
        OUT *y = y_;                                                                                                   \
        const float *pa = a_, *pb = b_;                                                                                \
        const vf32 one_pa = v_set(*pa), one_pb = v_set(*pb);                                                           \
        switch (mode) {                                                                                                \
        case 0: MAP2_LOOP(LOAD, LOAD, FULL, TAIL) break;                                                               \
        case SDX_A_ONE: MAP2_LOOP(ONE, LOAD, FULL, TAIL) break;                                                        \
        case SDX_B_ONE: MAP2_LOOP(LOAD, ONE, FULL, TAIL) break;                                                        \
        default: sdx_map2_spread(ISA(map2_##name), sizeof(float), sizeof(OUT), y_, a_, b_, n, mode);                   \
        }                                                                                                              \
    }
#define MAP2_ARITH(name, EXPR) MAP2_LOOPS(name, float, v_store(y + i, EXPR), v_store_n(y + i, EXPR, n - i))
#define MAP2_COMPARE(name, EXPR) MAP2_LOOPS(name, uint8_t, m_store(y + i, EXPR), ISA(store_flags)(y + i, EXPR, n - i))

static void ISA(store_flags)(uint8_t *p, vm m, size_t n)
{
    unsigned bits = m_bits(m);
    for (size_t i = 0; i < n; i++) p[i] = bits >> i & 1;
}

MAP2_ARITH(add, v_add(a, b))
MAP2_ARITH(sub, v_sub(a, b))
MAP2_ARITH(mul, v_mul(a, b))
MAP2_ARITH(div, v_div(a, b))
MAP2_ARITH(max, v_sel(v_isnan(a), a, v_max(a, b)))
MAP2_ARITH(min, v_sel(v_isnan(a), a, v_min(a, b)))
MAP2_ARITH(prelu, v_sel(v_lt(a, v_zero()), v_mul(a, b), a))
MAP2_COMPARE(eq, v_eq(a, b))
MAP2_COMPARE(lt, v_lt(a, b))
MAP2_COMPARE(le, v_le(a, b))
MAP2_COMPARE(gt, v_gt(a, b))
MAP2_COMPARE(ge, v_ge(a, b))

/* One loop for all modes: the body is large and slow enough. */
static void ISA(pow_general)(float *y, const float *a, const float *b, size_t n, unsigned mode)
{
    for (size_t i = 0; i < n; i += VW) {
        size_t m = n - i < VW ? n - i : VW;
        vf32 x = mode & SDX_A_ONE ? v_set(*a) : v_load_n(a + i, m);
        vf32 e = mode & SDX_B_ONE ? v_set(*b) : v_load_n(b + i, m);
        v_store_n(y + i, v_pow(x, e), m);
    }
}
/* Exponents that graphs are full of. */
V_INLINE vf32 v_square(vf32 x) { return v_mul(x, x); }
V_INLINE vf32 v_cube(vf32 x) { return v_mul(v_mul(x, x), x); }
V_INLINE vf32 v_root(vf32 x) { return v_sel(v_eq(x, v_set(-INFINITY)), v_set(INFINITY), v_sqrt(v_add(x, v_zero()))); }
#define POW_CASE(name)                                                                                                 \
    for (; n - i >= VW; i += VW) v_store(y + i, v_##name(v_load(a + i)));                                              \
    if (i < n) v_store_n(y + i, v_##name(v_load_n(a + i, n - i)), n - i);                                              \
    return;
static void ISA(map2_pow)(void *y_, const void *a_, const void *b_, size_t n, unsigned mode)
{
    float *y = y_;
    const float *a = a_;
    size_t i = 0;
    if (n == 0) return;
    if (mode == SDX_B_ONE) {
        const float e = *(const float *)b_;
        if (e == 2) {
            POW_CASE(square)
        }
        if (e == 3) {
            POW_CASE(cube)
        }
        if (e == 0.5f) {
            POW_CASE(root)
        }
        if (e == -1) {
            POW_CASE(reciprocal)
        }
    }
    ISA(pow_general)(y, a, b_, n, mode);
}

static void ISA(muladd)(float *y, const float *a, const float *b, const float *c, size_t n, unsigned mode)
{
    if (n == 0) return;
    const vf32 one_b = v_set(*b), one_c = v_set(*c);
    size_t i = 0;
    switch (mode) {
    case 0:
        for (; n - i >= VW; i += VW) v_store(y + i, v_fma(v_load(a + i), v_load(b + i), v_load(c + i)));
        break;
    case SDX_B_ONE:
        for (; n - i >= VW; i += VW) v_store(y + i, v_fma(v_load(a + i), one_b, v_load(c + i)));
        break;
    case SDX_C_ONE:
        for (; n - i >= VW; i += VW) v_store(y + i, v_fma(v_load(a + i), v_load(b + i), one_c));
        break;
    default:
        for (; n - i >= VW; i += VW) v_store(y + i, v_fma(v_load(a + i), one_b, one_c));
    }
    if (i == n) return;
    size_t m = n - i;
    vf32 vb = mode & SDX_B_ONE ? one_b : v_load_n(b + i, m), vc = mode & SDX_C_ONE ? one_c : v_load_n(c + i, m);
    v_store_n(y + i, v_fma(v_load_n(a + i, m), vb, vc), m);
}

/* Any four bytes: they are moved, never computed with. */
static void ISA(where_4)(void *y_, const uint8_t *cond, const void *a_, const void *b_, size_t n, unsigned mode)
{
    int32_t *y = y_;
    const int32_t *a = a_, *b = b_;
    if (n == 0) return;
    const vi32 one_a = vi_set(*a), one_b = vi_set(*b);
    size_t i = 0;
    for (; n - i >= VW; i += VW) {
        const vi32 va = mode & SDX_A_ONE ? one_a : vi_load(a + i), vb = mode & SDX_B_ONE ? one_b : vi_load(b + i);
        vi_store(y + i, vi_sel(m_load(cond + i), va, vb));
    }
    for (; i < n; i++) y[i] = *(cond[i] ? mode & SDX_A_ONE ? a : a + i : mode & SDX_B_ONE ? b : b + i);
}

void ISA(sdx_kern_init_map2)(Kern *k);
void ISA(sdx_kern_init_map2)(Kern *k)
{
#define SET(name) k->map2[SDX_K_f32][SDX_MAP2_##name] = ISA(map2_##name)
    SET(add);
    SET(sub);
    SET(mul);
    SET(div);
    SET(max);
    SET(min);
    SET(prelu);
    SET(pow);
    SET(eq);
    SET(lt);
    SET(le);
    SET(gt);
    SET(ge);
#undef SET
    k->muladd_f32 = ISA(muladd);
    if (VW > 1) k->where[2] = ISA(where_4);
}
