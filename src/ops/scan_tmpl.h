/* Running sums and products along an axis of one element type: included once per type. Define T, FN(name). */

/* `lines` lines side by side, `n` steps of them; step s stands at s * along. The running value has `lines` elements. */
static void FN(scan)(const ScanJob *j, const T *x, T *y, int64_t lines)
{
    for (int64_t l = 0; l < lines; l++) {
        T acc = j->product ? 1 : 0;
        for (int64_t s = 0; s < j->n; s++) {
            int64_t at = (j->reverse ? j->n - 1 - s : s) * j->inner + l;
            T v = x[at];
            if (j->exclusive) y[at] = acc;
            acc = (T)(j->product ? acc * v : acc + v);
            if (!j->exclusive) y[at] = acc;
        }
    }
}

#undef T
#undef FN
