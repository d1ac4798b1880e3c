/* kern/map/pick.c - select by element size, through masks, so that the compiler can vectorise it. */
#include "kern/kern.h"

#ifndef __clang__
#pragma GCC optimize("tree-vectorize", "vect-cost-model=dynamic")
#endif

/* In place is no obstacle: each element is read before it is written. */
#ifdef __clang__
#define EACH
#else
#define EACH _Pragma("GCC ivdep")
#endif

#define LOOP(A, B)                                                                                                     \
    EACH for (size_t i = 0; i < n; i++)                                                                                \
    {                                                                                                                  \
        const Bits mask = (Bits)(cond[i] ? -1 : 0);                                                                    \
        y[i] = (Bits)((A & mask) | (B & (Bits)~mask));                                                                 \
    }                                                                                                                  \
    return;
#define WHERE(size, type)                                                                                              \
    static void where_##size(void *y_, const uint8_t *cond, const void *a_, const void *b_, size_t n, unsigned mode)   \
    {                                                                                                                  \
        typedef type Bits;                                                                                             \
        Bits *y = y_;                                                                                                  \
        const Bits *a = a_, *b = b_;                                                                                   \
        if (n == 0) return;                                                                                            \
        const Bits one_a = *a, one_b = *b;                                                                             \
        switch (mode) {                                                                                                \
        case 0: LOOP(a[i], b[i])                                                                                       \
        case SDX_A_ONE: LOOP(one_a, b[i])                                                                              \
        case SDX_B_ONE: LOOP(a[i], one_b)                                                                              \
        default: LOOP(one_a, one_b)                                                                                    \
        }                                                                                                              \
    }
WHERE(1, uint8_t)
WHERE(2, uint16_t)
WHERE(4, uint32_t)
WHERE(8, uint64_t)

typedef struct Bytes16 {
    uint64_t half[2];
} Bytes16;

static void where_16(void *y_, const uint8_t *cond, const void *a_, const void *b_, size_t n, unsigned mode)
{
    Bytes16 *y = y_;
    const Bytes16 *a = a_, *b = b_;
    const size_t sa = mode & SDX_A_ONE ? 0 : 1, sb = mode & SDX_B_ONE ? 0 : 1;
    for (size_t i = 0; i < n; i++) y[i] = *(cond[i] ? a + i * sa : b + i * sb);
}

void sdx_kern_init_where_c(Kern *k);
void sdx_kern_init_where_c(Kern *k)
{
    k->where[0] = where_1;
    k->where[1] = where_2;
    k->where[2] = where_4;
    k->where[3] = where_8;
    k->where[4] = where_16;
}
