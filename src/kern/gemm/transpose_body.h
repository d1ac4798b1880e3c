/* kern/gemm/transpose_body.h - transpose of 4-byte elements.
 *
 * The includer defines T_ROWS and transpose_block(dst, ldd, src, lds), which turns T_ROWS rows of 4
 * elements into 4 rows of T_ROWS. */

void ISA(sdx_transpose_32)(void *dst, size_t ldd, const void *src, size_t lds, size_t rows, size_t cols);
void ISA(sdx_transpose_32)(void *dst, size_t ldd, const void *src, size_t lds, size_t rows, size_t cols)
{
    float *y = dst;
    const float *x = src;
    size_t whole_rows = rows - rows % T_ROWS, whole_cols = cols - cols % 4;
    /* Along a row of dst inside, so that its cache lines fill up one after the other; 16 columns at a
     * time, so that the lines of src are used whole. */
    for (size_t j0 = 0; j0 < whole_cols; j0 += 16) {
        size_t j1 = whole_cols - j0 < 16 ? whole_cols : j0 + 16;
        for (size_t i = 0; i < whole_rows; i += T_ROWS)
            for (size_t j = j0; j < j1; j += 4) transpose_block(y + j * ldd + i, ldd, x + i * lds + j, lds);
        for (size_t i = whole_rows; i < rows; i++)
            for (size_t j = j0; j < j1; j++) y[j * ldd + i] = x[i * lds + j];
    }
    for (size_t j = whole_cols; j < cols; j++)
        for (size_t i = 0; i < rows; i++) y[j * ldd + i] = x[i * lds + j];
}
