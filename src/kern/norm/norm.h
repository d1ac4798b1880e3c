/* kern/norm/norm.h - normalisation of rows, and the scale and shift it ends with. */
#ifndef SDX_KERN_NORM_NORM_H
#define SDX_KERN_NORM_NORM_H

#include <stdbool.h>
#include <stddef.h>

/* For each of `rows` rows of n contiguous elements:
 *   s = x + skip + skip_bias           (terms that are NULL are left out; skip_bias has n elements)
 *   y = (s - mean) * r * scale + bias  with mean and variance of s over the row, r = 1/sqrt(variance + eps)
 * `rms` leaves the mean out and takes the mean square for the variance. y may be x or skip. */
typedef struct NormRows {
    float *y;
    const float *x;
    const float *skip, *skip_bias; /* or NULL */
    const float *scale, *bias;     /* n elements each, or NULL */
    float *sum;                    /* receives s, or NULL; may be skip */
    float *mean, *inv_std;         /* receive mean and r of each row, or NULL */
    size_t rows, n;
    float eps;
    bool rms;
} NormRows;

typedef void NormRowsF32(const NormRows *a);

/* Mean and 1/sqrt(variance + eps) of each of `rows` rows of n contiguous elements. */
typedef void MomentsF32(float *mean, float *inv_std, const float *x, size_t rows, size_t n, float eps);

/* y = (x - center) * scale + shift, with one center, scale and shift per row (affine_rows: batch norm of NCHW,
 * instance norm) or per column (affine_columns: NHWC). center may be NULL for 0. y may be x; `ld` elements
 * from row to row in both. */
typedef void AffineF32(float *y, const float *x, size_t rows, size_t n, size_t ld, const float *center,
                       const float *scale, const float *shift);

#endif
