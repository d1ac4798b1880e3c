/* kern/fft/fft.h - the discrete Fourier transform of one line, in double, of any length in O(n log n)
 *
 * Lengths whose primes are at most 13 run as Stockham's self-sorting transform with radix 4, 2 and odd primes
 * (Swarztrauber 1984). Other lengths are turned into a circular convolution of a power of two (Bluestein 1970). */
#ifndef SDX_KERN_FFT_FFT_H
#define SDX_KERN_FFT_FFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Complex numbers are pairs of doubles. The tables lie in memory of the caller. */
typedef struct Fft {
    int64_t n; /* length of the transform */
    int64_t m; /* length that the radices make up: n, or that of the convolution */
    int n_radix;
    uint8_t radix[64];
    const double *root;   /* [m] e^(-2 pi i k / m) */
    const double *chirp;  /* [n] e^(-pi i k^2 / n); NULL when m is n */
    const double *filter; /* [m] the transform of the chirp's conjugate, over m; NULL when m is n */
} Fft;

enum { FFT_MAX_LENGTH_LOG2 = 40 };

/* Doubles of the tables and of the working memory for length n >= 1; false when n is beyond 2^40. */
bool sdx_fft_sizes(int64_t n, size_t *tables, size_t *work);
/* tables and work: as many doubles as sdx_fft_sizes says. */
void sdx_fft_init(Fft *f, int64_t n, double *tables, double *work);

/* x[n] becomes its transform, sum_j x[j] e^(-2 pi i j k / n). work is overwritten. The inverse, times n, is the same with
 * real and imaginary parts exchanged before and after. */
void sdx_fft_forward(const Fft *f, double *x, double *work);

#endif
