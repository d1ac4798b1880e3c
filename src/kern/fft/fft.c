#include "kern/fft/fft.h"

#include <math.h>
#include <string.h>

enum { MAX_RADIX = 13 };

/* e^(-2 pi i k / n) for 0 <= k < n. The angle is brought to the first octant in integers, so that it is rounded once and
 * the symmetries of the roots are exact. */
static void root_of(double *w, int64_t k, int64_t n)
{
    double re_sign = 1, im_sign = -1;
    if (2 * k > n) {
        k = n - k;
        im_sign = 1;
    }
    int64_t num = k, den = n;
    if (4 * num > den) { /* pi - angle */
        num = den - 2 * num;
        den = 2 * den;
        re_sign = -1;
    }
    bool swap = 8 * num > den;
    if (swap) { /* pi / 2 - angle */
        num = den - 4 * num;
        den = 4 * den;
    }
    double angle = 6.283185307179586476925286766559 * (double)num / (double)den, c = cos(angle), s = sin(angle);
    w[0] = re_sign * (swap ? s : c);
    w[1] = im_sign * (swap ? c : s);
}

/* The number of radices whose product is n; -1 when a larger prime divides it. */
static int factor(int64_t n, uint8_t *radix)
{
    static const uint8_t tried[] = { 4, 2, 3, 5, 7, 11, 13 };
    int count = 0;
    for (size_t i = 0; i < sizeof tried; i++)
        for (; n % tried[i] == 0; n /= tried[i]) radix[count++] = tried[i];
    return n == 1 ? count : -1;
}

/* The length to compute with: n, or the power of two that holds the convolution. */
static int64_t length_of(int64_t n, uint8_t *radix, int *n_radix)
{
    int64_t m = n;
    *n_radix = factor(n, radix);
    if (*n_radix >= 0) return n;
    for (m = 1; m < 2 * n - 1; m *= 2) {}
    *n_radix = factor(m, radix);
    return m;
}

bool sdx_fft_sizes(int64_t n, size_t *tables, size_t *work)
{
    uint8_t radix[64];
    int n_radix;
    if (n < 1 || n > (int64_t)1 << FFT_MAX_LENGTH_LOG2) return false;
    size_t m = (size_t)length_of(n, radix, &n_radix), direct = m == (size_t)n;
    *tables = direct ? 2 * m : 4 * m + 2 * (size_t)n;
    *work = direct ? 2 * m : 4 * m;
    return true;
}

/* -- one stage ------------------------------------------------------------------------------------------------------ */

static inline void mul_store(double *y, double re, double im, const double *w)
{
    y[0] = re * w[0] - im * w[1];
    y[1] = re * w[1] + im * w[0];
}

/* Stages of decimation in frequency: with s lines of length p * m interleaved,
 *     y[b + s (p a + k)] = w^(a k) sum_r x[b + s (a + r m)] e^(-2 pi i r k / p),   w = e^(-2 pi i / (p m)). */
static void stage_2(double *y, const double *x, const double *root, int64_t m, int64_t s)
{
    for (int64_t a = 0; a < m; a++) {
        const double *w = root + 2 * a * s, *x0 = x + 2 * s * a, *x1 = x0 + 2 * s * m;
        double *y0 = y + 4 * s * a, *y1 = y0 + 2 * s;
        for (int64_t b = 0; b < 2 * s; b += 2) {
            double re = x0[b] - x1[b], im = x0[b + 1] - x1[b + 1];
            y0[b] = x0[b] + x1[b];
            y0[b + 1] = x0[b + 1] + x1[b + 1];
            mul_store(y1 + b, re, im, w);
        }
    }
}

static void stage_4(double *y, const double *x, const double *root, int64_t m, int64_t s)
{
    for (int64_t a = 0; a < m; a++) {
        const double *w1 = root + 2 * a * s, *w2 = w1 + 2 * a * s, *w3 = w2 + 2 * a * s;
        const double *x0 = x + 2 * s * a, *x1 = x0 + 2 * s * m, *x2 = x1 + 2 * s * m, *x3 = x2 + 2 * s * m;
        double *y0 = y + 8 * s * a, *y1 = y0 + 2 * s, *y2 = y1 + 2 * s, *y3 = y2 + 2 * s;
        for (int64_t b = 0; b < 2 * s; b += 2) {
            double er = x0[b] + x2[b], ei = x0[b + 1] + x2[b + 1], fr = x0[b] - x2[b], fi = x0[b + 1] - x2[b + 1];
            double gr = x1[b] + x3[b], gi = x1[b + 1] + x3[b + 1], hr = x1[b] - x3[b], hi = x1[b + 1] - x3[b + 1];
            y0[b] = er + gr;
            y0[b + 1] = ei + gi;
            mul_store(y1 + b, fr + hi, fi - hr, w1);
            mul_store(y2 + b, er - gr, ei - gi, w2);
            mul_store(y3 + b, fr - hi, fi + hr, w3);
        }
    }
}

/* An odd prime p. Outputs k and p - k share sums of x[r] + x[p - r] and x[r] - x[p - r], times real numbers. */
static void stage_odd(double *y, const double *x, const double *root, int64_t m, int64_t s, int p)
{
    const double *turn[MAX_RADIX]; /* e^(-2 pi i j / p) */
    int half = p / 2;
    for (int j = 0; j < p; j++) turn[j] = root + 2 * j * m * s;
    for (int64_t a = 0; a < m; a++)
        for (int64_t b = 0; b < s; b++) {
            const double *in = x + 2 * (b + s * a);
            double *out = y + 2 * (b + s * p * a);
            double sum_re[MAX_RADIX / 2], sum_im[MAX_RADIX / 2], dif_re[MAX_RADIX / 2], dif_im[MAX_RADIX / 2];
            double re = in[0], im = in[1];
            for (int r = 0; r < half; r++) {
                const double *u = in + 2 * s * m * (r + 1), *v = in + 2 * s * m * (p - 1 - r);
                sum_re[r] = u[0] + v[0];
                sum_im[r] = u[1] + v[1];
                dif_re[r] = u[0] - v[0];
                dif_im[r] = u[1] - v[1];
                re += sum_re[r];
                im += sum_im[r];
            }
            out[0] = re;
            out[1] = im;
            for (int k = 1; k <= half; k++) {
                double even_re = in[0], even_im = in[1], odd_re = 0, odd_im = 0;
                for (int r = 0; r < half; r++) {
                    const double *t = turn[(r + 1) * k % p];
                    even_re += t[0] * sum_re[r];
                    even_im += t[0] * sum_im[r];
                    odd_re += t[1] * dif_re[r];
                    odd_im += t[1] * dif_im[r];
                }
                mul_store(out + 2 * s * k, even_re - odd_im, even_im + odd_re, root + 2 * a * s * k);
                mul_store(out + 2 * s * (p - k), even_re + odd_im, even_im - odd_re, root + 2 * a * s * (p - k));
            }
        }
}

/* x[m] becomes its transform, by way of work[m]. */
static void transform(const Fft *f, double *x, double *work)
{
    int64_t s = 1, left = f->m;
    double *from = x, *to = work;
    for (int i = 0; i < f->n_radix; i++) {
        int p = f->radix[i];
        left /= p;
        switch (p) {
        case 2: stage_2(to, from, f->root, left, s); break;
        case 4: stage_4(to, from, f->root, left, s); break;
        default: stage_odd(to, from, f->root, left, s, p); break;
        }
        s *= p;
        double *swap = from;
        from = to;
        to = swap;
    }
    if (from != x) memcpy(x, from, 2 * sizeof *x * (size_t)f->m);
}

/* -- whole transforms ------------------------------------------------------------------------------------------------ */

void sdx_fft_init(Fft *f, int64_t n, double *tables, double *work)
{
    *f = (Fft){ .n = n, .root = tables };
    f->m = length_of(n, f->radix, &f->n_radix);
    for (int64_t k = 0; k < f->m; k++) root_of(tables + 2 * k, k, f->m);
    if (f->m == n) return;
    double *filter = tables + 2 * f->m, *chirp = filter + 2 * f->m;
    for (int64_t k = 0, square = 0; k < n; k++) { /* k^2 mod 2n: the angle stays exact */
        root_of(chirp + 2 * k, square, 2 * n);
        square = (square + 2 * k + 1) % (2 * n);
    }
    memset(filter, 0, 2 * sizeof *filter * (size_t)f->m);
    for (int64_t k = 0; k < n; k++) {
        double re = chirp[2 * k] / (double)f->m, im = -chirp[2 * k + 1] / (double)f->m;
        double *back = filter + 2 * (k ? f->m - k : 0);
        filter[2 * k] = back[0] = re;
        filter[2 * k + 1] = back[1] = im;
    }
    transform(f, filter, work);
    f->filter = filter;
    f->chirp = chirp;
}

void sdx_fft_forward(const Fft *f, double *x, double *work)
{
    if (!f->chirp) {
        transform(f, x, work);
        return;
    }
    double *a = work, *more = work + 2 * f->m;
    for (int64_t k = 0; k < f->n; k++) mul_store(a + 2 * k, x[2 * k], x[2 * k + 1], f->chirp + 2 * k);
    memset(a + 2 * f->n, 0, 2 * sizeof *a * (size_t)(f->m - f->n));
    transform(f, a, more);
    for (int64_t k = 0; k < f->m; k++) { /* exchanged parts: the next transform is an inverse */
        double product[2];
        mul_store(product, a[2 * k], a[2 * k + 1], f->filter + 2 * k);
        a[2 * k] = product[1];
        a[2 * k + 1] = product[0];
    }
    transform(f, a, more);
    for (int64_t k = 0; k < f->n; k++) mul_store(x + 2 * k, a[2 * k + 1], a[2 * k], f->chirp + 2 * k);
}
