/* kern/move/move_tmpl.h - the portable movers of one element size.
 *
 * Define T, a type of that size, and FN(name). Elements go through memcpy, since they may lie anywhere. */

static void FN(transpose)(void *y_, ptrdiff_t ldy, const void *x_, ptrdiff_t ldx, size_t rows, size_t cols)
{
    enum { TILE = 16 };
    for (size_t r0 = 0; r0 < rows; r0 += TILE)
        for (size_t c0 = 0; c0 < cols; c0 += TILE) {
            const size_t r1 = rows - r0 < TILE ? rows : r0 + TILE, c1 = cols - c0 < TILE ? cols : c0 + TILE;
            for (size_t c = c0; c < c1; c++) {
                const char *x = (const char *)x_ + ((ptrdiff_t)r0 * ldx + (ptrdiff_t)c) * (ptrdiff_t)sizeof(T);
                char *y = (char *)y_ + ((ptrdiff_t)c * ldy + (ptrdiff_t)r0) * (ptrdiff_t)sizeof(T);
                for (size_t r = r0; r < r1; r++, x += ldx * (ptrdiff_t)sizeof(T), y += sizeof(T))
                    memcpy(y, x, sizeof(T));
            }
        }
}

static void FN(strided)(void *y_, ptrdiff_t sy, const void *x_, ptrdiff_t sx, size_t n)
{
    char *y = y_;
    const char *x = x_;
    for (; n; n--, x += sx * (ptrdiff_t)sizeof(T), y += sy * (ptrdiff_t)sizeof(T)) memcpy(y, x, sizeof(T));
}

static void FN(fill)(void *y_, const void *value, size_t n)
{
    T v;
    char *y = y_;
    memcpy(&v, value, sizeof v);
    for (; n; n--, y += sizeof(T)) memcpy(y, &v, sizeof v);
}

#undef T
#undef FN
