#include "kern/move/move.h"
#include "kern/kern.h"

#include <string.h>

#define T uint8_t
#define FN(name) name##_1
#include "kern/move/move_tmpl.h"

#define T uint16_t
#define FN(name) name##_2
#include "kern/move/move_tmpl.h"

#define T uint32_t
#define FN(name) name##_4
#include "kern/move/move_tmpl.h"

#define T uint64_t
#define FN(name) name##_8
#include "kern/move/move_tmpl.h"

typedef struct Bytes16 {
    uint64_t half[2];
} Bytes16;
#define T Bytes16
#define FN(name) name##_16
#include "kern/move/move_tmpl.h"

/* ---- gather ------------------------------------------------------------------------------------ */
#define GATHER(Index, size)                                                                                            \
    for (size_t i = 0; i < n; i++) memcpy((char *)y + i * (size), (const char *)x + (size_t)index[i] * (size), size);  \
    return;

/* A constant size becomes a load and a store. */
#define GATHER_ROWS(name, Index)                                                                                       \
    void name(void *y, const void *x, const Index *index, size_t n, size_t nbytes)                                     \
    {                                                                                                                  \
        switch (nbytes) {                                                                                              \
        case 1: GATHER(Index, 1)                                                                                       \
        case 2: GATHER(Index, 2)                                                                                       \
        case 4: GATHER(Index, 4)                                                                                       \
        case 8: GATHER(Index, 8)                                                                                       \
        case 16: GATHER(Index, 16)                                                                                     \
        default: GATHER(Index, nbytes)                                                                                 \
        }                                                                                                              \
    }
GATHER_ROWS(sdx_gather_rows_i64, int64_t)
GATHER_ROWS(sdx_gather_rows_i32, int32_t)

/* ---- running sums ------------------------------------------------------------------------------ */
enum { CHAINS = 16 }; /* columns, or rows, summed side by side: one addition has to wait for the one before */

#define CUMSUM(name, T)                                                                                                \
    /* `w` chains, `across` elements apart, of n elements with `step` between them. */                                 \
    static void name##_chains(T *y, const T *x, size_t w, ptrdiff_t across, size_t n, ptrdiff_t step, bool exclusive)  \
    {                                                                                                                  \
        T sum[CHAINS] = { 0 };                                                                                         \
        for (; n; n--, x += step, y += step)                                                                           \
            for (size_t j = 0; j < w; j++) {                                                                           \
                const T before = sum[j];                                                                               \
                sum[j] = (T)(before + x[(ptrdiff_t)j * across]);                                                       \
                y[(ptrdiff_t)j * across] = exclusive ? before : sum[j];                                                \
            }                                                                                                          \
    }                                                                                                                  \
    static void name(void *y_, const void *x_, size_t outer, size_t n, size_t inner, bool exclusive, bool reverse)     \
    {                                                                                                                  \
        T *y = y_;                                                                                                     \
        const T *x = x_;                                                                                               \
        if (n == 0 || inner == 0) return;                                                                              \
        const size_t chains = inner > 1 ? inner : outer, blocks = inner > 1 ? outer : 1;                               \
        const ptrdiff_t across = inner > 1 ? 1 : (ptrdiff_t)n, step = reverse ? -(ptrdiff_t)inner : (ptrdiff_t)inner;  \
        for (size_t o = 0; o < blocks; o++)                                                                            \
            for (size_t j = 0; j < chains; j += CHAINS) {                                                              \
                const size_t at = o * n * inner + j * (size_t)across + (reverse ? (n - 1) * inner : 0);                \
                const size_t w = chains - j < CHAINS ? chains - j : CHAINS;                                            \
                name##_chains(y + at, x + at, w, across, n, step, exclusive);                                          \
            }                                                                                                          \
    }
CUMSUM(cumsum_f32, float)
CUMSUM(cumsum_f64, double)
CUMSUM(cumsum_u32, uint32_t)
CUMSUM(cumsum_u64, uint64_t)

void sdx_kern_init_move_c(Kern *k);
void sdx_kern_init_move_c(Kern *k)
{
#define SET(i, size) k->transpose[i] = transpose_##size, k->copy_strided[i] = strided_##size, k->fill[i] = fill_##size
    SET(0, 1);
    SET(1, 2);
    SET(2, 4);
    SET(3, 8);
    SET(4, 16);
#undef SET
    k->cumsum[SDX_K_f32] = cumsum_f32;
    k->cumsum[SDX_K_f64] = cumsum_f64;
    k->cumsum[SDX_K_i32] = k->cumsum[SDX_K_u32] = cumsum_u32;
    k->cumsum[SDX_K_i64] = k->cumsum[SDX_K_u64] = cumsum_u64;
}
