/* ops/product_tmpl.h - y[m,n] += a[m,k] * b[k,n] for a type T that the packed kernels do not serve. ACC: the type that
 * sums run in (unsigned for integers, which wrap). Rows [from, to) of y, contiguous, already holding the start. */
static void FN(product_rows)(const T *a, int64_t row_a, int64_t col_a, const T *b, int64_t row_b, int64_t col_b, T *y,
                             int64_t from, int64_t to, int64_t n, int64_t k)
{
    for (int64_t i = from; i < to; i++) {
        T *yi = y + i * n;
        for (int64_t l = 0; l < k; l++) {
            ACC v = (ACC)a[i * row_a + l * col_a];
            const T *bl = b + l * row_b;
            if (col_b == 1)
                for (int64_t j = 0; j < n; j++) yi[j] = (T)((ACC)yi[j] + v * (ACC)bl[j]);
            else
                for (int64_t j = 0; j < n; j++) yi[j] = (T)((ACC)yi[j] + v * (ACC)bl[j * col_b]);
        }
    }
}
#undef T
#undef ACC
#undef FN
