#include "ops/move.h"

#include <string.h>

enum {
    GRAIN = 32768, /* elements of a chunk */
    TILE = 16      /* side of the squares in which transposing copies go: one cache line of floats */
};

void sdx_move_merge(Move *m)
{
    int rank = 0;
    for (int k = 0; k < m->rank; k++) {
        int64_t d = m->dims[k], to = m->to[k], from = m->from[k];
        if (d == 1) continue;
        if (rank && m->to[rank - 1] == to * d && m->from[rank - 1] == from * d) {
            m->dims[rank - 1] *= d;
            rank--;
        } else {
            m->dims[rank] = d;
        }
        m->to[rank] = to;
        m->from[rank++] = from;
    }
    if (rank == 0) {
        m->dims[0] = m->to[0] = m->from[0] = 1;
        rank = 1;
    }
    m->rank = rank;
}

typedef struct Bytes16 {
    uint64_t half[2];
} Bytes16;

/* n elements, any strides. */
#define LINE(T)                                                                                                        \
    static void line_##T(T *y, const T *x, int64_t n, int64_t to, int64_t from)                                        \
    {                                                                                                                  \
        if (from == 0 && to == 1) {                                                                                    \
            T v = *x;                                                                                                  \
            for (int64_t i = 0; i < n; i++) y[i] = v;                                                                  \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++) y[i * to] = x[i * from];                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    /* Rows of n elements `from` apart whose neighbours in the source are the rows: squares stay in the cache. */      \
    static void tile_##T(T *y, const T *x, int64_t rows, int64_t n, int64_t row_to, int64_t to, int64_t from)          \
    {                                                                                                                  \
        for (int64_t i0 = 0; i0 < n; i0 += TILE) {                                                                     \
            int64_t i1 = i0 + TILE < n ? i0 + TILE : n;                                                                \
            for (int64_t r = 0; r < rows; r++)                                                                         \
                for (int64_t i = i0; i < i1; i++) y[r * row_to + i * to] = x[r + i * from];                            \
        }                                                                                                              \
    }
LINE(uint8_t)
LINE(uint16_t)
LINE(uint32_t)
LINE(uint64_t)
LINE(Bytes16)

static void line_copy(size_t size, char *y, const char *x, int64_t n, int64_t to, int64_t from)
{
    if (to == 1 && from == 1) {
        memcpy(y, x, (size_t)n * size);
        return;
    }
    switch (size) {
    case 1: line_uint8_t((uint8_t *)y, (const uint8_t *)x, n, to, from); break;
    case 2: line_uint16_t((void *)y, (const void *)x, n, to, from); break;
    case 4: line_uint32_t((void *)y, (const void *)x, n, to, from); break;
    case 8: line_uint64_t((void *)y, (const void *)x, n, to, from); break;
    default: line_Bytes16((void *)y, (const void *)x, n, to, from); break;
    }
}

static void tile_copy(size_t size, char *y, const char *x, int64_t rows, int64_t n, int64_t row_to, int64_t to, int64_t from)
{
    switch (size) {
    case 1: tile_uint8_t((uint8_t *)y, (const uint8_t *)x, rows, n, row_to, to, from); break;
    case 2: tile_uint16_t((void *)y, (const void *)x, rows, n, row_to, to, from); break;
    case 4: tile_uint32_t((void *)y, (const void *)x, rows, n, row_to, to, from); break;
    case 8: tile_uint64_t((void *)y, (const void *)x, rows, n, row_to, to, from); break;
    default: tile_Bytes16((void *)y, (const void *)x, rows, n, row_to, to, from); break;
    }
}

typedef struct MoveJob {
    Move m;      /* the row dimension, if any, is the last but one */
    bool tiled;  /* its source stride is 1 and the innermost one's is not */
    char *dst;
    const char *src;
} MoveJob;

/* Rows [from, to) of m: all dimensions but the innermost, counted in order. */
static void move_rows(void *arg, int64_t from, int64_t to, int worker)
{
    const MoveJob *j = arg;
    const Move *m = &j->m;
    int last = m->rank - 1;
    int64_t idx[SDX_MAX_RANK + 1] = { 0 }, rest = from, y = 0, x = 0, n = m->dims[last];
    for (int k = last - 1; k >= 0; k--) {
        idx[k] = rest % m->dims[k];
        rest /= m->dims[k];
        y += idx[k] * m->to[k];
        x += idx[k] * m->from[k];
    }
    for (int64_t row = from; row < to;) {
        int64_t rows = 1;
        char *dst = j->dst + y * (int64_t)m->size;
        const char *src = j->src + x * (int64_t)m->size;
        if (j->tiled) {
            rows = m->dims[last - 1] - idx[last - 1];
            if (rows > to - row) rows = to - row;
            if (rows > TILE) rows = TILE;
            tile_copy(m->size, dst, src, rows, n, m->to[last - 1], m->to[last], m->from[last]);
        } else {
            line_copy(m->size, dst, src, n, m->to[last], m->from[last]);
        }
        row += rows;
        if (last == 0) break;
        int k = last - 1;
        idx[k] += rows;
        y += rows * m->to[k];
        x += rows * m->from[k];
        for (; k > 0 && idx[k] == m->dims[k]; k--) {
            y += m->to[k - 1] - idx[k] * m->to[k];
            x += m->from[k - 1] - idx[k] * m->from[k];
            idx[k] = 0;
            idx[k - 1]++;
        }
    }
}

static void move_line(void *arg, int64_t from, int64_t to, int worker)
{
    const MoveJob *j = arg;
    const Move *m = &j->m;
    line_copy(m->size, j->dst + from * m->to[0] * (int64_t)m->size, j->src + from * m->from[0] * (int64_t)m->size,
              to - from, m->to[0], m->from[0]);
}

/* Puts the dimension that is contiguous in the source next to the innermost one. */
static bool order_for_tiles(Move *m)
{
    int last = m->rank - 1, at = -1;
    if (m->from[last] == 1 || m->from[last] == 0) return false;
    for (int k = 0; k < last; k++)
        if (m->from[k] == 1) at = k;
    if (at < 0) return false;
    int64_t d = m->dims[at], to = m->to[at];
    for (int k = at; k < last - 1; k++) {
        m->dims[k] = m->dims[k + 1];
        m->to[k] = m->to[k + 1];
        m->from[k] = m->from[k + 1];
    }
    m->dims[last - 1] = d;
    m->to[last - 1] = to;
    m->from[last - 1] = 1;
    return true;
}

void sdx_move_run(const Run *r, const Move *m, void *dst, const void *src)
{
    MoveJob j = { .m = *m, .dst = dst, .src = src };
    int64_t rows = 1, n = m->dims[m->rank - 1];
    for (int k = 0; k < m->rank - 1; k++) rows *= m->dims[k];
    if (rows == 0 || n == 0) return;
    if (m->rank == 1) {
        sdx_run_range(r, n, GRAIN, move_line, &j);
        return;
    }
    j.tiled = order_for_tiles(&j.m);
    int64_t grain = (GRAIN + n - 1) / n;
    if (j.tiled) grain = (grain + TILE - 1) / TILE * TILE;
    sdx_run_range(r, rows, grain, move_rows, &j);
}
